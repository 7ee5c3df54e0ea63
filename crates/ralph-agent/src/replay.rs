//! Reconstructs an interrupted turn from its transcript.

use jiff::Timestamp;
use ralph_model::Clock;
use ralph_process::{Ended, ExitReason};
use serde_json::Value;
use std::sync::Arc;

use crate::EndOfTurn;
use crate::claude::{self, ClaudeAgent};
use crate::codex::{self, CodexAgent};
use crate::command::PlainText;
use crate::launch::Listener;

/// Replays the transcript of an agent. Each line is the JSON that the agent printed, or an object with its text as
/// `line`; incomplete lines are skipped. `transcript` may be called several times, because a transcript is too long to
/// keep in memory.
#[must_use]
pub fn replay<I: Iterator<Item = String>>(agent: &str, transcript: impl Fn() -> I) -> EndOfTurn {
    // Any program may have this name, so check its records.
    let has = |is_record: fn(&Value) -> bool| {
        transcript().any(|line| serde_json::from_str(&line).is_ok_and(|value| is_record(&value)))
    };
    // The clock only matters for how the turn ended, which is unknown.
    match agent {
        ClaudeAgent::NAME if has(claude::is_record) => {
            replay_lines(claude::Records::new(Arc::new(NoClock)), transcript())
        }
        CodexAgent::NAME if has(codex::is_record) => replay_lines(codex::Records::new(Arc::new(NoClock)), transcript()),
        _ => replay_lines(PlainText::default(), transcript()),
    }
}

/// Passes the complete lines of a transcript to a listener.
pub fn replay_lines(mut listener: impl Listener, lines: impl Iterator<Item = String>) -> EndOfTurn {
    for line in lines {
        let Ok(value) = serde_json::from_str::<Value>(&line) else {
            continue;
        };
        let text = value.get("line").and_then(Value::as_str);
        drop(listener.on_line(text.unwrap_or(&line)));
    }
    listener.conclude(Ended {
        how: ExitReason::Stopped,
        stderr_tail: String::new(),
        swept: 0,
        left: Vec::new(),
    })
}

struct NoClock;

impl Clock for NoClock {
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
    fn plain_output_is_replayed_as_text() {
        let transcript = [
            r#"{"line":"<journal>half"}"#,
            "{\"a\":1}",
            r#"{"line":"</journal>"}"#,
            r#"{"line":"cut"#,
        ];
        let transcript = || transcript.into_iter().map(String::from);
        let end = replay("an-agent", transcript);
        assert_eq!(end.messages, ["<journal>half\n{\"a\":1}\n</journal>\n"]);
        // Another program of that name, with other output.
        assert_eq!(replay("claude", transcript).messages, end.messages);
    }

    #[test]
    fn replay_keeps_only_the_agents_own_text() {
        let transcript = [r#"{"line":"a warning"}"#, SAID, TOOL];
        let end = replay("claude", || transcript.into_iter().map(String::from));
        assert_eq!(end.messages, ["<journal>half</journal>"]);

        let started = r#"{"type":"thread.started","thread_id":"t"}"#;
        let message =
            r#"{"type":"item.completed","item":{"id":"1","type":"agent_message","text":"<journal>half</journal>"}}"#;
        let tool = r#"{"type":"item.completed","item":{"id":"2","type":"command_execution","command":"x","aggregated_output":"<journal>not mine</journal>","status":"completed"}}"#;
        let again = replay("codex", || [started, message, tool].into_iter().map(String::from));
        assert_eq!((again.messages, again.session.as_deref()), (end.messages, Some("t")));
        assert_eq!(
            replay("an-agent", || std::iter::once(message.to_owned())).messages,
            [format!("{message}\n")]
        );
    }
}
