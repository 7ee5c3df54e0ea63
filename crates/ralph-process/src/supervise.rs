//! A child process under supervision: it is fed, read, stopped and waited for, and its end is told exactly once, when no
//! process of it is left.

use std::ffi::OsString;
use std::io::{self, PipeReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::readers::{Activity, HeadAndTail, Lines, Pulse, read_chunks};
use crate::sweep::{self, MARKER_VARIABLE};
use crate::{command, sys};

/// How long a child has to end by itself when it is asked to.
const TERM_GRACE: Duration = Duration::from_secs(3);
/// How long somebody else may hold a pipe of a child that has exited, to print what is left to print.
const PIPE_GRACE: Duration = Duration::from_millis(500);
/// How long to wait for the end of a pipe whose holders are all dead, as far as they may be killed.
const DRAIN_GRACE: Duration = Duration::from_secs(2);
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
    pub stdin: Vec<u8>,
    /// A random word, by which its descendants are known; see [`MARKER_VARIABLE`].
    pub marker: String,
    /// How many bytes it may print.
    pub output_limit: Option<u64>,
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

/// Where the events go. It is called from several threads, never from two at once.
pub type ProcessSink = Box<dyn FnMut(ProcessEvent) + Send>;

/// How a child ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// How.
    pub how: HowEnded,
    /// The end of what it printed as errors.
    pub stderr_tail: String,
    /// How many processes it left behind, which were killed.
    pub swept: usize,
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
}

impl Supervised {
    /// Its pid, and when it began as the system counts.
    #[must_use]
    pub fn process(&self) -> (u32, u64) {
        (self.pid, self.started)
    }

    /// Asks it to end, and makes it end if it does not. Returns at once; the end is told to the sink.
    pub fn stop(&self) {
        send(&self.orders, Order::Stop(HowEnded::Stopped));
    }

    /// Makes it end without asking. Returns at once too.
    pub fn kill(&self) {
        self.stop();
        if sweep::is_alive(self.pid, self.started) {
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
    };
    let sink = SharedSink::new(sink);
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
        let stderr_tail = lock(&tail).text();
        sink.tell_last(ProcessEvent::Ended(Ended {
            how,
            stderr_tail,
            swept,
        }));
    })?;
    Ok(supervised)
}

/// Where what a child prints goes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Pipes {
    /// Into two pipes.
    Apart,
    /// Into one, in the order in which it is printed.
    Together,
}

/// What is told to the one who supervises a child.
#[derive(Debug)]
pub(crate) enum Order {
    /// Make it end, and say that it ended so.
    Stop(HowEnded),
    /// It has exited.
    Exited,
    /// A pipe is at its end.
    PipeEnded,
}

/// A child that was started, and those who look after it. When it is dropped before its end, the child is ended.
pub(crate) struct Launched {
    process: Child,
    /// The one pipe of [`Pipes::Together`].
    pub(crate) output: Option<PipeReader>,
    pid: u32,
    started: u64,
    marker: String,
    printed: Arc<Meter>,
    readers: Vec<Arc<Activity>>,
    pub(crate) orders: Sender<Order>,
    inbox: Receiver<Order>,
    is_over: bool,
}

impl Launched {
    /// Starts a child in a session of its own, feeds it, and waits for its exit in a thread.
    pub(crate) fn new(spec: Spec, pipes: Pipes) -> io::Result<Self> {
        let mut command = command(&spec.program);
        command
            .args(&spec.arguments)
            .current_dir(&spec.folder)
            .env_clear()
            .envs(spec.environment)
            .env(MARKER_VARIABLE, &spec.marker)
            .stdin(if spec.stdin.is_empty() {
                Stdio::null()
            } else {
                Stdio::piped()
            });
        let output = match pipes {
            Pipes::Apart => {
                command.stdout(Stdio::piped()).stderr(Stdio::piped());
                None
            }
            Pipes::Together => {
                let (reader, writer) = io::pipe()?;
                command.stdout(writer.try_clone()?).stderr(writer);
                Some(reader)
            }
        };
        sys::in_own_session(&mut command);
        let mut children = sweep::supervised();
        let process = command.spawn()?;
        // Its ends of the pipes live on in the command.
        drop(command);
        let pid = process.id();
        children.insert(pid);
        drop(children);
        let (orders, inbox) = mpsc::channel();
        let mut launched = Self {
            process,
            output,
            pid,
            started: sweep::start_time(pid).unwrap_or(0),
            marker: spec.marker,
            printed: Arc::new(Meter(Mutex::new((0, spec.output_limit.unwrap_or(u64::MAX))))),
            readers: Vec::new(),
            orders,
            inbox,
            is_over: false,
        };
        launched.feed(spec.stdin)?;
        launched.await_exit()?;
        Ok(launched)
    }

    /// Hands the child its input, in a thread: it may be long in reading it, or never do so.
    fn feed(&mut self, input: Vec<u8>) -> io::Result<()> {
        let Some(mut stdin) = self.process.stdin.take() else {
            return Ok(());
        };
        // A child that does not want to read all of it may say so by closing the pipe.
        in_thread(move || drop(stdin.write_all(&input)))
    }

    fn await_exit(&self) -> io::Result<()> {
        let (pid, orders) = (self.pid, self.orders.clone());
        in_thread(move || {
            // It fails only when there is no such child, and then there is none to wait for.
            let _waited: bool = sys::wait_for_exit(pid).is_ok();
            send(&orders, Order::Exited);
        })
    }

    /// Reads a pipe in a thread: chunks, and nothing at the end. What goes beyond the limit is not handed on.
    pub(crate) fn read(
        &mut self,
        stream: impl io::Read + Send + 'static,
        mut take: impl FnMut(Option<&[u8]>) + Send + 'static,
    ) -> io::Result<()> {
        let activity = Arc::new(Activity::default());
        self.readers.push(Arc::clone(&activity));
        let printed = Arc::clone(&self.printed);
        let orders = self.orders.clone();
        in_thread(move || {
            read_chunks(stream, &activity, |chunk| {
                let allowed = printed.admit(chunk.len());
                if allowed < chunk.len() {
                    send(&orders, Order::Stop(HowEnded::OutputLimit));
                }
                if allowed > 0 {
                    take(chunk.get(..allowed));
                }
            });
            take(None);
            send(&orders, Order::PipeEnded);
        })
    }

    /// Waits for the child's end, or brings it about; then ends and reaps everything that it left. Says how it ended, and
    /// how many processes were left.
    pub(crate) fn see_to_the_end(mut self, time_limit: Option<Duration>) -> (HowEnded, usize) {
        let mut open_pipes = self.readers.len();
        let stopped = self.wait_for_exit(time_limit, &mut open_pipes);
        if stopped.is_none() {
            // What others still print belongs to it, if it comes soon.
            self.wait_for_pipes(&mut open_pipes, Instant::now() + PIPE_GRACE);
        }
        let (how, swept) = self.sweep_and_reap();
        self.drain(&mut open_pipes);
        (stopped.unwrap_or(how), swept)
    }

    /// The child is reaped last: until then no other process can have its pid.
    fn sweep_and_reap(&mut self) -> (HowEnded, usize) {
        let swept = sweep::sweep(self.pid, self.started, &self.marker);
        // Had somebody else reaped it, nobody would know how it ended.
        let how = self.process.wait().map_or(HowEnded::Signalled(0), how);
        sweep::supervised().remove(&self.pid);
        self.is_over = true;
        (how, swept)
    }

    /// Waits until the child has exited; says why it was made to, if it was.
    fn wait_for_exit(&self, time_limit: Option<Duration>, open_pipes: &mut usize) -> Option<HowEnded> {
        let mut next = time_limit.map(|limit| (Instant::now() + limit, Alarm::TimeIsUp));
        let mut stopped = None;
        loop {
            match self.next_order(next.map(|(at, _)| at)) {
                Some(Order::Exited) => return stopped,
                Some(Order::PipeEnded) => *open_pipes -= 1,
                Some(Order::Stop(why)) if stopped.is_none() => {
                    stopped = Some(why);
                    sys::terminate_group(self.pid);
                    next = Some((Instant::now() + TERM_GRACE, Alarm::Kill));
                }
                Some(Order::Stop(_)) => {}
                None => {
                    let Some((_, alarm)) = next.take() else { continue };
                    match alarm {
                        Alarm::TimeIsUp => send(&self.orders, Order::Stop(HowEnded::TimedOut)),
                        Alarm::Kill => sys::kill_group(self.pid),
                    }
                }
            }
        }
    }

    /// Waits until the pipes are at their ends, or so long.
    fn wait_for_pipes(&self, open_pipes: &mut usize, until: Instant) {
        while *open_pipes > 0 {
            match self.next_order(Some(until)) {
                Some(Order::PipeEnded) => *open_pipes -= 1,
                Some(_) => {}
                None => return,
            }
        }
    }

    /// Waits for the pipes for as long as anything comes out of them. Only one that may not be killed can still hold them.
    fn drain(&self, open_pipes: &mut usize) {
        let marks = || self.readers.iter().map(|reader| reader.mark()).collect::<Vec<_>>();
        let mut before = marks();
        while *open_pipes > 0 {
            self.wait_for_pipes(open_pipes, Instant::now() + DRAIN_GRACE);
            let now = marks();
            if now == before && now.iter().all(Option::is_some) {
                return;
            }
            before = now;
        }
    }

    /// The next order; none when the time is over.
    fn next_order(&self, until: Option<Instant>) -> Option<Order> {
        match until {
            // This value holds a sender, so that the channel stays open.
            None => self.inbox.recv().ok(),
            Some(until) => {
                let time_left = until.saturating_duration_since(Instant::now());
                self.inbox.recv_timeout(time_left).ok()
            }
        }
    }
}

impl Drop for Launched {
    fn drop(&mut self) {
        if !self.is_over {
            self.sweep_and_reap();
        }
    }
}

/// What is to be done when a time is over.
#[derive(Clone, Copy)]
enum Alarm {
    TimeIsUp,
    Kill,
}

/// Counts what a child prints, up to a limit.
struct Meter(Mutex<(u64, u64)>);

impl Meter {
    /// How many of these bytes are within the limit.
    fn admit(&self, bytes: usize) -> usize {
        let mut meter = lock(&self.0);
        let (printed, limit) = *meter;
        meter.0 = printed.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
        usize::try_from(limit.saturating_sub(printed))
            .unwrap_or(usize::MAX)
            .min(bytes)
    }
}

/// A sink that several threads tell to, until it is told the last.
#[derive(Clone)]
struct SharedSink(Arc<Mutex<Option<ProcessSink>>>);

impl SharedSink {
    fn new(sink: ProcessSink) -> Self {
        Self(Arc::new(Mutex::new(Some(sink))))
    }

    fn tell(&self, event: ProcessEvent) {
        if let Some(sink) = lock(&self.0).as_mut() {
            sink(event);
        }
    }

    fn tell_last(&self, event: ProcessEvent) {
        if let Some(mut sink) = lock(&self.0).take() {
            sink(event);
        }
    }
}

/// Runs this in a thread of its own.
fn in_thread(work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().spawn(work).map(drop)
}

/// Tells the one who supervises. When nobody does any more, there is nobody to tell.
pub(crate) fn send(orders: &Sender<Order>, order: Order) {
    drop(orders.send(order));
}

/// What a lock guards, also after a panic of another: nothing here is left half done.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn how(status: ExitStatus) -> HowEnded {
    match status.code() {
        Some(code) => HowEnded::Exited(code),
        None => HowEnded::Signalled(status.signal().unwrap_or(0)),
    }
}
