//! `cargo xtask soak power`: acknowledged changes must survive a power failure at any moment.
//!
//! Every round uses a new file system and adds, edits and deletes memories until it is shut down. The control rounds
//! run the command without its syncs and must lose memories; otherwise the test would prove nothing.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ralph_process::command;
use serde_json::Value;

use super::disk::{Disk, Order, Switch, probe};
use super::ledger::Ledger;
use super::writer::{Change, Power, Ralph, Writer};
use crate::child::output;
use crate::flags::Flags;
use crate::programs::Programs;
use crate::random::{Random, any_seed};

/// The default number of rounds.
const ROUNDS: u64 = 100;
/// The default number of control rounds.
const CONTROL_ROUNDS: u64 = 10;
/// The maximum number of changes before a cut that follows an acknowledgement.
const MAX_CHANGES: usize = 12;
/// The maximum delay of a cut during writes.
const MAX_DELAY: Duration = Duration::from_millis(150);
/// The maximum number of concurrent writers.
const MAX_WRITERS: usize = 3;

pub(crate) fn run(root: &Path, words: &[&str]) -> Result<(), String> {
    let flags = Flags::parse(words, &[], &["--seed", "--rounds", "--control-rounds"])?;
    let rounds = flags.number("--rounds")?.unwrap_or(ROUNDS);
    let control_rounds = flags.number("--control-rounds")?.unwrap_or(CONTROL_ROUNDS);
    if let Err(missing) = probe() {
        println!("soak power skipped: {missing}");
        return Ok(());
    }
    let programs = Programs::build(root)?;
    let library = programs.fault_library()?;
    let seed = flags.number("--seed")?.unwrap_or_else(any_seed);
    println!("soak power: seed {seed}, {rounds} rounds, {control_rounds} control rounds");
    let begin = Instant::now();
    let mut random = Random::seeded(seed);
    let mut with_syncs = Tally::default();
    for round in 1..=rounds {
        let plan = Plan::of_round(round, &mut random);
        with_syncs.take(&play(&programs, &plan, None)?, &format!("round {round} ({plan:?})"));
    }
    let mut control = Tally::default();
    for _ in 0..control_rounds {
        let plan = Plan::of_round(0, &mut random);
        control.take(&play(&programs, &plan, Some(&library))?, "");
    }
    println!("with syncs: {with_syncs}");
    println!("control, without syncs: {control}");
    println!(
        "soak power took {:.1} s with seed {seed}",
        begin.elapsed().as_secs_f64()
    );
    match (with_syncs.lost, control.lost) {
        (1.., _) => Err(format!("{} acknowledged memories were lost", with_syncs.lost)),
        (0, 0) => Err("the control rounds lost nothing, so this run proves nothing".to_owned()),
        (0, _) => Ok(()),
    }
}

/// The plan of a round, reproducible from the seed.
#[derive(Debug)]
struct Plan {
    order: Order,
    cut: Cut,
    random: Random,
}

#[derive(Debug)]
enum Cut {
    /// Right after this many acknowledged changes.
    AfterChanges(usize),
    /// After a delay, while writers are active.
    While { writers: usize, delay: Duration },
}

impl Plan {
    /// Even rounds end after an acknowledgement, odd ones during writes.
    fn of_round(round: u64, random: &mut Random) -> Self {
        let cut = if round.is_multiple_of(2) {
            Cut::AfterChanges(1 + random.below(MAX_CHANGES))
        } else {
            Cut::While {
                writers: 1 + random.below(MAX_WRITERS),
                delay: MAX_DELAY.mul_f64(random.below(1_000) as f64 / 1_000.0),
            }
        };
        let order = if random.below(2) == 0 {
            Order::Ordered
        } else {
            Order::Writeback
        };
        Self {
            order,
            cut,
            random: random.split(),
        }
    }
}

/// The outcome of a round.
#[derive(Debug)]
struct Outcome {
    ledger: Ledger,
    problems: Vec<String>,
}

#[derive(Debug, Default)]
struct Tally {
    rounds: usize,
    acknowledged: usize,
    late: usize,
    lost: usize,
}

impl Tally {
    /// Adds an outcome; problems are printed under this heading, unless it is empty.
    fn take(&mut self, outcome: &Outcome, heading: &str) {
        self.rounds += 1;
        self.acknowledged += outcome.ledger.changes();
        self.late += outcome.ledger.late();
        self.lost += outcome.problems.len();
        if !heading.is_empty() && !outcome.problems.is_empty() {
            eprintln!("{heading}:\n  {}", outcome.problems.join("\n  "));
        }
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} rounds, {} changes acknowledged before the cut ({} after it began), {} memories lost",
            self.rounds, self.acknowledged, self.late, self.lost
        )
    }
}

fn play(programs: &Programs, plan: &Plan, without_syncs: Option<&Path>) -> Result<Outcome, String> {
    let disk = Disk::make(plan.order)?;
    let project = make_project(&disk)?;
    let ralph = Ralph {
        programs,
        project: &project,
        without_syncs,
    };
    let mut random = plan.random.clone();
    let power = Power::default();
    let ledger = match plan.cut {
        Cut::AfterChanges(changes) => cut_after(Writer::new(ralph, &power, random), changes, disk.switch()?)?,
        Cut::While { writers, delay } => {
            let writers = (0..writers).map(|_| Writer::new(ralph, &power, random.split()));
            cut_while(writers.collect(), delay, (&power, disk.switch()?))?
        }
    };
    let _disk = disk.mount_again()?;
    let ralph = Ralph {
        without_syncs: None,
        ..ralph
    };
    let problems = check(ralph, &ledger);
    Ok(Outcome { ledger, problems })
}

/// Creates a project and syncs it, since that is not ralph's job.
fn make_project(disk: &Disk) -> Result<PathBuf, String> {
    let project = disk.mount_point().join("project");
    output(command("git").args(["init", "--quiet"]).arg(&project))?;
    output(command("sync").arg("--file-system").arg(&project))?;
    Ok(project)
}

fn cut_after(mut writer: Writer<'_>, changes: usize, switch: Switch) -> Result<Ledger, String> {
    for _ in 0..changes {
        writer.change()?;
    }
    switch.cut()?;
    Ok(writer.into_ledger())
}

fn cut_while(writers: Vec<Writer<'_>>, delay: Duration, (power, switch): (&Power, Switch)) -> Result<Ledger, String> {
    let (cut, ledgers) = std::thread::scope(|scope| {
        let threads: Vec<_> = writers
            .into_iter()
            .map(|writer| scope.spawn(move || write_until_cut(writer)))
            .collect();
        std::thread::sleep(delay);
        power.turn(Power::FAILING);
        let cut = switch.cut();
        power.turn(Power::OFF);
        let ledgers: Vec<_> = threads.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        (cut, ledgers)
    });
    cut?;
    let mut all = Ledger::default();
    for ledger in ledgers {
        match ledger {
            Ok(ledger) => all.merge(ledger?),
            Err(_) => return Err("a writer panicked".to_owned()),
        }
    }
    Ok(all)
}

fn write_until_cut(mut writer: Writer<'_>) -> Result<Ledger, String> {
    while writer.change()? == Change::Acknowledged {}
    Ok(writer.into_ledger())
}

/// Checks acknowledged changes. A new write comes first, because nothing may block the next writer.
fn check(ralph: Ralph<'_>, ledger: &Ledger) -> Vec<String> {
    let mut problems = Vec::new();
    for arguments in [&["add", "The power is back."][..], &["validate"]] {
        if let Err(why) = output(&mut ralph.memory(arguments)) {
            problems.push(why);
        }
    }
    let memories = answer(ralph, &["list", "--json"], &mut problems);
    let mut versions = Vec::new();
    for id in ledger.ids() {
        // An unknown memory is an error here; the ledger reports it more clearly.
        versions.extend(answer(ralph, &["show", "--history", "--json", id], &mut Vec::new()));
    }
    problems.extend(ledger.problems(&memories, &versions));
    problems
}

/// Runs the command and parses the list it prints.
fn answer(ralph: Ralph<'_>, arguments: &[&str], problems: &mut Vec<String>) -> Vec<Value> {
    let parsed = output(&mut ralph.memory(arguments)).and_then(|text| {
        serde_json::from_str(&text).map_err(|error| format!("{arguments:?} did not print a list: {error}"))
    });
    parsed.unwrap_or_else(|why| {
        problems.push(why);
        Vec::new()
    })
}
