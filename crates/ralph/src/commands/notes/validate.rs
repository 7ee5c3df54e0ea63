//! `validate`: what is not read, or looks wrong.

use std::marker::PhantomData;
use std::process::ExitCode;

use clap::Args;
use ralph_memory::capture::Notebook;
use ralph_model::count;
use ralph_notes::Form;
use serde_json::json;

use super::{OnShelf, read};
use crate::context::Context;
use crate::error::CommandError;

/// List everything in the file that is not read or looks wrong
#[derive(Debug, Args)]
#[command(after_help = S::examples("Exit code 1 when there is anything.

Examples:
  {ralph} validate
  {ralph} validate --json"))]
pub(crate) struct ValidateArgs<S: OnShelf> {
    /// Write the list as JSON
    #[arg(long)]
    json: bool,
    #[arg(skip)]
    shelf: PhantomData<S>,
}

pub(super) fn cmd_validate<S: OnShelf>(
    context: &Context<'_>,
    notebook: &Notebook<'_>,
    args: &ValidateArgs<S>,
) -> Result<ExitCode, CommandError> {
    let reading = read(context, notebook)?;
    let document = reading.document();
    let problems = document.validate();
    let shown = context.project.shown(&notebook.path).to_string();
    let lines: Vec<usize> = document
        .line_numbers(problems.iter().map(|problem| problem.at))
        .collect();
    let found = lines.iter().zip(&problems);
    if args.json {
        let list: Vec<_> = found
            .map(|(line, problem)| json!({"file": shown, "line": line, "problem": problem.kind.to_string()}))
            .collect();
        context.ui.json(&list)?;
    } else if !reading.exists() {
        context.ui.data(&format!("There is no {shown} yet.\n"))?;
    } else if problems.is_empty() {
        let words = notebook.shelf.words();
        let mut notes = count(document.entries().len(), words.one, words.many);
        let signs = document.signs().len();
        if signs > 0 {
            notes.push_str(&format!(" and {}", count(signs, "Sign", "Signs")));
        }
        context.ui.data(&format!("{shown} is fine: {notes}.\n"))?;
        if document.form() == Form::Legacy {
            let command = words.command;
            context.ui.status(&format!(
                "It has the old form; `{command} migrate` makes entries of its Signs."
            ));
        }
    } else {
        let list: String = found
            .map(|(line, problem)| format!("{shown}:{line}: {}\n", problem.kind))
            .collect();
        context.ui.text(&list)?;
    }
    Ok(if problems.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
