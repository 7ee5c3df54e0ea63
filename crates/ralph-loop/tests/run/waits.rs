//! A wait outlives the run that began it, holds for every run with the same agent, and for no other.

use ralph_loop::state::{Effect, End, FirstTry, Notice};
use ralph_model::TaskStatus;
use ralph_testkit::scripted::{Action, exit, raw, say, write};

use crate::bench::{Deed, NOON, Project, Ran, Seen, Speaks};

/// A usage limit that is over so many seconds after noon.
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
    matches!(effect, Effect::Tell(Notice::Waits(_)))
}

/// Of which run the pauses are that a run waited for.
fn waited_for(ran: &Ran) -> Vec<String> {
    let notices = ran.seen.notices.iter();
    let pauses = notices.filter_map(|notice| match notice {
        Notice::Waits(wait) => Some(wait.pause.run.to_string()),
        _ => None,
    });
    pauses.collect()
}

#[test]
fn a_run_that_is_killed_or_stopped_in_its_wait_leaves_the_rest_of_it_to_the_next() {
    for deed in [Deed::Die, Deed::Interrupt] {
        let project = Project::new(Speaks::Claude, [used_up(600), work()]);
        let task = project.task("A");
        let first = project.run_with(Seen::doing(move |effect| is_wait(effect).then_some(deed)));
        let expected = (deed == Deed::Interrupt).then_some(End::Interrupted);
        assert_eq!((first.end.clone(), project.agent.turns()), (expected, 1));
        let second = project.run();
        assert_eq!(waited_for(&second), [first.run.to_string()]);
        assert_eq!((second.code(), project.status(&task)), (0, TaskStatus::Done));
        let noon: jiff::Timestamp = NOON.parse().unwrap();
        let worked = project.journal().pop().unwrap().row.created_at;
        assert!(worked.duration_since(noon).as_secs() >= 600, "{worked}");
        // It is over for everybody then.
        project.task("B");
        assert_eq!(waited_for(&project.run()), [""; 0]);
    }
}

#[test]
fn a_turn_that_met_the_limit_and_was_not_settled_is_waited_for_by_whoever_settles_it() {
    let project = Project::new(Speaks::Claude, [used_up(600), work()]);
    project.task("A");
    let first = project.run_with(Seen::dying_at(|effect| matches!(effect, Effect::RecordEnd(_))));
    let second = project.run();
    assert_eq!(waited_for(&second), [first.run.to_string()]);
    assert_eq!(project.story(), ["A interrupted: usage_limit", "A done: task_done"]);
}

#[test]
fn a_limit_that_another_run_meets_while_one_is_dead_outlasts_what_the_dead_one_met() {
    let overloaded = r#"{"type":"result","subtype":"success","is_error":true,"session_id":"s","api_error_status":529,"result":"Overloaded"}"#;
    let project = Project::new(Speaks::Claude, [vec![raw(overloaded), exit(1)], used_up(100_000)]).in_git();
    project.task("A");
    project.task("B");
    let beside = project.beside("second");
    drop(project.run_with(Seen::dying_at(|effect| matches!(effect, Effect::RecordEnd(_)))));
    let other = beside.run_with(Seen::dying_at(is_wait));
    let again = project.run_with(Seen::dying_at(is_wait));
    assert_eq!(waited_for(&again), [other.run.to_string()]);
    let met = ["B interrupted: usage_limit", "A interrupted: transient"];
    assert_eq!(project.story(), met);
}

#[test]
fn another_agent_does_not_wait_and_whoever_is_in_a_hurry_does_not_either() {
    let mut project = Project::new(Speaks::Claude, [used_up(100_000), work()]);
    project.task("A");
    drop(project.run_with(Seen::dying_at(is_wait)));
    let ran = project.with_plain_agent([work()]).run();
    assert_eq!((ran.code(), waited_for(&ran)), (0, Vec::new()));
    project.task("B");
    project.first_try = FirstTry::AtOnce;
    let ran = project.run();
    assert_eq!((ran.code(), waited_for(&ran)), (0, Vec::new()));
}

#[test]
fn a_run_in_another_worktree_does_not_run_into_the_same_limit() {
    let project = Project::new(Speaks::Claude, [used_up(600), work()]).in_git();
    project.task("A");
    let beside = project.beside("second");
    let first = project.run_with(Seen::dying_at(is_wait));
    let second = beside.run();
    assert_eq!(waited_for(&second), [first.run.to_string()]);
    assert_eq!(project.agent.turns(), 2);
}
