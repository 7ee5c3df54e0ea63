//! The ways to search that are compared. Each holds the documents of one project.

use super::set::Document;
use super::{bm25, fts5, ours, substring};

/// A way to search the documents it was loaded with. A document is its place among them.
pub(super) trait System {
    /// The best documents for a text, best first, at most so many, and only allowed ones: the others are left out before
    /// the best are taken.
    fn search(&self, query: &str, allowed: &dyn Fn(usize) -> bool, limit: usize) -> Result<Vec<usize>, String>;
}

/// How one is loaded.
pub(super) type Load = fn(&[Document]) -> Result<Box<dyn System>, String>;

/// The name of the one that the others are compared with.
pub(super) const PEER: &str = "bm25";
/// The name of our own.
pub(super) const OURS: &str = "ours";

/// All of them.
pub(super) const SYSTEMS: [(&str, Load); 5] = [
    ("substring", substring::load),
    ("seed query", fts5::load_seed),
    ("fts5 porter", fts5::load_porter),
    (PEER, bm25::load),
    (OURS, ours::load),
];

/// The places with the best scores, best first; equals keep their order.
pub(super) fn best(mut scored: Vec<(f64, usize)>, limit: usize) -> Vec<usize> {
    scored.sort_by(|(one, at), (other, there)| other.total_cmp(one).then(at.cmp(there)));
    scored.into_iter().take(limit).map(|(_, document)| document).collect()
}

#[cfg(test)]
mod tests {
    use super::super::set::testing::document;
    use super::*;

    #[test]
    fn every_system_finds_what_shares_words_and_is_allowed() {
        let documents = [
            document("The daemon listens on port 5432.", 1),
            document("Nothing to see here", 2),
            document("A daemon, and another daemon on its own port", 3),
            document("Lighthouse", 4),
        ];
        for (name, load) in SYSTEMS {
            let system = load(&documents).unwrap();
            let search =
                |query: &str, allowed: &dyn Fn(usize) -> bool, limit| system.search(query, allowed, limit).unwrap();
            let mut both = search("which daemon has a port?", &|_| true, 10);
            both.sort_unstable();
            assert_eq!(both, [0, 2], "{name}");
            for wanted in [0, 2] {
                let one = search("which daemon has a port?", &|document| document == wanted, 1);
                assert_eq!(one, [wanted], "{name}");
            }
            for nothing in ["", "\"", "NEAR( - *", "zebra"] {
                assert_eq!(
                    search(nothing, &|_| true, 10),
                    Vec::<usize>::new(),
                    "{name}: {nothing:?}"
                );
            }
            assert!(load(&[]).unwrap().search("daemon", &|_| true, 10).unwrap().is_empty());
        }
    }
}
