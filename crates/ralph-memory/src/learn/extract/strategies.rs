//! Extracts strategies: approaches that more than half of the successful iterations reported.

use std::collections::{BTreeSet, HashMap};

use ralph_model::{ExtractedLearning, Facts, LearningKind, PastIteration, TaskType};
use ralph_store::normalized;

use crate::similarity::{LearningFeatures, Neighbours};
use crate::text_category::{CategoryKind, category_of, leading_text};

/// An approach must be used in more than this share of the successes.
const LEAST_SHARE: f64 = 0.5;

/// A note without a category says what was done; it is an approach only if this many iterations say it.
const LEAST_NOTES: usize = 2;

/// An approach, and the iterations that used it.
struct Approach<'h> {
    content: String,
    is_explicit: bool,
    used_in: Vec<&'h PastIteration>,
}

pub(super) fn of(task_type: TaskType, iterations: &[&PastIteration]) -> Vec<ExtractedLearning> {
    let successes: Vec<&PastIteration> = iterations
        .iter()
        .copied()
        .filter(|iteration| iteration.is_success())
        .collect();
    let shares = used(&successes).into_iter().map(|approach| {
        let share = approach.used_in.len() as f64 / successes.len() as f64;
        (approach, share)
    });
    let proven = shares.filter(|(_, share)| *share > LEAST_SHARE);
    proven
        .map(|(approach, effectiveness)| {
            let facts = Facts::Strategy {
                effectiveness,
                iterations: u32::try_from(approach.used_in.len()).unwrap_or(u32::MAX),
            };
            ExtractedLearning {
                kind: LearningKind::Strategy,
                task_type,
                content: approach.content,
                tags: Vec::new(),
                confidence: facts.confidence().unwrap_or_default(),
                facts,
                success_rate: effectiveness,
                journal: approach.used_in.iter().filter_map(|used| used.journal).collect(),
                signatures: Vec::new(),
            }
        })
        .collect()
}

/// All approaches in the order of first use; each iteration counts once per approach.
fn used<'h>(successes: &[&'h PastIteration]) -> Vec<Approach<'h>> {
    let mut found: Vec<Approach<'h>> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    // Paraphrases are one approach.
    let mut near: Neighbours<usize> = Neighbours::default();
    for iteration in successes {
        let mut counted = BTreeSet::new();
        for (content, is_explicit) in approaches(iteration) {
            let learning = normalized(&content);
            // Empty texts cannot be compared.
            if learning.is_empty() {
                continue;
            }
            let place = *places.entry(learning).or_insert_with(|| {
                let kind = LearningKind::Strategy;
                let features = LearningFeatures::new(kind, kind.word(), &[], &content);
                let known = near.near_duplicate(&features, |_| true).copied();
                known.unwrap_or_else(|| {
                    near.add(found.len(), features);
                    found.len()
                })
            });
            let is_first_here = counted.insert(place);
            match found.get_mut(place) {
                Some(approach) => {
                    approach.is_explicit |= is_explicit;
                    approach.used_in.extend(is_first_here.then_some(*iteration));
                }
                None => found.push(Approach {
                    content,
                    is_explicit,
                    used_in: vec![*iteration],
                }),
            }
        }
    }
    found.retain(|approach| approach.is_explicit || approach.used_in.len() >= LEAST_NOTES);
    found
}

/// The approaches of an iteration, and whether each is more than a note.
fn approaches(iteration: &PastIteration) -> impl Iterator<Item = (String, bool)> {
    let learned = iteration.learned.iter().filter_map(|text| approach_of(text));
    let noted = iteration.notes.iter().filter_map(|notes| {
        let known = known_approach(notes).map(|name| (name.to_owned(), true));
        known.or_else(|| Some((leading_text(notes)?, false)))
    });
    learned.map(|content| (content, true)).chain(noted)
}

/// The approach that a text describes.
pub(super) fn approach_of(text: &str) -> Option<String> {
    known_approach(text).map(str::to_owned).or_else(|| leading_text(text))
}

fn known_approach(text: &str) -> Option<&'static str> {
    category_of(text, CategoryKind::Approach).map(|approach| approach.name)
}
