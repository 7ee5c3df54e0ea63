//! Features: creating, finding and deleting them, and their status.

use proptest::prelude::*;
use ralph_model::{Feature, FeatureId, FeatureName, FeatureStatus, NewTask, RunId, TaskId, TaskStatus};
use ralph_store::{
    ClaimAnswer, FeatureChange, FeatureError, ListPlace, ParentChange, Reach, Scope, TaskFilter, TaskUpdate,
    TasksOfFeature, Which,
};

use super::import::item;
use super::{Tasks, now};

fn create(tasks: &mut Tasks, name: &str) -> Result<Feature, FeatureError> {
    let name = FeatureName::new(name).unwrap();
    tasks.store.create_feature(&name, &mut tasks.entropy, now(0))
}

fn add(tasks: &mut Tasks, title: &str, feature: &FeatureId) -> TaskId {
    let new = NewTask {
        feature: Some(feature.clone()),
        ..NewTask::titled(title)
    };
    tasks.store.add_task(&new, &mut tasks.entropy, now(0)).unwrap().id
}

fn status(tasks: &Tasks, feature: &FeatureId) -> FeatureStatus {
    tasks.store.feature_of_id(feature).unwrap().unwrap().status
}

fn feature_of(tasks: &Tasks, task: &TaskId) -> Option<FeatureId> {
    tasks.store.task(task).unwrap().unwrap().feature
}

fn move_to(tasks: &mut Tasks, task: &TaskId, feature: FeatureChange) {
    let update = TaskUpdate {
        feature,
        ..TaskUpdate::default()
    };
    tasks.store.update_task(task, &update, now(2)).unwrap();
}

#[test]
fn feature_is_found_by_name_and_id_prefix() {
    let mut tasks = Tasks::new();
    let search = create(&mut tasks, "Search").unwrap();
    let other = create(&mut tasks, "other").unwrap();
    let found = |text: &str| tasks.store.feature(text).map(|feature| feature.id);
    let digits = search.id.as_str().trim_start_matches("f-");
    let beginning = digits.get(..3).unwrap();
    for text in ["Search", "search", " SEARCH ", search.id.as_str(), digits, beginning] {
        assert_eq!(found(text).unwrap(), search.id, "{text:?}");
    }
    assert_eq!(found("other").unwrap(), other.id);
    assert_eq!(found("searc").unwrap_err().to_string(), "there is no feature searc");
    assert_eq!(found(" ").unwrap_err().to_string(), "there is no feature \"\"");
    for beginning_of_both in ["f", "F", "f-"] {
        assert!(matches!(found(beginning_of_both), Err(FeatureError::Ambiguous { .. })));
    }
}

#[test]
fn ambiguous_id_lists_candidates() {
    let tasks = Tasks::new();
    let at = now(0);
    tasks.execute(&format!(
        "INSERT INTO features VALUES ('f-aa0001', 'x', '{at}', '{at}'), ('f-aa0002', 'y', '{at}', '{at}')"
    ));
    assert_eq!(
        tasks.store.feature("f-aa").unwrap_err().to_string(),
        "f-aa matches several ids: f-aa0001 (x), f-aa0002 (y)"
    );
    // A name takes precedence over an id prefix.
    tasks.execute(&format!(
        "INSERT INTO features VALUES ('f-bb0001', 'aa', '{at}', '{at}')"
    ));
    assert_eq!(tasks.store.feature("AA").unwrap().id.as_str(), "f-bb0001");
}

#[test]
fn names_are_unique_ignoring_case() {
    let mut tasks = Tasks::new();
    let first = create(&mut tasks, "Größe").unwrap();
    let refused = create(&mut tasks, "GRÖßE").unwrap_err();
    assert_eq!(
        refused.to_string(),
        format!("feature Größe already exists: {}", first.id)
    );
    assert_eq!(tasks.store.features().unwrap(), [first]);
}

#[test]
fn feature_status_follows_its_tasks() {
    let mut tasks = Tasks::new();
    let feature = create(&mut tasks, "search").unwrap().id;
    assert_eq!(status(&tasks, &feature), FeatureStatus::Pending);
    let (a, b) = (add(&mut tasks, "a", &feature), add(&mut tasks, "b", &feature));
    assert_eq!(status(&tasks, &feature), FeatureStatus::Pending);
    let run = tasks.run(1);
    assert!(matches!(
        tasks.ask(&run, &Scope::Feature(feature.clone())),
        ClaimAnswer::Claimed(_)
    ));
    assert_eq!(status(&tasks, &feature), FeatureStatus::InProgress);
    tasks.store.free_dead_claims(&|_| Some(false), now(11)).unwrap();
    assert_eq!(status(&tasks, &feature), FeatureStatus::Pending);
    tasks.done(&a);
    assert_eq!(status(&tasks, &feature), FeatureStatus::InProgress);
    tasks.fail(&b);
    assert_eq!(status(&tasks, &feature), FeatureStatus::Failed);
    tasks.store.reset_task(&b, Reach::Itself, now(2)).unwrap();
    assert_eq!(status(&tasks, &feature), FeatureStatus::InProgress);
    tasks.store.delete_task(&b, now(2)).unwrap();
    assert_eq!(status(&tasks, &feature), FeatureStatus::Done);
    let part = tasks.subtask("a part of what is done", &a);
    assert_eq!(feature_of(&tasks, &part).as_ref(), Some(&feature));
    assert_eq!(status(&tasks, &feature), FeatureStatus::Pending);
    let all = tasks.store.feature("search").unwrap();
    assert_eq!(
        (all.tasks.open, all.tasks.total()),
        (1, 1),
        "a parent is counted by its subtasks"
    );
}

#[test]
fn tasks_behind_a_failed_one_are_not_open_work() {
    let mut tasks = Tasks::new();
    let feature = create(&mut tasks, "search").unwrap().id;
    let (a, b) = (add(&mut tasks, "a", &feature), add(&mut tasks, "b", &feature));
    tasks.wait_for(&b, &a).unwrap();
    tasks.fail(&a);
    assert_eq!(status(&tasks, &feature), FeatureStatus::Failed);
    // Also when the failed task is not in the feature.
    move_to(&mut tasks, &a, FeatureChange::Leave);
    assert_eq!(status(&tasks, &feature), FeatureStatus::Failed);
    let counts = tasks.store.feature_of_id(&feature).unwrap().unwrap().tasks;
    assert_eq!((counts.failed, counts.behind_failed, counts.total()), (0, 1, 1));
}

#[test]
fn subtasks_follow_their_parent_to_another_feature() {
    let mut tasks = Tasks::new();
    let search = create(&mut tasks, "search").unwrap().id;
    let other = create(&mut tasks, "other").unwrap().id;
    let top = tasks.add("top");
    let part = tasks.subtask("part", &top);
    let its_own = tasks.subtask("of another", &top);
    move_to(&mut tasks, &its_own, FeatureChange::Of(other.clone()));
    move_to(&mut tasks, &top, FeatureChange::Of(search.clone()));
    assert_eq!(feature_of(&tasks, &part).as_ref(), Some(&search));
    assert_eq!(feature_of(&tasks, &its_own).as_ref(), Some(&search));
    assert_eq!(
        tasks.log(&top).last().unwrap(),
        "Changed: feature to search.",
        "it is on record"
    );
    let alone = tasks.add("alone");
    tasks.move_under(&alone, ParentChange::Under(top.clone())).unwrap();
    assert_eq!(feature_of(&tasks, &alone).as_ref(), Some(&search));
    // It stays in the feature without the parent.
    tasks.move_under(&alone, ParentChange::Top).unwrap();
    assert_eq!(feature_of(&tasks, &alone).as_ref(), Some(&search));
    let gone = FeatureChange::Of(FeatureId::new(0xdead));
    let update = TaskUpdate {
        feature: gone,
        ..TaskUpdate::default()
    };
    let refused = tasks.store.update_task(&alone, &update, now(3)).unwrap_err();
    assert_eq!(refused.to_string(), "feature f-00dead no longer exists");
}

#[test]
fn subtask_cannot_belong_to_another_feature() {
    let mut tasks = Tasks::new();
    let search = create(&mut tasks, "search").unwrap().id;
    let other = create(&mut tasks, "other").unwrap().id;
    let top = add(&mut tasks, "top", &search);
    let part = tasks.subtask("part", &top);
    let expected = |parent: &TaskId| {
        format!("a subtask of {parent} must belong to the feature search, like {parent}, and not to other")
    };
    let new = NewTask {
        feature: Some(other.clone()),
        parent: Some(part.clone()),
        ..NewTask::titled("of another")
    };
    let refused = tasks.store.add_task(&new, &mut tasks.entropy, now(0)).unwrap_err();
    assert_eq!(refused.to_string(), expected(&part));
    let update = TaskUpdate {
        feature: FeatureChange::Of(other.clone()),
        ..TaskUpdate::default()
    };
    let refused = tasks.store.update_task(&part, &update, now(1)).unwrap_err();
    assert_eq!(refused.to_string(), expected(&top));
    let moved = add(&mut tasks, "moved", &other);
    let refused = tasks.move_under(&moved, ParentChange::Under(top.clone())).unwrap_err();
    assert_eq!(refused.to_string(), expected(&top));
    assert_eq!(feature_of(&tasks, &moved), Some(other));
    let update = TaskUpdate {
        parent: ParentChange::Under(top.clone()),
        feature: FeatureChange::Of(search.clone()),
        ..TaskUpdate::default()
    };
    tasks.store.update_task(&moved, &update, now(2)).unwrap();
    assert_eq!(feature_of(&tasks, &moved), Some(search));
}

#[test]
fn thousands_of_tasks_are_deleted_with_their_feature() {
    let mut tasks = Tasks::new();
    let search = create(&mut tasks, "search").unwrap().id;
    for number in 0..3000 {
        add(&mut tasks, &format!("task {number}"), &search);
    }
    let gone = tasks
        .store
        .delete_feature(&search, TasksOfFeature::Delete, now(1))
        .unwrap();
    assert_eq!(gone.tasks.len(), 3000);
}

#[test]
fn task_of_deleted_feature_is_restored_without_it() {
    let mut tasks = Tasks::new();
    let search = create(&mut tasks, "search").unwrap().id;
    let (kept, lost) = (add(&mut tasks, "kept", &search), add(&mut tasks, "lost", &search));
    tasks.store.delete_task(&kept, now(1)).unwrap();
    tasks.store.restore_task(&kept, now(1)).unwrap();
    assert_eq!(feature_of(&tasks, &kept), Some(search.clone()));
    tasks
        .store
        .delete_feature(&search, TasksOfFeature::Delete, now(1))
        .unwrap();
    tasks.store.restore_task(&lost, now(2)).unwrap();
    assert_eq!(feature_of(&tasks, &lost), None);
}

#[test]
fn tasks_of_a_feature_are_listed_with_descendants() {
    let mut tasks = Tasks::new();
    let search = create(&mut tasks, "search").unwrap().id;
    let other = create(&mut tasks, "other").unwrap().id;
    let top = add(&mut tasks, "top", &search);
    let part = tasks.subtask("part", &top);
    move_to(&mut tasks, &part, FeatureChange::Leave);
    add(&mut tasks, "elsewhere", &other);
    let listed = tasks.store.tasks(&TaskFilter {
        which: Which::All,
        feature: Some(&search),
        ..TaskFilter::default()
    });
    let listed: Vec<TaskId> = listed.unwrap().into_iter().map(|task| task.id).collect();
    assert_eq!(listed, [top, part]);
}

#[test]
fn deleting_a_feature_keeps_or_deletes_its_tasks() {
    let mut tasks = Tasks::new();
    let search = create(&mut tasks, "search").unwrap();
    let top = add(&mut tasks, "top", &search.id);
    let part = tasks.subtask("part", &top);
    let waiting = tasks.after("waiting", &[&top]);
    let stay = tasks
        .store
        .delete_feature(&search.id, TasksOfFeature::Keep, now(1))
        .unwrap();
    assert_eq!(stay.tasks.len(), 2);
    assert_eq!((feature_of(&tasks, &top), feature_of(&tasks, &part)), (None, None));
    assert_eq!(tasks.log(&part).last().unwrap(), "Its feature search was deleted.");
    let again = create(&mut tasks, "search").unwrap();
    assert_ne!(again.id, search.id);
    move_to(&mut tasks, &top, FeatureChange::Of(again.id.clone()));
    let gone = tasks
        .store
        .delete_feature(&again.id, TasksOfFeature::Delete, now(1))
        .unwrap();
    let gone: Vec<TaskId> = gone.tasks.into_iter().map(|task| task.id).collect();
    assert_eq!(gone, [top, part]);
    assert_eq!(tasks.status(&waiting), TaskStatus::Pending);
    let missing = tasks.store.delete_feature(&again.id, TasksOfFeature::Delete, now(1));
    assert!(matches!(missing, Err(FeatureError::Unknown { .. })));
}

#[test]
fn claimed_feature_cannot_be_deleted() {
    let mut tasks = Tasks::new();
    let feature = create(&mut tasks, "search").unwrap().id;
    let (first, _) = (add(&mut tasks, "a", &feature), add(&mut tasks, "b", &feature));
    tasks.claim(1);
    for reach in [TasksOfFeature::Keep, TasksOfFeature::Delete] {
        let refused = tasks.store.delete_feature(&feature, reach, now(12)).unwrap_err();
        assert_eq!(
            refused.to_string(),
            format!("{first} is claimed by {}, which is working on it", RunId::new(1))
        );
        assert_eq!(tasks.store.feature_of_id(&feature).unwrap().unwrap().tasks.total(), 2);
    }
}

#[test]
fn list_is_imported_once_per_feature() {
    let mut tasks = Tasks::new();
    let search = create(&mut tasks, "search").unwrap().id;
    let other = create(&mut tasks, "other").unwrap().id;
    tasks.add("Write tests");
    let items = [item("Write tests", None, false), item("for words", Some(0), false)];
    let done = ralph_store::DoneIn {
        worktree: String::new(),
        commit: None,
    };
    let mut import = |feature: &FeatureId| {
        let place = ListPlace::In(feature);
        let imported = tasks
            .store
            .import_tasks((&items, place), &done, &mut tasks.entropy, now(0));
        imported.unwrap()
    };
    let first = import(&search);
    assert_eq!(first.added.len(), 2);
    assert_eq!(import(&other).added.len(), 2);
    let again = import(&search);
    assert_eq!((again.added.len(), again.tasks), (0, first.tasks.clone()));
    for task in &first.tasks {
        assert_eq!(feature_of(&tasks, task).as_ref(), Some(&search));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// The counts of a feature always match its tasks.
    #[test]
    fn feature_counts_match_its_tasks(steps in prop::collection::vec((0..6usize, 0..5usize), 0..25)) {
        let mut tasks = Tasks::new();
        let feature = create(&mut tasks, "search").unwrap().id;
        let mut all = vec![add(&mut tasks, "first", &feature)];
        for (number, (step, which)) in steps.into_iter().enumerate() {
            let task = all[which % all.len()].clone();
            match step {
                0 => all.push(add(&mut tasks, &number.to_string(), &feature)),
                1 => all.push(tasks.subtask(&number.to_string(), &task)),
                2 => drop(tasks.store.fail_task(&task, "", now(1))),
                3 => drop(tasks.store.reset_task(&task, Reach::Itself, now(1))),
                4 => {
                    let done = ralph_store::DoneIn { worktree: String::new(), commit: None };
                    drop(tasks.store.finish_task(&task, &done, now(1)));
                }
                _ => drop(tasks.wait_for(&task, &all[0])),
            }
        }
        let listed = tasks.store.tasks(&TaskFilter { which: Which::All, ..TaskFilter::default() }).unwrap();
        let leaves: Vec<_> = listed
            .iter()
            .filter(|task| listed.iter().all(|other| other.parent.as_ref() != Some(&task.id)))
            .collect();
        let is = |wanted: TaskStatus| leaves.iter().filter(|task| task.status == wanted).count();
        let read = tasks.store.feature_of_id(&feature).unwrap().unwrap();
        prop_assert_eq!(read.tasks.total() as usize, leaves.len());
        prop_assert_eq!(read.tasks.done as usize, is(TaskStatus::Done));
        prop_assert_eq!(read.tasks.failed as usize, is(TaskStatus::Failed));
        prop_assert_eq!((read.tasks.open + read.tasks.behind_failed) as usize, is(TaskStatus::Pending) + is(TaskStatus::Blocked));
        prop_assert_eq!(read.status, read.tasks.status());
        let counts = tasks.store.scope_counts(&Scope::Feature(feature), "", &std::collections::BTreeSet::new()).unwrap();
        prop_assert_eq!((counts.done, counts.failed), (read.tasks.done, read.tasks.failed));
        // A run looks further: a dependent of a parent is stuck as soon as one subtask has failed, not only when all
        // the others are resolved.
        prop_assert_eq!(counts.waiting + counts.open, read.tasks.behind_failed + read.tasks.open);
        prop_assert!(counts.waiting >= read.tasks.behind_failed);
    }
}
