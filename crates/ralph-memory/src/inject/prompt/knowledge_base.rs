//! `## Knowledge Base (from previous loops)`: what whole runs taught about work like this, by its kinds.

use ralph_model::{Budget, EntryKind, Facts, InjectionReason, Learning, LearningKind, Tokens};

use super::markdown::{in_item, one_line, without_controls};
use super::room::Room;
use super::section::{Considered, Section};
use super::{OPENING, PromptRequest};
use crate::inject::pack::{Item, Sizes, pack};
use crate::inject::prime::{PrimeFormat, left_out_note};
use crate::inject::said::{Fact, Said};
use crate::recall::{KnownLesson, Likeness, most_known, shown_by};

const HEADING: &str = "Knowledge Base (from previous loops)";
/// How many files stand below a convention that they show.
const MOST_EXAMPLES: usize = 3;

/// A lesson that may stand in the section.
struct Choice<'a> {
    lesson: &'a KnownLesson,
    /// As it stands in the prompt, or would.
    text: String,
    reason: InjectionReason,
}

/// The section. A lesson that says what stands in the prompt already does not stand there again.
pub(super) fn section(request: &PromptRequest<'_>, room: &mut Room, said: &Said) -> Section {
    let budget = room.for_section(request.config.context.knowledge_base);
    let section = of_lessons(request.known, budget, said);
    room.spend(&section.text);
    section
}

/// What a prompt would hold of lessons of earlier runs, if it held nothing else: nothing, where there are none.
#[must_use]
pub fn knowledge_summary(lessons: &[KnownLesson], budget: Tokens) -> String {
    of_lessons(lessons, Budget::of(budget), &Said::default()).text
}

fn of_lessons(lessons: &[KnownLesson], budget: Budget, said: &Said) -> Section {
    let mut section = Section {
        heading: HEADING,
        ..Section::default()
    };
    if lessons.is_empty() {
        return section;
    }
    let frame = format!("## {HEADING}\n\n{OPENING}");
    let mut choices = choices(lessons, said);
    let note = fill(&mut choices, &frame, budget);
    if choices.iter().any(Choice::is_shown) {
        section.text = frame;
        for kind in LearningKind::ALL.iter().copied() {
            let mut shown = choices
                .iter()
                .filter(|choice| choice.is_shown() && choice.kind() == kind);
            if let Some(first) = shown.next() {
                section.text.push_str(group_heading(kind));
                section.text.push_str(&first.text);
                section.text.extend(shown.map(|choice| choice.text.as_str()));
            }
        }
        section.text.push_str(&note);
        section.fixed = OPENING.chars().count();
    }
    section.considered(choices.iter().map(|choice| Considered {
        kind: EntryKind::Learning,
        id: choice.lesson.learning.id.as_str(),
        text: &choice.text,
        score: choice.lesson.relevance.map(|relevance| relevance.total()),
        reason: choice.reason,
    }));
    section
}

/// The lessons in the order of preference. Those that may stand there, if there is room, are over the budget for now; so are
/// those for which there would be none however large it was.
fn choices<'a>(lessons: &'a [KnownLesson], said: &Said) -> Vec<Choice<'a>> {
    let estimates = lessons.iter().filter(|lesson| is_estimate(&lesson.learning)).count();
    let mut better: Vec<(LearningKind, Likeness)> = Vec::new();
    let mut said_here = Said::default();
    let mut choices = Vec::with_capacity(lessons.len());
    for lesson in lessons {
        let learning = &lesson.learning;
        let text = item(learning, estimates > 1);
        let fact = Fact::of(if is_estimate(learning) {
            &text
        } else {
            &learning.content
        });
        let likeness = Likeness::of(learning);
        let is_near = |(kind, other): &(LearningKind, Likeness)| {
            *kind == learning.kind && !is_estimate(learning) && other.is_near(&likeness)
        };
        let reason = if lesson.relevance.is_none() {
            InjectionReason::Irrelevant
        } else if said.holds(fact) || said_here.holds(fact) || better.iter().any(is_near) {
            InjectionReason::Duplicate
        } else {
            said_here.add(fact);
            better.push((learning.kind, likeness));
            InjectionReason::OverBudget
        };
        choices.push(Choice { lesson, text, reason });
    }
    choices
}

/// Marks the best lessons that fit as shown, and returns what is said of those that did not.
fn fill(choices: &mut [Choice<'_>], frame: &str, budget: Budget) -> String {
    let mut positions = Vec::new();
    let mut items = Vec::new();
    for (group, kind) in LearningKind::ALL.iter().copied().enumerate() {
        let mut taken = 0;
        for (position, choice) in choices.iter().enumerate() {
            let may_stand = choice.kind() == kind && choice.reason == InjectionReason::OverBudget;
            if may_stand && taken < most_known(kind, choice.lesson.by_file) {
                taken += 1;
                positions.push(position);
                items.push(Item {
                    group,
                    size: choice.text.chars().count(),
                });
            }
        }
    }
    let groups: Vec<usize> = LearningKind::ALL
        .iter()
        .map(|kind| group_heading(*kind).chars().count())
        .collect();
    let sizes = Sizes {
        frame: frame.chars().count(),
        group: &groups,
        note: left_out_note(items.len(), PrimeFormat::Section).chars().count(),
    };
    let packed = pack(&items, &sizes, budget);
    for position in packed.chosen.iter().filter_map(|chosen| positions.get(*chosen)) {
        if let Some(choice) = choices.get_mut(*position) {
            choice.reason = InjectionReason::Shown;
        }
    }
    match items.len() - packed.chosen.len() {
        left_out if left_out > 0 && packed.note_fits => left_out_note(left_out, PrimeFormat::Section),
        _ => String::new(),
    }
}

impl Choice<'_> {
    fn kind(&self) -> LearningKind {
        self.lesson.learning.kind
    }

    fn is_shown(&self) -> bool {
        self.reason == InjectionReason::Shown
    }
}

fn is_estimate(learning: &Learning) -> bool {
    learning.kind == LearningKind::Estimate
}

/// The heading of the lessons of a kind, in the form that the earlier tools gave it, with the empty lines around it.
fn group_heading(kind: LearningKind) -> &'static str {
    match kind {
        LearningKind::Strategy => "\n## Proven Strategies\n\n",
        LearningKind::Antipattern => "\n## Anti-Patterns to Avoid\n\n",
        LearningKind::Estimate => "\n## Time/Iteration Estimates\n\n",
        LearningKind::Convention => "\n## Project Conventions\n\n",
    }
}

/// A lesson as an item of its list, in the same form. Several estimates say how much work each is of.
fn item(learning: &Learning, one_of_several: bool) -> String {
    let text = in_item(&without_controls(&learning.content));
    match (learning.kind, &learning.facts) {
        (LearningKind::Strategy, facts) => {
            format!(
                "- {text} (effectiveness: {:.0}%)\n",
                effectiveness(learning, facts.as_ref()) * 100.0
            )
        }
        (
            LearningKind::Estimate,
            Some(Facts::Estimate {
                avg_iteration_time,
                total_iterations,
                complexity,
                ..
            }),
        ) => {
            let seconds = avg_iteration_time / 1000.0;
            let of = if one_of_several {
                format!(" ({} complexity)", one_line(complexity))
            } else {
                String::new()
            };
            format!("- Similar tasks{of}: ~{total_iterations:.0} iterations, ~{seconds:.0}s per iteration\n")
        }
        (LearningKind::Convention, _) => format!("- {text}\n{}", examples(learning)),
        (LearningKind::Antipattern | LearningKind::Estimate, _) => format!("- {text}\n"),
    }
}

/// How well a strategy does: as the runs say that taught it, until there is something to say about it here.
fn effectiveness(learning: &Learning, facts: Option<&Facts>) -> f64 {
    match facts {
        Some(Facts::Strategy { effectiveness, .. }) if learning.uses_here() == 0 => *effectiveness,
        _ => learning.success_rate,
    }
}

fn examples(learning: &Learning) -> String {
    let files: Vec<String> = shown_by(learning)
        .iter()
        .take(MOST_EXAMPLES)
        .map(|file| one_line(file))
        .collect();
    if files.is_empty() {
        return String::new();
    }
    format!("  Examples: {}\n", files.join(", "))
}
