//! How well recall finds what it should: our own beside other ways to search, on sets that are given.

mod bm25;
mod bootstrap;
mod fts5;
mod measures;
mod ours;
mod report;
mod set;
mod substring;
mod systems;
mod words;

use std::path::Path;
use std::time::{Duration, Instant};

use measures::{DEPTH, Scores};
use report::{Measured, Report};
use serde_json::{Value, json};
use set::Set;
use systems::{Load, OURS, PEER, SYSTEMS};

use super::figures::{Figure, Figures, Target};
use super::save;
use crate::flags::Flags;

/// `cargo xtask bench recall`.
pub(crate) fn recall(words: &[&str]) -> Result<(), String> {
    let flags = Flags::parse_lists(words, &[], &["--json"], &["--data"])?;
    let mut folders = Vec::new();
    for folder in flags.values("--data") {
        folders.extend(set::folders(Path::new(folder))?);
    }
    if folders.is_empty() {
        return Err("bench recall needs a folder with a set, or with several: --data DIR".to_owned());
    }
    // All of them before the first is measured: what is wrong with the last is said at once.
    let sets = folders
        .iter()
        .map(|folder| set::load(folder))
        .collect::<Result<Vec<_>, _>>()?;
    let mut figures = Figures::default();
    let mut documents: Vec<Value> = Vec::new();
    for set in &sets {
        let report = measure(set)?;
        println!("{}", report.table());
        documents.push(report.json());
        figures.add(target(&report));
    }
    print!("{}", figures.table());
    if let Some(path) = flags.value("--json") {
        let targets = figures.json("recall", 1);
        let document = json!({ "benchmark": "recall", "sets": documents, "targets": targets["figures"] });
        save(path, &format!("{document:#}\n"))?;
    }
    Ok(())
}

/// What our own recall has to reach in a set.
fn target(report: &Report<'_>) -> Figure {
    Figure {
        name: format!("{}: nDCG@10 of {OURS}, beside that of {PEER}", report.set.name),
        memories: report.set.documents(),
        value: report.mean(OURS).ndcg_10 * 100.0,
        unit: "%",
        target: Target::AtLeast(report.mean(PEER).ndcg_10 * 100.0),
    }
}

fn measure(set: &Set) -> Result<Report<'_>, String> {
    let measured = SYSTEMS
        .into_iter()
        .map(|(name, load)| ask(set, name, load))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(Report::new(set, measured))
}

/// Asks one system all queries of a set.
fn ask(set: &Set, name: &'static str, load: Load) -> Result<Measured, String> {
    let mut measured = Measured {
        name,
        scores: Vec::new(),
        loading: Duration::ZERO,
        asking: Duration::ZERO,
    };
    for project in &set.projects {
        let begin = Instant::now();
        let system = load(&project.documents)?;
        measured.loading += begin.elapsed();
        let begin = Instant::now();
        for query in &project.queries {
            let allowed = |place: usize| {
                project
                    .documents
                    .get(place)
                    .is_some_and(|document| query.allows(document))
            };
            let results = system.search(&query.text, &allowed, DEPTH)?;
            measured.scores.push(Scores::of(&results, &query.relevant));
        }
        measured.asking += begin.elapsed();
    }
    Ok(measured)
}
