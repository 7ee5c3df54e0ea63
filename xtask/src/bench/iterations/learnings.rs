//! What iteration memory costs: an iteration after a past with reports and lessons, where the model is chosen by how things
//! go, against one after the same past without either, with a fixed model.

use super::history::Memory;
use super::workplace::{Leaves, Past, Versions, Workplace};
use super::{Taker, USUAL_TASKS};
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

/// Takes the figures.
pub(super) fn take(figures: &mut Figures, programs: &Programs, runs: usize) -> Result<(), String> {
    println!("writing a journal of {ROWS} rows, with {LESSONS} lessons and without …");
    let plain = Past::write(ROWS, Memory::None)?;
    let full = Past::write(ROWS, Memory::Lessons(LESSONS))?;
    let mut without = None;
    for (name, past, settings, leaves) in [
        ("an iteration without lessons", &plain, PLAIN, Leaves::Rows),
        ("an iteration among lessons", &full, CHOOSING, Leaves::Rows),
        ("a failing iteration among lessons", &full, CHOOSING, Leaves::Failures),
    ] {
        println!("measuring {name}, {runs} runs …");
        let place = Workplace::make(programs, past, NOTES, Versions::None)?;
        place.configure(settings)?;
        let mut taker = Taker {
            figures,
            place: &place,
            leaves,
            runs,
        };
        let each = taker.iteration(name, USUAL_TASKS, Target::None)?;
        let without = *without.get_or_insert(each);
        if settings == CHOOSING {
            figures.add(Figure {
                name: format!("{name}: more than without"),
                size: ROWS,
                value: each - without,
                unit: "ms",
                target: MORE,
            });
        }
    }
    Ok(())
}
