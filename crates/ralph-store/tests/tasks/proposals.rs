//! Tasks that agents propose, and who changed a task.

use ralph_model::{Author, AuthorKind, NewTask, RunId, TaskId, TaskStatus};
use ralph_store::{ClaimAnswer, DoneIn, Reach, Scope, ScopeCounts, TaskFilter, Which};

use super::{Tasks, now};

fn agent() -> Author {
    Author::in_iteration(AuthorKind::Agent, RunId::new(7), 2)
}

impl Tasks {
    fn propose(&mut self, title: &str, parent: Option<&TaskId>, after: &[&TaskId]) -> TaskId {
        let new = NewTask {
            parent: parent.cloned(),
            after: after.iter().copied().cloned().collect(),
            ..NewTask::titled(title)
        };
        let task = self.store.propose_task(&new, &mut self.entropy, now(0)).unwrap();
        assert_eq!(task.status, TaskStatus::Proposed);
        assert_eq!((task.parent, task.after), (None, Vec::new()));
        task.id
    }

    fn counts(&self) -> ScopeCounts {
        self.store
            .scope_counts(&Scope::All, "", &std::collections::BTreeSet::new())
            .unwrap()
    }
}

#[test]
fn proposed_task_is_not_open_work_until_accepted() {
    let mut tasks = Tasks::new();
    let parent = tasks.add("parent");
    let before = tasks.add("before");
    tasks.store.act_as(agent());
    let proposed = tasks.propose("proposed", Some(&parent), &[&before]);
    tasks.store.act_as(Author::HUMAN);
    assert_eq!(tasks.counts().open, 2);
    let done = DoneIn {
        worktree: String::new(),
        commit: None,
    };
    for id in [&parent, &before] {
        tasks.store.finish_task(id, &done, now(1)).unwrap();
    }
    assert_eq!((tasks.counts().open, tasks.counts().done), (0, 2), "everything is done");
    let run = tasks.run(1);
    assert!(matches!(tasks.ask(&run, &Scope::All), ClaimAnswer::Nothing(_)));
    for refused in [
        tasks.store.finish_task(&proposed, &done, now(2)).map(drop),
        tasks.store.fail_task(&proposed, "", now(2)).map(drop),
        tasks.store.reset_task(&proposed, Reach::Itself, now(2)).map(drop),
        tasks.try_add("child", Some(&proposed), &[]).map(drop),
        tasks.try_add("later", None, &[&proposed]).map(drop),
    ] {
        let refused = refused.unwrap_err().to_string();
        assert_eq!(refused, format!("{proposed} is only proposed; accept it first"));
    }
    let accepted = tasks.store.accept_task(&proposed, now(3)).unwrap();
    assert_eq!(
        (accepted.parent.as_ref(), &accepted.after),
        (Some(&parent), &vec![before])
    );
    assert_eq!(accepted.status, TaskStatus::Pending);
    assert_eq!(
        tasks.status(&parent),
        TaskStatus::Pending,
        "a new subtask reopens its parent"
    );
    assert!(tasks.store.accept_task(&proposed, now(4)).is_err());
    let log = tasks.store.task_log(&proposed).unwrap();
    let log: Vec<(&str, String)> = log
        .iter()
        .map(|line| (line.text.as_str(), line.author.to_string()))
        .collect();
    assert_eq!(
        log,
        [
            ("Added.", "agent, run-00000007, iteration 2".to_owned()),
            (
                "Proposed: a person accepts or rejects it.",
                "agent, run-00000007, iteration 2".to_owned()
            ),
            ("Accepted.", "human".to_owned()),
        ]
    );
}

#[test]
fn deleted_relations_of_a_proposal_are_skipped() {
    let mut tasks = Tasks::new();
    let (parent, before) = (tasks.add("parent"), tasks.add("before"));
    let other = tasks.propose("other", None, &[]);
    let proposed = tasks.propose("proposed", Some(&parent), &[&before, &other]);
    tasks.store.delete_task(&parent, now(1)).unwrap();
    tasks.store.delete_task(&before, now(1)).unwrap();
    let refused = tasks.store.accept_task(&proposed, now(2)).unwrap_err().to_string();
    assert_eq!(refused, format!("{other} is only proposed; accept it first"));
    tasks.store.accept_task(&other, now(3)).unwrap();
    let accepted = tasks.store.accept_task(&proposed, now(3)).unwrap();
    assert_eq!((accepted.parent, accepted.after), (None, vec![other]));
}

#[test]
fn log_outlives_a_deleted_task() {
    let mut tasks = Tasks::new();
    tasks.store.act_as(Author::HUMAN);
    let task = tasks.add("task");
    tasks.store.act_as(agent());
    tasks.store.delete_task(&task, now(1)).unwrap();
    assert!(
        tasks
            .store
            .tasks(&TaskFilter {
                which: Which::All,
                ..TaskFilter::default()
            })
            .unwrap()
            .is_empty()
    );
    let changes = tasks.store.logged_changes(task.as_str()).unwrap();
    let changes: Vec<(&str, &Author)> = changes.iter().map(|row| (row.what.as_str(), &row.author)).collect();
    assert_eq!(changes, [("Added.", &Author::HUMAN), ("Deleted.", &agent())]);
}
