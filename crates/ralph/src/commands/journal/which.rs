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
    /// Finds it.
    pub(crate) fn find(&self, store: Option<&Store>) -> Result<JournalRow, CommandError> {
        let (Some(store), Some(text)) = (store, self.iteration.as_deref()) else {
            let last = store.map(Store::journal_last).transpose()?.flatten();
            return last.ok_or_else(|| CommandError::new("the journal is empty").hint("`ralph run` fills it"));
        };
        let row = match Named::of(text)? {
            Named::Number(id) => store.journal_row(id)?,
            Named::OfRun(run, iteration) => store.journal_of_iteration(&run, iteration)?,
        };
        row.ok_or_else(|| {
            CommandError::new(format!("there is no iteration {text} in the journal"))
                .hint("`ralph journal list` shows what there is")
        })
    }
}

/// How an iteration can be named.
enum Named {
    Number(i64),
    OfRun(RunId, u32),
}

impl Named {
    fn of(text: &str) -> Result<Self, CommandError> {
        let named = match text.split_once('/') {
            None => text.parse().ok().map(Self::Number),
            Some((run, iteration)) => {
                let iteration = iteration.parse().ok();
                RunId::parse(run).zip(iteration).map(|(run, n)| Self::OfRun(run, n))
            }
        };
        named.ok_or_else(|| {
            CommandError::usage(format!("{text:?} names no iteration"))
                .hint("give its number in the journal, as in 12, or its run and number there, as in run-1a2b3c4d/3")
        })
    }
}
