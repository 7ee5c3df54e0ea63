//! Tests of `ralph run` killed at every transition by name. Where the run was is read from what it left, and each place
//! gets its share of kills. During a turn, the gates or a commit, the agent, the gate or the hook kills it.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

use ralph_testkit::scripted::{processes_in, run};
use ralph_testkit::{Seed, count};
use rusqlite::OptionalExtension;

use super::fault_library;
use super::runs::Work;

/// A gate that kills its parent, the run, once, if asked to before or after the first turn.
const GATE: &str = "[verify]\ncommands = ['''
if test -e ../turned; then rm ../kill-in-gate && kill -9 $PPID; else rm ../kill-in-baseline && kill -9 $PPID; fi 2>/dev/null
test -d .
''']
[git]
isolate = \"off\"
commit = \"task\"
";
/// A turn that leaves a process in its own session, and kills the run once if asked to. The shell's parent is the
/// agent, whose parent is the run.
const IN_TURN: &str = "setsid sleep 600 >/dev/null 2>&1 & touch ../turned; rm ../kill-in-turn 2>/dev/null && kill -9 $(ps -o ppid= -p $PPID); true";
/// A hook that does the same. Its parent is git, whose parent is the run, unless it was already killed.
const HOOK: &str = "#!/bin/sh
run=$(ps -o ppid= -p $PPID)
if test \"$(ps -o comm= -p $run)\" = ralph; then rm ../kill-in-$(basename $0) 2>/dev/null && kill -9 $run; fi
sleep 0.05
";
/// Places where a child process kills the run.
const KILLERS: [&str; 5] = [
    "kill-in-baseline",
    "kill-in-turn",
    "kill-in-gate",
    "kill-in-pre-commit",
    "kill-in-post-commit",
];

/// Places where a run was when it was killed, in order; the last is recovery of a dead run.
const PLACES: [&str; 9] = [
    "not on record",
    "before its first claim",
    "claimed",
    "prepared",
    "agent on record",
    "end of the turn on record",
    "settled, with files to write",
    "settled",
    RECOVERING,
];
const RECOVERING: &str = "recovering what a dead run left";

/// A git project whose agent leaves a process in every turn.
fn work() -> Work {
    let work = Work::with(&[run(IN_TURN)], GATE);
    work.env.git(["init", "--quiet"]);
    for (name, value) in [("user.name", "t"), ("user.email", "t@example.com")] {
        work.env.git(["config", name, value]);
    }
    for hook in ["pre-commit", "post-commit"] {
        work.env.write(&format!(".git/hooks/{hook}"), HOOK);
        let made = work.env.sh(&format!("chmod +x .git/hooks/{hook}")).run();
        assert_eq!(made.code, Some(0), "{made}");
    }
    work.env.write(".gitignore", ".ralph/\n.agent/\n");
    work.env.git(["add", "--all"]);
    work.env.git(["commit", "--quiet", "-m", "first"]);
    work.add_task("the first");
    work
}

/// Checks that every task is done and committed once, with its file.
#[track_caller]
fn assert_all_committed_once(work: &Work) {
    let _gone = std::fs::remove_file(work.env.beside("turned"));
    work.assert_all_done_once();
    let mut titles: Vec<String> = work.query("SELECT title FROM tasks", |row| row.get(0));
    titles.push("first".to_owned());
    titles.sort();
    let log = work.env.git(["log", "--format=%s"]);
    let mut committed: Vec<&str> = log.lines().collect();
    committed.sort_unstable();
    assert_eq!(committed, titles);
    assert_eq!(work.env.git(["status", "--porcelain"]), "");
}

/// Where the newest run is, unless it is one of the first `runs_before`. `None` while the database is busy.
fn place_of_newest(database: &rusqlite::Connection, runs_before: u32) -> Option<&'static str> {
    let number = |sql: &str| database.query_row(sql, [], |row| row.get::<_, u32>(0)).ok();
    if number("SELECT count(*) FROM runs")? == runs_before {
        return Some("not on record");
    }
    let newest = "(SELECT id FROM runs ORDER BY seq DESC LIMIT 1)";
    let phase = database
        .query_row(
            &format!("SELECT phase, agent_pid IS NOT NULL FROM iterations WHERE run = {newest}"),
            [],
            |row| Ok((row.get::<_, String>(0)?, row.get::<_, bool>(1)?)),
        )
        .optional()
        .ok()?;
    match phase.as_ref().map(|(phase, agent)| (phase.as_str(), *agent)) {
        Some(("claimed", _)) => return Some("claimed"),
        Some(("started", false)) => return Some("prepared"),
        Some(("started", true)) => return Some("agent on record"),
        Some(_) => return Some("end of the turn on record"),
        None => {}
    }
    let entries = format!("SELECT count(*) FROM journal WHERE run_id = {newest}");
    let open = "AND id IN (SELECT journal FROM outbox WHERE state <> 'done')";
    Some(if number(&format!("{entries} {open}"))? > 0 {
        "settled, with files to write"
    } else if number(&entries)? > 0 {
        "settled"
    } else if number("SELECT count(*) FROM iterations")? > 0 {
        RECOVERING
    } else {
        "before its first claim"
    })
}

/// Runs one iteration and kills the run at a place, before its n-th call there that changes something on disk. Returns
/// whether it was killed there.
fn kill_at(work: &Work, place: &str, nth: usize) -> bool {
    let mut tries = 0;
    loop {
        tries += 1;
        if tries > 3 && nth > 0 {
            // At this call another thread always reaches the next place.
            return false;
        }
        assert!(tries < 20, "a run is never killed when it is {place}");
        match killed_at(work, place, nth) {
            Some(there) if there == Some(place) => return true,
            // Other threads go on while one asks, and sometimes they reach the next place.
            Some(_) => {
                let next = work.invocation("1000000").run();
                assert!(matches!(next.code, Some(0 | 3)), "{next}");
                work.add_task(&format!("{place} once more, before call {nth}"));
                if place == RECOVERING {
                    assert!(kill_at(work, "agent on record", 0));
                }
            }
            None => return false,
        }
    }
}

/// Tries once; returns where the run was killed, or `None` if it was not. The test checks the database before each
/// call, so it kills at the intended place.
fn killed_at(work: &Work, place: &str, nth: usize) -> Option<Option<&'static str>> {
    let pipes = work.env.beside("pipes");
    let made = work
        .env
        .sh("mkdir -p ../pipes && rm -f ../pipes/* && mkfifo ../pipes/ask ../pipes/answer");
    assert_eq!(made.run().code, Some(0));
    let runs_before = work.query("SELECT count(*) FROM runs", |row| row.get::<_, u32>(0))[0];
    let mut run = work
        .invocation("1")
        .env("LD_PRELOAD", fault_library())
        .env("RALPH_FAULT", "ask")
        .env("RALPH_FAULT_PIPES", &pipes)
        .command();
    let mut run = run.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // Both sides open the pipes in this order, and each waits for the other.
    let mut ask = File::open(pipes.join("ask")).unwrap();
    let mut answer = File::options().write(true).open(pipes.join("answer")).unwrap();
    let (mut calls, mut byte) = (0, [0]);
    while ask.read(&mut byte).unwrap() == 1 {
        calls += usize::from(place_of_newest(&work.connect_at_once(), runs_before) == Some(place));
        let is_due = calls > nth;
        answer.write_all(if is_due { b"k" } else { b"g" }).unwrap();
        if is_due {
            break;
        }
    }
    let status = run.wait().unwrap();
    let is_killed = status.signal() == Some(9);
    assert!(is_killed || matches!(status.code(), Some(0 | 3 | 4)), "{status}");
    is_killed.then(|| place_of_newest(&work.connect_at_once(), runs_before))
}

#[test]
fn a_run_killed_at_any_transition_is_finished_by_the_next() {
    let kills = count("RALPH_SOAK_TRANSITION_KILLS", 1);
    let mut seed = Seed::announced("a run killed at every transition");
    let work = work();
    for place in PLACES {
        for number in 0..kills {
            // The first call of every place, then any: if a place has fewer calls, the next kill there comes earlier.
            let mut nth = if number == 0 { 0 } else { seed.below(40) };
            loop {
                work.add_task(&format!("{place} {number}, before call {nth}"));
                if place == RECOVERING {
                    assert!(kill_at(&work, "agent on record", 0));
                }
                let is_killed = kill_at(&work, place, nth);
                let next = work.invocation("1000000").run();
                assert!(matches!(next.code, Some(0 | 3)), "{next}");
                if is_killed {
                    break;
                }
                assert!(nth > 0, "a run makes no call when it is {place}");
                nth /= 2;
            }
        }
    }
    assert_all_committed_once(&work);
    eprintln!("{kills} kills at each of {PLACES:?}; {} turns", work.agent.turns());
}

#[test]
fn a_run_killed_by_its_children_is_finished_by_the_next() {
    let kills = count("RALPH_SOAK_TRANSITION_KILLS", 1);
    let work = work();
    for number in 0..kills {
        for killer in KILLERS {
            work.add_task(&format!("{killer} {number}"));
            let _gone = std::fs::remove_file(work.env.beside("turned"));
            work.env.write(&format!("../{killer}"), "");
            let killed = work.invocation("2").run();
            assert_eq!(killed.code, None, "{killer}: {killed}");
            assert!(!work.env.beside(killer).exists());
        }
    }
    assert_all_committed_once(&work);
    eprintln!(
        "{kills} kills each by {}: {} turns",
        KILLERS.join(", "),
        work.agent.turns()
    );
}

/// The first turn kills the run and hangs; a later one checks whether the first one's shell is still alive.
const HANGS_ONCE: &str = "
if rm ../hang 2>/dev/null; then echo $$ > ../hanging; kill -9 $(ps -o ppid= -p $PPID); exec sleep 600; fi
if grep -qs '^State:.[RSDTt]' /proc/$(cat ../hanging)/status; then touch ../company; fi";

#[test]
fn fault_29_an_agent_whose_run_was_killed_is_gone_before_the_next_is_started() {
    let work = Work::with(&[run(HANGS_ONCE)], "");
    work.add_task("the first");
    work.env.write("../hang", "");
    let killed = work.invocation("1").run();
    assert_eq!(killed.code, None, "{killed}");
    let project = work.env.project().canonicalize().unwrap();
    assert_ne!(processes_in(&project), [0; 0], "nobody hangs");
    work.assert_all_done_once();
    assert_eq!(work.agent.turns(), 2);
    assert!(
        !work.env.beside("company").exists(),
        "the first agent worked beside the second"
    );
}
