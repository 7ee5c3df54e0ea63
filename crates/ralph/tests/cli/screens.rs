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
    assert_snapshot!(on_screen(&env, "knowledge list", 44), @"
    TAGS              TITLE
    x                 A long title of a note th…
    acp, async        ACP connection lifecycle…
    testing, cargo,…  Cargo bench requires nigh…
    日本語            長い題名長い題名長い題名…

    Showing 4 entries
    ");
    assert_snapshot!(on_screen(&env, "knowledge search bench", 80), @"
    CREATED     TAGS                     ENTRY
    2025-01-20  testing, cargo, nightly  Cargo bench requires nightly: Bench the pa…
    2025-01-20  x                        A long title of a note that…: Bench the pa…
    2025-01-20  acp, async               ACP connection lifecycle pat…: Bench the p…
    2025-01-20  日本語                   長い題名長い題名長い題名長い…: Bench the p…

    Showing 4 entries
    ");
    assert_snapshot!(on_screen(&env, "knowledge search bench", 44), @"
    TAGS              ENTRY
    testing, cargo,…  Cargo bench requires nigh…
    x                 A long title of a note th…
    acp, async        ACP connection lifecycle…
    日本語            長い題名長い題名長い題名…

    Showing 4 entries
    ");
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
    assert_snapshot!(on_screen(&env, "recall bench --explain", 44), @"
    ID                   SCORE  NOTE
    cargo-bench-requir…  0.15   Cargo bench req…
    mem-1737372000-910a  0.14   Bench on a quie…
    a-long-title-of-a-…  0.11   A long title of…
    acp-connection-lif…  0.11   ACP connection…
    長い題名長い題名長…  0.04   長い題名長い題…

    Showing 5 notes
    ");
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
fn reason_for_a_conflict_is_always_shown() {
    let env = taught();
    for columns in [44, 80, 120] {
        let shown = on_screen(&env, "learnings conflicts", columns);
        assert!(shown.contains("one says 4, the other 8"), "{shown}");
    }
    assert_snapshot!(on_screen(&env, "learnings conflicts", 44), @"
      one says 4, the other 8
        1  learn-00000003 strategy, bug-fix,
           confidence 0.80
           Build with -j 4 before the tests run
        2  learn-00000004 strategy, bug-fix,
           confidence 0.80
           Build with -j 8 before the tests run

    Showing 1 conflict
    Hint: settle one with
    `ralph learnings supersede OLD NEW`; keep
    both with
    `ralph learnings conflicts --both-hold ONE OTHER`
    ");
}

#[test]
fn score_explanations_fit_every_screen() {
    let env = taught();
    assert_snapshot!(on_screen(&env, "learnings query --for \"Fix the crash\" --explain", 80), @"
    learn-00000003  0.920  Build with -j 4 before the tests run
        confidence 0.320 + type 0.300 + success 0.200 + new 0.100 = 0.920
        confidence 0.80 × rate 1.00 × uses 1.00
    learn-00000002  0.920  bug-fix tasks of low complexity: about 1 iteration, 14 s
        confidence 0.320 + type 0.300 + success 0.200 + new 0.100 = 0.920
        confidence 0.80 × rate 1.00 × uses 1.00

    Showing 2 learnings
    ");
    let narrow = on_screen(&env, "learnings query --explain", 44);
    let below = "learn-00000003  0.800  Build with -j 4 befo…\n    confidence 0.80 × rate 1.00 × uses 1.00\n";
    assert!(narrow.contains(below), "{narrow}");
    on_screen(&env, "learnings query --for \"Fix the crash\" --explain", 44);
    on_screen(&env, "learnings query --explain", 80);
}

#[test]
fn ineligible_learning_shows_why() {
    let env = taught();
    let why = "its success rate is 39 % after 13 uses, below 40 %";
    let whole = json(&env, &["learnings", "show", "learn-00000001", "--json"]);
    assert_eq!(whole["why_in_no_prompt"], why);
    let other = json(&env, &["learnings", "show", "learn-00000003", "--json"]);
    assert_eq!(other["why_in_no_prompt"], serde_json::Value::Null);
    assert_snapshot!(on_screen(&env, "learnings show learn-00000001", 44), @"
    learn-00000001 [promoted]
    learned     Read the whole of the log before
                anything is changed, and write
                down which of its lines come
                first
    category    strategy
    task type   bug-fix
    source      extracted
    runs        run-00000001
    confidence  0.80
    success     0.39
    shown       to 13 iterations, 3 of them done
    in prompts  none: its success rate is 39 %
                after 13 uses, below 40 %;
                reactivate with `ralph learnings
                promote learn-00000001`
    created     2025-01-20T12:00:00Z
    changed     2025-01-20T12:00:00Z
    ");
    assert_snapshot!(on_screen(&env, "learnings list", 80), @"
    ID              STATUS         CATEGORY  CONFIDENCE  LEARNING
    learn-00000004  promoted       strategy  0.80        Build with -j 8 before the…
    learn-00000003  promoted       strategy  0.80        Build with -j 4 before the…
    learn-00000002  promoted       estimate  0.80        bug-fix tasks of low compl…
    learn-00000001  promoted, out  strategy  0.80        Read the whole of the log…

    Showing 4 learnings; out: not in prompts, see `ralph learnings show ID`
    ");
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
    assert_snapshot!(env.ok(["learnings", "list"]), @"
    ID              STATUS         CATEGORY  CONFIDENCE  SHOWN           TAGS  LEARNING
    learn-00000004  promoted, out  strategy  0.80        0/0                   Step 4
    learn-00000003  promoted       strategy  0.80        2/3                   Step 3
    learn-00000002  promoted, out  strategy  0.80        3/12, 5 before        Step 2
    learn-00000001  promoted, out  strategy  0.80        5 before              Step 1

    Showing 4 learnings; out: not in prompts, see `ralph learnings show ID`
    ");
    let details = |id: &str| -> String {
        let shown = env.ok(["learnings", "show", id]);
        let is_wanted = |line: &&str| {
            ["success", "shown", "in prompts"]
                .iter()
                .any(|label| line.starts_with(label))
        };
        shown
            .lines()
            .filter(is_wanted)
            .map(|line| format!("{line}\n"))
            .collect()
    };
    assert_snapshot!(["1", "2", "3", "4"].map(|number| details(&format!("learn-0000000{number}"))).concat(), @"
    success     0.38
    shown       to 5 iterations elsewhere, or before the success rate was last set
    in prompts  none: its success rate is 38 %, below the required 60 %; reactivate with `ralph learnings promote learn-00000001`
    success     0.38
    shown       to 12 iterations, 3 of them done; to 5 more elsewhere, or before the success rate was last set
    in prompts  none: its success rate is 38 % after 12 uses, below 40 %; reactivate with `ralph learnings promote learn-00000002`
    success     0.38
    shown       to 3 iterations, 2 of them done
    success     0.38
    shown       never
    in prompts  none: its success rate is 38 %, below the required 60 %; reactivate with `ralph learnings promote learn-00000004`
    ");
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
    assert_snapshot!(on_screen(&taught(), "learnings stats", 44), @"
    learnings       4
    changed         2025-01-20T12:00:00Z
    confidence      0.80
    success         0.85
    shown most      learn-00000001 in 13
                    prompts: Read the whole of
                    the log before anything is
                    changed, and write down
                    which of its lines come
                    first
    staging         0: 0 pending, 0 validated, 0
                    rejected
    superseded      0
    pruned          0

    By type
      strategy      3
      estimate      1

    By task type
      bug-fix       4

    By source
      extracted     4
    ");
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
