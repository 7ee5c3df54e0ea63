//! The prompt of an iteration: typed sections in a fixed order, whole entries, each section and all of them together within
//! their budgets.
//!
//! Sections are filled in another order than they are read in: what matters most takes its room first. Each tells which
//! entries it considered, so that what an agent knew can be looked up and proved later.

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
mod room;
mod scratchpad;
mod section;
mod signs;
mod status;
mod task;
mod verify;

use std::fmt;

use jiff::civil::Date;
use ralph_model::config::{Config, Inject};
use ralph_model::{Attempt, Course, Injection, JournalRow, LearningId, Suggestion, Task, TaskKind, Tokens};
use ralph_store::index::IndexError;

pub use feature::feature_cut_to;
pub use knowledge_base::{KNOWLEDGE_BASE, KnowledgeSummary, knowledge_summary, lesson_item};
pub use learnings::MOST_LEARNINGS;
pub(super) use markdown::{quote, without_controls};
pub use materials::{Circumstances, Materials};
pub use proof::{entry_in, stands_in};
pub use section::MOST_LEFT_OUT;
pub use verify::{Finished, GateWord, verification_prompt};

use super::claims::Claims;
use super::feature_texts::FeatureTexts;
use super::origin::Origins;
use super::said::Said;
use crate::catalogue::Catalogue;
use crate::recall::{KnownLesson, RelevantLearning};

use attempts::PreviousAttempts;
use room::Room;
use section::{Section, visible};

/// How many of the last rows of its run a prompt may hold.
pub const RECENT_ROWS: u32 = 5;
/// How many rows of other runs a prompt may hold.
pub const RELATED_ROWS: usize = 5;

/// The line that every section of memory opens with.
pub(super) const OPENING: &str = include_str!("texts/opening.md");
const TASK_INSTRUCTIONS: &str = include_str!("texts/task.md");
const PROMPT_LOOP_INSTRUCTIONS: &str = include_str!("texts/prompt_loop.md");
const SKILL: &str = include_str!("texts/skill.md");
const MEMORY: &str = include_str!("texts/memory.md");

/// A gate that has failed since an earlier attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenGate {
    /// The command.
    pub command: String,
    /// Since when: `attempt 2 at t-1a2b3c`.
    pub since: String,
}

/// What a prompt is made for, and from.
#[derive(Debug, Clone, Copy)]
pub struct PromptRequest<'a> {
    /// The task.
    pub task: &'a Task,
    /// The task that it is a part of.
    pub parent: Option<&'a Task>,
    /// The tasks that had to be done before it, and are.
    pub prerequisites: &'a [Task],
    /// What is written about the feature that it belongs to.
    pub feature: Option<&'a FeatureTexts>,
    /// Which attempt it is.
    pub attempt: AttemptNumber,
    /// Why the last attempt did not count as done.
    pub last_reason: Option<&'a str>,
    /// The gates that were red before the first iteration.
    pub red_gates: &'a [String],
    /// The gates that an earlier attempt in the same folder has broken.
    pub broken_gates: &'a [BrokenGate],
    /// Whether the work is done in a checkout of its own.
    pub in_checkout: bool,
    /// All gates.
    pub gates: &'a [String],
    /// The working notes.
    pub scratchpad: &'a str,
    /// The last rows of this run, oldest first.
    pub recent: &'a [JournalRow],
    /// The last attempts at the task that failed, oldest first.
    pub attempts: &'a [Attempt],
    /// How many failed before them, since it was last done.
    pub earlier_attempts: u32,
    /// What the newest attempt suggests for this one.
    pub suggestion: Option<&'a Suggestion>,
    /// Lessons that fit the task, best first, and behind them some that do not.
    pub learnings: &'a [RelevantLearning],
    /// What earlier runs taught about such work, by its kinds, of each the most relevant first.
    pub known: &'a [KnownLesson],
    /// Pairs of lessons that seem to contradict each other, and both hold, each with the lower id first.
    pub settled: &'a [(LearningId, LearningId)],
    /// How it goes.
    pub course: Course,
    /// Which iteration it is, and what was chosen for it; none where no run is under way.
    pub round: Option<Round<'a>>,
    /// Rows of other runs that fit the task, best first.
    pub related: &'a [(JournalRow, f64)],
    /// The files that the last iteration of all changed, by which long notes are found.
    pub recent_files: &'a [String],
    /// The configuration.
    pub config: &'a Config,
    /// The day, by which the configuration may hold back old memories.
    pub today: Date,
    /// How much of the memory stands in it.
    pub share: MemoryShare,
    /// Who wrote which notes.
    pub origins: &'a Origins,
}

/// Which attempt at a task it is, of those that count. In words it also says which one it is of all, where that is another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttemptNumber {
    /// From 1.
    pub number: u32,
    /// How many there may be.
    pub of: u32,
    /// How it is counted.
    pub counted: Counted,
}

/// How attempts are counted, and which one it is of all that there were.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// Every one.
    All,
    /// Those since the task was reset.
    SinceReset(u32),
    /// Not those that were interrupted.
    Finished(u32),
}

impl AttemptNumber {
    /// An attempt at a task of which every attempt counts.
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

/// An iteration of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Round<'a> {
    /// Which one, from 1.
    pub iteration: u32,
    /// How many there may be; none where there is no limit.
    pub of: Option<u32>,
    /// The model that was chosen for it; none where the agent takes its own.
    pub model: Option<&'a str>,
    /// Why that model.
    pub rationale: &'a str,
}

/// How much of the memory stands in a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryShare {
    /// As much as the budgets allow.
    Whole,
    /// Half of that: the whole was too long for the model.
    Half,
    /// None, to see what difference it makes.
    None,
}

/// A prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct Prompt {
    /// All of it.
    pub text: String,
    /// Its sections in their order.
    pub parts: Vec<Part>,
    /// How much of it is the same in every prompt.
    pub fixed: Tokens,
    /// Every entry that was considered.
    pub injections: Vec<Injection>,
}

/// A section of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Its heading.
    pub heading: String,
    /// How much it takes.
    pub tokens: Tokens,
}

/// Makes the prompt of an iteration.
///
/// # Errors
/// When the index cannot be read.
pub fn compose(catalogue: &Catalogue, request: &PromptRequest<'_>) -> Result<Prompt, IndexError> {
    let mut room = Room::of(request.config.context.budget, request.share);
    let about = about(request.task);
    let mut said = Said::default();
    let mut claims = Claims::none(request.settled);
    let PreviousAttempts {
        section: attempts,
        output_above,
        told,
    } = attempts::section(request, &mut room);
    let status = status::section(request, &mut room);
    let guardrails = notes::guardrails(catalogue, request, &about, &mut room, &mut said)?;
    let reserved = scratchpad::reserve(request, &mut room);
    let memories = notes::memories(catalogue, request, &about, &mut room, &mut said)?;
    let learnings = learnings::section(request, &mut room, &mut said, &mut claims);
    let knowledge = knowledge::section(catalogue, request, &mut room, &mut said)?;
    let journal = journal::section(request, &mut room, &told);
    let known = knowledge_base::section(request, &mut room, &said, claims);
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
        task::retry(request, output_above.filter(|_| !is_held_out)),
        held(journal),
        held(knowledge),
        held(known),
        Section::fixed("Memory", MEMORY),
    ]))
}

/// The text by which notes and rows of the journal are found that fit a task.
#[must_use]
pub fn about(task: &Task) -> String {
    format!("{}\n{}", task.title, task.description)
}

fn skill(config: &Config) -> Section {
    let memories = &config.memories;
    let stands = memories.enabled && memories.skill_injection && memories.inject != Inject::None;
    Section::fixed("Using Memories", if stands { SKILL } else { "" })
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
