//! Any program as an agent: it gets the prompt on its standard input or as a file, and what it prints is its answer.

use ralph_model::config::CommandLine;
use ralph_model::{Usage, beginning_in_words};
use ralph_process::{Ended, Input};

use crate::launch::{Heard, Launch, Listener, MOST_TEXT, end_of_process, launch};
use crate::{Agent, DriverError, EndOfTurn, RunningTurn, Said, StartError, Turn, TurnEnd, TurnEvent, TurnSink};

/// What stands in a word for the path of a file with the prompt.
const PROMPT_FILE: &str = "{prompt_file}";
/// What stands in a word for the model.
const MODEL: &str = "{model}";

/// Any program, started with the words of a command line.
///
/// `{prompt_file}` in a word becomes the path of a file with the prompt; without it the prompt is on standard input.
/// `{model}` becomes the model. When none is asked for, the words that speak of it are left out: `--model={model}`, and
/// `{model}` with the option before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandAgent {
    name: String,
    words: Vec<String>,
}

impl CommandAgent {
    /// The agent that a command line starts.
    ///
    /// # Errors
    /// When the line names no program.
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
            said: Said::default(),
            model: turn.model.map(str::to_owned),
        };
        let words = self.words_for(turn);
        launch(Launch { words, input }, turn, listener, sink)
    }
}

/// What helps with a program that speaks ACP and is taken for one that answers in plain text.
const SPEAKS_ACP: &str = "If it speaks ACP, set `kind = \"acp\"` below [agent] in .ralph.toml.";

/// Whether a text begins as the answer of a program that expects JSON-RPC.
fn is_json_rpc(text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    serde_json::from_str::<serde_json::Value>(first).is_ok_and(|value| value.get("jsonrpc").is_some())
}

/// Takes every line for the agent's own text.
#[derive(Default)]
pub(crate) struct PlainText {
    said: Said,
    model: Option<String>,
}

impl Listener for PlainText {
    fn hear(&mut self, line: &str) -> Heard {
        self.said.text(None, line);
        self.said.text(None, "\n");
        // A line may be long, and is not copied for those who only want to see it go by.
        let told = beginning_in_words(line, MOST_TEXT);
        vec![TurnEvent::Text(format!("{told}\n"))].into()
    }

    fn conclude(&mut self, ended: Ended) -> EndOfTurn {
        let (messages, before_last_tool, left_out) = self.said.take();
        let is_silent = messages.iter().all(|message| message.trim().is_empty());
        let end = match end_of_process(&ended) {
            TurnEnd::Finished if messages.iter().any(|message| is_json_rpc(message)) => {
                TurnEnd::Garbage(format!("it printed JSON-RPC. {SPEAKS_ACP}"))
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
            hint: is_silent.then(|| SPEAKS_ACP.to_owned()),
            stderr_tail: ended.stderr_tail,
            left_running: ended.left,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Access, TurnEnd};
    use ralph_process::HowEnded;
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
    fn the_prompt_file_stands_anywhere_and_stays_one_word() {
        check(
            "a {prompt_file} -f={prompt_file}",
            None,
            &["a", "/run/my prompt.md", "-f=/run/my prompt.md"],
        );
    }

    #[test]
    fn a_model_is_named_or_left_out_with_its_option() {
        let command = "a --model {model} -m={model} x {model} -- y";
        check(
            command,
            Some("big"),
            &["a", "--model", "big", "-m=big", "x", "big", "--", "y"],
        );
        check(command, None, &["a", "x", "--", "y"]);
        check("-a {model}", None, &["-a"]);
    }

    fn end_of(how: HowEnded, lines: &[&str]) -> EndOfTurn {
        let mut listener = PlainText::default();
        for line in lines {
            drop(listener.hear(line));
        }
        listener.conclude(Ended {
            how,
            stderr_tail: "warning\nusage limit reached\n".to_owned(),
            swept: 0,
            left: vec![4_242],
        })
    }

    #[test]
    fn a_program_that_speaks_acp_is_recognized_by_its_silence_and_by_json_rpc() {
        let exited = |lines: &[&str]| end_of(HowEnded::Exited(0), lines);
        let silent = exited(&["", " "]);
        assert_eq!(
            (silent.end, silent.hint.as_deref()),
            (TurnEnd::Finished, Some(SPEAKS_ACP))
        );
        let error = exited(&[r#"{"jsonrpc":"2.0","error":{"code":-32700}}"#]);
        assert_eq!(
            error.end,
            TurnEnd::Garbage(format!("it printed JSON-RPC. {SPEAKS_ACP}"))
        );
        let spoken = exited(&["done", r#"{"jsonrpc":"2.0"}"#]);
        assert_eq!((spoken.end, spoken.hint), (TurnEnd::Finished, None));
    }

    #[test]
    fn only_the_process_tells_how_a_turn_ended() {
        let crash = |text: &str| TurnEnd::Crash(text.to_owned());
        for (how, expected) in [
            (HowEnded::Exited(0), TurnEnd::Finished),
            (HowEnded::Exited(1), crash("exit code 1: usage limit reached")),
            (HowEnded::Signalled(9), crash("killed by signal 9: usage limit reached")),
            (HowEnded::Stopped, TurnEnd::Stopped),
            (HowEnded::TimedOut, TurnEnd::Stopped),
            (HowEnded::OutputLimit, TurnEnd::OutputLimit),
        ] {
            let end = end_of(how, &["half"]);
            assert_eq!((end.end, end.messages), (expected, vec!["half\n".to_owned()]));
        }
        let silent = end_of(HowEnded::Exited(0), &["", "  "]);
        assert_eq!(silent.end, TurnEnd::Finished);
        assert!(!silent.spoke(), "that is an empty answer");
        assert_eq!(silent.left_running, [4_242]);
    }

    #[test]
    fn fault_28_a_turn_that_speaks_of_errors_went_well() {
        for text in [
            r#""is_error": false"#,
            r#"{"type":"result","subtype":"success","is_error":true,"api_error_status":401}"#,
            r#"{"type":"turn.failed","error":{"message":"unexpected status 401 Unauthorized"}}"#,
            "rate limit",
            "usage limit reached",
        ] {
            let end = end_of(HowEnded::Exited(0), &[text]);
            assert_eq!((end.end, end.messages), (TurnEnd::Finished, vec![format!("{text}\n")]));
        }
    }
}
