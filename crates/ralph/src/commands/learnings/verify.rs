//! `learnings verify`: whether the learnings are what was written, and count what happened.

use clap::Args;
use ralph_model::count;
use ralph_store::{LearningFault, LearningFaultKind, MendedLearnings};
use serde_json::{Value, json};

use super::super::task::store_to_write;
use crate::context::Context;
use crate::error::CommandError;

/// Check that learnings are what was written, and count what happened
///
/// Compares every learning with its hashes, counts its uses anew from the journal, looks for references to nothing and for
/// learnings that are there twice or hold without any text, and whether they are found by what they say. With --fix everything
/// is drawn anew that can be drawn from other rows; what somebody wrote is never touched.
///
/// The hashes cover what a learning says, its tags, numbers and sources, its status with the reason, its confidence and its
/// first success rate. They tell what a disk or a hand in the file has changed. What another program writes by SQL is taken
/// for meant; only what no longer fits it is told.
#[derive(Debug, Args)]
#[command(after_help = "Exit code 1 when something is wrong.

Examples:
  ralph learnings verify
  ralph learnings verify --fix
  ralph learnings verify --json | jq -r '.faults[].id'")]
pub(crate) struct VerifyArgs {
    /// Count anew, draw anew what learnings are found by, and take out references to nothing. What was replaced by a learning
    /// that is gone is rejected
    #[arg(long)]
    fix: bool,
    /// Write what was found as JSON
    #[arg(long)]
    json: bool,
}

impl VerifyArgs {
    /// Whether it changes something.
    pub(crate) fn changes(&self) -> bool {
        self.fix
    }
}

pub(super) fn cmd_verify(context: &Context<'_>, args: &VerifyArgs) -> Result<(), CommandError> {
    let (learnings, mended) = match context.facts()? {
        None => (0, MendedLearnings::default()),
        Some(store) if args.fix => {
            let learnings = store.count_learnings()?;
            drop(store);
            (
                learnings,
                store_to_write(context)?.mend_learnings(context.clock().now())?,
            )
        }
        Some(store) => {
            let found = store.verify_learnings()?;
            let left = found.clone();
            (store.count_learnings()?, MendedLearnings { found, left })
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
            let learnings = usize::try_from(learnings).unwrap_or(usize::MAX);
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

/// A fault with what mends it, on a line.
fn line(fault: &LearningFault, mended: &MendedLearnings) -> String {
    let LearningFault { id, what, .. } = fault;
    let id = id.as_deref().map(|id| format!("{id}: ")).unwrap_or_default();
    match mended.left.contains(fault) {
        true => format!("{id}{what}; {}", mend(fault)),
        false => format!("{id}{what}; {}", mended_how(fault)),
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

/// What was done about it.
fn mended_how(fault: &LearningFault) -> String {
    match (fault.kind, &fault.id) {
        // Whoever wrote the text by other means may have meant it.
        (LearningFaultKind::Derived, Some(id)) => {
            format!("mended: it is found by the text that it has now, which `ralph learnings show {id}` tells")
        }
        (LearningFaultKind::Replaced, Some(id)) => {
            format!("mended: it is rejected now, and `ralph learnings promote {id}` lets it hold again")
        }
        _ => "mended".to_owned(),
    }
}

/// What mends it.
fn mend(fault: &LearningFault) -> String {
    let id = fault.id.as_deref().unwrap_or("ID");
    match fault.kind {
        LearningFaultKind::Unreadable => format!("`ralph learnings delete {id}` takes it away"),
        LearningFaultKind::OutOfRange => {
            format!("`ralph learnings update {id} --confidence X --success-rate X` sets both")
        }
        LearningFaultKind::NoText => format!(
            "`ralph learnings update {id} --content TEXT` says what it teaches, `ralph learnings delete {id}` takes it away"
        ),
        LearningFaultKind::Changed => format!(
            "`ralph learnings show {id}` tells what it says now; `ralph learnings update {id} --content TEXT` says what is right"
        ),
        LearningFaultKind::Standing => format!(
            "`ralph learnings show {id}` tells how it stands now; `ralph learnings promote {id}` or `ralph learnings reject {id}` \
             says how it is to stand, `ralph learnings update {id} --confidence X` before that how sure it is"
        ),
        LearningFaultKind::Replaced => {
            format!("`ralph learnings promote {id}` lets it hold again, `ralph learnings verify --fix` rejects it")
        }
        LearningFaultKind::Counters | LearningFaultKind::Reference | LearningFaultKind::Derived => {
            "`ralph learnings verify --fix` mends it".to_owned()
        }
        LearningFaultKind::Duplicate => {
            format!("`ralph learnings supersede {id} OTHER` or `ralph learnings delete {id}` leaves one of them")
        }
        LearningFaultKind::Ring => format!("`ralph learnings promote {id}` lets it stand again"),
    }
}
