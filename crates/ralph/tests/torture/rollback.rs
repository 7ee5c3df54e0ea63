//! Tests of `ralph rollback`, `ralph undo` and their reversal, killed at any call: running the same command again
//! completes it.

use ralph_testkit::scripted::run;
use ralph_testkit::{Invocation, count};

use super::runs::Work;
use super::under_fault;

const NOTES: &str = "ralph remember 'by the agent'; ralph guardrails add 'by the agent' --type fix; \
                     ralph scratchpad append 'by the agent'; ralph task add 'by the agent'";

fn memory(work: &Work) -> Vec<(String, String)> {
    let mut state: Vec<(String, String)> = work.env.tree().into_iter().filter_map(as_text).collect();
    state.retain(|(name, _)| name.ends_with(".md") && !name.starts_with(".ralph/runs/"));
    let facts = work.query(
        "SELECT 'learning ' || id, status || coalesce(reason, '') FROM learnings
         UNION ALL SELECT 'proposed ' || id, title FROM tasks WHERE status = 'proposed'
         UNION ALL SELECT 'task ' || id, status FROM tasks WHERE status <> 'proposed' ORDER BY 1",
        |row| Ok((row.get(0)?, row.get(1)?)),
    );
    state.extend(facts);
    if work.env.path(".git").exists() {
        state.push(("code".to_owned(), work.env.git(["ls-tree", "-r", "HEAD"])));
        let changes = work.env.git(["status", "--porcelain", "--untracked-files=no"]);
        state.push(("local changes".to_owned(), changes));
    }
    state
}

fn as_text((name, bytes): (String, Vec<u8>)) -> Option<(String, String)> {
    Some((name, String::from_utf8(bytes).ok()?))
}

/// Kills a command at every n-th call and lets it finish each time; returns the number of kills.
fn killed_at_calls(work: &Work, command: impl Fn() -> Invocation, mut check: impl FnMut()) -> usize {
    let stride = count("RALPH_SOAK_ROLLBACK_STRIDE", 29);
    for (kills, call) in (1..).step_by(stride).enumerate() {
        let (_, is_killed) = under_fault(&work.env, command(), &format!("kill:{call}"));
        if !is_killed {
            check();
            return kills;
        }
        let finished = command().run();
        let is_done = finished.code == Some(0) || finished.stderr.contains("is already undone");
        assert!(is_done, "call {call}: {finished}");
        check();
    }
    0
}

#[test]
fn a_killed_rollback_is_completed_by_running_it_again() {
    killed_and_finished(&Work::with(&[run(NOTES)], ""), "rollback", &["rollback", "--undo"]);
}

#[test]
fn a_killed_undo_is_completed_by_running_it_again() {
    let work = Work::with(&[run(NOTES)], "").in_git();
    killed_and_finished(&work, "undo", &["undo"]);
}

fn killed_and_finished(work: &Work, command: &str, undoing: &[&str]) {
    work.env.ok(["remember", "by a person"]);
    work.add_task("one");
    work.add_task("two");
    let finished = work.invocation("1").run();
    assert!(matches!(finished.code, Some(0 | 4)), "{finished}");
    let after = memory(work);
    let (target, _, _, _) = work.journal().remove(0);
    let roll_back = || work.env.ralph([command, &target, "--yes"]).unfixed();
    let undo_last = || {
        let ids: Vec<String> = work.query("SELECT id FROM rollbacks ORDER BY seq DESC LIMIT 1", |row| row.get(0));
        work.env
            .ralph(undoing.iter().copied().chain([ids[0].as_str(), "--yes"]))
            .unfixed()
    };
    assert_eq!(roll_back().run().code, Some(0));
    let before = without_reasons(memory(work));
    assert_ne!(before, after);
    assert_eq!(undo_last().run().code, Some(0));
    assert_eq!(memory(work), after);
    let kills = killed_at_calls(work, roll_back, || {
        assert_eq!(without_reasons(memory(work)), before);
        assert_eq!(undo_last().run().code, Some(0));
        assert_eq!(memory(work), after);
    });
    assert!(kills > 1, "{kills}");
}

/// A rolled-back learning names the rollback, whose id differs each time.
fn without_reasons(mut memory: Vec<(String, String)>) -> Vec<(String, String)> {
    for (_, text) in &mut memory {
        if let Some(at) = text.find("Rolled back by ") {
            text.truncate(at);
        }
    }
    memory
}
