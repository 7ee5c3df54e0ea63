//! Which of an agent's own tools writes a file or runs a command, and what it is called with.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::conversation::{InputForm, OfferedTool};

/// The names that tools for writing a file have.
const WRITERS: [&str; 5] = ["Write", "write_file", "write", "create", "create_file"];
/// The names that tools for running a command have.
const SHELLS: [&str; 7] = [
    "Bash",
    "bash",
    "run_shell_command",
    "exec_command",
    "shell_command",
    "shell",
    "exec",
];
/// A tool that takes a patch, with which files are made too.
const PATCHER: &str = "apply_patch";

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ToolCall {
    pub(super) name: String,
    pub(super) input: Input,
    /// How many calls the conversation had before.
    pub(super) number: usize,
}

/// What a tool is called with.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Input {
    Object(Value),
    Text(String),
}

impl ToolCall {
    pub(super) fn new(name: &str, input: Value) -> Self {
        Self {
            name: name.to_owned(),
            input: Input::Object(input),
            number: 0,
        }
    }

    /// Its id, which no other call of the conversation has.
    pub(super) fn id(&self, prefix: &str) -> String {
        format!("{prefix}_scripted_{}", self.number)
    }

    /// The input as an object; a text stands for itself.
    pub(super) fn object(&self) -> Value {
        match &self.input {
            Input::Object(input) => input.clone(),
            Input::Text(text) => json!(text),
        }
    }
}

/// A call that writes a file; without a tool for that, one that has a shell do it.
pub(super) fn to_write(tools: &[OfferedTool], path: &Path, content: &str) -> Option<ToolCall> {
    let file = path.to_string_lossy();
    if let Some((name, schema)) = first(tools, &WRITERS) {
        return Some(ToolCall::new(
            name,
            filled(schema, |property| match property {
                "file_path" | "filePath" | "path" | "absolute_path" => Some(json!(file)),
                "content" | "contents" | "file_text" => Some(json!(content)),
                _ => None,
            }),
        ));
    }
    let patcher = tools.iter().find(|tool| tool.name == PATCHER);
    if let Some(OfferedTool {
        name,
        input: InputForm::Freeform,
    }) = patcher
    {
        let lines: String = content.lines().map(|line| format!("+{line}\n")).collect();
        let patch = format!("*** Begin Patch\n*** Add File: {file}\n{lines}*** End Patch\n");
        return Some(ToolCall {
            number: 0,
            name: name.clone(),
            input: Input::Text(patch),
        });
    }
    to_run(tools, &format!("printf %s {} > {}", quoted(content), quoted(&file)))
}

/// A call that runs a command.
pub(super) fn to_run(tools: &[OfferedTool], command: &str) -> Option<ToolCall> {
    if let Some((name, schema)) = first(tools, &SHELLS) {
        return Some(ToolCall::new(
            name,
            filled(schema, |property| match property {
                "command" | "cmd" if schema["properties"][property]["type"] == "array" => {
                    Some(json!(["sh", "-c", command]))
                }
                "command" | "cmd" => Some(json!(command)),
                _ => None,
            }),
        ));
    }
    // A tool that runs JavaScript, in which the others are functions.
    let script = tools
        .iter()
        .find(|tool| tool.name == "exec" && tool.input == InputForm::Freeform)?;
    let text = format!(
        "const r = await tools.exec_command({{cmd: {}}}); text(r.output ?? \"\");",
        json!(command)
    );
    Some(ToolCall {
        number: 0,
        name: script.name.clone(),
        input: Input::Text(text),
    })
}

/// The first tool of these names that takes an object, in the order of the names.
fn first<'a>(tools: &'a [OfferedTool], names: &[&str]) -> Option<(&'a str, &'a Value)> {
    names.iter().find_map(|name| {
        tools.iter().find_map(|tool| match &tool.input {
            InputForm::Object(schema) if tool.name == *name => Some((tool.name.as_str(), schema)),
            _ => None,
        })
    })
}

/// An object after a schema: what is known, and what is required besides.
fn filled(schema: &Value, known: impl Fn(&str) -> Option<Value>) -> Value {
    let properties = schema["properties"].as_object().cloned().unwrap_or_default();
    let is_required = |name: &str| {
        schema["required"]
            .as_array()
            .is_some_and(|all| all.iter().any(|one| one == name))
    };
    let value = |(name, form): (String, Value)| {
        let value = known(&name).or_else(|| is_required(&name).then(|| plainest(&form)))?;
        Some((name, value))
    };
    Value::Object(properties.into_iter().filter_map(value).collect::<Map<_, _>>())
}

/// The plainest value that a schema allows.
pub(super) fn plainest(form: &Value) -> Value {
    if let Some(first) = form["enum"].as_array().and_then(|values| values.first()) {
        return first.clone();
    }
    let kind = form["type"].as_str().unwrap_or("string").to_ascii_lowercase();
    match kind.as_str() {
        "boolean" => json!(false),
        "integer" | "number" => json!(1),
        "array" => json!([]),
        "object" => json!({}),
        _ => json!("scripted"),
    }
}

/// A word as the shell takes it.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
