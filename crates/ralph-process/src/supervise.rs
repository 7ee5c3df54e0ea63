//! Supervises a child process: feeds, reads, stops, and waits for it. Its end is reported exactly once, when none of
//! its processes is left.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};

use crate::launched::{Launched, Order, Pipes, lock, send, spawn_thread};
use crate::readers::{HeadAndTail, Lines, Pulse};
use crate::{sweep, sys};

const STDERR_TAIL: usize = 64 * 1024;

/// What to start, and how.
#[derive(Debug, Clone)]
pub struct Spec {
    /// A name to look up in the PATH of `environment`, or a path.
    pub program: OsString,
    pub arguments: Vec<OsString>,
    /// The working folder.
    pub folder: PathBuf,
    /// The complete environment; nothing is inherited. The marker is added.
    pub environment: Vec<(OsString, OsString)>,
    pub stdin: Input,
    /// A random word that identifies its descendants; see [`crate::MARKER_VARIABLE`].
    pub marker: String,
    /// How many bytes it may print.
    pub output_limit: Option<u64>,
}

/// What a child reads from standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    Nothing,
    /// This text, then end of file.
    Whole(Vec<u8>),
    /// This text, then what the sink replies; see [`StdinReply`].
    Open(Vec<u8>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProcessEvent {
    Line(String),
    /// It printed an incomplete line, or to standard error.
    Alive,
    /// It has ended, and none of its processes is left.
    Ended(Ended),
}

/// Receives the events and returns a reply to the child. Called from several threads, but never concurrently.
pub type ProcessSink = Box<dyn FnMut(ProcessEvent) -> StdinReply + Send>;

/// A reply to a child; needs [`Input::Open`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StdinReply {
    /// What to write now.
    pub write: Vec<u8>,
    /// From now on, what to write before the child is asked to end.
    pub cancel_message: Option<Vec<u8>>,
    pub then: AfterReply,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AfterReply {
    #[default]
    Listen,
    /// The work is done: close the input, and end the child if it does not exit.
    HangUp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    pub how: ExitReason,
    /// The end of its standard error.
    pub stderr_tail: String,
    /// How many leftover processes were ended.
    pub swept: usize,
    /// The pids of leftover processes that may not be killed, such as another user's.
    pub left: Vec<u32>,
}

/// Why a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitReason {
    /// It exited with this code.
    Exited(i32),
    /// A signal from elsewhere ended it.
    Signalled(i32),
    /// It was stopped on request.
    Stopped,
    /// It exceeded its time limit.
    TimedOut,
    /// It exceeded its output limit.
    OutputLimit,
}

/// A supervised child. It keeps running when this value is dropped.
#[derive(Debug)]
pub struct Supervised {
    pid: u32,
    started: u64,
    orders: Sender<Order>,
    skip_grace: Arc<AtomicBool>,
}

impl Supervised {
    /// Its pid, and its start time as reported by the system.
    #[must_use]
    pub fn process(&self) -> (u32, u64) {
        (self.pid, self.started)
    }

    /// Ends the child step by step: cancel message, end of input, SIGTERM, SIGKILL. Returns immediately; the sink gets
    /// the end.
    pub fn stop(&self) {
        send(&self.orders, Order::Stop(ExitReason::Stopped));
    }

    /// Kills it at once, and skips the grace period of the processes that were asked to end. Returns immediately.
    pub fn kill(&self) {
        self.skip_grace.store(true, Ordering::Release);
        self.stop();
        // While this lock is held, the child is not reaped and its pid cannot be reused.
        let children = sweep::supervised();
        if children.contains(&self.pid) && sweep::is_alive(self.pid, self.started) {
            sys::kill_group(self.pid);
        }
    }
}

/// Starts a child and reports its lines, and finally its end, exactly once.
///
/// # Errors
/// If it cannot be started; then nothing is reported.
pub fn start(spec: Spec, sink: ProcessSink) -> io::Result<Supervised> {
    let mut child = Launched::new(spec, Pipes::Apart)?;
    let supervised = Supervised {
        pid: child.pid,
        started: child.started,
        orders: child.orders.clone(),
        skip_grace: Arc::clone(&child.skip_grace),
    };
    let sink = SharedSink::new(sink, child.orders.clone());
    let tail = Arc::new(Mutex::new(HeadAndTail::new(0, STDERR_TAIL)));
    if let Some(stdout) = child.process.stdout.take() {
        let mut lines = Lines::default();
        let mut pulse = Pulse::default();
        let sink = sink.clone();
        child.read(stdout, move |chunk| match chunk {
            Some(chunk) => {
                let mut ended_one = false;
                lines.take(chunk, |line| {
                    ended_one = true;
                    sink.emit(ProcessEvent::Line(line));
                });
                if !ended_one && pulse.is_due() {
                    sink.emit(ProcessEvent::Alive);
                }
            }
            None => lines
                .rest()
                .into_iter()
                .for_each(|line| sink.emit(ProcessEvent::Line(line))),
        })?;
    }
    if let Some(stderr) = child.process.stderr.take() {
        let mut pulse = Pulse::default();
        let (sink, tail) = (sink.clone(), Arc::clone(&tail));
        child.read(stderr, move |chunk| {
            let Some(chunk) = chunk else { return };
            lock(&tail).take(chunk);
            if pulse.is_due() {
                sink.emit(ProcessEvent::Alive);
            }
        })?;
    }
    spawn_thread(move || {
        let (how, swept) = child.supervise(None);
        let left = swept.survivors();
        let stderr_tail = lock(&tail).text();
        sink.emit_last(ProcessEvent::Ended(Ended {
            how,
            stderr_tail,
            swept: swept.killed.len(),
            left,
        }));
    })?;
    Ok(supervised)
}

/// A sink shared by several threads until the last event.
#[derive(Clone)]
struct SharedSink {
    sink: Arc<Mutex<Option<ProcessSink>>>,
    orders: Sender<Order>,
}

impl SharedSink {
    fn new(sink: ProcessSink, orders: Sender<Order>) -> Self {
        let sink = Arc::new(Mutex::new(Some(sink)));
        Self { sink, orders }
    }

    fn emit(&self, event: ProcessEvent) {
        let answer = lock(&self.sink).as_mut().map(|sink| sink(event));
        if let Some(answer) = answer.filter(|answer| *answer != StdinReply::default()) {
            send(&self.orders, Order::Reply(answer));
        }
    }

    /// The reply is ignored, because the child has ended.
    fn emit_last(&self, event: ProcessEvent) {
        if let Some(mut sink) = lock(&self.sink).take() {
            drop(sink(event));
        }
    }
}
