//! A child process under supervision: it is fed, read, stopped and waited for, and its end is told exactly once, when no
//! process of it is left.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};

use crate::launched::{Launched, Order, Pipes, in_thread, lock, send};
use crate::readers::{HeadAndTail, Lines, Pulse};
use crate::{sweep, sys};

/// How much of the end of the errors is kept.
const STDERR_TAIL: usize = 64 * 1024;

/// What to start, and how.
#[derive(Debug, Clone)]
pub struct Spec {
    /// The program: a name to be found on the PATH of `environment`, or a path.
    pub program: OsString,
    /// What it is called with.
    pub arguments: Vec<OsString>,
    /// The folder that it works in.
    pub folder: PathBuf,
    /// Its whole environment; nothing is inherited. The marker is added.
    pub environment: Vec<(OsString, OsString)>,
    /// What it reads from its standard input.
    pub stdin: Input,
    /// A random word, by which its descendants are known; see [`crate::MARKER_VARIABLE`].
    pub marker: String,
    /// How many bytes it may print.
    pub output_limit: Option<u64>,
}

/// What a child reads from its standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// Nothing.
    Nothing,
    /// This, and then its end.
    Whole(Vec<u8>),
    /// This, and then what the sink answers; see [`Answer`].
    Open(Vec<u8>),
}

/// What a supervised child does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProcessEvent {
    /// It printed a line.
    Line(String),
    /// It printed something that is no line yet, or an error.
    Alive,
    /// It is over, and no process of it is left.
    Ended(Ended),
}

/// Where the events go, and what the child is told because of one. It is called from several threads, never from two at once.
pub type ProcessSink = Box<dyn FnMut(ProcessEvent) -> Answer + Send>;

/// What a child is told; it has to have [`Input::Open`] to hear it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answer {
    /// What is said at once.
    pub say: Vec<u8>,
    /// What is said, from now on, before it is made to stop.
    pub farewell: Option<Vec<u8>>,
    /// Whether that was all.
    pub then: Then,
}

/// Whether a child is listened to any further.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Then {
    /// It is.
    #[default]
    Listen,
    /// It has done what it was started for: its input ends, and if it does not, it is made to.
    HangUp,
}

/// How a child ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// How.
    pub how: HowEnded,
    /// The end of what it printed as errors.
    pub stderr_tail: String,
    /// How many processes it left behind, which were ended.
    pub swept: usize,
    /// Those that may not be killed, as another user's may not: their pids.
    pub left: Vec<u32>,
}

/// What made a child end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HowEnded {
    /// It ended by itself, with this code.
    Exited(i32),
    /// A signal ended it that did not come from here.
    Signalled(i32),
    /// It was told to stop.
    Stopped,
    /// It took longer than it may.
    TimedOut,
    /// It printed more than it may.
    OutputLimit,
}

/// A child under supervision. It goes on when this value is dropped.
#[derive(Debug)]
pub struct Supervised {
    pid: u32,
    started: u64,
    orders: Sender<Order>,
    is_hurried: Arc<AtomicBool>,
}

impl Supervised {
    /// Its pid, and when it began as the system counts.
    #[must_use]
    pub fn process(&self) -> (u32, u64) {
        (self.pid, self.started)
    }

    /// Asks it to end, and makes it end if it does not: its farewell, the end of its input, SIGTERM, SIGKILL. Returns at
    /// once; the end is told to the sink.
    pub fn stop(&self) {
        send(&self.orders, Order::Stop(HowEnded::Stopped));
    }

    /// Makes it end without asking, and waits no longer for those that were asked. Returns at once too.
    pub fn kill(&self) {
        self.is_hurried.store(true, Ordering::Release);
        self.stop();
        // As long as this is held it is not reaped, and its pid is nobody else's.
        let children = sweep::supervised();
        if children.contains(&self.pid) && sweep::is_alive(self.pid, self.started) {
            sys::kill_group(self.pid);
        }
    }
}

/// Starts a child, and tells what it does: its lines, and once, at last, its end.
///
/// # Errors
/// When it cannot be started; then nothing is told.
pub fn start(spec: Spec, sink: ProcessSink) -> io::Result<Supervised> {
    let mut child = Launched::new(spec, Pipes::Apart)?;
    let supervised = Supervised {
        pid: child.pid,
        started: child.started,
        orders: child.orders.clone(),
        is_hurried: Arc::clone(&child.is_hurried),
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
                    sink.tell(ProcessEvent::Line(line));
                });
                if !ended_one && pulse.is_due() {
                    sink.tell(ProcessEvent::Alive);
                }
            }
            None => lines
                .rest()
                .into_iter()
                .for_each(|line| sink.tell(ProcessEvent::Line(line))),
        })?;
    }
    if let Some(stderr) = child.process.stderr.take() {
        let mut pulse = Pulse::default();
        let (sink, tail) = (sink.clone(), Arc::clone(&tail));
        child.read(stderr, move |chunk| {
            let Some(chunk) = chunk else { return };
            lock(&tail).take(chunk);
            if pulse.is_due() {
                sink.tell(ProcessEvent::Alive);
            }
        })?;
    }
    in_thread(move || {
        let (how, swept) = child.see_to_the_end(None);
        let left = swept.still_there();
        let stderr_tail = lock(&tail).text();
        sink.tell_last(ProcessEvent::Ended(Ended {
            how,
            stderr_tail,
            swept: swept.killed.len(),
            left,
        }));
    })?;
    Ok(supervised)
}

/// A sink that several threads tell to, until it is told the last.
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

    fn tell(&self, event: ProcessEvent) {
        let answer = lock(&self.sink).as_mut().map(|sink| sink(event));
        if let Some(answer) = answer.filter(|answer| *answer != Answer::default()) {
            send(&self.orders, Order::Answer(answer));
        }
    }

    /// There is nobody left to answer to.
    fn tell_last(&self, event: ProcessEvent) {
        if let Some(mut sink) = lock(&self.sink).take() {
            drop(sink(event));
        }
    }
}
