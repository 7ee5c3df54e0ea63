//! `ralph run --dry-run`: shows what a run would do. Nothing is started, created or claimed.

use std::collections::HashSet;
use std::path::Path;
use std::process::ExitCode;

use ralph_loop::strategy::{Rule, choose_first};
use ralph_memory::secrets::mask;
use ralph_model::config::Config;
use ralph_model::{NewTask, Task, TaskId, TaskKind, TaskStatus, Tokens, preview};
use ralph_store::{ImportItem, Scope, Store, TaskFilter, Which};

use super::idle::{Idle, idle};
use super::target::{Meaning, meaning, read, task_of_text};
use super::{RunArgs, Workers};
use crate::commands::prompt::prompt_for;
use crate::commands::task::commits_of_others_here;
use crate::context::Context;
use crate::error::CommandError;
use crate::task_list::{parse_list, task_of_file, title_of_file};
use crate::ui::Style;

const TITLE_COLUMNS: usize = 80;

/// The first task of a run.
enum First {
    Task(Box<Task>),
    New(NewTask),
    /// No task is ready, with the reason if it is known.
    None(Option<Idle>),
}

pub(super) fn show(
    context: &Context<'_>,
    config: &Config,
    workers: Result<&Workers, &CommandError>,
    args: &RunArgs,
) -> Result<ExitCode, CommandError> {
    let store = context.facts()?;
    let first = first(context, store.as_ref(), args.what.as_deref())?;
    let mut lines = Vec::new();
    lines.push(match &first {
        First::Task(task) => ("Task", format!("{} {}", task.id, preview(&task.title, TITLE_COLUMNS))),
        First::New(task) => ("Task", format!("new: {}", preview(&task.title, TITLE_COLUMNS))),
        First::None(None) => ("Task", "none is ready".to_owned()),
        First::None(Some(idle)) => ("Task", format!("none is ready: {}", idle.why)),
    });
    lines.push((
        "Agent",
        match workers {
            Ok((agent, _)) => agent.describe(config),
            Err(error) => error
                .lines()
                .map_or_else(String::new, |(message, _)| message.to_owned()),
        },
    ));
    let (task, idle) = match first {
        First::Task(task) => (Some(*task), None),
        First::New(new) => (Some(preview_task(context, new)), None),
        First::None(idle) => (None, idle),
    };
    // The model depends on the task.
    let chosen = match &task {
        Some(task) => {
            let rule = Rule::of(config, args.model.as_deref());
            Some(choose_first(rule, store.as_ref(), Some(task))?)
        }
        None => None,
    };
    if let Some(chosen) = &chosen {
        let model = chosen.model.as_deref().unwrap_or("agent's default");
        lines.push(("Model", format!("{model} ({})", chosen.rationale)));
    }
    match config.verify.commands.as_slice() {
        [] => lines.push(("Gates", "none; set `[verify] commands` in .ralph.toml".to_owned())),
        gates => lines.extend(gates.iter().enumerate().map(|(at, gate)| {
            let title = if at == 0 { "Gates" } else { "" };
            (title, mask(gate).into_owned())
        })),
    }
    if let Ok((_, verifier)) = workers {
        let verifier = verifier.sentence.as_deref().unwrap_or("off");
        let verifier = verifier.trim_start_matches("Verifier: ").trim_end_matches('.');
        lines.push(("Verify", verifier.to_owned()));
    }
    let is_idle = task.is_none();
    if let (Some(task), Some(chosen)) = (task, &chosen) {
        let prompt = prompt_for(context, store.as_ref(), &task, (config, chosen))?;
        let all = Tokens::of_characters(prompt.text.chars().count());
        let fixed = prompt.fixed;
        lines.push((
            "Prompt",
            format!("{all} tokens, {fixed} of them identical in every prompt"),
        ));
    }
    for (title, text) in lines {
        let gap = " ".repeat("Prompt  ".len() - title.len());
        let title = context.ui.paint(Style::Strong, title);
        context.ui.data(&format!("{title}{gap}"))?;
        context.ui.text(&format!("{text}\n"))?;
    }
    if let Some(idle) = idle {
        context.ui.hint(&idle.hint);
    }
    Ok(if is_idle { ExitCode::from(3) } else { ExitCode::SUCCESS })
}

fn first(context: &Context<'_>, store: Option<&Store>, what: Option<&str>) -> Result<First, CommandError> {
    let scope = match meaning(context, store, what)? {
        Meaning::All => Scope::All,
        Meaning::Task(id) => Scope::Task(id),
        Meaning::Feature(feature) => Scope::Feature(feature.id),
        Meaning::Text(text) => return Ok(First::New(task_of_text(&text))),
        Meaning::File(path, typed) => return of_file(context, store, &path, &typed),
    };
    let Some(store) = store else {
        return Ok(First::None(None));
    };
    first_of(context, store, &scope, None)
}

/// The first task of a file: an existing one that is ready, else one that the file would add.
fn of_file(context: &Context<'_>, store: Option<&Store>, path: &Path, typed: &str) -> Result<First, CommandError> {
    let text = read(path)?;
    let title = title_of_file(&context.project, path);
    let Some(items) = parse_list(typed, &text)? else {
        let known = store.map(|store| task_of_file(store, &title, TaskKind::PromptLoop));
        if let (Some(store), Some(id)) = (store, known.transpose()?.flatten())
            && let Some(task) = next(context, store, &Scope::Task(id))?
        {
            return Ok(First::Task(Box::new(task)));
        }
        return Ok(First::New(NewTask {
            kind: TaskKind::PromptLoop,
            description: text,
            ..NewTask::titled(title)
        }));
    };
    let mut known = HashSet::new();
    if let Some(store) = store {
        let tops = tops_of_list(store, &title, &items)?;
        let mut ready = Vec::new();
        for top in &tops {
            ready.extend(next(context, store, &Scope::Task(top.id.clone()))?);
        }
        ready.sort_by_key(|task| task.priority);
        if let Some(task) = ready.into_iter().next() {
            return Ok(First::Task(Box::new(task)));
        }
        known.extend(tops.into_iter().map(|top| top.title));
        known.extend(
            all_tasks(store)?
                .into_iter()
                .filter(|task| task.parent.is_some())
                .map(|task| task.title),
        );
    }
    // A parent is done when its subtasks are, so it is not run itself.
    let parents: HashSet<usize> = items.iter().filter_map(|item| item.parent).collect();
    let open = items
        .into_iter()
        .enumerate()
        .filter(|(place, item)| !item.done && !parents.contains(place) && !known.contains(&item.title))
        .map(|(_, item)| item)
        .min_by_key(|item| item.priority);
    let Some(item) = open else {
        let list = store.map(|store| task_of_file(store, &title, TaskKind::Once));
        return match (store, list.transpose()?.flatten()) {
            (Some(store), Some(list)) => first_of(context, store, &Scope::Task(list), Some(typed)),
            _ => Ok(First::None(None)),
        };
    };
    Ok(First::New(NewTask {
        description: item.description,
        priority: item.priority,
        ..NewTask::titled(item.title)
    }))
}

/// The first task of a scope, or why there is none.
fn first_of(context: &Context<'_>, store: &Store, scope: &Scope, file: Option<&str>) -> Result<First, CommandError> {
    if let Some(task) = next(context, store, scope)? {
        return Ok(First::Task(Box::new(task)));
    }
    Ok(First::None(idle(context, store, scope, file)?))
}

/// The top-level tasks of a list: the task of the list itself, and those that it would adopt.
fn tops_of_list(store: &Store, title: &str, items: &[ImportItem]) -> Result<Vec<Task>, CommandError> {
    let list = task_of_file(store, title, TaskKind::Once)?;
    let titles: HashSet<&str> = items
        .iter()
        .filter(|item| item.parent.is_none())
        .map(|item| item.title.as_str())
        .collect();
    let mut tops = all_tasks(store)?;
    tops.retain(|task| {
        task.parent.is_none() && (Some(&task.id) == list.as_ref() || titles.contains(task.title.as_str()))
    });
    Ok(tops)
}

fn all_tasks(store: &Store) -> Result<Vec<Task>, CommandError> {
    Ok(store.tasks(&TaskFilter {
        which: Which::All,
        ..TaskFilter::default()
    })?)
}

/// A task as it would be created.
fn preview_task(context: &Context<'_>, new: NewTask) -> Task {
    let now = context.clock().now();
    Task {
        id: TaskId::new(0),
        title: new.title,
        description: new.description,
        status: TaskStatus::Pending,
        unverified: None,
        kind: new.kind,
        priority: new.priority,
        parent: new.parent,
        feature: new.feature,
        after: new.after,
        checks: new.checks,
        retries_used: 0,
        max_retries: None,
        attempts: 0,
        claimed_by: None,
        proposal: None,
        created_at: now,
        updated_at: now,
    }
}

fn next(context: &Context<'_>, store: &Store, scope: &Scope) -> Result<Option<Task>, CommandError> {
    let commits_here = commits_of_others_here(context, store)?;
    Ok(store.next_task(scope, context.project.worktree_name(), &commits_here)?)
}
