//! `ralph guardrails promote`.

use insta::assert_snapshot;

use crate::{GUARDRAILS, MEMORIES, changes, env, ids, json, names};

const FIX: &str = "fix-1737372000-910a";

#[test]
fn guardrail_is_moved_to_memories() {
    let env = env();
    env.write(
        GUARDRAILS,
        format!(
            "## Fixes\n\n### {FIX}\n> npm ci first\n> always\n<!-- tags: npm, ci | created: 2024-06-01 -->\n\
             <!-- ralph: reason=it broke -->\n\nours\n"
        ),
    );
    assert_snapshot!(env.ralph(["guardrails", "promote", "fix-17"]).run(), @"
    exit 0
    --- stdout
    Guardrail promoted: mem-1737372000-910a
    ");
    assert_eq!(env.read(GUARDRAILS), "## Fixes\n\nours\n");
    assert_snapshot!(env.read(MEMORIES), @"
    # Memories

    ## Patterns

    ## Decisions

    ## Fixes

    ### mem-1737372000-910a
    > npm ci first
    > always
    <!-- tags: npm, ci | created: 2024-06-01 -->
    <!-- ralph: reason=it broke; source=fix-1737372000-910a -->

    ## Context
    ");
    assert!(env.ok(["guardrails", "show", FIX, "--history"]).contains("deleted"));
    assert!(env.ok(["memory", "show", "mem-17", "--history"]).contains("added"));
    let before = env.tree();
    assert_snapshot!(env.ralph(["guardrails", "promote", FIX]).run(), @"
    exit 0
    --- stdout
    Guardrail promoted: mem-1737372000-910a
    --- stderr
    fix-1737372000-910a is already promoted.
    ");
    assert_eq!(changes(&before, &env.tree()), [""; 0]);
}

#[test]
fn kinds_are_kept_and_formats_show_the_memory() {
    let env = env();
    for kind in ["decision", "pattern"] {
        env.ok(["guardrails", "add", kind, "-t", kind]);
        let memory = json(&env, &["guardrails", "promote", kind, "--json"]);
        assert_eq!(
            (&memory["memory_type"], &memory["content"]),
            (&kind.into(), &kind.into())
        );
    }
    assert_eq!(ids(&env, &["guardrails", "list"]), [""; 0]);
    assert_eq!(ids(&env, &["memory", "list"]).len(), 2);
}

#[test]
fn interrupted_promotion_can_be_repeated() {
    let env = env();
    env.ok(["guardrails", "add", "npm ci first", "-t", "fix"]);
    let guardrails = env.read(GUARDRAILS);
    env.ok(["guardrails", "promote", FIX]);
    // As if the program had been killed after it wrote the memory.
    env.write(GUARDRAILS, &guardrails);
    env.ok(["guardrails", "promote", FIX]);
    assert_eq!(ids(&env, &["guardrails", "list"]), [""; 0]);
    assert_eq!(ids(&env, &["memory", "list"]), ["mem-1737372000-910a"]);
}

#[test]
fn different_texts_are_both_kept() {
    let env = env();
    env.ok(["guardrails", "add", "npm ci first", "-t", "fix"]);
    env.ok(["guardrails", "promote", FIX]);
    env.ok(["guardrails", "restore", FIX]);
    env.ok(["guardrails", "edit", FIX, "--content", "pnpm install first"]);
    let before = env.tree();
    assert_snapshot!(env.ralph(["guardrails", "promote", FIX]).run(), @"
    exit 1
    --- stderr
    Error: fix-1737372000-910a was already promoted to mem-1737372000-910a, and they differ now
    Hint: bring the memory up to date with `ralph memory edit`, then `ralph guardrails delete fix-1737372000-910a`
    ");
    assert_eq!(changes(&before, &env.tree()), [""; 0]);
}

#[test]
fn unknown_ids_and_secrets_are_refused() {
    let env = env();
    let refused = env.ralph(["guardrails", "promote", FIX]).run();
    assert_eq!(refused.code, Some(1), "{refused}");
    assert!(refused.stderr.starts_with("Error: Guardrail not found"), "{refused}");
    assert_eq!(names(&env), [""; 0]);
    let token = format!("ghp_{}", "a1B2".repeat(9));
    env.write(GUARDRAILS, format!("## Fixes\n### {FIX}\n> {token}\n"));
    let refused = env.ralph(["guardrails", "promote", FIX]).run();
    assert_eq!(refused.code, Some(2), "{refused}");
    assert!(refused.stderr.contains("--allow-secret"), "{refused}");
    assert!(!env.path(MEMORIES).exists());
    env.ok(["guardrails", "promote", FIX, "--allow-secret"]);
    assert!(env.read(MEMORIES).contains(&token));
}

#[test]
fn superseding_pairs_stay_together() {
    let env = env();
    env.ok(["guardrails", "add", "npm ci first", "-t", "fix"]);
    env.ok(["guardrails", "add", "pnpm first", "-t", "decision", "--supersedes", FIX]);
    let before = env.tree();
    assert_snapshot!(env.ralph(["guardrails", "promote", "decision"]).run(), @"
    exit 1
    --- stderr
    Error: cannot promote decision-1737372000-910a: it supersedes fix-1737372000-910a, which is still in the file
    ");
    assert_snapshot!(env.ralph(["guardrails", "promote", FIX]).run(), @"
    exit 1
    --- stderr
    Error: cannot promote fix-1737372000-910a: it is superseded by decision-1737372000-910a
    ");
    assert_eq!(changes(&before, &env.tree()), [""; 0]);
    env.ok(["guardrails", "delete", FIX]);
    env.ok(["guardrails", "promote", "decision"]);
}

#[test]
fn shared_file_is_refused() {
    let env = env();
    env.ok(["guardrails", "add", "npm ci first", "-t", "fix"]);
    env.write(".ralph.toml", format!("[memories]\npath = \"{GUARDRAILS}\"\n"));
    assert_snapshot!(env.ralph(["guardrails", "promote", FIX]).run(), @"
    exit 1
    --- stderr
    Error: cannot promote fix-1737372000-910a: guardrails and memories are in the same file
    ");
}

#[test]
fn concurrent_promotions_make_one_copy() {
    let env = env();
    env.ok(["guardrails", "add", "npm ci first", "-t", "fix"]);
    let runs: Vec<_> = (0..6)
        .map(|_| env.ralph(["guardrails", "promote", FIX]).unfixed().start())
        .collect();
    for run in runs {
        let output = run.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(ids(&env, &["memory", "list"]).len(), 1);
    assert_eq!(ids(&env, &["guardrails", "list"]), [""; 0]);
}
