//! What an agent asks, in whichever form: the prompt, the tools that it offers, and how far the conversation has come.

use serde_json::Value;

use super::wire::Wire;
use crate::assigned::{HEADING, VERIFICATION, assigned_task, verified_task};

/// A request for an answer.
#[derive(Debug)]
pub(super) struct Conversation {
    /// The form that it has.
    pub(super) wire: Wire,
    /// The model that is asked for.
    pub(super) model: Value,
    /// Whether the answer is to come in pieces.
    pub(super) streamed: bool,
    /// ralph's prompt, else everything that the user said.
    pub(super) prompt: String,
    /// The task that the prompt assigns.
    pub(super) task: Option<AssignedTask>,
    /// The tools that may be called.
    pub(super) tools: Vec<OfferedTool>,
    /// How many tool calls were answered already.
    pub(super) tool_results: usize,
    /// The form that the answer is to have, where the agent wants JSON.
    pub(super) schema: Option<Value>,
}

/// The task that a prompt assigns.
#[derive(Debug)]
pub(super) struct AssignedTask {
    pub(super) id: String,
    /// Whether the request is for work on it, not for something about the prompt.
    pub(super) is_worked_on: bool,
}

/// A tool that may be called.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OfferedTool {
    pub(super) name: String,
    pub(super) input: InputForm,
}

/// What a tool is called with.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum InputForm {
    /// An object after this JSON schema.
    Object(Value),
    /// Any text.
    Freeform,
}

/// What is said in a conversation, as far as it matters here.
#[derive(Debug, Default)]
struct Said {
    user: Vec<String>,
    tool_results: usize,
}

impl Conversation {
    /// Reads a request; what is not understood counts as not there.
    pub(super) fn read(wire: Wire, path: &str, body: &str) -> Self {
        let body: Value = serde_json::from_str(body).unwrap_or_default();
        let mut said = Said::default();
        let mut tools = Vec::new();
        match wire {
            Wire::Anthropic => read_messages(&body, &mut said, &mut tools),
            Wire::Chat => read_chat(&body, &mut said, &mut tools),
            Wire::Responses => read_responses(&body, &mut said, &mut tools),
            Wire::Gemini => read_gemini(&body, &mut said, &mut tools),
        }
        let is_ralphs = |text: &&String| text.contains(HEADING) || text.contains(VERIFICATION);
        let assigning = said.user.iter().find(is_ralphs);
        let prompt = assigning.cloned().unwrap_or_else(|| said.user.join("\n"));
        let task = assigned_task(&prompt)
            .or_else(|| verified_task(&prompt))
            .map(|task| AssignedTask {
                id: task.to_string(),
                // A title for the session and a summary are made from the prompt as well, but not with tools.
                is_worked_on: !tools.is_empty(),
            });
        let generation = &body["generationConfig"];
        let schema = [&generation["responseJsonSchema"], &generation["responseSchema"]];
        Self {
            wire,
            model: body["model"].clone(),
            streamed: body["stream"] == true || path.ends_with(":streamGenerateContent"),
            task,
            prompt,
            tools,
            tool_results: said.tool_results,
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

fn offer(tools: &mut Vec<OfferedTool>, name: &Value, schema: &Value) {
    tools.push(OfferedTool {
        name: text(name),
        input: InputForm::Object(schema.clone()),
    });
}

/// The texts of a message's content, which is one text or a list of parts.
fn texts(content: &Value) -> Vec<String> {
    match content {
        Value::String(text) => vec![text.clone()],
        parts => list(parts)
            .iter()
            .filter_map(|part| part["text"].as_str().map(str::to_owned))
            .collect(),
    }
}

fn read_messages(body: &Value, said: &mut Said, tools: &mut Vec<OfferedTool>) {
    for tool in list(&body["tools"]) {
        offer(tools, &tool["name"], &tool["input_schema"]);
    }
    for message in list(&body["messages"]) {
        let parts = list(&message["content"]);
        said.tool_results += parts.iter().filter(|part| part["type"] == "tool_result").count();
        if message["role"] == "user" {
            said.user.extend(texts(&message["content"]));
        }
    }
}

fn read_chat(body: &Value, said: &mut Said, tools: &mut Vec<OfferedTool>) {
    for tool in list(&body["tools"]) {
        offer(tools, &tool["function"]["name"], &tool["function"]["parameters"]);
    }
    for message in list(&body["messages"]) {
        said.tool_results += usize::from(message["role"] == "tool");
        if message["role"] == "user" {
            said.user.extend(texts(&message["content"]));
        }
    }
}

fn read_responses(body: &Value, said: &mut Said, tools: &mut Vec<OfferedTool>) {
    list(&body["tools"])
        .iter()
        .for_each(|tool| offer_to_responses(tool, tools));
    if let Value::String(prompt) = &body["input"] {
        said.user.push(prompt.clone());
    }
    for item in list(&body["input"]) {
        let kind = item["type"].as_str().unwrap_or("message");
        said.tool_results += usize::from(kind.ends_with("_output"));
        if kind == "message" && item["role"] == "user" {
            said.user.extend(texts(&item["content"]));
        }
    }
}

/// Tools may stand in groups here, and be called with a text.
fn offer_to_responses(tool: &Value, tools: &mut Vec<OfferedTool>) {
    match tool["type"].as_str() {
        Some("function") => offer(tools, &tool["name"], &tool["parameters"]),
        Some("custom") => tools.push(OfferedTool {
            name: text(&tool["name"]),
            input: InputForm::Freeform,
        }),
        _ => list(&tool["tools"])
            .iter()
            .for_each(|inner| offer_to_responses(inner, tools)),
    }
}

fn read_gemini(body: &Value, said: &mut Said, tools: &mut Vec<OfferedTool>) {
    for group in list(&body["tools"]) {
        for tool in list(&group["functionDeclarations"]) {
            let schema = [&tool["parametersJsonSchema"], &tool["parameters"]];
            let schema = schema.into_iter().find(|schema| !schema.is_null());
            offer(tools, &tool["name"], schema.unwrap_or(&Value::Null));
        }
    }
    for content in list(&body["contents"]) {
        let parts = list(&content["parts"]);
        said.tool_results += parts.iter().filter(|part| part["functionResponse"].is_object()).count();
        if content["role"] == "user" {
            said.user.extend(texts(&content["parts"]));
        }
    }
}
