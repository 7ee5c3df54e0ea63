//! Concurrent commands on the same learnings lose and duplicate nothing.

use std::collections::BTreeSet;

use ralph_model::{Learning, TaskType};
use ralph_store::Store;
use ralph_testkit::{Finished, TestEnv, count};

use crate::exchange::golden;
use crate::extraction::STATE;
use crate::{DATABASE, env, json};

/// Number of concurrent processes.
const WORKERS: usize = 4;
/// Number of processes per kind of work, in the gate.
const LEARNERS: usize = 3;
/// Texts that every process adds.
const SHARED_TEXTS: [&str; 3] = ["Build with -j 4", "Read the log first", "Keep the lock short"];

/// Runs a command in all processes at once; each gets the number of its worker.
fn at_once(env: &TestEnv, work: impl Fn(&TestEnv, usize) -> Finished + Sync) -> Vec<Finished> {
    run_concurrently(env, WORKERS, work)
}

fn run_concurrently(env: &TestEnv, number: usize, work: impl Fn(&TestEnv, usize) -> Finished + Sync) -> Vec<Finished> {
    std::thread::scope(|scope| {
        let work = &work;
        let workers: Vec<_> = (0..number)
            .map(|worker| scope.spawn(move || work(env, worker)))
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    })
}

/// How many commands printed output with this prefix.
fn count_output(finished: &[Finished], prefix: &str) -> usize {
    for finished in finished {
        assert_eq!(finished.code, Some(0), "{finished}");
    }
    finished
        .iter()
        .filter(|finished| finished.stdout.starts_with(prefix))
        .count()
}

fn add(env: &TestEnv, text: &str) -> Finished {
    // The same seed makes the ids clash too.
    env.ralph(["learnings", "add", text, "--category", "tool_usage", "--tags", "make"])
        .env("RALPH_SEED", "1")
        .run()
}

#[test]
fn concurrent_adds_and_decisions_are_stored_once() {
    let env = env();
    for text in SHARED_TEXTS {
        let said = at_once(&env, |env, _| add(env, text));
        assert_eq!(count_output(&said, "Learning stored: "), 1);
        assert_eq!(count_output(&said, "Learning strengthened: "), WORKERS - 1);
    }
    let reworded = [
        "Run the migrations before the integration tests",
        "Run migrations before running the integration tests.",
        "Before the integration tests: run the migrations!",
        "The migrations: run them before the integration tests",
    ];
    let said = at_once(&env, |env, worker| add(env, reworded[worker]));
    assert_eq!(count_output(&said, "Learning stored: "), 1);
    assert_eq!(count_output(&said, "Learning strengthened: "), WORKERS - 1);
    let own = at_once(&env, |env, worker| {
        add(env, &format!("Build part {} by itself", ["a", "b", "c", "d"][worker]))
    });
    assert_eq!(count_output(&own, "Learning stored: "), WORKERS);
    let eight = add(&env, "Build with -j 8").stdout;
    let eight = eight.trim_end().rsplit(' ').next().unwrap().to_owned();

    let store = Store::open_existing(&env.path(DATABASE), ralph_store::Wait::Long)
        .unwrap()
        .unwrap();
    let learnings = store.learnings().unwrap();
    assert_eq!(learnings.len(), SHARED_TEXTS.len() + 1 + WORKERS + 1);
    let ids: BTreeSet<&str> = learnings.iter().map(|learning| learning.id.as_str()).collect();
    assert_eq!(ids.len(), learnings.len());
    for learning in learnings
        .iter()
        .filter(|learning| SHARED_TEXTS.contains(&learning.content.as_str()))
    {
        // Each repeat removes a tenth of the remaining doubt.
        assert!(
            (learning.confidence - (1.0 - 0.5 * 0.9_f64.powi(3))).abs() < 1e-9,
            "{learning:?}"
        );
    }
    let four = learnings
        .iter()
        .find(|learning| learning.content == SHARED_TEXTS[0])
        .unwrap();
    let four = four.id.to_string();

    let rejected = at_once(&env, |env, _| env.ralph(["learnings", "reject", &four]).run());
    assert_eq!(count_output(&rejected, "Learning rejected: "), 1);
    let promoted = at_once(&env, |env, _| env.ralph(["learnings", "promote", &four]).run());
    assert_eq!(count_output(&promoted, "Learning promoted: "), 1);
    assert_eq!(
        json(&env, &["learnings", "conflicts", "--json"])
            .as_array()
            .unwrap()
            .len(),
        1
    );
    let superseded = at_once(&env, |env, _| {
        env.ralph(["learnings", "supersede", &four, &eight]).run()
    });
    assert_eq!(count_output(&superseded, "Learning superseded: "), 1);
    assert_eq!(store.verify_learnings().unwrap(), []);
}

/// A project with learnings, another tool's files, loop histories, and another project next to it.
struct Shared {
    env: TestEnv,
    other: String,
    /// One that is rejected and gets promoted, one that gets rejected, and two where the second supersedes the first.
    judged: [String; 4],
}

impl Shared {
    fn new(learners: usize) -> Self {
        let env = env();
        env.write("store.json", golden("plain.json"));
        for (name, number) in (0..learners).map(|number| (format!("{number}"), number + 1)).chain([
            ("first".to_owned(), 101),
            ("second".to_owned(), 102),
            ("common".to_owned(), 103),
        ]) {
            env.write(
                &format!("loop-{name}.json"),
                STATE.replace("ralph-001", &format!("loop-{number}")),
            );
        }
        // Two loops make the learnings active, so the order of the others does not matter.
        env.ok(["learnings", "extract", "--from", "loop-first.json"]);
        env.ok(["learnings", "extract", "--from", "loop-second.json"]);
        let judged = [
            "Clean before a build",
            "Never clean",
            "Build with -j 4",
            "Build with -j 8",
        ];
        let judged = judged.map(|text| id_of(&add(&env, text)));
        env.ok(["learnings", "reject", &judged[0]]);
        let other = env.beside("other");
        std::fs::create_dir(&other).unwrap();
        let other = other.to_string_lossy().into_owned();
        for (text, seed) in [("Read the log first", "5"), ("Warm the cache", "6")] {
            let words = ["learnings", "add", text, "--category", "tool_usage", "--root", &other];
            let added = env.ralph(words).env("RALPH_SEED", seed).run();
            assert_eq!(added.code, Some(0), "{added}");
        }
        Self { env, other, judged }
    }

    /// Does the kind of work with this number; every learner does all kinds.
    fn work(&self, env: &TestEnv, number: usize) -> Finished {
        let [rejected, doubtful, old, new] = &self.judged;
        let own = format!("loop-{}.json", number / WAYS);
        match number % WAYS {
            0 => add(env, SHARED_TEXTS[1]),
            1 => env.ralph(["learnings", "extract", "--from", &own]).run(),
            2 => env.ralph(["learnings", "extract", "--from", "loop-common.json"]).run(),
            3 => env.ralph(["learnings", "import", "store.json"]).run(),
            4 => env.ralph(["learnings", "merge", &self.other]).run(),
            5 => env.ralph(["learnings", "promote", rejected]).run(),
            6 => env.ralph(["learnings", "reject", doubtful]).run(),
            _ => env.ralph(["learnings", "supersede", old, new]).run(),
        }
    }

    fn learnings(&self) -> Vec<Learning> {
        let store = Store::open_existing(&self.env.path(DATABASE), ralph_store::Wait::Long);
        let store = store.unwrap().unwrap();
        assert_eq!(store.verify_learnings().unwrap(), []);
        store.learnings().unwrap()
    }
}

/// Number of kinds of work.
const WAYS: usize = 8;

fn id_of(added: &Finished) -> String {
    assert_eq!(added.code, Some(0), "{added}");
    added.stdout.trim_end().rsplit(' ').next().unwrap().to_owned()
}

/// Text, status, successor and source loops of learnings, sorted: their order depends on the processes.
fn summarized(learnings: &[Learning]) -> Vec<String> {
    let line = |learning: &Learning| {
        let loops: BTreeSet<&String> = learning.source_loops.iter().collect();
        assert_eq!(loops.len(), learning.source_loops.len(), "{learning:?}");
        let Learning {
            kind, content, status, ..
        } = learning;
        let is_replaced = learning.superseded_by.is_some();
        format!("{kind:?}: {content} ({status}, replaced: {is_replaced}) of {loops:?}")
    };
    let mut lines: Vec<String> = learnings.iter().map(line).collect();
    lines.sort();
    lines
}

#[test]
fn concurrent_work_equals_sequential_work() {
    let learners = count("RALPH_SOAK_LEARNERS", LEARNERS);
    let [shared, alone] = [Shared::new(learners), Shared::new(learners)];
    let work = |env: &TestEnv, number: usize| shared.work(env, number);
    let finished = run_concurrently(&shared.env, learners * WAYS, work);
    let one_by_one: Vec<Finished> = (0..learners * WAYS)
        .map(|number| alone.work(&alone.env, number))
        .collect();
    for beginning in ["Learning promoted: ", "Learning rejected: ", "Learning superseded: "] {
        assert_eq!(count_output(&finished, beginning), 1, "{beginning}");
        assert_eq!(count_output(&one_by_one, beginning), 1, "{beginning}");
    }
    let (learnings, expected) = (shared.learnings(), alone.learnings());
    assert_eq!(summarized(&learnings), summarized(&expected));
    let distinct: BTreeSet<_> = learnings
        .iter()
        .map(|learning| {
            (
                learning.kind.word(),
                learning.task_type.map(TaskType::word),
                &learning.content,
            )
        })
        .collect();
    assert_eq!(distinct.len(), learnings.len(), "no duplicates");
    let taught = learnings.iter().find(|learning| learning.source_loops.len() > 1);
    assert_eq!(taught.unwrap().source_loops.len(), learners + 3, "nothing lost");
}
