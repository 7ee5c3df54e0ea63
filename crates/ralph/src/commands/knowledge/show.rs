//! `knowledge show`: shows a knowledge entry, with its links in both directions.

use clap::Args;
use ralph_model::{count, format_timestamp};
use ralph_notes::{Knowledge, read_file};
use ralph_search::KnowledgeMetadata;
use ralph_store::KnowledgeVersion;
use serde_json::json;

use super::library::Library;
use super::list;
use crate::cli::{Format, FormatArgs};
use crate::context::Context;
use crate::error::CommandError;
use crate::ui::Style;

/// Show a knowledge entry and its links
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph knowledge show the-test-database
  ralph knowledge show \"The test database\" --json
  ralph knowledge show the-test --format markdown     # the file itself")]
pub(crate) struct ShowArgs {
    /// File with or without .md, title, or a unique prefix of either
    #[arg(value_name = "NAME")]
    name: String,
    /// Show every version, with its author
    #[arg(long)]
    history: bool,
    #[command(flatten)]
    format: FormatArgs,
}

pub(super) fn cmd_show(context: &Context<'_>, args: &ShowArgs) -> Result<(), CommandError> {
    let library = Library::read(context)?;
    let note = library.find(&args.name)?;
    let path = context.knowledge().path().join(&note.file);
    let text = read_file(&path)?.ok_or_else(|| library.not_found(&args.name))?;
    match args.format.get() {
        Format::Quiet => return context.ui.data(&format!("{}\n", note.file)),
        Format::Markdown => return context.ui.text(&String::from_utf8_lossy(&text.bytes)),
        Format::Json | Format::Table => {}
    }
    // The file may have changed since it was indexed.
    let body = Knowledge::parse(&text.bytes)
        .map_err(|problem| {
            CommandError::new(format!(
                "{} is not a valid entry: {problem}",
                context.project.shown(&path)
            ))
        })?
        .body;
    let from = library.linking_to(note);
    let knowledge = context.knowledge();
    knowledge.detect_changes(context.clock().now());
    let versions = knowledge.history(&note.file)?;
    if args.format.get() == Format::Json {
        let mut object = whole(&library, note, &body, &from);
        if args.history
            && let Some(object) = object.as_object_mut()
        {
            let versions: Vec<_> = versions.iter().map(version).collect();
            object.insert("versions".to_owned(), json!(versions));
        }
        return context.ui.json(&object);
    }
    let mut lines = head(context, &path, note);
    if args.history {
        lines.extend(versions.iter().map(|version| (None, version_line(version))));
    } else if versions.len() > 1 {
        let versions = count(versions.len(), "version", "versions");
        lines.push((None, format!("history: {versions}; see --history")));
    }
    lines.push((None, String::new()));
    lines.extend(body.lines().map(|line| (None, line.to_owned())));
    if !note.links.is_empty() {
        lines.push((None, String::new()));
        lines.push((Some(Style::Strong), "Links to".to_owned()));
        for title in &note.links {
            let target = library.linked(title);
            let target = target.map_or("no such entry", |target| target.file.as_str());
            lines.push((None, format!("  {title} ({target})")));
        }
    }
    if !from.is_empty() {
        lines.push((None, String::new()));
        lines.push((Some(Style::Strong), "Linked from".to_owned()));
        lines.extend(
            from.iter()
                .map(|other| (None, format!("  {} ({})", other.title, other.file))),
        );
    }
    context.ui.lines(&lines)
}

fn version(version: &KnowledgeVersion) -> serde_json::Value {
    let KnowledgeVersion { number, at, change, .. } = version;
    json!({
        "version": number,
        "at": format_timestamp(*at),
        "action": change.action.word(),
        "author": change.author.kind.word(),
        "run": change.author.run,
        "iteration": change.author.iteration,
        "text": change.text,
    })
}

fn version_line(version: &KnowledgeVersion) -> String {
    let KnowledgeVersion { number, at, change, .. } = version;
    let action = change.action.word().replace('_', " ");
    format!("version {number}: {action} {at:.0} by {}", change.author)
}

fn head(context: &Context<'_>, path: &std::path::Path, note: &KnowledgeMetadata) -> Vec<(Option<Style>, String)> {
    let mut lines = vec![(Some(Style::Strong), note.title.clone())];
    let mut line = |text: String| lines.push((None, text));
    line(format!("file: {}", context.project.shown(path)));
    line(format!("tags: {}", note.tags.join(", ")));
    if let Some(feature) = &note.feature {
        line(format!("feature: {feature}"));
    }
    if let Some(created) = &note.created_at {
        line(format!("created: {created}"));
    }
    lines
}

fn whole(library: &Library, note: &KnowledgeMetadata, body: &str, from: &[&KnowledgeMetadata]) -> serde_json::Value {
    let links: Vec<_> = note
        .links
        .iter()
        .map(|title| json!({ "title": title, "file": library.linked(title).map(|target| &target.file) }))
        .collect();
    let linked_from: Vec<&str> = from.iter().map(|other| other.file.as_str()).collect();
    let mut object = list::object(note);
    if let Some(object) = object.as_object_mut() {
        object.insert("links".to_owned(), json!(links));
        object.insert("linked_from".to_owned(), json!(linked_from));
        object.insert("body".to_owned(), json!(body));
    }
    object
}
