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
use ralph_process::command;
use report::{Measured, Report};
use serde_json::{Value, json};
use set::Set;
use systems::{Load, OURS, PEER, SYSTEMS};

use super::figures::{Figure, Figures, Target};
use super::save;
use crate::cargo::Cargo;
use crate::child;
use crate::flags::Flags;
use crate::programs::target_folder;

const BUILD: Cargo<'_> = Cargo::new("build --release --locked -p xtask --bin xtask");

/// `cargo xtask bench recall`.
pub(crate) fn recall(root: &Path, words: &[&str]) -> Result<(), String> {
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
    if cfg!(debug_assertions) {
        return in_release(root, words);
    }
    let mut figures = Figures::among("memories");
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

/// Does the same in a build for release: without optimisation it takes minutes, and the seconds say nothing.
fn in_release(root: &Path, words: &[&str]) -> Result<(), String> {
    println!("{BUILD}");
    BUILD.run(root)?;
    let mut again = command(target_folder()?.join("release/xtask"));
    again.args(["bench", "recall"]).args(words);
    child::measure(&mut again).map(drop)
}

/// What our own recall has to reach in a set.
fn target(report: &Report<'_>) -> Figure {
    Figure {
        name: format!("{}: nDCG@10 of {OURS}, beside that of {PEER}", report.set.name),
        size: report.set.documents(),
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
            let allowed = query.allowed(&project.documents);
            let results = system.search(&query.text, &allowed, DEPTH)?;
            measured.scores.push(Scores::of(&results, &query.relevant));
        }
        measured.asking += begin.elapsed();
    }
    Ok(measured)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_measured_from_its_files_to_the_target() {
        let folder = tempfile::tempdir().unwrap();
        let files = [
            (
                "docs.jsonl",
                r#"{"id":"a","text":"the port of the daemon","created":"2024-01-01"}
                   {"id":"b","text":"lighthouses at sea","created":"2024-01-02"}
                   {"id":"c","text":"the daemon of the port","created":"2024-01-03"}"#,
            ),
            (
                "queries.jsonl",
                r#"{"id":"1","text":"which port has the daemon","before":"2024-01-02"}
                   {"id":"2","text":"one lighthouse","exclude":["a","c"]}
                   {"id":"3","text":"unanswered"}"#,
            ),
            ("qrels.tsv", "1\ta\t1\n2\tb\t2\n3\ta\t0\n"),
        ];
        for (name, text) in files {
            save(&folder.path().join(name).display().to_string(), text).unwrap();
        }
        let set = set::load(folder.path()).unwrap();
        let report = measure(&set).unwrap();
        let document = report.json();
        assert_eq!(
            (&document["queries"], &document["queries_measured"]),
            (&json!(3), &json!(2))
        );
        let nearest: Vec<(&str, f64)> = SYSTEMS.map(|(name, _)| (name, report.mean(name).ndcg_10)).to_vec();
        // Without stems `lighthouse` does not find `lighthouses`, but is a part of it.
        let expected = [
            ("substring", 1.0),
            ("seed query", 0.5),
            ("fts5 porter", 1.0),
            (PEER, 1.0),
        ];
        assert_eq!(nearest[..4], expected);
        let [.., seed, _, _, _] = document["systems"].as_array().unwrap().as_slice() else {
            panic!("{document}")
        };
        let against = &seed["against_bm25"]["ndcg_at_10"];
        assert_eq!(against["difference"], -0.5);
        assert_eq!((&against["low"], &against["high"]), (&json!(-1.0), &json!(0.0)));
        let target = target(&report);
        assert_eq!((target.size, target.target), (3, Target::AtLeast(100.0)));
        let table = report.table();
        let end = ": documents 3, projects 1, queries with an answer there 2 of 3";
        assert!(table.lines().next().unwrap().ends_with(end), "{table}");
        let row = "seed query      0.500      0.500   0.500    0.500   50.0 %  -0.500 [-1.000, +0.000]  -0.500 [-1.000, +0.000]";
        assert!(table.contains(row), "{table}");
    }

    #[test]
    fn what_is_missing_is_said() {
        let message = |words: &[&str]| recall(Path::new("."), words).unwrap_err();
        assert_eq!(
            message(&[]),
            "bench recall needs a folder with a set, or with several: --data DIR"
        );
        assert_eq!(
            message(&["--fast"]),
            "there is no flag \"--fast\"; the flags here are --json, --data"
        );
        let nowhere = message(&["--data", "/no/such/folder"]);
        assert!(nowhere.starts_with("cannot read /no/such/folder: "), "{nowhere}");
    }
}
