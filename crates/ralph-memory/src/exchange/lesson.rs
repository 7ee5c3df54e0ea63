//! Lessons as the earlier tool writes them, read as ours: what they say becomes a text and numbers, and all that they hold
//! beside it is kept for the way back.

use jiff::Timestamp;
use ralph_model::{Candidate, Facts, LearningKind, TaskType, estimate_of};
use ralph_notes::cleaned_tags;
use ralph_store::{ForeignLearning, ForeignStanding};

use super::file::{FileKind, ForeignFile};
use super::javascript::{JsObject, JsText, JsValue, compact, parse};
use crate::capture::{MOST_LEARNING, clean, found_tags};
use crate::secrets::find;

/// How sure a lesson is that does not say so, and how often it succeeds.
const UNKNOWN_SHARE: f64 = 0.5;
/// The longest name of a run, a category or a word, in characters.
const LONGEST_NAME: usize = 200;
/// The most tags that are taken over.
const MOST_TAGS: usize = 20;
/// Where it says how many iterations an estimate was drawn from: a name that only we know, which others keep.
pub(super) const SAMPLED: &str = "sampled";
/// Where it says how far a lesson has come, and why not further.
pub(super) const STATUS: &str = "status";
pub(super) const REASON: &str = "rejectionReason";

/// What could be read of a file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReadLessons {
    /// The lessons, in their order.
    pub lessons: Vec<ForeignLearning>,
    /// What could not be read.
    pub problems: Vec<EntryProblem>,
    /// How many of the lessons hold what looks like a secret; they are kept without it.
    pub masked: usize,
}

/// Why an entry of a file cannot be taken over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryProblem {
    /// Which one it is, from 1, for people and for programs alike.
    pub number: usize,
    /// Its id, if it has one.
    pub id: Option<String>,
    /// What is wrong.
    pub why: String,
}

/// Reads the lessons of a file. Those that cannot be read do not keep the others from it. `now` is the time of those that
/// have none.
#[must_use]
pub fn read_lessons(file: &ForeignFile, now: Timestamp) -> ReadLessons {
    let time = file.updated_at().unwrap_or(now);
    let mut read = ReadLessons::default();
    for (number, entry) in (1..).zip(file.entries()) {
        let of_entry = match file.kind() {
            FileKind::Store => read_stored(entry, time),
            FileKind::Staging => read_staged(entry, time),
        };
        match of_entry {
            Ok(lesson) => {
                read.masked += usize::from(lesson.original.is_none());
                read.lessons.push(lesson);
            }
            Err(why) => {
                let id = entry.as_object().and_then(id_of);
                read.problems.push(EntryProblem { number, id, why });
            }
        }
    }
    read
}

/// Reads lessons that somebody hands in to be judged: one, or a list of them. One whose numbers cannot be is rejected here:
/// nobody keeps such numbers.
///
/// # Errors
/// When the text is not JSON, or a whole file of the earlier tool.
pub fn read_candidates(text: &str, now: Timestamp) -> Result<ReadLessons, String> {
    let value = parse(text.as_bytes()).map_err(|problem| problem.to_string())?;
    if FileKind::of(&value).is_some() {
        return Err("it is a whole store, which `ralph learnings import` takes over".to_owned());
    }
    let entries = match value {
        JsValue::List(entries) => entries,
        one => vec![one],
    };
    let mut read = ReadLessons::default();
    for (number, entry) in (1..).zip(&entries) {
        match read_stored(entry, now) {
            Ok(lesson) => {
                read.masked += usize::from(lesson.original.is_none());
                read.lessons.push(ForeignLearning {
                    standing: standing_of_candidate(&lesson),
                    ..lesson
                });
            }
            Err(why) => read.problems.push(EntryProblem { number, id: None, why }),
        }
    }
    Ok(read)
}

fn standing_of_candidate(lesson: &ForeignLearning) -> ForeignStanding {
    let is_share = |number: f64| (0.0..=1.0).contains(&number);
    let candidate = Candidate {
        kind: lesson.kind,
        task_type: lesson.task_type,
        content: &lesson.content,
        confidence: lesson.confidence,
        success_rate: lesson.success_rate,
    };
    let can_be_kept = is_share(lesson.confidence) && is_share(lesson.success_rate);
    match candidate.rejection().filter(|_| !can_be_kept) {
        Some(reason) => ForeignStanding::Rejected(reason.to_owned()),
        None => ForeignStanding::Pending,
    }
}

fn read_stored(entry: &JsValue, time: Timestamp) -> Result<ForeignLearning, String> {
    let object = object(entry)?;
    let mut lesson = read_lesson(object, time)?;
    // The other tool has no such word in its store; we have where we wrote one that does not hold.
    if let Ok(standing) = standing_of(object) {
        lesson.standing = standing;
    }
    Ok(lesson)
}

/// Reads an entry of the staging area: a lesson, and what has become of it so far.
fn read_staged(entry: &JsValue, time: Timestamp) -> Result<ForeignLearning, String> {
    let staged = object(entry)?;
    let lesson = staged.get("learning").ok_or("it has no \"learning\"")?;
    let time = time_of(staged, "stagedAt").unwrap_or(time);
    let mut lesson = read_lesson(object(lesson)?, time)?;
    lesson.id = lesson.id.or_else(|| id_of(staged));
    lesson.standing = standing_of(staged)?;
    Ok(lesson)
}

/// How far it has come.
fn standing_of(object: &JsObject) -> Result<ForeignStanding, String> {
    let status = word_of(object, STATUS).unwrap_or_default();
    match status.as_str() {
        "pending" => Ok(ForeignStanding::Pending),
        "validated" => Ok(ForeignStanding::Validated),
        // What was taken out there does not hold here either.
        "rejected" | "pruned" => Ok(ForeignStanding::Rejected(word_of(object, REASON).unwrap_or_default())),
        other => Err(format!(
            "its status is \"{other}\", and not pending, validated or rejected"
        )),
    }
}

fn object(entry: &JsValue) -> Result<&JsObject, String> {
    let wrong = || format!("it is {} instead of an object", entry.kind());
    entry.as_object().ok_or_else(wrong)
}

/// Reads a lesson that holds. The reasons why one cannot be read are those of the tool that wrote it.
pub(super) fn read_lesson(object: &JsObject, time: Timestamp) -> Result<ForeignLearning, String> {
    let word = word_of(object, "type").unwrap_or_default();
    if word.is_empty() {
        return Err("Missing required fields".to_owned());
    }
    let kind = LearningKind::parse(&word).ok_or_else(|| format!("Invalid type: {word}"))?;
    let said_type = word_of(object, "taskType").filter(|word| !word.is_empty());
    // A kind of work that nobody here knows is still some kind of work.
    let known_type = |word: &String| TaskType::parse(word).unwrap_or(TaskType::General);
    let task_type = said_type.as_ref().map(known_type);
    let success_rate = share_of(object, "successRate", first_success_rate(kind));
    let confidence = share_of(object, "confidence", UNKNOWN_SHARE);
    let content = match object.get("content") {
        Some(JsValue::Object(content)) => Content::Parts(content),
        Some(JsValue::Text(text)) => Content::Text(text),
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
        content: text,
        tags,
        confidence,
        success_rate,
        use_count: object.get("useCount").and_then(count_in).unwrap_or_default(),
        source_loops: words_in(object.get("sourceLoops")),
        standing: ForeignStanding::Promoted,
        original: may_be_kept(object).then(|| compact(&JsValue::Object(object.clone()))),
        created_at: created_at.or(updated_at).unwrap_or(time),
        updated_at: updated_at.or(created_at).unwrap_or(time),
        retold: None,
    })
}

/// What a lesson says, in the forms that it may have.
pub(super) enum Content<'a> {
    Parts(&'a JsObject),
    Text(&'a JsText),
    Nothing,
}

impl Content<'_> {
    fn text(&self, kind: LearningKind, task_type: Option<TaskType>) -> String {
        match self {
            Self::Text(text) => clean(&text.to_text(), MOST_LEARNING),
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
                .and_then(JsValue::as_number)
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

/// Under which name the text of a lesson stands.
pub(super) fn text_name(parts: &JsObject, kind: LearningKind) -> Option<&'static str> {
    let names: &[&str] = match kind {
        LearningKind::Convention => &["pattern", "convention", "description"],
        LearningKind::Strategy | LearningKind::Antipattern => &["description", "approach", "pattern"],
        LearningKind::Estimate => &["description"],
    };
    let is_there = |name: &&&str| parts.get(name).is_some_and(|value| value.as_text().is_some());
    names.iter().find(is_there).copied()
}

/// How often a lesson succeeds that does not say so.
fn first_success_rate(kind: LearningKind) -> f64 {
    match kind {
        LearningKind::Antipattern => 0.0,
        LearningKind::Strategy | LearningKind::Estimate | LearningKind::Convention => UNKNOWN_SHARE,
    }
}

fn id_of(object: &JsObject) -> Option<String> {
    word_of(object, "id").filter(|id| !id.is_empty())
}

/// A text, cleaned.
fn text_in(object: &JsObject, name: &str) -> String {
    let text = object.get(name).and_then(JsValue::as_text);
    text.map(|text| clean(&text.to_text(), MOST_LEARNING))
        .unwrap_or_default()
}

/// A text on one line, if there is one.
pub(super) fn word_of(object: &JsObject, name: &str) -> Option<String> {
    object.get(name)?.as_text().map(word)
}

fn word(text: &JsText) -> String {
    let text = clean(&text.to_text(), LONGEST_NAME);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The texts of a list, each on one line, without what is none.
fn words_in(list: Option<&JsValue>) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for text in list
        .and_then(JsValue::as_list)
        .into_iter()
        .flatten()
        .filter_map(JsValue::as_text)
    {
        let word = word(text);
        if !word.is_empty() && !words.contains(&word) {
            words.push(word);
        }
    }
    words
}

/// A rating. One that is not there is the usual one, but 0 is 0; what is no number is no rating.
fn share_of(object: &JsObject, name: &str, usual: f64) -> f64 {
    match object.get(name) {
        None | Some(JsValue::Null) => usual,
        Some(JsValue::Number(number)) => *number,
        Some(_) => f64::NAN,
    }
}

fn count_in(value: &JsValue) -> Option<u32> {
    let number = value.as_number()?;
    compact(&number.into()).parse().ok()
}

fn time_of(object: &JsObject, name: &str) -> Option<Timestamp> {
    object.get(name)?.as_text()?.to_text().parse().ok()
}

/// The tags that it has, else those that its text names.
fn tags_of(object: &JsObject, text: &str, task_type: Option<&String>) -> Vec<String> {
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

/// Whether no text of it looks like a secret, wherever it stands.
fn may_be_kept(object: &JsObject) -> bool {
    fn is_harmless(value: &JsValue) -> bool {
        match value {
            JsValue::Text(text) => find(&text.to_text()).is_empty(),
            JsValue::List(values) => values.iter().all(is_harmless),
            JsValue::Object(object) => may_be_kept(object),
            JsValue::Null | JsValue::Bool(_) | JsValue::Number(_) => true,
        }
    }
    object
        .iter()
        .all(|(name, value)| find(&name.to_text()).is_empty() && is_harmless(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lesson(text: &str) -> Result<ForeignLearning, String> {
        let value = parse(text.as_bytes()).unwrap();
        read_stored(&value, Timestamp::UNIX_EPOCH)
    }

    #[test]
    fn what_a_lesson_says_becomes_a_text_and_numbers() {
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
            (
                r#"{"type":"strategy","taskType":"general","content":{"effectiveness":1e999}}"#,
                "",
                None,
            ),
        ] {
            let lesson = lesson(text).unwrap();
            assert_eq!((lesson.content.as_str(), lesson.facts), (content, facts), "{text}");
            assert!(lesson.original.is_some_and(|original| original.len() > 10));
        }
    }

    #[test]
    fn fault_26_a_rating_of_0_is_0() {
        let zero = lesson(r#"{"type":"convention","taskType":"general","content":"x","confidence":0,"successRate":0}"#)
            .unwrap();
        assert_eq!((zero.confidence, zero.success_rate), (0.0, 0.0));
        let none = lesson(r#"{"type":"convention","taskType":"general","content":"x","successRate":null}"#).unwrap();
        assert_eq!((none.confidence, none.success_rate), (0.5, 0.5));
        let odd = lesson(r#"{"type":"convention","taskType":"general","content":"x","confidence":"0.9"}"#).unwrap();
        assert!(odd.confidence.is_nan());
    }

    #[test]
    fn what_cannot_be_read_is_told_in_the_words_of_the_tool() {
        assert_eq!(lesson("{}"), Err("Missing required fields".to_owned()));
        assert_eq!(lesson(r#"{"type":"hunch"}"#), Err("Invalid type: hunch".to_owned()));
        assert_eq!(lesson("[]"), Err("it is a list instead of an object".to_owned()));
    }

    #[test]
    fn candidates_are_one_or_a_list_and_wait_unless_their_numbers_cannot_be() {
        let read = |text: &str| read_candidates(text, Timestamp::UNIX_EPOCH);
        let one = r#"{"type":"strategy","taskType":"general","content":"Look first","confidence":0.1}"#;
        let [lesson] = read(one).unwrap().lessons.try_into().unwrap();
        assert_eq!((lesson.confidence, lesson.standing), (0.1, ForeignStanding::Pending));
        let odd = one.replace("0.1", "7");
        let both = read(&format!("[{one}, {odd}, 5]")).unwrap();
        assert_eq!(
            both.lessons[1].standing,
            ForeignStanding::Rejected("Confidence must be between 0 and 1".to_owned())
        );
        assert_eq!((both.lessons.len(), both.problems[0].number), (2, 3));
        assert!(read("{").is_err());
        let store = r#"{"version":"1.0.0","checksum":"","learnings":[]}"#;
        assert!(read(store).unwrap_err().contains("learnings import"));
    }

    #[test]
    fn what_was_rejected_or_pruned_does_not_hold() {
        for status in ["rejected", "pruned"] {
            let text = format!(
                r#"{{"type":"strategy","taskType":"general","content":"Look","status":"{status}","rejectionReason":"Old."}}"#
            );
            let read = read_stored(&parse(text.as_bytes()).unwrap(), Timestamp::UNIX_EPOCH);
            let old = ForeignStanding::Rejected("Old.".to_owned());
            assert_eq!(read.unwrap().standing, old, "{status}");
        }
    }

    #[test]
    fn a_secret_is_masked_and_the_original_is_not_kept() {
        let token = format!("ghp_{}", "a1B2".repeat(9));
        let read = lesson(&format!(
            r#"{{"type":"strategy","taskType":"general","content":{{"description":"Use {token}"}}}}"#
        ));
        let read = read.unwrap();
        assert_eq!((read.content.as_str(), read.original), ("Use [secret: github]", None));
        let elsewhere = lesson(&format!(
            r#"{{"type":"strategy","taskType":"general","content":"x","more":[{{"a":"{token}"}}]}}"#
        ));
        assert_eq!(elsewhere.unwrap().original, None);
    }

    #[test]
    fn tags_are_those_that_it_has_or_that_its_text_names() {
        let tags = |text: &str| lesson(text).unwrap().tags;
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
