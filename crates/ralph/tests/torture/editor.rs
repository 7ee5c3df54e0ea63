//! Tests of editors that save without a lock while agents add notes, in place or by rename.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use ralph_testkit::{Seed, TestEnv, count};

use super::{FILE, PROGRAM, acknowledged, assert_clean, ids};

/// The most notes that an agent adds.
const MOST_NOTES: usize = 300;

#[test]
fn editor_saves_and_agent_notes_both_survive() {
    let saves = count("RALPH_SOAK_EDITOR_SAVES", 60);
    let mut seed = Seed::announced("editor");
    let env = TestEnv::new(PROGRAM);
    env.ok(["memory", "add", "the first"]);
    let finished = AtomicBool::new(false);
    let (stored, lines) = std::thread::scope(|scope| {
        let agents: Vec<_> = (0..2)
            .map(|agent| {
                let (env, finished) = (&env, &finished);
                scope.spawn(move || add_until(env, agent, finished))
            })
            .collect();
        let mut lines = Vec::new();
        for number in 0..saves {
            let line = format!("- a person's line {number}");
            save(&env.path(FILE), |text| format!("{text}{line}\n"), &mut seed);
            lines.push(line);
            think(&mut seed);
        }
        finished.store(true, Ordering::SeqCst);
        let stored: Vec<String> = agents.into_iter().flat_map(|agent| agent.join().unwrap()).collect();
        (stored, lines)
    });
    let text = env.read(FILE);
    for line in &lines {
        assert!(text.contains(line.as_str()), "the person's {line:?} is lost");
    }
    // An editor that read the file before a note was added and saved it afterwards has overwritten that note. That
    // cannot be prevented, but the note must be recorded and restorable.
    let standing = ids(&env);
    let gone: Vec<&String> = stored.iter().filter(|id| !standing.contains(id)).collect();
    eprintln!(
        "{saves} saves, {} notes, {} written over and restored",
        stored.len(),
        gone.len()
    );
    for id in gone {
        let finished = env.ralph(["memory", "restore", id]).run();
        assert_eq!(finished.code, Some(0), "{id} is lost: {finished}");
    }
    let standing = ids(&env);
    for id in &stored {
        assert!(standing.contains(id), "{id} is lost");
    }
    assert_clean(&env);
}

/// Adds notes; after a limit edits the last one instead, so that the file does not grow too large.
fn add_until(env: &TestEnv, agent: usize, finished: &AtomicBool) -> Vec<String> {
    let mut stored: Vec<String> = Vec::new();
    let mut number = 0;
    while !finished.load(Ordering::SeqCst) {
        number += 1;
        let text = format!("agent {agent} note {number}");
        if stored.len() < MOST_NOTES {
            let run = env.ralph(["memory", "add", &text]).unfixed().run();
            assert_eq!(run.code, Some(0), "{run}");
            stored.push(acknowledged(&run.stdout).unwrap());
        } else {
            let run = env
                .ralph(["memory", "edit", &stored[MOST_NOTES - 1], "--content", &text])
                .unfixed()
                .run();
            let written_over = run.stderr.starts_with("Error: Memory not found");
            assert!(run.code == Some(0) || written_over, "{run}");
        }
    }
    stored
}

/// Users do not save twice within a millisecond. A faster editor could read the file in the few microseconds between a
/// swap and its reversal.
pub(crate) fn think(seed: &mut Seed) {
    let begin = std::time::Instant::now();
    let pause = std::time::Duration::from_micros(2_000 + seed.below(8_000) as u64);
    while begin.elapsed() < pause {
        std::thread::yield_now();
    }
}

/// Reads, changes and saves the file at once, in one of the two ways editors save.
pub(crate) fn save(path: &Path, change: impl FnOnce(&str) -> String, seed: &mut Seed) {
    let text = change(&fs::read_to_string(path).unwrap());
    if seed.below(2) == 0 {
        let mut file = fs::File::create(path).unwrap();
        // In two steps, so that for a moment only half of the text is there.
        let half = text.len() / 2;
        file.write_all(&text.as_bytes()[..half]).unwrap();
        file.write_all(&text.as_bytes()[half..]).unwrap();
    } else {
        let beside = path.with_extension("md.tmp");
        fs::File::create(&beside).unwrap().write_all(text.as_bytes()).unwrap();
        fs::rename(&beside, path).unwrap();
    }
}
