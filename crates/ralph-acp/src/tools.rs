//! The tool calls of a turn: what each is about, which files it writes, and whether it came to anything.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use ralph_model::{first_line, preview};
use serde_json::Value;

use crate::schema::{self, ToolCallContent, ToolCallStatus, ToolCallUpdate, ToolKind};

/// How much of what a tool is about is told.
const ABOUT_COLUMNS: usize = 200;

/// A call, as far as it was described.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Call {
    pub(crate) kind: ToolKind,
    /// The files that it names.
    pub(crate) paths: BTreeSet<PathBuf>,
    name: Option<String>,
    title: String,
    command: Option<String>,
}

impl Call {
    /// The tool's own name, else its kind.
    pub(crate) fn name(&self) -> String {
        let kind = || serde_json::to_value(self.kind).ok()?.as_str().map(str::to_owned);
        self.name.clone().or_else(kind).unwrap_or_else(|| "tool".to_owned())
    }

    /// What it is about: a command, a path, or what the agent calls it.
    pub(crate) fn about(&self) -> String {
        let path = self.paths.first().map(|path| path.to_string_lossy());
        let about = self.command.as_deref().or(path.as_deref()).unwrap_or(&self.title);
        preview(first_line(about), ABOUT_COLUMNS)
    }

    fn describe(&mut self, update: ToolCallUpdate) {
        let fields = update.fields;
        self.kind = fields.kind.unwrap_or(self.kind);
        self.name = fields.name.or(self.name.take());
        if let Some(title) = fields.title {
            self.title = preview(first_line(&title), ABOUT_COLUMNS);
        }
        let input = fields.raw_input.as_ref();
        if let Some(command) = input.and_then(|input| input.get("command")).and_then(command) {
            self.command = Some(preview(first_line(&command), ABOUT_COLUMNS));
        }
        let locations = fields.locations.unwrap_or_default();
        self.paths.extend(locations.into_iter().map(|location| location.path));
        for content in fields.content.unwrap_or_default() {
            if let ToolCallContent::Diff(diff) = content {
                self.paths.insert(diff.path);
            }
        }
    }
}

/// A command is a text, or words.
fn command(value: &Value) -> Option<String> {
    let words = || {
        Some(
            value
                .as_array()?
                .iter()
                .filter_map(Value::as_str)
                .collect::<Vec<_>>()
                .join(" "),
        )
    };
    value.as_str().map(str::to_owned).or_else(words)
}

fn id_of(described: &Value) -> Option<&str> {
    described.get("toolCallId")?.as_str()
}

/// The calls of a turn, by their ids.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    calls: BTreeMap<String, Call>,
    failed: BTreeSet<String>,
}

impl Calls {
    /// A call is described, or described further. None when it has no id.
    pub(crate) fn describe(&mut self, described: &Value) -> Option<&Call> {
        let update: ToolCallUpdate = schema::read(described)?;
        let id = update.tool_call_id.to_string();
        match update.fields.status {
            Some(ToolCallStatus::Failed) => drop(self.failed.insert(id.clone())),
            Some(ToolCallStatus::Completed) => drop(self.failed.remove(&id)),
            _ => {}
        }
        let call = self.calls.entry(id).or_default();
        call.describe(update);
        Some(call)
    }

    /// Whether a call was described before.
    pub(crate) fn is_known(&self, described: &Value) -> bool {
        id_of(described).is_some_and(|id| self.calls.contains_key(id))
    }

    /// It was not allowed.
    pub(crate) fn deny(&mut self, described: &Value) {
        if let Some(id) = id_of(described) {
            self.failed.insert(id.to_owned());
        }
    }

    /// The files that calls wrote which did not fail.
    pub(crate) fn writes(&mut self) -> Vec<PathBuf> {
        let calls = std::mem::take(&mut self.calls);
        let wrote = |id: &String, call: &Call| {
            matches!(call.kind, ToolKind::Edit | ToolKind::Move) && !self.failed.contains(id)
        };
        let written = calls.into_iter().filter(|(id, call)| wrote(id, call));
        let files: BTreeSet<PathBuf> = written.flat_map(|(_, call)| call.paths).collect();
        files.into_iter().collect()
    }
}
