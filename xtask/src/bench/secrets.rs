//! `cargo xtask bench secrets`: measures detected secrets, false positives in ordinary text, and speed.
//!
//! The speed is relative to the minimum that any search needs in the same run: one pass over the text for a few bytes.

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

/// The number of examples per format.
const EXAMPLES_PER_FORMAT: usize = 40;
/// The default seed of the examples.
const SEED: u64 = 1;
/// The share of a provider's examples that must be found, in percent.
const MIN_PROVIDER_RECALL: f64 = 95.0;
/// How many providers must reach [`MIN_PROVIDER_RECALL`].
const MIN_PROVIDERS: f64 = 40.0;
/// The share of all examples that must be found, in percent.
const MIN_TOTAL_RECALL: f64 = 75.0;
/// The maximum number of findings in 100,000 lines of ordinary text.
const MAX_FALSE_FINDINGS: f64 = 1.0;
/// The maximum time for 100 KB of ordinary text.
const MAX_MILLISECONDS: f64 = 5.0;
/// How much ordinary text is timed, and how often; the fastest run counts.
const TIMED_BYTES: usize = 1 << 20;
const TIMES: usize = 10;
/// Larger files are not text that a person wrote.
const MAX_FILE_BYTES: u64 = 4 << 20;
const MAX_SHOWN_CHARS: usize = 100;

/// `cargo xtask bench secrets`.
pub(crate) fn secrets(words: &[&str]) -> Result<(), String> {
    let flags = Flags::parse(words, &[], &["--data", "--seed", "--json"])?;
    let mut random = Random::seeded(flags.number("--seed")?.unwrap_or(SEED));
    let mut figures = Figures::new("examples");
    if cfg!(debug_assertions) {
        figures.add_remark("not a release build: read the ratio, not the milliseconds".to_owned());
    }
    recall_of(
        &mut figures,
        "made from documented formats",
        &examples(&mut random, EXAMPLES_PER_FORMAT),
    );
    if let Some(folder) = flags.value("--data") {
        let folder = Path::new(folder);
        recall_of(
            &mut figures,
            "positives.jsonl",
            &read_examples(&folder.join("positives.jsonl"))?,
        );
        search_ordinary_text(&mut figures, &folder.join("negatives"))?;
    }
    print!("\n{}", figures.table());
    let document = format!("{:#}\n", figures.json("secrets", EXAMPLES_PER_FORMAT));
    match flags.value("--json") {
        None => print!("\n{document}"),
        Some(path) => save(path, &document)?,
    }
    Ok(())
}

/// The number of found examples and of all examples.
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

/// Prints the recall of each provider and of all.
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
        .filter(|recall| recall.percent() >= MIN_PROVIDER_RECALL)
        .count();
    figures.add(Figure {
        name: format!("found, {name}"),
        size: all.all,
        value: all.percent(),
        unit: "%",
        target: Target::AtLeast(MIN_TOTAL_RECALL),
    });
    figures.add(Figure {
        name: format!("providers with {MIN_PROVIDER_RECALL} % or more, {name}"),
        size: providers.len(),
        value: count(good),
        unit: "providers",
        target: Target::AtLeast(MIN_PROVIDERS.min(count(providers.len()))),
    });
}

/// Reads examples from a file with one object per line: `provider`, `text`, `secret`.
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

/// Searches ordinary text and prints each finding, since a person must decide whether it is false.
fn search_ordinary_text(figures: &mut Figures, folder: &Path) -> Result<(), String> {
    let mut files = Vec::new();
    collect(folder, &mut files)?;
    files.sort();
    let (mut lines, mut findings) = (0, 0);
    let mut timed = String::new();
    println!("\nfindings in ordinary text\n");
    for file in &files {
        // Skip files that are not UTF-8.
        let Ok(text) = fs::read_to_string(file) else { continue };
        lines += text.lines().count();
        for secret in find(&text) {
            findings += 1;
            let shown: String = text
                .get(secret.range)
                .unwrap_or_default()
                .chars()
                .take(MAX_SHOWN_CHARS)
                .collect();
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
        target: Target::AtMost(MAX_FALSE_FINDINGS),
    });
    let search = fastest(|| find(&timed).len());
    let floor = fastest(|| memchr::memchr3_iter(b'\0', b'\x01', b'\x02', timed.as_bytes()).count());
    let hundred_kilobytes = count(timed.len()).max(1.0) / 102_400.0;
    figures.add(Figure {
        name: "time for 100 KB".to_owned(),
        size: timed.len(),
        value: search.as_secs_f64() * 1000.0 / hundred_kilobytes,
        unit: "ms",
        target: if cfg!(debug_assertions) {
            Target::None
        } else {
            Target::AtMost(MAX_MILLISECONDS)
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

/// The time of the fastest run.
fn fastest(mut work: impl FnMut() -> usize) -> Duration {
    let times = (0..TIMES).map(|_| {
        let begin = Instant::now();
        std::hint::black_box(work());
        begin.elapsed()
    });
    times.min().unwrap_or_default()
}

/// Collects all files below a folder that are not too large, without following links.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("cannot read {}: {error}", folder.display());
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let metadata = entry.metadata().map_err(failed)?;
        if metadata.is_dir() {
            collect(&entry.path(), files)?;
        } else if metadata.is_file() && metadata.len() <= MAX_FILE_BYTES {
            files.push(entry.path());
        }
    }
    Ok(())
}
