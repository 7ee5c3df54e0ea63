//! Tests of `ralph why`.

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

fn captured(learnings: &[&str]) -> Captured {
    let learning = |content: &&str| CapturedLearning {
        category: "pitfall".to_owned(),
        tags: Vec::new(),
        content: (*content).to_owned(),
    };
    Captured {
        learnings: learnings.iter().map(learning).collect(),
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
fn entries_are_checked_against_the_saved_prompt() {
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
    Memories    mem-1737372000-a1b2  yes        matches the task    1     12      3.46   Start docker first.
    Guardrails  fix-1737372000-a1b2  yes        all fit; relied on  1     11             Größe is bytes.

    2 entries in the prompt; confirmed by .ralph/runs/run-00000001/001/prompt.md.
    3 left out (use `--all` to list them):
      1 of Memories: over budget: [memories] budget = 2000
      1 of Memories: duplicate of another entry
      1 of Memories: superseded
    ");
    let all = env.ralph(["why", "--all"]).run();
    all.printed(&["Ports are taken.", "2 entries in the prompt, 3 left out; confirmed by"]);
    let narrow = env.ralph(["why"]).env("COLUMNS", "80").run();
    narrow.printed(&["ENTRY", "IN PROMPT", "WHY", "WHAT", "Start docker first."]);
    assert!(!narrow.stdout.contains("RANK"), "{narrow}");
    let why = json(&env, &["why", "run-00000001/1", "--json"]);
    assert_eq!(why["iteration"]["id"], 1);
    assert_eq!(why["prompt"], PROMPT);
    assert_eq!(
        why["entries"][4],
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
    assert_eq!(why["entries"][1]["in_prompt"], serde_json::Value::Null);
    let entries = why["entries"].as_array().unwrap().iter();
    let reasons: Vec<&str> = entries.map(|entry| entry["why"].as_str().unwrap()).collect();
    let budget = "over budget: [memories] budget = 2000";
    let duplicate = "duplicate of another entry";
    assert_eq!(
        reasons,
        [
            "matches the task",
            budget,
            duplicate,
            "superseded",
            "all fit; relied on"
        ]
    );
}

#[test]
fn narrow_screen_stacks_entries_and_reasons() {
    let env = past();
    env.write(PROMPT, format!("# Memories\n\n{NOTE}"));
    assert_snapshot!(on_screen(&env, "why --all", 44), @"
    Iteration 1 of run-00000001 [done, evidence:
    gates]: t-025cc1 Parse dates

    Memories
      mem-1737372000-a1b2  Start docker first.
        in the prompt: matches the task
      mem-1737372001-a1b2  Ports are taken.
        left out: over budget: [memories] budget
        = 2000
      mem-1737372002-a1b2
        left out: duplicate of another entry
      mem-1737372003-a1b2
        left out: superseded
    Guardrails
      fix-1737372000-a1b2
        not in the prompt: all fit; relied on

    2 entries in the prompt, 3 left out; 1 not
    found in
    .ralph/runs/run-00000001/001/prompt.md.
    ");
}

/// The file names of a feature and the longest reason take most of 80 columns.
#[test]
fn entries_are_stacked_if_the_table_does_not_fit() {
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
        captured: captured(&["Do not commit the lock file."]),
        ..Worked::default()
    };
    work(&env, 1, &[worked]);
    env.write(PROMPT, "# Search\n### WAL mode\nIt is on.\n");
    let shown = on_screen(&env, "why --all", 80);
    assert!(!shown.contains("IN PROMPT"), "{shown}");
    for entry in [
        "  .ralph/features/search/spec.md  # Search\n    in the prompt: the task's feature (cut)\n",
        "  wal-mode.md  WAL mode\n    in the prompt: linked from a matching entry\n",
        "  learn-00000001  [pitfall] Do not commit the lock file.\n    left out: duplicate of another entry\n",
    ] {
        assert!(shown.contains(entry), "{entry} in {shown}");
    }
    let table = env.ralph(["why"]).env("COLUMNS", "85").run();
    table.printed(&[
        "ENTRY",
        "IN PROMPT",
        "spec.md  yes",
        "wal-mode.md                     yes",
        "2 left out",
        "the text is too long for a prompt",
        "duplicate of another entry",
    ]);
}

/// The texts of the learnings tell a duplicate from a conflict; for a deleted learning that is unknown.
#[test]
fn blocked_learning_is_a_duplicate_or_a_conflict() {
    let env = env();
    let dates = task(&env, "Parse dates");
    let learning = |id: &str, reason| Injection {
        reason,
        ..entry(EntryKind::Learning, "Learnings", id, id)
    };
    let injections = [
        learning("learn-00000001", InjectionReason::Shown),
        learning("learn-00000002", InjectionReason::Duplicate),
        learning("learn-00000003", InjectionReason::Duplicate),
    ];
    let worked = Worked {
        task: &dates,
        injections: &injections,
        captured: captured(&[
            "Do not commit the lock file.",
            "Commit the lock file.",
            "Parse nothing.",
        ]),
        ..Worked::default()
    };
    work(&env, 1, &[worked]);
    let reasons = || {
        let why = json(&env, &["why", "--json"]);
        let left_out = why["entries"].as_array().unwrap().iter().skip(1);
        left_out
            .map(|entry| entry["why"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        reasons(),
        ["conflicts with learn-00000001", "duplicate of another entry"]
    );
    env.ok(["learnings", "delete", "learn-00000001", "--yes"]);
    let either = "duplicate of or conflict with another entry";
    assert_eq!(reasons(), [either, either]);
}

#[test]
fn earlier_attempts_show_why_they_failed() {
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
    env.ralph(["why", "--all"]).run().printed(&[
        "an earlier failed attempt",
        "attempt 1: The gate `make` is red.",
        "over budget: [context] attempts = 750",
        "1 entry in the prompt, 1 left out; confirmed by .ralph/runs/run-00000001/002/prompt.md",
    ]);
}

#[test]
fn changed_or_missing_prompt_confirms_nothing() {
    let env = past();
    let pruned = env.ralph(["why", "1"]).run();
    pruned.printed(&["2 entries in the prompt; .ralph/runs/run-00000001/001/prompt.md was pruned"]);
    assert_eq!(json(&env, &["why", "--json"])["prompt"], serde_json::Value::Null);
    env.write(
        PROMPT,
        format!("# Memories\n\n{}\n{GUARDRAIL}", NOTE.replace("first", "last")),
    );
    env.ralph(["why", "1"]).run().printed(&[
        "mem-1737372000-a1b2  no ",
        "Start podman first.",
        "fix-1737372000-a1b2  yes",
        "2 entries in the prompt; 1 not found in .ralph/runs/run-00000001/001/prompt.md",
    ]);
}

#[test]
fn empty_prompt_needs_no_confirmation() {
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
    let why = env.ralph(["why"]).run();
    why.printed(&[
        "0 entries in the prompt.\n",
        "1 left out",
        "over budget: [memories] budget = 2000",
    ]);
    let all = env.ok(["why", "--all"]);
    assert_eq!(all.lines().last(), Some("0 entries in the prompt, 1 left out."));
}

#[test]
fn iteration_without_memory() {
    let env = env();
    let tea = task(&env, "Make tea");
    let worked = Worked {
        task: &tea,
        ..Worked::default()
    };
    work(&env, 1, &[worked]);
    env.ralph(["why"]).run().printed(&["No memory was considered"]);
    let unknown = env.ralph(["why", "2"]).run();
    unknown.refused(1, &["iteration not found: 2", "ralph journal list"]);
}

/// Of the learnings left out, only those ranked after the last injected one lost to better matches.
#[test]
fn learning_ranked_before_injected_ones_was_over_budget() {
    let env = env();
    let dates = task(&env, "Parse dates");
    let reasons = [InjectionReason::OverBudget]
        .into_iter()
        .chain([InjectionReason::Shown; 5])
        .chain([InjectionReason::OverBudget]);
    let learning = |(rank, reason): (u32, InjectionReason)| Injection {
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
    let injections: Vec<Injection> = (1..).zip(reasons).map(learning).collect();
    let worked = Worked {
        task: &dates,
        injections: &injections,
        ..Worked::default()
    };
    work(&env, 1, &[worked]);
    let why = json(&env, &["why", "--json"]);
    let entries = why["entries"].as_array().unwrap();
    let left_out = entries.iter().filter(|entry| entry["reason"] == "over_budget");
    let left_out: Vec<(u64, &str)> = left_out
        .map(|entry| (entry["rank"].as_u64().unwrap(), entry["why"].as_str().unwrap()))
        .collect();
    assert_eq!(
        left_out,
        [
            (1, "over budget: [context] learnings = 375"),
            (7, "others match the task better")
        ]
    );
}

#[test]
fn learnings_show_their_reasons() {
    let env = env();
    let dates = task(&env, "Parse dates");
    let item = "- **[pitfall]** Look first.\n";
    let learning = |number: u32, text: &str, score, reason| Injection {
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
        learning(1, item, Some(2.25), InjectionReason::Shown),
        learning(2, "- **[a]** Own.\n", None, InjectionReason::Shown),
        learning(3, "long", Some(1.0), InjectionReason::OverBudget),
    ];
    let worked = Worked {
        task: &dates,
        injections: &injections,
        used: &["learn-00000001"],
        captured: captured(&["One.", "Two.", "Three is long."]),
        ..Worked::default()
    };
    work(&env, 1, &[worked]);
    env.write(
        PROMPT,
        format!("## Assigned Task\n\n{item}- **[a]** Own.\n\n## Memory\n"),
    );
    env.ralph(["why", "--all"]).run().printed(&[
        "learn-00000001  yes",
        "matches the task; relied on",
        "2.25   [pitfall] Look first.",
        "learn-00000002  yes",
        "learned from this task",
        "learn-00000003  left out",
        "over budget: [context] learnings = 375",
        "2 entries in the prompt, 1 left out; confirmed by",
    ]);
}
