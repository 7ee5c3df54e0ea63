//! Which iteration is meant: one by its number in the journal, by its run and number there, or the last one.

use clap::Args;
use ralph_model::{JournalRow, RunId};
use ralph_store::Store;

use crate::error::CommandError;

/// Which iteration is meant.
#[derive(Debug, Args)]
pub(crate) struct WhichIteration {
    /// Its number in the journal, or RUN/ITERATION; the last one if nothing is given
    #[arg(value_name = "ITERATION")]
    iteration: Option<String>,
}

impl WhichIteration {
    /// The iteration that a text names.
    pub(crate) fn named(text: &str) -> Self {
        Self {
            iteration: Some(text.to_owned()),
        }
    }

    /// Finds it.
    pub(crate) fn find(&self, store: Option<&Store>) -> Result<JournalRow, CommandError> {
        let (Some(store), Some(text)) = (store, self.iteration.as_deref()) else {
            let last = store.map(Store::journal_last).transpose()?.flatten();
            return last.ok_or_else(|| CommandError::new("the journal is empty").hint("`ralph run` fills it"));
        };
        let row = match Named::of(text)? {
            Named::Number(id) => store.journal_row(id)?,
            Named::OfRun(run, iteration) => store.journal_of_iteration(&find_run(store, run)?, iteration)?,
        };
        row.ok_or_else(|| {
            CommandError::new(format!("there is no iteration {text} in the journal"))
                .hint("`ralph journal list` shows what there is")
        })
    }
}

/// How an iteration can be named.
enum Named<'a> {
    Number(i64),
    OfRun(&'a str, u32),
}

impl<'a> Named<'a> {
    fn of(text: &'a str) -> Result<Self, CommandError> {
        let named = match text.split_once('/') {
            None => text.parse().ok().map(Self::Number),
            Some((run, _)) if !is_beginning(run) => None,
            Some((run, iteration)) => iteration.parse().ok().map(|iteration| Self::OfRun(run, iteration)),
        };
        named.ok_or_else(|| {
            CommandError::usage(format!("{text:?} names no iteration"))
                .hint("give its number in the journal, as in 12, or its run and number there, as in run-1a2b3c4d/3")
        })
    }
}

/// Whether a text could be the beginning of a run's id.
fn is_beginning(text: &str) -> bool {
    let digits = text.strip_prefix(RunId::PREFIX).unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The run that an id, or the beginning of one, means.
pub(crate) fn find_run(store: &Store, text: &str) -> Result<RunId, CommandError> {
    if let Some(run) = RunId::parse(text) {
        return Ok(run);
    }
    let mut found = store.runs_beginning(text)?;
    let refused = match found.as_slice() {
        [_] => None,
        [] => Some(format!("there is no run {text:?}")),
        [one, two, ..] => Some(format!("{text} is the beginning of several ids: {one}, {two}")),
    };
    match (refused, found.pop()) {
        (None, Some(run)) => Ok(run),
        (refused, _) => Err(CommandError::new(refused.unwrap_or_default())
            .hint("the id of a run looks like run-1a2b3c4d; `ralph journal list` shows them")),
    }
}
