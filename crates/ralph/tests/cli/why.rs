//! `ralph why`.

use insta::assert_snapshot;
use ralph_model::{Captured, CapturedLearning, EntryKind, Injection, InjectionReason, Outcome, Tokens};
use ralph_testkit::TestEnv;
use xxhash_rust::xxh3::xxh3_64;

use crate::past::{Worked, task, work};
use crate::terminal::on_screen;
use crate::{env, json};

const PROMPT: &str = ".ralph/runs/run-00000001/001/prompt.md";
const NOTE: &str = "### mem-1737372000-a1b2\n> Start docker first.\n";
const GUARDRAIL: &str = "### fix-1737372000-a1b2\n> Größe is bytes.\n";

fn entry(kind: EntryKind, section: &str, id: &str, text: &str) -> Injection {
    Injection {
        kind,
        id: id.to_owned(),
        digest: xxh3_64(text.as_bytes()),
        section: section.to_owned(),
        rank: 1,
        tokens: Tokens::of_characters(text.chars().count()),
        score: None,
        reason: InjectionReason::Shown,
    }
}

/// What an agent tells as lessons.
fn told(lessons: &[&str]) -> Captured {
    let lesson = |content: &&str| CapturedLearning {
        category: "pitfall".to_owned(),
        tags: Vec::new(),
        content: (*content).to_owned(),
    };
    Captured {
        learnings: lessons.iter().map(lesson).collect(),
        ..Captured::default()
    }
}

fn past() -> TestEnv {
    let env = env();
    env.write(
        ".agent/memories.md",
        "## Fixes\n\n### mem-1737372000-a1b2\n> Start podman first.\n\n### mem-1737372001-a1b2\n> Ports are taken.\n> Wait.\n",
    );
    let dates = task(&env, "Parse dates");
    let left_out = |id: &str, rank, reason| Injection {
        rank,
        reason,
        ..entry(EntryKind::Memory, "Memories", id, id)
    };
    let injections = [
        Injection {
            score: Some(3.456),
            ..entry(EntryKind::Memory, "Memories", "mem-1737372000-a1b2", NOTE)
        },
        left_out("mem-1737372001-a1b2", 2, InjectionReason::OverBudget),
        left_out("mem-1737372002-a1b2", 3, InjectionReason::Duplicate),
        left_out("mem-1737372003-a1b2", 4, InjectionReason::Superseded),
        entry(EntryKind::Guardrail, "Guardrails", "fix-1737372000-a1b2", GUARDRAIL),
    ];
    let worked = Worked {
        task: &dates,
        injections: &injections,
        used: &["fix-1737372000-a1b2"],
        ..Worked::default()
    };
    work(&env, 1, &[worked]);
    env
}

#[test]
fn what_stood_in_a_prompt_is_told_with_the_proof() {
    let env = past();
    env.write(
        PROMPT,
        format!("# Memories\n\n{NOTE}\n## Guardrails\n\n{GUARDRAIL}\n## Memory\n"),
    );
    assert_snapshot!(env.ralph(["why"]).run(), @"
    exit 0
    --- stdout
    Iteration 1 of run-00000001 [done, evidence: gates]: t-025cc1 Parse dates

    SECTION     ENTRY                IN PROMPT  WHY                 RANK  TOKENS  SCORE  WHAT
    Memories    mem-1737372000-a1b2  yes        fits the task       1     12      3.46   Start docker first.
    Guardrails  fix-1737372000-a1b2  yes        all fit; relied on  1     11             Größe is bytes.

    2 entries stood in the prompt; .ralph/runs/run-00000001/001/prompt.md holds what stood there.
    3 were left out (`--all` lists them):
      1 of Memories: no room: [memories] budget = 2000
      1 of Memories: another entry says the same
      1 of Memories: another one has taken its place
    ");
    assert_snapshot!(env.ralph(["why", "--all"]).run(), @"
    exit 0
    --- stdout
    Iteration 1 of run-00000001 [done, evidence: gates]: t-025cc1 Parse dates

    SECTION     ENTRY                IN PROMPT  WHY                                RANK  TOKENS  SCORE  WHAT
    Memories    mem-1737372000-a1b2  yes        fits the task                      1     12      3.46   Start docker first.
                mem-1737372001-a1b2  left out   no room: [memories] budget = 2000  2     5              Ports are taken.
                mem-1737372002-a1b2  left out   another entry says the same        3     5
                mem-1737372003-a1b2  left out   another one has taken its place    4     5
    Guardrails  fix-1737372000-a1b2  yes        all fit; relied on                 1     11             Größe is bytes.

    2 entries stood in the prompt, 3 were left out; .ralph/runs/run-00000001/001/prompt.md holds what stood there.
    ");
    assert_snapshot!(env.ralph(["why"]).env("COLUMNS", "80").run(), @"
    exit 0
    --- stdout
    Iteration 1 of run-00000001 [done, evidence: gates]: t-025cc1 Parse dates

    ENTRY                IN PROMPT  WHY                 WHAT
    mem-1737372000-a1b2  yes        fits the task       Start docker first.
    fix-1737372000-a1b2  yes        all fit; relied on  Größe is bytes.

    2 entries stood in the prompt; .ralph/runs/run-00000001/001/prompt.md holds what stood there.
    3 were left out (`--all` lists them):
      1 of Memories: no room: [memories] budget = 2000
      1 of Memories: another entry says the same
      1 of Memories: another one has taken its place
    ");
    let told = json(&env, &["why", "run-00000001/1", "--json"]);
    assert_eq!(told["iteration"]["id"], 1);
    assert_eq!(told["prompt"], PROMPT);
    assert_eq!(
        told["entries"][4],
        serde_json::json!({
            "section": "Guardrails",
            "kind": "guardrail",
            "id": "fix-1737372000-a1b2",
            "rank": 1,
            "tokens": 11,
            "score": null,
            "reason": "shown",
            "why": "all fit; relied on",
            "what": "Größe is bytes.",
            "used": true,
            "in_prompt": true,
        })
    );
    assert_eq!(told["entries"][1]["in_prompt"], serde_json::Value::Null);
}

#[test]
fn a_narrow_screen_shows_each_entry_with_its_reason_below() {
    let env = past();
    env.write(PROMPT, format!("# Memories\n\n{NOTE}"));
    assert_snapshot!(on_screen(&env, "why --all", 44), @"
    Iteration 1 of run-00000001 [done, evidence:
    gates]: t-025cc1 Parse dates

    Memories
      mem-1737372000-a1b2  Start docker first.
        in the prompt: fits the task
      mem-1737372001-a1b2  Ports are taken.
        left out: no room: [memories] budget =
        2000
      mem-1737372002-a1b2
        left out: another entry says the same
      mem-1737372003-a1b2
        left out: another one has taken its
        place
    Guardrails
      fix-1737372000-a1b2
        not in the prompt: all fit; relied on

    2 entries stood in the prompt, 3 were left
    out; .ralph/runs/run-00000001/001/prompt.md
    does not hold 1 of them.
    ");
}

/// The names of a feature's files, and the longest reason, take most of eighty columns.
#[test]
fn what_entries_say_is_shown_where_a_table_has_no_room_for_it() {
    let env = env();
    let dates = task(
        &env,
        "Parse dates of every calendar that our customers write in, of which there are many",
    );
    let (file, linked) = (".ralph/features/search/spec.md", "wal-mode.md");
    let injections = [
        entry(EntryKind::Feature, "Feature Specification", file, "# Search\n"),
        Injection {
            rank: 2,
            reason: InjectionReason::OverBudget,
            ..entry(EntryKind::Feature, "Feature Specification", file, "The rest.\n")
        },
        entry(
            EntryKind::Knowledge,
            "Project Knowledge",
            linked,
            "### WAL mode\nIt is on.\n",
        ),
        Injection {
            reason: InjectionReason::Duplicate,
            ..entry(EntryKind::Learning, "Learnings", "learn-00000001", "x")
        },
    ];
    let worked = Worked {
        task: &dates,
        injections: &injections,
        captured: told(&["Do not commit the lock file."]),
        ..Worked::default()
    };
    work(&env, 1, &[worked]);
    env.write(PROMPT, "# Search\n### WAL mode\nIt is on.\n");
    assert_snapshot!(on_screen(&env, "why --all", 80), @"
    Iteration 1 of run-00000001 [done, evidence: gates]: t-025cc1 Parse dates of
    every calendar that our customers write in, of which there are many

    Feature Specification
      .ralph/features/search/spec.md  # Search
        in the prompt: the task's feature, cut
      .ralph/features/search/spec.md
        left out: the text is too long for a prompt
    Project Knowledge
      wal-mode.md  WAL mode
        in the prompt: linked with a note that fits
    Learnings
      learn-00000001  [pitfall] Do not commit the lock file.
        left out: another entry says the same

    2 entries stood in the prompt, 2 were left out;
    .ralph/runs/run-00000001/001/prompt.md holds what stood there.
    ");
    let table = |columns: &str| {
        let told = env.ralph(["why"]).env("COLUMNS", columns).run().stdout;
        told.split("\n\n").nth(1).unwrap().to_owned()
    };
    assert_snapshot!(table("85"), @"
    ENTRY                           IN PROMPT  WHY                           WHAT
    .ralph/features/search/spec.md  yes        the task's feature, cut       # Search
    wal-mode.md                     yes        linked with a note that fits  WAL mode
    ");
    let told = env.ok(["why"]);
    let left_out = "2 were left out (`--all` lists them):
  1 of Feature Specification: the text is too long for a prompt
  1 of Learnings: another entry says the same\n";
    assert!(told.ends_with(left_out), "{told}");
}

/// Which of the two it was is seen from what the lessons say; of one that is gone it is not known any more.
#[test]
fn a_lesson_that_another_one_kept_out_is_told_with_what_that_one_says() {
    let env = env();
    let dates = task(&env, "Parse dates");
    let lesson = |id: &str, reason| Injection {
        reason,
        ..entry(EntryKind::Learning, "Learnings", id, id)
    };
    let injections = [
        lesson("learn-00000001", InjectionReason::Shown),
        lesson("learn-00000002", InjectionReason::Duplicate),
        lesson("learn-00000003", InjectionReason::Duplicate),
    ];
    let worked = Worked {
        task: &dates,
        injections: &injections,
        captured: told(&[
            "Do not commit the lock file.",
            "Never forget to commit the lock file.",
            "Parse nothing.",
        ]),
        ..Worked::default()
    };
    work(&env, 1, &[worked]);
    let reasons = || {
        let told = json(&env, &["why", "--json"]);
        let left_out = told["entries"].as_array().unwrap().iter().skip(1);
        left_out
            .map(|entry| entry["why"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        reasons(),
        ["learn-00000001 says the contrary", "another entry says the same"]
    );
    env.ok(["learnings", "delete", "learn-00000001", "--yes"]);
    let either = "another entry says the same, or the contrary";
    assert_eq!(reasons(), [either, either]);
}

#[test]
fn earlier_attempts_are_told_by_why_they_failed() {
    let env = env();
    let dates = task(&env, "Parse dates");
    let shown = "#### Attempt 1 (sonnet, retried)\n- **Why it failed**: The gate `make` is red.\n";
    let refused = Worked {
        task: &dates,
        outcome: Outcome::Retried,
        reason: "The gate `make` is red.\nno rule",
        ..Worked::default()
    };
    let injections = [
        entry(EntryKind::Report, "Previous Attempts", "1", shown),
        Injection {
            rank: 2,
            reason: InjectionReason::OverBudget,
            ..entry(EntryKind::Report, "Previous Attempts", "99", "gone")
        },
    ];
    let again = Worked {
        task: &dates,
        injections: &injections,
        ..Worked::default()
    };
    work(&env, 1, &[refused, again]);
    env.write(
        ".ralph/runs/run-00000001/002/prompt.md",
        format!("### Previous Attempts\n\n{shown}\n## Memory\n"),
    );
    assert_snapshot!(env.ok(["why", "--all"]), @"
    Iteration 2 of run-00000001 [done, evidence: gates]: t-025cc1 Parse dates

    SECTION            ENTRY  IN PROMPT  WHY                                RANK  TOKENS  SCORE  WHAT
    Previous Attempts  1      yes        how this task failed before        1     20             attempt 1: The gate `make` is red.
                       99     left out   no room: [context] attempts = 750  2     1

    1 entry stood in the prompt, 1 was left out; .ralph/runs/run-00000001/002/prompt.md holds what stood there.
    ");
}

#[test]
fn a_prompt_that_was_changed_or_is_gone_proves_nothing() {
    let env = past();
    let closing = |env: &TestEnv| {
        env.ok(["why", "1"])
            .lines()
            .find(|line| line.contains("stood"))
            .unwrap()
            .to_owned()
    };
    assert_snapshot!(closing(&env), @"2 entries stood in the prompt; .ralph/runs/run-00000001/001/prompt.md was pruned, or is of another worktree.");
    assert_eq!(json(&env, &["why", "--json"])["prompt"], serde_json::Value::Null);
    env.write(
        PROMPT,
        format!("# Memories\n\n{}\n{GUARDRAIL}", NOTE.replace("first", "last")),
    );
    assert_snapshot!(env.ok(["why", "1"]), @"
    Iteration 1 of run-00000001 [done, evidence: gates]: t-025cc1 Parse dates

    SECTION     ENTRY                IN PROMPT  WHY                 RANK  TOKENS  SCORE  WHAT
    Memories    mem-1737372000-a1b2  no         fits the task       1     12      3.46   Start podman first.
    Guardrails  fix-1737372000-a1b2  yes        all fit; relied on  1     11             Größe is bytes.

    2 entries stood in the prompt; .ralph/runs/run-00000001/001/prompt.md does not hold 1 of them.
    3 were left out (`--all` lists them):
      1 of Memories: no room: [memories] budget = 2000
      1 of Memories: another entry says the same
      1 of Memories: another one has taken its place
    ");
}

#[test]
fn where_nothing_stood_nothing_is_proved() {
    let env = env();
    let tea = task(&env, "Make tea");
    let left_out = Injection {
        reason: InjectionReason::OverBudget,
        ..entry(EntryKind::Memory, "Memories", "mem-1737372001-a1b2", NOTE)
    };
    let worked = Worked {
        task: &tea,
        injections: &[left_out],
        ..Worked::default()
    };
    work(&env, 1, &[worked]);
    assert_snapshot!(env.ok(["why"]), @"
    Iteration 1 of run-00000001 [done, evidence: gates]: t-025cc1 Make tea

    0 entries stood in the prompt.
    1 was left out (`--all` lists them):
      1 of Memories: no room: [memories] budget = 2000
    ");
    let all = env.ok(["why", "--all"]);
    assert_eq!(
        all.lines().last(),
        Some("0 entries stood in the prompt, 1 was left out.")
    );
}

#[test]
fn an_iteration_without_memory_says_so() {
    let env = env();
    let tea = task(&env, "Make tea");
    let worked = Worked {
        task: &tea,
        ..Worked::default()
    };
    work(&env, 1, &[worked]);
    assert_snapshot!(env.ralph(["why"]).run(), @"
    exit 0
    --- stdout
    Iteration 1 of run-00000001 [done, evidence: gates]: t-025cc1 Make tea

    Nothing of the memory was considered for its prompt.
    ");
    assert_snapshot!(env.ralph(["why", "2"]).run(), @"
    exit 1
    --- stderr
    Error: there is no iteration 2 in the journal
    Hint: `ralph journal list` shows what there is
    ");
}

/// Of lessons that are left out, only those behind the last one that stands had to make way for better ones.
#[test]
fn a_lesson_before_those_that_stood_there_had_no_room() {
    let env = env();
    let dates = task(&env, "Parse dates");
    let reasons = [InjectionReason::OverBudget]
        .into_iter()
        .chain([InjectionReason::Shown; 5])
        .chain([InjectionReason::OverBudget]);
    let lesson = |(rank, reason): (u32, InjectionReason)| Injection {
        rank,
        reason,
        score: Some(1.0),
        ..entry(
            EntryKind::Learning,
            "Learnings from Previous Iterations",
            &format!("learn-{rank:08x}"),
            "x",
        )
    };
    let injections: Vec<Injection> = (1..).zip(reasons).map(lesson).collect();
    let worked = Worked {
        task: &dates,
        injections: &injections,
        ..Worked::default()
    };
    work(&env, 1, &[worked]);
    let told = json(&env, &["why", "--json"]);
    let entries = told["entries"].as_array().unwrap();
    let left_out = entries.iter().filter(|entry| entry["reason"] == "over_budget");
    let left_out: Vec<(u64, &str)> = left_out
        .map(|entry| (entry["rank"].as_u64().unwrap(), entry["why"].as_str().unwrap()))
        .collect();
    assert_eq!(
        left_out,
        [
            (1, "no room: [context] learnings = 375"),
            (7, "others fit the task better")
        ]
    );
}

#[test]
fn lessons_are_told_with_why_they_stood_there_and_why_not() {
    let env = env();
    let dates = task(&env, "Parse dates");
    let item = "- **[pitfall]** Look first.\n";
    let lesson = |number: u32, text: &str, score, reason| Injection {
        rank: number,
        score,
        reason,
        ..entry(
            EntryKind::Learning,
            "Learnings from Previous Iterations",
            &format!("learn-{number:08x}"),
            text,
        )
    };
    let injections = [
        lesson(1, item, Some(2.25), InjectionReason::Shown),
        lesson(2, "- **[a]** Own.\n", None, InjectionReason::Shown),
        lesson(3, "long", Some(1.0), InjectionReason::OverBudget),
    ];
    let worked = Worked {
        task: &dates,
        injections: &injections,
        used: &["learn-00000001"],
        captured: told(&["One.", "Two.", "Three is long."]),
        ..Worked::default()
    };
    work(&env, 1, &[worked]);
    env.write(
        PROMPT,
        format!("## Assigned Task\n\n{item}- **[a]** Own.\n\n## Memory\n"),
    );
    assert_snapshot!(env.ralph(["why", "--all"]).run(), @"
    exit 0
    --- stdout
    Iteration 1 of run-00000001 [done, evidence: gates]: t-025cc1 Parse dates

    SECTION                             ENTRY           IN PROMPT  WHY                                 RANK  TOKENS  SCORE  WHAT
    Learnings from Previous Iterations  learn-00000001  yes        fits the task; relied on            1     7       2.25   [pitfall] Look first.
                                        learn-00000002  yes        learned at this task                2     4              [a] Own.
                                        learn-00000003  left out   no room: [context] learnings = 375  3     1       1.00   [pitfall] Three is long.

    2 entries stood in the prompt, 1 was left out; .ralph/runs/run-00000001/001/prompt.md holds what stood there.
    ");
}
