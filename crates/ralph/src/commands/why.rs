//! `ralph why`: explains what was in the prompt of an iteration and what was left out, and checks it against the saved
//! prompt.

mod budget;
mod conflicts;
mod texts;

use clap::Args;
use ralph_memory::inject::prompt::{KNOWLEDGE_BASE, MAX_LEARNINGS, MAX_LEFT_OUT, is_in_prompt};
use ralph_model::config::Config;
use ralph_model::{EntryKind, Injection, InjectionReason, JournalRow, count, preview};
use ralph_store::RecordedInjection;
use serde_json::{Value, json};

use super::journal::WhichIteration;
use crate::context::Context;
use crate::error::CommandError;
use crate::recorded_prompt::{RecordedPrompt, read_prompt};
use crate::table::{self, Column};
use crate::ui::{Line, Style};
use budget::{had_budget, over_budget};
use conflicts::Conflicts;
use texts::Texts;

/// Explain what was in an iteration's prompt, and why
///
/// Each recorded entry is looked up in the saved prompt: `yes` means that its exact text is there. Entries that were
/// left out are summarized.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph why                       # the last iteration
  ralph why 12                    # an iteration by its journal number
  ralph why --all                 # also list entries that were left out
  ralph why run-1a2b3c4d/3 --json")]
pub(crate) struct WhyArgs {
    #[command(flatten)]
    which: WhichIteration,
    /// List each entry that was left out
    #[arg(long)]
    all: bool,
    /// Print JSON, including entries that were left out
    #[arg(long)]
    json: bool,
}

pub(crate) fn cmd_why(context: &Context<'_>, args: &WhyArgs) -> Result<(), CommandError> {
    let store = context.facts()?;
    let row = args.which.find(store.as_ref())?;
    let recorded = match &store {
        Some(store) => store.injections(row.id)?,
        None => Vec::new(),
    };
    let path = context
        .project
        .iteration_folder(&row.row.run, row.row.iteration)
        .prompt();
    let prompt_bytes = read_prompt(&path);
    let prompt = prompt_bytes
        .as_deref()
        .map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    let texts = Texts::read(context, store.as_ref(), prompt.as_deref())?;
    let conflicts = Conflicts::read(store.as_ref(), &recorded)?;
    let reasons = reasons(&context.config, &recorded, &conflicts);
    let mut entries = Vec::new();
    for (recorded, why) in recorded.into_iter().zip(reasons) {
        entries.push(Entry {
            what: texts.first_line(&recorded.injection)?,
            why,
            proof: Proof::of(&recorded, prompt.as_deref()),
            recorded,
        });
    }
    let shown_path = context.project.shown(&path).to_string();
    let kept = RecordedPrompt::of(&row, prompt_bytes.as_deref());
    if args.json {
        let entries: Vec<Value> = entries.iter().map(Entry::json).collect();
        return context.ui.json(&json!({
            "iteration": row,
            "prompt": prompt.is_some().then_some(shown_path),
            "prompt_state": kept.word(),
            "entries": entries,
        }));
    }
    let left_out = if args.all { LeftOut::Listed } else { LeftOut::Summarized };
    print(context, &row, (&entries, left_out), (&shown_path, kept))
}

/// How entries that were left out are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LeftOut {
    Listed,
    Summarized,
}

struct Entry {
    recorded: RecordedInjection,
    /// The first line of its text.
    what: String,
    /// Why it was in the prompt or left out.
    why: String,
    /// None if it was left out.
    proof: Option<Proof>,
}

/// Whether an entry that was recorded as injected is in the saved prompt.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Proof {
    Found,
    NotFound,
    PromptMissing,
}

impl Proof {
    fn of(recorded: &RecordedInjection, prompt: Option<&str>) -> Option<Self> {
        let is_shown = recorded.injection.reason == InjectionReason::Shown;
        is_shown.then(|| match prompt {
            None => Self::PromptMissing,
            Some(prompt) if is_in_prompt(prompt, &recorded.injection) => Self::Found,
            Some(_) => Self::NotFound,
        })
    }
}

/// Why each entry was in the prompt or left out.
fn reasons(config: &Config, recorded: &[RecordedInjection], conflicts: &Conflicts) -> Vec<String> {
    let all: Vec<&Injection> = recorded.iter().map(|recorded| &recorded.injection).collect();
    let is_over = |section: &str| {
        let mut here = all.iter().filter(|injection| injection.section == section);
        here.any(|injection| injection.reason == InjectionReason::OverBudget)
    };
    let is_of_iterations =
        |injection: &Injection| injection.kind == EntryKind::Learning && injection.section != KNOWLEDGE_BASE;
    let learnings = all.iter().filter(|injection| is_of_iterations(injection));
    let learnings_shown = learnings.filter(|injection| injection.reason == InjectionReason::Shown);
    let places: Vec<u32> = learnings_shown.map(|injection| injection.rank).collect();
    // The last place taken; entries before it that got no place were too long.
    let last_place = places.iter().max().filter(|_| places.len() >= MAX_LEARNINGS);
    let reason = |recorded: &RecordedInjection| {
        let injection = &recorded.injection;
        let reason = match injection.reason {
            InjectionReason::Shown => match (injection.kind, injection.score) {
                (EntryKind::Scratchpad, _) => "working notes",
                (EntryKind::Feature, _) if is_over(&injection.section) => "the task's feature (cut)",
                (EntryKind::Feature, _) => "the task's feature",
                (EntryKind::Report, _) => "an earlier failed attempt",
                (EntryKind::Journal, None) => "recent in this run",
                (EntryKind::Journal | EntryKind::Knowledge | EntryKind::Learning, Some(_)) => "matches the task",
                (EntryKind::Knowledge, None) => "linked from a matching entry",
                (EntryKind::Learning, None) => "learned from this task",
                (_, _) if !is_over(&injection.section) => "all fit",
                (_, Some(_)) => "matches the task",
                (_, None) => "within budget",
            },
            InjectionReason::OverBudget
                if had_budget(config, &all, injection)
                    || is_of_iterations(injection) && last_place.is_some_and(|last| injection.rank > *last) =>
            {
                "others match the task better"
            }
            // No setting controls the budget of features.
            InjectionReason::OverBudget if injection.kind == EntryKind::Feature => "the text is too long for a prompt",
            InjectionReason::OverBudget => return over_budget(config, &all, &injection.section),
            InjectionReason::Duplicate if injection.kind == EntryKind::Learning => {
                return conflicts.why(&injection.id);
            }
            InjectionReason::Duplicate => "duplicate of another entry",
            InjectionReason::Superseded => "superseded",
            // A learning that matches the task but was followed by too many failures.
            InjectionReason::Irrelevant if injection.kind == EntryKind::Learning && injection.score.is_some() => {
                "too many failures with it"
            }
            InjectionReason::Irrelevant => "not relevant to the task",
            InjectionReason::HeldOut => "held out for comparison",
        };
        let relied = if recorded.used { "; relied on" } else { "" };
        format!("{reason}{relied}")
    };
    recorded.iter().map(reason).collect()
}

impl Entry {
    fn json(&self) -> Value {
        let injection = &self.recorded.injection;
        json!({
            "section": injection.section,
            "kind": injection.kind,
            "id": injection.id,
            "rank": injection.rank,
            "tokens": injection.tokens,
            "score": injection.score,
            "reason": injection.reason,
            "why": self.why,
            "what": self.what,
            "used": self.recorded.used,
            "in_prompt": match self.proof {
                Some(Proof::Found) => json!(true),
                Some(Proof::NotFound) => json!(false),
                Some(Proof::PromptMissing) | None => Value::Null,
            },
        })
    }

    fn cells(&self, section: &str) -> Vec<String> {
        let injection = &self.recorded.injection;
        vec![
            section.to_owned(),
            injection.id.clone(),
            match self.proof {
                Some(Proof::Found) => "yes",
                Some(Proof::NotFound) => "no",
                Some(Proof::PromptMissing) => "file missing",
                None => "left out",
            }
            .to_owned(),
            self.why.clone(),
            injection.rank.to_string(),
            injection.tokens.to_string(),
            injection.score.map(|score| format!("{score:.2}")).unwrap_or_default(),
            self.what.clone(),
        ]
    }
}

const COLUMNS: [Column; 8] = [
    Column::optional("SECTION"),
    Column::whole("ENTRY"),
    Column::whole("IN PROMPT"),
    Column::whole("WHY"),
    Column::optional("RANK"),
    Column::optional("TOKENS"),
    Column::optional("SCORE"),
    Column::cut("WHAT"),
];

fn print(
    context: &Context<'_>,
    row: &JournalRow,
    (entries, left_out): (&[Entry], LeftOut),
    (path, kept): (&str, RecordedPrompt),
) -> Result<(), CommandError> {
    let warning = kept.warning(row);
    let JournalRow { row, .. } = row;
    let task = row.task.as_ref().map(|task| format!("{task} ")).unwrap_or_default();
    let heading = format!(
        "Iteration {} of {} [{}, evidence: {}]: {task}{}",
        row.iteration, row.run, row.outcome, row.evidence, row.task_title
    );
    let mut head = vec![(None, heading)];
    head.extend(warning.map(|warning| (Some(Style::Strong), warning)));
    head.push((None, String::new()));
    context.ui.lines(&head)?;
    if entries.is_empty() {
        return context.ui.data("No memory was considered for this prompt.\n");
    }
    let is_listed = |entry: &&Entry| entry.proof.is_some() || left_out == LeftOut::Listed;
    let listed: Vec<&Entry> = entries.iter().filter(is_listed).collect();
    let closing = closing(entries, left_out, path);
    if listed.is_empty() {
        return context.ui.data(&format!("{closing}\n"));
    }
    let mut last = "";
    let mut cells = Vec::new();
    for entry in &listed {
        let section = entry.recorded.injection.section.as_str();
        cells.push(entry.cells(if section == last { "" } else { section }));
        last = section;
    }
    let width = context.ui.width();
    if table::fits(&COLUMNS, &cells, width) {
        return context.ui.table(&COLUMNS, &cells, &closing);
    }
    let mut lines = stacked(&listed, width);
    lines.push((None, String::new()));
    lines.extend(closing.lines().map(|line| (None, line.to_owned())));
    context.ui.lines(&lines)
}

/// Entries by section, each with its reason on a second line, for narrow terminals.
fn stacked(entries: &[&Entry], width: usize) -> Vec<Line> {
    let mut last = "";
    let mut lines: Vec<Line> = Vec::new();
    for entry in entries {
        let section = entry.recorded.injection.section.as_str();
        if section != last {
            lines.push((Some(Style::Strong), section.to_owned()));
            last = section;
        }
        let head = format!("  {}  {}", entry.recorded.injection.id, entry.what);
        lines.push((None, preview(head.trim_end(), width)));
        let state = match entry.proof {
            Some(Proof::Found) => "in the prompt",
            Some(Proof::NotFound) => "not in the prompt",
            Some(Proof::PromptMissing) => "file missing",
            None => "left out",
        };
        lines.push((Some(Style::Faint), format!("    {state}: {}", entry.why)));
    }
    lines
}

/// How many entries were in the prompt and left out, and whether the saved prompt confirms it.
fn closing(entries: &[Entry], left_out: LeftOut, path: &str) -> String {
    let with = |proof| entries.iter().filter(|entry| entry.proof == Some(proof)).count();
    let shown = entries.iter().filter(|entry| entry.proof.is_some()).count();
    let injected = count(shown, "entry", "entries");
    let proof = match (shown, with(Proof::PromptMissing), with(Proof::NotFound)) {
        (0, _, _) => String::new(),
        (_, 0, 0) => format!("; confirmed by {path}"),
        (_, 0, missing) => format!("; {missing} not found in {path}"),
        (_, _, _) => format!("; {path} was pruned or belongs to another worktree"),
    };
    let left = entries.len() - shown;
    let sums = sums(entries);
    match left_out {
        LeftOut::Summarized if !sums.is_empty() => {
            format!("{injected} in the prompt{proof}.\n{left} left out (use `--all` to list them):\n{sums}")
        }
        LeftOut::Summarized | LeftOut::Listed => format!("{injected} in the prompt, {left} left out{proof}."),
    }
}

/// How many entries were left out, by section and reason.
fn sums(entries: &[Entry]) -> String {
    let mut sums: Vec<(&str, &str, usize)> = Vec::new();
    for entry in entries.iter().filter(|entry| entry.proof.is_none()) {
        let section = entry.recorded.injection.section.as_str();
        match sums.iter_mut().find(|(of, why, _)| *of == section && *why == entry.why) {
            Some((_, _, n)) => *n += 1,
            None => sums.push((section, &entry.why, 1)),
        }
    }
    let line = |(section, why, n): &(&str, &str, usize)| {
        // No more than this are recorded.
        let or_more = if *n < MAX_LEFT_OUT { "" } else { " or more" };
        format!("  {n}{or_more} of {section}: {why}")
    };
    sums.iter().map(line).collect::<Vec<_>>().join("\n")
}
