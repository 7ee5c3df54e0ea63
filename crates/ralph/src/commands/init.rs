//! `ralph init`: sets up a project by adding what is missing.

pub(super) mod added_lines;
mod detect;
pub(super) mod ignore_lines;
pub(super) mod merge_lines;
mod settings;
mod skills;

use std::collections::BTreeSet;
use std::path::Path;

use clap::Args;
use ralph_agent::{first_on_path, known_agents};
use ralph_memory::capture::{NoteRepositoryError, Start};
use ralph_model::{NoteFileKind, count};
use ralph_notes::{create_folder, write_new_file};
use ralph_store::{Store, StoreError, Wait};

use super::learnings::incoming;
use crate::context::Context;
use crate::env;
use crate::error::CommandError;
use crate::merge_setup::ATTRIBUTES;
use crate::paths::{self, Spelling};

/// Set up this project
///
/// Creates a commented .ralph.toml with the project's test commands as gates, the notes files, the database, and ignore
/// lines that keep it out of git. In a git repository, sets up git to merge notes entry by entry (see `ralph
/// merge-driver`). Imports settings of ralph.yml and .ralph/config.sh. If the project uses Claude Code, moves
/// .ralph/skills to .claude/skills. Existing files keep their content.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph init
  ralph init --agent \"my-agent --headless\"  # started once to detect ACP
  ralph init --root ../other-project")]
pub(crate) struct InitArgs {
    /// Agent command to write into .ralph.toml
    #[arg(long, value_name = "COMMAND")]
    agent: Option<String>,
}

#[derive(Default)]
struct Done {
    /// Files and folders that were written, relative to the root.
    wrote: Vec<String>,
    /// Everything else, one line each.
    lines: Vec<String>,
}

pub(crate) fn cmd_init(context: &Context<'_>, args: &InitArgs) -> Result<(), CommandError> {
    let mut done = Done::default();
    let root = &context.project.root;
    context
        .project
        .refuse_outside_repository(&root.join(ignore_lines::FILE))?;
    if let Some(tree) = &context.project.worktree {
        context.project.refuse_outside_repository(&tree.top.join(ATTRIBUTES))?;
    }
    let commands = settings::write_config(context, args.agent.as_deref(), &mut done)?;
    for folder in [paths::AGENT, paths::KNOWLEDGE, paths::FEATURES] {
        if !root.join(folder).is_dir() {
            create_folder(&root.join(folder))?;
            done.wrote.push(format!("{folder}/"));
        }
    }
    done.wrote.extend(create_database(context)?);
    context.make_state_folder_or_warn();
    context.project.restrict_permissions()?;
    done.wrote.extend(ignore_lines::add(context)?.map(str::to_owned));
    merge_lines::register(context, &mut done)?;
    for kind in [NoteFileKind::Memories, NoteFileKind::Guardrails] {
        done.wrote.extend(create_notes_file(context, kind)?);
    }
    done.lines.extend(skills::move_old(context));
    context
        .ui
        .data(&summary(context, args.agent.as_deref(), &commands, &done))?;
    mention_earlier_learnings(context);
    Ok(())
}

/// Summarizes what was found and written, and the next command.
fn summary(context: &Context<'_>, agent: Option<&str>, commands: &settings::Commands, done: &Done) -> String {
    let configured = context.configured.agent.command.as_ref().map(ToString::to_string);
    let found = || first_on_path(&env::program_folders()).map(|(agent, _)| format!("{} (on the PATH)", agent.program));
    let agent = agent.map(str::to_owned).or(configured).or_else(found);
    let no_agent = || {
        let first = known_agents().first().map(|agent| agent.install).unwrap_or_default();
        format!("none found; for example: {first}")
    };
    let gates = match commands.gates.as_slice() {
        [] => "none found; set `[verify] commands` in .ralph.toml".to_owned(),
        gates => gates.join("; "),
    };
    // Files in a folder are listed as the folder.
    let mut wrote: Vec<&str> = done
        .wrote
        .iter()
        .map(|path| path.split_inclusive('/').next().unwrap_or(path))
        .collect();
    let mut seen = BTreeSet::new();
    wrote.retain(|name| seen.insert(*name));
    let wrote = match wrote.as_slice() {
        [] => "nothing; everything is in place".to_owned(),
        names => names.join(", "),
    };
    let mut lines = vec![("Agent", agent.unwrap_or_else(no_agent)), ("Gates", gates)];
    if !commands.setup.is_empty() {
        lines.push(("Setup", commands.setup.join("; ")));
    }
    lines.push(("Wrote", wrote));
    let more = done.lines.iter().map(|line| ("", line.clone()));
    let next = ("Next", "ralph run \"what the agent should do\"".to_owned());
    let lines = lines.into_iter().chain(more).chain([next]);
    lines.map(|(label, text)| format!("{label:<7}{text}\n")).collect()
}

/// Suggests importing the learnings of an earlier tool.
fn mention_earlier_learnings(context: &Context<'_>) {
    let folder = paths::EARLIER_KNOWLEDGE;
    let files = incoming::files_in(&context.project.root.join(folder));
    if files.is_empty() {
        return;
    }
    let what = match incoming::count_changes(context, &files) {
        Ok(0) => return,
        Ok(number) => count(number, "learning", "learnings"),
        // The import command reports what is wrong with them.
        Err(_) => "learnings".to_owned(),
    };
    context.ui.status(&format!(
        "An earlier tool has {what} in {folder}: `ralph learnings import {folder}` imports them."
    ));
}

fn create_notes_file(context: &Context<'_>, kind: NoteFileKind) -> Result<Option<String>, CommandError> {
    let note_repository = context.note_repository(kind, Spelling::Own);
    if note_repository.path.exists() {
        return Ok(None);
    }
    if let Some(folder) = note_repository.path.parent() {
        create_folder(folder)?;
    }
    let stored = match note_repository.start_over(Start::OnlyIfMissing) {
        Ok((stored, _)) => stored,
        // Another process just created it.
        Err(NoteRepositoryError::Exists { .. }) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    // A new file has no history, and problems with the database were already reported.
    context.report_findings(&note_repository, &stored.findings);
    Ok(Some(context.project.shown(&note_repository.path).to_string()))
}

fn create_database(context: &Context<'_>) -> Result<Option<String>, CommandError> {
    let place = context.project.fact_store();
    let path = &place.path;
    match Store::open_existing(&place, Wait::Long) {
        Ok(None) => {}
        Ok(Some(_)) => return Ok(None),
        Err(error @ StoreError::Foreign { .. }) => {
            context
                .ui
                .warning(&format!("{error}; notes work, but have no history."));
            context
                .ui
                .hint("If it belongs to RefoundAI's ralph, run `ralph import refound`.");
            return Ok(None);
        }
        Err(error) => return Err(error.into()),
    }
    if let Some(folder) = path.parent() {
        create_folder(folder)?;
    }
    Store::open_or_create(&place)?;
    Ok(Some(context.project.shown(path).to_string()))
}

/// Writes a file if it is missing; returns whether it did.
fn write_if_missing(path: &Path, text: &str) -> Result<bool, CommandError> {
    match write_new_file(path, text.as_bytes()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error.into()),
    }
}
