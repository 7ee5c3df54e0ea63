//! What comes in by itself while a run waits: from the agent, the gates, the person, and other threads.

use std::sync::mpsc::SyncSender;
use std::time::Duration;

use ralph_agent::TurnEvent;
use ralph_model::TaskId;

use super::Runner;
use crate::gates::{Baseline, GateResult};
use crate::guide::Guided;
use crate::inbox::Weight;
use crate::state::{Examined, Happening, WorkCommit};
use crate::watch::News;

/// How many of what came in are looked at before anything else is.
const MOST_AT_ONCE: usize = 1000;

/// How often a run whose time is limited looks at it: a computer that slept does not wake whoever waits for a moment.
const LOOK_AT_TIME: Duration = Duration::from_secs(30);

/// What comes in by itself.
pub(super) enum Incoming {
    Turn(TurnEvent),
    /// The same where somebody waits until it is looked at: until the sender is dropped.
    LongTurn(TurnEvent, SyncSender<()>),
    Baseline {
        results: Vec<GateResult>,
        left: Option<Baseline>,
    },
    GateBegins(String),
    Gate(GateResult),
    Examined(Examined),
    /// The checkout of a task is there, or why it is not.
    CheckedOut(Result<(), String>),
    /// What came of the work of a checkout as a commit, and the commit that it is based on where that is another one now.
    WorkCommitted {
        task: TaskId,
        result: WorkCommit,
        base_commit: Option<String>,
    },
    /// The commit of a task's files, or why there is none.
    Committed(Result<String, String>),
    /// The gates or the commit failed, and there is no room on the disk.
    NoRoom,
    Warning(String),
    Broken(String),
    /// What the person said about a turn that they have stopped.
    Guided(Guided),
    /// Something is wanted of the run; it knows where to look.
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
    /// Waits for the next thing that happens by itself; none when there is something else to look at. Of many signs of
    /// life that are there already, one is told.
    pub(super) fn wait(&mut self, deadline: Option<Duration>) -> Option<Happening> {
        let mut sign = None;
        for _ in 0..MOST_AT_ONCE {
            let Some(incoming) = self.incoming.try_recv() else {
                // Nothing more for now: what the agent has said so far must outlive this process.
                self.flush_transcript();
                return sign.or_else(|| self.wait_for_one(deadline));
            };
            match self.came_in(incoming) {
                Some(Happening::Sign) => sign = Some(Happening::Sign),
                Some(other) => return Some(other),
                None => break,
            }
        }
        sign
    }

    fn wait_for_one(&mut self, deadline: Option<Duration>) -> Option<Happening> {
        let patience = deadline.map(|deadline| deadline.saturating_sub(self.watch_of_time.elapsed()));
        let patience = match self.site.config.limits.wall_clock {
            Some(_) => patience.map(|patience| patience.min(LOOK_AT_TIME)),
            None => patience,
        };
        match self.incoming.recv(patience) {
            Some(incoming) => self.came_in(incoming),
            None => Some(Happening::Tick),
        }
    }

    fn came_in(&mut self, incoming: Incoming) -> Option<Happening> {
        match incoming {
            Incoming::Turn(event) => self.turn_event(event),
            Incoming::LongTurn(event, _waits) => self.turn_event(event),
            Incoming::Baseline { results, left } => Some(Happening::BaselineRan { results, left }),
            Incoming::GateBegins(command) => {
                self.watch.tell(&News::GateBegins(&command));
                None
            }
            Incoming::Gate(result) => {
                self.watch.tell(&News::GateRan(&result));
                None
            }
            Incoming::Examined(examined) => Some(Happening::Examined(Box::new(examined))),
            Incoming::CheckedOut(Ok(())) => Some(Happening::CheckedOut),
            Incoming::CheckedOut(Err(reason)) => Some(Happening::Failed(reason)),
            Incoming::WorkCommitted {
                task,
                result,
                base_commit,
            } => Some(self.work_committed(&task, result, base_commit)),
            Incoming::Committed(result) => Some(Happening::Committed(Some(result))),
            Incoming::NoRoom => Some(Happening::NoRoom),
            Incoming::Warning(warning) => {
                self.watch.tell(&News::Warning(&warning));
                None
            }
            Incoming::Broken(reason) => Some(Happening::Failed(reason)),
            Incoming::Guided(guided) => Some(self.answered(guided)),
            Incoming::Wake => None,
        }
    }
}
