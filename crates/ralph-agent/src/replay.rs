//! A turn whose end nobody saw, heard again from the lines that were kept of it.

use jiff::Timestamp;
use ralph_model::Clock;
use ralph_process::{Ended, HowEnded};
use serde_json::Value;
use std::sync::Arc;

use crate::EndOfTurn;
use crate::claude::{self, ClaudeAgent};
use crate::codex::{self, CodexAgent};
use crate::command::PlainText;
use crate::launch::Listener;

/// What an agent of this name said and did, told from the lines of its transcript as far as they go. Each is the JSON that
/// the agent printed, or an object with its text as `line`; one that is not whole is left out. They are asked for as often
/// as they are needed, because a transcript is too long to be held.
#[must_use]
pub fn replay<I: Iterator<Item = String>>(agent: &str, transcript: impl Fn() -> I) -> EndOfTurn {
    // Any program may be called so; records are what tells.
    let has = |is_record: fn(&Value) -> bool| {
        transcript().any(|line| serde_json::from_str(&line).is_ok_and(|value| is_record(&value)))
    };
    // When it is matters only for how a turn ended, and nobody saw that.
    match agent {
        ClaudeAgent::NAME if has(claude::is_record) => hear_again(claude::Records::new(Arc::new(NoTime)), transcript()),
        CodexAgent::NAME if has(codex::is_record) => hear_again(codex::Records::new(Arc::new(NoTime)), transcript()),
        _ => hear_again(PlainText::default(), transcript()),
    }
}

/// Lets a listener hear the lines of a transcript, as far as they are whole.
pub fn hear_again(mut listener: impl Listener, lines: impl Iterator<Item = String>) -> EndOfTurn {
    for line in lines {
        let Ok(value) = serde_json::from_str::<Value>(&line) else {
            continue;
        };
        let text = value.get("line").and_then(Value::as_str);
        drop(listener.hear(text.unwrap_or(&line)));
    }
    listener.conclude(Ended {
        how: HowEnded::Stopped,
        stderr_tail: String::new(),
        swept: 0,
        left: Vec::new(),
    })
}

struct NoTime;

impl Clock for NoTime {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = r#"{"type":"assistant","session_id":"s","message":{"id":"m","content":[{"type":"text","text":"<journal>half</journal>"}]}}"#;
    const TOOL: &str = r#"{"type":"user","session_id":"s","message":{"content":[{"type":"tool_result","tool_use_id":"1","content":"<journal>not mine</journal>"}]}}"#;

    #[test]
    fn what_any_program_printed_is_its_text() {
        let transcript = [
            r#"{"line":"<journal>half"}"#,
            "{\"a\":1}",
            r#"{"line":"</journal>"}"#,
            r#"{"line":"cut"#,
        ];
        let transcript = || transcript.into_iter().map(String::from);
        let end = replay("an-agent", transcript);
        assert_eq!(end.messages, ["<journal>half\n{\"a\":1}\n</journal>\n"]);
        // A program of that name that speaks otherwise.
        assert_eq!(replay("claude", transcript).messages, end.messages);
    }

    #[test]
    fn of_records_only_the_agents_own_text_is_heard() {
        let transcript = [r#"{"line":"a warning"}"#, SAID, TOOL];
        let end = replay("claude", || transcript.into_iter().map(String::from));
        assert_eq!(end.messages, ["<journal>half</journal>"]);

        let started = r#"{"type":"thread.started","thread_id":"t"}"#;
        let said =
            r#"{"type":"item.completed","item":{"id":"1","type":"agent_message","text":"<journal>half</journal>"}}"#;
        let tool = r#"{"type":"item.completed","item":{"id":"2","type":"command_execution","command":"x","aggregated_output":"<journal>not mine</journal>","status":"completed"}}"#;
        let again = replay("codex", || [started, said, tool].into_iter().map(String::from));
        assert_eq!((again.messages, again.session.as_deref()), (end.messages, Some("t")));
        assert_eq!(
            replay("an-agent", || std::iter::once(said.to_owned())).messages,
            [format!("{said}\n")]
        );
    }
}
