//! Starts a line-based agent. Each driver supplies the arguments and a listener.

use std::io;

use ralph_model::truncate_at_word;
use ralph_process::{Ended, ExitReason, Input, ProcessEvent, Spec, StdinReply, Supervised};

use crate::{EndOfTurn, RunningTurn, StartError, Turn, TurnEnd, TurnEvent, TurnSink};

/// The longest text that is reported at once, in bytes.
pub(crate) const MAX_TEXT: usize = 64 << 10;

/// Interprets the output of an agent.
pub trait Listener: Send + 'static {
    /// Handles a line; returns its events and the reply.
    fn on_line(&mut self, line: &str) -> LineOutput;

    /// Called when the process has ended.
    fn conclude(&mut self, ended: Ended) -> EndOfTurn;
}

#[derive(Debug, Default, PartialEq)]
pub struct LineOutput {
    pub events: Vec<TurnEvent>,
    /// The reply, if the agent was started with [`Input::Open`].
    pub reply: StdinReply,
}

impl From<Vec<TurnEvent>> for LineOutput {
    fn from(events: Vec<TurnEvent>) -> Self {
        let reply = StdinReply::default();
        Self { events, reply }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    pub words: Vec<String>,
    pub input: Input,
}

/// Starts a program for a turn and passes its output to the listener.
///
/// # Errors
/// If it cannot be started; then no event is reported.
pub fn launch(
    launch: Launch,
    turn: &Turn<'_>,
    mut listener: impl Listener,
    sink: TurnSink,
) -> Result<Box<dyn RunningTurn>, StartError> {
    let mut words = launch.words.into_iter();
    let program = words.next().unwrap_or_default();
    let spec = Spec {
        program: program.clone().into(),
        arguments: words.map(Into::into).collect(),
        folder: turn.folder.to_owned(),
        environment: turn.environment.to_vec(),
        stdin: launch.input,
        marker: turn.marker.to_owned(),
        output_limit: turn.output_limit,
    };
    let on_event = move |event: ProcessEvent| match event {
        ProcessEvent::Line(line) => {
            let mut output = listener.on_line(&line);
            output.events.iter_mut().for_each(shorten);
            sink(TurnEvent::Line(line));
            output.events.into_iter().for_each(&sink);
            output.reply
        }
        ProcessEvent::Alive => {
            sink(TurnEvent::Alive);
            StdinReply::default()
        }
        ProcessEvent::Ended(ended) => {
            sink(TurnEvent::Ended(Box::new(listener.conclude(ended))));
            StdinReply::default()
        }
    };
    match ralph_process::start(spec, Box::new(on_event)) {
        Ok(child) => Ok(Box::new(Running(child))),
        // A missing working folder causes the same error.
        Err(error) if error.kind() == io::ErrorKind::NotFound && turn.folder.is_dir() => {
            Err(StartError::NotFound { program })
        }
        Err(error) => Err(StartError::NotStarted { program, error }),
    }
}

/// Cuts very long texts for display; the listener has already seen all of it.
fn shorten(event: &mut TurnEvent) {
    if let TurnEvent::Text(text) = event
        && text.len() > MAX_TEXT
    {
        text.truncate(truncate_at_word(text, MAX_TEXT).len());
        text.shrink_to_fit();
    }
}

struct Running(Supervised);

impl RunningTurn for Running {
    fn process(&self) -> (u32, u64) {
        self.0.process()
    }

    fn stop(&mut self) {
        self.0.stop();
    }

    fn kill(&mut self) {
        self.0.kill();
    }
}

/// How the turn ended, judged by the process alone.
#[must_use]
pub fn end_of_process(ended: &Ended) -> TurnEnd {
    match ended.how {
        ExitReason::Exited(0) => TurnEnd::Finished,
        ExitReason::Exited(code) => TurnEnd::Crash(format!("exit code {code}{}", last_error(ended))),
        ExitReason::Signalled(signal) => TurnEnd::Crash(format!("killed by signal {signal}{}", last_error(ended))),
        ExitReason::Stopped | ExitReason::TimedOut => TurnEnd::Stopped,
        ExitReason::OutputLimit => TurnEnd::OutputLimit,
    }
}

/// The last meaningful line of standard error, with a separator in front.
fn last_error(ended: &Ended) -> String {
    // Notes after a panic message do not explain it.
    let says_something = |line: &&str| !line.is_empty() && !line.starts_with("note: ");
    let line = ended.stderr_tail.lines().map(str::trim).rfind(says_something);
    line.map_or_else(String::new, |line| format!(": {line}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panic_message_is_reported() {
        let ended = Ended {
            how: ExitReason::Exited(101),
            stderr_tail:
                "thread 'main' panicked at src/main.rs:1:2:\nno such file\nnote: run with `RUST_BACKTRACE=1`\n\n"
                    .to_owned(),
            swept: 0,
            left: Vec::new(),
        };
        let expected = TurnEnd::Crash("exit code 101: no such file".to_owned());
        assert_eq!(end_of_process(&ended), expected);
    }
}
