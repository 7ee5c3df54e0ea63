//! `### Learnings from Previous Iterations`: lessons that fit the task.

use ralph_model::{Budget, EntryKind, InjectionReason, Learning, LearningStatus};

use super::markdown::{in_item, one_line, title};
use super::room::Room;
use super::section::{Considered, Section, visible};
use super::{OPENING, PromptRequest};
use crate::inject::claims::Claims;
use crate::inject::origin::Origin;
use crate::inject::prime::{PrimeFormat, left_out_note};
use crate::inject::said::{Fact, Said};
use crate::recall::{Likeness, RelevantLearning};

const HEADING: &str = "Learnings from Previous Iterations";
/// How many lessons stand in a prompt at most.
pub const MOST_LEARNINGS: usize = 5;
/// How many texts of others stand below a lesson that they were merged into, where there is room.
const MOST_EXAMPLES: usize = 3;

/// A lesson that may stand in the section.
struct Choice<'a> {
    learning: &'a Learning,
    likeness: &'a Likeness,
    score: f64,
    /// As it stands in the prompt, or would.
    text: String,
    reason: InjectionReason,
}

/// The section. A lesson that says what stands in the prompt already does not stand there again, nor does one that contradicts
/// a better one.
pub(super) fn section<'a>(
    request: &PromptRequest<'a>,
    room: &mut Room,
    said: &mut Said,
    claims: &mut Claims<'a>,
) -> Section {
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
    let closing = choose(&mut choices, &frame, budget, (said, claims));
    if choices.iter().any(Choice::is_shown) {
        for choice in choices.iter().filter(|choice| choice.is_shown()) {
            said.add(Fact::of(&choice.learning.content));
            claims.add(choice.learning);
        }
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
    let choice = |relevant: &'a RelevantLearning| {
        let RelevantLearning {
            learning,
            score,
            is_refuted,
            likeness,
        } = relevant;
        // One that waits is of this very task.
        let belongs = !is_refuted && (*score > 0.0 || learning.status == LearningStatus::Validated);
        Choice {
            learning,
            likeness,
            score: *score,
            text: visible(&learning_item(learning, &format!("{} ", Origin::of_learning(learning)))),
            reason: if belongs {
                InjectionReason::OverBudget
            } else {
                InjectionReason::Irrelevant
            },
        }
    };
    request.learnings.iter().map(choice).collect()
}

/// Marks the best lessons that fit as shown, and returns what is said of those that did not. That takes room as well, so where
/// not all fit it is kept back first.
fn choose<'a>(choices: &mut [Choice<'a>], frame: &str, budget: Budget, before: (&Said, &Claims<'a>)) -> String {
    let mut room = budget;
    if !room.take(frame.chars().count()) {
        return String::new();
    }
    if take_best(choices, room, before) == 0 {
        return String::new();
    }
    let longest = left_out_note(choices.len(), PrimeFormat::Section);
    let note_fits = room.take(longest.chars().count());
    let left_out = take_best(choices, room, before);
    if note_fits && left_out > 0 {
        left_out_note(left_out, PrimeFormat::Section)
    } else {
        String::new()
    }
}

/// Marks the best lessons that fit as shown, and counts those before the last of them that do not. One that says what stands
/// in the prompt already, or what a better one of them says, or the contrary, is marked as a duplicate.
fn take_best<'a>(choices: &mut [Choice<'a>], mut room: Budget, (said, claims): (&Said, &Claims<'a>)) -> usize {
    let mut left_out = 0;
    let mut better: Vec<&Likeness> = Vec::new();
    let mut said_here = Said::default();
    let mut claims = claims.clone();
    for choice in choices
        .iter_mut()
        .filter(|choice| choice.reason != InjectionReason::Irrelevant)
    {
        choice.reason = InjectionReason::OverBudget;
        if better.len() >= MOST_LEARNINGS {
            continue;
        }
        let fact = Fact::of(&choice.learning.content);
        let is_near = |better: &&Likeness| better.is_near(choice.likeness);
        let is_said = said.holds(fact) || said_here.holds(fact) || better.iter().any(is_near);
        if is_said || claims.refute(choice.learning) {
            choice.reason = InjectionReason::Duplicate;
        } else if room.take(choice.text.chars().count()) {
            choice.reason = InjectionReason::Shown;
            better.push(choice.likeness);
            said_here.add(fact);
            claims.add(choice.learning);
        } else {
            left_out += 1;
        }
    }
    left_out
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
            let line = format!("  - {}\n", title(example));
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

/// A learning as an item of the section's list, in the form that the earlier tools gave it, with a mark in front of its text.
pub(super) fn learning_item(learning: &Learning, mark: &str) -> String {
    let category = one_line(&learning.category);
    format!("- **[{category}]** {mark}{}\n", in_item(&learning.content))
}
