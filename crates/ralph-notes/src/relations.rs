//! What entries say of one another: which replaces which, and which contradict each other since a merge.

use std::collections::{HashMap, HashSet};

use ralph_model::Extra;

use crate::{Document, Entry, Problem, ProblemKind};

impl Document<'_> {
    /// The conflicts that a merge left between entries and nobody settled, in the order of the file.
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

    /// Whether an entry names another one that it contradicts, be that settled or not.
    #[must_use]
    pub fn names_conflicts(&self) -> bool {
        // Nearly every file has none, and then there is nothing to read.
        self.mentions(Extra::CONFLICTS)
            && self
                .entries()
                .iter()
                .any(|entry| self.extra(entry).get(Extra::CONFLICTS).is_some())
    }

    /// The ids that an entry of this file replaces.
    #[must_use]
    pub fn superseded(&self) -> HashSet<String> {
        self.entries()
            .iter()
            .filter_map(|entry| self.extra(entry).get(Extra::SUPERSEDES).map(str::to_owned))
            .collect()
    }

    /// Pairs of entries that a merge made of one which both sides had changed, as long as both stand and neither is
    /// replaced: the one that was put in, and the one that kept the id.
    fn open_conflicts(&self) -> Vec<(&Entry, &Entry)> {
        if !self.names_conflicts() {
            return Vec::new();
        }
        let superseded = self.superseded();
        let standing: HashMap<&str, &Entry> = self
            .entries()
            .iter()
            .map(|entry| (self.id(entry), entry))
            .filter(|(id, _)| !superseded.contains(*id))
            .collect();
        self.entries()
            .iter()
            .filter(|entry| standing.contains_key(self.id(entry)))
            .filter_map(|entry| {
                let other = standing.get(self.extra(entry).get(Extra::CONFLICTS)?)?;
                (self.id(other) != self.id(entry)).then_some((entry, *other))
            })
            .collect()
    }
}
