//! Tests of many concurrent processes: nothing is lost, no id is duplicated, no error is shown.

use std::collections::HashSet;

use ralph_testkit::{Seed, TestEnv, count};

use super::{FILE, PROGRAM, acknowledged, assert_clean, ids};

#[test]
fn concurrent_writers_lose_nothing() {
    let writers = count("RALPH_SOAK_WRITERS", 20);
    let env = TestEnv::new(PROGRAM);
    let children: Vec<_> = (0..writers)
        .map(|number| env.ralph(["memory", "add", &format!("note {number}")]).start())
        .collect();
    let mut stored = HashSet::new();
    for child in children {
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        let only_waits = said
            .lines()
            .all(|line| line.starts_with("Waiting for a lock held by another process: "));
        assert!(output.status.success() && only_waits, "{output:?}");
        let id = acknowledged(&String::from_utf8(output.stdout).unwrap()).unwrap();
        assert!(stored.insert(id.clone()), "{id} was given out twice");
    }
    let found = ids(&env);
    assert_eq!(found.len(), writers, "fault 19: concurrent writes are lost");
    assert_eq!(found.into_iter().collect::<HashSet<_>>(), stored);
    let text = env.read(FILE);
    for number in 0..writers {
        assert!(text.contains(&format!("> note {number}\n")), "note {number} is lost");
    }
    assert_clean(&env);
}

#[test]
fn concurrent_edits_and_deletions_do_not_interfere() {
    let writers = count("RALPH_SOAK_MIXED", 4) as u64;
    let operations = count("RALPH_SOAK_MIXED_OPS", 12);
    let mut seed = Seed::announced("mixed writers");
    let env = TestEnv::new(PROGRAM);
    let expected: Vec<(String, String)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..writers)
            .map(|worker| {
                let (env, seed) = (&env, seed.split());
                scope.spawn(move || work(env, worker, seed, operations))
            })
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    let mut found = ids(&env);
    found.sort();
    let mut wanted: Vec<&String> = expected.iter().map(|(id, _)| id).collect();
    wanted.sort();
    assert_eq!(found.iter().collect::<Vec<_>>(), wanted);
    let text = env.read(FILE);
    for (id, content) in &expected {
        assert!(
            text.contains(&format!("### {id}\n> {content}\n")),
            "{id} does not say {content:?}"
        );
    }
    assert_clean(&env);
    let finished = env.ralph(["memory", "restore", "--list", "--json"]).run();
    assert!(!finished.stdout.contains("vanished"), "{finished}");
}

/// Adds, edits and deletes its own notes; returns those that must remain.
fn work(env: &TestEnv, worker: u64, mut seed: Seed, operations: usize) -> Vec<(String, String)> {
    let mut mine: Vec<(String, String)> = Vec::new();
    for number in 0..operations {
        let content = format!("worker {worker} operation {number}");
        let choice = if mine.is_empty() { 0 } else { seed.below(4) };
        let position = seed.below(mine.len());
        let arguments: Vec<&str> = match choice {
            0 | 1 => vec!["memory", "add", &content, "-t", ["fix", "pattern"][seed.below(2)]],
            2 => vec!["memory", "edit", &mine[position].0, "--content", &content],
            _ => vec!["memory", "delete", &mine[position].0],
        };
        let finished = env.ralph(arguments).unfixed().run();
        // On a busy machine, many others may be served first.
        let mut messages = finished.stderr.lines();
        let waits_only = messages.all(|line| line.starts_with("Waiting for a lock"));
        assert!(finished.code == Some(0) && waits_only, "{finished}");
        match choice {
            0 | 1 => mine.push((acknowledged(&finished.stdout).unwrap(), content)),
            2 => mine[position].1 = content,
            _ => drop(mine.swap_remove(position)),
        }
    }
    mine
}
