//! Parses learnings of the earlier tool: the content becomes a text and numbers, and the original is kept for export.

use jiff::Timestamp;
use ralph_model::{Candidate, Facts, LearningKind, TaskType, estimate_of};
use ralph_notes::cleaned_tags;
use ralph_store::{ForeignLearning, ForeignLearningStatus};
use serde_json::Value;

use super::file::{FileKind, ForeignFile};
use super::json::{JsonObject, compact, kind_of, parse};
use crate::capture::{MAX_LEARNING, clean, found_tags};
use crate::secrets::find;
use ralph_search::text_features;

/// The confidence and success rate of a learning that has none.
const UNKNOWN_SHARE: f64 = 0.5;
/// Maximum length of the name of a run, a category or a word, in characters.
const LONGEST_NAME: usize = 200;
/// Maximum number of imported tags.
const MOST_TAGS: usize = 20;
/// The field for the sample count of an estimate, which is our own; other tools preserve it.
pub(super) const SAMPLED: &str = "sampled";
/// The fields for the status of a learning and the reason for it.
pub(super) const STATUS: &str = "status";
pub(super) const REASON: &str = "rejectionReason";

/// The learnings of a file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReadLearnings {
    /// The learnings, in their order.
    pub learnings: Vec<ForeignLearning>,
    pub problems: Vec<EntryProblem>,
    /// How many learnings contained a possible secret; they are imported without it.
    pub masked: usize,
}

/// Why an entry of a file cannot be imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryProblem {
    /// Its position, from 1.
    pub number: usize,
    /// Its id, if it has one.
    pub id: Option<String>,
    pub why: String,
}

/// Reads the learnings of a file, skipping unreadable ones. `now` is the time of those that have none.
#[must_use]
pub fn read_learnings(file: &ForeignFile, now: Timestamp) -> ReadLearnings {
    let time = file.updated_at().unwrap_or(now);
    let mut read = ReadLearnings::default();
    for (number, entry) in (1..).zip(file.entries()) {
        let of_entry = match file.kind() {
            FileKind::Store => read_stored(entry, time),
            FileKind::Staging => read_staged(entry, time),
        };
        match of_entry {
            Ok(learning) => {
                read.masked += usize::from(learning.original.is_none());
                read.learnings.push(learning);
            }
            Err(why) => {
                let id = entry.as_object().and_then(id_of);
                read.problems.push(EntryProblem { number, id, why });
            }
        }
    }
    read
}

/// Reads learnings proposed by a user: one, or a list. One with impossible numbers is rejected here, because they
/// cannot be stored.
///
/// # Errors
/// When the text is not JSON, or a whole file of the earlier tool.
pub fn read_candidates(text: &str, now: Timestamp) -> Result<ReadLearnings, String> {
    let value = parse(text.as_bytes()).map_err(|problem| problem.to_string())?;
    if FileKind::of(&value).is_some() {
        return Err("this is a whole store; import it with `ralph learnings import`".to_owned());
    }
    let entries = match value {
        Value::Array(entries) => entries,
        one => vec![one],
    };
    let mut read = ReadLearnings::default();
    for (number, entry) in (1..).zip(&entries) {
        match read_stored(entry, now) {
            Ok(learning) => {
                read.masked += usize::from(learning.original.is_none());
                read.learnings.push(ForeignLearning {
                    standing: standing_of_candidate(&learning),
                    ..learning
                });
            }
            Err(why) => read.problems.push(EntryProblem { number, id: None, why }),
        }
    }
    Ok(read)
}

fn standing_of_candidate(learning: &ForeignLearning) -> ForeignLearningStatus {
    let is_share = |number: f64| (0.0..=1.0).contains(&number);
    let candidate = Candidate {
        kind: learning.kind,
        task_type: learning.task_type,
        content: &learning.content,
        confidence: learning.confidence,
        success_rate: learning.success_rate,
    };
    let can_be_kept = is_share(learning.confidence) && is_share(learning.success_rate);
    match candidate.rejection().filter(|_| !can_be_kept) {
        Some(reason) => ForeignLearningStatus::Rejected(reason.to_owned()),
        None => ForeignLearningStatus::Pending,
    }
}

fn read_stored(entry: &Value, time: Timestamp) -> Result<ForeignLearning, String> {
    let object = object(entry)?;
    let mut learning = read_learning(object, time)?;
    // The other tool's store has no status; ours does for learnings that are not active.
    if let Ok(standing) = standing_of(object) {
        learning.standing = standing;
    }
    Ok(learning)
}

/// Reads an entry of the staging area: a learning and its status.
fn read_staged(entry: &Value, time: Timestamp) -> Result<ForeignLearning, String> {
    let staged = object(entry)?;
    let learning = staged.get("learning").ok_or("it has no \"learning\"")?;
    let time = time_of(staged, "stagedAt").unwrap_or(time);
    let mut learning = read_learning(object(learning)?, time)?;
    learning.id = learning.id.or_else(|| id_of(staged));
    learning.standing = standing_of(staged)?;
    Ok(learning)
}

fn standing_of(object: &JsonObject) -> Result<ForeignLearningStatus, String> {
    let status = word_of(object, STATUS).unwrap_or_default();
    match status.as_str() {
        "pending" => Ok(ForeignLearningStatus::Pending),
        "validated" => Ok(ForeignLearningStatus::Validated),
        // A learning pruned there is not active here either.
        "rejected" | "pruned" => Ok(ForeignLearningStatus::Rejected(
            word_of(object, REASON).unwrap_or_default(),
        )),
        other => Err(format!(
            "unknown status \"{other}\"; expected pending, validated or rejected"
        )),
    }
}

fn object(entry: &Value) -> Result<&JsonObject, String> {
    let wrong = || format!("it is {} instead of an object", kind_of(entry));
    entry.as_object().ok_or_else(wrong)
}

/// Reads an active learning. The error messages are those of the earlier tool.
pub(super) fn read_learning(object: &JsonObject, time: Timestamp) -> Result<ForeignLearning, String> {
    let word = word_of(object, "type").unwrap_or_default();
    if word.is_empty() {
        return Err("Missing required fields".to_owned());
    }
    let kind = LearningKind::parse(&word).ok_or_else(|| format!("Invalid type: {word}"))?;
    let said_type = word_of(object, "taskType").filter(|word| !word.is_empty());
    // An unknown kind of work becomes general.
    let known_type = |word: &String| TaskType::parse(word).unwrap_or(TaskType::General);
    let task_type = said_type.as_ref().map(known_type);
    let success_rate = share_of(object, "successRate", first_success_rate(kind));
    let confidence = share_of(object, "confidence", UNKNOWN_SHARE);
    let content = match object.get("content") {
        Some(Value::Object(content)) => Content::Parts(content),
        Some(Value::String(text)) => Content::Text(text),
        _ => Content::Nothing,
    };
    let text = content.text(kind, task_type);
    let is_foreign_word = |word: &&String| TaskType::parse(word).is_none();
    let tags = tags_of(object, &text, said_type.as_ref().filter(is_foreign_word));
    let created_at = time_of(object, "createdAt");
    let updated_at = time_of(object, "updatedAt");
    Ok(ForeignLearning {
        id: id_of(object),
        kind,
        category: word_of(object, "category")
            .filter(|word| !word.is_empty())
            .unwrap_or_else(|| kind.word().to_owned()),
        task_type,
        facts: content.facts(kind, success_rate, confidence),
        features: text_features(&text),
        content: text,
        tags,
        confidence,
        success_rate,
        use_count: object.get("useCount").and_then(count_in).unwrap_or_default(),
        source_loops: words_in(object.get("sourceLoops")),
        standing: ForeignLearningStatus::Promoted,
        original: may_be_kept(object).then(|| compact(&Value::Object(object.clone()))),
        created_at: created_at.or(updated_at).unwrap_or(time),
        updated_at: updated_at.or(created_at).unwrap_or(time),
    })
}

/// The content of a learning in its possible forms.
pub(super) enum Content<'a> {
    Parts(&'a JsonObject),
    Text(&'a String),
    Nothing,
}

impl Content<'_> {
    fn text(&self, kind: LearningKind, task_type: Option<TaskType>) -> String {
        match self {
            Self::Text(text) => clean(text, MAX_LEARNING),
            Self::Parts(parts) => match text_name(parts, kind) {
                Some(name) => text_in(parts, name),
                None if kind == LearningKind::Estimate => {
                    let complexity = word_of(parts, "complexity").unwrap_or_else(|| "unknown".to_owned());
                    estimate_of(task_type.unwrap_or(TaskType::General), &complexity)
                }
                None => String::new(),
            },
            Self::Nothing => String::new(),
        }
    }

    fn facts(&self, kind: LearningKind, success_rate: f64, confidence: f64) -> Option<Facts> {
        let Self::Parts(parts) = self else {
            return None;
        };
        let number = |name: &str| {
            parts
                .get(name)
                .and_then(Value::as_f64)
                .filter(|number| number.is_finite())
        };
        let count = |name: &str| parts.get(name).and_then(count_in);
        match kind {
            LearningKind::Strategy => Some(Facts::Strategy {
                effectiveness: number("effectiveness")?,
                iterations: count("iterations").unwrap_or_default(),
            }),
            LearningKind::Antipattern => Some(Facts::Antipattern {
                occurrences: count("occurrences")?,
                impact: word_of(parts, "impact").unwrap_or_default(),
                error: word_of(parts, "description").map(|text| warned_of(&text).to_owned()),
            }),
            LearningKind::Estimate => Some(Facts::Estimate {
                avg_iteration_time: number("avgIterationTime")?,
                total_iterations: number("totalIterations")?,
                complexity: word_of(parts, "complexity").unwrap_or_default(),
                success_rate: number("successRate").unwrap_or(success_rate),
                sampled: count(SAMPLED)
                    .filter(|sampled| *sampled > 0)
                    .unwrap_or_else(|| Facts::samples_behind(confidence)),
            }),
            LearningKind::Convention => Some(Facts::Convention {
                examples: words_in(Some(parts.get("examples")?)),
            }),
        }
    }
}

/// The name of the field with the text of a learning.
pub(super) fn text_name(parts: &JsonObject, kind: LearningKind) -> Option<&'static str> {
    let names: &[&str] = match kind {
        LearningKind::Convention => &["pattern", "convention", "description"],
        LearningKind::Strategy | LearningKind::Antipattern => &["description", "approach", "pattern"],
        LearningKind::Estimate => &["description"],
    };
    let is_there = |name: &&&str| parts.get(**name).is_some_and(|value| value.as_str().is_some());
    names.iter().find(is_there).copied()
}

/// The success rate of a learning that has none.
fn first_success_rate(kind: LearningKind) -> f64 {
    match kind {
        LearningKind::Antipattern => 0.0,
        LearningKind::Strategy | LearningKind::Estimate | LearningKind::Convention => UNKNOWN_SHARE,
    }
}

fn id_of(object: &JsonObject) -> Option<String> {
    word_of(object, "id").filter(|id| !id.is_empty())
}

fn text_in(object: &JsonObject, name: &str) -> String {
    let text = object.get(name).and_then(Value::as_str);
    text.map(|text| clean(text, MAX_LEARNING)).unwrap_or_default()
}

/// A text field, on one line.
pub(super) fn word_of(object: &JsonObject, name: &str) -> Option<String> {
    object.get(name)?.as_str().map(word)
}

fn word(text: &str) -> String {
    let text = clean(text, LONGEST_NAME);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The unique texts of a list, each on one line; other values are ignored.
fn words_in(list: Option<&Value>) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for text in list
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
    {
        let word = word(text);
        if !word.is_empty() && !words.contains(&word) {
            words.push(word);
        }
    }
    words
}

/// A rating. A missing one gets the default, but 0 is 0, and other types are invalid.
fn share_of(object: &JsonObject, name: &str, usual: f64) -> f64 {
    match object.get(name) {
        None | Some(Value::Null) => usual,
        Some(Value::Number(number)) => number.as_f64().unwrap_or(f64::NAN),
        Some(_) => f64::NAN,
    }
}

fn count_in(value: &Value) -> Option<u32> {
    let number = value.as_f64()?;
    compact(&number.into()).parse().ok()
}

fn time_of(object: &JsonObject, name: &str) -> Option<Timestamp> {
    object.get(name)?.as_str()?.parse().ok()
}

/// Its tags, else those found in its text.
fn tags_of(object: &JsonObject, text: &str, task_type: Option<&String>) -> Vec<String> {
    let given = words_in(object.get("tags"));
    let tags = if given.is_empty() {
        found_tags(&[text], &[], None)
    } else {
        given
    };
    let mut tags = cleaned_tags(tags.iter().chain(task_type).map(String::as_str));
    tags.truncate(MOST_TAGS);
    tags
}

/// Whether none of its texts looks like a secret.
fn may_be_kept(object: &JsonObject) -> bool {
    fn is_harmless(value: &Value) -> bool {
        match value {
            Value::String(text) => find(text).is_empty(),
            Value::Array(values) => values.iter().all(is_harmless),
            Value::Object(object) => may_be_kept(object),
            Value::Null | Value::Bool(_) | Value::Number(_) => true,
        }
    }
    object
        .iter()
        .all(|(name, value)| find(name).is_empty() && is_harmless(value))
}

/// What a warning of the other tool warns of; it has the form `Avoid: ERROR - REMEDY`.
fn warned_of(text: &str) -> &str {
    let text = text.strip_prefix("Avoid: ").unwrap_or(text);
    text.split_once(" - ").map_or(text, |(error, _)| error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learning(text: &str) -> Result<ForeignLearning, String> {
        let value = parse(text.as_bytes()).unwrap();
        read_stored(&value, Timestamp::UNIX_EPOCH)
    }

    #[test]
    fn content_becomes_text_and_numbers() {
        for (text, content, facts) in [
            (
                r#"{"type":"strategy","taskType":"bug-fix","content":{"description":"Look first","effectiveness":0.85,"iterations":12}}"#,
                "Look first",
                Some(Facts::Strategy {
                    effectiveness: 0.85,
                    iterations: 12,
                }),
            ),
            (
                r#"{"type":"antipattern","taskType":"bug-fix","content":{"description":"Avoid: haste","occurrences":3,"impact":"high"}}"#,
                "Avoid: haste",
                Some(Facts::Antipattern {
                    occurrences: 3,
                    impact: "high".to_owned(),
                    error: Some("haste".to_owned()),
                }),
            ),
            (
                r#"{"type":"estimate","taskType":"bug-fix","content":{"avgIterationTime":45000,"totalIterations":3,"complexity":"medium","successRate":0.5}}"#,
                "bug-fix tasks of medium complexity",
                Some(Facts::Estimate {
                    avg_iteration_time: 45000.0,
                    total_iterations: 3.0,
                    complexity: "medium".to_owned(),
                    success_rate: 0.5,
                    sampled: 3,
                }),
            ),
            (
                r#"{"type":"convention","taskType":"general","content":{"pattern":"Tests beside sources","examples":["a.test.ts",7]}}"#,
                "Tests beside sources",
                Some(Facts::Convention {
                    examples: vec!["a.test.ts".to_owned()],
                }),
            ),
            (
                r#"{"type":"strategy","taskType":"general","content":"Look\u0007 first"}"#,
                "Look first",
                None,
            ),
        ] {
            let learning = learning(text).unwrap();
            assert_eq!((learning.content.as_str(), learning.facts), (content, facts), "{text}");
            assert!(learning.original.is_some_and(|original| original.len() > 10));
        }
    }

    #[test]
    fn fault_26_rating_of_0_is_0() {
        let zero =
            learning(r#"{"type":"convention","taskType":"general","content":"x","confidence":0,"successRate":0}"#)
                .unwrap();
        assert_eq!((zero.confidence, zero.success_rate), (0.0, 0.0));
        let none = learning(r#"{"type":"convention","taskType":"general","content":"x","successRate":null}"#).unwrap();
        assert_eq!((none.confidence, none.success_rate), (0.5, 0.5));
        let odd = learning(r#"{"type":"convention","taskType":"general","content":"x","confidence":"0.9"}"#).unwrap();
        assert!(odd.confidence.is_nan());
    }

    #[test]
    fn parse_errors_use_the_other_tools_wording() {
        assert_eq!(learning("{}"), Err("Missing required fields".to_owned()));
        assert_eq!(learning(r#"{"type":"hunch"}"#), Err("Invalid type: hunch".to_owned()));
        assert_eq!(learning("[]"), Err("it is a list instead of an object".to_owned()));
    }

    #[test]
    fn candidates_are_proposed_unless_numbers_are_invalid() {
        let read = |text: &str| read_candidates(text, Timestamp::UNIX_EPOCH);
        let one = r#"{"type":"strategy","taskType":"general","content":"Look first","confidence":0.1}"#;
        let [learning] = read(one).unwrap().learnings.try_into().unwrap();
        assert_eq!(
            (learning.confidence, learning.standing),
            (0.1, ForeignLearningStatus::Pending)
        );
        let odd = one.replace("0.1", "7");
        let both = read(&format!("[{one}, {odd}, 5]")).unwrap();
        assert_eq!(
            both.learnings[1].standing,
            ForeignLearningStatus::Rejected("Confidence must be between 0 and 1".to_owned())
        );
        assert_eq!((both.learnings.len(), both.problems[0].number), (2, 3));
        assert!(read("{").is_err());
        let store = r#"{"version":"1.0.0","checksum":"","learnings":[]}"#;
        assert!(read(store).unwrap_err().contains("learnings import"));
    }

    #[test]
    fn rejected_or_pruned_learning_is_not_active() {
        for status in ["rejected", "pruned"] {
            let text = format!(
                r#"{{"type":"strategy","taskType":"general","content":"Look","status":"{status}","rejectionReason":"Old."}}"#
            );
            let read = read_stored(&parse(text.as_bytes()).unwrap(), Timestamp::UNIX_EPOCH);
            let old = ForeignLearningStatus::Rejected("Old.".to_owned());
            assert_eq!(read.unwrap().standing, old, "{status}");
        }
    }

    #[test]
    fn secret_is_masked_and_original_dropped() {
        let token = format!("ghp_{}", "a1B2".repeat(9));
        let read = learning(&format!(
            r#"{{"type":"strategy","taskType":"general","content":{{"description":"Use {token}"}}}}"#
        ));
        let read = read.unwrap();
        assert_eq!((read.content.as_str(), read.original), ("Use [secret: github]", None));
        let elsewhere = learning(&format!(
            r#"{{"type":"strategy","taskType":"general","content":"x","more":[{{"a":"{token}"}}]}}"#
        ));
        assert_eq!(elsewhere.unwrap().original, None);
    }

    #[test]
    fn tags_come_from_the_entry_or_its_text() {
        let tags = |text: &str| learning(text).unwrap().tags;
        assert_eq!(
            tags(r#"{"type":"strategy","taskType":"general","content":"Run cargo in src/main.rs"}"#),
            ["src/main.rs", "cargo"]
        );
        assert_eq!(
            tags(r#"{"type":"strategy","taskType":"Security","content":"Run cargo","tags":["B","a"]}"#),
            ["b", "a", "security"]
        );
    }
}
