//! Finds an iteration by its journal number, by run and iteration, or the last one.

use clap::Args;
use ralph_model::{JournalRow, RunId};
use ralph_store::Store;

use crate::error::CommandError;

#[derive(Debug, Args)]
pub(crate) struct WhichIteration {
    /// Journal number of the iteration, or RUN/ITERATION; defaults to the last one
    #[arg(value_name = "ITERATION")]
    iteration: Option<String>,
}

impl WhichIteration {
    pub(crate) fn named(text: &str) -> Self {
        Self {
            iteration: Some(text.to_owned()),
        }
    }

    pub(crate) fn find(&self, store: Option<&Store>) -> Result<JournalRow, CommandError> {
        let (Some(store), Some(text)) = (store, self.iteration.as_deref()) else {
            let last = store.map(Store::journal_last).transpose()?.flatten();
            return last.ok_or_else(|| CommandError::new("the journal is empty").hint("run `ralph run` to start"));
        };
        let row = match IterationName::of(text)? {
            IterationName::Number(id) => store.journal_row(id)?,
            IterationName::OfRun(run, iteration) => store.journal_of_iteration(&find_run(store, run)?, iteration)?,
        };
        row.ok_or_else(|| {
            CommandError::new(format!("iteration not found: {text}")).hint("list iterations with `ralph journal list`")
        })
    }
}

enum IterationName<'a> {
    Number(i64),
    OfRun(&'a str, u32),
}

impl<'a> IterationName<'a> {
    fn of(text: &'a str) -> Result<Self, CommandError> {
        let name = match text.split_once('/') {
            None => text.parse().ok().map(Self::Number),
            Some((run, _)) if !is_run_prefix(run) => None,
            Some((run, iteration)) => iteration.parse().ok().map(|iteration| Self::OfRun(run, iteration)),
        };
        name.ok_or_else(|| {
            CommandError::usage(format!("{text:?} is not an iteration"))
                .hint("give a journal number like 12, or a run and iteration like run-1a2b3c4d/3")
        })
    }
}

/// Whether a text could be a prefix of a run id.
fn is_run_prefix(text: &str) -> bool {
    let digits = text.strip_prefix(RunId::PREFIX).unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The run with this id or id prefix.
pub(crate) fn find_run(store: &Store, text: &str) -> Result<RunId, CommandError> {
    if let Some(run) = RunId::parse(text) {
        return Ok(run);
    }
    let mut found = store.runs_with_prefix(text)?;
    let refused = match found.as_slice() {
        [_] => None,
        [] => Some(format!("run not found: {text:?}")),
        [one, two, ..] => Some(format!("{text} matches several ids: {one}, {two}")),
    };
    match (refused, found.pop()) {
        (None, Some(run)) => Ok(run),
        (refused, _) => Err(CommandError::new(refused.unwrap_or_default())
            .hint("run ids look like run-1a2b3c4d; list them with `ralph journal list`")),
    }
}
