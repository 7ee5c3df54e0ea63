//! Capture: validates and cleans everything that is written.
//!
//! Text from commands is accepted or refused, never changed except for its line breaks.

mod clean;
mod found_tags;
mod git_head;
mod guess;
mod knowledge;
mod loop_history;
mod note_repository;
mod project_env;
mod report;
mod scratchpad;
mod sigils;
mod transcript;

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use crate::secrets;
use ralph_model::without_invisible;
use ralph_notes::{FileError, link_beside, normalise_line_breaks, read_file, resolve};

pub use clean::{MAX_ERROR_OUTPUT, MAX_REASON, clean};
pub use found_tags::{MAX_FOUND_TAGS, TaskTags, found_tags, is_path, is_tool};
pub use git_head::GitHead;
pub use guess::guess_kind;
pub use knowledge::{
    KnowledgeError, KnowledgeFolder, KnowledgeRefusal, KnowledgeWritten, MissingKnowledge, Outboxed, Placement,
    RestoreOutcome, Written, accept_knowledge,
};
pub use loop_history::{LoopFiles, LoopHistoryError, LoopProgress, read_loop_history, write_loop_history};
pub use note_repository::{
    Draft, Findings, History, ImportedNotes, LogPlace, NoteRepository, NoteRepositoryError, Promoted, Reading, Start,
    Stored, Vanished,
};
pub use project_env::{Ignores, ProjectEnv, restrict};
pub use report::{
    WhyLines, category_of, failure_of, may_report_failure, named_files, normalised, reports_failure, signature,
    why_lines,
};
pub use scratchpad::{ClearedScratchpad, Moved, Scratchpad};
pub use sigils::{EXAMPLE_TASK_ID, MAX_LEARNING, last_words, read_captured, read_control, read_verdict};
pub use transcript::{CleanLine, TranscriptCleaner};

/// The maximum size of a note.
pub const MAX_NOTE_BYTES: usize = 4 << 20;

/// Whether a text that looks like a secret may be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretPolicy {
    Refuse,
    /// The user allowed it.
    Allow,
}

/// Why a text was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("the text is blank")]
    Blank,
    #[error("the text contains a NUL character at byte {at}")]
    Nul { at: usize },
    #[error("the text has {bytes} bytes; the maximum is {MAX_NOTE_BYTES}")]
    TooLarge { bytes: usize },
    #[error("line {line} of the text looks like a secret ({kind}); nothing was stored")]
    Secret { line: usize, kind: secrets::SecretKind },
}

/// Accepts a text with LF line endings, or refuses it.
///
/// # Errors
/// If it is blank, too large, has a NUL or what looks like a secret.
pub fn accept(text: &str, policy: SecretPolicy) -> Result<Cow<'_, str>, Refusal> {
    if text.trim().is_empty() {
        return Err(Refusal::Blank);
    }
    if let Some(at) = text.find('\0') {
        return Err(Refusal::Nul { at });
    }
    if text.len() > MAX_NOTE_BYTES {
        return Err(Refusal::TooLarge { bytes: text.len() });
    }
    if policy == SecretPolicy::Refuse {
        refuse_secret(text)?;
        // Text copied from web pages may have tokens split by invisible characters.
        if let Cow::Owned(visible) = without_invisible(text) {
            refuse_secret(&visible)?;
        }
    }
    Ok(normalise_line_breaks(text))
}

fn refuse_secret(text: &str) -> Result<(), Refusal> {
    let Some(secret) = secrets::find(text).into_iter().next() else {
        return Ok(());
    };
    let before = text.get(..secret.range.start).unwrap_or_default();
    Err(Refusal::Secret {
        line: before.matches('\n').count() + 1,
        kind: secret.kind,
    })
}

/// Keeps a file as `.bak` before an irreversible change, and returns the backup's path. An earlier attempt may have
/// kept it already.
fn keep_backup(path: &Path, bytes: &[u8]) -> Result<PathBuf, FileError> {
    const SUFFIX: &str = ".bak";
    let file = resolve(path)?;
    let mut name = file.clone().into_os_string();
    name.push(SUFFIX);
    let backup = PathBuf::from(name);
    if read_file(&backup)?.is_some_and(|text| text.bytes == bytes) {
        Ok(backup)
    } else {
        link_beside(&file, SUFFIX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_accepted_unchanged_or_refused() {
        let token = format!("ghp_{}", "a1B2".repeat(9));
        let accept = |text: &str| accept(text, SecretPolicy::Refuse).map(Cow::into_owned);
        assert_eq!(accept("  kept exactly \n"), Ok("  kept exactly \n".to_owned()));
        assert_eq!(accept("a\r\nb\rc"), Ok("a\nb\nc".to_owned()));
        assert_eq!(accept(" \n\t\u{3000}"), Err(Refusal::Blank));
        assert_eq!(accept("a\0"), Err(Refusal::Nul { at: 1 }));
        assert_eq!(
            accept(&"x".repeat(MAX_NOTE_BYTES + 1)),
            Err(Refusal::TooLarge {
                bytes: MAX_NOTE_BYTES + 1
            })
        );
        let (start, end) = token.split_at(9);
        assert!(matches!(
            accept(&format!("{start}\u{200b}{end}")),
            Err(Refusal::Secret { line: 1, .. })
        ));
        let secret = accept(&format!("the token\nis {token}"));
        let kind = secrets::find(&token)[0].kind;
        assert_eq!(secret, Err(Refusal::Secret { line: 2, kind }));
        assert!(super::accept(&token, SecretPolicy::Allow).is_ok());
    }
}
