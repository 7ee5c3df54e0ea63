//! Many processes that handle the same learnings at once: nothing is lost, and nothing is there twice.

use std::collections::BTreeSet;

use ralph_store::Store;
use ralph_testkit::{Finished, TestEnv};

use crate::{DATABASE, env, json};

/// How many processes work at once.
const WORKERS: usize = 4;
/// What every one of them says.
const SAID_BY_ALL: [&str; 3] = ["Build with -j 4", "Read the log first", "Keep the lock short"];

/// Runs a command in every process at once, each with the number of its worker.
fn at_once(env: &TestEnv, work: impl Fn(&TestEnv, usize) -> Finished + Sync) -> Vec<Finished> {
    std::thread::scope(|scope| {
        let work = &work;
        let workers: Vec<_> = (0..WORKERS)
            .map(|worker| scope.spawn(move || work(env, worker)))
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    })
}

/// How many of them printed a line that begins so.
fn saying(finished: &[Finished], beginning: &str) -> usize {
    for finished in finished {
        assert_eq!(finished.code, Some(0), "{finished}");
    }
    finished
        .iter()
        .filter(|finished| finished.stdout.starts_with(beginning))
        .count()
}

fn add(env: &TestEnv, text: &str) -> Finished {
    // All draw the same ids, so that these clash, too.
    env.ralph(["learnings", "add", text, "--category", "tool_usage", "--tags", "make"])
        .env("RALPH_SEED", "1")
        .run()
}

#[test]
fn learnings_that_many_add_and_judge_at_once_are_there_once() {
    let env = env();
    for text in SAID_BY_ALL {
        let said = at_once(&env, |env, _| add(env, text));
        assert_eq!(saying(&said, "Learning stored: "), 1);
        assert_eq!(saying(&said, "Learning strengthened: "), WORKERS - 1);
    }
    let own = at_once(&env, |env, worker| {
        add(env, &format!("Build part {} by itself", ["a", "b", "c", "d"][worker]))
    });
    assert_eq!(saying(&own, "Learning stored: "), WORKERS);
    let eight = add(&env, "Build with -j 8").stdout;
    let eight = eight.trim_end().rsplit(' ').next().unwrap().to_owned();

    let store = Store::open_existing(&env.path(DATABASE), ralph_store::Wait::Long)
        .unwrap()
        .unwrap();
    let learnings = store.learnings().unwrap();
    assert_eq!(learnings.len(), SAID_BY_ALL.len() + WORKERS + 1);
    let ids: BTreeSet<&str> = learnings.iter().map(|learning| learning.id.as_str()).collect();
    assert_eq!(ids.len(), learnings.len());
    for learning in learnings
        .iter()
        .filter(|learning| SAID_BY_ALL.contains(&learning.content.as_str()))
    {
        // Each time a tenth of the doubt goes.
        assert!(
            (learning.confidence - (1.0 - 0.5 * 0.9_f64.powi(3))).abs() < 1e-9,
            "{learning:?}"
        );
    }
    let four = learnings
        .iter()
        .find(|learning| learning.content == SAID_BY_ALL[0])
        .unwrap();
    let four = four.id.to_string();

    let rejected = at_once(&env, |env, _| env.ralph(["learnings", "reject", &four]).run());
    assert_eq!(saying(&rejected, "Learning rejected: "), 1);
    let promoted = at_once(&env, |env, _| env.ralph(["learnings", "promote", &four]).run());
    assert_eq!(saying(&promoted, "Learning promoted: "), 1);
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
    assert_eq!(saying(&superseded, "Learning superseded: "), 1);
    assert_eq!(store.verify_learnings().unwrap(), []);
    let seals = store.learning_seals().unwrap();
    assert_eq!((seals.altered.len(), seals.unsealed), (0, 0));
}
