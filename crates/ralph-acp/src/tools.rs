//! The tool calls of a turn: their subject, the files they write, and whether they succeeded.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;

use ralph_model::{first_line, preview};
use serde_json::Value;

use crate::schema::{self, ToolCallContent, ToolCallStatus, ToolCallUpdate, ToolKind};

const ABOUT_COLUMNS: usize = 200;
/// The limits for kept calls, for files of dropped calls, and for files per call.
const MAX_CALLS: usize = 4_096;
const MAX_WRITES: usize = 4_096;
const MAX_PATHS: usize = 64;
/// The longest call id and path, in bytes; agents use shorter ones.
const ID_BYTES: usize = 256;
const PATH_BYTES: usize = 4_096;
const COMMAND_BYTES: usize = 16 << 10;
/// The keys under which tools name files in their input.
const PATH_KEYS: [&str; 12] = [
    "path",
    "file_path",
    "filePath",
    "filepath",
    "absolute_path",
    "abs_path",
    "notebook_path",
    "source",
    "destination",
    "old_path",
    "new_path",
    "target_file",
];

/// A tool call, as described so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Call {
    pub(crate) kind: ToolKind,
    pub(crate) paths: BTreeSet<PathBuf>,
    /// Whether it names more files than are kept.
    pub(crate) has_more_paths: bool,
    name: Option<String>,
    title: String,
    command: Option<String>,
}

impl Call {
    /// The name of the tool, or else its kind.
    pub(crate) fn name(&self) -> String {
        let kind = || serde_json::to_value(self.kind).ok()?.as_str().map(str::to_owned);
        self.name.clone().or_else(kind).unwrap_or_else(|| "tool".to_owned())
    }

    /// Its subject: a command, a path, or its title.
    pub(crate) fn about(&self) -> String {
        let path = self.paths.first().map(|path| path.to_string_lossy());
        let about = self.command.as_deref().or(path.as_deref()).unwrap_or(&self.title);
        preview(first_line(about), ABOUT_COLUMNS)
    }

    /// The complete command, if known.
    pub(crate) fn command(&self) -> Option<&str> {
        self.command.as_deref()
    }

    /// Uses the title as the command, if the call runs something and has no other command.
    pub(crate) fn take_title_for_command(&mut self) {
        if self.kind == ToolKind::Execute && self.command.is_none() {
            self.command = Some(self.title.clone());
        }
    }

    fn describe(&mut self, update: ToolCallUpdate) {
        let fields = update.fields;
        self.kind = fields.kind.unwrap_or(self.kind);
        self.name = fields.name.or(self.name.take());
        if let Some(title) = fields.title {
            self.title = match title.len() <= COMMAND_BYTES {
                true => title,
                false => preview(first_line(&title), ABOUT_COLUMNS),
            };
        }
        let input = fields.raw_input.as_ref();
        if let Some(command) = input.and_then(|input| input.get("command")).and_then(command) {
            self.command = Some(command).filter(|command| command.len() <= COMMAND_BYTES);
        }
        let locations = fields.locations.unwrap_or_default();
        let mut paths: Vec<PathBuf> = locations.into_iter().map(|location| location.path).collect();
        for content in fields.content.unwrap_or_default() {
            if let ToolCallContent::Diff(diff) = content {
                paths.push(diff.path);
            }
        }
        paths.extend(input.into_iter().flat_map(paths_in));
        for path in paths {
            self.add(path);
        }
    }

    /// Adds a file. Above the limit, the list is marked as incomplete.
    fn add(&mut self, path: PathBuf) {
        if self.paths.len() < MAX_PATHS && path.as_os_str().len() <= PATH_BYTES {
            self.paths.insert(path);
        } else {
            self.has_more_paths |= !self.paths.contains(&path);
        }
    }
}

/// A command is a string or a list of words; for a shell, the script is the last word.
fn command(value: &Value) -> Option<String> {
    if let Some(text) = value.as_str() {
        return Some(text.to_owned());
    }
    let words: Vec<&str> = value.as_array()?.iter().filter_map(Value::as_str).collect();
    Some(match words.as_slice() {
        [_, "-c" | "-lc", script] => (*script).to_owned(),
        words => words.join(" "),
    })
}

/// The files named in the input of a tool.
fn paths_in(input: &Value) -> impl Iterator<Item = PathBuf> {
    let of_key = |key: &&str| input.get(*key).and_then(Value::as_str);
    let named = PATH_KEYS.iter().filter_map(of_key);
    // A long text is not a path.
    named
        .filter(|path| !path.is_empty() && !path.contains('\n'))
        .map(PathBuf::from)
}

fn id_of(described: &Value) -> Option<&str> {
    described.get("toolCallId")?.as_str().map(short)
}

fn short(id: &str) -> &str {
    id.split_at(id.floor_char_boundary(ID_BYTES)).0
}

/// The calls of a turn by id; only the newest are kept.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    calls: BTreeMap<String, Call>,
    /// The ids, oldest first.
    order: VecDeque<String>,
    failed: BTreeSet<String>,
    /// The files written by calls that were dropped.
    written: BTreeSet<PathBuf>,
}

impl Calls {
    /// Records or extends the description of a call. `None` without an id.
    pub(crate) fn describe(&mut self, described: &Value) -> Option<&Call> {
        let update: ToolCallUpdate = schema::read(described)?;
        let id = short(&update.tool_call_id.to_string()).to_owned();
        if !self.calls.contains_key(&id) {
            self.make_room();
            self.order.push_back(id.clone());
        }
        match update.fields.status {
            Some(ToolCallStatus::Failed) => drop(self.failed.insert(id.clone())),
            Some(ToolCallStatus::Completed) => drop(self.failed.remove(&id)),
            _ => {}
        }
        let call = self.calls.entry(id).or_default();
        call.describe(update);
        Some(call)
    }

    pub(crate) fn is_known(&self, described: &Value) -> bool {
        id_of(described).is_some_and(|id| self.calls.contains_key(id))
    }

    pub(crate) fn deny(&mut self, described: &Value) {
        if let Some(id) = id_of(described).filter(|id| self.calls.contains_key(*id)) {
            self.failed.insert(id.to_owned());
        }
    }

    /// The files written by calls that did not fail.
    pub(crate) fn writes(&mut self) -> Vec<PathBuf> {
        while !self.order.is_empty() {
            self.forget_oldest();
        }
        std::mem::take(&mut self.written).into_iter().collect()
    }

    fn make_room(&mut self) {
        if self.order.len() >= MAX_CALLS {
            self.forget_oldest();
        }
    }

    /// Drops the oldest call but keeps the files it wrote.
    fn forget_oldest(&mut self) {
        let Some(id) = self.order.pop_front() else { return };
        let has_failed = self.failed.remove(&id);
        let Some(call) = self.calls.remove(&id) else { return };
        if has_failed || !matches!(call.kind, ToolKind::Edit | ToolKind::Move) {
            return;
        }
        let room = MAX_WRITES.saturating_sub(self.written.len());
        self.written.extend(call.paths.into_iter().take(room));
    }

    /// The number of kept calls, and the bytes of their ids and paths.
    #[cfg(test)]
    pub(crate) fn size(&self) -> (usize, usize) {
        let of_paths = |call: &Call| call.paths.iter().map(|path| path.as_os_str().len()).sum::<usize>();
        let of_calls: usize = self.calls.iter().map(|(id, call)| id.len() + of_paths(call)).sum();
        let rest = self.order.iter().chain(&self.failed).map(String::len).sum::<usize>();
        let written: usize = self.written.iter().map(|path| path.as_os_str().len()).sum();
        (self.calls.len(), of_calls + rest + written)
    }
}
