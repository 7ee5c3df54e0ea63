//! Anthropic's Messages API.

use serde_json::{Value, json};

use super::{Conversation, Event, Events, pieces};
use crate::model::answer::{Answer, AnswerEnd, ScriptedUsage};
use crate::model::tool::ToolCall;

pub(super) fn render(conversation: &Conversation, answer: &Answer) -> (Events, Value) {
    let model = &conversation.model;
    let start = json!({ "type": "message_start", "message": message(model, &[], &Value::Null) });
    let mut begun = vec![start];
    let mut rest = Vec::new();
    let mut index = 0;
    if !answer.text.is_empty() {
        begun.push(
            json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
        );
        begun.extend(pieces(&answer.text).into_iter().map(|piece| {
            let delta = json!({ "type": "text_delta", "text": piece });
            json!({ "type": "content_block_delta", "index": 0, "delta": delta })
        }));
        rest.push(json!({ "type": "content_block_stop", "index": 0 }));
        index += 1;
    }
    if let Some(tool) = &answer.tool {
        let delta = json!({ "type": "input_json_delta", "partial_json": tool.object().to_string() });
        let block = tool_block(tool, json!({}));
        rest.push(json!({ "type": "content_block_start", "index": index, "content_block": block }));
        rest.push(json!({ "type": "content_block_delta", "index": index, "delta": delta }));
        rest.push(json!({ "type": "content_block_stop", "index": index }));
    }
    let stop = json!(stop_reason(answer));
    rest.push(json!({
        "type": "message_delta",
        "delta": { "stop_reason": stop, "stop_sequence": null },
        "usage": { "output_tokens": ScriptedUsage::OUTPUT }
    }));
    rest.push(json!({ "type": "message_stop" }));
    let typed = |events: Vec<Value>| events.iter().map(Event::typed).collect();
    let events = Events {
        begun: typed(begun),
        rest: typed(rest),
    };
    (events, message(model, &blocks(answer), &stop))
}

fn blocks(answer: &Answer) -> Vec<Value> {
    let text = Some(&answer.text).filter(|text| !text.is_empty());
    let text = text.map(|text| json!({ "type": "text", "text": text }));
    let tool = answer.tool.as_ref().map(|tool| tool_block(tool, tool.object()));
    text.into_iter().chain(tool).collect()
}

fn tool_block(tool: &ToolCall, input: Value) -> Value {
    let mut block = json!({ "type": "tool_use", "id": tool.id("toolu"), "name": tool.name });
    block["input"] = input;
    block
}

fn stop_reason(answer: &Answer) -> &'static str {
    match answer.end {
        AnswerEnd::TokenLimit => "max_tokens",
        AnswerEnd::Refusal => "refusal",
        AnswerEnd::Whole | AnswerEnd::Cut if answer.tool.is_some() => "tool_use",
        AnswerEnd::Whole | AnswerEnd::Cut => "end_turn",
    }
}

/// A message; a message that is still being streamed has no content and no stop reason.
fn message(model: &Value, blocks: &[Value], stop: &Value) -> Value {
    json!({
        "id": "msg_scripted",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": blocks,
        "stop_reason": stop,
        "stop_sequence": null,
        "usage": { "input_tokens": ScriptedUsage::INPUT, "output_tokens": ScriptedUsage::OUTPUT }
    })
}
