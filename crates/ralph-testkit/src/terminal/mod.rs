//! A command at a terminal of its own: what it shows, what is typed, how large it is, and the mode that it is in.

mod screen;

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

pub use screen::{Cursor, Screen};

use crate::Invocation;

/// How long anything may take that a test waits for.
const PATIENCE: Duration = Duration::from_secs(60);

/// A command that runs at a terminal. It is killed with this value.
#[derive(Debug)]
pub struct Terminal {
    controller: File,
    /// The other end: the terminal stays when the command has ended.
    _other_end: File,
    child: Child,
    seen: Arc<Seen>,
    reader: Option<JoinHandle<()>>,
}

/// The screen, and who waits for it.
#[derive(Debug)]
struct Seen {
    screen: Mutex<(Screen, Vec<u8>)>,
    changed: Condvar,
}

/// How the terminal takes what is typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// By lines, shown as they are typed: as a shell leaves it.
    Lines,
    /// Key by key, and not shown.
    Keys,
}

impl Invocation {
    /// Starts it at a terminal of this size, as the leader of a session.
    #[must_use]
    pub fn at_terminal(self, width: u16, height: u16) -> Terminal {
        Terminal::start(&self.command(), width, height)
    }
}

impl Terminal {
    /// Starts a command at a terminal of its own.
    #[must_use]
    pub fn start(command: &Command, width: u16, height: u16) -> Self {
        let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&controller).unwrap();
        unlockpt(&controller).unwrap();
        tcsetwinsize(&controller, size(width, height)).unwrap();
        let name = ptsname(&controller, Vec::new()).unwrap();
        let other_end = OpenOptions::new()
            .read(true)
            .write(true)
            .open(name.to_str().unwrap())
            .unwrap();
        let controller = File::from(controller);
        let stream = || Stdio::from(other_end.try_clone().unwrap());
        let child = in_session(command)
            .stdin(stream())
            .stdout(stream())
            .stderr(stream())
            .spawn()
            .expect("the command starts");
        let seen = Arc::new(Seen {
            screen: Mutex::new((Screen::new(width.into(), height.into()), Vec::new())),
            changed: Condvar::new(),
        });
        let reader = read_on(controller.try_clone().unwrap(), Arc::clone(&seen));
        Self {
            controller,
            _other_end: other_end,
            child,
            seen,
            reader: Some(reader),
        }
    }

    /// Types.
    pub fn type_in(&mut self, text: &str) {
        self.controller.write_all(text.as_bytes()).unwrap();
    }

    /// Changes the size.
    pub fn resize(&mut self, width: u16, height: u16) {
        let mut screen = self.seen.lock();
        tcsetwinsize(&self.controller, size(width, height)).unwrap();
        screen.0.resize(width.into(), height.into());
    }

    /// What is on the screen.
    #[must_use]
    pub fn screen(&self) -> Screen {
        self.seen.lock().0.clone()
    }

    /// All bytes that came.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        self.seen.lock().1.clone()
    }

    /// Waits until the screen is as it should be.
    #[track_caller]
    pub fn wait_until(&self, what: &str, is_so: impl Fn(&Screen) -> bool) -> Screen {
        let (screen, waited) = self
            .seen
            .changed
            .wait_timeout_while(self.seen.lock(), PATIENCE, |screen| !is_so(&screen.0))
            .unwrap_or_else(PoisonError::into_inner);
        assert!(
            !waited.timed_out(),
            "{what} never came:\n{}\n{:?}",
            screen.0.lines().join("\n"),
            String::from_utf8_lossy(&screen.1)
        );
        screen.0.clone()
    }

    /// Waits until a text is on the screen.
    #[track_caller]
    pub fn wait_for(&self, text: &str) -> Screen {
        self.wait_until(text, |screen| screen.shown().iter().any(|row| row.contains(text)))
    }

    /// How what is typed is taken now.
    #[must_use]
    pub fn mode(&self) -> Mode {
        let modes = tcgetattr(&self.controller).unwrap().local_modes;
        match (modes.contains(LocalModes::ICANON), modes.contains(LocalModes::ECHO)) {
            (true, true) => Mode::Lines,
            (false, false) => Mode::Keys,
            other => panic!("a strange mode: lines and echo are {other:?}"),
        }
    }

    /// The pid of the command.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends the command a signal.
    pub fn send(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits for the end of the command: its exit code, or the signal that ended it, and the last screen.
    #[must_use]
    #[track_caller]
    pub fn wait(mut self) -> Ended {
        let status = self.child.wait().unwrap();
        let mode = self.mode();
        // What it wrote last may be on its way still. A sign that nobody else writes tells that all of it has come.
        let mut end = self._other_end.try_clone().unwrap();
        end.write_all(LAST_SIGN).unwrap();
        self.wait_until("the end", |screen| {
            screen.unknown().iter().any(|known| known == "ESC ~")
        });
        let screen = self.screen();
        let unknown = screen.unknown().iter().filter(|unknown| *unknown != "ESC ~");
        assert_eq!(unknown.count(), 0, "{:?}", screen.unknown());
        Ended {
            code: status.code(),
            signal: status.signal(),
            screen,
            mode,
        }
    }
}

/// A sequence that no program writes.
const LAST_SIGN: &[u8] = b"\x1b~";

/// How a command at a terminal ended.
#[derive(Debug)]
pub struct Ended {
    /// Its exit code.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// What it has left on the screen.
    pub screen: Screen,
    /// The mode that it has left the terminal in.
    pub mode: Mode,
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.child.kill());
        drop(self.child.wait());
        // The reader ends with the last who has the terminal open, which may be somebody else's.
        drop(self.reader.take());
    }
}

impl Seen {
    fn lock(&self) -> MutexGuard<'_, (Screen, Vec<u8>)> {
        self.screen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read_on(mut controller: File, seen: Arc<Seen>) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let mut bytes = [0; 4096];
        while let Ok(read @ 1..) = controller.read(&mut bytes) {
            let mut screen = seen.lock();
            screen.0.take(&bytes[..read]);
            screen.1.extend_from_slice(&bytes[..read]);
            drop(screen);
            seen.changed.notify_all();
        }
    })
}

/// The command as the leader of a session whose terminal is its standard input; its pid stays the same.
fn in_session(command: &Command) -> Command {
    let mut leader = ralph_process::command("setsid");
    leader.arg("--ctty").arg(command.get_program()).args(command.get_args());
    leader.env_clear();
    leader.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    if let Some(folder) = command.get_current_dir() {
        leader.current_dir(folder);
    }
    leader
}

fn size(width: u16, height: u16) -> Winsize {
    Winsize {
        ws_row: height,
        ws_col: width,
        ws_xpixel: 0,
        ws_ypixel: 0,
    }
}
