//! Reads the capture sigils from all of an agent's messages.

use std::path::Path;

use ralph_model::{Captured, CapturedKnowledge, CapturedLearning, Difficulty, ErrorCategory, FailureReport};

use super::tags::Sigil;
use super::{Name, sigils};
use crate::capture::clean::{
    MAX_ERROR_OUTPUT, MAX_KNOWLEDGE, MAX_REASON, MAX_TAG, MAX_TAGS, MAX_TITLE, clean, clean_line_of,
};
use crate::capture::why_lines;

/// The maximum length of a journal entry's notes, in characters.
const MAX_JOURNAL: usize = 4000;

/// The maximum length of a learning, in characters. Learnings are injected whole, so a longer one would never fit the
/// budget.
pub const MAX_LEARNING: usize = 1100;

/// The maximum number of files in a report, and the maximum length of a name in characters.
const MAX_FILES: usize = 50;
const MAX_FILE_NAME: usize = 400;

/// The maximum number of note ids, and the maximum length of an id in characters.
const MAX_IDS: usize = 200;
const MAX_ID: usize = 200;

/// The maximum number of knowledge entries, and of learnings, per session.
const MAX_ENTRIES: usize = 100;

/// Reads the capture sigils from all messages of a session, cleaned, capped and with secrets masked. `prompt` is used
/// to ignore echoes; `root` is the project root.
#[must_use]
pub fn read_captured(messages: &[impl AsRef<str>], prompt: &str, root: &Path) -> Captured {
    let found = sigils(messages, prompt);
    let mut captured = Captured::default();
    let mut malformed = found
        .malformed
        .iter()
        .filter(|malformed| !malformed.name.is_control())
        .count();
    for sigil in found.sigils.iter().filter(|sigil| !sigil.name.is_control()) {
        if take(sigil, root, &mut captured).is_none() {
            malformed += 1;
        }
    }
    captured.malformed = u32::try_from(malformed).unwrap_or(u32::MAX);
    captured
}

/// Stores what a sigil says; `None` if it is malformed.
fn take(sigil: &Sigil<'_>, root: &Path, captured: &mut Captured) -> Option<()> {
    match sigil.name {
        Name::Journal => first(&mut captured.journal, || clean(&sigil.body(), MAX_JOURNAL)),
        Name::RetrySuggestion => first(&mut captured.retry_suggestion, || clean(&sigil.body(), MAX_REASON)),
        Name::Knowledge => {
            let knowledge = knowledge(sigil)?;
            (captured.knowledge.len() < MAX_ENTRIES).then(|| captured.knowledge.push(knowledge))?;
        }
        Name::Learning => {
            let learning = learning(sigil)?;
            (captured.learnings.len() < MAX_ENTRIES).then(|| captured.learnings.push(learning))?;
        }
        Name::FailureReport => {
            let report = failure_report(&sigil.body(), root)?;
            captured.failure.get_or_insert(report);
        }
        Name::DifficultyEstimate => {
            captured.difficulty = Some(Difficulty::parse(&sigil.body().to_ascii_lowercase())?);
        }
        Name::MemoryUsed => {
            let body = sigil.body();
            // Titles contain spaces and sometimes commas; ids contain neither.
            let ids = body.split([',', ';', '\n']).flat_map(ids_or_title);
            add_distinct(&mut captured.memory_used, ids, MAX_IDS, MAX_ID);
            let lines = body.lines().filter(|line| may_be_title(line));
            add_distinct(&mut captured.memory_used, lines, MAX_IDS, MAX_ID);
        }
        _ => {}
    }
    Some(())
}

/// The ids or the title in a part of a list.
fn ids_or_title(part: &str) -> impl Iterator<Item = &str> {
    let part = part.trim();
    let is_id = move |word: &&str| word.contains('-') || *word == part;
    let has_other_words = part.split_whitespace().any(|word| !is_id(&word));
    let words = part.split_whitespace().filter(is_id);
    words.chain(has_other_words.then_some(part))
}

/// Whether a line may be a single title although it looks like a list.
fn may_be_title(line: &str) -> bool {
    let mut words = line.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';'));
    line.contains([',', ';']) && words.any(|word| !word.is_empty() && !word.contains('-'))
}

/// Stores a text unless it is empty or another was stored before.
fn first(place: &mut Option<String>, text: impl FnOnce() -> String) {
    if place.is_none() {
        *place = Some(text()).filter(|text| !text.is_empty());
    }
}

fn knowledge(sigil: &Sigil<'_>) -> Option<CapturedKnowledge> {
    let knowledge = CapturedKnowledge {
        title: clean_line_of(&sigil.attribute("title")?, MAX_TITLE),
        tags: tags(sigil),
        feature: None,
        body: clean(&sigil.body(), MAX_KNOWLEDGE),
    };
    let whole = !knowledge.title.is_empty() && !knowledge.tags.is_empty() && !knowledge.body.is_empty();
    whole.then_some(knowledge)
}

fn learning(sigil: &Sigil<'_>) -> Option<CapturedLearning> {
    let learning = CapturedLearning {
        category: lower_line_of(&sigil.attribute("category")?, MAX_TAG),
        tags: tags(sigil),
        content: clean(&sigil.body(), MAX_LEARNING),
    };
    (!learning.category.is_empty() && !learning.content.is_empty()).then_some(learning)
}

/// The tags of a sigil, in lower case.
fn tags(sigil: &Sigil<'_>) -> Vec<String> {
    let written = sigil.attribute("tags").unwrap_or_default();
    let mut tags = Vec::new();
    // No tag contains characters that end the tags line of a note file.
    for tag in written.split([',', '|', '\n', '<', '>']) {
        if tags.len() >= MAX_TAGS {
            break;
        }
        let tag = lower_line_of(tag, MAX_TAG);
        if !tag.is_empty() && !tags.contains(&tag) {
            tags.push(tag);
        }
    }
    tags
}

/// A text as one line in lower case. It is cleaned before, because secrets are not recognised in lower case, and cut
/// after, because some letters grow.
fn lower_line_of(text: &str, cap: usize) -> String {
    clean_line_of(&clean_line_of(text, usize::MAX).to_lowercase(), cap)
}

/// Adds items that are new and not blank, up to a number and a length.
fn add_distinct<'a>(all: &mut Vec<String>, more: impl Iterator<Item = &'a str>, most: usize, longest: usize) {
    for item in more {
        if all.len() >= most {
            return;
        }
        let item = clean_line_of(item, longest);
        if !item.is_empty() && !all.contains(&item) {
            all.push(item);
        }
    }
}

/// The keys of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Key {
    WhatTried,
    WhyFailed,
    ErrorCategory,
    RelevantFiles,
    StackTrace,
}

/// `error_output` is accepted because prompts use it.
const KEYS: [(Key, &str); 6] = [
    (Key::WhatTried, "what_tried"),
    (Key::WhyFailed, "why_failed"),
    (Key::ErrorCategory, "error_category"),
    (Key::RelevantFiles, "relevant_files"),
    (Key::StackTrace, "stack_trace"),
    (Key::StackTrace, "error_output"),
];

/// A report; `None` without what was tried or why it failed.
fn failure_report(body: &str, root: &Path) -> Option<FailureReport> {
    let values = report_values(body);
    let value = |wanted: Key| {
        values
            .iter()
            .find(|(key, _)| *key == wanted)
            .map(|(_, value)| value.trim())
    };
    let required = |key: Key| {
        value(key)
            .map(|text| clean(text, MAX_REASON))
            .filter(|text| !text.is_empty())
    };
    let mut relevant_files = Vec::new();
    let marks = |c: char| c.is_whitespace() || matches!(c, '`' | '"' | '\'' | '-' | '*' | '[' | ']');
    let files = value(Key::RelevantFiles).unwrap_or_default().split([',', '\n']);
    add_distinct(
        &mut relevant_files,
        files.map(|file| file.trim_start_matches(marks).trim_end_matches(marks)),
        MAX_FILES,
        MAX_FILE_NAME,
    );
    let category = value(Key::ErrorCategory).unwrap_or_default().to_ascii_lowercase();
    Some(FailureReport {
        what_tried: required(Key::WhatTried)?,
        why_failed: required(Key::WhyFailed)?,
        category: ErrorCategory::parse(&category.replace(['-', ' '], "_")).unwrap_or(ErrorCategory::Unknown),
        relevant_files,
        error_output: value(Key::StackTrace)
            .map(|text| error_output(text, root))
            .filter(|text| !text.is_empty()),
        origin: ralph_model::ReportOrigin::Agent,
        gate: None,
    })
}

/// The output of a failing program as quoted by an agent. If it is too long, the lines that explain the failure.
fn error_output(text: &str, root: &Path) -> String {
    let whole = clean(text, usize::MAX);
    if whole.chars().count() <= MAX_ERROR_OUTPUT {
        return whole;
    }
    why_lines(text, root, MAX_ERROR_OUTPUT)
}

/// The values of a report, each with its continuation lines.
fn report_values(body: &str) -> Vec<(Key, String)> {
    let mut values: Vec<(Key, String)> = Vec::new();
    let mut current = None;
    for line in body.lines() {
        let (key, text) = match key_of(line) {
            Some((key, text)) => (Some(key), text),
            None => (current, line),
        };
        current = key;
        let Some(key) = key else { continue };
        match values.iter_mut().find(|(other, _)| *other == key) {
            Some((_, value)) => {
                value.push('\n');
                value.push_str(text);
            }
            None => values.push((key, text.to_owned())),
        }
    }
    values
}

/// The key at the start of a line and the text after it. List marks and bold are ignored.
fn key_of(line: &str) -> Option<(Key, &str)> {
    let (word, text) = line.split_once(':')?;
    let marks = |c: char| c.is_whitespace() || matches!(c, '-' | '*' | '`' | '#');
    let word = word.trim_matches(marks);
    let (key, _) = KEYS.iter().find(|(_, name)| name.eq_ignore_ascii_case(word))?;
    Some((*key, text.trim_start_matches(['*', '`']).trim_start()))
}
