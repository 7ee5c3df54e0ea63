//! `learnings query`: finds the best-supported learnings, with their scores.

use clap::Args;
use ralph_memory::inject::prompt::knowledge_summary;
use ralph_memory::recall::{
    ErrorPattern, FilePatterns, Found, Reach, RunLearning, Work, best_supported, recall_learnings, run_learnings,
    warnings_of,
};
use ralph_model::{Learning, LearningKind, TaskType};
use ralph_notes::cleaned_tags;
use ralph_search::task_type_of;
use ralph_store::{LearningFilter, LearningQuery, Store};

use super::super::notes::found::report_fuzzy_matches;
use super::ranked::{Context as Asked, Ranked, show};
use super::{category, kinds, task_types};
use crate::cli::{Format, FormatArgs};
use crate::context::Context;
use crate::error::CommandError;
use crate::numbers::from_zero;

/// Find the best-supported learnings
///
/// Sorted by confidence × rate × log10(uses + 10). The rate is the success rate, or for anti-patterns the failure rate.
///
/// With --for, shows what a prompt for such a task would contain, the most relevant of each kind: confidence × 0.4, +
/// 0.3 for the same task type, + rate × 0.2, + up to 0.1 for new ones, + 0.3 for each --error that an anti-pattern
/// mentions (several that name the same failure count once); at most 1.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph learnings query
  ralph learnings query \"failing tests\" --min-confidence 0.6
  ralph learnings query --type antipattern --task-type bug-fix --limit 5 --json
  ralph learnings query --error \"cannot find module\" --explain
  ralph learnings query --file '.test.ts' --file 'src/auth/*.ts'
  ralph learnings query --for \"Fix the login tests\" --format markdown")]
pub(crate) struct QueryArgs {
    /// Only learnings that match this text about as well as the best match
    #[arg(value_name = "TEXT")]
    text: Vec<String>,
    /// Only learnings of this kind
    #[arg(long = "type", visible_alias = "kind", value_name = "KIND", value_parser = kinds())]
    kind: Option<LearningKind>,
    /// Only learnings from tasks of this type; with --for, the type of the task
    #[arg(long, value_name = "TYPE", value_parser = task_types())]
    task_type: Option<TaskType>,
    /// Only learnings of this category
    #[arg(long, value_name = "CATEGORY")]
    category: Option<String>,
    /// Only learnings with this tag
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,
    /// Minimum confidence, from 0 to 1
    #[arg(long, value_name = "X", default_value_t = 0.0, hide_default_value = true, allow_negative_numbers = true, value_parser = share)]
    min_confidence: f64,
    /// Minimum success rate, from 0 to 1
    #[arg(long, visible_alias = "min-success", value_name = "X", default_value_t = 0.0, hide_default_value = true, allow_negative_numbers = true, value_parser = share)]
    min_success_rate: f64,
    /// Only anti-patterns that mention this error; repeatable
    #[arg(long = "error", value_name = "PATTERN")]
    errors: Vec<String>,
    /// Only conventions about files whose path contains this; * matches within a name; repeatable
    #[arg(long = "file", value_name = "PATTERN", conflicts_with = "errors")]
    files: Vec<String>,
    /// Show what a prompt for this task would contain; combine with --error and --file
    #[arg(
        long = "for",
        visible_alias = "objective",
        value_name = "TEXT",
        conflicts_with_all = ["text", "category", "tag", "min_confidence", "min_success_rate"]
    )]
    objective: Option<String>,
    /// Maximum number of learnings, 0 for all; 10 by default, with --for as many as a prompt would contain
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = from_zero::<usize>)]
    limit: Option<usize>,
    /// Show how each score is computed
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    format: FormatArgs,
}

pub(super) fn share(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err("expected a number from 0 to 1".to_owned()),
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
        Some(store) => args.found(context, store, &asked, &files)?,
        None => Vec::new(),
    };
    // The sort is stable, so of equal scores the newest stays first.
    ranked.sort_by(|one, other| other.score().total_cmp(&one.score()));
    if let Some(limit) = args.max_shown() {
        ranked.truncate(limit);
    }
    show(context, &ranked, args.format.get(), args.explain)
}

/// Shows what a prompt for this work would contain.
fn for_work(
    context: &Context<'_>,
    store: Option<&Store>,
    args: &QueryArgs,
    work: &Work<'_>,
) -> Result<(), CommandError> {
    let (mut known, settled) = match store {
        Some(store) => {
            let now = context.clock().now();
            let known = context.ask_facts(store, |index| run_learnings((index, store), work, now))?;
            (known, store.settled_conflicts()?)
        }
        None => (Vec::new(), Vec::new()),
    };
    known.retain(|learning| args.kind.is_none_or(|kind| learning.learning.kind == kind));
    if let Some(limit) = args.limit.filter(|limit| *limit > 0) {
        known.truncate(limit);
    }
    let summary = knowledge_summary(&known, &settled, context.config.context.knowledge_base);
    if args.format.get() == Format::Markdown {
        return context.ui.text(&summary.text);
    }
    let is_injected = |learning: &RunLearning| summary.shown.iter().any(|id| id == learning.learning.id.as_str());
    let ranked: Vec<Ranked> = known.into_iter().filter(is_injected).map(Ranked::known).collect();
    show(context, &ranked, args.format.get(), args.explain)
}

/// Results shown without `--limit`.
const DEFAULT_LIMIT: usize = 10;

impl QueryArgs {
    /// The limit on results; none for all.
    fn max_shown(&self) -> Option<usize> {
        Some(self.limit.unwrap_or(DEFAULT_LIMIT)).filter(|limit| *limit > 0)
    }

    fn errors(&self) -> Result<Vec<ErrorPattern>, CommandError> {
        let pattern = |text: &String| {
            ErrorPattern::of(text).ok_or_else(|| {
                let message = format!("the error {text:?} has no searchable word");
                CommandError::usage(message).hint("quote words of its message, as in --error \"cannot find module\"")
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
            let message = "a file pattern needs a part of a path";
            return Err(CommandError::usage(message).hint("as in --file .test.ts or --file 'src/*.rs'"));
        }
        Ok(FilePatterns::of(&self.files))
    }

    /// The matching learnings, newest first among equal scores.
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
        // Do not limit a list that is filtered further below.
        let is_filtered = !files.is_empty() || is_asked && !asked.errors.is_empty();
        let reach = match self.max_shown() {
            Some(limit) if !is_filtered => Reach::Best(limit),
            _ => Reach::All,
        };
        let mut found: Vec<Learning> = if is_asked {
            let mut answer = context.ask_facts(store, |index| {
                recall_learnings((index, store), &question, &wanted, reach)
            })?;
            answer.hits.sort_by(|one, other| other.age.cmp(&one.age));
            report_fuzzy_matches(context.ui, &answer);
            let learning = |found| match found {
                Found::Learning(learning) => Some(*learning),
                Found::Note { .. } | Found::Knowledge(_) => None,
            };
            answer.hits.into_iter().filter_map(|hit| learning(hit.item)).collect()
        } else if asked.errors.is_empty() {
            best_supported(store, &wanted, reach)?
        } else {
            context.ask_facts(store, |index| warnings_of((index, store), asked.errors, &wanted, reach))?
        };
        found.retain(|learning| {
            let mentions_error = asked.errors.is_empty() || asked.errors.iter().any(|error| error.is_in(learning));
            mentions_error && (files.is_empty() || files.match_learning(learning))
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
