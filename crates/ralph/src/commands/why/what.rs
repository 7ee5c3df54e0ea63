//! The beginning of what entries say: as it stood in the prompt or, where it did not stand there, as it is now.

use std::collections::HashMap;

use ralph_memory::catalogue::Catalogue;
use ralph_memory::inject::prompt::entry_in;
use ralph_model::{EntryKind, Injection, LearningId, Shelf, first_line};
use ralph_store::Store;

use crate::commands::journal;
use crate::commands::task::in_short;
use crate::context::Context;
use crate::error::CommandError;
use crate::paths::Spelling;

/// Where texts of entries are looked up.
pub(super) struct Texts<'a> {
    prompt: Option<&'a str>,
    store: Option<&'a Store>,
    /// What the notes say now, by kind and id.
    notes: HashMap<(EntryKind, String), String>,
}

impl<'a> Texts<'a> {
    pub(super) fn read(
        context: &Context<'_>,
        store: Option<&'a Store>,
        prompt: Option<&'a str>,
    ) -> Result<Self, CommandError> {
        let mut notes = HashMap::new();
        for (shelf, kind) in [
            (Shelf::Memories, EntryKind::Memory),
            (Shelf::Guardrails, EntryKind::Guardrail),
        ] {
            let reading = context.notebook(shelf, Spelling::Own).read()?;
            for item in reading.document().items() {
                notes.insert((kind, item.id().to_owned()), first_line(item.content()).to_owned());
            }
        }
        // Only to show them; what is wrong with the folder is told where it is asked for.
        let titles = context.ask_knowledge(&[], Catalogue::knowledge_outlines);
        for note in titles.unwrap_or_default() {
            notes.insert((EntryKind::Knowledge, note.file), note.title);
        }
        Ok(Self { prompt, store, notes })
    }

    /// The first line of what an entry says; nothing where that is not known any more.
    pub(super) fn beginning(&self, injection: &Injection) -> Result<String, CommandError> {
        if let EntryKind::Journal | EntryKind::Report = injection.kind {
            return self.past(injection);
        }
        let stood = self.prompt.and_then(|prompt| entry_in(prompt, injection));
        if injection.kind == EntryKind::Knowledge {
            let heading = stood.map(|text| match first_line(text).trim_start_matches("### ") {
                // The title of an agent's entry is quoted below its file.
                file if file == injection.id => text.lines().find_map(|line| line.strip_prefix("> ")).unwrap_or(file),
                title => title,
            });
            let title = self.notes.get(&(injection.kind, injection.id.clone()));
            return Ok(heading.or(title.map(String::as_str)).unwrap_or_default().to_owned());
        }
        if injection.kind == EntryKind::Learning {
            return match stood {
                Some(text) => Ok(lesson(first_line(text))),
                None => self.lesson_now(&injection.id),
            };
        }
        let stood = stood.map(|text| match text.split_once('\n') {
            Some((heading, text)) if heading.starts_with("### ") => text,
            _ => text,
        });
        let now = self.notes.get(&(injection.kind, injection.id.clone()));
        let text = stood.or(now.map(String::as_str)).unwrap_or_default();
        Ok(first_line(text).trim_start_matches("> ").to_owned())
    }

    /// What the journal says of an iteration; of a report, why that attempt failed.
    fn past(&self, injection: &Injection) -> Result<String, CommandError> {
        let (Some(store), Ok(id)) = (self.store, injection.id.parse()) else {
            return Ok(String::new());
        };
        let Some(row) = store.journal_row(id)? else {
            return Ok(String::new());
        };
        if injection.kind == EntryKind::Journal {
            return Ok(journal::what(&row.row));
        }
        let report = store.report_of(id)?;
        let texts = [
            report.as_ref().map(|kept| kept.report.why_failed.as_str()),
            Some(row.row.reason.as_str()),
        ];
        let why = texts.into_iter().flatten().map(in_short).find(|why| !why.is_empty());
        let why = why.unwrap_or_else(|| row.row.outcome.to_string());
        Ok(format!("attempt {}: {why}", row.row.attempt))
    }

    /// What a lesson says now.
    fn lesson_now(&self, id: &str) -> Result<String, CommandError> {
        let learning = match (self.store, LearningId::parse(id)) {
            (Some(store), Some(id)) => store.learning(&id)?,
            _ => None,
        };
        Ok(learning
            .map(|learning| format!("[{}] {}", learning.category, first_line(&learning.content)))
            .unwrap_or_default())
    }
}

/// A lesson as it stood in a list, without the signs of the list.
fn lesson(item: &str) -> String {
    match item.strip_prefix("- **") {
        Some(of_category) => of_category.replacen("]** ", "] ", 1),
        None => item.trim_start_matches("- ").to_owned(),
    }
}
