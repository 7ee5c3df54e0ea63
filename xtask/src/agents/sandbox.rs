//! A temporary project with its own home for an agent, removed on drop.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ralph_process::command;
use tempfile::TempDir;

use crate::child::output;
use crate::programs::target_folder;

/// The ralph id of every project.
const PROJECT_ID: &str = "00112233445566778899aabbccddeeff";

/// A temporary project with its home.
#[derive(Debug)]
pub(crate) struct Sandbox {
    folder: TempDir,
    programs: Vec<PathBuf>,
}

impl Sandbox {
    /// Creates a sandbox whose PATH starts with these folders.
    pub(crate) fn new(programs: Vec<PathBuf>) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("cannot create a project: {error}");
        // Not in the system's temporary folder, which agents' own sandboxes leave writable.
        let places = target_folder()?.join("agents/places");
        std::fs::create_dir_all(&places).map_err(failed)?;
        let mut folder = tempfile::Builder::new();
        let folder = folder.prefix("ralph-").tempdir_in(&places).map_err(failed)?;
        for name in ["project", "home", "tmp"] {
            std::fs::create_dir_all(folder.path().join(name)).map_err(failed)?;
        }
        Ok(Self { folder, programs })
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    /// Commits the project and sets its id, so that the folder of its checkouts is known.
    pub(crate) fn put_under_git(&self) -> Result<(), String> {
        let who = ["-c", "user.name=check", "-c", "user.email=check@localhost"];
        output(self.bare("git")?.args(["init", "--quiet"]))?;
        output(self.bare("git")?.args(["add", "--all"]))?;
        output(
            self.bare("git")?
                .args(who)
                .args(["commit", "--quiet", "--message", "The project"]),
        )?;
        let project = self.project().canonicalize().map_err(|error| error.to_string())?;
        self.write(".git/ralph/project", &format!("{PROJECT_ID}\n{}\n", project.display()))
    }

    pub(crate) fn checkout(&self, task: &str) -> PathBuf {
        let project = self.home().join(".local/state/ralph").join(PROJECT_ID);
        project.join("work").join(task)
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// Keeps the folder and returns its path.
    pub(crate) fn into_path(self) -> PathBuf {
        self.folder.keep()
    }

    /// A program in the project with a clean environment.
    pub(crate) fn bare(&self, program: &str) -> Result<Command, String> {
        let ours = self.programs.iter().map(PathBuf::as_path);
        let folders = ours.chain(["/usr/local/bin", "/usr/bin", "/bin"].map(Path::new));
        let path = std::env::join_paths(folders).map_err(|error| error.to_string())?;
        // `env` searches the same PATH as an agent does.
        let mut command = command("/usr/bin/env");
        command
            .arg(program)
            .env_clear()
            .env("PATH", path)
            .env("HOME", self.home())
            .env("TMPDIR", self.folder.path().join("tmp"))
            .env("TERM", "dumb")
            .current_dir(self.project())
            .stdin(Stdio::null());
        Ok(command)
    }

    pub(crate) fn read(&self, name: &str) -> Result<String, String> {
        std::fs::read_to_string(self.project().join(name)).map_err(|error| format!("cannot read {name}: {error}"))
    }

    /// Writes a file of the project and creates its folders.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<(), String> {
        write(&self.project().join(name), text)
    }

    /// Writes a file in the home and creates its folders.
    pub(crate) fn write_at_home(&self, name: &str, text: &str) -> Result<(), String> {
        write(&self.home().join(name), text)
    }

    /// Checks that no process has this home in its environment, which all descendants inherit.
    pub(crate) fn check_no_processes_left(&self) -> Result<(), String> {
        let mark = self.home().into_os_string().into_encoded_bytes();
        let processes = std::fs::read_dir("/proc").map_err(|error| format!("cannot read /proc: {error}"))?;
        for process in processes.flatten() {
            let environment = std::fs::read(process.path().join("environ")).unwrap_or_default();
            if environment.windows(mark.len()).any(|part| part == mark) {
                let pid = process.file_name();
                let words = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
                let words = String::from_utf8_lossy(&words).replace('\0', " ");
                return Err(format!("process {} is still running: {}", pid.display(), words.trim()));
            }
        }
        Ok(())
    }
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    let folder = path.parent().unwrap_or(path);
    std::fs::create_dir_all(folder)
        .and_then(|()| File::create(path))
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|error| format!("cannot write {}: {error}", path.display()))
}
