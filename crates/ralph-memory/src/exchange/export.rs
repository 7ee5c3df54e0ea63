//! Exports learnings in the earlier tool's format. Imported ones are returned unchanged except for what has changed
//! since.

use jiff::Timestamp;
use ralph_model::{Facts, Learning, LearningKind, LearningStatus, TaskType, estimate_of, format_timestamp};
use ralph_store::{ForeignLearning, ForeignLearningStatus};
use serde_json::Value;

use super::json::{JsonObject, compact, object_of, parse};
use super::learning::{REASON, SAMPLED, STATUS, read_learning, text_name, word_of};
use ralph_search::text_features;

/// A learning, with all fields of its imported original.
#[must_use]
pub fn exported(learning: &Learning, original: Option<&str>) -> Value {
    let original = original.and_then(|original| parse(original.as_bytes()).ok());
    let patched = original.and_then(|original| match original {
        Value::Object(object) => patched(object, learning),
        _ => None,
    });
    let mut object = patched.unwrap_or_else(|| made(learning));
    set_status(&mut object, learning);
    object.into()
}

/// Sets the status. The other tool's store has no field for it, because every entry is active there; we read ours
/// again.
fn set_status(object: &mut JsonObject, learning: &Learning) {
    let said = word_of(object, STATUS).and_then(|word| LearningStatus::parse(&word));
    // Our own earlier status is outdated. Any other value was written by another tool.
    let is_ours = said.is_some_and(|said| said != LearningStatus::Promoted);
    if learning.status != LearningStatus::Promoted {
        object.insert(STATUS.to_owned(), learning.status.word().into());
    } else if is_ours {
        object.shift_remove(STATUS);
    }
    match &learning.reason {
        Some(reason) if learning.status != LearningStatus::Promoted => {
            object.insert(REASON.to_owned(), reason.as_str().into());
        }
        _ if is_ours => {
            object.shift_remove(REASON);
        }
        _ => {}
    }
}

/// A learning to pass to another project's store; `None` if it is no longer wanted.
#[must_use]
pub fn transferred(learning: &Learning, original: Option<&str>) -> Option<ForeignLearning> {
    let standing = match learning.status {
        _ if learning.superseded_by.is_some() => return None,
        LearningStatus::Rejected | LearningStatus::Pruned => return None,
        LearningStatus::Promoted => ForeignLearningStatus::Promoted,
        LearningStatus::Validated => ForeignLearningStatus::Validated,
        LearningStatus::Pending => ForeignLearningStatus::Pending,
    };
    Some(ForeignLearning {
        id: Some(id_of(learning).to_owned()),
        kind: learning.kind,
        category: learning.category.clone(),
        // A learning for every kind of work becomes one for general work.
        task_type: learning.task_type.or(Some(TaskType::General)),
        content: learning.content.clone(),
        features: text_features(&learning.content),
        tags: learning.tags.clone(),
        facts: learning.facts.clone(),
        confidence: learning.confidence,
        success_rate: learning.success_rate,
        use_count: learning.use_count,
        source_loops: learning.source_loops.clone(),
        standing,
        original: original.map(|original| compact(&exported(learning, Some(original)))),
        created_at: learning.created_at,
        updated_at: learning.updated_at,
    })
}

/// The original with later changes; `None` if it is not a valid learning.
fn patched(mut object: JsonObject, learning: &Learning) -> Option<JsonObject> {
    // The time is not compared.
    let was = read_learning(&object, Timestamp::UNIX_EPOCH).ok()?;
    // The original id may have been taken by another learning.
    if was.id.as_deref() != Some(id_of(learning)) {
        object.insert("id".to_owned(), id_of(learning).into());
    }
    let mut changes: Vec<(&str, Value)> = Vec::new();
    if learning.kind != was.kind {
        changes.push(("type", learning.kind.word().into()));
    }
    if learning.task_type != was.task_type {
        changes.push(("taskType", task_type(learning)));
    }
    if learning.content != was.content || learning.facts != was.facts {
        changes.push(("content", patched_content(&object, learning, &was)));
    }
    // Values outside 0 to 1 were clamped on import.
    let is_other = |now: f64, then: f64| now.to_bits() != (then.clamp(0.0, 1.0) + 0.0).to_bits() && !then.is_nan();
    if is_other(learning.confidence, was.confidence) {
        changes.push(("confidence", learning.confidence.into()));
    }
    if learning.source_loops != was.source_loops {
        changes.push(("sourceLoops", texts(&learning.source_loops)));
    }
    if learning.use_count != was.use_count {
        changes.push(("useCount", learning.use_count.into()));
    }
    if is_other(learning.success_rate, was.success_rate) {
        changes.push(("successRate", learning.success_rate.into()));
    }
    if learning.tags != was.tags {
        changes.push(("tags", texts(&learning.tags)));
    }
    if learning.category != was.category {
        changes.push(("category", learning.category.as_str().into()));
    }
    if !changes.is_empty() {
        changes.push(("updatedAt", time(learning.updated_at)));
    }
    // The other tool ranks by these, and a staged learning may lack them.
    let needed = [
        ("createdAt", time(learning.created_at)),
        ("updatedAt", time(learning.updated_at)),
        ("useCount", learning.use_count.into()),
    ];
    let missing = needed.into_iter().filter(|(name, _)| !object.contains_key(*name));
    changes.extend(missing.collect::<Vec<_>>());
    for (name, value) in changes {
        object.insert(name.to_owned(), value);
    }
    Some(object)
}

/// The content, with its other fields kept.
fn patched_content(object: &JsonObject, learning: &Learning, was: &ForeignLearning) -> Value {
    let Some(Value::Object(parts)) = object.get("content") else {
        return content(learning);
    };
    let mut parts = parts.clone();
    if learning.content != was.content {
        let name = text_name(&parts, was.kind).unwrap_or_else(|| name_of_text(learning.kind));
        parts.insert(name.to_owned(), learning.content.as_str().into());
    }
    if learning.facts != was.facts {
        for (name, value) in learning.facts.iter().flat_map(numbers) {
            parts.insert(name.to_owned(), value);
        }
    }
    parts.into()
}

/// A learning that did not come from the other tool.
fn made(learning: &Learning) -> JsonObject {
    let mut object = object_of([
        ("id", id_of(learning).into()),
        ("type", learning.kind.word().into()),
        ("taskType", task_type(learning)),
        ("content", content(learning)),
        ("confidence", learning.confidence.into()),
        ("sourceLoops", texts(&learning.source_loops)),
        ("createdAt", time(learning.created_at)),
        ("updatedAt", time(learning.updated_at)),
        ("useCount", learning.use_count.into()),
        ("successRate", learning.success_rate.into()),
    ]);
    // Fields of our own, which other tools preserve.
    if learning.category != learning.kind.word() {
        object.insert("category".to_owned(), learning.category.as_str().into());
    }
    if !learning.tags.is_empty() {
        object.insert("tags".to_owned(), texts(&learning.tags));
    }
    object
}

fn content(learning: &Learning) -> Value {
    let mut parts = JsonObject::new();
    if !is_derived_from_numbers(learning) {
        parts.insert(name_of_text(learning.kind).to_owned(), learning.content.as_str().into());
    }
    for (name, value) in learning.facts.iter().flat_map(numbers) {
        parts.insert(name.to_owned(), value);
    }
    parts.into()
}

/// Whether the text can be derived from the numbers alone.
fn is_derived_from_numbers(learning: &Learning) -> bool {
    match &learning.facts {
        Some(Facts::Estimate { complexity, .. }) => {
            let task_type = learning.task_type.unwrap_or(TaskType::General);
            learning.kind == LearningKind::Estimate && learning.content == estimate_of(task_type, complexity)
        }
        _ => false,
    }
}

/// The numbers of a learning, by the other tool's names.
fn numbers(facts: &Facts) -> Vec<(&'static str, Value)> {
    match facts {
        Facts::Strategy {
            effectiveness,
            iterations,
        } => vec![
            ("effectiveness", (*effectiveness).into()),
            ("iterations", (*iterations).into()),
        ],
        Facts::Antipattern {
            occurrences, impact, ..
        } => vec![
            ("occurrences", (*occurrences).into()),
            ("impact", impact.as_str().into()),
        ],
        Facts::Estimate {
            avg_iteration_time,
            total_iterations,
            complexity,
            success_rate,
            sampled,
        } => vec![
            ("avgIterationTime", (*avg_iteration_time).into()),
            ("totalIterations", (*total_iterations).into()),
            ("complexity", complexity.as_str().into()),
            ("successRate", (*success_rate).into()),
            (SAMPLED, (*sampled).into()),
        ],
        Facts::Convention { examples } => vec![("examples", texts(examples))],
    }
}

fn name_of_text(kind: LearningKind) -> &'static str {
    match kind {
        LearningKind::Convention => "pattern",
        LearningKind::Strategy | LearningKind::Antipattern | LearningKind::Estimate => "description",
    }
}

/// Its imported id, else its own.
pub(super) fn id_of(learning: &Learning) -> &str {
    learning.foreign_id.as_deref().unwrap_or(learning.id.as_str())
}

/// The other tool requires one; learnings for every kind of work become general.
fn task_type(learning: &Learning) -> Value {
    learning.task_type.unwrap_or(TaskType::General).word().into()
}

fn texts(texts: &[String]) -> Value {
    Value::Array(texts.iter().map(|text| text.as_str().into()).collect())
}

fn time(at: Timestamp) -> Value {
    format_timestamp(at).as_str().into()
}
