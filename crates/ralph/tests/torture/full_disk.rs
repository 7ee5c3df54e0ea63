//! Tests of a disk that fills up at any call, for ralph and for git, until the pause is reported. Then the run goes on,
//! and the result is as if there had always been space.

use std::fs::File;
use std::process::Stdio;
use std::time::{Duration, Instant};

use ralph_testkit::scripted::run;
use ralph_testkit::{Finished, Seed, count};

use super::fault_library;
use super::runs::Work;

/// The message of a run without disk space.
const PAUSED: &str = "The run is paused and continues when there is disk space";

/// How long to wait for an expected event.
const PATIENCE: Duration = Duration::from_secs(120);

fn work() -> Work {
    // The agent prints a lot, so that the transcript fills the disk too.
    let prints = run("seq 1 20000");
    let settings = "[verify]\ncommands = [\"echo x > gate.log\"]\n[git]\ncommit = \"task\"\n";
    let work = Work::with(&[prints], settings);
    work.env.git(["init", "--quiet"]);
    for (name, value) in [("user.name", "t"), ("user.email", "t@example.com")] {
        work.env.git(["config", name, value]);
    }
    work.env.write(".gitignore", ".ralph/\n.agent/\ngate.log\n");
    work.env.git(["add", "--all"]);
    work.env.git(["commit", "--quiet", "-m", "first"]);
    work
}

/// Runs with a disk that is full from a call on, until the run reports the pause.
fn run_on_a_disk_that_fills_up(work: &Work, call: usize) -> Finished {
    let (mark, said, printed) = (
        work.env.beside("mark"),
        work.env.beside("said"),
        work.env.beside("printed"),
    );
    let agent = work.agent.command();
    let invocation = work
        .env
        .ralph(["run", "--json", "--trust", "--agent", &agent, "--limit", "1000"])
        .unfixed()
        .env("LD_PRELOAD", fault_library())
        .env("RALPH_FAULT", format!("fills:{call}"))
        .env("RALPH_FAULT_MARK", &mark)
        .env("RALPH_FAULT_BELOW", work.env.project().canonicalize().unwrap());
    let mut child = invocation
        .command()
        .stdin(Stdio::null())
        .stderr(File::create(&said).unwrap())
        .stdout(File::create(&printed).unwrap())
        .spawn()
        .unwrap();
    let said = || std::fs::read_to_string(&said).unwrap();
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if said().contains(PAUSED) {
            let _gone = std::fs::remove_file(&mark);
        }
        let is_late = begun.elapsed() > PATIENCE;
        if is_late {
            child.kill().unwrap();
        }
        assert!(!is_late, "call {call} never came to its end: {}", said());
        std::thread::yield_now();
    };
    let _gone = std::fs::remove_file(&mark);
    Finished {
        code: status.code(),
        stdout: std::fs::read_to_string(printed).unwrap(),
        stderr: said(),
    }
}

#[test]
fn a_run_survives_a_full_disk_at_any_call() {
    let rounds = count("RALPH_SOAK_FULL_DISKS", 12);
    let mut seed = Seed::announced("a disk that fills up at a call");
    let work = work();
    let (mut most, mut paused) = (260, 0);
    for number in 0..rounds {
        work.add_task(&format!("task {number}"));
        // Spread over the whole run, so that a few rounds cover most of it.
        let part = most / rounds.max(1);
        let call = 1 + number * part + seed.below(part.max(1));
        let finished = run_on_a_disk_that_fills_up(&work, call);
        let pauses = finished.stderr.matches(PAUSED).count();
        if finished.stderr.contains(" started.") {
            assert_eq!(finished.code, Some(0), "call {call}: {finished}");
            assert_eq!(
                finished.stderr.matches("There is disk space again").count(),
                pauses,
                "call {call}: {finished}"
            );
            assert!(pauses <= 1, "call {call}: {finished}");
            // A wait before the run only has events once the stream has started.
            let (before, _) = finished.stderr.split_once(" started.").unwrap();
            let in_run = pauses - before.matches(PAUSED).count();
            for event in ["paused_for_room", "goes_on"] {
                let told = finished.stdout.matches(&format!("\"event\":\"{event}\"")).count();
                assert!([in_run, pauses].contains(&told), "call {call}: {finished}");
            }
            assert!(!finished.stderr.contains("not committed"), "call {call}: {finished}");
        } else {
            // A run that did not start can just be started again.
            assert_eq!((finished.code, pauses), (Some(1), 0), "call {call}: {finished}");
            assert!(finished.stderr.contains("Error: "), "call {call}: {finished}");
        }
        paused += pauses;
        most = most.max(call);
    }
    work.assert_all_done_once();
    let counted: Vec<u32> = work.query("SELECT retries_used FROM tasks WHERE retries_used > 0", |row| {
        row.get(0)
    });
    assert_eq!(counted, [0; 0], "an attempt was counted");
    let log = work.env.git(["log", "--format=%s"]);
    assert_eq!(log.lines().count(), rounds + 1, "{log}");
    assert_eq!(work.env.git(["status", "--porcelain"]), "");
    assert!(paused > 0, "no run was ever paused");
    eprintln!("{rounds} full disks: {paused} pauses, {} turns", work.agent.turns());
}
