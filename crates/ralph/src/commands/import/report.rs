//! Reports what an import did or would do.

use ralph_model::{count, preview};
use ralph_store::{ImportedHistory, Remark, Tally};
use serde_json::json;

use super::Mode;
use crate::context::Context;
use crate::error::CommandError;
use crate::table::Column;

const SHOWN_REMARKS: usize = 50;
/// The columns of a remark's subject.
const ABOUT_COLUMNS: usize = 60;
/// The most columns of a remark's text.
const TEXT_COLUMNS: usize = 400;
const SHOWN_IDS: usize = 5;

const COLUMNS: [Column; 2] = [Column::whole("ABOUT"), Column::cut("WHAT")];

/// The result of an import or a dry run.
#[derive(Debug, Default)]
pub(super) struct Report {
    /// The imported files, for display.
    pub(super) sources: Vec<String>,
    /// The imported tasks, features and journal.
    pub(super) history: ImportedHistory,
    /// The imported memories; `None` if memories are not imported.
    pub(super) memories: Option<Tally>,
    /// Where the other tool's database was kept.
    pub(super) kept: Option<String>,
}

impl Report {
    /// Prints the report: the summary and remarks as data, the rest as status messages.
    pub(super) fn print(&self, context: &Context<'_>, mode: Mode, json: bool) -> Result<(), CommandError> {
        if json {
            return context.ui.json(&self.json(mode));
        }
        let sign = if mode == Mode::Real { "📝" } else { "🔍" };
        context.ui.result(sign, &self.summary(mode))?;
        self.print_remarks(context)?;
        let known = self.kinds().iter().map(|(tally, _)| tally.known).sum();
        if known > 0 {
            let known = count(known, "entry", "entries");
            context.ui.status(&format!("Skipped {known} that already exist."));
        }
        self.print_relations(context, mode);
        self.print_renamed(context, mode);
        if let Some(kept) = &self.kept {
            let verb = if mode == Mode::Real { "is" } else { "would be" };
            context.ui.status(&format!("The original {verb} kept as {kept}."));
        }
        if mode == Mode::Real && self.history.tasks.added > 0 {
            context
                .ui
                .status("Next: `ralph task list` shows the tasks, `ralph run` works on them.");
        } else if mode == Mode::DryRun && !self.is_nothing() {
            context
                .ui
                .status("Dry run: nothing was changed. Run without --dry-run to import.");
        }
        Ok(())
    }

    fn kinds(&self) -> [(Tally, (&'static str, &'static str)); 4] {
        [
            (self.history.features, ("feature", "features")),
            (self.history.tasks, ("task", "tasks")),
            (self.history.iterations, ("iteration", "iterations")),
            (self.memories.unwrap_or_default(), ("memory", "memories")),
        ]
    }

    fn is_nothing(&self) -> bool {
        self.kinds().iter().all(|(tally, _)| tally.added == 0)
    }

    fn summary(&self, mode: Mode) -> String {
        let verb = match mode {
            Mode::Real => "Imported",
            Mode::DryRun => "Would import",
        };
        let added: Vec<String> = self
            .kinds()
            .iter()
            .filter(|(tally, _)| tally.added > 0)
            .map(|(tally, (one, many))| count(tally.added, one, many))
            .collect();
        match added.as_slice() {
            [] => format!("{verb} nothing new"),
            [one] => format!("{verb} {one}"),
            [several @ .., last] => format!("{verb} {} and {last}", several.join(", ")),
        }
    }

    fn print_remarks(&self, context: &Context<'_>) -> Result<(), CommandError> {
        let remarks = &self.history.remarks;
        if remarks.is_empty() {
            return Ok(());
        }
        let row = |remark: &Remark| {
            vec![
                preview(&remark.about, ABOUT_COLUMNS),
                preview(&remark.text, TEXT_COLUMNS),
            ]
        };
        let rows: Vec<Vec<String>> = remarks.iter().take(SHOWN_REMARKS).map(row).collect();
        let closing = if remarks.len() > SHOWN_REMARKS {
            format!("Showing {SHOWN_REMARKS} of {} remarks; --json shows all", remarks.len())
        } else {
            crate::ui::showing(remarks.len(), "remark", "remarks")
        };
        context.ui.data("\n")?;
        context.ui.table(&COLUMNS, &rows, &closing)
    }

    fn print_relations(&self, context: &Context<'_>, mode: Mode) {
        let ImportedHistory {
            dependencies,
            log_lines,
            ..
        } = &self.history;
        let (dependencies, lines) = (
            (*dependencies > 0).then(|| count(*dependencies, "dependency", "dependencies")),
            (*log_lines > 0).then(|| count(*log_lines, "log line", "log lines")),
        );
        let along: Vec<String> = dependencies.into_iter().chain(lines).collect();
        if along.is_empty() {
            return;
        }
        let verb = if mode == Mode::Real {
            "Also imported"
        } else {
            "Would also import"
        };
        context.ui.status(&format!("{verb} {}.", along.join(" and ")));
    }

    fn print_renamed(&self, context: &Context<'_>, mode: Mode) {
        let renamed = &self.history.renamed;
        if renamed.is_empty() {
            return;
        }
        let named: Vec<String> = renamed
            .iter()
            .take(SHOWN_IDS)
            .map(|(there, here)| format!("{} is {here}", preview(there, ABOUT_COLUMNS)))
            .collect();
        let more = renamed.len().saturating_sub(SHOWN_IDS);
        let more = if more > 0 {
            format!(", and {more} more")
        } else {
            String::new()
        };
        let (one, many) = match mode {
            Mode::Real => ("task has", "tasks have"),
            Mode::DryRun => ("task would have", "tasks would have"),
        };
        let tasks = count(renamed.len(), one, many);
        context
            .ui
            .status(&format!("{tasks} another id here: {}{more}.", named.join(", ")));
    }

    fn json(&self, mode: Mode) -> serde_json::Value {
        json!({
            "dry_run": mode == Mode::DryRun,
            "sources": self.sources,
            "kept": self.kept,
            "features": self.history.features,
            "tasks": self.history.tasks,
            "iterations": self.history.iterations,
            "memories": self.memories,
            "dependencies": self.history.dependencies,
            "log_lines": self.history.log_lines,
            "renamed": self.history.renamed,
            "remarks": self.history.remarks,
        })
    }
}
