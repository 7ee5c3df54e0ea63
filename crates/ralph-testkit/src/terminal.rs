//! A terminal with a command at it: what a person would see, and keys that they press. It is a real one (a pseudo-terminal
//! of the system, which the command controls), so Ctrl+C is a key, lines are edited and echoed, and all is shown in the order
//! in which it came.

mod screen;

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, SpecialCodeIndex, Winsize, tcgetattr, tcsetwinsize};

pub use screen::{Cursor, Screen};

use crate::Invocation;

/// How long to wait for what must come.
const PATIENCE: Duration = Duration::from_secs(60);

/// How many rows a terminal has of which nobody says it.
const ROWS: u16 = 40;

/// A terminal with a command at it. A command that still runs is killed with this value.
#[derive(Debug)]
pub struct Terminal {
    child: Child,
    /// The person's side.
    keys: File,
    /// The command's side; kept open, so that what was shown can be read after its end.
    screen: OwnedFd,
    shown: Arc<Shown>,
    reader: Option<JoinHandle<()>>,
    /// How much of what was shown was waited for already.
    seen: usize,
}

#[derive(Debug)]
struct Shown {
    now: Mutex<Picture>,
    more: Condvar,
}

/// All bytes that came, and what they look like.
#[derive(Debug)]
struct Picture {
    bytes: Vec<u8>,
    screen: Screen,
}

impl Shown {
    fn now(&self) -> MutexGuard<'_, Picture> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.now().bytes).into_owned()
    }
}

/// What a command has left at the terminal.
#[derive(Debug)]
pub struct Left {
    /// Its exit code.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// What is to be seen.
    pub screen: Screen,
    /// Whether the terminal edits lines and echoes what is typed.
    pub is_sane: bool,
    /// All that was ever written to it.
    pub bytes: String,
}

impl Terminal {
    /// Starts a command at a terminal with so many columns.
    ///
    /// # Panics
    /// When the system has no terminals or `setsid` is missing.
    #[must_use]
    pub fn start(invocation: Invocation, columns: u16) -> Self {
        Self::of_size(&invocation.command(), columns, ROWS)
    }

    /// Starts a command at a terminal with so many columns and rows.
    ///
    /// # Panics
    /// When the system has no terminals or `setsid` is missing.
    #[must_use]
    pub fn of_size(inner: &Command, columns: u16, rows: u16) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let screen = rustix::fs::open(name, flags, Mode::empty()).unwrap();
        tcsetwinsize(&screen, size(columns, rows)).unwrap();
        // A session of its own, which this terminal controls; the command takes the place of `setsid`, with its pid.
        let mut command = ralph_process::command("setsid");
        command
            .arg("--ctty")
            .arg(inner.get_program())
            .args(inner.get_args())
            .env_clear()
            .env("TERM", "xterm");
        for (name, value) in inner.get_envs() {
            command.env(name, value.unwrap_or_default());
        }
        if let Some(folder) = inner.get_current_dir() {
            command.current_dir(folder);
        }
        let child = command
            .stdin(Stdio::from(screen.try_clone().unwrap()))
            .stdout(Stdio::from(screen.try_clone().unwrap()))
            .stderr(Stdio::from(screen.try_clone().unwrap()))
            .spawn()
            .expect("the command starts");
        let keys = File::from(master);
        let shown = Arc::new(Shown {
            now: Mutex::new(Picture {
                bytes: Vec::new(),
                screen: Screen::new(columns.into(), rows.into()),
            }),
            more: Condvar::new(),
        });
        let reader = read_on(keys.try_clone().unwrap(), Arc::clone(&shown));
        Self {
            child,
            keys,
            screen,
            shown,
            reader: Some(reader),
            seen: 0,
        }
    }

    /// The command's process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until this is shown, after what was waited for before.
    ///
    /// # Panics
    /// When it does not come.
    #[track_caller]
    pub fn shows(&mut self, text: &str) {
        let begin = Instant::now();
        let mut now = self.shown.now();
        loop {
            let fresh = now.bytes.get(self.seen..).unwrap_or_default();
            if let Some(at) = find(fresh, text.as_bytes()) {
                self.seen += at + text.len();
                return;
            }
            let left = PATIENCE.saturating_sub(begin.elapsed());
            let all = String::from_utf8_lossy(&now.bytes);
            assert!(!left.is_zero(), "{text:?} never came; shown is:\n{all}");
            now = self
                .shown
                .more
                .wait_timeout(now, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    /// Waits until what is to be seen is as it should be.
    ///
    /// # Panics
    /// When that does not come.
    #[track_caller]
    pub fn is(&self, what: &str, is_so: impl Fn(&Screen) -> bool) -> Screen {
        self.until(what, is_so).screen.clone()
    }

    /// Waits until the screen is as it should be, with no update half drawn.
    #[track_caller]
    fn until(&self, what: &str, is_so: impl Fn(&Screen) -> bool) -> MutexGuard<'_, Picture> {
        let (now, waited) = self
            .shown
            .more
            .wait_timeout_while(self.shown.now(), PATIENCE, |now| {
                now.screen.is_updating() || !is_so(&now.screen)
            })
            .unwrap_or_else(PoisonError::into_inner);
        assert!(
            !waited.timed_out(),
            "{what:?} never came:\n{}\n{:?}",
            now.screen.lines().join("\n"),
            String::from_utf8_lossy(&now.bytes)
        );
        now
    }

    /// Waits until a row of the screen holds this.
    ///
    /// # Panics
    /// When none does.
    #[track_caller]
    pub fn has_row(&self, text: &str) -> Screen {
        self.is(text, |screen| screen.shown().iter().any(|row| row.contains(text)))
    }

    /// Gives the terminal another size, as whoever drags its corner does.
    ///
    /// # Panics
    /// When the terminal is gone, or an update never ends.
    pub fn resize(&self, columns: u16, rows: u16) {
        // Until it is resized nothing more is shown: a block is never half drawn for one size and half for the other.
        let mut now = self.until("the end of an update", |_| true);
        now.screen.resize(columns.into(), rows.into());
        tcsetwinsize(&self.screen, size(columns, rows)).unwrap();
    }

    /// The command's process, for whoever waits for it by other means.
    #[must_use]
    pub fn child(&self) -> &Child {
        &self.child
    }

    /// Presses keys, one after the other; `\u{3}` is Ctrl+C, `\u{4}` is Ctrl+D, `\r` is Enter.
    ///
    /// # Panics
    /// When the terminal is gone.
    pub fn types(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// Whether the terminal edits lines and echoes what is typed, as it did at the beginning.
    ///
    /// # Panics
    /// When the terminal is gone.
    #[must_use]
    pub fn is_sane(&self) -> bool {
        let modes = tcgetattr(&self.screen).unwrap().local_modes;
        modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG)
    }

    /// Whether reading from the terminal waits until there is something to read.
    ///
    /// # Panics
    /// When the terminal is gone.
    #[must_use]
    pub fn lets_readers_wait(&self) -> bool {
        tcgetattr(&self.screen).unwrap().special_codes[SpecialCodeIndex::VMIN] > 0
    }

    /// Sends the command a signal by its name.
    ///
    /// # Panics
    /// When it is gone.
    pub fn signal(&self, name: &str) {
        let signal = match name {
            "HUP" => Signal::HUP,
            "INT" => Signal::INT,
            "KILL" => Signal::KILL,
            "QUIT" => Signal::QUIT,
            "TERM" => Signal::TERM,
            other => panic!("{other} is no signal that is sent here"),
        };
        // No other program does it: it may be the first moment of a command that matters.
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits for the end of the command: its exit code, none when a signal ended it, and all that was shown.
    ///
    /// # Panics
    /// When it does not end.
    #[must_use]
    pub fn end(self) -> (Option<i32>, String) {
        let left = self.left();
        (left.code, left.bytes.replace("\r\n", "\n"))
    }

    /// Waits for the end of the command, and tells all that it has left.
    ///
    /// # Panics
    /// When it does not end, or has written what no terminal would understand.
    #[must_use]
    pub fn left(mut self) -> Left {
        let begin = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(begin.elapsed() < PATIENCE, "it does not end:\n{}", self.shown.text());
            std::thread::sleep(Duration::from_millis(5));
        };
        let is_sane = self.is_sane();
        // With its last holder gone, reading the other side comes to an end.
        self.screen = rustix::fs::open("/dev/null", OFlags::RDONLY, Mode::empty()).unwrap();
        if let Some(reader) = self.reader.take() {
            reader.join().unwrap();
        }
        let screen = self.shown.now().screen.clone();
        assert_eq!(screen.unknown(), [""; 0], "{:?}", self.shown.text());
        Left {
            code: status.code(),
            signal: status.signal(),
            screen,
            is_sane,
            bytes: self.shown.text(),
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn size(columns: u16, rows: u16) -> Winsize {
    Winsize {
        ws_row: rows,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    }
}

/// Keeps what is shown. A terminal that nobody holds any more is an error to read, which is its end.
fn read_on(mut terminal: File, shown: Arc<Shown>) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let mut piece = [0; 4096];
        while let Ok(read @ 1..) = terminal.read(&mut piece) {
            let mut now = shown.now();
            let piece = piece.get(..read).unwrap_or_default();
            now.bytes.extend(piece);
            now.screen.take(piece);
            drop(now);
            shown.more.notify_all();
        }
    })
}

fn find(bytes: &[u8], text: &[u8]) -> Option<usize> {
    bytes.windows(text.len()).position(|window| window == text)
}
