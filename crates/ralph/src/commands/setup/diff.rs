//! Shows changes of a file as a unified diff.

use std::ops::Range;

use similar::{Algorithm, DiffOp, DiffTag, capture_diff_slices, group_diff_ops};

use crate::ui::Style;

/// Lines of context around a change.
const CONTEXT_LINES: usize = 3;

/// The lines of the diff; `None` means that the file does not exist.
pub(super) fn unified(name: &str, before: Option<&str>, after: Option<&str>) -> Vec<(Option<Style>, String)> {
    let side = |text: Option<&str>| text.map_or_else(|| "/dev/null".to_owned(), |_| name.to_owned());
    let mut lines = vec![
        (Some(Style::Strong), format!("--- {}", side(before))),
        (Some(Style::Strong), format!("+++ {}", side(after))),
    ];
    let [old, new] = [before, after].map(|text| -> Vec<&str> {
        let text = text.unwrap_or_default();
        text.split_inclusive('\n').collect()
    });
    let ops = capture_diff_slices(Algorithm::Patience, &old, &new);
    for hunk in group_diff_ops(ops, CONTEXT_LINES) {
        let (old_range, new_range) = (range(&hunk, DiffOp::old_range), range(&hunk, DiffOp::new_range));
        lines.push((Some(Style::Faint), format!("@@ -{old_range} +{new_range} @@")));
        for op in hunk {
            let (old, new) = (old.get(op.old_range()), new.get(op.new_range()));
            if op.tag() == DiffTag::Equal {
                push(&mut lines, (' ', None), old);
            } else {
                push(&mut lines, ('-', Some(Style::Removed)), old);
                push(&mut lines, ('+', Some(Style::Added)), new);
            }
        }
    }
    lines
}

/// One side's range in a hunk header: the first line and the number of lines.
fn range(hunk: &[DiffOp], of: impl Fn(&DiffOp) -> Range<usize>) -> String {
    let start = hunk.first().map_or(0, |op| of(op).start);
    let count = hunk.last().map_or(0, |op| of(op).end) - start;
    format!("{},{count}", if count == 0 { start } else { start + 1 })
}

fn push(to: &mut Vec<(Option<Style>, String)>, (sign, style): (char, Option<Style>), lines: Option<&[&str]>) {
    for line in lines.unwrap_or_default() {
        let text = line.strip_suffix('\n');
        to.push((style, format!("{sign}{}", text.unwrap_or(line))));
        if text.is_none() {
            to.push((Some(Style::Faint), "\\ No newline at end of file".to_owned()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(before: Option<&str>, after: Option<&str>) -> String {
        let lines = unified("f", before, after);
        lines.into_iter().map(|(_, line)| line + "\n").collect()
    }

    #[test]
    fn changes_have_context_lines() {
        insta::assert_snapshot!(shown(Some("1\n2\n3\n4\n5\n6\n7\n8\n9\n"), Some("1\n2\n3\n4\n5\nnew\n7\n8\n9\n")), @"
        --- f
        +++ f
        @@ -3,7 +3,7 @@
         3
         4
         5
        -6
        +new
         7
         8
         9
        ");
        insta::assert_snapshot!(shown(Some("a\na\n"), Some("a\na\na")), @r"
        --- f
        +++ f
        @@ -1,2 +1,3 @@
         a
         a
        +a
        \ No newline at end of file
        ");
    }

    #[test]
    fn distant_changes_are_separate_hunks() {
        let old = "a\n1\n2\n3\n4\n5\n6\n7\nb\n";
        insta::assert_snapshot!(shown(Some(old), Some("1\n2\n3\n4\n5\n6\n7\nb\nc\n")), @"
        --- f
        +++ f
        @@ -1,4 +1,3 @@
        -a
         1
         2
         3
        @@ -7,3 +6,4 @@
         6
         7
         b
        +c
        ");
    }

    #[test]
    fn files_are_created_and_removed() {
        insta::assert_snapshot!(shown(None, Some("a\n")), @"
        --- /dev/null
        +++ f
        @@ -0,0 +1,1 @@
        +a
        ");
        insta::assert_snapshot!(shown(Some("a"), None), @r"
        --- f
        +++ /dev/null
        @@ -1,1 +0,0 @@
        -a
        \ No newline at end of file
        ");
    }
}
