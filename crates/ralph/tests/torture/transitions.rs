//! `ralph run` killed at every transition by name: where it stood is read from what it left, and each place gets its share
//! of kills. In the middle of a turn, of the gates and of a commit it is the agent, the gate and the hook that kill it.

use std::collections::BTreeMap;

use ralph_testkit::scripted::{left_in, run};
use ralph_testkit::{Seed, count};

use super::runs::Work;
use super::under_fault;

/// A gate that kills the run, its parent, once, if it is asked to before the first turn or after it.
const GATE: &str = "[verify]\ncommands = ['''
if test -e ../turned; then rm ../kill-in-gate && kill -9 $PPID; else rm ../kill-in-baseline && kill -9 $PPID; fi 2>/dev/null
test -d .
''']
[git]
commit = \"task\"
";
/// A turn that leaves a process in a session of its own, and kills the run once if it is asked to; the shell's parent is the
/// agent, and its parent the run.
const IN_TURN: &str = "setsid sleep 600 >/dev/null 2>&1 & touch ../turned; rm ../kill-in-turn 2>/dev/null && kill -9 $(ps -o ppid= -p $PPID); true";
/// A hook that does the same; its parent is git, and git's parent the run, unless that was killed before.
const HOOK: &str = "#!/bin/sh
run=$(ps -o ppid= -p $PPID)
if test \"$(ps -o comm= -p $run)\" = ralph; then rm ../kill-in-$(basename $0) 2>/dev/null && kill -9 $run; fi
sleep 0.05
";
/// Where somebody whom the run has started kills it.
const KILLERS: [&str; 5] = [
    "kill-in-baseline",
    "kill-in-turn",
    "kill-in-gate",
    "kill-in-pre-commit",
    "kill-in-post-commit",
];

/// Where a run stood when it was killed, in their order; and then where one stood that found a dead run's work.
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

/// A project in git whose agent leaves a process in every turn.
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

/// All is done once, and every task is committed once, with its file.
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

/// Where the newest run stands, if it is not one of so many that were there before.
fn place_of_newest(work: &Work, runs_before: u32) -> &'static str {
    let number = |sql: &str| work.query(sql, |row| row.get::<_, u32>(0))[0];
    if number("SELECT count(*) FROM runs") == runs_before {
        return "not on record";
    }
    let newest = "(SELECT id FROM runs ORDER BY seq DESC LIMIT 1)";
    let phase = work.query(
        &format!("SELECT phase, agent_pid IS NOT NULL FROM iterations WHERE run = {newest}"),
        |row| Ok((row.get::<_, String>(0)?, row.get::<_, bool>(1)?)),
    );
    match phase.first().map(|(phase, agent)| (phase.as_str(), *agent)) {
        Some(("claimed", _)) => return "claimed",
        Some(("started", false)) => return "prepared",
        Some(("started", true)) => return "agent on record",
        Some(_) => return "end of the turn on record",
        None => {}
    }
    let rows = format!("SELECT count(*) FROM journal WHERE run_id = {newest}");
    let open = "AND id IN (SELECT journal FROM outbox WHERE state <> 'done')";
    if number(&format!("{rows} {open}")) > 0 {
        "settled, with files to write"
    } else if number(&rows) > 0 {
        "settled"
    } else if number("SELECT count(*) FROM iterations") > 0 {
        RECOVERING
    } else {
        "before its first claim"
    }
}

/// How often a run was killed in each place, and at which calls: where a run begins with nothing to recover, the same calls
/// are at the same places, more or less.
struct Hits {
    kills: BTreeMap<&'static str, usize>,
    calls: BTreeMap<&'static str, Vec<usize>>,
}

impl Hits {
    /// A call that may hit a place: mostly one beside a call that did, else one between those that usually hit the places
    /// before and after it.
    fn guess(&self, place: &str, seed: &mut Seed) -> usize {
        if let Some(calls) = self.calls.get(place)
            && seed.below(4) > 0
        {
            return (calls[seed.below(calls.len())] + seed.below(7))
                .saturating_sub(3)
                .max(1);
        }
        // One sample alone may be of a run with more calls than usual, so half of the guesses lie below what came later.
        let pick: fn(&[usize]) -> usize = if seed.below(2) == 0 { median } else { least_of };
        let mut around = PLACES.splitn(2, |other| *other == place);
        let usual = |places: Option<&[&str]>| -> Vec<usize> {
            let calls = places
                .unwrap_or_default()
                .iter()
                .filter_map(|place| self.calls.get(place));
            calls.map(|calls| pick(calls)).collect()
        };
        let (before, after) = (usual(around.next()), usual(around.next()));
        let most = after.into_iter().min().unwrap_or_else(|| self.last_call() + 24);
        let least = before.into_iter().max().unwrap_or(0).min(most.saturating_sub(12));
        1 + least + seed.below(most.saturating_sub(least).max(12))
    }

    /// The latest call at which a run was still there to be killed. Runs differ in how many they make, so that one which
    /// ended before says nothing about the next.
    fn last_call(&self) -> usize {
        self.calls.values().flatten().copied().max().unwrap_or(376)
    }

    /// Kills a run at a call, and notes where that was.
    fn kill(&mut self, work: &Work, call: usize, beginning: Beginning) {
        let runs = work.query("SELECT count(*) FROM runs", |row| row.get::<_, u32>(0))[0];
        let (finished, killed) = under_fault(&work.env, work.invocation("1"), &format!("kill:{call}"));
        if killed {
            assert_eq!(finished.code, None, "{finished}");
            let place = place_of_newest(work, runs);
            *self.kills.entry(place).or_default() += 1;
            if beginning == Beginning::Clean {
                self.calls.entry(place).or_default().push(call);
            }
        } else {
            assert!(matches!(finished.code, Some(0 | 3 | 4)), "call {call}: {finished}");
        }
    }
}

fn least_of(calls: &[usize]) -> usize {
    calls.iter().copied().min().unwrap_or_default()
}

fn median(calls: &[usize]) -> usize {
    let mut sorted = calls.to_vec();
    sorted.sort_unstable();
    sorted[sorted.len() / 2]
}

/// What a run finds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Beginning {
    Clean,
    DeadRun,
}

#[test]
fn a_run_that_is_killed_at_any_transition_is_finished_by_the_next() {
    let kills = count("RALPH_SOAK_TRANSITION_KILLS", 1);
    let mut seed = Seed::announced("a run killed at every transition");
    let work = work();
    let mut hits = Hits {
        kills: PLACES.iter().map(|place| (*place, 0)).collect(),
        calls: BTreeMap::new(),
    };
    let mut number = 0;
    while let Some(wanted) = PLACES.iter().find(|place| hits.kills[*place] < kills) {
        number += 1;
        assert!(
            number < 100 + 30 * kills,
            "{wanted}: only {:?} at {:?}",
            hits.kills,
            hits.calls
        );
        work.add_task(&format!("task {number}"));
        if *wanted == RECOVERING {
            let call = hits.guess("agent on record", &mut seed);
            hits.kill(&work, call, Beginning::DeadRun);
            let call = 20 + seed.below(100);
            hits.kill(&work, call, Beginning::DeadRun);
        } else {
            let call = hits.guess(wanted, &mut seed);
            hits.kill(&work, call, Beginning::Clean);
            let next = work.invocation("1000000").run();
            assert!(matches!(next.code, Some(0 | 3)), "{next}");
        }
    }
    assert_all_committed_once(&work);
    eprintln!("{number} rounds, kills: {:?}; {} turns", hits.kills, work.agent.turns());
}

#[test]
fn a_run_that_is_killed_by_those_whom_it_started_is_finished_by_the_next() {
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

/// The first turn kills the run and hangs; a later one looks whether the shell of the first still works.
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
    assert_ne!(left_in(&project), [0; 0], "nobody hangs");
    work.assert_all_done_once();
    assert_eq!(work.agent.turns(), 2);
    assert!(
        !work.env.beside("company").exists(),
        "the first agent worked beside the second"
    );
}
