//! `cargo xtask bench loop`: the overhead of the loop per iteration, without the agent, gates and git.
//!
//! Processor time is that of the `ralph run` process alone. To exclude the start and end of a run, a short run is
//! subtracted from a long one, and the rest is divided by the additional iterations.

mod extract;
mod history;
mod interrupt;
mod isolate;
mod knowledge;
mod learnings;
mod live;
mod loop_project;
mod syncs;

use std::path::Path;
use std::time::{Duration, Instant};

use history::Memory;
use loop_project::{AgentOutput, LoopProject, SeedDatabase, VersionControl, measure_run};
use syncs::{Step, Syncs};

use super::figures::{Figure, Figures, Target};
use super::{mib, save};
use crate::flags::Flags;
use crate::programs::Programs;

/// Journal entries, notes, and the maximum milliseconds of an iteration with that many.
const SIZES: [(usize, usize, f64); 2] = [(10_000, 1_000, 25.0), (100_000, 10_000, 50.0)];
/// The numbers of open tasks; the last one is the default.
const TASKS: [usize; 3] = [10, 1_000, USUAL_TASKS];
const USUAL_TASKS: usize = 100;
/// The number of runs; the fastest counts.
const RUNS: usize = 7;
/// The number of runs with `--quick`.
const QUICK_RUNS: usize = 2;
/// The iterations of a short run.
const SHORT: usize = 1;
/// The iterations of a long run, if there are as many tasks.
const LONG: usize = 25;
/// The maximum time from Ctrl+C to the shell prompt, with an agent that ignores signals.
const MAX_INTERRUPT_SECONDS: f64 = 2.0;
/// The number of interrupted runs; the slowest counts.
const INTERRUPTS: usize = 20;
/// The maximum cost of the live view while an agent prints, in percent of a core.
const MAX_LIVE_PERCENT: f64 = 2.0;
/// The maximum memory of a run whose agent prints a gigabyte.
const MAX_FLOOD_MIB: f64 = 64.0;
/// The maximum size of the fixed part of a prompt, in tokens.
const MAX_FIXED_TOKENS: f64 = 600.0;

/// `cargo xtask bench loop`.
pub(crate) fn run(root: &Path, words: &[&str]) -> Result<(), String> {
    let parts = ["--knowledge", "--learnings", "--extract", "--live", "--isolate"];
    let named: Vec<&str> = parts.into_iter().chain(["--quick"]).collect();
    let flags = Flags::parse(words, &named, &["--json"])?;
    let runs = if flags.has("--quick") { QUICK_RUNS } else { RUNS };
    let programs = Programs::build(root)?;
    let begin = Instant::now();
    let mut figures = Figures::new("rows");
    let all_parts = !parts.iter().any(|part| flags.has(part));
    for (rows, notes, most) in SIZES.into_iter().filter(|_| all_parts) {
        println!("writing a journal with {rows} entries …");
        let past = SeedDatabase::write(rows, Memory::None)?;
        println!("measuring with {notes} notes, {runs} runs of each …");
        let project = LoopProject::make(&programs, &past, notes, VersionControl::None)?;
        let mut recorder = FigureRecorder {
            figures: &mut figures,
            project: &project,
            output: AgentOutput::Rows,
            runs,
        };
        for tasks in TASKS {
            recorder.iteration(&format!("an iteration, {tasks} tasks"), tasks, Target::AtMost(most))?;
        }
        recorder.flood()?;
        recorder.prompt()?;
        recorder.syncs()?;
        let project = LoopProject::make(&programs, &past, notes, VersionControl::Git)?;
        let mut recorder = FigureRecorder {
            figures: &mut figures,
            project: &project,
            output: AgentOutput::Rows,
            runs,
        };
        recorder.iteration("an iteration, in git", USUAL_TASKS, Target::AtMost(most))?;
    }
    if all_parts || flags.has("--knowledge") {
        knowledge::run(&mut figures, &programs, runs)?;
    }
    if all_parts || flags.has("--learnings") {
        learnings::run(&mut figures, &programs, runs)?;
    }
    if all_parts || flags.has("--extract") {
        extract::run(&mut figures, &programs, runs)?;
    }
    if all_parts || flags.has("--isolate") {
        isolate::run(&mut figures, &programs, runs)?;
    }
    if all_parts {
        let interrupted = if flags.has("--quick") { QUICK_RUNS } else { INTERRUPTS };
        interrupts(&mut figures, &programs, interrupted)?;
    }
    if all_parts || flags.has("--live") {
        live_view(&mut figures, &programs, runs)?;
    }
    figures.add_remark(
        "an iteration is the processor time of ralph alone, without agent and git processes; there are no gates"
            .to_owned(),
    );
    figures.add_remark(format!("taken in {:.0} s", begin.elapsed().as_secs_f64()));
    print!("\n{}", figures.table());
    let document = format!("{:#}\n", figures.json("loop", runs));
    match flags.value("--json") {
        None => print!("\n{document}"),
        Some(path) => save(path, &document)?,
    }
    Ok(())
}

fn live_view(figures: &mut Figures, programs: &Programs, runs: usize) -> Result<(), String> {
    println!("measuring {runs} runs in a terminal …");
    let cost = live::cost(programs, runs)?;
    for (name, value, unit, target) in [
        (
            "the live view while an agent prints",
            cost.percent,
            "% of a core",
            Target::AtMost(MAX_LIVE_PERCENT),
        ),
        ("the live view: start and end", cost.around_ms, "ms", Target::None),
    ] {
        figures.add(Figure {
            name: name.to_owned(),
            size: 0,
            value,
            unit,
            target,
        });
    }
    Ok(())
}

/// How long a user waits after Ctrl+C.
fn interrupts(figures: &mut Figures, programs: &Programs, runs: usize) -> Result<(), String> {
    println!("interrupting {runs} runs …");
    let mut times = Vec::with_capacity(runs);
    for _ in 0..runs {
        times.push(interrupt::time_to_prompt(programs)?.as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    let median = times.get(runs / 2).copied().unwrap_or_default();
    let worst = times.last().copied().unwrap_or_default();
    for (name, value, target) in [
        ("median", median, Target::None),
        ("worst", worst, Target::AtMost(MAX_INTERRUPT_SECONDS)),
    ] {
        figures.add(Figure {
            name: format!("Ctrl+C with an agent that ignores signals: {name} of {runs}"),
            size: 0,
            value,
            unit: "s",
            target,
        });
    }
    Ok(())
}

/// The lowest processor time of short and long runs in a project.
struct FastestRuns {
    tasks: usize,
    short: Duration,
    long: Duration,
    /// The highest memory peak of any run.
    peak: u64,
}

impl FastestRuns {
    fn new(tasks: usize) -> Self {
        Self {
            tasks,
            short: Duration::MAX,
            long: Duration::MAX,
            peak: 0,
        }
    }

    fn long_run(&self) -> usize {
        LONG.min(self.tasks - 1)
    }

    /// Runs each once more.
    fn measure_once(&mut self, project: &LoopProject<'_>, output: AgentOutput) -> Result<(), String> {
        let long_run = self.long_run();
        for (iterations, least) in [(SHORT, &mut self.short), (long_run, &mut self.long)] {
            project.reset_database(self.tasks)?;
            let usage = measure_run(&mut project.run(iterations, output))?;
            *least = usage.own_processor.min(*least);
            self.peak = usage.peak_bytes.max(self.peak);
        }
        Ok(())
    }

    /// The cost of an iteration, in milliseconds.
    fn iteration_ms(&self) -> f64 {
        let more = (self.long_run() - SHORT) as f64;
        self.long.saturating_sub(self.short).as_secs_f64() * 1000.0 / more
    }

    /// Records the cost of an iteration with this many journal entries, and of the whole run.
    fn record(&self, figures: &mut Figures, name: &str, (rows, target): (usize, Target)) {
        let each = self.iteration_ms();
        let around = self.short.as_secs_f64() * 1000.0 - each * SHORT as f64;
        for (name, value, unit, target) in [
            (name.to_owned(), each, "ms", target),
            (format!("{name}: start and end of a run"), around, "ms", Target::None),
            (format!("{name}: peak"), mib(self.peak), "MiB", Target::None),
        ] {
            figures.add(Figure {
                name,
                size: rows,
                value,
                unit,
                target,
            });
        }
    }
}

/// Records figures of one project.
struct FigureRecorder<'a, 'p> {
    figures: &'a mut Figures,
    project: &'a LoopProject<'p>,
    output: AgentOutput,
    runs: usize,
}

impl FigureRecorder<'_, '_> {
    fn record(&mut self, name: &str, value: f64, unit: &'static str, target: Target) {
        self.figures.add(Figure {
            name: name.to_owned(),
            size: self.project.rows(),
            value,
            unit,
            target,
        });
    }

    /// Measures an iteration with this many open tasks.
    fn iteration(&mut self, name: &str, tasks: usize, target: Target) -> Result<(), String> {
        let mut fastest = FastestRuns::new(tasks);
        for _ in 0..self.runs {
            fastest.measure_once(self.project, self.output)?;
        }
        fastest.record(self.figures, name, (self.project.rows(), target));
        Ok(())
    }

    /// Measures an agent that prints a gigabyte.
    fn flood(&mut self) -> Result<(), String> {
        self.project.reset_database(USUAL_TASKS)?;
        let begin = Instant::now();
        let usage = measure_run(&mut self.project.flood())?;
        let time = begin.elapsed().as_secs_f64();
        let target = Target::AtMost(MAX_FLOOD_MIB);
        self.record("an agent prints 1 GB: peak", mib(usage.peak_bytes), "MiB", target);
        self.record("an agent prints 1 GB: time", time, "s", Target::None);
        Ok(())
    }

    /// Measures the size of a prompt and its fixed part.
    fn prompt(&mut self) -> Result<(), String> {
        self.project.reset_database(USUAL_TASKS)?;
        let report = self.project.prompt_report()?;
        let all = report.lines().find_map(|line| line.strip_prefix("Total"));
        let mut numbers = all
            .unwrap_or_default()
            .split_whitespace()
            .filter_map(|word| word.parse::<f64>().ok());
        let (Some(whole), Some(fixed)) = (numbers.next(), numbers.next()) else {
            return Err(format!("ralph prompt does not print its size: {report}"));
        };
        self.record("a prompt", whole, "tokens", Target::None);
        let target = Target::AtMost(MAX_FIXED_TOKENS);
        self.record("a prompt: the fixed part", fixed, "tokens", target);
        Ok(())
    }

    /// Counts the disk syncs of an iteration.
    fn syncs(&mut self) -> Result<(), String> {
        for (name, output) in [
            ("syncs", AgentOutput::Rows),
            ("syncs with a knowledge entry", AgentOutput::RowsAndAFile),
        ] {
            self.project.reset_database(USUAL_TASKS)?;
            let Some(syncs) = syncs::of_an_iteration(self.project, output)? else {
                self.figures
                    .add_remark("strace not found: the syncs of an iteration are unknown".to_owned());
                return Ok(());
            };
            self.record(name, syncs.len() as f64, "calls", Target::None);
            self.figures.add_remark(format!("{name}: {}", describe(&syncs)));
        }
        Ok(())
    }
}

/// The syncs of each step with their files, as text.
fn describe(syncs: &Syncs) -> String {
    let steps = Step::ALL.map(|step| {
        let files: Vec<&str> = syncs
            .iter()
            .filter(|(of, _)| *of == step)
            .map(|(_, file)| file.as_str())
            .collect();
        format!("{} {} ({})", step.name(), files.len(), files.join(", "))
    });
    steps.join("; ")
}
