//! The start of a conversation: initialize, session, model and mode. The prompt follows.

use ralph_agent::{Access, TurnEnd};
use ralph_model::config::Permissions;
use ralph_model::preview;
use ralph_process::StdinReply;
use serde_json::Value;

use super::{Conversation, GARBAGE_COLUMNS, Introduction, Outcome, Setting, Stage};
use crate::ends;
use crate::schema::{self, Choice, InitializeResponse, NewSessionResponse};
use crate::wire::RpcError;

impl Conversation {
    pub(super) fn on_initialized(&mut self, result: &Value) -> StdinReply {
        self.introduce(result);
        match self.introduction.protocol {
            Some(schema::VERSION) => {
                let folder = self.options.folders.first().cloned().unwrap_or_default();
                // Only codex has a sandbox that would block its commands there. For the others, these folders would
                // only widen what they may edit.
                let has_sandbox = self.is("codex") && self.options.access == Access::Work(Permissions::Edit);
                let more = if has_sandbox {
                    self.options.also_writable.clone()
                } else {
                    Vec::new()
                };
                let taken = self.options.disabled_tools;
                self.ask(Stage::OpeningSession, |id| {
                    schema::new_session(id, &folder, more, taken)
                })
            }
            Some(other) => self.fail(TurnEnd::Crash(format!(
                "it speaks ACP version {other}, but ralph speaks version {}",
                schema::VERSION
            ))),
            None => {
                let shown = preview(&result.to_string(), GARBAGE_COLUMNS);
                self.fail(TurnEnd::Crash(format!(
                    "it did not report its protocol version: {shown}"
                )))
            }
        }
    }

    pub(super) fn introduce(&mut self, result: &Value) {
        self.introduction.protocol = result
            .get("protocolVersion")
            .and_then(Value::as_u64)
            .and_then(|version| u16::try_from(version).ok());
        if let Some(response) = schema::read::<InitializeResponse>(result) {
            let info = response.agent_info;
            self.introduction.agent = info.map(|info| (info.name, info.version));
            let logins = response.auth_methods.iter().map(|login| login.name().to_owned());
            self.introduction.logins = logins.collect();
        }
    }

    pub(super) fn on_session(&mut self, result: &Value) -> StdinReply {
        let Some(opened) = schema::read::<NewSessionResponse>(result) else {
            let shown = preview(&result.to_string(), GARBAGE_COLUMNS);
            return self.fail(TurnEnd::Crash(format!("it did not open a session: {shown}")));
        };
        let session = opened.session_id.to_string();
        self.introduction.models = Choice::of_model(&opened, result);
        self.introduction.modes = Choice::of_mode(&opened);
        if self.model.is_none() {
            self.model = self.introduction.models.as_ref().map(|models| models.current.clone());
        }
        self.session = Some(session.clone());
        if self.options.prompt.is_none() {
            return self.hang_up(Outcome::Known(TurnEnd::Finished));
        }
        // An unknown program may take the model from its environment.
        let is_known = !self.options.program.is_empty();
        if let (Some(wanted), None, true) = (&self.options.model, &self.introduction.models, is_known) {
            let message = format!("it offers no choice of models, so {wanted:?} cannot be selected");
            return self.fail(TurnEnd::Crash(message));
        }
        self.plan_settings();
        let leaves_mode = self
            .pending_settings
            .iter()
            .any(|(setting, _)| *setting == Setting::Mode);
        if let Some(end) = self.forbidden_mode().filter(|_| !leaves_mode) {
            return self.fail(end);
        }
        let mut reply = self.next_step();
        reply.cancel_message = Some(schema::cancel(&session));
        reply
    }

    /// Queues the settings to change, if they are offered and not already active.
    fn plan_settings(&mut self) {
        let Introduction { models, modes, .. } = &self.introduction;
        let model = self.options.model.as_ref().zip(models.as_ref());
        let model = model.filter(|(wanted, models)| **wanted != models.current);
        self.pending_settings
            .extend(model.map(|(wanted, _)| (Setting::Model, wanted.clone())));
        let mode = modes.as_ref().and_then(|modes| {
            let is_offered = |mode: &&&str| modes.offered.iter().any(|offered| offered == **mode);
            let mode = self.options.modes.iter().find(is_offered)?;
            (modes.current != **mode).then(|| (*mode).to_owned())
        });
        self.pending_settings.extend(mode.map(|mode| (Setting::Mode, mode)));
    }

    /// Changes the next setting, or sends the prompt.
    fn next_step(&mut self) -> StdinReply {
        let session = self.session.clone().unwrap_or_default();
        let Some((setting, value)) = self.pending_settings.pop_front() else {
            let prompt = self.options.prompt.clone().unwrap_or_default();
            return self.ask(Stage::Working, |id| schema::prompt(id, &session, &prompt));
        };
        let choice = match setting {
            Setting::Model => self.introduction.models.clone(),
            Setting::Mode => self.introduction.modes.clone(),
        };
        let request = |id| {
            choice
                .map(|choice| choice.choose(id, &session, &value))
                .unwrap_or_default()
        };
        self.ask(Stage::Setting(setting), request)
    }

    pub(super) fn on_setting(&mut self, setting: Setting, refused: Option<&RpcError>) -> StdinReply {
        match (setting, refused) {
            (Setting::Model, Some(error)) => {
                let models = self.introduction.models.as_ref();
                let offered = models.map(|models| models.offered.join(", ")).unwrap_or_default();
                let wanted = self.options.model.as_deref().unwrap_or_default();
                let shown = ends::describe(error);
                let known = ends::of_error(error, self.clock.now());
                let refusal = format!("it rejected the model {wanted:?} ({shown}); it offers {offered}");
                self.fail(known.unwrap_or(TurnEnd::Crash(refusal)))
            }
            (Setting::Model, None) => {
                self.model.clone_from(&self.options.model);
                self.next_step()
            }
            (Setting::Mode, None) => self.next_step(),
            // Without the mode the agent only asks more often, unless its current mode does not ask at all.
            (Setting::Mode, Some(_)) => match self.forbidden_mode() {
                Some(end) => self.fail(end),
                None => self.next_step(),
            },
        }
    }

    /// The error if the agent stays in a mode in which it does not ask, or a read-only turn could change something.
    fn forbidden_mode(&self) -> Option<TurnEnd> {
        let read_only = self.options.access == Access::ReadOnly;
        if let Some(end) = self.missing_read_only_mode().filter(|_| read_only) {
            return Some(end);
        }
        let mode = &self.introduction.modes.as_ref()?.current;
        let remedy = if read_only {
            "change its own settings"
        } else {
            "change its own settings, or set [agent] permissions = \"full\""
        };
        self.options
            .forbidden_modes
            .contains(&mode.as_str())
            .then(|| TurnEnd::Crash(format!("its mode {mode:?} runs tools without asking; {remedy}")))
    }

    /// The error if a read-only turn is not in a read-only mode.
    fn missing_read_only_mode(&self) -> Option<TurnEnd> {
        let wanted = self.options.modes;
        let current = self.introduction.modes.as_ref().map(|modes| modes.current.as_str());
        if wanted.is_empty() || current.is_some_and(|mode| wanted.contains(&mode)) {
            return None;
        }
        let problem = match current {
            Some(mode) => format!("its mode {mode:?} is not read-only"),
            None => "it offers no modes".to_owned(),
        };
        Some(TurnEnd::Crash(format!(
            "{problem}; a read-only turn needs one of: {}",
            wanted.join(", ")
        )))
    }
}
