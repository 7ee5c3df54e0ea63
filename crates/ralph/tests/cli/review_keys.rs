//! `ralph review` at a real terminal: each thing that waits is shown, and a key settles it at once.

use insta::assert_snapshot;
use ralph_model::Outcome;
use ralph_testkit::{Terminal, TestEnv};

use crate::past::{Worked, task, work};
use crate::review::{add_lesson, contradicting, lesson};
use crate::stats::{failure, week};
use crate::{MEMORIES, add, env, json};

const ENTER: &str = "\r";
const CTRL_C: &str = "\u{3}";
const CTRL_D: &str = "\u{4}";
const LESSON: &str = "learn-00000001";

/// Without colours, so that a key and what it does stand beside each other.
fn at_keys(env: &TestEnv, columns: u16, editor: &str) -> Terminal {
    let review = env.ralph(["review"]).env("NO_COLOR", "1").env("EDITOR", editor);
    Terminal::start(review, columns)
}

fn started(env: &TestEnv, columns: u16) -> Terminal {
    at_keys(env, columns, "")
}

/// A lesson that waits.
fn waiting() -> TestEnv {
    let blocked = Worked {
        outcome: Outcome::Blocked,
        ..Worked::default()
    };
    lesson("Run the parser with --locked", blocked)
}

/// What is on record of the lesson: how far it has come, what it says, and why it was rejected.
fn on_record(env: &TestEnv) -> [String; 3] {
    let learning = json(env, &["learnings", "show", LESSON, "--json"]);
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
    assert_eq!(on_record(env), ["validated", "Run the parser with --locked", ""]);
}

#[test]
fn every_kind_is_settled_by_a_key() {
    let env = week("Draw the colours");
    let kept = add(&env, "kept by hand");
    let lost = add(&env, "not needed");
    env.write(MEMORIES, "# Memories\n");
    contradicting(&env);
    let mut terminal = started(&env, 100);
    terminal.shows("1 of 5: a failed task");
    terminal.shows("y try it again");
    terminal.types("y");
    terminal.shows("Task reset: t-8eec67");
    terminal.shows("2 of 5: two lessons that contradict each other");
    terminal.shows("b both");
    assert_eq!(
        json(&env, &["task", "show", "t-8eec67", "--json"])["status"],
        "pending",
        "it is written at once"
    );
    terminal.types("2");
    terminal.shows("Learning superseded: ");
    terminal.shows("3 of 5: a lesson to judge");
    terminal.shows("e edit");
    terminal.types("n");
    terminal.shows("Why not? (Enter: no reason) ");
    terminal.types("it was the cache\r");
    terminal.shows("Learning rejected: learn-00000001");
    terminal.shows("4 of 5");
    terminal.shows("n let it go");
    terminal.types("y");
    terminal.shows(&format!("Memory restored: {kept}"));
    terminal.shows("5 of 5");
    terminal.shows("n let it go");
    terminal.types("n");
    terminal.shows(&format!("Memory deleted: {lost}"));
    let left = terminal.left();
    assert_eq!((left.code, left.is_sane), (Some(0), true));
    assert_eq!(
        left.screen.lines().last().unwrap(),
        "1 task reset, 1 lesson rejected, 1 contradiction settled, 1 note brought back, 1 note let go; nothing waits any more."
    );
    let [status, _, reason] = on_record(&env);
    assert_eq!([status.as_str(), reason.as_str()], ["rejected", "it was the cache"]);
    let notes = env.read(MEMORIES);
    assert!(notes.contains(&kept) && !notes.contains(&lost), "{notes}");
    assert_eq!(env.ok(["review"]), "Nothing waits for you.\n");
}

#[test]
fn whoever_leaves_changes_nothing_and_finds_the_terminal_as_it_was() {
    for (key, code) in [("l", 0), ("q", 0), (CTRL_D, 0), (CTRL_C, 130)] {
        let env = waiting();
        let mut terminal = started(&env, 100);
        terminal.shows("y promote");
        terminal.types(key);
        let left = terminal.left();
        assert_eq!((left.code, left.is_sane), (Some(code), true), "{key:?}");
        assert_eq!(
            left.screen.lines().last().unwrap(),
            "Nothing has changed; 1 still waits."
        );
        check_unchanged(&env);
    }
}

#[test]
fn whoever_breaks_off_the_reason_has_rejected_nothing() {
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
        let left = terminal.left();
        assert_eq!((left.code, left.is_sane), (Some(code), true), "{key:?}");
        check_unchanged(&env);
    }
}

#[test]
fn what_somebody_else_does_meanwhile_is_noticed() {
    let env = waiting();
    let mut terminal = started(&env, 100);
    terminal.shows("y promote");
    env.ok([
        "learnings",
        "update",
        LESSON,
        "--content",
        "Run the parser with --frozen",
    ]);
    terminal.types("y");
    terminal.shows("Somebody else has changed it meanwhile.");
    terminal.shows("Run the parser with --frozen");
    terminal.shows("y promote");
    env.ok(["learnings", "promote", LESSON]);
    terminal.types("n");
    terminal.shows("no reason) ");
    terminal.types(ENTER);
    terminal.shows("learn-00000001 was promoted by somebody else meanwhile.");
    let (code, shown) = terminal.end();
    assert_eq!(code, Some(0));
    assert!(
        shown.ends_with("1 settled by somebody else; nothing waits any more.\n"),
        "{shown}"
    );
    assert_eq!(on_record(&env), ["promoted", "Run the parser with --frozen", ""]);

    let env = week("Draw the colours");
    let mut terminal = started(&env, 100);
    terminal.shows("y try it again");
    env.ok(["task", "reset", "t-8eec67"]);
    terminal.types("y");
    terminal.shows("t-8eec67 has not failed any more");
    terminal.shows("y promote");
    terminal.types("q");
    let (code, shown) = terminal.end();
    assert!(
        shown.ends_with("1 settled by somebody else; 1 still waits.\n"),
        "{code:?} {shown}"
    );
}

#[test]
fn what_an_answer_settles_along_with_it_is_not_asked_again() {
    let env = env();
    env.ok(["init"]);
    contradicting(&env);
    add_lesson(&env, "Run the tests with -j 16");
    let mut terminal = started(&env, 100);
    terminal.shows("1 of 3: two lessons that contradict each other");
    terminal.shows("b both");
    terminal.types("1");
    terminal.shows("Learning superseded: ");
    terminal.shows("b both");
    terminal.types("1");
    let left = terminal.left();
    assert_eq!(left.code, Some(0));
    assert_eq!(
        left.screen.lines().last().unwrap(),
        "2 contradictions settled; nothing waits any more.",
        "one of the three is between a lesson that was replaced and another"
    );
    assert_eq!(env.ok(["review"]), "Nothing waits for you.\n");
}

/// Presses `e` with this editor, and then leaves.
fn edited(env: &TestEnv, editor: &str, says: &str) {
    let mut terminal = at_keys(env, 100, editor);
    terminal.shows("e edit");
    terminal.types("e");
    terminal.shows(says);
    if !says.starts_with("Learning") {
        terminal.shows("e edit");
        terminal.types("s");
    }
    let left = terminal.left();
    assert_eq!((left.code, left.is_sane), (Some(0), true), "{}", left.bytes);
}

#[test]
fn a_lesson_is_put_into_other_words_in_the_editor() {
    let env = waiting();
    edited(&env, "sed -i s/locked/frozen/", "Learning promoted: learn-00000001");
    assert_eq!(on_record(&env), ["promoted", "Run the parser with --frozen", ""]);
    let known = env.ok(["learnings", "show", LESSON]);
    assert!(known.contains("--locked"), "what it said before is kept: {known}");
}

#[test]
fn an_editor_that_leaves_no_text_or_fails_changes_nothing() {
    let env = waiting();
    let secret = format!("printf 'Log in with ghp_{}' >", "a1B2c3D4e5F6".repeat(3));
    for (editor, says) in [
        ("false", "the editor \"false\" failed with exit status: 1"),
        (": >", "Nothing is left of the text, so nothing has changed"),
        ("true", "The text is as it was, and nothing has changed."),
        (&secret, "your text is kept in "),
        ("printf x >", "the text has no word that says something"),
    ] {
        edited(&env, editor, says);
        check_unchanged(&env);
    }
}

#[test]
fn without_an_editor_the_words_are_typed() {
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
    assert_eq!(on_record(&env), ["promoted", "Run it with --frozen", ""]);
}

#[test]
fn a_narrow_terminal_shows_all_of_it() {
    let env = waiting();
    let mut terminal = started(&env, 44);
    terminal.shows("? help");
    terminal.types("?");
    terminal.shows("same.");
    terminal.shows("? help");
    let screen = terminal.has_row("? help");
    terminal.types("q");
    assert_eq!(terminal.end().0, Some(0));
    assert_snapshot!(screen.shown().join("\n"), @"
    1 of 1: a lesson to judge
      learn-00000001  tool_usage, confidence
                      0.50
        Run the parser with --locked
        from run-00000abc/1 [blocked] Parse the
        colours

    y  It holds, and stands in the prompts that
       it fits.
    n  It does not hold, and no agent sees it.
       You may say why.
    e  Put it into other words, in your editor;
       then it holds.
    s  Leave it as it is, and go on with the
       next.
    l  Leave it and all the rest for later; q
       and Ctrl+D do the same.

    y promote   n reject   e edit   s skip
    l later   ? help
    ");
}

/// A task that has failed so often, each time in another way.
fn failed_in_other_ways(times: u64) -> TestEnv {
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

/// What stands on a screen of 24 rows when the first question is asked.
fn first_screen(env: &TestEnv, columns: u16) -> String {
    let review = env.ralph(["review"]).env("NO_COLOR", "1");
    let mut terminal = Terminal::of_size(&review.command(), columns, 24);
    let screen = terminal.has_row("? help");
    terminal.types("q");
    assert_eq!(terminal.end().0, Some(0));
    screen.shown().join("\n")
}

#[test]
fn all_attempts_at_a_failed_task_stand_on_a_small_screen() {
    let env = failed_in_other_ways(5);
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
        t-8eec67 waits for it
        all of it: ralph task show t-025cc1

    y try it again   n leave it   s skip   l later   ? help
    ");
    assert_snapshot!(first_screen(&env, 44), @"
    1 of 1: a failed task
      t-025cc1  Draw the colours of the picture
                that hangs on the wall
        5 attempts (test failure)
        The agent said that it cannot be done:
        there is no picture on this wall
        1. failed, haiku (run-00000abc/1)
           why    test failure: Because of 1 …
        2. failed, sonnet (run-00000abc/2)
           why    test failure: Because of 2 …
        3. failed, opus (run-00000abc/3)
           why    test failure: Because of 3 …
        4. failed, opus (run-00000abc/4)
           why    test failure: Because of 4 …
        5. failed, opus (run-00000abc/5)
           tried  Way 5
           why    test failure: Because of 5 …
           next   Do not go way 5
        t-8eec67 waits for it
        all of it: ralph task show t-025cc1

    y try it again   n leave it   s skip
    l later   ? help
    ");
    let many = failed_in_other_ways(9);
    assert_snapshot!(first_screen(&many, 80), @"
    1 of 1: a failed task
      t-025cc1  Draw the colours of the picture that hangs on the wall
        9 attempts (test failure)
        The agent said that it cannot be done: there is no picture on this wall
        5 earlier: ralph task show t-025cc1
        6. failed, opus, 1 min 23 s, $0.25 (run-00000abc/6)
           why    test failure: Because of 6 …
        7. failed, opus, 1 min 23 s, $0.25 (run-00000abc/7)
           why    test failure: Because of 7 …
        8. failed, opus, 1 min 23 s, $0.25 (run-00000abc/8)
           why    test failure: Because of 8 …
        9. failed, opus, 1 min 23 s, $0.25 (run-00000abc/9)
           tried  Way 9
           why    test failure: Because of 9 …
           next   Do not go way 9
        t-8eec67 waits for it
        all of it: ralph task show t-025cc1

    y try it again   n leave it   s skip   l later   ? help
    ");
    assert!(first_screen(&many, 44).starts_with("1 of 1: a failed task\n"));
}

#[test]
fn where_nobody_can_be_asked_it_is_a_list() {
    let env = waiting();
    let dumb = Terminal::start(env.ralph(["review"]).env("CI", "1"), 100);
    let (code, shown) = dumb.end();
    assert_eq!(code, Some(0));
    assert!(shown.contains("ralph learnings promote learn-00000001"), "{shown}");
    check_unchanged(&env);
    let bare = self::env();
    let nothing = Terminal::start(bare.ralph(["review"]), 100);
    assert_eq!(nothing.end(), (Some(0), "Nothing waits for you.\n".to_owned()));
}
