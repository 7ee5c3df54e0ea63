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

/// Go through what waits for you: tasks, contradictions, lessons, lost notes
///
/// At a terminal each is shown with what speaks for it, and a key settles it; what you answer is written at once. Elsewhere
/// all of it is listed, with the commands that do the same.
///
/// A failed task is tried again once it is reset. An unverified task is done, but no gate or verifier confirmed it, or it
/// changed nothing: accept it or reopen it. A lesson that an agent drew from work which was not done stands in no
/// prompt but those of its own task, until another iteration teaches the same or you promote it; with
/// `[learning] promote = "review"` every lesson waits for you. A note that is gone from its file without having been deleted
/// may have been lost by an old version that was saved over it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph review
  ralph review --list            # all of it, without questions
  ralph review --only failed
  ralph review --accept t-1a2b3c p-4d5e6f
  ralph review --json            # for programs

Keys: y yes (try the failed task again, accept the unverified one, promote the lesson, bring the note back), n no \
(reopen the unverified task), e edit the lesson and promote it, 1 and 2 \
keep one of two that contradict each other, b both hold, s skip, l or q leave the rest for later, ? help.")]
pub(crate) struct ReviewArgs {
    /// List everything, also at a terminal
    #[arg(long)]
    list: bool,
    /// Only these
    #[arg(long, value_enum, value_name = "WHAT")]
    only: Option<Group>,
    /// Accept proposals and unverified tasks, by id
    #[arg(long, value_name = "ID", num_args = 1.., conflicts_with_all = ["list", "only", "json"])]
    accept: Vec<String>,
    /// Reject proposals and reopen unverified tasks, by id
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
