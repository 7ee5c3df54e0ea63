//! Benchmarks: what the command costs beside bare programs that do the least that is needed.
//!
//! A target that is missed is said and fails nothing: the machine may be busy, and a figure is read by a person.

pub(crate) mod corpus;
mod figures;
mod iterations;
mod learnings;
mod project;
mod recall;
mod secrets;
mod table;
mod trace;
mod turns;
mod words;

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use figures::{Figure, Figures, Target};
pub(crate) use iterations::run as iterations;
pub(crate) use learnings::run as learnings;
use project::Project;
pub(crate) use recall::recall;
pub(crate) use secrets::secrets;

use crate::child::measure;
use crate::flags::Flags;
use crate::programs::Programs;
use crate::sys::Usage;

/// How many memories a project has, one after the other.
const SIZES: [usize; 4] = [100, 1_000, 10_000, 100_000];
/// How many cold runs the least is taken of.
const RUNS: usize = 30;
/// The same, when somebody is in a hurry.
const QUICK_RUNS: usize = 5;
/// How often many writers are let go at once.
const RACES: usize = 10;
/// In a project of this size.
const RACE_MEMORIES: usize = 1_000;
/// How many memories are added one after the other to see whether what was added makes the next command slower …
const LATER_ADDS: usize = 300;
/// … in a project of this size, where little else costs anything.
const LATER_MEMORIES: usize = 100;
/// `show` and `list` take at most so many times what it takes to open SQLite and read a row.
const ROW_RATIO: f64 = 1.5;
/// `search` and `recall` take at most so many times what one query of FTS5 takes …
const SEARCH_RATIO: f64 = 1.5;
/// … and `prime` and the hook so many times.
const PRIME_RATIO: f64 = 2.0;
/// How many words a search has …
const FEW_WORDS: usize = 10;
/// … and a task, which is searched with as a whole, …
const MANY_WORDS: usize = 200;
/// … in at most so many times the time.
const LONG_RATIO: f64 = 4.0;
/// The most memory that a command may use …
const PEAK_MIB: f64 = 30.0;
/// … among so many memories.
const PEAK_MEMORIES: usize = 10_000;
/// `add` reads the file so many times, and writes it as often.
const PASSES: f64 = 1.0;
/// Beside that, `add` writes its own row into the log, and the few pages around it, however many memories there are.
const LOG_KIB: f64 = 64.0;
/// How often `add` is traced. The least counts, because now and then the log is folded into its database.
const TRACES: usize = 3;
/// The slowest of many writers waits at most so many times as long as the median.
const TURN_RATIO: f64 = 5.0;

/// `cargo xtask bench notes`.
pub(crate) fn notes(root: &Path, words: &[&str]) -> Result<(), String> {
    let flags = Flags::parse(words, &["--quick"], &["--json"])?;
    let runs = if flags.has("--quick") { QUICK_RUNS } else { RUNS };
    let programs = Programs::build(root)?;
    let begin = Instant::now();
    let mut figures = Figures::among("memories");
    for memories in SIZES {
        println!("measuring among {memories} memories, {runs} runs of each …");
        let project = Project::make(&programs, memories)?;
        reads(&mut figures, &project, runs)?;
        searches(&mut figures, &project, runs)?;
        writes(&mut figures, &project, runs)?;
        if memories == RACE_MEMORIES {
            races(&mut figures, &project)?;
        }
        if memories == LATER_MEMORIES {
            later(&mut figures, &project, runs)?;
        }
    }
    figures.remark(format!("taken in {:.0} s", begin.elapsed().as_secs_f64()));
    print!("\n{}", figures.table());
    let document = format!("{:#}\n", figures.json("notes", runs));
    match flags.value("--json") {
        None => print!("\n{document}"),
        Some(path) => save(path, &document)?,
    }
    Ok(())
}

/// Writes the document of a benchmark.
fn save(path: &str, document: &str) -> Result<(), String> {
    File::create(path)
        .and_then(|mut file| file.write_all(document.as_bytes()))
        .map_err(|error| format!("cannot write {path}: {error}"))
}

/// The least processor time and the greatest peak of memory of several runs.
#[derive(Debug, Clone, Copy)]
struct Cost {
    processor: Duration,
    peak_bytes: u64,
}

impl Cost {
    const NONE: Self = Self {
        processor: Duration::MAX,
        peak_bytes: 0,
    };

    fn and(self, usage: Usage) -> Self {
        Self {
            processor: self.processor.min(usage.processor),
            peak_bytes: self.peak_bytes.max(usage.peak_bytes),
        }
    }

    fn milliseconds(&self) -> f64 {
        self.processor.as_secs_f64() * 1000.0
    }
}

/// Runs some commands in turn, so that whatever else the machine does falls on all of them alike.
fn costs<const N: usize>(runs: usize, mut commands: impl FnMut(usize) -> [Command; N]) -> Result<[Cost; N], String> {
    let mut costs = [Cost::NONE; N];
    for run in 0..runs {
        for (cost, mut command) in costs.iter_mut().zip(commands(run)) {
            *cost = cost.and(measure(&mut command)?);
        }
    }
    Ok(costs)
}

fn reads(figures: &mut Figures, project: &Project<'_>, runs: usize) -> Result<(), String> {
    let [empty, row, show, list] = costs(runs, |_| {
        [project.empty(), project.row(), project.show(), project.list()]
    })?;
    let bytes = project.file_bytes()?;
    let mut taker = Taker { figures, project };
    taker.take("size of the file", bytes as f64 / 1024.0, "KiB", Target::None);
    taker.take("empty process", empty.milliseconds(), "ms", Target::None);
    taker.take("bare row", row.milliseconds(), "ms", Target::None);
    for (name, cost) in [("show", show), ("list --last 20", list)] {
        taker.beside(name, cost, ("bare row", row), ROW_RATIO);
        taker.peak(name, cost);
    }
    // Below this no peak can be seen; see `sys::wait`.
    taker.take("empty process, peak", mib(empty.peak_bytes), "MiB", Target::None);
    Ok(())
}

/// What finding and choosing costs, beside one query that FTS5 answers alone.
fn searches(figures: &mut Figures, project: &Project<'_>, runs: usize) -> Result<(), String> {
    let bare_ten = || project.bare_search(FEW_WORDS);
    let hook = || project.hook();
    // Both are made for every run anew: a command's input is read once.
    bare_ten()?;
    hook()?;
    let commands = |_| -> [Command; 6] {
        let or_empty = |command: Result<Command, String>| command.unwrap_or_else(|_| project.empty());
        [
            or_empty(bare_ten()),
            project.search(FEW_WORDS),
            project.recall(FEW_WORDS),
            project.prime(),
            or_empty(hook()),
            project.search(MANY_WORDS),
        ]
    };
    let [bare, search, recall, prime, hook, long] = costs(runs, commands)?;
    let mut taker = Taker { figures, project };
    taker.take("bare search", bare.milliseconds(), "ms", Target::None);
    for (name, cost, most) in [
        ("search", search, SEARCH_RATIO),
        ("recall", recall, SEARCH_RATIO),
        ("prime --budget 2000", prime, PRIME_RATIO),
        ("hook session-start", hook, PRIME_RATIO),
    ] {
        taker.beside(name, cost, ("bare search", bare), most);
        taker.peak(name, cost);
    }
    taker.beside(
        &format!("search, {MANY_WORDS} words"),
        long,
        (&format!("search, {FEW_WORDS} words"), search),
        LONG_RATIO,
    );
    Ok(())
}

fn writes(figures: &mut Figures, project: &Project<'_>, runs: usize) -> Result<(), String> {
    let [rewrite, add] = costs(runs, |run| [project.rewrite(), project.add(run)])?;
    let traced = (0..TRACES).map(|trace| trace::add(project, runs + trace));
    let traced = traced.collect::<Result<Option<Vec<_>>, _>>()?;
    let least = traced.and_then(|traced| traced.into_iter().min_by_key(|traced| traced.written_elsewhere));
    let mut taker = Taker { figures, project };
    taker.take("bare rewrite", rewrite.milliseconds(), "ms", Target::None);
    taker.take("add", add.milliseconds(), "ms", Target::None);
    let ratio = add.milliseconds() / rewrite.milliseconds();
    taker.take("add / bare rewrite", ratio, "×", Target::None);
    taker.peak("add", add);
    let Some(traced) = least else {
        figures.remark("strace not found: what `add` reads, writes and syncs is not known".to_owned());
        return Ok(());
    };
    let passes = Target::AtMost(PASSES);
    taker.take("add, read of the file", traced.read_passes(), "×", passes);
    taker.take("add, written of the file", traced.write_passes(), "×", passes);
    let log = traced.written_elsewhere as f64 / 1024.0;
    taker.take("add, written to the log", log, "KiB", Target::AtMost(LOG_KIB));
    let index = traced.written_to_index as f64 / 1024.0;
    taker.take("add, written to the index", index, "KiB", Target::None);
    taker.take("add, syncs", traced.syncs as f64, "calls", Target::None);
    Ok(())
}

/// What `show` costs when many memories were added: their log must not be read again by every command.
fn later(figures: &mut Figures, project: &Project<'_>, runs: usize) -> Result<(), String> {
    for number in 0..LATER_ADDS {
        measure(&mut project.add(runs + number))?;
    }
    project.settle()?;
    let [row, show] = costs(runs, |_| [project.row(), project.show()])?;
    let ratio = show.milliseconds() / row.milliseconds();
    let name = format!("show / bare row, {LATER_ADDS} adds later");
    let log = std::fs::metadata(project.path(".ralph/progress.db-wal")).map_or(0, |metadata| metadata.len());
    let mut taker = Taker { figures, project };
    taker.take(&name, ratio, "×", Target::AtMost(ROW_RATIO));
    taker.take("write-ahead log by then", log as f64 / 1024.0, "KiB", Target::None);
    Ok(())
}

fn races(figures: &mut Figures, project: &Project<'_>) -> Result<(), String> {
    let mut races = (0..RACES)
        .map(|_| turns::race(project))
        .collect::<Result<Vec<_>, _>>()?;
    races.sort_by(|one, other| one.ratio().total_cmp(&other.ratio()));
    let writers = turns::WRITERS;
    let mut taker = Taker { figures, project };
    if let (Some(median), Some(worst)) = (races.get(RACES / 2), races.last()) {
        let name = format!("{writers} adds at once, median");
        taker.take(&name, median.median.as_secs_f64() * 1000.0, "ms", Target::None);
        let name = format!("{writers} adds at once, slowest / median");
        taker.take(&name, median.ratio(), "×", Target::AtMost(TURN_RATIO));
        taker.take(
            &format!("{name}, worst of {RACES}"),
            worst.ratio(),
            "×",
            Target::AtMost(TURN_RATIO),
        );
    }
    Ok(())
}

/// Takes figures of one project in.
struct Taker<'a, 'p> {
    figures: &'a mut Figures,
    project: &'a Project<'p>,
}

impl Taker<'_, '_> {
    fn take(&mut self, name: &str, value: f64, unit: &'static str, target: Target) {
        self.figures.add(Figure {
            name: name.to_owned(),
            size: self.project.memories(),
            value,
            unit,
            target,
        });
    }

    /// What something costs, and how many times what something else costs that is.
    fn beside(&mut self, name: &str, cost: Cost, (floor_name, floor): (&str, Cost), most: f64) {
        self.take(name, cost.milliseconds(), "ms", Target::None);
        let ratio = cost.milliseconds() / floor.milliseconds();
        self.take(&format!("{name} / {floor_name}"), ratio, "×", Target::AtMost(most));
    }

    fn peak(&mut self, name: &str, cost: Cost) {
        let target = if self.project.memories() == PEAK_MEMORIES {
            Target::AtMost(PEAK_MIB)
        } else {
            Target::None
        };
        self.take(&format!("{name}, peak"), mib(cost.peak_bytes), "MiB", target);
    }
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / 1024.0 / 1024.0
}
