//! Tests of SIGKILL at random moments while several processes write.

use std::io::Read;

use ralph_testkit::{Seed, TestEnv, count};

use super::{FILE, PROGRAM, acknowledged, assert_clean, ids};

#[test]
fn fault_19_a_kill_at_a_random_moment_loses_nothing_that_was_acknowledged() {
    let kills = count("RALPH_SOAK_KILLS", 20);
    let mut seed = Seed::announced("kills");
    let env = TestEnv::new(PROGRAM);
    let mut stored: Vec<String> = Vec::new();
    for number in 0..kills {
        let text = format!("note {number}");
        let mut victims: Vec<_> = (0..3)
            .map(|_| env.ralph(["memory", "add", &text]).unfixed().start())
            .collect();
        // A busy wait hits moments that a sleep's granularity would always miss.
        let begin = std::time::Instant::now();
        let moment = std::time::Duration::from_micros(seed.below(12_000) as u64);
        while begin.elapsed() < moment {
            std::hint::spin_loop();
        }
        for victim in &mut victims {
            victim.kill().unwrap();
        }
        for mut victim in victims {
            victim.wait().unwrap();
            let mut stdout = String::new();
            victim.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
            stored.extend(acknowledged(&stdout));
        }
    }
    let last = env.ok(["memory", "add", "after all kills"]);
    stored.extend(acknowledged(&last));
    let found = ids(&env);
    for id in &stored {
        assert!(found.contains(id), "{id} was acknowledged and is lost");
    }
    assert_clean(&env);
    assert!(env.read(FILE).starts_with("# Memories\n"));
    eprintln!(
        "{kills} rounds of 3 kills: {} acknowledged, {} in the file",
        stored.len(),
        found.len()
    );
}
