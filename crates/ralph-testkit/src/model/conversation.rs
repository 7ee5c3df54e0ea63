//! Parses an agent's request in any API format: the prompt, the offered tools, and the progress of the conversation.

use serde_json::Value;

use super::wire::Wire;
use crate::assigned::{HEADING, VERIFICATION, assigned_task, verified_task};

/// A parsed request.
#[derive(Debug)]
pub(super) struct Conversation {
    pub(super) wire: Wire,
    /// The requested model.
    pub(super) model: Value,
    /// Whether the answer is streamed.
    pub(super) is_streamed: bool,
    /// ralph's prompt, or else all user messages.
    pub(super) prompt: String,
    pub(super) task: Option<AssignedTask>,
    pub(super) tools: Vec<OfferedTool>,
    /// How many tool calls were already answered.
    pub(super) tool_results: usize,
    /// The JSON schema of the answer, if the agent wants one.
    pub(super) schema: Option<Value>,
}

/// The task that a prompt assigns.
#[derive(Debug)]
pub(super) struct AssignedTask {
    pub(super) id: String,
    /// Whether the request is for work on the task, not for a title or summary of the prompt.
    pub(super) is_worked_on: bool,
}

/// A tool that the model may call.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OfferedTool {
    pub(super) name: String,
    pub(super) input: InputForm,
}

/// The input format of a tool.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum InputForm {
    /// An object with this JSON schema.
    Object(Value),
    Freeform,
}

/// The relevant messages of a conversation.
#[derive(Debug, Default)]
struct MessageTexts {
    user: Vec<String>,
    tool_results: usize,
}

impl Conversation {
    /// Parses a request; unknown parts are ignored.
    pub(super) fn read(wire: Wire, path: &str, body: &str) -> Self {
        let body: Value = serde_json::from_str(body).unwrap_or_default();
        let mut texts_seen = MessageTexts::default();
        let mut tools = Vec::new();
        match wire {
            Wire::Anthropic => read_messages(&body, &mut texts_seen, &mut tools),
            Wire::Chat => read_chat(&body, &mut texts_seen, &mut tools),
            Wire::Responses => read_responses(&body, &mut texts_seen, &mut tools),
            Wire::Gemini => read_gemini(&body, &mut texts_seen, &mut tools),
        }
        let is_ralphs = |text: &&String| text.contains(HEADING) || text.contains(VERIFICATION);
        let assigning = texts_seen.user.iter().find(is_ralphs);
        let prompt = assigning.cloned().unwrap_or_else(|| texts_seen.user.join("\n"));
        let task = assigned_task(&prompt)
            .or_else(|| verified_task(&prompt))
            .map(|task| AssignedTask {
                id: task.to_string(),
                // Requests for a title or summary contain the prompt too, but offer no tools.
                is_worked_on: !tools.is_empty(),
            });
        let generation = &body["generationConfig"];
        let schema = [&generation["responseJsonSchema"], &generation["responseSchema"]];
        Self {
            wire,
            model: body["model"].clone(),
            is_streamed: body["stream"] == true || path.ends_with(":streamGenerateContent"),
            task,
            prompt,
            tools,
            tool_results: texts_seen.tool_results,
            schema: schema.into_iter().find(|schema| !schema.is_null()).cloned(),
        }
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn add_tool(tools: &mut Vec<OfferedTool>, name: &Value, schema: &Value) {
    tools.push(OfferedTool {
        name: text(name),
        input: InputForm::Object(schema.clone()),
    });
}

/// The texts in a message's content, which is a string or a list of parts.
fn texts(content: &Value) -> Vec<String> {
    match content {
        Value::String(text) => vec![text.clone()],
        parts => list(parts)
            .iter()
            .filter_map(|part| part["text"].as_str().map(str::to_owned))
            .collect(),
    }
}

fn read_messages(body: &Value, texts_seen: &mut MessageTexts, tools: &mut Vec<OfferedTool>) {
    for tool in list(&body["tools"]) {
        add_tool(tools, &tool["name"], &tool["input_schema"]);
    }
    for message in list(&body["messages"]) {
        let parts = list(&message["content"]);
        texts_seen.tool_results += parts.iter().filter(|part| part["type"] == "tool_result").count();
        if message["role"] == "user" {
            texts_seen.user.extend(texts(&message["content"]));
        }
    }
}

fn read_chat(body: &Value, texts_seen: &mut MessageTexts, tools: &mut Vec<OfferedTool>) {
    for tool in list(&body["tools"]) {
        add_tool(tools, &tool["function"]["name"], &tool["function"]["parameters"]);
    }
    for message in list(&body["messages"]) {
        texts_seen.tool_results += usize::from(message["role"] == "tool");
        if message["role"] == "user" {
            texts_seen.user.extend(texts(&message["content"]));
        }
    }
}

fn read_responses(body: &Value, texts_seen: &mut MessageTexts, tools: &mut Vec<OfferedTool>) {
    list(&body["tools"])
        .iter()
        .for_each(|tool| add_responses_tool(tool, tools));
    if let Value::String(prompt) = &body["input"] {
        texts_seen.user.push(prompt.clone());
    }
    for item in list(&body["input"]) {
        let kind = item["type"].as_str().unwrap_or("message");
        texts_seen.tool_results += usize::from(kind.ends_with("_output"));
        if kind == "message" && item["role"] == "user" {
            texts_seen.user.extend(texts(&item["content"]));
        }
    }
}

/// Responses tools may be grouped, and may take freeform text.
fn add_responses_tool(tool: &Value, tools: &mut Vec<OfferedTool>) {
    match tool["type"].as_str() {
        Some("function") => add_tool(tools, &tool["name"], &tool["parameters"]),
        Some("custom") => tools.push(OfferedTool {
            name: text(&tool["name"]),
            input: InputForm::Freeform,
        }),
        _ => list(&tool["tools"])
            .iter()
            .for_each(|inner| add_responses_tool(inner, tools)),
    }
}

fn read_gemini(body: &Value, texts_seen: &mut MessageTexts, tools: &mut Vec<OfferedTool>) {
    for group in list(&body["tools"]) {
        for tool in list(&group["functionDeclarations"]) {
            let schema = [&tool["parametersJsonSchema"], &tool["parameters"]];
            let schema = schema.into_iter().find(|schema| !schema.is_null());
            add_tool(tools, &tool["name"], schema.unwrap_or(&Value::Null));
        }
    }
    for content in list(&body["contents"]) {
        let parts = list(&content["parts"]);
        texts_seen.tool_results += parts.iter().filter(|part| part["functionResponse"].is_object()).count();
        if content["role"] == "user" {
            texts_seen.user.extend(texts(&content["parts"]));
        }
    }
}
