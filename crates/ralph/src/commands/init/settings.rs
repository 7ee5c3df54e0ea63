//! The configuration that `init` writes, with what earlier tools had set.

use std::path::Path;

use ralph_agent::first_on_path;
use ralph_model::config::{Override, from_config_sh, template};
use ralph_notes::read_file;
use toml_edit::Array;

use super::write_if_missing;
use crate::context::Context;
use crate::env;
use crate::error::CommandError;
use crate::paths;
use crate::takeover::from_ralph_yml;

/// Writes the configuration if there is none, and says what it did.
pub(super) fn write_config(context: &Context<'_>) -> Result<Vec<String>, CommandError> {
    let root = &context.project.root;
    let path = root.join(paths::CONFIG);
    if path.exists() {
        return Ok(Vec::new());
    }
    let mut done = Vec::new();
    let mut overrides: Vec<Override> = Vec::new();
    if let Some(text) = read_text(context, paths::ORCHESTRATOR_CONFIG)? {
        match from_ralph_yml(&text) {
            Ok(taken) => done.extend(take_over(paths::ORCHESTRATOR_CONFIG, taken, &mut overrides)),
            Err(reason) => context
                .ui
                .warning(&format!("{} was not taken over: {reason}.", paths::ORCHESTRATOR_CONFIG)),
        }
    }
    if let Some(text) = read_text(context, paths::OLD_SETTINGS)? {
        let taken = from_config_sh(&text);
        for skipped in &taken.skipped {
            context.ui.warning(&format!(
                "{}:{}: {} was not taken over: {}.",
                paths::OLD_SETTINGS,
                skipped.line,
                skipped.variable,
                skipped.reason
            ));
        }
        done.extend(take_over(paths::OLD_SETTINGS, taken.overrides, &mut overrides));
    }
    overrides.extend(models_of_claude());
    overrides.extend(checkout_needs(root));
    if write_if_missing(&path, &template(&overrides))? {
        done.insert(0, format!("created {}", paths::CONFIG));
    }
    Ok(done)
}

/// The models of Claude Code, where it is the agent that a run would take: only of it are they known.
fn models_of_claude() -> Option<Override> {
    let (agent, _) = first_on_path(&env::program_folders())?;
    let models = Array::from_iter(agent.models.iter().copied());
    Override::new("agent", "models", models)
        .ok()
        .filter(|_| !agent.models.is_empty())
}

/// The files that show what a project's checkouts need beside what git tracks: the key of `[worktree]`, and its item.
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
        let found = CHECKOUT_NEEDS
            .iter()
            .filter(|(file, of, _)| *of == key && root.join(file).exists());
        let items = Array::from_iter(found.map(|(_, _, item)| *item));
        Override::new("worktree", key, items.clone())
            .ok()
            .filter(|_| !items.is_empty())
    });
    needs.collect()
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
    Some(format!("took over from {from}: {}", keys.join(", ")))
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
                .warning(&format!("{name} was not taken over: it is not UTF-8 text."));
            Ok(None)
        }
    }
}
