//! Runs git. This is the only place that starts it.
//!
//! Queries take no locks and run no hooks, file system monitors, or transports. Git has no switch for filters, so a
//! query that converts files, such as `status`, runs them. Changes behave like the same command at a prompt, with hooks
//! and filters. Both have a time limit.

use std::ffi::{OsStr, OsString};
use std::io::{self, PipeWriter, Read, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::readers::read_chunks;
use crate::{StopHandle, command, sweep, sys};

pub const QUERY_TIMEOUT: Duration = Duration::from_secs(60);

/// Time limit of a change; its hooks may run tests.
pub const CHANGE_TIMEOUT: Duration = Duration::from_secs(600);

/// Default limit for the output in bytes.
const MAX_OUTPUT: usize = 64 << 20;

/// How long a process that git left behind may keep the output open.
const OUTPUT_GRACE: Duration = Duration::from_millis(250);
/// How long to read what is left in the pipes after that.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

/// How long git and its hooks have to exit after SIGTERM; git removes its lock files then.
const TERM_GRACE: Duration = Duration::from_secs(if cfg!(test) { 1 } else { 5 });

/// The same while a user waits.
const STOP_GRACE: Duration = Duration::from_secs(1);

/// The longest pause between two checks whether git has exited. A closed pipe ends a pause early.
const MAX_PAUSE: Duration = Duration::from_millis(20);

/// Variables that would change the result: most of them, set by hooks, point git to another repository; the last ones
/// change the meaning of patterns.
const REMOVED_VARIABLES: [&str; 12] = [
    "GIT_DIR",
    "GIT_COMMON_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_PREFIX",
    "GIT_NAMESPACE",
    "GIT_LITERAL_PATHSPECS",
    "GIT_GLOB_PATHSPECS",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_ICASE_PATHSPECS",
];

#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("git could not be started: {error}")]
    NotStarted {
        /// Part of the message, so it is not also a source.
        error: io::Error,
    },
    #[error("git {what} timed out after {} seconds", limit.as_secs())]
    TimedOut { what: String, limit: Duration },
    #[error("git {what} was stopped")]
    Stopped { what: String },
    #[error("git failed with {status}: {message}")]
    Failed {
        status: ExitStatus,
        /// The first line of its error output.
        message: String,
    },
}

impl From<GitError> for String {
    fn from(error: GitError) -> Self {
        error.to_string()
    }
}

#[derive(Debug, Clone)]
pub struct GitAnswer {
    pub status: ExitStatus,
    pub output: Vec<u8>,
    /// Whether the output was cut at the limit or may be incomplete.
    pub cut: bool,
    /// Standard error.
    pub errors: String,
}

impl GitAnswer {
    /// Standard output as text, if git succeeded.
    ///
    /// # Errors
    /// If git failed.
    pub fn text(&self) -> Result<String, GitError> {
        if self.status.success() {
            Ok(String::from_utf8_lossy(&self.output).into_owned())
        } else {
            Err(self.failure())
        }
    }

    /// The error for a failed call.
    #[must_use]
    pub fn failure(&self) -> GitError {
        GitError::Failed {
            status: self.status,
            message: self.errors.lines().next().unwrap_or_default().to_owned(),
        }
    }
}

/// A git command line.
#[derive(Debug)]
pub struct Git {
    folder: PathBuf,
    settings: Vec<String>,
    environment: Vec<(&'static str, OsString)>,
    input: Vec<u8>,
    max_output: usize,
    limit: Duration,
    stop: StopHandle,
}

impl Git {
    /// A read-only query of the repository in a folder.
    #[must_use]
    pub fn question(folder: &Path) -> Self {
        Self::new(folder, QUERY_TIMEOUT)
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_NO_LAZY_FETCH", "1")
            // Older versions of git ignore the line above and fetch missing objects, so forbid all transports.
            .env("GIT_ALLOW_PROTOCOL", "none")
    }

    /// A command that changes the repository in a folder.
    #[must_use]
    pub fn change(folder: &Path) -> Self {
        Self::new(folder, CHANGE_TIMEOUT)
    }

    fn new(folder: &Path, limit: Duration) -> Self {
        Self {
            folder: folder.to_owned(),
            // A monitor only saves time, and it is a program that the repository chooses.
            settings: vec!["core.fsmonitor=false".to_owned()],
            environment: vec![("GIT_TERMINAL_PROMPT", "0".into())],
            input: Vec::new(),
            max_output: MAX_OUTPUT,
            limit,
            stop: StopHandle::default(),
        }
    }

    /// Makes the call stoppable: git and its hooks are asked to exit, then killed.
    #[must_use]
    pub fn stoppable(mut self, stop: &StopHandle) -> Self {
        self.stop = stop.clone();
        self
    }

    /// Adds a setting in the form `name=value`.
    #[must_use]
    pub fn setting(mut self, setting: impl Into<String>) -> Self {
        self.settings.push(setting.into());
        self
    }

    #[must_use]
    pub fn env(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.environment.push((name, value.into()));
        self
    }

    #[must_use]
    pub fn input(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.input = input.into();
        self
    }

    /// Limits the output; the rest is dropped and marked as cut.
    #[must_use]
    pub fn max_output(mut self, bytes: usize) -> Self {
        self.max_output = bytes;
        self
    }

    #[must_use]
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Runs git with these arguments. A failure of git is an `Ok` value too.
    ///
    /// # Errors
    /// If git cannot be started or does not exit in time; then it is killed with its hooks.
    pub fn run<A: AsRef<OsStr>>(self, arguments: impl IntoIterator<Item = A>) -> Result<GitAnswer, GitError> {
        let mut call = command("git");
        for setting in &self.settings {
            call.args(["-c", setting.as_str()]);
        }
        call.arg("-C").arg(&self.folder).args(arguments);
        let what = call.get_args().nth(2 * self.settings.len() + 2);
        let what = what.unwrap_or_default().to_string_lossy().into_owned();
        for variable in REMOVED_VARIABLES {
            call.env_remove(variable);
        }
        call.envs(self.environment);
        call.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A Ctrl+C that stops ralph must not reach git in the middle of a change.
        sys::in_own_session(&mut call);
        let mut git = Running::start(call)?;
        let git = &mut git.0;
        if let Some(mut stdin) = git.stdin.take() {
            let input = self.input;
            // If git exits before it has read everything, its status says why.
            thread::spawn(move || drop(stdin.write_all(&input)));
        }
        let not_started = |error| GitError::NotStarted { error };
        let (closed, closings) = channel();
        let output = Collector::start(git.stdout.take(), self.max_output, closed.clone()).map_err(not_started)?;
        let errors = Collector::start(git.stderr.take(), MAX_OUTPUT, closed).map_err(not_started)?;
        let limit = self.limit;
        let ended = wait(git, &closings, limit, &self.stop).map_err(not_started)?;
        let status = match ended {
            Waited::Ended(status) => status,
            Waited::TimedOut => return Err(GitError::TimedOut { what, limit }),
            Waited::Stopped => return Err(GitError::Stopped { what }),
        };
        let (output, cut) = output.finish();
        let (errors, _) = errors.finish();
        Ok(GitAnswer {
            status,
            output,
            cut,
            errors: String::from_utf8_lossy(&errors).into_owned(),
        })
    }
}

/// Runs a query with a short input; `None` if git exits with 1, which means that there is no result.
///
/// # Errors
/// If git is not installed, fails, or does not exit in time.
pub fn ask_git(folder: &Path, arguments: &[&str], input: &str) -> Result<Option<String>, GitError> {
    let answer = Git::question(folder).input(input).run(arguments)?;
    if answer.status.code() == Some(1) {
        return Ok(None);
    }
    answer.text().map(Some)
}

/// A running git, registered as supervised so that no sweep takes it for an orphan.
struct Running(Child);

impl Running {
    fn start(mut call: Command) -> Result<Self, GitError> {
        let mut children = sweep::supervised();
        let git = call.spawn().map_err(|error| GitError::NotStarted { error })?;
        children.insert(git.id());
        Ok(Self(git))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        sweep::supervised().remove(&self.0.id());
    }
}

enum Waited {
    Ended(ExitStatus),
    TimedOut,
    Stopped,
}

/// Waits until git exits. On timeout or a stop request, ends git and everything it started.
fn wait(git: &mut Child, closings: &Receiver<()>, limit: Duration, stop: &StopHandle) -> io::Result<Waited> {
    if let Some(status) = wait_for(git, closings, limit, &|| stop.is_requested())? {
        return Ok(Waited::Ended(status));
    }
    let (why, grace) = if stop.is_requested() {
        (Waited::Stopped, STOP_GRACE)
    } else {
        (Waited::TimedOut, TERM_GRACE)
    };
    let asked = Instant::now();
    sys::terminate_group(git.id());
    let ended = wait_for(git, closings, grace, &|| false)?;
    // Hooks may outlive git.
    while asked.elapsed() < grace && sys::group_is_there(git.id()) {
        thread::sleep(MAX_PAUSE);
    }
    sys::kill_group(git.id());
    if ended.is_none() {
        git.wait()?;
    }
    Ok(why)
}

/// Waits until git exits, the limit passes, or waiting is no longer useful.
fn wait_for(
    git: &mut Child,
    closings: &Receiver<()>,
    limit: Duration,
    should_stop: &dyn Fn() -> bool,
) -> io::Result<Option<ExitStatus>> {
    let start = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        let left = limit.saturating_sub(start.elapsed());
        match closings.recv_timeout(pause.min(left)) {
            // Both pipes are closed: git is about to exit, or it detached.
            Err(RecvTimeoutError::Disconnected) => thread::sleep(Duration::from_micros(200)),
            Ok(()) | Err(RecvTimeoutError::Timeout) => pause = (pause * 2).min(MAX_PAUSE),
        }
        if let Some(status) = git.try_wait()? {
            return Ok(Some(status));
        }
        if left.is_zero() || should_stop() {
            return Ok(None);
        }
    }
}

/// Collects the output of a pipe.
struct Collector {
    collected: Arc<Mutex<(Vec<u8>, bool)>>,
    done: Receiver<()>,
    /// When dropped, the reader only takes what is already in the pipe.
    canceller: PipeWriter,
}

impl Collector {
    fn start(pipe: Option<impl Read + AsFd + Send + 'static>, max: usize, closed: Sender<()>) -> io::Result<Self> {
        let collected = Arc::new(Mutex::new((Vec::new(), false)));
        let (finished, done) = channel::<()>();
        let (cancelled, canceller) = io::pipe()?;
        let target = Arc::clone(&collected);
        thread::spawn(move || {
            if let Some(pipe) = pipe {
                read_chunks(pipe, &cancelled, |chunk| {
                    let mut target = target.lock().unwrap_or_else(PoisonError::into_inner);
                    let room = max.saturating_sub(target.0.len());
                    let kept = chunk.get(..chunk.len().min(room)).unwrap_or_default();
                    target.0.extend_from_slice(kept);
                    target.1 |= chunk.len() > room;
                });
            }
            // The receivers notice when these are dropped.
            drop(finished);
            drop(closed);
        });
        Ok(Self {
            collected,
            done,
            canceller,
        })
    }

    /// The output, and whether it may be incomplete, because a process that git left behind keeps the pipe open.
    /// Everything that is in the pipe at this point is read.
    fn finish(self) -> (Vec<u8>, bool) {
        let open = self.done.recv_timeout(OUTPUT_GRACE) == Err(RecvTimeoutError::Timeout);
        drop(self.canceller);
        if open {
            // Ends when the channel is closed.
            let _ended = self.done.recv_timeout(DRAIN_TIMEOUT);
        }
        let (output, cut) = std::mem::take(&mut *self.collected.lock().unwrap_or_else(PoisonError::into_inner));
        (output, cut || open)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_return_results_or_failures() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let error = ask_git(path, &["rev-parse", "--show-toplevel"], "")
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("git failed with exit status: 128: fatal: not a git repository"),
            "{error}"
        );
        assert_eq!(ask_git(path, &["init", "-q"], "").unwrap(), Some(String::new()));
        assert_eq!(ask_git(path, &["config", "--get", "no.such"], "").unwrap(), None);
        let id = ask_git(path, &["hash-object", "--stdin"], "hello\n").unwrap();
        assert_eq!(id.as_deref(), Some("ce013625030ba8dba906f756967f9e9ca394464a\n"));
    }

    #[test]
    fn long_output_is_cut_and_long_input_works() {
        let folder = tempfile::tempdir().unwrap();
        let line = "x".repeat(99) + "\n";
        let input = line.repeat(20_000);
        let answer = Git::question(folder.path())
            .input(input.clone())
            .max_output(1000)
            .run(["stripspace"])
            .unwrap();
        assert_eq!((answer.output.len(), answer.cut), (1000, true));
        let answer = Git::question(folder.path())
            .input(input.clone())
            .run(["stripspace"])
            .unwrap();
        assert_eq!((answer.text().unwrap(), answer.cut), (input, false));
    }

    #[test]
    fn hanging_call_times_out() {
        let folder = tempfile::tempdir().unwrap();
        let error = Git::question(folder.path())
            .setting("alias.wait=!exec sleep 600")
            .limit(Duration::from_millis(50))
            .run(["wait"])
            .unwrap_err();
        assert!(matches!(error, GitError::TimedOut { .. }), "{error}");
        assert_eq!(error.to_string(), "git wait timed out after 0 seconds");
    }

    #[test]
    fn stopped_call_cleans_up_and_leaves_no_hook() {
        let folder = tempfile::tempdir().unwrap();
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap_or_default();
        ask_git(folder.path(), &["init", "-q"], "").unwrap();
        // The shell runs as group leader and cleans up on SIGTERM; its child ignores SIGTERM.
        let script = "alias.wait=!(trap '' TERM; echo x > began; exec sleep 600) & echo $! > hook; \
                      trap 'echo x > tidy; exit 1' TERM; while :; do sleep 0.01; done";
        let error = Git::question(folder.path())
            .setting(script)
            .limit(Duration::from_millis(300))
            .run(["wait"])
            .unwrap_err();
        assert!(matches!(error, GitError::TimedOut { .. }), "{error}");
        assert_eq!((read("began").as_str(), read("tidy").as_str()), ("x\n", "x\n"));
        let hook: u32 = read("hook").trim().parse().unwrap();
        let deadline = Instant::now() + Duration::from_secs(10);
        while sweep::start_time(hook).is_some_and(|started| sweep::is_alive(hook, started)) {
            assert!(Instant::now() < deadline, "the hook is still running");
            thread::yield_now();
        }
    }

    #[test]
    fn git_runs_in_its_own_session() {
        let folder = tempfile::tempdir().unwrap();
        let answer = Git::question(folder.path())
            .setting("alias.session=!ps -o sid= -p $$")
            .run(["session"])
            .unwrap();
        let session: u32 = answer.text().unwrap().trim().parse().unwrap();
        assert_ne!(Some(session), crate::sweep::own_session());
    }

    #[test]
    fn background_processes_do_not_delay_git() {
        let folder = tempfile::tempdir().unwrap();
        let answer = Git::question(folder.path())
            .setting("alias.leave=!sleep 5 & echo done")
            .run(["leave"])
            .unwrap();
        assert_eq!(answer.text().unwrap(), "done\n");
    }
}
