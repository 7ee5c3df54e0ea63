//! Problems of a notes file to report to readers: the first few unreadable entries and unresolved merge conflicts, and
//! how many more there are.

use ralph_notes::{Document, Problem};

/// How many problems are listed; `validate` lists all.
const NAMED: usize = 3;
/// Suffix of the count if there may be more.
const MAY_GROW: char = '+';

/// Problems that hide an entry, and unresolved conflicts between two entries.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Problems {
    /// The first of them: line and description.
    pub named: Vec<(usize, String)>,
    pub total: usize,
    /// Whether any change of an entry may add more: restoring an entry, or removing one that supersedes it, may reopen
    /// a conflict.
    pub may_grow: bool,
}

impl Problems {
    #[must_use]
    pub fn of(document: &Document<'_>) -> Self {
        let mut reported: Vec<Problem> = document
            .problems()
            .iter()
            .filter(|problem| problem.kind.hides_an_entry())
            .cloned()
            .collect();
        reported.extend(document.conflict_problems());
        reported.sort_by_key(|problem| problem.at.start());
        Self {
            named: reported
                .iter()
                .take(NAMED)
                .map(|problem| (document.line_number(problem.at), problem.kind.to_string()))
                .collect(),
            total: reported.len(),
            may_grow: document.names_conflicts(),
        }
    }

    /// Serializes for [`Problems::decode`]; empty if there is nothing to report.
    pub(super) fn encode(&self) -> String {
        let total = match (self.total, self.may_grow) {
            (0, false) => return String::new(),
            (total, false) => total.to_string(),
            (total, true) => format!("{total}{MAY_GROW}"),
        };
        let mut lines = vec![total];
        lines.extend(
            self.named
                .iter()
                .map(|(line, what)| format!("{line} {}", what.replace('\n', " "))),
        );
        lines.join("\n")
    }

    pub(super) fn decode(text: &str) -> Self {
        let mut lines = text.lines();
        let first = lines.next().unwrap_or_default();
        let total = first.strip_suffix(MAY_GROW);
        Self {
            may_grow: total.is_some(),
            total: total.unwrap_or(first).parse().unwrap_or_default(),
            named: lines
                .filter_map(|line| line.split_once(' '))
                .filter_map(|(line, what)| Some((line.parse().ok()?, what.to_owned())))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use ralph_model::NoteFileKind;

    use super::*;

    fn check(text: &str) -> Problems {
        let problems = Problems::of(&Document::parse(NoteFileKind::Memories, text.as_bytes()));
        assert_eq!(Problems::decode(&problems.encode()), problems);
        problems
    }

    #[test]
    fn problems_round_trip() {
        let problems = check("## Fixes\n### mem-1\n### mem-2\n### mem-3\n### mem-4\n");
        assert_eq!((problems.total, problems.named.len()), (4, NAMED));
        assert_eq!(problems.named[0].0, 2);
        assert_eq!(check("## Fixes\n### mem-1-0000\n> text\n"), Problems::default());
        assert_eq!(Problems::default().encode(), "");
    }

    #[test]
    fn open_conflicts_are_reported_in_the_order_of_the_file() {
        let copy = "## Fixes\n### mem-1-aaaa\n> theirs\n<!-- ralph: conflicts=mem-1-0000 -->\n";
        let alone = check(copy);
        assert_eq!((alone.total, alone.may_grow), (0, true));
        let both = check(&format!("### mem-0\n{copy}### mem-1-0000\n> ours\n### mem-2\n"));
        assert_eq!(both.named.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [1, 3, 8]);
        assert_eq!(
            both.named[1].1,
            "mem-1-aaaa and mem-1-0000 conflict since a merge; delete or supersede one of them"
        );
    }
}
