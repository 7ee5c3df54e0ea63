//! Sigils: reports of an agent to ralph in its own text, such as `<task-done>…</task-done>`.
//!
//! Only the agent's own words are read: no code, no quotes, no echo of the prompt. A malformed sigil is counted and
//! ignored without affecting the text around it. Parsing takes linear time.

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

pub use captured::{MAX_LEARNING, read_captured};
pub use control::read_control;
pub use last_words::last_words;
pub use verdict::read_verdict;

use plain_text::{PromptLines, own_blocks};
use tags::{Found, find};

/// The id in the prompt's examples. No task has it, so an echoed example has no effect.
pub const EXAMPLE_TASK_ID: &str = "t-EXAMPLE";

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

    /// Whether it controls the loop; all others are captured.
    fn is_control(self) -> bool {
        matches!(
            self,
            Self::TaskDone | Self::TaskFailed | Self::Promise | Self::NextModel | Self::VerifyPass | Self::VerifyFail
        )
    }

    /// Whether everyone writes it in the same words, so that an equal line in the prompt does not prove an echo.
    fn has_fixed_words(self) -> bool {
        matches!(
            self,
            Self::Promise | Self::NextModel | Self::VerifyPass | Self::DifficultyEstimate
        )
    }
}

/// The sigils of messages that answer this prompt. Each message is read separately: an unclosed fence or tag does not
/// affect the next, and each may begin with an echo of the prompt.
fn sigils<'a>(messages: &'a [impl AsRef<str>], prompt: &str) -> Found<'a> {
    let prompt = PromptLines::of(prompt);
    let mut found = Found::default();
    for message in messages {
        let text = message.as_ref();
        find(text, &own_blocks(text, prompt.echo_end(text)), &mut found);
    }
    found
}
