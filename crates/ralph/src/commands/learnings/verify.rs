//! `learnings verify`: checks the database and the use counts of learnings, and recounts them.

use clap::Args;
use ralph_model::count;
use ralph_store::LearningFault;
use serde_json::json;

use super::super::task::store_to_write;
use crate::context::Context;
use crate::error::CommandError;

/// Check the integrity of learnings
///
/// Checks the database with SQLite's integrity check, and compares the uses, successes and success rate of each learning
/// with the journal. --fix recounts them.
#[derive(Debug, Args)]
#[command(after_help = "Exit code 1 if a problem is found.

Examples:
  ralph learnings verify
  ralph learnings verify --fix
  ralph learnings verify --json | jq -r '.faults[].id'")]
pub(crate) struct VerifyArgs {
    /// Recount uses from the journal
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
    let (learnings, faults) = match context.facts()? {
        None => (0, Vec::new()),
        Some(store) => (store.count_learnings()?, store.verify_learnings()?),
    };
    let recounted = match args.fix && faults.iter().any(|fault| fault.id.is_some()) {
        true => store_to_write(context)?.recount_learnings()?,
        false => Vec::new(),
    };
    let is_left = |fault: &LearningFault| fault.id.as_ref().is_none_or(|id| !recounted.contains(id));
    let left = faults.iter().filter(|fault| is_left(fault)).count();
    let problems = count(left, "problem", "problems");
    if args.json {
        let object = |fault: &LearningFault| {
            json!({
                "kind": if fault.id.is_some() { "counters" } else { "database" },
                "id": fault.id,
                "what": fault.what,
                "mend": is_left(fault).then(|| repair(fault)),
                "mended": !is_left(fault),
            })
        };
        context.ui.json(&json!({
            "valid": left == 0,
            "error": (left > 0).then_some(&problems),
            "learnings": learnings,
            "faults": faults.iter().map(object).collect::<Vec<_>>(),
        }))?;
    } else {
        let line = |fault: &LearningFault| {
            let name = fault.id.as_ref().map_or("database", |id| id.as_str());
            let end = if is_left(fault) { repair(fault) } else { "recounted" };
            (None, format!("{name}: {}; {end}", fault.what))
        };
        context.ui.lines(&faults.iter().map(line).collect::<Vec<_>>())?;
        if faults.is_empty() {
            let learnings = usize::try_from(learnings).unwrap_or(usize::MAX);
            let whole = count(learnings, "learning", "learnings");
            context.ui.data(&format!("{whole} checked, no problems found.\n"))?;
        }
    }
    match left {
        0 => Ok(()),
        _ => Err(CommandError::new(format!("{problems} with the learnings"))),
    }
}

/// How to repair a fault.
fn repair(fault: &LearningFault) -> &'static str {
    match fault.id {
        Some(_) => "`ralph learnings verify --fix` recounts it",
        None => "`ralph doctor --restore-backup` restores a backup",
    }
}
