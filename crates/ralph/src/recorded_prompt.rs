//! Checks the recorded prompt of an iteration against its hash.

use std::path::Path;

use ralph_memory::exchange::sha256;
use ralph_model::JournalRow;
use ralph_notes::read_file;
use ralph_store::Store;

use crate::context::Context;
use crate::error::CommandError;

/// How many of the latest iterations are checked at once.
const MAX_CHECKED: u32 = 20;

/// State of a recorded prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecordedPrompt {
    /// Equal to what the agent got.
    Intact,
    /// Changed after it was written.
    Changed,
    Missing,
    /// No hash was recorded, or the iteration was pruned.
    Unknown,
}

impl RecordedPrompt {
    /// Compares the file, if it exists, with the recorded hash.
    pub(crate) fn of(row: &JournalRow, file: Option<&[u8]>) -> Self {
        match (row.prompt_sha256.as_deref(), file) {
            (None, _) => Self::Unknown,
            (Some(_), None) => Self::Missing,
            (Some(hash), Some(bytes)) if sha256(bytes) == hash => Self::Intact,
            (Some(_), Some(_)) => Self::Changed,
        }
    }

    /// The word in JSON.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Intact => "intact",
            Self::Changed => "changed",
            Self::Missing => "missing",
            Self::Unknown => "unknown",
        }
    }

    /// The warning for a changed or missing prompt.
    pub(crate) fn warning(self, row: &JournalRow) -> Option<String> {
        let iteration = row.row.iteration;
        match self {
            Self::Intact | Self::Unknown => None,
            Self::Changed => Some(format!(
                "prompt.md of iteration {iteration} was changed after the agent got it."
            )),
            Self::Missing => Some(format!("prompt.md of iteration {iteration} is missing.")),
        }
    }
}

/// The bytes of a recorded prompt; none if it is missing. An unreadable file counts as changed, so it reads as empty.
pub(crate) fn read_prompt(path: &Path) -> Option<Vec<u8>> {
    read_file(path).map_or(Some(Vec::new()), |file| file.map(|file| file.bytes))
}

/// Warnings about the newest recorded prompts since a journal entry. Pruned iterations have no hash and give no
/// warning.
pub(crate) fn warnings_since(context: &Context<'_>, store: &Store, journal: i64) -> Result<Vec<String>, CommandError> {
    let mut warnings = Vec::new();
    for row in store.journal_since(journal, context.project.worktree_name(), MAX_CHECKED)? {
        let folder = context.project.iteration_folder(&row.row.run, row.row.iteration);
        let kept = RecordedPrompt::of(&row, read_prompt(&folder.prompt()).as_deref());
        let warning = kept.warning(&row);
        warnings.extend(warning.map(|warning| format!("{}: {warning}", row.row.run)));
    }
    Ok(warnings)
}
