//! Extracts conventions from the paths of files that a run changed: where tests are, what modules are, how files are
//! named, how the source is organised.

use std::collections::{BTreeMap, BTreeSet};

use ralph_model::{ExtractedLearning, Facts, LearningKind, MAX_FACT_EXAMPLES, PastIteration, TaskType, slug};

use super::paths::{CodeFile, ES_MODULES, Naming, TYPESCRIPT, TestPlace};

/// Content when modules may be either, in the words of AIWG, whose stores contain it.
const EITHER_MODULES: &str = "ES modules (.mjs) or TypeScript (.ts)";
/// Minimum number of files that show a convention: a single one may be chance …
const LEAST_FILES: usize = 2;
/// … except for a test: its name or folder marks it as one, so its place was chosen …
const LEAST_TESTS: usize = 1;
/// … and at most one in this many relevant files may deviate.
const ONE_AGAINST_IN: usize = 5;
/// The confidence of a convention by its subject.
const OF_TESTS: f64 = 0.7;
const OF_MODULES: f64 = 0.8;
const OF_ORGANISATION: f64 = 0.6;
/// Source folders of a project or of one of its parts.
const SOURCE_FOLDERS: [&str; 3] = ["src", "lib", "app"];

/// A possible convention, the files that follow it, and how many do not.
struct Convention<'p> {
    content: String,
    tag: String,
    confidence: f64,
    /// Minimum number of files.
    least: usize,
    files: Vec<&'p str>,
    against: usize,
}

impl Convention<'_> {
    fn is_established(&self) -> bool {
        self.files.len() >= self.least && self.against * ONE_AGAINST_IN <= self.files.len() + self.against
    }
}

/// The conventions of a project, as far as the files of a run show them. They are the same for every kind of work.
pub(super) fn of(iterations: &[PastIteration]) -> Vec<ExtractedLearning> {
    let paths: BTreeSet<&str> = iterations
        .iter()
        .flat_map(|iteration| iteration.files.iter().map(String::as_str))
        .collect();
    let files: Vec<CodeFile<'_>> = paths.into_iter().filter_map(CodeFile::of).collect();
    let found = [tests(&files), modules(&files)]
        .into_iter()
        .chain(language(&files))
        .chain(names(&files))
        .chain(module_layout(&files))
        .chain(organisation(&files));
    found
        .filter(Convention::is_established)
        .map(|shown| learning(&shown, iterations))
        .collect()
}

fn learning(shown: &Convention<'_>, iterations: &[PastIteration]) -> ExtractedLearning {
    let files: BTreeSet<&str> = shown.files.iter().copied().collect();
    let shows = |iteration: &&PastIteration| iteration.files.iter().any(|file| files.contains(file.as_str()));
    let examples = shown.files.iter().take(MAX_FACT_EXAMPLES);
    ExtractedLearning {
        kind: LearningKind::Convention,
        task_type: TaskType::General,
        content: shown.content.clone(),
        tags: vec![shown.tag.clone()],
        facts: Facts::Convention {
            examples: examples.map(|file| (*file).to_owned()).collect(),
        },
        confidence: shown.confidence,
        success_rate: LearningKind::Convention.first_success_rate(),
        journal: iterations
            .iter()
            .filter(shows)
            .filter_map(|iteration| iteration.journal)
            .collect(),
        signatures: Vec::new(),
    }
}

fn tests<'p>(files: &[CodeFile<'p>]) -> Convention<'p> {
    let mut beside = Vec::new();
    let mut inside = Vec::new();
    let mut folders: BTreeMap<&str, usize> = BTreeMap::new();
    for file in files {
        match file.test_place() {
            Some(TestPlace::Beside) => beside.push(file.path),
            Some(TestPlace::In(folder)) => {
                inside.push(file.path);
                *folders.entry(folder).or_default() += 1;
            }
            None => {}
        }
    }
    let folder = folders
        .iter()
        .max_by_key(|(_, files)| **files)
        .map(|(folder, _)| *folder);
    let folder = folder.unwrap_or_default();
    let (content, files, against) = if is_rare(&inside, &beside) {
        ("Tests co-located with source".to_owned(), beside, inside.len())
    } else if is_rare(&beside, &inside) {
        (format!("Tests in {folder}/ directory"), inside, beside.len())
    } else {
        let content = format!("Tests co-located with source or in {folder}/ directory");
        (content, in_turn(&beside, &inside), 0)
    };
    Convention {
        content,
        tag: "tests".to_owned(),
        confidence: OF_TESTS,
        least: LEAST_TESTS,
        files,
        against,
    }
}

/// Whether some are a small minority.
fn is_rare(few: &[&str], others: &[&str]) -> bool {
    few.len() * ONE_AGAINST_IN <= few.len() + others.len()
}

/// Interleaves two lists, so that the first examples show both.
fn in_turn<'p>(ones: &[&'p str], others: &[&'p str]) -> Vec<&'p str> {
    let longest = ones.len().max(others.len());
    let pairs = (0..longest).flat_map(|at| [ones.get(at), others.get(at)]);
    pairs.flatten().copied().collect()
}

/// The module system of scripts.
fn modules<'p>(files: &[CodeFile<'p>]) -> Convention<'p> {
    let of = |language: &str| paths_of(files, |file| file.language == language);
    let (typed, modern, plain) = (of(TYPESCRIPT), of(ES_MODULES), of("JavaScript").len());
    let (content, files, against) = if is_rare(&modern, &typed) {
        ("Modules are TypeScript (.ts)", typed, modern.len())
    } else if is_rare(&typed, &modern) {
        ("Modules are ES modules (.mjs)", modern, typed.len())
    } else {
        let both = in_turn(&typed, &modern);
        (EITHER_MODULES, both, 0)
    };
    Convention {
        content: content.to_owned(),
        tag: "modules".to_owned(),
        confidence: OF_MODULES,
        least: LEAST_FILES,
        files,
        against: against + plain,
    }
}

/// The dominant language, unless the module convention already covers it.
fn language<'p>(files: &[CodeFile<'p>]) -> Option<Convention<'p>> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for file in files {
        *counts.entry(file.language).or_default() += 1;
    }
    let (language, count) = counts.into_iter().max_by_key(|(_, count)| *count)?;
    let is_covered = [TYPESCRIPT, ES_MODULES].contains(&language);
    (!is_covered).then(|| Convention {
        content: format!("Code is written in {language}"),
        tag: slug(language),
        confidence: OF_MODULES,
        least: LEAST_FILES,
        files: paths_of(files, |file| file.language == language),
        against: files.len().saturating_sub(count),
    })
}

/// The naming of files, by language.
fn names<'p>(files: &[CodeFile<'p>]) -> Vec<Convention<'p>> {
    let languages: BTreeSet<&str> = files.iter().map(|file| file.language).collect();
    let mut found = Vec::new();
    for language in languages {
        let telling = |file: &CodeFile<'_>| file.language == language && file.naming().is_some();
        let all = files.iter().filter(|file| telling(file)).count();
        for naming in Naming::ALL {
            let named = paths_of(files, |file| file.language == language && file.naming() == Some(naming));
            found.push(Convention {
                content: format!("{} are named in {}", files_of(language), naming.word()),
                tag: "naming".to_owned(),
                confidence: OF_ORGANISATION,
                least: LEAST_FILES,
                against: all.saturating_sub(named.len()),
                files: named,
            });
        }
    }
    found
}

fn files_of(language: &str) -> String {
    if language == ES_MODULES {
        language.to_owned()
    } else {
        format!("{language} files")
    }
}

/// The layout of modules with submodules.
fn module_layout<'p>(files: &[CodeFile<'p>]) -> Vec<Convention<'p>> {
    let rust: Vec<&CodeFile<'p>> = files.iter().filter(|file| file.language == "Rust").collect();
    let folders: BTreeSet<String> = rust.iter().map(|file| file.folders.join("/")).collect();
    let is_beside_folder = |file: &CodeFile<'_>| {
        let inside: Vec<&str> = file.folders.iter().copied().chain([file.stem()]).collect();
        folders.contains(&inside.join("/"))
    };
    let of_rust = |file: &CodeFile<'_>| file.language == "Rust";
    let inside = paths_of(files, |file| of_rust(file) && file.name == "mod.rs");
    let beside = paths_of(files, |file| of_rust(file) && is_beside_folder(file));
    let is_entry = |file: &CodeFile<'_>| {
        let is_script = [TYPESCRIPT, ES_MODULES, "JavaScript"].contains(&file.language);
        is_script && file.stem() == "index" && file.folders.len() > 1
    };
    let entries = paths_of(files, is_entry);
    let shown = |content: &str, files: Vec<&'p str>, against: usize| Convention {
        content: content.to_owned(),
        tag: "layout".to_owned(),
        confidence: OF_ORGANISATION,
        least: LEAST_FILES,
        files,
        against,
    };
    let (in_folders, in_files) = (inside.len(), beside.len());
    vec![
        shown("Rust modules with parts are a folder with a mod.rs", inside, in_files),
        shown(
            "Rust modules with parts are name.rs beside a folder name/",
            beside,
            in_folders,
        ),
        shown("Folders of modules have an index file as their entry", entries, 0),
    ]
}

/// The organisation of the source: by areas in one folder, or by parts with a source folder each.
fn organisation<'p>(files: &[CodeFile<'p>]) -> Vec<Convention<'p>> {
    let mut divisions: BTreeMap<String, (BTreeSet<&str>, Vec<&'p str>)> = BTreeMap::new();
    let mut elsewhere = 0;
    let sources: Vec<&CodeFile<'p>> = files.iter().filter(|file| file.test_place().is_none()).collect();
    for file in &sources {
        match division(file) {
            Division::By(pattern, area) => {
                let (areas, paths) = divisions.entry(pattern).or_default();
                areas.insert(area);
                paths.push(file.path);
            }
            Division::None => {}
            Division::Elsewhere => elsewhere += 1,
        }
    }
    let divided: usize = divisions.values().map(|(_, paths)| paths.len()).sum();
    let several = divisions
        .into_iter()
        .filter(|(_, (areas, _))| areas.len() >= LEAST_FILES);
    several
        .map(|(pattern, (_, paths))| Convention {
            content: format!("Source is organised as {pattern}"),
            tag: "layout".to_owned(),
            confidence: OF_ORGANISATION,
            least: LEAST_FILES,
            against: elsewhere + divided - paths.len(),
            files: paths,
        })
        .collect()
}

/// How a source file's folder relates to others.
enum Division<'p> {
    /// In an area, with the folder pattern.
    By(String, &'p str),
    /// Directly in the source folder.
    None,
    /// Outside any source folder.
    Elsewhere,
}

fn division<'p>(file: &CodeFile<'p>) -> Division<'p> {
    let at = file.folders.iter().position(|folder| SOURCE_FOLDERS.contains(folder));
    match (at, file.folders.as_slice()) {
        (Some(0), [source, area, ..]) => Division::By(format!("{source}/<area>/"), area),
        (Some(0), _) => Division::None,
        (Some(1), [part, source, ..]) => Division::By(format!("<part>/{source}/"), part),
        (Some(2), [parts, part, source, ..]) => Division::By(format!("{parts}/<part>/{source}/"), part),
        _ => Division::Elsewhere,
    }
}

fn paths_of<'p>(files: &[CodeFile<'p>], is: impl Fn(&CodeFile<'p>) -> bool) -> Vec<&'p str> {
    files.iter().filter(|file| is(file)).map(|file| file.path).collect()
}
