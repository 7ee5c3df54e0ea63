//! Signs, the legacy form of guardrails, and `ralph guardrails migrate`.

use insta::assert_snapshot;

use crate::{GUARDRAILS, changes, env, ids, json, names};

const LEGACY: &str = "\
# Guardrails

Ours, do not touch.

### Sign: Read Before Writing 📖
- **Trigger**: Before modifying any file
- **Instruction**: Read it first
- **Added after**: iteration 3

### Sign: Green tests
- **Trigger**: Before `git commit`
- **Instruction**: Run the tests
";

#[test]
fn signs_are_listed_and_shown_like_notes() {
    let env = env();
    env.write(GUARDRAILS, LEGACY);
    let before = env.tree();
    env.ralph(["guardrails", "list"]).run().printed(&[
        "sign-read-before-writing  sign ",
        "sign-green-tests ",
        "Showing 2 guardrails\n",
    ]);
    let listed = json(&env, &["guardrails", "list", "--json"]);
    assert_eq!(
        listed[0]["content"],
        "Read Before Writing 📖. Before modifying any file: Read it first. Added after: iteration 3"
    );
    assert_eq!(
        listed[1],
        serde_json::json!({
            "id": "sign-green-tests",
            "memory_type": "sign",
            "content": "Green tests. Before `git commit`: Run the tests",
            "tags": [],
            "created": null,
        })
    );
    env.ralph(["guardrails", "show", "sign-green"]).run().printed(&[
        "sign-green-tests  sign\n",
        "Green tests. Before `git commit`: Run the tests\n",
    ]);
    let shown = env.ok(["guardrails", "show", "sign-green", "--format", "markdown"]);
    let (_, sign) = LEGACY.split_once("\n\n### Sign: Green").unwrap();
    assert_eq!(shown.trim_end(), format!("### Sign: Green{sign}").trim_end());
    env.ralph(["guardrails", "validate"])
        .run()
        .printed(&["is valid: 0 guardrails and 2 Signs", "`ralph guardrails migrate`"]);
    assert_eq!(changes(&before, &env.tree()), [""; 0], "reading changes nothing");
}

#[test]
fn signs_and_entries_are_shown_in_given_order() {
    let env = env();
    env.write(GUARDRAILS, LEGACY);
    let add = |text: String| env.ok(["guardrails", "add", &text, "-t", "fix", "--format", "quiet"]);
    let fixes: Vec<String> = (0..12).map(|number| add(number.to_string())).collect();
    let mut asked: Vec<&str> = fixes.iter().rev().map(|id| id.trim_end()).collect();
    asked.insert(0, "sign-green-tests");
    asked.insert(5, "sign-read-before-writing");
    asked.insert(9, "sign-green-tests");
    let show = |named: &[&str]| ids(&env, &[&["guardrails", "show"], named].concat());
    assert_eq!(show(&asked), asked);
    let beginnings: Vec<&str> = asked.iter().map(|id| id.strip_suffix("-tests").unwrap_or(id)).collect();
    assert_eq!(show(&beginnings), asked);
}

#[test]
fn signs_are_older_than_entries_and_match_no_filter() {
    let env = env();
    env.write(GUARDRAILS, LEGACY);
    let fix = env.ok(["guardrails", "add", "x", "-t", "fix", "--format", "quiet"]);
    let list = |arguments: &[&str]| ids(&env, &[&["guardrails", "list"], arguments].concat());
    assert_eq!(
        list(&[]),
        ["sign-read-before-writing", "sign-green-tests", fix.trim_end()]
    );
    assert_eq!(list(&["--last", "2"]), ["sign-green-tests", fix.trim_end()]);
    assert_eq!(list(&["--last", "0"]), [""; 0]);
    for filter in [["--type", "fix"], ["--recent", "1"]] {
        assert_eq!(list(&filter), [fix.trim_end()]);
    }
    assert_eq!(list(&["--tags", "x"]), [""; 0]);
}

#[test]
fn signs_are_read_only() {
    let env = env();
    env.write(GUARDRAILS, LEGACY);
    for arguments in [
        vec!["delete", "sign-green-tests"],
        vec!["edit", "sign-green", "--content", "x"],
        vec!["promote", "sign-green-tests"],
        vec!["add", "x", "--supersedes", "sign-green-tests"],
        vec!["show", "sign-green-tests", "--history"],
    ] {
        let refused = env.ralph([&["guardrails"], arguments.as_slice()].concat()).run();
        refused.refused(1, &["sign-green-tests is a legacy Sign", "`ralph guardrails migrate`"]);
    }
    for (id, why) in [
        (
            "sign-",
            "sign- matches 2 ids: sign-read-before-writing, sign-green-tests",
        ),
        ("sign-x", "Guardrail not found: sign-x"),
    ] {
        env.ralph(["guardrails", "show", id]).run().refused(1, &[why]);
    }
    assert_eq!(env.read(GUARDRAILS), LEGACY);
    assert_eq!(names(&env), [".agent/", GUARDRAILS]);
}

#[test]
fn migration_is_recorded_and_keeps_the_original() {
    let env = env();
    env.write(GUARDRAILS, LEGACY);
    assert_snapshot!(env.ralph(["guardrails", "migrate", "--dry-run"]).run(), @"
    exit 0
    --- stdout
    sign-read-before-writing would become a fix: Read Before Writing 📖. Before modifying any file: Read it first. Added after: iteration 3
    sign-green-tests would become a fix: Green tests. Before `git commit`: Run the tests
    --- stderr
    Dry run: would migrate 2 Signs; nothing was changed.
    ");
    assert_eq!(names(&env), [".agent/", GUARDRAILS]);
    env.ralph(["guardrails", "migrate"]).run().printed(&[
        "Guardrail stored: fix-1737372000-910a\n",
        "Guardrail stored: fix-1737372000-beeb\n",
        ".agent/guardrails.md.bak",
    ]);
    let migrated = env.read(GUARDRAILS);
    assert!(
        migrated.starts_with("# Guardrails\n\nOurs, do not touch.\n\n## Fixes\n"),
        "{migrated}"
    );
    let entry = "\n### fix-1737372000-beeb\n> Green tests. Before `git commit`: Run the tests\n\
                 <!-- tags:  | created: 2025-01-20 -->\n<!-- ralph: source=sign-green-tests -->\n";
    assert!(
        migrated.ends_with(entry) && !migrated.contains("### Sign"),
        "{migrated}"
    );
    assert_eq!(env.read(".agent/guardrails.md.bak"), LEGACY);
    assert!(
        env.ok(["guardrails", "show", "fix-1737372000-beeb", "--history"])
            .contains("added")
    );
    let before = env.tree();
    assert_eq!(env.ok(["guardrails", "migrate"]), "No Signs to migrate.\n");
    assert_eq!(json(&env, &["guardrails", "migrate", "--json"]), serde_json::json!([]));
    assert_eq!(
        json(&env, &["guardrails", "migrate", "--dry-run", "--json"]),
        serde_json::json!([])
    );
    assert_eq!(changes(&before, &env.tree()), [""; 0]);
}

#[test]
fn section_or_type_decides_the_kind() {
    let env = env();
    let file = "## Decisions\r\n\r\n### Sign: Here\r\n- stay\r\n\r\n## Mine\r\n### Sign: There\r\n- move\r\n";
    env.write(GUARDRAILS, file);
    assert_eq!(
        json(&env, &["guardrails", "migrate", "--dry-run", "--json", "-t", "pattern"]),
        serde_json::json!([
            {"sign": "sign-here", "memory_type": "decision", "content": "Here. stay"},
            {"sign": "sign-there", "memory_type": "pattern", "content": "There. move"},
        ])
    );
    env.ok(["guardrails", "migrate", "--type", "pattern"]);
    assert_eq!(
        env.read(GUARDRAILS),
        "## Decisions\r\n\r\n### decision-1737372000-910a\r\n> Here. stay\r\n\
         <!-- tags:  | created: 2025-01-20 -->\r\n<!-- ralph: source=sign-here -->\r\n\r\n## Mine\r\n\r\n\
         ## Patterns\r\n\r\n### pattern-1737372000-beeb\r\n> There. move\r\n\
         <!-- tags:  | created: 2025-01-20 -->\r\n<!-- ralph: source=sign-there -->\r\n"
    );
    let refused = env.ralph(["guardrails", "migrate", "-t", "context"]).run();
    assert_eq!(refused.code, Some(2), "{refused}");
}

#[test]
fn nothing_to_migrate_without_a_file() {
    let env = env();
    for arguments in [&["guardrails", "migrate"][..], &["guardrails", "migrate", "--dry-run"]] {
        assert_eq!(env.ok(arguments.iter().copied()), "No Signs to migrate.\n");
    }
    assert_eq!(names(&env), [""; 0]);
}

#[test]
fn earlier_backup_is_kept() {
    let env = env();
    env.write(GUARDRAILS, LEGACY);
    env.write(".agent/guardrails.md.bak", "an older one\n");
    let migrated = env.ralph(["guardrails", "migrate"]).run();
    assert!(
        migrated
            .stderr
            .contains("Kept the old file as .agent/guardrails.md.bak-2."),
        "{migrated}"
    );
    assert_eq!(env.read(".agent/guardrails.md.bak"), "an older one\n");
    assert_eq!(env.read(".agent/guardrails.md.bak-2"), LEGACY);
}

#[test]
fn read_only_file_is_unchanged() {
    let env = env();
    env.write(GUARDRAILS, LEGACY);
    let mut permissions = std::fs::metadata(env.path(GUARDRAILS)).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(env.path(GUARDRAILS), permissions).unwrap();
    env.ralph(["guardrails", "migrate"])
        .run()
        .refused(1, &["the file is read-only"]);
    assert_eq!(env.read(GUARDRAILS), LEGACY);
}
