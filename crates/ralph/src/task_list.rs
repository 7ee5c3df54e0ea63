//! Task lists in files: checklists and user stories, and the task that represents such a file.

use std::path::Path;

use ralph_model::{TaskId, TaskKind, TaskStatus};
use ralph_store::{ImportItem, Store, TaskFilter, Which};

use crate::checklist::{missed_lines, parse_checklist};
use crate::error::CommandError;
use crate::paths::Project;
use crate::stories::parse_stories;
use crate::ui::Ui;

/// How many malformed lines are listed.
const MISSED_NAMED: usize = 5;

/// The items of a list; none if the file is not a list.
pub(crate) fn parse_list(name: &str, text: &str) -> Result<Option<Vec<ImportItem>>, CommandError> {
    let text = text.trim_start_matches('\u{feff}');
    let extension = Path::new(name).extension();
    if extension.is_some_and(|end| end.eq_ignore_ascii_case("json")) {
        return stories_of(name, text).map(Some);
    }
    let items = parse_checklist(text);
    for (place, item) in items.iter().flatten().enumerate() {
        let has_parts = || items.iter().flatten().any(|part| part.parent == Some(place));
        if !item.checks.is_empty() && has_parts() {
            return Err(CommandError::new(format!(
                "nothing was imported from {name}: `{}` has subtasks, so its check would never run",
                item.title
            ))
            .hint("move the check below one of its subtasks"));
        }
    }
    Ok(items)
}

/// All checks of a list.
pub(crate) fn checks_of(items: &[ImportItem]) -> Vec<String> {
    items.iter().flat_map(|item| item.checks.iter().cloned()).collect()
}

/// Warns about lines that look like malformed tasks.
pub(crate) fn warn_of_missed(ui: &Ui, name: &str, text: &str) {
    let missed = missed_lines(text);
    if missed.is_empty() {
        return;
    }
    let numbers: Vec<String> = missed.iter().take(MISSED_NAMED).map(ToString::to_string).collect();
    let more = match missed.len().saturating_sub(MISSED_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let lines = match missed.as_slice() {
        [line] => format!("line {line} looks like a malformed task"),
        _ => format!("lines {}{more} look like malformed tasks", numbers.join(", ")),
    };
    ui.warning(&format!(
        "{name}: {lines}; a task is a line like `- [ ] Let users log in`."
    ));
}

/// The stories of a JSON file.
pub(crate) fn stories_of(name: &str, text: &str) -> Result<Vec<ImportItem>, CommandError> {
    parse_stories(text).map_err(|why| CommandError::new(format!("nothing was imported from {name}: {why}")))
}

/// The title of the task for a file: its path relative to the project's root, however it was typed.
pub(crate) fn title_of_file(project: &Project, path: &Path) -> String {
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    let whole = folder.zip(path.file_name()).map(|(folder, name)| folder.join(name));
    let root = project.root.canonicalize().ok();
    match (&whole, root) {
        (Some(whole), Some(root)) => whole.strip_prefix(root).unwrap_or(whole).display().to_string(),
        _ => project.shown(path).to_string(),
    }
}

/// The task that an earlier run of the same file created. A finished list keeps its task; a finished prompt starts
/// anew.
pub(crate) fn task_of_file(store: &Store, title: &str, kind: TaskKind) -> Result<Option<TaskId>, CommandError> {
    let tasks = store.tasks(&TaskFilter {
        which: Which::All,
        ..TaskFilter::default()
    })?;
    let may_be_done = kind == TaskKind::Once;
    let same = tasks.into_iter().rfind(|task| {
        let is_open = may_be_done || task.status != TaskStatus::Done;
        task.title == title && task.kind == kind && task.parent.is_none() && is_open
    });
    Ok(same.map(|task| task.id))
}
