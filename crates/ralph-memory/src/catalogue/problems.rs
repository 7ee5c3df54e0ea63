//! What a reader should be told about a file of notes: the first few entries that cannot be read, and how many more.

use ralph_notes::Document;

/// How many problems are named; `validate` names all.
const NAMED: usize = 3;

/// Problems that hide an entry.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Problems {
    /// The first of them: the line, and what is wrong there.
    pub named: Vec<(usize, String)>,
    /// How many there are in all.
    pub total: usize,
}

impl Problems {
    /// The problems of a file.
    #[must_use]
    pub fn of(document: &Document<'_>) -> Self {
        let hiding: Vec<_> = document
            .problems()
            .iter()
            .filter(|problem| problem.kind.hides_an_entry())
            .collect();
        Self {
            named: hiding
                .iter()
                .take(NAMED)
                .map(|problem| (document.line_number(problem.at), problem.kind.to_string()))
                .collect(),
            total: hiding.len(),
        }
    }

    /// As a text that [`Problems::decode`] reads; empty when there is none.
    pub(super) fn encode(&self) -> String {
        if self.total == 0 {
            return String::new();
        }
        let mut lines = vec![self.total.to_string()];
        lines.extend(
            self.named
                .iter()
                .map(|(line, what)| format!("{line} {}", what.replace('\n', " "))),
        );
        lines.join("\n")
    }

    pub(super) fn decode(text: &str) -> Self {
        let mut lines = text.lines();
        Self {
            total: lines.next().and_then(|total| total.parse().ok()).unwrap_or_default(),
            named: lines
                .filter_map(|line| line.split_once(' '))
                .filter_map(|(line, what)| Some((line.parse().ok()?, what.to_owned())))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use ralph_model::Shelf;

    use super::*;

    #[test]
    fn problems_survive_in_the_index() {
        let text = b"## Fixes\n### mem-1\n### mem-2\n### mem-3\n### mem-4\n";
        let problems = Problems::of(&Document::parse(Shelf::Memories, text));
        assert_eq!((problems.total, problems.named.len()), (4, NAMED));
        assert_eq!(problems.named[0].0, 2);
        assert_eq!(Problems::decode(&problems.encode()), problems);
        assert_eq!(Problems::decode(&Problems::default().encode()), Problems::default());
    }
}
