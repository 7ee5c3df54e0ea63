//! Git: the only place that starts it. Most commands have no need to.
//!
//! There are two kinds of calls. A question takes no lock and leaves no trace, so git runs no hook for it, and neither a file
//! system monitor nor a transport. Git has no switch for filters: a question that converts files, such as `status`, runs
//! them. A change does what the same command does at a prompt, with hooks and filters. Neither waits forever.

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

/// How long a question may take.
pub const QUESTION_TIME: Duration = Duration::from_secs(60);

/// How long a change may take: its hooks may run tests.
pub const CHANGE_TIME: Duration = Duration::from_secs(600);

/// The most that an answer holds, in bytes, unless the caller says otherwise.
const MOST_ANSWER: usize = 64 << 20;

/// How long what git leaves behind may keep its output open after its end.
const AFTER_THE_END: Duration = Duration::from_millis(250);
/// How long to read what is left in its pipes then.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// How long git and its hooks have to end by themselves when they are asked to, which is when git takes its locks away.
const TERM_GRACE: Duration = Duration::from_secs(if cfg!(test) { 1 } else { 5 });

/// The same where a person waits for it.
const STOP_GRACE: Duration = Duration::from_secs(1);

/// The longest pause between two looks whether git has ended. What it prints last ends a pause at once.
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

/// Variables that would change the question: those that hooks have point git at another repository than that of the folder,
/// the last ones take the meaning from patterns.
const UNWANTED: [&str; 12] = [
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

/// Why git gave no answer. Each is a sentence.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// It is not installed.
    #[error("git could not be started: {error}")]
    NotStarted {
        /// What the system said; it stands in the message, so it is no source beside it.
        error: io::Error,
    },
    /// It was stopped.
    #[error("git {what} was stopped because it took longer than {} seconds", limit.as_secs())]
    TimedOut {
        /// Its first argument.
        what: String,
        /// How long it had.
        limit: Duration,
    },
    /// Somebody wanted it to stop.
    #[error("git {what} was stopped")]
    Stopped {
        /// Its first argument.
        what: String,
    },
    /// It failed.
    #[error("git ended with {status}: {said}")]
    Failed {
        /// How it ended.
        status: ExitStatus,
        /// The first line of what it said.
        said: String,
    },
}

impl From<GitError> for String {
    fn from(error: GitError) -> Self {
        error.to_string()
    }
}

/// What git answered.
#[derive(Debug, Clone)]
pub struct GitAnswer {
    /// How it ended.
    pub status: ExitStatus,
    /// What it printed.
    pub output: Vec<u8>,
    /// Whether there was more than the caller wants, or there may be.
    pub cut: bool,
    /// What it printed as errors.
    pub errors: String,
}

impl GitAnswer {
    /// What it printed, if it succeeded.
    ///
    /// # Errors
    /// When it failed.
    pub fn text(&self) -> Result<String, GitError> {
        if self.status.success() {
            Ok(String::from_utf8_lossy(&self.output).into_owned())
        } else {
            Err(self.failure())
        }
    }

    /// The failure that it is.
    #[must_use]
    pub fn failure(&self) -> GitError {
        GitError::Failed {
            status: self.status,
            said: self.errors.lines().next().unwrap_or_default().to_owned(),
        }
    }
}

/// A call of git that is being put together.
#[derive(Debug)]
pub struct Git {
    folder: PathBuf,
    settings: Vec<String>,
    environment: Vec<(&'static str, OsString)>,
    input: Vec<u8>,
    most_output: usize,
    limit: Duration,
    stop: StopHandle,
}

impl Git {
    /// A question about the repository of a folder.
    #[must_use]
    pub fn question(folder: &Path) -> Self {
        Self::new(folder, QUESTION_TIME)
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_NO_LAZY_FETCH", "1")
            // A git that does not know the line above still fetches missing objects; no transport is allowed to do it.
            .env("GIT_ALLOW_PROTOCOL", "none")
    }

    /// A change of the repository of a folder.
    #[must_use]
    pub fn change(folder: &Path) -> Self {
        Self::new(folder, CHANGE_TIME)
    }

    fn new(folder: &Path, limit: Duration) -> Self {
        Self {
            folder: folder.to_owned(),
            // A monitor only saves time, and it is a program that the repository names.
            settings: vec!["core.fsmonitor=false".to_owned()],
            environment: vec![("GIT_TERMINAL_PROMPT", "0".into())],
            input: Vec::new(),
            most_output: MOST_ANSWER,
            limit,
            stop: StopHandle::default(),
        }
    }

    /// With a way to stop it: it is asked to end then, with its hooks, and made to.
    #[must_use]
    pub fn stoppable(mut self, stop: &StopHandle) -> Self {
        self.stop = stop.clone();
        self
    }

    /// With a setting, as `name=value`.
    #[must_use]
    pub fn setting(mut self, setting: impl Into<String>) -> Self {
        self.settings.push(setting.into());
        self
    }

    /// With a variable of the environment.
    #[must_use]
    pub fn env(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.environment.push((name, value.into()));
        self
    }

    /// With something to read.
    #[must_use]
    pub fn input(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.input = input.into();
        self
    }

    /// With at most so many bytes of output; the rest is dropped, and the answer says so.
    #[must_use]
    pub fn most_output(mut self, bytes: usize) -> Self {
        self.most_output = bytes;
        self
    }

    /// With another limit of time.
    #[must_use]
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Runs git with these arguments. That it failed is an answer, too.
    ///
    /// # Errors
    /// When it cannot be started, or does not end in time; then it is ended, with its hooks.
    pub fn run<A: AsRef<OsStr>>(self, arguments: impl IntoIterator<Item = A>) -> Result<GitAnswer, GitError> {
        let mut call = command("git");
        for setting in &self.settings {
            call.args(["-c", setting.as_str()]);
        }
        call.arg("-C").arg(&self.folder).args(arguments);
        let what = call.get_args().nth(2 * self.settings.len() + 2);
        let what = what.unwrap_or_default().to_string_lossy().into_owned();
        for variable in UNWANTED {
            call.env_remove(variable);
        }
        call.envs(self.environment);
        call.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // What a person types at the terminal to stop ralph must not reach git in the middle of a change.
        sys::in_own_session(&mut call);
        let mut git = Running::start(call)?;
        let git = &mut git.0;
        if let Some(mut stdin) = git.stdin.take() {
            let input = self.input;
            // One that ends before it has read everything says why.
            thread::spawn(move || drop(stdin.write_all(&input)));
        }
        let not_started = |error| GitError::NotStarted { error };
        let (closed, closings) = channel();
        let output = Collector::start(git.stdout.take(), self.most_output, closed.clone()).map_err(not_started)?;
        let errors = Collector::start(git.stderr.take(), MOST_ANSWER, closed).map_err(not_started)?;
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

/// What git answers in a folder to a short input; `None` when it ends with 1, which means that there is nothing to say.
///
/// # Errors
/// When git is not installed, fails, or does not answer in time.
pub fn ask_git(folder: &Path, arguments: &[&str], input: &str) -> Result<Option<String>, GitError> {
    let answer = Git::question(folder).input(input).run(arguments)?;
    if answer.status.code() == Some(1) {
        return Ok(None);
    }
    answer.text().map(Some)
}

/// A git that was started. Nobody who looks for orphans takes it for one.
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

/// How git came to its end.
enum Waited {
    Ended(ExitStatus),
    TimedOut,
    Stopped,
}

/// Waits until git has ended. One that did not in time, or that somebody wants to stop, is ended with all that it started.
fn wait(git: &mut Child, closings: &Receiver<()>, limit: Duration, stop: &StopHandle) -> io::Result<Waited> {
    if let Some(status) = wait_for(git, closings, limit, &|| stop.is_wanted())? {
        return Ok(Waited::Ended(status));
    }
    let (why, grace) = if stop.is_wanted() {
        (Waited::Stopped, STOP_GRACE)
    } else {
        (Waited::TimedOut, TERM_GRACE)
    };
    let asked = Instant::now();
    sys::terminate_group(git.id());
    let ended = wait_for(git, closings, grace, &|| false)?;
    // Git may be gone and a hook of its not.
    while asked.elapsed() < grace && sys::group_is_there(git.id()) {
        thread::sleep(LONGEST_PAUSE);
    }
    sys::kill_group(git.id());
    if ended.is_none() {
        git.wait()?;
    }
    Ok(why)
}

/// Waits until git has ended, for so long, unless there is no more use in it.
fn wait_for(
    git: &mut Child,
    closings: &Receiver<()>,
    limit: Duration,
    gives_up: &dyn Fn() -> bool,
) -> io::Result<Option<ExitStatus>> {
    let start = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        let left = limit.saturating_sub(start.elapsed());
        match closings.recv_timeout(pause.min(left)) {
            // Both pipes are closed: the end is near, or git has become a program of its own.
            Err(RecvTimeoutError::Disconnected) => thread::sleep(Duration::from_micros(200)),
            Ok(()) | Err(RecvTimeoutError::Timeout) => pause = (pause * 2).min(LONGEST_PAUSE),
        }
        if let Some(status) = git.try_wait()? {
            return Ok(Some(status));
        }
        if left.is_zero() || gives_up() {
            return Ok(None);
        }
    }
}

/// Collects what comes out of a pipe.
struct Collector {
    collected: Arc<Mutex<(Vec<u8>, bool)>>,
    done: Receiver<()>,
    /// Whoever collects reads no more than what stands in the pipe when this goes.
    gives_up: PipeWriter,
}

impl Collector {
    fn start(pipe: Option<impl Read + AsFd + Send + 'static>, most: usize, closed: Sender<()>) -> io::Result<Self> {
        let collected = Arc::new(Mutex::new((Vec::new(), false)));
        let (finished, done) = channel::<()>();
        let (given_up, gives_up) = io::pipe()?;
        let target = Arc::clone(&collected);
        thread::spawn(move || {
            if let Some(pipe) = pipe {
                read_chunks(pipe, &given_up, |chunk| {
                    let mut target = target.lock().unwrap_or_else(PoisonError::into_inner);
                    let room = most.saturating_sub(target.0.len());
                    let kept = chunk.get(..chunk.len().min(room)).unwrap_or_default();
                    target.0.extend_from_slice(kept);
                    target.1 |= chunk.len() > room;
                });
            }
            // Whoever waits is told by the ends of these.
            drop(finished);
            drop(closed);
        });
        Ok(Self {
            collected,
            done,
            gives_up,
        })
    }

    /// What came, and whether more may come: a process that git left behind may keep the pipe open. All that stands in the
    /// pipe by then is read, however late the one who reads it gets to it.
    fn finish(self) -> (Vec<u8>, bool) {
        let open = self.done.recv_timeout(AFTER_THE_END) == Err(RecvTimeoutError::Timeout);
        drop(self.gives_up);
        if open {
            // It ends by the channel's end.
            let _ended = self.done.recv_timeout(LAST_WORDS);
        }
        let (output, cut) = std::mem::take(&mut *self.collected.lock().unwrap_or_else(PoisonError::into_inner));
        (output, cut || open)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_and_failures_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let error = ask_git(path, &["rev-parse", "--show-toplevel"], "")
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("git ended with exit status: 128: fatal: not a git repository"),
            "{error}"
        );
        assert_eq!(ask_git(path, &["init", "-q"], "").unwrap(), Some(String::new()));
        assert_eq!(ask_git(path, &["config", "--get", "no.such"], "").unwrap(), None);
        let id = ask_git(path, &["hash-object", "--stdin"], "hello\n").unwrap();
        assert_eq!(id.as_deref(), Some("ce013625030ba8dba906f756967f9e9ca394464a\n"));
    }

    #[test]
    fn long_answers_are_cut_and_long_inputs_do_not_block() {
        let folder = tempfile::tempdir().unwrap();
        let line = "x".repeat(99) + "\n";
        let input = line.repeat(20_000);
        let answer = Git::question(folder.path())
            .input(input.clone())
            .most_output(1000)
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
    fn a_call_that_does_not_end_is_stopped_and_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let error = Git::question(folder.path())
            .setting("alias.wait=!exec sleep 600")
            .limit(Duration::from_millis(50))
            .run(["wait"])
            .unwrap_err();
        assert!(matches!(error, GitError::TimedOut { .. }), "{error}");
        assert_eq!(
            error.to_string(),
            "git wait was stopped because it took longer than 0 seconds"
        );
    }

    #[test]
    fn one_that_is_stopped_may_tidy_up_and_leaves_no_hook_behind() {
        let folder = tempfile::tempdir().unwrap();
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap_or_default();
        ask_git(folder.path(), &["init", "-q"], "").unwrap();
        // The script is a leader's: it tidies up when it is asked to end. What it started does not listen.
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
            assert!(Instant::now() < deadline, "the hook goes on");
            thread::yield_now();
        }
    }

    #[test]
    fn git_is_in_a_session_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let answer = Git::question(folder.path())
            .setting("alias.session=!ps -o sid= -p $$")
            .run(["session"])
            .unwrap();
        let session: u32 = answer.text().unwrap().trim().parse().unwrap();
        assert_ne!(Some(session), crate::sweep::own_session());
    }

    #[test]
    fn what_git_leaves_behind_does_not_hold_it_up() {
        let folder = tempfile::tempdir().unwrap();
        let answer = Git::question(folder.path())
            .setting("alias.leave=!sleep 5 & echo done")
            .run(["leave"])
            .unwrap();
        assert_eq!(answer.text().unwrap(), "done\n");
    }
}
