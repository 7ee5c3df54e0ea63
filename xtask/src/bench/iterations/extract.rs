//! What it costs to draw the lessons of a long run, beside what it costs to read its rows.

use std::time::Duration;

use ralph_model::RunId;

use super::history::Memory;
use super::workplace::{Past, Versions, Workplace};
use crate::bench::figures::{Figure, Figures, Target};
use crate::child::measure;
use crate::programs::Programs;

/// How many iterations the run has.
const ITERATIONS: usize = 1_000;
/// How many notes there are, which nobody asks.
const NOTES: usize = 10;
/// The most milliseconds of the processor that it may take.
const MOST: Target = Target::AtMost(1_000.0);

/// Takes the figures.
pub(super) fn take(figures: &mut Figures, programs: &Programs, runs: usize) -> Result<(), String> {
    println!("writing a run of {ITERATIONS} iterations …");
    let past = Past::write(ITERATIONS, Memory::OneRun)?;
    let place = Workplace::make(programs, &past, NOTES, Versions::None)?;
    let run = RunId::new(0).to_string();
    println!("drawing its lessons, {runs} runs …");
    let mut least = [Duration::MAX; 2];
    for _ in 0..runs {
        let commands: [&[&str]; 2] = [
            &["journal", "list", "--run", &run, "--limit", "0", "--json"],
            &["learnings", "extract", &run],
        ];
        for (arguments, least) in commands.into_iter().zip(&mut least) {
            // What was drawn once is only looked at the second time.
            place.begin_again(0)?;
            *least = measure(&mut place.ralph(arguments))?.processor.min(*least);
        }
    }
    let [rows, drawing] = least.map(|time| time.as_secs_f64() * 1000.0);
    for (name, value, unit, target) in [
        ("the rows of a run, read", rows, "ms", Target::None),
        ("the lessons of a run, drawn", drawing, "ms", MOST),
        ("the lessons of a run, drawn / read", drawing / rows, "×", Target::None),
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
