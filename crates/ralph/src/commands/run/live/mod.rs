//! The live view of a run: what goes on now, in a few lines at the bottom of a terminal, and the keys that are heard there.
//! A thread of its own draws, so that the run spends no time on it. A line that the run says is written by the run itself, as
//! it is without a view: it waits for a terminal that takes nothing, as one that is held by Ctrl+S.

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

use ralph_loop::{Interrupter, IterationFolder, News, Watch};
use ralph_model::Clock;
use ralph_process::{StopHandle, TerminalSignal, on_terminal_signals};

use self::draw::{Frame, Keys, draw};
use self::view::{Changed, Last, View};
use crate::context::Context;
use crate::env;
use crate::surroundings::ProgramClock;
use crate::ui::stage::{self, Caller, Drawing, Ear, Hearing, Wake};
use crate::ui::{Look, Why};

/// The least time between two drawings: nobody reads faster than this.
const PAUSE: Duration = Duration::from_millis(150);
/// The time on the clock of the view changes so often.
const TICK: Duration = Duration::from_secs(1);

/// A view. When it is dropped, the terminal is as it was.
pub(super) struct Live {
    shared: Arc<Shared>,
    painter: Option<JoinHandle<()>>,
    drawing: Option<Drawing>,
}

/// What the thread of the run, the one that draws and the one that hears signals share.
pub(super) struct Shared {
    view: Mutex<View>,
    began: Instant,
    clock: ProgramClock,
    look: Look,
    /// Where the folders of runs are.
    runs: PathBuf,
    pager: Option<String>,
    /// Closes it.
    close_pager: StopHandle,
    caller: Caller,
    /// Whether something was told since the last drawing.
    has_news: AtomicBool,
    /// Whether the terminal may have lost what was drawn.
    is_disturbed: AtomicBool,
    is_over: AtomicBool,
    /// Who is told what keys wish; nobody before the run begins.
    interrupter: OnceLock<Interrupter>,
}

impl Live {
    /// Begins to draw.
    pub(super) fn begin(context: &Context<'_>, agent: &str) -> io::Result<Self> {
        let (ear, caller) = Ear::new()?;
        let view = View {
            agent: agent.to_owned(),
            root: format!("{}/", context.project.root.display()),
            ..View::default()
        };
        let shared = Arc::new(Shared {
            view: Mutex::new(view),
            began: Instant::now(),
            clock: ProgramClock::from_environment().unwrap_or(ProgramClock::Machine),
            look: context.ui.look(),
            runs: context.project.runs(),
            pager: env::pager(),
            close_pager: StopHandle::default(),
            caller,
            has_news: AtomicBool::new(false),
            is_disturbed: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
            interrupter: OnceLock::new(),
        });
        step_aside_for_panics();
        let heard = Arc::clone(&shared);
        on_terminal_signals(move |signal| heard.signalled(signal))?;
        let drawing = stage::begin();
        let painted = Arc::clone(&shared);
        let painter = std::thread::Builder::new()
            .name("view".to_owned())
            .spawn(move || painted.paint(ear))?;
        Ok(Self {
            shared,
            painter: Some(painter),
            drawing: Some(drawing),
        })
    }

    /// The view as other threads see it.
    pub(super) fn shared(&self) -> Arc<Shared> {
        Arc::clone(&self.shared)
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::SeqCst);
        // Nobody may be there to close it, and whoever has started the run waits for its end.
        self.shared.close_pager.stop();
        self.shared.caller.call();
        if let Some(painter) = self.painter.take() {
            drop(painter.join());
        }
        drop(self.drawing.take());
    }
}

impl Watch for Live {
    fn tell(&mut self, news: &News<'_>) {
        let shared = &self.shared;
        if let News::Answered(_) = news {
            stage::take_from_person();
        }
        if shared.view().tell(news, shared.began.elapsed()) == Changed::Yes {
            shared.is_news();
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

    /// From now on keys are told to this run.
    pub(super) fn listens_for(&self, interrupter: &Interrupter) {
        // There is one run.
        drop(self.interrupter.set(interrupter.clone()));
    }

    /// Lets the view be drawn soon. Whoever draws is called once for all that is told until then.
    fn is_news(&self) {
        if !self.has_news.swap(true, Ordering::SeqCst) {
            self.caller.call();
        }
    }

    fn is_disturbed(&self) {
        self.is_disturbed.store(true, Ordering::SeqCst);
        self.is_news();
    }

    fn signalled(&self, signal: TerminalSignal) {
        match signal {
            TerminalSignal::Resized => self.is_disturbed(),
            TerminalSignal::Leaving => stage::leave(),
            TerminalSignal::Back => {
                stage::come_back();
                self.is_disturbed();
            }
        }
    }

    /// Draws and hears keys until the run is over.
    fn paint(&self, mut ear: Ear) {
        while !self.is_over.load(Ordering::SeqCst) {
            let hearing = stage::listen();
            self.has_news.store(false, Ordering::SeqCst);
            let why = match self.is_disturbed.swap(false, Ordering::SeqCst) {
                true => Why::Disturbed,
                false => Why::Changed,
            };
            stage::draw(why, |width, height| self.lines((width, height), hearing));
            let drawn = Instant::now();
            self.hear(ear.wait(self.until_tick()));
            while let Some(left) = PAUSE.checked_sub(drawn.elapsed()).filter(|left| !left.is_zero()) {
                if self.is_over.load(Ordering::SeqCst) {
                    return;
                }
                self.hear(ear.wait(left));
            }
        }
    }

    fn lines(&self, (width, height): (usize, usize), hearing: Hearing) -> Vec<String> {
        let view = self.view();
        let frame = Frame {
            width,
            height,
            at: self.began.elapsed(),
            now: self.clock.now(),
            look: self.look,
            keys: match hearing {
                Hearing::Keys => Keys::Heard,
                Hearing::Nothing => Keys::NotHeard,
            },
        };
        draw(&view, &frame)
    }

    /// How long until the clock of the view shows another second.
    fn until_tick(&self) -> Duration {
        let since = Duration::from_nanos(self.began.elapsed().subsec_nanos().into());
        TICK.saturating_sub(since)
    }

    fn hear(&self, wake: Wake) {
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
                    Last::No => run.go_on_after_all(),
                }
            }
            (b'g', Some(run)) => run.guide(),
            (b'p', _) => self.show_prompt(),
            _ => {}
        }
        self.has_news.store(true, Ordering::SeqCst);
    }

    /// Shows the prompt of the iteration, in the person's pager if they have named one.
    fn show_prompt(&self) {
        let (iteration, root) = {
            let view = self.view();
            (view.iteration.clone(), view.root.clone())
        };
        let Some(iteration) = iteration else {
            return stage::show("There is no prompt yet.\n");
        };
        let file = IterationFolder::of(&self.runs, &iteration.run, iteration.number).prompt();
        let shown = match &self.pager {
            Some(pager) => stage::page(pager, &file, &self.close_pager),
            None => std::fs::read_to_string(&file)
                .map_err(|error| error.to_string())
                .map(|prompt| {
                    // Lines of the run stand before it and after it.
                    let (number, path) = (iteration.number, file.display().to_string());
                    let path = path.strip_prefix(&root).unwrap_or(&path);
                    let prompt = prompt.trim_end();
                    stage::show(&format!(
                        "Prompt of iteration {number}, {path}:\n{prompt}\nEnd of the prompt of iteration {number}.\n"
                    ));
                }),
        };
        if let Err(error) = shown {
            stage::show(&format!("The prompt cannot be shown: {error}\n"));
        }
    }
}

/// A thread that breaks down says why at the terminal, where nothing must be drawn then.
fn step_aside_for_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let says_why = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            stage::step_aside();
            says_why(panic);
        }));
    });
}
