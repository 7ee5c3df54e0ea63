//! A child that was started, and how its end is waited for or brought about. Who supervises it does so in one thread, to
//! which the others report.

use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::readers::read_chunks;
use crate::supervise::{Answer, HowEnded, Input, Spec, Then};
use crate::sweep::{self, Asked, MARKER_VARIABLE, Swept};
use crate::voice::Voice;
use crate::{command, sys};

/// How long a child has to end by itself when it did too much.
const TERM_GRACE: Duration = Duration::from_secs(3);
/// How long it has when it is told to stop: a person waits.
const STOP_GRACE: Duration = Duration::from_secs(1);
/// How long it has to end what it is at, when it is asked to in its own words.
const CANCEL_GRACE: Duration = Duration::from_millis(500);
/// How long it has to end by itself once its input has ended.
const HANG_UP_GRACE: Duration = Duration::from_millis(500);
/// How long somebody else may hold a pipe of a child that has exited, to print what is left to print.
const PIPE_GRACE: Duration = Duration::from_millis(500);

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
    /// Tell it this.
    Answer(Answer),
    /// It has exited.
    Exited,
    /// A pipe is at its end.
    PipeEnded,
}

/// A child that was started, and those who look after it. When it is dropped before its end, the child is ended.
pub(crate) struct Launched {
    pub(crate) process: Child,
    /// None where it hears nothing, or nothing more.
    voice: Option<Voice>,
    farewell: Vec<u8>,
    /// The one pipe of [`Pipes::Together`].
    pub(crate) output: Option<PipeReader>,
    pub(crate) pid: u32,
    pub(crate) started: u64,
    marker: String,
    printed: Arc<Meter>,
    /// Those who read and write the pipes wait for the end of this, too: they are given up when the other end goes,
    /// whoever still holds a pipe.
    given_up: PipeReader,
    gives_up: Option<PipeWriter>,
    readers: usize,
    /// Those that were asked to end, and how long they may take unless somebody hurries.
    asked: Option<(Asked, Instant)>,
    pub(crate) is_hurried: Arc<AtomicBool>,
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
            .stdin(match spec.stdin {
                Input::Nothing => Stdio::null(),
                Input::Whole(_) | Input::Open(_) => Stdio::piped(),
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
        let (given_up, gives_up) = io::pipe()?;
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
            voice: None,
            farewell: Vec::new(),
            output,
            pid,
            started: sweep::start_time(pid).unwrap_or(0),
            marker: spec.marker,
            printed: Arc::new(Meter(Mutex::new((0, spec.output_limit.unwrap_or(u64::MAX))))),
            given_up,
            gives_up: Some(gives_up),
            readers: 0,
            asked: None,
            is_hurried: Arc::default(),
            orders,
            inbox,
            is_over: false,
        };
        launched.feed(spec.stdin)?;
        launched.await_exit()?;
        Ok(launched)
    }

    fn feed(&mut self, input: Input) -> io::Result<()> {
        let Some(stdin) = self.process.stdin.take() else {
            return Ok(());
        };
        match input {
            Input::Nothing => {}
            Input::Whole(text) => drop(Voice::new(stdin, text, self.given_up.try_clone()?)?),
            Input::Open(first) => self.voice = Some(Voice::new(stdin, first, self.given_up.try_clone()?)?),
        }
        Ok(())
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
        stream: impl io::Read + AsFd + Send + 'static,
        mut take: impl FnMut(Option<&[u8]>) + Send + 'static,
    ) -> io::Result<()> {
        let printed = Arc::clone(&self.printed);
        let orders = self.orders.clone();
        let given_up = self.given_up.try_clone()?;
        in_thread(move || {
            let _told_at_the_end = TellsPipeEnded(orders.clone());
            read_chunks(stream, &given_up, |chunk| {
                let allowed = printed.admit(chunk.len());
                if allowed < chunk.len() {
                    send(&orders, Order::Stop(HowEnded::OutputLimit));
                }
                if allowed > 0 {
                    take(chunk.get(..allowed));
                }
            });
            take(None);
        })?;
        self.readers += 1;
        Ok(())
    }

    /// Waits for the child's end, or brings it about; then ends and reaps everything that it left. Says how it ended, and
    /// what became of those that were left.
    pub(crate) fn see_to_the_end(mut self, time_limit: Option<Duration>) -> (HowEnded, Swept) {
        let mut open_pipes = self.readers;
        let stopped = self.wait_for_exit(time_limit, &mut open_pipes);
        self.voice = None;
        if stopped.is_none() {
            // What others still print belongs to it, if it comes soon.
            self.wait_for_pipes(&mut open_pipes, Instant::now() + PIPE_GRACE);
        }
        let (how, swept) = self.sweep_and_reap();
        self.drain(&mut open_pipes);
        (stopped.unwrap_or(how), swept)
    }

    /// The child is reaped last: until then no other process can have its pid.
    fn sweep_and_reap(&mut self) -> (HowEnded, Swept) {
        let asked = self.asked.take().map(|(asked, until)| {
            asked.wait_until(until, || self.is_hurried.load(Ordering::Acquire));
            asked
        });
        let mut swept = sweep::sweep(self.pid, self.started, &self.marker);
        swept.killed.extend(asked.unwrap_or_default().processes());
        // It fails only when there is no such child.
        let _waited: bool = sys::wait_for_exit(self.pid).is_ok();
        let mut children = sweep::supervised();
        // Had somebody else reaped it, nobody would know how it ended.
        let how = self.process.wait().map_or(HowEnded::Signalled(0), how);
        children.remove(&self.pid);
        drop(children);
        self.is_over = true;
        (how, swept)
    }

    /// Waits until the child has exited; says why it was made to, if it was.
    fn wait_for_exit(&mut self, time_limit: Option<Duration>, open_pipes: &mut usize) -> Option<HowEnded> {
        let mut next = time_limit.map(|limit| (Instant::now() + limit, Alarm::TimeIsUp));
        let mut stopped = None;
        loop {
            match self.next_order(next.map(|(at, _)| at)) {
                Some(Order::Exited) => return stopped,
                Some(Order::PipeEnded) => *open_pipes -= 1,
                Some(Order::Answer(answer)) => {
                    if self.answer(answer) == Then::HangUp {
                        self.voice = None;
                        let grace = if stopped.is_none() { HANG_UP_GRACE } else { CANCEL_GRACE };
                        next = sooner(next, Instant::now() + grace);
                    }
                }
                Some(Order::Stop(why)) if stopped.is_none() => {
                    stopped = Some(why);
                    next = Some((self.say_farewell(), Alarm::Terminate(why)));
                }
                Some(Order::Stop(_)) => {}
                None => {
                    let Some((_, alarm)) = next.take() else { continue };
                    next = self.alarmed(alarm);
                }
            }
        }
    }

    /// What is to be done next, and when, after this alarm.
    fn alarmed(&mut self, alarm: Alarm) -> Option<(Instant, Alarm)> {
        match alarm {
            Alarm::TimeIsUp => {
                send(&self.orders, Order::Stop(HowEnded::TimedOut));
                None
            }
            Alarm::Terminate(why) => {
                self.voice = None;
                let asked = sweep::ask_to_end(self.pid, self.started, &self.marker);
                let grace = if why == HowEnded::Stopped {
                    STOP_GRACE
                } else {
                    TERM_GRACE
                };
                let until = Instant::now() + grace;
                self.asked = Some((asked, until));
                Some((until, Alarm::Kill))
            }
            Alarm::Kill => {
                sys::kill_group(self.pid);
                None
            }
        }
    }

    fn answer(&mut self, answer: Answer) -> Then {
        if let Some(voice) = &self.voice {
            voice.say(answer.say);
        }
        if let Some(farewell) = answer.farewell {
            self.farewell = farewell;
        }
        answer.then
    }

    /// Asks the child in its own words to end, if it has some, and says when it must be asked otherwise.
    fn say_farewell(&mut self) -> Instant {
        let farewell = std::mem::take(&mut self.farewell);
        match &self.voice {
            Some(voice) if !farewell.is_empty() => {
                voice.say(farewell);
                Instant::now() + CANCEL_GRACE
            }
            _ => Instant::now(),
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

    /// Waits until all is handed on that stands in the pipes. Only one that may not be killed, or was not found, can still
    /// hold them, and what it prints from now on is nobody's.
    fn drain(&mut self, open_pipes: &mut usize) {
        self.gives_up = None;
        while *open_pipes > 0 {
            // This value holds a sender, so that there is always a next one.
            if let Some(Order::PipeEnded) = self.next_order(None) {
                *open_pipes -= 1;
            }
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

/// Says that a pipe is at its end when it goes, also when whoever is told of its content has panicked.
struct TellsPipeEnded(Sender<Order>);

impl Drop for TellsPipeEnded {
    fn drop(&mut self) {
        send(&self.0, Order::PipeEnded);
    }
}

/// What is to be done when a time is over.
#[derive(Clone, Copy)]
enum Alarm {
    TimeIsUp,
    /// It is asked to end, because of this.
    Terminate(HowEnded),
    Kill,
}

/// The same, or the request to end at this moment if that is sooner. Nobody who is about to be killed is asked again.
fn sooner(next: Option<(Instant, Alarm)>, at: Instant) -> Option<(Instant, Alarm)> {
    match next {
        Some((due, alarm)) if due <= at || matches!(alarm, Alarm::Kill) => Some((due, alarm)),
        _ => Some((at, Alarm::Terminate(HowEnded::Stopped))),
    }
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

/// Runs this in a thread of its own.
pub(crate) fn in_thread(work: impl FnOnce() + Send + 'static) -> io::Result<()> {
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
