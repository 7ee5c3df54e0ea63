//! `ralph review`: shows everything that needs review, and settles it item by item or with commands.

mod act;
mod conflicts;
mod inbox;
mod list;
mod proposals;
pub(super) mod render;
mod session;
mod summary;

use std::process::ExitCode;

use clap::Args;
use ralph_store::Decision;

use crate::context::Context;
use crate::error::CommandError;
use inbox::{Group, Inbox};

/// Review finished work, failed tasks, proposals and learnings
///
/// At a terminal, each item is shown with its evidence and settled with one key; git shows the changes of a finished
/// task in your pager. Without a terminal, everything is listed with the commands that do the same.
///
/// A failed task is retried after you reset it. A finished task can be accepted, sent back with a comment, or undone.
/// Unverified tasks come first: no gate or verifier confirmed them, or they changed nothing. A learning from work that
/// was not done is injected only for its own task, until another iteration supports it or you promote it; with
/// `[learning] promote = "review"` every learning needs your review. A note that disappeared from its file without
/// being deleted may have been lost when an old version was saved over it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph review
  ralph review --list            # list everything without asking
  ralph review --only finished
  ralph review --accept t-1a2b3c p-4d5e6f
  ralph review --json            # for programs

Keys: y yes (accept a finished task, retry a failed one, promote a learning, restore a note), n no (send a finished \
task back with a comment), u undo a finished task, d show its changes, e edit a learning and promote it, 1 and 2 keep \
one of two conflicting learnings, b keep both, s next, l or q leave the rest for later, ? help.")]
pub(crate) struct ReviewArgs {
    /// List everything, even at a terminal
    #[arg(long)]
    list: bool,
    /// Show only this group
    #[arg(long, value_enum, value_name = "WHAT")]
    only: Option<Group>,
    /// Accept proposals and finished tasks, by id
    #[arg(long, value_name = "ID", num_args = 1.., conflicts_with_all = ["list", "only", "json"])]
    accept: Vec<String>,
    /// Reject proposals and reopen finished tasks, by id
    #[arg(long, value_name = "ID", num_args = 1.., conflicts_with_all = ["list", "only", "json"])]
    reject: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn cmd_review(context: &Context<'_>, args: &ReviewArgs) -> Result<ExitCode, CommandError> {
    if !args.accept.is_empty() || !args.reject.is_empty() {
        proposals::decide(context, &args.accept, Decision::Accepted)?;
        proposals::decide(context, &args.reject, Decision::Rejected)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut inbox = Inbox::read(context, args.only)?;
    if args.json {
        inbox.read_evidence(context)?;
        context.ui.json(&inbox)?;
        return Ok(ExitCode::SUCCESS);
    }
    if inbox.is_empty() {
        context.ui.data("Nothing needs review.\n")?;
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
