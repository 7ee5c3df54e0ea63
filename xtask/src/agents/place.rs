//! A project that an agent works in, with a home of its own; all of it goes with this value.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ralph_process::command;
use tempfile::TempDir;

use crate::child::output;
use crate::programs::target_folder;

/// The id of every project.
const PROJECT_ID: &str = "00112233445566778899aabbccddeeff";

/// The folders of a project.
#[derive(Debug)]
pub(crate) struct Place {
    folder: TempDir,
    programs: Vec<PathBuf>,
}

impl Place {
    /// Makes one, in which programs are found in these folders first.
    pub(crate) fn new(programs: Vec<PathBuf>) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("cannot make a project: {error}");
        // Not among the system's temporary files, where sandboxes of agents let everybody write.
        let places = target_folder()?.join("agents/places");
        std::fs::create_dir_all(&places).map_err(failed)?;
        let mut folder = tempfile::Builder::new();
        let folder = folder.prefix("ralph-").tempdir_in(&places).map_err(failed)?;
        for name in ["project", "home", "tmp"] {
            std::fs::create_dir_all(folder.path().join(name)).map_err(failed)?;
        }
        Ok(Self { folder, programs })
    }

    /// The project.
    pub(crate) fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    /// Commits the project, and gives it an id, so that the folder of its checkouts is known.
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

    /// The checkout of a task.
    pub(crate) fn checkout(&self, task: &str) -> PathBuf {
        let project = self.home().join(".local/state/ralph").join(PROJECT_ID);
        project.join("work").join(task)
    }

    /// The home.
    pub(crate) fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// Leaves everything where it is, and says where.
    pub(crate) fn keep(self) -> PathBuf {
        self.folder.keep()
    }

    /// A program in the project with an environment of its own.
    pub(crate) fn bare(&self, program: &str) -> Result<Command, String> {
        let ours = self.programs.iter().map(PathBuf::as_path);
        let folders = ours.chain(["/usr/local/bin", "/usr/bin", "/bin"].map(Path::new));
        let path = std::env::join_paths(folders).map_err(|error| error.to_string())?;
        // It is looked for in the same folders as an agent will.
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

    /// What a file of the project holds.
    pub(crate) fn read(&self, name: &str) -> Result<String, String> {
        std::fs::read_to_string(self.project().join(name)).map_err(|error| format!("cannot read {name}: {error}"))
    }

    /// Writes a file of the project; its folders are made.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<(), String> {
        write(&self.project().join(name), text)
    }

    /// Writes a file of the home; its folders are made.
    pub(crate) fn write_at_home(&self, name: &str, text: &str) -> Result<(), String> {
        write(&self.home().join(name), text)
    }

    /// Whoever was started here has this home in its environment, and so has whoever that one started: none may be left.
    pub(crate) fn nothing_is_left_running(&self) -> Result<(), String> {
        let mark = self.home().into_os_string().into_encoded_bytes();
        let processes = std::fs::read_dir("/proc").map_err(|error| format!("cannot read /proc: {error}"))?;
        for process in processes.flatten() {
            let environment = std::fs::read(process.path().join("environ")).unwrap_or_default();
            if environment.windows(mark.len()).any(|part| part == mark) {
                let pid = process.file_name();
                let words = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
                let words = String::from_utf8_lossy(&words).replace('\0', " ");
                return Err(format!("process {} is left running: {}", pid.display(), words.trim()));
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
