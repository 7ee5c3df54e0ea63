//! A script installed in a folder, and the prompts and calls that its agents recorded.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::{Action, Script};
use crate::assigned::VERIFICATION;

/// An installed scripted agent.
#[derive(Debug, Clone)]
pub struct ScriptedAgent {
    folder: PathBuf,
}

/// What an agent was started for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionKind {
    Turn,
    Verification,
}

impl SessionKind {
    /// The folder of the recorded prompts.
    fn folder(self) -> &'static str {
        match self {
            Self::Turn => "prompts",
            Self::Verification => "verifications",
        }
    }

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
    /// The arguments after the script folder.
    pub arguments: Vec<String>,
    /// The working directory.
    pub folder: PathBuf,
    /// The environment variables that are valid UTF-8.
    pub environment: BTreeMap<String, String>,
}

impl Script {
    /// Installs the script in a folder, replacing an earlier one. The folder should be outside the agent's project.
    #[must_use]
    #[track_caller]
    pub fn install(&self, folder: &Path) -> ScriptedAgent {
        if folder.exists() {
            std::fs::remove_dir_all(folder).unwrap();
        }
        for kind in [SessionKind::Turn, SessionKind::Verification] {
            std::fs::create_dir_all(folder.join(kind.folder())).unwrap();
        }
        replace(&folder.join("script.json"), &serde_json::to_vec_pretty(self).unwrap());
        ScriptedAgent {
            folder: folder.to_owned(),
        }
    }
}

impl ScriptedAgent {
    /// The command that starts the agent; it reads the prompt from standard input.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        [program(), &self.folder]
            .map(|path| path.to_str().unwrap().to_owned())
            .to_vec()
    }

    /// The command as one line.
    #[must_use]
    pub fn command(&self) -> String {
        self.words()
            .iter()
            .map(|word| format!("'{word}'"))
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// The command that passes the prompt as a file.
    #[must_use]
    pub fn words_with_prompt_file(&self) -> Vec<String> {
        let mut words = self.words();
        words.extend(["--prompt-file".to_owned(), "{prompt_file}".to_owned()]);
        words
    }

    /// Replaces the verifier sessions; the last one repeats.
    #[track_caller]
    pub fn set_verifications(&self, verifications: impl IntoIterator<Item = Vec<Action>>) {
        let file = self.folder.join("script.json");
        let mut script: Script = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        script.verifications = verifications.into_iter().collect();
        replace(&file, &serde_json::to_vec_pretty(&script).unwrap());
    }

    /// How many turns were started.
    #[must_use]
    pub fn turns(&self) -> usize {
        self.prompts().len()
    }

    /// The prompts of all turns, in order.
    #[must_use]
    pub fn prompts(&self) -> Vec<String> {
        self.recorded_prompts(SessionKind::Turn)
    }

    /// The prompts of all verifier sessions, in order.
    #[must_use]
    pub fn verifications(&self) -> Vec<String> {
        self.recorded_prompts(SessionKind::Verification)
    }

    fn recorded_prompts(&self, kind: SessionKind) -> Vec<String> {
        (1..)
            .map_while(|turn| std::fs::read_to_string(prompt_file(&self.folder, kind, turn)).ok())
            .collect()
    }

    /// The prompt of a turn, from 1.
    #[must_use]
    #[track_caller]
    pub fn prompt(&self, turn: usize) -> String {
        let file = prompt_file(&self.folder, SessionKind::Turn, turn);
        std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("turn {turn} has no prompt: {error}"))
    }

    /// The call of a turn, from 1.
    #[must_use]
    #[track_caller]
    pub fn call(&self, turn: usize) -> Call {
        serde_json::from_slice(&std::fs::read(call_file(&self.folder, SessionKind::Turn, turn)).unwrap()).unwrap()
    }

    /// The call of a verifier session, from 1.
    #[must_use]
    #[track_caller]
    pub fn verification_call(&self, turn: usize) -> Call {
        let file = call_file(&self.folder, SessionKind::Verification, turn);
        serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap()
    }
}

pub(super) fn prompt_file(folder: &Path, kind: SessionKind, turn: usize) -> PathBuf {
    folder.join(kind.folder()).join(format!("{turn:03}.md"))
}

pub(super) fn call_file(folder: &Path, kind: SessionKind, turn: usize) -> PathBuf {
    folder.join(kind.folder()).join(format!("{turn:03}.json"))
}

/// Replaces a file atomically.
pub(super) fn replace(file: &Path, bytes: &[u8]) {
    let new = file.with_extension("new");
    std::fs::File::create(&new)
        .and_then(|mut file| std::io::Write::write_all(&mut file, bytes))
        .unwrap();
    std::fs::rename(new, file).unwrap();
}

/// The path of the agent's program, next to the test binaries. It is built if it is missing or older than its source,
/// as when only the tests of another crate are run.
#[must_use]
pub fn program() -> &'static Path {
    static PROGRAM: std::sync::OnceLock<PathBuf> = std::sync::OnceLock::new();
    PROGRAM.get_or_init(|| {
        // Test binaries are in the `deps` folder below the programs.
        let test = std::env::current_exe().unwrap();
        let mut folder = test.parent().unwrap();
        if folder.ends_with("deps") || folder.ends_with("examples") {
            folder = folder.parent().unwrap();
        }
        let program = folder.join("scripted-agent");
        if modified_at(&program)
            .is_none_or(|built| built < newest_in(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")))
        {
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

fn modified_at(file: &Path) -> Option<SystemTime> {
    std::fs::metadata(file).and_then(|metadata| metadata.modified()).ok()
}

fn newest_in(folder: &Path) -> SystemTime {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let times = entries.map(|path| {
        if path.is_dir() {
            newest_in(&path)
        } else {
            modified_at(&path).unwrap()
        }
    });
    times.max().unwrap_or(SystemTime::UNIX_EPOCH)
}
