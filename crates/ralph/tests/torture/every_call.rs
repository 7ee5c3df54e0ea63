//! Tests single operations with an error, a full disk or a kill at every call that changes something on disk.

use ralph_testkit::{Finished, TestEnv};

use super::{FILE, PROGRAM, acknowledged, assert_clean, copy_project, ids, under_fault};

const KEPT: &str = "mem-1700000000-aaaa";
const OTHER: &str = "mem-1700000001-bbbb";
const FIXED_ID: &str = "mem-1737372000-910a";

/// An operation, and the file before and after it.
struct Operation {
    arguments: &'static [&'static str],
    before: String,
    after: String,
}

fn operations(base: &TestEnv) -> Vec<Operation> {
    let arguments: [&[&str]; 5] = [
        &["memory", "add", "a new note", "--tags", "x"],
        &["memory", "edit", KEPT, "--content", "changed"],
        &["memory", "edit", KEPT, "--type", "context"],
        &["memory", "delete", KEPT],
        &["memory", "restore", "mem-1600000000-cccc"],
    ];
    arguments
        .into_iter()
        .map(|arguments| {
            let env = copy_of(base);
            let before = env.read(FILE);
            env.ok(arguments.iter().copied());
            let after = env.read(FILE);
            assert_ne!(before, after);
            Operation {
                arguments,
                before,
                after,
            }
        })
        .collect()
}

/// A project with three notes in its file, one of them written by hand, and a deleted one, all on record.
fn project() -> TestEnv {
    let env = TestEnv::new(PROGRAM);
    let entry = |id: &str, text: &str| format!("### {id}\n> {text}\n<!-- tags:  | created: 2024-01-01 -->\n\n");
    let entries = [(KEPT, "kept"), (OTHER, "other"), ("mem-1600000000-cccc", "deleted")];
    let entries: String = entries.iter().map(|(id, text)| entry(id, text)).collect();
    env.write(FILE, format!("# Memories\n\n## Fixes\n\n{entries}prose of a person"));
    env.ok(["memory", "delete", "mem-1600000000-cccc"]);
    env
}

fn copy_of(base: &TestEnv) -> TestEnv {
    let env = TestEnv::new(PROGRAM);
    copy_project(&base.project(), &env.project());
    env
}

/// Runs every operation with the fault at every call, and checks each outcome.
fn at_every_call(fault: impl Fn(usize) -> String, check: impl Fn(&TestEnv, &Operation, &Finished)) {
    at_every_call_without("", fault, check);
}

/// Like `at_every_call`, on a file system without a feature.
fn at_every_call_without(what: &str, fault: impl Fn(usize) -> String, check: impl Fn(&TestEnv, &Operation, &Finished)) {
    let base = project();
    for operation in operations(&base) {
        let mut call = 1;
        loop {
            let env = copy_of(&base);
            let invocation = env
                .ralph(operation.arguments.iter().copied())
                .env("RALPH_FAULT_WITHOUT", what);
            let (finished, came) = under_fault(&env, invocation, &fault(call));
            if !came {
                assert_eq!(finished.code, Some(0), "{finished}");
                break;
            }
            check(&env, &operation, &finished);
            call += 1;
        }
        assert!(call > 8, "{:?} reached only {call} calls", operation.arguments);
    }
}

/// After any fault, the other notes are intact and the next change works.
fn assert_goes_on(env: &TestEnv) {
    assert!(ids(env).contains(&OTHER.to_owned()));
    env.ok(["memory", "add", "afterwards", "-t", "decision"]);
    assert_clean(env);
    let text = env.read(FILE);
    assert!(
        text.contains("> afterwards\n") && text.contains("prose of a person"),
        "{text}"
    );
}

fn check_failed_or_done(env: &TestEnv, operation: &Operation, finished: &Finished) {
    let text = env.read(FILE);
    if finished.code == Some(0) {
        assert_eq!(text, operation.after, "acknowledged, but not done: {finished}");
        let warnings = finished
            .stderr
            .lines()
            .filter(|line| line.starts_with("Warning: "))
            .count();
        assert!(warnings <= 1, "{finished}");
    } else {
        assert_eq!(finished.code, Some(1), "{finished}");
        assert_eq!(text, operation.before, "refused, but changed: {finished}");
        assert_eq!(finished.stdout, "", "{finished}");
        let line = finished.stderr.trim_end();
        assert!(
            line.starts_with("Error: cannot ") && !line.contains('\n'),
            "not one clear line: {finished}"
        );
        let cause = [
            "(os error ",
            "disk I/O error",
            "disk is full",
            "unable to open database",
        ];
        assert!(line.contains("[TMP]/project/"), "no path: {finished}");
        assert!(cause.iter().any(|cause| line.contains(cause)), "no cause: {finished}");
    }
    assert_goes_on(env);
}

#[test]
fn an_error_leaves_the_old_or_the_new_content() {
    at_every_call(|call| format!("fail:{call}:{}", libc::EIO), check_failed_or_done);
}

#[test]
fn a_full_disk_leaves_the_old_or_the_new_content() {
    at_every_call(|call| format!("full:{call}"), check_failed_or_done);
}

#[test]
fn fault_19_a_kill_at_any_call_leaves_the_old_content_or_the_new() {
    at_every_call(
        |call| format!("kill:{call}"),
        |env, operation, finished| {
            assert_eq!(finished.code, None, "{finished}");
            let text = env.read(FILE);
            if finished.stdout.is_empty() {
                assert!(text == operation.before || text == operation.after, "half done: {text}");
            } else {
                assert_eq!(text, operation.after, "acknowledged, but not done: {finished}");
            }
            assert_goes_on(env);
        },
    );
}

/// A user's save right before every call, alone or followed by a failure.
fn with_a_save_at_every_call(then: Option<usize>) {
    const SAVED: &str = "# Memories\n\n## Fixes\n\nthe person's own words\n";
    let base = project();
    let arguments = ["memory", "add", "a new note"];
    for call in 1.. {
        let env = copy_of(&base);
        let save = env.beside("save.md");
        env.write("../save.md", SAVED);
        let fault = then.map_or(format!("save:{call}"), |after| format!("savefail:{call}:{after}"));
        let invocation = env
            .ralph(arguments)
            .env("RALPH_FAULT_SAVE", &save)
            .env("RALPH_FAULT_TARGET", env.path(FILE));
        let (finished, came) = under_fault(&env, invocation, &fault);
        if !came {
            assert!(call > 8, "only {call} calls were reached");
            return;
        }
        let next = env.ralph(["memory", "add", "afterwards"]).run();
        assert_eq!(next.code, Some(0), "call {call}: {finished}{next}");
        let text = env.read(FILE);
        let words = "the person's own words";
        let kept: Vec<_> = std::fs::read_dir(env.path(".agent"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.to_string_lossy().contains(".kept"))
            .collect();
        let kept_words = kept
            .iter()
            .any(|path| std::fs::read_to_string(path).unwrap().contains(words));
        assert!(
            text.contains(words) || kept_words,
            "call {call}: the person's words are lost: {finished}{text}"
        );
        if !text.contains(words) {
            let said = format!("{}{}", finished.stderr, next.stderr);
            assert!(
                said.contains("could not be merged and is in "),
                "call {call}: no warning: {said}"
            );
        }
        if finished.code == Some(0) {
            let id = acknowledged(&finished.stdout).unwrap();
            let on_record = env.ok(["memory", "show", &id, "--history"]);
            assert!(
                text.contains(&id) || on_record.contains("vanished"),
                "call {call}: {finished}{text}"
            );
        }
        assert!(text.contains("> afterwards\n"), "call {call}: {text}");
    }
}

#[test]
fn a_save_before_any_call_keeps_both_texts() {
    with_a_save_at_every_call(None);
}

#[test]
fn a_save_and_a_failure_keep_the_users_text() {
    for after in 1..=4 {
        with_a_save_at_every_call(Some(after));
    }
}

#[test]
fn kills_are_survived_without_atomic_swap() {
    at_every_call_without(
        "swap",
        |call| format!("kill:{call}"),
        |env, operation, _| {
            let text = env.read(FILE);
            assert!(text == operation.before || text == operation.after, "half done: {text}");
            assert_goes_on(env);
        },
    );
}

#[test]
fn everything_works_on_a_file_system_without_links() {
    let env = TestEnv::new(PROGRAM);
    for arguments in [
        &["init"][..],
        &["memory", "add", "a"],
        &["memory", "init", "--force"],
        &["memory", "add", "b"],
    ] {
        let invocation = env.ralph(arguments.iter().copied()).env("RALPH_FAULT_WITHOUT", "link");
        let (finished, _) = under_fault(&env, invocation, "none");
        assert_eq!(finished.code, Some(0), "{arguments:?}: {finished}");
    }
    assert!(env.read(".agent/memories.md.bak").contains("> a\n"));
    assert!(env.read(FILE).contains("> b\n"));
}

#[test]
fn git_ignores_leftovers_of_a_kill() {
    let env = TestEnv::new(PROGRAM);
    env.git(["init", "--quiet"]);
    env.ok(["memory", "add", "first"]);
    env.git(["add", "--all"]);
    for call in 1.. {
        let (_, came) = under_fault(
            &env,
            env.ralph(["memory", "add", "next"]).unfixed(),
            &format!("kill:{call}"),
        );
        let status = env.git(["status", "--porcelain", "--untracked-files=all"]);
        assert!(!status.contains("??"), "call {call}: {status}");
        if !came {
            assert!(call > 8);
            return;
        }
    }
}

#[test]
fn a_killed_first_note_is_complete_or_absent() {
    let mut call = 1;
    loop {
        let env = TestEnv::new(PROGRAM);
        let (finished, came) = under_fault(&env, env.ralph(["memory", "add", "the first"]), &format!("kill:{call}"));
        if !came {
            assert_eq!(finished.code, Some(0), "{finished}");
            assert_eq!(ids(&env), [FIXED_ID]);
            break;
        }
        if !finished.stdout.is_empty() {
            assert_eq!(ids(&env), [FIXED_ID]);
        }
        env.ok(["memory", "add", "the second"]);
        assert_clean(&env);
        assert!(env.read(FILE).contains("> the second\n"));
        call += 1;
    }
    assert!(call > 15, "only {call} calls were reached");
}

#[test]
fn a_killed_first_task_is_complete_or_absent() {
    for call in 1.. {
        let env = TestEnv::new(PROGRAM);
        let (finished, came) = under_fault(&env, env.ralph(["task", "add", "the first"]), &format!("kill:{call}"));
        if !came {
            assert_eq!(finished.code, Some(0), "{finished}");
            assert!(call > 15, "only {call} calls were reached");
            return;
        }
        // A reader finds our database or none, never a foreign one.
        let listed = env.ralph(["task", "list", "--format", "quiet"]).run();
        assert_eq!(listed.code, Some(0), "call {call}: {listed}");
        if !finished.stdout.is_empty() {
            assert_eq!(listed.stdout, finished.stdout, "call {call}: acknowledged and lost");
        }
        let added = env.ralph(["task", "add", "the second"]).unfixed().run();
        assert_eq!(added.code, Some(0), "call {call}: {added}");
        assert_eq!(
            env.ralph(["doctor"]).run().stdout.matches("another tool").count(),
            0,
            "call {call}"
        );
    }
}
