//! A project in a temporary folder, and the command run in it as a user would.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The moment that the command takes for the present, unless a test says otherwise.
const NOW: &str = "2025-01-20T11:20:00Z";

/// A project in a temporary folder that goes with this value.
#[derive(Debug)]
pub struct TestEnv {
    folder: tempfile::TempDir,
    program: PathBuf,
}

impl TestEnv {
    /// A project folder without anything in it; `program` is the path of the command.
    #[must_use]
    pub fn new(program: &str) -> Self {
        let folder = tempfile::Builder::new().prefix("ralph-test-").tempdir().unwrap();
        for name in ["project", "home"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        Self {
            folder,
            program: program.into(),
        }
    }

    /// The project's folder.
    #[must_use]
    pub fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    /// A path in the project.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.project().join(name)
    }

    /// What a file of the project holds.
    #[must_use]
    #[track_caller]
    pub fn read(&self, name: &str) -> String {
        String::from_utf8(std::fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))).unwrap()
    }

    /// Writes a file of the project in place, as an editor may; its folders are made.
    #[track_caller]
    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        save_in_place(&self.path(name), text.as_ref());
    }

    /// The command with these arguments, to be run in the project.
    #[must_use]
    pub fn ralph<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Invocation {
        let mut command = ralph_process::command(&self.program);
        command
            .args(arguments)
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.folder.path().join("home"))
            .env("LANG", "C.UTF-8")
            .env("RALPH_NOW", NOW)
            .env("RALPH_SEED", "1")
            .current_dir(self.project());
        Invocation {
            command,
            input: Vec::new(),
            hidden: self.folder.path().to_owned(),
        }
    }

    /// Runs the command, checks that it succeeds, and returns what it printed.
    #[track_caller]
    pub fn ok<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> String {
        let finished = self.ralph(arguments).run();
        assert_eq!(finished.code, Some(0), "{}", finished.stderr);
        finished.stdout
    }

    /// Runs git in the project, checks that it succeeds, and returns what it printed.
    #[track_caller]
    pub fn git<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> String {
        let output = ralph_process::command("git")
            .args([
                "-c",
                "user.name=t",
                "-c",
                "user.email=t@example.com",
                "-c",
                "init.defaultBranch=main",
            ])
            .args(arguments)
            .env("HOME", self.folder.path().join("home"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .current_dir(self.project())
            .output()
            .expect("git is installed");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }
}

/// A command before it runs.
#[derive(Debug)]
pub struct Invocation {
    command: Command,
    input: Vec<u8>,
    hidden: PathBuf,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// Its exit code; none when a signal ended it.
    pub code: Option<i32>,
    /// What it printed, with the temporary folder's path as `[TMP]`.
    pub stdout: String,
    /// What it said, with the temporary folder's path as `[TMP]`.
    pub stderr: String,
}

impl Invocation {
    /// With a variable of its own; an empty value stands for one that is not set.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// In another folder.
    #[must_use]
    pub fn folder(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// With the machine's own clock and randomness.
    #[must_use]
    pub fn unfixed(mut self) -> Self {
        self.command.env_remove("RALPH_NOW").env_remove("RALPH_SEED");
        self
    }

    /// With this on standard input.
    #[must_use]
    pub fn input(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.input = input.into();
        self
    }

    /// The command itself, for what this type does not do.
    #[must_use]
    pub fn command(self) -> Command {
        self.command
    }

    /// Starts it and does not wait.
    #[must_use]
    pub fn start(mut self) -> Child {
        self.command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command starts")
    }

    /// Runs it to its end.
    #[must_use]
    pub fn run(mut self) -> Finished {
        let mut child = self
            .command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command starts");
        let mut stdin = child.stdin.take().unwrap();
        // A command that does not read its input closes the pipe, which is its right.
        let input = std::mem::take(&mut self.input);
        let writer = std::thread::spawn(move || stdin.write_all(&input).is_ok());
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        let hidden = self.hidden.to_string_lossy().into_owned();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().replace(&hidden, "[TMP]");
        Finished {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }
}

impl std::fmt::Display for Finished {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.code {
            Some(code) => writeln!(f, "exit {code}")?,
            None => writeln!(f, "ended by a signal")?,
        }
        if !self.stdout.is_empty() {
            write!(f, "--- stdout\n{}", self.stdout)?;
        }
        if !self.stderr.is_empty() {
            write!(f, "--- stderr\n{}", self.stderr)?;
        }
        Ok(())
    }
}

fn save_in_place(path: &Path, bytes: &[u8]) {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).unwrap();
    }
    std::fs::File::create(path)
        .and_then(|mut file| file.write_all(bytes))
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}
