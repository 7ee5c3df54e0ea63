//! Rules about crates: dependencies, names, and the code map.

use std::collections::BTreeSet;

use super::tree::{Tree, TreeFile};

/// The crates directly below each crate. A crate may use those and everything below them, and no other crate of ours.
///
/// No crate is above the testkit: it is for xtask and for dev-dependencies, which are not checked.
const DIRECT_DEPENDENCIES: &[(&str, &[&str])] = &[
    ("ralph-testkit", &["ralph"]),
    ("ralph", &["ralph-loop"]),
    ("ralph-loop", &["ralph-memory", "ralph-acp"]),
    ("ralph-memory", &["ralph-search"]),
    ("ralph-search", &["ralph-store", "ralph-notes"]),
    ("ralph-acp", &["ralph-agent"]),
    ("ralph-store", &["ralph-process", "ralph-model"]),
    ("ralph-notes", &["ralph-process", "ralph-model"]),
    ("ralph-agent", &["ralph-process", "ralph-model"]),
    ("ralph-process", &[]),
    ("ralph-model", &[]),
];

/// Names that attract anything.
const VAGUE_NAMES: [&str; 5] = ["core", "common", "util", "utils", "helpers"];

/// Crates use only what is below them.
pub(super) fn dependencies_follow_layers(tree: &Tree) -> Vec<String> {
    let mut problems = Vec::new();
    for (name, manifest) in crates(tree) {
        if direct_dependencies(name).is_none() {
            let what = format!("{name} has no layer; add it to xtask/src/tidy/crates.rs");
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

/// ARCHITECTURE.md names every crate.
pub(super) fn architecture_names_every_crate(tree: &Tree) -> Vec<String> {
    const MAP: &str = "ARCHITECTURE.md";
    let Some(map) = tree.file(MAP) else {
        return vec![format!("{MAP}:1: the file is missing; it must name every crate")];
    };
    let in_a_name = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    let words: BTreeSet<&str> = map.text.split(|c| !in_a_name(c)).collect();
    let xtask = tree.file("xtask/Cargo.toml").map(|_| "xtask");
    crates(tree)
        .map(|(name, _)| name)
        .chain(xtask)
        .filter(|name| !words.contains(name))
        .map(|name| map.problem(1, format!("the crate {name} is missing")))
        .collect()
}

/// No crate or module has a vague name.
pub(super) fn names_are_specific(tree: &Tree) -> Vec<String> {
    let mut problems = BTreeSet::new();
    let message = |name: &str| format!("the name {name:?} is too vague");
    for file in tree.rust_files() {
        let mut place = String::new();
        for part in file.path.split('/') {
            place.push_str(part);
            let name = part.trim_end_matches(".rs").trim_start_matches("ralph-");
            if VAGUE_NAMES.contains(&name) {
                problems.insert(format!("{place}:1: {}", message(name)));
            }
            place.push('/');
        }
        for (line, text) in file.code_lines() {
            if let Some(name) = inline_module(text).filter(|name| VAGUE_NAMES.contains(name)) {
                problems.insert(file.problem(line, message(name)));
            }
        }
    }
    problems.into_iter().collect()
}

/// The crates under crates/, with their manifests.
fn crates(tree: &Tree) -> impl Iterator<Item = (&str, &TreeFile)> {
    tree.files.iter().filter_map(|file| {
        let name = file.path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml")?;
        (!name.contains('/')).then_some((name, file))
    })
}

fn direct_dependencies(name: &str) -> Option<&'static [&'static str]> {
    DIRECT_DEPENDENCIES
        .iter()
        .find(|(user, _)| *user == name)
        .map(|(_, below)| *below)
}

fn may_use(user: &str, used: &str) -> bool {
    direct_dependencies(user)
        .unwrap_or_default()
        .iter()
        .any(|below| *below == used || may_use(below, used))
}

/// The dependencies of a manifest except dev-dependencies, with their line numbers.
///
/// Our manifests use only two forms: `name.workspace = true`, or a separate table.
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

/// The module that this line opens with `mod name {`.
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
        check(dependencies_follow_layers, &[(&path, manifest)], problems);
    }

    #[test]
    fn crate_may_use_lower_crates() {
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
    fn crate_must_not_use_higher_or_sibling_crates() {
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
    fn testkit_is_a_dev_dependency_only() {
        check_directions("ralph", "[dev-dependencies]\nralph-testkit.workspace = true\n", &[]);
        check_directions(
            "ralph",
            "[dependencies]\nralph-testkit.workspace = true\n",
            &["crates/ralph/Cargo.toml:2: ralph must not use ralph-testkit"],
        );
    }

    #[test]
    fn new_crate_needs_a_layer() {
        check_directions(
            "ralph-new",
            "[dependencies]\n",
            &["crates/ralph-new/Cargo.toml:1: ralph-new has no layer; add it to xtask/src/tidy/crates.rs"],
        );
    }

    #[test]
    fn code_map_names_every_crate() {
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
                "ARCHITECTURE.md:1: the crate ralph is missing",
                "ARCHITECTURE.md:1: the crate xtask is missing",
            ],
        );
    }

    #[test]
    fn missing_code_map_is_a_problem() {
        check(
            architecture_names_every_crate,
            &[],
            &["ARCHITECTURE.md:1: the file is missing; it must name every crate"],
        );
    }

    #[test]
    fn vague_names_are_found() {
        check(
            names_are_specific,
            &[
                ("crates/ralph-core/src/a.rs", ""),
                ("crates/ralph-core/src/b.rs", ""),
                ("crates/ralph/src/utils.rs", "mod score {\n"),
                ("crates/ralph/tests/common/mod.rs", ""),
                ("xtask/src/main.rs", "use std::core;\n    pub(crate) mod helpers {\n"),
            ],
            &[
                "crates/ralph-core:1: the name \"core\" is too vague",
                "crates/ralph/src/utils.rs:1: the name \"utils\" is too vague",
                "crates/ralph/tests/common:1: the name \"common\" is too vague",
                "xtask/src/main.rs:2: the name \"helpers\" is too vague",
            ],
        );
    }
}
