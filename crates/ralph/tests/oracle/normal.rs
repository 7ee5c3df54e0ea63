//! What differs from time to time, and the wording of messages, is taken out of a record.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::story::MARK;

/// Values of these keys are sentences for people; of one that quotes a text of the story, the quotation is kept.
const SENTENCES: &[&str] = &[
    "change",
    "end_reason",
    "hint",
    "how",
    "message",
    "model_rationale",
    "problem",
    "rationale",
    "reason",
    "remarks",
    "sentence",
    "text",
    "what",
    "what_tried",
    "why",
    "why_failed",
    "why_not_ready",
];

/// Values of these keys depend on the machine, the clock or the wording of prompts.
const VARYING: &[&str] = &[
    "duration_ms",
    "pid",
    "prompt_tokens",
    "tokens",
    "score",
    "host",
    "version",
    "seconds",
    "prompt_sha256",
    "size",
    "bytes",
    "age_seconds",
    "avgIterationTime",
];

/// Ids and hashes, each with a name that says which one it is in the order of their appearance.
#[derive(Default)]
pub(crate) struct Names {
    known: BTreeMap<String, String>,
    counts: BTreeMap<String, usize>,
}

impl Names {
    /// A text with names instead of ids, hashes and times.
    pub(crate) fn text(&mut self, text: &str) -> String {
        let mut result = String::new();
        let mut rest = text;
        while let Some(start) = rest.find(|c: char| c.is_ascii_alphanumeric()) {
            let (before, from) = rest.split_at(start);
            result.push_str(before);
            let end = from.find(|c: char| !(c.is_ascii_alphanumeric() || "-:.".contains(c)));
            let (word, after) = from.split_at(end.unwrap_or(from.len()));
            let trimmed = word.trim_end_matches(['-', ':', '.']);
            result.push_str(&self.word(trimmed));
            result.push_str(word.get(trimmed.len()..).unwrap_or_default());
            rest = after;
        }
        result + rest
    }

    fn word(&mut self, word: &str) -> String {
        if is_time(word) {
            return "TIME".to_owned();
        }
        if let Some((id, rest)) = word.split_once('-').and_then(|(prefix, rest)| id_of(prefix, rest)) {
            return self.name(&id) + rest;
        }
        let is_hash = matches!(word.len(), 40 | 64) && word.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_hash {
            self.name(&format!("hash-{word}"))
        } else {
            word.to_owned()
        }
    }

    fn name(&mut self, id: &str) -> String {
        if let Some(known) = self.known.get(id) {
            return known.clone();
        }
        let prefix = id.split('-').next().unwrap_or_default().to_owned();
        let count = self.counts.entry(prefix.clone()).or_default();
        *count += 1;
        let name = format!("{prefix}#{count}");
        self.known.insert(id.to_owned(), name.clone());
        name
    }

    /// JSON with names instead of ids, and without what varies and sentences.
    pub(crate) fn json(&mut self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(text)),
            Value::Array(items) => items.iter().map(|item| self.json(item)).collect(),
            Value::Object(fields) => Value::Object(self.fields(fields)),
            other => other.clone(),
        }
    }

    fn fields(&mut self, fields: &Map<String, Value>) -> Map<String, Value> {
        let mut result = Map::new();
        for (key, value) in fields {
            let varies = VARYING.contains(&key.as_str()) && !value.is_null();
            let shown = match value {
                _ if varies => Value::from("VARIES"),
                Value::String(text) if SENTENCES.contains(&key.as_str()) => self.text(&quoted(text)).into(),
                Value::Array(list) if SENTENCES.contains(&key.as_str()) => Value::from(list.len()),
                _ => self.json(value),
            };
            result.insert(self.text(key), shown);
        }
        result
    }
}

/// What a sentence quotes of the story; a code of one word is no sentence.
pub(crate) fn quoted(sentence: &str) -> String {
    let quotations = sentence
        .split(": ")
        .filter_map(|part| part.get(part.find(MARK)?..)?.split(". ").next());
    let quotations: Vec<&str> = quotations.collect();
    match quotations.is_empty() {
        false => quotations.join(" | "),
        true if sentence.contains(' ') || sentence.ends_with('.') => "SENTENCE".to_owned(),
        true => sentence.to_owned(),
    }
}

/// The id at the beginning of a word, and what follows it.
fn id_of<'w>(prefix: &str, rest: &'w str) -> Option<(String, &'w str)> {
    let hex = |digits: usize| -> Option<(String, &'w str)> {
        let (id, after) = rest.split_at_checked(digits)?;
        let ends = after.bytes().next().is_none_or(|byte| !byte.is_ascii_alphanumeric());
        let is_hex = id.bytes().all(|byte| byte.is_ascii_hexdigit());
        (is_hex && ends).then(|| (format!("{prefix}-{id}"), after))
    };
    match prefix {
        "t" | "f" => hex(6),
        "run" | "learn" | "undo" | "rollback" | "proposal" | "prop" => hex(8),
        "mem" | "fix" | "decision" | "pattern" => {
            let (unix, last) = rest.split_once('-')?;
            let is_id = unix.len() == 10 && unix.bytes().all(|byte| byte.is_ascii_digit()) && last.len() == 4;
            is_id.then(|| (format!("{prefix}-{rest}"), ""))
        }
        _ => None,
    }
}

/// Whether a word is a moment such as 2025-01-20T11:20:00.000Z.
fn is_time(word: &str) -> bool {
    let bytes = word.as_bytes();
    bytes.len() >= 19 && bytes.get(10) == Some(&b'T') && bytes.get(4) == Some(&b'-') && bytes.get(13) == Some(&b':')
}
