//! The stages of ralph-memory are independent of each other, except that inject and learn use recall.

use super::tree::{Tree, TreeFile};

const SOURCE: &str = "crates/ralph-memory/src/";
/// Allowed uses: injected notes are recalled, and new learnings are compared with known ones.
const ALLOWED: [(&str, &str); 2] = [("inject", "recall"), ("learn", "recall")];
const STAGES: [&str; 4] = ["capture", "recall", "inject", "learn"];

/// No stage uses another one, with the exceptions in [`ALLOWED`].
pub(super) fn stay_independent(tree: &Tree) -> Vec<String> {
    let mut problems = Vec::new();
    for file in tree.rust_files() {
        let Some(stage) = stage_of(&file.path) else {
            continue;
        };
        for (line, name) in named_modules(file) {
            let other = STAGES.contains(&name.as_str()) && name != stage;
            if other && !ALLOWED.contains(&(stage, name.as_str())) {
                problems.push(file.problem(line, format!("the stage {stage} must not use the stage {name}")));
            }
        }
    }
    problems
}

fn stage_of(path: &str) -> Option<&'static str> {
    let first = path.strip_prefix(SOURCE)?.split('/').next()?;
    let module = first.strip_suffix(".rs").unwrap_or(first);
    STAGES.into_iter().find(|stage| *stage == module)
}

/// Modules that the code names from the crate root or a parent, with line numbers:
/// `crate::recall`, `crate::{recall::Hit, prompt}`, `super::recall`.
fn named_modules(file: &TreeFile) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut numbers = Vec::new();
    let mut code = String::new();
    // Comments may mention another stage.
    for (number, line) in file.code_lines() {
        numbers.push(number);
        code.push_str(line);
        code.push('\n');
    }
    for prefix in ["crate::", "super::"] {
        for (start, _) in code.match_indices(prefix) {
            let Some((before, after)) = code.split_at_checked(start + prefix.len()) else {
                continue;
            };
            let line = numbers.get(before.matches('\n').count()).copied();
            found.extend(first_names(after).into_iter().map(|name| (line.unwrap_or(1), name)));
        }
    }
    found.sort();
    found
}

/// The first name of the path that starts here, or of each path in a group.
fn first_names(text: &str) -> Vec<String> {
    let in_a_name = |c: char| c.is_alphanumeric() || c == '_';
    let Some(group) = text.strip_prefix('{') else {
        return vec![text.chars().take_while(|c| in_a_name(*c)).collect()];
    };
    // Inner groups never contain a first name.
    let mut depth = 1_usize;
    let mut outer = String::new();
    for c in group.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ if depth == 1 => outer.push(c),
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    outer
        .split(',')
        .map(|path| path.trim().chars().take_while(|c| in_a_name(*c)).collect())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::tree::testing::check;
    use super::*;

    fn check_stage(path: &str, text: &str, problems: &[&str]) {
        let path = format!("{SOURCE}{path}");
        check(stay_independent, &[(&path, text)], problems);
    }

    #[test]
    fn stage_may_use_itself_and_non_stages() {
        check_stage(
            "capture/add.rs",
            "use crate::capture::x;\nuse crate::prompts::{recall, learn};\n",
            &[],
        );
        check_stage("capture.rs", "//! Not [`crate::recall`].\nuse crate::recalled;\n", &[]);
        check_stage("lib.rs", "pub use crate::recall::Hit;\n", &[]);
    }

    #[test]
    fn inject_may_use_recall_but_not_vice_versa() {
        check_stage("inject/pack.rs", "use crate::recall::Hit;\n", &[]);
        check_stage("learn/extract/mod.rs", "use crate::recall::warnings_of;\n", &[]);
        check_stage(
            "recall/rank.rs",
            "//! Ranks.\nfn f() { crate::inject::pack() }\n",
            &["crates/ralph-memory/src/recall/rank.rs:2: the stage recall must not use the stage inject"],
        );
    }

    #[test]
    fn every_path_form_is_detected() {
        let problem = "crates/ralph-memory/src/learn.rs:1: the stage learn must not use the stage capture";
        for text in [
            "use crate::capture;\n",
            "use crate::{\n    prompts::{a, b},\n    capture::{c, learn},\n};\n",
            "use super::capture::add;\n",
            "use super::super::capture;\n",
        ] {
            check_stage("learn.rs", text, &[problem]);
        }
    }
}
