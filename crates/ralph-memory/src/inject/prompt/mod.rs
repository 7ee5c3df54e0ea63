//! The prompt of an iteration: typed sections in a fixed order, with whole entries, within the budgets of each section
//! and of the total.
//!
//! The most important sections are filled first, whatever their order. Each records the entries it considered, as
//! evidence of what the agent knew.

mod attempts;
mod feature;
mod journal;
mod knowledge;
mod knowledge_base;
mod learnings;
mod markdown;
mod materials;
mod notes;
mod proof;
mod scratchpad;
mod section;
mod section_budgets;
mod signals;
mod status;
mod task;
mod verify;

use std::fmt;

use jiff::civil::Date;
use ralph_model::config::{Config, Inject};
use ralph_model::{Attempt, Injection, JournalRow, LearningId, Suggestion, Task, TaskKind, Tokens, TrackRecord};
use ralph_search::IndexError;

pub use feature::feature_cut_to;
pub use knowledge_base::{KNOWLEDGE_BASE, KnowledgeSummary, knowledge_summary, learning_item};
pub use learnings::MAX_LEARNINGS;
pub(super) use markdown::{quote, without_controls};
pub use materials::{Materials, PromptContext};
pub use proof::{entry_in, is_in_prompt};
pub use section::MAX_LEFT_OUT;
pub use verify::{Finished, GateReport, verification_prompt};

use super::claims::Claims;
use super::feature_texts::FeatureTexts;
use super::origin::Origins;
use super::seen_texts::SeenTexts;
use crate::recall::{RelevantLearning, RunLearning};
use ralph_search::SearchIndex;

use attempts::PreviousAttempts;
use section::{Section, visible};
use section_budgets::SectionBudgets;

/// The maximum number of recent journal entries of the same run.
pub const RECENT_ROWS: u32 = 5;
/// The maximum number of journal entries of other runs.
pub const RELATED_ROWS: usize = 5;

/// The first line of every memory section.
pub(super) const OPENING: &str = include_str!("texts/opening.md");
const TASK_INSTRUCTIONS: &str = include_str!("texts/task.md");
const PROMPT_LOOP_INSTRUCTIONS: &str = include_str!("texts/prompt_loop.md");
const SKILL: &str = include_str!("texts/skill.md");
const MEMORY: &str = include_str!("texts/memory.md");

/// A gate that fails since an earlier attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenGate {
    pub command: String,
    /// Such as `attempt 2 at t-1a2b3c`.
    pub since: String,
}

/// The input of a prompt.
#[derive(Debug, Clone, Copy)]
pub struct PromptRequest<'a> {
    pub task: &'a Task,
    pub parent: Option<&'a Task>,
    /// Completed dependencies.
    pub prerequisites: &'a [Task],
    /// The texts of its feature.
    pub feature: Option<&'a FeatureTexts>,
    pub attempt: AttemptNumber,
    /// Why the last attempt was not done.
    pub last_reason: Option<&'a str>,
    /// The gates that failed before the first iteration.
    pub red_gates: &'a [String],
    /// The gates broken by earlier attempts in the same folder.
    pub broken_gates: &'a [BrokenGate],
    /// Whether the task has a checkout of its own.
    pub in_checkout: bool,
    pub gates: &'a [String],
    pub scratchpad: &'a str,
    /// The last journal entries of this run, oldest first.
    pub recent: &'a [JournalRow],
    /// The last failed attempts at the task, oldest first.
    pub attempts: &'a [Attempt],
    /// Failed attempts before those, since the task was last done.
    pub earlier_attempts: u32,
    /// The newest attempt's suggestion.
    pub suggestion: Option<&'a Suggestion>,
    /// Learnings, most relevant first, followed by irrelevant ones.
    pub learnings: &'a [RelevantLearning],
    /// Learnings of earlier runs, by kind, most relevant first.
    pub known: &'a [RunLearning],
    /// Pairs that are known not to conflict, each with the lower id first.
    pub settled: &'a [(LearningId, LearningId)],
    pub track_record: TrackRecord,
    /// The current iteration; `None` outside of a run.
    pub iteration_info: Option<IterationInfo<'a>>,
    /// Relevant journal entries of other runs, best first.
    pub related: &'a [(JournalRow, f64)],
    /// The files changed by the latest iteration, used to find knowledge entries.
    pub recent_files: &'a [String],
    pub config: &'a Config,
    /// For filters by age.
    pub today: Date,
    /// How much of the memory is included.
    pub share: MemoryShare,
    pub origins: &'a Origins,
}

/// The number of a counted attempt. Its display includes the overall number if that differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttemptNumber {
    pub number: u32,
    /// The maximum number.
    pub of: u32,
    pub counted: Counted,
}

/// Which attempts count, with the overall number of this attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    All,
    /// Those since the last reset.
    SinceReset(u32),
    /// Those that were not interrupted.
    Finished(u32),
}

impl AttemptNumber {
    /// An attempt at a task whose attempts all count.
    #[must_use]
    pub const fn of_all(number: u32, of: u32) -> Self {
        let counted = Counted::All;
        Self { number, of, counted }
    }
}

impl fmt::Display for AttemptNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, of, counted } = self;
        match counted {
            Counted::All => write!(f, "{number} of {of}"),
            Counted::SinceReset(overall) => write!(f, "{overall} ({number} of {of} since it was reset)"),
            Counted::Finished(overall) => write!(f, "{overall} ({number} of {of} that count)"),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IterationInfo<'a> {
    /// Counted from 1.
    pub iteration: u32,
    /// The limit; `None` if there is none.
    pub of: Option<u32>,
    /// The chosen model; `None` if the agent chooses.
    pub model: Option<&'a str>,
    pub rationale: &'a str,
}

/// How much of the memory a prompt contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryShare {
    /// As the budgets allow.
    Whole,
    /// Half of the budgets, because the whole was too long for the model.
    Half,
    /// None, to measure the effect of memory.
    None,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Prompt {
    pub text: String,
    /// In order.
    pub parts: Vec<Part>,
    /// The size of the text that is the same in every prompt.
    pub fixed: Tokens,
    /// All considered entries.
    pub injections: Vec<Injection>,
}

/// A section of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    pub heading: String,
    pub tokens: Tokens,
}

/// Composes the prompt of an iteration.
///
/// # Errors
/// If the index cannot be read.
pub fn compose(index: &SearchIndex, request: &PromptRequest<'_>) -> Result<Prompt, IndexError> {
    let mut room = SectionBudgets::of(request.config.context.budget, request.share);
    let about = about(request.task);
    let mut seen = SeenTexts::default();
    let mut claims = Claims::new(request.settled);
    let PreviousAttempts {
        section: attempts,
        shown_output,
        covered,
    } = attempts::section(request, &mut room);
    let status = status::section(request, &mut room);
    let guardrails = notes::guardrails(index, request, &about, &mut room, &mut seen)?;
    let reserved = scratchpad::reserve(request, &mut room);
    let memories = notes::memories(index, request, &about, &mut room, &mut seen)?;
    let learnings = learnings::section(request, &mut room, &mut seen, &mut claims);
    let knowledge = knowledge::section(index, request, &mut room, &mut seen)?;
    let journal = journal::section(request, &mut room, &covered);
    let known = knowledge_base::section(request, &mut room, &seen, claims);
    let scratchpad = scratchpad::section(request, &mut room, reserved);
    let is_held_out = request.share == MemoryShare::None;
    let held = |section: Section| if is_held_out { section.held_out() } else { section };
    Ok(joined(vec![
        held(memories),
        skill(request.config),
        instructions(request.task.kind),
        held(guardrails),
        held(scratchpad),
        task::assigned(request),
        held(attempts),
        held(learnings),
        status,
        held(status::stuck(request)),
        feature::specification(request),
        feature::plan(request),
        task::retry(request, shown_output.filter(|_| !is_held_out)),
        held(journal),
        held(knowledge),
        held(known),
        Section::fixed("Memory", MEMORY),
    ]))
}

/// The query text for notes and journal entries relevant to a task.
#[must_use]
pub fn about(task: &Task) -> String {
    format!("{}\n{}", task.title, task.description)
}

fn skill(config: &Config) -> Section {
    let memories = &config.memories;
    let is_enabled = memories.enabled && memories.skill_injection && memories.inject != Inject::None;
    Section::fixed("Using Memories", if is_enabled { SKILL } else { "" })
}

fn instructions(kind: TaskKind) -> Section {
    let text = match kind {
        TaskKind::Once => TASK_INSTRUCTIONS,
        TaskKind::PromptLoop => PROMPT_LOOP_INSTRUCTIONS,
    };
    Section::fixed("Instructions", text)
}

fn joined(sections: Vec<Section>) -> Prompt {
    let mut texts = Vec::new();
    let mut parts = Vec::new();
    let mut fixed = 0;
    let mut injections = Vec::new();
    for section in sections {
        injections.extend(section.injections);
        if section.text.is_empty() {
            continue;
        }
        let text = visible(&section.text);
        parts.push(Part {
            heading: section.heading.to_owned(),
            tokens: Tokens::of_characters(text.chars().count()),
        });
        fixed += section.fixed;
        texts.push(text);
    }
    Prompt {
        text: texts.join("\n"),
        parts,
        fixed: Tokens::of_characters(fixed),
        injections,
    }
}
