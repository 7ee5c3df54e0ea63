//! Gemini's `generateContent` API.

use serde_json::{Value, json};

use super::{Event, Events, pieces};
use crate::model::answer::{Answer, AnswerEnd, ScriptedUsage};

pub(super) fn render(answer: &Answer) -> (Events, Value) {
    let begun = pieces(&answer.text).into_iter();
    let begun = begun.map(|piece| chunk(&[json!({ "text": piece })], None));
    let begun = begun.map(|chunk| Event::new(&chunk)).collect();
    let call = answer
        .tool
        .as_ref()
        .map(|tool| json!({ "functionCall": { "name": tool.name, "args": tool.object() } }));
    let finish = match answer.end {
        AnswerEnd::TokenLimit => "MAX_TOKENS",
        AnswerEnd::Refusal => "SAFETY",
        AnswerEnd::Whole | AnswerEnd::Cut => "STOP",
    };
    let last: Vec<Value> = call.iter().cloned().collect();
    let rest = vec![Event::new(&chunk(&last, Some(finish)))];
    let text = Some(json!({ "text": answer.text })).filter(|_| !answer.text.is_empty());
    let whole: Vec<Value> = text.into_iter().chain(call).collect();
    (Events { begun, rest }, chunk(&whole, Some(finish)))
}

fn chunk(parts: &[Value], finish: Option<&str>) -> Value {
    let (input, output) = (ScriptedUsage::INPUT, ScriptedUsage::OUTPUT);
    let mut candidate = json!({ "content": { "role": "model", "parts": parts }, "index": 0 });
    if let Some(finish) = finish {
        candidate["finishReason"] = json!(finish);
    }
    json!({
        "candidates": [candidate],
        "usageMetadata": {
            "promptTokenCount": input, "candidatesTokenCount": output, "totalTokenCount": input + output
        },
        "modelVersion": "scripted",
        "responseId": "scripted"
    })
}
