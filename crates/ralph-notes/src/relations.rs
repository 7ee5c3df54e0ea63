//! Relations between entries: which supersede which, and which conflict after a merge.

use std::collections::{HashMap, HashSet};

use ralph_model::Extra;

use crate::{Document, Entry, Problem, ProblemKind};

impl Document<'_> {
    /// The unresolved merge conflicts between entries, in file order.
    #[must_use]
    pub fn conflict_problems(&self) -> Vec<Problem> {
        self.open_conflicts()
            .into_iter()
            .map(|(entry, other)| Problem {
                at: self.place(entry),
                kind: ProblemKind::OpenConflict {
                    id: self.id(entry).to_owned(),
                    other: self.id(other).to_owned(),
                },
            })
            .collect()
    }

    /// Whether any entry names one that it conflicts with, resolved or not.
    #[must_use]
    pub fn names_conflicts(&self) -> bool {
        // Almost no file has conflicts, so skip decoding the entries.
        self.mentions(Extra::CONFLICTS)
            && self
                .entries()
                .iter()
                .any(|entry| self.extra(entry).get(Extra::CONFLICTS).is_some())
    }

    /// The ids that entries of this file supersede.
    #[must_use]
    pub fn superseded(&self) -> HashSet<String> {
        self.entries()
            .iter()
            .filter_map(|entry| self.extra(entry).get(Extra::SUPERSEDES).map(str::to_owned))
            .collect()
    }

    /// Pairs of conflicting versions that both still exist, neither superseded: the added entry, and the one that kept
    /// the id.
    fn open_conflicts(&self) -> Vec<(&Entry, &Entry)> {
        if !self.names_conflicts() {
            return Vec::new();
        }
        let superseded = self.superseded();
        let by_id: HashMap<&str, &Entry> = self
            .entries()
            .iter()
            .map(|entry| (self.id(entry), entry))
            .filter(|(id, _)| !superseded.contains(*id))
            .collect();
        self.entries()
            .iter()
            .filter(|entry| by_id.contains_key(self.id(entry)))
            .filter_map(|entry| {
                let other = by_id.get(self.extra(entry).get(Extra::CONFLICTS)?)?;
                (self.id(other) != self.id(entry)).then_some((entry, *other))
            })
            .collect()
    }
}
