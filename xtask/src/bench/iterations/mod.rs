//! `cargo xtask bench loop`: what the loop itself costs an iteration, beside the agent, the gates and git.
//!
//! The processor time is that of the process of `ralph run` alone. A run has a beginning and an end too, so a short run is
//! taken from a long one, and what is left is divided by the iterations that the long one has more.

mod extract;
mod history;
mod interrupt;
mod isolate;
mod knowledge;
mod learnings;
mod live;
mod syncs;
mod workplace;

use std::path::Path;
use std::time::{Duration, Instant};

use history::Memory;
use syncs::{Step, Syncs};
use workplace::{Leaves, Past, Versions, Workplace, measure_run};

use super::figures::{Figure, Figures, Target};
use super::{mib, save};
use crate::flags::Flags;
use crate::programs::Programs;

/// How many rows the journal has and how many notes there are, with the most milliseconds of an iteration there.
const SIZES: [(usize, usize, f64); 2] = [(10_000, 1_000, 25.0), (100_000, 10_000, 50.0)];
/// How many tasks wait, one after the other; the last is what most is measured with.
const TASKS: [usize; 3] = [10, 1_000, USUAL_TASKS];
const USUAL_TASKS: usize = 100;
/// How often the least is taken of.
const RUNS: usize = 7;
/// The same, when somebody is in a hurry.
const QUICK_RUNS: usize = 2;
/// How many iterations a short run has …
const SHORT: usize = 1;
/// … and a long one, if there are as many tasks.
const LONG: usize = 25;
/// From Ctrl+C to the prompt, with an agent that hears nothing, at most so many seconds: …
const INTERRUPT_SECONDS: f64 = 2.0;
/// … the worst of so many runs.
const INTERRUPTS: usize = 20;
/// The most that the live view may take while an agent talks, in hundredths of a core.
const LIVE_PERCENT: f64 = 2.0;
/// The most memory of a run whose agent prints a gigabyte, in MiB.
const FLOOD_MIB: f64 = 64.0;
/// The most that is the same in every prompt, in tokens.
const FIXED_TOKENS: f64 = 600.0;

/// `cargo xtask bench loop`.
pub(crate) fn run(root: &Path, words: &[&str]) -> Result<(), String> {
    let parts = ["--knowledge", "--learnings", "--extract", "--live", "--isolate"];
    let named: Vec<&str> = parts.into_iter().chain(["--quick"]).collect();
    let flags = Flags::parse(words, &named, &["--json"])?;
    let runs = if flags.has("--quick") { QUICK_RUNS } else { RUNS };
    let programs = Programs::build(root)?;
    let begin = Instant::now();
    let mut figures = Figures::among("rows");
    let takes_all = !parts.iter().any(|part| flags.has(part));
    for (rows, notes, most) in SIZES.into_iter().filter(|_| takes_all) {
        println!("writing a journal of {rows} rows …");
        let past = Past::write(rows, Memory::None)?;
        println!("measuring beside {notes} notes, {runs} runs of each …");
        let place = Workplace::make(&programs, &past, notes, Versions::None)?;
        let mut taker = Taker {
            figures: &mut figures,
            place: &place,
            leaves: Leaves::Rows,
            runs,
        };
        for tasks in TASKS {
            taker.iteration(&format!("an iteration, {tasks} tasks"), tasks, Target::AtMost(most))?;
        }
        taker.flood()?;
        taker.prompt()?;
        taker.syncs()?;
        let place = Workplace::make(&programs, &past, notes, Versions::Git)?;
        let mut taker = Taker {
            figures: &mut figures,
            place: &place,
            leaves: Leaves::Rows,
            runs,
        };
        taker.iteration("an iteration, in git", USUAL_TASKS, Target::AtMost(most))?;
    }
    if takes_all || flags.has("--knowledge") {
        knowledge::take(&mut figures, &programs, runs)?;
    }
    if takes_all || flags.has("--learnings") {
        learnings::take(&mut figures, &programs, runs)?;
    }
    if takes_all || flags.has("--extract") {
        extract::take(&mut figures, &programs, runs)?;
    }
    if takes_all || flags.has("--isolate") {
        isolate::take(&mut figures, &programs, runs)?;
    }
    if takes_all {
        let interrupted = if flags.has("--quick") { QUICK_RUNS } else { INTERRUPTS };
        interrupts(&mut figures, &programs, interrupted)?;
    }
    if takes_all || flags.has("--live") {
        live_view(&mut figures, &programs, runs)?;
    }
    figures.remark(
        "an iteration is the processor time of ralph alone, without the agent's and git's processes; there are no gates"
            .to_owned(),
    );
    figures.remark(format!("taken in {:.0} s", begin.elapsed().as_secs_f64()));
    print!("\n{}", figures.table());
    let document = format!("{:#}\n", figures.json("loop", runs));
    match flags.value("--json") {
        None => print!("\n{document}"),
        Some(path) => save(path, &document)?,
    }
    Ok(())
}

/// What the live view costs.
fn live_view(figures: &mut Figures, programs: &Programs, runs: usize) -> Result<(), String> {
    println!("looking at {runs} runs at a terminal …");
    let cost = live::cost(programs, runs)?;
    for (name, value, unit, target) in [
        (
            "the live view while an agent talks",
            cost.percent,
            "% of a core",
            Target::AtMost(LIVE_PERCENT),
        ),
        ("the live view: begin and end", cost.around_ms, "ms", Target::None),
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

/// How long a person waits after Ctrl+C.
fn interrupts(figures: &mut Figures, programs: &Programs, runs: usize) -> Result<(), String> {
    println!("interrupting {runs} runs …");
    let mut times = Vec::with_capacity(runs);
    for _ in 0..runs {
        times.push(interrupt::time_to_the_prompt(programs)?.as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    let median = times.get(runs / 2).copied().unwrap_or_default();
    let worst = times.last().copied().unwrap_or_default();
    for (name, value, target) in [
        ("median", median, Target::None),
        ("worst", worst, Target::AtMost(INTERRUPT_SECONDS)),
    ] {
        figures.add(Figure {
            name: format!("Ctrl+C with an agent that hears nothing: {name} of {runs}"),
            size: 0,
            value,
            unit: "s",
            target,
        });
    }
    Ok(())
}

/// The least processor time that short and long runs in a project took.
struct Least {
    tasks: usize,
    short: Duration,
    long: Duration,
    /// The most memory of any of them.
    peak: u64,
}

impl Least {
    /// Before the first run among so many tasks.
    fn among(tasks: usize) -> Self {
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

    /// One more run of each.
    fn round(&mut self, place: &Workplace<'_>, leaves: Leaves) -> Result<(), String> {
        let long_run = self.long_run();
        for (iterations, least) in [(SHORT, &mut self.short), (long_run, &mut self.long)] {
            place.begin_again(self.tasks)?;
            let usage = measure_run(&mut place.run(iterations, leaves))?;
            *least = usage.own_processor.min(*least);
            self.peak = usage.peak_bytes.max(self.peak);
        }
        Ok(())
    }

    /// What an iteration costs, in milliseconds.
    fn iteration_ms(&self) -> f64 {
        let more = (self.long_run() - SHORT) as f64;
        self.long.saturating_sub(self.short).as_secs_f64() * 1000.0 / more
    }

    /// Adds what an iteration costs among so many rows of the journal, and what the whole run needs.
    fn tell(&self, figures: &mut Figures, name: &str, (rows, target): (usize, Target)) {
        let each = self.iteration_ms();
        let around = self.short.as_secs_f64() * 1000.0 - each * SHORT as f64;
        for (name, value, unit, target) in [
            (name.to_owned(), each, "ms", target),
            (format!("{name}: begin and end of a run"), around, "ms", Target::None),
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

/// Takes figures in one project.
struct Taker<'a, 'p> {
    figures: &'a mut Figures,
    place: &'a Workplace<'p>,
    leaves: Leaves,
    runs: usize,
}

impl Taker<'_, '_> {
    fn take(&mut self, name: &str, value: f64, unit: &'static str, target: Target) {
        self.figures.add(Figure {
            name: name.to_owned(),
            size: self.place.rows(),
            value,
            unit,
            target,
        });
    }

    /// What an iteration costs among so many tasks, and what the whole run needs.
    fn iteration(&mut self, name: &str, tasks: usize, target: Target) -> Result<(), String> {
        let mut least = Least::among(tasks);
        for _ in 0..self.runs {
            least.round(self.place, self.leaves)?;
        }
        least.tell(self.figures, name, (self.place.rows(), target));
        Ok(())
    }

    /// What an agent costs that prints without end.
    fn flood(&mut self) -> Result<(), String> {
        self.place.begin_again(USUAL_TASKS)?;
        let begin = Instant::now();
        let usage = measure_run(&mut self.place.flood())?;
        let time = begin.elapsed().as_secs_f64();
        let target = Target::AtMost(FLOOD_MIB);
        self.take("an agent prints 1 GB: peak", mib(usage.peak_bytes), "MiB", target);
        self.take("an agent prints 1 GB: time", time, "s", Target::None);
        Ok(())
    }

    /// How much of a prompt is the same in every one.
    fn prompt(&mut self) -> Result<(), String> {
        self.place.begin_again(USUAL_TASKS)?;
        let report = self.place.prompt_report()?;
        let all = report.lines().find_map(|line| line.strip_prefix("All together"));
        let mut numbers = all
            .unwrap_or_default()
            .split_whitespace()
            .filter_map(|word| word.parse::<f64>().ok());
        let (Some(whole), Some(fixed)) = (numbers.next(), numbers.next()) else {
            return Err(format!("ralph prompt does not tell its size: {report}"));
        };
        self.take("a prompt", whole, "tokens", Target::None);
        let target = Target::AtMost(FIXED_TOKENS);
        self.take("a prompt: the same in every one", fixed, "tokens", target);
        Ok(())
    }

    /// How often an iteration waits for the disk.
    fn syncs(&mut self) -> Result<(), String> {
        for (name, leaves) in [
            ("syncs", Leaves::Rows),
            ("syncs with a long note", Leaves::RowsAndAFile),
        ] {
            self.place.begin_again(USUAL_TASKS)?;
            let Some(syncs) = syncs::of_an_iteration(self.place, leaves)? else {
                self.figures
                    .remark("strace not found: how often an iteration syncs is not known".to_owned());
                return Ok(());
            };
            self.take(name, syncs.len() as f64, "calls", Target::None);
            self.figures.remark(format!("{name}: {}", explained(&syncs)));
        }
        Ok(())
    }
}

/// Which step the syncs belong to, and which files they are of.
fn explained(syncs: &Syncs) -> String {
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
