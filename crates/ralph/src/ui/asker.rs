//! Asks single-key questions at the bottom of a terminal. Ctrl+C and signals are handled meanwhile, and the terminal is
//! always restored.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ralph_model::display_width;
use ralph_process::{StopSignal, TerminalSignal, on_stop_signals, on_terminal_signals};

use super::block::RedrawReason;
use super::conversation::{Conversation, TerminalConversation, TextEnd, read_lines};
use super::shared_terminal::{self, CTRL_D, Drawing, KeyInput, KeyWaiter, PromptAccess, Wake, Waker};
use super::terminal::{self, TerminalOwner};
use super::{Answer, Dialogue, Style, Theme, exit_immediately};

/// How often the asker checks that the terminal is still there and in the foreground.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
const GAP: &str = "   ";

/// A key and its description. A key with an empty description is accepted but not shown.
pub(crate) type Key = (char, &'static str);

/// The answer to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pressed {
    Key(char),
    /// Ctrl+D, or the terminal was closed.
    End,
    /// Ctrl+C or a termination signal.
    Stopped,
}

/// Asks questions, and restores the terminal when dropped.
pub(crate) struct Asker {
    waiter: KeyWaiter,
    shared: Arc<Shared>,
    dialogue: Dialogue,
    theme: Theme,
    _drawing: Drawing,
}

/// State shared by the asker and the signal handlers.
struct Shared {
    waker: Waker,
    is_disturbed: AtomicBool,
    is_stopped: AtomicBool,
}

impl Shared {
    fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::SeqCst)
    }

    fn stopped(&self, signal: StopSignal) {
        match signal {
            // The program ends when this returns.
            StopSignal::Quit => return shared_terminal::leave(),
            // The key is meant for the foreground program.
            StopSignal::Interrupt if shared_terminal::is_lent() => return,
            StopSignal::Interrupt | StopSignal::Terminate => {}
        }
        if self.is_stopped.swap(true, Ordering::SeqCst) {
            // On a second request, exit at once. Answers given so far are saved.
            exit_immediately("Stopped.");
        }
        self.waker.wake();
    }

    fn signalled(&self, signal: TerminalSignal) {
        match signal {
            TerminalSignal::Leaving => return shared_terminal::leave(),
            TerminalSignal::Back => shared_terminal::come_back(),
            TerminalSignal::Resized => {}
        }
        self.is_disturbed.store(true, Ordering::SeqCst);
        self.waker.wake();
    }
}

impl Asker {
    pub(super) fn begin(theme: Theme) -> io::Result<Self> {
        let (waiter, waker) = KeyWaiter::new()?;
        let shared = Arc::new(Shared {
            waker,
            is_disturbed: AtomicBool::new(false),
            is_stopped: AtomicBool::new(false),
        });
        let (stops, signals) = (Arc::clone(&shared), Arc::clone(&shared));
        // This must happen before the terminal is changed.
        on_stop_signals(move |signal| stops.stopped(signal))?;
        on_terminal_signals(move |signal| signals.signalled(signal))?;
        Ok(Self {
            waiter,
            shared,
            dialogue: Dialogue::new(theme.color),
            theme,
            _drawing: shared_terminal::begin(),
        })
    }

    /// Waits for one of these keys. Keys typed before the question are discarded.
    pub(crate) fn ask(&mut self, keys: &[Key]) -> Pressed {
        self.dialogue.discard_typed_ahead();
        let mut reason = RedrawReason::Changed;
        loop {
            if self.shared.is_stopped() {
                return Pressed::Stopped;
            }
            if shared_terminal::listen() == KeyInput::Disabled && terminal::stdin_owner() == TerminalOwner::Ours {
                return Pressed::End;
            }
            if self.shared.is_disturbed.swap(false, Ordering::SeqCst) {
                reason = RedrawReason::Disturbed;
            }
            shared_terminal::draw(reason, |width, _| keys_in_lines(keys, width, self.theme));
            reason = RedrawReason::Changed;
            match self.waiter.wait(POLL_INTERVAL) {
                Wake::Key(CTRL_D) => return Pressed::End,
                Wake::Key(key) if keys.iter().any(|(other, _)| char::from(key) == *other) => {
                    shared_terminal::clear();
                    return Pressed::Key(char::from(key));
                }
                Wake::Key(_) | Wake::Woken | Wake::Timeout => {}
            }
        }
    }

    /// Reads a line after a prompt.
    pub(crate) fn line(&mut self, after: &str) -> Answer {
        self.converse(Answer::Interrupted, |conversation| conversation.answer(after))
    }

    /// Reads several lines, up to an empty one.
    pub(crate) fn text(&mut self) -> (String, TextEnd) {
        self.converse((String::new(), TextEnd::Interrupted), read_lines)
    }

    fn converse<T>(&mut self, if_interrupted: T, work: impl FnOnce(&mut dyn Conversation) -> T) -> T {
        let shared = Arc::clone(&self.shared);
        let is_interrupted = || shared.is_stopped();
        if shared_terminal::begin_prompt(&is_interrupted) == PromptAccess::Abandoned {
            return if_interrupted;
        }
        self.dialogue.discard_typed_ahead();
        let result = work(&mut TerminalConversation {
            dialogue: &mut self.dialogue,
            is_interrupted: &is_interrupted,
        });
        shared_terminal::end_prompt();
        result
    }
}

/// Lays out the keys with their descriptions on as many lines as needed.
fn keys_in_lines(keys: &[Key], width: usize, theme: Theme) -> Vec<String> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    for (key, does) in keys.iter().filter(|(_, does)| !does.is_empty()) {
        let columns = 2 + display_width(does);
        let painted = format!("{} {does}", theme.paint(Some(Style::Strong), &key.to_string()));
        match lines.last_mut() {
            // The last column stays free, because a terminal may wrap after it.
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
    use crate::ui::Charset;

    #[test]
    fn keys_are_wrapped_between_entries() {
        let keys = [('y', "promote it"), ('q', ""), ('n', "reject it"), ('?', "help")];
        let theme = Theme {
            color: false,
            charset: Charset::Ascii,
        };
        let lines = |width| keys_in_lines(&keys, width, theme);
        assert_eq!(lines(80), ["y promote it   n reject it   ? help"]);
        assert_eq!(lines(27), ["y promote it   n reject it", "? help"]);
        assert_eq!(lines(26), ["y promote it", "n reject it   ? help"]);
    }
}
