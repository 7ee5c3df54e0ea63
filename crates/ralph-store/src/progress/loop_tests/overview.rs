//! The overview of what happened since the user last checked.

use ralph_model::EndKind;

use super::*;

#[test]
fn overview_lists_news_since_last_check() {
    let mut bench = Bench::new();
    assert_eq!(bench.store.last_seen("").unwrap(), None);
    let fence = bench.start(&run_id(), 1);
    let first = bench.store.settle(&full(fence)).unwrap().journal;
    let seen = LastSeen {
        journal: first,
        at: at(11),
    };
    bench.store.put_last_seen("", &seen).unwrap();
    bench.store.put_last_seen("", &seen).unwrap();
    assert_eq!(bench.store.last_seen("").unwrap(), Some(seen));
    assert_eq!(bench.store.last_seen("w").unwrap(), None);

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
        .end_run(&run_id(), (EndKind::NeedsAttention, 4), "A task waits.", at(20))
        .unwrap();
    bench.begin(&RunId::new(2), "w");

    let news = |id, title: &str, reason: &str, attempts| TaskSummary {
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
fn overview_includes_done_tasks_deleted_since() {
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
fn overview_counts_repeated_captures_once() {
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
fn overview_excludes_rejected_learnings() {
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
fn overview_shows_current_task_until_settlement() {
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
