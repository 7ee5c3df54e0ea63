//! A terminal with a command at it: what a person would see, and keys that they press. It is a real one (a pseudo-terminal
//! of the system, which the command controls), so Ctrl+C is a key, lines are edited and echoed, and all is shown in the order
//! in which it came.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Stdio};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use crate::Invocation;

/// How long to wait for what must come.
const PATIENCE: Duration = Duration::from_secs(60);

/// A terminal with a command at it.
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

#[derive(Debug, Default)]
struct Shown {
    bytes: Mutex<Vec<u8>>,
    more: Condvar,
}

impl Shown {
    fn text(&self) -> String {
        let bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Terminal {
    /// Starts a command at a terminal with so many columns.
    ///
    /// # Panics
    /// When the system has no terminals or `setsid` is missing.
    #[must_use]
    pub fn start(invocation: Invocation, columns: u16) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let screen = rustix::fs::open(name, flags, Mode::empty()).unwrap();
        let size = Winsize {
            ws_row: 40,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&screen, size).unwrap();
        let inner = invocation.command();
        // A session of its own, which this terminal controls; the command takes the place of `setsid`, with its pid.
        let mut command = ralph_process::command("setsid");
        command
            .arg("--ctty")
            .arg(inner.get_program())
            .args(inner.get_args())
            .env_clear();
        for (name, value) in inner.get_envs() {
            command.env(name, value.unwrap_or_default());
        }
        if let Some(folder) = inner.get_current_dir() {
            command.current_dir(folder);
        }
        let child = command
            .env("TERM", "xterm")
            .stdin(Stdio::from(screen.try_clone().unwrap()))
            .stdout(Stdio::from(screen.try_clone().unwrap()))
            .stderr(Stdio::from(screen.try_clone().unwrap()))
            .spawn()
            .expect("the command starts");
        let keys = File::from(master);
        let shown = Arc::new(Shown::default());
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
        let mut bytes = self.shown.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let fresh = bytes.get(self.seen..).unwrap_or_default();
            if let Some(at) = find(fresh, text.as_bytes()) {
                self.seen += at + text.len();
                return;
            }
            let left = PATIENCE.saturating_sub(begin.elapsed());
            let all = String::from_utf8_lossy(&bytes).into_owned();
            assert!(!left.is_zero(), "{text:?} never came; shown is:\n{all}");
            bytes = self
                .shown
                .more
                .wait_timeout(bytes, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
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

    /// Sends the command a signal by its name.
    ///
    /// # Panics
    /// When it is gone.
    pub fn signal(&self, name: &str) {
        let pid = self.pid().to_string();
        let sent = ralph_process::command("kill")
            .args([&format!("-{name}"), &pid])
            .status();
        assert!(sent.unwrap().success());
    }

    /// Waits for the end of the command: its exit code, none when a signal ended it, and all that was shown.
    ///
    /// # Panics
    /// When it does not end.
    #[must_use]
    pub fn end(mut self) -> (Option<i32>, String) {
        let begin = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(begin.elapsed() < PATIENCE, "it does not end:\n{}", self.shown.text());
            std::thread::sleep(Duration::from_millis(5));
        };
        let Self {
            screen, shown, reader, ..
        } = self;
        // With its last holder gone, reading the other side comes to an end.
        drop(screen);
        if let Some(reader) = reader {
            reader.join().unwrap();
        }
        (status.code(), shown.text().replace("\r\n", "\n"))
    }
}

/// Keeps what is shown. A terminal that nobody holds any more is an error to read, which is its end.
fn read_on(mut terminal: File, shown: Arc<Shown>) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let mut piece = [0; 4096];
        while let Ok(read @ 1..) = terminal.read(&mut piece) {
            let mut bytes = shown.bytes.lock().unwrap_or_else(PoisonError::into_inner);
            bytes.extend(piece.iter().take(read));
            shown.more.notify_all();
        }
    })
}

fn find(bytes: &[u8], text: &[u8]) -> Option<usize> {
    bytes.windows(text.len()).position(|window| window == text)
}
