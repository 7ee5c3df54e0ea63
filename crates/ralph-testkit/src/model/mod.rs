//! A model on loopback that plays a scenario: it answers coding agents in the form that each of them asks in, and keeps
//! what it was asked.
//!
//! ```no_run
//! use ralph_testkit::model::{Failure, ModelServer, Scenario};
//!
//! // The first session fails; every later one writes a file with the agent's own tool and says that its task is done.
//! let server = ModelServer::start([
//!     Scenario::Fails(Failure::ContextOverflow),
//!     Scenario::Writes { path: "/project/made.txt".into(), content: "made\n".to_owned() },
//! ]).unwrap();
//! println!("ANTHROPIC_BASE_URL={}", server.url());
//! assert!(server.take_asked().is_empty());
//! ```
//!
//! It speaks as much of Anthropic's Messages, `OpenAI`'s chat completions and Responses, and Gemini's `generateContent` as
//! agents need to carry on a conversation, streamed and whole. A conversation is about a task when ralph's prompt is in it,
//! with its `## Assigned Task`, or with the task whose finished work is looked at; whatever else an agent wants (a title, which model to take) gets a plain text.

mod answer;
mod conversation;
mod failure;
mod http;
mod tool;
mod wire;

use std::collections::BTreeMap;
use std::io::{self, BufReader, Read};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};

pub use failure::Failure;

use answer::Reply;
use conversation::Conversation;
use http::{Request, Response};
use wire::Wire;

/// What the model says where nothing else is asked of it.
pub const ANSWER: &str = "The scripted model has read it.";

/// How many requests are kept.
const MAX_KEPT: usize = 1_000;
/// How long a peer may be silent in the middle of a request.
const SILENCE: Duration = Duration::from_secs(20);

/// What the model does in a session.
#[derive(Debug, Clone, PartialEq)]
pub enum Scenario {
    /// Says this.
    Says(String),
    /// Writes a file with the agent's own tool, then says that the task is done.
    Writes {
        /// The file, from the root.
        path: PathBuf,
        /// What it is to hold.
        content: String,
    },
    /// Does the same, and runs commands with the agent's own shell before it says so.
    WritesAndRuns {
        /// The file, from the root.
        path: PathBuf,
        /// What it is to hold.
        content: String,
        /// The commands.
        commands: Vec<String>,
    },
    /// Runs a command with the agent's own shell, then says that it came to its end, but nothing about the task.
    Runs(String),
    /// Calls the tool of this name, then says that the task is done.
    Calls {
        /// The tool.
        tool: String,
        /// What it is called with.
        input: Value,
    },
    /// Looks at finished work: tries to write a file with whatever tool there is, and says that the work is well.
    Meddles {
        /// The file, from the root.
        path: PathBuf,
    },
    /// Does not answer, and says why.
    Fails(Failure),
    /// Breaks the connection off in the middle of its answer.
    CutsOff,
    /// Begins to answer and never goes on.
    Hangs,
    /// Is cut at the longest answer that it may give.
    RunsOutOfTokens,
    /// Refuses.
    Refuses,
    /// Comes to its end without a word.
    SaysNothing,
}

/// A request for an answer of the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// Where it went, with what follows the question mark.
    pub target: String,
    /// What was asked.
    pub body: String,
}

/// A running server; it stops when this value is dropped, and so do the conversations that it carries on.
#[derive(Debug)]
pub struct ModelServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    stopping: AtomicBool,
    asked: Mutex<Vec<Asked>>,
    plays: Mutex<Plays>,
    /// The connections that are open, each under a number.
    open: Mutex<BTreeMap<u64, TcpStream>>,
    connections: AtomicU64,
}

/// The scenarios, and the prompts that have begun a session so far: the first prompt gets the first scenario, and whoever
/// comes with another one the next. An agent that tries again comes with the same prompt.
#[derive(Debug, Default)]
struct Plays {
    scenarios: Vec<Scenario>,
    prompts: Vec<String>,
}

impl Plays {
    /// The scenario for a prompt; the last one is for all that follow.
    fn scenario(&mut self, prompt: &str) -> Scenario {
        let known = self.prompts.iter().position(|known| known == prompt);
        let number = known.unwrap_or_else(|| {
            self.prompts.push(prompt.to_owned());
            self.prompts.len() - 1
        });
        let scenario = self.scenarios.get(number).or(self.scenarios.last());
        scenario.cloned().unwrap_or_else(|| Scenario::Says(ANSWER.to_owned()))
    }

    /// What is played to a request that is for no work on a task: what concerns the whole account, and a prompt that is too
    /// long, also where a title or a summary of it is wanted.
    fn beside(&self, conversation: &Conversation) -> Option<Failure> {
        let current = self.prompts.len().saturating_sub(1);
        match self.scenarios.get(current).or(self.scenarios.last()) {
            Some(Scenario::Fails(failure)) if failure.concerns_the_account() || conversation.task.is_some() => {
                Some(*failure)
            }
            _ => None,
        }
    }
}

impl ModelServer {
    /// Starts it on a port that is free.
    ///
    /// # Errors
    /// When there is none.
    pub fn start(scenarios: impl Into<Vec<Scenario>>) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared::default());
        let for_thread = Arc::clone(&shared);
        let accepting = std::thread::Builder::new()
            .name("model".to_owned())
            .spawn(move || accept(&listener, &for_thread))?;
        let server = Self {
            address,
            shared,
            accepting: Some(accepting),
        };
        server.play(scenarios);
        Ok(server)
    }

    /// Where it is to be asked.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// From now on, sessions go like this: the next prompt gets the first of these, another one the second, and all after
    /// them the last.
    pub fn play(&self, scenarios: impl Into<Vec<Scenario>>) {
        *lock(&self.shared.plays) = Plays {
            scenarios: scenarios.into(),
            prompts: Vec::new(),
        };
    }

    /// What was asked since this was last called, in its order.
    #[must_use]
    pub fn take_asked(&self) -> Vec<Asked> {
        std::mem::take(&mut *lock(&self.shared.asked))
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        // The thread waits for somebody to come; this is somebody.
        drop(TcpStream::connect(self.address));
        for stream in lock(&self.shared.open).values() {
            // A peer that is gone already needs no telling.
            drop(stream.shutdown(Shutdown::Both));
        }
        if let Some(accepting) = self.accepting.take() {
            drop(accepting.join());
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Serves everybody who comes, each on a thread of its own and with one answer; all of them end before this does.
fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    let mut serving: Vec<JoinHandle<()>> = Vec::new();
    for stream in listener.incoming() {
        if shared.stopping.load(Ordering::SeqCst) {
            break;
        }
        let Ok(stream) = stream else { continue };
        let number = shared.connections.fetch_add(1, Ordering::SeqCst);
        if let Ok(copy) = stream.try_clone() {
            lock(&shared.open).insert(number, copy);
        }
        let for_thread = Arc::clone(shared);
        let started = std::thread::Builder::new().spawn(move || {
            // A peer that goes away in the middle has its reasons.
            drop(serve(&stream, &for_thread));
            lock(&for_thread.open).remove(&number);
            drop(stream.shutdown(Shutdown::Both));
        });
        serving.retain(|thread| !thread.is_finished());
        serving.extend(started);
    }
    // Whoever came between the word to stop and its being heard.
    for stream in lock(&shared.open).values() {
        drop(stream.shutdown(Shutdown::Both));
    }
    for thread in serving {
        drop(thread.join());
    }
}

fn serve(stream: &TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(SILENCE))?;
    stream.set_write_timeout(Some(SILENCE))?;
    let Some(request) = Request::read(&mut BufReader::new(stream))? else {
        return Ok(());
    };
    let response = respond(&request, shared);
    response.write(&request.method, &mut &*stream)?;
    if matches!(response, Response::Unfinished { .. }) && !response.is_cut() {
        // It is the peer who gives up, or this server that stops.
        stream.set_read_timeout(None)?;
        (&mut &*stream).read_exact(&mut [0])?;
    }
    Ok(())
}

fn respond(request: &Request, shared: &Shared) -> Response {
    let path = request.target.split('?').next().unwrap_or_default();
    if let ("POST", Some(wire)) = (request.method.as_str(), Wire::at(path)) {
        let asked = Asked {
            target: request.target.clone(),
            body: request.body.clone(),
        };
        let mut kept = lock(&shared.asked);
        if kept.len() < MAX_KEPT {
            kept.push(asked);
        }
        drop(kept);
        let conversation = Conversation::read(wire, path, &request.body);
        return play(&conversation, shared);
    }
    let tokens = request.body.len() / 4;
    match (request.method.as_str(), path) {
        ("POST", path) if path.ends_with("/count_tokens") => Response::json(200, &json!({ "input_tokens": tokens })),
        ("POST", path) if path.ends_with(":countTokens") => Response::json(200, &json!({ "totalTokens": tokens })),
        ("GET" | "HEAD", path) if path.ends_with("/models") => Response::json(200, &wire::models()),
        ("GET" | "HEAD", "/") => Response::json(200, &json!({})),
        _ => Response::json(
            404,
            &json!({ "type": "error", "error": { "type": "not_found_error", "message": "not scripted" } }),
        ),
    }
}

/// What the model does in this conversation.
fn play(conversation: &Conversation, shared: &Shared) -> Response {
    let mut plays = lock(&shared.plays);
    let reply = match &conversation.task {
        Some(task) if task.is_worked_on => {
            answer::to_a_task(&plays.scenario(&conversation.prompt), &task.id, conversation)
        }
        _ => plays
            .beside(conversation)
            .map_or_else(|| Reply::plain(conversation), Reply::Failure),
    };
    drop(plays);
    match reply {
        Reply::Answer(answer) => conversation.wire.response(conversation, &answer),
        Reply::Failure(failure) => failure.response(conversation.wire),
        Reply::Silence => Response::Unfinished {
            events: Vec::new(),
            cut: http::Cut::Never,
        },
    }
}
