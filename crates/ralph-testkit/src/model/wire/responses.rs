//! `OpenAI`'s Responses API.

use serde_json::{Value, json};

use super::{Conversation, Event, Events, pieces};
use crate::model::answer::{Answer, AnswerEnd, ScriptedUsage};
use crate::model::tool::{Input, ToolCall};

pub(super) fn render(conversation: &Conversation, answer: &Answer) -> (Events, Value) {
    let whole = response(conversation, answer);
    let opened = json!({
        "id": "resp_scripted", "object": "response", "created_at": 0, "status": "in_progress",
        "model": conversation.model, "output": [], "usage": null
    });
    let mut begun = vec![
        json!({ "type": "response.created", "response": opened }),
        json!({ "type": "response.in_progress", "response": opened }),
    ];
    let mut rest = Vec::new();
    let items = items(answer);
    for (index, item) in items.iter().enumerate() {
        if item["type"] == "message" {
            let (first, last) = message_events(answer, index, item);
            begun.extend(first);
            rest.extend(last);
        } else {
            rest.extend(call_events(index, item));
        }
    }
    let closing = match answer.end {
        AnswerEnd::TokenLimit => "response.incomplete",
        _ => "response.completed",
    };
    rest.push(json!({ "type": closing, "response": whole }));
    let mut number = 0;
    let mut numbered = |mut event: Value| {
        number += 1;
        event["sequence_number"] = json!(number);
        Event::typed(&event)
    };
    let begun = begun.into_iter().map(&mut numbered).collect();
    let rest = rest.into_iter().map(&mut numbered).collect();
    (Events { begun, rest }, whole)
}

fn response(conversation: &Conversation, answer: &Answer) -> Value {
    let (status, details) = match answer.end {
        AnswerEnd::TokenLimit => ("incomplete", json!({ "reason": "max_output_tokens" })),
        _ => ("completed", Value::Null),
    };
    let (input, output) = (ScriptedUsage::INPUT, ScriptedUsage::OUTPUT);
    json!({
        "id": "resp_scripted",
        "object": "response",
        "created_at": 0,
        "status": status,
        "incomplete_details": details,
        "model": conversation.model,
        "output": items(answer),
        "usage": {
            "input_tokens": input,
            "input_tokens_details": { "cached_tokens": 0 },
            "output_tokens": output,
            "output_tokens_details": { "reasoning_tokens": 0 },
            "total_tokens": input + output
        }
    })
}

fn items(answer: &Answer) -> Vec<Value> {
    let text = Some(&answer.text).filter(|text| !text.is_empty());
    let message = text.map(|text| {
        let part = json!({ "type": "output_text", "text": text, "annotations": [] });
        json!({ "type": "message", "id": "msg_scripted", "role": "assistant", "status": "completed", "content": [part] })
    });
    message.into_iter().chain(answer.tool.as_ref().map(call)).collect()
}

fn call(tool: &ToolCall) -> Value {
    match &tool.input {
        Input::Object(input) => json!({
            "type": "function_call", "id": tool.id("fc"), "call_id": tool.id("call"), "name": tool.name,
            "arguments": input.to_string(), "status": "completed"
        }),
        Input::Text(text) => json!({
            "type": "custom_tool_call", "id": tool.id("ctc"), "call_id": tool.id("call"), "name": tool.name,
            "input": text, "status": "completed"
        }),
    }
}

/// The events of a message: while its text is streamed, and after it.
fn message_events(answer: &Answer, index: usize, item: &Value) -> (Vec<Value>, Vec<Value>) {
    let at = |kind: &str, name: &str, value: Value| {
        let mut event = json!({ "type": kind, "item_id": "msg_scripted", "output_index": index, "content_index": 0 });
        event[name] = value;
        event
    };
    let empty = json!({ "type": "output_text", "text": "", "annotations": [] });
    let begun =
        json!({ "type": "message", "id": "msg_scripted", "role": "assistant", "status": "in_progress", "content": [] });
    let mut first = vec![
        json!({ "type": "response.output_item.added", "output_index": index, "item": begun }),
        at("response.content_part.added", "part", empty),
    ];
    let deltas = pieces(&answer.text).into_iter();
    first.extend(deltas.map(|piece| at("response.output_text.delta", "delta", json!(piece))));
    let last = vec![
        at("response.output_text.done", "text", json!(answer.text)),
        at("response.content_part.done", "part", item["content"][0].clone()),
        json!({ "type": "response.output_item.done", "output_index": index, "item": item }),
    ];
    (first, last)
}

fn call_events(index: usize, item: &Value) -> Vec<Value> {
    let mut begun = item.clone();
    begun["status"] = json!("in_progress");
    let (kind, name) = if item["type"] == "function_call" {
        ("response.function_call_arguments", "arguments")
    } else {
        ("response.custom_tool_call_input", "input")
    };
    begun[name] = json!("");
    let at = |end: &str, field: &str| {
        let mut event = json!({ "type": format!("{kind}.{end}"), "item_id": item["id"], "output_index": index });
        event[field] = item[name].clone();
        event
    };
    vec![
        json!({ "type": "response.output_item.added", "output_index": index, "item": begun }),
        at("delta", "delta"),
        at("done", name),
        json!({ "type": "response.output_item.done", "output_index": index, "item": item }),
    ]
}
