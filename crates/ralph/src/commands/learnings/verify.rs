//! `learnings verify`: whether the learnings are what was written, and count what happened.

use clap::Args;
use ralph_model::count;
use ralph_store::{LearningFault, LearningFaultKind, LearningStats, MendedLearnings};
use serde_json::{Value, json};

use super::super::task::store_to_write;
use crate::context::Context;
use crate::error::CommandError;

/// Check that learnings are what was written, and count what happened
///
/// Compares every learning with its hash, counts its uses anew from the journal, looks for references to nothing and for
/// learnings that are there twice, and whether they are found by what they say. With --fix everything is drawn anew that can
/// be drawn from other rows; what somebody wrote is never touched.
#[derive(Debug, Args)]
#[command(after_help = "Exit code 1 when something is wrong.

Examples:
  ralph learnings verify
  ralph learnings verify --fix
  ralph learnings verify --json | jq -r '.faults[].id'")]
pub(crate) struct VerifyArgs {
    /// Count anew, draw anew what learnings are found by, and take out references to nothing
    #[arg(long)]
    fix: bool,
    /// Write what was found as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn cmd_verify(context: &Context<'_>, args: &VerifyArgs) -> Result<(), CommandError> {
    let (learnings, mended) = match context.facts()? {
        None => (0, MendedLearnings::default()),
        Some(store) if args.fix => {
            let learnings = all(&store.learning_stats()?);
            drop(store);
            (learnings, store_to_write(context)?.mend_learnings()?)
        }
        Some(store) => {
            let found = store.verify_learnings()?;
            let left = found.clone();
            (all(&store.learning_stats()?), MendedLearnings { found, left })
        }
    };
    let wrong = count(mended.left.len(), "thing is wrong", "things are wrong");
    if args.json {
        let error = (!mended.left.is_empty()).then_some(&wrong);
        let faults: Vec<Value> = mended.found.iter().map(|fault| object(fault, &mended)).collect();
        context.ui.json(&json!({
            "valid": mended.left.is_empty(),
            "error": error,
            "learnings": learnings,
            "faults": faults,
        }))?;
    } else {
        let lines: Vec<_> = mended.found.iter().map(|fault| (None, line(fault, &mended))).collect();
        context.ui.lines(&lines)?;
        if mended.found.is_empty() {
            let whole = count(learnings, "learning", "learnings");
            context.ui.data(&format!("{whole} checked, nothing is wrong.\n"))?;
        }
    }
    if mended.left.is_empty() {
        return Ok(());
    }
    let error = CommandError::new(format!("{wrong} with the learnings"));
    let is_mendable = mended.left.iter().any(|fault| fault.kind.is_mendable());
    Err(match args.fix || !is_mendable {
        true => error,
        false => error.hint("`ralph learnings verify --fix` mends what can be drawn anew"),
    })
}

fn all(stats: &LearningStats) -> usize {
    usize::try_from(stats.by_status.values().sum::<u64>()).unwrap_or(usize::MAX)
}

/// A fault with what mends it, on a line.
fn line(fault: &LearningFault, mended: &MendedLearnings) -> String {
    let LearningFault { id, what, .. } = fault;
    let id = id.as_deref().map(|id| format!("{id}: ")).unwrap_or_default();
    match mended.left.contains(fault) {
        true => format!("{id}{what}; {}", mend(fault)),
        false => format!("{id}{what}; mended"),
    }
}

fn object(fault: &LearningFault, mended: &MendedLearnings) -> Value {
    let is_left = mended.left.contains(fault);
    json!({
        "kind": fault.kind.word(),
        "id": fault.id,
        "what": fault.what,
        "mend": is_left.then(|| mend(fault)),
        "mended": !is_left,
    })
}

/// What mends it.
fn mend(fault: &LearningFault) -> String {
    let id = fault.id.as_deref().unwrap_or("ID");
    match fault.kind {
        LearningFaultKind::Unreadable => format!("`ralph learnings delete {id}` takes it away"),
        LearningFaultKind::OutOfRange => {
            format!("`ralph learnings update {id} --confidence X --success-rate X` sets both")
        }
        LearningFaultKind::Changed => format!(
            "`ralph learnings show {id}` tells what it says now; `ralph learnings update {id} --content TEXT` says what \
             is right"
        ),
        LearningFaultKind::Counters | LearningFaultKind::Reference | LearningFaultKind::Derived => {
            "`ralph learnings verify --fix` mends it".to_owned()
        }
        LearningFaultKind::Duplicate => {
            format!("`ralph learnings supersede {id} OTHER` or `ralph learnings delete {id}` leaves one of them")
        }
        LearningFaultKind::Ring => format!("`ralph learnings promote {id}` lets it stand again"),
    }
}
