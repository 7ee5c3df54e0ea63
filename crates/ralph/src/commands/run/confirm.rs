//! Commands that come with a project are shown and confirmed before they run for the first time: whoever clones a project
//! has not read its configuration. What was confirmed is kept in the user's own folder, not in the project.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ralph_model::config::{Config, Permissions};
use ralph_notes::{Patches, create_folder, read_file};

use crate::changed_file::change_file;
use crate::context::{Context, read_config};
use crate::env;
use crate::error::CommandError;
use crate::paths;

/// What was confirmed: for every project the digests of its commands.
type Confirmed = BTreeMap<String, Vec<String>>;

/// Asks for the commands of the configuration, unless they were confirmed before or the person says so now.
pub(super) fn confirm_commands(context: &Context<'_>, uses_agent: bool, trust: bool) -> Result<(), CommandError> {
    let commands = commands_of_file(context, uses_agent)?;
    if commands.is_empty() {
        return Ok(());
    }
    let project = context.project.root.to_string_lossy().into_owned();
    let digest = digest(&commands);
    let store = confirmed_file()?;
    let known = read(&store)?;
    if known.get(&project).is_some_and(|digests| digests.contains(&digest)) {
        return Ok(());
    }
    if !trust {
        ask(context, &commands)?;
    }
    remember(context, &store, &project, &digest)
}

fn ask(context: &Context<'_>, commands: &[String]) -> Result<(), CommandError> {
    let ui = context.ui;
    ui.status(&format!("{} says what will be run here:", paths::CONFIG));
    for command in commands {
        ui.status(&format!("  {}", ralph_model::preview(command, 200)));
    }
    match ui.confirm("Run them?")? {
        Some(true) => Ok(()),
        Some(false) => Err(CommandError::new("it was not confirmed, so nothing was started")),
        None => Err(CommandError::new(
            "this was never confirmed, and there is no terminal to ask at; nothing was started",
        )
        .hint("`ralph run --trust` confirms it, until it changes")),
    }
}

/// The commands that the project's own file names; those of the environment and of flags are the person's.
fn commands_of_file(context: &Context<'_>, uses_agent: bool) -> Result<Vec<String>, CommandError> {
    let Some(text) = read_config(&context.project)? else {
        return Ok(Vec::new());
    };
    let loaded = Config::load(Some((paths::CONFIG, &text)), &|_| None)?;
    let agent = loaded.config.agent.command.filter(|_| uses_agent);
    let agent = agent.map(|command| format!("agent: {command}"));
    // An agent that asks nobody runs whatever it likes, which is as much as any command.
    let full = loaded.config.agent.permissions == Permissions::Full;
    let full = full.then(|| "agent: may do everything without asking (permissions = \"full\")".to_owned());
    let gates = loaded.config.verify.commands.iter().map(|gate| format!("gate: {gate}"));
    Ok(agent.into_iter().chain(full).chain(gates).collect())
}

fn digest(commands: &[String]) -> String {
    // Length first, so that two lists never run together to the same text.
    let text: String = commands
        .iter()
        .map(|command| format!("{} {command}\n", command.len()))
        .collect();
    format!("{:032x}", xxhash_rust::xxh3::xxh3_128(text.as_bytes()))
}

fn confirmed_file() -> Result<PathBuf, CommandError> {
    let folder = env::state_folder().ok_or_else(|| {
        CommandError::new("there is no folder to remember confirmed commands in, since HOME is not set")
            .hint("set HOME or XDG_STATE_HOME")
    })?;
    Ok(folder.join("ralph").join("confirmed.json"))
}

fn read(file: &Path) -> Result<Confirmed, CommandError> {
    let text = read_file(file)?.map(|text| text.bytes).unwrap_or_default();
    // One that is broken confirms nothing; what is confirmed next is written over it.
    Ok(serde_json::from_slice(&text).unwrap_or_default())
}

fn remember(context: &Context<'_>, file: &Path, project: &str, digest: &str) -> Result<(), CommandError> {
    if let Some(folder) = file.parent() {
        create_folder(folder)?;
    }
    change_file(file, &context.patience(), |bytes| {
        let mut known: Confirmed = serde_json::from_slice(bytes).unwrap_or_default();
        known.entry(project.to_owned()).or_default().push(digest.to_owned());
        let text = serde_json::to_string_pretty(&known)?;
        Ok(Patches::whole(bytes, format!("{text}\n").into_bytes()))
    })
}
