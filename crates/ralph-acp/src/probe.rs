//! Probes an agent: starts it, initializes, opens a session, and ends it. Sends no prompt.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ralph_agent::{EndOfTurn, LineOutput, Listener, StartError, Turn, TurnEnd, TurnEvent};
use ralph_process::Ended;

use crate::conversation::{Conversation, Introduction};
use crate::driver::AcpAgent;
use crate::schema::Choice;

/// How often to check for a timeout or a stop request.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// What an agent reports about itself.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentInfo {
    /// Its name and version.
    pub agent: Option<(String, String)>,
    /// Its protocol version, if reported.
    pub protocol: Option<u16>,
    /// The login methods.
    pub logins: Vec<String>,
    pub models: Option<Offer>,
    pub modes: Option<Offer>,
    /// The offered mode for the requested permissions.
    pub mode: Option<String>,
    /// [`TurnEnd::Finished`] if it opened a session.
    pub end: TurnEnd,
    /// The time until the information was complete.
    pub time: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    pub current: String,
    pub offered: Vec<String>,
}

impl From<Choice> for Offer {
    fn from(choice: Choice) -> Self {
        Self {
            current: choice.current,
            offered: choice.offered,
        }
    }
}

impl AcpAgent {
    /// Starts the agent, opens a session, and ends it; returns when none of its processes is left. Stops it after the
    /// time limit or on request.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn probe(&self, turn: &Turn<'_>, limit: Duration, stop: &AtomicBool) -> Result<AgentInfo, StartError> {
        let began = Instant::now();
        let known = Known::default();
        let (sender, ends) = channel();
        let sink = Box::new(move |event| {
            if let TurnEvent::Ended(end) = event {
                drop(sender.send(end.end));
            }
        });
        let probe_listener = |conversation| ProbeListener {
            conversation,
            known: Arc::clone(&known),
        };
        let mut running = self.start_with(turn, None, sink, probe_listener)?;
        let mut ended = None;
        let mut is_stopped = false;
        while ended.is_none() {
            match ends.recv_timeout(POLL_INTERVAL) {
                Ok(end) => ended = Some(end),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => ended = Some(TurnEnd::Stopped),
            }
            if !is_stopped && (began.elapsed() > limit || stop.load(Ordering::SeqCst)) {
                is_stopped = true;
                // A program that does not speak ACP might take the end of its input as the end of a prompt.
                running.kill();
            }
        }
        let learned = known.lock().unwrap_or_else(PoisonError::into_inner).take();
        let (introduction, at) = learned.unwrap_or_else(|| (Introduction::default(), Instant::now()));
        let wanted = self.modes(turn.access);
        let modes = introduction.modes.map(Offer::from);
        let is_offered = |mode: &&&str| {
            modes
                .as_ref()
                .is_some_and(|modes| modes.offered.iter().any(|one| one == **mode))
        };
        Ok(AgentInfo {
            agent: introduction.agent,
            protocol: introduction.protocol,
            logins: introduction.logins,
            models: introduction.models.map(Offer::from),
            mode: wanted.iter().find(is_offered).map(|mode| (*mode).to_owned()),
            modes,
            end: ended.unwrap_or(TurnEnd::Stopped),
            time: at.duration_since(began),
        })
    }
}

/// The information so far, and when it last changed.
type Known = Arc<Mutex<Option<(Introduction, Instant)>>>;

/// A conversation that only records the introduction.
struct ProbeListener {
    conversation: Conversation,
    known: Known,
}

impl Listener for ProbeListener {
    fn on_line(&mut self, line: &str) -> LineOutput {
        let output = self.conversation.on_line(line);
        let introduction = self.conversation.introduction();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.as_ref().is_none_or(|(known, _)| known != introduction) {
            *known = Some((introduction.clone(), Instant::now()));
        }
        output
    }

    fn conclude(&mut self, ended: Ended) -> EndOfTurn {
        self.conversation.conclude(ended)
    }
}
