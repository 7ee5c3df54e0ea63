//! Sigils: what an agent says to ralph in its own text, as `<task-done>…</task-done>` and the like.
//!
//! Read is only what the agent says itself: not what it shows as code, quotes, or repeats of its prompt. A sigil that
//! cannot be read is counted and passed over; it takes nothing of the text around it along. The work grows with the length
//! of the text and no faster.

mod captured;
mod control;
mod last_words;
mod plain_text;
mod tags;
mod verdict;

#[cfg(test)]
mod soup_tests;
#[cfg(test)]
mod tests;

pub use captured::{MOST_LEARNING, read_captured};
pub use control::read_control;
pub use last_words::last_words;
pub use verdict::read_verdict;

use plain_text::{PromptLines, own_blocks};
use tags::{Found, find};

/// The id in the examples of a prompt. No task ever has it, so that an example which is taken for an order does nothing.
pub const EXAMPLE_TASK_ID: &str = "t-EXAMPLE";

/// The sigils that ralph knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Name {
    TaskDone,
    TaskFailed,
    Promise,
    NextModel,
    VerifyPass,
    VerifyFail,
    Journal,
    Knowledge,
    Learning,
    FailureReport,
    RetrySuggestion,
    DifficultyEstimate,
    MemoryUsed,
}

/// Every name with its word.
const NAMES: [(Name, &str); 13] = [
    (Name::TaskDone, "task-done"),
    (Name::TaskFailed, "task-failed"),
    (Name::Promise, "promise"),
    (Name::NextModel, "next-model"),
    (Name::VerifyPass, "verify-pass"),
    (Name::VerifyFail, "verify-fail"),
    (Name::Journal, "journal"),
    (Name::Knowledge, "knowledge"),
    (Name::Learning, "learning"),
    (Name::FailureReport, "failure-report"),
    (Name::RetrySuggestion, "retry-suggestion"),
    (Name::DifficultyEstimate, "difficulty-estimate"),
    (Name::MemoryUsed, "memory-used"),
];

impl Name {
    fn parse(word: &[u8]) -> Option<Self> {
        let (name, _) = NAMES
            .iter()
            .find(|(_, name)| name.as_bytes().eq_ignore_ascii_case(word))?;
        Some(*name)
    }

    /// Whether it steers the loop; all others are kept.
    fn is_control(self) -> bool {
        matches!(
            self,
            Self::TaskDone | Self::TaskFailed | Self::Promise | Self::NextModel | Self::VerifyPass | Self::VerifyFail
        )
    }

    /// Whether everybody who says it says it in the same few words, so that the same line in the prompt proves nothing.
    fn has_fixed_words(self) -> bool {
        matches!(
            self,
            Self::Promise | Self::NextModel | Self::VerifyPass | Self::DifficultyEstimate
        )
    }
}

/// The sigils of the messages that answer this prompt. Each is read by itself: a fence or a tag that one leaves open says
/// nothing about the next, and each may begin with a repeat of the prompt.
fn sigils<'a>(messages: &'a [impl AsRef<str>], prompt: &str) -> Found<'a> {
    let prompt = PromptLines::of(prompt);
    let mut found = Found::default();
    for message in messages {
        let text = message.as_ref();
        find(text, &own_blocks(text, prompt.echo_end(text)), &mut found);
    }
    found
}
