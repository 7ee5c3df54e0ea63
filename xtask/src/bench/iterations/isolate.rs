//! What it costs that a task has a checkout of its own: the checkout, the landing and the removal, beside a shared clone that git
//! makes by itself.
//!
//! All processor time counts, that of git too. What a task costs in a checkout is taken as more than what it costs in the project
//! itself.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use ralph_process::command;

use super::history::Memory;
use super::workplace::{Leaves, PROGRAMS, Past, Versions, Workplace, measure_run};
use crate::bench::figures::{Figure, Figures, Target};
use crate::child::measure;
use crate::programs::Programs;

/// How many files git tracks, one after the other.
const SIZES: [usize; 2] = [1_000, 10_000];
/// The most milliseconds beyond the shared clone, in the largest project.
const MOST: f64 = 300.0;
/// How many iterations the journal has, and how many notes there are.
const ROWS: usize = 100;
const NOTES: usize = 10;
/// How many tasks there are, and how many of them a short and a long run does.
const TASKS: usize = 12;
const SHORT: usize = 1;
const LONG: usize = 9;

/// Milliseconds of a task.
struct Costs {
    isolated: f64,
    in_place: f64,
    clone: f64,
}

impl Costs {
    /// What the checkout, the landing and the removal cost.
    fn of_isolation(&self) -> f64 {
        self.isolated - self.in_place
    }
}

/// Takes the figures.
pub(super) fn take(figures: &mut Figures, programs: &Programs, runs: usize) -> Result<(), String> {
    let past = Past::write(ROWS, Memory::None)?;
    let mut all = Vec::new();
    for files in SIZES {
        println!("measuring checkouts of {files} files, {runs} runs of each …");
        let place = Workplace::with_files(programs, &past, NOTES, (files, Versions::Git))?;
        let costs = costs(&place, runs)?;
        let target = match files == SIZES[SIZES.len() - 1] {
            true => Target::AtMost(MOST),
            false => Target::None,
        };
        for (name, value, target) in [
            ("a task in a checkout", costs.isolated, Target::None),
            ("the same in the project itself", costs.in_place, Target::None),
            ("git clone --shared and git checkout", costs.clone, Target::None),
            ("checkout, landing and removal", costs.of_isolation(), Target::None),
            (
                "beyond the clone and the checkout of git",
                costs.of_isolation() - costs.clone,
                target,
            ),
        ] {
            figures.add(Figure {
                name: name.to_owned(),
                size: files,
                value,
                unit: "ms",
                target,
            });
        }
        all.push(costs);
    }
    if let [small, .., large] = all.as_slice() {
        let git = large.clone / small.clone;
        figures.add(Figure {
            name: "checkout, landing and removal: growth / that of git".to_owned(),
            size: SIZES[SIZES.len() - 1],
            value: large.of_isolation() / small.of_isolation() / git,
            unit: "×",
            target: Target::AtMost(1.0),
        });
    }
    Ok(())
}

fn costs(place: &Workplace<'_>, runs: usize) -> Result<Costs, String> {
    let mut least = [[Duration::MAX; 2]; 2];
    let mut clone = Duration::MAX;
    for _ in 0..runs {
        for (isolate, least) in ["auto", "off"].into_iter().zip(&mut least) {
            for (iterations, least) in [SHORT, LONG].into_iter().zip(least) {
                place.begin_again(TASKS)?;
                place.reset()?;
                let mut run = place.run(iterations, Leaves::Rows);
                run.env("RALPH_GIT_ISOLATE", isolate);
                *least = measure_run(&mut run)?.processor.min(*least);
            }
        }
        clone = shared_clone(&place.path(""))?.min(clone);
    }
    let each = |[short, long]: [Duration; 2]| milliseconds(long.saturating_sub(short)) / (LONG - SHORT) as f64;
    let [isolated, in_place] = least;
    Ok(Costs {
        isolated: each(isolated),
        in_place: each(in_place),
        clone: milliseconds(clone),
    })
}

/// The processor time of the least that git needs for a second checkout.
fn shared_clone(project: &Path) -> Result<Duration, String> {
    let folder = tempfile::Builder::new().prefix("ralph-bench-").tempdir();
    let folder = folder.map_err(|error| format!("cannot make a folder: {error}"))?;
    let clone = "git clone --quiet --shared --no-checkout \"$0\" clone && git -C clone checkout --quiet";
    let mut shell = command("sh");
    shell
        .args(["-c", clone])
        .arg(project)
        .current_dir(folder.path())
        .env("PATH", PROGRAMS)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    Ok(measure(&mut shell)?.processor)
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
