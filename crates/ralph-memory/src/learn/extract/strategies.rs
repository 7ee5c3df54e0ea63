//! Ways that worked: what more than half of the iterations that succeeded say of themselves.

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use ralph_model::{DrawnLesson, Facts, LearningKind, PastIteration, TaskType};
use ralph_store::lesson_of;

use crate::contradiction::{Nearby, Reading};
use crate::sayings::{Category, category_of, own_words};

/// What is used in no more than this share of the successes is no strategy.
const LEAST_SHARE: f64 = 0.5;

/// Ways to work, and how they are told of. The first one that a text tells of is the one that it means.
static APPROACHES: LazyLock<[Category; 4]> = LazyLock::new(|| {
    [
        Category::of(
            "Test-driven development approach",
            &[
                "test first",
                "test driven",
                "tdd",
                "test before",
                "first write test",
                "first write a test",
                "first write the test",
            ],
        ),
        Category::of(
            "Incremental implementation",
            &[
                "function at a time",
                "file at a time",
                "module at a time",
                "test at a time",
                "step at a time",
                "change at a time",
                "piece at a time",
                "thing at a time",
                "step by step",
                "piece by piece",
                "small step",
            ],
        )
        // To increment is something else.
        .or_words(&["incremental", "incrementally"]),
        Category::of(
            "Minimal changes approach",
            &[
                "minimal change",
                "minimal edit",
                "minimal diff",
                "minimal fix",
                "minimal patch",
                "smallest change",
                "smallest possible change",
                "smallest fix",
                "smallest diff",
                "small change",
            ],
        ),
        Category::of(
            "Implement first, refactor after",
            &[
                "refactor after",
                "refactor afterwards",
                "refactor later",
                "refactor once",
                "then refactor",
                "implement first",
            ],
        ),
    ]
});

/// A note of no category is what was done, and no way to work unless so many iterations say it.
const LEAST_NOTES: usize = 2;

/// A way to work, and the iterations that used it.
struct Approach<'h> {
    content: String,
    /// Whether it is more than a note.
    is_told: bool,
    used_in: Vec<&'h PastIteration>,
}

/// The strategies of iterations of one kind of work.
pub(super) fn of(task_type: TaskType, iterations: &[&PastIteration]) -> Vec<DrawnLesson> {
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
            DrawnLesson {
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

/// All that was used, in the order in which it was first told; each iteration counts once for each.
fn used<'h>(successes: &[&'h PastIteration]) -> Vec<Approach<'h>> {
    let mut found: Vec<Approach<'h>> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    // What is said in other words is the same.
    let mut near: Nearby<usize> = Nearby::default();
    for iteration in successes {
        let mut told = BTreeSet::new();
        for (content, is_told) in approaches(iteration) {
            let lesson = lesson_of(&content);
            // Of an empty lesson nobody can say which other one is the same.
            if lesson.is_empty() {
                continue;
            }
            let place = *places.entry(lesson).or_insert_with(|| {
                let reading = Reading::new(LearningKind::Strategy, &[], &content);
                let known = near.find(&reading, |_| true).copied();
                known.unwrap_or_else(|| {
                    near.add(found.len(), reading);
                    found.len()
                })
            });
            let is_first_here = told.insert(place);
            match found.get_mut(place) {
                Some(approach) => {
                    approach.is_told |= is_told;
                    approach.used_in.extend(is_first_here.then_some(*iteration));
                }
                None => found.push(Approach {
                    content,
                    is_told,
                    used_in: vec![*iteration],
                }),
            }
        }
    }
    found.retain(|approach| approach.is_told || approach.used_in.len() >= LEAST_NOTES);
    found
}

/// The ways to work that an iteration tells of, and whether each is more than a note.
fn approaches(iteration: &PastIteration) -> impl Iterator<Item = (String, bool)> {
    let learned = iteration.learned.iter().filter_map(|text| approach_of(text));
    let noted = iteration.notes.iter().filter_map(|notes| {
        let known = known_approach(notes).map(|name| (name.to_owned(), true));
        known.or_else(|| Some((own_words(notes)?, false)))
    });
    learned.map(|content| (content, true)).chain(noted)
}

/// What way to work a text tells of.
pub(super) fn approach_of(text: &str) -> Option<String> {
    known_approach(text).map(str::to_owned).or_else(|| own_words(text))
}

fn known_approach(text: &str) -> Option<&'static str> {
    category_of(text, APPROACHES.as_slice()).map(|approach| approach.name)
}
