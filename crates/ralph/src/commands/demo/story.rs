//! What the demo tells: what the project is, how the agent stepped into a trap, what it kept, who read it later, and what
//! difference that made.

use ralph_model::{Outcome, count, duration, first_line};

use super::facts::{Iteration, Performance};
use crate::error::CommandError;
use crate::table::{self, Column, Fit, Plain};
use crate::ui::{Style, Ui};
use crate::wrap::wrapped;

/// The widest that a line is, where there is more room.
const WIDEST: usize = 78;
/// How far quoted lines stand in.
const INDENT: &str = "    ";

/// Tells it.
pub(super) struct Story<'a> {
    ui: &'a Ui,
    width: usize,
}

impl<'a> Story<'a> {
    pub(super) fn new(ui: &'a Ui) -> Self {
        Self {
            ui,
            width: ui.width().min(WIDEST),
        }
    }

    /// What is about to happen.
    pub(super) fn beginning(&self) -> Result<(), CommandError> {
        self.say(
            "A small project with tests, five tasks, and an agent that is built in: no key, no network. It is a hasty one, \
             which says that it is done and leaves it to ralph to run the tests. Every session begins with nothing but its \
             prompt. `ralph run` has it do all tasks, twice:",
        )?;
        self.ui.data("\n")
    }

    /// A run begins, which takes a moment.
    pub(super) fn goes_on(&self, which: &str) -> Result<(), CommandError> {
        self.ui.data(&format!("{INDENT}{which} … "))
    }

    /// It is over.
    pub(super) fn went(&self, performance: &Performance) -> Result<(), CommandError> {
        let iterations = count(performance.iterations.len(), "iteration", "iterations");
        self.ui.data(&format!("{iterations}, {}\n", duration(performance.time)))
    }

    /// The first failure, and what became of it.
    pub(super) fn trap(&self, with: &Performance) -> Result<(), CommandError> {
        let mut iterations = with
            .iterations
            .iter()
            .skip_while(|iteration| iteration.outcome == Outcome::Done);
        let later = with.iterations.iter().find(|iteration| !iteration.shown.is_empty());
        let (Some(refused), Some(mended), Some(later), Some(note)) =
            (iterations.next(), iterations.next(), later, with.notes.first())
        else {
            return Err(CommandError::new("the demo's agent did not step into its trap"));
        };
        self.title("A trap")?;
        self.say(&format!(
            "Iteration {}, \"{}\": the agent also puts it on the list of commands. The gate refuses that:",
            refused.number, refused.task
        ))?;
        self.quote(Style::Error, refusing_line(refused))?;
        self.say(&format!(
            "Iteration {} has this in its prompt. It finds out why, mends it, and keeps for those after it:",
            mended.number
        ))?;
        self.quote(Style::Added, &format!("$ ralph remember \"{}\"", note.text))?;
        if let Some(journal) = &mended.journal {
            self.quote(Style::Added, &format!("<journal>{journal}</journal>"))?;
        }
        self.say(&format!(
            "Iteration {}, \"{}\", is a new session. Its prompt holds the note, so it does it right at once:",
            later.number, later.task
        ))?;
        self.quote(Style::Match, &format!("### {}", note.id))?;
        self.quote(Style::Match, &format!("> {}", note.text))
    }

    /// Which note stood in which prompt.
    pub(super) fn prompts(&self, with: &Performance) -> Result<(), CommandError> {
        self.title("What stood in whose prompt")?;
        let rows: Vec<Vec<String>> = with
            .iterations
            .iter()
            .map(|iteration| {
                vec![
                    iteration.number.to_string(),
                    iteration.task.clone(),
                    ended(iteration.outcome).to_owned(),
                    notes_in(iteration),
                ]
            })
            .collect();
        self.table(&["", "TASK", "ENDED", "NOTES IN ITS PROMPT"].map(whole), &rows)?;
        self.ui.data("\n")?;
        let notes: Vec<Vec<String>> = with
            .notes
            .iter()
            .enumerate()
            .map(|(place, note)| vec![letter(place).to_string(), note.id.clone(), note.text.clone()])
            .collect();
        self.table(&[("", Fit::Whole), ("NOTE", Fit::Whole), ("TEXT", Fit::Cut)], &notes)
    }

    /// The two runs side by side.
    pub(super) fn difference(&self, with: &Performance, without: &Performance) -> Result<(), CommandError> {
        self.title("The difference")?;
        let row = |title: &str, figure: &dyn Fn(&Performance) -> String| {
            vec![title.to_owned(), figure(with), figure(without)]
        };
        let mut rows: Vec<Vec<String>> = with
            .tasks()
            .into_iter()
            .map(|task| row(task, &|performance| course(performance, task)))
            .collect();
        rows.push(vec![String::new(); 3]);
        rows.push(row("Iterations", &|performance| {
            performance.iterations.len().to_string()
        }));
        rows.push(row("Refused by the gate", &|performance| {
            performance.failures().to_string()
        }));
        rows.push(row("Notes in prompts", &|performance| {
            performance.showings().to_string()
        }));
        rows.push(row("Time", &|performance| duration(performance.time)));
        self.table(&["TASK", "WITH MEMORY", "WITHOUT"].map(whole), &rows)?;
        self.ui.data("\n")?;
        self.say(
            "Without it every task meets its trap anew. The tasks and the agent are the same; all that differs is \
             `ralph run --without-memory`.",
        )
    }

    /// How to do the same elsewhere.
    pub(super) fn end(&self) -> Result<(), CommandError> {
        self.title("In your project, with your agent")?;
        let lines = [
            ("ralph init", "set it up"),
            ("ralph task add \"TITLE\"", "what is to be done"),
            ("ralph run", "work on it until it is done"),
            ("ralph status", "what happened meanwhile"),
            ("ralph why", "what a prompt held, and why"),
        ];
        for (line, about) in lines {
            let about = self.ui.paint(Style::Faint, &format!("# {about}"));
            self.ui.data(&format!("{INDENT}{line:24}{about}\n"))?;
        }
        Ok(())
    }

    fn title(&self, title: &str) -> Result<(), CommandError> {
        self.ui.data(&format!("\n{}\n", self.ui.paint(Style::Strong, title)))
    }

    fn say(&self, text: &str) -> Result<(), CommandError> {
        let lines: Vec<_> = wrapped(text, self.width).into_iter().map(|line| (None, line)).collect();
        self.ui.lines(&lines)
    }

    fn quote(&self, style: Style, text: &str) -> Result<(), CommandError> {
        let lines = wrapped(text, self.width.saturating_sub(INDENT.len()));
        let lines = lines.into_iter().map(|line| (Some(style), format!("{INDENT}{line}")));
        self.ui.lines(&lines.collect::<Vec<_>>())
    }

    fn table(&self, columns: &[(&'static str, Fit)], rows: &[Vec<String>]) -> Result<(), CommandError> {
        let columns: Vec<Column> = columns.iter().map(|&(title, fit)| Column { title, fit }).collect();
        let lines = table::lines(&columns, rows, Some(self.width), &Plain);
        let mut styles = std::iter::once(Some(Style::Faint)).chain(std::iter::repeat(None));
        let lines: Vec<_> = lines.into_iter().map(|line| (styles.next().flatten(), line)).collect();
        self.ui.lines(&lines)
    }
}

fn whole(title: &'static str) -> (&'static str, Fit) {
    (title, Fit::Whole)
}

/// The line of a gate's output that says what is wrong.
fn refusing_line(iteration: &Iteration) -> &str {
    let mut lines = iteration.reason.lines();
    lines
        .find(|line| line.starts_with("FAIL"))
        .unwrap_or_else(|| first_line(&iteration.reason))
}

fn ended(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Retried => "refused",
        other => other.word(),
    }
}

/// How a task went: `refused, done`.
fn course(performance: &Performance, task: &str) -> String {
    let iterations = performance.iterations.iter().filter(|iteration| iteration.task == task);
    let words: Vec<&str> = iterations.map(|iteration| ended(iteration.outcome)).collect();
    words.join(", ")
}

fn notes_in(iteration: &Iteration) -> String {
    let notes: Vec<String> = iteration
        .shown
        .iter()
        .map(|shown| {
            let used = if shown.is_used { " (relied on)" } else { "" };
            format!("{}{used}", letter(shown.note))
        })
        .collect();
    if notes.is_empty() {
        "none".to_owned()
    } else {
        notes.join(", ")
    }
}

/// A short name for a note: A, B, …
fn letter(place: usize) -> char {
    ('A'..='Z').nth(place).unwrap_or('?')
}
