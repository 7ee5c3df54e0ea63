//! The live view of a run: a few lines at the bottom of the terminal, and its keys. A separate thread draws, so that
//! the run spends no time on it. Lines that scroll past are still printed by the run itself, which therefore waits
//! while the terminal is stopped with Ctrl+S.

mod draw;
#[cfg(test)]
mod tests;
mod view;

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ralph_loop::{Interrupter, IterationFolder, RunEvent, Watch};
use ralph_model::Clock;
use ralph_process::{StopHandle, TerminalSignal, on_terminal_signals};

use self::draw::{Frame, Keys, draw};
use self::view::{Changed, Last, View};
use crate::context::Context;
use crate::env;
use crate::project_env::ProgramClock;
use crate::ui::shared_terminal::{self, Drawing, KeyInput, KeyWaiter, Wake, Waker};
use crate::ui::{RedrawReason, Theme};

/// The minimum time between two drawings.
const MIN_INTERVAL: Duration = Duration::from_millis(150);
/// How often the clock in the view changes.
const TICK: Duration = Duration::from_secs(1);

/// The live view. Dropping it restores the terminal.
pub(super) struct Live {
    shared: Arc<Shared>,
    painter: Option<JoinHandle<()>>,
    drawing: Option<Drawing>,
}

/// State shared by the threads of the run, the painter and the signal handler.
pub(super) struct Shared {
    view: Mutex<View>,
    began: Instant,
    clock: ProgramClock,
    theme: Theme,
    runs: PathBuf,
    pager: Option<String>,
    close_pager: StopHandle,
    waker: Waker,
    /// Whether anything changed since the last drawing.
    is_stale: AtomicBool,
    /// Whether the terminal may have lost the drawing.
    is_disturbed: AtomicBool,
    is_over: AtomicBool,
    /// Receives the requests from keys; empty before the run begins.
    interrupter: OnceLock<Interrupter>,
}

impl Live {
    pub(super) fn begin(context: &Context<'_>, agent: &str) -> io::Result<Self> {
        let (waiter, waker) = KeyWaiter::new()?;
        let view = View {
            agent: agent.to_owned(),
            root: format!("{}/", context.project.root.display()),
            ..View::default()
        };
        let shared = Arc::new(Shared {
            view: Mutex::new(view),
            began: Instant::now(),
            clock: ProgramClock::from_environment().unwrap_or(ProgramClock::Machine),
            theme: context.ui.theme(),
            runs: context.project.runs(),
            pager: env::pager(),
            close_pager: StopHandle::default(),
            waker,
            is_stale: AtomicBool::new(false),
            is_disturbed: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
            interrupter: OnceLock::new(),
        });
        stop_drawing_on_panic();
        let heard = Arc::clone(&shared);
        on_terminal_signals(move |signal| heard.signalled(signal))?;
        let drawing = shared_terminal::begin();
        let painted = Arc::clone(&shared);
        let painter = std::thread::Builder::new()
            .name("view".to_owned())
            .spawn(move || painted.paint(waiter))?;
        Ok(Self {
            shared,
            painter: Some(painter),
            drawing: Some(drawing),
        })
    }

    pub(super) fn shared(&self) -> Arc<Shared> {
        Arc::clone(&self.shared)
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::SeqCst);
        // An open pager must not keep the program from ending.
        self.shared.close_pager.stop();
        self.shared.waker.wake();
        if let Some(painter) = self.painter.take() {
            drop(painter.join());
        }
        drop(self.drawing.take());
    }
}

impl Watch for Live {
    fn tell(&mut self, event: &RunEvent<'_>) {
        let shared = &self.shared;
        if let RunEvent::GuidanceAnswered(_) = event {
            shared_terminal::end_prompt();
        }
        if shared.view().tell(event, shared.began.elapsed()) == Changed::Yes {
            shared.request_drawing();
        }
    }

    fn follows_tasks(&self) -> bool {
        true
    }
}

impl Shared {
    fn view(&self) -> MutexGuard<'_, View> {
        self.view.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends keys to this run from now on.
    pub(super) fn set_run(&self, interrupter: &Interrupter) {
        // It is set once: a program has one run.
        drop(self.interrupter.set(interrupter.clone()));
    }

    /// Wakes the painter, once for all changes until the next drawing.
    fn request_drawing(&self) {
        if !self.is_stale.swap(true, Ordering::SeqCst) {
            self.waker.wake();
        }
    }

    fn mark_disturbed(&self) {
        self.is_disturbed.store(true, Ordering::SeqCst);
        self.request_drawing();
    }

    fn signalled(&self, signal: TerminalSignal) {
        match signal {
            TerminalSignal::Resized => self.mark_disturbed(),
            TerminalSignal::Leaving => shared_terminal::leave(),
            TerminalSignal::Back => {
                shared_terminal::come_back();
                self.mark_disturbed();
            }
        }
    }

    /// Draws and handles keys until the run is over.
    fn paint(&self, mut waiter: KeyWaiter) {
        while !self.is_over.load(Ordering::SeqCst) {
            let key_input = shared_terminal::listen();
            self.is_stale.store(false, Ordering::SeqCst);
            let why = match self.is_disturbed.swap(false, Ordering::SeqCst) {
                true => RedrawReason::Disturbed,
                false => RedrawReason::Changed,
            };
            shared_terminal::draw(why, |width, height| self.lines((width, height), key_input));
            let drawn = Instant::now();
            self.handle(waiter.wait(self.until_tick()));
            while let Some(left) = MIN_INTERVAL.checked_sub(drawn.elapsed()).filter(|left| !left.is_zero()) {
                if self.is_over.load(Ordering::SeqCst) {
                    return;
                }
                self.handle(waiter.wait(left));
            }
        }
    }

    fn lines(&self, (width, height): (usize, usize), key_input: KeyInput) -> Vec<String> {
        let view = self.view();
        let frame = Frame {
            width,
            height,
            at: self.began.elapsed(),
            now: self.clock.now(),
            theme: self.theme,
            keys: match key_input {
                KeyInput::Enabled => Keys::Enabled,
                KeyInput::Disabled => Keys::Disabled,
            },
        };
        draw(&view, &frame)
    }

    fn until_tick(&self) -> Duration {
        let since = Duration::from_nanos(self.began.elapsed().subsec_nanos().into());
        TICK.saturating_sub(since)
    }

    fn handle(&self, wake: Wake) {
        let Wake::Key(key) = wake else { return };
        match (key, self.interrupter.get()) {
            (b'q', Some(run)) => {
                let mut view = self.view();
                view.last = match view.last {
                    Last::No => Last::Yes,
                    Last::Yes => Last::No,
                };
                match view.last {
                    Last::Yes => run.finish_iteration(),
                    Last::No => run.cancel_finish(),
                }
            }
            (b'g', Some(run)) => run.guide(),
            (b'p', _) => self.show_prompt(),
            _ => {}
        }
        self.is_stale.store(true, Ordering::SeqCst);
    }

    /// Shows the prompt of the iteration, in the user's pager if one is configured.
    fn show_prompt(&self) {
        let (iteration, root) = {
            let view = self.view();
            (view.iteration.clone(), view.root.clone())
        };
        let Some(iteration) = iteration else {
            return shared_terminal::show("There is no prompt yet.\n");
        };
        let file = IterationFolder::of(&self.runs, &iteration.run, iteration.number).prompt();
        let shown = match &self.pager {
            Some(pager) => shared_terminal::page(pager, &file, &self.close_pager),
            None => std::fs::read_to_string(&file)
                .map_err(|error| error.to_string())
                .map(|prompt| {
                    // Other lines of the run surround it, so it needs a start and an end.
                    let (number, path) = (iteration.number, file.display().to_string());
                    let path = path.strip_prefix(&root).unwrap_or(&path);
                    let prompt = prompt.trim_end();
                    shared_terminal::show(&format!(
                        "Prompt of iteration {number}, {path}:\n{prompt}\nEnd of the prompt of iteration {number}.\n"
                    ));
                }),
        };
        if let Err(error) = shown {
            shared_terminal::show(&format!("The prompt cannot be shown: {error}\n"));
        }
    }
}

/// Stops drawing when a thread panics, so that the panic message stays readable.
fn stop_drawing_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let print_panic = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            shared_terminal::clear_for_panic();
            print_panic(panic);
        }));
    });
}
