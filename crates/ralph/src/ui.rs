//! The only module that prints. Data goes to standard output, messages to standard error. A live block at the bottom of
//! the terminal stays below both.

mod asker;
mod block;
mod conversation;
mod dialogue;
pub(crate) mod shared_terminal;
mod terminal;

use std::cell::Cell;
use std::fmt::Display;
use std::io::{self, BufRead, IsTerminal, Read, Write};
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::Duration;

use clap::ValueEnum;
use clap::error::{ContextKind, ErrorKind};
use ralph_model::config::Color;
use ralph_model::{code_point, count, invisible_characters, show_invisible};

use crate::cli::Format;
use crate::env;
use crate::error::CommandError;
use crate::table::{self, Column, Plain, Shape};
use crate::text_file::read_all;
use crate::wrap::{hung, wrapped_around_commands};

pub(crate) use asker::{Asker, Key, Pressed};
pub(crate) use block::RedrawReason;
#[cfg(test)]
pub(crate) use conversation::LONGEST_LINE;
pub(crate) use conversation::{Conversation, TerminalConversation, TextEnd, read_lines};
pub(crate) use dialogue::{Answer, Dialogue};

/// The least and the most columns of a text below a title, on a screen of any width.
const LEAST_TEXT: usize = 20;
const MOST_TEXT: usize = 100;
/// The width of tables if the terminal does not report its own.
const DEFAULT_WIDTH: usize = 120;
/// The width of tables in a pipe. Its reader, usually an agent, wants whole lines.
const PIPE_WIDTH: usize = 500;
/// How many different invisible characters a warning lists.
const INVISIBLE_NAMED: usize = 5;
const MAX_ANSWER_BYTES: u64 = 4096;

/// When to use colors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal, unless `NO_COLOR` is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// A line and its style.
pub(crate) type Line = (Option<Style>, String);

#[derive(Debug, Clone, Copy)]
pub(crate) enum Style {
    /// A title or an id.
    Strong,
    /// Something less important.
    Faint,
    /// A search match.
    Match,
    /// A failure.
    Error,
    /// Something that needs attention.
    Warning,
    /// An added line.
    Added,
    /// A removed line.
    Removed,
}

impl Style {
    fn code(self) -> &'static str {
        match self {
            Self::Strong => "1",
            Self::Faint => "2",
            Self::Match => "1;36",
            Self::Error => "1;31",
            Self::Warning => "1;33",
            Self::Added => "32",
            Self::Removed => "31",
        }
    }
}

/// The colors and characters of drawn output.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Theme {
    pub(crate) color: bool,
    pub(crate) charset: Charset,
}

impl Theme {
    pub(crate) fn paint(self, style: Option<Style>, text: &str) -> String {
        style
            .filter(|_| !text.is_empty())
            .map_or_else(|| text.to_owned(), |style| paint(self.color, style, text))
    }
}

/// The characters that a terminal can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Charset {
    /// All of Unicode.
    Unicode,
    Ascii,
}

impl Charset {
    /// Replaces characters that this charset does not have.
    pub(crate) fn of(self, text: &str) -> String {
        let ascii = |c: char| match c {
            c if c.is_ascii() => c,
            '·' => '|',
            '…' => '~',
            _ => '?',
        };
        match self {
            Self::Unicode => text.to_owned(),
            Self::Ascii => text.chars().map(ascii).collect(),
        }
    }
}

/// Where output goes and how it looks.
#[derive(Debug)]
pub(crate) struct Ui {
    out_is_terminal: bool,
    err_is_terminal: bool,
    out_color: Cell<bool>,
    err_color: Cell<bool>,
    verbosity: Verbosity,
}

/// Whether messages are printed beside the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verbosity {
    Normal,
    Silent,
}

impl Ui {
    /// Inspects the terminal once; the choice is that of `--color`.
    pub(crate) fn new(choice: Option<ColorChoice>) -> Self {
        let out_is_terminal = io::stdout().is_terminal();
        let err_is_terminal = io::stderr().is_terminal();
        let color = |terminal: bool| match choice {
            Some(ColorChoice::Always) => true,
            Some(ColorChoice::Never) => false,
            Some(ColorChoice::Auto) | None => terminal && !env::no_color(),
        };
        Self {
            out_is_terminal,
            err_is_terminal,
            out_color: Cell::new(color(out_is_terminal)),
            err_color: Cell::new(color(err_is_terminal)),
            verbosity: Verbosity::Normal,
        }
    }

    /// Prints data but no messages: for commands that other programs call.
    pub(crate) fn silent() -> Self {
        Self {
            verbosity: Verbosity::Silent,
            ..Self::new(Some(ColorChoice::Never))
        }
    }

    /// Applies the configured choice, if no flag overrides it. `NO_COLOR` is set by the user, so it wins.
    pub(crate) fn configure(&self, choice: Color) {
        let color = match choice {
            Color::Always => !env::no_color(),
            Color::Never => false,
            Color::Auto => return,
        };
        self.out_color.set(color);
        self.err_color.set(color);
    }

    /// Prints data: exactly, or on a terminal with invisible characters made visible.
    pub(crate) fn data(&self, text: &str) -> Result<(), CommandError> {
        shared_terminal::clear();
        let text = match self.out_is_terminal {
            true => show_invisible(text),
            false => text.into(),
        };
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        Ok(out.flush()?)
    }

    /// Prints a line of data, on a terminal with an icon in front.
    pub(crate) fn result(&self, icon: &str, line: &str) -> Result<(), CommandError> {
        if self.out_is_terminal {
            self.data(&format!("{icon} {line}\n"))
        } else {
            self.data(&format!("{line}\n"))
        }
    }

    /// Returns true if standard output is a terminal.
    pub(crate) fn is_terminal(&self) -> bool {
        self.out_is_terminal
    }

    /// An icon on a terminal, a word elsewhere.
    pub(crate) fn icon_or_word(&self, icon: &'static str, word: &'static str) -> &'static str {
        if self.out_is_terminal { icon } else { word }
    }

    /// Prints the text of a note. On a terminal, control characters are shown instead of obeyed.
    pub(crate) fn text(&self, text: &str) -> Result<(), CommandError> {
        if self.out_is_terminal {
            self.data(&visible_controls(text))
        } else {
            self.data(text)
        }
    }

    /// Prints styled lines. On a terminal, control characters are shown instead of obeyed, and long lines are wrapped
    /// between words.
    pub(crate) fn lines(&self, lines: &[Line]) -> Result<(), CommandError> {
        let mut text = String::new();
        for (style, line) in lines {
            for line in self.rows(*style, line) {
                let line = self.in_charset(line);
                text.push_str(&style.map_or_else(|| line.clone(), |style| self.paint(style, &line)));
                text.push('\n');
            }
        }
        self.data(&text)
    }

    /// Wraps a line for a terminal. Pipes get it whole, and so do lines that people copy from a terminal.
    fn rows(&self, style: Option<Style>, line: &str) -> Vec<String> {
        if !self.out_is_terminal {
            return vec![line.to_owned()];
        }
        let line = visible_controls(line);
        let is_command = line.trim_start().starts_with("ralph ");
        if is_command || line.trim().is_empty() || matches!(style, Some(Style::Added | Style::Removed)) {
            return vec![line];
        }
        hung(&line, self.width())
    }

    /// Prints a table with a closing line.
    pub(crate) fn table(&self, columns: &[Column], rows: &[Vec<String>], closing: &str) -> Result<(), CommandError> {
        self.table_with(columns, rows, closing, &Plain)
    }

    /// Prints items as a table, or that there is nothing to list. The nouns are for one item and for several.
    pub(crate) fn list<T>(
        &self,
        (columns, items): (&[Column], &[T]),
        row: impl Fn(&T) -> Vec<String>,
        (one, many): (&str, &str),
        nothing: &str,
    ) -> Result<(), CommandError> {
        if items.is_empty() {
            return self.data(&format!("{nothing}\n"));
        }
        let rows: Vec<Vec<String>> = items.iter().map(row).collect();
        self.table(columns, &rows, &showing(rows.len(), one, many))
    }

    /// Acknowledges a change to one thing: the thing as JSON, its id, or a line for people.
    pub(crate) fn acknowledge(
        &self,
        format: Format,
        (thing, id): (&impl serde::Serialize, &dyn Display),
        (icon, line): (&str, &str),
    ) -> Result<(), CommandError> {
        match format {
            Format::Json => self.json(thing),
            Format::Quiet => self.data(&format!("{id}\n")),
            Format::Table | Format::Markdown => self.result(icon, line),
        }
    }

    /// Prints a table whose texts have a shape.
    pub(crate) fn table_with(
        &self,
        columns: &[Column],
        rows: &[Vec<String>],
        closing: &str,
        shape: &dyn Shape,
    ) -> Result<(), CommandError> {
        let lines = match self.out_is_terminal {
            true => {
                // This must happen before columns are measured.
                let shown = |cell: &String| show_invisible(cell).into_owned();
                let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(shown).collect()).collect();
                let (columns, rows) = table::without_blank(columns, &rows);
                table::lines(&columns, &rows, Some(self.width()), shape)
            }
            false => table::lines(columns, rows, Some(self.width()), shape),
        };
        let mut text = String::new();
        for (index, line) in lines.into_iter().enumerate() {
            let line = self.in_charset(line);
            if index == 0 {
                text.push_str(&self.paint(Style::Faint, &line));
            } else {
                text.push_str(&line);
            }
            text.push('\n');
        }
        text.push('\n');
        for line in closing.lines().flat_map(|line| self.rows(None, line)) {
            text.push_str(&self.in_charset(line));
            text.push('\n');
        }
        self.data(&text)
    }

    /// Prints a value as JSON.
    pub(crate) fn json(&self, value: &impl serde::Serialize) -> Result<(), CommandError> {
        // JSON escapes most control characters, but not all that a terminal obeys.
        self.text(&format!("{}\n", serde_json::to_string_pretty(value)?))
    }

    /// Prints a status message.
    pub(crate) fn status(&self, line: &str) {
        self.say(None, line);
    }

    pub(crate) fn warning(&self, line: &str) {
        self.say(Some((Style::Warning, "Warning:")), line);
    }

    /// Warns about invisible characters in a text before it is stored.
    pub(crate) fn warn_of_invisible(&self, text: &str) {
        let found = invisible_characters(text);
        if found.is_empty() {
            return;
        }
        let mut named: Vec<String> = Vec::new();
        for (_, c) in &found {
            let code = code_point(*c);
            if named.len() < INVISIBLE_NAMED && !named.contains(&code) {
                named.push(code);
            }
        }
        let number = count(found.len(), "invisible character", "invisible characters");
        self.warning(&format!(
            "The text has {number} ({}), stored as given.",
            named.join(", ")
        ));
    }

    /// Rings the terminal bell, if there is a terminal.
    pub(crate) fn bell(&self) {
        if self.stderr_is_visible() {
            // A failed bell is not worth a message.
            drop(io::stderr().lock().write_all(b"\x07"));
        }
    }

    pub(crate) fn hint(&self, line: &str) {
        self.say(Some((Style::Strong, "Hint:")), line);
    }

    /// Prints an error and its hint, and returns the exit code.
    pub(crate) fn error(&self, error: &CommandError) -> ExitCode {
        if let Some((message, hint)) = error.lines() {
            self.say(Some((Style::Error, "Error:")), message);
            if let Some(hint) = hint {
                self.hint(hint);
            }
        }
        error.exit_code()
    }

    /// Returns true if messages go to a terminal.
    fn stderr_is_visible(&self) -> bool {
        self.err_is_terminal && self.verbosity == Verbosity::Normal
    }

    /// Returns true if messages go to a terminal that supports drawing.
    pub(crate) fn can_draw(&self) -> bool {
        let can_move = env::terminal_kind().is_some_and(|kind| kind != "dumb");
        self.stderr_is_visible() && can_move && !env::is_ci()
    }

    pub(crate) fn theme(&self) -> Theme {
        Theme {
            color: self.err_color.get(),
            charset: if env::has_unicode() {
                Charset::Unicode
            } else {
                Charset::Ascii
            },
        }
    }

    /// The characters for drawn data. A pipe gets ASCII, which every program reads.
    pub(crate) fn data_charset(&self) -> Charset {
        match self.out_is_terminal && env::has_unicode() {
            true => Charset::Unicode,
            false => Charset::Ascii,
        }
    }

    /// Returns true if data is colored.
    pub(crate) fn has_colors(&self) -> bool {
        self.out_color.get()
    }

    /// Styles data, if colors are on.
    pub(crate) fn paint(&self, style: Style, text: &str) -> String {
        paint(self.out_color.get(), style, text)
    }

    /// Reads all of standard input as text, and refuses more than this many bytes.
    pub(crate) fn read_input(&self, most: usize) -> Result<String, CommandError> {
        read_all(io::stdin().lock(), most)
    }

    /// Asks a yes/no question; `None` if standard input is not a terminal.
    pub(crate) fn confirm(&self, question: &str) -> Result<Option<bool>, CommandError> {
        if !has_terminal() {
            return Ok(None);
        }
        let mut stderr = io::stderr().lock();
        write!(stderr, "{} [y/N] ", visible_controls(question))?;
        stderr.flush()?;
        let mut answer = String::new();
        io::stdin().lock().take(MAX_ANSWER_BYTES).read_line(&mut answer)?;
        let answer = answer.trim().to_lowercase();
        Ok(Some(matches!(answer.as_str(), "y" | "yes")))
    }

    /// Returns an asker for single-key questions; `None` unless input and output are the same usable terminal.
    pub(crate) fn asker(&self) -> Result<Option<Asker>, CommandError> {
        let is_there = self.out_is_terminal && self.can_draw() && has_terminal();
        if !is_there || terminal::stdin_owner() == terminal::TerminalOwner::Others {
            return Ok(None);
        }
        Ok(Some(Asker::begin(self.theme())?))
    }

    /// Returns a dialogue that works from any thread; `None` without a terminal.
    pub(crate) fn dialogue(&self) -> Option<Dialogue> {
        let is_there = has_terminal() && self.stderr_is_visible();
        is_there.then(|| Dialogue::new(self.err_color.get()))
    }

    /// Prints a message with a styled word in front. On a terminal, control characters are shown instead of obeyed, and
    /// long lines are wrapped. Write errors are ignored: if standard error is closed, the command still did its work.
    fn say(&self, word: Option<(Style, &str)>, line: &str) {
        if self.verbosity == Verbosity::Silent {
            return;
        }
        let plain = word.map(|(_, word)| word).unwrap_or_default();
        let painted = word.map(|(style, word)| paint(self.err_color.get(), style, word));
        let line = match word {
            Some((_, word)) => format!("{word} {line}"),
            None => line.to_owned(),
        };
        let text = match self.err_is_terminal {
            true => {
                let (line, columns) = (visible_controls(&line), terminal_width());
                let rows: Vec<String> = match word {
                    Some((Style::Strong, _)) => hint_rows(&line, columns),
                    _ => line.lines().flat_map(|line| hung(line, columns)).collect(),
                };
                in_charset(&rows.join("\n"))
            }
            false => line,
        };
        let rest = text.strip_prefix(plain).unwrap_or(&text);
        shared_terminal::say(&format!("{}{rest}\n", painted.unwrap_or_default()));
    }

    /// A line of data with the characters that the terminal can show.
    fn in_charset(&self, line: String) -> String {
        match self.out_is_terminal {
            true => in_charset(&line),
            false => line,
        }
    }

    /// The width of tables.
    pub(crate) fn width(&self) -> usize {
        if !self.out_is_terminal {
            return env::columns().unwrap_or(PIPE_WIDTH);
        }
        terminal_width()
    }
}

/// Wraps a hint without breaking its commands, since people copy them. The lines after the first are quoted text and
/// stay unchanged.
fn hint_rows(hint: &str, columns: usize) -> Vec<String> {
    let (first, quoted) = hint.split_once('\n').unwrap_or((hint, ""));
    let mut rows = wrapped_around_commands(first, columns);
    rows.extend(quoted.lines().map(str::to_owned));
    rows
}

/// The terminal width available for lines that are cut to fit.
fn terminal_width() -> usize {
    let width = terminal_size::terminal_size()
        .map(|(width, _)| usize::from(width.0))
        .filter(|width| *width > 0)
        .or_else(env::columns)
        .unwrap_or(DEFAULT_WIDTH);
    match env::has_unicode() {
        true => width,
        false => width.saturating_sub(PLAIN_ELLIPSIS.len() - 1),
    }
}

/// Replaces an ellipsis, which has one column, on a terminal that cannot show it.
const PLAIN_ELLIPSIS: &str = "...";

/// Replaces the ellipsis if the terminal cannot show it.
fn in_charset(line: &str) -> String {
    match env::has_unicode() {
        true => line.to_owned(),
        false => line.replace('…', PLAIN_ELLIPSIS),
    }
}

/// How long printing the final message may take. A blocked reader must not keep the program from exiting.
const FINAL_MESSAGE_TIMEOUT: Duration = Duration::from_millis(250);

/// The exit code of an interrupted program.
pub(crate) const INTERRUPTED: u8 = 130;

/// Prints a final message, kills all child processes and exits.
pub(crate) fn exit_immediately(message: &'static str) {
    print_final_message(message);
    // This comes last: a thread that waits for one of them would go on as if it had ended by itself.
    ralph_process::kill_descendants();
    #[expect(clippy::exit, reason = "the thread that would return the code does not come to it")]
    std::process::exit(INTERRUPTED.into());
}

/// Prints a line without blocking: another thread may be stuck writing.
fn print_final_message(line: &'static str) {
    let (sender, printed) = mpsc::channel::<()>();
    std::thread::spawn(move || {
        shared_terminal::leave();
        drop(writeln!(io::stderr().lock(), "{line}"));
        drop(sender);
    });
    let _timed_out = printed.recv_timeout(FINAL_MESSAGE_TIMEOUT);
    // A thread that is stuck writing does not hold the terminal's mode.
    terminal::stop_listening();
}

/// Returns true if standard input is a terminal.
pub(crate) fn has_terminal() -> bool {
    io::stdin().is_terminal()
}

/// Prints clap's output: help and version go to standard output, errors to standard error.
pub(crate) fn print_usage(usage: &clap::Error) -> ExitCode {
    // If this cannot be printed either, there is nothing left to do.
    drop(usage.print());
    if is_text_without_quotes(usage) {
        drop(writeln!(io::stderr().lock(), "Put a text of several words in quotes."));
    }
    ExitCode::from(u8::try_from(usage.exit_code()).unwrap_or(2))
}

/// Returns true if a command that takes one text got several unquoted words.
fn is_text_without_quotes(usage: &clap::Error) -> bool {
    let value = |kind| usage.get(kind).map(ToString::to_string).unwrap_or_default();
    let takes_text = ["<TEXT>", "<CONTENT>", "|TEXT|"].map(|text| value(ContextKind::Usage).contains(text));
    usage.kind() == ErrorKind::UnknownArgument
        && takes_text.contains(&true)
        && !value(ContextKind::InvalidArg).starts_with('-')
}

/// `Showing 2 memories`, the closing line of a table.
pub(crate) fn showing(shown: usize, one: &str, many: &str) -> String {
    format!("Showing {}", count(shown, one, many))
}

/// The columns for a text after an indent, on a screen of this width.
pub(crate) fn text_columns(width: usize, before: usize) -> usize {
    width.saturating_sub(before).clamp(LEAST_TEXT, MOST_TEXT)
}

/// Lists commands with aligned descriptions. If they do not fit the width, the descriptions are left out: a cut command
/// is useless.
pub(crate) fn commands(all: &[(String, &str)], width: usize) -> Vec<String> {
    let longest = all.iter().map(|(command, _)| command.len()).max().unwrap_or_default();
    let line = |(command, about): &(String, &str)| format!("  {command:<longest$}  # {about}");
    let with_notes: Vec<String> = all.iter().map(line).collect();
    if with_notes.iter().all(|line| line.len() <= width) {
        return with_notes;
    }
    all.iter().map(|(command, _)| format!("  {command}")).collect()
}

fn paint(color: bool, style: Style, text: &str) -> String {
    if color {
        format!("\x1b[{}m{text}\x1b[0m", style.code())
    } else {
        text.to_owned()
    }
}

/// Replaces characters that a terminal would obey or hide, so the text cannot move the cursor, change colors or reorder
/// the display.
fn visible_controls(text: &str) -> String {
    show_invisible(text)
        .chars()
        .map(|c| match c {
            '\n' | '\t' => c,
            '\u{0}'..='\u{1f}' => char::from_u32(0x2400 + u32::from(c)).unwrap_or('\u{fffd}'),
            _ if c.is_control() => '\u{fffd}',
            _ => c,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown() {
        assert_eq!(visible_controls("a\x1b[31m\r\n\tb\u{9b}"), "a␛[31m␍\n\tb\u{fffd}");
        assert_eq!(
            visible_controls("user\u{202e}nimda\u{2066}x\u{2069}"),
            "user<U+202E>nimda<U+2066>x<U+2069>"
        );
        assert_eq!(visible_controls("שלום grün 🦀"), "שלום grün 🦀");
    }
}
