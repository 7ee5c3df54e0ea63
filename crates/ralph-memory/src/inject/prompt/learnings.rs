//! `### Learnings from Previous Iterations`: lessons that fit the task.

use ralph_model::{Budget, EntryKind, InjectionReason, Learning, LearningStatus};

use super::markdown::{in_item, one_line};
use super::room::Room;
use super::section::{Considered, Section};
use super::{OPENING, PromptRequest};
use crate::inject::pack::{Item, Sizes, pack};
use crate::inject::prime::{PrimeFormat, left_out_note};
use crate::inject::said::{Fact, Said};
use crate::recall::Likeness;

const HEADING: &str = "Learnings from Previous Iterations";
/// How many lessons stand in a prompt at most.
pub const MOST_LEARNINGS: usize = 5;
/// How many texts of others stand below a lesson that they were merged into, where there is room.
const MOST_EXAMPLES: usize = 3;

/// A lesson that may stand in the section.
struct Choice<'a> {
    learning: &'a Learning,
    score: f64,
    /// As it stands in the prompt, or would.
    text: String,
    reason: InjectionReason,
}

/// The section. A lesson that says what stands in the prompt already does not stand there again.
pub(super) fn section(request: &PromptRequest<'_>, room: &mut Room, said: &mut Said) -> Section {
    let mut section = Section {
        heading: HEADING,
        ..Section::default()
    };
    if request.learnings.is_empty() {
        return section;
    }
    let frame = format!("### {HEADING}\n\n{OPENING}\n");
    let budget = room.for_section(request.config.context.learnings);
    let mut choices = choices(request);
    let tried = best(&mut choices, &frame, budget, said);
    let items: Vec<Item> = tried
        .iter()
        .filter_map(|position| choices.get(*position))
        .map(|choice| Item {
            group: 0,
            size: choice.text.chars().count(),
        })
        .collect();
    let note = left_out_note(items.len(), PrimeFormat::Section);
    let sizes = Sizes {
        frame: frame.chars().count(),
        group: &[0],
        note: note.len(),
    };
    let packed = pack(&items, &sizes, budget);
    for position in packed.chosen.iter().filter_map(|chosen| tried.get(*chosen)) {
        if let Some(choice) = choices.get_mut(*position) {
            choice.reason = InjectionReason::Shown;
            said.add(Fact::of(&choice.learning.content));
        }
    }
    let left_out = items.len() - packed.chosen.len();
    let closing = if left_out > 0 && packed.note_fits {
        left_out_note(left_out, PrimeFormat::Section)
    } else {
        String::new()
    };
    if !packed.chosen.is_empty() {
        add_examples(&mut choices, (&frame, &closing), budget, said);
        section.text = frame;
        for choice in choices.iter().filter(|choice| choice.is_shown()) {
            section.text.push_str(&choice.text);
        }
        section.text.push_str(&closing);
        section.fixed = OPENING.chars().count();
        room.spend(&section.text);
    }
    section.considered(choices.iter().map(|choice| Considered {
        kind: EntryKind::Learning,
        id: choice.learning.id.as_str(),
        text: &choice.text,
        score: Some(choice.score).filter(|score| *score > 0.0),
        reason: choice.reason,
    }));
    section
}

/// The lessons in the order of preference.
fn choices<'a>(request: &PromptRequest<'a>) -> Vec<Choice<'a>> {
    let choice = |(learning, score): &'a (Learning, f64)| {
        // One that waits is of this very task.
        let belongs = *score > 0.0 || learning.status == LearningStatus::Validated;
        Choice {
            learning,
            score: *score,
            text: entry(learning),
            reason: if belongs {
                InjectionReason::OverBudget
            } else {
                InjectionReason::Irrelevant
            },
        }
    };
    request.learnings.iter().map(choice).collect()
}

/// The places of the best lessons that fit, and of those before them that do not. One that says what stands there already, or
/// what a better one says, is marked as a duplicate.
fn best(choices: &mut [Choice<'_>], frame: &str, budget: Budget, said: &Said) -> Vec<usize> {
    let mut room_left = budget;
    let has_room = room_left.take(frame.chars().count());
    let mut tried = Vec::new();
    let mut fitting: Vec<Likeness> = Vec::new();
    for (position, choice) in choices.iter_mut().enumerate() {
        if choice.reason == InjectionReason::Irrelevant {
            continue;
        }
        if fitting.len() >= MOST_LEARNINGS {
            break;
        }
        let likeness = Likeness::of(choice.learning);
        if said.holds(Fact::of(&choice.learning.content)) || fitting.iter().any(|better| better.is_near(&likeness)) {
            choice.reason = InjectionReason::Duplicate;
            continue;
        }
        tried.push(position);
        if has_room && room_left.take(choice.text.chars().count()) {
            fitting.push(likeness);
        }
    }
    tried
}

/// Puts what others said below the lessons that they were merged into, as far as the room goes.
fn add_examples(choices: &mut [Choice<'_>], (frame, closing): (&str, &str), budget: Budget, said: &mut Said) {
    let mut room_left = budget;
    let shown = choices.iter().filter(|choice| choice.is_shown());
    let texts: usize = shown.map(|choice| choice.text.chars().count()).sum();
    if !room_left.take(frame.chars().count() + texts + closing.chars().count()) {
        return;
    }
    for choice in choices.iter_mut().filter(|choice| choice.is_shown()) {
        for example in choice.learning.examples.iter().take(MOST_EXAMPLES) {
            let line = format!("  - {}\n", one_line(example));
            let fact = Fact::of(example);
            if !said.holds(fact) && room_left.take(line.chars().count()) {
                choice.text.push_str(&line);
                said.add(fact);
            }
        }
    }
}

impl Choice<'_> {
    fn is_shown(&self) -> bool {
        self.reason == InjectionReason::Shown
    }
}

/// A lesson as an item of the section's list, in the form that the earlier tools gave it.
fn entry(learning: &Learning) -> String {
    format!(
        "- **[{}]** {}\n",
        one_line(&learning.category),
        in_item(&learning.content)
    )
}
