//! Parses and edits Markdown checklists.

use ralph_model::Priority;
use ralph_notes::Fences;
use ralph_store::ImportItem;

/// Minimum indentation of a subitem, in columns.
const STEP: usize = 2;
/// Columns per tab stop.
const TAB: usize = 4;

/// The items of all checklists in a text, each after its parent; none if there are no items.
///
/// Indented text under an item is its description, and a line `check: COMMAND` adds a check. Boxes in fences and
/// comments are ignored.
pub(crate) fn parse_checklist(text: &str) -> Option<Vec<ImportItem>> {
    let items = read(text).items;
    (!items.is_empty()).then_some(items)
}

/// Line numbers, from 1, of malformed items such as `- [] a`.
pub(crate) fn missed_lines(text: &str) -> Vec<usize> {
    read(text).missed
}

/// Ticks the boxes of these items and changes nothing else.
pub(crate) fn with_ticks(text: &str, items: &[usize]) -> String {
    let lines = read(text).item_lines;
    let to_tick: Vec<usize> = items.iter().filter_map(|item| lines.get(*item).copied()).collect();
    let tick = |(line, text): (usize, &str)| match to_tick.contains(&(line + 1)) {
        true => text.replacen("[ ]", "[x]", 1),
        false => text.to_owned(),
    };
    text.split_inclusive('\n').enumerate().map(tick).collect()
}

fn read(text: &str) -> Reader {
    let mut reader = Reader::default();
    let mut fences = Fences::in_lists();
    let (mut start, mut fence_end) = (0, 0);
    for line in text.split_inclusive('\n') {
        reader.line += 1;
        if start >= fence_end && !reader.in_comment {
            fence_end = fences.after_fence(text, start).unwrap_or(fence_end);
            if start < fence_end {
                reader.close(columns_before(line));
            }
        }
        if start < fence_end {
            reader.describe(line, usize::MAX);
        } else {
            reader.take(line);
        }
        start += line.len();
    }
    for item in &mut reader.items {
        item.description.truncate(item.description.trim_end().len());
    }
    reader
}

#[derive(Default)]
struct Reader {
    items: Vec<ImportItem>,
    /// The items that the next line could belong to, innermost last: indentation and index.
    open: Vec<(usize, usize)>,
    in_comment: bool,
    /// Current line number.
    line: usize,
    /// Line number of each item.
    item_lines: Vec<usize>,
    missed: Vec<usize>,
}

impl Reader {
    fn take(&mut self, line: &str) {
        let text = line.trim();
        let indent = columns_before(line);
        if self.in_comment {
            self.in_comment = !text.contains("-->");
            return;
        }
        if text.is_empty() {
            return self.describe(line, usize::MAX);
        }
        self.close(indent);
        if text.starts_with("<!--") {
            self.in_comment = !text.contains("-->");
        } else if let Some((done, title)) = checkbox(text) {
            self.item_lines.push(self.line);
            self.items.push(ImportItem {
                title: title.to_owned(),
                description: String::new(),
                priority: Priority::default(),
                checks: Vec::new(),
                done,
                parent: self.open.last().map(|(_, item)| *item),
            });
            self.open.push((indent, self.items.len() - 1));
        } else if let (Some(command), Some(item)) = (check(text), self.item_above(indent)) {
            item.checks.push(command.to_owned());
        } else {
            if is_nearly_checkbox(text) {
                self.missed.push(self.line);
            }
            self.describe(line, indent);
        }
    }

    /// Closes the items that a line with this indentation ends.
    fn close(&mut self, indent: usize) {
        while self.open.last().is_some_and(|(outer, _)| outer + STEP > indent) {
            self.open.pop();
        }
    }

    /// The item that a line with this indentation belongs to.
    fn item_above(&mut self, indent: usize) -> Option<&mut ImportItem> {
        let (outer, item) = self.open.last()?;
        self.items.get_mut(*item).filter(|_| indent >= outer + STEP)
    }

    /// Adds a line to the description of its item.
    fn describe(&mut self, line: &str, indent: usize) {
        let outer = self.open.last().map_or(0, |(outer, _)| *outer);
        let Some(item) = self.item_above(indent) else { return };
        if item.description.is_empty() && line.trim().is_empty() {
            return;
        }
        item.description
            .push_str(without_columns(line.trim_end(), outer + STEP));
        item.description.push('\n');
    }
}

/// The command of a line like "check: cargo test" or "- check: `cargo test`".
fn check(text: &str) -> Option<&str> {
    let text = text.strip_prefix("- ").map_or(text, str::trim_start);
    let command = text.strip_prefix("check:")?.trim();
    let quoted = command.strip_prefix('`').and_then(|rest| rest.strip_suffix('`'));
    let command = quoted.unwrap_or(command).trim();
    (!command.is_empty()).then_some(command)
}

/// Columns of leading white space.
fn columns_before(line: &str) -> usize {
    let mut columns = 0;
    for c in line.chars() {
        match c {
            ' ' => columns += 1,
            '\t' => columns += TAB - columns % TAB,
            _ => break,
        }
    }
    columns
}

/// Strips up to this many columns of leading white space.
fn without_columns(line: &str, limit: usize) -> &str {
    let mut rest = line;
    let mut columns = 0;
    while columns < limit {
        let Some(shorter) = rest.strip_prefix([' ', '\t']) else {
            break;
        };
        columns += if rest.starts_with('\t') { TAB - columns % TAB } else { 1 };
        rest = shorter;
    }
    rest
}

/// Whether the box is ticked, and the title; none if the line is not an item.
fn checkbox(text: &str) -> Option<(bool, &str)> {
    let after_box = after_bullet(text)?
        .strip_prefix([' ', '\t'])?
        .trim_start()
        .strip_prefix('[')?;
    let (done, rest) = match after_box.strip_prefix(['x', 'X']) {
        Some(rest) => (true, rest),
        None => (false, after_box.strip_prefix(' ')?),
    };
    let title = rest.strip_prefix(']')?;
    let is_apart = title.starts_with([' ', '\t']);
    (is_apart && !title.trim().is_empty()).then(|| (done, title.trim()))
}

fn after_bullet(text: &str) -> Option<&str> {
    let digits = text.trim_start_matches(|c: char| c.is_ascii_digit());
    if digits.len() < text.len() {
        digits.strip_prefix(['.', ')'])
    } else {
        text.strip_prefix(['-', '*', '+'])
    }
}

/// Whether a line is probably a malformed item: an empty box, another character in the box, or a missing space. Links
/// and numbers in brackets are not.
fn is_nearly_checkbox(text: &str) -> bool {
    let inside = after_bullet(text).and_then(|rest| rest.trim_start().strip_prefix('[')?.split_once(']'));
    inside.is_some_and(|(inside, title)| {
        let mut signs = inside.trim().chars();
        let is_mark = |sign: char| matches!(sign, 'x' | 'X') || !sign.is_alphanumeric();
        let is_box = signs.next().is_none_or(is_mark) && signs.next().is_none();
        is_box && !title.trim().is_empty() && !title.starts_with(['(', '[', ':'])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One line per item: depth, mark, title, description.
    fn outline(text: &str) -> Vec<String> {
        let items = parse_checklist(text).unwrap_or_default();
        let mut depths: Vec<usize> = Vec::new();
        for item in &items {
            depths.push(item.parent.map_or(0, |parent| depths[parent] + 1));
        }
        let shown = items.iter().zip(depths).map(|(item, depth)| {
            let mark = if item.done { 'x' } else { '.' };
            format!("{}{mark} {}: {:?}", "-".repeat(depth), item.title, item.description)
        });
        shown.collect()
    }

    #[test]
    fn items_nest_by_indentation() {
        let text = "# Plan\n\n- [ ] a\n  * [x] b\n\t+ [X] c\n    1. [ ] d\n- [ ] e\n2) [x]\tf\n";
        let expected = [". a", "-x b", "--x c", "--. d", ". e", "x f"].map(|line| format!("{line}: \"\""));
        assert_eq!(outline(text), expected);
    }

    #[test]
    fn ticking_changes_only_the_boxes() {
        let text = "# [ ] Plan\r\n- [ ] a [ ] b\r\n  * [x] c\n```\n- [ ] no\n```\n1. [ ] d";
        let ticked = "# [ ] Plan\r\n- [x] a [ ] b\r\n  * [x] c\n```\n- [ ] no\n```\n1. [x] d";
        assert_eq!(with_ticks(text, &[0, 2]), ticked);
        assert_eq!(with_ticks(text, &[]), text);
    }

    #[test]
    fn indented_text_is_the_description() {
        let text =
            "- [ ] a\r\n  one\r\n\r\n    two\n  - plain\n  - [ ] b\n    of b\n  of a again\nnot of a\n  nobody's\n";
        assert_eq!(
            outline(text),
            [". a: \"one\\n\\n  two\\n- plain\\nof a again\"", "-. b: \"of b\""]
        );
    }

    #[test]
    fn check_line_adds_a_command() {
        let text = "check: nobody's\n- [ ] a\n  first\n  check: cargo test a\n  - check: `npm test`\n  check:\n  last\n\
                    - [ ] b\n  ```\n  check: no\n  ```\n  checked: no\n";
        let items = parse_checklist(text).unwrap();
        let checks: Vec<_> = items.iter().map(|item| item.checks.join("|")).collect();
        assert_eq!(checks, ["cargo test a|npm test", ""]);
        assert_eq!(items[0].description, "first\ncheck:\nlast");
    }

    #[test]
    fn boxes_in_fences_and_comments_are_ignored() {
        let text = "```\n- [ ] no\n```\n<!--\n- [ ] no\n-->\n- [ ] a\n  ~~~\n  - [ ] no\n  ~~~\n  <!-- - [ ] no -->\n- [ ] b\n";
        assert_eq!(outline(text), [". a: \"~~~\\n- [ ] no\\n~~~\"", ". b: \"\""]);
    }

    #[test]
    fn only_closed_fences_hide_boxes() {
        let inline = "- [ ] a\n  ```cargo test``` must pass\n- [ ] b\n";
        assert_eq!(outline(inline), [". a: \"```cargo test``` must pass\"", ". b: \"\""]);
        let open = "- [ ] a\n  ```\n- [ ] b\n";
        assert_eq!(outline(open), [". a: \"```\"", ". b: \"\""]);
        let longer = "````\n```\n- [ ] no\n```\n````\n- [ ] a\n";
        assert_eq!(outline(longer), [". a: \"\""]);
        let deep = "- [ ] a\n  - [ ] b\n    ```sh\n    - [ ] no\n    ```\n    of b\n- [ ] c\n";
        assert_eq!(
            outline(deep),
            [". a: \"\"", "-. b: \"```sh\\n- [ ] no\\n```\\nof b\"", ". c: \"\""]
        );
    }

    #[test]
    fn malformed_items_are_not_items() {
        for text in [
            "",
            "text",
            "- a",
            "-[ ] a",
            "- [] a",
            "- [ ]",
            "- [ ]   ",
            "- [y] a",
            "- [ ](link)",
            "> - [ ] quoted",
            "[ ] a",
            "1 [ ] a",
            "- [x]a",
        ] {
            assert_eq!(parse_checklist(text), None, "{text:?}");
        }
    }

    #[test]
    fn malformed_items_are_reported() {
        let nearly = "- [] a\n-[ ] b\n* [-] c\n1. [x]d\n  - [  ] e\n- [✓] f\n";
        assert_eq!(missed_lines(nearly), [1, 2, 3, 4, 5, 6]);
        let others = "- [ ] a\n- [a](link)\n- [](link)\n- [1] b\n- [x]: c\n- [ ]\n- [todo] d\n```\n- [] e\n```\n<!-- - [] f -->\n[] g\n";
        assert_eq!(missed_lines(others), [0; 0]);
    }

    #[test]
    fn other_text_closes_open_items() {
        assert_eq!(
            outline("- [ ] a\n- a group\n  - [ ] b\n# c\n    - [ ] d\n"),
            [". a: \"\"", ". b: \"\"", ". d: \"\""]
        );
    }
}
