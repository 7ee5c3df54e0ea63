//! Our hook in Claude Code's settings: detects it, adds it and removes it.
//!
//! The hook is added as one piece right after an opening bracket, so every other byte stays. Removing it restores the
//! original bytes without a record of what was there before: of the pieces that may have been added, the right one is
//! the one that adding the hook would add again.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstContainerNode, CstNode, CstObject, CstObjectProp, CstRootNode};
use serde::de::IgnoredAny;
use serde_json::{Value as Json, json};

use super::Part;

const COMMAND: &str = "ralph hook session-start";
/// How long Claude Code waits for the hook, in seconds; it takes a few milliseconds.
const TIMEOUT_S: u32 = 10;
/// The key of the settings with hooks by event.
const HOOKS: &str = "hooks";
const EVENT: &str = "SessionStart";
/// The indentation of a file without any.
const DEFAULT_UNIT: &str = "  ";
/// The byte order mark that some editors write.
const BOM: &str = "\u{feff}";

/// Why the hook cannot be added or removed, with line and column, both from 1.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SettingsError {
    pub(super) place: (usize, usize),
    pub(super) what: String,
}

/// The settings after removing the hook.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Change {
    Text(String),
    /// Setup created the file, so it is removed.
    NoFile,
}

/// The state of the hook in a text, and whether the text is JSON without comments and trailing commas.
pub(super) fn setup_state(text: &str) -> Result<(Part, bool), SettingsError> {
    let text = split_bom(text).1;
    let root = parse(text)?;
    let forms: Vec<Option<Json>> = find(&root)?.iter().map(|place| place.group.to_serde_value()).collect();
    let has = |form: &Json| forms.iter().any(|found| found.as_ref() == Some(form));
    let part = if forms.is_empty() {
        Part::Missing
    } else if has(&current()) {
        Part::InPlace
    } else if outdated().iter().any(has) {
        Part::Outdated
    } else {
        Part::Changed
    };
    let is_strict = text.trim().is_empty() || serde_json::from_str::<IgnoredAny>(text).is_ok();
    Ok((part, is_strict))
}

/// The contents of a new settings file.
pub(super) fn new_file() -> String {
    new_file_with(&current())
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
    let (bom, text) = split_bom(&without);
    Ok(format!("{bom}{}", insert(text, &current())?))
}

/// Removes the hook in any form.
pub(super) fn without_hook(text: &str) -> Result<Change, SettingsError> {
    let (bom, text) = split_bom(text);
    let root = parse(text)?;
    let removed = match find(&root)?.as_slice() {
        [place] => exactly_before(text, place),
        _ => None,
    };
    if let Some(removed) = removed {
        return Ok(match removed {
            Change::Text(text) => Change::Text(format!("{bom}{text}")),
            Change::NoFile => Change::NoFile,
        });
    }
    while let Some(place) = find(&root)?.into_iter().next() {
        place.smallest().remove();
    }
    Ok(Change::Text(format!("{bom}{root}")))
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

fn new_file_with(form: &Json) -> String {
    format!("{:#}\n", json!({ HOOKS: { EVENT: [form] } }))
}

fn split_bom(text: &str) -> (&str, &str) {
    text.strip_prefix(BOM).map_or(("", text), |rest| (BOM, rest))
}

fn parse(text: &str) -> Result<CstRootNode, SettingsError> {
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    CstRootNode::parse(text, &options).map_err(|error| SettingsError {
        place: (error.line_display(), error.column_display()),
        what: format!("it is not JSON: {}", error.kind()),
    })
}

/// The containers of our hook that exist: the settings, their hooks, and the event's.
fn containers(root: &CstRootNode) -> Result<Vec<CstContainerNode>, SettingsError> {
    let Some(settings) = root.value() else {
        return Ok(Vec::new());
    };
    let object = settings.as_object();
    let object = object.ok_or_else(|| error_at(&settings, "the settings are not an object"))?;
    let mut containers = vec![object.clone().into()];
    let Some(hooks) = member(&object, HOOKS) else {
        return Ok(containers);
    };
    let object = hooks.as_object();
    let object = object.ok_or_else(|| error_at(&hooks, "\"hooks\" is not an object"))?;
    containers.push(object.clone().into());
    if let Some(event) = member(&object, EVENT) {
        let array = event.as_array();
        let array = array.ok_or_else(|| error_at(&event, "\"SessionStart\" of \"hooks\" is not an array"))?;
        containers.push(array.into());
    }
    Ok(containers)
}

/// The value of a member; of duplicates the last, which counts.
fn member(object: &CstObject, name: &str) -> Option<CstNode> {
    let is_named = |property: &CstObjectProp| property.decoded_name().as_deref() == Some(name);
    object.properties().into_iter().rfind(is_named)?.value()
}

fn error_at(node: &CstNode, what: &str) -> SettingsError {
    let root = node.root_node().map(|root| root.to_string()).unwrap_or_default();
    let before = root.get(..start(node)).unwrap_or_default();
    SettingsError {
        place: super::end_of(before),
        what: what.to_owned(),
    }
}

/// The offset of a node in the text.
fn start(node: &CstNode) -> usize {
    let before = node
        .previous_siblings()
        .map(|node| node.to_string().len())
        .sum::<usize>();
    before + node.parent().map_or(0, |parent| start(&parent.into()))
}

fn end(node: &CstNode) -> usize {
    start(node) + node.to_string().len()
}

/// A hook of ours.
struct Place {
    /// The settings, their hooks, and the event's.
    containers: Vec<CstContainerNode>,
    /// The element of the event's array.
    group: CstNode,
    /// The element of the group's array.
    entry: CstNode,
}

impl Place {
    /// The items that contain only our hook if setup added them: a member of the settings, one of the hooks, the group.
    fn items(&self) -> Vec<CstNode> {
        let of_containers = self.containers.iter().skip(1).filter_map(CstContainerNode::parent);
        of_containers.map(CstNode::from).chain([self.group.clone()]).collect()
    }

    /// The outermost item that contains nothing else.
    fn smallest(&self) -> CstNode {
        let mut smallest = self.entry.clone();
        for item in self.items().into_iter().rev() {
            let container = smallest
                .parent()
                .map(|parent| parent.children_exclude_trivia_and_tokens());
            if container.is_some_and(|items| items.len() > 1) {
                break;
            }
            smallest = item;
        }
        smallest
    }
}

/// Finds all hooks of ours.
fn find(root: &CstRootNode) -> Result<Vec<Place>, SettingsError> {
    let containers = containers(root)?;
    let [_, _, event] = containers.as_slice() else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for group in event.children_exclude_trivia_and_tokens() {
        let entries = group.as_object().and_then(|group| member(&group, HOOKS)?.as_array());
        let entries = entries.map(|entries| entries.elements()).unwrap_or_default();
        found.extend(entries.into_iter().filter(is_ours).map(|entry| Place {
            containers: containers.clone(),
            group: group.clone(),
            entry,
        }));
    }
    Ok(found)
}

/// Returns true if a hook runs ours, from any folder.
fn is_ours(entry: &CstNode) -> bool {
    let command = entry
        .as_object()
        .and_then(|entry| member(&entry, "command")?.as_string_lit());
    let Some(Ok(command)) = command.map(|command| command.decoded_value()) else {
        return false;
    };
    let mut words = command.split_whitespace();
    let program = words.next().unwrap_or_default().trim_matches(['"', '\'']);
    let name = program.rsplit('/').next().unwrap_or_default();
    let arguments = COMMAND.split_whitespace().skip(1);
    name == "ralph" && arguments.eq(words.take(2))
}

/// Adds a form of the hook to settings without one.
fn insert(text: &str, form: &Json) -> Result<String, SettingsError> {
    let root = parse(text)?;
    let containers = containers(&root)?;
    let (container, name, value) = match containers.as_slice() {
        [] => return Ok(format!("{}\n{text}", json!({ HOOKS: { EVENT: [form] } }))),
        [settings] => (settings, Some(HOOKS), json!({ EVENT: [form] })),
        [_, hooks] => (hooks, Some(EVENT), json!([form])),
        [_, _, event, ..] => (event, None, form.clone()),
    };
    let (before, after) = text
        .split_at_checked(start(&container.clone().into()) + 1)
        .unwrap_or((text, ""));
    let gap = after.get(..after.len() - after.trim_start().len()).unwrap_or_default();
    let item = |value: &str| name.map_or_else(|| value.to_owned(), |name| format!("\"{name}\": {value}"));
    let piece = if container.children_exclude_trivia_and_tokens().is_empty() {
        format!(" {} ", item(&value.to_string()))
    } else if let Some(line_start) = line_start(gap) {
        let unit = root.single_indent_text();
        let value = pretty(&value, unit.as_deref().unwrap_or(DEFAULT_UNIT), line_start);
        format!("{line_start}{},", item(&value))
    } else {
        format!("{gap}{},", item(&value.to_string()))
    };
    Ok(format!("{before}{piece}{after}"))
}

/// The last line break of a gap, with the indentation after it.
fn line_start(gap: &str) -> Option<&str> {
    let (before, _) = gap.rsplit_once('\n')?;
    gap.get(before.strip_suffix('\r').unwrap_or(before).len()..)
}

fn pretty(value: &Json, unit: &str, line_start: &str) -> String {
    let lines = format!("{value:#}");
    let lines = lines.lines().map(|line| {
        let text = line.trim_start_matches(' ');
        unit.repeat((line.len() - text.len()) / DEFAULT_UNIT.len()) + text
    });
    lines.collect::<Vec<_>>().join(line_start)
}

/// The settings before setup, if they can be determined exactly.
fn exactly_before(text: &str, place: &Place) -> Option<Change> {
    let form = place.group.to_serde_value()?;
    if text == new_file_with(&form) {
        return Some(Change::NoFile);
    }
    let without = |from: usize, to: usize| Some(format!("{}{}", text.get(..from)?, text.get(to..)?));
    let mut candidates = vec![without(0, end(&place.containers.first()?.clone().into()) + 1)];
    for item in place.items() {
        let bracket = start(&item.parent()?.into());
        let comma = item.trailing_comma().map(|comma| end(&comma.into()));
        candidates.push(without(bracket + 1, comma.unwrap_or(end(&item) + 1)));
    }
    let becomes_this = |before: &String| insert(before, &form).is_ok_and(|after| after == text);
    candidates.into_iter().flatten().find(becomes_this).map(Change::Text)
}

#[cfg(test)]
#[path = "hook_entry_tests.rs"]
mod tests;
