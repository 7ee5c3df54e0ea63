//! `cargo xtask bench learnings`: the cost of querying very many learnings, compared with one FTS5 query, of learnings
//! in a prompt, and of maintenance over all of them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use jiff::Timestamp;
use ralph_model::{Facts, Learning, LearningKind, LearningSource, TaskType};
use ralph_search::DocKind;
use ralph_store::Store;
use ralph_testkit::{put_learnings, run_learning};
use tempfile::TempDir;

use super::corpus::Memory;
use super::figures::{Figure, Figures, Target};
use super::project::expression;
use super::{Cost, QUICK_RUNS, RUNS, costs, save};
use crate::child::output;
use crate::flags::Flags;
use crate::programs::Programs;

/// The number of learnings.
const LEARNINGS: usize = 100_000;
/// The number of learnings for the conflict search, which may compare every pair.
const LEARNINGS_COMPARED: usize = 5_000;
/// The number of runs of commands over all learnings, which take long and vary little.
const RUNS_OVER_ALL: usize = 3;
/// The index of the first corpus text, so that no other data has the same texts.
const TEXTS: usize = 7_000_000;
/// The number of query words.
const WORDS: usize = 10;
/// The maximum time of a query, and of the learnings in a prompt, relative to one FTS5 query.
const QUERY_RATIO: f64 = 2.0;
/// The task of the prompts.
const TASK: &str = "Fix the crash of the session cache";

/// `cargo xtask bench learnings`.
pub(crate) fn run(root: &Path, words: &[&str]) -> Result<(), String> {
    let flags = Flags::parse(words, &["--quick"], &["--json"])?;
    let runs = if flags.has("--quick") { QUICK_RUNS } else { RUNS };
    let programs = Programs::build(root)?;
    let begin = Instant::now();
    let mut figures = Figures::new("learnings");
    println!("writing {LEARNINGS} learnings …");
    let full = LearningsProject::make(&programs, &learnings(LEARNINGS, learning))?;
    let empty = LearningsProject::make(&programs, &[])?;
    println!("measuring, {runs} runs of each …");
    queries(&mut figures, &full, runs)?;
    prompts(&mut figures, &full, &empty, runs)?;
    drop((full, empty));
    maintenance(&mut figures, &programs)?;
    figures.add_remark(format!("taken in {:.0} s", begin.elapsed().as_secs_f64()));
    print!("\n{}", figures.table());
    let document = format!("{:#}\n", figures.json("learnings", runs));
    match flags.value("--json") {
        None => print!("\n{document}"),
        Some(path) => save(path, &document)?,
    }
    Ok(())
}

fn queries(figures: &mut Figures, project: &LearningsProject<'_>, runs: usize) -> Result<(), String> {
    let words = query_text();
    let asked: [(&str, Vec<&str>); 6] = [
        ("query, 10 words", vec![&words]),
        (
            "query, 10 words and filters",
            vec![&words, "--type", "antipattern", "--min-confidence", "0.6"],
        ),
        ("query", vec![]),
        (
            "query of a kind",
            vec![
                "--type",
                "strategy",
                "--task-type",
                "bug-fix",
                "--min-success-rate",
                "0.6",
            ],
        ),
        ("query by an error", vec!["--error", "the port was already taken"]),
        ("query for work", vec!["--for", TASK]),
    ];
    let query = |arguments: &[&str]| project.ralph(&[&["learnings", "query"], arguments].concat());
    let [floor, measured @ ..] = costs(runs, |_| {
        let [one, two, three, four, five, six] = asked.each_ref().map(|(_, arguments)| query(arguments));
        [project.bare_search(), one, two, three, four, five, six]
    })?;
    record(figures, "bare search", floor.milliseconds(), "ms", Target::None);
    for ((name, _), cost) in asked.iter().zip(measured) {
        record_ratio(figures, name, cost, floor);
    }
    Ok(())
}

fn prompts(
    figures: &mut Figures,
    full: &LearningsProject<'_>,
    empty: &LearningsProject<'_>,
    runs: usize,
) -> Result<(), String> {
    let [floor, with, without] = costs(runs, |_| [full.bare_search(), full.prompt(), empty.prompt()])?;
    record(figures, "prompt", with.milliseconds(), "ms", Target::None);
    let more = with.milliseconds() - without.milliseconds();
    record(figures, "prompt: more than without any", more, "ms", Target::None);
    let ratio = more / floor.milliseconds();
    record(
        figures,
        "prompt: more / bare search",
        ratio,
        "×",
        Target::AtMost(QUERY_RATIO),
    );
    Ok(())
}

/// Measures commands over every learning. No loop waits for them, so there is no target.
fn maintenance(figures: &mut Figures, programs: &Programs) -> Result<(), String> {
    for (size, asked) in [
        (LEARNINGS, &["stats", "verify"][..]),
        (LEARNINGS_COMPARED, &["conflicts"]),
    ] {
        let project = LearningsProject::make(programs, &learnings(size, sound_learning))?;
        for verb in asked {
            let [floor, cost] = costs(RUNS_OVER_ALL, |_| {
                [project.bare_search(), project.ralph(&["learnings", verb])]
            })?;
            let ratio = cost.milliseconds() / floor.milliseconds();
            for (name, value, unit) in [
                ((*verb).to_owned(), cost.milliseconds(), "ms"),
                (format!("{verb} / bare search"), ratio, "×"),
            ] {
                figures.add(Figure {
                    name,
                    size,
                    value,
                    unit,
                    target: Target::None,
                });
            }
        }
    }
    Ok(())
}

fn record(figures: &mut Figures, name: &str, value: f64, unit: &'static str, target: Target) {
    figures.add(Figure {
        name: name.to_owned(),
        size: LEARNINGS,
        value,
        unit,
        target,
    });
}

fn record_ratio(figures: &mut Figures, name: &str, cost: Cost, floor: Cost) {
    record(figures, name, cost.milliseconds(), "ms", Target::None);
    let ratio = cost.milliseconds() / floor.milliseconds();
    record(
        figures,
        &format!("{name} / bare search"),
        ratio,
        "×",
        Target::AtMost(QUERY_RATIO),
    );
}

/// A project with learnings; its folder is removed on drop.
struct LearningsProject<'a> {
    programs: &'a Programs,
    folder: TempDir,
    task: String,
    /// The query as an FTS5 expression.
    expression: String,
}

impl<'a> LearningsProject<'a> {
    fn make(programs: &'a Programs, learnings: &[Learning]) -> Result<Self, String> {
        let folder = tempfile::Builder::new().prefix("ralph-bench-").tempdir();
        let mut project = Self {
            programs,
            folder: folder.map_err(|error| format!("cannot create a project: {error}"))?,
            task: String::new(),
            expression: String::new(),
        };
        output(project.ralph(&["init"]).stdout(Stdio::piped()))?;
        let database = project.database();
        drop(Store::open_or_create(&database).map_err(|error| error.to_string())?);
        put(&database, learnings);
        let added = output(project.ralph(&["task", "add", TASK]).stdout(Stdio::piped()))?;
        added.trim().clone_into(&mut project.task);
        // The first search builds the index.
        output(project.ralph(&["learnings", "query", TASK]).stdout(Stdio::piped()))?;
        project.expression = expression(&project.index(), DocKind::Learning, &query_text())?;
        Ok(project)
    }

    fn database(&self) -> PathBuf {
        self.folder.path().join(".ralph/progress.db")
    }

    fn ralph(&self, arguments: &[&str]) -> Command {
        let mut command = self.programs.ralph(self.folder.path());
        command
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    fn prompt(&self) -> Command {
        self.ralph(&["prompt", &self.task])
    }

    /// A bare program that queries the same index for the ten best matches of the same words.
    fn bare_search(&self) -> Command {
        let mut command = self.programs.example("floor_search", self.folder.path());
        command.arg(self.index()).arg(&self.expression).arg(self.database());
        command
    }

    fn index(&self) -> PathBuf {
        self.folder.path().join(".ralph/index.db")
    }
}

fn put(database: &Path, learnings: &[Learning]) {
    put_learnings(database, learnings.iter());
}

fn learnings(number: usize, make: impl Fn(usize) -> Learning) -> Vec<Learning> {
    (0..number).map(make).collect()
}

/// A learning that passes verification: no duplicate, and with consistent counters.
fn sound_learning(number: usize) -> Learning {
    let learning = learning(number);
    // In letters, because learnings with different numbers may conflict.
    let name: String = number
        .to_string()
        .bytes()
        .map(|digit| char::from(digit - b'0' + b'a'))
        .collect();
    Learning {
        content: format!("{} (part {name})", learning.content),
        first_success_rate: learning.success_rate,
        first_use_count: learning.use_count,
        ..learning
    }
}

/// A learning as runs leave them: of all kinds and task types, with varying confidence.
fn learning(number: usize) -> Learning {
    let kind = LearningKind::ALL[number % LearningKind::ALL.len()];
    let task_type = TaskType::ALL[number / 4 % TaskType::ALL.len()];
    let memory = Memory::at(TEXTS + number, 1);
    let learning = run_learning(number as u64, kind, task_type, &memory.text);
    let seconds = i64::try_from(number).unwrap_or_default() * 70;
    Learning {
        tags: memory.tags().iter().map(|tag| (*tag).to_owned()).collect(),
        confidence: 0.4 + 0.001 * (number * 7 % 500) as f64,
        success_rate: match kind {
            LearningKind::Antipattern => 0.0,
            _ => 0.5 + 0.005 * (number * 11 % 100) as f64,
        },
        use_count: u32::try_from(number * 13 % 40).unwrap_or_default(),
        source: if number.is_multiple_of(3) {
            LearningSource::Imported
        } else {
            LearningSource::Extracted
        },
        facts: facts(number, kind),
        created_at: learning.created_at + jiff::SignedDuration::from_secs(seconds),
        updated_at: Timestamp::UNIX_EPOCH,
        ..learning
    }
}

fn facts(number: usize, kind: LearningKind) -> Option<Facts> {
    match kind {
        LearningKind::Strategy => Some(Facts::Strategy {
            effectiveness: 0.8,
            iterations: 4,
        }),
        LearningKind::Convention => Some(Facts::Convention {
            examples: vec![format!("src/part_{}/mod_{}.rs", number % 40, number % 400)],
        }),
        LearningKind::Antipattern | LearningKind::Estimate => None,
    }
}

/// A query of [`WORDS`] words, as from a task.
fn query_text() -> String {
    let text: Vec<String> = (1..4)
        .map(|number| Memory::at(TEXTS + LEARNINGS + number, 1).text)
        .collect();
    let words: Vec<&str> = text
        .iter()
        .flat_map(|text| text.split_whitespace())
        .take(WORDS)
        .collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn benchmarked_learnings_pass_verification() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("progress.db");
        drop(Store::open_or_create(&database).unwrap());
        put(&database, &learnings(300, sound_learning));
        let store = Store::open_or_create(&database).unwrap();
        assert_eq!(store.verify_learnings().unwrap(), []);
    }
}
