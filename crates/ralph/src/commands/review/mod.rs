//! `ralph review`: everything that waits for a person, in one place, to be settled item by item or with commands.

mod act;
mod conflicts;
pub(super) mod drawn;
mod inbox;
mod list;
mod proposals;
mod session;
mod tally;

use std::process::ExitCode;

use clap::Args;
use ralph_store::Decision;

use crate::context::Context;
use crate::error::CommandError;
use inbox::{Group, Inbox};

/// Review finished work, failed tasks, proposals and learnings
///
/// At a terminal each item is shown with its evidence, and a key settles it at once; of a finished task git shows the changes,
/// in your pager. Elsewhere everything is listed, with the commands that do the same.
///
/// A failed task is tried again once it is reset. A finished task can be accepted, sent back with a comment, or undone;
/// unverified ones come first: no gate or verifier confirmed them, or they changed nothing. A learning from work that was not
/// done is injected only for its own task, until another iteration supports it or you promote it; with
/// `[learning] promote = "review"` every learning needs your review. A note that is missing from its file without having been
/// deleted may have been lost when an old version was saved over it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph review
  ralph review --list            # all of it, without questions
  ralph review --only finished
  ralph review --accept t-1a2b3c p-4d5e6f
  ralph review --json            # for programs

Keys: y yes (accept the finished task, try the failed one again, promote the learning, bring the note back), n no \
(send the finished task back, with a comment), u undo the finished task, d show its changes, e edit the learning and promote \
it, 1 and 2 keep one of two that conflict, b keep both, s next, l or q leave the rest for later, ? help.")]
pub(crate) struct ReviewArgs {
    /// List everything, also at a terminal
    #[arg(long)]
    list: bool,
    /// Only these
    #[arg(long, value_enum, value_name = "WHAT")]
    only: Option<Group>,
    /// Accept proposals and finished tasks, by id
    #[arg(long, value_name = "ID", num_args = 1.., conflicts_with_all = ["list", "only", "json"])]
    accept: Vec<String>,
    /// Reject proposals and reopen finished tasks, by id
    #[arg(long, value_name = "ID", num_args = 1.., conflicts_with_all = ["list", "only", "json"])]
    reject: Vec<String>,
    /// Write it as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn cmd_review(context: &Context<'_>, args: &ReviewArgs) -> Result<ExitCode, CommandError> {
    if !args.accept.is_empty() || !args.reject.is_empty() {
        proposals::decide(context, &args.accept, Decision::Accepted)?;
        proposals::decide(context, &args.reject, Decision::Rejected)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut inbox = Inbox::look(context, args.only)?;
    if args.json {
        inbox.read_evidence(context)?;
        context.ui.json(&inbox)?;
        return Ok(ExitCode::SUCCESS);
    }
    if inbox.is_empty() {
        context.ui.data("Nothing waits for you.\n")?;
        return Ok(ExitCode::SUCCESS);
    }
    let asker = match args.list || !inbox.has_questions() {
        true => None,
        false => context.ui.asker()?,
    };
    match asker {
        Some(mut asker) => session::go_through(context, &mut asker, inbox),
        None => {
            inbox.read_evidence(context)?;
            context.ui.lines(&list::lines(&inbox, context.ui.width()))?;
            Ok(ExitCode::SUCCESS)
        }
    }
}
