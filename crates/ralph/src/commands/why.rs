//! `ralph why`: what stood in the prompt of an iteration and why, what did not and why, and the proof.

mod contrary;
mod room;
mod what;

use clap::Args;
use ralph_memory::inject::prompt::{KNOWLEDGE_BASE, MOST_LEARNINGS, MOST_LEFT_OUT, stands_in};
use ralph_model::config::Config;
use ralph_model::{EntryKind, Injection, InjectionReason, JournalRow, count, preview};
use ralph_store::RecordedInjection;
use serde_json::{Value, json};

use super::journal::WhichIteration;
use crate::context::Context;
use crate::error::CommandError;
use crate::kept_prompt::{KeptPrompt, read_prompt};
use crate::table::{self, Column, Fit};
use crate::ui::{Line, Style};
use contrary::Contraries;
use room::{had_room, no_room};
use what::Texts;

/// Tell what stood in the prompt of an iteration and why, and what was left out and why
///
/// What is said to have stood there is looked for in the prompt that was kept: `yes` means that the very text is in it.
/// What was left out is summed up.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph why                       # the last iteration
  ralph why 12                    # by its number in the journal
  ralph why --all                 # with each entry that was left out
  ralph why run-1a2b3c4d/3 --json")]
pub(crate) struct WhyArgs {
    #[command(flatten)]
    which: WhichIteration,
    /// Show each entry that was left out
    #[arg(long)]
    all: bool,
    /// Write it as JSON, with all that was left out
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
    let contraries = Contraries::read(store.as_ref(), &recorded)?;
    let reasons = reasons(&context.config, &recorded, &contraries);
    let mut entries = Vec::new();
    for (recorded, why) in recorded.into_iter().zip(reasons) {
        entries.push(Entry {
            what: texts.beginning(&recorded.injection)?,
            why,
            proof: Proof::of(&recorded, prompt.as_deref()),
            recorded,
        });
    }
    let shown_path = context.project.shown(&path).to_string();
    let kept = KeptPrompt::of(&row, prompt_bytes.as_deref());
    if args.json {
        let entries: Vec<Value> = entries.iter().map(Entry::json).collect();
        return context.ui.json(&json!({
            "iteration": row,
            "prompt": prompt.is_some().then_some(shown_path),
            "prompt_state": kept.word(),
            "entries": entries,
        }));
    }
    let left_out = if args.all { LeftOut::Listed } else { LeftOut::Summed };
    print(context, &row, (&entries, left_out), (&shown_path, kept))
}

/// What is shown of the entries that were left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LeftOut {
    Listed,
    Summed,
}

/// An entry that was considered for a prompt.
struct Entry {
    recorded: RecordedInjection,
    /// The beginning of what it says.
    what: String,
    /// Why it stood there, or did not.
    why: String,
    /// None where it did not stand there.
    proof: Option<Proof>,
}

/// Whether an entry that is said to have stood in a prompt is in it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Proof {
    Found,
    NotFound,
    PromptGone,
}

impl Proof {
    fn of(recorded: &RecordedInjection, prompt: Option<&str>) -> Option<Self> {
        let is_shown = recorded.injection.reason == InjectionReason::Shown;
        is_shown.then(|| match prompt {
            None => Self::PromptGone,
            Some(prompt) if stands_in(prompt, &recorded.injection) => Self::Found,
            Some(_) => Self::NotFound,
        })
    }
}

/// Why each entry stood in the prompt, or did not, in words.
fn reasons(config: &Config, recorded: &[RecordedInjection], contraries: &Contraries) -> Vec<String> {
    let all: Vec<&Injection> = recorded.iter().map(|recorded| &recorded.injection).collect();
    let is_over = |section: &str| {
        let mut here = all.iter().filter(|injection| injection.section == section);
        here.any(|injection| injection.reason == InjectionReason::OverBudget)
    };
    let is_of_iterations =
        |injection: &Injection| injection.kind == EntryKind::Learning && injection.section != KNOWLEDGE_BASE;
    let lessons = all.iter().filter(|injection| is_of_iterations(injection));
    let lessons_shown = lessons.filter(|injection| injection.reason == InjectionReason::Shown);
    let places: Vec<u32> = lessons_shown.map(|injection| injection.rank).collect();
    // The last place that there is; those before it that did not get one were too long.
    let last_place = places.iter().max().filter(|_| places.len() >= MOST_LEARNINGS);
    let reason = |recorded: &RecordedInjection| {
        let injection = &recorded.injection;
        let reason = match injection.reason {
            InjectionReason::Shown => match (injection.kind, injection.score) {
                (EntryKind::Scratchpad, _) => "the working notes",
                (EntryKind::Feature, _) if is_over(&injection.section) => "the task's feature, cut",
                (EntryKind::Feature, _) => "the task's feature",
                (EntryKind::Report, _) => "how this task failed before",
                (EntryKind::Journal, None) => "recent in this run",
                (EntryKind::Journal | EntryKind::Knowledge | EntryKind::Learning, Some(_)) => "fits the task",
                (EntryKind::Knowledge, None) => "linked with a note that fits",
                (EntryKind::Learning, None) => "learned at this task",
                (_, _) if !is_over(&injection.section) => "all fit",
                (_, Some(_)) => "fits the task",
                (_, None) => "there was room",
            },
            InjectionReason::OverBudget
                if had_room(config, &all, injection)
                    || is_of_iterations(injection) && last_place.is_some_and(|last| injection.rank > *last) =>
            {
                "others fit the task better"
            }
            // Its room is not to be set.
            InjectionReason::OverBudget if injection.kind == EntryKind::Feature => "the text is too long for a prompt",
            InjectionReason::OverBudget => return no_room(config, &all, &injection.section),
            InjectionReason::Duplicate if injection.kind == EntryKind::Learning => {
                return contraries.why(&injection.id);
            }
            InjectionReason::Duplicate => "another entry says the same",
            InjectionReason::Superseded => "another one has taken its place",
            // A lesson that would fit, and is out for what became of those who saw it.
            InjectionReason::Irrelevant if injection.kind == EntryKind::Learning && injection.score.is_some() => {
                "too many failed with it"
            }
            InjectionReason::Irrelevant => "it has nothing to do with the task",
            InjectionReason::HeldOut => "left out on purpose, to compare",
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
                Some(Proof::PromptGone) | None => Value::Null,
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
                Some(Proof::PromptGone) => "file gone",
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
    Column {
        title: "SECTION",
        fit: Fit::Optional,
    },
    Column {
        title: "ENTRY",
        fit: Fit::Whole,
    },
    Column {
        title: "IN PROMPT",
        fit: Fit::Whole,
    },
    Column {
        title: "WHY",
        fit: Fit::Whole,
    },
    Column {
        title: "RANK",
        fit: Fit::Optional,
    },
    Column {
        title: "TOKENS",
        fit: Fit::Optional,
    },
    Column {
        title: "SCORE",
        fit: Fit::Optional,
    },
    Column {
        title: "WHAT",
        fit: Fit::Cut,
    },
];

fn print(
    context: &Context<'_>,
    row: &JournalRow,
    (entries, left_out): (&[Entry], LeftOut),
    (path, kept): (&str, KeptPrompt),
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
        return context
            .ui
            .data("Nothing of the memory was considered for its prompt.\n");
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
    let mut lines = below_one_another(&listed, width);
    lines.push((None, String::new()));
    lines.extend(closing.lines().map(|line| (None, line.to_owned())));
    context.ui.lines(&lines)
}

/// Entries by their sections, each with its reason below what it says, where there is no room for both beside each other.
fn below_one_another(entries: &[&Entry], width: usize) -> Vec<Line> {
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
        let stood = match entry.proof {
            Some(Proof::Found) => "in the prompt",
            Some(Proof::NotFound) => "not in the prompt",
            Some(Proof::PromptGone) => "the file is gone",
            None => "left out",
        };
        lines.push((Some(Style::Faint), format!("    {stood}: {}", entry.why)));
    }
    lines
}

/// How many entries stood in the prompt and whether it holds them, and how many did not.
fn closing(entries: &[Entry], left_out: LeftOut, path: &str) -> String {
    let with = |proof| entries.iter().filter(|entry| entry.proof == Some(proof)).count();
    let shown = entries.iter().filter(|entry| entry.proof.is_some()).count();
    let stood = count(shown, "entry stood", "entries stood");
    let proof = match (shown, with(Proof::PromptGone), with(Proof::NotFound)) {
        (0, _, _) => String::new(),
        (_, 0, 0) => format!("; {path} holds what stood there"),
        (_, 0, missing) => format!("; {path} does not hold {missing} of them"),
        (_, _, _) => format!("; {path} was pruned, or is of another worktree"),
    };
    let left = count(entries.len() - shown, "was", "were");
    let sums = sums(entries);
    match left_out {
        LeftOut::Summed if !sums.is_empty() => {
            format!("{stood} in the prompt{proof}.\n{left} left out (`--all` lists them):\n{sums}")
        }
        LeftOut::Summed | LeftOut::Listed => format!("{stood} in the prompt, {left} left out{proof}."),
    }
}

/// How many entries of which section were left out, by the reasons.
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
        // No more are on record.
        let or_more = if *n < MOST_LEFT_OUT { "" } else { " or more" };
        format!("  {n}{or_more} of {section}: {why}")
    };
    sums.iter().map(line).collect::<Vec<_>>().join("\n")
}
