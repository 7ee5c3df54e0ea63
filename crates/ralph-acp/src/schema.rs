//! The protocol types. Only this module uses the crate that defines them. Outgoing messages are built from them.
//! Incoming messages are parsed with them where they are lenient enough, otherwise field by field, because an agent may
//! send unknown values.

use std::path::{Path, PathBuf};

use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1::{
    CancelNotification, ContentBlock, Implementation, InitializeRequest, NewSessionRequest, PromptRequest,
    RequestPermissionOutcome, RequestPermissionResponse, SelectedPermissionOutcome, SessionConfigId, SessionConfigKind,
    SessionConfigOption, SessionConfigOptionCategory, SessionConfigSelectOptions, SessionConfigValueId,
    SetSessionConfigOptionRequest, SetSessionModeRequest,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

pub(crate) use agent_client_protocol_schema::v1::{
    AGENT_METHOD_NAMES, CLIENT_METHOD_NAMES, InitializeResponse, NewSessionResponse, StopReason, ToolCallContent,
    ToolCallStatus, ToolCallUpdate, ToolKind,
};

use crate::wire;

/// The method for choosing a model in agents that do not offer it as an option yet.
const OLD_SET_MODEL: &str = "session/set_model";

/// The supported protocol version.
pub(crate) const VERSION: u16 = ProtocolVersion::V1.as_u16();

/// Parses a part of a message; `None` if it has another form.
pub(crate) fn read<T: DeserializeOwned>(value: &Value) -> Option<T> {
    serde_json::from_value(value.clone()).ok()
}

/// The `initialize` request. Offers no file or terminal access, so agents access files themselves.
pub(crate) fn initialize(id: u64) -> Vec<u8> {
    let ralph = Implementation::new("ralph", env!("CARGO_PKG_VERSION"));
    let request = InitializeRequest::new(ProtocolVersion::V1).client_info(ralph);
    wire::request(id, AGENT_METHOD_NAMES.initialize, &request)
}

/// The request for a session in a folder and additional folders, without these tools and MCP tools. Only the adapters
/// of Claude Code support disabling tools.
pub(crate) fn new_session(id: u64, folder: &Path, more: Vec<PathBuf>, disabled_tools: &[&str]) -> Vec<u8> {
    let mut request = NewSessionRequest::new(folder).additional_directories(more);
    if !disabled_tools.is_empty() {
        let options = json!({ "options": { "disallowedTools": disabled_tools, "strictMcpConfig": true } });
        request = request.meta(serde_json::Map::from_iter([("claudeCode".to_owned(), options)]));
    }
    wire::request(id, AGENT_METHOD_NAMES.session_new, &request)
}

pub(crate) fn prompt(id: u64, session: &str, prompt: &str) -> Vec<u8> {
    let request = PromptRequest::new(session.to_owned(), vec![ContentBlock::from(prompt.to_owned())]);
    wire::request(id, AGENT_METHOD_NAMES.session_prompt, &request)
}

pub(crate) fn cancel(session: &str) -> Vec<u8> {
    let cancel = CancelNotification::new(session.to_owned());
    wire::notification(AGENT_METHOD_NAMES.session_cancel, &cancel)
}

/// The answer to a permission request: the chosen option, or none.
pub(crate) fn permission(id: &Value, option: Option<&str>) -> Vec<u8> {
    let outcome = option.map_or(RequestPermissionOutcome::Cancelled, |option| {
        RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(option.to_owned()))
    });
    wire::answer(id, &RequestPermissionResponse::new(outcome))
}

/// The models or modes that a session offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Choice {
    by: ChosenBy,
    pub(crate) current: String,
    pub(crate) offered: Vec<String>,
}

/// How a choice is sent to the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
enum ChosenBy {
    Option(SessionConfigId),
    Mode,
    OldModel,
}

impl Choice {
    pub(crate) fn of_model(session: &NewSessionResponse, raw: &Value) -> Option<Self> {
        Self::of_option(session, "model", &SessionConfigOptionCategory::Model).or_else(|| {
            let models = raw.get("models")?;
            let offered = models.get("availableModels").and_then(Value::as_array)?;
            let ids = offered.iter().filter_map(|model| model.get("modelId")?.as_str());
            Some(Self {
                by: ChosenBy::OldModel,
                current: models.get("currentModelId")?.as_str()?.to_owned(),
                offered: ids.map(str::to_owned).collect(),
            })
        })
    }

    pub(crate) fn of_mode(session: &NewSessionResponse) -> Option<Self> {
        let by_option = || Self::of_option(session, "mode", &SessionConfigOptionCategory::Mode);
        let Some(modes) = &session.modes else {
            return by_option();
        };
        Some(Self {
            by: ChosenBy::Mode,
            current: modes.current_mode_id.to_string(),
            offered: modes.available_modes.iter().map(|mode| mode.id.to_string()).collect(),
        })
    }

    fn of_option(session: &NewSessionResponse, id: &str, category: &SessionConfigOptionCategory) -> Option<Self> {
        let options = session.config_options.as_deref().unwrap_or_default();
        let fits = |option: &&SessionConfigOption| &*option.id.0 == id || option.category.as_ref() == Some(category);
        let option = options.iter().find(fits)?;
        let SessionConfigKind::Select(select) = &option.kind else {
            return None;
        };
        let offered = match &select.options {
            SessionConfigSelectOptions::Ungrouped(options) => options.iter().map(|one| one.value.to_string()).collect(),
            SessionConfigSelectOptions::Grouped(groups) => groups
                .iter()
                .flat_map(|group| group.options.iter().map(|one| one.value.to_string()))
                .collect(),
            _ => Vec::new(),
        };
        Some(Self {
            by: ChosenBy::Option(option.id.clone()),
            current: select.current_value.to_string(),
            offered,
        })
    }

    /// The request that makes this choice.
    pub(crate) fn choose(&self, id: u64, session: &str, value: &str) -> Vec<u8> {
        let (session, value) = (session.to_owned(), value.to_owned());
        match &self.by {
            ChosenBy::Option(option) => {
                let value = SessionConfigValueId::new(value);
                let request = SetSessionConfigOptionRequest::new(session, option.clone(), value);
                wire::request(id, AGENT_METHOD_NAMES.session_set_config_option, &request)
            }
            ChosenBy::Mode => {
                let request = SetSessionModeRequest::new(session, value);
                wire::request(id, AGENT_METHOD_NAMES.session_set_mode, &request)
            }
            ChosenBy::OldModel => wire::request(id, OLD_SET_MODEL, &json!({"sessionId": session, "modelId": value})),
        }
    }
}
