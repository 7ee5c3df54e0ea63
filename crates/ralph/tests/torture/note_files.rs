//! Tests of guardrails and the scratchpad with an error or a kill at every call: nothing is lost, and running the
//! command again completes it.

use ralph_testkit::{Finished, TestEnv};

use super::{FILE, PROGRAM, copy_project, under_fault};

const GUARDRAILS: &str = ".agent/guardrails.md";
const SCRATCHPAD: &str = ".agent/scratchpad.md";
const SIGNS: &str = "# Guardrails\n\n### Sign: A\n- **Trigger**: t\n- **Instruction**: one\n\nours\n\n## Patterns\n\n\
                     ### Sign: B\n- two\n";
const FIX: &str = "fix-1700000000-aaaa";

/// Runs a command with every fault at every call, each time in a copy of the project.
fn at_every_call(base: &TestEnv, arguments: &[&str], check: impl Fn(&TestEnv, &Finished)) {
    let faults: [fn(usize) -> String; 2] = [
        |call| format!("kill:{call}"),
        |call| format!("fail:{call}:{}", libc::EIO),
    ];
    for fault in faults {
        for call in 1.. {
            let env = TestEnv::new(PROGRAM);
            copy_project(&base.project(), &env.project());
            let invocation = env.ralph(arguments.iter().copied());
            let (finished, came) = under_fault(&env, invocation, &fault(call));
            if !came {
                assert_eq!(finished.code, Some(0), "{finished}");
                assert!(call > 8, "{arguments:?} reached only {call} calls");
                break;
            }
            if finished.code == Some(1) {
                let line = finished.stderr.trim_end();
                assert!(line.starts_with("Error: cannot "), "not a clear line: {finished}");
                assert_eq!(finished.stdout, "", "{finished}");
            }
            check(&env, &finished);
        }
    }
}

/// Returns true if a command reported success.
fn acknowledged(finished: &Finished) -> bool {
    finished.code == Some(0) || !finished.stdout.is_empty()
}

fn contents(env: &TestEnv, file_kind: &str) -> Vec<String> {
    let listed: serde_json::Value = serde_json::from_str(&env.ok([file_kind, "list", "--json"])).unwrap();
    let notes = listed.as_array().unwrap().iter();
    notes.map(|note| note["content"].as_str().unwrap().to_owned()).collect()
}

/// The next writer is not blocked and leaves nothing behind.
#[track_caller]
fn assert_goes_on(env: &TestEnv, next: [&str; 3]) {
    env.ok(next);
    for entry in std::fs::read_dir(env.path(".agent")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(!name.contains(".ralph-") && !name.contains(".kept"), "{name} is left");
    }
}

#[test]
fn a_failed_migration_is_complete_or_absent() {
    let base = TestEnv::new(PROGRAM);
    base.write(GUARDRAILS, SIGNS);
    at_every_call(&base, &["guardrails", "migrate"], |env, finished| {
        let text = env.read(GUARDRAILS);
        let done = !text.contains("Sign:") && text.contains("> A. t: one\n") && text.contains("> B. two\n");
        assert!(done || text == SIGNS, "half done: {text}");
        if acknowledged(finished) {
            assert!(done, "acknowledged, but not done: {finished}{text}");
        }
        if finished.code == Some(1) {
            assert_eq!(text, SIGNS, "refused, but changed: {finished}");
        }
        env.ok(["guardrails", "migrate"]);
        let mut standing = contents(env, "guardrails");
        standing.sort();
        assert_eq!(standing, ["A. t: one", "B. two"], "{finished}");
        assert!(env.read(GUARDRAILS).contains("\nours\n"));
        assert_eq!(env.read(".agent/guardrails.md.bak"), SIGNS, "{finished}");
        assert_goes_on(env, ["guardrails", "add", "next"]);
    });
}

#[test]
fn a_promotion_neither_loses_nor_duplicates_the_note() {
    let base = TestEnv::new(PROGRAM);
    base.write(
        GUARDRAILS,
        format!("## Fixes\n\n### {FIX}\n> npm ci first\n\n### fix-1-0000\n> other\n"),
    );
    base.ok(["memory", "add", "known before"]);
    at_every_call(&base, &["guardrails", "promote", FIX], |env, finished| {
        let there = env.read(GUARDRAILS).contains("> npm ci first\n");
        let here = env.read(FILE).contains("> npm ci first\n");
        assert!(there || here, "lost: {finished}");
        if acknowledged(finished) {
            assert!(here && !there, "acknowledged, but not done: {finished}");
        }
        env.ok(["guardrails", "promote", FIX]);
        assert_eq!(contents(env, "guardrails"), ["other"], "{finished}");
        let mut memories = contents(env, "memory");
        memories.sort();
        assert_eq!(memories, ["known before", "npm ci first"], "{finished}");
        env.ok(["memory", "add", "next"]);
        assert_goes_on(env, ["guardrails", "add", "next"]);
    });
}

#[test]
fn an_append_is_complete_or_absent() {
    let base = TestEnv::new(PROGRAM);
    base.write(SCRATCHPAD, "before");
    at_every_call(&base, &["scratchpad", "append", "after"], |env, finished| {
        let text = env.read(SCRATCHPAD);
        assert!(text == "before" || text == "before\nafter\n", "half done: {text}");
        if acknowledged(finished) {
            assert_eq!(text, "before\nafter\n", "acknowledged, but not done: {finished}");
        } else if finished.code == Some(1) {
            assert_eq!(text, "before", "refused, but changed: {finished}");
        }
        assert_goes_on(env, ["scratchpad", "append", "next"]);
        assert!(env.read(SCRATCHPAD).ends_with("\nnext\n"));
    });
}

#[test]
fn a_cleared_text_is_kept_despite_failures() {
    let base = TestEnv::new(PROGRAM);
    base.write(SCRATCHPAD, "before\n");
    at_every_call(&base, &["scratchpad", "clear"], |env, finished| {
        let text = env.read(SCRATCHPAD);
        assert!(text.is_empty() || text == "before\n", "half done: {text}");
        if acknowledged(finished) {
            assert_eq!(text, "", "acknowledged, but not done: {finished}");
        }
        env.ok(["scratchpad", "clear"]);
        assert_eq!(env.read(SCRATCHPAD), "");
        assert_eq!(env.read(".agent/scratchpad.md.bak"), "before\n", "{finished}");
        assert!(!env.path(".agent/scratchpad.md.bak-2").exists(), "{finished}");
        assert_goes_on(env, ["scratchpad", "append", "next"]);
    });
}
