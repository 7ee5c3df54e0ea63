//! Tests of the maintenance at the end of a run under kills: each step is done or not, no learning is lost or counted
//! twice, and the next run does the rest.

use jiff::{SignedDuration, Timestamp};
use ralph_model::{SplitMix64, TextFeatures};
use ralph_store::{NewLearning, Store};
use ralph_testkit::{Finished, Invocation, Seed, TestEnv, count};

use super::{PROGRAM, copy_project, under_fault};

const DATABASE: &str = ".ralph/progress.db";
/// The time of all runs.
const NOW: &str = "2025-01-20T12:00:00Z";
/// More groups of similar learnings than one step merges, of three each.
const SUBJECTS: [&str; 30] = [
    "anchor", "bridge", "candle", "desert", "engine", "forest", "garden", "harbor", "island", "jungle", "kettle",
    "ladder", "market", "needle", "orange", "pencil", "quarry", "rocket", "saddle", "tunnel", "umbrella", "valley",
    "window", "yellow", "zipper", "barrel", "copper", "dragon", "emerald", "falcon",
];
/// The number of old and unused learnings.
const OLD: usize = 9;

/// A project with nothing to do but maintenance.
fn project() -> TestEnv {
    let env = TestEnv::new(PROGRAM);
    env.write(".ralph.toml", "[learning]\nmerge_above = 10\n");
    env.ok(["learnings", "add", "the first", "--category", "other"]);
    let mut store = Store::open_or_create(&env.path(DATABASE)).unwrap();
    let mut bits = SplitMix64::new(5);
    let now: Timestamp = NOW.parse().unwrap();
    let mut add = |content: String, tags: &[&str], days: i64| {
        let new = NewLearning {
            category: "pitfall".to_owned(),
            content,
            tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
            task_type: None,
            features: TextFeatures::default(),
        };
        let at = now - SignedDuration::from_hours(24 * days);
        store.add_learning(&new, &mut bits, at).unwrap();
    };
    for subject in SUBJECTS {
        for (days, verb) in (1..).zip(["Open", "Close", "Paint"]) {
            add(format!("{verb} the {subject}."), &["cargo", "ci"], days);
        }
    }
    for number in 0..OLD {
        add(format!("Nobody needs {number}."), &[], 200);
    }
    env
}

fn run(env: &TestEnv, seed: usize) -> Invocation {
    env.ralph(["run", "--trust", "--agent", "true"])
        .env("RALPH_NOW", NOW)
        .env("RALPH_SEED", seed.to_string())
}

#[track_caller]
fn assert_nothing_to_do(finished: &Finished) {
    assert_eq!(finished.code, Some(3), "{finished}");
}

/// Checks that all completed maintenance is consistent; returns how many learnings were merged and pruned.
#[track_caller]
fn assert_whole(env: &TestEnv) -> (usize, usize) {
    #[expect(clippy::disallowed_methods, reason = "the test looks at the database from outside")]
    let database = rusqlite::Connection::open(env.path(DATABASE)).unwrap();
    let number = |sql: &str| -> usize {
        let number: i64 = database.query_row(sql, [], |row| row.get(0)).unwrap();
        usize::try_from(number).unwrap()
    };
    assert_eq!(number("SELECT count(*) FROM learnings"), 1 + 3 * SUBJECTS.len() + OLD);
    let strange = number(
        "SELECT count(*) FROM learnings WHERE status NOT IN ('promoted', 'pruned') OR (status = 'pruned') <> (pruned_from IS NOT NULL)",
    );
    assert_eq!(strange, 0, "neither here nor gone");
    let lost = number(
        "SELECT count(*) FROM learnings AS gone WHERE superseded_by IS NOT NULL AND NOT EXISTS (
             SELECT 1 FROM learnings AS one, json_each(one.examples)
             WHERE one.id = gone.superseded_by AND one.status = 'promoted' AND value = gone.content)",
    );
    assert_eq!(lost, 0, "merged, and not among the examples");
    let merged = number("SELECT count(*) FROM learnings WHERE superseded_by IS NOT NULL");
    let examples = number("SELECT coalesce(sum(json_array_length(examples)), 0) FROM learnings");
    assert_eq!(examples, merged, "an example without its learning");
    let pruned = number("SELECT count(*) FROM learnings WHERE status = 'pruned' AND superseded_by IS NULL");
    (merged, pruned)
}

#[test]
fn killed_maintenance_is_completed_by_the_next_run() {
    let kills = count("RALPH_SOAK_RUN_KILLS", 12);
    let mut seed = Seed::announced("the upkeep, killed at a call");
    let base = project();
    let fresh = || {
        let env = TestEnv::new(PROGRAM);
        copy_project(&base.project(), &env.project());
        env
    };
    let all = (2 * SUBJECTS.len(), OLD);
    // The number of calls is unknown; maintenance comes last.
    let (mut least, mut most) = (1, 1);
    while under_kill(&fresh(), most) {
        least = most;
        most *= 2;
    }
    let mut halfway = 0;
    for _ in 0..kills {
        let env = fresh();
        let call = least / 2 + seed.below(most - least / 2);
        if !under_kill(&env, call) {
            assert_eq!(assert_whole(&env), all, "call {call} is behind the end");
            most = call.max(least + 1);
            continue;
        }
        let left = assert_whole(&env);
        halfway += usize::from(left != (0, 0) && left != all);
        assert_nothing_to_do(&run(&env, 2).run());
        assert_eq!(
            assert_whole(&env),
            all,
            "after a kill at call {call}, which left {left:?}"
        );
    }
    eprintln!("{kills} runs, of which {halfway} were killed between two pieces of the upkeep");
}

/// Runs with a kill at a call; returns whether it occurred.
#[track_caller]
fn under_kill(env: &TestEnv, call: usize) -> bool {
    let (finished, killed) = under_fault(env, run(env, 1), &format!("kill:{call}"));
    if killed {
        assert_eq!(finished.code, None, "{finished}");
    } else {
        assert_nothing_to_do(&finished);
    }
    killed
}
