//! Work in checkouts: it lands before its task is done.

use super::*;

fn isolated() -> Plan {
    Plan {
        place: Place::Checkout,
        ..plan()
    }
}

fn run_of_one(world: &mut World) -> (End, PendingSettlement) {
    let state = world.begin(isolated());
    let end = world.finish(state);
    let draft = world.settled.first().unwrap().clone();
    (end, draft)
}

#[test]
fn task_is_done_when_its_work_has_landed() {
    let mut world = World::with_tasks(1);
    let (end, draft) = run_of_one(&mut world);
    assert_eq!(end, End::Complete);
    assert_eq!(draft.commit, Some(Ok("c".to_owned())));
    assert_eq!(draft.landed_on.as_deref(), Some("refs/heads/main"));
    let one = [
        "FinishOutbox",
        "Claim",
        "CheckOut",
        "Prepare",
        "Spawn",
        "RecordEnd",
        "Examine",
        "CommitWork",
        "RecordLanding",
        "Land",
        "Settle",
    ];
    assert_eq!(world.done.get(1..12).unwrap(), one);
}

#[test]
fn work_is_committed_again_when_the_base_has_moved() {
    let mut world = World::with_tasks(1);
    world.base_moves = 2;
    let (end, draft) = run_of_one(&mut world);
    assert_eq!((end, draft.decision.task), (End::Complete, TaskTransition::Done));
    let commits = world.done.iter().filter(|name| *name == "CommitWork").count();
    assert_eq!(commits, 3);
    // A base that keeps moving does not block the run forever.
    let mut world = World::with_tasks(1);
    world.commits = std::iter::repeat_n(WorkCommit::Moved, 20).collect();
    let (_, draft) = run_of_one(&mut world);
    assert_eq!(draft.decision.task, TaskTransition::Again);
}

#[test]
fn work_that_cannot_land_is_retried() {
    let mut world = World::with_tasks(1);
    world.commits = [WorkCommit::Refused("It conflicts in a.txt.".to_owned())].into();
    let (_, draft) = run_of_one(&mut world);
    assert_eq!(draft.decision.task, TaskTransition::Attempt);
    assert_eq!(draft.decision.outcome, ralph_model::Outcome::Retried);
    assert_eq!(draft.decision.reason, "It conflicts in a.txt.");
    assert_eq!(draft.unverified, None);
}

#[test]
fn empty_work_is_done_without_commit_and_unverified() {
    let mut world = World::with_tasks(1);
    world.commits = [WorkCommit::Nothing].into();
    let (_, draft) = run_of_one(&mut world);
    assert_eq!((draft.decision.task, &draft.commit), (TaskTransition::Done, &None));
    assert!(draft.unverified.is_some());
}

#[test]
fn stopping_run_does_not_land_uncommitted_work() {
    let mut world = World::with_tasks(1);
    let mut state = world.begin(isolated());
    let effects = state.step(event(Duration::ZERO, Input::TurnEnded(Box::new(turn_done(1)))));
    assert!(matches!(effects.as_slice(), [Effect::RecordEnd(_)]));
    drop(state.step(event(Duration::ZERO, Input::EndRecorded)));
    drop(state.step(event(Duration::ZERO, Input::Interrupt)));
    let state = world.happens(state, Input::Examined(Box::default()), 1);
    assert_eq!(state.end(), Some(&End::Interrupted));
    assert_eq!(world.settled.first().unwrap().decision.task, TaskTransition::Again);
}
