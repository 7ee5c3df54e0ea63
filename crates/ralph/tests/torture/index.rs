//! Tests of the index with an error, a full disk or a kill at every call of a command that writes it. The next command
//! answers as without an index, and a read-only command does not notice.

use ralph_testkit::{Finished, TestEnv};

use super::{FILE, PROGRAM, copy_project, under_fault};

const SEARCH: [&str; 3] = ["memory", "search", "docker"];

/// A project with some notes and no index.
fn project() -> TestEnv {
    let env = TestEnv::new(PROGRAM);
    let entries: String = (0..40)
        .map(|number| {
            let id = format!("mem-{}-aaaa", 1_700_000_000 + number);
            format!("### {id}\n> docker note{number} of many\n<!-- tags:  | created: 2024-01-01 -->\n\n")
        })
        .collect();
    env.write(FILE, format!("# Memories\n\n## Fixes\n\n{entries}"));
    env.ok(["memory", "add", "an early note about docker"]);
    remove_index(&env);
    env
}

fn remove_index(env: &TestEnv) {
    for ending in ["", ".stamp", ".lock"] {
        let path = env.path(&format!(".ralph/index.db{ending}"));
        if path.exists() {
            std::fs::remove_file(path).unwrap();
        }
    }
}

fn answers(env: &TestEnv) -> Vec<Finished> {
    let questions: [&[&str]; 2] = [
        &["memory", "list", "--json"],
        &["recall", "note7 docker afterwards", "--json", "--explain"],
    ];
    questions
        .iter()
        .map(|arguments| env.ralph(arguments.iter().copied()).run())
        .collect()
}

/// Runs a command with every fault at every call, each time in a new copy of the project. A copied index is not
/// trusted, so `make_ready` prepares it.
fn at_every_call(base: &TestEnv, make_ready: impl Fn(&TestEnv), arguments: &[&str], check: impl Fn(&Finished)) {
    let faults: [fn(usize) -> String; 3] = [
        |call| format!("kill:{call}"),
        |call| format!("fail:{call}:{}", libc::EIO),
        |call| format!("full:{call}"),
    ];
    for fault in faults {
        for call in 1.. {
            let env = TestEnv::new(PROGRAM);
            copy_project(&base.project(), &env.project());
            make_ready(&env);
            let invocation = env.ralph(arguments.iter().copied());
            let (finished, came) = under_fault(&env, invocation, &fault(call));
            if finished.code.is_some() {
                check(&finished);
            }
            let found = answers(&env);
            remove_index(&env);
            assert_eq!(found, answers(&env), "{} of {arguments:?}: {finished}", fault(call));
            if !came {
                assert!(call > 5, "{arguments:?} reached only {call} calls");
                break;
            }
        }
    }
}

#[test]
fn a_first_search_survives_any_failed_call() {
    let base = project();
    let expected = base.ok(SEARCH);
    remove_index(&base);
    at_every_call(
        &base,
        |_| {},
        &SEARCH,
        |finished| {
            assert!(finished.code == Some(0) && finished.stderr.is_empty(), "{finished}");
            assert_eq!(finished.stdout, expected);
        },
    );
}

#[test]
fn a_search_after_an_edit_survives_any_failed_call() {
    let save = |env: &TestEnv| {
        env.ok(SEARCH);
        env.write(FILE, env.read(FILE).replace("note7", "note7 of docker by hand"));
    };
    at_every_call(&project(), save, &SEARCH, |finished| {
        assert!(finished.code == Some(0) && finished.stderr.is_empty(), "{finished}");
        assert!(finished.stdout.contains("note7 of docker by hand"), "{finished}");
    });
}

#[test]
fn the_index_is_right_after_an_interrupted_addition() {
    let index = |env: &TestEnv| drop(env.ok(SEARCH));
    let add = ["memory", "add", "docker afterwards"];
    at_every_call(&project(), index, &add, |finished| {
        assert!(finished.code == Some(0) || finished.code == Some(1), "{finished}");
    });
}
