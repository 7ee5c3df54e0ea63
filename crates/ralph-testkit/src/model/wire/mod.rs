//! The API formats of model services, one file each.

mod anthropic;
mod chat;
mod gemini;
mod responses;

use serde_json::{Value, json};

use super::answer::{Answer, AnswerEnd};
use super::conversation::Conversation;
use super::http::{Cut, Event, Response};

/// How many characters are streamed at once: few enough to split sigils.
const PIECE: usize = 12;

/// An API format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wire {
    Anthropic,
    /// `OpenAI`'s chat completions, which many services speak.
    Chat,
    /// `OpenAI`'s Responses.
    Responses,
    /// Gemini's `generateContent`.
    Gemini,
}

impl Wire {
    /// The format used at this path.
    pub(super) fn at(path: &str) -> Option<Self> {
        if path.ends_with("/messages") {
            Some(Self::Anthropic)
        } else if path.ends_with("/chat/completions") {
            Some(Self::Chat)
        } else if path.ends_with("/responses") {
            Some(Self::Responses)
        } else if path.ends_with(":generateContent") || path.ends_with(":streamGenerateContent") {
            Some(Self::Gemini)
        } else {
            None
        }
    }

    /// The response in this format, streamed if requested.
    pub(super) fn response(self, conversation: &Conversation, answer: &Answer) -> Response {
        let (events, whole) = match self {
            Self::Anthropic => anthropic::render(conversation, answer),
            Self::Chat => chat::render(conversation, answer),
            Self::Responses => responses::render(conversation, answer),
            Self::Gemini => gemini::render(answer),
        };
        match answer.end {
            AnswerEnd::Cut => Response::Unfinished {
                events: if conversation.is_streamed {
                    events.begun
                } else {
                    Vec::new()
                },
                cut: Cut::Now,
            },
            _ if conversation.is_streamed => Response::Stream(events.begun.into_iter().chain(events.rest).collect()),
            _ => Response::json(200, &whole),
        }
    }
}

/// The events of an answer: its streamed text, and everything after it.
pub(super) struct Events {
    begun: Vec<Event>,
    rest: Vec<Event>,
}

fn pieces(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    chars.chunks(PIECE).map(|piece| piece.iter().collect()).collect()
}

/// The list of models, in the formats of all services at once.
pub(super) fn models() -> Value {
    let ids = ["scripted-model", "claude-sonnet-4-5", "gpt-5", "gemini-2.5-pro"];
    let listed = ids.map(|id| {
        json!({ "id": id, "object": "model", "type": "model", "display_name": id, "created": 0, "owned_by": "scripted" })
    });
    let named = ids.map(|id| {
        json!({ "name": format!("models/{id}"), "supportedGenerationMethods": ["generateContent"], "inputTokenLimit": 1_000_000 })
    });
    json!({ "object": "list", "data": listed, "models": named })
}
