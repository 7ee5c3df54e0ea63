//! `cargo xtask bench secrets`: how many secrets are found, how much ordinary text is taken for one, and how long it takes.
//!
//! The speed is a ratio to the least that any search has to do in the same run: one pass over the text for a few bytes.

mod formats;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ralph_memory::secrets::{find, mask};
use serde_json::Value;

use formats::{Example, examples};

use crate::bench::figures::{Figure, Figures, Target};
use crate::bench::save;
use crate::bench::table::{Side, table};
use crate::flags::Flags;
use crate::random::Random;

/// How many examples of each format are made.
const OF_EACH: usize = 40;
/// The seed of the examples, unless another is given.
const SEED: u64 = 1;
/// The share of a provider's examples that has to be found, …
const OF_A_PROVIDER: f64 = 95.0;
/// … of at least so many providers, …
const PROVIDERS: f64 = 40.0;
/// … and the share of other examples.
const OF_ALL: f64 = 75.0;
/// The most findings in 100,000 lines of ordinary text.
const FALSE_FINDINGS: f64 = 1.0;
/// The most milliseconds for 100 KB of ordinary text.
const MILLISECONDS: f64 = 5.0;
/// How much ordinary text is timed, and how often; the least counts.
const TIMED_BYTES: usize = 1 << 20;
const TIMES: usize = 10;
/// A larger file is not text that anybody wrote.
const MOST_FILE_BYTES: u64 = 4 << 20;
/// The most characters of a finding that are shown.
const SHOWN: usize = 100;

/// `cargo xtask bench secrets`.
pub(crate) fn secrets(words: &[&str]) -> Result<(), String> {
    let flags = Flags::parse(words, &[], &["--data", "--seed", "--json"])?;
    let mut random = Random::seeded(flags.number("--seed")?.unwrap_or(SEED));
    let mut figures = Figures::among("examples");
    if cfg!(debug_assertions) {
        figures.remark("not a release build: read the ratio, not the milliseconds".to_owned());
    }
    recall_of(
        &mut figures,
        "made from documented formats",
        &examples(&mut random, OF_EACH),
    );
    if let Some(folder) = flags.value("--data") {
        let folder = Path::new(folder);
        recall_of(
            &mut figures,
            "positives.jsonl",
            &read_examples(&folder.join("positives.jsonl"))?,
        );
        ordinary(&mut figures, &folder.join("negatives"))?;
    }
    print!("\n{}", figures.table());
    let document = format!("{:#}\n", figures.json("secrets", OF_EACH));
    match flags.value("--json") {
        None => print!("\n{document}"),
        Some(path) => save(path, &document)?,
    }
    Ok(())
}

/// Examples found, and examples in all.
#[derive(Debug, Clone, Copy, Default)]
struct Recall {
    found: usize,
    all: usize,
}

impl Recall {
    fn percent(self) -> f64 {
        100.0 * count(self.found) / count(self.all).max(1.0)
    }
}

fn count(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}

/// Prints the recall for each provider and adds it up.
fn recall_of(figures: &mut Figures, name: &str, examples: &[Example]) {
    let mut providers: BTreeMap<&str, Recall> = BTreeMap::new();
    let mut all = Recall::default();
    for example in examples {
        let recall = providers.entry(&example.provider).or_default();
        let found = usize::from(!mask(&example.text).contains(&example.secret));
        for recall in [recall, &mut all] {
            recall.found += found;
            recall.all += 1;
        }
    }
    let mut rows = vec![["provider", "found", "recall"].map(str::to_owned)];
    rows.extend(providers.iter().map(|(provider, recall)| {
        [
            (*provider).to_owned(),
            format!("{}/{}", recall.found, recall.all),
            format!("{:.1} %", recall.percent()),
        ]
    }));
    println!("\n{name}\n");
    print!("{}", table([Side::Left, Side::Right, Side::Right], &rows));
    let good = providers
        .values()
        .filter(|recall| recall.percent() >= OF_A_PROVIDER)
        .count();
    figures.add(Figure {
        name: format!("found, {name}"),
        size: all.all,
        value: all.percent(),
        unit: "%",
        target: Target::AtLeast(OF_ALL),
    });
    figures.add(Figure {
        name: format!("providers with {OF_A_PROVIDER} % or more, {name}"),
        size: providers.len(),
        value: count(good),
        unit: "providers",
        target: Target::AtLeast(PROVIDERS.min(count(providers.len()))),
    });
}

/// Examples from a file with an object per line: `provider`, `text`, `secret`.
fn read_examples(path: &Path) -> Result<Vec<Example>, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let mut examples = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let value: Value =
            serde_json::from_str(line).map_err(|error| format!("{}:{}: {error}", path.display(), at + 1))?;
        let field = |name: &str| {
            let field = value.get(name).and_then(Value::as_str).map(str::to_owned);
            field.ok_or_else(|| format!("{}:{}: {name} is missing", path.display(), at + 1))
        };
        examples.push(Example {
            provider: field("provider")?,
            text: field("text")?,
            secret: field("secret")?,
        });
    }
    Ok(examples)
}

/// Searches ordinary text: each finding is printed, because a person has to decide whether it is false.
fn ordinary(figures: &mut Figures, folder: &Path) -> Result<(), String> {
    let mut files = Vec::new();
    collect(folder, &mut files)?;
    files.sort();
    let (mut lines, mut findings) = (0, 0);
    let mut timed = String::new();
    println!("\nfindings in ordinary text\n");
    for file in &files {
        // What is not UTF-8 is not text.
        let Ok(text) = fs::read_to_string(file) else { continue };
        lines += text.lines().count();
        for secret in find(&text) {
            findings += 1;
            let shown: String = text.get(secret.range).unwrap_or_default().chars().take(SHOWN).collect();
            println!("{}\t{}\t{shown:?}", secret.kind.slug(), file.display());
        }
        if timed.len() < TIMED_BYTES {
            timed.push_str(&text);
        }
    }
    figures.add(Figure {
        name: "findings in 100,000 lines of ordinary text".to_owned(),
        size: lines,
        value: count(findings) * 100_000.0 / count(lines).max(1.0),
        unit: "findings",
        target: Target::AtMost(FALSE_FINDINGS),
    });
    let search = least(|| find(&timed).len());
    let floor = least(|| memchr::memchr3_iter(b'\0', b'\x01', b'\x02', timed.as_bytes()).count());
    let hundred_kilobytes = count(timed.len()).max(1.0) / 102_400.0;
    figures.add(Figure {
        name: "time for 100 KB".to_owned(),
        size: timed.len(),
        value: search.as_secs_f64() * 1000.0 / hundred_kilobytes,
        unit: "ms",
        target: if cfg!(debug_assertions) {
            Target::None
        } else {
            Target::AtMost(MILLISECONDS)
        },
    });
    figures.add(Figure {
        name: "times one pass for three bytes".to_owned(),
        size: timed.len(),
        value: search.as_secs_f64() / floor.as_secs_f64().max(f64::MIN_POSITIVE),
        unit: "times",
        target: Target::None,
    });
    Ok(())
}

/// The least time of several runs.
fn least(mut work: impl FnMut() -> usize) -> Duration {
    let times = (0..TIMES).map(|_| {
        let begin = Instant::now();
        std::hint::black_box(work());
        begin.elapsed()
    });
    times.min().unwrap_or_default()
}

/// All files below a folder that are not too large. Links are not followed.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("cannot read {}: {error}", folder.display());
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let metadata = entry.metadata().map_err(failed)?;
        if metadata.is_dir() {
            collect(&entry.path(), files)?;
        } else if metadata.is_file() && metadata.len() <= MOST_FILE_BYTES {
            files.push(entry.path());
        }
    }
    Ok(())
}
