//! `ralph guardrails`: the shared note commands.

use insta::assert_snapshot;

use crate::{GUARDRAILS, MEMORIES, changes, env, ids, json, names};

const FIX: &str = "fix-1737372000-910a";

#[test]
fn guardrail_commands_work_end_to_end() {
    let env = env();
    let added = env
        .ralph([
            "guardrails",
            "add",
            "npm test fails: build first",
            "-t",
            "fix",
            "--tags",
            "npm",
        ])
        .run();
    assert_snapshot!(added, @"
    exit 0
    --- stdout
    Guardrail stored: fix-1737372000-910a
    ");
    assert_snapshot!(env.read(GUARDRAILS), @"
    # Guardrails

    ## Fixes

    ### fix-1737372000-910a
    > npm test fails: build first
    <!-- tags: npm | created: 2025-01-20 -->

    ## Decisions

    ## Patterns
    ");
    assert_snapshot!(env.ok(["guardrails", "list"]), @"
    ID                   TYPE  CREATED     TAGS  GUARDRAIL
    fix-1737372000-910a  fix   2025-01-20  npm   npm test fails: build first

    Showing 1 guardrail
    ");
    assert_snapshot!(env.ok(["guardrails", "search", "build the tests"]), @"
    ID                   TYPE  CREATED     TAGS  GUARDRAIL
    fix-1737372000-910a  fix   2025-01-20  npm   npm test fails: build first

    Showing 1 guardrail
    ");
    assert_snapshot!(env.ok(["guardrails", "edit", "fix-17", "--content", "run npm ci first"]), @"Guardrail updated: fix-1737372000-910a");
    assert_snapshot!(env.ok(["guardrails", "show", "fix-17", "--history"]), @"
    ID                   VERSION  TIME                  CHANGE  GUARDRAIL
    fix-1737372000-910a  1        2025-01-20T11:20:00Z  added   npm test fails: build first
    fix-1737372000-910a  2        2025-01-20T11:20:00Z  edited  run npm ci first

    Showing 2 versions
    ");
    assert_snapshot!(env.ok(["guardrails", "validate"]), @".agent/guardrails.md is valid: 1 guardrail.");
    assert_snapshot!(env.ok(["guardrails", "delete", FIX]), @"Guardrail deleted: fix-1737372000-910a");
    assert_snapshot!(env.ok(["guardrails", "restore", "--list"]), @"
    ID                   REMOVED               HOW      GUARDRAIL
    fix-1737372000-910a  2025-01-20T11:20:00Z  deleted  run npm ci first

    Showing 1 guardrail
    ");
    assert_snapshot!(env.ok(["guardrails", "restore", FIX]), @"Guardrail restored: fix-1737372000-910a");
    assert_eq!(ids(&env, &["guardrails", "list"]), [FIX]);
    assert!(!env.path(MEMORIES).exists(), "memories are not touched");
}

#[test]
fn empty_project_has_messages() {
    let env = env();
    assert_snapshot!(env.ok(["guardrails", "list"]), @"No guardrails yet.");
    assert_snapshot!(env.ok(["guardrails", "search", "x"]), @"No matching guardrails found");
    assert_eq!(json(&env, &["guardrails", "list", "--json"]), serde_json::json!([]));
    assert_snapshot!(env.ok(["guardrails", "validate"]), @".agent/guardrails.md does not exist yet.");
    assert_eq!(names(&env), [""; 0]);
}

#[test]
fn unknown_kinds_are_usage_errors() {
    let env = env();
    assert_snapshot!(env.ralph(["guardrails", "add", "x", "--type", "context"]).run(), @r#"
    exit 2
    --- stderr
    error: invalid value 'context' for '--type <KIND>': unknown guardrail type "context"; use fix, decision or pattern

    For more information, try '--help'.
    "#);
    for arguments in [
        ["guardrails", "list", "--type", "fix,context"],
        ["guardrails", "search", "--type", "context"],
        ["guardrails", "add", "x", "--type=sign"],
    ] {
        let refused = env.ralph(arguments).run();
        assert_eq!(refused.code, Some(2), "{refused}");
        assert!(refused.stderr.contains("use fix, decision or pattern"), "{refused}");
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
    assert_snapshot!(env.ralph(["guardrails", "delete", "fix-1-0000"]).run(), @"
    exit 1
    --- stderr
    Error: Guardrail not found: fix-1-0000
    Hint: `ralph guardrails list` shows all entries, `ralph guardrails restore --list` deleted ones
    ");
    env.ok(["guardrails", "add", "kept", "-t", "decision"]);
    assert_snapshot!(env.ralph(["guardrails", "restore", "decision-"]).run(), @"
    exit 1
    --- stderr
    Error: decision-1737372000-910a is not deleted; name a version to go back to
    Hint: `ralph guardrails show ID --history` lists the versions
    ");
    env.write(
        GUARDRAILS,
        "## Fixes\n### fix-a\n> x\n### fix-b\n> x\n### fix-c\n> x\n### fix-d\n> x\n",
    );
    assert_snapshot!(env.ralph(["guardrails", "list"]).run(), @r#"
    exit 0
    --- stdout
    No guardrails yet.
    --- stderr
    Warning: .agent/guardrails.md:2: "fix-a" is not a valid id, so this block is not read.
    Warning: .agent/guardrails.md:4: "fix-b" is not a valid id, so this block is not read.
    Warning: .agent/guardrails.md:6: "fix-c" is not a valid id, so this block is not read.
    Warning: .agent/guardrails.md has 1 more problem; `ralph guardrails validate` lists all.
    Warning: 1 note is missing from .agent/guardrails.md but not deleted; an older version of the file may have been saved over it.
      decision-1737372000-910a  kept
    Hint: `ralph guardrails restore ID` restores one, `ralph guardrails restore --list` lists them.
    "#);
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
