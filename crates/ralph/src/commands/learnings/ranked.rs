//! Learnings with their scores, and how to show them.

use jiff::Timestamp;
use ralph_memory::recall::{ErrorPattern, Relevance, RunLearning, Support};
use ralph_model::{Learning, TaskType, preview};
use serde_json::{Value, json};

use super::view;
use crate::cli::Format;
use crate::context::Context as CommandContext;
use crate::error::CommandError;
use crate::table::Column;
use crate::ui::{Line, Style, showing};

/// What a query says about the work.
pub(super) struct Context<'a> {
    pub(super) task_type: Option<TaskType>,
    pub(super) errors: &'a [ErrorPattern],
    pub(super) now: Timestamp,
}

/// A learning with its score.
pub(super) struct Ranked {
    learning: Learning,
    support: Support,
    /// Relevance to the work; none if the query names no work.
    relevance: Option<Relevance>,
    order: Order,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    BySupport,
    ByRelevance,
}

impl Ranked {
    /// A query result, scored by support.
    pub(super) fn asked(learning: Learning, asked: &Context<'_>) -> Self {
        let errors = ErrorPattern::count_in(asked.errors, &learning);
        let has_context = asked.task_type.is_some() || !asked.errors.is_empty();
        let errors = u32::try_from(errors).unwrap_or(u32::MAX);
        Self {
            support: Support::of(&learning),
            relevance: has_context.then(|| Relevance::of(&learning, asked.task_type, errors, asked.now)),
            learning,
            order: Order::BySupport,
        }
    }

    /// A learning for a task, scored by relevance.
    pub(super) fn known(learning: RunLearning) -> Self {
        Self {
            support: Support::of(&learning.learning),
            relevance: learning.relevance,
            learning: learning.learning,
            order: Order::ByRelevance,
        }
    }

    /// The score to sort by.
    pub(super) fn score(&self) -> f64 {
        match self.order {
            Order::BySupport => self.support.total(),
            Order::ByRelevance => self.relevance.map_or(0.0, |relevance| relevance.total()),
        }
    }

    fn object(&self, explain: bool) -> Value {
        let mut object = json!(self.learning);
        if let Some(object) = object.as_object_mut() {
            object.insert("score".to_owned(), json!(self.score()));
            if explain {
                object.insert("support".to_owned(), json!(self.support));
                object.insert("relevance".to_owned(), json!(self.relevance));
            }
        }
        object
    }

    fn row(&self) -> Vec<String> {
        vec![
            self.learning.id.to_string(),
            format!("{:.2}", self.score()),
            self.learning.category.clone(),
            format!("{:.2}", self.learning.confidence),
            view::uses(&self.learning),
            view::text(&self.learning),
        ]
    }

    /// The row with the terms of the score.
    fn explained(&self, with_relevance: bool) -> Vec<String> {
        let Support { confidence, rate, uses } = self.support;
        let mut row = vec![self.learning.id.to_string(), format!("{:.3}", self.score())];
        if with_relevance {
            let relevance = self.relevance.map_or_else(String::new, |relevance| sum(&relevance));
            row.push(relevance);
        }
        row.push(format!("{confidence:.2} × {rate:.2} × {uses:.2}"));
        row.push(view::text(&self.learning));
        row
    }
}

impl Ranked {
    /// The terms on lines below the learning, for narrow terminals; zero terms are left out.
    fn below(&self, width: usize) -> Vec<Line> {
        const INDENT: &str = "    ";
        let Support { confidence, rate, uses } = self.support;
        let head = format!(
            "{}  {:.3}  {}",
            self.learning.id,
            self.score(),
            view::text(&self.learning)
        );
        let fit = self.relevance.as_ref().map(|relevance| {
            let total = total(relevance);
            let terms = TERMS.iter().zip(terms(relevance)).filter(|(_, term)| *term > 0.0);
            let terms: Vec<String> = terms.map(|(name, term)| format!("{name} {term:.3}")).collect();
            format!("{INDENT}{} = {total}", terms.join(" + "))
        });
        let support = format!("{INDENT}confidence {confidence:.2} × rate {rate:.2} × uses {uses:.2}");
        let below = fit.into_iter().chain([support]).map(|line| (Some(Style::Faint), line));
        std::iter::once((None, preview(&head, width))).chain(below).collect()
    }
}

/// Names of the terms of a relevance.
const TERMS: [&str; 5] = ["confidence", "type", "success", "new", "errors"];

fn terms(relevance: &Relevance) -> [f64; 5] {
    let Relevance {
        confidence,
        task_type,
        success,
        recency,
        errors,
    } = *relevance;
    [confidence, task_type, success, recency, errors]
}

fn sum(relevance: &Relevance) -> String {
    let terms = terms(relevance).map(|term| format!("{term:.3}"));
    format!("{} = {}", terms.join(" + "), total(relevance))
}

/// The sum of the terms, and the score if it is capped below that.
fn total(relevance: &Relevance) -> String {
    let (sum, counts): (f64, f64) = (terms(relevance).iter().sum(), relevance.total());
    let [sum, counts] = [sum, counts].map(|number| format!("{number:.3}"));
    match sum == counts {
        true => sum,
        false => format!("{sum}, capped at {counts}"),
    }
}

pub(super) fn show(
    context: &CommandContext<'_>,
    ranked: &[Ranked],
    format: Format,
    explain: bool,
) -> Result<(), CommandError> {
    match format {
        Format::Json => {
            let objects: Vec<Value> = ranked.iter().map(|ranked| ranked.object(explain)).collect();
            context.ui.json(&objects)
        }
        Format::Table if explain && !ranked.is_empty() => {
            let with_relevance = ranked.iter().any(|ranked| ranked.relevance.is_some());
            let width = context.ui.width();
            if width < if with_relevance { WIDE_WITH_RELEVANCE } else { WIDE } {
                let mut lines: Vec<Line> = ranked.iter().flat_map(|ranked| ranked.below(width)).collect();
                let closing = showing(ranked.len(), "learning", "learnings");
                lines.extend([(None, String::new()), (None, closing)]);
                return context.ui.lines(&lines);
            }
            let relevance = with_relevance.then_some(SUM);
            let columns: Vec<Column> = [ID, SCORE]
                .into_iter()
                .chain(relevance)
                .chain([PRODUCT, view::TEXT])
                .collect();
            let row = |ranked: &Ranked| ranked.explained(with_relevance);
            context.ui.list((&columns, ranked), row, view::NOUNS, view::NONE_MATCH)
        }
        Format::Table => context
            .ui
            .list((&COLUMNS, ranked), Ranked::row, view::NOUNS, view::NONE_MATCH),
        other => view::plain(context, ranked.iter().map(|ranked| &ranked.learning), other),
    }
}

/// The narrowest terminal in which the table has room for the terms.
const WIDE: usize = 76;
const WIDE_WITH_RELEVANCE: usize = 120;

const ID: Column = Column::whole("ID");
const SCORE: Column = Column::whole("SCORE");
const SUM: Column = Column::whole("CONFIDENCE + TYPE + SUCCESS + NEW + ERRORS");
const PRODUCT: Column = Column::whole("CONFIDENCE × RATE × USES");
const COLUMNS: [Column; 6] = [
    ID,
    SCORE,
    Column::optional("CATEGORY"),
    Column::optional("CONFIDENCE"),
    Column::optional("SHOWN"),
    view::TEXT,
];
