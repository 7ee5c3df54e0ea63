//! Our lessons as the earlier tool would have written them. One that came from there goes back as it came, but for what has
//! changed since.

use jiff::Timestamp;
use ralph_model::{Facts, Learning, LearningKind, LearningStatus, TaskType, estimate_of, moment_text};
use ralph_store::{ForeignLearning, ForeignStanding};

use super::javascript::{JsObject, JsValue, compact, parse};
use super::lesson::{REASON, SAMPLED, STATUS, read_lesson, text_name, word_of};

/// A lesson, with all that was said of it where it comes from.
#[must_use]
pub fn exported(learning: &Learning, original: Option<&str>) -> JsValue {
    let original = original.and_then(|original| parse(original.as_bytes()).ok());
    let patched = original.and_then(|original| match original {
        JsValue::Object(object) => patched(object, learning),
        _ => None,
    });
    let mut object = patched.unwrap_or_else(|| made(learning));
    say_standing(&mut object, learning);
    object.into()
}

/// Says how far a lesson has come. The other tool has no word for it in its store, where everything holds; we read ours again.
fn say_standing(object: &mut JsObject, learning: &Learning) {
    let said = word_of(object, STATUS).and_then(|word| LearningStatus::parse(&word));
    // What we said of it before holds no longer. Another word is somebody else's.
    let is_ours = said.is_some_and(|said| said != LearningStatus::Promoted);
    if learning.status != LearningStatus::Promoted {
        object.set(STATUS, learning.status.word().into());
    } else if is_ours {
        object.remove(STATUS);
    }
    match &learning.reason {
        Some(reason) if learning.status != LearningStatus::Promoted => object.set(REASON, reason.as_str().into()),
        _ if is_ours => object.remove(REASON),
        _ => {}
    }
}

/// A lesson of another project as one of another store; none where nobody there wants it any more.
#[must_use]
pub fn handed_over(learning: &Learning, original: Option<&str>) -> Option<ForeignLearning> {
    let standing = match learning.status {
        _ if learning.superseded_by.is_some() => return None,
        LearningStatus::Rejected | LearningStatus::Pruned => return None,
        LearningStatus::Promoted => ForeignStanding::Promoted,
        LearningStatus::Validated => ForeignStanding::Validated,
        LearningStatus::Pending => ForeignStanding::Pending,
    };
    Some(ForeignLearning {
        id: Some(id_of(learning).to_owned()),
        kind: learning.kind,
        category: learning.category.clone(),
        // What is good for every kind of work is good for work in general.
        task_type: learning.task_type.or(Some(TaskType::General)),
        content: learning.content.clone(),
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
        retold: None,
    })
}

/// What was said of it, with what has changed since; none where that is no lesson.
fn patched(mut object: JsObject, learning: &Learning) -> Option<JsObject> {
    // The time does not matter: it is not compared.
    let was = read_lesson(&object, Timestamp::UNIX_EPOCH).ok()?;
    // Another lesson may have had the id that it came with.
    if was.id.as_deref() != Some(id_of(learning)) {
        object.set("id", id_of(learning).into());
    }
    let mut changes: Vec<(&str, JsValue)> = Vec::new();
    if learning.kind != was.kind {
        changes.push(("type", learning.kind.word().into()));
    }
    if learning.task_type != was.task_type {
        changes.push(("taskType", task_type(learning)));
    }
    if learning.content != was.content || learning.facts != was.facts {
        changes.push(("content", patched_content(&object, learning, &was)));
    }
    // What was no share went in as one.
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
    // The other tool ranks a learning by these, and a staged one may lack them.
    let needed = [
        ("createdAt", time(learning.created_at)),
        ("updatedAt", time(learning.updated_at)),
        ("useCount", learning.use_count.into()),
    ];
    let missing = needed.into_iter().filter(|(name, _)| object.get(name).is_none());
    changes.extend(missing.collect::<Vec<_>>());
    for (name, value) in changes {
        object.set(name, value);
    }
    Some(object)
}

/// What it says, with whatever else stands there.
fn patched_content(object: &JsObject, learning: &Learning, was: &ForeignLearning) -> JsValue {
    let Some(JsValue::Object(parts)) = object.get("content") else {
        return content(learning);
    };
    let mut parts = parts.clone();
    if learning.content != was.content {
        let name = text_name(&parts, was.kind).unwrap_or_else(|| name_of_text(learning.kind));
        parts.set(name, learning.content.as_str().into());
    }
    if learning.facts != was.facts {
        for (name, value) in learning.facts.iter().flat_map(numbers) {
            parts.set(name, value);
        }
    }
    parts.into()
}

/// A lesson that the other tool has never seen.
fn made(learning: &Learning) -> JsObject {
    let mut object = JsObject::from_pairs([
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
    // Names that only we know, which others keep.
    if learning.category != learning.kind.word() {
        object.set("category", learning.category.as_str().into());
    }
    if !learning.tags.is_empty() {
        object.set("tags", texts(&learning.tags));
    }
    object
}

fn content(learning: &Learning) -> JsValue {
    let mut parts = JsObject::default();
    if !is_told_by_numbers(learning) {
        parts.set(name_of_text(learning.kind), learning.content.as_str().into());
    }
    for (name, value) in learning.facts.iter().flat_map(numbers) {
        parts.set(name, value);
    }
    parts.into()
}

/// Whether what a lesson says can be read from its numbers alone.
fn is_told_by_numbers(learning: &Learning) -> bool {
    match &learning.facts {
        Some(Facts::Estimate { complexity, .. }) => {
            let task_type = learning.task_type.unwrap_or(TaskType::General);
            learning.kind == LearningKind::Estimate && learning.content == estimate_of(task_type, complexity)
        }
        _ => false,
    }
}

/// The numbers behind a lesson, by the names that the other tool has for them.
fn numbers(facts: &Facts) -> Vec<(&'static str, JsValue)> {
    match facts {
        Facts::Strategy {
            effectiveness,
            iterations,
        } => vec![
            ("effectiveness", (*effectiveness).into()),
            ("iterations", (*iterations).into()),
        ],
        Facts::Antipattern { occurrences, impact } => vec![
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

/// Its id where it comes from, else its own.
pub(super) fn id_of(learning: &Learning) -> &str {
    learning.foreign_id.as_deref().unwrap_or(learning.id.as_str())
}

/// The other tool wants one; what is good for every kind of work is for none in particular.
fn task_type(learning: &Learning) -> JsValue {
    learning.task_type.unwrap_or(TaskType::General).word().into()
}

fn texts(texts: &[String]) -> JsValue {
    JsValue::List(texts.iter().map(|text| text.as_str().into()).collect())
}

fn time(at: Timestamp) -> JsValue {
    moment_text(at).as_str().into()
}
