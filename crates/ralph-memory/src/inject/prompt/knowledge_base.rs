//! `## Knowledge Base (from previous loops)`: what earlier runs taught about similar work, by kind.

use ralph_model::{
    Budget, EntryKind, Facts, InjectionReason, Learning, LearningId, LearningKind, LearningSource, Tokens, with_figures,
};

use super::learnings::marked_item;
use super::markdown::{in_item, one_line};
use super::section::{Considered, Section, visible};
use super::section_budgets::SectionBudgets;
use super::{OPENING, PromptRequest};
use crate::inject::claims::Claims;
use crate::inject::origin::Origin;
use crate::inject::pack::{Item, Sizes, pack};
use crate::inject::prime::{PrimeFormat, left_out_note};
use crate::inject::seen_texts::{Fact, SeenTexts};
use crate::recall::{RunLearning, example_files, max_in_prompt};
use crate::similarity::LearningFeatures;

pub const KNOWLEDGE_BASE: &str = "Knowledge Base (from previous loops)";
/// The maximum number of example files per convention.
const MAX_EXAMPLES: usize = 3;

struct Choice<'a> {
    learning: &'a RunLearning,
    /// As in the prompt, even if left out.
    text: String,
    reason: InjectionReason,
    /// Whether it is included if it fits.
    is_candidate: bool,
}

/// The section. Learnings that the prompt already contains or that conflict with one in it are omitted.
pub(super) fn section<'a>(
    request: &PromptRequest<'a>,
    room: &mut SectionBudgets,
    seen: &SeenTexts,
    claims: Claims<'a>,
) -> Section {
    let budget = room.for_section(request.config.context.knowledge_base);
    let section = of_learnings(request.known, budget, seen, claims);
    room.spend(&section.text);
    section
}

/// The section for learnings of earlier runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnowledgeSummary {
    /// Empty without learnings.
    pub text: String,
    /// The ids of the included learnings, by kind, most relevant first.
    pub shown: Vec<String>,
}

/// The section for these learnings in an otherwise empty prompt. `settled` are pairs that are known not to conflict.
#[must_use]
pub fn knowledge_summary(
    learnings: &[RunLearning],
    settled: &[(LearningId, LearningId)],
    budget: Tokens,
) -> KnowledgeSummary {
    let section = of_learnings(
        learnings,
        Budget::of(budget),
        &SeenTexts::default(),
        Claims::new(settled),
    );
    let shown = section.injections.into_iter();
    KnowledgeSummary {
        text: section.text,
        shown: shown
            .filter(|injection| injection.reason == InjectionReason::Shown)
            .map(|injection| injection.id)
            .collect(),
    }
}

fn of_learnings<'a>(learnings: &'a [RunLearning], budget: Budget, seen: &SeenTexts, claims: Claims<'a>) -> Section {
    let mut section = Section {
        heading: KNOWLEDGE_BASE,
        ..Section::default()
    };
    if learnings.is_empty() {
        return section;
    }
    let frame = format!("## {KNOWLEDGE_BASE}\n\n{OPENING}");
    let mut choices = choices(learnings, seen, claims.clone());
    let mut note = fill(&mut choices, &frame, budget);
    if choices.iter().any(|choice| choice.is_candidate && !choice.is_shown()) {
        let mut room = budget;
        if !note.is_empty() && !room.take(note.chars().count()) {
            note.clear();
        }
        fill_up(&mut choices, (&frame, room), seen, claims);
    }
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
        id: choice.learning.learning.id.as_str(),
        text: &choice.text,
        score: choice.learning.relevance.map(|relevance| relevance.total()),
        reason: choice.reason,
    }));
    section
}

/// The candidates with everything decided except the budget: eligible ones start as over budget. They are checked in
/// order of preference, so that the better of two conflicting ones is included.
fn choices<'a>(learnings: &'a [RunLearning], seen: &SeenTexts, claims: Claims<'a>) -> Vec<Choice<'a>> {
    let estimates = learnings
        .iter()
        .filter(|learning| is_estimate(&learning.learning))
        .count();
    let form = if estimates > 1 {
        Form::OneOfSeveral
    } else {
        Form::Single
    };
    let mut choices: Vec<Choice<'a>> = learnings
        .iter()
        .map(|learning| Choice {
            learning,
            text: visible(&item(&learning.learning, form, Mark::Shown)),
            reason: InjectionReason::Irrelevant,
            is_candidate: false,
        })
        .collect();
    let mut included = Included::new(claims);
    for choice in by_preference(&mut choices) {
        choice.reason = InjectionReason::OverBudget;
        if !included.has_room_for(choice) {
            continue;
        }
        choice.is_candidate = !included.is_seen(choice, seen);
        if choice.is_candidate {
            included.add(choice);
        } else {
            choice.reason = InjectionReason::Duplicate;
        }
    }
    choices
}

/// The relevant and eligible ones, best first.
fn by_preference<'c, 'a>(choices: &'c mut [Choice<'a>]) -> Vec<&'c mut Choice<'a>> {
    let mut order: Vec<&mut Choice<'a>> = choices.iter_mut().collect();
    order.retain(|choice| choice.learning.relevance.is_some() && choice.learning.learning.is_eligible());
    order.sort_by(|one, other| one.learning.by_preference(other.learning));
    order
}

/// The learnings included in the section.
struct Included<'a> {
    claims: Claims<'a>,
    alike: Vec<LearningFeatures>,
    seen: SeenTexts,
    counts: Vec<LearningKind>,
}

impl<'a> Included<'a> {
    fn new(claims: Claims<'a>) -> Self {
        Self {
            claims,
            alike: Vec::new(),
            seen: SeenTexts::default(),
            counts: Vec::new(),
        }
    }

    /// Whether the limit for its kind is not reached.
    fn has_room_for(&self, choice: &Choice<'_>) -> bool {
        let kind = choice.kind();
        let taken = self.counts.iter().filter(|counted| **counted == kind).count();
        taken < max_in_prompt(kind, choice.learning.by_file)
    }

    /// Whether another text duplicates or contradicts a learning.
    fn is_seen(&self, choice: &Choice<'a>, seen_before: &SeenTexts) -> bool {
        let learning = &choice.learning.learning;
        let fact = choice.fact();
        let features = LearningFeatures::of(learning);
        let is_near = |other: &LearningFeatures| !is_estimate(learning) && other.is_near(&features);
        let is_seen = seen_before.contains(fact) || self.seen.contains(fact) || self.alike.iter().any(is_near);
        is_seen || self.claims.conflict_with(learning)
    }

    /// The size of a learning, including the heading if it is the first of its kind.
    fn size_of(&self, choice: &Choice<'_>) -> usize {
        let kind = choice.kind();
        let heading = if self.counts.contains(&kind) {
            0
        } else {
            group_heading(kind).chars().count()
        };
        heading + choice.text.chars().count()
    }

    fn add(&mut self, choice: &Choice<'a>) {
        let learning = &choice.learning.learning;
        self.seen.add(choice.fact());
        self.alike.push(LearningFeatures::of(learning));
        self.claims.add(learning);
        self.counts.push(learning.kind);
    }
}

/// Replaces learnings that did not fit by the next ones that do, and marks duplicates of what is included.
fn fill_up<'a>(choices: &mut [Choice<'a>], (frame, mut room): (&str, Budget), seen: &SeenTexts, claims: Claims<'a>) {
    let mut included = Included::new(claims);
    let mut fits = room.take(frame.chars().count());
    for choice in choices.iter().filter(|choice| choice.is_shown()) {
        fits &= room.take(included.size_of(choice));
        included.add(choice);
    }
    let rest = by_preference(choices).into_iter().filter(|choice| !choice.is_shown());
    for choice in rest {
        choice.reason = InjectionReason::OverBudget;
        if !included.has_room_for(choice) {
            continue;
        }
        if included.is_seen(choice, seen) {
            choice.reason = InjectionReason::Duplicate;
        } else if fits && room.take(included.size_of(choice)) {
            choice.reason = InjectionReason::Shown;
            included.add(choice);
        }
    }
}

/// Marks the best learnings that fit as injected, and returns the note about the others.
fn fill(choices: &mut [Choice<'_>], frame: &str, budget: Budget) -> String {
    let mut positions = Vec::new();
    let mut items = Vec::new();
    for (group, kind) in LearningKind::ALL.iter().copied().enumerate() {
        for (position, choice) in choices.iter().enumerate() {
            if choice.is_candidate && choice.kind() == kind {
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
        self.learning.learning.kind
    }

    fn is_shown(&self) -> bool {
        self.reason == InjectionReason::Shown
    }

    fn fact(&self) -> Fact {
        let learning = &self.learning.learning;
        Fact::of(if is_estimate(learning) {
            &self.text
        } else {
            &learning.content
        })
    }
}

fn is_estimate(learning: &Learning) -> bool {
    learning.kind == LearningKind::Estimate
}

/// The heading of a kind in the format of earlier tools, with blank lines.
fn group_heading(kind: LearningKind) -> &'static str {
    match kind {
        LearningKind::Strategy => "\n## Proven Strategies\n\n",
        LearningKind::Antipattern => "\n## Anti-Patterns to Avoid\n\n",
        LearningKind::Estimate => "\n## Time/Iteration Estimates\n\n",
        LearningKind::Convention => "\n## Project Conventions\n\n",
    }
}

/// A learning as a list item of the section it belongs to in prompts. An estimate includes what it estimates, which the
/// section omits.
#[must_use]
pub fn learning_item(learning: &Learning) -> String {
    match (learning.source, learning.kind) {
        (LearningSource::Sigil | LearningSource::Human, _) => marked_item(learning, ""),
        (_, LearningKind::Estimate) => {
            let text = with_figures(&learning.content, learning.facts.as_ref());
            format!("- {}\n", in_item(&text))
        }
        _ => item(learning, Form::OneOfSeveral, Mark::Omitted),
    }
}

/// Whether there is a single estimate.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Single,
    OneOfSeveral,
}

/// Whether an item shows its origin.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Shown,
    Omitted,
}

/// A learning as a list item. With several estimates, each includes its complexity.
fn item(learning: &Learning, form: Form, mark: Mark) -> String {
    let mark = match mark {
        Mark::Shown => format!("{} ", Origin::of_learning(learning)),
        Mark::Omitted => String::new(),
    };
    let text = format!("{mark}{}", in_item(&learning.content));
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
            let of = if form == Form::OneOfSeveral {
                format!(" ({} complexity)", one_line(complexity))
            } else {
                String::new()
            };
            let iterations = format!("{total_iterations:.0}");
            let word = if iterations == "1" { "iteration" } else { "iterations" };
            format!("- {mark}Similar tasks{of}: ~{iterations} {word}, ~{seconds:.0}s per iteration\n")
        }
        (LearningKind::Convention, _) => format!("- {text}\n{}", examples(learning)),
        (LearningKind::Antipattern | LearningKind::Estimate, _) => format!("- {text}\n"),
    }
}

/// The effectiveness of a strategy: as reported by the runs that taught it, until there are outcomes here.
fn effectiveness(learning: &Learning, facts: Option<&Facts>) -> f64 {
    match facts {
        Some(Facts::Strategy { effectiveness, .. }) if learning.uses_here() == 0 => *effectiveness,
        _ => learning.success_rate,
    }
}

fn examples(learning: &Learning) -> String {
    let files: Vec<String> = example_files(learning)
        .iter()
        .take(MAX_EXAMPLES)
        .map(|file| one_line(file))
        .collect();
    if files.is_empty() {
        return String::new();
    }
    format!("  Examples: {}\n", files.join(", "))
}
