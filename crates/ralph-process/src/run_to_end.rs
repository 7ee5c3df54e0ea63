//! A command that is run to its end within limits, like a gate, under the same supervision as an agent.

use std::io;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::launched::{Launched, Order, Pipes, lock, send};
use crate::readers::{HeadAndTail, Lines};
use crate::supervise::{HowEnded, Spec};

/// How far a command may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RunLimits {
    /// How long it may run; none is for ever.
    pub time: Option<Duration>,
    /// How much of what it prints is kept.
    pub output: OutputShare,
}

/// How much of an output is kept, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutputShare {
    /// Of its beginning.
    pub head: usize,
    /// Of its end.
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

/// How a command ended, and what it printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// How it ended.
    pub how: HowEnded,
    /// What it printed, errors among it in their order. What was too much for its share is left out in the middle.
    pub output: String,
    /// How long it took.
    pub duration: Duration,
}

/// A way to stop a command from another thread. Once used, it stops every later command at its start.
#[derive(Debug, Clone, Default)]
pub struct StopHandle(Arc<Mutex<Stop>>);

#[derive(Debug, Default)]
struct Stop {
    is_wanted: bool,
    orders: Option<Sender<Order>>,
}

impl StopHandle {
    /// Stops the command. Returns at once.
    pub fn stop(&self) {
        let mut stop = lock(&self.0);
        stop.is_wanted = true;
        if let Some(orders) = &stop.orders {
            send(orders, Order::Stop(HowEnded::Stopped));
        }
    }

    /// Whether it was used.
    #[must_use]
    pub fn is_wanted(&self) -> bool {
        lock(&self.0).is_wanted
    }

    fn attach(&self, orders: &Sender<Order>) {
        let mut stop = lock(&self.0);
        stop.orders = Some(orders.clone());
        if stop.is_wanted {
            send(orders, Order::Stop(HowEnded::Stopped));
        }
    }
}

/// Runs a command to its end, and ends everything that it leaves behind.
///
/// # Errors
/// When it cannot be started.
pub fn run_to_end(spec: Spec, limits: RunLimits, stop: &StopHandle) -> io::Result<Finished> {
    run_to_end_watched(spec, limits, stop, Box::new(|_| {}))
}

/// The same, and every line that it prints is told, also those of which nothing is kept.
///
/// # Errors
/// When it cannot be started.
pub fn run_to_end_watched(
    spec: Spec,
    limits: RunLimits,
    stop: &StopHandle,
    mut tell: Box<dyn FnMut(String) + Send>,
) -> io::Result<Finished> {
    let begin = Instant::now();
    if stop.is_wanted() {
        return Ok(Finished {
            how: HowEnded::Stopped,
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
                lines.take(chunk, &mut tell);
            }
            None => lines.rest().into_iter().for_each(&mut tell),
        })?;
    }
    let (how, _) = child.see_to_the_end(limits.time);
    lock(&stop.0).orders = None;
    let output = lock(&kept).text();
    Ok(Finished {
        how,
        output,
        duration: begin.elapsed(),
    })
}
