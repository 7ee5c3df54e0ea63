//! What iteration memory costs: an iteration after a past with reports and lessons, where the model is chosen by how things
//! go, against one after the same past without either, with a fixed model.

use super::history::Memory;
use super::workplace::{Leaves, Past, Versions, Workplace};
use super::{Least, USUAL_TASKS};
use crate::bench::figures::{Figure, Figures, Target};
use crate::programs::Programs;

/// How long the journal is, and how many notes there are.
const ROWS: usize = 10_000;
const NOTES: usize = 1_000;
/// How many lessons there are.
const LESSONS: usize = 5_000;
/// The most milliseconds that an iteration may take more than without them.
const MORE: Target = Target::AtMost(5.0);
/// Nothing is asked about the past.
const PLAIN: &str = "[strategy]\nname = \"fixed\"\n";
/// Every choice asks how things went. Lessons are not merged, which is work of the end of a run and not of an iteration.
const CHOOSING: &str = "[strategy]\nname = \"cost-optimized\"\n[agent]\nmodels = [\"low\", \"middle\", \"high\"]\n\
     [learning]\nmerge_above = 0\n";

/// What is measured, the one without lessons first: what holds in the project, and what the agent leaves.
const CASES: [(&str, &str, Leaves); 3] = [
    ("an iteration without lessons", PLAIN, Leaves::Rows),
    ("an iteration among lessons", CHOOSING, Leaves::Rows),
    ("a failing iteration among lessons", CHOOSING, Leaves::Failures),
];

/// Takes the figures.
pub(super) fn take(figures: &mut Figures, programs: &Programs, runs: usize) -> Result<(), String> {
    println!("writing a journal of {ROWS} rows, with {LESSONS} lessons and without …");
    let plain = Past::write(ROWS, Memory::None)?;
    let full = Past::write(ROWS, Memory::Lessons(LESSONS))?;
    let mut measured = Vec::with_capacity(CASES.len());
    for (name, settings, leaves) in CASES {
        let past = if settings == PLAIN { &plain } else { &full };
        let place = Workplace::make(programs, past, NOTES, Versions::None)?;
        place.configure(settings)?;
        measured.push((name, place, leaves, Least::among(USUAL_TASKS)));
    }
    println!("measuring, {runs} runs of each …");
    // In turns: whatever else the machine does in the meantime, each of them has its share of it.
    for _ in 0..runs {
        for (_, place, leaves, least) in &mut measured {
            least.round(place, *leaves)?;
        }
    }
    let without = measured.first().map_or(0.0, |(.., least)| least.iteration_ms());
    for (position, (name, .., least)) in measured.iter().enumerate() {
        least.tell(figures, name, (ROWS, Target::None));
        if position > 0 {
            figures.add(Figure {
                name: format!("{name}: more than without"),
                size: ROWS,
                value: least.iteration_ms() - without,
                unit: "ms",
                target: MORE,
            });
        }
    }
    Ok(())
}
