//! Importing lists of tasks.

use ralph_model::Priority;
use ralph_store::{DoneIn, ImportItem, Imported, ListPlace};

use super::{Tasks, now};

pub(crate) fn item(title: &str, parent: Option<usize>, done: bool) -> ImportItem {
    ImportItem {
        title: title.to_owned(),
        description: String::new(),
        priority: Priority::default(),
        checks: Vec::new(),
        done,
        parent,
    }
}

pub(crate) fn import(tasks: &mut Tasks, items: &[ImportItem]) -> Imported {
    let done = DoneIn {
        worktree: String::new(),
        commit: None,
    };
    let imported = tasks
        .store
        .import_tasks((items, ListPlace::Top), &done, &mut tasks.entropy, now(0));
    imported.unwrap()
}

#[test]
fn list_is_imported_once() {
    let mut tasks = Tasks::new();
    let mut items = vec![
        item("a", None, true),
        item("same", Some(0), true),
        item("same", Some(0), false),
        item("b", None, false),
        item("same", Some(3), true),
    ];
    let first = import(&mut tasks, &items);
    assert_eq!(first.added, first.tasks);
    let [a, one, two, b, part_of_b] = first.tasks.iter().collect::<Vec<_>>().try_into().unwrap();
    let words = ["pending", "done", "pending", "done", "done"];
    assert_eq!(
        tasks.words([a, one, two, b, part_of_b]),
        words,
        "a parent's status follows its subtasks"
    );
    let again = import(&mut tasks, &items);
    assert_eq!(
        (again.tasks, again.added, again.finished),
        (first.tasks.clone(), vec![], vec![])
    );
    // A ticked box, and a new item below a known one.
    items[2].done = true;
    items.push(item("new", Some(3), false));
    let third = import(&mut tasks, &items);
    assert_eq!((third.added.len(), third.finished), (1, vec![two.clone()]));
    assert_eq!(tasks.words([a, b]), ["done", "pending"]);
}

#[test]
fn list_task_adopts_existing_tasks() {
    let mut tasks = Tasks::new();
    let items = [
        item("a", None, false),
        item("part", Some(0), false),
        item("b", None, false),
    ];
    let first = import(&mut tasks, &items);
    let (list, other) = (tasks.add("plan.md"), tasks.add("c"));
    let done = DoneIn {
        worktree: String::new(),
        commit: None,
    };
    let mut gather = |items: &[ImportItem], place: ListPlace<'_>| {
        let imported = tasks
            .store
            .import_tasks((items, place), &done, &mut tasks.entropy, now(1));
        imported.unwrap()
    };
    let gathered = gather(&items, ListPlace::Gathered(&list));
    assert_eq!((&gathered.tasks, gathered.added.len()), (&first.tasks, 0));
    assert_eq!(gather(&items, ListPlace::Gathered(&list)).tasks, first.tasks);
    // A subtask of a named task differs from a top-level one.
    let under = gather(&[item("c", None, false)], ListPlace::Under(&list));
    assert_eq!(under.added.len(), 1);
    let parts: Vec<_> = tasks
        .store
        .children(&list)
        .unwrap()
        .into_iter()
        .map(|task| task.id)
        .collect();
    assert_eq!(
        parts,
        [&first.tasks[0], &first.tasks[2], &under.tasks[0]].map(Clone::clone)
    );
    assert_eq!(tasks.store.task(&other).unwrap().unwrap().parent, None);
}
