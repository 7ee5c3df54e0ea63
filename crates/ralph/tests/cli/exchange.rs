//! `ralph learnings import`, `export` and `merge`, and another tool's learnings in `doctor` and `init`.

use std::path::Path;

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
    let rejected = "Rejected: \"Hope for the best\": Confidence too low";
    let trial = env.ralph(["learnings", "import", FOLDER, "--dry-run"]).run();
    trial.printed(&["Would import 7 learnings: 7 new, 1 rejected", rejected, "Dry run"]);
    assert_eq!(names(&env), before, "a dry run changes nothing");
    let imported = env.ralph(["learnings", "import", FOLDER]).run();
    imported.printed(&["Imported 7 learnings: 7 new, 1 rejected", rejected]);
    assert_eq!(imported.stderr.lines().count(), 1, "{imported}");
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
    let again = env.ralph(["learnings", "import", FOLDER]).run();
    again.printed(&["7 learnings: 7 unchanged"]);
    assert_eq!(again.stderr, "");
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
    let import = env.ralph(["learnings", "import", STORE]).run();
    import.refused(1, &[STORE, "checksum mismatch", "no backup", "Hint: ", "--force"]);
    assert_eq!(names(&env), [".aiwg/", ".aiwg/knowledge/", STORE], "no files created");
    let forced = env.ralph(["learnings", "import", STORE, "--force"]).run();
    forced.printed(&["4 learnings: 4 new", "Warning: ", STORE, "checksum mismatch"]);
}

#[test]
fn broken_store_is_recovered_from_backup() {
    let env = env();
    env.write(STORE, "{\"learnings\": [");
    env.write(BACKUP, golden("plain.json"));
    let imported = env.ralph(["learnings", "import", FOLDER]).run();
    imported.printed(&["4 learnings: 4 new", "Warning: ", STORE, "not JSON", BACKUP]);
    assert_eq!(env.read(BACKUP), golden("plain.json"));
    assert_eq!(learned(&env).len(), 4);
}

#[test]
fn fault_24_corrupt_staging_is_an_error() {
    let env = worked();
    env.write(STAGING, "{\"staged\":");
    let import = env.ralph(["learnings", "import", FOLDER]).run();
    import.refused(1, &[STAGING, "not JSON", "no backup", "nothing was imported"]);
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
    let imported = env.ralph(["learnings", "import", "odd.json", "--force"]).run();
    imported.printed(&[
        "2 learnings: 2 new, 1 rejected",
        "odd.json: checksum mismatch",
        "skipped entry 1: ",
        "skipped entry 2 (a): ",
        "Rejected: \"Hope\"",
    ]);
    assert_eq!(imported.stderr.lines().count(), 4, "{imported}");
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
    let neither = "empty contains neither ralph-learnings.json nor staging.json";
    for (arguments, code, texts) in [
        (&["import", "none.json"][..], 1, &["none.json does not exist"][..]),
        (
            &["import", "note.txt", "--force"],
            1,
            &["note.txt", "not JSON", "Hint: "],
        ),
        (&["import", "empty"], 1, &[neither, "Hint: "]),
        (&["merge", "empty"], 1, &[neither, "Hint: "]),
        (&["export", "xml"], 2, &["'xml'", "json, csv, markdown"]),
    ] {
        let arguments = ["learnings"].into_iter().chain(arguments.iter().copied());
        env.ralph(arguments).run().refused(code, texts);
    }
    env.write(DATABASE, foreign_database());
    env.write(STORE, golden("plain.json"));
    let refused = env.ralph(["learnings", "import", STORE]).run();
    assert_eq!(refused.code, Some(1), "{refused}");
}

#[test]
fn export_keeps_existing_files() {
    let env = env();
    let learning = ["Look first", "--category", "other", "--task-type", "bug-fix"];
    env.ok(["learnings", "add"].into_iter().chain(learning));
    let export = |form, to| env.ralph(["learnings", "export", form, "--to", to]).run();
    let exported = format!("Exported 1 learning to {STORE}\n");
    env.write(STORE, golden("plain.json"));
    export("json", STORE).printed(&[&exported, BACKUP]);
    assert_eq!(env.read(BACKUP), golden("plain.json"));
    env.write(STORE, "broken");
    let broken = format!("{STORE}.broken");
    export("json", STORE).printed(&[&exported, "Warning: ", &broken]);
    assert_eq!(env.read(BACKUP), golden("plain.json"), "a good backup stays");
    assert_eq!(env.read(&broken), "broken");
    env.write("page.md", "mine");
    export("markdown", "page.md").refused(1, &["page.md already exists", "Hint: "]);
    assert_eq!(env.read("page.md"), "mine");
}

#[test]
fn inactive_learnings_are_exported_only_with_all() {
    let env = worked();
    env.ok(["learnings", "import", FOLDER]);
    let active = env.ok(["learnings", "export", "csv"]);
    assert_eq!(active.matches("\nlearn-").count(), 4, "{active}");
    assert!(!active.contains("stage-"), "{active}");
    let all = env.ralph(["learnings", "export", "markdown", "--all"]).run();
    all.printed(&[
        "`learn-one`",
        "- Draw the interface first",
        "`stage-1770000000000-0` · pending · ",
        "- Hope for the best",
        "`stage-1770000000000-2` · rejected · ",
        "`learn-four`",
        "- Modules end in .mjs",
        "`stage-1770000000000-1` · validated · ",
    ]);
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
    let other = env.beside("other");
    std::fs::create_dir(&other).unwrap();
    let other = other.to_string_lossy().into_owned();
    for (seed, text, root) in [
        ("1", "Look first", "."),
        ("2", "Keep calm", "."),
        ("3", "look first!", &other),
        ("4", "Drink tea", &other),
    ] {
        let learning = [text, "--category", "other", "--task-type", "bug-fix", "--root", root];
        let add = env.ralph(["learnings", "add"].into_iter().chain(learning));
        let added = add.env("RALPH_SEED", seed).run();
        assert_eq!(added.code, Some(0), "{added}");
    }
    env.write("store.json", golden("plain.json"));
    let database = format!("{other}/.ralph/progress.db");
    let merge = |from: &str| env.ralph(["learnings", "merge", from]).run();
    merge(&other).printed(&["Merged 2 + 2 = 3 learnings\n", "1 new, 1 reinforced"]);
    merge(&database).printed(&["Merged 3 + 2 = 3 learnings\n", "2 unchanged"]);
    merge(".").refused(2, &["[TMP]/project is this project"]);
    merge("store.json").printed(&["Merged 3 + 4 = 7 learnings\n", "4 new"]);
}

#[test]
fn doctor_and_init_suggest_the_import() {
    let env = worked();
    let suggestion = "`ralph learnings import .aiwg/knowledge`";
    let init = env.ralph(["init"]).run();
    init.printed(&["7 learnings in .aiwg/knowledge", suggestion]);
    assert_eq!(init.stderr.lines().count(), 1, "{init}");
    let finding = found(&env);
    assert!(
        finding.starts_with("note .aiwg/knowledge: an earlier tool has 7 learnings") && finding.contains(suggestion),
        "{finding}"
    );
    env.ok(["learnings", "import", FOLDER]);
    assert_eq!(found(&env), "");
    assert!(!env.ralph(["init"]).run().stderr.contains("earlier tool"));
    let broken = format!("warning {STORE}: it has no \"learnings\"; ");
    env.write(STORE, "{}");
    let finding = found(&env);
    assert!(
        finding.starts_with(&format!("{broken}it has no backup -> ")),
        "{finding}"
    );
    env.write(BACKUP, golden("plain.json"));
    let finding = found(&env);
    assert!(
        finding.starts_with(&format!("{broken}its backup is good -> `ralph learnings import`")),
        "{finding}"
    );
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
