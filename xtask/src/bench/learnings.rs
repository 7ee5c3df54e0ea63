//! `cargo xtask bench learnings`: what it costs to find a few lessons among very many, beside one query of FTS5, and what the
//! lessons of earlier runs cost a prompt, and what it costs to look after so many.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use jiff::Timestamp;
use ralph_model::{Facts, Learning, LearningKind, LearningSource, TaskType};
use ralph_store::index::terms_of;
use ralph_store::{Store, encode_term, journal_terms};
use ralph_testkit::{known_lesson, put_lessons};
use tempfile::TempDir;

use super::corpus::Memory;
use super::figures::{Figure, Figures, Target};
use super::{Cost, QUICK_RUNS, RUNS, costs, save};
use crate::child::output;
use crate::flags::Flags;
use crate::programs::Programs;

/// How many lessons there are.
const LESSONS: usize = 100_000;
/// Among how many contradictions are looked for: every lesson may contradict any other.
const LESSONS_COMPARED: usize = 5_000;
/// How often what looks at all of them is measured: it takes long, and so its costs are much the same each time.
const RUNS_OVER_ALL: usize = 3;
/// Their texts are others than those of everything else.
const TEXTS: usize = 7_000_000;
/// How many words are looked for.
const WORDS: usize = 10;
/// A query takes at most so many times what one query of FTS5 takes, and so does what the lessons add to a prompt.
const QUERY_RATIO: f64 = 2.0;
/// The task that prompts are for.
const TASK: &str = "Fix the crash of the session cache";

/// `cargo xtask bench learnings`.
pub(crate) fn run(root: &Path, words: &[&str]) -> Result<(), String> {
    let flags = Flags::parse(words, &["--quick"], &["--json"])?;
    let runs = if flags.has("--quick") { QUICK_RUNS } else { RUNS };
    let programs = Programs::build(root)?;
    let begin = Instant::now();
    let mut figures = Figures::among("lessons");
    println!("writing {LESSONS} lessons …");
    let full = Place::make(&programs, &lessons(LESSONS, lesson))?;
    let empty = Place::make(&programs, &[])?;
    println!("measuring, {runs} runs of each …");
    queries(&mut figures, &full, runs)?;
    prompts(&mut figures, &full, &empty, runs)?;
    drop((full, empty));
    care(&mut figures, &programs)?;
    figures.remark(format!("taken in {:.0} s", begin.elapsed().as_secs_f64()));
    print!("\n{}", figures.table());
    let document = format!("{:#}\n", figures.json("learnings", runs));
    match flags.value("--json") {
        None => print!("\n{document}"),
        Some(path) => save(path, &document)?,
    }
    Ok(())
}

fn queries(figures: &mut Figures, place: &Place<'_>, runs: usize) -> Result<(), String> {
    let words = question();
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
    let query = |arguments: &[&str]| place.ralph(&[&["learnings", "query"], arguments].concat());
    let [floor, measured @ ..] = costs(runs, |_| {
        let [one, two, three, four, five, six] = asked.each_ref().map(|(_, arguments)| query(arguments));
        [place.bare_search(&words), one, two, three, four, five, six]
    })?;
    take(figures, "bare search", floor.milliseconds(), "ms", Target::None);
    for ((name, _), cost) in asked.iter().zip(measured) {
        beside(figures, name, cost, floor);
    }
    Ok(())
}

fn prompts(figures: &mut Figures, full: &Place<'_>, empty: &Place<'_>, runs: usize) -> Result<(), String> {
    let words = question();
    let [floor, with, without] = costs(runs, |_| [full.bare_search(&words), full.prompt(), empty.prompt()])?;
    take(figures, "prompt", with.milliseconds(), "ms", Target::None);
    let more = with.milliseconds() - without.milliseconds();
    take(figures, "prompt: more than without any", more, "ms", Target::None);
    let ratio = more / floor.milliseconds();
    take(
        figures,
        "prompt: more / bare search",
        ratio,
        "×",
        Target::AtMost(QUERY_RATIO),
    );
    Ok(())
}

/// What looks at every lesson. Nobody waits for it in a loop, so there is no target.
fn care(figures: &mut Figures, programs: &Programs) -> Result<(), String> {
    let words = question();
    for (size, asked) in [(LESSONS, &["stats", "verify"][..]), (LESSONS_COMPARED, &["conflicts"])] {
        let place = Place::make(programs, &lessons(size, sound_lesson))?;
        mend(&place.database())?;
        for verb in asked {
            let [floor, cost] = costs(RUNS_OVER_ALL, |_| {
                [place.bare_search(&words), place.ralph(&["learnings", verb])]
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

/// Draws what lessons are found by from what they say, which those that were put in as they are lack.
fn mend(database: &Path) -> Result<(), String> {
    let store = Store::open_or_create(database);
    let mended = store.and_then(|mut store| store.mend_learnings(Timestamp::UNIX_EPOCH));
    match mended.map_err(|error| error.to_string())?.left.first() {
        None => Ok(()),
        Some(fault) => Err(format!("the lessons to be measured are not sound: {}", fault.what)),
    }
}

fn take(figures: &mut Figures, name: &str, value: f64, unit: &'static str, target: Target) {
    figures.add(Figure {
        name: name.to_owned(),
        size: LESSONS,
        value,
        unit,
        target,
    });
}

fn beside(figures: &mut Figures, name: &str, cost: Cost, floor: Cost) {
    take(figures, name, cost.milliseconds(), "ms", Target::None);
    let ratio = cost.milliseconds() / floor.milliseconds();
    take(
        figures,
        &format!("{name} / bare search"),
        ratio,
        "×",
        Target::AtMost(QUERY_RATIO),
    );
}

/// A project of so many lessons; its folder is removed with this value.
struct Place<'a> {
    programs: &'a Programs,
    folder: TempDir,
    task: String,
}

impl<'a> Place<'a> {
    fn make(programs: &'a Programs, lessons: &[Learning]) -> Result<Self, String> {
        let folder = tempfile::Builder::new().prefix("ralph-bench-").tempdir();
        let mut place = Self {
            programs,
            folder: folder.map_err(|error| format!("cannot make a project: {error}"))?,
            task: String::new(),
        };
        output(place.ralph(&["init"]).stdout(Stdio::piped()))?;
        let database = place.database();
        drop(Store::open_or_create(&database).map_err(|error| error.to_string())?);
        put(&database, lessons);
        let added = output(place.ralph(&["task", "add", TASK]).stdout(Stdio::piped()))?;
        added.trim().clone_into(&mut place.task);
        Ok(place)
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

    /// A bare program that asks the same table for the ten best of the same words.
    fn bare_search(&self, words: &str) -> Command {
        let mut terms: Vec<String> = terms_of(words)
            .iter()
            .map(|term| format!("\"{}\"", encode_term(term)))
            .collect();
        terms.sort_unstable();
        terms.dedup();
        let mut command = self.programs.example("floor_search", self.folder.path());
        command.arg(self.database()).arg(terms.join(" OR ")).arg("learnings");
        command
    }
}

fn put(database: &Path, lessons: &[Learning]) {
    let terms = |learning: &Learning| journal_terms(&learning.content);
    put_lessons(database, lessons.iter().map(|learning| (learning, terms(learning))));
}

fn lessons(number: usize, make: impl Fn(usize) -> Learning) -> Vec<Learning> {
    (0..number).map(make).collect()
}

/// One of which no other says the same, and whose uses were all counted elsewhere: nothing is wrong with it.
fn sound_lesson(number: usize) -> Learning {
    let learning = lesson(number);
    // In letters: lessons that name another number may contradict each other.
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

/// A lesson as runs leave them: of every kind, of all kinds of work, more and less sure.
fn lesson(number: usize) -> Learning {
    let kind = LearningKind::ALL[number % LearningKind::ALL.len()];
    let task_type = TaskType::ALL[number / 4 % TaskType::ALL.len()];
    let memory = Memory::at(TEXTS + number, 1);
    let learning = known_lesson(number as u64, kind, task_type, &memory.text);
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

/// So many words as a task has them.
fn question() -> String {
    let text: Vec<String> = (1..4)
        .map(|number| Memory::at(TEXTS + LESSONS + number, 1).text)
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
    fn nothing_is_wrong_with_the_lessons_that_are_verified() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("progress.db");
        drop(Store::open_or_create(&database).unwrap());
        put(&database, &lessons(300, sound_lesson));
        mend(&database).unwrap();
        let store = Store::open_or_create(&database).unwrap();
        assert_eq!(store.verify_learnings().unwrap(), []);
    }
}
