//! Capture: the one gate through which everything is written.
//!
//! What a person or an agent hands in on purpose is accepted or refused, never changed, but for its line breaks.

mod clean;
mod found_tags;
mod guess;
mod knowledge;
mod loop_history;
mod notebook;
mod report;
mod scratchpad;
mod sigils;
mod transcript;

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use crate::secrets;
use ralph_model::without_invisible;
use ralph_notes::{FileError, link_beside, normalise_line_breaks, read_file, resolve};

pub use clean::{MOST_ERROR_OUTPUT, MOST_REASON, clean};
pub use found_tags::{MOST_FOUND_TAGS, TaskTags, found_tags, is_path, is_tool};
pub use guess::guess_kind;
pub use knowledge::{
    GoneKnowledge, KnowledgeError, KnowledgeFolder, KnowledgeRefusal, KnowledgeWritten, Outboxed, Placement, PutBack,
    Written, accept_knowledge,
};
pub use loop_history::{LoopFiles, LoopHistoryError, LoopProgress, read_loop_history, write_loop_history};
pub use notebook::{
    Draft, Findings, History, LogPlace, Notebook, NotebookError, Promoted, Reading, Start, Stored, Surroundings,
    TakenIn, Vanished,
};
pub use report::{
    WhyLines, category_of, failure_of, may_tell, named_files, normalised, signature, tells_of_failure, why_lines,
};
pub use scratchpad::{ClearedScratchpad, Moved, Scratchpad};
pub use sigils::{EXAMPLE_TASK_ID, MOST_LEARNING, last_words, read_captured, read_control, read_verdict};
pub use transcript::{CleanLine, TranscriptCleaner};

/// The largest text that one note may hold.
pub const MAX_NOTE_BYTES: usize = 4 << 20;

/// Whether a text that looks like a secret may be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretPolicy {
    /// It is refused.
    Refuse,
    /// The user said that it is none, or that it may be stored.
    Allow,
}

/// Why a text was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is nothing in it.
    #[error("the text is blank, so there is nothing to store")]
    Blank,
    /// It holds a NUL.
    #[error("the text holds a NUL character at byte {at}, which no note can hold")]
    Nul {
        /// Where.
        at: usize,
    },
    /// It is too large.
    #[error("the text has {bytes} bytes; a note holds at most {MAX_NOTE_BYTES}")]
    TooLarge {
        /// How large it is.
        bytes: usize,
    },
    /// It holds a secret.
    #[error("line {line} of the text looks like it holds a secret ({kind}), so it was not stored")]
    Secret {
        /// On which line.
        line: usize,
        /// What it looks like.
        kind: secrets::SecretKind,
    },
}

/// Accepts a text as it is, with LF at the ends of its lines, or refuses it.
///
/// # Errors
/// When it is blank, too large, holds a NUL, or holds what looks like a secret.
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
        // A token that an invisible character splits is copied with it from web pages.
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

/// Keeps a file beside it as `.bak` before it is changed for good, and returns the name. An earlier try that did not come
/// to its end may have done so already.
fn keep_beside(path: &Path, bytes: &[u8]) -> Result<PathBuf, FileError> {
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
    fn texts_are_accepted_as_they_are_or_refused() {
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
