//! The cost of knowledge entries: an iteration with many of them, and commands that search them.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use super::loop_project::{AgentOutput, LoopProject, SeedDatabase, VersionControl, measure_run};
use super::{FastestRuns, USUAL_TASKS, history};
use crate::bench::corpus::Memory;
use crate::bench::figures::{Figure, Figures, Target};
use crate::programs::Programs;

/// The number of journal entries, and of other notes.
const ROWS: usize = 10_000;
const NOTES: usize = 1_000;
/// The number of knowledge entries, and the maximum additional milliseconds of an iteration. The first has none.
const FOLDERS: [(usize, Target); 3] = [(0, Target::None), (1_000, Target::AtMost(5.0)), (10_000, Target::None)];
/// Without git every file is checked twice per iteration, knowledge entries included; the target is for git.
const VERSIONS: [(VersionControl, &str); 2] = [(VersionControl::Git, "in git"), (VersionControl::None, "without git")];
/// The maximum milliseconds of commands that search all entries, for which a person waits.
const MOST_SEARCH_MS: f64 = 1_000.0;
const MOST_PROMPT_MS: f64 = 250.0;
/// Sentences per knowledge entry.
const SENTENCES: usize = 6;
/// The index of the first corpus text, so that no other data has the same texts.
const TEXTS: usize = 5_000_000;
const QUESTION: &str = "timeout of the cache in the parser";

pub(super) fn run(figures: &mut Figures, programs: &Programs, runs: usize) -> Result<(), String> {
    println!("writing a journal with {ROWS} entries …");
    let past = SeedDatabase::write(ROWS, history::Memory::None)?;
    for (versions, named) in VERSIONS {
        let mut measured = Vec::with_capacity(FOLDERS.len());
        for (entries, target) in FOLDERS {
            println!("writing a project {named} with {entries} knowledge entries …");
            let project = make(programs, &past, entries, versions)?;
            measured.push((project, FastestRuns::new(USUAL_TASKS), entries, target));
        }
        println!("measuring, {runs} runs of each …");
        // In turns, so that other load on the machine affects all of them equally.
        for _ in 0..runs {
            for (project, fastest, ..) in &mut measured {
                fastest.measure_once(project, AgentOutput::Rows)?;
            }
        }
        let without = measured.first().map_or(0.0, |(_, fastest, ..)| fastest.iteration_ms());
        for (project, fastest, entries, target) in measured.into_iter().skip(1) {
            if versions == VersionControl::Git {
                commands(figures, &project, (entries, runs))?;
            }
            figures.add(Figure {
                name: format!("an iteration {named}, {entries} knowledge entries: more than without any"),
                size: ROWS,
                value: fastest.iteration_ms() - without,
                unit: "ms",
                target: match versions {
                    VersionControl::Git => target,
                    VersionControl::None => Target::None,
                },
            });
        }
    }
    Ok(())
}

/// A project with this many knowledge entries, committed and settled like its other files.
fn make<'a>(
    programs: &'a Programs,
    past: &'a SeedDatabase,
    entries: usize,
    versions: VersionControl,
) -> Result<LoopProject<'a>, String> {
    let project = LoopProject::make(programs, past, NOTES, versions)?;
    write_folder(&project.path(".ralph/knowledge"), entries)?;
    if versions == VersionControl::Git {
        project.commit()?;
    }
    project.settle()?;
    Ok(project)
}

/// Measures commands that search knowledge entries.
fn commands(figures: &mut Figures, project: &LoopProject<'_>, (entries, runs): (usize, usize)) -> Result<(), String> {
    project.reset_database(USUAL_TASKS)?;
    let task = project.first_task()?;
    for (name, words, most) in [
        (
            "knowledge search",
            vec!["knowledge", "search", QUESTION],
            MOST_SEARCH_MS,
        ),
        ("prompt", vec!["prompt", &task], MOST_PROMPT_MS),
    ] {
        let mut fastest = f64::MAX;
        for _ in 0..runs {
            let usage = measure_run(project.ralph(&words).stdout(Stdio::null()))?;
            fastest = fastest.min(usage.own_processor.as_secs_f64() * 1000.0);
        }
        figures.add(Figure {
            name: format!("ralph {name}, {entries} knowledge entries"),
            size: ROWS,
            value: fastest,
            unit: "ms",
            target: Target::AtMost(most),
        });
    }
    Ok(())
}

/// Writes this many knowledge entries, each with a link to the previous one.
fn write_folder(folder: &Path, total: usize) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("cannot write knowledge entries: {error}");
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
    // Real projects have a larger vocabulary than the generated text.
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
    fn knowledge_entries_have_tags_body_and_links() {
        for number in [0, 1, 999] {
            let note = ralph_notes::Knowledge::parse(text(number).as_bytes()).unwrap();
            assert!(note.tags.len() >= 2 && note.body.len() > 200, "{note:?}");
            assert_eq!(ralph_notes::links_in(&note.body).len(), usize::from(number > 0));
        }
    }
}
