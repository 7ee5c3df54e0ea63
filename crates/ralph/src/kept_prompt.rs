//! The recorded prompt of an iteration, compared with the hash that was taken when it was written.

use std::path::Path;

use ralph_memory::exchange::sha256;
use ralph_model::JournalRow;
use ralph_notes::read_file;
use ralph_store::Store;

use crate::context::Context;
use crate::error::CommandError;

/// The most iterations whose prompts are compared at once.
const MOST_COMPARED: u32 = 20;

/// What became of a recorded prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeptPrompt {
    /// It is what the agent got.
    Intact,
    /// It was changed after it was written.
    Changed,
    /// Its file is missing.
    Missing,
    /// It has no hash: none was taken, or the iteration was pruned.
    Unknown,
}

impl KeptPrompt {
    /// What the bytes of the file say about the prompt of an iteration; none where there is no file.
    pub(crate) fn of(row: &JournalRow, file: Option<&[u8]>) -> Self {
        match (row.prompt_sha256.as_deref(), file) {
            (None, _) => Self::Unknown,
            (Some(_), None) => Self::Missing,
            (Some(hash), Some(bytes)) if sha256(bytes) == hash => Self::Intact,
            (Some(_), Some(_)) => Self::Changed,
        }
    }

    /// The word for it, for programs.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Intact => "intact",
            Self::Changed => "changed",
            Self::Missing => "missing",
            Self::Unknown => "unknown",
        }
    }

    /// What a person should know about it; none when it is as it should be.
    pub(crate) fn warning(self, row: &JournalRow) -> Option<String> {
        let iteration = row.row.iteration;
        match self {
            Self::Intact | Self::Unknown => None,
            Self::Changed => Some(format!(
                "prompt.md of iteration {iteration} is not what the agent got: it was changed after it was written."
            )),
            Self::Missing => Some(format!("prompt.md of iteration {iteration} is missing.")),
        }
    }
}

/// The bytes of a recorded prompt; none where it is missing. One that cannot be read counts as changed, so it has none of the
/// bytes that were written.
pub(crate) fn read_prompt(path: &Path) -> Option<Vec<u8>> {
    read_file(path).map_or(Some(Vec::new()), |file| file.map(|file| file.bytes))
}

/// What is wrong with the recorded prompts of the iterations here since a journal entry, the newest ones. A pruned iteration
/// has no hash any more, so it is not reported.
pub(crate) fn warnings_since(context: &Context<'_>, store: &Store, journal: i64) -> Result<Vec<String>, CommandError> {
    let mut warnings = Vec::new();
    for row in store.journal_since(journal, context.project.worktree_name(), MOST_COMPARED)? {
        let folder = context.project.iteration_folder(&row.row.run, row.row.iteration);
        let kept = KeptPrompt::of(&row, read_prompt(&folder.prompt()).as_deref());
        let warning = kept.warning(&row);
        warnings.extend(warning.map(|warning| format!("{}: {warning}", row.row.run)));
    }
    Ok(warnings)
}
