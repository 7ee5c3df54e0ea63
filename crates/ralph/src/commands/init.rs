//! `ralph init`: sets a project up, and only adds what is missing.

pub(super) mod added_lines;
pub(super) mod ignore_lines;
pub(super) mod merge_lines;
mod settings;
mod skills;

use std::path::Path;

use clap::Args;
use ralph_memory::capture::{NotebookError, Start};
use ralph_model::{Shelf, count};
use ralph_notes::{create_folder, write_new_file};
use ralph_store::{Store, StoreError, Wait};

use super::learnings::foreign;
use crate::context::Context;
use crate::error::CommandError;
use crate::merge_setup::ATTRIBUTES;
use crate::paths::{self, Spelling};

/// Set this project up; what is there already stays as it is
///
/// Writes a commented .ralph.toml, the folders and files of notes, the folder of skills, the database, and the lines that
/// keep the database out of git. In a git repository it also has notes merged entry by entry (see `ralph merge-driver`).
/// Takes over the settings of ralph.yml and .ralph/config.sh, and moves .ralph/skills to .claude/skills. CLAUDE.md,
/// AGENTS.md and the skills themselves are yours: none of them is made or changed.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph init
  ralph init --root ../other-project     # in another folder than this one")]
pub(crate) struct InitArgs {}

pub(crate) fn cmd_init(context: &Context<'_>, _args: &InitArgs) -> Result<(), CommandError> {
    let mut done: Vec<String> = Vec::new();
    let root = &context.project.root;
    context
        .project
        .refuse_outside_repository(&root.join(ignore_lines::FILE))?;
    if let Some(tree) = &context.project.worktree {
        context.project.refuse_outside_repository(&tree.top.join(ATTRIBUTES))?;
    }
    done.extend(settings::write_config(context)?);
    for folder in [paths::AGENT, paths::KNOWLEDGE, paths::FEATURES] {
        if !root.join(folder).is_dir() {
            create_folder(&root.join(folder))?;
            done.push(format!("created {folder}/"));
        }
    }
    done.extend(make_database(context)?);
    context.make_state_folder_or_warn();
    context.project.close_all_to_others()?;
    done.extend(ignore_lines::add(context)?);
    done.extend(merge_lines::register(context)?);
    for shelf in [Shelf::Memories, Shelf::Guardrails] {
        done.extend(make_shelf(context, shelf)?);
    }
    done.extend(skills::prepare(context));
    if done.is_empty() {
        context.ui.data("Everything is in place.\n")?;
        mention_earlier_learnings(context);
        return Ok(());
    }
    context
        .ui
        .data(&done.iter().map(|line| format!("{line}\n")).collect::<String>())?;
    mention_earlier_learnings(context);
    context
        .ui
        .status("Next: `ralph remember \"TEXT\"` keeps a note, `ralph --help` shows the rest.");
    Ok(())
}

/// Names the command that takes over what an earlier tool has learned here.
fn mention_earlier_learnings(context: &Context<'_>) {
    let folder = paths::EARLIER_KNOWLEDGE;
    let files = foreign::files_in(&context.project.root.join(folder));
    if files.is_empty() {
        return;
    }
    let what = match foreign::not_taken_over(context, &files) {
        Ok(0) => return,
        Ok(number) => count(number, "learning", "learnings"),
        // What is wrong with them the command says.
        Err(_) => "learnings".to_owned(),
    };
    context.ui.status(&format!(
        "An earlier tool has {what} in {folder}: `ralph learnings import {folder}` takes them over."
    ));
}

fn make_shelf(context: &Context<'_>, shelf: Shelf) -> Result<Option<String>, CommandError> {
    let notebook = context.notebook(shelf, Spelling::Own);
    if notebook.path.exists() {
        return Ok(None);
    }
    if let Some(folder) = notebook.path.parent() {
        create_folder(folder)?;
    }
    let stored = match notebook.start_anew(Start::OnlyIfMissing) {
        Ok((stored, _)) => stored,
        // Somebody made it in this moment.
        Err(NotebookError::Exists { .. }) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    // A new file has no history to speak of, and what is wrong with the database was said before.
    context.report_findings(&notebook, &stored.findings);
    Ok(Some(format!("created {}", context.project.shown(&notebook.path))))
}

fn make_database(context: &Context<'_>) -> Result<Option<String>, CommandError> {
    let place = context.project.fact_store();
    let path = &place.path;
    match Store::open_existing(&place, Wait::Long) {
        Ok(None) => {}
        Ok(Some(_)) => return Ok(None),
        Err(error @ StoreError::Foreign { .. }) => {
            context
                .ui
                .warning(&format!("{error}; notes work, but without a history."));
            context
                .ui
                .hint("`ralph import refound` takes it over if it is that of RefoundAI's ralph.");
            return Ok(None);
        }
        Err(error) => return Err(error.into()),
    }
    if let Some(folder) = path.parent() {
        create_folder(folder)?;
    }
    Store::open_or_create(&place)?;
    Ok(Some(format!("created {}", context.project.shown(path))))
}

/// Writes a file if it is not there; says whether it did.
fn write_if_missing(path: &Path, text: &str) -> Result<bool, CommandError> {
    match write_new_file(path, text.as_bytes()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error.into()),
    }
}
