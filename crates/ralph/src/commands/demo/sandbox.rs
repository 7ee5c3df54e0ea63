//! The sandbox of the demo: a temporary folder, an environment without user settings (except those that the user's own
//! agent needs), and the commands that run there. It is removed however the demo ends.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use ralph_model::Entropy;
use ralph_process::{ExitReason, Finished, Input, RunLimits, Spec, StopHandle, on_stop_signals, run_to_end_watched};

use super::project::{PLAN, write_to};
use super::run_summary::RunSummary;
use crate::env;
use crate::error::CommandError;
use crate::project_env::ProgramEntropy;
use crate::ui::Ui;

/// The exit code of a run with tasks that need attention.
const NEEDS_ATTENTION: i32 = 4;
/// Time limit per command. The slowest machine needs a fraction of it.
const TIME_LIMIT: Duration = Duration::from_secs(120);
/// Limits of a run with the user's own agent.
pub(super) const MAX_ITERATIONS: u32 = 15;
pub(super) const MAX_COST_USD: u32 = 1;
/// Variables passed on from the user's environment.
const INHERITED_VARIABLES: &[&str] = &["LANG", "LC_ALL", "LC_CTYPE", "PATH", "TMPDIR", "TZ", "USER"];
/// `PATH` if the environment has none.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// The git user of the demo.
const GIT_SETTINGS: &[&str] = &[
    "-c",
    "user.name=ralph demo",
    "-c",
    "user.email=demo@localhost",
    "-c",
    "init.defaultBranch=main",
];

/// Whether prompts include memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Memory {
    On,
    Off,
}

pub(super) struct Sandbox<'a> {
    ui: &'a Ui,
    /// The user's own agent; `None` for the built-in one.
    agent: Option<&'a str>,
    folder: tempfile::TempDir,
    program: PathBuf,
    environment: Vec<(OsString, OsString)>,
    stop: StopHandle,
    is_stopped: Arc<AtomicBool>,
}

impl<'a> Sandbox<'a> {
    /// Creates the folder. From here on a signal stops the commands, not this process, which has to clean up.
    pub(super) fn create(ui: &'a Ui, agent: Option<&'a str>) -> Result<Self, CommandError> {
        let folder = tempfile::Builder::new()
            .prefix("ralph-demo-")
            .tempdir()
            .map_err(|error| CommandError::new(format!("cannot make a temporary folder: {error}")))?;
        let program = std::env::current_exe()
            .map_err(|error| CommandError::new(format!("cannot find the ralph executable: {error}")))?;
        let sandbox = Self {
            ui,
            agent,
            environment: match agent {
                Some(_) => environment_of_agent(folder.path()),
                None => environment(folder.path()),
            },
            folder,
            program,
            stop: StopHandle::default(),
            is_stopped: Arc::default(),
        };
        let (stop, is_stopped) = (sandbox.stop.clone(), Arc::clone(&sandbox.is_stopped));
        on_stop_signals(move |_| {
            is_stopped.store(true, Ordering::SeqCst);
            stop.stop();
        })
        .map_err(|error| CommandError::new(format!("cannot listen to signals: {error}")))?;
        Ok(sandbox)
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::SeqCst)
    }

    /// Creates the project and runs its tasks.
    pub(super) fn run_tasks(&self, memory: Memory) -> Result<RunSummary, CommandError> {
        let project = self.folder.path().join(match memory {
            Memory::On => "with",
            Memory::Off => "without",
        });
        write_to(&project).map_err(|error| CommandError::new(format!("cannot create the demo project: {error}")))?;
        self.check_gate(&project)?;
        self.init_git(&project)?;
        self.ralph(&project, &["init"])?;
        self.ralph(&project, &["task", "import", PLAN])?;
        let mut run = vec!["run", "--trust"];
        if memory == Memory::Off {
            run.push("--without-memory");
        }
        let limit = MAX_ITERATIONS.to_string();
        if let Some(agent) = self.agent {
            run.extend(["--no-verify", "--limit", &limit, "--agent", agent]);
        }
        let finished = self.ralph(&project, &run)?;
        RunSummary::read(&project, finished.duration)
    }

    pub(super) fn remove(self) -> Result<(), CommandError> {
        let path = self.folder.path().display().to_string();
        self.folder
            .close()
            .map_err(|error| CommandError::new(format!("cannot remove {path}: {error}")))
    }

    pub(super) fn keep(self, ui: &Ui) -> Result<(), CommandError> {
        let path = self.folder.keep();
        ui.data(&format!("\nKept: {}\n", path.display()))
    }

    /// If tools that the gate needs are missing, it fails from the start, and the demo would show nothing.
    fn check_gate(&self, project: &Path) -> Result<(), CommandError> {
        let why = match self.run("sh".into(), project, &["check.sh"]) {
            Ok(finished) if finished.how == ExitReason::Exited(0) => return Ok(()),
            Ok(finished) => last_line(&finished.output),
            Err(error) => format!("sh: {error}"),
        };
        Err(CommandError::new(format!("the demo tests do not run here: {why}"))
            .hint("the demo needs sh and standard tools: cat, cut, tr, wc, cksum"))
    }

    /// Projects are usually under git. Without git the loop detects changes itself.
    fn init_git(&self, project: &Path) -> Result<(), CommandError> {
        for arguments in [&["init", "-q"][..], &["add", "."], &["commit", "-q", "-m", "Begin"]] {
            match self.run("git".into(), project, &[GIT_SETTINGS, arguments].concat()) {
                Ok(finished) if finished.how == ExitReason::Exited(0) => {}
                Ok(_) if self.is_stopped() => return Err(CommandError::new("the demo was stopped")),
                Ok(_) | Err(_) => break,
            }
        }
        Ok(())
    }

    /// Runs a ralph command in a project; it must succeed.
    fn ralph(&self, project: &Path, arguments: &[&str]) -> Result<Finished, CommandError> {
        let root = project.to_string_lossy();
        let whole = [&["--root", &root], arguments].concat();
        let finished = self
            .run(self.program.clone().into(), project, &whole)
            .map_err(|error| CommandError::new(format!("cannot start {}: {error}", self.program.display())))?;
        let is_limited = self.agent.is_some() && finished.how == ExitReason::Exited(NEEDS_ATTENTION);
        if finished.how == ExitReason::Exited(0) || is_limited {
            return Ok(finished);
        }
        let why = error_line(&finished.output);
        Err(CommandError::new(format!(
            "`ralph {}` failed in the demo: {why}",
            arguments.join(" ")
        )))
    }

    fn run(&self, program: OsString, folder: &Path, arguments: &[&str]) -> io::Result<Finished> {
        let spec = Spec {
            program,
            arguments: arguments.iter().map(Into::into).collect(),
            folder: folder.to_owned(),
            environment: self.environment.clone(),
            stdin: Input::Nothing,
            marker: format!("{}{:016x}", env::DEMO_MARKER, ProgramEntropy::Machine.next_bits()),
            output_limit: None,
        };
        let limits = RunLimits {
            time: self.agent.is_none().then_some(TIME_LIMIT),
            ..RunLimits::default()
        };
        let (stop, (sender, lines)) = (&self.stop, mpsc::channel());
        std::thread::scope(|scope| {
            // The receiver may be gone by the end.
            let send_line = Box::new(move |line: String| drop(sender.send(line)));
            let running = scope.spawn(|| run_to_end_watched(spec, limits, stop, send_line));
            for line in lines
                .iter()
                .filter(|_| self.agent.is_some() && arguments.contains(&"run"))
            {
                self.ui.status(&format!("  {line}"));
            }
            running
                .join()
                .unwrap_or_else(|_| Err(io::Error::other("the thread that ran it failed")))
        })
    }
}

/// The error message of a failed ralph command.
fn error_line(output: &str) -> String {
    let error = output.lines().rev().find_map(|line| line.strip_prefix("Error: "));
    error.map_or_else(|| last_line(output), str::to_owned)
}

fn last_line(output: &str) -> String {
    output.lines().last().unwrap_or_default().to_owned()
}

/// The user's environment, which their agent needs, without settings of ralph and git.
fn environment_of_agent(folder: &Path) -> Vec<(OsString, OsString)> {
    let ours = |name: &OsString| {
        let name = name.to_string_lossy();
        name.starts_with("RALPH_") || name.starts_with("GIT_") || name == "XDG_STATE_HOME"
    };
    let mut environment = env::all();
    environment.retain(|(name, _)| !ours(name));
    environment.push(("XDG_STATE_HOME".into(), folder.join("state").into()));
    environment.push(("RALPH_LIMITS_COST_USD".into(), MAX_COST_USD.to_string().into()));
    environment
}

/// An environment that hides the user's settings of ralph, git and other programs.
fn environment(folder: &Path) -> Vec<(OsString, OsString)> {
    let mut environment: Vec<(OsString, OsString)> = env::all()
        .into_iter()
        .filter(|(name, value)| INHERITED_VARIABLES.iter().any(|inherited| name == inherited) && !value.is_empty())
        .collect();
    if !environment.iter().any(|(name, _)| name == "PATH") {
        environment.push(("PATH".into(), DEFAULT_PATH.into()));
    }
    for (name, inside) in [
        ("HOME", "home"),
        ("XDG_STATE_HOME", "state"),
        ("XDG_CONFIG_HOME", "config"),
    ] {
        environment.push((name.into(), folder.join(inside).into()));
    }
    environment.push(("GIT_CONFIG_NOSYSTEM".into(), "1".into()));
    environment
}
