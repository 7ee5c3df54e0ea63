//! `cargo xtask soak power`: what was acknowledged must be there after the power failed at any moment.
//!
//! Every round has a new file system, in which memories are added, edited and deleted until it is cut off. The control does
//! the same with the syncs taken out of the command and must lose memories; if it did not, the rounds would prove nothing.

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

/// How many rounds there are unless somebody says otherwise.
const ROUNDS: u64 = 100;
/// The same, of the control.
const CONTROL_ROUNDS: u64 = 10;
/// The most changes before a cut that comes right after an acknowledgement.
const MAX_CHANGES: usize = 12;
/// The latest moment of a cut that comes while somebody writes.
const MAX_DELAY: Duration = Duration::from_millis(150);
/// The most writers at once.
const MAX_WRITERS: usize = 3;

/// Runs all rounds and the control.
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
    println!("soak power: seed {seed}, {rounds} rounds, {control_rounds} rounds of the control");
    let begin = Instant::now();
    let mut random = Random::seeded(seed);
    let mut held = Tally::default();
    for round in 1..=rounds {
        let plan = Plan::of_round(round, &mut random);
        held.take(&play(&programs, &plan, None)?, &format!("round {round} ({plan:?})"));
    }
    let mut control = Tally::default();
    for _ in 0..control_rounds {
        let plan = Plan::of_round(0, &mut random);
        control.take(&play(&programs, &plan, Some(&library))?, "");
    }
    println!("with its syncs: {held}");
    println!("control, without them: {control}");
    println!(
        "soak power took {:.1} s with seed {seed}",
        begin.elapsed().as_secs_f64()
    );
    match (held.lost, control.lost) {
        (1.., _) => Err(format!("{} acknowledged memories did not hold", held.lost)),
        (0, 0) => Err("the control lost nothing, so this proves nothing".to_owned()),
        (0, _) => Ok(()),
    }
}

/// What a round does; it can be done again from the seed.
#[derive(Debug)]
struct Plan {
    order: Order,
    cut: Cut,
    random: Random,
}

/// When the power fails.
#[derive(Debug)]
enum Cut {
    /// Right after so many changes were acknowledged.
    AfterChanges(usize),
    /// So long after so many writers began.
    While { writers: usize, delay: Duration },
}

impl Plan {
    /// Even rounds end after an acknowledgement, odd ones while somebody writes.
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

/// What came of a round.
#[derive(Debug)]
struct Outcome {
    ledger: Ledger,
    broken: Vec<String>,
}

/// What came of many.
#[derive(Debug, Default)]
struct Tally {
    rounds: usize,
    acknowledged: usize,
    late: usize,
    lost: usize,
}

impl Tally {
    /// Takes an outcome in; what is broken is printed under this heading, if there is one.
    fn take(&mut self, outcome: &Outcome, heading: &str) {
        self.rounds += 1;
        self.acknowledged += outcome.ledger.changes();
        self.late += outcome.ledger.late();
        self.lost += outcome.broken.len();
        if !heading.is_empty() && !outcome.broken.is_empty() {
            eprintln!("{heading}:\n  {}", outcome.broken.join("\n  "));
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
    let broken = check(ralph, &ledger);
    Ok(Outcome { ledger, broken })
}

/// Makes a project whose folder is on the disk for good: that is not ralph's business.
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

/// What does not hold of what was acknowledged. The next writer comes first: nothing may stay in its way.
fn check(ralph: Ralph<'_>, ledger: &Ledger) -> Vec<String> {
    let mut broken = Vec::new();
    for arguments in [&["add", "The power is back."][..], &["validate"]] {
        if let Err(why) = output(&mut ralph.memory(arguments)) {
            broken.push(why);
        }
    }
    let memories = answer(ralph, &["list", "--json"], &mut broken);
    let mut versions = Vec::new();
    for id in ledger.ids() {
        // A note that nothing is known of is an error here; the ledger says so better.
        versions.extend(answer(ralph, &["show", "--history", "--json", id], &mut Vec::new()));
    }
    broken.extend(ledger.broken(&memories, &versions));
    broken
}

/// The list that the command answers with.
fn answer(ralph: Ralph<'_>, arguments: &[&str], broken: &mut Vec<String>) -> Vec<Value> {
    let parsed = output(&mut ralph.memory(arguments)).and_then(|text| {
        serde_json::from_str(&text).map_err(|error| format!("{arguments:?} answered no list: {error}"))
    });
    parsed.unwrap_or_else(|why| {
        broken.push(why);
        Vec::new()
    })
}
