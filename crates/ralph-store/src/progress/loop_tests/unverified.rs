//! Unverified done tasks: how they are marked, which tasks they block, and how the mark is removed.

use ralph_model::Unverified;

use super::*;

fn evidence_changed() -> Unverified {
    Unverified::EvidenceChanged(vec!["check.sh".to_owned()])
}

impl Bench {
    /// Settles an attempt at the task.
    fn attempt(&mut self, iteration: u32, change: TaskChange, changed_nothing: bool) {
        let fence = self.start(&run_id(), iteration);
        let mut settled = settlement(Outcome::Done, fence);
        settled.row.iteration = iteration;
        settled.row.attempt = iteration;
        settled.row.changed_nothing = changed_nothing;
        settled.task = change;
        self.store.settle(&settled).unwrap();
    }

    fn done(&mut self, unverified: Option<Unverified>) {
        let commit = None;
        self.attempt(1, TaskChange::Done { commit, unverified }, false);
    }

    /// Adds a dependent task.
    fn add_dependent(&mut self, after: TaskId) -> TaskId {
        self.tasks += 1;
        let new = NewTask {
            after: vec![after],
            ..NewTask::titled("Draw the colours")
        };
        self.store
            .add_task(&new, &mut FixedEntropy(self.tasks), at(0))
            .unwrap()
            .id
    }

    fn status_of(&self, id: &TaskId) -> TaskStatus {
        self.store.task(id).unwrap().unwrap().status
    }

    fn mark(&self) -> Option<Unverified> {
        self.store.task(&task()).unwrap().unwrap().unverified
    }

    fn next(&self) -> Option<TaskId> {
        let next = self.store.next_task(&Scope::All, "", &BTreeSet::new()).unwrap();
        next.map(|task| task.id)
    }

    fn counts(&self) -> ScopeCounts {
        self.store.scope_counts(&Scope::All, "", &BTreeSet::new()).unwrap()
    }
}

const HERE: DoneIn = DoneIn {
    worktree: String::new(),
    commit: None,
};

#[test]
fn only_changed_evidence_blocks_dependents() {
    for (unverified, blocks) in [
        (None, false),
        (Some(Unverified::NoEvidence), false),
        (Some(Unverified::NothingChanged), false),
        (Some(evidence_changed()), true),
    ] {
        let mut bench = Bench::new();
        let dependent = bench.add_dependent(task());
        bench.done(unverified.clone());
        assert_eq!(bench.mark(), unverified);
        assert_eq!(bench.task().0, TaskStatus::Done);
        let expected = if blocks {
            TaskStatus::Blocked
        } else {
            TaskStatus::Pending
        };
        assert_eq!(bench.status_of(&dependent), expected, "{unverified:?}");
        assert_eq!(bench.next(), (!blocks).then(|| dependent.clone()), "{unverified:?}");
        let counts = bench.counts();
        assert_eq!(counts.unverified.all(), u32::from(unverified.is_some()));
        assert_eq!((counts.done, counts.waiting), (1, u32::from(blocks)), "{unverified:?}");
    }
}

#[test]
fn parent_is_not_done_before_subtask_is_reviewed() {
    let mut bench = Bench::new();
    let parent = bench.add_task("Colours");
    let update = TaskUpdate {
        parent: ParentChange::Under(parent.clone()),
        ..TaskUpdate::default()
    };
    bench.store.update_task(&task(), &update, at(0)).unwrap();
    let dependent = bench.add_dependent(parent.clone());
    bench.done(Some(evidence_changed()));
    assert_eq!(bench.status_of(&parent), TaskStatus::Pending);
    assert_eq!(bench.status_of(&dependent), TaskStatus::Blocked);
    bench.store.finish_task(&task(), &HERE, at(20)).unwrap();
    assert_eq!(bench.status_of(&parent), TaskStatus::Done);
    assert_eq!(bench.status_of(&dependent), TaskStatus::Pending);
}

#[test]
fn person_accepts_or_reopens_the_task() {
    let mut bench = Bench::new();
    let dependent = bench.add_dependent(task());
    bench.done(Some(evidence_changed()));
    let review = bench.store.review().unwrap();
    let listed: Vec<_> = review
        .finished_tasks
        .iter()
        .map(|task| (&task.id, task.unverified.clone()))
        .collect();
    assert_eq!(listed, [(&task(), Some(evidence_changed()))]);
    assert_eq!(bench.store.overview(0, "").unwrap().unverified, review.finished_tasks);
    bench.store.finish_task(&task(), &HERE, at(20)).unwrap();
    assert_eq!((bench.mark(), bench.task().0), (None, TaskStatus::Done));
    assert_eq!(bench.status_of(&dependent), TaskStatus::Pending);
    let log = bench.store.task_log(&task()).unwrap();
    assert_eq!(log.last().unwrap().text, "Accepted by a person.");
    let before = log.get(log.len() - 2).unwrap();
    assert!(
        before
            .text
            .contains("Unverified: what its evidence rests on was changed (check.sh)."),
        "{before:?}"
    );
    bench.sql("UPDATE tasks SET unverified = 'no_evidence' WHERE seq = 1");
    bench.store.reset_task(&task(), Reach::Itself, at(30)).unwrap();
    assert_eq!((bench.mark(), bench.task().0), (None, TaskStatus::Pending));
    assert_eq!(bench.store.review().unwrap().finished_tasks, []);
}

#[test]
fn changes_of_attempts_count_until_reset() {
    let mut bench = Bench::new();
    let changed = |bench: &Bench| bench.store.changed_before(&task()).unwrap();
    bench.attempt(1, TaskChange::Again, true);
    assert!(!changed(&bench));
    bench.attempt(2, TaskChange::Again, false);
    bench.attempt(3, done_task(), true);
    assert!(changed(&bench));
    bench.store.reset_task(&task(), Reach::Itself, at(10)).unwrap();
    assert!(!changed(&bench));
    bench.attempt(4, TaskChange::Again, false);
    assert!(changed(&bench));
}

#[test]
fn journal_keeps_the_prompt_hash() {
    let mut bench = Bench::new();
    bench.done(None);
    let row = bench.store.journal_last().unwrap().unwrap();
    assert_eq!(row.prompt_sha256.as_deref(), Some("ab12"));
}

#[test]
fn unverified_iteration_is_no_evidence_for_learnings() {
    for (unverified, status, uses) in [
        (None, "promoted", 2),
        (Some(Unverified::NothingChanged), "validated", 1),
        (Some(evidence_changed()), "validated", 1),
    ] {
        let mut bench = Bench::new();
        let mut iterate = |iteration: u32, category: &str, unverified: Option<Unverified>| {
            let fence = bench.claim(&run_id(), iteration);
            let injected = Injection {
                kind: EntryKind::Learning,
                id: LearningId::new(1).to_string(),
                ..injections().remove(0)
            };
            bench.store.record_start(&run_id(), &start(&[injected])).unwrap();
            let mut settled = settlement(Outcome::Done, fence);
            settled.row.iteration = iteration;
            settled.row.evidence = Evidence::Gates;
            settled.learnings = vec![(LearningId::new(iteration.into()), learning(category))];
            let commit = None;
            settled.task = TaskChange::Done { commit, unverified };
            bench.store.settle(&settled).unwrap();
            bench.store.reset_task(&task(), Reach::Itself, at(20)).unwrap();
        };
        iterate(1, "tool_usage", None);
        iterate(2, "code_structure", unverified.clone());
        let statuses = bench.texts("SELECT status FROM learnings ORDER BY seq");
        assert_eq!(statuses, ["promoted", status], "{unverified:?}");
        let counted = bench.number("SELECT use_count FROM learnings WHERE seq = 1");
        assert_eq!(counted, uses, "{unverified:?}");
    }
}

#[test]
fn accepted_commit_can_be_undone_and_reopened_work_restarts() {
    let mut bench = Bench::new();
    bench.done(Some(evidence_changed()));
    let landed = DoneIn {
        worktree: "refs/heads/main".to_owned(),
        commit: Some("c0ffee".to_owned()),
    };
    let record = CheckoutRecord {
        task: task(),
        branch: "ralph/t".to_owned(),
        base: landed.worktree.clone(),
        base_commit: "b".to_owned(),
        landing: Some(LandingRecord {
            commit: "c0ffee".to_owned(),
            evidence: "{}".to_owned(),
        }),
    };
    bench.store.put_checkout(&record).unwrap();
    bench.store.finish_task(&task(), &landed, at(20)).unwrap();
    let commits = bench.store.commits_of(&RollbackTarget::Task(task())).unwrap();
    let expected = TaskCommit {
        commit: "c0ffee".to_owned(),
        task: task(),
        base: Some("refs/heads/main".to_owned()),
    };
    assert_eq!(commits, [expected]);
    bench.store.reset_task(&task(), Reach::Itself, at(21)).unwrap();
    assert_eq!(bench.store.checkout_of(&task()).unwrap(), None);
    // Work that has not landed is kept.
    let waiting = CheckoutRecord {
        landing: None,
        ..record
    };
    bench.store.put_checkout(&waiting).unwrap();
    bench.store.reset_task(&task(), Reach::Itself, at(22)).unwrap();
    assert_eq!(bench.store.checkout_of(&task()).unwrap(), Some(waiting));
}
