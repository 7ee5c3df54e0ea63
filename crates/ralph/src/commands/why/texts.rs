//! First lines of entries: from the prompt or, for entries that were left out, from their current text.

use std::collections::HashMap;

use ralph_memory::inject::prompt::entry_in;
use ralph_model::{EntryKind, Injection, LearningId, NoteFileKind, first_line};
use ralph_store::Store;

use crate::commands::journal;
use crate::commands::task::in_short;
use crate::context::Context;
use crate::error::CommandError;
use crate::paths::Spelling;

pub(super) struct Texts<'a> {
    prompt: Option<&'a str>,
    store: Option<&'a Store>,
    /// The current text of notes, by kind and id.
    notes: HashMap<(EntryKind, String), String>,
}

impl<'a> Texts<'a> {
    pub(super) fn read(
        context: &Context<'_>,
        store: Option<&'a Store>,
        prompt: Option<&'a str>,
    ) -> Result<Self, CommandError> {
        let mut notes = HashMap::new();
        for (file_kind, kind) in [
            (NoteFileKind::Memories, EntryKind::Memory),
            (NoteFileKind::Guardrails, EntryKind::Guardrail),
        ] {
            let reading = context.note_repository(file_kind, Spelling::Own).read()?;
            for item in reading.document().items() {
                notes.insert((kind, item.id().to_owned()), first_line(item.content()).to_owned());
            }
        }
        // Problems with the folder are reported by the commands that need it.
        let titles = context.ask_knowledge(&[], |index| index.all_knowledge());
        for note in titles.unwrap_or_default() {
            notes.insert((EntryKind::Knowledge, note.file), note.title);
        }
        Ok(Self { prompt, store, notes })
    }

    /// The first line of an entry; empty if it is no longer known.
    pub(super) fn first_line(&self, injection: &Injection) -> Result<String, CommandError> {
        if let EntryKind::Journal | EntryKind::Report = injection.kind {
            return self.past(injection);
        }
        let injected = self.prompt.and_then(|prompt| entry_in(prompt, injection));
        if injection.kind == EntryKind::Knowledge {
            let heading = injected.map(|text| match first_line(text).trim_start_matches("### ") {
                // The title of an agent's entry is quoted below its file name.
                file if file == injection.id => text.lines().find_map(|line| line.strip_prefix("> ")).unwrap_or(file),
                title => title,
            });
            let title = self.notes.get(&(injection.kind, injection.id.clone()));
            return Ok(heading.or(title.map(String::as_str)).unwrap_or_default().to_owned());
        }
        if injection.kind == EntryKind::Learning {
            return match injected {
                Some(text) => Ok(learning(first_line(text))),
                None => self.learning_now(&injection.id),
            };
        }
        let injected = injected.map(|text| match text.split_once('\n') {
            Some((heading, text)) if heading.starts_with("### ") => text,
            _ => text,
        });
        let now = self.notes.get(&(injection.kind, injection.id.clone()));
        let text = injected.or(now.map(String::as_str)).unwrap_or_default();
        Ok(first_line(text).trim_start_matches("> ").to_owned())
    }

    /// The first line of a journal entry; for a report, why that attempt failed.
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

    /// The current text of a learning.
    fn learning_now(&self, id: &str) -> Result<String, CommandError> {
        let learning = match (self.store, LearningId::parse(id)) {
            (Some(store), Some(id)) => store.learning(&id)?,
            _ => None,
        };
        Ok(learning
            .map(|learning| format!("[{}] {}", learning.category, first_line(&learning.content)))
            .unwrap_or_default())
    }
}

/// A learning without the Markdown of the list.
fn learning(item: &str) -> String {
    match item.strip_prefix("- **") {
        Some(of_category) => of_category.replacen("]** ", "] ", 1),
        None => item.trim_start_matches("- ").to_owned(),
    }
}
