//! `cargo xtask bench recall`: measures our recall and other search methods on given data sets.

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
        return Err("bench recall needs a folder with one or more sets: --data DIR".to_owned());
    }
    // Load all sets before measuring, to report errors early.
    let sets = folders
        .iter()
        .map(|folder| set::load(folder))
        .collect::<Result<Vec<_>, _>>()?;
    if cfg!(debug_assertions) {
        return rerun_in_release(root, words);
    }
    let mut figures = Figures::new("memories");
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

/// Runs the benchmark in a release build: a debug build takes minutes, and its times mean nothing.
fn rerun_in_release(root: &Path, words: &[&str]) -> Result<(), String> {
    println!("{BUILD}");
    BUILD.run(root)?;
    let mut again = command(target_folder()?.join("release/xtask"));
    again.args(["bench", "recall"]).args(words);
    child::measure(&mut again).map(drop)
}

/// The target for our own recall on a set.
fn target(report: &Report<'_>) -> Figure {
    Figure {
        name: format!("{}: nDCG@10 of {OURS}, compared with {PEER}", report.set.name),
        size: report.set.documents(),
        value: report.mean(OURS).ndcg_10 * 100.0,
        unit: "%",
        target: Target::AtLeast(report.mean(PEER).ndcg_10 * 100.0),
    }
}

fn measure(set: &Set) -> Result<Report<'_>, String> {
    let measured = SYSTEMS
        .into_iter()
        .map(|(name, load)| run_queries(set, name, load))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(Report::new(set, measured))
}

/// Runs all queries of a set on one system.
fn run_queries(set: &Set, name: &'static str, load: Load) -> Result<Measured, String> {
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
    fn set_is_measured_end_to_end() {
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
        // Without stemming `lighthouse` does not match `lighthouses`, but it is a substring of it.
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
        let end = ": documents 3, projects 1, queries with an answer 2 of 3";
        assert!(table.lines().next().unwrap().ends_with(end), "{table}");
        let row = "seed query      0.500      0.500   0.500    0.500   50.0 %  -0.500 [-1.000, +0.000]  -0.500 [-1.000, +0.000]";
        assert!(table.contains(row), "{table}");
    }

    #[test]
    fn errors_are_explained() {
        let message = |words: &[&str]| recall(Path::new("."), words).unwrap_err();
        assert_eq!(
            message(&[]),
            "bench recall needs a folder with one or more sets: --data DIR"
        );
        assert_eq!(
            message(&["--fast"]),
            "unknown flag \"--fast\"; expected one of: --json, --data"
        );
        let nowhere = message(&["--data", "/no/such/folder"]);
        assert!(nowhere.starts_with("cannot read /no/such/folder: "), "{nowhere}");
    }
}
