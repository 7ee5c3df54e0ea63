//! Runs and their iterations: records while they run and after they are killed.

use ralph_model::EndKind;

use super::*;

/// Commits are synced again after an unsynced one, even a failed one.
#[test]
fn unsynced_write_restores_syncing() {
    const FULL: i64 = 2;
    let mut bench = Bench::new();
    let safety = |bench: &Bench| bench.number("PRAGMA synchronous");
    assert_eq!(safety(&bench), FULL);
    assert!(bench.store.record_agent(&run_id(), 99, 1).is_err());
    assert_eq!(safety(&bench), FULL);
    bench.start(&run_id(), 1);
    assert_eq!(safety(&bench), FULL);
}

#[test]
fn iteration_record_follows_each_step() {
    let mut bench = Bench::new();
    let (run, next) = (run_id(), RunId::new(2));
    assert!(
        bench.store.record_start(&run, &start(&[])).is_err(),
        "nothing is claimed"
    );
    let fence = bench.claim(&run, 1);
    assert!(bench.store.record_agent(&run, 1, 1).is_err(), "nothing is started");
    assert!(bench.store.record_end(&run, "{}", None).is_err(), "nothing is started");
    let [record] = bench.store.unfinished("", &next).unwrap().try_into().unwrap();
    assert_eq!(
        (record.phase, record.fence, record.agent),
        (Phase::Claimed, fence, None)
    );
    assert_eq!(bench.store.unfinished("", &run).unwrap(), [], "not its own");
    assert_eq!(bench.store.unfinished("elsewhere", &next).unwrap(), []);

    bench.store.put_baseline(&run, "[]").unwrap();
    bench.store.record_start(&run, &start(&injections())).unwrap();
    bench.store.record_agent(&run, 99, u64::MAX).unwrap();
    bench.store.record_end(&run, "{\"a\":1}", Some("session-1")).unwrap();
    assert_eq!(bench.texts("SELECT agent_session FROM runs"), ["session-1"]);
    bench.store.record_end(&run, "{\"a\":2}", None).unwrap();
    let [record] = bench.store.unfinished("", &next).unwrap().try_into().unwrap();
    let expected = IterationRecord {
        run: run.clone(),
        iteration: 1,
        task: task(),
        task_title: "Parse the colours".to_owned(),
        feature: None,
        attempt: 1,
        fence,
        phase: Phase::Ended {
            at: at(2),
            end: "{\"a\":1}".to_owned(),
        },
        model: Some("small".to_owned()),
        rationale: "the middle of the ladder".to_owned(),
        marker: "word".to_owned(),
        process: RunProcess {
            host: "here".to_owned(),
            pid: 7,
            started: u64::MAX,
        },
        agent: Some((99, u64::MAX)),
        before: Some("{}".to_owned()),
        baseline: Some("[]".to_owned()),
        injections: injections(),
    };
    assert_eq!(record, expected);
    bench.store.abandon_claim(&run, at(3)).unwrap();
    assert_eq!(
        bench.store.unfinished("", &next).unwrap(),
        [expected],
        "a turn that has ended is settled"
    );
}

#[test]
fn ending_run_releases_claims_without_an_agent() {
    let mut bench = Bench::new();
    let run = run_id();
    bench.claim(&run, 1);
    bench.store.abandon_claim(&run, at(3)).unwrap();
    assert_eq!(bench.task(), (TaskStatus::Pending, 0, false));
    assert_eq!(bench.number("SELECT count(*) FROM iterations"), 0);
    bench.claim(&run, 1);
    bench.store.heartbeat(&run, LEASE, at(100)).unwrap();
    assert_eq!(
        bench.texts("SELECT lease_until FROM tasks"),
        [columns::moment(at(220))],
        "the claim holds for another lease"
    );
    bench.store.release_claims(&run, at(200)).unwrap();
    bench
        .store
        .end_run(&run, (EndKind::Stopped, 4), "The limit was reached.", at(200))
        .unwrap();
    assert_eq!(bench.task(), (TaskStatus::Pending, 0, false));
    assert_eq!(bench.number("SELECT count(*) FROM iterations"), 0);
    assert_eq!(bench.number("SELECT count(*) FROM journal"), 0);
    let ended = bench.store.run(&run).unwrap().unwrap();
    let end = RecordedEnd {
        at: at(200),
        kind: EndKind::Stopped,
        sentence: "The limit was reached.".to_owned(),
    };
    assert_eq!(ended.ended, Some(end));
    assert_eq!(bench.store.recent_runs(5).unwrap(), [ended]);
}

#[test]
fn run_ending_during_a_turn_leaves_it_unfinished() {
    let mut bench = Bench::new();
    bench.start(&run_id(), 1);
    bench.store.release_claims(&run_id(), at(200)).unwrap();
    bench
        .store
        .end_run(&run_id(), (EndKind::Stopped, 1), "The disk was full.", at(200))
        .unwrap();
    assert_eq!(bench.task(), (TaskStatus::InProgress, 0, true));
    assert_eq!(bench.store.unfinished("", &RunId::new(2)).unwrap().len(), 1);
}

#[test]
fn only_tasks_deleted_by_other_clients_are_lost() {
    let mut bench = Bench::new();
    let (deleted, lost) = (bench.add_task("Draw the colours"), bench.add_task("Name the colours"));
    let open = bench.store.open_tasks(&Scope::All).unwrap();
    assert_eq!(open, [task(), deleted.clone(), lost.clone()].into());
    bench.store.delete_task(&deleted, at(1)).unwrap();
    bench
        .store
        .connection
        .execute("DELETE FROM tasks WHERE id = ?1", [lost.as_str()])
        .unwrap();
    assert_eq!(bench.store.lost_tasks(&open).unwrap(), [lost]);
}

#[test]
fn next_run_of_the_worktree_ends_killed_runs() {
    let mut bench = Bench::new();
    bench.start(&run_id(), 1);
    bench.store.heartbeat(&run_id(), LEASE, at(100)).unwrap();
    let (next, elsewhere) = (RunId::new(2), RunId::new(3));
    bench.begin(&next, "");
    bench.begin(&elsewhere, "beside");
    let living = bench.store.end_dead_runs("", &next, &|_| true).unwrap();
    assert_eq!(
        living.into_iter().map(|run| run.begun.id).collect::<Vec<_>>(),
        [run_id()]
    );
    assert_eq!(bench.store.run(&run_id()).unwrap().unwrap().ended, None);
    assert_eq!(bench.store.end_dead_runs("", &next, &|_| false).unwrap(), []);
    let ended = |run: &RunId| {
        bench
            .store
            .run(run)
            .unwrap()
            .unwrap()
            .ended
            .map(|end| (end.at, end.kind))
    };
    assert_eq!(ended(&run_id()), Some((at(100), EndKind::Killed)));
    assert_eq!((ended(&next), ended(&elsewhere)), (None, None));
    assert_eq!(
        bench.store.unfinished("", &next).unwrap().len(),
        1,
        "what it left is still to be settled"
    );
}

#[test]
fn baseline_of_unfinished_work_is_found() {
    let mut bench = Bench::new();
    let (next, elsewhere) = (RunId::new(2), "beside");
    bench.store.put_baseline(&run_id(), "{}").unwrap();
    let known = |bench: &Bench, worktree: &str, run: &RunId| bench.store.baseline_of_unfinished(worktree, run).unwrap();
    assert_eq!(known(&bench, "", &next), None, "nothing was tried");
    for (iteration, expected) in [(1, Some("{}".to_owned())), (2, None)] {
        let fence = bench.start(&run_id(), iteration);
        let mut settled = settlement(Outcome::Retried, fence);
        (settled.row.iteration, settled.row.attempt) = (iteration, iteration);
        bench.store.settle(&settled).unwrap();
        // After its second attempt it has failed.
        assert_eq!(known(&bench, "", &next), expected);
        assert_eq!(
            (known(&bench, "", &run_id()), known(&bench, elsewhere, &next)),
            (None, None)
        );
    }
}

#[test]
fn question_lasts_until_answered_or_run_ends() {
    let mut bench = Bench::new();
    let (run, next) = (run_id(), RunId::new(2));
    let asks = |bench: &Bench| bench.store.run(&run_id()).unwrap().unwrap().asks;
    assert_eq!(asks(&bench), None);
    bench.store.put_question(&run, Some("what now")).unwrap();
    assert_eq!(asks(&bench).as_deref(), Some("what now"));
    bench.store.put_question(&run, None).unwrap();
    assert_eq!(asks(&bench), None);
    bench.store.put_question(&run, Some("what now")).unwrap();
    bench.store.end_dead_runs("", &next, &|_| true).unwrap();
    assert!(asks(&bench).is_some(), "it lives");
    bench.store.end_dead_runs("", &next, &|_| false).unwrap();
    assert_eq!(asks(&bench), None);
    bench.store.put_question(&run, Some("what now")).unwrap();
    bench
        .store
        .end_run(&run, (EndKind::Complete, 0), "It ended.", at(9))
        .unwrap();
    assert_eq!(asks(&bench), None);
    assert!(
        bench.store.put_question(&next, Some("who")).is_err(),
        "there is no such run"
    );
}
