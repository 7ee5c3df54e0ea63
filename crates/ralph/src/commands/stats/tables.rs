//! The tables of `ralph stats`: by model, by type of work, frequent failures, hardest tasks.

use std::time::Duration;

use jiff::tz::TimeZone;
use ralph_model::{ErrorCategory, count, duration, short_number};
use ralph_store::{FailureFigures, Figures, Stats, TaskFigures};

use super::percent;
use crate::table::{self, Column, Fit, Plain};
use crate::ui::{Line, Style};

/// From this width on, signatures of failures are shown.
const WIDE: usize = 120;

/// Whether the signatures of failures are shown; they mean little to people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Signatures {
    Shown,
    LeftOut,
}

struct Table {
    title: String,
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

/// All tables that have rows.
pub(super) fn lines(stats: &Stats, width: usize) -> Vec<Line> {
    let failures = failures(
        stats,
        if width < WIDE {
            Signatures::LeftOut
        } else {
            Signatures::Shown
        },
    );
    let tables = [by_model(stats), by_task_type(stats), failures, hardest(stats)];
    let tables = tables.into_iter().filter(|table| !table.rows.is_empty());
    tables.flat_map(|table| render(table, width)).collect()
}

fn render(table: Table, width: usize) -> Vec<Line> {
    let mut lines = vec![(None, String::new()), (Some(Style::Strong), table.title)];
    let indent = |line: String| format!("  {line}");
    let (columns, rows) = table::without_blank(&table.columns, &table.rows);
    let rows = table::lines(&columns, &rows, Some(width.saturating_sub(2)), &Plain);
    let mut rows = rows.into_iter().map(indent);
    lines.extend(rows.next().map(|titles| (Some(Style::Faint), titles)));
    lines.extend(rows.map(|row| (None, row)));
    lines
}

fn columns(all: &[(&'static str, Fit)]) -> Vec<Column> {
    all.iter().map(|(title, fit)| Column { title, fit: *fit }).collect()
}

fn by_model(stats: &Stats) -> Table {
    let name = |model: &Option<String>| model.clone().unwrap_or_else(|| "(agent's default)".to_owned());
    let rows = stats.by_model.iter();
    Table {
        title: "By model".to_owned(),
        columns: columns(&figure_columns("MODEL")),
        rows: rows.map(|of| figure_cells(name(&of.model), &of.figures)).collect(),
    }
}

fn by_task_type(stats: &Stats) -> Table {
    let rows = stats.by_task_type.iter();
    Table {
        title: "By kind of work".to_owned(),
        columns: columns(&figure_columns("WORK")),
        rows: rows
            .map(|of| figure_cells(of.task_type.word().to_owned(), &of.figures))
            .collect(),
    }
}

/// The columns; the last ones are dropped first on narrow terminals.
fn figure_columns(title: &'static str) -> [(&'static str, Fit); 7] {
    [
        (title, Fit::Cut),
        ("DONE", Fit::Whole),
        ("RATE", Fit::Whole),
        ("COST", Fit::Optional),
        ("TIME", Fit::Optional),
        ("ITERATIONS", Fit::Optional),
        ("TOKENS", Fit::Optional),
    ]
}

fn figure_cells(name: String, figures: &Figures) -> Vec<String> {
    let rate = figures.success;
    vec![
        name,
        format!("{}/{}", rate.done, rate.of),
        percent(rate).unwrap_or_default(),
        cost(figures),
        duration(Duration::from_millis(figures.duration_ms)),
        figures.iterations.to_string(),
        figures.usage.known_tokens().map(short_number).unwrap_or_default(),
    ]
}

/// The cost; blank if no agent reported one.
fn cost(figures: &Figures) -> String {
    let cost = figures.usage.known_cost();
    cost.map(|cost| format!("${cost:.2}")).unwrap_or_default()
}

fn failures(stats: &Stats, signatures: Signatures) -> Table {
    let mut titles = vec![
        ("TIMES", Fit::Whole),
        ("KIND", Fit::Optional),
        ("TASKS", Fit::Optional),
        ("LAST", Fit::Optional),
        ("SIGNATURE", Fit::Optional),
        ("WHY", Fit::Cut),
    ];
    titles.retain(|(title, _)| *title != "SIGNATURE" || signatures == Signatures::Shown);
    let rows = stats.failures.iter().map(|failure: &FailureFigures| {
        let tasks = match failure.tasks.as_slice() {
            [task] => task.to_string(),
            tasks => count(tasks.len(), "task", "tasks"),
        };
        let kind = match failure.category {
            ErrorCategory::Unknown => String::new(),
            known => known.word().replace('_', " "),
        };
        let mut cells = vec![
            failure.times.to_string(),
            kind,
            tasks,
            failure.last_at.to_zoned(TimeZone::UTC).date().to_string(),
        ];
        if signatures == Signatures::Shown {
            cells.push(failure.signature.to_string());
        }
        cells.push(failure.why.clone());
        cells
    });
    Table {
        title: some_of("Most frequent failures", stats.failures.len(), stats.different_failures),
        columns: columns(&titles),
        rows: rows.collect(),
    }
}

fn hardest(stats: &Stats) -> Table {
    let rows = stats.hardest.iter().map(|task: &TaskFigures| {
        vec![
            task.task.to_string(),
            format!("{}/{}", task.failures, task.figures.success.of),
            cost(&task.figures),
            task.difficulty.map(|said| said.to_string()).unwrap_or_default(),
            task.status
                .map_or_else(|| "deleted".to_owned(), |status| status.word().replace('_', " ")),
            task.title.clone(),
        ]
    });
    Table {
        title: some_of("Hardest tasks", stats.hardest.len(), stats.hard_tasks),
        columns: columns(&[
            ("TASK", Fit::Whole),
            ("FAILED", Fit::Whole),
            ("COST", Fit::Optional),
            ("RATED", Fit::Optional),
            ("NOW", Fit::Optional),
            ("TITLE", Fit::Cut),
        ]),
        rows: rows.collect(),
    }
}

/// A title, with counts if not all rows are listed.
fn some_of(title: &str, listed: usize, all: u32) -> String {
    if listed < all as usize {
        format!("{title} ({listed} of {all})")
    } else {
        title.to_owned()
    }
}
