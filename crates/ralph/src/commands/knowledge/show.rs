//! `knowledge show`: a long note whole, with its links in both directions.

use clap::Args;
use ralph_memory::catalogue::KnowledgeOutline;
use ralph_model::count;
use ralph_notes::{Knowledge, read_file};
use serde_json::json;

use super::library::Library;
use super::list;
use crate::cli::{Format, FormatArgs};
use crate::context::Context;
use crate::error::CommandError;
use crate::ui::Style;

/// Show a long note whole, and what it links to and is linked from
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph knowledge show the-test-database
  ralph knowledge show \"The test database\" --json
  ralph knowledge show the-test --format markdown     # the file as it is")]
pub(crate) struct ShowArgs {
    /// Its file, with or without .md, or its title, or the beginning of either
    #[arg(value_name = "NAME")]
    name: String,
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
    // Somebody may have saved it since it was found.
    let body = Knowledge::parse(&text.bytes)
        .map_err(|problem| CommandError::new(format!("{} is no note: {problem}", context.project.shown(&path))))?
        .body;
    let from = library.linking_to(note);
    let replaced: Vec<String> = context
        .knowledge()
        .replaced(&note.file)?
        .iter()
        .map(|kept| context.project.shown(kept).to_string())
        .collect();
    if args.format.get() == Format::Json {
        let mut object = whole(&library, note, &body, &from);
        if let Some(object) = object.as_object_mut() {
            object.insert("replaced".to_owned(), json!(replaced));
        }
        return context.ui.json(&object);
    }
    let mut lines = head(context, &path, note);
    if let Some(last) = replaced.last() {
        let texts = count(replaced.len(), "earlier text is", "earlier texts are");
        let newest = if replaced.len() == 1 { "" } else { ", the last of them" };
        lines.push((None, format!("history: {texts} kept{newest} in {last}")));
    }
    lines.push((None, String::new()));
    lines.extend(body.lines().map(|line| (None, line.to_owned())));
    if !note.links.is_empty() {
        lines.push((None, String::new()));
        lines.push((Some(Style::Strong), "Links to".to_owned()));
        for title in &note.links {
            let target = library.linked(title);
            let target = target.map_or("there is no such note", |target| target.file.as_str());
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

fn head(context: &Context<'_>, path: &std::path::Path, note: &KnowledgeOutline) -> Vec<(Option<Style>, String)> {
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

fn whole(library: &Library, note: &KnowledgeOutline, body: &str, from: &[&KnowledgeOutline]) -> serde_json::Value {
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
