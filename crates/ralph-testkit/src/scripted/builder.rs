//! The words that scripts are written in.

use super::{Action, Misdeed};

/// Says a text.
#[must_use]
pub fn say(text: &str) -> Action {
    Action::Say(text.to_owned())
}

/// Says a text in so many pieces, as a stream comes; a piece may end inside a character.
#[must_use]
pub fn say_in_chunks(text: &str, chunks: usize) -> Action {
    Action::SayInChunks(text.to_owned(), chunks)
}

/// Thinks a text, which is not its answer.
#[must_use]
pub fn think(text: &str) -> Action {
    Action::Think(text.to_owned())
}

/// Prints a line as an error.
#[must_use]
pub fn say_error(text: &str) -> Action {
    Action::SayError(text.to_owned())
}

/// Writes a file; its folders are made.
#[must_use]
pub fn write(file: &str, text: &str) -> Action {
    Action::Write(file.to_owned(), text.to_owned())
}

/// Adds to the end of a file.
#[must_use]
pub fn append(file: &str, text: &str) -> Action {
    Action::Append(file.to_owned(), text.to_owned())
}

/// Runs a line of shell. What it prints is a tool's output: in plain text it is not shown.
#[must_use]
pub fn run(line: &str) -> Action {
    Action::Run(line.to_owned())
}

/// Calls `ralph remember` with a text, by way of PATH. It must succeed.
#[must_use]
pub fn remember(text: &str) -> Action {
    run(&format!("ralph remember '{}'", text.replace('\'', r"'\''")))
}

/// Does nothing for so many milliseconds.
#[must_use]
pub fn sleep(milliseconds: u64) -> Action {
    Action::Sleep(milliseconds)
}

/// Does nothing for ever.
#[must_use]
pub fn hang() -> Action {
    Action::Hang
}

/// Ends at once with this code.
#[must_use]
pub fn exit(code: i32) -> Action {
    Action::Exit(code)
}

/// Ends by this signal.
#[must_use]
pub fn kill(signal: i32) -> Action {
    Action::Kill(signal)
}

/// Starts a process in a session of its own that stays for ten minutes and holds the agent's output open.
#[must_use]
pub fn daemon() -> Action {
    Action::Daemon
}

/// Prints so many bytes in lines.
#[must_use]
pub fn flood(bytes: usize) -> Action {
    Action::Flood(bytes)
}

/// Prints so many bytes as errors.
#[must_use]
pub fn flood_errors(bytes: usize) -> Action {
    Action::FloodErrors(bytes)
}

/// Prints so many bytes as one line.
#[must_use]
pub fn long_line(bytes: usize) -> Action {
    Action::LongLine(bytes)
}

/// Does something that no good agent does.
#[must_use]
pub fn misbehave(misdeed: Misdeed) -> Action {
    Action::Misbehave(misdeed)
}

/// Prints what is neither text nor JSON.
#[must_use]
pub fn garbage() -> Action {
    Action::Garbage
}

/// Prints a line as it is, in whatever form the agent speaks.
#[must_use]
pub fn raw(line: &str) -> Action {
    Action::Raw(line.to_owned())
}

/// Asks its client for something by a method, in ACP; what is answered is printed as an error.
#[must_use]
pub fn ask(method: &str) -> Action {
    Action::Ask(method.to_owned())
}

/// Asks, in ACP, whether it may use a tool of a kind with a title, and does the first if it may, else the second.
#[must_use]
pub fn if_allowed(
    kind: &str,
    title: &str,
    then: impl IntoIterator<Item = Action>,
    otherwise: impl IntoIterator<Item = Action>,
) -> Action {
    Action::IfAllowed(
        kind.to_owned(),
        title.to_owned(),
        then.into_iter().collect(),
        otherwise.into_iter().collect(),
    )
}

/// Hears from now on, in ACP, neither that it is cancelled nor that its input has ended.
#[must_use]
pub fn turn_deaf() -> Action {
    Action::TurnDeaf
}

/// Does the first if the prompt holds a text, else the second.
#[must_use]
pub fn if_prompt_holds(
    text: &str,
    then: impl IntoIterator<Item = Action>,
    otherwise: impl IntoIterator<Item = Action>,
) -> Action {
    Action::IfPromptHolds(
        text.to_owned(),
        then.into_iter().collect(),
        otherwise.into_iter().collect(),
    )
}
