//! A wait outlives its run and applies to every run with the same agent, but to no other agent.

use ralph_loop::state::{Effect, End, FirstTry, Notice};
use ralph_model::TaskStatus;
use ralph_testkit::scripted::{Action, exit, raw, say, write};

use crate::bench::{Dialect, Intervention, NOON, Probe, Project, RunResult};

/// A usage limit that resets this many seconds after noon.
fn used_up(seconds: i64) -> Vec<Action> {
    let noon: jiff::Timestamp = NOON.parse().unwrap();
    let result = format!("Claude AI usage limit reached|{}", noon.as_second() + seconds);
    let record =
        format!(r#"{{"type":"result","subtype":"success","is_error":true,"session_id":"s","result":"{result}"}}"#);
    vec![raw(&record), exit(1)]
}

fn work() -> Vec<Action> {
    vec![write("a.txt", "x"), say("<task-done>{task}</task-done>")]
}

fn is_wait(effect: &Effect) -> bool {
    matches!(effect, Effect::Notify(Notice::Waits(_)))
}

/// The runs that started the pauses this run waited for.
fn waited_for(ran: &RunResult) -> Vec<String> {
    let notices = ran.seen.notices.iter();
    let pauses = notices.filter_map(|notice| match notice {
        Notice::Waits(wait) => Some(wait.pause.run.to_string()),
        _ => None,
    });
    pauses.collect()
}

#[test]
fn interrupted_wait_continues_in_the_next_run() {
    for deed in [Intervention::Die, Intervention::Interrupt] {
        let project = Project::new(Dialect::Claude, [used_up(600), work()]);
        let task = project.task("A");
        let first = project.run_with(Probe::with_hook(move |effect| is_wait(effect).then_some(deed)));
        let expected = (deed == Intervention::Interrupt).then_some(End::Interrupted);
        assert_eq!((first.end.clone(), project.agent.turns()), (expected, 1));
        let second = project.run();
        assert_eq!(waited_for(&second), [first.run.to_string()]);
        assert_eq!((second.code(), project.status(&task)), (0, TaskStatus::Done));
        let noon: jiff::Timestamp = NOON.parse().unwrap();
        let worked = project.journal().pop().unwrap().row.created_at;
        assert!(worked.duration_since(noon).as_secs() >= 600, "{worked}");
        // After that no run waits.
        project.task("B");
        assert_eq!(waited_for(&project.run()), [""; 0]);
    }
}

#[test]
fn recovering_run_waits_for_an_unsettled_usage_limit() {
    let project = Project::new(Dialect::Claude, [used_up(600), work()]);
    project.task("A");
    let first = project.run_with(Probe::dying_at(|effect| matches!(effect, Effect::RecordEnd(_))));
    let second = project.run();
    assert_eq!(waited_for(&second), [first.run.to_string()]);
    assert_eq!(project.story(), ["A interrupted: usage_limit", "A done: task_done"]);
}

#[test]
fn later_limit_of_a_live_run_overrides_a_dead_runs_wait() {
    let overloaded = r#"{"type":"result","subtype":"success","is_error":true,"session_id":"s","api_error_status":529,"result":"Overloaded"}"#;
    let project = Project::new(Dialect::Claude, [vec![raw(overloaded), exit(1)], used_up(100_000)]).in_git();
    project.task("A");
    project.task("B");
    let beside = project.beside("second");
    drop(project.run_with(Probe::dying_at(|effect| matches!(effect, Effect::RecordEnd(_)))));
    let other = beside.run_with(Probe::dying_at(is_wait));
    let again = project.run_with(Probe::dying_at(is_wait));
    assert_eq!(waited_for(&again), [other.run.to_string()]);
    let met = ["B interrupted: usage_limit", "A interrupted: transient"];
    assert_eq!(project.story(), met);
}

#[test]
fn other_agents_and_immediate_runs_do_not_wait() {
    let mut project = Project::new(Dialect::Claude, [used_up(100_000), work()]);
    project.task("A");
    drop(project.run_with(Probe::dying_at(is_wait)));
    let ran = project.with_plain_agent([work()]).run();
    assert_eq!((ran.code(), waited_for(&ran)), (0, Vec::new()));
    project.task("B");
    project.first_try = FirstTry::AtOnce;
    let ran = project.run();
    assert_eq!((ran.code(), waited_for(&ran)), (0, Vec::new()));
}

#[test]
fn run_in_another_worktree_respects_the_limit() {
    let project = Project::new(Dialect::Claude, [used_up(600), work()]).in_git();
    project.task("A");
    let beside = project.beside("second");
    let first = project.run_with(Probe::dying_at(is_wait));
    let second = beside.run();
    assert_eq!(waited_for(&second), [first.run.to_string()]);
    assert_eq!(project.agent.turns(), 2);
}
