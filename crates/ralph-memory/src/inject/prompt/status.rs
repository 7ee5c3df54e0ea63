//! `### Loop Status` and `### Stuck Loop Warning`: how the run goes.

use super::PromptRequest;
use super::room::Room;
use super::section::Section;

/// How the run goes.
pub(super) fn section(_request: &PromptRequest<'_>, _room: &mut Room) -> Section {
    Section::default()
}

/// What is said to an agent whose task has failed too often in a row.
pub(super) fn stuck(_request: &PromptRequest<'_>) -> Section {
    Section::default()
}
