//! A scripted model server on loopback: it answers coding agents in the API format each of them uses, and records their
//! requests.
//!
//! ```no_run
//! use ralph_testkit::model::{Failure, ModelServer, Scenario};
//!
//! // The first session fails; later ones write a file with the agent's own tool and report the task done.
//! let server = ModelServer::start([
//!     Scenario::Fails(Failure::ContextOverflow),
//!     Scenario::Writes { path: "/project/made.txt".into(), content: "made\n".to_owned() },
//! ]).unwrap();
//! println!("ANTHROPIC_BASE_URL={}", server.url());
//! assert!(server.take_requests().is_empty());
//! ```
//!
//! It supports as much of Anthropic's Messages, `OpenAI`'s chat completions and Responses, and Gemini's
//! `generateContent` as agents need for a conversation, streamed or not. A conversation is about a task if it contains
//! ralph's prompt with its `## Assigned Task`, or a verifier's prompt. Any other request (a session title, a model
//! choice) gets a plain text.

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

/// The model's default answer.
pub const ANSWER: &str = "The scripted model has read it.";

/// How many requests are recorded.
const MAX_RECORDED: usize = 1_000;
/// How long a peer may be silent during a request.
const PEER_TIMEOUT: Duration = Duration::from_secs(20);

/// The model's behavior in a session.
#[derive(Debug, Clone, PartialEq)]
pub enum Scenario {
    Says(String),
    /// Writes a file with the agent's own tool, then reports the task done.
    Writes {
        /// The absolute path.
        path: PathBuf,
        content: String,
    },
    /// Writes a file, runs commands with the agent's own shell, then reports the task done.
    WritesAndRuns {
        /// The absolute path.
        path: PathBuf,
        content: String,
        commands: Vec<String>,
    },
    /// Runs a command with the agent's own shell, then ends without reporting on the task.
    Runs(String),
    /// Calls the tool with this name, then reports the task done.
    Calls {
        tool: String,
        input: Value,
    },
    /// As a verifier: tries to write a file with any available tool, then approves.
    Meddles {
        /// The absolute path.
        path: PathBuf,
    },
    /// Answers with an error.
    Fails(Failure),
    /// Closes the connection in the middle of the answer.
    CutsOff,
    /// Starts to answer and never continues.
    Hangs,
    /// Stops at the token limit.
    RunsOutOfTokens,
    Refuses,
    /// Ends with an empty answer.
    SaysNothing,
}

/// A recorded request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedRequest {
    /// The path with its query string.
    pub target: String,
    pub body: String,
}

/// A running server. It stops on drop, which also ends open conversations.
#[derive(Debug)]
pub struct ModelServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    stopping: AtomicBool,
    asked: Mutex<Vec<RecordedRequest>>,
    plays: Mutex<Playback>,
    /// The open connections, by number.
    open: Mutex<BTreeMap<u64, TcpStream>>,
    connections: AtomicU64,
}

/// The scenarios, and the prompts seen so far: the first prompt gets the first scenario, each new prompt the next one.
/// An agent that retries sends the same prompt.
#[derive(Debug, Default)]
struct Playback {
    scenarios: Vec<Scenario>,
    prompts: Vec<String>,
}

impl Playback {
    /// The scenario for a prompt; the last one repeats.
    fn scenario(&mut self, prompt: &str) -> Scenario {
        let known = self.prompts.iter().position(|known| known == prompt);
        let number = known.unwrap_or_else(|| {
            self.prompts.push(prompt.to_owned());
            self.prompts.len() - 1
        });
        let scenario = self.scenarios.get(number).or(self.scenarios.last());
        scenario.cloned().unwrap_or_else(|| Scenario::Says(ANSWER.to_owned()))
    }

    /// The failure for requests that are not work on a task, such as a title or a summary: account-wide failures, and a
    /// prompt that is too long.
    fn failure_outside_tasks(&self, conversation: &Conversation) -> Option<Failure> {
        let current = self.prompts.len().saturating_sub(1);
        match self.scenarios.get(current).or(self.scenarios.last()) {
            Some(Scenario::Fails(failure)) if failure.affects_account() || conversation.task.is_some() => {
                Some(*failure)
            }
            _ => None,
        }
    }
}

impl ModelServer {
    /// Starts the server on a free port.
    ///
    /// # Errors
    /// When no port is available.
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

    /// The base URL.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Replaces the scenarios: the next prompt gets the first one, each new prompt the next, and the last one repeats.
    pub fn play(&self, scenarios: impl Into<Vec<Scenario>>) {
        *lock(&self.shared.plays) = Playback {
            scenarios: scenarios.into(),
            prompts: Vec::new(),
        };
    }

    /// The requests since the last call, in order.
    #[must_use]
    pub fn take_requests(&self) -> Vec<RecordedRequest> {
        std::mem::take(&mut *lock(&self.shared.asked))
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        // Wakes the accepting thread.
        drop(TcpStream::connect(self.address));
        for stream in lock(&self.shared.open).values() {
            // The peer may be disconnected already.
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

/// Serves every connection on its own thread with one answer, and joins all threads before returning.
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
            // The peer may disconnect at any time.
            drop(serve(&stream, &for_thread));
            lock(&for_thread.open).remove(&number);
            drop(stream.shutdown(Shutdown::Both));
        });
        serving.retain(|thread| !thread.is_finished());
        serving.extend(started);
    }
    // Connections that were accepted after the stop signal.
    for stream in lock(&shared.open).values() {
        drop(stream.shutdown(Shutdown::Both));
    }
    for thread in serving {
        drop(thread.join());
    }
}

fn serve(stream: &TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PEER_TIMEOUT))?;
    stream.set_write_timeout(Some(PEER_TIMEOUT))?;
    let Some(request) = Request::read(&mut BufReader::new(stream))? else {
        return Ok(());
    };
    let response = respond(&request, shared);
    response.write(&request.method, &mut &*stream)?;
    if matches!(response, Response::Unfinished { .. }) && !response.is_cut() {
        // Wait until the peer gives up or this server stops.
        stream.set_read_timeout(None)?;
        (&mut &*stream).read_exact(&mut [0])?;
    }
    Ok(())
}

fn respond(request: &Request, shared: &Shared) -> Response {
    let path = request.target.split('?').next().unwrap_or_default();
    if let ("POST", Some(wire)) = (request.method.as_str(), Wire::at(path)) {
        let asked = RecordedRequest {
            target: request.target.clone(),
            body: request.body.clone(),
        };
        let mut kept = lock(&shared.asked);
        if kept.len() < MAX_RECORDED {
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

/// The model's response in this conversation.
fn play(conversation: &Conversation, shared: &Shared) -> Response {
    let mut plays = lock(&shared.plays);
    let reply = match &conversation.task {
        Some(task) if task.is_worked_on => {
            answer::reply_to_task(&plays.scenario(&conversation.prompt), &task.id, conversation)
        }
        _ => plays
            .failure_outside_tasks(conversation)
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
