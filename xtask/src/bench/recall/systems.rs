//! The search systems to compare. Each is loaded with the documents of one project.

use jiff::Timestamp;

use super::set::Document;
use super::{bm25, fts5, ours, substring};

/// A search system. Documents are identified by their index.
pub(super) trait System {
    /// The best allowed documents for a query, best first. Other documents are removed before the limit applies.
    fn search(&self, query: &str, allowed: &Allowed<'_>, limit: usize) -> Result<Vec<usize>, String>;
}

/// Which documents may be returned.
pub(super) struct Allowed<'a> {
    /// The documents of the project.
    pub(super) documents: &'a [Document],
    /// Only documents created before this time.
    pub(super) before: Option<Timestamp>,
    pub(super) except: Vec<usize>,
}

impl<'a> Allowed<'a> {
    #[cfg(test)]
    pub(super) fn all(documents: &'a [Document]) -> Self {
        Self {
            documents,
            before: None,
            except: Vec::new(),
        }
    }

    /// Whether the document at this index may be returned.
    pub(super) fn allows(&self, place: usize) -> bool {
        let early = |document: &Document| self.before.is_none_or(|before| document.created < before);
        self.documents.get(place).is_some_and(early) && !self.except.contains(&place)
    }
}

pub(super) type Load = fn(&[Document]) -> Result<Box<dyn System>, String>;

/// The name of the system that others are compared with.
pub(super) const PEER: &str = "bm25";
/// The name of our own system.
pub(super) const OURS: &str = "ours";

pub(super) const SYSTEMS: [(&str, Load); 5] = [
    ("substring", substring::load),
    ("seed query", fts5::load_seed),
    ("fts5 porter", fts5::load_porter),
    (PEER, bm25::load),
    (OURS, ours::load),
];

/// The indices with the best scores, best first; ties keep their order.
pub(super) fn best(mut scored: Vec<(f64, usize)>, limit: usize) -> Vec<usize> {
    scored.sort_by(|(one, at), (other, there)| other.total_cmp(one).then(at.cmp(there)));
    scored.into_iter().take(limit).map(|(_, document)| document).collect()
}

#[cfg(test)]
mod tests {
    use super::super::set::testing::document;
    use super::*;

    #[test]
    fn every_system_finds_allowed_documents_with_shared_words() {
        let documents = [
            document("The daemon listens on port 5432.", 1),
            document("Nothing to see here", 2),
            document("A daemon, and another daemon on its own port", 3),
            document("Lighthouse", 4),
        ];
        for (name, load) in SYSTEMS {
            let system = load(&documents).unwrap();
            let search = |query: &str, except: &[usize], before: Option<usize>| {
                let allowed = Allowed {
                    documents: &documents,
                    before: before.map(|place: usize| documents[place].created),
                    except: except.to_vec(),
                };
                system.search(query, &allowed, 10).unwrap()
            };
            let mut both = search("which daemon has a port?", &[], None);
            both.sort_unstable();
            assert_eq!(both, [0, 2], "{name}");
            assert_eq!(search("which daemon has a port?", &[0], None), [2], "{name}");
            assert_eq!(search("which daemon has a port?", &[], Some(2)), [0], "{name}");
            for nothing in ["", "\"", "NEAR( - *", "zebra"] {
                assert_eq!(search(nothing, &[], None), Vec::<usize>::new(), "{name}: {nothing:?}");
            }
            let nothing = load(&[]).unwrap().search("daemon", &Allowed::all(&[]), 10);
            assert!(nothing.unwrap().is_empty());
        }
    }
}
