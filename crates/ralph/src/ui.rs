//! The only place that prints. Data goes to standard output, everything said about it to standard error. What is drawn in
//! place at the bottom of a terminal stands below all that.

mod asker;
mod block;
mod dialogue;
mod person;
pub(crate) mod stage;
mod terminal;

use std::cell::Cell;
use std::io::{self, BufRead, IsTerminal, Read, Write};
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::Duration;

use clap::ValueEnum;
use clap::error::{ContextKind, ErrorKind};
use ralph_model::config::Color;
use ralph_model::{code_point, count, invisible_characters, show_invisible};

use crate::env;
use crate::error::CommandError;
use crate::table::{self, Column, Plain, Shape};
use crate::text_file::read_all;
use crate::wrap::{hung, wrapped_around_commands};

pub(crate) use asker::{Asker, Key, Pressed};
pub(crate) use block::Why;
pub(crate) use dialogue::{Dialogue, Heard};
#[cfg(test)]
pub(crate) use person::LONGEST_LINE;
pub(crate) use person::{AtDialogue, Ending, Person, lines_of};

/// The least and the most columns of a text that stands below a title, however wide the screen is.
const LEAST_TEXT: usize = 20;
const MOST_TEXT: usize = 100;
/// The width of tables on a terminal that does not tell its own.
const DEFAULT_WIDTH: usize = 120;
/// The width of tables where no terminal is: whoever reads a pipe, an agent mostly, wants the line whole, not a wall of text.
const PIPE_WIDTH: usize = 500;
/// How many different invisible characters a warning names.
const INVISIBLE_NAMED: usize = 5;
/// The longest answer to a question.
const MAX_ANSWER_BYTES: u64 = 4096;

/// When to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal, unless `NO_COLOR` is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// A line, and how it is set apart.
pub(crate) type Line = (Option<Style>, String);

/// How something is set apart.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Style {
    /// A title or an id.
    Strong,
    /// Something of less interest.
    Faint,
    /// What was looked for.
    Match,
    /// A failure.
    Error,
    /// Something to look at.
    Warning,
    /// A line that is added.
    Added,
    /// A line that is taken away.
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

/// How what is drawn looks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look {
    pub(crate) color: bool,
    pub(crate) signs: Signs,
}

impl Look {
    /// Sets a text apart.
    pub(crate) fn paint(self, style: Option<Style>, text: &str) -> String {
        style
            .filter(|_| !text.is_empty())
            .map_or_else(|| text.to_owned(), |style| paint(self.color, style, text))
    }
}

/// Which signs a terminal shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signs {
    /// All.
    Unicode,
    /// Those that have a key.
    Ascii,
}

impl Signs {
    /// A text in these signs.
    pub(crate) fn of(self, text: &str) -> String {
        let sign = |c: char| match c {
            c if c.is_ascii() => c,
            '·' => '|',
            '…' => '~',
            _ => '?',
        };
        match self {
            Self::Unicode => text.to_owned(),
            Self::Ascii => text.chars().map(sign).collect(),
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
    speech: Speech,
}

/// Whether anything is said beside the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Speech {
    Aloud,
    Silent,
}

impl Ui {
    /// Looks at the terminal once; the choice is that of a flag.
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
            speech: Speech::Aloud,
        }
    }

    /// One that prints data and says nothing about it: for what other programs call.
    pub(crate) fn silent() -> Self {
        Self {
            speech: Speech::Silent,
            ..Self::new(Some(ColorChoice::Never))
        }
    }

    /// Takes the choice of the configuration, which no flag has overridden. `NO_COLOR` is a person's, so it wins.
    pub(crate) fn configure(&self, choice: Color) {
        let color = match choice {
            Color::Always => !env::no_color(),
            Color::Never => false,
            Color::Auto => return,
        };
        self.out_color.set(color);
        self.err_color.set(color);
    }

    /// Prints data: exactly, or with invisible characters shown where a person reads it.
    pub(crate) fn data(&self, text: &str) -> Result<(), CommandError> {
        stage::clear();
        let text = match self.out_is_terminal {
            true => show_invisible(text),
            false => text.into(),
        };
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        Ok(out.flush()?)
    }

    /// Prints a line of data, on a terminal with a sign in front.
    pub(crate) fn result(&self, sign: &str, line: &str) -> Result<(), CommandError> {
        if self.out_is_terminal {
            self.data(&format!("{sign} {line}\n"))
        } else {
            self.data(&format!("{line}\n"))
        }
    }

    /// Whether a person reads what is printed.
    pub(crate) fn is_terminal(&self) -> bool {
        self.out_is_terminal
    }

    /// A sign on a terminal, a word elsewhere.
    pub(crate) fn sign_or_word(&self, sign: &'static str, word: &'static str) -> &'static str {
        if self.out_is_terminal { sign } else { word }
    }

    /// Prints text of a note to be read: on a terminal its control characters are shown, not obeyed.
    pub(crate) fn text(&self, text: &str) -> Result<(), CommandError> {
        if self.out_is_terminal {
            self.data(&visible_controls(text))
        } else {
            self.data(text)
        }
    }

    /// Prints lines of text, some of them set apart. On a terminal control characters are shown, not obeyed, and what is too
    /// long is broken between words.
    pub(crate) fn lines(&self, lines: &[Line]) -> Result<(), CommandError> {
        let mut text = String::new();
        for (style, line) in lines {
            for line in self.rows(*style, line) {
                let line = self.in_signs(line);
                text.push_str(&style.map_or_else(|| line.clone(), |style| self.paint(style, &line)));
                text.push('\n');
            }
        }
        self.data(&text)
    }

    /// The rows that a line takes. Other programs get it whole; and so does a terminal what people copy from it.
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

    /// The same, with a shape for the texts.
    pub(crate) fn table_with(
        &self,
        columns: &[Column],
        rows: &[Vec<String>],
        closing: &str,
        shape: &dyn Shape,
    ) -> Result<(), CommandError> {
        let lines = match self.out_is_terminal {
            true => {
                // Before columns are measured.
                let shown = |cell: &String| show_invisible(cell).into_owned();
                let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(shown).collect()).collect();
                let (columns, rows) = table::without_blank(columns, &rows);
                table::lines(&columns, &rows, Some(self.width()), shape)
            }
            false => table::lines(columns, rows, Some(self.width()), shape),
        };
        let mut text = String::new();
        for (index, line) in lines.into_iter().enumerate() {
            let line = self.in_signs(line);
            if index == 0 {
                text.push_str(&self.paint(Style::Faint, &line));
            } else {
                text.push_str(&line);
            }
            text.push('\n');
        }
        text.push('\n');
        for line in closing.lines().flat_map(|line| self.rows(None, line)) {
            text.push_str(&self.in_signs(line));
            text.push('\n');
        }
        self.data(&text)
    }

    /// Prints a value as JSON.
    pub(crate) fn json(&self, value: &impl serde::Serialize) -> Result<(), CommandError> {
        // JSON escapes most control characters, but not all that a terminal would obey.
        self.text(&format!("{}\n", serde_json::to_string_pretty(value)?))
    }

    /// Says something about what is going on.
    pub(crate) fn status(&self, line: &str) {
        self.say(None, line);
    }

    /// Says something that a person should look at.
    pub(crate) fn warning(&self, line: &str) {
        self.say(Some((Style::Warning, "Warning:")), line);
    }

    /// Warns of characters in a text that nobody sees, before it is stored.
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

    /// Rings the bell of the terminal, if somebody sits there.
    pub(crate) fn bell(&self) {
        if self.is_watched() {
            // A bell that cannot be rung is not worth a word.
            drop(io::stderr().lock().write_all(b"\x07"));
        }
    }

    /// Says what mends it.
    pub(crate) fn hint(&self, line: &str) {
        self.say(Some((Style::Strong, "Hint:")), line);
    }

    /// Says why a command failed, and gives its exit code.
    pub(crate) fn error(&self, error: &CommandError) -> ExitCode {
        if let Some((message, hint)) = error.lines() {
            self.say(Some((Style::Error, "Error:")), message);
            if let Some(hint) = hint {
                self.hint(hint);
            }
        }
        error.exit_code()
    }

    /// Whether a person reads what is said.
    fn is_watched(&self) -> bool {
        self.err_is_terminal && self.speech == Speech::Aloud
    }

    /// Whether they do so at a terminal on which can be drawn.
    pub(crate) fn can_draw(&self) -> bool {
        let can_move = env::terminal_kind().is_some_and(|kind| kind != "dumb");
        self.is_watched() && can_move && !env::is_ci()
    }

    /// How what is drawn looks.
    pub(crate) fn look(&self) -> Look {
        Look {
            color: self.err_color.get(),
            signs: if env::has_unicode() {
                Signs::Unicode
            } else {
                Signs::Ascii
            },
        }
    }

    /// Which signs data may be drawn with: a pipe gets those that every program reads.
    pub(crate) fn data_signs(&self) -> Signs {
        match self.out_is_terminal && env::has_unicode() {
            true => Signs::Unicode,
            false => Signs::Ascii,
        }
    }

    /// Whether data is set apart by colours.
    pub(crate) fn has_colors(&self) -> bool {
        self.out_color.get()
    }

    /// Sets data apart where colours are wanted.
    pub(crate) fn paint(&self, style: Style, text: &str) -> String {
        paint(self.out_color.get(), style, text)
    }

    /// Reads all of standard input as text; more than this many bytes are refused before they fill the memory.
    pub(crate) fn read_input(&self, most: usize) -> Result<String, CommandError> {
        read_all(io::stdin().lock(), most)
    }

    /// Asks a question that is answered with yes or no; none where there is nobody to ask.
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

    /// Somebody to ask questions that are answered with a key; none where nobody reads and answers at one terminal.
    pub(crate) fn asker(&self) -> Result<Option<Asker>, CommandError> {
        let is_there = self.out_is_terminal && self.can_draw() && has_terminal();
        if !is_there || terminal::ground_of_keys() == terminal::Ground::Others {
            return Ok(None);
        }
        Ok(Some(Asker::begin(self.look())?))
    }

    /// Somebody to speak with, also from another thread; none where there is nobody to ask.
    pub(crate) fn dialogue(&self) -> Option<Dialogue> {
        let is_there = has_terminal() && self.is_watched();
        is_there.then(|| Dialogue::new(self.err_color.get()))
    }

    /// Says a line, with a word that is set apart in front. What it quotes is shown on a terminal, not obeyed, and what is too
    /// long is broken between words. Standard error may be closed; then there is nobody to tell, and the work itself went on.
    fn say(&self, word: Option<(Style, &str)>, line: &str) {
        if self.speech == Speech::Silent {
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
                in_signs(&rows.join("\n"))
            }
            false => line,
        };
        let rest = text.strip_prefix(plain).unwrap_or(&text);
        stage::say(&format!("{}{rest}\n", painted.unwrap_or_default()));
    }

    /// A line of data in the signs that the terminal shows.
    fn in_signs(&self, line: String) -> String {
        match self.out_is_terminal {
            true => in_signs(&line),
            false => line,
        }
    }

    /// How wide a table may be.
    pub(crate) fn width(&self) -> usize {
        if !self.out_is_terminal {
            return env::columns().unwrap_or(PIPE_WIDTH);
        }
        terminal_width()
    }
}

/// The rows of a hint, from which people copy commands. What follows its first line is somebody's own text, and stays as it is.
fn hint_rows(hint: &str, columns: usize) -> Vec<String> {
    let (said, quoted) = hint.split_once('\n').unwrap_or((hint, ""));
    let mut rows = wrapped_around_commands(said, columns);
    rows.extend(quoted.lines().map(str::to_owned));
    rows
}

/// How wide the terminal is, as far as lines may reach that are cut to fit.
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

/// What stands for an ellipsis, which has one column, where the terminal has no sign for it.
const PLAIN_ELLIPSIS: &str = "...";

/// A line as the terminal can show where it was cut.
fn in_signs(line: &str) -> String {
    match env::has_unicode() {
        true => line.to_owned(),
        false => line.replace('…', PLAIN_ELLIPSIS),
    }
}

/// How long the last words may take. Whoever does not read them must not keep the program from its end.
const LAST_WORDS: Duration = Duration::from_millis(250);

/// The exit code of a program that a person has stopped.
pub(crate) const INTERRUPTED: u8 = 130;

/// Ends the program with these words, and with nothing of it left.
pub(crate) fn end_at_once(word: &'static str) {
    last_words(word);
    // Last: whoever waits for one of them would go on as if it had come to its end by itself.
    ralph_process::kill_descendants();
    #[expect(clippy::exit, reason = "the thread that would return the code does not come to it")]
    std::process::exit(INTERRUPTED.into());
}

/// Says a line when nothing else can be done any more. Another thread may be held up in saying something for ever.
fn last_words(line: &'static str) {
    let (said, hears) = mpsc::channel::<()>();
    std::thread::spawn(move || {
        stage::leave();
        drop(writeln!(io::stderr().lock(), "{line}"));
        drop(said);
    });
    let _until_said = hears.recv_timeout(LAST_WORDS);
    // Whoever is held up in saying something has not kept the terminal in its mode.
    terminal::stop_listening();
}

/// Whether somebody sits at the other end who can be asked.
pub(crate) fn has_terminal() -> bool {
    io::stdin().is_terminal()
}

/// Prints what clap has to say about the arguments: help and version are data, errors are not.
pub(crate) fn print_usage(usage: &clap::Error) -> ExitCode {
    // When even that cannot be printed there is nobody to tell.
    drop(usage.print());
    if is_text_without_quotes(usage) {
        drop(writeln!(io::stderr().lock(), "A text of several words goes in quotes."));
    }
    ExitCode::from(u8::try_from(usage.exit_code()).unwrap_or(2))
}

/// Whether a word too many was given to a command that takes a text.
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

/// How many columns a text has on a screen of a width, behind so many columns.
pub(crate) fn text_columns(width: usize, before: usize) -> usize {
    width.saturating_sub(before).clamp(LEAST_TEXT, MOST_TEXT)
}

/// Commands that help, each with what it does, as lines of which the notes stand below one another. Where the notes do not fit
/// the width they are left out: a command that is cut helps nobody.
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

/// A text with signs in place of those that a terminal would obey or not show: it is not moved, coloured, or shown in another
/// order.
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
    fn control_characters_are_shown_not_obeyed() {
        assert_eq!(visible_controls("a\x1b[31m\r\n\tb\u{9b}"), "a␛[31m␍\n\tb\u{fffd}");
        assert_eq!(
            visible_controls("user\u{202e}nimda\u{2066}x\u{2069}"),
            "user<U+202E>nimda<U+2066>x<U+2069>"
        );
        assert_eq!(visible_controls("שלום grün 🦀"), "שלום grün 🦀");
    }
}
