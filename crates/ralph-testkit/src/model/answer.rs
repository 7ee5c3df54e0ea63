//! Turns a scenario and a conversation into an answer, independent of the API format.

use serde_json::{Map, Value, json};

use super::conversation::Conversation;
use super::tool::{self, ToolCall};
use super::{ANSWER, Failure, Scenario};

/// The reply to a request.
#[derive(Debug)]
pub(super) enum Reply {
    Answer(Answer),
    Failure(Failure),
    /// The answer starts and never continues.
    Silence,
}

#[derive(Debug, Default)]
pub(super) struct Answer {
    pub(super) text: String,
    pub(super) tool: Option<ToolCall>,
    pub(super) end: AnswerEnd,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum AnswerEnd {
    #[default]
    Whole,
    TokenLimit,
    Refusal,
    /// The connection is closed in the middle.
    Cut,
}

/// The reported token usage, the same in every format.
pub(super) struct ScriptedUsage;

impl ScriptedUsage {
    pub(super) const INPUT: u32 = 100;
    pub(super) const OUTPUT: u32 = 10;
}

impl Reply {
    /// A meaningless text, or JSON matching the requested schema.
    pub(super) fn plain(conversation: &Conversation) -> Self {
        let text = conversation
            .schema
            .as_ref()
            .map(|schema| object_matching(schema).to_string());
        Self::text(text.unwrap_or_else(|| ANSWER.to_owned()))
    }

    fn text(text: impl Into<String>) -> Self {
        Self::ending(text, AnswerEnd::Whole)
    }

    fn ending(text: impl Into<String>, end: AnswerEnd) -> Self {
        Self::Answer(Answer {
            text: text.into(),
            end,
            ..Answer::default()
        })
    }

    fn call(tool: ToolCall) -> Self {
        Self::Answer(Answer {
            text: "I begin with a tool.".to_owned(),
            tool: Some(tool),
            ..Answer::default()
        })
    }
}

/// The reply in a conversation about this task.
pub(super) fn reply_to_task(scenario: &Scenario, task: &str, conversation: &Conversation) -> Reply {
    let done = || {
        Reply::text(format!(
            "{ANSWER} The work is finished.\n\n<task-done>{task}</task-done>\n"
        ))
    };
    let passes = || Reply::text(format!("{ANSWER}\n\n<verify-pass/>\n"));
    let call_or_explain = |call: Option<ToolCall>| match call {
        Some(call) => Reply::call(ToolCall {
            number: conversation.tool_results,
            ..call
        }),
        None => {
            let offered = conversation.tools.iter().map(|tool| tool.name.as_str());
            Reply::text(format!(
                "There is no tool for it among {}.",
                offered.collect::<Vec<_>>().join(", ")
            ))
        }
    };
    match scenario {
        Scenario::Says(text) => Reply::text(text.replace("{task}", task)),
        Scenario::Writes { .. } | Scenario::Calls { .. } if conversation.tool_results > 0 => done(),
        Scenario::Writes { path, content } => call_or_explain(tool::to_write(&conversation.tools, path, content)),
        Scenario::WritesAndRuns {
            path,
            content,
            commands,
        } => match conversation.tool_results {
            0 => call_or_explain(tool::to_write(&conversation.tools, path, content)),
            results => match commands.get(results - 1) {
                Some(command) => call_or_explain(tool::to_run(&conversation.tools, command)),
                None => done(),
            },
        },
        Scenario::Calls { tool, input } => Reply::call(ToolCall::new(tool, input.clone())),
        Scenario::Runs(_) if conversation.tool_results > 0 => Reply::text("The command finished."),
        Scenario::Runs(command) => call_or_explain(tool::to_run(&conversation.tools, command)),
        Scenario::Meddles { .. } if conversation.tool_results > 0 => passes(),
        Scenario::Meddles { path } => {
            let write = tool::to_write(&conversation.tools, path, "meddled\n");
            let command = format!("echo meddled > '{}'", path.display());
            let call = write.or_else(|| tool::to_run(&conversation.tools, &command));
            call.map_or_else(passes, Reply::call)
        }
        Scenario::Fails(failure) => Reply::Failure(*failure),
        Scenario::CutsOff => Reply::ending("This sentence is cut off in the mid", AnswerEnd::Cut),
        Scenario::Hangs => Reply::Silence,
        Scenario::RunsOutOfTokens => Reply::ending("This is as long as an answer may", AnswerEnd::TokenLimit),
        Scenario::Refuses => Reply::ending("", AnswerEnd::Refusal),
        Scenario::SaysNothing => Reply::text(""),
    }
}

/// An object matching a schema, with the simplest value of each type.
fn object_matching(schema: &Value) -> Value {
    let properties = schema["properties"].as_object().cloned().unwrap_or_default();
    let plain = |(name, form): (String, Value)| {
        let value = tool::simplest_value(&form);
        // Asked who speaks next, a finished model says: the user.
        let value = if name == "next_speaker" { json!("user") } else { value };
        (name, value)
    };
    Value::Object(properties.into_iter().map(plain).collect::<Map<_, _>>())
}
