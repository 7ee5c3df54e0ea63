//! `ralph demo`: runs the same tasks in a small project twice, with memory and without it, in a temporary folder that is
//! removed however the demo ends.

use std::cmp::Ordering;
use std::ffi::OsString;
use std::fs::{File, create_dir_all};
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::Duration;

use clap::Args;
use ralph_model::{Entropy, JournalRow, Outcome, count, duration, first_line, preview};
use ralph_notes::read_file;
use ralph_process::{ExitReason, Finished, Input, RunLimits, Spec, StopHandle, on_stop_signals, run_to_end_watched};
use ralph_store::{JournalFilter, Stats, StatsFilter, Store, Wait};
use tempfile::TempDir;

use crate::env;
use crate::error::CommandError;
use crate::paths::{self, Project};
use crate::project_env::ProgramEntropy;
use crate::table::{Column, Fit};
use crate::ui::{Style, Ui};
use crate::wrap::{wrapped, wrapped_around_commands};

/// The exit code of an interrupted program.
const STOPPED: u8 = 130;
/// The exit code of a run with tasks that need attention.
const NEEDS_ATTENTION: i32 = 4;
/// Limits of a run with the user's own agent.
const MAX_ITERATIONS: &str = "15";
const MAX_COST_USD: &str = "1";
/// Maximum line width on wide terminals.
const MAX_WIDTH: usize = 78;
/// Maximum length of a printed memory.
const MAX_MEMORY_COLUMNS: usize = 120;

const PROJECT: &[(&str, &str)] = &[
    (paths::CONFIG, include_str!("demo/project/ralph.toml")),
    ("PLAN.md", include_str!("demo/project/PLAN.md")),
    ("check.sh", include_str!("demo/project/check.sh")),
    ("commands.txt", include_str!("demo/project/commands.txt")),
    ("commands/lower.sh", include_str!("demo/project/commands/lower.sh")),
    ("tests/lower.sh", include_str!("demo/project/tests/lower.sh")),
    ("tools/list.sh", include_str!("demo/project/tools/list.sh")),
];
const AGENT: (&str, &str) = ("agent.sh", include_str!("demo/project/agent.sh"));
/// Sets up the project and runs its tasks.
const RUN: &str = include_str!("demo/project/run.sh");

/// See in seconds what memory does for an agent
///
/// Creates a small project with tests in a temporary folder and runs `ralph run` on the same tasks twice: once with
/// memory in the prompts, once without. The agent is built in, so it needs no key and no network, and it acts only on
/// its prompt. `--agent` uses your own agent instead, on your account.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph demo
  ralph demo --keep          # keep both projects to look around
  ralph demo --agent claude  # use your own agent")]
pub(crate) struct DemoArgs {
    /// Keep the temporary folder and print its path
    #[arg(long)]
    keep: bool,
    /// Command of your own agent
    #[arg(long, value_name = "COMMAND")]
    agent: Option<String>,
    /// Start your own agent without asking
    #[arg(long, requires = "agent")]
    yes: bool,
}

pub(crate) fn cmd_demo(ui: &Ui, args: &DemoArgs) -> Result<ExitCode, CommandError> {
    let agent = args.agent.as_deref();
    announce(ui, agent)?;
    if agent.is_some() && !args.yes && !is_wanted(ui)? {
        return Ok(ExitCode::SUCCESS);
    }
    let demo = Demo::new(ui, agent)?;
    let result = demo.run();
    let is_stopped = demo.stop.is_requested();
    let closed = if args.keep {
        ui.data(&format!("\nKept: {}\n", demo.folder.keep().display()))
    } else {
        demo.folder.close().map_err(failed("remove the temporary folder"))
    };
    match result {
        Err(_) if is_stopped => {
            ui.status("Stopped.");
            closed.map(|()| ExitCode::from(STOPPED))
        }
        result => result.and(closed).map(|()| ExitCode::SUCCESS),
    }
}

fn is_wanted(ui: &Ui) -> Result<bool, CommandError> {
    let answer = ui.confirm("Start it?")?;
    answer.ok_or_else(|| CommandError::usage("cannot ask for confirmation here; pass `--yes` to start your agent"))
}

/// Says what the demo will do and may cost.
fn announce(ui: &Ui, agent: Option<&str>) -> Result<(), CommandError> {
    let text = agent.map_or_else(
        || {
            "Five tasks in a small project, done twice by a built-in agent: no key, no network. Each session knows only \
             what its prompt says."
                .to_owned()
        },
        |agent| {
            format!(
                "Five small tasks, done twice by `{agent}`, with memory and without: at least 10 sessions on your \
                 account. ralph does not know what they cost. Each of the two runs stops at {MAX_ITERATIONS} iterations, \
                 and at ${MAX_COST_USD}.00 if the agent reports its cost. It works in a temporary folder, with your \
                 settings."
            )
        },
    );
    say(ui, &text)
}

fn say(ui: &Ui, text: &str) -> Result<(), CommandError> {
    let lines = wrapped_around_commands(text, width(ui));
    ui.data(&format!("{}\n", lines.join("\n")))
}

fn width(ui: &Ui) -> usize {
    ui.width().min(MAX_WIDTH)
}

fn failed(what: &str) -> impl FnOnce(io::Error) -> CommandError {
    move |error| CommandError::new(format!("cannot {what}: {error}"))
}

struct Demo<'a> {
    ui: &'a Ui,
    /// The user's own agent; `None` for the built-in one.
    agent: Option<&'a str>,
    folder: TempDir,
    stop: StopHandle,
}

/// What a run left in its project.
struct Results {
    project: Project,
    stats: Stats,
    /// Oldest first.
    iterations: Vec<JournalRow>,
}

impl<'a> Demo<'a> {
    /// Creates the folder. From here on a signal stops the commands, not this process, which has to clean up.
    fn new(ui: &'a Ui, agent: Option<&'a str>) -> Result<Self, CommandError> {
        let folder = tempfile::Builder::new().prefix("ralph-demo-").tempdir();
        let (folder, stop) = (
            folder.map_err(failed("create a temporary folder"))?,
            StopHandle::default(),
        );
        let stopped = stop.clone();
        on_stop_signals(move |_| stopped.stop()).map_err(failed("listen to signals"))?;
        Ok(Self {
            ui,
            agent,
            folder,
            stop,
        })
    }

    fn run(&self) -> Result<(), CommandError> {
        let with = self.run_tasks("with", &[])?;
        let without = self.run_tasks("without", &["--without-memory"])?;
        self.ui.data("\n")?;
        self.tell_story(&with)?;
        self.compare(&with.stats, &without.stats)
    }

    /// Creates the project and runs its tasks.
    fn run_tasks(&self, name: &str, arguments: &[&str]) -> Result<Results, CommandError> {
        let root = self.folder.path().join(name);
        let files = PROJECT.iter().chain(self.agent.is_none().then_some(&AGENT));
        for (name, text) in files {
            write_file(&root.join(name), text).map_err(failed("create the demo project"))?;
        }
        let own_agent = self
            .agent
            .map(|agent| ["--no-verify", "--limit", MAX_ITERATIONS, "--agent", agent]);
        let arguments = [arguments, own_agent.as_ref().map_or(&[], |own| own.as_slice())].concat();
        let finished = self.start(&root, &arguments).map_err(failed("run the demo with sh"))?;
        let is_limited = self.agent.is_some() && finished.how == ExitReason::Exited(NEEDS_ATTENTION);
        if finished.how != ExitReason::Exited(0) && !is_limited {
            let mut lines = finished.output.lines().rev();
            let why = lines
                .clone()
                .find_map(|line| line.strip_prefix("Error: "))
                .or(lines.next());
            return Err(
                CommandError::new(format!("the demo failed: {}", why.unwrap_or_default()))
                    .hint("it needs sh and standard tools: cat, cksum, cut, grep, sed, tr, wc"),
            );
        }
        Results::read(Project::at(root))
    }

    fn start(&self, root: &Path, arguments: &[&str]) -> io::Result<Finished> {
        let program = std::env::current_exe()?;
        let before = ["-c".into(), RUN.into(), program.into_os_string()];
        let spec = Spec {
            program: "sh".into(),
            arguments: before.into_iter().chain(arguments.iter().map(Into::into)).collect(),
            folder: root.to_owned(),
            environment: self.environment(),
            stdin: Input::Nothing,
            marker: format!("{}{:016x}", env::DEMO_MARKER, ProgramEntropy::Machine.next_bits()),
            output_limit: None,
        };
        let (stop, (sender, lines)) = (&self.stop, mpsc::channel());
        std::thread::scope(|scope| {
            // The receiver may be gone by the end.
            let send_line = Box::new(move |line: String| drop(sender.send(line)));
            let running = scope.spawn(|| run_to_end_watched(spec, RunLimits::default(), stop, send_line));
            for line in lines.iter().filter(|_| self.agent.is_some()) {
                self.ui.status(&format!("  {line}"));
            }
            let result = running.join();
            result.unwrap_or_else(|_| Err(io::Error::other("the thread that ran it failed")))
        })
    }

    /// The user's environment without settings of ralph and git. Only the user's own agent gets their home.
    fn environment(&self) -> Vec<(OsString, OsString)> {
        let is_setting = |name: &str| name.starts_with("RALPH_") || name.starts_with("GIT_");
        let mut environment = env::all();
        environment.retain(|(name, _)| !is_setting(&name.to_string_lossy()));
        let homes = ["XDG_STATE_HOME", "XDG_CONFIG_HOME", "HOME"];
        let count = if self.agent.is_some() { 1 } else { homes.len() };
        for home in homes.into_iter().take(count) {
            environment.retain(|(name, _)| name != home);
            environment.push((home.into(), self.folder.path().join(home).into()));
        }
        environment.push(("RALPH_LIMITS_COST_USD".into(), MAX_COST_USD.into()));
        environment
    }

    /// Prints the first failure, the memory that came from it, and a prompt with it.
    fn tell_story(&self, with: &Results) -> Result<(), CommandError> {
        if self.agent.is_none() {
            self.point("The trap", "commands.txt is generated, and no task says so.")?;
        }
        let Some(failure) = with
            .iterations
            .iter()
            .map(|row| &row.row)
            .find(|row| row.outcome != Outcome::Done)
        else {
            return self.point("The failure", "none. Your agent avoided every trap.");
        };
        let how = if failure.outcome == Outcome::Retried {
            "fails the gate"
        } else {
            "fails"
        };
        let text = format!("iteration {}, \"{}\", {how}:", failure.iteration, failure.task_title);
        self.point("The failure", &text)?;
        let mut lines = failure.reason.lines();
        let line = lines.find(|line| line.starts_with("FAIL"));
        self.quote(Style::Error, line.unwrap_or_else(|| first_line(&failure.reason)))?;
        let Some((task, memory)) = with.prompt_with_memory()? else {
            return self.point("The memory", "none. Your agent did not store a memory.");
        };
        let text = format!("iteration {} fixes it and stores a memory:", failure.iteration + 1);
        self.point("The memory", &text)?;
        let stored = preview(memory[1].trim_start_matches("> "), MAX_MEMORY_COLUMNS);
        self.quote(Style::Added, &format!("$ ralph remember \"{stored}\""))?;
        self.point("The prompt", &format!("\"{task}\" begins with this memory:"))?;
        memory
            .iter()
            .try_for_each(|line| self.quote(Style::Added, &format!("+ {line}")))
    }

    /// Prints the numbers of both runs side by side, the verdict and the next step.
    fn compare(&self, with: &Stats, without: &Stats) -> Result<(), CommandError> {
        let row =
            |title: &str, figure: &dyn Fn(&Stats) -> String| vec![title.to_owned(), figure(with), figure(without)];
        let mut rows = vec![
            row("Iterations", &|stats| stats.all.iterations.to_string()),
            row("Failed attempts", &|stats| stats.all.failures().to_string()),
            row("Time", &|stats| duration(Duration::from_millis(stats.all.duration_ms))),
        ];
        if self.agent.is_some() {
            rows.insert(0, row("Tasks done", &|stats| done(stats).to_string()));
            rows.push(row("Cost", &|stats| match stats.all.usage.cost_usd {
                cost if cost > 0.0 => format!("${cost:.2}"),
                _ => "not reported".to_owned(),
            }));
        }
        let next = match self.agent {
            Some(_) => "`ralph init` in your project",
            None => "`ralph init`, or `ralph demo --agent claude`",
        };
        let columns = ["", "WITH MEMORY", "WITHOUT"].map(|title| Column { title, fit: Fit::Whole });
        self.ui.data("\n")?;
        self.ui.table(&columns, &rows, "")?;
        say(self.ui, &format!("{} Next: {next}.", verdict(with, without)))
    }

    /// Prints a paragraph with its name in bold.
    fn point(&self, name: &str, text: &str) -> Result<(), CommandError> {
        let text = wrapped(&format!("{name}: {text}"), width(self.ui)).join("\n");
        self.ui.data(&format!(
            "{}\n",
            text.replacen(name, &self.ui.paint(Style::Strong, name), 1)
        ))
    }

    fn quote(&self, style: Style, text: &str) -> Result<(), CommandError> {
        let lines = wrapped(text, width(self.ui).saturating_sub(4));
        let lines = lines.into_iter().map(|line| (Some(style), format!("    {line}")));
        self.ui.lines(&lines.collect::<Vec<_>>())
    }
}

impl Results {
    fn read(project: Project) -> Result<Self, CommandError> {
        let store = Store::open_existing(&project.database(), Wait::Long)?;
        let store = store.ok_or_else(|| CommandError::new("the demo run left no journal"))?;
        let mut iterations = store.journal_list(&JournalFilter::default())?;
        iterations.sort_by_key(|row| row.id);
        Ok(Self {
            project,
            stats: store.stats(&StatsFilter::default())?,
            iterations,
        })
    }

    /// The first prompt with a memory: the title of its task, and the memory's heading and text.
    fn prompt_with_memory(&self) -> Result<Option<(&str, [String; 2])>, CommandError> {
        for JournalRow { row, .. } in &self.iterations {
            let prompt = read_file(&self.project.iteration_folder(&row.run, row.iteration).prompt())?;
            let prompt = prompt.map(|file| file.bytes).unwrap_or_default();
            let prompt = String::from_utf8_lossy(&prompt);
            let mut lines = prompt.lines().skip_while(|line| !line.starts_with("### mem-"));
            if let (Some(heading), Some(text)) = (lines.next(), lines.next()) {
                return Ok(Some((&row.task_title, [heading, text].map(str::to_owned))));
            }
        }
        Ok(None)
    }
}

fn done(stats: &Stats) -> u32 {
    stats.outcomes.get(&Outcome::Done).copied().unwrap_or_default()
}

fn verdict(with: &Stats, without: &Stats) -> String {
    let (tasks, tasks_without) = (done(with), done(without));
    if tasks != tasks_without {
        return format!("With memory {tasks} of 5 tasks were done, without it {tasks_without}.");
    }
    let (with, without) = (with.all.iterations, without.all.iterations);
    let difference = count(with.abs_diff(without) as usize, "iteration", "iterations");
    match with.cmp(&without) {
        _ if tasks == 0 => "No task was done, so this says nothing about memory.".to_owned(),
        Ordering::Less => format!("Memory saved {difference}."),
        Ordering::Equal => "Memory made no difference here.".to_owned(),
        Ordering::Greater => format!("With memory it took {difference} more."),
    }
}

/// Writes in place, like agents and editors do; the files need not be durable.
fn write_file(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        create_dir_all(folder)?;
    }
    File::create(path)?.write_all(text.as_bytes())
}
