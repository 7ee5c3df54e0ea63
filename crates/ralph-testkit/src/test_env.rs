//! A project in a temporary folder, and `ralph` run in it as a user would.

use std::fs::Permissions;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The current time for the command, unless a test overrides it.
const NOW: &str = "2025-01-20T11:20:00Z";

/// The uid of the unprivileged user `nobody`.
const NOBODY: u32 = 65534;

/// A project in a temporary folder, which is removed on drop.
#[derive(Debug)]
pub struct TestEnv {
    folder: tempfile::TempDir,
    program: PathBuf,
}

impl TestEnv {
    /// An empty project folder; `program` is the path of the command.
    #[must_use]
    pub fn new(program: &str) -> Self {
        let folder = tempfile::Builder::new().prefix("ralph-test-").tempdir().unwrap();
        for name in ["project", "home", "tmp"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        Self {
            folder,
            program: program.into(),
        }
    }

    #[must_use]
    pub fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    /// A path in the project.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.project().join(name)
    }

    /// A path next to the project, inside the temporary folder.
    #[must_use]
    pub fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Everything in the project except `.git`, sorted: files with their bytes, folders and links with their kind.
    #[must_use]
    pub fn tree(&self) -> Vec<(String, Vec<u8>)> {
        let mut found = Vec::new();
        collect(&self.project(), "", &mut found);
        found.sort();
        found
    }

    /// The temporary files and folders that the command left behind.
    #[must_use]
    pub fn left_behind(&self) -> Vec<String> {
        let mut found = Vec::new();
        collect(&self.beside("tmp"), "", &mut found);
        found.into_iter().map(|(name, _)| name).collect()
    }

    #[must_use]
    #[track_caller]
    pub fn read(&self, name: &str) -> String {
        String::from_utf8(std::fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))).unwrap()
    }

    /// Writes a file of the project in place, as an editor may, and creates its folders.
    #[track_caller]
    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        save_in_place(&self.path(name), text.as_ref());
    }

    /// `ralph` with these arguments, to be run in the project.
    #[must_use]
    pub fn ralph<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Invocation {
        let mut command = ralph_process::command(&self.program);
        command.args(arguments);
        self.invocation(command)
    }

    /// A shell script, to be run in the project; `$RALPH` is the path of the command.
    #[must_use]
    pub fn sh(&self, script: &str) -> Invocation {
        let mut command = ralph_process::command("sh");
        command.args(["-c", script]);
        self.invocation(command).env("RALPH", &self.program)
    }

    /// The command as a user who is subject to file modes: the current user, or `nobody` when that is root.
    #[must_use]
    pub fn ralph_as_plain_user<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Invocation {
        if std::fs::metadata(self.folder.path()).unwrap().uid() != 0 {
            return self.ralph(arguments);
        }
        // `nobody` may lack access to the build folder.
        let copy = self.beside("ralph");
        if !copy.exists() {
            // Use `cp`: if another test forks while this process writes the copy, executing it fails with ETXTBSY.
            let status = ralph_process::command("cp").arg(&self.program).arg(&copy).status();
            assert!(status.unwrap().success());
        }
        std::fs::set_permissions(self.folder.path(), Permissions::from_mode(0o755)).unwrap();
        let mut command = ralph_process::command("setpriv");
        command
            .arg(format!("--reuid={NOBODY}"))
            .arg(format!("--regid={NOBODY}"))
            .arg("--clear-groups")
            .arg(&copy)
            .args(arguments);
        self.invocation(command)
    }

    /// Makes the user of [`TestEnv::ralph_as_plain_user`] the owner of a project file.
    pub fn give_to_plain_user(&self, name: &str) {
        if std::fs::metadata(self.folder.path()).unwrap().uid() == 0 {
            std::os::unix::fs::chown(self.path(name), Some(NOBODY), Some(NOBODY)).unwrap();
        }
    }

    fn invocation(&self, mut command: Command) -> Invocation {
        command
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.beside("home"))
            .env("TMPDIR", self.beside("tmp"))
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
        self.git_in(&self.project(), arguments)
    }

    /// Like [`TestEnv::git`], in another folder.
    #[track_caller]
    pub fn git_in<'a>(&self, folder: &Path, arguments: impl IntoIterator<Item = &'a str>) -> String {
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
            .current_dir(folder)
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

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// The exit code, or none if a signal ended it.
    pub code: Option<i32>,
    /// Standard output, with the temporary folder's path as `[TMP]`.
    pub stdout: String,
    /// Standard error, with the temporary folder's path as `[TMP]`.
    pub stderr: String,
}

impl Finished {
    /// Checks that the command succeeded, and that its output contains these texts in this order, first those of
    /// standard output.
    #[track_caller]
    pub fn printed(&self, texts: &[&str]) {
        assert_eq!(self.code, Some(0), "{self}");
        self.contains(&format!("{}{}", self.stdout, self.stderr), texts);
    }

    /// Checks that the command failed with this exit code and printed no data, and that its messages contain these
    /// texts in this order.
    #[track_caller]
    pub fn refused(&self, code: i32, texts: &[&str]) {
        assert_eq!((self.code, self.stdout.as_str()), (Some(code), ""), "{self}");
        self.contains(&self.stderr, texts);
    }

    #[track_caller]
    fn contains(&self, output: &str, texts: &[&str]) {
        let mut rest = output;
        for text in texts {
            let Some((_, after)) = rest.split_once(text) else {
                panic!("{text:?} is missing or out of order in\n{self}");
            };
            rest = after;
        }
    }
}

impl Invocation {
    /// Sets a variable; `ralph` treats an empty value as unset.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    #[must_use]
    pub fn folder(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// Uses the real clock and real randomness.
    #[must_use]
    pub fn unfixed(mut self) -> Self {
        self.command.env_remove("RALPH_NOW").env_remove("RALPH_SEED");
        self
    }

    /// Sets standard input.
    #[must_use]
    pub fn input(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.input = input.into();
        self
    }

    /// The underlying command, for anything this type does not support.
    #[must_use]
    pub fn command(self) -> Command {
        self.command
    }

    /// Starts the command without waiting for it.
    #[must_use]
    pub fn start(mut self) -> Child {
        self.command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command starts")
    }

    /// Runs the command to completion.
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
        // A command that does not read its input may close the pipe.
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

fn collect(folder: &Path, prefix: &str, found: &mut Vec<(String, Vec<u8>)>) {
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if name == ".git" {
            continue;
        }
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            found.push((format!("{name}/"), Vec::new()));
            collect(&entry.path(), &format!("{name}/"), found);
        } else if kind.is_symlink() {
            found.push((name, b"a link".to_vec()));
        } else {
            found.push((name, std::fs::read(entry.path()).unwrap()));
        }
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
