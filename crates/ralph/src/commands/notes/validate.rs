//! `validate`: lists problems in a notes file.

use std::marker::PhantomData;
use std::process::ExitCode;

use clap::Args;
use ralph_memory::capture::NoteRepository;
use ralph_model::count;
use ralph_notes::Form;
use serde_json::json;

use super::{NoteFamily, read};
use crate::context::Context;
use crate::error::CommandError;

/// List problems in the file
#[derive(Debug, Args)]
#[command(after_help = S::examples("Exit code 1 if there are problems.

Examples:
  {ralph} validate
  {ralph} validate --json"))]
pub(crate) struct ValidateArgs<S: NoteFamily> {
    /// Print as JSON
    #[arg(long)]
    json: bool,
    #[arg(skip)]
    family: PhantomData<S>,
}

pub(super) fn cmd_validate<S: NoteFamily>(
    context: &Context<'_>,
    note_repository: &NoteRepository<'_>,
    args: &ValidateArgs<S>,
) -> Result<ExitCode, CommandError> {
    let reading = read(context, note_repository)?;
    let document = reading.document();
    let problems = document.validate();
    let shown = context.project.shown(&note_repository.path).to_string();
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
        context.ui.data(&format!("{shown} does not exist yet.\n"))?;
    } else if problems.is_empty() {
        let words = note_repository.file_kind.words();
        let mut notes = count(document.entries().len(), words.one, words.many);
        let signs = document.signs().len();
        if signs > 0 {
            notes.push_str(&format!(" and {}", count(signs, "Sign", "Signs")));
        }
        context.ui.data(&format!("{shown} is valid: {notes}.\n"))?;
        if document.form() == Form::Legacy {
            let command = words.command;
            context.ui.status(&format!(
                "It has the legacy format; convert its Signs with `{command} migrate`."
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
