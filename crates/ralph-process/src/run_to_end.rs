//! Runs a command to its end within limits, such as a gate, supervised like an agent.

use std::io;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::launched::{Launched, Order, Pipes, lock, send};
use crate::readers::{HeadAndTail, Lines};
use crate::supervise::{ExitReason, Spec};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RunLimits {
    /// `None` is unlimited.
    pub time: Option<Duration>,
    pub output: OutputShare,
}

/// How many bytes of the head and tail of an output are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutputShare {
    pub head: usize,
    pub tail: usize,
}

impl Default for OutputShare {
    fn default() -> Self {
        Self {
            head: 16 * 1024,
            tail: 48 * 1024,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    pub how: ExitReason,
    /// Standard output and error, in order. The middle is left out if it is too long.
    pub output: String,
    pub duration: Duration,
}

/// Stops a command from another thread. Once stopped, it also stops every later command at its start.
#[derive(Debug, Clone, Default)]
pub struct StopHandle(Arc<Mutex<Stop>>);

#[derive(Debug, Default)]
struct Stop {
    is_requested: bool,
    orders: Option<Sender<Order>>,
}

impl StopHandle {
    /// Stops the command. Returns immediately.
    pub fn stop(&self) {
        let mut stop = lock(&self.0);
        stop.is_requested = true;
        if let Some(orders) = &stop.orders {
            send(orders, Order::Stop(ExitReason::Stopped));
        }
    }

    #[must_use]
    pub fn is_requested(&self) -> bool {
        lock(&self.0).is_requested
    }

    fn attach(&self, orders: &Sender<Order>) {
        let mut stop = lock(&self.0);
        stop.orders = Some(orders.clone());
        if stop.is_requested {
            send(orders, Order::Stop(ExitReason::Stopped));
        }
    }
}

/// Runs a command to its end, and ends everything that it leaves behind.
///
/// # Errors
/// If the command cannot be started.
pub fn run_to_end(spec: Spec, limits: RunLimits, stop: &StopHandle) -> io::Result<Finished> {
    run_to_end_watched(spec, limits, stop, Box::new(|_| {}))
}

/// Like [`run_to_end`], and also reports every line, including those that are not kept.
///
/// # Errors
/// If the command cannot be started.
pub fn run_to_end_watched(
    spec: Spec,
    limits: RunLimits,
    stop: &StopHandle,
    mut on_line: Box<dyn FnMut(String) + Send>,
) -> io::Result<Finished> {
    let begin = Instant::now();
    if stop.is_requested() {
        return Ok(Finished {
            how: ExitReason::Stopped,
            output: String::new(),
            duration: Duration::ZERO,
        });
    }
    let mut child = Launched::new(spec, Pipes::Together)?;
    stop.attach(&child.orders);
    let kept = Arc::new(Mutex::new(HeadAndTail::new(limits.output.head, limits.output.tail)));
    if let Some(output) = child.output.take() {
        let kept = Arc::clone(&kept);
        let mut lines = Lines::default();
        child.read(output, move |chunk| match chunk {
            Some(chunk) => {
                lock(&kept).take(chunk);
                lines.take(chunk, &mut on_line);
            }
            None => lines.rest().into_iter().for_each(&mut on_line),
        })?;
    }
    let (how, _) = child.supervise(limits.time);
    lock(&stop.0).orders = None;
    let output = lock(&kept).text();
    Ok(Finished {
        how,
        output,
        duration: begin.elapsed(),
    })
}
