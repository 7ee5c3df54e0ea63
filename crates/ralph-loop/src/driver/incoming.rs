//! The messages that a run receives while it waits: from the agent, the gates, the user and other threads.

use std::sync::mpsc::SyncSender;
use std::time::Duration;

use ralph_agent::TurnEvent;
use ralph_model::TaskId;

use super::Runner;
use crate::gates::{Baseline, GateResult};
use crate::guide::GuidanceAnswer;
use crate::inbox::Weight;
use crate::state::{Examined, Input, WorkCommit};
use crate::watch::RunEvent;

/// How many messages to handle before anything else.
const MAX_BATCH: usize = 1000;

/// How often a run with a time limit checks it: a timed wait does not notice that the computer slept.
const TIME_CHECK: Duration = Duration::from_secs(30);

pub(super) enum Incoming {
    Turn(TurnEvent),
    /// The same, where the sender blocks until the other end is dropped.
    LongTurn(TurnEvent, SyncSender<()>),
    Baseline {
        results: Vec<GateResult>,
        left: Option<Baseline>,
    },
    GateBegins(String),
    Gate(GateResult),
    Examined(Examined),
    CheckedOut(Result<(), String>),
    /// The result of committing a checkout's work, and its base commit if that changed.
    WorkCommitted {
        task: TaskId,
        result: WorkCommit,
        base_commit: Option<String>,
    },
    /// The commit of a task's files, or why there is none.
    Committed(Result<String, String>),
    /// The gates or the commit failed, and the disk is full.
    DiskFull,
    Warning(String),
    Broken(String),
    /// The user's answer about a stopped turn.
    Guided(GuidanceAnswer),
    /// Wakes the run to check its pending inputs.
    Wake,
}

impl Weight for Incoming {
    fn bytes(&self) -> usize {
        match self {
            Self::Turn(TurnEvent::Line(text) | TurnEvent::Text(text)) => text.len(),
            _ => 0,
        }
    }
}

impl Runner<'_> {
    /// Waits for the next input; `None` if there is something else to check. Queued activity messages count as one.
    pub(super) fn wait(&mut self, deadline: Option<Duration>) -> Option<Input> {
        let mut activity = None;
        for _ in 0..MAX_BATCH {
            let Some(incoming) = self.incoming.try_recv() else {
                // The queue is empty: what the agent has said so far must outlive this process.
                self.flush_transcript();
                return activity.or_else(|| self.wait_for_one(deadline));
            };
            match self.handle(incoming) {
                Some(Input::Activity) => activity = Some(Input::Activity),
                Some(other) => return Some(other),
                None => break,
            }
        }
        activity
    }

    fn wait_for_one(&mut self, deadline: Option<Duration>) -> Option<Input> {
        let patience = deadline.map(|deadline| deadline.saturating_sub(self.stopwatch.elapsed()));
        let patience = match self.site.config.limits.wall_clock {
            Some(_) => patience.map(|patience| patience.min(TIME_CHECK)),
            None => patience,
        };
        match self.incoming.recv(patience) {
            Some(incoming) => self.handle(incoming),
            None => Some(Input::Tick),
        }
    }

    fn handle(&mut self, incoming: Incoming) -> Option<Input> {
        match incoming {
            Incoming::Turn(event) => self.turn_event(event),
            Incoming::LongTurn(event, _waits) => self.turn_event(event),
            Incoming::Baseline { results, left } => Some(Input::BaselineRan { results, left }),
            Incoming::GateBegins(command) => {
                self.watch.tell(&RunEvent::GateBegan(&command));
                None
            }
            Incoming::Gate(result) => {
                self.watch.tell(&RunEvent::GateRan(&result));
                None
            }
            Incoming::Examined(examined) => Some(Input::Examined(Box::new(examined))),
            Incoming::CheckedOut(Ok(())) => Some(Input::CheckedOut),
            Incoming::CheckedOut(Err(reason)) => Some(Input::Failed(reason)),
            Incoming::WorkCommitted {
                task,
                result,
                base_commit,
            } => Some(self.work_committed(&task, result, base_commit)),
            Incoming::Committed(result) => Some(Input::Committed(Some(result))),
            Incoming::DiskFull => Some(Input::DiskFull),
            Incoming::Warning(warning) => {
                self.watch.tell(&RunEvent::Warning(&warning));
                None
            }
            Incoming::Broken(reason) => Some(Input::Failed(reason)),
            Incoming::Guided(guided) => Some(self.answered(guided)),
            Incoming::Wake => None,
        }
    }
}
