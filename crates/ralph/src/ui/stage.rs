//! The terminal as all threads of this process share it: whoever says something, whoever draws, and whoever has to leave it
//! as it was found, in a hurry.

use std::collections::VecDeque;
use std::io::{self, PipeReader, PipeWriter, Write};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use ralph_process::StopHandle;

use super::block::{Block, Why};
use super::terminal::{self, Came, Ground};

/// How many lines that are said while somebody else has the terminal are kept for afterwards.
const MOST_HELD: usize = 2_000;

/// How long to wait for whoever writes, where the terminal has to be left at once: they may be held up for ever.
const PATIENCE: Duration = Duration::from_millis(100);

/// How often somebody who waits for the terminal looks whether it is theirs.
const GLANCE: Duration = Duration::from_millis(20);

static STAGE: Mutex<Stage> = Mutex::new(Stage {
    block: Block::new(),
    owner: Owner::Everybody,
    place: Place::Here,
    held: VecDeque::new(),
    left_out: 0,
    prompt: String::new(),
});

#[derive(Debug)]
struct Stage {
    block: Block,
    owner: Owner,
    place: Place,
    /// What was said while the terminal was lent.
    held: VecDeque<String>,
    left_out: usize,
    /// The words after which the person types.
    prompt: String,
}

/// Whose the terminal is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// Whoever says something. Nothing is drawn.
    Everybody,
    /// A block is drawn.
    Block,
    /// A person who was asked something: nothing is drawn, and what is said is said.
    Person,
    /// Another program: what is said has to wait.
    Program,
}

/// Whether this process is at the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Here,
    /// It is about to be stopped or to end.
    Away,
}

impl Stage {
    /// Whether a block may be drawn, and keys may be listened to.
    fn is_ours(&self) -> bool {
        self.owner == Owner::Block && self.place == Place::Here && terminal::ground() == Ground::Ours
    }

    fn write(text: &str) {
        if !text.is_empty() {
            let mut stderr = io::stderr().lock();
            // Standard error may be closed; then there is nobody to tell, and the work itself goes on.
            drop(stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush()));
        }
    }

    fn give_to(&mut self, owner: Owner) {
        Self::write(&self.block.erase());
        terminal::stop_listening();
        if owner == Owner::Program {
            terminal::lend();
        }
        self.owner = owner;
    }

    fn take_back(&mut self) {
        if self.owner == Owner::Program {
            terminal::take_back();
        }
        self.owner = Owner::Block;
        if self.left_out > 0 {
            Self::write(&format!("… {} lines\n", self.left_out));
            self.left_out = 0;
        }
        let held: String = self.held.drain(..).collect();
        Self::write(&held);
    }
}

fn stage() -> MutexGuard<'static, Stage> {
    STAGE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The same, unless somebody holds it for too long.
fn stage_soon() -> Option<MutexGuard<'static, Stage>> {
    let begun = Instant::now();
    loop {
        match STAGE.try_lock() {
            Ok(stage) => return Some(stage),
            Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) if begun.elapsed() > PATIENCE => return None,
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}

/// Says whole lines, above what is drawn.
pub(super) fn say(text: &str) {
    let mut stage = stage();
    match stage.owner {
        Owner::Everybody | Owner::Person => Stage::write(text),
        Owner::Block => Stage::write(&stage.block.above(text)),
        Owner::Program => {
            if stage.held.len() == MOST_HELD {
                stage.held.pop_front();
                stage.left_out += 1;
            }
            stage.held.push_back(text.to_owned());
        }
    }
}

/// Says a text that somebody else has written: what a terminal would obey in it is shown.
pub(crate) fn show(text: &str) {
    let end = if text.ends_with('\n') { "" } else { "\n" };
    say(&format!("{}{end}", super::visible_controls(text)));
}

/// Takes away what is drawn until it is drawn again: something is printed that does not come through here.
pub(super) fn clear() {
    let mut stage = stage();
    let erased = stage.block.erase();
    Stage::write(&erased);
}

/// From now on a block is drawn, until the value that this gives is dropped.
pub(crate) fn begin() -> Drawing {
    stage().owner = Owner::Block;
    Drawing
}

/// A block is drawn for as long as this lives.
#[derive(Debug)]
pub(crate) struct Drawing;

impl Drop for Drawing {
    fn drop(&mut self) {
        let mut stage = stage();
        stage.give_to(Owner::Everybody);
        let held: String = stage.held.drain(..).collect();
        Stage::write(&held);
    }
}

/// Draws these lines for a terminal of a size, if it is ours to draw on. The lines are asked for only then.
pub(crate) fn draw(why: Why, lines: impl FnOnce(usize, usize) -> Vec<String>) {
    let mut stage = stage();
    if !stage.is_ours() {
        return;
    }
    let (width, height) = terminal::size();
    if let Some(drawn) = stage.block.draw(lines(width, height), why) {
        Stage::write(&drawn);
    }
}

/// Gives the terminal to the person, who is asked something, as soon as no other program has it. Says whether that came
/// before the question was given up.
pub(crate) fn give_to_person(is_given_up: &dyn Fn() -> bool) -> Turn {
    while !is_given_up() {
        let mut stage = stage();
        match stage.owner {
            Owner::Program => {}
            Owner::Block => {
                stage.give_to(Owner::Person);
                return Turn::Theirs;
            }
            Owner::Everybody | Owner::Person => return Turn::Theirs,
        }
        drop(stage);
        std::thread::sleep(GLANCE);
    }
    Turn::Never
}

/// Whether somebody has got the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    Theirs,
    Never,
}

/// Says words after which the person types on the same line.
pub(super) fn prompt(words: &str) {
    let mut stage = stage();
    words.clone_into(&mut stage.prompt);
    Stage::write(words);
}

/// Takes it back from them.
pub(crate) fn take_from_person() {
    let mut stage = stage();
    if stage.owner == Owner::Person {
        stage.take_back();
    }
}

/// Shows a file in a pager until that is closed, by a person or because it is wanted; what is said meanwhile comes afterwards.
/// Says why it could not be shown.
pub(crate) fn page(pager: &str, file: &Path, close: &StopHandle) -> Result<(), String> {
    let shown = lend(|| ralph_process::editor::page(pager, file, close));
    shown.unwrap_or(Ok(())).map_err(|error| error.to_string())
}

/// Gives the terminal to another program for as long as some work takes; what is said meanwhile comes afterwards. Nothing is
/// done where nothing is drawn, so that it is not ours to give.
pub(crate) fn lend<T>(work: impl FnOnce() -> T) -> Option<T> {
    {
        let mut stage = stage();
        if stage.owner != Owner::Block {
            return None;
        }
        stage.give_to(Owner::Program);
    }
    let done = work();
    let mut stage = stage();
    if stage.owner == Owner::Program {
        stage.take_back();
    }
    Some(done)
}

/// Whether another program has the terminal: signals of its keys are meant for that.
pub(crate) fn is_lent() -> bool {
    stage_soon().is_some_and(|stage| stage.owner == Owner::Program)
}

/// Leaves the terminal as it was found, for now or for ever, without waiting for anybody for long.
pub(crate) fn leave() {
    terminal::stop_listening();
    if let Some(mut stage) = stage_soon() {
        stage.place = Place::Away;
        let erased = stage.block.erase();
        Stage::write(&erased);
    }
    // Somebody may have begun to listen before.
    terminal::stop_listening();
    terminal::put_right_what_was_lent();
}

/// Comes back to a terminal that was left, or that somebody else had meanwhile.
pub(crate) fn come_back() {
    terminal::forget_other_modes();
    let mut stage = stage();
    if stage.owner == Owner::Person && stage.place == Place::Away {
        // What they were asked stands far above by now, behind what the shell has said.
        Stage::write(&stage.prompt);
    }
    stage.place = Place::Here;
}

/// Takes away what is drawn before a thread that breaks down says why. It may be the one that draws.
pub(crate) fn step_aside() {
    if let Ok(mut stage) = STAGE.try_lock() {
        let erased = stage.block.erase();
        Stage::write(&erased);
    }
}

/// Listens to keys where there are some and the terminal is ours. Says whether they are heard.
pub(crate) fn listen() -> Hearing {
    let stage = stage();
    let wanted = stage.is_ours() && super::has_terminal();
    match wanted && terminal::listen().is_ok() && terminal::listens() {
        true => Hearing::Keys,
        false => Hearing::Nothing,
    }
}

/// Whether keys are heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hearing {
    Keys,
    Nothing,
}

/// What woke whoever waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wake {
    /// This key.
    Key(u8),
    /// Another thread.
    Call,
    /// The time is over, or it was nothing of interest.
    Time,
}

/// Where whoever draws waits for keys and for the calls of other threads.
#[derive(Debug)]
pub(crate) struct Ear {
    calls: PipeReader,
}

/// A way to call whoever waits.
#[derive(Debug)]
pub(crate) struct Caller(PipeWriter);

impl Ear {
    pub(crate) fn new() -> io::Result<(Self, Caller)> {
        let (calls, caller) = io::pipe()?;
        Ok((Self { calls }, Caller(caller)))
    }

    /// Waits for keys and calls.
    pub(crate) fn wait(&mut self, time: Duration) -> Wake {
        match terminal::wait(&self.calls, time) {
            Came::Keys => pressed(),
            Came::NoMoreKeys => {
                // A wait for keys would end at once for ever.
                terminal::stop_listening();
                Wake::Time
            }
            Came::Call => {
                terminal::answer(&mut self.calls);
                Wake::Call
            }
            Came::Nothing => Wake::Time,
        }
    }
}

impl Caller {
    /// Calls.
    pub(crate) fn call(&self) {
        // Whoever has gone needs no calls.
        drop((&self.0).write_all(b"!"));
    }
}

fn pressed() -> Wake {
    let mut bytes = [0; 64];
    let read = terminal::read(&mut bytes);
    key(bytes.get(..read).unwrap_or_default()).map_or(Wake::Time, Wake::Key)
}

/// Ctrl+D, where keys come one by one.
pub(crate) const CTRL_D: u8 = 4;

/// The key that was pressed. What comes in one piece and is not one key, be it held down, is a text that was pasted or a key
/// that sends a sequence: neither is meant as a command.
fn key(bytes: &[u8]) -> Option<u8> {
    let first = bytes.first()?;
    let is_one = bytes.iter().all(|byte| byte == first);
    (is_one && (first.is_ascii_graphic() || *first == CTRL_D)).then(|| first.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_is_asked_when_the_pager_is_closed() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        let pager = format!(
            "until [ -e '{}' ]; do sleep 0.02; done; : > '{}'; :",
            file("close").display(),
            file("closed").display()
        );
        let _drawing = begin();
        let paging = std::thread::spawn(move || page(&pager, Path::new("/nowhere"), &StopHandle::default()));
        while !is_lent() {
            std::thread::yield_now();
        }
        assert_eq!(give_to_person(&|| true), Turn::Never);
        assert!(is_lent());
        let is_closed = file("closed");
        let asking = std::thread::spawn(move || (give_to_person(&|| false), is_closed.exists()));
        drop(std::fs::File::create(file("close")).unwrap());
        assert_eq!(asking.join().unwrap(), (Turn::Theirs, true));
        assert_eq!((paging.join().unwrap(), stage().owner), (Ok(()), Owner::Person));
    }

    #[test]
    fn a_key_is_a_key_and_a_text_is_none() {
        for (bytes, expected) in [
            (&b"q"[..], Some(b'q')),
            (b"Q", Some(b'q')),
            (b"ggg", Some(b'g')),
            (b"quit", None),
            (b"\x1b[A", None),
            (b"\x1bq", None),
            (b"\x1b", None),
            (b"\n", None),
            (b"\x04", Some(CTRL_D)),
            ("ü".as_bytes(), None),
            (b"", None),
        ] {
            assert_eq!(key(bytes), expected, "{bytes:?}");
        }
    }
}
