//! `## Knowledge Base (from previous loops)`: what whole runs taught about work like this, by its kinds.

use ralph_model::{
    Budget, EntryKind, Facts, InjectionReason, Learning, LearningId, LearningKind, LearningSource, Tokens, with_figures,
};

use super::learnings::learning_item;
use super::markdown::{in_item, one_line};
use super::room::Room;
use super::section::{Considered, Section, visible};
use super::{OPENING, PromptRequest};
use crate::inject::claims::Claims;
use crate::inject::origin::Origin;
use crate::inject::pack::{Item, Sizes, pack};
use crate::inject::prime::{PrimeFormat, left_out_note};
use crate::inject::said::{Fact, Said};
use crate::recall::{KnownLesson, Likeness, most_known, shown_by};

/// The heading of the section.
pub const KNOWLEDGE_BASE: &str = "Knowledge Base (from previous loops)";
/// How many files stand below a convention that they show.
const MOST_EXAMPLES: usize = 3;

/// A lesson that may stand in the section.
struct Choice<'a> {
    lesson: &'a KnownLesson,
    /// As it stands in the prompt, or would.
    text: String,
    reason: InjectionReason,
    /// Whether it stands there if there is room.
    may_stand: bool,
}

/// The section. A lesson that says what stands in the prompt already does not stand there again, nor does one that contradicts
/// what does.
pub(super) fn section<'a>(request: &PromptRequest<'a>, room: &mut Room, said: &Said, claims: Claims<'a>) -> Section {
    let budget = room.for_section(request.config.context.knowledge_base);
    let section = of_lessons(request.known, budget, said, claims);
    room.spend(&section.text);
    section
}

/// What a prompt would hold of lessons of earlier runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnowledgeSummary {
    /// All of it; nothing where there is none.
    pub text: String,
    /// The ids of the lessons in it, by their kinds, of each the most relevant first.
    pub shown: Vec<String>,
}

/// What a prompt would hold of lessons of earlier runs, if it held nothing else. Of the pairs that seem to contradict each other
/// those that are settled both hold.
#[must_use]
pub fn knowledge_summary(
    lessons: &[KnownLesson],
    settled: &[(LearningId, LearningId)],
    budget: Tokens,
) -> KnowledgeSummary {
    let section = of_lessons(lessons, Budget::of(budget), &Said::default(), Claims::none(settled));
    let shown = section.injections.into_iter();
    KnowledgeSummary {
        text: section.text,
        shown: shown
            .filter(|injection| injection.reason == InjectionReason::Shown)
            .map(|injection| injection.id)
            .collect(),
    }
}

fn of_lessons<'a>(lessons: &'a [KnownLesson], budget: Budget, said: &Said, claims: Claims<'a>) -> Section {
    let mut section = Section {
        heading: KNOWLEDGE_BASE,
        ..Section::default()
    };
    if lessons.is_empty() {
        return section;
    }
    let frame = format!("## {KNOWLEDGE_BASE}\n\n{OPENING}");
    let mut choices = choices(lessons, said, claims.clone());
    let mut note = fill(&mut choices, &frame, budget);
    if choices.iter().any(|choice| choice.may_stand && !choice.is_shown()) {
        let mut room = budget;
        if !note.is_empty() && !room.take(note.chars().count()) {
            note.clear();
        }
        fill_up(&mut choices, (&frame, room), said, claims);
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
        id: choice.lesson.learning.id.as_str(),
        text: &choice.text,
        score: choice.lesson.relevance.map(|relevance| relevance.total()),
        reason: choice.reason,
    }));
    section
}

/// The lessons by their kinds, each with what is known before anything is said about room: those that may stand there are over
/// the budget for now. They are asked in the order of preference, so that of two that cannot stand together the better one does.
fn choices<'a>(lessons: &'a [KnownLesson], said: &Said, claims: Claims<'a>) -> Vec<Choice<'a>> {
    let estimates = lessons.iter().filter(|lesson| is_estimate(&lesson.learning)).count();
    let form = if estimates > 1 {
        Form::OneOfSeveral
    } else {
        Form::Single
    };
    let mut choices: Vec<Choice<'a>> = lessons
        .iter()
        .map(|lesson| Choice {
            lesson,
            text: visible(&item(&lesson.learning, form, Mark::Shown)),
            reason: InjectionReason::Irrelevant,
            may_stand: false,
        })
        .collect();
    let mut standing = Standing::none(claims);
    for choice in by_preference(&mut choices) {
        choice.reason = InjectionReason::OverBudget;
        if !standing.has_place_for(choice) {
            continue;
        }
        choice.may_stand = !standing.is_said(choice, said);
        if choice.may_stand {
            standing.add(choice);
        } else {
            choice.reason = InjectionReason::Duplicate;
        }
    }
    choices
}

/// Those that belong to the work and may stand in a prompt, the best first.
fn by_preference<'c, 'a>(choices: &'c mut [Choice<'a>]) -> Vec<&'c mut Choice<'a>> {
    let mut order: Vec<&mut Choice<'a>> = choices.iter_mut().collect();
    order.retain(|choice| choice.lesson.relevance.is_some() && choice.lesson.learning.may_be_shown());
    order.sort_by(|one, other| one.lesson.by_preference(other.lesson));
    order
}

/// The lessons that may stand in the section.
struct Standing<'a> {
    claims: Claims<'a>,
    alike: Vec<(LearningKind, Likeness)>,
    said: Said,
    /// The kind of each.
    counts: Vec<LearningKind>,
}

impl<'a> Standing<'a> {
    fn none(claims: Claims<'a>) -> Self {
        Self {
            claims,
            alike: Vec::new(),
            said: Said::default(),
            counts: Vec::new(),
        }
    }

    /// Whether there are not so many of its kind yet.
    fn has_place_for(&self, choice: &Choice<'_>) -> bool {
        let kind = choice.kind();
        let taken = self.counts.iter().filter(|counted| **counted == kind).count();
        taken < most_known(kind, choice.lesson.by_file)
    }

    /// Whether something else says what a lesson says, or denies it.
    fn is_said(&self, choice: &Choice<'a>, said_before: &Said) -> bool {
        let learning = &choice.lesson.learning;
        let fact = choice.fact();
        let likeness = Likeness::of(learning);
        let is_near = |(kind, other): &(LearningKind, Likeness)| {
            *kind == learning.kind && !is_estimate(learning) && other.is_near(&likeness)
        };
        let is_said = said_before.holds(fact) || self.said.holds(fact) || self.alike.iter().any(is_near);
        is_said || self.claims.refute(learning)
    }

    /// How many characters a lesson takes, with the heading of its kind where it is the first one.
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
        let learning = &choice.lesson.learning;
        self.said.add(choice.fact());
        self.alike.push((learning.kind, Likeness::of(learning)));
        self.claims.add(learning);
        self.counts.push(learning.kind);
    }
}

/// Gives the places of those that did not fit to the next ones that do, and tells those apart that only say what one of them
/// would have said.
fn fill_up<'a>(choices: &mut [Choice<'a>], (frame, mut room): (&str, Budget), said: &Said, claims: Claims<'a>) {
    let mut standing = Standing::none(claims);
    let mut fits = room.take(frame.chars().count());
    for choice in choices.iter().filter(|choice| choice.is_shown()) {
        fits &= room.take(standing.size_of(choice));
        standing.add(choice);
    }
    let rest = by_preference(choices).into_iter().filter(|choice| !choice.is_shown());
    for choice in rest {
        choice.reason = InjectionReason::OverBudget;
        if !standing.has_place_for(choice) {
            continue;
        }
        if standing.is_said(choice, said) {
            choice.reason = InjectionReason::Duplicate;
        } else if fits && room.take(standing.size_of(choice)) {
            choice.reason = InjectionReason::Shown;
            standing.add(choice);
        }
    }
}

/// Marks the best lessons that fit as shown, and returns what is said of those that did not.
fn fill(choices: &mut [Choice<'_>], frame: &str, budget: Budget) -> String {
    let mut positions = Vec::new();
    let mut items = Vec::new();
    for (group, kind) in LearningKind::ALL.iter().copied().enumerate() {
        for (position, choice) in choices.iter().enumerate() {
            if choice.may_stand && choice.kind() == kind {
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

    /// What it says.
    fn fact(&self) -> Fact {
        let learning = &self.lesson.learning;
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

/// The heading of the lessons of a kind, in the form that the earlier tools gave it, with the empty lines around it.
fn group_heading(kind: LearningKind) -> &'static str {
    match kind {
        LearningKind::Strategy => "\n## Proven Strategies\n\n",
        LearningKind::Antipattern => "\n## Anti-Patterns to Avoid\n\n",
        LearningKind::Estimate => "\n## Time/Iteration Estimates\n\n",
        LearningKind::Convention => "\n## Project Conventions\n\n",
    }
}

/// A lesson as an item of the list that it stands in in prompts: what runs taught in this section, what agents and people said
/// in the other. An estimate says what it is of, which a prompt need not say to those who work on it.
#[must_use]
pub fn lesson_item(learning: &Learning) -> String {
    match (learning.source, learning.kind) {
        (LearningSource::Sigil | LearningSource::Human, _) => learning_item(learning, ""),
        (_, LearningKind::Estimate) => {
            let text = with_figures(&learning.content, learning.facts.as_ref());
            format!("- {}\n", in_item(&text))
        }
        _ => item(learning, Form::OneOfSeveral, Mark::Omitted),
    }
}

/// Whether an estimate stands alone.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Single,
    OneOfSeveral,
}

/// Whether an item says where it comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Shown,
    Omitted,
}

/// A lesson as an item of its list, in the same form. Several estimates say how much work each is of.
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
