//! The records that `codex exec --json` prints, as far as they matter here. There are more types than these, of records and
//! of items, and more come with each version.

use ralph_model::Usage;
use serde::Deserialize;
use serde_json::Value;

use crate::lenient::{lenient, lenient_list, lenient_or_default};

/// What any record may hold.
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
    /// Of a record that is itself an error.
    #[serde(default, deserialize_with = "lenient")]
    pub(super) message: Option<String>,
    /// Why a turn failed.
    #[serde(default, deserialize_with = "lenient")]
    pub(super) error: Option<Failure>,
}

/// Why a turn failed.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Failure {
    #[serde(default, deserialize_with = "lenient_or_default")]
    pub(super) message: String,
}

/// Something that the agent does or says.
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

/// A file that is changed.
#[derive(Debug, Deserialize)]
pub(super) struct Change {
    pub(super) path: String,
}

/// A use of a tool: its name, and what it is about.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ToolUse {
    pub(super) name: String,
    pub(super) about: String,
}

impl Item {
    /// The use of a tool that it is, if it is one.
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

    /// The command that it runs, without the shell that is called for it.
    pub(super) fn script(&self) -> String {
        let words = ralph_model::config::CommandLine::Line(self.command.clone()).words();
        match words.as_deref() {
            Some([shell, option, script]) if shell.ends_with("sh") && matches!(option.as_str(), "-c" | "-lc") => {
                script.clone()
            }
            _ => self.command.clone(),
        }
    }

    /// The files that it changes.
    pub(super) fn paths(&self) -> Vec<&str> {
        self.changes.iter().map(|change| change.path.as_str()).collect()
    }
}

/// What a turn used. What was read from the cache and what was thought are counted in these already.
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
            // It never says what a turn cost.
            cost_usd: 0.0,
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
        }
    }
}
