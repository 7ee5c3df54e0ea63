//! `ralph guardrails promote`.

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
    let promoted = env.ralph(["guardrails", "promote", "fix-17"]).run();
    promoted.printed(&["promoted: mem-1737372000-910a"]);
    assert_eq!(env.read(GUARDRAILS), "## Fixes\n\nours\n");
    let memories = env.read(MEMORIES);
    let entry = "## Fixes\n\n### mem-1737372000-910a\n> npm ci first\n> always\n<!-- tags: npm, ci | created: 2024-06-01 -->\n\
                 <!-- ralph: reason=it broke; source=fix-1737372000-910a -->\n\n## Context\n";
    assert!(memories.contains(entry), "{memories}");
    assert!(env.ok(["guardrails", "show", FIX, "--history"]).contains("deleted"));
    assert!(env.ok(["memory", "show", "mem-17", "--history"]).contains("added"));
    let before = env.tree();
    let again = env.ralph(["guardrails", "promote", FIX]).run();
    again.printed(&["mem-1737372000-910a", "already promoted"]);
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
    let refused = env.ralph(["guardrails", "promote", FIX]).run();
    refused.refused(
        1,
        &[
            "already promoted to mem-1737372000-910a",
            "ralph memory edit",
            "ralph guardrails delete fix-1737372000-910a",
        ],
    );
    assert_eq!(changes(&before, &env.tree()), [""; 0]);
}

#[test]
fn unknown_ids_and_secrets_are_refused() {
    let env = env();
    let missing = env.ralph(["guardrails", "promote", FIX]).run();
    missing.refused(1, &["Guardrail not found"]);
    assert_eq!(names(&env), [""; 0]);
    let token = format!("ghp_{}", "a1B2".repeat(9));
    env.write(GUARDRAILS, format!("## Fixes\n### {FIX}\n> {token}\n"));
    let secret = env.ralph(["guardrails", "promote", FIX]).run();
    secret.refused(2, &["--allow-secret"]);
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
    let newer = env.ralph(["guardrails", "promote", "decision"]).run();
    newer.refused(
        1,
        &[
            "cannot promote decision-1737372000-910a",
            "it supersedes fix-1737372000-910a",
        ],
    );
    let older = env.ralph(["guardrails", "promote", FIX]).run();
    older.refused(
        1,
        &[
            "cannot promote fix-1737372000-910a",
            "superseded by decision-1737372000-910a",
        ],
    );
    assert_eq!(changes(&before, &env.tree()), [""; 0]);
    env.ok(["guardrails", "delete", FIX]);
    env.ok(["guardrails", "promote", "decision"]);
}

#[test]
fn shared_file_is_refused() {
    let env = env();
    env.ok(["guardrails", "add", "npm ci first", "-t", "fix"]);
    env.write(".ralph.toml", format!("[memories]\npath = \"{GUARDRAILS}\"\n"));
    let refused = env.ralph(["guardrails", "promote", FIX]).run();
    refused.refused(1, &["cannot promote fix-1737372000-910a", "the same file"]);
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
