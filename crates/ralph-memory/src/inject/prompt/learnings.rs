//! `### Learnings from Previous Iterations`: relevant learnings.

use ralph_model::{Budget, EntryKind, InjectionReason, Learning, LearningStatus};

use super::markdown::{in_item, one_line, title};
use super::section::{Considered, Section, visible};
use super::section_budgets::SectionBudgets;
use super::{OPENING, PromptRequest};
use crate::inject::claims::Claims;
use crate::inject::origin::Origin;
use crate::inject::prime::{PrimeFormat, left_out_note};
use crate::inject::seen_texts::{Fact, SeenTexts};
use crate::recall::RelevantLearning;
use crate::similarity::LearningFeatures;

const HEADING: &str = "Learnings from Previous Iterations";
/// The maximum number of learnings in a prompt.
pub const MAX_LEARNINGS: usize = 5;
/// The maximum number of merged texts below a learning, if they fit.
const MAX_EXAMPLES: usize = 3;

struct Choice<'a> {
    learning: &'a Learning,
    features: &'a LearningFeatures,
    score: f64,
    /// As in the prompt, even if left out.
    text: String,
    reason: InjectionReason,
}

/// The section. Learnings that the prompt already contains or that conflict with a better one are omitted.
pub(super) fn section<'a>(
    request: &PromptRequest<'a>,
    room: &mut SectionBudgets,
    seen: &mut SeenTexts,
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
    let closing = choose(&mut choices, &frame, budget, (seen, claims));
    if choices.iter().any(Choice::is_shown) {
        for choice in choices.iter().filter(|choice| choice.is_shown()) {
            seen.add(Fact::of(&choice.learning.content));
            claims.add(choice.learning);
        }
        add_examples(&mut choices, (&frame, &closing), budget, seen);
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

/// The learnings in order of preference.
fn choices<'a>(request: &PromptRequest<'a>) -> Vec<Choice<'a>> {
    let choice = |relevant: &'a RelevantLearning| {
        let RelevantLearning {
            learning,
            score,
            is_refuted,
            features,
        } = relevant;
        // A learning that is not active yet belongs to this task.
        let belongs = !is_refuted && (*score > 0.0 || learning.status == LearningStatus::Validated);
        Choice {
            learning,
            features,
            score: *score,
            text: visible(&marked_item(learning, &format!("{} ", Origin::of_learning(learning)))),
            reason: if belongs {
                InjectionReason::OverBudget
            } else {
                InjectionReason::Irrelevant
            },
        }
    };
    request.learnings.iter().map(choice).collect()
}

/// Marks the best learnings that fit as injected, and returns the note about the others, whose space is reserved if not
/// all fit.
fn choose<'a>(choices: &mut [Choice<'a>], frame: &str, budget: Budget, before: (&SeenTexts, &Claims<'a>)) -> String {
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

/// Marks the best learnings that fit as injected, and counts those before the last one that do not fit. Duplicates of
/// or conflicts with the prompt or a better learning are marked as duplicates.
fn take_best<'a>(choices: &mut [Choice<'a>], mut room: Budget, (seen, claims): (&SeenTexts, &Claims<'a>)) -> usize {
    let mut left_out = 0;
    let mut better: Vec<&LearningFeatures> = Vec::new();
    let mut seen_here = SeenTexts::default();
    let mut claims = claims.clone();
    for choice in choices
        .iter_mut()
        .filter(|choice| choice.reason != InjectionReason::Irrelevant)
    {
        choice.reason = InjectionReason::OverBudget;
        if better.len() >= MAX_LEARNINGS {
            continue;
        }
        let fact = Fact::of(&choice.learning.content);
        let is_near = |better: &&LearningFeatures| better.is_near(choice.features);
        let is_seen = seen.contains(fact) || seen_here.contains(fact) || better.iter().any(is_near);
        if is_seen || claims.conflict_with(choice.learning) {
            choice.reason = InjectionReason::Duplicate;
        } else if room.take(choice.text.chars().count()) {
            choice.reason = InjectionReason::Shown;
            better.push(choice.features);
            seen_here.add(fact);
            claims.add(choice.learning);
        } else {
            left_out += 1;
        }
    }
    left_out
}

/// Adds merged texts below their learnings while they fit.
fn add_examples(choices: &mut [Choice<'_>], (frame, closing): (&str, &str), budget: Budget, seen: &mut SeenTexts) {
    let mut room_left = budget;
    let shown = choices.iter().filter(|choice| choice.is_shown());
    let texts: usize = shown.map(|choice| choice.text.chars().count()).sum();
    if !room_left.take(frame.chars().count() + texts + closing.chars().count()) {
        return;
    }
    for choice in choices.iter_mut().filter(|choice| choice.is_shown()) {
        for example in choice.learning.examples.iter().take(MAX_EXAMPLES) {
            let line = format!("  - {}\n", title(example));
            let fact = Fact::of(example);
            if !seen.contains(fact) && room_left.take(line.chars().count()) {
                choice.text.push_str(&line);
                seen.add(fact);
            }
        }
    }
}

impl Choice<'_> {
    fn is_shown(&self) -> bool {
        self.reason == InjectionReason::Shown
    }
}

/// A learning as a list item in the format of earlier tools, with a mark before its text.
pub(super) fn marked_item(learning: &Learning, mark: &str) -> String {
    let category = one_line(&learning.category);
    format!("- **[{category}]** {mark}{}\n", in_item(&learning.content))
}
