//! `ralph learnings import`, `export` and `merge`, and what doctor and init say of an earlier tool's learnings.

use std::path::Path;

use insta::assert_snapshot;
use ralph_testkit::{TestEnv, node};
use serde_json::json;

use crate::{DATABASE, env, foreign_database, json, names};

const FOLDER: &str = ".aiwg/knowledge";
const STORE: &str = ".aiwg/knowledge/ralph-learnings.json";
const BACKUP: &str = ".aiwg/knowledge/ralph-learnings.json.bak";
const STAGING: &str = ".aiwg/knowledge/staging.json";

/// A file that the earlier tool wrote.
pub(crate) fn golden(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ralph-memory/tests/exchange");
    std::fs::read_to_string(folder.join("golden").join(name)).unwrap()
}

/// A project in which the earlier tool has worked.
fn worked() -> TestEnv {
    let env = env();
    env.write(STORE, golden("plain.json"));
    env.write(STAGING, golden("staging.json"));
    env
}

/// The contents of the learnings, with how far they have come.
fn learned(env: &TestEnv) -> Vec<String> {
    let listed = json(env, &["learnings", "list", "--all", "--limit", "0", "--json"]);
    let line = |learning: &serde_json::Value| {
        let word = |path: &str| learning.pointer(path).and_then(|text| text.as_str()).unwrap();
        format!("{}: {}", word("/status"), word("/content/description"))
    };
    let mut lines: Vec<String> = listed.as_array().unwrap().iter().map(line).collect();
    lines.sort();
    lines
}

#[test]
fn a_folder_of_the_earlier_tool_is_taken_over_once() {
    let env = worked();
    let before = names(&env);
    assert_snapshot!(env.ralph(["learnings", "import", FOLDER, "--dry-run"]).run(), @r#"
    exit 0
    --- stdout
    Would import 7 learnings: 7 new, 1 of them rejected
    --- stderr
    Rejected: "Hope for the best": Confidence too low (< 0.3).
    Nothing was changed; without --dry-run it is imported.
    "#);
    assert_eq!(names(&env), before, "trying changes nothing");
    assert_snapshot!(env.ralph(["learnings", "import", FOLDER]).run(), @r#"
    exit 0
    --- stdout
    Imported 7 learnings: 7 new, 1 of them rejected
    --- stderr
    Rejected: "Hope for the best": Confidence too low (< 0.3).
    "#);
    assert_eq!(
        learned(&env),
        [
            "pending: Draw the interface first",
            "promoted: Avoid: editing generated files",
            "promoted: Reproduce the fault before mending it",
            "promoted: Tests stand beside what they test",
            "promoted: test-fix tasks of medium complexity",
            "rejected: Hope for the best",
            "validated: Modules end in .mjs",
        ]
    );
    assert_snapshot!(env.ralph(["learnings", "import", FOLDER]).run(), @"
    exit 0
    --- stdout
    Imported 7 learnings: 7 here already
    ");
    assert_eq!(env.read(STORE), golden("plain.json"), "their files stay as they are");
    assert_eq!(learned(&env).len(), 7);
}

#[test]
fn what_nobody_changed_goes_back_to_the_byte() {
    let env = worked();
    env.ok(["learnings", "import", STORE]);
    assert_eq!(
        env.ok(["learnings", "export", "json", "--to", "copy.json"]),
        "Exported 4 learnings to copy.json\n"
    );
    let checksum = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap()["checksum"].clone();
    assert_eq!(checksum(&env.read("copy.json")), checksum(&golden("plain.json")));
    let part = |text: &str| text.split("\"learnings\"").nth(1).unwrap().to_owned();
    assert_eq!(part(&env.read("copy.json")), part(&golden("plain.json")));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ralph-memory/tests/exchange/verify.mjs");
    if let Some(told) = node(&script, &[], &env.ok(["learnings", "export", "json"])) {
        assert!(told.contains("\"totalLearnings\":4"), "{told}");
    }
}

#[test]
fn a_store_whose_checksum_is_wrong_is_refused_unless_somebody_insists() {
    let env = env();
    env.write(STORE, golden("plain.json").replace("0.85", "0.95"));
    assert_snapshot!(env.ralph(["learnings", "import", STORE]).run(), @"
    exit 1
    --- stderr
    Error: .aiwg/knowledge/ralph-learnings.json: its checksum does not fit what it holds, so something has changed it; it has no backup
    Hint: `ralph learnings import FILE --force` takes it as it stands; look at it before
    ");
    assert_eq!(names(&env), [".aiwg/", ".aiwg/knowledge/", STORE], "nothing was made");
    assert_snapshot!(env.ralph(["learnings", "import", STORE, "--force"]).run(), @"
    exit 0
    --- stdout
    Imported 4 learnings: 4 new
    --- stderr
    Warning: .aiwg/knowledge/ralph-learnings.json: its checksum does not fit what it holds, so something has changed it; taken as it stands.
    ");
}

#[test]
fn a_broken_store_is_had_from_its_backup_and_said() {
    let env = env();
    env.write(STORE, "{\"learnings\": [");
    env.write(BACKUP, golden("plain.json"));
    assert_snapshot!(env.ralph(["learnings", "import", FOLDER]).run(), @"
    exit 0
    --- stdout
    Imported 4 learnings: 4 new
    --- stderr
    Warning: .aiwg/knowledge/ralph-learnings.json: it is not JSON: line 1, column 16: it ends before a value; its backup .aiwg/knowledge/ralph-learnings.json.bak is good and was taken instead.
    ");
    assert_eq!(env.read(BACKUP), golden("plain.json"));
    assert_eq!(learned(&env).len(), 4);
}

#[test]
fn fault_24_corrupt_staging_is_an_error_that_names_the_file() {
    let env = worked();
    env.write(STAGING, "{\"staged\":");
    assert_snapshot!(env.ralph(["learnings", "import", FOLDER]).run(), @"
    exit 1
    --- stderr
    Error: .aiwg/knowledge/staging.json: it is not JSON: line 1, column 11: it ends before a value; it has no backup
    Hint: bring it back from a copy of yours; nothing was imported
    ");
    assert_eq!(env.ok(["learnings", "list"]), "No learnings yet.\n", "all or nothing");
    assert_eq!(env.read(STAGING), "{\"staged\":");
}

#[test]
fn bad_entries_are_named_and_the_rest_is_taken() {
    let env = env();
    env.write(
        "odd.json",
        r#"{"checksum": "?", "learnings": [
            null,
            {"id": "a", "type": "hunch", "taskType": "feature", "content": {"description": "Feel"}},
            {"id": "b", "type": "strategy", "taskType": "feature", "content": {"description": "Hope"}, "confidence": 0},
            {"id": "c", "type": "strategy", "taskType": "feature", "content": {"description": "Look"}, "successRate": 0.8}
        ]}"#,
    );
    assert_snapshot!(env.ralph(["learnings", "import", "odd.json", "--force"]).run(), @r#"
    exit 0
    --- stdout
    Imported 2 learnings: 2 new, 1 of them rejected
    --- stderr
    Warning: odd.json: its checksum does not fit what it holds, so something has changed it; taken as it stands.
    Warning: odd.json: entry 1 was left out: it is null instead of an object.
    Warning: odd.json: entry 2 (a) was left out: Invalid type: hunch.
    Rejected: "Hope": Confidence too low (< 0.3).
    "#);
    let told = json(&env, &["learnings", "import", "odd.json", "--force", "--json"]);
    assert_eq!(
        told["left_out"],
        json!([
            {"file": "odd.json", "entry": 1, "id": null, "why": "it is null instead of an object"},
            {"file": "odd.json", "entry": 2, "id": "a", "why": "Invalid type: hunch"},
        ])
    );
    assert_eq!((&told["added"], &told["unchanged"]), (&json!(0), &json!(2)));
}

#[test]
fn what_is_not_there_or_is_no_store_is_told() {
    let env = env();
    env.write("note.txt", "hello");
    std::fs::create_dir(env.path("empty")).unwrap();
    assert_snapshot!(env.ralph(["learnings", "import", "none.json"]).run(), @"
    exit 1
    --- stderr
    Error: none.json is not there
    ");
    assert_snapshot!(env.ralph(["learnings", "import", "note.txt", "--force"]).run(), @"
    exit 1
    --- stderr
    Error: note.txt: it is not JSON: line 1, column 1: no value begins so; it has no backup
    Hint: bring it back from a copy of yours; nothing was imported
    ");
    assert_snapshot!(env.ralph(["learnings", "import", "empty"]).run(), @"
    exit 1
    --- stderr
    Error: empty holds neither ralph-learnings.json nor staging.json
    Hint: name the file, or the folder that holds them
    ");
    assert_snapshot!(env.ralph(["learnings", "merge", "empty"]).run(), @"
    exit 1
    --- stderr
    Error: empty holds neither ralph-learnings.json nor staging.json
    Hint: name the file, or the folder that holds them
    ");
    assert_snapshot!(env.ralph(["learnings", "export", "xml"]).run(), @"
    exit 2
    --- stderr
    error: invalid value 'xml' for '<FORM>'
      [possible values: json, csv, markdown]

    For more information, try '--help'.
    ");
    env.write(DATABASE, foreign_database());
    env.write(STORE, golden("plain.json"));
    let refused = env.ralph(["learnings", "import", STORE]).run();
    assert_eq!(refused.code, Some(1), "{refused}");
}

#[test]
fn an_export_never_takes_the_place_of_what_is_there_without_keeping_it() {
    let env = env();
    env.ok([
        "learnings",
        "add",
        "Look first",
        "--category",
        "other",
        "--task-type",
        "bug-fix",
    ]);
    env.write(STORE, golden("plain.json"));
    assert_snapshot!(env.ralph(["learnings", "export", "json", "--to", STORE]).run(), @"
    exit 0
    --- stdout
    Exported 1 learning to .aiwg/knowledge/ralph-learnings.json
    --- stderr
    The store that was there is its backup now: .aiwg/knowledge/ralph-learnings.json.bak.
    ");
    assert_eq!(env.read(BACKUP), golden("plain.json"));
    env.write(STORE, "broken");
    assert_snapshot!(env.ralph(["learnings", "export", "json", "--to", STORE]).run(), @"
    exit 0
    --- stdout
    Exported 1 learning to .aiwg/knowledge/ralph-learnings.json
    --- stderr
    Warning: What was there was no good store; it is kept as .aiwg/knowledge/ralph-learnings.json.broken.
    ");
    assert_eq!(env.read(BACKUP), golden("plain.json"), "a good backup stays");
    assert_eq!(env.read(&format!("{STORE}.broken")), "broken");
    env.write("page.md", "mine");
    assert_snapshot!(env.ralph(["learnings", "export", "markdown", "--to", "page.md"]).run(), @"
    exit 1
    --- stderr
    Error: page.md is there already, and was left as it is
    Hint: name another file, or remove this one
    ");
    assert_eq!(env.read("page.md"), "mine");
}

#[test]
fn all_forms_are_written_and_what_does_not_hold_only_on_request() {
    let env = worked();
    env.ok(["learnings", "import", FOLDER]);
    assert_snapshot!(env.ok(["learnings", "export", "csv"]), @"
    id,type,taskType,confidence,successRate,useCount,createdAt
    learn-one,strategy,bug-fix,0.85,0.9,5,2026-02-01T15:00:00.000Z
    learn-two,antipattern,bug-fix,0.85,0,5,2026-02-01T15:00:00.000Z
    learn-three,estimate,test-fix,0.6,0.9,5,2026-02-01T15:00:00.000Z
    learn-four,convention,general,0.85,1,5,2026-02-01T15:00:00.000Z
    ");
    assert_snapshot!(env.ok(["learnings", "export", "markdown", "--all"]), @"
    # Learnings

    ## Strategies

    - Reproduce the fault before mending it (effectiveness: 85%)
      `learn-one` · bug-fix · confidence 0.85 · success 0.90 · used 5 times
    - Draw the interface first (effectiveness: 75%)
      `stage-1770000000000-0` · pending · feature · confidence 0.75 · success 0.75 · never used
    - Hope for the best (effectiveness: 60%)
      `stage-1770000000000-2` · rejected · feature · confidence 0.20 · success 0.60 · never used

    ## Anti-patterns

    - Avoid: editing generated files
      `learn-two` · bug-fix · confidence 0.85 · success 0.00 · used 5 times

    ## Estimates

    - test-fix tasks of medium complexity: about 3 iterations, 45 s each
      `learn-three` · test-fix · confidence 0.60 · success 0.90 · used 5 times

    ## Conventions

    - Tests stand beside what they test
      Examples: src/a.test.ts, src/b.test.ts
      `learn-four` · general · confidence 0.85 · success 1.00 · used 5 times
    - Modules end in .mjs
      Examples: a.mjs
      `stage-1770000000000-1` · validated · general · confidence 0.80 · success 1.00 · never used
    ");
    // What waits elsewhere waits here, too.
    let other = env.beside("other");
    std::fs::create_dir(&other).unwrap();
    let store = other.join("store.json").to_string_lossy().into_owned();
    env.ok(["learnings", "export", "json", "--all", "--to", &store]);
    let import = env
        .ralph(["learnings", "import", "store.json", "--root", "."])
        .folder(&other)
        .run();
    assert_eq!(import.code, Some(0), "{import}");
    let rejected = env
        .ralph(["learnings", "list", "--status", "rejected", "--root", "."])
        .folder(&other)
        .run();
    assert!(rejected.stdout.contains("Hope for the best"), "{rejected}");
}

#[test]
fn nothing_is_exported_as_an_empty_store() {
    let env = env();
    let store: serde_json::Value = serde_json::from_str(&env.ok(["learnings", "export", "json"])).unwrap();
    assert_eq!(store["learnings"], json!([]));
    assert_eq!(names(&env), [] as [&str; 0], "asking makes nothing");
}

#[test]
fn learnings_of_another_project_are_merged() {
    let env = env();
    let add = |env: &TestEnv, seed: &str, text: &str, root: &Path| {
        let root = root.to_string_lossy().into_owned();
        let added = env
            .ralph([
                "learnings",
                "add",
                text,
                "--category",
                "other",
                "--task-type",
                "bug-fix",
                "--root",
                &root,
            ])
            .env("RALPH_SEED", seed)
            .run();
        assert_eq!(added.code, Some(0), "{added}");
    };
    let other = env.beside("other");
    std::fs::create_dir(&other).unwrap();
    add(&env, "1", "Look first", &env.project());
    add(&env, "2", "Keep calm", &env.project());
    add(&env, "3", "look first!", &other);
    add(&env, "4", "Drink tea", &other);
    let other = other.to_string_lossy().into_owned();
    assert_snapshot!(env.ralph(["learnings", "merge", &other]).run(), @"
    exit 0
    --- stdout
    Merged 2 + 2 = 3 learnings
    --- stderr
    Of those that came: 1 new, 1 known and surer now.
    ");
    let database = format!("{other}/.ralph/progress.db");
    assert_snapshot!(env.ralph(["learnings", "merge", &database]).run(), @"
    exit 0
    --- stdout
    Merged 3 + 2 = 3 learnings
    --- stderr
    Of those that came: 2 here already.
    ");
    assert_snapshot!(env.ralph(["learnings", "merge", "."]).run(), @"
    exit 2
    --- stderr
    Error: [TMP]/project is this project, so there is nothing to merge
    ");
    env.write("store.json", golden("plain.json"));
    assert_snapshot!(env.ralph(["learnings", "merge", "store.json"]).run(), @"
    exit 0
    --- stdout
    Merged 3 + 4 = 7 learnings
    --- stderr
    Of those that came: 4 new.
    ");
}

#[test]
fn doctor_and_init_name_the_command_until_it_was_run() {
    let env = worked();
    let init = env.ralph(["init"]).run();
    assert_snapshot!(init.stderr, @"An earlier tool has 7 learnings in .aiwg/knowledge: `ralph learnings import .aiwg/knowledge` takes them over.");
    assert_snapshot!(found(&env), @"
    note .aiwg/knowledge: an earlier tool has 7 learnings that are not here -> `ralph learnings import .aiwg/knowledge` takes them over
    ");
    env.ok(["learnings", "import", FOLDER]);
    assert_snapshot!(found(&env), @"");
    assert!(!env.ralph(["init"]).run().stderr.contains("earlier tool"));
    env.write(STORE, "{}");
    assert_snapshot!(found(&env), @r#"
    warning .aiwg/knowledge/ralph-learnings.json: it has no "learnings"; it has no backup -> bring it back from a copy of yours, or remove it
    "#);
    env.write(BACKUP, golden("plain.json"));
    assert_snapshot!(found(&env), @r#"
    warning .aiwg/knowledge/ralph-learnings.json: it has no "learnings"; its backup is good -> `ralph learnings import` takes the backup; the earlier tool needs it copied over the file
    "#);
}

/// What doctor finds about the earlier tool.
fn found(env: &TestEnv) -> String {
    let told = env.ralph(["doctor", "--json"]).run();
    let findings: Vec<serde_json::Value> = serde_json::from_str(&told.stdout).unwrap();
    let of_tool = findings
        .into_iter()
        .filter(|finding| finding["check"] == "earlier tool");
    let line = |finding: serde_json::Value| {
        let word = |name: &str| finding[name].as_str().unwrap_or("-").to_owned();
        format!(
            "{} {}: {} -> {}",
            word("severity"),
            word("place"),
            word("problem"),
            word("remedy")
        )
    };
    of_tool.map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn what_was_staged_without_times_and_uses_is_exported_with_them() {
    let env = env();
    let staged = r#"[{"id":"learn-bbbbbbbb","type":"strategy","taskType":"test-fix","content":{"description":"Run the migrations before the integration tests"},"confidence":0.9,"sourceLoops":["a"],"successRate":0.9,"mine":1}]"#;
    env.write("staged.json", staged);
    env.ok(["learnings", "stage", "staged.json"]);
    env.ok(["learnings", "validate"]);
    env.ok(["learnings", "promote", "--all"]);
    let exported = json(&env, &["learnings", "export", "json"]);
    let learning = &exported["learnings"][0];
    assert_eq!(
        (&learning["useCount"], &learning["mine"]),
        (&0.into(), &1.into()),
        "{exported:#}"
    );
    assert!(
        learning["createdAt"].is_string() && learning["updatedAt"].is_string(),
        "{exported:#}"
    );
    let counts = serde_json::json!({"strategy": 1, "antipattern": 0, "estimate": 0, "convention": 0});
    assert_eq!(exported["stats"]["byType"], counts);
}
