//! Starting an agent that speaks in lines, which every driver does: each brings its words and a listener.

use std::io;

use ralph_model::beginning_in_words;
use ralph_process::{Answer, Ended, HowEnded, Input, ProcessEvent, Spec, Supervised};

use crate::{EndOfTurn, RunningTurn, StartError, Turn, TurnEnd, TurnEvent, TurnSink};

/// The most that is told of a text while it comes, in bytes.
pub(crate) const MOST_TEXT: usize = 64 << 10;

/// Who understands what an agent prints.
pub trait Listener: Send + 'static {
    /// Hears a line, and says what it means and what is answered.
    fn hear(&mut self, line: &str) -> Heard;

    /// Says how the turn ended, when the process has.
    fn conclude(&mut self, ended: Ended) -> EndOfTurn;
}

/// What a line means.
#[derive(Debug, Default, PartialEq)]
pub struct Heard {
    /// What happened, in its order.
    pub events: Vec<TurnEvent>,
    /// What the agent is answered, if it was started with [`Input::Open`].
    pub answer: Answer,
}

impl From<Vec<TurnEvent>> for Heard {
    fn from(events: Vec<TurnEvent>) -> Self {
        let answer = Answer::default();
        Self { events, answer }
    }
}

/// A program with its words and its input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// The program and what it is called with.
    pub words: Vec<String>,
    /// What it reads.
    pub input: Input,
}

/// Starts a program for a turn, and lets the listener say what it means.
///
/// # Errors
/// When it cannot be started; then nothing is told.
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
    let tell = move |event: ProcessEvent| match event {
        ProcessEvent::Line(line) => {
            let mut heard = listener.hear(&line);
            heard.events.iter_mut().for_each(shorten);
            sink(TurnEvent::Line(line));
            heard.events.into_iter().for_each(&sink);
            heard.answer
        }
        ProcessEvent::Alive => {
            sink(TurnEvent::Alive);
            Answer::default()
        }
        ProcessEvent::Ended(ended) => {
            sink(TurnEvent::Ended(Box::new(listener.conclude(ended))));
            Answer::default()
        }
    };
    match ralph_process::start(spec, Box::new(tell)) {
        Ok(child) => Ok(Box::new(Running(child))),
        // The system says the same of a folder that is not there.
        Err(error) if error.kind() == io::ErrorKind::NotFound && turn.folder.is_dir() => {
            Err(StartError::NotFound { program })
        }
        Err(error) => Err(StartError::NotStarted { program, error }),
    }
}

/// Leaves of a very long text as much as anybody wants to see go by; the listener has heard all of it.
fn shorten(event: &mut TurnEvent) {
    if let TurnEvent::Text(text) = event
        && text.len() > MOST_TEXT
    {
        text.truncate(beginning_in_words(text, MOST_TEXT).len());
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

/// How a turn ended that only its process tells of.
#[must_use]
pub fn end_of_process(ended: &Ended) -> TurnEnd {
    match ended.how {
        HowEnded::Exited(0) => TurnEnd::Finished,
        HowEnded::Exited(code) => TurnEnd::Crash(format!("exit code {code}{}", last_error(ended))),
        HowEnded::Signalled(signal) => TurnEnd::Crash(format!("killed by signal {signal}{}", last_error(ended))),
        HowEnded::Stopped | HowEnded::TimedOut => TurnEnd::Stopped,
        HowEnded::OutputLimit => TurnEnd::OutputLimit,
    }
}

/// The last line of the errors that says something, ready to follow what happened.
fn last_error(ended: &Ended) -> String {
    // What follows the message of a panic says nothing of it.
    let says_something = |line: &&str| !line.is_empty() && !line.starts_with("note: ");
    let line = ended.stderr_tail.lines().map(str::trim).rfind(says_something);
    line.map_or_else(String::new, |line| format!(": {line}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_panic_its_message_is_told() {
        let ended = Ended {
            how: HowEnded::Exited(101),
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
