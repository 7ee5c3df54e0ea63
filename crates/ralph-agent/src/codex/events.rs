//! The relevant records of `codex exec --json`. Unknown record and item types are ignored; each version adds some.

use ralph_model::Usage;
use serde::Deserialize;
use serde_json::Value;

use crate::lenient::{lenient, lenient_list, lenient_or_default};

/// The fields that any record may have.
#[derive(Debug, Deserialize)]
pub(super) struct Envelope {
    #[serde(rename = "type")]
    pub(super) kind: String,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) thread_id: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) item: Option<Item>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) usage: Option<PlainUsage>,
    /// The message of an error record.
    #[serde(default, deserialize_with = "lenient")]
    pub(super) message: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) error: Option<Failure>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Failure {
    #[serde(default, deserialize_with = "lenient_or_default")]
    pub(super) message: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Item {
    #[serde(default, deserialize_with = "lenient_or_default")]
    pub(super) id: String,
    #[serde(rename = "type")]
    pub(super) kind: String,
    #[serde(default, deserialize_with = "lenient_or_default")]
    pub(super) status: String,
    #[serde(default, deserialize_with = "lenient_or_default")]
    pub(super) text: String,
    #[serde(default, deserialize_with = "lenient_or_default")]
    command: String,
    #[serde(default, deserialize_with = "lenient_list")]
    pub(super) changes: Vec<Change>,
    #[serde(default, deserialize_with = "lenient_or_default")]
    server: String,
    #[serde(default, deserialize_with = "lenient")]
    tool: Option<Value>,
    #[serde(default, deserialize_with = "lenient_or_default")]
    query: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Change {
    pub(super) path: String,
}

/// A tool call: its name and its subject.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ToolUse {
    pub(super) name: String,
    pub(super) about: String,
}

impl Item {
    pub(super) fn tool_use(&self) -> Option<ToolUse> {
        let tool = || self.tool.as_ref().and_then(Value::as_str).unwrap_or_default();
        let (name, about) = match self.kind.as_str() {
            "command_execution" => ("shell".to_owned(), self.script()),
            "file_change" => ("apply_patch".to_owned(), self.paths().join(", ")),
            "mcp_tool_call" => ("mcp".to_owned(), format!("{} {}", self.server, tool())),
            "collab_tool_call" => (tool().to_owned(), String::new()),
            "web_search" => ("web_search".to_owned(), self.query.clone()),
            _ => return None,
        };
        Some(ToolUse { name, about })
    }

    /// The command without the shell that runs it.
    pub(super) fn script(&self) -> String {
        let words = ralph_model::config::CommandLine::Line(self.command.clone()).words();
        match words.as_deref() {
            Some([shell, option, script]) if shell.ends_with("sh") && matches!(option.as_str(), "-c" | "-lc") => {
                script.clone()
            }
            _ => self.command.clone(),
        }
    }

    pub(super) fn paths(&self) -> Vec<&str> {
        self.changes.iter().map(|change| change.path.as_str()).collect()
    }
}

/// Usage of a turn; includes cached and reasoning tokens.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct PlainUsage {
    #[serde(deserialize_with = "lenient_or_default")]
    input_tokens: u64,
    #[serde(deserialize_with = "lenient_or_default")]
    output_tokens: u64,
}

impl From<PlainUsage> for Usage {
    fn from(usage: PlainUsage) -> Self {
        Self {
            // Codex does not report costs.
            cost_usd: 0.0,
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
        }
    }
}
