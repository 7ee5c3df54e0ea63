//! Prints a run for programs: each event on a line of JSON, as described in docs/events.md.

use std::process::ExitCode;

use jiff::Timestamp;
use ralph_loop::{RunEvent, Watch};
use ralph_model::{Clock, RunId, serialize_timestamp};
use serde::Serialize;

use super::idle::Idle;
use crate::context::Context;
use crate::error::CommandError;
use crate::project_env::ProgramClock;
use crate::ui::Ui;

#[derive(Serialize)]
struct Line<'a, E> {
    #[serde(serialize_with = "serialize_timestamp")]
    at: Timestamp,
    /// Omitted before the run has begun.
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<&'a RunId>,
    #[serde(flatten)]
    event: &'a E,
}

/// The events of a command that begins no run.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum WithoutRun<'a> {
    NothingBegan {
        sentence: &'a str,
        hint: &'a str,
        exit_code: u8,
    },
    Error {
        message: &'a str,
        hint: Option<&'a str>,
        exit_code: u8,
    },
}

impl<'a> WithoutRun<'a> {
    fn error(error: &'a CommandError) -> Option<Self> {
        error.lines().map(|(message, hint)| Self::Error {
            message,
            hint,
            exit_code: error.code(),
        })
    }
}

/// Writes a line. A failed write is ignored, so that a run outlives its reader.
fn write(ui: &Ui, line: &Line<'_, impl Serialize>) {
    // Events for people at the terminal have no JSON.
    if let Ok(json) = serde_json::to_string(line) {
        drop(ui.data(&format!("{json}\n")));
    }
}

/// Reports an error that occurred before the project was loaded.
pub(super) fn failed_early(ui: &Ui, error: &CommandError) {
    if let (Ok(clock), Some(event)) = (ProgramClock::from_environment(), WithoutRun::error(error)) {
        let (at, run, event) = (clock.now(), None, &event);
        write(ui, &Line { at, run, event });
    }
}

pub(super) struct JsonReporter<'a> {
    context: &'a Context<'a>,
    run: Option<RunId>,
    has_ended: bool,
}

impl<'a> JsonReporter<'a> {
    pub(super) fn new(context: &'a Context<'a>) -> Self {
        Self {
            context,
            run: None,
            has_ended: false,
        }
    }

    fn write(&self, event: &impl Serialize) {
        let (at, run) = (self.context.clock().now(), self.run.as_ref());
        write(self.context.ui, &Line { at, run, event });
    }

    pub(super) fn nothing_began(&self, idle: &Idle) -> ExitCode {
        self.write(&WithoutRun::NothingBegan {
            sentence: &idle.why,
            hint: &idle.hint,
            exit_code: idle.code,
        });
        ExitCode::from(idle.code)
    }

    /// Reports why the command failed, unless the end of the run was already reported.
    pub(super) fn failed(&self, error: &CommandError) {
        if let Some(event) = WithoutRun::error(error).filter(|_| !self.has_ended) {
            self.write(&event);
        }
    }
}

impl Watch for JsonReporter<'_> {
    fn tell(&mut self, event: &RunEvent<'_>) {
        match event {
            RunEvent::Began(began) => self.run = Some(began.run.clone()),
            RunEvent::Ended(_) => self.has_ended = true,
            _ => {}
        }
        self.write(event);
    }
}
