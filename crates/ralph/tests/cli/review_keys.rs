//! Tests of `ralph review` at a real terminal, where one key settles each item.

use insta::assert_snapshot;
use ralph_model::Outcome;
use ralph_testkit::{Terminal, TestEnv};

use crate::past::{Worked, task, work};
use crate::review::{add_learning, contradicting, learning};
use crate::stats::{failure, week};
use crate::{MEMORIES, add, env, json};

const ENTER: &str = "\r";
const CTRL_C: &str = "\u{3}";
const CTRL_D: &str = "\u{4}";
const LEARNING: &str = "learn-00000001";

/// Without colors, so that a key and its label are adjacent.
fn at_keys(env: &TestEnv, columns: u16, editor: &str) -> Terminal {
    let review = env.ralph(["review"]).env("NO_COLOR", "1").env("EDITOR", editor);
    Terminal::start(review, columns)
}

fn started(env: &TestEnv, columns: u16) -> Terminal {
    at_keys(env, columns, "")
}

fn waiting() -> TestEnv {
    let blocked = Worked {
        outcome: Outcome::Blocked,
        ..Worked::default()
    };
    learning("Run the parser with --locked", blocked)
}

/// The stored status, text and rejection reason of the learning.
fn stored(env: &TestEnv) -> [String; 3] {
    let learning = json(env, &["learnings", "show", LEARNING, "--json"]);
    ["/status", "/content/description", "/reason"].map(|path| {
        learning
            .pointer(path)
            .and_then(|text| text.as_str())
            .unwrap_or_default()
            .to_owned()
    })
}

#[track_caller]
fn check_unchanged(env: &TestEnv) {
    assert_eq!(stored(env), ["validated", "Run the parser with --locked", ""]);
}

#[test]
fn each_kind_is_settled_by_a_key() {
    let env = week("Draw the colours");
    let kept = add(&env, "kept by hand");
    let lost = add(&env, "not needed");
    env.write(MEMORIES, "# Memories\n");
    contradicting(&env);
    let mut terminal = started(&env, 100);
    terminal.shows("1 of 5: a failed task");
    terminal.shows("y retry");
    terminal.types("y");
    terminal.shows("Task reset: t-8eec67");
    terminal.shows("2 of 5: two conflicting learnings");
    terminal.shows("b keep both");
    assert_eq!(
        json(&env, &["task", "show", "t-8eec67", "--json"])["status"],
        "pending",
        "it is written at once"
    );
    terminal.types("2");
    terminal.shows("Learning superseded: ");
    terminal.shows("3 of 5: a learning to review");
    terminal.shows("e edit");
    terminal.types("n");
    terminal.shows("Why not? (Enter: no reason) ");
    terminal.types("it was the cache\r");
    terminal.shows("Learning rejected: learn-00000001");
    terminal.shows("4 of 5");
    terminal.shows("n delete");
    terminal.types("y");
    terminal.shows(&format!("Memory restored: {kept}"));
    terminal.shows("5 of 5");
    terminal.shows("n delete");
    terminal.types("n");
    terminal.shows(&format!("Memory deleted: {lost}"));
    let left = terminal.finish();
    assert_eq!((left.code, left.is_sane), (Some(0), true));
    assert_eq!(
        left.screen.lines().last().unwrap(),
        "1 task reset, 1 learning rejected, 1 conflict settled, 1 note restored, 1 note deleted; nothing left to review."
    );
    let [status, _, reason] = stored(&env);
    assert_eq!([status.as_str(), reason.as_str()], ["rejected", "it was the cache"]);
    let notes = env.read(MEMORIES);
    assert!(notes.contains(&kept) && !notes.contains(&lost), "{notes}");
    assert_eq!(env.ok(["review"]), "Nothing needs review.\n");
}

#[test]
fn leaving_changes_nothing_and_restores_the_terminal() {
    for (key, code) in [("l", 0), ("q", 0), (CTRL_D, 0), (CTRL_C, 130)] {
        let env = waiting();
        let mut terminal = started(&env, 100);
        terminal.shows("y promote");
        terminal.types(key);
        let left = terminal.finish();
        assert_eq!((left.code, left.is_sane), (Some(code), true), "{key:?}");
        assert_eq!(
            left.screen.lines().last().unwrap(),
            "Nothing changed; 1 left to review."
        );
        check_unchanged(&env);
    }
}

#[test]
fn interrupting_the_reason_rejects_nothing() {
    for (key, code) in [(CTRL_C, 130), (CTRL_D, 0)] {
        let env = waiting();
        let mut terminal = started(&env, 100);
        terminal.shows("y promote");
        terminal.types("n");
        terminal.shows("no reason) ");
        terminal.types(key);
        if key == CTRL_D {
            terminal.shows("y promote");
            terminal.types("s");
        }
        let left = terminal.finish();
        assert_eq!((left.code, left.is_sane), (Some(code), true), "{key:?}");
        check_unchanged(&env);
    }
}

#[test]
fn concurrent_changes_are_noticed() {
    let env = waiting();
    let mut terminal = started(&env, 100);
    terminal.shows("y promote");
    env.ok([
        "learnings",
        "update",
        LEARNING,
        "--content",
        "Run the parser with --frozen",
    ]);
    terminal.types("y");
    terminal.shows("Someone else has changed it.");
    terminal.shows("Run the parser with --frozen");
    terminal.shows("y promote");
    env.ok(["learnings", "promote", LEARNING]);
    terminal.types("n");
    terminal.shows("no reason) ");
    terminal.types(ENTER);
    terminal.shows("learn-00000001 was promoted by someone else in the meantime.");
    let (code, shown) = terminal.end();
    assert_eq!(code, Some(0));
    assert!(
        shown.ends_with("1 settled by someone else; nothing left to review.\n"),
        "{shown}"
    );
    assert_eq!(stored(&env), ["promoted", "Run the parser with --frozen", ""]);

    let env = week("Draw the colours");
    let mut terminal = started(&env, 100);
    terminal.shows("y retry");
    env.ok(["task", "reset", "t-8eec67"]);
    terminal.types("y");
    terminal.shows("t-8eec67 is no longer failed");
    terminal.shows("y promote");
    terminal.types("q");
    let (code, shown) = terminal.end();
    assert!(
        shown.ends_with("1 settled by someone else; 1 left to review.\n"),
        "{code:?} {shown}"
    );
}

#[test]
fn settled_learnings_are_not_asked_about_again() {
    let env = env();
    env.ok(["init"]);
    contradicting(&env);
    add_learning(&env, "Run the tests with -j 16");
    let mut terminal = started(&env, 100);
    terminal.shows("1 of 3: two conflicting learnings");
    terminal.shows("b keep both");
    terminal.types("1");
    terminal.shows("Learning superseded: ");
    terminal.shows("b keep both");
    terminal.types("1");
    let left = terminal.finish();
    assert_eq!(left.code, Some(0));
    assert_eq!(
        left.screen.lines().last().unwrap(),
        "2 conflicts settled; nothing left to review.",
        "one of the three involves a learning that was superseded"
    );
    assert_eq!(env.ok(["review"]), "Nothing needs review.\n");
}

/// Presses `e` with this editor, then leaves.
fn edited(env: &TestEnv, editor: &str, says: &str) {
    let mut terminal = at_keys(env, 100, editor);
    terminal.shows("e edit");
    terminal.types("e");
    terminal.shows(says);
    if !says.starts_with("Learning") {
        terminal.shows("e edit");
        terminal.types("s");
    }
    let left = terminal.finish();
    assert_eq!((left.code, left.is_sane), (Some(0), true), "{}", left.bytes);
}

#[test]
fn learning_is_edited_in_the_editor() {
    let env = waiting();
    edited(&env, "sed -i s/locked/frozen/", "Learning promoted: learn-00000001");
    assert_eq!(stored(&env), ["promoted", "Run the parser with --frozen", ""]);
    let known = env.ok(["learnings", "show", LEARNING]);
    assert!(known.contains("--locked"), "the old text is kept: {known}");
}

#[test]
fn failing_editor_or_empty_text_changes_nothing() {
    let env = waiting();
    let secret = format!("printf 'Log in with ghp_{}' >", "a1B2c3D4e5F6".repeat(3));
    for (editor, says) in [
        ("false", "the editor \"false\" failed with exit status: 1"),
        (": >", "The text is empty, so nothing was saved"),
        ("true", "The text is unchanged; nothing was saved."),
        (&secret, "your text was saved to "),
        ("printf x >", "the text has no meaningful word"),
    ] {
        edited(&env, editor, says);
        check_unchanged(&env);
    }
}

#[test]
fn text_is_typed_without_an_editor() {
    let env = waiting();
    let mut terminal = started(&env, 100);
    terminal.shows("e edit");
    terminal.types("e");
    terminal.shows("> ");
    terminal.types("Run it with --frozen\r");
    terminal.shows("> ");
    terminal.types(ENTER);
    terminal.shows("Learning promoted: learn-00000001");
    assert_eq!(terminal.end().0, Some(0));
    assert_eq!(stored(&env), ["promoted", "Run it with --frozen", ""]);
}

#[test]
fn narrow_terminal_shows_everything() {
    let env = waiting();
    let mut terminal = started(&env, 44);
    terminal.shows("? help");
    terminal.types("?");
    terminal.shows("Ctrl+D.");
    terminal.shows("? help");
    let screen = terminal.has_row("? help");
    terminal.types("q");
    assert_eq!(terminal.end().0, Some(0));
    assert_snapshot!(screen.shown().join("\n"), @"
    1 of 1: a learning to review
      learn-00000001  tool_usage, confidence
                      0.50
        Run the parser with --locked
        from run-00000abc/1 [blocked] Parse the
        colours

    y  Promote it: it is injected into matching
       prompts.
    n  Reject it: no agent sees it. You may give
       a reason.
    e  Edit its text in your editor, then
       promote it.
    s  Leave it as it is and continue with the
       next.
    l  Leave this and the rest for later, like q
       and Ctrl+D.

    y promote   n reject   e edit   s skip
    l later   ? help
    ");
}

/// A task that failed this many times, each time differently.
fn failed_differently(times: u64) -> TestEnv {
    let env = env();
    env.ok(["init"]);
    let hard = task(&env, "Draw the colours of the picture that hangs on the wall");
    let models = ["haiku", "sonnet", "opus"].into_iter().chain(std::iter::repeat("opus"));
    let failed = (1..=times).zip(models).map(|(number, model)| {
        let mut captured = failure(&format!("Way {number}"), &format!("Because of {number}\nand more"));
        captured.retry_suggestion = Some(format!("Do not go way {number}"));
        Worked {
            task: &hard,
            outcome: Outcome::Failed,
            reason: "The agent said that it cannot be done: there is no picture on this wall",
            captured,
            signature: Some(number),
            model,
            max_retries: u32::try_from(times).unwrap() - 1,
            ..Worked::default()
        }
    });
    work(&env, 0xabc, &failed.collect::<Vec<_>>());
    env.ok(["task", "add", "Print the colours", "--after", &hard]);
    env
}

/// The screen of 24 rows at the first question.
fn first_screen(env: &TestEnv, columns: u16) -> String {
    let review = env.ralph(["review"]).env("NO_COLOR", "1");
    let mut terminal = Terminal::of_size(&review.command(), columns, 24);
    let screen = terminal.has_row("? help");
    terminal.types("q");
    assert_eq!(terminal.end().0, Some(0));
    screen.shown().join("\n")
}

#[test]
fn all_attempts_fit_on_a_small_screen() {
    let env = failed_differently(5);
    assert_snapshot!(first_screen(&env, 80), @"
    1 of 1: a failed task
      t-025cc1  Draw the colours of the picture that hangs on the wall
        5 attempts (test failure)
        The agent said that it cannot be done: there is no picture on this wall
        1. failed, haiku, 1 min 23 s, $0.25 (run-00000abc/1)
           why    test failure: Because of 1 …
        2. failed, sonnet, 1 min 23 s, $0.25 (run-00000abc/2)
           why    test failure: Because of 2 …
        3. failed, opus, 1 min 23 s, $0.25 (run-00000abc/3)
           why    test failure: Because of 3 …
        4. failed, opus, 1 min 23 s, $0.25 (run-00000abc/4)
           why    test failure: Because of 4 …
        5. failed, opus, 1 min 23 s, $0.25 (run-00000abc/5)
           tried  Way 5
           why    test failure: Because of 5 …
           next   Do not go way 5
        t-8eec67 depends on it
        details: ralph task show t-025cc1

    y retry   n leave it   s skip   l later   ? help
    ");
    let narrow = first_screen(&env, 44);
    assert!(narrow.lines().all(|line| line.chars().count() <= 44), "{narrow}");
    for number in 1..=5 {
        let attempt = [format!("(run-00000abc/{number})\n"), format!("Because of {number} …\n")];
        assert!(
            attempt.iter().all(|text| narrow.contains(text)),
            "{number} in\n{narrow}"
        );
    }
    for text in [
        "tried  Way 5\n",
        "next   Do not go way 5\n",
        "t-8eec67 depends on it\n",
        "? help",
    ] {
        assert!(narrow.contains(text), "{text} in\n{narrow}");
    }
    let many = failed_differently(9);
    let wide = first_screen(&many, 80);
    assert!(wide.starts_with("1 of 1: a failed task\n"), "{wide}");
    assert!(
        wide.contains("    9 attempts") && wide.contains("5 earlier: ralph task show t-025cc1\n"),
        "{wide}"
    );
    let shown: Vec<bool> = (1..=9)
        .map(|number| wide.contains(&format!("Because of {number} …\n")))
        .collect();
    assert_eq!(
        shown,
        [false, false, false, false, false, true, true, true, true],
        "{wide}"
    );
    assert!(first_screen(&many, 44).starts_with("1 of 1: a failed task\n"));
}

#[test]
fn list_is_printed_without_a_usable_terminal() {
    let env = waiting();
    let dumb = Terminal::start(env.ralph(["review"]).env("CI", "1"), 100);
    let (code, shown) = dumb.end();
    assert_eq!(code, Some(0));
    assert!(shown.contains("ralph learnings promote learn-00000001"), "{shown}");
    check_unchanged(&env);
    let bare = self::env();
    let nothing = Terminal::start(bare.ralph(["review"]), 100);
    assert_eq!(nothing.end(), (Some(0), "Nothing needs review.\n".to_owned()));
}
