//! `ralph run --dry-run`: what would be done. Nothing is started, made or claimed.

use std::process::ExitCode;

use ralph_loop::strategy::{Choice, choose};
use ralph_model::config::Config;
use ralph_model::{NewTask, Task, TaskKind, Tokens, preview};
use ralph_store::{Scope, Store};

use super::RunArgs;
use super::agent::ChosenAgent;
use super::target::{Meaning, meaning, of_text, read};
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
    let (name, how) = (agent.driver.name(), agent.how);
    let mut lines = Vec::new();
    lines.push(match &first {
        First::Task(task) => ("Task", format!("{} {}", task.id, preview(&task.title, TITLE_COLUMNS))),
        First::New(task) => ("Task", format!("a new one: {}", preview(&task.title, TITLE_COLUMNS))),
        First::None => ("Task", "none is ready".to_owned()),
    });
    lines.push((
        "Agent",
        format!("{name} ({how}), permissions: {}", config.agent.permissions),
    ));
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
    if let (First::Task(task), Some(store)) = (first, &store) {
        let prompt = prompt_for(context, store, *task, config)?;
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
        context.ui.text(&format!("{title}{gap}{text}\n"))?;
    }
    Ok(if nothing { ExitCode::from(3) } else { ExitCode::SUCCESS })
}

fn first(context: &Context<'_>, store: Option<&Store>, what: Option<&str>) -> Result<First, CommandError> {
    let scope = match meaning(context, store, what)? {
        Meaning::All => Scope::All,
        Meaning::Task(id) => Scope::Task(id),
        Meaning::Text(text) => return Ok(First::New(of_text(&text))),
        Meaning::File(path) => {
            let text = read(&path)?;
            let title = context.project.shown(&path).to_string();
            let open = parse_checklist(&text).map(|items| items.into_iter().find(|item| !item.done));
            return Ok(match open {
                Some(None) => First::None,
                Some(Some(item)) => First::New(NewTask::titled(item.title)),
                None => First::New(NewTask {
                    kind: TaskKind::PromptLoop,
                    ..NewTask::titled(title)
                }),
            });
        }
    };
    let Some(store) = store else {
        return Ok(First::None);
    };
    let commits_here = commits_of_others_here(context, store)?;
    let next = store.next_task(&scope, context.project.worktree_name(), &commits_here)?;
    Ok(next.map_or(First::None, |task| First::Task(Box::new(task))))
}
