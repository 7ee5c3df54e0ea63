//! Tests of screens at 80 and 44 columns: nothing is wider, and the essentials are shown.

use insta::assert_snapshot;
use ralph_model::{Facts, Learning, LearningKind, TaskType};
use ralph_store::Store;
use ralph_testkit::{TestEnv, put_learnings, run_learning};

use crate::terminal::on_screen;
use crate::{DATABASE, env, json};

/// A project with knowledge entries whose titles and file names are as long as agents write them.
fn with_knowledge() -> TestEnv {
    let env = env();
    let talkative =
        "A long title of a note that agents like to give, with all that it says in eighty characters or more";
    for (title, tags) in [
        ("Cargo bench requires nightly", "testing,cargo,nightly"),
        (
            "ACP connection lifecycle pattern with LocalSet and owned data",
            "acp,async",
        ),
        (talkative, "x"),
        (&"長い題名".repeat(22), "日本語"),
    ] {
        env.ok(["knowledge", "add", title, "--tags", tags, "Bench the pattern with all."]);
    }
    env
}

#[test]
fn knowledge_entry_takes_one_row() {
    let env = with_knowledge();
    assert_snapshot!(on_screen(&env, "knowledge list", 80), @"
    CREATED     TAGS                     TITLE
    2025-01-20  x                        A long title of a note that agents like to…
    2025-01-20  acp, async               ACP connection lifecycle pattern with Loca…
    2025-01-20  testing, cargo, nightly  Cargo bench requires nightly
    2025-01-20  日本語                   長い題名長い題名長い題名長い題名長い題名長…

    Showing 4 entries
    ");
    for (command, columns) in [
        ("knowledge list", 44),
        ("knowledge search bench", 80),
        ("knowledge search bench", 44),
    ] {
        let shown = on_screen(&env, command, columns);
        let rows: Vec<&str> = shown.lines().filter(|row| !row.trim().is_empty()).collect();
        let [header, .., last] = rows.as_slice() else {
            panic!("{shown}");
        };
        assert_eq!((rows.len(), *last), (6, "Showing 4 entries"), "{shown}");
        assert_eq!(header.starts_with("CREATED"), columns == 80, "{shown}");
        assert_eq!(rows.iter().filter(|row| row.ends_with('…')).count(), 4, "{shown}");
        assert!(shown.contains("testing, cargo,"), "{shown}");
    }
    for whole in [on_screen(&env, "knowledge list", 400), env.ok(["knowledge", "list"])] {
        let title = "ACP connection lifecycle pattern with LocalSet and owned data";
        let row = whole.lines().find(|row| row.contains(title)).unwrap_or_default();
        let file = "acp-connection-lifecycle-pattern-with-localset-and-owned-data.md ";
        assert!(row.starts_with(file), "{whole}");
    }
}

#[test]
fn recalled_note_takes_one_row_with_a_usable_id() {
    let env = with_knowledge();
    env.ok(["memory", "add", "Bench on a quiet machine", "--tags", "cargo"]);
    assert_snapshot!(on_screen(&env, "recall bench", 80), @"
    ID                   TYPE       CREATED     NOTE
    cargo-bench-requir…  knowledge  2025-01-20  Cargo bench requires ni…: Bench the…
    mem-1737372000-910a  pattern    2025-01-20  Bench on a quiet machine
    a-long-title-of-a-…  knowledge  2025-01-20  A long title of a note…: Bench the…
    acp-connection-lif…  knowledge  2025-01-20  ACP connection lifecycl…: Bench the…
    長い題名長い題名長…  knowledge  2025-01-20  長い題名長い題名長い題…: Bench the…

    Showing 5 notes
    ");
    let narrow = on_screen(&env, "recall bench --explain", 44);
    let header = "ID                   SCORE  NOTE";
    let own = "mem-1737372000-910a  0.14   Bench on a quie…";
    for row in [header, own, "Showing 5 notes"] {
        assert!(narrow.lines().any(|line| line == row), "{row}: {narrow}");
    }
    assert_eq!(narrow.lines().filter(|row| row.ends_with('…')).count(), 5, "{narrow}");
}

/// A project with a failing strategy, an estimate and two conflicting strategies.
fn taught() -> TestEnv {
    let env = env();
    env.write(".ralph/keep", "");
    drop(Store::open_or_create(&env.path(DATABASE)).unwrap());
    let learning = |number, kind, text: &str, change: &dyn Fn(&mut Learning)| {
        let mut learning = run_learning(number, kind, TaskType::BugFix, text);
        learning.category = kind.word().to_owned();
        change(&mut learning);
        learning
    };
    let long = "Read the whole of the log before anything is changed, and write down which of its lines come first";
    let learnings = [
        learning(1, LearningKind::Strategy, long, &|it| {
            (it.success_rate, it.use_count, it.successes) = (0.39, 13, 3);
        }),
        learning(2, LearningKind::Estimate, "bug-fix tasks of low complexity", &|it| {
            it.facts = Some(Facts::Estimate {
                avg_iteration_time: 14_000.0,
                total_iterations: 1.0,
                complexity: "low".to_owned(),
                success_rate: 1.0,
                sampled: 4,
            });
        }),
        learning(
            3,
            LearningKind::Strategy,
            "Build with -j 4 before the tests run",
            &|_| (),
        ),
        learning(
            4,
            LearningKind::Strategy,
            "Build with -j 8 before the tests run",
            &|_| (),
        ),
    ];
    let learnings = learnings.iter();
    put_learnings(&env.path(DATABASE), learnings);
    env
}

#[test]
fn reason_for_a_conflict_and_whole_commands_are_always_shown() {
    let env = taught();
    for columns in [44, 80, 120] {
        let shown = on_screen(&env, "learnings conflicts", columns);
        for text in [
            "one says 4, the other 8",
            "learn-00000003",
            "Build with -j 4",
            "learn-00000004",
            "Build with -j 8",
            "Showing 1 conflict",
            "`ralph learnings supersede OLD NEW`",
            "`ralph learnings conflicts --both-hold ONE OTHER`",
        ] {
            assert!(shown.contains(text), "{text}: {shown}");
        }
    }
}

#[test]
fn score_explanations_fit_every_screen() {
    let env = taught();
    let relevance = "    confidence 0.320 + type 0.300 + success 0.200 + new 0.100 = 0.920\n";
    let confidence = "    confidence 0.80 × rate 1.00 × uses 1.00\n";
    let wide = on_screen(&env, "learnings query --for \"Fix the crash\" --explain", 80);
    for learning in [
        "learn-00000003  0.920  Build with -j 4 before the tests run\n",
        "learn-00000002  0.920  bug-fix tasks of low complexity: about 1 iteration, 14 s\n",
    ] {
        assert!(wide.contains(&format!("{learning}{relevance}{confidence}")), "{wide}");
    }
    let narrow = on_screen(&env, "learnings query --explain", 44);
    let below = format!("learn-00000003  0.800  Build with -j 4 befo…\n{confidence}");
    assert!(narrow.contains(&below), "{narrow}");
    on_screen(&env, "learnings query --for \"Fix the crash\" --explain", 44);
    on_screen(&env, "learnings query --explain", 80);
}

/// The text with single spaces between words.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn ineligible_learning_shows_why() {
    let env = taught();
    let why = "its success rate is 39 % after 13 uses, below 40 %";
    let whole = json(&env, &["learnings", "show", "learn-00000001", "--json"]);
    assert_eq!(whole["why_in_no_prompt"], why);
    let other = json(&env, &["learnings", "show", "learn-00000003", "--json"]);
    assert_eq!(other["why_in_no_prompt"], serde_json::Value::Null);
    let shown = words(&on_screen(&env, "learnings show learn-00000001", 44));
    let promote = "reactivate with `ralph learnings promote learn-00000001`";
    for line in [
        "shown to 13 iterations, 3 of them done",
        &format!("in prompts none: {why}; {promote}"),
    ] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    let listed = on_screen(&env, "learnings list", 80);
    let is_out = |id: &str| {
        let row = listed.lines().find(|row| row.starts_with(id)).unwrap();
        row.contains("promoted, out ")
    };
    let out = ["1", "2", "3", "4"].map(|number| is_out(&format!("learn-0000000{number}")));
    assert_eq!(out, [true, false, false, false], "{listed}");
    let footer = "Showing 4 learnings; out: not in prompts, see `ralph learnings show ID`\n";
    assert!(listed.contains(footer), "{listed}");
}

#[test]
fn uses_elsewhere_are_separate_and_rates_round_consistently() {
    let env = env();
    env.ok(["init"]);
    let learning = |number, uses, elsewhere, successes| Learning {
        use_count: uses,
        first_use_count: elsewhere,
        successes,
        success_rate: 0.386,
        ..run_learning(
            number,
            LearningKind::Strategy,
            TaskType::BugFix,
            &format!("Step {number}"),
        )
    };
    let learnings = [
        learning(1, 5, 5, 0),
        learning(2, 17, 5, 3),
        learning(3, 3, 0, 2),
        learning(4, 0, 0, 0),
    ];
    put_learnings(&env.path(DATABASE), learnings.iter());
    let listed = words(&env.ok(["learnings", "list"]));
    let rate = "in prompts none: its success rate is 38 %";
    let (below_60, below_40) = (", below the required 60 %;", " after 12 uses, below 40 %;");
    for (number, row, uses, why) in [
        (
            1,
            "promoted, out strategy 0.80 5 before",
            "to 5 iterations elsewhere, ",
            below_60,
        ),
        (
            2,
            "promoted, out strategy 0.80 3/12, 5 before",
            "to 12 iterations, 3 of them done; to 5 more elsewhere, ",
            below_40,
        ),
        (
            3,
            "promoted strategy 0.80 2/3",
            "to 3 iterations, 2 of them done created",
            "",
        ),
        (4, "promoted, out strategy 0.80 0/0", "never in prompts", below_60),
    ] {
        let id = format!("learn-0000000{number}");
        assert!(listed.contains(&format!("{id} {row} Step {number}")), "{listed}");
        let shown = words(&env.ok(["learnings", "show", &id]));
        assert!(shown.contains(&format!(" success 0.38 shown {uses}")), "{shown}");
        let is_out = shown.contains(&format!(" {rate}{why}"));
        assert_eq!(is_out, row.contains("out"), "{shown}");
    }
}

#[test]
fn estimate_shows_its_figures() {
    let env = taught();
    let figures = "bug-fix tasks of low complexity: about 1 iteration, 14 s";
    for command in [
        "learnings list --kind estimate",
        "learnings show learn-00000002",
        "learnings query --kind estimate",
    ] {
        let words: Vec<&str> = command.split(' ').collect();
        let shown = env.ok(words);
        assert!(shown.contains(figures), "{shown}");
    }
}

#[test]
fn learning_stats_wrap_between_words() {
    let shown = words(&on_screen(&taught(), "learnings stats", 44));
    for line in [
        "learnings 4 ",
        "shown most learn-00000001 in 13 prompts: Read the whole of the log before anything is changed, and write \
         down which of its lines come first ",
        "By type strategy 3 estimate 1 By task type bug-fix 4 By source extracted 4",
    ] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
}

#[test]
fn ascii_terminal_gets_dots_for_the_ellipsis() {
    let env = taught();
    let shown = env
        .sh("script -qec '\"$RALPH\" --color never learnings list' /dev/null")
        .env("TERM", "xterm")
        .env("COLUMNS", "60")
        .env("LANG", "C")
        .run();
    let row = shown
        .stdout
        .lines()
        .find(|row| row.contains("Read the"))
        .unwrap()
        .trim_end();
    assert!(
        row.ends_with("...") && row.chars().count() <= 60 && row.is_ascii(),
        "{shown}"
    );
}
