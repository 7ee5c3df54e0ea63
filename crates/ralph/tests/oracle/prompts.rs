//! Prompts as their sections: headings, comments of the budget, and the lines that hold recorded content.

use crate::normal::quoted;
use crate::story::MARK;

/// The sections of a prompt, without the sentences that are the prompt's own.
pub(crate) fn sections(prompt: &str) -> String {
    let mut is_fenced = false;
    let mut lines = Vec::new();
    for line in prompt.lines() {
        if line.starts_with("```") {
            is_fenced = !is_fenced;
        }
        let is_heading = line.starts_with('#') && !is_fenced;
        if is_heading || line.starts_with("<!--") {
            lines.push(line.to_owned());
        } else if line.contains(MARK) {
            lines.push(content(line));
        }
    }
    lines.join("\n")
}

/// A line without the sentence that quotes the content.
fn content(line: &str) -> String {
    let label = line
        .split_inclusive("**: ")
        .next()
        .filter(|label| label.ends_with("**: "));
    let label = label.unwrap_or(if line.starts_with("> ") { "> " } else { "" });
    let rest = line.strip_prefix(label).unwrap_or(line);
    let is_sentence = rest
        .split_once(MARK)
        .is_some_and(|(before, _)| before.contains(' ') && !before.starts_with(['(', '-', '*']));
    if is_sentence {
        format!("{label}{}", quoted(rest))
    } else {
        line.to_owned()
    }
}
