//! The words of commands: those that start an agent, and those that an agent runs.

use ralph_model::config::CommandLine;
use ralph_model::first_line;

/// Whether words have an option, with its value apart or attached: `-m x`, `-mx`, `--model x`, `--model=x`.
#[must_use]
pub fn has_option(words: &[String], option: &str) -> bool {
    words.iter().skip(1).any(|word| {
        word.strip_prefix(option).is_some_and(|rest| {
            let is_short = !option.starts_with("--");
            rest.is_empty() || rest.starts_with('=') || is_short
        })
    })
}

/// The words of a command, without the variables that are set for it: many hold a secret.
pub(crate) fn words_of(command: &str) -> Vec<String> {
    let line = CommandLine::Line(first_line(command).to_owned());
    // Quotes that are not closed are closed in another line.
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
