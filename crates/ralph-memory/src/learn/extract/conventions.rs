//! How files are kept here, found from the paths of those that a run changed: where tests stand, what modules are, how files
//! are called, how the source is laid out.

use std::collections::{BTreeMap, BTreeSet};

use ralph_model::{DrawnLesson, Facts, LearningKind, MOST_FACT_EXAMPLES, PastIteration, TaskType, slug};

use super::answers::EITHER_MODULES;
use super::paths::{CodeFile, ES_MODULES, Naming, TYPESCRIPT, TestPlace};

/// So many files show a convention: what one alone does may be chance …
const LEAST_FILES: usize = 2;
/// … but for a test, which is known by its name or its folder to be one, so that the place where it stands was chosen …
const LEAST_TESTS: usize = 1;
/// … and of all files that could, at most one in so many does not.
const ONE_AGAINST_IN: usize = 5;
/// How sure a convention is, by what it is about.
const OF_TESTS: f64 = 0.7;
const OF_MODULES: f64 = 0.8;
const OF_ORGANISATION: f64 = 0.6;
/// Folders that hold the source of a project or of one of its parts.
const SOURCE_FOLDERS: [&str; 3] = ["src", "lib", "app"];

/// A convention, the files that show it, and how many do otherwise.
struct Shown<'p> {
    content: String,
    tag: String,
    confidence: f64,
    /// So many of them have to be.
    least: usize,
    files: Vec<&'p str>,
    against: usize,
}

impl Shown<'_> {
    fn holds(&self) -> bool {
        self.files.len() >= self.least && self.against * ONE_AGAINST_IN <= self.files.len() + self.against
    }
}

/// The conventions of a project, as far as the files of a run show them. They are the same for every kind of work.
pub(super) fn of(iterations: &[PastIteration]) -> Vec<DrawnLesson> {
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
        .filter(Shown::holds)
        .map(|shown| lesson(&shown, iterations))
        .collect()
}

fn lesson(shown: &Shown<'_>, iterations: &[PastIteration]) -> DrawnLesson {
    let files: BTreeSet<&str> = shown.files.iter().copied().collect();
    let shows = |iteration: &&PastIteration| iteration.files.iter().any(|file| files.contains(file.as_str()));
    let examples = shown.files.iter().take(MOST_FACT_EXAMPLES);
    DrawnLesson {
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

/// Where tests stand.
fn tests<'p>(files: &[CodeFile<'p>]) -> Shown<'p> {
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
    Shown {
        content,
        tag: "tests".to_owned(),
        confidence: OF_TESTS,
        least: LEAST_TESTS,
        files,
        against,
    }
}

/// Whether some are but a few beside others.
fn is_rare(few: &[&str], others: &[&str]) -> bool {
    few.len() * ONE_AGAINST_IN <= few.len() + others.len()
}

/// One of each, as long as there are some, and then the rest: so that few examples show both.
fn in_turn<'p>(ones: &[&'p str], others: &[&'p str]) -> Vec<&'p str> {
    let longest = ones.len().max(others.len());
    let pairs = (0..longest).flat_map(|at| [ones.get(at), others.get(at)]);
    pairs.flatten().copied().collect()
}

/// What the modules of scripts are.
fn modules<'p>(files: &[CodeFile<'p>]) -> Shown<'p> {
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
    Shown {
        content: content.to_owned(),
        tag: "modules".to_owned(),
        confidence: OF_MODULES,
        least: LEAST_FILES,
        files,
        against: against + plain,
    }
}

/// The language that nearly everything is written in. Of scripts their modules tell it.
fn language<'p>(files: &[CodeFile<'p>]) -> Option<Shown<'p>> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for file in files {
        *counts.entry(file.language).or_default() += 1;
    }
    let (language, count) = counts.into_iter().max_by_key(|(_, count)| *count)?;
    let is_told = [TYPESCRIPT, ES_MODULES].contains(&language);
    (!is_told).then(|| Shown {
        content: format!("Code is written in {language}"),
        tag: slug(language),
        confidence: OF_MODULES,
        least: LEAST_FILES,
        files: paths_of(files, |file| file.language == language),
        against: files.len().saturating_sub(count),
    })
}

/// How the files of each language are called.
fn names<'p>(files: &[CodeFile<'p>]) -> Vec<Shown<'p>> {
    let languages: BTreeSet<&str> = files.iter().map(|file| file.language).collect();
    let mut found = Vec::new();
    for language in languages {
        let telling = |file: &CodeFile<'_>| file.language == language && file.naming().is_some();
        let all = files.iter().filter(|file| telling(file)).count();
        for naming in Naming::ALL {
            let named = paths_of(files, |file| file.language == language && file.naming() == Some(naming));
            found.push(Shown {
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

/// How modules that have parts are laid out.
fn module_layout<'p>(files: &[CodeFile<'p>]) -> Vec<Shown<'p>> {
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
    let shown = |content: &str, files: Vec<&'p str>, against: usize| Shown {
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

/// How the source is divided: by areas in one folder, or by parts that have one each.
fn organisation<'p>(files: &[CodeFile<'p>]) -> Vec<Shown<'p>> {
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
        .map(|(pattern, (_, paths))| Shown {
            content: format!("Source is organised as {pattern}"),
            tag: "layout".to_owned(),
            confidence: OF_ORGANISATION,
            least: LEAST_FILES,
            against: elsewhere + divided - paths.len(),
            files: paths,
        })
        .collect()
}

/// How the place of a file of the source divides it from others.
enum Division<'p> {
    /// By a pattern of folders, and the area that this one is of.
    By(String, &'p str),
    /// It is in the source folder itself.
    None,
    /// It is not in a source folder.
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
