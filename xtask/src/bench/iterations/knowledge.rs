//! What long notes cost: an iteration beside a folder of them, and the commands that look among them.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use super::workplace::{Leaves, Past, Versions, Workplace, measure_run};
use super::{Taker, USUAL_TASKS, history};
use crate::bench::corpus::Memory;
use crate::bench::figures::{Figure, Figures, Target};
use crate::programs::Programs;

/// How long the journal is, and how many other notes there are.
const ROWS: usize = 10_000;
const NOTES: usize = 1_000;
/// How many long notes there are, and how many milliseconds more an iteration may take than without any.
const FOLDERS: [(usize, Target); 2] = [(1_000, Target::AtMost(5.0)), (10_000, Target::None)];
/// Without git every file of a project is looked at twice an iteration, long notes as any other; the target is for git.
const VERSIONS: [(Versions, &str); 2] = [(Versions::Git, "in git"), (Versions::None, "without git")];
/// Of how many sentences a long note is made.
const SENTENCES: usize = 6;
/// Its texts are others than those of the other notes, of the journal and of tasks.
const TEXTS: usize = 5_000_000;
/// What is looked for.
const QUESTION: &str = "timeout of the cache in the parser";

/// Takes the figures.
pub(super) fn take(figures: &mut Figures, programs: &Programs, runs: usize) -> Result<(), String> {
    println!("writing a journal of {ROWS} rows …");
    let past = Past::write(ROWS, history::Memory::None)?;
    let place = Place {
        programs,
        past: &past,
        runs,
    };
    for (versions, named) in VERSIONS {
        let without = place.measure(figures, 0, versions)?;
        for (long_notes, target) in FOLDERS {
            let with = place.measure(figures, long_notes, versions)?;
            figures.add(Figure {
                name: format!("an iteration {named}, {long_notes} long notes: more than without any"),
                size: ROWS,
                value: with - without,
                unit: "ms",
                target: match versions {
                    Versions::Git => target,
                    Versions::None => Target::None,
                },
            });
        }
    }
    Ok(())
}

/// Where it is measured.
struct Place<'a> {
    programs: &'a Programs,
    past: &'a Past,
    runs: usize,
}

impl Place<'_> {
    /// What an iteration costs beside so many long notes, in milliseconds.
    fn measure(&self, figures: &mut Figures, long_notes: usize, versions: Versions) -> Result<f64, String> {
        println!("measuring beside {long_notes} long notes, {} runs …", self.runs);
        let place = Workplace::make(self.programs, self.past, NOTES, versions)?;
        write_folder(&place.path(".ralph/knowledge"), long_notes)?;
        place.settle()?;
        let mut taker = Taker {
            figures: &mut Figures::among("rows"),
            place: &place,
            leaves: Leaves::Rows,
            runs: self.runs,
        };
        let each = taker.iteration("", USUAL_TASKS, Target::None)?;
        if long_notes > 0 && versions == Versions::Git {
            commands(figures, &place, (long_notes, self.runs))?;
        }
        Ok(each)
    }
}

/// What the commands take that look among long notes.
fn commands(figures: &mut Figures, place: &Workplace<'_>, (long_notes, runs): (usize, usize)) -> Result<(), String> {
    place.begin_again(USUAL_TASKS)?;
    let task = place.first_task()?;
    for (name, words) in [
        ("knowledge search", vec!["knowledge", "search", QUESTION]),
        ("prompt", vec!["prompt", &task]),
    ] {
        let mut least = f64::MAX;
        for _ in 0..runs {
            let usage = measure_run(place.ralph(&words).stdout(Stdio::null()))?;
            least = least.min(usage.own_processor.as_secs_f64() * 1000.0);
        }
        figures.add(Figure {
            name: format!("ralph {name}, {long_notes} long notes"),
            size: ROWS,
            value: least,
            unit: "ms",
            target: Target::None,
        });
    }
    Ok(())
}

/// Writes so many long notes, each with a link to the one before it.
fn write_folder(folder: &Path, total: usize) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("cannot write long notes: {error}");
    fs::create_dir_all(folder).map_err(failed)?;
    for number in 0..total {
        let mut file = File::create(folder.join(format!("note-{number}.md"))).map_err(failed)?;
        file.write_all(text(number).as_bytes()).map_err(failed)?;
    }
    Ok(())
}

fn text(number: usize) -> String {
    let first = TEXTS + number * SENTENCES;
    let memories: Vec<Memory> = (first..first + SENTENCES).map(|text| Memory::at(text, 1)).collect();
    let mut tags: Vec<String> = memories
        .iter()
        .flat_map(Memory::tags)
        .take(3)
        .map(|tag| (*tag).to_owned())
        .collect();
    // Most projects have more words for what they do than this text has for itself.
    tags.push(format!("part-{}", number / 10));
    let body: Vec<&str> = memories.iter().map(|memory| memory.text.as_str()).collect();
    let before = number.checked_sub(1);
    let link = before.map_or_else(String::new, |before| format!("\nSee [[Note {before}]].\n"));
    format!(
        "---\ntitle: \"Note {number}\"\ntags: [{}]\ncreated_at: \"2026-01-01T00:00:00Z\"\n---\n\n{}\n{link}",
        tags.join(", "),
        body.join("\n\n"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_long_notes_are_some() {
        for number in [0, 1, 999] {
            let note = ralph_notes::Knowledge::parse(text(number).as_bytes()).unwrap();
            assert!(note.tags.len() >= 2 && note.body.len() > 200, "{note:?}");
            assert_eq!(ralph_notes::links_in(&note.body).len(), usize::from(number > 0));
        }
    }
}
