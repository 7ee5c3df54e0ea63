//! Benchmarks: the cost of the command, compared with bare programs that do the minimum.
//!
//! A missed target is reported but not an error: the machine may be busy, and a person reads the figures.

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

/// The project sizes, in memories.
const SIZES: [usize; 4] = [100, 1_000, 10_000, 100_000];
/// The number of cold runs; the fastest counts.
const RUNS: usize = 30;
/// The number of runs with `--quick`.
const QUICK_RUNS: usize = 5;
/// How many races of concurrent writers there are.
const RACES: usize = 10;
/// The project size for races.
const RACE_MEMORIES: usize = 1_000;
/// How many memories are added to see whether additions slow down the next command.
const AGING_ADDS: usize = 300;
/// The project size for that, where little else takes time.
const AGING_MEMORIES: usize = 100;
/// The maximum time of `show` and `list`, relative to opening SQLite and reading a row.
const MAX_ROW_RATIO: f64 = 1.5;
/// The maximum time of `search` and `recall`, relative to one FTS5 query.
const MAX_SEARCH_RATIO: f64 = 1.5;
/// The maximum time of `prime` and the hook, relative to one FTS5 query.
const MAX_PRIME_RATIO: f64 = 2.0;
/// The number of words in a short search.
const FEW_WORDS: usize = 10;
/// The number of words in a long search, such as a whole task.
const MANY_WORDS: usize = 200;
/// The maximum time of a long search, relative to a short one.
const MAX_LONG_RATIO: f64 = 4.0;
/// The maximum memory of a command.
const MAX_PEAK_MIB: f64 = 30.0;
/// The project size at which the memory limit applies.
const PEAK_MEMORIES: usize = 10_000;
/// How many times `add` may read and write the whole file.
const MAX_PASSES: f64 = 1.0;
/// How much else `add` may write: its log row and the pages around it, independent of the project size.
const MAX_LOG_KIB: f64 = 64.0;
/// How often `add` is traced. The minimum counts, because sometimes the write-ahead log is checkpointed.
const TRACES: usize = 3;
/// The maximum time of the slowest writer, relative to the median.
const MAX_TURN_RATIO: f64 = 5.0;

/// `cargo xtask bench notes`.
pub(crate) fn notes(root: &Path, words: &[&str]) -> Result<(), String> {
    let flags = Flags::parse(words, &["--quick"], &["--json"])?;
    let runs = if flags.has("--quick") { QUICK_RUNS } else { RUNS };
    let programs = Programs::build(root)?;
    let begin = Instant::now();
    let mut figures = Figures::new("memories");
    for memories in SIZES {
        println!("measuring with {memories} memories, {runs} runs of each …");
        let project = Project::make(&programs, memories)?;
        reads(&mut figures, &project, runs)?;
        searches(&mut figures, &project, runs)?;
        writes(&mut figures, &project, runs)?;
        if memories == RACE_MEMORIES {
            races(&mut figures, &project)?;
        }
        if memories == AGING_MEMORIES {
            aging(&mut figures, &project, runs)?;
        }
    }
    figures.add_remark(format!("taken in {:.0} s", begin.elapsed().as_secs_f64()));
    print!("\n{}", figures.table());
    let document = format!("{:#}\n", figures.json("notes", runs));
    match flags.value("--json") {
        None => print!("\n{document}"),
        Some(path) => save(path, &document)?,
    }
    Ok(())
}

fn save(path: &str, document: &str) -> Result<(), String> {
    File::create(path)
        .and_then(|mut file| file.write_all(document.as_bytes()))
        .map_err(|error| format!("cannot write {path}: {error}"))
}

/// The lowest processor time and highest memory peak of several runs.
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

/// Runs commands in turn, so that other load on the machine affects them equally.
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
    let mut recorder = FigureRecorder { figures, project };
    recorder.record("size of the file", bytes as f64 / 1024.0, "KiB", Target::None);
    recorder.record("empty process", empty.milliseconds(), "ms", Target::None);
    recorder.record("bare row", row.milliseconds(), "ms", Target::None);
    for (name, cost) in [("show", show), ("list --last 20", list)] {
        recorder.record_ratio(name, cost, ("bare row", row), MAX_ROW_RATIO);
        recorder.peak(name, cost);
    }
    // Lower peaks cannot be measured; see `sys::wait`.
    recorder.record("empty process, peak", mib(empty.peak_bytes), "MiB", Target::None);
    Ok(())
}

/// The cost of searching and ranking, compared with one bare FTS5 query.
fn searches(figures: &mut Figures, project: &Project<'_>, runs: usize) -> Result<(), String> {
    let bare_ten = || project.bare_search(FEW_WORDS);
    let hook = || project.hook();
    // Built for every run, because a command's input can be read only once. This checks for errors early.
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
    let mut recorder = FigureRecorder { figures, project };
    recorder.record("bare search", bare.milliseconds(), "ms", Target::None);
    for (name, cost, most) in [
        ("search", search, MAX_SEARCH_RATIO),
        ("recall", recall, MAX_SEARCH_RATIO),
        ("prime --budget 2000", prime, MAX_PRIME_RATIO),
        ("hook session-start", hook, MAX_PRIME_RATIO),
    ] {
        recorder.record_ratio(name, cost, ("bare search", bare), most);
        recorder.peak(name, cost);
    }
    recorder.record_ratio(
        &format!("search, {MANY_WORDS} words"),
        long,
        (&format!("search, {FEW_WORDS} words"), search),
        MAX_LONG_RATIO,
    );
    Ok(())
}

fn writes(figures: &mut Figures, project: &Project<'_>, runs: usize) -> Result<(), String> {
    let [rewrite, add] = costs(runs, |run| [project.rewrite(), project.add(run)])?;
    let traced = (0..TRACES).map(|trace| trace::add(project, runs + trace));
    let traced = traced.collect::<Result<Option<Vec<_>>, _>>()?;
    let least = traced.and_then(|traced| traced.into_iter().min_by_key(|traced| traced.written_elsewhere));
    let mut recorder = FigureRecorder { figures, project };
    recorder.record("bare rewrite", rewrite.milliseconds(), "ms", Target::None);
    recorder.record("add", add.milliseconds(), "ms", Target::None);
    let ratio = add.milliseconds() / rewrite.milliseconds();
    recorder.record("add / bare rewrite", ratio, "×", Target::None);
    recorder.peak("add", add);
    let Some(traced) = least else {
        figures.add_remark("strace not found: the reads, writes and syncs of `add` are unknown".to_owned());
        return Ok(());
    };
    let passes = Target::AtMost(MAX_PASSES);
    recorder.record("add, read of the file", traced.read_passes(), "×", passes);
    recorder.record("add, written of the file", traced.write_passes(), "×", passes);
    let log = traced.written_elsewhere as f64 / 1024.0;
    recorder.record("add, written to the log", log, "KiB", Target::AtMost(MAX_LOG_KIB));
    let index = traced.written_to_index as f64 / 1024.0;
    recorder.record("add, written to the index", index, "KiB", Target::None);
    recorder.record("add, syncs", traced.syncs as f64, "calls", Target::None);
    Ok(())
}

/// The cost of `show` after many additions: their log must not be read again by every command.
fn aging(figures: &mut Figures, project: &Project<'_>, runs: usize) -> Result<(), String> {
    for number in 0..AGING_ADDS {
        measure(&mut project.add(runs + number))?;
    }
    project.settle()?;
    let [row, show] = costs(runs, |_| [project.row(), project.show()])?;
    let ratio = show.milliseconds() / row.milliseconds();
    let name = format!("show / bare row, {AGING_ADDS} adds later");
    let log = std::fs::metadata(project.path(".ralph/progress.db-wal")).map_or(0, |metadata| metadata.len());
    let mut recorder = FigureRecorder { figures, project };
    recorder.record(&name, ratio, "×", Target::AtMost(MAX_ROW_RATIO));
    recorder.record("write-ahead log by then", log as f64 / 1024.0, "KiB", Target::None);
    Ok(())
}

fn races(figures: &mut Figures, project: &Project<'_>) -> Result<(), String> {
    let mut races = (0..RACES)
        .map(|_| turns::race(project))
        .collect::<Result<Vec<_>, _>>()?;
    races.sort_by(|one, other| one.ratio().total_cmp(&other.ratio()));
    let writers = turns::WRITERS;
    let mut recorder = FigureRecorder { figures, project };
    if let (Some(median), Some(worst)) = (races.get(RACES / 2), races.last()) {
        let name = format!("{writers} adds at once, median");
        recorder.record(&name, median.median.as_secs_f64() * 1000.0, "ms", Target::None);
        let name = format!("{writers} adds at once, slowest / median");
        recorder.record(&name, median.ratio(), "×", Target::AtMost(MAX_TURN_RATIO));
        recorder.record(
            &format!("{name}, worst of {RACES}"),
            worst.ratio(),
            "×",
            Target::AtMost(MAX_TURN_RATIO),
        );
    }
    Ok(())
}

/// Records the figures of one project.
struct FigureRecorder<'a, 'p> {
    figures: &'a mut Figures,
    project: &'a Project<'p>,
}

impl FigureRecorder<'_, '_> {
    fn record(&mut self, name: &str, value: f64, unit: &'static str, target: Target) {
        self.figures.add(Figure {
            name: name.to_owned(),
            size: self.project.memories(),
            value,
            unit,
            target,
        });
    }

    /// Records a cost, and its ratio to another one.
    fn record_ratio(&mut self, name: &str, cost: Cost, (floor_name, floor): (&str, Cost), most: f64) {
        self.record(name, cost.milliseconds(), "ms", Target::None);
        let ratio = cost.milliseconds() / floor.milliseconds();
        self.record(&format!("{name} / {floor_name}"), ratio, "×", Target::AtMost(most));
    }

    fn peak(&mut self, name: &str, cost: Cost) {
        let target = if self.project.memories() == PEAK_MEMORIES {
            Target::AtMost(MAX_PEAK_MIB)
        } else {
            Target::None
        };
        self.record(&format!("{name}, peak"), mib(cost.peak_bytes), "MiB", target);
    }
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / 1024.0 / 1024.0
}
