//! The cost of a separate checkout per task: the checkout, the landing and the removal, compared with a shared clone.
//!
//! All processor time counts, including git's, with the files in memory. The cost of isolation is a task in a checkout
//! minus one in the project.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use ralph_process::command;

use super::history::Memory;
use super::loop_project::{AgentOutput, LoopProject, PROGRAMS, SeedDatabase, Storage, VersionControl, measure_run};
use crate::bench::figures::{Figure, Figures, Target};
use crate::child::measure;
use crate::programs::Programs;

/// The project sizes, in tracked files.
const SIZES: [usize; 2] = [1_000, 10_000];
/// The maximum milliseconds beyond the shared clone, in the largest project.
const MOST: f64 = 300.0;
/// The number of journal entries, and of notes.
const ROWS: usize = 100;
const NOTES: usize = 10;
/// The number of tasks, and how many of them a short and a long run does.
const TASKS: usize = 12;
const SHORT: usize = 1;
const LONG: usize = 9;

struct Costs {
    isolated: f64,
    in_place: f64,
    clone: f64,
}

impl Costs {
    /// The cost of checkout, landing and removal.
    fn of_isolation(&self) -> f64 {
        self.isolated - self.in_place
    }
}

pub(super) fn run(figures: &mut Figures, programs: &Programs, runs: usize) -> Result<(), String> {
    let past = SeedDatabase::write(ROWS, Memory::None)?;
    let mut all = Vec::new();
    for files in SIZES {
        println!("measuring checkouts of {files} files, {runs} runs of each …");
        let project = LoopProject::with_files(programs, &past, NOTES, (files, VersionControl::Git, Storage::Memory))?;
        let costs = costs(&project, runs)?;
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
                "isolation minus git clone and checkout",
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
            name: "checkout, landing and removal: growth / growth of git".to_owned(),
            size: SIZES[SIZES.len() - 1],
            value: large.of_isolation() / small.of_isolation() / git,
            unit: "×",
            target: Target::AtMost(1.0),
        });
    }
    Ok(())
}

fn costs(project: &LoopProject<'_>, runs: usize) -> Result<Costs, String> {
    let mut least = [[Duration::MAX; 2]; 2];
    let mut clone = Duration::MAX;
    for _ in 0..runs {
        for (isolate, least) in ["auto", "off"].into_iter().zip(&mut least) {
            for (iterations, least) in [SHORT, LONG].into_iter().zip(least) {
                project.reset_database(TASKS)?;
                project.reset()?;
                let mut run = project.run(iterations, AgentOutput::Rows);
                run.env("RALPH_GIT_ISOLATE", isolate);
                *least = measure_run(&mut run)?.processor.min(*least);
            }
        }
        clone = shared_clone(&project.path(""))?.min(clone);
    }
    let each = |[short, long]: [Duration; 2]| milliseconds(long.saturating_sub(short)) / (LONG - SHORT) as f64;
    let [isolated, in_place] = least;
    Ok(Costs {
        isolated: each(isolated),
        in_place: each(in_place),
        clone: milliseconds(clone),
    })
}

/// The minimum processor time that git needs for a second checkout.
fn shared_clone(project: &Path) -> Result<Duration, String> {
    let folder = Storage::Memory.folder()?;
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
