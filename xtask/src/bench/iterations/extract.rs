//! The cost of extracting the learnings of a long run, compared with reading its journal.

use std::time::Duration;

use ralph_model::RunId;

use super::history::Memory;
use super::loop_project::{LoopProject, SeedDatabase, VersionControl};
use crate::bench::figures::{Figure, Figures, Target};
use crate::child::measure;
use crate::programs::Programs;

/// The iterations of the run.
const ITERATIONS: usize = 1_000;
/// The number of notes, which are not used.
const NOTES: usize = 10;
/// The maximum processor time, in milliseconds.
const MOST: Target = Target::AtMost(1_000.0);

pub(super) fn run(figures: &mut Figures, programs: &Programs, runs: usize) -> Result<(), String> {
    println!("writing a run with {ITERATIONS} iterations …");
    let past = SeedDatabase::write(ITERATIONS, Memory::OneRun)?;
    let project = LoopProject::make(programs, &past, NOTES, VersionControl::None)?;
    let run = RunId::new(0).to_string();
    println!("extracting its learnings, {runs} runs …");
    let mut least = [Duration::MAX; 2];
    for _ in 0..runs {
        let commands: [&[&str]; 2] = [
            &["journal", "list", "--run", &run, "--limit", "0", "--json"],
            &["learnings", "extract", &run],
        ];
        for (arguments, least) in commands.into_iter().zip(&mut least) {
            // Reset, because a second extraction only checks what is already extracted.
            project.reset_database(0)?;
            *least = measure(&mut project.ralph(arguments))?.processor.min(*least);
        }
    }
    let [rows, extraction] = least.map(|time| time.as_secs_f64() * 1000.0);
    for (name, value, unit, target) in [
        ("reading the journal of a run", rows, "ms", Target::None),
        ("extracting the learnings of a run", extraction, "ms", MOST),
        (
            "extracting the learnings of a run / reading",
            extraction / rows,
            "×",
            Target::None,
        ),
    ] {
        figures.add(Figure {
            name: name.to_owned(),
            size: ITERATIONS,
            value,
            unit,
            target,
        });
    }
    Ok(())
}
