//! The protocol's own types: the only place that knows the crate that defines them. What is sent is made from them. What
//! comes is read by them where they are lenient enough, else field by field: an agent may send what they do not know.

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

/// The method by which a model is chosen where an agent does not offer it as an option yet.
const OLD_SET_MODEL: &str = "session/set_model";

/// The version of the protocol that is spoken here.
pub(crate) const VERSION: u16 = ProtocolVersion::V1.as_u16();

/// Reads a part of a message; none when it is of another form.
pub(crate) fn read<T: DeserializeOwned>(value: &Value) -> Option<T> {
    serde_json::from_value(value.clone()).ok()
}

/// The first word to an agent: who we are. It may use no files and no terminals of ours: each writes files itself then.
pub(crate) fn initialize(id: u64) -> Vec<u8> {
    let ralph = Implementation::new("ralph", env!("CARGO_PKG_VERSION"));
    let request = InitializeRequest::new(ProtocolVersion::V1).client_info(ralph);
    wire::request(id, AGENT_METHOD_NAMES.initialize, &request)
}

/// A session in a folder, and in more of them, without these tools and those of MCP servers. Only Claude Code's own adapters
/// know how to take tools away.
pub(crate) fn new_session(id: u64, folder: &Path, more: Vec<PathBuf>, taken_tools: &[&str]) -> Vec<u8> {
    let mut request = NewSessionRequest::new(folder).additional_directories(more);
    if !taken_tools.is_empty() {
        let options = json!({ "options": { "disallowedTools": taken_tools, "strictMcpConfig": true } });
        request = request.meta(serde_json::Map::from_iter([("claudeCode".to_owned(), options)]));
    }
    wire::request(id, AGENT_METHOD_NAMES.session_new, &request)
}

/// The prompt.
pub(crate) fn prompt(id: u64, session: &str, prompt: &str) -> Vec<u8> {
    let request = PromptRequest::new(session.to_owned(), vec![ContentBlock::from(prompt.to_owned())]);
    wire::request(id, AGENT_METHOD_NAMES.session_prompt, &request)
}

/// The request to end a turn.
pub(crate) fn cancel(session: &str) -> Vec<u8> {
    let cancel = CancelNotification::new(session.to_owned());
    wire::notification(AGENT_METHOD_NAMES.session_cancel, &cancel)
}

/// The answer to a request for a permission: the option that is taken, or none.
pub(crate) fn permission(id: &Value, option: Option<&str>) -> Vec<u8> {
    let outcome = option.map_or(RequestPermissionOutcome::Cancelled, |option| {
        RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(option.to_owned()))
    });
    wire::answer(id, &RequestPermissionResponse::new(outcome))
}

/// What can be chosen in a session: its models, or its modes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Choice {
    by: ChosenBy,
    /// What is chosen now.
    pub(crate) current: String,
    /// What else there is.
    pub(crate) offered: Vec<String>,
}

/// How a choice is told to the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
enum ChosenBy {
    Option(SessionConfigId),
    Mode,
    OldModel,
}

impl Choice {
    /// The models of a session.
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

    /// The modes of a session.
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

    /// The request that chooses this.
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
