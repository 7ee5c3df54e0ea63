//! A script in a folder, ready to be followed, and what was asked of those who followed it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::{Action, Script};
use crate::assigned::VERIFICATION;

/// An agent with its script.
#[derive(Debug, Clone)]
pub struct ScriptedAgent {
    folder: PathBuf,
}

/// What an agent was started for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// To work.
    Turn,
    /// To look at finished work.
    Verification,
}

impl Kind {
    /// The folder of what it was told.
    fn folder(self) -> &'static str {
        match self {
            Self::Turn => "prompts",
            Self::Verification => "verifications",
        }
    }

    /// What a prompt is for.
    pub(super) fn of(prompt: &[u8]) -> Self {
        if prompt.starts_with(VERIFICATION.as_bytes()) {
            Self::Verification
        } else {
            Self::Turn
        }
    }
}

/// How an agent was called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// The words after the folder of its script.
    pub arguments: Vec<String>,
    /// The folder that it was started in.
    pub folder: PathBuf,
    /// Its environment, as far as that is text.
    pub environment: BTreeMap<String, String>,
}

impl Script {
    /// Puts the script into a folder, which is made; what an earlier one left there is gone. The folder should not be
    /// within the project that the agent works in.
    #[must_use]
    #[track_caller]
    pub fn install(&self, folder: &Path) -> ScriptedAgent {
        if folder.exists() {
            std::fs::remove_dir_all(folder).unwrap();
        }
        for kind in [Kind::Turn, Kind::Verification] {
            std::fs::create_dir_all(folder.join(kind.folder())).unwrap();
        }
        replace(&folder.join("script.json"), &serde_json::to_vec_pretty(self).unwrap());
        ScriptedAgent {
            folder: folder.to_owned(),
        }
    }
}

impl ScriptedAgent {
    /// The words that start it; the prompt goes to its standard input.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        [program(), &self.folder]
            .map(|path| path.to_str().unwrap().to_owned())
            .to_vec()
    }

    /// The words that start it, as one line.
    #[must_use]
    pub fn command(&self) -> String {
        self.words()
            .iter()
            .map(|word| format!("'{word}'"))
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// The words that start it with the prompt as a file.
    #[must_use]
    pub fn words_with_prompt_file(&self) -> Vec<String> {
        let mut words = self.words();
        words.extend(["--prompt-file".to_owned(), "{prompt_file}".to_owned()]);
        words
    }

    /// Lets it look at finished work in these ways from now on, one after the other; the last is repeated for ever.
    #[track_caller]
    pub fn look(&self, looks: impl IntoIterator<Item = Vec<Action>>) {
        let file = self.folder.join("script.json");
        let mut script: Script = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        script.verifications = looks.into_iter().collect();
        replace(&file, &serde_json::to_vec_pretty(&script).unwrap());
    }

    /// How many turns were begun.
    #[must_use]
    pub fn turns(&self) -> usize {
        self.prompts().len()
    }

    /// Every prompt that it got, the first first.
    #[must_use]
    pub fn prompts(&self) -> Vec<String> {
        self.told(Kind::Turn)
    }

    /// Every prompt by which it was asked to look at finished work, the first first.
    #[must_use]
    pub fn verifications(&self) -> Vec<String> {
        self.told(Kind::Verification)
    }

    fn told(&self, kind: Kind) -> Vec<String> {
        (1..)
            .map_while(|turn| std::fs::read_to_string(prompt_file(&self.folder, kind, turn)).ok())
            .collect()
    }

    /// The prompt of a turn, from 1.
    #[must_use]
    #[track_caller]
    pub fn prompt(&self, turn: usize) -> String {
        let file = prompt_file(&self.folder, Kind::Turn, turn);
        std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("turn {turn} has no prompt: {error}"))
    }

    /// How it was called for a turn, from 1.
    #[must_use]
    #[track_caller]
    pub fn call(&self, turn: usize) -> Call {
        serde_json::from_slice(&std::fs::read(call_file(&self.folder, Kind::Turn, turn)).unwrap()).unwrap()
    }

    /// How it was called for a look at finished work, from 1.
    #[must_use]
    #[track_caller]
    pub fn verification_call(&self, turn: usize) -> Call {
        let file = call_file(&self.folder, Kind::Verification, turn);
        serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap()
    }
}

/// The file of a turn's prompt.
pub(super) fn prompt_file(folder: &Path, kind: Kind, turn: usize) -> PathBuf {
    folder.join(kind.folder()).join(format!("{turn:03}.md"))
}

/// The file of how a turn was called.
pub(super) fn call_file(folder: &Path, kind: Kind, turn: usize) -> PathBuf {
    folder.join(kind.folder()).join(format!("{turn:03}.json"))
}

/// Writes a file so that nobody sees half of it.
pub(super) fn replace(file: &Path, bytes: &[u8]) {
    let new = file.with_extension("new");
    std::fs::File::create(&new)
        .and_then(|mut file| std::io::Write::write_all(&mut file, bytes))
        .unwrap();
    std::fs::rename(new, file).unwrap();
}

/// The path of the agent's program. It stands beside the tests; it is built when it is not there or older than its source,
/// as when only the tests of one other crate are run.
#[must_use]
pub fn program() -> &'static Path {
    static PROGRAM: std::sync::OnceLock<PathBuf> = std::sync::OnceLock::new();
    PROGRAM.get_or_init(|| {
        // Tests are built into `deps` of the folder that programs are built into.
        let test = std::env::current_exe().unwrap();
        let mut folder = test.parent().unwrap();
        if folder.ends_with("deps") || folder.ends_with("examples") {
            folder = folder.parent().unwrap();
        }
        let program = folder.join("scripted-agent");
        if changed(&program).is_none_or(|built| built < newest(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"))) {
            build(folder);
        }
        program
    })
}

fn build(folder: &Path) {
    let profile = match folder.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(profile) => profile,
    };
    let status = ralph_process::command(option_env!("CARGO").unwrap_or("cargo"))
        .args(["build", "--quiet", "--offline", "--package", "ralph-testkit"])
        .args(["--bin", "scripted-agent", "--profile", profile, "--target-dir"])
        .arg(folder.parent().unwrap())
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status();
    assert!(status.unwrap().success(), "the scripted agent could not be built");
}

fn changed(file: &Path) -> Option<SystemTime> {
    std::fs::metadata(file).and_then(|metadata| metadata.modified()).ok()
}

fn newest(folder: &Path) -> SystemTime {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let times = entries.map(|path| {
        if path.is_dir() {
            newest(&path)
        } else {
            changed(&path).unwrap()
        }
    });
    times.max().unwrap_or(SystemTime::UNIX_EPOCH)
}
