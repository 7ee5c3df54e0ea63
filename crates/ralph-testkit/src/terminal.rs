//! A command in a pseudo-terminal that it controls: Ctrl+C is a key, lines are edited and echoed, and all output
//! appears in the order in which it was written.

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

/// How long to wait for expected output.
const PATIENCE: Duration = Duration::from_secs(60);

/// The default number of rows.
const ROWS: u16 = 40;

/// A terminal running a command. The command is killed on drop.
#[derive(Debug)]
pub struct Terminal {
    child: Child,
    keys: File,
    /// The command's side; kept open so that output can be read after the command has ended.
    screen: OwnedFd,
    shown: Arc<Shown>,
    reader: Option<JoinHandle<()>>,
    /// How much of the output was already waited for.
    seen: usize,
}

#[derive(Debug)]
struct Shown {
    now: Mutex<Picture>,
    more: Condvar,
}

/// All bytes written so far, and the resulting screen.
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

/// The state of the terminal after the command has ended.
#[derive(Debug)]
pub struct TerminalExit {
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    pub screen: Screen,
    /// Whether the terminal edits lines and echoes what is typed.
    pub is_sane: bool,
    /// Everything that was ever written to the terminal.
    pub bytes: String,
}

impl Terminal {
    /// Starts a command in a terminal with this many columns.
    ///
    /// # Panics
    /// When the system has no terminals or `setsid` is missing.
    #[must_use]
    pub fn start(invocation: Invocation, columns: u16) -> Self {
        Self::of_size(&invocation.command(), columns, ROWS)
    }

    /// Starts a command in a terminal of this size.
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
        // A new session controlled by this terminal. `setsid` execs the command, which therefore has its pid.
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

    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until this text is printed, after the text that was waited for before.
    ///
    /// # Panics
    /// On a timeout.
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

    /// Waits until the screen matches.
    ///
    /// # Panics
    /// On a timeout.
    #[track_caller]
    pub fn is(&self, what: &str, is_so: impl Fn(&Screen) -> bool) -> Screen {
        self.until(what, is_so).screen.clone()
    }

    /// Waits until the screen matches and no synchronized update is open.
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

    /// Waits until a row of the screen contains this text.
    ///
    /// # Panics
    /// On a timeout.
    #[track_caller]
    pub fn has_row(&self, text: &str) -> Screen {
        self.is(text, |screen| screen.shown().iter().any(|row| row.contains(text)))
    }

    /// Resizes the terminal, as if its corner were dragged.
    ///
    /// # Panics
    /// When the terminal is closed, or an update never ends.
    pub fn resize(&self, columns: u16, rows: u16) {
        // The lock blocks output until the resize is done, so no block is drawn partly for each size.
        let mut now = self.until("the end of an update", |_| true);
        now.screen.resize(columns.into(), rows.into());
        tcsetwinsize(&self.screen, size(columns, rows)).unwrap();
    }

    /// The command's process, for callers that wait for it themselves.
    #[must_use]
    pub fn child(&self) -> &Child {
        &self.child
    }

    /// Presses keys: `\u{3}` is Ctrl+C, `\u{4}` is Ctrl+D, `\r` is Enter.
    ///
    /// # Panics
    /// When the terminal is closed.
    pub fn types(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// Whether the terminal edits lines and echoes input, as it did at the start.
    ///
    /// # Panics
    /// When the terminal is closed.
    #[must_use]
    pub fn is_sane(&self) -> bool {
        let modes = tcgetattr(&self.screen).unwrap().local_modes;
        modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG)
    }

    /// Whether reads from the terminal block until there is input.
    ///
    /// # Panics
    /// When the terminal is closed.
    #[must_use]
    pub fn read_blocks(&self) -> bool {
        tcgetattr(&self.screen).unwrap().special_codes[SpecialCodeIndex::VMIN] > 0
    }

    /// Sends the command a signal by name.
    ///
    /// # Panics
    /// When the command has ended.
    pub fn signal(&self, name: &str) {
        let signal = match name {
            "HUP" => Signal::HUP,
            "INT" => Signal::INT,
            "KILL" => Signal::KILL,
            "QUIT" => Signal::QUIT,
            "TERM" => Signal::TERM,
            other => panic!("unsupported signal: {other}"),
        };
        // Not with `kill(1)`: the signal may have to arrive right after the command has started.
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits for the command to end. Returns its exit code, none if a signal ended it, and all output.
    ///
    /// # Panics
    /// On a timeout.
    #[must_use]
    pub fn end(self) -> (Option<i32>, String) {
        let exit = self.finish();
        (exit.code, exit.bytes.replace("\r\n", "\n"))
    }

    /// Waits for the command to end and returns the final state.
    ///
    /// # Panics
    /// On a timeout, or if the command wrote an unknown control sequence.
    #[must_use]
    pub fn finish(mut self) -> TerminalExit {
        let begin = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(
                begin.elapsed() < PATIENCE,
                "the command did not end:\n{}",
                self.shown.text()
            );
            std::thread::sleep(Duration::from_millis(5));
        };
        let is_sane = self.is_sane();
        // Closing the last descriptor ends reads on the other side.
        self.screen = rustix::fs::open("/dev/null", OFlags::RDONLY, Mode::empty()).unwrap();
        if let Some(reader) = self.reader.take() {
            reader.join().unwrap();
        }
        let screen = self.shown.now().screen.clone();
        assert_eq!(screen.unknown(), [""; 0], "{:?}", self.shown.text());
        TerminalExit {
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

/// Collects the output. Reading fails once the last descriptor of the terminal is closed.
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
