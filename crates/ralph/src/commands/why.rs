//! `ralph why`: what stood in the prompt of an iteration and why, what did not and why, and the proof.

use clap::Args;
use ralph_memory::inject::prompt::stands_in;
use ralph_model::{InjectionReason, JournalRow, count};
use ralph_notes::read_file;
use ralph_store::RecordedInjection;
use serde_json::{Value, json};

use super::journal::WhichIteration;
use crate::context::Context;
use crate::error::CommandError;
use crate::table::{Column, Fit};

/// Tell what stood in the prompt of an iteration and why, and what was left out and why
///
/// What is said to have stood there is looked for in the prompt that was kept: `yes` means that the very text is in it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph why                       # the last iteration
  ralph why 12                    # by its number in the journal
  ralph why run-1a2b3c4d/3 --json")]
pub(crate) struct WhyArgs {
    #[command(flatten)]
    which: WhichIteration,
    /// Write it as JSON
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
    let prompt = read_file(&path)?.map(|file| String::from_utf8_lossy(&file.bytes).into_owned());
    let entries: Vec<Entry> = recorded
        .into_iter()
        .map(|recorded| Entry::of(recorded, prompt.as_deref()))
        .collect();
    let shown_path = context.project.shown(&path).to_string();
    if args.json {
        let entries: Vec<Value> = entries.iter().map(Entry::json).collect();
        return context.ui.json(&json!({
            "iteration": row,
            "prompt": prompt.is_some().then_some(shown_path),
            "entries": entries,
        }));
    }
    print(context, &row, &entries, &shown_path)
}

/// An entry that was considered for a prompt.
struct Entry {
    recorded: RecordedInjection,
    proof: Option<Proof>,
}

/// Whether an entry that is said to have stood in a prompt is in it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Proof {
    Found,
    NotFound,
    PromptGone,
}

impl Entry {
    fn of(recorded: RecordedInjection, prompt: Option<&str>) -> Self {
        let is_shown = recorded.injection.reason == InjectionReason::Shown;
        let proof = is_shown.then(|| match prompt {
            None => Proof::PromptGone,
            Some(prompt) if stands_in(prompt, &recorded.injection) => Proof::Found,
            Some(_) => Proof::NotFound,
        });
        Self { recorded, proof }
    }

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
            injection.rank.to_string(),
            injection.tokens.to_string(),
            injection.score.map(|score| format!("{score:.2}")).unwrap_or_default(),
            match self.proof {
                Some(Proof::Found) => "yes",
                Some(Proof::NotFound) => "no",
                Some(Proof::PromptGone) => "file gone",
                None => "",
            }
            .to_owned(),
            self.why().to_owned(),
        ]
    }

    fn why(&self) -> &'static str {
        let injection = &self.recorded.injection;
        match (injection.reason, injection.score) {
            (InjectionReason::Shown, _) if self.recorded.used => "shown; the agent relied on it",
            (InjectionReason::Shown, Some(_)) => "shown: it fits the task",
            (InjectionReason::Shown, None) => "shown",
            (InjectionReason::OverBudget, _) => "left out: no room was left",
            (InjectionReason::Duplicate, _) => "left out: another entry says the same",
            (InjectionReason::Superseded, _) => "left out: another one has taken its place",
            (InjectionReason::Irrelevant, _) => "left out: it has nothing to do with the task",
            (InjectionReason::HeldOut, _) => "left out on purpose, to compare",
        }
    }
}

const COLUMNS: [Column; 7] = [
    Column {
        title: "SECTION",
        fit: Fit::Whole,
    },
    Column {
        title: "ENTRY",
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
        title: "IN PROMPT",
        fit: Fit::Whole,
    },
    Column {
        title: "WHY",
        fit: Fit::Cut,
    },
];

fn print(context: &Context<'_>, row: &JournalRow, entries: &[Entry], path: &str) -> Result<(), CommandError> {
    let JournalRow { row, .. } = row;
    let task = row.task.as_ref().map(|task| format!("{task} ")).unwrap_or_default();
    context.ui.status(&format!(
        "Iteration {} of {} [{}]: {task}{}",
        row.iteration, row.run, row.outcome, row.task_title
    ));
    if entries.is_empty() {
        return context
            .ui
            .data("Nothing of the memory was considered for its prompt.\n");
    }
    let mut last = "";
    let mut cells = Vec::new();
    for entry in entries {
        let section = entry.recorded.injection.section.as_str();
        cells.push(entry.cells(if section == last { "" } else { section }));
        last = section;
    }
    context.ui.table(&COLUMNS, &cells, &closing(entries, path))
}

fn closing(entries: &[Entry], path: &str) -> String {
    let with = |proof| entries.iter().filter(|entry| entry.proof == Some(proof)).count();
    let shown = entries.iter().filter(|entry| entry.proof.is_some()).count();
    let stood = count(shown, "entry stood", "entries stood");
    let left_out = count(entries.len() - shown, "was", "were");
    if shown == 0 {
        return format!("{stood} in the prompt, {left_out} left out.");
    }
    let proof = match (with(Proof::PromptGone), with(Proof::NotFound)) {
        (0, 0) => format!("{path} holds what stood there"),
        (0, missing) => format!("{path} does not hold {missing} of them"),
        (_, _) => format!("{path} is gone, or of another worktree"),
    };
    format!("{stood} in the prompt, {left_out} left out; {proof}.")
}
