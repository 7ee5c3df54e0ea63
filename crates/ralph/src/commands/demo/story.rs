//! The output of the demo: the failure, the memory, what it added to a prompt, and the numbers.

use std::cmp::Ordering;

use ralph_model::{Outcome, count, duration, first_line, preview};
use similar::{Algorithm, DiffTag, capture_diff_slices};

use super::run_summary::{Iteration, RunSummary};
use super::sandbox::{MAX_COST_USD, MAX_ITERATIONS};
use crate::error::CommandError;
use crate::table::{self, Column, Fit, Plain};
use crate::ui::{Style, Ui};
use crate::wrap::{wrapped, wrapped_around_commands};

/// Maximum line width on wide terminals.
const MAX_WIDTH: usize = 78;
/// Indentation of quoted lines.
const INDENT: &str = "    ";
/// Maximum number of prompt lines to print.
const MAX_PROMPT_LINES: usize = 3;

pub(super) struct Story<'a> {
    ui: &'a Ui,
    width: usize,
    agent: Option<&'a str>,
}

impl<'a> Story<'a> {
    pub(super) fn new(ui: &'a Ui, agent: Option<&'a str>) -> Self {
        Self {
            ui,
            width: ui.width().min(MAX_WIDTH),
            agent,
        }
    }

    /// Announces the demo and its possible cost.
    pub(super) fn beginning(&self) -> Result<(), CommandError> {
        let Some(agent) = self.agent else {
            return self.say(
                "Five tasks in a small project, done twice by a built-in agent: no key, no network. Each session knows \
                 only what its prompt says.",
            );
        };
        self.say(&format!(
            "Five small tasks, done twice by `{agent}`, with memory and without: at least 10 sessions on your account. ralph \
             does not know what they cost. Each of the two runs stops at {MAX_ITERATIONS} iterations, and at \
             ${MAX_COST_USD}.00 if the agent reports its cost. It works in a temporary folder, with your settings."
        ))
    }

    /// Prints the first failure and the memory that came from it.
    pub(super) fn trap(&self, with: &RunSummary) -> Result<(), CommandError> {
        self.ui.data("\n")?;
        if self.agent.is_none() {
            self.point("The trap", "commands.txt is generated, and no task says so.")?;
        }
        let Some(refused) = with
            .iterations
            .iter()
            .find(|iteration| iteration.outcome != Outcome::Done)
        else {
            return self.point("The failure", "none. Your agent avoided every trap.");
        };
        self.point(
            "The failure",
            &format!(
                "iteration {}, \"{}\", {}:",
                refused.number,
                refused.task,
                ended(refused.outcome)
            ),
        )?;
        self.quote(Style::Error, refusing_line(refused))?;
        let Some(note) = with.notes.first() else {
            return self.point("The memory", "none. Your agent did not store a memory.");
        };
        self.point(
            "The memory",
            &format!("iteration {} fixes it and stores a memory:", refused.number + 1),
        )?;
        self.quote(
            Style::Added,
            &format!("$ ralph remember \"{}\"", preview(&note.text, 120)),
        )
    }

    /// Prints what memory added to a prompt.
    pub(super) fn prompts(&self, with: &RunSummary, without: &RunSummary) -> Result<(), CommandError> {
        let later = with.iterations.iter().find(|iteration| iteration.notes > 0);
        let Some((later, other)) = later.and_then(|later| Some((later, without.first_attempt(&later.task)?))) else {
            return Ok(());
        };
        let added = added_lines(&other.prompt, &later.prompt);
        self.point("The prompt", &format!("\"{}\" begins with this memory:", later.task))?;
        let notes = added
            .iter()
            .filter(|line| line.starts_with("### mem-") || line.starts_with("> "));
        let shown: Vec<&String> = notes.take(MAX_PROMPT_LINES).collect();
        for line in &shown {
            self.quote(Style::Added, &format!("+ {line}"))?;
        }
        let rest = added.len().saturating_sub(shown.len());
        self.quote(
            Style::Faint,
            &format!("+ {rest} more lines: headings, and the journal of earlier iterations"),
        )
    }

    /// Prints the numbers of both runs side by side.
    pub(super) fn numbers(&self, with: &RunSummary, without: &RunSummary) -> Result<(), CommandError> {
        let row =
            |title: &str, figure: &dyn Fn(&RunSummary) -> String| vec![title.to_owned(), figure(with), figure(without)];
        let mut rows = vec![
            row("Iterations", &|summary| summary.iterations.len().to_string()),
            row("Failed attempts", &|summary| summary.failures().to_string()),
            row("Time", &|summary| duration(summary.time)),
        ];
        if self.agent.is_some() {
            rows.insert(0, row("Tasks done", &|summary| summary.done().to_string()));
            rows.push(row("Cost", &|summary| match summary.cost_usd() {
                cost if cost > 0.0 => format!("${cost:.2}"),
                _ => "not reported".to_owned(),
            }));
        }
        self.ui.data("\n")?;
        self.table(["", "WITH MEMORY", "WITHOUT"], &rows)
    }

    /// Prints the verdict and the next step.
    pub(super) fn end(&self, with: &RunSummary, without: &RunSummary) -> Result<(), CommandError> {
        let verdict = verdict(with, without);
        self.ui.data("\n")?;
        self.say(&format!(
            "{verdict} Next: {}.",
            match self.agent {
                Some(_) => "`ralph init` in your project",
                None => "`ralph init`, or `ralph demo --agent claude`",
            }
        ))
    }

    /// Prints a paragraph with its name in bold.
    fn point(&self, name: &str, text: &str) -> Result<(), CommandError> {
        let text = format!("{name}: {text}");
        let lines = wrapped(&text, self.width);
        for line in lines {
            let line = match line.strip_prefix(name) {
                Some(rest) => format!("{}{rest}", self.ui.paint(Style::Strong, name)),
                None => line,
            };
            self.ui.data(&format!("{line}\n"))?;
        }
        Ok(())
    }

    fn say(&self, text: &str) -> Result<(), CommandError> {
        let lines = wrapped_around_commands(text, self.width);
        let lines: Vec<_> = lines.into_iter().map(|line| (None, line)).collect();
        self.ui.lines(&lines)
    }

    fn quote(&self, style: Style, text: &str) -> Result<(), CommandError> {
        let lines = wrapped(text, self.width.saturating_sub(INDENT.len()));
        let lines = lines.into_iter().map(|line| (Some(style), format!("{INDENT}{line}")));
        self.ui.lines(&lines.collect::<Vec<_>>())
    }

    fn table(&self, titles: [&'static str; 3], rows: &[Vec<String>]) -> Result<(), CommandError> {
        let columns = titles.map(|title| Column { title, fit: Fit::Whole });
        let lines = table::lines(&columns, rows, Some(self.width), &Plain);
        let mut styles = std::iter::once(Some(Style::Faint)).chain(std::iter::repeat(None));
        let lines: Vec<_> = lines.into_iter().map(|line| (styles.next().flatten(), line)).collect();
        self.ui.lines(&lines)
    }
}

fn verdict(with: &RunSummary, without: &RunSummary) -> String {
    let (done, done_without) = (with.done(), without.done());
    if done != done_without {
        let done = count(done, "task was done", "tasks were done");
        return format!("With memory {done}, without it {done_without}.");
    }
    let (with, without) = (with.iterations.len(), without.iterations.len());
    let difference = count(with.abs_diff(without), "iteration", "iterations");
    match with.cmp(&without) {
        _ if done == 0 => "No task was done, so this says nothing about memory.".to_owned(),
        Ordering::Less => format!("Memory saved {difference}."),
        Ordering::Equal => "Memory made no difference here.".to_owned(),
        Ordering::Greater => format!("With memory it took {difference} more."),
    }
}

fn ended(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Retried => "fails the gate",
        _ => "fails",
    }
}

/// Nonblank lines of `with` that `without` does not have.
fn added_lines(without: &str, with: &str) -> Vec<String> {
    let (without, with): (Vec<&str>, Vec<&str>) = (without.lines().collect(), with.lines().collect());
    let steps = capture_diff_slices(Algorithm::Myers, &without, &with);
    let added = steps.iter().filter(|step| step.tag() != DiffTag::Equal);
    let lines = added.flat_map(|step| with.get(step.new_range()).unwrap_or_default());
    lines
        .filter(|line| !line.is_empty())
        .map(|line| (*line).to_owned())
        .collect()
}

/// The line of the gate output that names the problem.
fn refusing_line(iteration: &Iteration) -> &str {
    let mut lines = iteration.reason.lines();
    lines
        .find(|line| line.starts_with("FAIL"))
        .unwrap_or_else(|| first_line(&iteration.reason))
}
