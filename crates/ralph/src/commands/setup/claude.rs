//! `ralph setup claude`: a hook that gives Claude Code the notes at the beginning of a session, and a skill that explains
//! the commands.

mod hook_entry;
mod layout;
mod skill;

use std::path::Path;

use clap::Args;
use ralph_notes::read_file;

use super::change::{Change, remove_empty_folders};
use super::jsonc;
use crate::context::Context;
use crate::error::CommandError;
use crate::paths::{self, Project};
use crate::programs::{Program, find_ralph};
use hook_entry::{Change as HookChange, SettingsError};

/// Let Claude Code begin its sessions with this project's notes
///
/// Adds a hook to .claude/settings.json and the skill .claude/skills/ralph/SKILL.md, after having shown the exact change and
/// asked. Nothing else in these files changes, and --remove takes out what was put in.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph setup claude                # show the change, ask, write it
  ralph setup claude --dry-run      # only show it
  ralph setup claude --yes          # do not ask
  ralph setup claude --remove       # take it out again")]
pub(crate) struct ClaudeArgs {
    /// Do not ask
    #[arg(long)]
    yes: bool,
    /// Take out what setup has put in
    #[arg(long)]
    remove: bool,
    /// Show the change, and make none
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
}

/// How a part of the set-up stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// It is not there.
    Missing,
    /// It is there as this version writes it.
    InPlace,
    /// It is there as an earlier version wrote it.
    Outdated,
    /// It is there, and a person has changed it.
    Changed,
}

/// How the set-up of Claude Code stands in a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Standing {
    /// The hook in the settings.
    pub(crate) hook: Part,
    /// The skill.
    pub(crate) skill: Part,
    /// The line of the settings from which on Claude Code does not understand them, although people do.
    pub(crate) not_strict_from: Option<usize>,
    /// Which `ralph` the hook will run.
    pub(crate) program: Program,
}

/// Says how the set-up stands.
pub(crate) fn standing(project: &Project) -> Result<Standing, CommandError> {
    let settings = Settings::read(project)?;
    let (hook, not_strict) = match &settings.text {
        None => (Part::Missing, None),
        Some(text) => hook_entry::standing(text).map_err(|error| settings.failed(text, &error))?,
    };
    let line_of = |at| jsonc::place(settings.text.as_deref().unwrap_or_default(), at).0;
    Ok(Standing {
        hook,
        skill: skill::standing(read_text(project, paths::CLAUDE_SKILL)?.as_deref()),
        not_strict_from: not_strict.map(line_of),
        program: find_ralph(),
    })
}

pub(crate) fn cmd_claude(context: &Context<'_>, args: &ClaudeArgs) -> Result<(), CommandError> {
    for file in [paths::CLAUDE_SETTINGS, paths::CLAUDE_SKILL] {
        context.project.refuse_outside(&context.project.root.join(file))?;
    }
    let standing = standing(&context.project)?;
    let changes = if args.remove {
        removal(&context.project, &standing)?
    } else {
        addition(&context.project, &standing)?
    };
    report_changed(context, &standing, args);
    if changes.is_empty() {
        let line = if args.remove {
            "There is nothing to remove.\n"
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
        report_obstacles(context, &standing);
    }
    Ok(())
}

/// What has to change so that everything is in place; the hook comes last, when what it stands for is there.
fn addition(project: &Project, standing: &Standing) -> Result<Vec<Change>, CommandError> {
    let mut changes = Vec::new();
    if matches!(standing.skill, Part::Missing | Part::Outdated) {
        let before = read_text(project, paths::CLAUDE_SKILL)?;
        let verb = if before.is_some() { "updated" } else { "created" };
        changes.push(Change {
            name: paths::CLAUDE_SKILL,
            before,
            after: Some(skill::text()),
            done: format!("{verb} {}", paths::CLAUDE_SKILL),
        });
    }
    if matches!(standing.hook, Part::Missing | Part::Outdated) {
        let settings = Settings::read(project)?;
        let after = match &settings.text {
            None => hook_entry::new_file(),
            Some(text) => hook_entry::with_hook(text).map_err(|error| settings.failed(text, &error))?,
        };
        let verb = if standing.hook == Part::Missing {
            "added the hook to"
        } else {
            "updated the hook in"
        };
        changes.push(Change {
            name: paths::CLAUDE_SETTINGS,
            before: settings.text,
            after: Some(after),
            done: format!("{verb} {}", paths::CLAUDE_SETTINGS),
        });
    }
    Ok(changes)
}

/// What has to change so that nothing of ours is left; the hook goes first.
fn removal(project: &Project, standing: &Standing) -> Result<Vec<Change>, CommandError> {
    let mut changes = Vec::new();
    let settings = Settings::read(project)?;
    if standing.hook != Part::Missing
        && let Some(text) = &settings.text
    {
        let (after, done) = match hook_entry::without_hook(text).map_err(|error| settings.failed(text, &error))? {
            HookChange::Text(text) => (Some(text), "took the hook out of"),
            HookChange::NoFile => (None, "removed"),
        };
        changes.push(Change {
            name: paths::CLAUDE_SETTINGS,
            before: settings.text.clone(),
            after,
            done: format!("{done} {}", paths::CLAUDE_SETTINGS),
        });
    }
    if matches!(standing.skill, Part::InPlace | Part::Outdated) {
        changes.push(Change {
            name: paths::CLAUDE_SKILL,
            before: read_text(project, paths::CLAUDE_SKILL)?,
            after: None,
            done: format!("removed {}", paths::CLAUDE_SKILL),
        });
    }
    Ok(changes)
}

/// Makes the changes, after having asked where that is wanted.
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
        Some(false) => Err(CommandError::new("nothing was changed, as you said")),
        None => Err(CommandError::new("nothing was changed: there is no terminal to ask at")
            .hint("--yes makes the change without asking")),
    }
}

/// Says what is left alone because a person has changed it.
fn report_changed(context: &Context<'_>, standing: &Standing, args: &ClaudeArgs) {
    if standing.skill == Part::Changed {
        let name = paths::CLAUDE_SKILL;
        context
            .ui
            .warning(&format!("{name} was changed by hand, so it stays as it is."));
        let what = if args.remove {
            "remove it yourself"
        } else {
            "remove it first to get this version's"
        };
        context.ui.hint(&format!("{what}, if you do not need it any more."));
    }
    if standing.hook == Part::Changed && !args.remove {
        let name = paths::CLAUDE_SETTINGS;
        context.ui.warning(&format!(
            "the hook in {name} was written or changed by hand, so it stays as it is."
        ));
    }
}

/// Says what keeps the hook from working.
fn report_obstacles(context: &Context<'_>, standing: &Standing) {
    if let Some(line) = standing.not_strict_from {
        let name = paths::CLAUDE_SETTINGS;
        context.ui.warning(&format!(
            "{name}:{line}: Claude Code 2.1 does not read a file with comments or commas at the end, so the hook will not run."
        ));
        context
            .ui
            .hint("take them out; nothing else in the file has to change.");
    }
    let folder = std::env::current_exe()
        .ok()
        .and_then(|program| program.parent().map(Path::to_owned));
    let folder = folder.map_or_else(
        || "the folder of this program".to_owned(),
        |folder| folder.display().to_string(),
    );
    match &standing.program {
        Program::This => {}
        Program::Other(other) => {
            let other = other.display();
            context.ui.warning(&format!(
                "the hook calls `ralph`, and the one on PATH is {other}, not this program."
            ));
            context.ui.hint(&format!("put {folder} in front in PATH."));
        }
        Program::NotFound => {
            context
                .ui
                .warning("the hook calls `ralph`, and there is no such program on PATH, so it will not run.");
            context.ui.hint(&format!(
                "add {folder} to PATH, or install it with `cargo install --path crates/ralph`."
            ));
        }
    }
}

/// The settings of Claude Code.
struct Settings {
    text: Option<String>,
}

impl Settings {
    fn read(project: &Project) -> Result<Self, CommandError> {
        let text = read_text(project, paths::CLAUDE_SETTINGS)?;
        Ok(Self { text })
    }

    /// The error for settings that the hook cannot be put into.
    fn failed(&self, text: &str, error: &SettingsError) -> CommandError {
        let (line, column) = jsonc::place(text, error.at);
        let name = paths::CLAUDE_SETTINGS;
        CommandError::new(format!("{name}:{line}:{column}: {}; nothing was changed", error.what))
            .hint("mend it there and run the command again")
    }
}

/// Reads a file of the project as text.
fn read_text(project: &Project, name: &str) -> Result<Option<String>, CommandError> {
    let Some(file) = read_file(&project.root.join(name))? else {
        return Ok(None);
    };
    String::from_utf8(file.bytes).map(Some).map_err(|error| {
        let before = String::from_utf8_lossy(
            error
                .as_bytes()
                .get(..error.utf8_error().valid_up_to())
                .unwrap_or_default(),
        );
        let (line, column) = jsonc::place(&before, before.len());
        CommandError::new(format!(
            "{name}:{line}:{column}: it is not UTF-8 text; nothing was changed"
        ))
    })
}
