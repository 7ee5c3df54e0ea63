//! `knowledge list`: lists knowledge entries.

use clap::Args;
use ralph_notes::{cleaned_tags, read_file};
use ralph_search::KnowledgeMetadata;
use serde_json::json;

use super::library::Library;
use crate::cli::{Format, FormatArgs};
use crate::commands::notes::view::FEW_TAGS_COLUMNS;
use crate::context::Context;
use crate::error::CommandError;
use crate::table::Column;

/// List knowledge entries, sorted by file name
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph knowledge list
  ralph knowledge list --tag docker,ci --json
  ralph knowledge list --feature uploads")]
pub(crate) struct ListArgs {
    /// Only entries with one of these tags, separated by commas
    #[arg(long = "tag", visible_alias = "tags", value_name = "TAGS", value_delimiter = ',')]
    tags: Vec<String>,
    /// Only entries about this feature
    #[arg(long, value_name = "NAME")]
    feature: Option<String>,
    #[command(flatten)]
    format: FormatArgs,
}

const COLUMNS: [Column; 5] = [
    Column::wide("FILE"),
    Column::optional("CREATED"),
    Column::optional("FEATURE"),
    Column::narrow("TAGS", FEW_TAGS_COLUMNS),
    Column::cut("TITLE"),
];

/// Characters of a date in the column.
const DATE_LENGTH: usize = 10;

pub(super) fn cmd_list(context: &Context<'_>, args: &ListArgs) -> Result<(), CommandError> {
    let library = Library::read(context)?;
    library.report_skipped(context);
    let tags = cleaned_tags(args.tags.iter().map(String::as_str));
    let wanted: Vec<&KnowledgeMetadata> = library
        .notes
        .iter()
        .filter(|note| args.tags.is_empty() || note.tags.iter().any(|tag| tags.contains(tag)))
        .filter(|note| args.feature.as_deref().is_none_or(|feature| is_about(note, feature)))
        .collect();
    match args.format.get() {
        Format::Json => context
            .ui
            .json(&wanted.iter().map(|note| object(note)).collect::<Vec<_>>()),
        Format::Quiet => {
            let names: String = wanted.iter().map(|note| format!("{}\n", note.file)).collect();
            context.ui.data(&names)
        }
        Format::Markdown => {
            let knowledge = context.knowledge();
            let mut texts = Vec::new();
            for note in &wanted {
                let text = read_file(&knowledge.path().join(&note.file))?;
                texts.extend(text.map(|text| String::from_utf8_lossy(&text.bytes).into_owned()));
            }
            context.ui.text(&texts.join("\n"))
        }
        Format::Table => {
            let nothing = match library.notes.is_empty() {
                true => "No knowledge yet.",
                false => "No matching knowledge found",
            };
            let nouns = ("entry", "entries");
            context.ui.list((&COLUMNS, &wanted), |note| row(note), nouns, nothing)
        }
    }
}

fn is_about(note: &KnowledgeMetadata, feature: &str) -> bool {
    let same = |own: &String| own.trim().to_lowercase() == feature.trim().to_lowercase();
    note.feature.as_ref().is_some_and(same)
}

/// The JSON form of an entry, without its text.
pub(super) fn object(note: &KnowledgeMetadata) -> serde_json::Value {
    json!({
        "file": note.file,
        "title": note.title,
        "tags": note.tags,
        "feature": note.feature,
        "created_at": note.created_at,
        "links": note.links,
    })
}

fn row(note: &KnowledgeMetadata) -> Vec<String> {
    let created = note.created_at.as_deref().unwrap_or_default();
    vec![
        note.file.clone(),
        created.chars().take(DATE_LENGTH).collect(),
        note.feature.clone().unwrap_or_default(),
        note.tags.join(", "),
        note.title.clone(),
    ]
}
