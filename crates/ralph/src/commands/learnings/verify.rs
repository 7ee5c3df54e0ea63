//! `learnings verify`: checks the integrity of learnings, and repairs what can be derived.

use clap::Args;
use ralph_model::count;
use ralph_store::{LearningFault, LearningFaultKind, RepairedLearnings};
use serde_json::{Value, json};

use super::super::task::store_to_write;
use crate::context::Context;
use crate::error::CommandError;

/// Check the integrity of learnings
///
/// Compares each learning with its checksums, recounts its uses from the journal, and looks for dangling references,
/// duplicates, active learnings without text and stale search terms. --fix rebuilds everything that can be derived from
/// other rows; it never changes what somebody wrote.
///
/// The checksums cover text, tags, figures, sources, status, reason, confidence and first success rate. They detect
/// disk errors and edits of the file. Changes made with SQL are taken as intended; only inconsistencies that they cause
/// are reported.
#[derive(Debug, Args)]
#[command(after_help = "Exit code 1 if a problem is found.

Examples:
  ralph learnings verify
  ralph learnings verify --fix
  ralph learnings verify --json | jq -r '.faults[].id'")]
pub(crate) struct VerifyArgs {
    /// Recount uses, rebuild search terms and remove dangling references; a learning superseded by a deleted one is
    /// rejected
    #[arg(long)]
    fix: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

impl VerifyArgs {
    pub(crate) fn changes(&self) -> bool {
        self.fix
    }
}

pub(super) fn cmd_verify(context: &Context<'_>, args: &VerifyArgs) -> Result<(), CommandError> {
    let (learnings, repaired) = match context.facts()? {
        None => (0, RepairedLearnings::default()),
        Some(store) if args.fix => {
            let learnings = store.count_learnings()?;
            drop(store);
            (
                learnings,
                store_to_write(context)?.repair_learnings(context.clock().now())?,
            )
        }
        Some(store) => {
            let found = store.verify_learnings()?;
            let left = found.clone();
            (store.count_learnings()?, RepairedLearnings { found, left })
        }
    };
    let problems = count(repaired.left.len(), "problem", "problems");
    if args.json {
        let error = (!repaired.left.is_empty()).then_some(&problems);
        let objects: Vec<Value> = repaired.found.iter().map(|fault| object(fault, &repaired)).collect();
        context.ui.json(&json!({
            "valid": repaired.left.is_empty(),
            "error": error,
            "learnings": learnings,
            "faults": objects,
        }))?;
    } else {
        let lines: Vec<_> = repaired
            .found
            .iter()
            .map(|fault| (None, line(fault, &repaired)))
            .collect();
        context.ui.lines(&lines)?;
        if repaired.found.is_empty() {
            let learnings = usize::try_from(learnings).unwrap_or(usize::MAX);
            let whole = count(learnings, "learning", "learnings");
            context.ui.data(&format!("{whole} checked, no problems found.\n"))?;
        }
    }
    if repaired.left.is_empty() {
        return Ok(());
    }
    let error = CommandError::new(format!("{problems} with the learnings"));
    let is_repairable = repaired.left.iter().any(|fault| fault.kind.is_repairable());
    Err(match args.fix || !is_repairable {
        true => error,
        false => error.hint("`ralph learnings verify --fix` repairs what can be derived"),
    })
}

/// A fault with its repair, on one line.
fn line(fault: &LearningFault, repaired: &RepairedLearnings) -> String {
    let LearningFault { id, what, .. } = fault;
    let id = id.as_deref().map(|id| format!("{id}: ")).unwrap_or_default();
    match repaired.left.contains(fault) {
        true => format!("{id}{what}; {}", repair(fault)),
        false => format!("{id}{what}; {}", repaired_how(fault)),
    }
}

fn object(fault: &LearningFault, repaired: &RepairedLearnings) -> Value {
    let is_left = repaired.left.contains(fault);
    json!({
        "kind": fault.kind.word(),
        "id": fault.id,
        "what": fault.what,
        "mend": is_left.then(|| repair(fault)),
        "mended": !is_left,
    })
}

fn repaired_how(fault: &LearningFault) -> String {
    match (fault.kind, &fault.id) {
        // The text may have been changed on purpose, so keep it and rebuild the search terms.
        (LearningFaultKind::Derived, Some(id)) => {
            format!("repaired: search terms match its current text, see `ralph learnings show {id}`")
        }
        (LearningFaultKind::Replaced, Some(id)) => {
            format!("repaired: rejected it; undo with `ralph learnings promote {id}`")
        }
        _ => "repaired".to_owned(),
    }
}

/// The command that repairs a fault.
fn repair(fault: &LearningFault) -> String {
    let id = fault.id.as_deref().unwrap_or("ID");
    match fault.kind {
        LearningFaultKind::Unreadable => format!("`ralph learnings delete {id}` deletes it"),
        LearningFaultKind::OutOfRange => {
            format!("`ralph learnings update {id} --confidence X --success-rate X` sets both")
        }
        LearningFaultKind::NoText => {
            format!("`ralph learnings update {id} --content TEXT` sets one, `ralph learnings delete {id}` deletes it")
        }
        LearningFaultKind::Changed => format!(
            "`ralph learnings show {id}` shows its text; `ralph learnings update {id} --content TEXT` confirms or corrects it"
        ),
        LearningFaultKind::Status => format!(
            "`ralph learnings show {id}` shows its status; `ralph learnings promote {id}` or `ralph learnings reject {id}` sets it, \
            after `ralph learnings update {id} --confidence X` if the confidence is wrong"
        ),
        LearningFaultKind::Replaced => {
            format!("`ralph learnings promote {id}` reactivates it, `ralph learnings verify --fix` rejects it")
        }
        LearningFaultKind::Counters | LearningFaultKind::Reference | LearningFaultKind::Derived => {
            "`ralph learnings verify --fix` repairs it".to_owned()
        }
        LearningFaultKind::Duplicate => {
            format!("keep one: `ralph learnings supersede {id} OTHER` or `ralph learnings delete {id}`")
        }
        LearningFaultKind::Ring => format!("`ralph learnings promote {id}` reactivates it"),
    }
}
