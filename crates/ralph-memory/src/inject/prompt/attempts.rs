//! `### Previous Attempts`: how earlier attempts at the task failed, so that none is repeated.

use super::PromptRequest;
use super::room::Room;
use super::section::Section;

/// The section.
pub(super) fn section(_request: &PromptRequest<'_>, _room: &mut Room) -> Section {
    Section::default()
}
