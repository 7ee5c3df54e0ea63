//! What a person is told who has been away.

use super::*;

#[test]
fn an_overview_tells_what_is_new_since_a_look() {
    let mut bench = Bench::new();
    assert_eq!(bench.store.last_look("").unwrap(), None);
    let fence = bench.start(&run_id(), 1);
    let first = bench.store.settle(&full(fence)).unwrap().journal;
    let seen = Look {
        journal: first,
        at: at(11),
    };
    bench.store.put_look("", &seen).unwrap();
    bench.store.put_look("", &seen).unwrap();
    assert_eq!(bench.store.last_look("").unwrap(), Some(seen));
    assert_eq!(bench.store.last_look("w").unwrap(), None);

    let fence = bench.start(&run_id(), 2);
    let mut second = settlement(Outcome::Blocked, fence);
    second.row.iteration = 2;
    let second = bench.store.settle(&second).unwrap().journal;
    bench.sql("UPDATE tasks SET priority = 1");
    bench.add_task("Given up");
    bench
        .store
        .fail_task(&TaskId::new(2), "Nobody wants it.", at(12))
        .unwrap();
    bench
        .store
        .end_run(&run_id(), "A task waits for a person.", 4, at(20))
        .unwrap();
    bench.begin(&RunId::new(2), "w");

    let news = |id, title: &str, reason: &str, attempts| TaskNews {
        id: TaskId::new(id),
        title: title.to_owned(),
        reason: reason.to_owned(),
        attempts,
    };
    let failed = news(1, "Parse the colours", "the agent said nothing about the task.", 2);
    let overview = bench.store.overview(first, "").unwrap();
    assert_eq!(
        overview,
        Overview {
            last_journal: second,
            outcomes: [(Outcome::Blocked, 1)].into(),
            done: vec![],
            failed: vec![failed.clone()],
            learnings: 0,
            knowledge: 0,
            spent: settlement(Outcome::Done, 0).row.usage,
            duration_ms: 1500,
            open_runs: vec![bench.store.run(&RunId::new(2)).unwrap().unwrap()],
            at_work: vec![],
            pauses: vec![],
            last_run: bench.store.run(&run_id()).unwrap(),
            waiting: vec![failed, news(2, "Given up", "Failed: Nobody wants it.", 0)],
            unverified: Vec::new(),
            agent_notes: 0,
            proposals: 0,
            denials: Vec::new(),
            to_review: 0,
            waiting_learnings: 4,
            tasks: [(TaskStatus::Failed, 2)].into(),
        }
    );
    let all = bench.store.overview(0, "w").unwrap();
    assert_eq!((all.learnings, all.knowledge, all.spent.tokens()), (4, 1, 240));
    assert_eq!(all.last_run, None, "of another worktree");
}

#[test]
fn a_task_that_was_done_and_deleted_is_still_told_of() {
    let mut bench = Bench::new();
    let fence = bench.start(&run_id(), 1);
    let mut done = settlement(Outcome::Done, fence);
    done.task = done_task();
    let journal = bench.store.settle(&done).unwrap().journal;
    let titles = |bench: &Bench, since| {
        let done = bench.store.overview(since, "").unwrap().done;
        done.into_iter().map(|news| news.title).collect::<Vec<_>>()
    };
    assert_eq!(titles(&bench, 0), ["Parse the colours"]);
    assert_eq!(titles(&bench, journal), [""; 0]);
    bench.sql("UPDATE tasks SET status = 'pending'");
    assert_eq!(titles(&bench, 0), [""; 0], "it is open again");
    bench.sql("DELETE FROM tasks");
    assert_eq!(titles(&bench, 0), ["Parse the colours"]);
}

#[test]
fn an_overview_counts_what_is_said_again_once() {
    let mut bench = Bench::new();
    for (iteration, title) in [(1, "Colours"), (2, "colours "), (3, "Forms")] {
        let fence = bench.start(&run_id(), iteration);
        let mut settlement = settlement(Outcome::Done, fence);
        settlement.row.iteration = iteration;
        settlement.task = TaskChange::Again;
        settlement.learnings = vec![(LearningId::new(u64::from(iteration)), learning("pitfall"))];
        settlement.knowledge = vec![CapturedKnowledge {
            title: title.to_owned(),
            tags: vec!["css".to_owned()],
            feature: None,
            body: format!("as of {iteration}"),
        }];
        bench.store.settle(&settlement).unwrap();
    }
    let overview = bench.store.overview(0, "").unwrap();
    assert_eq!((overview.learnings, overview.knowledge), (1, 2));
}

#[test]
fn what_was_rejected_is_not_told_as_learned() {
    let mut bench = Bench::new();
    let fence = bench.start(&run_id(), 1);
    let unsound = CapturedLearning {
        content: "!?".to_owned(),
        ..learning("pitfall")
    };
    let settlement = Settlement {
        learnings: vec![(LearningId::new(1), learning("pitfall")), (LearningId::new(2), unsound)],
        ..settlement(Outcome::Done, fence)
    };
    bench.store.settle(&settlement).unwrap();
    assert_eq!(bench.store.overview(0, "").unwrap().learnings, 1);
}

#[test]
fn an_overview_tells_what_a_run_is_at_until_that_is_settled() {
    let mut bench = Bench::new();
    let fence = bench.start(&run_id(), 1);
    let at_work = AtWork {
        run: run_id(),
        task: task(),
        title: "Parse the colours".to_owned(),
        since: at(1),
    };
    assert_eq!(bench.store.overview(0, "").unwrap().at_work, [at_work]);
    bench.store.settle(&settlement(Outcome::Done, fence)).unwrap();
    assert_eq!(bench.store.overview(0, "").unwrap().at_work, []);
}
