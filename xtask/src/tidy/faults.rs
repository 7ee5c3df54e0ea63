//! A rule for the table of faults: every fault has a test, and each named test exists in the named file.

use super::tree::Tree;

const TABLE: &str = "CONTRIBUTING.md";
/// The number of faults.
const FAULTS: u32 = 30;

/// A row of the table.
struct Row<'t> {
    line: usize,
    fault: u32,
    test: &'t str,
    file: &'t str,
}

/// The table names an existing test for every fault.
pub(super) fn have_tests(tree: &Tree) -> Vec<String> {
    let Some(table) = tree.files.iter().find(|file| file.path == TABLE) else {
        return vec![format!("{TABLE}:1: the table of faults is missing")];
    };
    let rows: Vec<Row<'_>> = table.lines().filter_map(|(line, text)| row(line, text)).collect();
    let is_there = |row: &Row<'_>| {
        let definition = format!("fn {}(", row.test);
        let file = tree.files.iter().find(|file| file.path == row.file);
        file.is_some_and(|file| file.lines().any(|(_, line)| line.trim_start().starts_with(&definition)))
    };
    let names_its_fault = |row: &Row<'_>| row.test.starts_with(&format!("fault_{}_", row.fault));
    let wrong = rows.iter().filter(|row| !is_there(row) || !names_its_fault(row));
    let mut problems: Vec<String> = wrong
        .map(|row| {
            table.problem(
                row.line,
                format!("{} is not a test of fault {} in {}", row.test, row.fault, row.file),
            )
        })
        .collect();
    let without = (1..=FAULTS).filter(|fault| rows.iter().filter(|row| row.fault == *fault).count() != 1);
    problems.extend(without.map(|fault| format!("{TABLE}:1: fault {fault} must have one row in the table of faults")));
    problems
}

/// Parses a line of the form "| 1 | what it is | `test` in `file` |".
fn row(line: usize, text: &str) -> Option<Row<'_>> {
    let mut cells = text.strip_prefix('|')?.split('|').map(str::trim);
    let fault = cells.next()?.parse().ok()?;
    let (test, file) = cells.nth(1)?.split_once(" in ")?;
    Some(Row {
        line,
        fault,
        test: test.trim_matches('`'),
        file: file.trim_matches('`'),
    })
}

#[cfg(test)]
mod tests {
    use super::super::tree::testing::check;
    use super::*;

    fn table(first: &str) -> String {
        let row = |fault: u32| format!("| {fault} | it was so | `fault_{fault}_is_not` in `crates/a/tests/a.rs` |\n");
        let rest: String = (2..=FAULTS).map(row).collect();
        format!("| | fault | test |\n|---|---|---|\n{first}{rest}")
    }

    fn tests() -> String {
        (1..=FAULTS)
            .map(|fault| format!("    fn fault_{fault}_is_not() {{}}\n"))
            .collect()
    }

    #[test]
    fn complete_table_passes() {
        let right = table("| 1 | it was so | `fault_1_is_not` in `crates/a/tests/a.rs` |\n");
        check(have_tests, &[(TABLE, &right), ("crates/a/tests/a.rs", &tests())], &[]);
    }

    #[test]
    fn missing_rows_and_wrong_tests_are_found() {
        for (first, problem) in [
            (
                "",
                "CONTRIBUTING.md:1: fault 1 must have one row in the table of faults",
            ),
            (
                "| 1 | it was so | `fault_1_missing` in `crates/a/tests/a.rs` |\n",
                "CONTRIBUTING.md:3: fault_1_missing is not a test of fault 1 in crates/a/tests/a.rs",
            ),
            (
                "| 1 | it was so | `fault_2_is_not` in `crates/a/tests/a.rs` |\n",
                "CONTRIBUTING.md:3: fault_2_is_not is not a test of fault 1 in crates/a/tests/a.rs",
            ),
        ] {
            let wrong = table(first);
            check(
                have_tests,
                &[(TABLE, &wrong), ("crates/a/tests/a.rs", &tests())],
                &[problem],
            );
        }
    }
}
