//! Helpers for the words of shell commands.

use ralph_model::config::CommandLine;
use ralph_model::first_line;

/// Whether the words have an option, with a separate or attached value: `-m x`, `-mx`, `--model x`, `--model=x`.
#[must_use]
pub fn has_option(words: &[String], option: &str) -> bool {
    words.iter().skip(1).any(|word| {
        word.strip_prefix(option).is_some_and(|rest| {
            let is_short = !option.starts_with("--");
            rest.is_empty() || rest.starts_with('=') || is_short
        })
    })
}

/// The words of a command without its variable assignments, which may contain secrets.
pub(crate) fn words_of(command: &str) -> Vec<String> {
    let line = CommandLine::Line(first_line(command).to_owned());
    // Unclosed quotes are closed on another line.
    let words = line
        .words()
        .unwrap_or_else(|| command.split_whitespace().map(str::to_owned).collect());
    words.into_iter().skip_while(|word| sets_variable(word)).collect()
}

pub(crate) fn sets_variable(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|sign| sign.is_ascii_alphanumeric() || sign == '_')
    })
}
