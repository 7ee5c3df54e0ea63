//! Writes the configuration for `init`, including settings of earlier tools.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use ralph_agent::Driver;
use ralph_model::config::{CommandLine, Override, from_config_sh, template};
use ralph_notes::read_file;
use toml_edit::Array;

use super::detect::test_commands;
use super::{Done, write_if_missing};
use crate::commands::config;
use crate::commands::run::confirm::remember_settings;
use crate::context::Context;
use crate::error::CommandError;
use crate::paths;
use crate::probe::{self, Probe};
use crate::programs::find_program;
use crate::ralph_yml::from_ralph_yml;

/// The configured commands, for display.
pub(super) struct Commands {
    pub(super) gates: Vec<String>,
    /// Commands that prepare a new checkout.
    pub(super) setup: Vec<String>,
}

/// Writes the configuration if there is none. Written commands count as confirmed, because the user ran `init` and sees
/// them.
pub(super) fn write_config(
    context: &Context<'_>,
    agent: Option<&str>,
    done: &mut Done,
) -> Result<Commands, CommandError> {
    let root = &context.project.root;
    let path = root.join(paths::CONFIG);
    let agent = agent.map_or(Ok(Vec::new()), |agent| agent_settings(context, agent))?;
    if path.exists() {
        for setting in &agent {
            config::set_in(context, &path, setting)?;
        }
        done.wrote.extend((!agent.is_empty()).then(|| paths::CONFIG.to_owned()));
        confirm(context, &agent)?;
        return Ok(Commands {
            gates: context.configured.verify.commands.clone(),
            setup: context.configured.worktree.setup.clone(),
        });
    }
    let mut overrides: Vec<Override> = agent;
    if let Some(text) = read_text(context, paths::ORCHESTRATOR_CONFIG)? {
        match from_ralph_yml(&text) {
            Ok(taken) => done
                .lines
                .extend(take_over(paths::ORCHESTRATOR_CONFIG, taken, &mut overrides)),
            Err(reason) => context
                .ui
                .warning(&format!("{} was not imported: {reason}.", paths::ORCHESTRATOR_CONFIG)),
        }
    }
    if let Some(text) = read_text(context, paths::OLD_SETTINGS)? {
        let taken = from_config_sh(&text);
        for skipped in &taken.skipped {
            context.ui.warning(&format!(
                "{}:{}: {} was not imported: {}.",
                paths::OLD_SETTINGS,
                skipped.line,
                skipped.variable,
                skipped.reason
            ));
        }
        let taken = take_over(paths::OLD_SETTINGS, taken.overrides, &mut overrides);
        done.lines.extend(taken);
    }
    let gates = test_commands(root);
    let commands = Array::from_iter(gates.iter().map(String::as_str));
    let verify = Override::new("verify", "commands", commands).ok();
    overrides.extend(verify.filter(|_| !gates.is_empty()));
    overrides.extend(checkout_needs(root));
    if write_if_missing(&path, &template(&overrides))? {
        done.wrote.push(paths::CONFIG.to_owned());
        confirm(context, &overrides)?;
    }
    let setup = needs_of(root, "setup").map(str::to_owned).collect();
    Ok(Commands { gates, setup })
}

fn confirm(context: &Context<'_>, written: &[Override]) -> Result<(), CommandError> {
    let keys: Vec<String> = written
        .iter()
        .map(|setting| format!("{}.{}", setting.section(), setting.key()))
        .collect();
    remember_settings(context, &keys)
}

/// The agent's command, and its kind if the program's name does not determine it. Such a program is started once.
fn agent_settings(context: &Context<'_>, agent: &str) -> Result<Vec<Override>, CommandError> {
    let command = CommandLine::Line(agent.to_owned());
    let refused = |why: String| CommandError::usage(format!("--agent {agent:?}: {why}"));
    let driver = Driver::of(None, &command).map_err(|error| refused(error.to_string()))?;
    let words = command.words().unwrap_or_default();
    find_program(
        words.first().map(String::as_str).unwrap_or_default(),
        &context.project.root,
    )
    .map_err(refused)?;
    let mut settings = vec![("command", agent)];
    let is_unknown = driver == Driver::Command;
    let root = &context.project.root;
    if is_unknown {
        let seconds = probe::LIMIT.as_secs();
        context.ui.status(&format!(
            "Starting {agent} to check whether it speaks ACP (at most {seconds}s) …"
        ));
    }
    if is_unknown && Probe::new(context)?.speaks_acp(root, &command, &AtomicBool::new(false))? {
        settings.push(("kind", Driver::Acp.word()));
    }
    let settings = settings
        .into_iter()
        .map(|(key, value)| Override::new("agent", key, value));
    settings
        .collect::<Result<_, _>>()
        .map_err(|refusal| CommandError::usage(refusal.to_string()))
}

/// Files that show what a checkout needs beside tracked files: the file, the key of `[worktree]`, and its item.
const CHECKOUT_NEEDS: [(&str, &str, &str); 5] = [
    (".env", "copy", ".env"),
    ("Cargo.toml", "link", "target/"),
    ("package-lock.json", "setup", "npm ci"),
    ("pnpm-lock.yaml", "setup", "pnpm install --frozen-lockfile"),
    ("yarn.lock", "setup", "yarn install --frozen-lockfile"),
];

fn checkout_needs(root: &Path) -> Vec<Override> {
    let keys = ["copy", "link", "setup"].into_iter();
    let needs = keys.filter_map(|key| {
        let items = Array::from_iter(needs_of(root, key));
        Override::new("worktree", key, items.clone())
            .ok()
            .filter(|_| !items.is_empty())
    });
    needs.collect()
}

/// The items of a `[worktree]` key that this project needs.
fn needs_of<'a>(root: &'a Path, key: &'a str) -> impl Iterator<Item = &'static str> + 'a {
    let found = CHECKOUT_NEEDS.iter();
    let found = found.filter(move |(file, of, _)| *of == key && root.join(file).exists());
    found.map(|(_, _, item)| *item)
}

fn take_over(from: &str, taken: Vec<Override>, overrides: &mut Vec<Override>) -> Option<String> {
    if taken.is_empty() {
        return None;
    }
    let keys: Vec<String> = taken
        .iter()
        .map(|setting| format!("{}.{} = {}", setting.section(), setting.key(), setting.value()))
        .collect();
    overrides.extend(taken);
    Some(format!("imported from {from}: {}", keys.join(", ")))
}

fn read_text(context: &Context<'_>, name: &str) -> Result<Option<String>, CommandError> {
    let Some(text) = read_file(&context.project.root.join(name))? else {
        return Ok(None);
    };
    match String::from_utf8(text.bytes) {
        Ok(text) => Ok(Some(text)),
        Err(_) => {
            context
                .ui
                .warning(&format!("{name} was not imported: it is not UTF-8 text."));
            Ok(None)
        }
    }
}
