//! `ralph config`: shows the effective configuration and where each value comes from, and sets keys.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use ralph_memory::secrets::mask;
use ralph_model::config::{Confirm, Loaded, Origin, Override, keys, nearest, template, with_setting};
use ralph_notes::{Patches, create_folder};
use serde::Serialize;

use crate::changed_file::change_file;
use crate::commands::run::confirm::remember_settings;
use crate::context::Context;
use crate::error::CommandError;
use crate::paths;
use crate::settings;
use crate::table::Column;
use crate::ui::showing;

/// Show or change the configuration
///
/// Without a subcommand, lists every key with its value and its source: the environment, .ralph.toml, your user
/// configuration, or the default.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "Examples:
  ralph config
  ralph config --set-only                     # without the defaults
  ralph config set memories.budget 3000
  ralph config set verify.commands \"cargo test, cargo clippy\"
  ralph config set --user ui.color never")]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ConfigCommand>,
    /// Only show keys that are set
    #[arg(long)]
    set_only: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    Set(SetArgs),
}

/// Set a key in .ralph.toml or your user configuration
///
/// The rest of the file is kept. Write a list with commas or as TOML.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph config set limits.wall_clock 8h
  ralph config set agent.models '[\"haiku\", \"sonnet\", \"opus\"]'")]
pub(crate) struct SetArgs {
    /// Full name of the key, such as memories.budget
    key: String,
    /// New value
    #[arg(allow_hyphen_values = true)]
    value: String,
    /// Set it in your user configuration, for all projects
    #[arg(long)]
    user: bool,
}

#[derive(Serialize)]
struct Row {
    key: String,
    /// As TOML; `None` if it is not set.
    value: Option<String>,
    source: String,
}

const COLUMNS: [Column; 3] = [Column::whole("KEY"), Column::cut("VALUE"), Column::whole("SOURCE")];

pub(crate) fn cmd_config(context: &Context<'_>, args: &ConfigArgs) -> Result<(), CommandError> {
    if let Some(ConfigCommand::Set(set)) = &args.command {
        return cmd_set(context, set);
    }
    let loaded = settings::load(&context.project, context.ui)?;
    let mut rows = rows(&loaded);
    if args.set_only {
        rows.retain(|row| row.source != DEFAULT);
    }
    if args.json {
        return context.ui.json(&rows);
    }
    let cells: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            let value = row.value.clone().unwrap_or_else(|| "not set".to_owned());
            vec![row.key.clone(), value, row.source.clone()]
        })
        .collect();
    context.ui.table(&COLUMNS, &cells, &showing(rows.len(), "key", "keys"))
}

const DEFAULT: &str = "default";

fn rows(loaded: &Loaded) -> Vec<Row> {
    keys()
        .map(|key| {
            let name = key.full_name();
            let (value, source) = match loaded.set_by(&name) {
                None => (key.default_text().map(str::to_owned), DEFAULT.to_owned()),
                Some((origin, value)) => (
                    Some(mask(value).into_owned()),
                    source_of(origin, key.environment_name()),
                ),
            };
            let is_restricted = loaded.restricted.iter().any(|restricted| restricted.key == name);
            let note = if is_restricted { " (if confirmed)" } else { "" };
            Row {
                key: name,
                value,
                source: format!("{source}{note}"),
            }
        })
        .collect()
}

fn source_of(origin: Origin, variable: String) -> String {
    match origin {
        Origin::Environment => variable,
        Origin::Project => paths::CONFIG.to_owned(),
        Origin::User => "your configuration".to_owned(),
    }
}

fn cmd_set(context: &Context<'_>, args: &SetArgs) -> Result<(), CommandError> {
    let setting = Override::parse(&args.key, &args.value).map_err(|refusal| {
        let refused = CommandError::usage(refusal.to_string());
        let names: Vec<String> = keys().map(ralph_model::config::Key::full_name).collect();
        let known = names.contains(&args.key);
        match nearest(&args.key, names.iter().map(String::as_str)) {
            Some(near) if !known => refused.hint(format!("did you mean {near}?")),
            _ => refused.hint("`ralph config` lists all keys"),
        }
    })?;
    let is_users = |key: &ralph_model::config::Key| key.full_name() == args.key && key.confirm == Confirm::UserOnly;
    if !args.user && keys().any(is_users) {
        let refused = format!("{} counts only in your own configuration", args.key);
        return Err(CommandError::usage(refused).hint("add --user"));
    }
    let path = match args.user {
        true => user_file()?,
        false => context.project.root.join(paths::CONFIG),
    };
    set_in(context, &path, &setting)?;
    if !args.user {
        // The user typed the value, so it needs no confirmation.
        remember_settings(context, std::slice::from_ref(&args.key))?;
    }
    let shown = match args.user {
        true => path.display().to_string(),
        false => paths::CONFIG.to_owned(),
    };
    let line = format!("Set {} = {} in {shown}", args.key, setting.value());
    context.ui.data(&format!("{line}\n"))
}

fn user_file() -> Result<PathBuf, CommandError> {
    settings::user_file().ok_or_else(|| CommandError::new("there is no folder for your own configuration: set HOME"))
}

/// Sets a key in a file. A new project file is created with all defaults as comments.
pub(super) fn set_in(context: &Context<'_>, path: &Path, setting: &Override) -> Result<(), CommandError> {
    if let Some(folder) = path.parent() {
        create_folder(folder)?;
    }
    let is_projects = path.ends_with(paths::CONFIG);
    change_file(path, &context.patience(), |bytes| {
        let text = std::str::from_utf8(bytes)
            .map_err(|error| CommandError::new(format!("{} is not UTF-8 text: {error}", path.display())))?;
        let changed = match text {
            "" if is_projects => Some(template(std::slice::from_ref(setting))),
            text => with_setting(text, setting),
        };
        let changed = changed.ok_or_else(|| {
            let (section, key) = (setting.section(), setting.key());
            CommandError::new(format!("{section}.{key} cannot be set in {}", path.display()))
                .hint("the file is not valid TOML, or has a table of that name; an editor fixes it")
        })?;
        Ok(Patches::whole(bytes, changed.into_bytes()))
    })
}
