//! Extracts anti-patterns: failures that occurred more than once at the same kind of work.

use std::collections::{BTreeSet, HashMap};

use ralph_model::{
    ErrorCategory, ExtractedLearning, Facts, LearningKind, PastEnd, PastError, PastIteration, Signature, TaskType,
    first_line,
};
use ralph_store::normalized;

use crate::text_category::{Category, CategoryKind, category_of, leading_text};

/// How an extracted warning begins.
const AVOID: &str = "Avoid: ";
/// Fewer occurrences may be chance.
const LEAST_OCCURRENCES: u32 = 2;

/// Failures are grouped by category, else by signature, else by words.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum FailureKey {
    Category(&'static str),
    Signature(Signature),
    Words(String),
}

struct Failure {
    content: String,
    occurrences: u32,
    journal: Vec<i64>,
    signatures: BTreeSet<Signature>,
}

pub(super) fn of(task_type: TaskType, iterations: &[&PastIteration]) -> Vec<ExtractedLearning> {
    let mut found: Vec<Failure> = Vec::new();
    let mut places: HashMap<FailureKey, usize> = HashMap::new();
    for iteration in iterations.iter().filter(|iteration| iteration.end == PastEnd::Failed) {
        for error in &iteration.errors {
            let Some((key, content)) = failure_of(error) else {
                continue;
            };
            let place = *places.entry(key).or_insert(found.len());
            if place == found.len() {
                found.push(Failure {
                    content,
                    occurrences: 0,
                    journal: Vec::new(),
                    signatures: BTreeSet::new(),
                });
            }
            if let Some(failure) = found.get_mut(place) {
                failure.occurrences = failure.occurrences.saturating_add(1);
                failure.signatures.extend(error.signature.clone());
                failure.journal.extend(iteration.journal);
                failure.journal.dedup();
            }
        }
    }
    let repeated = found
        .into_iter()
        .filter(|failure| failure.occurrences >= LEAST_OCCURRENCES);
    repeated.map(|failure| failure.learning(task_type)).collect()
}

impl Failure {
    fn learning(self, task_type: TaskType) -> ExtractedLearning {
        let facts = Facts::Antipattern {
            occurrences: self.occurrences,
            impact: Facts::impact_of(self.occurrences).to_owned(),
            error: Some(self.content.clone()),
        };
        ExtractedLearning {
            kind: LearningKind::Antipattern,
            task_type,
            content: format!("{AVOID}{}", self.content),
            tags: Vec::new(),
            confidence: facts.confidence().unwrap_or_default(),
            facts,
            success_rate: LearningKind::Antipattern.first_success_rate(),
            journal: self.journal,
            signatures: self.signatures.into_iter().collect(),
        }
    }
}

/// Classifies an error.
fn failure_of(error: &PastError) -> Option<(FailureKey, String)> {
    let known = match error.category {
        Some(ErrorCategory::Timeout) => category_of("timeout", CategoryKind::Failure),
        _ => category_of(&error.text, CategoryKind::Failure),
    };
    if let Some(Category { name, .. }) = known {
        return Some((FailureKey::Category(name), (*name).to_owned()));
    }
    let words = leading_text(first_line(&error.text))?;
    let key = match &error.signature {
        Some(signature) => FailureKey::Signature(signature.clone()),
        None => FailureKey::Words(normalized(&words)),
    };
    Some((key, words))
}
