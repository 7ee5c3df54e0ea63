//! The sigils that are kept, from all of an agent's text in a turn.

use std::path::Path;

use ralph_model::{Captured, CapturedKnowledge, CapturedLearning, Difficulty, ErrorCategory, FailureReport};

use super::tags::Sigil;
use super::{Name, sigils};
use crate::capture::clean::{
    MOST_ERROR_OUTPUT, MOST_KNOWLEDGE, MOST_REASON, MOST_TAG, MOST_TAGS, MOST_TITLE, clean, clean_line_of,
};
use crate::capture::why_lines;

/// The longest notes of a journal row, in characters.
const MOST_JOURNAL: usize = 4000;

/// The longest lesson, in characters. It stands in a prompt whole or not at all, so one that is longer than the room which
/// lessons have there would be kept for nobody.
pub const MOST_LEARNING: usize = 1100;

/// The most files of a report, and the longest name of one, in characters.
const MOST_FILES: usize = 50;
const MOST_FILE_NAME: usize = 400;

/// The most ids of notes, and the longest one, in characters.
const MOST_IDS: usize = 200;
const MOST_ID: usize = 200;

/// The most long notes, and the most lessons, of one turn. More is noise.
const MOST_ENTRIES: usize = 100;

/// Reads the sigils that are kept from all messages of an agent in a turn, cleaned, capped and without secrets. The prompt
/// is what it was asked, so that a repeat of it is not taken for an answer; the project is the folder `root`.
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

/// Takes what a sigil says; none when it says nothing that can be understood.
fn take(sigil: &Sigil<'_>, root: &Path, captured: &mut Captured) -> Option<()> {
    match sigil.name {
        Name::Journal => first(&mut captured.journal, || clean(&sigil.body(), MOST_JOURNAL)),
        Name::RetrySuggestion => first(&mut captured.retry_suggestion, || clean(&sigil.body(), MOST_REASON)),
        Name::Knowledge => {
            let knowledge = knowledge(sigil)?;
            (captured.knowledge.len() < MOST_ENTRIES).then(|| captured.knowledge.push(knowledge))?;
        }
        Name::Learning => {
            let learning = learning(sigil)?;
            (captured.learnings.len() < MOST_ENTRIES).then(|| captured.learnings.push(learning))?;
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
            // Titles have blanks, and a comma now and then; ids have neither.
            let ids = body.split([',', ';', '\n']).flat_map(ids_or_title);
            add_distinct(&mut captured.memory_used, ids, MOST_IDS, MOST_ID);
            let lines = body.lines().filter(|line| may_be_title(line));
            add_distinct(&mut captured.memory_used, lines, MOST_IDS, MOST_ID);
        }
        _ => {}
    }
    Some(())
}

/// What a part of a list of notes may name: ids with blanks between them, or one title.
fn ids_or_title(part: &str) -> impl Iterator<Item = &str> {
    let part = part.trim();
    let is_id = move |word: &&str| word.contains('-') || *word == part;
    let has_other_words = part.split_whitespace().any(|word| !is_id(&word));
    let words = part.split_whitespace().filter(is_id);
    words.chain(has_other_words.then_some(part))
}

/// Whether a line may be one title although it looks like a list.
fn may_be_title(line: &str) -> bool {
    let mut words = line.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';'));
    line.contains([',', ';']) && words.any(|word| !word.is_empty() && !word.contains('-'))
}

/// Keeps a text unless there is one already, or it is empty.
fn first(place: &mut Option<String>, text: impl FnOnce() -> String) {
    if place.is_none() {
        *place = Some(text()).filter(|text| !text.is_empty());
    }
}

fn knowledge(sigil: &Sigil<'_>) -> Option<CapturedKnowledge> {
    let knowledge = CapturedKnowledge {
        title: clean_line_of(&sigil.attribute("title")?, MOST_TITLE),
        tags: tags(sigil),
        feature: None,
        body: clean(&sigil.body(), MOST_KNOWLEDGE),
    };
    let whole = !knowledge.title.is_empty() && !knowledge.tags.is_empty() && !knowledge.body.is_empty();
    whole.then_some(knowledge)
}

fn learning(sigil: &Sigil<'_>) -> Option<CapturedLearning> {
    let learning = CapturedLearning {
        category: lower_line_of(&sigil.attribute("category")?, MOST_TAG),
        tags: tags(sigil),
        content: clean(&sigil.body(), MOST_LEARNING),
    };
    (!learning.category.is_empty() && !learning.content.is_empty()).then_some(learning)
}

/// The tags of a sigil, in lower case.
fn tags(sigil: &Sigil<'_>) -> Vec<String> {
    let written = sigil.attribute("tags").unwrap_or_default();
    let mut tags = Vec::new();
    // No tag holds what would end the line of tags in a file of notes.
    for tag in written.split([',', '|', '\n', '<', '>']) {
        if tags.len() >= MOST_TAGS {
            break;
        }
        let tag = lower_line_of(tag, MOST_TAG);
        if !tag.is_empty() && !tags.contains(&tag) {
            tags.push(tag);
        }
    }
    tags
}

/// A text as one line in lower case. Secrets are looked for before, since in lower case none is recognised; and it is cut
/// after, since some letters become two.
fn lower_line_of(text: &str, cap: usize) -> String {
    clean_line_of(&clean_line_of(text, usize::MAX).to_lowercase(), cap)
}

/// Adds what is not blank and not there yet, up to a number and a length.
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

/// The lines of a report that begin a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Key {
    WhatTried,
    WhyFailed,
    ErrorCategory,
    RelevantFiles,
    StackTrace,
}

/// What a prompt calls error output is taken for it, too.
const KEYS: [(Key, &str); 6] = [
    (Key::WhatTried, "what_tried"),
    (Key::WhyFailed, "why_failed"),
    (Key::ErrorCategory, "error_category"),
    (Key::RelevantFiles, "relevant_files"),
    (Key::StackTrace, "stack_trace"),
    (Key::StackTrace, "error_output"),
];

/// A report; none when it does not say what was tried or why that failed.
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
            .map(|text| clean(text, MOST_REASON))
            .filter(|text| !text.is_empty())
    };
    let mut relevant_files = Vec::new();
    let marks = |c: char| c.is_whitespace() || matches!(c, '`' | '"' | '\'' | '-' | '*' | '[' | ']');
    let files = value(Key::RelevantFiles).unwrap_or_default().split([',', '\n']);
    add_distinct(
        &mut relevant_files,
        files.map(|file| file.trim_start_matches(marks).trim_end_matches(marks)),
        MOST_FILES,
        MOST_FILE_NAME,
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

/// What a failing program printed, as an agent tells it. Of one that is too long the lines that say why, as of a gate: where
/// they stand differs from language to language.
fn error_output(text: &str, root: &Path) -> String {
    let whole = clean(text, usize::MAX);
    if whole.chars().count() <= MOST_ERROR_OUTPUT {
        return whole;
    }
    why_lines(text, root, MOST_ERROR_OUTPUT)
}

/// The values of a report, each with the lines that continue it.
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

/// The key with which a line begins, and what follows it. An agent that writes a list, or sets the keys in bold, means the
/// same.
fn key_of(line: &str) -> Option<(Key, &str)> {
    let (word, text) = line.split_once(':')?;
    let marks = |c: char| c.is_whitespace() || matches!(c, '-' | '*' | '`' | '#');
    let word = word.trim_matches(marks);
    let (key, _) = KEYS.iter().find(|(_, name)| name.eq_ignore_ascii_case(word))?;
    Some((*key, text.trim_start_matches(['*', '`']).trim_start()))
}
