//! `ralph run --dry-run`: what would be done. Nothing is started, made or claimed.

use std::path::Path;
use std::process::ExitCode;

use ralph_loop::strategy::{Choice, choose};
use ralph_model::config::Config;
use ralph_model::{NewTask, Task, TaskId, TaskKind, TaskStatus, Tokens, preview};
use ralph_store::{Scope, Store, TaskFilter, Which};

use super::RunArgs;
use super::agent::ChosenAgent;
use super::target::{Meaning, existing, meaning, of_text, read};
use crate::checklist::parse_checklist;
use crate::commands::prompt::prompt_for;
use crate::commands::task::commits_of_others_here;
use crate::context::Context;
use crate::error::CommandError;
use crate::ui::Style;

/// How many columns of a title are shown.
const TITLE_COLUMNS: usize = 80;

/// The first task of a run.
enum First {
    /// It is there.
    Task(Box<Task>),
    /// It would be made.
    New(NewTask),
    /// There is none.
    None,
}

/// Shows what would be done.
pub(super) fn show(
    context: &Context<'_>,
    config: &Config,
    agent: &ChosenAgent,
    args: &RunArgs,
) -> Result<ExitCode, CommandError> {
    let store = context.facts()?;
    let first = first(context, store.as_ref(), args.what.as_deref())?;
    let mut lines = Vec::new();
    lines.push(match &first {
        First::Task(task) => ("Task", format!("{} {}", task.id, preview(&task.title, TITLE_COLUMNS))),
        First::New(task) => ("Task", format!("a new one: {}", preview(&task.title, TITLE_COLUMNS))),
        First::None => ("Task", "none is ready".to_owned()),
    });
    lines.push(("Agent", agent.in_words(config)));
    let chosen = choose(&Choice {
        models: &config.agent.models,
        asked: args.model.as_deref(),
        strategy: config.strategy.name.unwrap_or_default(),
        iteration: 1,
        hint: None,
    });
    let model = chosen.model.as_deref().unwrap_or("the agent's own");
    lines.push(("Model", format!("{model} ({})", chosen.rationale)));
    match config.verify.commands.as_slice() {
        [] => lines.push(("Gates", "none; set `[verify] commands` in .ralph.toml".to_owned())),
        gates => lines.extend(gates.iter().enumerate().map(|(at, gate)| {
            let title = if at == 0 { "Gates" } else { "" };
            (title, gate.clone())
        })),
    }
    let nothing = matches!(first, First::None);
    let task = match first {
        First::Task(task) => Some(*task),
        First::New(new) => Some(imagined(context, new)),
        First::None => None,
    };
    if let Some(task) = task {
        let prompt = prompt_for(context, store.as_ref(), task, config)?;
        let all = Tokens::of_characters(prompt.text.chars().count());
        let fixed = prompt.fixed;
        lines.push((
            "Prompt",
            format!("{all} tokens, {fixed} of them the same in every prompt"),
        ));
    }
    for (title, text) in lines {
        let gap = " ".repeat("Prompt  ".len() - title.len());
        let title = context.ui.paint(Style::Strong, title);
        context.ui.data(&format!("{title}{gap}"))?;
        context.ui.text(&format!("{text}\n"))?;
    }
    Ok(if nothing { ExitCode::from(3) } else { ExitCode::SUCCESS })
}

fn first(context: &Context<'_>, store: Option<&Store>, what: Option<&str>) -> Result<First, CommandError> {
    let scope = match meaning(context, store, what)? {
        Meaning::All => Scope::All,
        Meaning::Task(id) => Scope::Task(id),
        Meaning::Text(text) => return Ok(First::New(of_text(&text))),
        Meaning::File(path) => return of_file(context, store, &path),
    };
    let Some(store) = store else {
        return Ok(First::None);
    };
    Ok(next(context, store, &scope)?.map_or(First::None, |task| First::Task(Box::new(task))))
}

/// The first task of a file: one that an earlier run of it left open, else one that the file would bring.
fn of_file(context: &Context<'_>, store: Option<&Store>, path: &Path) -> Result<First, CommandError> {
    let text = read(path)?;
    let title = context.project.shown(path).to_string();
    let items = parse_checklist(&text);
    let kind = match items {
        Some(_) => TaskKind::Once,
        None => TaskKind::PromptLoop,
    };
    let mut known = Vec::new();
    if let Some(store) = store
        && let Some(id) = existing(store, &title, kind)?
    {
        if let Some(task) = next(context, store, &Scope::Task(id))? {
            return Ok(First::Task(Box::new(task)));
        }
        known = store.tasks(&TaskFilter {
            which: Which::All,
            ..TaskFilter::default()
        })?;
    }
    let Some(items) = items else {
        return Ok(First::New(NewTask {
            kind,
            description: text,
            ..NewTask::titled(title)
        }));
    };
    let is_known = |title: &str| known.iter().any(|task| task.parent.is_some() && task.title == title);
    let open = items.into_iter().find(|item| !item.done && !is_known(&item.title));
    Ok(open.map_or(First::None, |item| {
        First::New(NewTask {
            description: item.description,
            ..NewTask::titled(item.title)
        })
    }))
}

/// A task as it would be made.
fn imagined(context: &Context<'_>, new: NewTask) -> Task {
    let now = context.clock().now();
    Task {
        id: TaskId::new(0),
        title: new.title,
        description: new.description,
        status: TaskStatus::Pending,
        kind: new.kind,
        priority: new.priority,
        parent: new.parent,
        feature: new.feature,
        after: new.after,
        retries_used: 0,
        attempts: 0,
        claimed_by: None,
        created_at: now,
        updated_at: now,
    }
}

fn next(context: &Context<'_>, store: &Store, scope: &Scope) -> Result<Option<Task>, CommandError> {
    let commits_here = commits_of_others_here(context, store)?;
    Ok(store.next_task(scope, context.project.worktree_name(), &commits_here)?)
}
