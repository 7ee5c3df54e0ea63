//! The forms in which models are asked and answer, one file each.

mod anthropic;
mod chat;
mod gemini;
mod responses;

use serde_json::{Value, json};

use super::answer::{Answer, AnswerEnd};
use super::conversation::Conversation;
use super::http::{Cut, Event, Response};

/// How many characters of a text come at once: so few that what matters is split somewhere.
const PIECE: usize = 12;

/// A form in which a model is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wire {
    /// Anthropic's Messages.
    Anthropic,
    /// `OpenAI`'s chat completions, which many services speak.
    Chat,
    /// `OpenAI`'s Responses.
    Responses,
    /// Gemini's `generateContent`.
    Gemini,
}

impl Wire {
    /// The form of what is asked at this path.
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

    /// An answer in this form, whole or in pieces as it was asked for.
    pub(super) fn response(self, conversation: &Conversation, answer: &Answer) -> Response {
        let (events, whole) = match self {
            Self::Anthropic => anthropic::render(conversation, answer),
            Self::Chat => chat::render(conversation, answer),
            Self::Responses => responses::render(conversation, answer),
            Self::Gemini => gemini::render(answer),
        };
        match answer.end {
            AnswerEnd::Cut => Response::Unfinished {
                events: if conversation.streamed {
                    events.begun
                } else {
                    Vec::new()
                },
                cut: Cut::Now,
            },
            _ if conversation.streamed => Response::Stream(events.begun.into_iter().chain(events.rest).collect()),
            _ => Response::json(200, &whole),
        }
    }
}

/// The events of an answer: its text as it is being written, and all that follows.
pub(super) struct Events {
    begun: Vec<Event>,
    rest: Vec<Event>,
}

/// A text in pieces.
fn pieces(text: &str) -> Vec<String> {
    let signs: Vec<char> = text.chars().collect();
    signs.chunks(PIECE).map(|piece| piece.iter().collect()).collect()
}

/// The models that there are, in the forms of all services at once.
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
