//! Tests of `ralph feature create` with a kill or an error at every call that changes something on disk.

use ralph_testkit::TestEnv;

use super::{PROGRAM, under_fault};

const CREATE: [&str; 5] = ["feature", "create", "search", "--spec", "mine.md"];
const SPEC: &str = ".ralph/features/search/spec.md";
const TEXT: &str = "# Search\n\nFind words by their stem.\n";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Database {
    There,
    Missing,
}

/// A project with a text to copy.
fn project(database: Database) -> TestEnv {
    let env = TestEnv::new(PROGRAM);
    if database == Database::There {
        env.ok(["task", "add", "so that there is a database"]);
    }
    env.write("mine.md", TEXT);
    env
}

/// After a fault at any call, a recorded feature has its whole text, and an unrecorded one can be created.
fn at_every_call(fault: &str, database: Database) {
    for call in 1.. {
        let env = project(database);
        let (finished, came) = under_fault(&env, env.ralph(CREATE), &format!("{fault}:{call}"));
        if !came {
            assert_eq!(finished.code, Some(0), "{finished}");
            assert!(call > 8, "only {call} calls were reached");
            break;
        }
        if env.path(SPEC).exists() {
            assert_eq!(env.read(SPEC), TEXT, "call {call}: {finished}");
        }
        let is_on_record = env.ralph(["feature", "show", "search"]).run().code == Some(0);
        assert!(
            is_on_record || finished.code != Some(0),
            "call {call}: acknowledged and lost"
        );
        let again = env.ralph(CREATE).run();
        assert_eq!(again.code, Some(i32::from(is_on_record)), "call {call}: {again}");
        assert_eq!(env.read(SPEC), TEXT, "call {call}");
        let left = std::fs::read_dir(env.path(".ralph/features/search")).unwrap();
        let mut left: Vec<_> = left.map(|file| file.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["plan.md", "spec.md"], "call {call}");
        env.ok(["feature", "delete", "search"]);
        assert_eq!(env.read(SPEC), TEXT, "call {call}");
    }
}

#[test]
fn a_killed_create_leaves_no_partial_feature() {
    at_every_call("kill", Database::There);
}

#[test]
fn a_killed_create_leaves_no_partial_database() {
    at_every_call("kill", Database::Missing);
}
