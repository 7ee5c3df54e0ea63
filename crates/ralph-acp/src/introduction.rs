//! Getting to know an agent: it is started, asked who it is and for a session, and hung up on. Nothing is prompted.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ralph_agent::{EndOfTurn, Heard, Listener, StartError, Turn, TurnEnd, TurnEvent};
use ralph_process::Ended;

use crate::conversation::{Conversation, Introduction};
use crate::driver::AcpAgent;
use crate::schema::Choice;

/// How often it is asked whether somebody wants an end.
const PATIENCE: Duration = Duration::from_millis(100);

/// What an agent said about itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Acquaintance {
    /// Its name and its version.
    pub agent: Option<(String, String)>,
    /// The version of the protocol that it speaks; none when it did not say.
    pub protocol: Option<u16>,
    /// How one can log in.
    pub logins: Vec<String>,
    /// Its models.
    pub models: Option<Offer>,
    /// Its modes.
    pub modes: Option<Offer>,
    /// The mode that fits what it may do, if it is one of them.
    pub mode: Option<String>,
    /// How it went: [`TurnEnd::Finished`] when it opened a session.
    pub end: TurnEnd,
    /// How long it took until it was known.
    pub time: Duration,
}

/// Something to choose from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// What is chosen now.
    pub current: String,
    /// All that can be chosen.
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
    /// Starts the agent, opens a session and hangs up; returns when nothing of it is left. It is stopped when it takes longer
    /// than this, or when somebody wants it to stop.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn get_to_know(&self, turn: &Turn<'_>, limit: Duration, stop: &AtomicBool) -> Result<Acquaintance, StartError> {
        let began = Instant::now();
        let known = Known::default();
        let (sender, ends) = channel();
        let sink = Box::new(move |event| {
            if let TurnEvent::Ended(end) = event {
                drop(sender.send(end.end));
            }
        });
        let looking = |conversation| Looking {
            conversation,
            known: Arc::clone(&known),
        };
        let mut running = self.start_with(turn, None, sink, looking)?;
        let mut ended = None;
        let mut is_stopped = false;
        while ended.is_none() {
            match ends.recv_timeout(PATIENCE) {
                Ok(end) => ended = Some(end),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => ended = Some(TurnEnd::Stopped),
            }
            if !is_stopped && (began.elapsed() > limit || stop.load(Ordering::SeqCst)) {
                is_stopped = true;
                // A program that does not speak ACP would take the end of its input for the end of a prompt.
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
        Ok(Acquaintance {
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

/// What is known so far, and since when.
type Known = Arc<Mutex<Option<(Introduction, Instant)>>>;

/// A conversation of which only the beginning matters.
struct Looking {
    conversation: Conversation,
    known: Known,
}

impl Listener for Looking {
    fn hear(&mut self, line: &str) -> Heard {
        let heard = self.conversation.hear(line);
        let introduction = self.conversation.introduction();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.as_ref().is_none_or(|(known, _)| known != introduction) {
            *known = Some((introduction.clone(), Instant::now()));
        }
        heard
    }

    fn conclude(&mut self, ended: Ended) -> EndOfTurn {
        self.conversation.conclude(ended)
    }
}
