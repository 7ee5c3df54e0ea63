//! `ralph setup claude`: a hook that gives Claude Code the notes at the start of a session, and a skill that explains
//! the commands.

mod hook_entry;
mod skill;

use std::path::Path;

use clap::Args;
use ralph_notes::read_file;

use super::change::{Change, remove_empty_folders};
use crate::context::Context;
use crate::error::CommandError;
use crate::paths::{self, Project};
use crate::programs::{Program, find_ralph};
use hook_entry::{Change as HookChange, SettingsError};

/// Start Claude Code sessions with this project's notes
///
/// Adds a hook to .claude/settings.json and the skill .claude/skills/ralph/SKILL.md. Shows the exact change and asks
/// first. Nothing else in these files changes; --remove undoes the change.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph setup claude                # show the change, ask, apply it
  ralph setup claude --dry-run      # only show the change
  ralph setup claude --yes          # apply it without asking
  ralph setup claude --remove       # remove it again")]
pub(crate) struct ClaudeArgs {
    /// Apply the change without confirmation
    #[arg(long)]
    yes: bool,
    /// Remove what setup added
    #[arg(long)]
    remove: bool,
    /// Show the change without applying it
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
}

/// The state of one part of the setup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Missing,
    /// As this version writes it.
    InPlace,
    /// As an earlier version wrote it.
    Outdated,
    /// Changed by the user.
    Changed,
}

/// The state of the Claude Code setup in a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SetupState {
    /// The hook in the settings.
    pub(crate) hook: Part,
    /// The skill.
    pub(crate) skill: Part,
    /// Whether the settings have no comments and trailing commas, which Claude Code cannot parse.
    pub(crate) is_strict: bool,
    /// The `ralph` that the hook will run.
    pub(crate) program: Program,
}

/// Reads the state of the setup.
pub(crate) fn setup_state(project: &Project) -> Result<SetupState, Unreadable> {
    let (hook, is_strict) = match &read_text(project, paths::CLAUDE_SETTINGS)? {
        None => (Part::Missing, true),
        Some(text) => hook_entry::setup_state(text).map_err(failed)?,
    };
    Ok(SetupState {
        hook,
        skill: skill::setup_state(read_text(project, paths::CLAUDE_SKILL)?.as_deref()),
        is_strict,
        program: find_ralph(),
    })
}

pub(crate) fn cmd_claude(context: &Context<'_>, args: &ClaudeArgs) -> Result<(), CommandError> {
    for file in [paths::CLAUDE_SETTINGS, paths::CLAUDE_SKILL] {
        context.project.refuse_outside(&context.project.root.join(file))?;
    }
    let setup_state = setup_state(&context.project)?;
    let changes = if args.remove {
        removal(&context.project, &setup_state)?
    } else {
        addition(&context.project, &setup_state)?
    };
    report_changed(context, &setup_state, args);
    if changes.is_empty() {
        let line = if args.remove {
            "Nothing to remove.\n"
        } else {
            "Everything is in place.\n"
        };
        context.ui.data(line)?;
    } else {
        for change in &changes {
            change.show(context)?;
        }
        if !args.dry_run {
            make(context, args, &changes)?;
        }
    }
    if !args.remove {
        report_obstacles(context, &setup_state);
    }
    Ok(())
}

/// The changes that complete the setup. The hook comes last, after what it refers to.
fn addition(project: &Project, setup_state: &SetupState) -> Result<Vec<Change>, CommandError> {
    let mut changes = Vec::new();
    if matches!(setup_state.skill, Part::Missing | Part::Outdated) {
        let before = read_text(project, paths::CLAUDE_SKILL)?;
        let verb = if before.is_some() { "updated" } else { "created" };
        changes.push(Change {
            name: paths::CLAUDE_SKILL,
            before,
            after: Some(skill::text()),
            done: format!("{verb} {}", paths::CLAUDE_SKILL),
        });
    }
    if matches!(setup_state.hook, Part::Missing | Part::Outdated) {
        let before = read_text(project, paths::CLAUDE_SETTINGS)?;
        let after = match &before {
            None => hook_entry::new_file(),
            Some(text) => hook_entry::with_hook(text).map_err(failed)?,
        };
        let verb = if setup_state.hook == Part::Missing {
            "added the hook to"
        } else {
            "updated the hook in"
        };
        changes.push(Change {
            name: paths::CLAUDE_SETTINGS,
            before,
            after: Some(after),
            done: format!("{verb} {}", paths::CLAUDE_SETTINGS),
        });
    }
    Ok(changes)
}

/// The changes that remove the setup. The hook goes first.
fn removal(project: &Project, setup_state: &SetupState) -> Result<Vec<Change>, CommandError> {
    let mut changes = Vec::new();
    let settings = read_text(project, paths::CLAUDE_SETTINGS)?;
    if setup_state.hook != Part::Missing
        && let Some(text) = &settings
    {
        let (after, done) = match hook_entry::without_hook(text).map_err(failed)? {
            HookChange::Text(text) => (Some(text), "removed the hook from"),
            HookChange::NoFile => (None, "removed"),
        };
        changes.push(Change {
            name: paths::CLAUDE_SETTINGS,
            before: settings,
            after,
            done: format!("{done} {}", paths::CLAUDE_SETTINGS),
        });
    }
    if matches!(setup_state.skill, Part::InPlace | Part::Outdated) {
        changes.push(Change {
            name: paths::CLAUDE_SKILL,
            before: read_text(project, paths::CLAUDE_SKILL)?,
            after: None,
            done: format!("removed {}", paths::CLAUDE_SKILL),
        });
    }
    Ok(changes)
}

/// Applies the changes, after confirmation unless `--yes` is given.
fn make(context: &Context<'_>, args: &ClaudeArgs, changes: &[Change]) -> Result<(), CommandError> {
    if !args.yes {
        ask(context)?;
    }
    for change in changes {
        change.make(context)?;
        if change.after.is_none() {
            remove_empty_folders(&context.project.root, change.name);
        }
        context.ui.data(&format!("{}\n", change.done))?;
    }
    Ok(())
}

fn ask(context: &Context<'_>) -> Result<(), CommandError> {
    match context.ui.confirm("Make this change?")? {
        Some(true) => Ok(()),
        Some(false) => Err(CommandError::new("not confirmed; nothing was changed")),
        None => Err(CommandError::new("nothing was changed: confirmation needs a terminal")
            .hint("--yes applies the change without asking")),
    }
}

/// Warns about parts that are not touched because the user changed them.
fn report_changed(context: &Context<'_>, setup_state: &SetupState, args: &ClaudeArgs) {
    if setup_state.skill == Part::Changed {
        let name = paths::CLAUDE_SKILL;
        context
            .ui
            .warning(&format!("{name} was changed by hand and was not touched."));
        let what = if args.remove {
            "remove it yourself"
        } else {
            "remove it first to get this version's"
        };
        context.ui.hint(&format!("{what}, if you no longer need it."));
    }
    if setup_state.hook == Part::Changed && !args.remove {
        let name = paths::CLAUDE_SETTINGS;
        context.ui.warning(&format!(
            "the hook in {name} was written or changed by hand and was not touched."
        ));
    }
}

/// Warns about what keeps the hook from working.
fn report_obstacles(context: &Context<'_>, setup_state: &SetupState) {
    if !setup_state.is_strict {
        let name = paths::CLAUDE_SETTINGS;
        context.ui.warning(&format!(
            "{name}: Claude Code 2.1 does not accept comments or trailing commas, so the hook will not run."
        ));
        context.ui.hint("remove them; nothing else in the file has to change.");
    }
    let folder = std::env::current_exe()
        .ok()
        .and_then(|program| program.parent().map(Path::to_owned));
    let folder = folder.map_or_else(
        || "the folder of this program".to_owned(),
        |folder| folder.display().to_string(),
    );
    match &setup_state.program {
        Program::This => {}
        Program::Other(other) => {
            let other = other.display();
            context.ui.warning(&format!(
                "the hook runs `ralph`, which on PATH is {other}, not this program."
            ));
            context.ui.hint(&format!("put {folder} first in PATH."));
        }
        Program::NotFound => {
            context
                .ui
                .warning("the hook runs `ralph`, which is not on PATH, so it will not run.");
            context.ui.hint(&format!(
                "add {folder} to PATH, or install it with `cargo install --path crates/ralph`."
            ));
        }
    }
}

/// A file that cannot be read or hold the setup, and the place.
#[derive(Debug)]
pub(crate) struct Unreadable {
    pub(crate) place: String,
    pub(crate) what: String,
}

impl Unreadable {
    fn at(name: &str, (line, column): (usize, usize), what: impl Into<String>) -> Self {
        let (place, what) = (format!("{name}:{line}:{column}"), what.into());
        Self { place, what }
    }
}

impl From<Unreadable> for CommandError {
    fn from(Unreadable { place, what }: Unreadable) -> Self {
        Self::new(format!("{place}: {what}; nothing was changed")).hint("fix the file and run the command again")
    }
}

/// The error for settings that cannot hold the hook.
fn failed(error: SettingsError) -> Unreadable {
    Unreadable::at(paths::CLAUDE_SETTINGS, error.place, error.what)
}

/// Reads a file of the project as text.
fn read_text(project: &Project, name: &str) -> Result<Option<String>, Unreadable> {
    let file = read_file(&project.root.join(name)).map_err(|error| Unreadable {
        place: name.to_owned(),
        what: error.to_string(),
    })?;
    let Some(file) = file else {
        return Ok(None);
    };
    String::from_utf8(file.bytes).map(Some).map_err(|error| {
        let before = String::from_utf8_lossy(
            error
                .as_bytes()
                .get(..error.utf8_error().valid_up_to())
                .unwrap_or_default(),
        );
        Unreadable::at(name, end_of(&before), "it is not UTF-8 text")
    })
}

/// The line and column after a text, both from 1.
fn end_of(text: &str) -> (usize, usize) {
    let text = text.trim_start_matches('\u{feff}');
    let column = text.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (text.matches('\n').count() + 1, column)
}
