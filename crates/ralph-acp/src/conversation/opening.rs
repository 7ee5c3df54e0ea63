//! How a conversation begins: who the agent is, its session, the model and the mode that are wanted of it. The prompt follows.

use ralph_agent::{Access, TurnEnd};
use ralph_model::config::Permissions;
use ralph_model::preview;
use ralph_process::Answer;
use serde_json::Value;

use super::{Conversation, GARBAGE_COLUMNS, Introduction, Outcome, Stage, Wish};
use crate::ends;
use crate::schema::{self, Choice, InitializeResponse, NewSessionResponse};
use crate::wire::RpcError;

impl Conversation {
    pub(super) fn hear_introduction(&mut self, result: &Value) -> Answer {
        self.introduce(result);
        match self.introduction.protocol {
            Some(schema::VERSION) => {
                let folder = self.wishes.folders.first().cloned().unwrap_or_default();
                // Only codex has a sandbox that would keep its commands out. To the others this would be more to edit.
                let has_sandbox = self.is("codex") && self.wishes.access == Access::Work(Permissions::Edit);
                let more = if has_sandbox {
                    self.wishes.also_writable.clone()
                } else {
                    Vec::new()
                };
                let taken = self.wishes.taken_tools;
                self.ask(Stage::Opening, |id| schema::new_session(id, &folder, more, taken))
            }
            Some(other) => self.fail(TurnEnd::Crash(format!(
                "it speaks version {other} of the protocol, and ralph speaks version {}",
                schema::VERSION
            ))),
            None => {
                let said = preview(&result.to_string(), GARBAGE_COLUMNS);
                self.fail(TurnEnd::Crash(format!(
                    "it did not say which protocol it speaks: {said}"
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

    pub(super) fn hear_session(&mut self, result: &Value) -> Answer {
        let Some(opened) = schema::read::<NewSessionResponse>(result) else {
            let said = preview(&result.to_string(), GARBAGE_COLUMNS);
            return self.fail(TurnEnd::Crash(format!("it opened no session: {said}")));
        };
        let session = opened.session_id.to_string();
        self.introduction.models = Choice::of_model(&opened, result);
        self.introduction.modes = Choice::of_mode(&opened);
        if self.model.is_none() {
            self.model = self.introduction.models.as_ref().map(|models| models.current.clone());
        }
        self.session = Some(session.clone());
        if self.wishes.prompt.is_none() {
            return self.hang_up(Outcome::Known(TurnEnd::Finished));
        }
        // Another may take it from its environment.
        let is_known = !self.wishes.program.is_empty();
        if let (Some(wanted), None, true) = (&self.wishes.model, &self.introduction.models, is_known) {
            let message = format!("it offers no models to choose from, so it cannot be told to take {wanted:?}");
            return self.fail(TurnEnd::Crash(message));
        }
        self.plan_settings();
        let leaves_mode = self.to_set.iter().any(|(wish, _)| *wish == Wish::Mode);
        if let Some(end) = self.forbidden_mode().filter(|_| !leaves_mode) {
            return self.fail(end);
        }
        let mut answer = self.next_step();
        answer.farewell = Some(schema::cancel(&session));
        answer
    }

    /// What is to be chosen in the session, if it is offered and not chosen yet.
    fn plan_settings(&mut self) {
        let Introduction { models, modes, .. } = &self.introduction;
        let model = self.wishes.model.as_ref().zip(models.as_ref());
        let model = model.filter(|(wanted, models)| **wanted != models.current);
        self.to_set
            .extend(model.map(|(wanted, _)| (Wish::Model, wanted.clone())));
        let mode = modes.as_ref().and_then(|modes| {
            let is_offered = |mode: &&&str| modes.offered.iter().any(|offered| offered == **mode);
            let mode = self.wishes.modes.iter().find(is_offered)?;
            (modes.current != **mode).then(|| (*mode).to_owned())
        });
        self.to_set.extend(mode.map(|mode| (Wish::Mode, mode)));
    }

    /// Chooses the next thing, or hands over the prompt.
    fn next_step(&mut self) -> Answer {
        let session = self.session.clone().unwrap_or_default();
        let Some((wish, value)) = self.to_set.pop_front() else {
            let prompt = self.wishes.prompt.clone().unwrap_or_default();
            return self.ask(Stage::Working, |id| schema::prompt(id, &session, &prompt));
        };
        let choice = match wish {
            Wish::Model => self.introduction.models.clone(),
            Wish::Mode => self.introduction.modes.clone(),
        };
        let request = |id| {
            choice
                .map(|choice| choice.choose(id, &session, &value))
                .unwrap_or_default()
        };
        self.ask(Stage::Setting(wish), request)
    }

    pub(super) fn hear_setting(&mut self, wish: Wish, refused: Option<&RpcError>) -> Answer {
        match (wish, refused) {
            (Wish::Model, Some(error)) => {
                let models = self.introduction.models.as_ref();
                let offered = models.map(|models| models.offered.join(", ")).unwrap_or_default();
                let wanted = self.wishes.model.as_deref().unwrap_or_default();
                let said = ends::in_words(error);
                let known = ends::of_error(error, self.clock.now());
                let refusal = format!("it does not take the model {wanted:?} ({said}); it offers {offered}");
                self.fail(known.unwrap_or(TurnEnd::Crash(refusal)))
            }
            (Wish::Model, None) => {
                self.model.clone_from(&self.wishes.model);
                self.next_step()
            }
            (Wish::Mode, None) => self.next_step(),
            // It asks more often then, and is answered; unless it is in one in which it asks for nothing.
            (Wish::Mode, Some(_)) => match self.forbidden_mode() {
                Some(end) => self.fail(end),
                None => self.next_step(),
            },
        }
    }

    /// The end of a turn whose agent stays in a mode in which it would ask for nothing, or in which it may do more than look.
    fn forbidden_mode(&self) -> Option<TurnEnd> {
        let looks = self.wishes.access == Access::ReadOnly;
        if let Some(end) = self.no_mode_to_look_in().filter(|_| looks) {
            return Some(end);
        }
        let mode = &self.introduction.modes.as_ref()?.current;
        let mend = if looks {
            "change its own settings"
        } else {
            "change its own settings, or set [agent] permissions = \"full\""
        };
        self.wishes.forbidden_modes.contains(&mode.as_str()).then(|| {
            TurnEnd::Crash(format!(
                "it stays in its mode {mode:?}, in which it asks for nothing; {mend}"
            ))
        })
    }

    /// The end of a turn whose agent is to change nothing, and is in none of the modes in which it does not.
    fn no_mode_to_look_in(&self) -> Option<TurnEnd> {
        let wanted = self.wishes.modes;
        let current = self.introduction.modes.as_ref().map(|modes| modes.current.as_str());
        if wanted.is_empty() || current.is_some_and(|mode| wanted.contains(&mode)) {
            return None;
        }
        let stays = match current {
            Some(mode) => format!("it stays in its mode {mode:?}"),
            None => "it offers no modes".to_owned(),
        };
        Some(TurnEnd::Crash(format!(
            "{stays}, and is to change nothing; it does so in {}",
            wanted.join(", ")
        )))
    }
}
