//! `learnings list`: lists learnings by status and other filters.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use ralph_model::{LearningKind, LearningStatus, TaskType};
use ralph_notes::cleaned_tags;
use ralph_store::{LearningFilter, Place};

use super::{category, kinds, task_of, task_types, view};
use crate::cli::FormatArgs;
use crate::context::Context;
use crate::error::CommandError;
use crate::numbers::from_zero;

/// List learnings, newest first
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph learnings list
  ralph learnings list --status validated  # not yet promoted
  ralph learnings list --kind antipattern --tag docker --limit 0
  ralph learnings list --task t-1a2b3c --all --json")]
pub(crate) struct ListArgs {
    /// Only learnings with this status
    #[arg(long, value_name = "STATUS", value_parser = wanted(), conflicts_with = "all")]
    status: Option<NoteFilter>,
    /// Only learnings of this kind
    #[arg(long, visible_alias = "type", value_name = "KIND", value_parser = kinds())]
    kind: Option<LearningKind>,
    /// Only learnings of this category
    #[arg(long, value_name = "CATEGORY")]
    category: Option<String>,
    /// Only learnings from tasks of this type
    #[arg(long, value_name = "TYPE", value_parser = task_types())]
    task_type: Option<TaskType>,
    /// Only learnings with this tag
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,
    /// Only learnings first learned in this task, which may be deleted by now
    #[arg(long, value_name = "TASK")]
    task: Option<String>,
    /// Include rejected, superseded and pruned learnings
    #[arg(long)]
    all: bool,
    /// Maximum number of learnings; 0 for all
    #[arg(long, value_name = "N", default_value_t = 20, allow_negative_numbers = true, value_parser = from_zero::<u32>)]
    limit: u32,
    #[command(flatten)]
    format: FormatArgs,
}

/// The status to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NoteFilter {
    Status(LearningStatus),
    /// Superseded by another learning, whatever its own status.
    Superseded,
}

impl NoteFilter {
    fn parse(word: &str) -> Option<Self> {
        match word {
            view::SUPERSEDED => Some(Self::Superseded),
            word => LearningStatus::parse(word).map(Self::Status),
        }
    }
}

fn wanted() -> impl TypedValueParser<Value = NoteFilter> {
    let words = LearningStatus::ALL.iter().map(|status| status.word());
    PossibleValuesParser::new(words.chain([view::SUPERSEDED]))
        .try_map(|word| NoteFilter::parse(&word).ok_or_else(|| format!("there is no status {word}")))
}

/// Statuses of learnings that are active or may become so.
pub(super) const CURRENT: [LearningStatus; 3] = [
    LearningStatus::Promoted,
    LearningStatus::Validated,
    LearningStatus::Pending,
];

pub(super) fn cmd_list(context: &Context<'_>, args: &ListArgs) -> Result<(), CommandError> {
    let format = args.format.get();
    let Some(store) = context.facts()? else {
        return view::list(context, &[], view::NONE_YET, format);
    };
    let (statuses, place) = match args.status {
        _ if args.all => (Vec::new(), Place::Any),
        Some(NoteFilter::Status(status)) if CURRENT.contains(&status) => (vec![status], Place::Own),
        Some(NoteFilter::Status(status)) => (vec![status], Place::Any),
        Some(NoteFilter::Superseded) => (CURRENT.to_vec(), Place::Taken),
        None => (CURRENT.to_vec(), Place::Own),
    };
    let filter = LearningFilter {
        statuses,
        place,
        kind: args.kind,
        category: args.category.as_deref().map(category),
        task_type: args.task_type,
        task: args.task.as_deref().map(|task| task_of(&store, task)).transpose()?,
        tag: args.tag.as_deref().map(|tag| cleaned_tags([tag].into_iter()).concat()),
    };
    let learnings = store.learning_list(&filter, (args.limit > 0).then_some(args.limit))?;
    let nothing = if learnings.is_empty() && !store.has_learnings()? {
        view::NONE_YET
    } else {
        view::NONE_MATCH
    };
    view::list(context, &learnings, nothing, format)
}
