//! The driver for any program that reads the prompt from standard input or a file and prints its answer as text.

use ralph_model::config::CommandLine;
use ralph_model::{Usage, truncate_at_word};
use ralph_process::{Ended, Input};

use crate::launch::{Launch, LineOutput, Listener, MAX_TEXT, end_of_process, launch};
use crate::{Agent, DriverError, EndOfTurn, MessageLog, RunningTurn, StartError, Turn, TurnEnd, TurnEvent, TurnSink};

/// The placeholder for the path of the prompt file.
const PROMPT_FILE: &str = "{prompt_file}";
/// The placeholder for the model.
const MODEL: &str = "{model}";

/// Any program, started by a command line.
///
/// `{prompt_file}` is replaced by the path of the prompt file; without it, the prompt is on standard input. `{model}`
/// is replaced by the model. If no model is requested, its words are omitted: `--model={model}`, or `{model}` with the
/// option before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandAgent {
    name: String,
    words: Vec<String>,
}

impl CommandAgent {
    /// Creates the driver for a command line.
    ///
    /// # Errors
    /// If the command line names no program.
    pub fn new(command: &CommandLine) -> Result<Self, DriverError> {
        let words = command.words().ok_or(DriverError::NoProgram)?;
        let name = crate::find::file_name(&words).to_owned();
        Ok(Self { name, words })
    }

    fn words_for(&self, turn: &Turn<'_>) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        for word in &self.words {
            let word = match turn.model {
                Some(model) => word.replace(MODEL, model),
                None if word == MODEL => {
                    if words.len() > 1 {
                        words.pop_if(|option| option.starts_with('-'));
                    }
                    continue;
                }
                None if word.contains(MODEL) => continue,
                None => word.clone(),
            };
            words.push(word.replace(PROMPT_FILE, &turn.prompt_file.to_string_lossy()));
        }
        words
    }
}

impl Agent for CommandAgent {
    fn name(&self) -> &str {
        &self.name
    }

    fn start(&self, turn: &Turn<'_>, sink: TurnSink) -> Result<Box<dyn RunningTurn>, StartError> {
        let takes_a_file = self.words.iter().any(|word| word.contains(PROMPT_FILE));
        let input = if takes_a_file {
            Input::Nothing
        } else {
            Input::Whole(turn.prompt.as_bytes().to_vec())
        };
        let listener = PlainText {
            messages: MessageLog::default(),
            model: turn.model.map(str::to_owned),
        };
        let words = self.words_for(turn);
        launch(Launch { words, input }, turn, listener, sink)
    }
}

/// Hint for a program that speaks ACP but was started as a plain-text program.
const ACP_HINT: &str = "If it speaks ACP, set `kind = \"acp\"` under [agent] in .ralph.toml.";

/// Whether a text looks like the answer of a JSON-RPC program.
fn is_json_rpc(text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    serde_json::from_str::<serde_json::Value>(first).is_ok_and(|value| value.get("jsonrpc").is_some())
}

/// Treats every line as the agent's own text.
#[derive(Default)]
pub(crate) struct PlainText {
    messages: MessageLog,
    model: Option<String>,
}

impl Listener for PlainText {
    fn on_line(&mut self, line: &str) -> LineOutput {
        self.messages.text(None, line);
        self.messages.text(None, "\n");
        // A line may be long, so copy only the part that is displayed.
        let shown = truncate_at_word(line, MAX_TEXT);
        vec![TurnEvent::Text(format!("{shown}\n"))].into()
    }

    fn conclude(&mut self, ended: Ended) -> EndOfTurn {
        let (messages, before_last_tool, left_out) = self.messages.take();
        let is_silent = messages.iter().all(|message| message.trim().is_empty());
        let end = match end_of_process(&ended) {
            TurnEnd::Finished if messages.iter().any(|message| is_json_rpc(message)) => {
                TurnEnd::Garbage(format!("it printed JSON-RPC. {ACP_HINT}"))
            }
            end => end,
        };
        EndOfTurn {
            end,
            messages,
            before_last_tool,
            left_out,
            denials: Vec::new(),
            usage: Usage::default(),
            session: None,
            model: self.model.take(),
            writes: Vec::new(),
            hint: is_silent.then(|| ACP_HINT.to_owned()),
            stderr_tail: ended.stderr_tail,
            left_running: ended.left,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Access, TurnEnd};
    use ralph_process::ExitReason;
    use std::path::Path;

    fn check(command: &str, model: Option<&str>, expected: &[&str]) {
        let agent = CommandAgent::new(&CommandLine::Line(command.to_owned())).unwrap();
        let turn = Turn {
            prompt: "",
            prompt_file: Path::new("/run/my prompt.md"),
            model,
            folder: Path::new("/"),
            environment: &[],
            also_writable: &[],
            access: Access::default(),
            allowed_commands: &[],
            marker: "",
            output_limit: None,
        };
        assert_eq!(agent.words_for(&turn), expected, "{command}");
    }

    #[test]
    fn prompt_file_is_replaced_within_a_word() {
        check(
            "a {prompt_file} -f={prompt_file}",
            None,
            &["a", "/run/my prompt.md", "-f=/run/my prompt.md"],
        );
    }

    #[test]
    fn model_is_inserted_or_omitted_with_its_option() {
        let command = "a --model {model} -m={model} x {model} -- y";
        check(
            command,
            Some("big"),
            &["a", "--model", "big", "-m=big", "x", "big", "--", "y"],
        );
        check(command, None, &["a", "x", "--", "y"]);
        check("-a {model}", None, &["-a"]);
    }

    fn end_of(how: ExitReason, lines: &[&str]) -> EndOfTurn {
        let mut listener = PlainText::default();
        for line in lines {
            drop(listener.on_line(line));
        }
        listener.conclude(Ended {
            how,
            stderr_tail: "warning\nusage limit reached\n".to_owned(),
            swept: 0,
            left: vec![4_242],
        })
    }

    #[test]
    fn acp_program_gets_a_hint() {
        let exited = |lines: &[&str]| end_of(ExitReason::Exited(0), lines);
        let silent = exited(&["", " "]);
        assert_eq!(
            (silent.end, silent.hint.as_deref()),
            (TurnEnd::Finished, Some(ACP_HINT))
        );
        let error = exited(&[r#"{"jsonrpc":"2.0","error":{"code":-32700}}"#]);
        assert_eq!(error.end, TurnEnd::Garbage(format!("it printed JSON-RPC. {ACP_HINT}")));
        let spoken = exited(&["done", r#"{"jsonrpc":"2.0"}"#]);
        assert_eq!((spoken.end, spoken.hint), (TurnEnd::Finished, None));
    }

    #[test]
    fn plain_turn_ends_like_its_process() {
        let crash = |text: &str| TurnEnd::Crash(text.to_owned());
        for (how, expected) in [
            (ExitReason::Exited(0), TurnEnd::Finished),
            (ExitReason::Exited(1), crash("exit code 1: usage limit reached")),
            (
                ExitReason::Signalled(9),
                crash("killed by signal 9: usage limit reached"),
            ),
            (ExitReason::Stopped, TurnEnd::Stopped),
            (ExitReason::TimedOut, TurnEnd::Stopped),
            (ExitReason::OutputLimit, TurnEnd::OutputLimit),
        ] {
            let end = end_of(how, &["half"]);
            assert_eq!((end.end, end.messages), (expected, vec!["half\n".to_owned()]));
        }
        let silent = end_of(ExitReason::Exited(0), &["", "  "]);
        assert_eq!(silent.end, TurnEnd::Finished);
        assert!(!silent.spoke(), "the answer is empty");
        assert_eq!(silent.left_running, [4_242]);
    }

    #[test]
    fn fault_28_text_about_errors_is_not_an_error() {
        for text in [
            r#""is_error": false"#,
            r#"{"type":"result","subtype":"success","is_error":true,"api_error_status":401}"#,
            r#"{"type":"turn.failed","error":{"message":"unexpected status 401 Unauthorized"}}"#,
            "rate limit",
            "usage limit reached",
        ] {
            let end = end_of(ExitReason::Exited(0), &[text]);
            assert_eq!((end.end, end.messages), (TurnEnd::Finished, vec![format!("{text}\n")]));
        }
    }
}
