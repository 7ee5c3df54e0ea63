//! The relevant records of Claude Code's output. Key order varies, and unknown keys and record types are ignored.

use ralph_model::{Usage, truncate_at_word};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::lenient::{lenient, lenient_list, lenient_or_default};

/// The longest result text that is kept, in bytes.
const MAX_RESULT: usize = 64 << 10;

/// The fields that any record may have.
#[derive(Debug, Deserialize)]
pub(super) struct Envelope {
    #[serde(rename = "type")]
    pub(super) kind: String,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) subtype: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) session_id: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) model: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) parent_tool_use_id: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) message: Option<Message>,
    /// The service error, in a message that the program generated for it.
    #[serde(default, deserialize_with = "lenient")]
    pub(super) error: Option<String>,
    /// Whether this is such a message, even if it names no error.
    #[serde(default, deserialize_with = "lenient_or_default")]
    pub(super) is_api_error_message: bool,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) rate_limit_info: Option<RateLimit>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) tool_use_id: Option<String>,
}

/// A message of the agent, or a tool result.
#[derive(Debug, Deserialize)]
pub(super) struct Message {
    #[serde(default, deserialize_with = "lenient")]
    pub(super) id: Option<String>,
    #[serde(default, deserialize_with = "lenient_or_default")]
    pub(super) content: Content,
    /// Usage so far; later output is not included.
    #[serde(default, deserialize_with = "lenient")]
    pub(super) usage: Option<PlainUsage>,
}

/// Content of a message: blocks, or plain text.
#[derive(Debug, Deserialize)]
#[serde(from = "Value")]
pub(super) enum Content {
    Text(String),
    Blocks(Vec<Value>),
}

impl From<Value> for Content {
    fn from(value: Value) -> Self {
        match value {
            Value::String(text) => Self::Text(text),
            Value::Array(blocks) => Self::Blocks(blocks),
            _ => Self::default(),
        }
    }
}

impl Default for Content {
    fn default() -> Self {
        Self::Blocks(Vec::new())
    }
}

impl Content {
    pub(super) fn into_blocks(self) -> Vec<Block> {
        match self {
            Self::Text(text) => vec![Block::Text { text }],
            Self::Blocks(blocks) => blocks
                .into_iter()
                .filter_map(|block| serde_json::from_value(block).ok())
                .collect(),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Block {
    Text {
        text: String,
    },
    ToolUse {
        #[serde(default, deserialize_with = "lenient_or_default")]
        id: String,
        name: String,
        #[serde(default, deserialize_with = "lenient_or_default")]
        input: ToolInput,
    },
    ToolResult {
        #[serde(default, deserialize_with = "lenient_or_default")]
        tool_use_id: String,
        #[serde(default, deserialize_with = "lenient_or_default")]
        is_error: bool,
    },
    #[serde(other)]
    Other,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(transparent)]
pub(super) struct ToolInput(Map<String, Value>);

impl ToolInput {
    pub(super) fn path(&self) -> Option<&str> {
        ["file_path", "notebook_path", "path"]
            .iter()
            .find_map(|key| self.text(key))
    }

    pub(super) fn command(&self) -> Option<&str> {
        self.text("command")
    }

    pub(super) fn url(&self) -> Option<&str> {
        self.text("url")
    }

    /// The first text in the input.
    pub(super) fn first_text(&self) -> Option<&str> {
        self.0.values().find_map(Value::as_str)
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.0.get(key).and_then(Value::as_str)
    }
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RateLimit {
    #[serde(default, deserialize_with = "lenient")]
    status: Option<String>,
    /// Seconds since the Unix epoch.
    #[serde(default, deserialize_with = "lenient")]
    pub(super) resets_at: Option<f64>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) rate_limit_type: Option<String>,
}

impl RateLimit {
    pub(super) fn is_rejected(&self) -> bool {
        self.status.as_deref() == Some("rejected")
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct ResultRecord {
    #[serde(default, deserialize_with = "lenient")]
    pub(super) subtype: Option<String>,
    #[serde(default, deserialize_with = "lenient_or_default")]
    pub(super) is_error: bool,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) api_error_status: Option<u16>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) terminal_reason: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) stop_reason: Option<String>,
    #[serde(default, rename = "api_error", deserialize_with = "lenient")]
    pub(super) error: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) result: Option<String>,
    #[serde(default, deserialize_with = "lenient_list")]
    errors: Vec<Value>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) session_id: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    total_cost_usd: Option<f64>,
    #[serde(default, deserialize_with = "lenient")]
    usage: Option<PlainUsage>,
    #[serde(default, rename = "modelUsage", deserialize_with = "lenient")]
    model_usage: Option<std::collections::BTreeMap<String, ModelUsage>>,
    #[serde(default, deserialize_with = "lenient_list")]
    pub(super) permission_denials: Vec<DeniedTool>,
}

impl ResultRecord {
    /// Shortens the text, which may repeat a whole answer; error messages are short.
    pub(super) fn shorten(&mut self) {
        if let Some(text) = &mut self.result {
            text.truncate(truncate_at_word(text, MAX_RESULT).len());
            text.shrink_to_fit();
        }
    }

    /// The message of the record: its result, or else its errors.
    pub(super) fn message(&self) -> String {
        let result = self.result.as_deref().map(str::trim).filter(|text| !text.is_empty());
        match result {
            Some(text) => text.to_owned(),
            None => self
                .errors
                .iter()
                .map(|error| error.as_str().map_or_else(|| error.to_string(), str::to_owned))
                .collect::<Vec<_>>()
                .join("; "),
        }
    }

    /// The usage of the turn over all models. The other totals include earlier sessions or omit subagents.
    pub(super) fn usage(&self) -> Usage {
        let models = self.model_usage.as_ref().filter(|models| !models.is_empty());
        if let Some(models) = models {
            return models.values().fold(Usage::default(), |sum, model| Usage {
                cost_usd: sum.cost_usd + model.cost,
                input_tokens: [model.input, model.cache_read, model.cache_creation]
                    .iter()
                    .fold(sum.input_tokens, |sum, tokens| sum.saturating_add(*tokens)),
                output_tokens: sum.output_tokens.saturating_add(model.output),
            });
        }
        Usage {
            cost_usd: self.total_cost_usd.unwrap_or(0.0),
            ..self.usage.as_ref().map(PlainUsage::usage).unwrap_or_default()
        }
    }
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct ModelUsage {
    #[serde(rename = "inputTokens")]
    input: u64,
    #[serde(rename = "outputTokens")]
    output: u64,
    #[serde(rename = "cacheReadInputTokens")]
    cache_read: u64,
    #[serde(rename = "cacheCreationInputTokens")]
    cache_creation: u64,
    #[serde(rename = "costUSD")]
    cost: f64,
}

/// Usage of the agent itself or of one message.
#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct PlainUsage {
    #[serde(default, deserialize_with = "lenient_or_default")]
    input_tokens: u64,
    #[serde(default, deserialize_with = "lenient_or_default")]
    output_tokens: u64,
    #[serde(default, deserialize_with = "lenient_or_default")]
    cache_read_input_tokens: u64,
    #[serde(default, deserialize_with = "lenient_or_default")]
    cache_creation_input_tokens: u64,
}

impl PlainUsage {
    /// The usage, without cost.
    pub(super) fn usage(&self) -> Usage {
        Usage {
            cost_usd: 0.0,
            input_tokens: [self.cache_read_input_tokens, self.cache_creation_input_tokens]
                .iter()
                .fold(self.input_tokens, |sum, tokens| sum.saturating_add(*tokens)),
            output_tokens: self.output_tokens,
        }
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct DeniedTool {
    #[serde(default, deserialize_with = "lenient_or_default")]
    pub(super) tool_use_id: String,
    pub(super) tool_name: String,
    #[serde(default, deserialize_with = "lenient_or_default")]
    pub(super) tool_input: ToolInput,
}
