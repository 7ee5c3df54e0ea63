//! Where the demo takes place: a temporary folder, an environment without anything of the person's that their own agent does
//! not need, and the commands that are run there. Nothing of it is left, however the demo ends.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use ralph_model::Entropy;
use ralph_process::{Finished, HowEnded, Input, RunLimits, Spec, StopHandle, on_stop_signals, run_to_end_watched};

use super::facts::Performance;
use super::project::{PLAN, write_to};
use crate::env;
use crate::error::CommandError;
use crate::surroundings::ProgramEntropy;
use crate::ui::Ui;

/// The exit code of a run that leaves something to a person.
const NEEDS_ATTENTION: i32 = 4;
/// How long a command may take. On the slowest machine it takes a fraction of that.
const TIME_LIMIT: Duration = Duration::from_secs(120);
/// How far a run of the person's own agent goes.
pub(super) const MOST_ITERATIONS: u32 = 15;
pub(super) const MOST_COST_USD: u32 = 1;
/// What is taken over from the person's environment.
const INHERITED: &[&str] = &["LANG", "LC_ALL", "LC_CTYPE", "PATH", "TMPDIR", "TZ", "USER"];
/// Where programs are where nothing says it.
const USUAL_PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// The person whom git knows in the demo.
const GIT_SETTINGS: &[&str] = &[
    "-c",
    "user.name=ralph demo",
    "-c",
    "user.email=demo@localhost",
    "-c",
    "init.defaultBranch=main",
];

/// Whether the agent gets the memory in its prompts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Memory {
    On,
    Off,
}

/// The place.
pub(super) struct Stage<'a> {
    ui: &'a Ui,
    /// The person's own agent; else the built-in one works.
    agent: Option<&'a str>,
    folder: tempfile::TempDir,
    program: PathBuf,
    environment: Vec<(OsString, OsString)>,
    stop: StopHandle,
    is_stopped: Arc<AtomicBool>,
}

impl<'a> Stage<'a> {
    /// Makes the folder. From now on a signal ends what runs there, not this process, which has to clean up.
    pub(super) fn set_up(ui: &'a Ui, agent: Option<&'a str>) -> Result<Self, CommandError> {
        let folder = tempfile::Builder::new()
            .prefix("ralph-demo-")
            .tempdir()
            .map_err(|error| CommandError::new(format!("cannot make a temporary folder: {error}")))?;
        let program = std::env::current_exe()
            .map_err(|error| CommandError::new(format!("cannot tell where this program is: {error}")))?;
        let stage = Self {
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
        let (stop, is_stopped) = (stage.stop.clone(), Arc::clone(&stage.is_stopped));
        on_stop_signals(move |_| {
            is_stopped.store(true, Ordering::SeqCst);
            stop.stop();
        })
        .map_err(|error| CommandError::new(format!("cannot listen to signals: {error}")))?;
        Ok(stage)
    }

    /// Whether somebody asked this process to end.
    pub(super) fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::SeqCst)
    }

    /// Makes the project and runs its tasks to their end.
    pub(super) fn perform(&self, memory: Memory) -> Result<Performance, CommandError> {
        let project = self.folder.path().join(match memory {
            Memory::On => "with",
            Memory::Off => "without",
        });
        write_to(&project)
            .map_err(|error| CommandError::new(format!("cannot make the project of the demo: {error}")))?;
        self.see_that_the_gate_works(&project)?;
        self.put_under_git(&project)?;
        self.ralph(&project, &["init"])?;
        self.ralph(&project, &["task", "import", PLAN])?;
        let mut run = vec!["run", "--trust"];
        if memory == Memory::Off {
            run.push("--without-memory");
        }
        let limit = MOST_ITERATIONS.to_string();
        if let Some(agent) = self.agent {
            run.extend(["--no-verify", "--limit", &limit, "--agent", agent]);
        }
        let finished = self.ralph(&project, &run)?;
        Performance::read(&project, finished.duration)
    }

    /// Removes the folder.
    pub(super) fn take_down(self) -> Result<(), CommandError> {
        let path = self.folder.path().display().to_string();
        self.folder
            .close()
            .map_err(|error| CommandError::new(format!("cannot remove {path}: {error}")))
    }

    /// Leaves the folder there.
    pub(super) fn keep(self, ui: &Ui) -> Result<(), CommandError> {
        let path = self.folder.keep();
        ui.data(&format!("\nKept: {}\n", path.display()))
    }

    /// Where the programs are missing that the gate needs, it would be red from the start and refuse nothing.
    fn see_that_the_gate_works(&self, project: &Path) -> Result<(), CommandError> {
        let why = match self.run("sh".into(), project, &["check.sh"]) {
            Ok(finished) if finished.how == HowEnded::Exited(0) => return Ok(()),
            Ok(finished) => last_line(&finished.output),
            Err(error) => format!("sh: {error}"),
        };
        Err(CommandError::new(format!("the demo's tests do not run here: {why}"))
            .hint("the demo needs sh and the small programs that come with every system: cat, cut, tr, wc, cksum"))
    }

    /// A project is usually under git; where there is none, the loop tells changes by itself.
    fn put_under_git(&self, project: &Path) -> Result<(), CommandError> {
        for arguments in [&["init", "-q"][..], &["add", "."], &["commit", "-q", "-m", "Begin"]] {
            match self.run("git".into(), project, &[GIT_SETTINGS, arguments].concat()) {
                Ok(finished) if finished.how == HowEnded::Exited(0) => {}
                Ok(_) if self.is_stopped() => return Err(CommandError::new("the demo was stopped")),
                Ok(_) | Err(_) => break,
            }
        }
        Ok(())
    }

    /// Runs a command of ours in a project, which must succeed.
    fn ralph(&self, project: &Path, arguments: &[&str]) -> Result<Finished, CommandError> {
        let root = project.to_string_lossy();
        let whole = [&["--root", &root], arguments].concat();
        let finished = self
            .run(self.program.clone().into(), project, &whole)
            .map_err(|error| CommandError::new(format!("cannot start {}: {error}", self.program.display())))?;
        let is_limited = self.agent.is_some() && finished.how == HowEnded::Exited(NEEDS_ATTENTION);
        if finished.how == HowEnded::Exited(0) || is_limited {
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
            // Nobody hears of what is printed after the end.
            let tell = Box::new(move |line: String| drop(sender.send(line)));
            let running = scope.spawn(|| run_to_end_watched(spec, limits, stop, tell));
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

/// What a command of ours says when it fails.
fn error_line(output: &str) -> String {
    let error = output.lines().rev().find_map(|line| line.strip_prefix("Error: "));
    error.map_or_else(|| last_line(output), str::to_owned)
}

fn last_line(output: &str) -> String {
    output.lines().last().unwrap_or_default().to_owned()
}

/// The person's own environment, which their agent needs, without what ralph would take for its own.
fn environment_of_agent(folder: &Path) -> Vec<(OsString, OsString)> {
    let ours = |name: &OsString| {
        let name = name.to_string_lossy();
        name.starts_with("RALPH_") || name.starts_with("GIT_") || name == "XDG_STATE_HOME"
    };
    let mut environment = env::all();
    environment.retain(|(name, _)| !ours(name));
    environment.push(("XDG_STATE_HOME".into(), folder.join("state").into()));
    environment.push(("RALPH_LIMITS_COST_USD".into(), MOST_COST_USD.to_string().into()));
    environment
}

/// An environment in which the person's settings, of ralph, git or anything else, are not found.
fn environment(folder: &Path) -> Vec<(OsString, OsString)> {
    let mut environment: Vec<(OsString, OsString)> = env::all()
        .into_iter()
        .filter(|(name, value)| INHERITED.iter().any(|inherited| name == inherited) && !value.is_empty())
        .collect();
    if !environment.iter().any(|(name, _)| name == "PATH") {
        environment.push(("PATH".into(), USUAL_PATH.into()));
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
