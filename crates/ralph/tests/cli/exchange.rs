//! `ralph learnings import`, `export` and `merge`, and another tool's learnings in `doctor` and `init`.

use std::path::Path;

use insta::assert_snapshot;
use ralph_testkit::{TestEnv, node};
use serde_json::json;

use crate::{DATABASE, env, foreign_database, json, names};

const FOLDER: &str = ".aiwg/knowledge";
const STORE: &str = ".aiwg/knowledge/ralph-learnings.json";
const BACKUP: &str = ".aiwg/knowledge/ralph-learnings.json.bak";
const STAGING: &str = ".aiwg/knowledge/staging.json";

/// A file written by the other tool.
pub(crate) fn golden(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ralph-memory/tests/exchange");
    std::fs::read_to_string(folder.join("golden").join(name)).unwrap()
}

/// A project with the other tool's files.
fn worked() -> TestEnv {
    let env = env();
    env.write(STORE, golden("plain.json"));
    env.write(STAGING, golden("staging.json"));
    env
}

/// Status and text of all learnings.
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
fn folder_is_imported_once() {
    let env = worked();
    let before = names(&env);
    assert_snapshot!(env.ralph(["learnings", "import", FOLDER, "--dry-run"]).run(), @r#"
    exit 0
    --- stdout
    Would import 7 learnings: 7 new, 1 rejected
    --- stderr
    Rejected: "Hope for the best": Confidence too low (< 0.3).
    Dry run: nothing was changed. Run without --dry-run to import.
    "#);
    assert_eq!(names(&env), before, "a dry run changes nothing");
    assert_snapshot!(env.ralph(["learnings", "import", FOLDER]).run(), @r#"
    exit 0
    --- stdout
    Imported 7 learnings: 7 new, 1 rejected
    --- stderr
    Rejected: "Hope for the best": Confidence too low (< 0.3).
    "#);
    assert_eq!(
        learned(&env),
        [
            "pending: Draw the interface first",
            "promoted: Avoid: editing generated files",
            "promoted: Reproduce the fault before fixing it",
            "promoted: Tests stand beside what they test",
            "promoted: test-fix tasks of medium complexity",
            "rejected: Hope for the best",
            "validated: Modules end in .mjs",
        ]
    );
    assert_snapshot!(env.ralph(["learnings", "import", FOLDER]).run(), @"
    exit 0
    --- stdout
    Imported 7 learnings: 7 unchanged
    ");
    assert_eq!(
        env.read(STORE),
        golden("plain.json"),
        "the other tool's files are unchanged"
    );
    assert_eq!(learned(&env).len(), 7);
}

#[test]
fn unchanged_store_round_trips() {
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
    if let Some(printed) = node(&script, &[], &env.ok(["learnings", "export", "json"])) {
        assert!(printed.contains("\"totalLearnings\":4"), "{printed}");
    }
}

#[test]
fn wrong_checksum_needs_force() {
    let env = env();
    env.write(STORE, golden("plain.json").replace("0.85", "0.95"));
    assert_snapshot!(env.ralph(["learnings", "import", STORE]).run(), @"
    exit 1
    --- stderr
    Error: .aiwg/knowledge/ralph-learnings.json: checksum mismatch; it has no backup
    Hint: check the file, then import it with `ralph learnings import FILE --force`
    ");
    assert_eq!(names(&env), [".aiwg/", ".aiwg/knowledge/", STORE], "no files created");
    assert_snapshot!(env.ralph(["learnings", "import", STORE, "--force"]).run(), @"
    exit 0
    --- stdout
    Imported 4 learnings: 4 new
    --- stderr
    Warning: .aiwg/knowledge/ralph-learnings.json: checksum mismatch; used anyway.
    ");
}

#[test]
fn broken_store_is_recovered_from_backup() {
    let env = env();
    env.write(STORE, "{\"learnings\": [");
    env.write(BACKUP, golden("plain.json"));
    assert_snapshot!(env.ralph(["learnings", "import", FOLDER]).run(), @"
    exit 0
    --- stdout
    Imported 4 learnings: 4 new
    --- stderr
    Warning: .aiwg/knowledge/ralph-learnings.json: it is not JSON: EOF while parsing a list at line 1 column 15; used its valid backup .aiwg/knowledge/ralph-learnings.json.bak instead.
    ");
    assert_eq!(env.read(BACKUP), golden("plain.json"));
    assert_eq!(learned(&env).len(), 4);
}

#[test]
fn fault_24_corrupt_staging_is_an_error() {
    let env = worked();
    env.write(STAGING, "{\"staged\":");
    assert_snapshot!(env.ralph(["learnings", "import", FOLDER]).run(), @"
    exit 1
    --- stderr
    Error: .aiwg/knowledge/staging.json: it is not JSON: EOF while parsing a value at line 1 column 10; it has no backup
    Hint: restore it from a backup; nothing was imported
    ");
    assert_eq!(env.ok(["learnings", "list"]), "No learnings yet.\n", "all or nothing");
    assert_eq!(env.read(STAGING), "{\"staged\":");
}

#[test]
fn bad_entries_are_skipped() {
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
    Imported 2 learnings: 2 new, 1 rejected
    --- stderr
    Warning: odd.json: checksum mismatch; used anyway.
    Warning: odd.json: skipped entry 1: it is null instead of an object.
    Warning: odd.json: skipped entry 2 (a): Invalid type: hunch.
    Rejected: "Hope": Confidence too low (< 0.3).
    "#);
    let printed = json(&env, &["learnings", "import", "odd.json", "--force", "--json"]);
    assert_eq!(
        printed["left_out"],
        json!([
            {"file": "odd.json", "entry": 1, "id": null, "why": "it is null instead of an object"},
            {"file": "odd.json", "entry": 2, "id": "a", "why": "Invalid type: hunch"},
        ])
    );
    assert_eq!((&printed["added"], &printed["unchanged"]), (&json!(0), &json!(2)));
}

#[test]
fn missing_and_invalid_stores_are_errors() {
    let env = env();
    env.write("note.txt", "hello");
    std::fs::create_dir(env.path("empty")).unwrap();
    assert_snapshot!(env.ralph(["learnings", "import", "none.json"]).run(), @"
    exit 1
    --- stderr
    Error: none.json does not exist
    ");
    assert_snapshot!(env.ralph(["learnings", "import", "note.txt", "--force"]).run(), @"
    exit 1
    --- stderr
    Error: note.txt: it is not JSON: expected value at line 1 column 1; it has no backup
    Hint: restore it from a backup; nothing was imported
    ");
    assert_snapshot!(env.ralph(["learnings", "import", "empty"]).run(), @"
    exit 1
    --- stderr
    Error: empty contains neither ralph-learnings.json nor staging.json
    Hint: name the file, or the folder that contains them
    ");
    assert_snapshot!(env.ralph(["learnings", "merge", "empty"]).run(), @"
    exit 1
    --- stderr
    Error: empty contains neither ralph-learnings.json nor staging.json
    Hint: name the file, or the folder that contains them
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
fn export_keeps_existing_files() {
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
    Moved the existing store to its backup: .aiwg/knowledge/ralph-learnings.json.bak.
    ");
    assert_eq!(env.read(BACKUP), golden("plain.json"));
    env.write(STORE, "broken");
    assert_snapshot!(env.ralph(["learnings", "export", "json", "--to", STORE]).run(), @"
    exit 0
    --- stdout
    Exported 1 learning to .aiwg/knowledge/ralph-learnings.json
    --- stderr
    Warning: The existing file was not a valid store; kept it as .aiwg/knowledge/ralph-learnings.json.broken.
    ");
    assert_eq!(env.read(BACKUP), golden("plain.json"), "a good backup stays");
    assert_eq!(env.read(&format!("{STORE}.broken")), "broken");
    env.write("page.md", "mine");
    assert_snapshot!(env.ralph(["learnings", "export", "markdown", "--to", "page.md"]).run(), @"
    exit 1
    --- stderr
    Error: page.md already exists
    Hint: choose another file, or remove this one
    ");
    assert_eq!(env.read("page.md"), "mine");
}

#[test]
fn inactive_learnings_are_exported_only_with_all() {
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

    - Reproduce the fault before fixing it (effectiveness: 85%)
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
    // Statuses survive export and import.
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
fn empty_project_exports_an_empty_store() {
    let env = env();
    let store: serde_json::Value = serde_json::from_str(&env.ok(["learnings", "export", "json"])).unwrap();
    assert_eq!(store["learnings"], json!([]));
    assert_eq!(names(&env), [] as [&str; 0], "no files created");
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
    Of the merged ones: 1 new, 1 reinforced.
    ");
    let database = format!("{other}/.ralph/progress.db");
    assert_snapshot!(env.ralph(["learnings", "merge", &database]).run(), @"
    exit 0
    --- stdout
    Merged 3 + 2 = 3 learnings
    --- stderr
    Of the merged ones: 2 unchanged.
    ");
    assert_snapshot!(env.ralph(["learnings", "merge", "."]).run(), @"
    exit 2
    --- stderr
    Error: [TMP]/project is this project; nothing to merge
    ");
    env.write("store.json", golden("plain.json"));
    assert_snapshot!(env.ralph(["learnings", "merge", "store.json"]).run(), @"
    exit 0
    --- stdout
    Merged 3 + 4 = 7 learnings
    --- stderr
    Of the merged ones: 4 new.
    ");
}

#[test]
fn doctor_and_init_suggest_the_import() {
    let env = worked();
    let init = env.ralph(["init"]).run();
    assert_snapshot!(init.stderr, @"An earlier tool has 7 learnings in .aiwg/knowledge: `ralph learnings import .aiwg/knowledge` imports them.");
    assert_snapshot!(found(&env), @"
    note .aiwg/knowledge: an earlier tool has 7 learnings that are not imported -> `ralph learnings import .aiwg/knowledge` imports them
    ");
    env.ok(["learnings", "import", FOLDER]);
    assert_snapshot!(found(&env), @"");
    assert!(!env.ralph(["init"]).run().stderr.contains("earlier tool"));
    env.write(STORE, "{}");
    assert_snapshot!(found(&env), @r#"
    warning .aiwg/knowledge/ralph-learnings.json: it has no "learnings"; it has no backup -> restore it from your own copy, or remove it
    "#);
    env.write(BACKUP, golden("plain.json"));
    assert_snapshot!(found(&env), @r#"
    warning .aiwg/knowledge/ralph-learnings.json: it has no "learnings"; its backup is good -> `ralph learnings import` uses the backup; for the earlier tool, copy it over the file
    "#);
}

/// Doctor's findings about the other tool.
fn found(env: &TestEnv) -> String {
    let printed = env.ralph(["doctor", "--json"]).run();
    let findings: Vec<serde_json::Value> = serde_json::from_str(&printed.stdout).unwrap();
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
fn export_fills_in_times_and_uses() {
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
