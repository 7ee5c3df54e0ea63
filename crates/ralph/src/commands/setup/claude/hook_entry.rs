//! Our hook in Claude Code's settings: detects it, adds it and removes it.
//!
//! Removing it restores the original bytes without a record of what was there before. The form of the text shows it: a
//! container that we add has no space inside its brackets when it is on one line; what we add to an existing empty
//! container does. So removal tries each possible original, and picks the one that becomes the current text when the
//! hook is added.

use ralph_notes::{Patches, Span};
use serde_json::{Value as Json, json};

use super::super::jsonc::{self, Document, Item, Value};
use super::Part;
use super::layout::Layout;

const COMMAND: &str = "ralph hook session-start";
/// How long Claude Code waits for the hook, in seconds; it takes a few milliseconds.
const TIMEOUT_S: u32 = 10;
/// The key of the settings with hooks by event.
const HOOKS: &str = "hooks";
const EVENT: &str = "SessionStart";
/// The byte order mark that some editors write.
const BOM: char = '\u{feff}';
/// The most hooks that are removed from one file.
const MAX_HOOKS: usize = 100;

/// Why the hook cannot be added or removed, and where.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SettingsError {
    pub(super) at: usize,
    pub(super) what: String,
}

/// The settings after removing the hook.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Change {
    Text(String),
    /// Setup created the file, so it is removed.
    NoFile,
}

/// The state of the hook in a text, and where the text is not strict JSON.
pub(super) fn setup_state(text: &str) -> Result<(Part, Option<usize>), SettingsError> {
    let document = parse(text)?;
    let found = find(&document)?;
    let forms: Vec<Option<Json>> = found.iter().map(|place| strict(text, &place.group.value)).collect();
    let has = |form: &Json| forms.iter().any(|found| found.as_ref() == Some(form));
    let part = if found.is_empty() {
        Part::Missing
    } else if has(&current()) {
        Part::InPlace
    } else if outdated().iter().any(has) {
        Part::Outdated
    } else {
        Part::Changed
    };
    Ok((part, document.not_strict))
}

/// The contents of a new settings file.
pub(super) fn new_file() -> String {
    format!("{}\n", Layout::new("\n", "  ").pretty(&whole(&current()), ""))
}

/// Adds the hook in its current form.
pub(super) fn with_hook(text: &str) -> Result<String, SettingsError> {
    let without = match setup_state(text)?.0 {
        Part::Missing => text.to_owned(),
        Part::InPlace | Part::Outdated | Part::Changed => match without_hook(text)? {
            Change::Text(text) => text,
            Change::NoFile => return Ok(new_file()),
        },
    };
    insert(&without, &current())
}

/// Removes the hook in any form.
pub(super) fn without_hook(text: &str) -> Result<Change, SettingsError> {
    if let Some(before) = exactly_before(text)? {
        return Ok(before);
    }
    let mut text = text.to_owned();
    for _ in 0..MAX_HOOKS {
        let document = parse(&text)?;
        let Some(place) = find(&document)?.into_iter().next() else {
            break;
        };
        let patches = place.smallest_cut(&text);
        text = apply(&text, &patches);
    }
    Ok(Change::Text(text))
}

/// The form that this version writes. It has no matcher, so it applies to every start of a session, also after a
/// compaction.
fn current() -> Json {
    json!({ "hooks": [{ "type": "command", "command": COMMAND, "timeout": TIMEOUT_S }] })
}

/// Outdated forms: what one writes by hand from Claude Code's manual.
fn outdated() -> [Json; 2] {
    let hook = json!({ "type": "command", "command": COMMAND });
    [json!({ "hooks": [hook] }), json!({ "matcher": "", "hooks": [hook] })]
}

fn whole(entry: &Json) -> Json {
    json!({ HOOKS: { EVENT: [entry] } })
}

fn parse(text: &str) -> Result<Document, SettingsError> {
    jsonc::parse(text).map_err(|error| SettingsError {
        at: error.at,
        what: format!("it is not JSON: {}", error.what),
    })
}

/// Parses a value as strict JSON.
fn strict(text: &str, value: &Value) -> Option<Json> {
    serde_json::from_slice(value.span.of(text.as_bytes())).ok()
}

/// A hook of ours and its containers.
struct Place<'d> {
    root: &'d Value,
    hooks: (usize, &'d Item),
    event: (usize, &'d Item),
    /// The element of the event's array.
    group: &'d Item,
    group_index: usize,
    /// The element of the group's array.
    entry: (usize, &'d [Item]),
}

impl Place<'_> {
    /// The patches that remove the hook and every container that would be empty.
    fn smallest_cut(&self, text: &str) -> Patches {
        let entries = self.entry.1;
        let groups = self.event.1.value.elements().unwrap_or_default();
        let events = self.hooks.1.value.members().unwrap_or_default();
        if entries.len() > 1 {
            cut(text, entries, self.entry.0)
        } else if groups.len() > 1 {
            cut(text, groups, self.group_index)
        } else if events.len() > 1 {
            cut(text, events, self.event.0)
        } else {
            cut(text, self.root.members().unwrap_or_default(), self.hooks.0)
        }
    }
}

/// Finds all hooks of ours.
fn find(document: &Document) -> Result<Vec<Place<'_>>, SettingsError> {
    let mut found = Vec::new();
    let Some(root) = &document.root else {
        return Ok(found);
    };
    expect(root.members(), root, "the settings are not an object")?;
    let Some(hooks) = root.member(HOOKS) else {
        return Ok(found);
    };
    expect(hooks.1.value.members(), &hooks.1.value, "\"hooks\" is not an object")?;
    let Some(event) = hooks.1.value.member(EVENT) else {
        return Ok(found);
    };
    let groups = event.1.value.elements();
    let groups = expect(groups, &event.1.value, "\"SessionStart\" of \"hooks\" is not an array")?;
    for (group_index, group) in groups.iter().enumerate() {
        let entries = group.value.member("hooks").and_then(|(_, item)| item.value.elements());
        let entries = entries.unwrap_or_default();
        let ours = entries.iter().enumerate().filter(|(_, entry)| is_ours(&entry.value));
        found.extend(ours.map(|(index, _)| Place {
            root,
            hooks,
            event,
            group,
            group_index,
            entry: (index, entries),
        }));
    }
    Ok(found)
}

fn expect<T>(found: Option<T>, value: &Value, what: &str) -> Result<T, SettingsError> {
    found.ok_or_else(|| SettingsError {
        at: value.span.start(),
        what: what.to_owned(),
    })
}

/// Returns true if a hook runs ours, from any folder.
fn is_ours(entry: &Value) -> bool {
    let Some((_, command)) = entry.member("command") else {
        return false;
    };
    let jsonc::Kind::Text(command) = &command.value.kind else {
        return false;
    };
    let mut words = command.split_whitespace();
    let program = words.next().unwrap_or_default().trim_matches(['"', '\'']);
    let name = program.rsplit('/').next().unwrap_or_default();
    let arguments = COMMAND.split_whitespace().skip(1);
    name == "ralph" && arguments.eq(words.take(2))
}

/// Adds a form of the hook to settings without one.
fn insert(text: &str, entry: &Json) -> Result<String, SettingsError> {
    let document = parse(text)?;
    find(&document)?;
    let layout = Layout::of(text, document.root.as_ref());
    let Some(root) = &document.root else {
        let whole = layout.pretty(&whole(entry), "");
        let (mark, rest) = text.split_at(if text.starts_with(BOM) { BOM.len_utf8() } else { 0 });
        // After a comment on the last line it would be part of the comment.
        let ends_in_comment = parse(&format!("{text}{{}}")).is_ok_and(|document| document.root.is_none());
        return Ok(if ends_in_comment {
            format!("{mark}{whole}{rest}")
        } else {
            format!("{text}{whole}")
        });
    };
    let patches = match root.member(HOOKS).map(|(_, hooks)| &hooks.value) {
        None => layout.add(text, root, Some(HOOKS), &json!({ EVENT: [entry] })),
        Some(hooks) => match hooks.member(EVENT).map(|(_, event)| &event.value) {
            None => layout.add(text, hooks, Some(EVENT), &json!([entry])),
            Some(groups) => layout.add(text, groups, None, entry),
        },
    };
    Ok(apply(text, &patches))
}

/// The settings before setup, if they can be determined exactly.
fn exactly_before(text: &str) -> Result<Option<Change>, SettingsError> {
    let document = parse(text)?;
    let found = find(&document)?;
    let [place] = found.as_slice() else {
        return Ok(None);
    };
    let Some(form) = strict(text, &place.group.value) else {
        return Ok(None);
    };
    if text == format!("{}\n", Layout::new("\n", "  ").pretty(&whole(&form), "")) {
        return Ok(Some(Change::NoFile));
    }
    let before_root = text.get(..place.root.span.start()).unwrap_or_default();
    let after_root = text.get(place.root.span.end()..).unwrap_or_default();
    let mut candidates = vec![format!("{before_root}{after_root}")];
    let groups = place.event.1.value.elements().unwrap_or_default();
    for (items, index) in [
        (place.root.members().unwrap_or_default(), place.hooks.0),
        (place.hooks.1.value.members().unwrap_or_default(), place.event.0),
        (groups, place.group_index),
    ] {
        candidates.push(apply(text, &cut(text, items, index)));
        candidates.extend(cut_from_padding(text, items).map(|patches| apply(text, &patches)));
    }
    let becomes_this = |before: &String| insert(before, &form).is_ok_and(|after| after == text);
    Ok(candidates.into_iter().find(becomes_this).map(Change::Text))
}

/// Removes the only item of a container that was empty before, with the spaces around it.
fn cut_from_padding(text: &str, items: &[Item]) -> Option<Patches> {
    let [item] = items else { return None };
    let (start, end) = (item.start.checked_sub(1)?, item.value.span.end() + 1);
    let padded = text.get(start..item.start)? == " " && text.get(end - 1..end)? == " ";
    let mut patches = Patches::none();
    patches.remove(Span::new(start, end));
    padded.then_some(patches)
}

/// Removes an item with its comma and line break.
fn cut(text: &str, items: &[Item], index: usize) -> Patches {
    let mut patches = Patches::none();
    let Some(item) = items.get(index) else { return patches };
    let before = text.get(..item.start).unwrap_or_default();
    let is_last = index + 1 == items.len();
    let start = item.start - gap_length(before);
    let mut end = item.comma.map_or(item.value.span.end(), |comma| comma + 1);
    if is_last && item.comma.is_none() {
        let previous = index.checked_sub(1).and_then(|index| items.get(index));
        if let Some(comma) = previous.and_then(|previous| previous.comma) {
            patches.remove(Span::new(comma, comma + 1));
        }
    }
    if !is_last && start == item.start {
        // It came right after the bracket, so what follows moves there.
        let after = text.get(end..).unwrap_or_default();
        end += after.len() - after.trim_start_matches([' ', '\t']).len();
    }
    patches.remove(Span::new(start, end));
    patches
}

/// The whitespace before an item that belongs to it: its line break and indentation, or one space.
fn gap_length(before: &str) -> usize {
    let unindented = before.trim_end_matches([' ', '\t']);
    let line = unindented
        .strip_suffix('\n')
        .map(|line| line.strip_suffix('\r').unwrap_or(line));
    match line {
        Some(line) => before.len() - line.len(),
        None => usize::from(before.ends_with(' ')),
    }
}

fn apply(text: &str, patches: &Patches) -> String {
    String::from_utf8_lossy(&patches.apply(text.as_bytes())).into_owned()
}

#[cfg(test)]
#[path = "hook_entry_tests.rs"]
mod tests;
