//! `ralph guardrails`: the shared note commands.

use crate::{GUARDRAILS, MEMORIES, changes, env, ids, json, names};

const FIX: &str = "fix-1737372000-910a";

#[test]
fn guardrail_commands_work_end_to_end() {
    let env = env();
    let content = "npm test fails: build first";
    let added = env.ok(["guardrails", "add", content, "-t", "fix", "--tags", "npm"]);
    assert_eq!(added, format!("Guardrail stored: {FIX}\n"));
    let file = env.read(GUARDRAILS);
    let entry = format!("### {FIX}\n> {content}\n<!-- tags: npm | created: 2025-01-20 -->");
    let expected = format!("# Guardrails\n\n## Fixes\n\n{entry}\n\n## Decisions\n\n## Patterns");
    assert_eq!(file.trim_end(), expected);
    for arguments in [&["list"][..], &["search", "build the tests"]] {
        let listed = env.ralph(["guardrails"].into_iter().chain(arguments.iter().copied()));
        let row = [FIX, "fix", "2025-01-20", "npm", content, "Showing 1 guardrail\n"];
        listed.run().printed(&row);
    }
    let edited = env.ok(["guardrails", "edit", "fix-17", "--content", "run npm ci first"]);
    assert_eq!(edited, format!("Guardrail updated: {FIX}\n"));
    let history = env.ralph(["guardrails", "show", "fix-17", "--history"]).run();
    history.printed(&["added", content, "edited", "run npm ci first", "2 versions"]);
    env.ralph(["guardrails", "validate"])
        .run()
        .printed(&[GUARDRAILS, "valid: 1 guardrail"]);
    let deleted = env.ok(["guardrails", "delete", FIX]);
    assert_eq!(deleted, format!("Guardrail deleted: {FIX}\n"));
    let deleted = env.ralph(["guardrails", "restore", "--list"]).run();
    deleted.printed(&[FIX, "deleted", "run npm ci first", "1 guardrail\n"]);
    let restored = env.ok(["guardrails", "restore", FIX]);
    assert_eq!(restored, format!("Guardrail restored: {FIX}\n"));
    assert_eq!(ids(&env, &["guardrails", "list"]), [FIX]);
    assert!(!env.path(MEMORIES).exists(), "memories are not touched");
}

#[test]
fn empty_project_has_messages() {
    let env = env();
    assert_eq!(env.ok(["guardrails", "list"]), "No guardrails yet.\n");
    assert_eq!(env.ok(["guardrails", "search", "x"]), "No matching guardrails found\n");
    assert_eq!(json(&env, &["guardrails", "list", "--json"]), serde_json::json!([]));
    let validated = env.ralph(["guardrails", "validate"]).run();
    validated.printed(&[GUARDRAILS, "does not exist yet"]);
    assert_eq!(names(&env), [""; 0]);
}

#[test]
fn unknown_kinds_are_usage_errors() {
    let env = env();
    for arguments in [
        ["guardrails", "list", "--type", "fix,context"],
        ["guardrails", "search", "--type", "context"],
        ["guardrails", "add", "x", "--type=sign"],
        ["guardrails", "add", "x", "--type=context"],
    ] {
        env.ralph(arguments).run().refused(2, &["use fix, decision or pattern"]);
    }
    env.ok(["guardrails", "add", "x"]);
    let before = env.tree();
    let refused = env.ralph(["guardrails", "edit", "pattern-", "-t", "context"]).run();
    assert_eq!(refused.code, Some(2), "{refused}");
    assert_eq!(changes(&before, &env.tree()), [""; 0]);
}

#[test]
fn messages_name_the_guardrails_command() {
    let env = env();
    let deleted = env.ralph(["guardrails", "delete", "fix-1-0000"]).run();
    let lists = ["`ralph guardrails list`", "`ralph guardrails restore --list`"];
    deleted.refused(1, &["Guardrail not found: fix-1-0000\n", lists[0], lists[1]]);
    env.ok(["guardrails", "add", "kept", "-t", "decision"]);
    let id = "decision-1737372000-910a";
    let restored = env.ralph(["guardrails", "restore", "decision-"]).run();
    restored.refused(1, &[id, "is not deleted", "`ralph guardrails show ID --history`"]);
    env.write(
        GUARDRAILS,
        "## Fixes\n### fix-a\n> x\n### fix-b\n> x\n### fix-c\n> x\n### fix-d\n> x\n",
    );
    let listed = env.ralph(["guardrails", "list"]).run();
    listed.printed(&[
        "No guardrails yet.\n",
        "guardrails.md:2: \"fix-a\"",
        "guardrails.md:4: \"fix-b\"",
        "guardrails.md:6: \"fix-c\"",
        "1 more problem; `ralph guardrails validate`",
        "1 note is missing",
        id,
        "`ralph guardrails restore ID`",
    ]);
    assert_eq!(listed.stderr.matches("Warning: ").count(), 5, "{listed}");
}

#[test]
fn help_texts_are_about_guardrails() {
    let env = env();
    for verb in ["add", "search", "list", "show", "edit", "delete", "restore", "validate"] {
        let help = env.ok(["guardrails", verb, "--help"]);
        let about_memories = ["memory", "memories", "mem-", "context"];
        for word in about_memories {
            assert!(!help.contains(word), "{verb} mentions {word}:\n{help}");
        }
    }
    assert!(
        env.ok(["guardrails", "add", "--help"])
            .contains("Kind: fix, decision, pattern")
    );
    assert!(
        env.ok(["memory", "add", "--help"])
            .contains("Kind: pattern, decision, fix, context")
    );
}
