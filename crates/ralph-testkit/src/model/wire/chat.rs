//! `OpenAI`'s chat completions API.

use serde_json::{Value, json};

use super::{Conversation, Event, Events, pieces};
use crate::model::answer::{Answer, AnswerEnd, ScriptedUsage};

pub(super) fn render(conversation: &Conversation, answer: &Answer) -> (Events, Value) {
    let calls = answer.tool.as_ref().map(|tool| {
        let function = json!({ "name": tool.name, "arguments": tool.object().to_string() });
        json!([{ "index": 0, "id": tool.id("call"), "type": "function", "function": function }])
    });
    let chunk = |choices: Value| {
        json!({
            "id": "chatcmpl-scripted",
            "object": "chat.completion.chunk",
            "created": 0,
            "model": conversation.model,
            "choices": choices
        })
    };
    let delta = |delta: Value| Event::new(&chunk(json!([{ "index": 0, "delta": delta, "finish_reason": null }])));
    let mut begun = vec![delta(json!({ "role": "assistant", "content": "" }))];
    begun.extend(
        pieces(&answer.text)
            .iter()
            .map(|piece| delta(json!({ "content": piece }))),
    );
    let mut rest: Vec<Event> = calls
        .iter()
        .map(|calls| delta(json!({ "tool_calls": calls })))
        .collect();
    let finish = finish_reason(answer);
    rest.push(Event::new(&chunk(
        json!([{ "index": 0, "delta": {}, "finish_reason": finish }]),
    )));
    let mut counted = chunk(json!([]));
    counted["usage"] = usage();
    rest.push(Event::new(&counted));
    rest.push(Event {
        name: None,
        data: "[DONE]".to_owned(),
    });
    let mut message = json!({ "role": "assistant", "content": answer.text });
    if let Some(calls) = calls {
        message["tool_calls"] = calls;
    }
    let mut whole = chunk(json!([{ "index": 0, "message": message, "finish_reason": finish }]));
    whole["object"] = json!("chat.completion");
    whole["usage"] = usage();
    (Events { begun, rest }, whole)
}

fn finish_reason(answer: &Answer) -> &'static str {
    match answer.end {
        AnswerEnd::TokenLimit => "length",
        AnswerEnd::Refusal => "content_filter",
        AnswerEnd::Whole | AnswerEnd::Cut if answer.tool.is_some() => "tool_calls",
        AnswerEnd::Whole | AnswerEnd::Cut => "stop",
    }
}

fn usage() -> Value {
    let (input, output) = (ScriptedUsage::INPUT, ScriptedUsage::OUTPUT);
    json!({ "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output })
}
