//! The folder of an iteration: prompt, transcript, result and diff, readable only by the user. Nothing depends on these
//! files, so they are not synced.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ralph_model::RunId;

use crate::disk_space::is_full;
use crate::transcript::{self, Limits, Transcript};

/// The folder for temporary data of a run.
pub(crate) const SCRATCH: &str = "scratch";

#[derive(Debug, Clone)]
pub struct IterationFolder(PathBuf);

impl IterationFolder {
    /// The folder of an iteration, below that of all runs.
    #[must_use]
    pub fn of(runs: &Path, run: &RunId, iteration: u32) -> Self {
        Self(runs.join(run.as_str()).join(format!("{iteration:03}")))
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    #[must_use]
    pub fn prompt(&self) -> PathBuf {
        self.0.join("prompt.md")
    }

    /// The subfolder with the prompt and the transcript of the verifier.
    #[must_use]
    pub fn of_verifier(&self) -> Self {
        Self(self.0.join("verify"))
    }

    pub(crate) fn create(&self) -> io::Result<()> {
        private_folder(&self.0)
    }

    /// The time of the last write in it.
    pub(crate) fn last_written(&self) -> Option<SystemTime> {
        let entries = fs::read_dir(&self.0).ok()?;
        entries
            .filter_map(|entry| entry.ok()?.metadata().ok()?.modified().ok())
            .max()
    }

    /// How long the transcript was written, counted from the prompt; `None` if one of them is missing.
    pub(crate) fn time_written(&self) -> Option<Duration> {
        let begun = fs::metadata(self.prompt()).ok()?.modified().ok()?;
        transcript::last_written(&self.0)?.duration_since(begun).ok()
    }

    /// The text of a file; `None` if it is missing.
    pub(crate) fn read(&self, name: &str) -> Option<String> {
        let bytes = fs::read(self.0.join(name)).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> io::Result<()> {
        private_file(&self.0.join(name))?.write_all(text.as_bytes())
    }

    /// Starts the transcript of an agent.
    pub(crate) fn transcript(&self) -> io::Result<Transcript> {
        Transcript::begin(&self.0, Limits::default())
    }

    /// The joined transcript of a turn whose end was not seen, if there is one.
    pub(crate) fn lost_transcript(&self) -> io::Result<Option<PathBuf>> {
        match self.join_transcript() {
            Err(error) if is_full(&error) => return Err(error),
            // A transcript that cannot be joined is still readable in part.
            Ok(()) | Err(_) => {}
        }
        let path = transcript::path(&self.0);
        Ok(path.is_file().then_some(path))
    }

    /// Joins the pieces of the transcript, if that was not done yet.
    pub(crate) fn join_transcript(&self) -> io::Result<()> {
        match transcript::join(&self.0, Limits::default()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }
}

/// The folder of a run, created when something is put into it.
pub(crate) fn run_folder(runs: &Path, run: &RunId) -> io::Result<PathBuf> {
    let folder = runs.join(run.as_str());
    private_folder(&folder)?;
    Ok(folder)
}

/// The folder for temporary data of a run.
pub(crate) fn scratch_folder(runs: &Path, run: &RunId) -> io::Result<PathBuf> {
    let folder = runs.join(run.as_str()).join(SCRATCH);
    private_folder(&folder)?;
    Ok(folder)
}

/// Removes the scratch folder. On failure it is removed later with the folder of the run.
pub(crate) fn remove_scratch_folder(runs: &Path, run: &RunId) {
    drop(fs::remove_dir_all(runs.join(run.as_str()).join(SCRATCH)));
}

/// The folder at the start of the agent's PATH. It contains only a link to this program.
pub(crate) fn program_folder(runs: &Path, run: &RunId, program: &Path) -> io::Result<PathBuf> {
    let folder = runs.join(run.as_str()).join("bin");
    private_folder(&folder)?;
    let link = folder.join("ralph");
    match symlink(program, &link) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(folder),
        other => other.map(|()| folder),
    }
}

fn private_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

pub(crate) fn private_file(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)
}
