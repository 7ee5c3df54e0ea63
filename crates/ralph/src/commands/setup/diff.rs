//! What will change in a file, as a unified diff.

use crate::ui::Style;

/// How many lines around a change are shown.
const CONTEXT_LINES: usize = 3;

/// The lines that show how a file changes; none stands for a file that is not there.
pub(super) fn unified(name: &str, before: Option<&str>, after: Option<&str>) -> Vec<(Option<Style>, String)> {
    let side = |text: Option<&str>| text.map_or_else(|| "/dev/null".to_owned(), |_| name.to_owned());
    let mut lines = vec![
        (Some(Style::Strong), format!("--- {}", side(before))),
        (Some(Style::Strong), format!("+++ {}", side(after))),
    ];
    let old: Vec<&str> = before.unwrap_or_default().split_inclusive('\n').collect();
    let new: Vec<&str> = after.unwrap_or_default().split_inclusive('\n').collect();
    let same_from_start = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let rest = old.len().min(new.len()) - same_from_start;
    let same_from_end = old.iter().rev().zip(new.iter().rev()).take(rest);
    let same_from_end = same_from_end.take_while(|(old, new)| old == new).count();

    let first = same_from_start.saturating_sub(CONTEXT_LINES);
    let shown_after = same_from_end.min(CONTEXT_LINES);
    let range = |lines: &[&str]| {
        let count = lines.len() - same_from_end + shown_after - first;
        let start = if count == 0 { first } else { first + 1 };
        format!("{start},{count}")
    };
    lines.push((Some(Style::Faint), format!("@@ -{} +{} @@", range(&old), range(&new))));
    let mut push = |sign: char, style: Option<Style>, part: Option<&[&str]>| {
        for line in part.unwrap_or_default() {
            let text = line.strip_suffix('\n');
            lines.push((style, format!("{sign}{}", text.unwrap_or(line))));
            if text.is_none() {
                lines.push((Some(Style::Faint), "\\ No newline at end of file".to_owned()));
            }
        }
    };
    let end_of = |lines: &[&str]| lines.len() - same_from_end;
    push(' ', None, old.get(first..same_from_start));
    push('-', Some(Style::Removed), old.get(same_from_start..end_of(&old)));
    push('+', Some(Style::Added), new.get(same_from_start..end_of(&new)));
    push(' ', None, old.get(end_of(&old)..end_of(&old) + shown_after));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(before: Option<&str>, after: Option<&str>) -> String {
        let lines = unified("f", before, after);
        lines.into_iter().map(|(_, line)| line + "\n").collect()
    }

    #[test]
    fn a_change_stands_with_the_lines_around_it() {
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
    fn a_file_comes_or_goes() {
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
