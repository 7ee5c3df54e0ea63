//! A started child process, and how its exit is awaited or forced. One thread supervises it; other threads send it
//! orders.

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
use crate::stdin_writer::StdinWriter;
use crate::supervise::{AfterReply, ExitReason, Input, Spec, StdinReply};
use crate::sweep::{self, Asked, MARKER_VARIABLE, Swept};
use crate::{command, sys};

/// How long a child has to exit after it exceeded a limit.
const TERM_GRACE: Duration = Duration::from_secs(3);
/// How long it has after a stop request, while a user waits.
const STOP_GRACE: Duration = Duration::from_secs(1);
/// How long it has to finish after its own cancel message.
const CANCEL_GRACE: Duration = Duration::from_millis(500);
/// How long it has to exit after its input has ended.
const HANG_UP_GRACE: Duration = Duration::from_millis(500);
/// How long other processes may hold a pipe of an exited child to print remaining output.
const PIPE_GRACE: Duration = Duration::from_millis(500);

#[derive(Debug, Clone, Copy)]
pub(crate) enum Pipes {
    Apart,
    /// Both streams into one pipe, in the order of printing.
    Together,
}

/// A message to the supervising thread.
#[derive(Debug)]
pub(crate) enum Order {
    /// End the child, and report this as the reason.
    Stop(ExitReason),
    Reply(StdinReply),
    Exited,
    PipeEnded,
}

/// A started child and its reader and writer threads. If dropped early, the child is ended.
pub(crate) struct Launched {
    pub(crate) process: Child,
    /// `None` if the child gets no input, or no more.
    stdin_writer: Option<StdinWriter>,
    cancel_message: Vec<u8>,
    /// The single pipe of [`Pipes::Together`].
    pub(crate) output: Option<PipeReader>,
    pub(crate) pid: u32,
    pub(crate) started: u64,
    marker: String,
    printed: Arc<Meter>,
    /// Cancels the threads that read and write the pipes when its other end is dropped, even if another process still
    /// handles a pipe.
    cancelled: PipeReader,
    canceller: Option<PipeWriter>,
    readers: usize,
    /// The processes that were asked to end, and the deadline for them.
    asked: Option<(Asked, Instant)>,
    pub(crate) skip_grace: Arc<AtomicBool>,
    pub(crate) orders: Sender<Order>,
    inbox: Receiver<Order>,
    is_over: bool,
}

impl Launched {
    /// Starts a child in its own session, feeds it, and waits for its exit in a thread.
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
        let (cancelled, canceller) = io::pipe()?;
        sys::in_own_session(&mut command);
        let mut children = sweep::supervised();
        let process = command.spawn()?;
        // The command handles the child's ends of the pipes.
        drop(command);
        let pid = process.id();
        children.insert(pid);
        drop(children);
        let (orders, inbox) = mpsc::channel();
        let mut launched = Self {
            process,
            stdin_writer: None,
            cancel_message: Vec::new(),
            output,
            pid,
            started: sweep::start_time(pid).unwrap_or(0),
            marker: spec.marker,
            printed: Arc::new(Meter(Mutex::new((0, spec.output_limit.unwrap_or(u64::MAX))))),
            cancelled,
            canceller: Some(canceller),
            readers: 0,
            asked: None,
            skip_grace: Arc::default(),
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
            Input::Whole(text) => drop(StdinWriter::new(stdin, text, self.cancelled.try_clone()?)?),
            Input::Open(first) => {
                self.stdin_writer = Some(StdinWriter::new(stdin, first, self.cancelled.try_clone()?)?);
            }
        }
        Ok(())
    }

    fn await_exit(&self) -> io::Result<()> {
        let (pid, orders) = (self.pid, self.orders.clone());
        spawn_thread(move || {
            // This fails only if there is no such child, and then there is nothing to wait for.
            let _waited: bool = sys::wait_for_exit(pid).is_ok();
            send(&orders, Order::Exited);
        })
    }

    /// Reads a pipe in a thread. Passes chunks up to the limit, then `None` at the end.
    pub(crate) fn read(
        &mut self,
        stream: impl io::Read + AsFd + Send + 'static,
        mut take: impl FnMut(Option<&[u8]>) + Send + 'static,
    ) -> io::Result<()> {
        let printed = Arc::clone(&self.printed);
        let orders = self.orders.clone();
        let cancelled = self.cancelled.try_clone()?;
        spawn_thread(move || {
            let _pipe_ended = PipeEndedOnDrop(orders.clone());
            read_chunks(stream, &cancelled, |chunk| {
                let allowed = printed.admit(chunk.len());
                if allowed < chunk.len() {
                    send(&orders, Order::Stop(ExitReason::OutputLimit));
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

    /// Waits for the child to exit, or ends it; then kills and reaps all leftovers. Returns how it ended and what
    /// happened to the leftovers.
    pub(crate) fn supervise(mut self, time_limit: Option<Duration>) -> (ExitReason, Swept) {
        let mut open_pipes = self.readers;
        let stopped = self.wait_for_exit(time_limit, &mut open_pipes);
        self.stdin_writer = None;
        if stopped.is_none() {
            // Late output of other processes still counts if it arrives soon.
            self.wait_for_pipes(&mut open_pipes, Instant::now() + PIPE_GRACE);
        }
        let (how, swept) = self.sweep_and_reap();
        self.drain(&mut open_pipes);
        (stopped.unwrap_or(how), swept)
    }

    /// Reaps the child last, because until then its pid cannot be reused.
    fn sweep_and_reap(&mut self) -> (ExitReason, Swept) {
        let asked = self.asked.take().map(|(asked, until)| {
            asked.wait_until(until, || self.skip_grace.load(Ordering::Acquire));
            asked
        });
        let mut swept = sweep::sweep(self.pid, self.started, &self.marker);
        swept.killed.extend(asked.unwrap_or_default().processes());
        // This fails only if there is no such child.
        let _waited: bool = sys::wait_for_exit(self.pid).is_ok();
        let mut children = sweep::supervised();
        // If something else reaped it, its status is lost.
        let how = self.process.wait().map_or(ExitReason::Signalled(0), how);
        children.remove(&self.pid);
        drop(children);
        self.is_over = true;
        (how, swept)
    }

    /// Waits until the child has exited; returns the reason if it was made to exit.
    fn wait_for_exit(&mut self, time_limit: Option<Duration>, open_pipes: &mut usize) -> Option<ExitReason> {
        let mut next = time_limit.map(|limit| (Instant::now() + limit, Alarm::TimeIsUp));
        let mut stopped = None;
        loop {
            match self.next_order(next.map(|(at, _)| at)) {
                Some(Order::Exited) => return stopped,
                Some(Order::PipeEnded) => *open_pipes -= 1,
                Some(Order::Reply(answer)) => {
                    if self.answer(answer) == AfterReply::HangUp {
                        self.stdin_writer = None;
                        let grace = if stopped.is_none() { HANG_UP_GRACE } else { CANCEL_GRACE };
                        next = sooner(next, Instant::now() + grace);
                    }
                }
                Some(Order::Stop(why)) if stopped.is_none() => {
                    stopped = Some(why);
                    next = Some((self.send_cancel_message(), Alarm::Terminate(why)));
                }
                Some(Order::Stop(_)) => {}
                None => {
                    let Some((_, alarm)) = next.take() else { continue };
                    next = self.alarmed(alarm);
                }
            }
        }
    }

    /// Handles an expired timer; returns the next one.
    fn alarmed(&mut self, alarm: Alarm) -> Option<(Instant, Alarm)> {
        match alarm {
            Alarm::TimeIsUp => {
                send(&self.orders, Order::Stop(ExitReason::TimedOut));
                None
            }
            Alarm::Terminate(why) => {
                self.stdin_writer = None;
                let asked = sweep::terminate(self.pid, self.started, &self.marker);
                let grace = if why == ExitReason::Stopped {
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

    fn answer(&mut self, answer: StdinReply) -> AfterReply {
        if let Some(stdin_writer) = &self.stdin_writer {
            stdin_writer.write(answer.write);
        }
        if let Some(cancel_message) = answer.cancel_message {
            self.cancel_message = cancel_message;
        }
        answer.then
    }

    /// Sends the child's own cancel message, if it has one; returns when to send a signal.
    fn send_cancel_message(&mut self) -> Instant {
        let cancel_message = std::mem::take(&mut self.cancel_message);
        match &self.stdin_writer {
            Some(stdin_writer) if !cancel_message.is_empty() => {
                stdin_writer.write(cancel_message);
                Instant::now() + CANCEL_GRACE
            }
            _ => Instant::now(),
        }
    }

    /// Waits until all pipes are closed or the deadline passes.
    fn wait_for_pipes(&self, open_pipes: &mut usize, until: Instant) {
        while *open_pipes > 0 {
            match self.next_order(Some(until)) {
                Some(Order::PipeEnded) => *open_pipes -= 1,
                Some(_) => {}
                None => return,
            }
        }
    }

    /// Waits until the readers have passed on everything in the pipes. Only a process that could not be killed or found
    /// can still hold a pipe, and its later output is ignored.
    fn drain(&mut self, open_pipes: &mut usize) {
        self.canceller = None;
        while *open_pipes > 0 {
            // This value handles a sender, so there is always a next order.
            if let Some(Order::PipeEnded) = self.next_order(None) {
                *open_pipes -= 1;
            }
        }
    }

    /// The next order; `None` on timeout.
    fn next_order(&self, until: Option<Instant>) -> Option<Order> {
        match until {
            // This value handles a sender, so the channel stays open.
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

/// Reports a closed pipe on drop, even if the reader's callback panicked.
struct PipeEndedOnDrop(Sender<Order>);

impl Drop for PipeEndedOnDrop {
    fn drop(&mut self) {
        send(&self.0, Order::PipeEnded);
    }
}

/// What to do when a timer expires.
#[derive(Clone, Copy)]
enum Alarm {
    TimeIsUp,
    /// Ask it to end, for this reason.
    Terminate(ExitReason),
    Kill,
}

/// Makes the termination due at this time, unless something is due sooner. A child that is about to be killed is not
/// asked again.
fn sooner(next: Option<(Instant, Alarm)>, at: Instant) -> Option<(Instant, Alarm)> {
    match next {
        Some((due, alarm)) if due <= at || matches!(alarm, Alarm::Kill) => Some((due, alarm)),
        _ => Some((at, Alarm::Terminate(ExitReason::Stopped))),
    }
}

/// Counts printed bytes, up to a limit.
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

pub(crate) fn spawn_thread(work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().spawn(work).map(drop)
}

/// Sends an order; ignores a supervisor that has already finished.
pub(crate) fn send(orders: &Sender<Order>, order: Order) {
    drop(orders.send(order));
}

/// Locks a mutex even after a panic: no update here is left incomplete.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn how(status: ExitStatus) -> ExitReason {
    match status.code() {
        Some(code) => ExitReason::Exited(code),
        None => ExitReason::Signalled(status.signal().unwrap_or(0)),
    }
}
