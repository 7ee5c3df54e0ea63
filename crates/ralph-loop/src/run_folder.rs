//! The folder of an iteration: its prompt, its transcript, its result, its diff. Nobody but the user may read it. It is
//! evidence, not a fact that anything depends on, so it is not synced.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ralph_memory::capture::TranscriptCleaner;
use ralph_model::RunId;

/// The most that is kept of a transcript.
const TRANSCRIPT_BYTES: u64 = 64 << 20;

/// The name of the folder for what a run needs only while it goes on.
const SCRATCH: &str = "scratch";

/// The folder of one iteration.
#[derive(Debug, Clone)]
pub struct IterationFolder(PathBuf);

impl IterationFolder {
    /// The folder of an iteration below that of all runs.
    #[must_use]
    pub fn of(runs: &Path, run: &RunId, iteration: u32) -> Self {
        Self(runs.join(run.as_str()).join(format!("{iteration:03}")))
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The prompt that the agent got.
    #[must_use]
    pub fn prompt(&self) -> PathBuf {
        self.0.join("prompt.md")
    }

    pub(crate) fn create(&self) -> io::Result<()> {
        private_folder(&self.0)
    }

    /// When a file in it was written last.
    pub(crate) fn last_written(&self) -> Option<SystemTime> {
        let entries = fs::read_dir(&self.0).ok()?;
        entries
            .filter_map(|entry| entry.ok()?.metadata().ok()?.modified().ok())
            .max()
    }

    /// How long its transcript was written, counted from its prompt; none when one of them is not there.
    pub(crate) fn time_written(&self) -> Option<Duration> {
        let written = |name: &str| fs::metadata(self.0.join(name)).ok()?.modified().ok();
        written("transcript.jsonl")?.duration_since(written("prompt.md")?).ok()
    }

    /// A file of the folder, as far as it is text; none when it is not there.
    pub(crate) fn read(&self, name: &str) -> Option<String> {
        let bytes = fs::read(self.0.join(name)).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Writes a file of the folder.
    pub(crate) fn write(&self, name: &str, text: &str) -> io::Result<()> {
        private_file(&self.0.join(name))?.write_all(text.as_bytes())
    }

    pub(crate) fn transcript(&self) -> io::Result<Transcript> {
        Ok(Transcript {
            file: BufWriter::new(private_file(&self.0.join("transcript.jsonl"))?),
            cleaner: TranscriptCleaner::default(),
            room: TRANSCRIPT_BYTES,
            left_out: 0,
        })
    }
}

/// The folder of a run. It is made when there is something to put into it.
pub(crate) fn run_folder(runs: &Path, run: &RunId) -> io::Result<PathBuf> {
    let folder = runs.join(run.as_str());
    private_folder(&folder)?;
    Ok(folder)
}

/// The folder for what a run needs only while it goes on.
pub(crate) fn scratch_folder(runs: &Path, run: &RunId) -> io::Result<PathBuf> {
    let folder = runs.join(run.as_str()).join(SCRATCH);
    private_folder(&folder)?;
    Ok(folder)
}

/// Removes it. What cannot be removed goes with the folder of the run.
pub(crate) fn remove_scratch_folder(runs: &Path, run: &RunId) {
    drop(fs::remove_dir_all(runs.join(run.as_str()).join(SCRATCH)));
}

/// The folder that the agent's PATH begins with: it holds nothing but a way to this program.
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

fn private_file(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)
}

/// What an agent printed, line by line, without secrets. Every line is JSON.
#[derive(Debug)]
pub(crate) struct Transcript {
    file: BufWriter<File>,
    cleaner: TranscriptCleaner,
    room: u64,
    left_out: u64,
}

impl Transcript {
    /// Adds a line that the agent printed.
    pub(crate) fn line(&mut self, line: &str) -> io::Result<()> {
        let cleaned = self.cleaner.clean_line(line);
        let json = if serde_json::from_str::<serde::de::IgnoredAny>(&cleaned).is_ok() {
            cleaned
        } else {
            serde_json::json!({ "line": cleaned }).to_string()
        };
        let size = json.len() as u64 + 1;
        if size > self.room {
            self.left_out += 1;
            return Ok(());
        }
        self.room -= size;
        self.file.write_all(json.as_bytes())?;
        self.file.write_all(b"\n")
    }

    /// Hands what was added over to the system, which keeps it should this process be killed.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }

    /// Closes it, with a last line that says what was too much.
    pub(crate) fn close(mut self) -> io::Result<()> {
        if self.left_out > 0 {
            let note = serde_json::json!({ "left_out_lines": self.left_out });
            writeln!(self.file, "{note}")?;
        }
        self.file.flush()
    }
}
