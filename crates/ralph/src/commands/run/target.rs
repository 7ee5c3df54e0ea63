//! Resolves what a run works on: all tasks, a task, a feature, a text, a checklist, or a prompt file.

use std::path::{Path, PathBuf};

use ralph_memory::capture::{SecretPolicy, accept};
use ralph_memory::secrets::mask;
use ralph_model::config::nearest;
use ralph_model::{Feature, FeatureId, NewTask, TaskId, TaskKind, first_line, keep_guidance, preview};
use ralph_store::{FeatureError, ListPlace, Scope, Store, TaskError, TaskUpdate};

use super::confirm::confirm_checks;
use super::tick::Checklist;
use crate::commands::feature;
use crate::commands::task::ticked_here;
use crate::context::Context;
use crate::error::CommandError;
use crate::task_list::{checks_of, parse_list, task_of_file, title_of_file, warn_of_missed};

/// The columns of a text that become the task's title.
const TITLE_COLUMNS: usize = 100;
const MAX_PROMPT_BYTES: u64 = 1 << 20;

/// A word with one of these extensions is taken for a file name.
const FILE_EXTENSIONS: [&str; 24] = [
    "adoc", "c", "cpp", "css", "csv", "go", "html", "java", "js", "json", "jsonl", "markdown", "md", "org", "py", "rb",
    "rs", "rst", "sh", "toml", "ts", "txt", "yaml", "yml",
];

/// What a run works on.
pub(super) struct Target {
    pub(super) scope: Scope,
    /// The task, if the run is about a single one.
    pub(super) only_task: Option<TaskId>,
    /// The target, for people.
    pub(super) goal: String,
    /// The file, as it was typed.
    pub(super) file: Option<String>,
    /// The file, if it has boxes to tick.
    pub(super) checklist: Option<Checklist>,
    /// The command that continues the run.
    pub(super) again: String,
}

/// What the argument means, before any task is created for it.
pub(super) enum Meaning {
    All,
    Task(TaskId),
    Feature(Feature),
    Text(String),
    /// The path of a file, and its name as typed.
    File(PathBuf, String),
}

pub(super) fn meaning(
    context: &Context<'_>,
    store: Option<&Store>,
    what: Option<&str>,
) -> Result<Meaning, CommandError> {
    let Some(what) = what.map(str::trim) else {
        return Ok(Meaning::All);
    };
    if what.is_empty() {
        return Err(CommandError::usage("the text is blank, so there is nothing to do"));
    }
    let path = crate::env::working_folder()
        .unwrap_or_else(|_| context.project.root.clone())
        .join(what);
    if let Some(meaning) = known(store, what)? {
        if path.is_file() {
            let beside = Path::new(".").join(what);
            context.ui.warning(&format!(
                "{what} is also a file; run it with `ralph run {}`.",
                shell_word(&beside.display().to_string())
            ));
        }
        return Ok(meaning);
    }
    if path.is_file() {
        return Ok(Meaning::File(path, what.to_owned()));
    }
    // A clone has the files of a feature but not its record, so its name must not be taken for a text.
    if feature::written_only(context, what).is_some() {
        return Err(feature::unknown(context, what));
    }
    if path.is_dir() {
        let message = format!("{what} is a folder; only a file can be run");
        return Err(CommandError::usage(message).hint("if it is a task, describe it in more words"));
    }
    if looks_like_file(what) {
        let refused = CommandError::usage(format!("file not found: {what}"));
        return Err(refused.hint("if it is a task, describe it in more words"));
    }
    let text = what.to_owned();
    if looks_like_id(what, FeatureId::PREFIX) {
        return Err(FeatureError::Unknown { text }.into());
    }
    if looks_like_id(what, TaskId::PREFIX) {
        return Err(TaskError::Unknown { text }.into());
    }
    if let Some(name) = similar_feature(store, what)? {
        let message = format!("feature not found: {what:?}; did you mean {name}?");
        return Err(CommandError::usage(message).hint("if it is a task, describe it in more words"));
    }
    Ok(Meaning::Text(text))
}

/// The feature whose name is close to a single word, so that a typo does not become a task.
fn similar_feature(store: Option<&Store>, what: &str) -> Result<Option<String>, CommandError> {
    let Some(store) = store.filter(|_| !what.contains(char::is_whitespace)) else {
        return Ok(None);
    };
    let features = store.features()?;
    let names = features.iter().map(|feature| feature.name.as_str());
    Ok(nearest(what, names).map(str::to_owned))
}

/// The task or feature that the argument names. The prefix of an id needs its letter in front: `add` may be a text.
fn known(store: Option<&Store>, what: &str) -> Result<Option<Meaning>, CommandError> {
    let Some(store) = store else { return Ok(None) };
    if looks_like_id(what, TaskId::PREFIX) {
        match store.find_task(what) {
            Err(TaskError::Unknown { .. }) => {}
            found => return Ok(Some(Meaning::Task(found?))),
        }
    }
    let has_letter = looks_like_id(what, FeatureId::PREFIX);
    match store.feature(what) {
        Ok(feature) if has_letter || feature.name.is(what) => Ok(Some(Meaning::Feature(feature))),
        Err(error @ FeatureError::Ambiguous { .. }) if has_letter => Err(error.into()),
        Err(FeatureError::Store(error)) => Err(error.into()),
        _ => Ok(None),
    }
}

/// Finds or creates the tasks of the argument.
pub(super) fn resolve(
    context: &Context<'_>,
    store: &mut Store,
    what: Option<&str>,
    trust: bool,
) -> Result<Target, CommandError> {
    match meaning(context, Some(store), what)? {
        Meaning::All => Ok(Target {
            scope: Scope::All,
            only_task: None,
            file: None,
            checklist: None,
            goal: "all tasks".to_owned(),
            again: "ralph run".to_owned(),
        }),
        Meaning::Task(id) => Ok(Target {
            // The command that continues the run of a text names its task.
            only_task: Some(id.clone()),
            file: None,
            checklist: None,
            goal: id.to_string(),
            again: format!("ralph run {id}"),
            scope: Scope::Task(id),
        }),
        Meaning::Feature(feature) => Ok(Target {
            scope: Scope::Feature(feature.id),
            only_task: None,
            file: None,
            checklist: None,
            goal: format!("feature {}", feature.name),
            again: format!("ralph run {}", feature.name),
        }),
        Meaning::Text(text) => {
            let text = accept(&text, SecretPolicy::Refuse).map_err(|refusal| {
                let hint = "remove it; the agent can read it from a file or from its environment";
                CommandError::from(refusal).hint(hint)
            })?;
            let task = task_of_text(&text);
            let goal = task.title.clone();
            let id = add(context, store, &task)?;
            context.ui.status(&format!("Task {id}: {goal}"));
            Ok(Target {
                again: format!("ralph run {id}"),
                only_task: Some(id.clone()),
                scope: Scope::Task(id),
                file: None,
                checklist: None,
                goal,
            })
        }
        Meaning::File(path, typed) => of_file(context, store, (&path, &typed), trust),
    }
}

/// The task of a text: the first line is the title; a longer text is also the description.
pub(super) fn task_of_text(text: &str) -> NewTask {
    let title = preview(first_line(text), TITLE_COLUMNS);
    NewTask {
        description: if title == text { String::new() } else { text.to_owned() },
        ..NewTask::titled(title)
    }
}

fn of_file(
    context: &Context<'_>,
    store: &mut Store,
    (path, typed): (&Path, &str),
    trust: bool,
) -> Result<Target, CommandError> {
    let text = read(path)?;
    warn_of_missed(context.ui, typed, &text);
    let goal = title_of_file(&context.project, path);
    let (now, items) = (context.clock().now(), parse_list(typed, &text)?);
    if let Some(items) = &items {
        confirm_checks(context, &checks_of(items), trust)?;
        accept(&text, SecretPolicy::Refuse).map_err(|refusal| CommandError::from(refusal).about(typed))?;
    }
    let text = mask(&text).into_owned();
    let kind = match items {
        Some(_) => TaskKind::Once,
        None => TaskKind::PromptLoop,
    };
    let task = match (task_of_file(store, &goal, kind)?, &items) {
        (Some(task), Some(_)) => task,
        (Some(task), None) => {
            let before = store.task(&task)?.map(|task| task.description).unwrap_or_default();
            let update = TaskUpdate {
                description: Some(keep_guidance(&text, &before)),
                ..TaskUpdate::default()
            };
            store.update_task(&task, &update, now)?;
            task
        }
        (None, _) => {
            let new = NewTask {
                description: if items.is_some() { String::new() } else { text },
                kind,
                ..NewTask::titled(goal.clone())
            };
            add(context, store, &new)?
        }
    };
    if let Some(items) = items {
        let (here, place) = (ticked_here(context, &items), ListPlace::Gathered(&task));
        context.with_entropy(|entropy| store.import_tasks((&items, place), &here, entropy, now))?;
    }
    let is_markdown = !Path::new(typed)
        .extension()
        .is_some_and(|end| end.eq_ignore_ascii_case("json"));
    let checklist = (kind == TaskKind::Once && is_markdown).then(|| Checklist {
        path: path.to_owned(),
        task: task.clone(),
    });
    Ok(Target {
        scope: Scope::Task(task),
        again: again(typed),
        file: Some(typed.to_owned()),
        checklist,
        only_task: None,
        goal,
    })
}

/// The command that runs the file again, from the folder it was called in.
fn again(typed: &str) -> String {
    format!("ralph run {}", shell_word(typed))
}

/// Quotes a text as one shell word.
pub(super) fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./=:,+@%".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

pub(super) fn read(path: &Path) -> Result<String, CommandError> {
    let shown = path.display();
    let metadata =
        std::fs::metadata(path).map_err(|error| CommandError::new(format!("cannot read {shown}: {error}")))?;
    if metadata.len() > MAX_PROMPT_BYTES {
        return Err(CommandError::usage(format!(
            "{shown} has {} bytes; a prompt has at most {MAX_PROMPT_BYTES}",
            metadata.len()
        )));
    }
    let bytes = std::fs::read(path).map_err(|error| CommandError::new(format!("cannot read {shown}: {error}")))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        CommandError::usage(format!("{shown} is not UTF-8 text (byte {at})"))
    })?;
    if text.trim().is_empty() {
        return Err(CommandError::usage(format!(
            "{shown} is empty, so there is nothing to do"
        )));
    }
    Ok(text)
}

fn add(context: &Context<'_>, store: &mut Store, task: &NewTask) -> Result<TaskId, CommandError> {
    let now = context.clock().now();
    let added: Result<_, TaskError> = context.with_entropy(|entropy| store.add_task(task, entropy, now));
    Ok(added?.id)
}

/// Whether a word looks like a file name, so that a mistyped one does not become a task.
fn looks_like_file(what: &str) -> bool {
    let extension = Path::new(what).extension().and_then(|extension| extension.to_str());
    let is_common = |extension: &str| {
        FILE_EXTENSIONS
            .iter()
            .any(|known| extension.eq_ignore_ascii_case(known))
    };
    !what.contains(char::is_whitespace) && (what.contains('/') || extension.is_some_and(is_common))
}

/// Whether a word looks like an id, so that a mistyped one does not become a task.
fn looks_like_id(what: &str, prefix: &str) -> bool {
    !what.contains(char::is_whitespace) && what.starts_with(prefix)
}
