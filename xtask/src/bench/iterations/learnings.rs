//! The cost of iteration memory: an iteration with reports, learnings and adaptive model choice, compared with one
//! after the same history without them and with a fixed model.

use super::history::Memory;
use super::loop_project::{AgentOutput, LoopProject, SeedDatabase, VersionControl};
use super::{FastestRuns, USUAL_TASKS};
use crate::bench::figures::{Figure, Figures, Target};
use crate::programs::Programs;

/// The number of journal entries, and of notes.
const ROWS: usize = 10_000;
const NOTES: usize = 1_000;
/// The number of learnings.
const LEARNINGS: usize = 5_000;
/// The maximum additional time of an iteration, in milliseconds.
const MORE: Target = Target::AtMost(5.0);
/// Nothing is queried about the past.
const PLAIN: &str = "[strategy]\nname = \"fixed\"\n";
/// Every model choice queries earlier outcomes. Learnings are not merged, since that happens at the end of a run.
const CHOOSING: &str = "[strategy]\nname = \"cost-optimized\"\n[agent]\nmodels = [\"low\", \"middle\", \"high\"]\n\
     [learning]\nmerge_above = 0\n";

/// The measured cases with settings and agent output, the one without learnings first.
const CASES: [(&str, &str, AgentOutput); 3] = [
    ("an iteration without learnings", PLAIN, AgentOutput::Rows),
    ("an iteration with learnings", CHOOSING, AgentOutput::Rows),
    ("a failing iteration with learnings", CHOOSING, AgentOutput::Failures),
];

pub(super) fn run(figures: &mut Figures, programs: &Programs, runs: usize) -> Result<(), String> {
    println!("writing a journal with {ROWS} entries, with {LEARNINGS} learnings and without …");
    let plain = SeedDatabase::write(ROWS, Memory::None)?;
    let full = SeedDatabase::write(ROWS, Memory::Learnings(LEARNINGS))?;
    let mut measured = Vec::with_capacity(CASES.len());
    for (name, settings, output) in CASES {
        let past = if settings == PLAIN { &plain } else { &full };
        let project = LoopProject::make(programs, past, NOTES, VersionControl::None)?;
        project.configure(settings)?;
        measured.push((name, project, output, FastestRuns::new(USUAL_TASKS)));
    }
    println!("measuring, {runs} runs of each …");
    // In turns, so that other load on the machine affects all of them equally.
    for _ in 0..runs {
        for (_, project, output, fastest) in &mut measured {
            fastest.measure_once(project, *output)?;
        }
    }
    let without = measured.first().map_or(0.0, |(.., fastest)| fastest.iteration_ms());
    for (position, (name, .., fastest)) in measured.iter().enumerate() {
        fastest.record(figures, name, (ROWS, Target::None));
        if position > 0 {
            figures.add(Figure {
                name: format!("{name}: more than without"),
                size: ROWS,
                value: fastest.iteration_ms() - without,
                unit: "ms",
                target: MORE,
            });
        }
    }
    Ok(())
}
