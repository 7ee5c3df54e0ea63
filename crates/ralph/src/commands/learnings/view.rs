//! How learnings are shown.

use ralph_memory::inject::prompt::lesson_item;
use ralph_model::{Learning, LearningStatus, with_figures};

use super::super::task::in_short;
use crate::cli::Format;
use crate::context::Context;
use crate::error::CommandError;
use crate::table::{Column, Fit};
use crate::ui::showing;

/// Said when there is none at all.
pub(super) const NONE_YET: &str = "No learnings yet.";
/// Said when there are learnings, and none is wanted.
pub(super) const NONE_MATCH: &str = "No matching learnings found";

const COLUMNS: [Column; 7] = [
    Column {
        title: "ID",
        fit: Fit::Whole,
    },
    Column {
        title: "STATUS",
        fit: Fit::Whole,
    },
    Column {
        title: "CATEGORY",
        fit: Fit::Optional,
    },
    Column {
        title: "CONFIDENCE",
        fit: Fit::Optional,
    },
    Column {
        title: "SHOWN",
        fit: Fit::Optional,
    },
    Column {
        title: "TAGS",
        fit: Fit::Optional,
    },
    TEXT,
];

/// What a learning says, which takes the room that is left.
pub(super) const TEXT: Column = Column {
    title: "LEARNING",
    fit: Fit::Cut,
};

/// Shows learnings in a list; `nothing` is said when there are none.
pub(super) fn list(
    context: &Context<'_>,
    learnings: &[Learning],
    nothing: &str,
    format: Format,
) -> Result<(), CommandError> {
    match format {
        Format::Json => context.ui.json(&learnings),
        Format::Table if learnings.is_empty() => context.ui.data(&format!("{nothing}\n")),
        Format::Table => {
            let rows: Vec<Vec<String>> = learnings.iter().map(row).collect();
            let mut closing = showing(rows.len(), "learning", "learnings");
            if learnings.iter().any(|learning| why_in_no_prompt(learning).is_some()) {
                closing.push_str("; what is out stands in no prompt, and `ralph learnings show ID` says why");
            }
            context.ui.table(&COLUMNS, &rows, &closing)
        }
        other => plain(context, learnings.iter(), other),
    }
}

/// Shows learnings as ids, or as they stand in prompts, with their tags.
pub(super) fn plain<'l>(
    context: &Context<'_>,
    learnings: impl Iterator<Item = &'l Learning>,
    format: Format,
) -> Result<(), CommandError> {
    let line = |learning: &Learning| match format {
        Format::Markdown => with_tags(learning),
        _ => format!("{}\n", learning.id),
    };
    let text: String = learnings.map(line).collect();
    match format {
        Format::Markdown => context.ui.text(&text),
        _ => context.ui.data(&text),
    }
}

/// A learning as it stands in prompts, with the tags that it is chosen by.
fn with_tags(learning: &Learning) -> String {
    let item = lesson_item(learning);
    match learning.tags.as_slice() {
        [] => item,
        tags => format!("{item}  <!-- tags: {} -->\n", tags.join(", ")),
    }
}

pub(super) fn table(context: &Context<'_>, columns: &[Column], rows: &[Vec<String>]) -> Result<(), CommandError> {
    let closing = showing(rows.len(), "learning", "learnings");
    context.ui.table(columns, rows, &closing)
}

/// What a learning says, on a line.
pub(super) fn text(learning: &Learning) -> String {
    let line = in_short(&with_figures(&learning.content, learning.facts.as_ref()));
    match learning.examples.len() {
        0 => line,
        more => format!("{line} (+{more})"),
    }
}

/// How often it stood in a prompt, and how often that ended well.
pub(super) fn uses(learning: &Learning) -> String {
    format!("{}/{}", learning.successes, learning.use_count)
}

/// Why a learning that holds, or waits to, stands in no prompt; none where it may stand there.
pub(super) fn why_in_no_prompt(learning: &Learning) -> Option<String> {
    let may_hold = matches!(learning.status, LearningStatus::Promoted | LearningStatus::Validated);
    learning
        .why_not_shown()
        .filter(|_| may_hold && learning.superseded_by.is_none())
}

fn row(learning: &Learning) -> Vec<String> {
    let out = why_in_no_prompt(learning).map(|_| ", out").unwrap_or_default();
    vec![
        learning.id.to_string(),
        format!("{}{out}", learning.status),
        learning.category.clone(),
        format!("{:.2}", learning.confidence),
        uses(learning),
        learning.tags.join(","),
        text(learning),
    ]
}
