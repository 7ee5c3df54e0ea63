//! How search results are shown: the best-matching line, highlighted matches, and the terms of a score.

use clap::Args;
use ralph_memory::recall::{Answer, Found, Hit, Reach};
use ralph_model::{display_width, first_line, preview};
use serde_json::{Value, json};

use super::listed::Listed;
use super::view;
use crate::cli::{Format, FormatArgs};
use crate::context::Context;
use crate::error::CommandError;
use crate::table::{Column, Fit, Shape};
use crate::ui::{Style, Ui, showing};

/// Results shown without `--all`.
const SHOWN: usize = 10;
/// Least columns for the matching line next to the title of a knowledge entry.
const MIN_LINE_COLUMNS: usize = 12;
/// How many fuzzily matched words are listed.
const FUZZY_NAMED: usize = 3;

/// Options for showing search results.
#[derive(Debug, Args)]
pub(crate) struct FoundArgs {
    /// Show all results instead of the best 10
    #[arg(long)]
    all: bool,
    /// Show how each score is computed
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    format: FormatArgs,
}

/// The rest of a query typed without quotes. The first word may begin with a hyphen; these may not, so flags still
/// work.
#[derive(Debug, Args)]
pub(crate) struct MoreWords {
    #[arg(value_name = "WORD", hide = true)]
    more: Vec<String>,
}

impl MoreWords {
    /// The whole query.
    pub(crate) fn after(&self, first: &str) -> String {
        let words = std::iter::once(first).chain(self.more.iter().map(String::as_str));
        words.collect::<Vec<_>>().join(" ")
    }
}

/// Names and columns for the results.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Nouns {
    pub(crate) one: &'static str,
    pub(crate) many: &'static str,
    /// Title of the text column.
    pub(crate) column: &'static str,
    /// The columns before the text, the id first.
    pub(crate) head: [Column; 4],
}

impl FoundArgs {
    pub(crate) fn reach(&self) -> Reach {
        if self.all { Reach::All } else { Reach::Best(SHOWN) }
    }

    pub(crate) fn limit(&self) -> usize {
        if self.all { usize::MAX } else { SHOWN }
    }

    pub(crate) fn format(&self) -> Format {
        self.format.get()
    }

    pub(crate) fn show(&self, context: &Context<'_>, answer: &Answer, nouns: Nouns) -> Result<(), CommandError> {
        let ui = context.ui;
        report_fuzzy_matches(ui, answer);
        match self.format() {
            Format::Json => ui.json(&answer.hits.iter().map(|hit| self.object(hit)).collect::<Vec<_>>()),
            Format::Quiet => ui.data(
                &answer
                    .hits
                    .iter()
                    .map(|hit| format!("{}\n", hit.item.id()))
                    .collect::<String>(),
            ),
            Format::Markdown => {
                let entries: Vec<String> = answer.hits.iter().map(|hit| hit.item.markdown()).collect();
                ui.text(&entries.join("\n"))
            }
            Format::Table if answer.hits.is_empty() => ui.data(&format!("No matching {} found\n", nouns.many)),
            Format::Table => {
                let columns = self.columns(nouns);
                let rows: Vec<Vec<String>> = answer.hits.iter().map(|hit| self.row(answer, hit)).collect();
                let closing = showing(rows.len(), nouns.one, nouns.many);
                ui.table_with(&columns, &rows, &closing, &Matches { ui, answer })
            }
        }
    }

    fn object(&self, hit: &Hit) -> Value {
        let mut object = json!(hit.item);
        if self.explain
            && let Some(object) = object.as_object_mut()
        {
            let mut score = serde_json::Map::new();
            score.insert("total".to_owned(), rounded(hit.score.total()));
            for (name, part) in hit.score.parts() {
                score.insert(name.to_owned(), rounded(part));
            }
            object.insert("shelf".to_owned(), json!(hit.item.source_word()));
            object.insert("score".to_owned(), Value::Object(score));
        }
        object
    }

    fn columns(&self, nouns: Nouns) -> Vec<Column> {
        if !self.explain {
            return view::with_text(&nouns.head, nouns.column);
        }
        let column = |title, fit| Column { title, fit };
        let head = [nouns.head[0], column("SCORE", Fit::Whole)];
        let parts = ["WORDS", "NAMES", "PHRASES", "TAGS"].map(|title| column(title, Fit::Optional));
        view::with_text(&[&head[..], &parts].concat(), nouns.column)
    }

    fn row(&self, answer: &Answer, hit: &Hit) -> Vec<String> {
        let mut row = if self.explain {
            let parts = hit.score.parts().map(|(_, part)| format!("{part:.2}"));
            let head = [hit.item.id().to_owned(), format!("{:.2}", hit.score.total())];
            head.into_iter().chain(parts).collect()
        } else {
            view::head(&hit.item)
        };
        let line = best_line(answer, hit.item.content());
        row.push(match &hit.item {
            Found::Note { .. } => line.to_owned(),
            Found::Knowledge(note) => format!("{}: {line}", note.outline.title),
            Found::Learning(learning) => format!("[{}] {line}", learning.category),
        });
        row
    }
}

/// The line with the most matches; the first line if none matches.
fn best_line<'t>(answer: &Answer, text: &'t str) -> &'t str {
    let mut best = (0, first_line(text));
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    if lines().nth(1).is_none() {
        return best.1;
    }
    for line in lines() {
        let matches = answer.places_in(line).len();
        if matches > best.0 {
            best = (matches, line);
        }
    }
    best.1
}

/// Cuts texts around the first match and highlights matches.
struct Matches<'a> {
    ui: &'a Ui,
    answer: &'a Answer,
}

impl Shape for Matches<'_> {
    /// A knowledge entry keeps its title, then the matching part: people look for the title.
    fn cut(&self, text: &str, columns: usize) -> String {
        let Some((title, line)) = self.title_and_line(text).filter(|_| display_width(text) > columns) else {
            return self.around_match(text, columns);
        };
        let least = columns / 3;
        if least < MIN_LINE_COLUMNS {
            return preview(title, columns);
        }
        let title = format!("{}: ", preview(title, columns - least));
        let left = columns.saturating_sub(display_width(&title));
        format!("{title}{}", self.around_match(line, left))
    }

    fn paint(&self, cut: &str) -> String {
        if !self.ui.has_colors() {
            return cut.to_owned();
        }
        let mut painted = String::with_capacity(cut.len());
        let mut done = 0;
        for place in self.answer.places_in(cut) {
            painted.push_str(cut.get(done..place.start).unwrap_or_default());
            painted.push_str(&self.ui.paint(Style::Match, cut.get(place.clone()).unwrap_or_default()));
            done = place.end;
        }
        painted.push_str(cut.get(done..).unwrap_or_default());
        painted
    }
}

impl Matches<'_> {
    /// Splits the text of a row into title and line, if it shows a knowledge entry.
    fn title_and_line<'t>(&self, text: &'t str) -> Option<(&'t str, &'t str)> {
        self.answer.hits.iter().find_map(|hit| {
            let Found::Knowledge(note) = &hit.item else { return None };
            let line = text.strip_prefix(note.outline.title.as_str())?.strip_prefix(": ")?;
            text.get(..note.outline.title.len()).map(|title| (title, line))
        })
    }

    /// The part of a text around its first match.
    fn around_match(&self, text: &str, columns: usize) -> String {
        if display_width(text) <= columns {
            return preview(text, columns);
        }
        let Some(first) = self.answer.places_in(text).into_iter().next() else {
            return preview(text, columns);
        };
        let before = text.get(..first.start).unwrap_or_default();
        if display_width(text.get(..first.end).unwrap_or_default()) < columns {
            return preview(text, columns);
        }
        // Keep up to a quarter of the width for words before the match.
        let lead = columns / 4;
        let near = before.char_indices().rev().take(lead);
        let start = near
            .filter(|(_, c)| c.is_whitespace())
            .map(|(at, c)| at + c.len_utf8())
            .take_while(|at| display_width(before.get(*at..).unwrap_or_default()) <= lead)
            .last()
            .unwrap_or(first.start);
        preview(&format!("…{}", text.get(start..).unwrap_or_default()), columns)
    }
}

/// Reports fuzzy matches, with the words as the notes spell them.
pub(crate) fn report_fuzzy_matches(ui: &Ui, answer: &Answer) {
    if answer.corrected.is_empty() || answer.hits.is_empty() {
        return;
    }
    let mut words: Vec<String> = Vec::new();
    for hit in &answer.hits {
        for text in [Listed::content(&hit.item), hit.item.tags()] {
            for place in answer.places_in(&text) {
                let word = text.get(place).unwrap_or_default().to_lowercase();
                if words.len() < FUZZY_NAMED && !words.contains(&word) {
                    words.push(word);
                }
            }
        }
    }
    // The match may be in a field that is not shown, such as the category of a learning.
    let words = match words.as_slice() {
        [] => String::new(),
        words => format!(": {}", words.join(", ")),
    };
    ui.status(&format!("No exact matches; showing results for similar words{words}."));
}

fn rounded(number: f64) -> Value {
    json!((number * 1000.0).round() / 1000.0)
}
