//! Ways that did not work: failures that iterations of the same kind of work met more than once.

use std::collections::{BTreeSet, HashMap};

use ralph_model::{
    DrawnLesson, Facts, LearningKind, PastEnd, PastError, PastIteration, Signature, TaskType, first_line,
};
use ralph_store::lesson_of;

use crate::failures::{AVOID, failure_told_in};
use crate::sayings::own_words;

/// What was met less often may have been chance.
const LEAST_OCCURRENCES: u32 = 2;

/// Failures are the same by their category; those of none by their signature, and else by their words.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Sameness {
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

/// The anti-patterns of iterations of one kind of work.
pub(super) fn of(task_type: TaskType, iterations: &[&PastIteration]) -> Vec<DrawnLesson> {
    let mut found: Vec<Failure> = Vec::new();
    let mut places: HashMap<Sameness, usize> = HashMap::new();
    for iteration in iterations.iter().filter(|iteration| iteration.end == PastEnd::Failed) {
        for error in &iteration.errors {
            let Some((sameness, content)) = failure_of(error) else {
                continue;
            };
            let place = *places.entry(sameness).or_insert(found.len());
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
    repeated.map(|failure| failure.lesson(task_type)).collect()
}

impl Failure {
    fn lesson(self, task_type: TaskType) -> DrawnLesson {
        let facts = Facts::Antipattern {
            occurrences: self.occurrences,
            impact: Facts::impact_of(self.occurrences).to_owned(),
        };
        DrawnLesson {
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

/// What failure an error tells of.
fn failure_of(error: &PastError) -> Option<(Sameness, String)> {
    if let Some(failure) = failure_told_in(&error.text) {
        return Some((Sameness::Category(failure.name), failure.name.to_owned()));
    }
    let words = own_words(first_line(&error.text))?;
    let sameness = match &error.signature {
        Some(signature) => Sameness::Signature(signature.clone()),
        None => Sameness::Words(lesson_of(&words)),
    };
    Some((sameness, words))
}
