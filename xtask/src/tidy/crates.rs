//! Rules about crates: who may use whom, what they are called, and that the map shows them.

use std::collections::BTreeSet;

use super::tree::{Tree, TreeFile};

/// What each crate stands directly upon. It may use those and all that they stand upon, and nothing else.
///
/// Nothing stands upon the testkit: it is for dev-dependencies, which this order leaves free, and for xtask.
const STANDS_UPON: &[(&str, &[&str])] = &[
    ("ralph-testkit", &["ralph"]),
    ("ralph", &["ralph-serve"]),
    ("ralph-serve", &["ralph-loop"]),
    ("ralph-loop", &["ralph-memory", "ralph-acp"]),
    ("ralph-memory", &["ralph-store", "ralph-notes"]),
    ("ralph-acp", &["ralph-agent"]),
    ("ralph-store", &["ralph-process", "ralph-model"]),
    ("ralph-notes", &["ralph-process", "ralph-model"]),
    ("ralph-agent", &["ralph-process", "ralph-model"]),
    ("ralph-process", &[]),
    ("ralph-model", &[]),
];

/// Names that say nothing of what is inside, so that anything ends up there.
const EMPTY_NAMES: [&str; 5] = ["core", "common", "util", "utils", "helpers"];

/// Crates use only what is below them.
pub(super) fn directions_hold(tree: &Tree) -> Vec<String> {
    let mut problems = Vec::new();
    for (name, manifest) in crates(tree) {
        if stands_upon(name).is_none() {
            let what = format!("{name} has no place in the order of crates; give it one in xtask/src/tidy/crates.rs");
            problems.push(manifest.problem(1, what));
            continue;
        }
        for (line, dependency) in dependencies(manifest) {
            let ours = dependency == "ralph" || dependency.starts_with("ralph-");
            if ours && !may_use(name, dependency) {
                problems.push(manifest.problem(line, format!("{name} must not use {dependency}")));
            }
        }
    }
    problems
}

/// ARCHITECTURE.md has every crate on its map.
pub(super) fn architecture_names_every_crate(tree: &Tree) -> Vec<String> {
    const MAP: &str = "ARCHITECTURE.md";
    let Some(map) = tree.file(MAP) else {
        return vec![format!("{MAP}:1: it is missing, and it names every crate")];
    };
    let in_a_name = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    let words: BTreeSet<&str> = map.text.split(|c| !in_a_name(c)).collect();
    let xtask = tree.file("xtask/Cargo.toml").map(|_| "xtask");
    crates(tree)
        .map(|(name, _)| name)
        .chain(xtask)
        .filter(|name| !words.contains(name))
        .map(|name| map.problem(1, format!("it does not name the crate {name}")))
        .collect()
}

/// No crate or module has a name under which anything could be put.
pub(super) fn names_say_what_is_inside(tree: &Tree) -> Vec<String> {
    let mut problems = BTreeSet::new();
    let message = |name: &str| format!("the name {name:?} does not say what is inside");
    for file in tree.rust_files() {
        let mut place = String::new();
        for part in file.path.split('/') {
            place.push_str(part);
            let name = part.trim_end_matches(".rs").trim_start_matches("ralph-");
            if EMPTY_NAMES.contains(&name) {
                problems.insert(format!("{place}:1: {}", message(name)));
            }
            place.push('/');
        }
        for (line, text) in file.code_lines() {
            if let Some(name) = inline_module(text).filter(|name| EMPTY_NAMES.contains(name)) {
                problems.insert(file.problem(line, message(name)));
            }
        }
    }
    problems.into_iter().collect()
}

/// The crates under crates/ by name, each with its manifest.
fn crates(tree: &Tree) -> impl Iterator<Item = (&str, &TreeFile)> {
    tree.files.iter().filter_map(|file| {
        let name = file.path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml")?;
        (!name.contains('/')).then_some((name, file))
    })
}

fn stands_upon(name: &str) -> Option<&'static [&'static str]> {
    STANDS_UPON
        .iter()
        .find(|(user, _)| *user == name)
        .map(|(_, below)| *below)
}

fn may_use(user: &str, used: &str) -> bool {
    stands_upon(user)
        .unwrap_or_default()
        .iter()
        .any(|below| *below == used || may_use(below, used))
}

/// What a manifest depends on when it is not under test, with the line of each.
///
/// Our manifests are of one simple form: `name.workspace = true`, or a table of its own.
fn dependencies(manifest: &TreeFile) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut inside = false;
    for (number, line) in manifest.lines() {
        if let Some(header) = line.strip_prefix('[') {
            let table = header.split(']').next().unwrap_or_default();
            let last = table.rsplit('.').next().unwrap_or_default();
            inside = matches!(last, "dependencies" | "build-dependencies");
            let in_its_own_table = table
                .strip_prefix("dependencies.")
                .or_else(|| table.strip_prefix("build-dependencies."));
            found.extend(in_its_own_table.map(|name| (number, name)));
        } else if inside && let Some(name) = line.split(['.', '=', ' ', '#']).next() {
            found.push((number, name));
        }
    }
    found
}

/// The name of the module that this line opens, as `mod name {`.
fn inline_module(line: &str) -> Option<&str> {
    let opening = line.trim().strip_suffix('{')?;
    let mut words = opening.split_whitespace().skip_while(|word| word.starts_with("pub"));
    (words.next() == Some("mod")).then(|| words.next())?
}

#[cfg(test)]
mod tests {
    use super::super::tree::testing::check;
    use super::*;

    fn check_directions(name: &str, manifest: &str, problems: &[&str]) {
        let path = format!("crates/{name}/Cargo.toml");
        check(directions_hold, &[(&path, manifest)], problems);
    }

    #[test]
    fn a_crate_uses_what_is_below_it() {
        check_directions(
            "ralph-memory",
            "\
             [dependencies]\n\
             ralph-store.workspace = true\n\
             ralph-notes = { path = \"x\" }\n\
             ralph-model.workspace = true\n\
             serde.workspace = true\n",
            &[],
        );
        check_directions("ralph", "[dependencies]\nralph-store.workspace = true\n", &[]);
        check_directions("ralph-testkit", "[dependencies]\nralph-process.workspace = true\n", &[]);
    }

    #[test]
    fn a_crate_uses_nothing_above_or_beside_it() {
        check_directions(
            "ralph-store",
            "\
             [package]\n\
             name = \"ralph-store\"\n\
             \n\
             [dependencies]\n\
             ralph-notes.workspace = true\n\
             ralph-model.workspace = true\n",
            &["crates/ralph-store/Cargo.toml:5: ralph-store must not use ralph-notes"],
        );
        check_directions(
            "ralph-notes",
            "\
             [target.'cfg(unix)'.dependencies]\n\
             ralph-store.workspace = true\n\
             \n\
             [dependencies.ralph]\n\
             workspace = true\n",
            &[
                "crates/ralph-notes/Cargo.toml:2: ralph-notes must not use ralph-store",
                "crates/ralph-notes/Cargo.toml:4: ralph-notes must not use ralph",
            ],
        );
        check_directions(
            "ralph-model",
            "[build-dependencies]\nralph-process.workspace = true\n",
            &["crates/ralph-model/Cargo.toml:2: ralph-model must not use ralph-process"],
        );
        check_directions(
            "ralph-acp",
            "[dependencies]\nralph-memory.workspace = true\n",
            &["crates/ralph-acp/Cargo.toml:2: ralph-acp must not use ralph-memory"],
        );
    }

    #[test]
    fn the_testkit_is_for_tests() {
        check_directions("ralph", "[dev-dependencies]\nralph-testkit.workspace = true\n", &[]);
        check_directions(
            "ralph",
            "[dependencies]\nralph-testkit.workspace = true\n",
            &["crates/ralph/Cargo.toml:2: ralph must not use ralph-testkit"],
        );
    }

    #[test]
    fn a_new_crate_needs_a_place_in_the_order() {
        check_directions(
            "ralph-new",
            "[dependencies]\n",
            &[
                "crates/ralph-new/Cargo.toml:1: ralph-new has no place in the order of crates; \
                 give it one in xtask/src/tidy/crates.rs",
            ],
        );
    }

    #[test]
    fn the_map_names_every_crate() {
        let check = |map: &str, problems: &[&str]| {
            let files = [
                ("ARCHITECTURE.md", map),
                ("crates/ralph/Cargo.toml", ""),
                ("crates/ralph-model/Cargo.toml", ""),
                ("xtask/Cargo.toml", ""),
            ];
            check(architecture_names_every_crate, &files, problems);
        };
        check("`crates/ralph/`, `ralph-model`, xtask.", &[]);
        check(
            "Only ralph-model and xtasks.",
            &[
                "ARCHITECTURE.md:1: it does not name the crate ralph",
                "ARCHITECTURE.md:1: it does not name the crate xtask",
            ],
        );
    }

    #[test]
    fn a_missing_map_is_a_problem() {
        check(
            architecture_names_every_crate,
            &[],
            &["ARCHITECTURE.md:1: it is missing, and it names every crate"],
        );
    }

    #[test]
    fn names_that_say_nothing_are_found() {
        check(
            names_say_what_is_inside,
            &[
                ("crates/ralph-core/src/a.rs", ""),
                ("crates/ralph-core/src/b.rs", ""),
                ("crates/ralph/src/utils.rs", "mod score {\n"),
                ("crates/ralph/tests/common/mod.rs", ""),
                ("xtask/src/main.rs", "use std::core;\n    pub(crate) mod helpers {\n"),
            ],
            &[
                "crates/ralph-core:1: the name \"core\" does not say what is inside",
                "crates/ralph/src/utils.rs:1: the name \"utils\" does not say what is inside",
                "crates/ralph/tests/common:1: the name \"common\" does not say what is inside",
                "xtask/src/main.rs:2: the name \"helpers\" does not say what is inside",
            ],
        );
    }
}
