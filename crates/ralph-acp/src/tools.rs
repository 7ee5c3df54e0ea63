//! The tool calls of a turn: what each is about, which files it writes, and whether it came to anything.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;

use ralph_model::{first_line, preview};
use serde_json::Value;

use crate::schema::{self, ToolCallContent, ToolCallStatus, ToolCallUpdate, ToolKind};

/// How much of what a tool is about is told.
const ABOUT_COLUMNS: usize = 200;
/// How many calls are kept, how many files of calls that are not, and how many files of one call.
const MOST_CALLS: usize = 4_096;
const MOST_WRITES: usize = 4_096;
const MOST_PATHS: usize = 64;
/// How long the id of a call and a path may be, in bytes. Nobody has longer ones.
const ID_BYTES: usize = 256;
const PATH_BYTES: usize = 4_096;
/// The longest command that is kept, in bytes.
const COMMAND_BYTES: usize = 16 << 10;
/// What tools call the files that they are about, in what they are called with.
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

/// A call, as far as it was described.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Call {
    pub(crate) kind: ToolKind,
    /// The files that it names.
    pub(crate) paths: BTreeSet<PathBuf>,
    /// Whether it names more of them than are kept.
    pub(crate) has_more_paths: bool,
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

    /// The command that it runs, whole; none where it is not known.
    pub(crate) fn command(&self) -> Option<&str> {
        self.command.as_deref()
    }

    /// Lets its title be the command, where it is one that runs something and says nothing else of it.
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
        paths.extend(input.into_iter().flat_map(named_in));
        for path in paths {
            self.add(path);
        }
    }

    /// One more file that it names. Where they are too many, nobody knows all of them.
    fn add(&mut self, path: PathBuf) {
        if self.paths.len() < MOST_PATHS && path.as_os_str().len() <= PATH_BYTES {
            self.paths.insert(path);
        } else {
            self.has_more_paths |= !self.paths.contains(&path);
        }
    }
}

/// A command is a text, or words; those of a shell have the text at their end.
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

/// The files that are named in what a tool is called with.
fn named_in(input: &Value) -> impl Iterator<Item = PathBuf> {
    let of_key = |key: &&str| input.get(*key).and_then(Value::as_str);
    let named = PATH_KEYS.iter().filter_map(of_key);
    // A text is no path.
    named
        .filter(|path| !path.is_empty() && !path.contains('\n'))
        .map(PathBuf::from)
}

fn id_of(described: &Value) -> Option<&str> {
    described.get("toolCallId")?.as_str().map(short)
}

/// The beginning of an id that is longer than ids are.
fn short(id: &str) -> &str {
    id.split_at(id.floor_char_boundary(ID_BYTES)).0
}

/// The calls of a turn, by their ids; of very many the newest.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    calls: BTreeMap<String, Call>,
    /// The ids, the oldest first.
    order: VecDeque<String>,
    failed: BTreeSet<String>,
    /// The files that calls wrote which are forgotten.
    written: BTreeSet<PathBuf>,
}

impl Calls {
    /// A call is described, or described further. None when it has no id.
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

    /// Whether a call was described before.
    pub(crate) fn is_known(&self, described: &Value) -> bool {
        id_of(described).is_some_and(|id| self.calls.contains_key(id))
    }

    /// It was not allowed.
    pub(crate) fn deny(&mut self, described: &Value) {
        if let Some(id) = id_of(described).filter(|id| self.calls.contains_key(*id)) {
            self.failed.insert(id.to_owned());
        }
    }

    /// The files that calls wrote which did not fail.
    pub(crate) fn writes(&mut self) -> Vec<PathBuf> {
        while !self.order.is_empty() {
            self.forget_oldest();
        }
        std::mem::take(&mut self.written).into_iter().collect()
    }

    fn make_room(&mut self) {
        if self.order.len() >= MOST_CALLS {
            self.forget_oldest();
        }
    }

    /// Keeps of the oldest call what it wrote.
    fn forget_oldest(&mut self) {
        let Some(id) = self.order.pop_front() else { return };
        let has_failed = self.failed.remove(&id);
        let Some(call) = self.calls.remove(&id) else { return };
        if has_failed || !matches!(call.kind, ToolKind::Edit | ToolKind::Move) {
            return;
        }
        let room = MOST_WRITES.saturating_sub(self.written.len());
        self.written.extend(call.paths.into_iter().take(room));
    }

    /// How many calls are kept, and how many bytes their ids and paths have.
    #[cfg(test)]
    pub(crate) fn size(&self) -> (usize, usize) {
        let of_paths = |call: &Call| call.paths.iter().map(|path| path.as_os_str().len()).sum::<usize>();
        let of_calls: usize = self.calls.iter().map(|(id, call)| id.len() + of_paths(call)).sum();
        let rest = self.order.iter().chain(&self.failed).map(String::len).sum::<usize>();
        let written: usize = self.written.iter().map(|path| path.as_os_str().len()).sum();
        (self.calls.len(), of_calls + rest + written)
    }
}
