//! Finds the agent's own tool for writing a file or running a command, and builds its input.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::conversation::{InputForm, OfferedTool};

/// Names of tools that write a file.
const WRITERS: [&str; 5] = ["Write", "write_file", "write", "create", "create_file"];
/// Names of tools that run a command.
const SHELLS: [&str; 7] = [
    "Bash",
    "bash",
    "run_shell_command",
    "exec_command",
    "shell_command",
    "shell",
    "exec",
];
/// A tool that applies a patch, which can also create files.
const PATCHER: &str = "apply_patch";

#[derive(Debug, Clone, PartialEq)]
pub(super) struct ToolCall {
    pub(super) name: String,
    pub(super) input: Input,
    /// How many calls came before this one.
    pub(super) number: usize,
}

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

    /// An id that is unique in the conversation.
    pub(super) fn id(&self, prefix: &str) -> String {
        format!("{prefix}_scripted_{}", self.number)
    }

    /// The input as JSON.
    pub(super) fn object(&self) -> Value {
        match &self.input {
            Input::Object(input) => input.clone(),
            Input::Text(text) => json!(text),
        }
    }
}

/// A call that writes a file, through the shell if there is no tool for it.
pub(super) fn to_write(tools: &[OfferedTool], path: &Path, content: &str) -> Option<ToolCall> {
    let file = path.to_string_lossy();
    if let Some((name, schema)) = first_tool(tools, &WRITERS) {
        return Some(ToolCall::new(
            name,
            fill_input(schema, |property| match property {
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
    to_run(
        tools,
        &format!("printf %s {} > {}", shell_quoted(content), shell_quoted(&file)),
    )
}

/// A call that runs a command.
pub(super) fn to_run(tools: &[OfferedTool], command: &str) -> Option<ToolCall> {
    if let Some((name, schema)) = first_tool(tools, &SHELLS) {
        return Some(ToolCall::new(
            name,
            fill_input(schema, |property| match property {
                "command" | "cmd" if schema["properties"][property]["type"] == "array" => {
                    Some(json!(["sh", "-c", command]))
                }
                "command" | "cmd" => Some(json!(command)),
                _ => None,
            }),
        ));
    }
    // A tool that runs JavaScript, with the other tools as functions.
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

/// The first tool with one of these names that takes an object, in order of the names.
fn first_tool<'a>(tools: &'a [OfferedTool], names: &[&str]) -> Option<(&'a str, &'a Value)> {
    names.iter().find_map(|name| {
        tools.iter().find_map(|tool| match &tool.input {
            InputForm::Object(schema) if tool.name == *name => Some((tool.name.as_str(), schema)),
            _ => None,
        })
    })
}

/// An object matching a schema: known values, plus simple values for other required properties.
fn fill_input(schema: &Value, known: impl Fn(&str) -> Option<Value>) -> Value {
    let properties = schema["properties"].as_object().cloned().unwrap_or_default();
    let is_required = |name: &str| {
        schema["required"]
            .as_array()
            .is_some_and(|all| all.iter().any(|one| one == name))
    };
    let value = |(name, form): (String, Value)| {
        let value = known(&name).or_else(|| is_required(&name).then(|| simplest_value(&form)))?;
        Some((name, value))
    };
    Value::Object(properties.into_iter().filter_map(value).collect::<Map<_, _>>())
}

/// The simplest value that a schema allows.
pub(super) fn simplest_value(form: &Value) -> Value {
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

fn shell_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
