//! Functions that build the actions of a script.

use super::{Action, Misdeed};

#[must_use]
pub fn say(text: &str) -> Action {
    Action::Say(text.to_owned())
}

/// Says a text in this many pieces, like a stream; a piece may end inside a character.
#[must_use]
pub fn say_in_chunks(text: &str, chunks: usize) -> Action {
    Action::SayInChunks(text.to_owned(), chunks)
}

/// Thinks a text, which is not part of the answer.
#[must_use]
pub fn think(text: &str) -> Action {
    Action::Think(text.to_owned())
}

/// Prints a line to standard error.
#[must_use]
pub fn say_error(text: &str) -> Action {
    Action::SayError(text.to_owned())
}

/// Writes a file and creates its folders.
#[must_use]
pub fn write(file: &str, text: &str) -> Action {
    Action::Write(file.to_owned(), text.to_owned())
}

#[must_use]
pub fn append(file: &str, text: &str) -> Action {
    Action::Append(file.to_owned(), text.to_owned())
}

/// Runs a shell command as a tool. In plain text its output is not shown.
#[must_use]
pub fn run(line: &str) -> Action {
    Action::Run(line.to_owned())
}

/// Runs `ralph remember` from PATH, which must succeed.
#[must_use]
pub fn remember(text: &str) -> Action {
    run(&format!("ralph remember '{}'", text.replace('\'', r"'\''")))
}

#[must_use]
pub fn sleep(milliseconds: u64) -> Action {
    Action::Sleep(milliseconds)
}

#[must_use]
pub fn hang() -> Action {
    Action::Hang
}

/// Exits immediately with this code.
#[must_use]
pub fn exit(code: i32) -> Action {
    Action::Exit(code)
}

#[must_use]
pub fn kill(signal: i32) -> Action {
    Action::Kill(signal)
}

/// Starts a ten-minute process in its own session that keeps the agent's output open.
#[must_use]
pub fn daemon() -> Action {
    Action::Daemon
}

/// Prints this many bytes in lines.
#[must_use]
pub fn flood(bytes: usize) -> Action {
    Action::Flood(bytes)
}

/// Prints this many bytes to standard error.
#[must_use]
pub fn flood_errors(bytes: usize) -> Action {
    Action::FloodErrors(bytes)
}

/// Prints this many bytes as one line.
#[must_use]
pub fn long_line(bytes: usize) -> Action {
    Action::LongLine(bytes)
}

/// Does something that no well-behaved agent does.
#[must_use]
pub fn misbehave(misdeed: Misdeed) -> Action {
    Action::Misbehave(misdeed)
}

/// Prints bytes that are neither text nor JSON.
#[must_use]
pub fn garbage() -> Action {
    Action::Garbage
}

/// Prints a line verbatim, in any dialect.
#[must_use]
pub fn raw(line: &str) -> Action {
    Action::Raw(line.to_owned())
}

/// Sends the ACP client a request with this method and prints the answer to standard error.
#[must_use]
pub fn ask(method: &str) -> Action {
    Action::Ask(method.to_owned())
}

/// Requests ACP permission for a tool of this kind and title; plays `then` if granted, else `otherwise`.
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

/// Ignores ACP cancellation and the end of input from now on.
#[must_use]
pub fn ignore_cancel() -> Action {
    Action::IgnoreCancel
}

/// Plays `then` if the prompt contains the text, else `otherwise`.
#[must_use]
pub fn if_prompt_contains(
    text: &str,
    then: impl IntoIterator<Item = Action>,
    otherwise: impl IntoIterator<Item = Action>,
) -> Action {
    Action::IfPromptContains(
        text.to_owned(),
        then.into_iter().collect(),
        otherwise.into_iter().collect(),
    )
}
