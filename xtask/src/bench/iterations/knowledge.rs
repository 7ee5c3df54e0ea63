//! What long notes cost: an iteration beside a folder of them, and the commands that look among them.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use super::workplace::{Leaves, Past, Versions, Workplace, measure_run};
use super::{Least, USUAL_TASKS, history};
use crate::bench::corpus::Memory;
use crate::bench::figures::{Figure, Figures, Target};
use crate::programs::Programs;

/// How long the journal is, and how many other notes there are.
const ROWS: usize = 10_000;
const NOTES: usize = 1_000;
/// How many long notes there are, and how many milliseconds more an iteration may take than without any: the first has none.
const FOLDERS: [(usize, Target); 3] = [(0, Target::None), (1_000, Target::AtMost(5.0)), (10_000, Target::None)];
/// Without git every file of a project is looked at twice an iteration, long notes as any other; the target is for git.
const VERSIONS: [(Versions, &str); 2] = [(Versions::Git, "in git"), (Versions::None, "without git")];
/// How many milliseconds a command may take that looks among all of them, also among the most: a person waits for it.
const MOST_SEARCH_MS: f64 = 1_000.0;
const MOST_PROMPT_MS: f64 = 250.0;
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
    for (versions, named) in VERSIONS {
        let mut measured = Vec::with_capacity(FOLDERS.len());
        for (long_notes, target) in FOLDERS {
            println!("writing a project {named} with {long_notes} long notes …");
            let place = make(programs, &past, long_notes, versions)?;
            measured.push((place, Least::among(USUAL_TASKS), long_notes, target));
        }
        println!("measuring, {runs} runs of each …");
        // In turns: whatever else the machine does in the meantime, each of them has its share of it.
        for _ in 0..runs {
            for (place, least, ..) in &mut measured {
                least.round(place, Leaves::Rows)?;
            }
        }
        let without = measured.first().map_or(0.0, |(_, least, ..)| least.iteration_ms());
        for (place, least, long_notes, target) in measured.into_iter().skip(1) {
            if versions == Versions::Git {
                commands(figures, &place, (long_notes, runs))?;
            }
            figures.add(Figure {
                name: format!("an iteration {named}, {long_notes} long notes: more than without any"),
                size: ROWS,
                value: least.iteration_ms() - without,
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

/// A project with so many long notes, which are no younger and no less known to git than the rest of it.
fn make<'a>(
    programs: &'a Programs,
    past: &'a Past,
    long_notes: usize,
    versions: Versions,
) -> Result<Workplace<'a>, String> {
    let place = Workplace::make(programs, past, NOTES, versions)?;
    write_folder(&place.path(".ralph/knowledge"), long_notes)?;
    if versions == Versions::Git {
        place.commit()?;
    }
    place.settle()?;
    Ok(place)
}

/// What the commands take that look among long notes.
fn commands(figures: &mut Figures, place: &Workplace<'_>, (long_notes, runs): (usize, usize)) -> Result<(), String> {
    place.begin_again(USUAL_TASKS)?;
    let task = place.first_task()?;
    for (name, words, most) in [
        (
            "knowledge search",
            vec!["knowledge", "search", QUESTION],
            MOST_SEARCH_MS,
        ),
        ("prompt", vec!["prompt", &task], MOST_PROMPT_MS),
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
            target: Target::AtMost(most),
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
