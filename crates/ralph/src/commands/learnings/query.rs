//! `learnings query`: the best learnings for a question, with what makes them so.

use clap::Args;
use ralph_memory::inject::prompt::knowledge_summary;
use ralph_memory::recall::{
    ErrorPattern, FilePatterns, Found, KnownLesson, Reach, Work, best_supported, known_lessons, recall_learnings,
    warnings_of,
};
use ralph_model::{Learning, LearningKind, TaskType};
use ralph_notes::cleaned_tags;
use ralph_store::{LearningFilter, LearningQuery, Store, task_type_of};

use super::super::notes::found::say_what_was_forgiven;
use super::ranked::{Context as Asked, Ranked, show};
use super::{category, kinds, task_types};
use crate::cli::{Format, FormatArgs};
use crate::context::Context;
use crate::error::CommandError;
use crate::numbers::from_zero;

/// Find the learnings that are best supported
///
/// The order is that of confidence × rate × log10(uses + 10). The rate is how often what was learned succeeds, for
/// anti-patterns how often it does not.
///
/// With --for they are what a prompt for such work would hold of earlier runs, the most relevant of each kind: confidence ×
/// 0.4, + 0.3 when learned at the same kind of work, + rate × 0.2, + up to 0.1 when new, + 0.3 for each --error that an
/// anti-pattern warns of, where several that name one failure count once; 1 at most.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph learnings query
  ralph learnings query \"failing tests\" --min-confidence 0.6
  ralph learnings query --type antipattern --task-type bug-fix --limit 5 --json
  ralph learnings query --error \"cannot find module\" --explain
  ralph learnings query --file '.test.ts' --file 'src/auth/*.ts'
  ralph learnings query --for \"Fix the login tests\" --format markdown")]
pub(crate) struct QueryArgs {
    /// Only those that `ralph recall` finds for this text, and that match about as much of it as the best does
    #[arg(value_name = "TEXT")]
    text: Vec<String>,
    /// Only those of this kind
    #[arg(long = "type", visible_alias = "kind", value_name = "KIND", value_parser = kinds())]
    kind: Option<LearningKind>,
    /// Only those that were learned at this kind of work; with --for, what kind of work it is
    #[arg(long, value_name = "TYPE", value_parser = task_types())]
    task_type: Option<TaskType>,
    /// Only those of this category
    #[arg(long, value_name = "CATEGORY")]
    category: Option<String>,
    /// Only those with this tag
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,
    /// Only those that are at least so sure, from 0 to 1
    #[arg(long, value_name = "X", default_value_t = 0.0, hide_default_value = true, allow_negative_numbers = true, value_parser = share)]
    min_confidence: f64,
    /// Only those that succeed at least so often, from 0 to 1
    #[arg(long, visible_alias = "min-success", value_name = "X", default_value_t = 0.0, hide_default_value = true, allow_negative_numbers = true, value_parser = share)]
    min_success_rate: f64,
    /// Only anti-patterns that warn of this error; may be given several times
    #[arg(long = "error", value_name = "PATTERN")]
    errors: Vec<String>,
    /// Only conventions that name a file whose path holds this, where * is anything within a name; may be given several times
    #[arg(long = "file", value_name = "PATTERN", conflicts_with = "errors")]
    files: Vec<String>,
    /// What a prompt for this work would hold of earlier runs; errors and files say more about the work
    #[arg(
        long = "for",
        visible_alias = "objective",
        value_name = "TEXT",
        conflicts_with_all = ["text", "category", "tag", "min_confidence", "min_success_rate"]
    )]
    objective: Option<String>,
    /// At most N, 0 for all; 10 by default, and with --for as many as a prompt would hold
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = from_zero::<usize>)]
    limit: Option<usize>,
    /// Show what each score is made of
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    format: FormatArgs,
}

pub(super) fn share(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err("allowed is a number from 0 to 1".to_owned()),
    }
}

pub(super) fn cmd_query(context: &Context<'_>, args: &QueryArgs) -> Result<(), CommandError> {
    let errors = args.errors()?;
    let files = args.files()?;
    let store = context.facts()?;
    if let Some(objective) = &args.objective {
        let work = Work {
            task_type: args.task_type.unwrap_or_else(|| task_type_of(objective, "")),
            text: &format!("{objective}\n{}", args.errors.join("\n")),
            files,
            errors,
            failure: None,
        };
        return for_work(context, store.as_ref(), args, &work);
    }
    let asked = Asked {
        task_type: args.task_type,
        errors: &errors,
        now: context.clock().now(),
    };
    let mut ranked: Vec<Ranked> = match &store {
        Some(store) => {
            let found = args.found(context, store, &asked, &files)?;
            context.tell_unreadable(store);
            found
        }
        None => Vec::new(),
    };
    // They come with the newest first, which decides where the scores do not.
    ranked.sort_by(|one, other| other.score().total_cmp(&one.score()));
    if let Some(limit) = args.most() {
        ranked.truncate(limit);
    }
    show(context, &ranked, args.format.get(), args.explain)
}

/// Shows what a prompt for some work would hold of earlier runs.
fn for_work(
    context: &Context<'_>,
    store: Option<&Store>,
    args: &QueryArgs,
    work: &Work<'_>,
) -> Result<(), CommandError> {
    let (mut known, settled) = match store {
        Some(store) => {
            let known = known_lessons(store, work, context.clock().now())?;
            context.tell_unreadable(store);
            (known, store.settled_conflicts()?)
        }
        None => (Vec::new(), Vec::new()),
    };
    known.retain(|lesson| args.kind.is_none_or(|kind| lesson.learning.kind == kind));
    if let Some(limit) = args.limit.filter(|limit| *limit > 0) {
        known.truncate(limit);
    }
    let summary = knowledge_summary(&known, &settled, context.config.context.knowledge_base);
    if args.format.get() == Format::Markdown {
        return context.ui.text(&summary.text);
    }
    let is_shown = |lesson: &KnownLesson| summary.shown.iter().any(|id| id == lesson.learning.id.as_str());
    let ranked: Vec<Ranked> = known.into_iter().filter(is_shown).map(Ranked::known).collect();
    show(context, &ranked, args.format.get(), args.explain)
}

/// How many are shown unless a person says how many.
const USUAL_LIMIT: usize = 10;

impl QueryArgs {
    /// At most how many are shown; none for all.
    fn most(&self) -> Option<usize> {
        Some(self.limit.unwrap_or(USUAL_LIMIT)).filter(|limit| *limit > 0)
    }

    fn errors(&self) -> Result<Vec<ErrorPattern>, CommandError> {
        let pattern = |text: &String| {
            ErrorPattern::of(text).ok_or_else(|| {
                let message = format!("the error {text:?} holds no word that could be looked for");
                CommandError::usage(message).hint("give words of its message, as in --error \"cannot find module\"")
            })
        };
        self.errors.iter().map(pattern).collect()
    }

    fn files(&self) -> Result<FilePatterns, CommandError> {
        if self
            .files
            .iter()
            .any(|pattern| pattern.trim_matches(['*', ' ']).is_empty())
        {
            let message = "a pattern for files has to hold a part of a path";
            return Err(CommandError::usage(message).hint("as in --file .test.ts or --file 'src/*.rs'"));
        }
        Ok(FilePatterns::of(&self.files))
    }

    /// What is asked for, the newest first where scores do not decide.
    fn found(
        &self,
        context: &Context<'_>,
        store: &Store,
        asked: &Asked<'_>,
        files: &FilePatterns,
    ) -> Result<Vec<Ranked>, CommandError> {
        let wanted = self.wanted(files);
        let question = self.text.join(" ");
        let is_asked = !question.trim().is_empty();
        // What is looked at more closely afterwards must not be cut before.
        let is_looked_at = !files.is_empty() || is_asked && !asked.errors.is_empty();
        let reach = match self.most() {
            Some(limit) if !is_looked_at => Reach::Best(limit),
            _ => Reach::All,
        };
        let mut found: Vec<Learning> = if is_asked {
            let mut answer = recall_learnings(store, &question, &wanted, reach)?;
            answer.hits.sort_by(|one, other| other.age.cmp(&one.age));
            say_what_was_forgiven(context.ui, &answer);
            let learning = |found| match found {
                Found::Learning(learning) => Some(*learning),
                Found::OnShelf { .. } | Found::Knowledge(_) => None,
            };
            answer.hits.into_iter().filter_map(|hit| learning(hit.item)).collect()
        } else if asked.errors.is_empty() {
            best_supported(store, &wanted, reach)?
        } else {
            warnings_of(store, asked.errors, &wanted, reach)?
        };
        found.retain(|learning| {
            let warns = asked.errors.is_empty() || asked.errors.iter().any(|error| error.is_in(learning));
            warns && (files.is_empty() || files.match_lesson(learning))
        });
        Ok(found
            .into_iter()
            .map(|learning| Ranked::asked(learning, asked))
            .collect())
    }

    fn wanted(&self, files: &FilePatterns) -> LearningQuery {
        let by_pattern = match (&self.errors[..], files.is_empty()) {
            ([_, ..], _) => Some(LearningKind::Antipattern),
            (_, false) => Some(LearningKind::Convention),
            _ => None,
        };
        LearningQuery {
            filter: LearningFilter {
                kind: self.kind.or(by_pattern),
                category: self.category.as_deref().map(category),
                task_type: self.task_type,
                tag: self.tag.as_deref().map(|tag| cleaned_tags([tag].into_iter()).concat()),
                ..LearningFilter::default()
            },
            min_confidence: self.min_confidence,
            min_success_rate: self.min_success_rate,
            files: files.longest_parts(),
        }
    }
}
