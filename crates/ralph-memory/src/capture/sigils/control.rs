//! Reads the control sigils from an agent's final text.

use ralph_model::{Control, Promise};

use super::tags::Sigil;
use super::{EXAMPLE_TASK_ID, Name, sigils};
use crate::capture::clean::{MAX_REASON, clean, clean_line_of};

/// The maximum length of an id or name, in characters.
const MAX_NAME: usize = 100;

/// The maximum number of ids in an answer.
const MAX_IDS: usize = 200;

/// Reads the control sigils from the messages after the last tool call, and counts malformed ones. `prompt` is used to
/// ignore echoes.
#[must_use]
pub fn read_control(final_messages: &[impl AsRef<str>], prompt: &str) -> (Control, u32) {
    let found = sigils(final_messages, prompt);
    let mut control = Control::default();
    let mut malformed = found
        .malformed
        .iter()
        .filter(|malformed| malformed.name.is_control())
        .count();
    for sigil in found.sigils.iter().filter(|sigil| sigil.name.is_control()) {
        if take(sigil, &mut control).is_none() {
            malformed += 1;
        }
    }
    (control, u32::try_from(malformed).unwrap_or(u32::MAX))
}

/// Stores what a sigil says; `None` if it is malformed.
fn take(sigil: &Sigil<'_>, control: &mut Control) -> Option<()> {
    let body = sigil.body();
    match sigil.name {
        Name::TaskDone => {
            for id in ids(&body)?.into_iter().filter(|id| !is_example(id)) {
                if control.done.len() < MAX_IDS && !control.done.contains(&id) {
                    control.done.push(id);
                }
            }
        }
        Name::TaskFailed => {
            let (id, reason) = body.split_once(char::is_whitespace).unwrap_or((&body, ""));
            let id = id_of(id)?;
            if !is_example(&id) && control.failed.len() < MAX_IDS {
                let reason =
                    reason.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ':' | '-' | '–' | '—'));
                control.failed.push((id, clean(reason, MAX_REASON)));
            }
        }
        Name::Promise => {
            let promise = if body.eq_ignore_ascii_case("COMPLETE") {
                Promise::Complete
            } else if body.eq_ignore_ascii_case("FAILURE") {
                Promise::Failure
            } else {
                return None;
            };
            // FAILURE wins over COMPLETE, in any order.
            if control.promise != Some(Promise::Failure) {
                control.promise = Some(promise);
            }
        }
        Name::NextModel => control.next_model = Some(name_of(&body)?),
        // Verdicts are read by `read_verdict`.
        _ => {}
    }
    Some(())
}

/// The ids in a sigil: the words that look like one, or the only word.
fn ids(body: &str) -> Option<Vec<String>> {
    let words: Vec<String> = body
        .split(|c: char| c == ',' || c == ';' || c.is_whitespace())
        .filter_map(id_of)
        .collect();
    if words.len() <= 1 {
        return words.first().map(|word| vec![word.clone()]);
    }
    let ids: Vec<String> = words.into_iter().filter(|word| word.starts_with("t-")).collect();
    (!ids.is_empty()).then_some(ids)
}

/// A word without the punctuation around an id.
fn id_of(word: &str) -> Option<String> {
    name_of(word.trim_matches(|c: char| !c.is_alphanumeric()))
}

fn name_of(text: &str) -> Option<String> {
    let name = clean_line_of(text, MAX_NAME + 1);
    (!name.is_empty() && name.chars().count() <= MAX_NAME).then_some(name)
}

fn is_example(id: &str) -> bool {
    id.get(..EXAMPLE_TASK_ID.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(EXAMPLE_TASK_ID))
}
