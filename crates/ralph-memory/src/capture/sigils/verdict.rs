//! Reads the verifier's verdict from its final text.

use ralph_model::Verdict;

use super::plain_text::{PromptLines, own_blocks};
use super::tags::{Found, Malformed, Sigil, find};
use super::{Name, sigils};
use crate::capture::clean::{MAX_REASON, clean};

/// Reads the verdict from the messages after the last tool call.
///
/// A file may contain a verdict that the verifier is tricked into repeating. So any `verify-fail` tag refuses the work,
/// even an incomplete or nested one, and it passes only if `verify-pass` is the last thing said, on a line of its own.
#[must_use]
pub fn read_verdict(final_messages: &[impl AsRef<str>], prompt: &str) -> Option<Verdict> {
    let found = sigils(final_messages, prompt);
    let whole = found.sigils.iter().filter(|sigil| sigil.name == Name::VerifyFail);
    let broken = found.malformed.iter().filter(|broken| broken.name == Name::VerifyFail);
    let mut refusals = whole.map(Sigil::body).chain(broken.map(Malformed::rest));
    if let Some(first) = refusals.next() {
        let why = std::iter::once(first).chain(refusals).find(|why| !why.is_empty());
        return Some(Verdict::Fail(clean(&why.unwrap_or_default(), MAX_REASON)));
    }
    let mut messages = final_messages.iter().map(AsRef::as_ref).rev();
    let last = messages.find(|message| !message.trim().is_empty())?;
    ends_with_pass(last, prompt).then_some(Verdict::Pass)
}

/// Whether the last line of a message is a pass and nothing else.
fn ends_with_pass(message: &str, prompt: &str) -> bool {
    let blocks = own_blocks(message, PromptLines::of(prompt).echo_end(message));
    let mut found = Found::default();
    find(message, &blocks, &mut found);
    let Some(pass) = found.sigils.last().filter(|sigil| sigil.name == Name::VerifyPass) else {
        return false;
    };
    let is_blank = |text: Option<&str>| text.is_some_and(|text| text.trim().is_empty());
    let before = message.get(..pass.range.start);
    let line = before.and_then(|before| before.rsplit('\n').next());
    is_blank(line) && is_blank(message.get(pass.range.end..))
}
