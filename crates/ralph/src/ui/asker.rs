//! Questions that are answered with a key, at the bottom of a terminal. Ctrl+C and signals of the system are heard
//! meanwhile, and whatever becomes of the program, the terminal is left as it was found.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ralph_model::display_width;
use ralph_process::{StopSignal, TerminalSignal, on_stop_signals, on_terminal_signals};

use super::block::Why;
use super::person::{AtDialogue, Ending, Person, lines_of};
use super::stage::{self, CTRL_D, Caller, Drawing, Ear, Hearing, Turn, Wake};
use super::terminal::{self, Ground};
use super::{Dialogue, Heard, Look, Style, end_at_once};

/// How often somebody looks whether the terminal is there and theirs.
const GLANCE: Duration = Duration::from_millis(500);
/// What stands between two keys.
const GAP: &str = "   ";

/// A key, and what it does; one of which nothing is said is heard and not shown.
pub(crate) type Key = (char, &'static str);

/// What a question was answered with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pressed {
    /// This key.
    Key(char),
    /// Ctrl+D, or the terminal is gone.
    End,
    /// Ctrl+C, or the system wants an end.
    Stopped,
}

/// Asks questions. When it is dropped, the terminal is as it was.
pub(crate) struct Asker {
    ear: Ear,
    shared: Arc<Shared>,
    dialogue: Dialogue,
    look: Look,
    _drawing: Drawing,
}

/// What those share who ask and who hear signals.
struct Shared {
    caller: Caller,
    is_disturbed: AtomicBool,
    is_stopped: AtomicBool,
}

impl Shared {
    fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::SeqCst)
    }

    fn stopped(&self, signal: StopSignal) {
        match signal {
            // It ends when this returns.
            StopSignal::Quit => return stage::leave(),
            // The key is meant for the program in front.
            StopSignal::Interrupt if stage::is_lent() => return,
            StopSignal::Interrupt | StopSignal::Terminate => {}
        }
        if self.is_stopped.swap(true, Ordering::SeqCst) {
            // Whoever asks twice does not want to wait; what was answered is written.
            end_at_once("Stopped.");
        }
        self.caller.call();
    }

    fn signalled(&self, signal: TerminalSignal) {
        match signal {
            TerminalSignal::Leaving => return stage::leave(),
            TerminalSignal::Back => stage::come_back(),
            TerminalSignal::Resized => {}
        }
        self.is_disturbed.store(true, Ordering::SeqCst);
        self.caller.call();
    }
}

impl Asker {
    pub(super) fn begin(look: Look) -> io::Result<Self> {
        let (ear, caller) = Ear::new()?;
        let shared = Arc::new(Shared {
            caller,
            is_disturbed: AtomicBool::new(false),
            is_stopped: AtomicBool::new(false),
        });
        let (stops, signals) = (Arc::clone(&shared), Arc::clone(&shared));
        // Before anything changes the terminal.
        on_stop_signals(move |signal| stops.stopped(signal))?;
        on_terminal_signals(move |signal| signals.signalled(signal))?;
        Ok(Self {
            ear,
            shared,
            dialogue: Dialogue::new(look.color),
            look,
            _drawing: stage::begin(),
        })
    }

    /// Waits for one of these keys. What was typed before the question was no answer.
    pub(crate) fn ask(&mut self, keys: &[Key]) -> Pressed {
        self.dialogue.forget_what_was_typed();
        let mut why = Why::Changed;
        loop {
            if self.shared.is_stopped() {
                return Pressed::Stopped;
            }
            if stage::listen() == Hearing::Nothing && terminal::ground_of_keys() == Ground::Ours {
                return Pressed::End;
            }
            if self.shared.is_disturbed.swap(false, Ordering::SeqCst) {
                why = Why::Disturbed;
            }
            stage::draw(why, |width, _| keys_in_lines(keys, width, self.look));
            why = Why::Changed;
            match self.ear.wait(GLANCE) {
                Wake::Key(CTRL_D) => return Pressed::End,
                Wake::Key(key) if keys.iter().any(|(other, _)| char::from(key) == *other) => {
                    stage::clear();
                    return Pressed::Key(char::from(key));
                }
                Wake::Key(_) | Wake::Call | Wake::Time => {}
            }
        }
    }

    /// What the person types after a few words on the same line.
    pub(crate) fn line(&mut self, after: &str) -> Heard {
        self.speak(Heard::BrokenOff, |person| person.answer(after))
    }

    /// What they type on several lines, up to an empty one.
    pub(crate) fn text(&mut self) -> (String, Ending) {
        self.speak((String::new(), Ending::BrokenOff), lines_of)
    }

    fn speak<T>(&mut self, never: T, work: impl FnOnce(&mut dyn Person) -> T) -> T {
        let shared = Arc::clone(&self.shared);
        let is_broken_off = || shared.is_stopped();
        if stage::give_to_person(&is_broken_off) == Turn::Never {
            return never;
        }
        self.dialogue.forget_what_was_typed();
        let said = work(&mut AtDialogue {
            dialogue: &mut self.dialogue,
            is_broken_off: &is_broken_off,
        });
        stage::take_from_person();
        said
    }
}

/// The keys with what they do, on as many lines as they need on a terminal of a width.
fn keys_in_lines(keys: &[Key], width: usize, look: Look) -> Vec<String> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    for (key, does) in keys.iter().filter(|(_, does)| !does.is_empty()) {
        let columns = 2 + display_width(does);
        let painted = format!("{} {does}", look.paint(Some(Style::Strong), &key.to_string()));
        match lines.last_mut() {
            // The last column stays free: a terminal may be about to begin another line there.
            Some((used, line)) if *used + GAP.len() + columns < width => {
                *used += GAP.len() + columns;
                line.push_str(GAP);
                line.push_str(&painted);
            }
            _ => lines.push((columns, painted)),
        }
    }
    lines.into_iter().map(|(_, line)| line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::Signs;

    #[test]
    fn keys_stand_whole_on_as_many_lines_as_they_need() {
        let keys = [('y', "promote it"), ('q', ""), ('n', "reject it"), ('?', "help")];
        let look = Look {
            color: false,
            signs: Signs::Ascii,
        };
        let lines = |width| keys_in_lines(&keys, width, look);
        assert_eq!(lines(80), ["y promote it   n reject it   ? help"]);
        assert_eq!(lines(27), ["y promote it   n reject it", "? help"]);
        assert_eq!(lines(26), ["y promote it", "n reject it   ? help"]);
    }
}
