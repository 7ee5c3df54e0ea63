//! Finding entries of one document again and again. For a few questions the file is looked through; for many a list of
//! its ids is made once, so that a thousand ids among a hundred thousand entries cost about one pass.

use std::cell::OnceCell;
use std::collections::HashSet;

use ralph_model::NoteId;

use crate::{Document, Entry};

/// Up to so many questions looking through the file costs less than sorting its ids.
const FEW: usize = 8;

/// Answers questions about the ids of a document.
#[derive(Debug)]
pub struct Lookup<'d, 'a> {
    document: &'d Document<'a>,
    questions: usize,
    /// All entries by their id, those with the same one in the order of the file.
    by_id: OnceCell<Vec<&'d Entry>>,
    mentioned: OnceCell<HashSet<&'a [u8]>>,
    /// The ids outside of entries.
    unread: OnceCell<HashSet<&'a [u8]>>,
}

impl<'a> Document<'a> {
    /// Prepares for about so many questions; more are fine, and only slower.
    #[must_use]
    pub fn lookup(&self, questions: usize) -> Lookup<'_, 'a> {
        Lookup {
            document: self,
            questions,
            by_id: OnceCell::new(),
            mentioned: OnceCell::new(),
            unread: OnceCell::new(),
        }
    }
}

impl<'d, 'a> Lookup<'d, 'a> {
    /// The document.
    #[must_use]
    pub fn document(&self) -> &'d Document<'a> {
        self.document
    }

    /// The entries with this id, in the order of the file.
    #[must_use]
    pub fn find(&self, id: &str) -> Vec<&'d Entry> {
        if self.questions <= FEW {
            return self.document.find(id).collect();
        }
        let from = self.not_before(id.as_bytes());
        let same = from
            .iter()
            .take_while(|entry| self.document.id_bytes(entry) == id.as_bytes());
        same.copied().collect()
    }

    /// The entries whose id begins with this text, in the order of the file.
    #[must_use]
    pub fn find_prefix(&self, prefix: &str) -> Vec<&'d Entry> {
        if self.questions <= FEW {
            return self.document.find_prefix(prefix).collect();
        }
        let from = self.not_before(prefix.as_bytes());
        let beginning = from
            .iter()
            .take_while(|entry| self.document.id_bytes(entry).starts_with(prefix.as_bytes()));
        let mut entries: Vec<&Entry> = beginning.copied().collect();
        entries.sort_by_key(|entry| entry.heading.start());
        entries
    }

    /// Whether an id stands anywhere in the file, also where nothing is read.
    #[must_use]
    pub fn mentions(&self, id: &NoteId) -> bool {
        if self.questions <= FEW {
            return self.document.mentions(id.as_str());
        }
        let mentioned = self.mentioned.get_or_init(|| ids_in(self.document.bytes));
        mentioned.contains(id.as_str().as_bytes())
    }

    /// Whether an id stands where nothing is read. What entries say of it, in their texts or comment lines, does not count.
    #[must_use]
    pub fn stands_unread(&self, id: &NoteId) -> bool {
        let id = id.as_str().as_bytes();
        if self.questions <= FEW {
            let mut parts = self.document.unread().into_iter();
            return parts.any(|part| memchr::memmem::find(part, id).is_some());
        }
        let unread = self
            .unread
            .get_or_init(|| self.document.unread().into_iter().flat_map(ids_in).collect());
        unread.contains(id)
    }

    /// The entries, by their id, from the first that does not come before this one.
    fn not_before(&self, id: &[u8]) -> &[&'d Entry] {
        let by_id = self.by_id.get_or_init(|| {
            let mut entries: Vec<&Entry> = self.document.entries().iter().collect();
            entries.sort_by_key(|entry| self.document.id_bytes(entry));
            entries
        });
        let at = by_id.partition_point(|entry| self.document.id_bytes(entry) < id);
        by_id.get(at..).unwrap_or_default()
    }
}

/// Everything in these bytes that is an id, wherever it stands: where one begins, it can end in one place only.
fn ids_in(bytes: &[u8]) -> HashSet<&[u8]> {
    let mut ids = HashSet::new();
    for prefix in NoteId::PREFIXES {
        // With its dash: what is found then cannot overlap, as in `memem-1-0000`.
        for at in memchr::memmem::find_iter(bytes, &format!("{prefix}-")) {
            let rest = bytes.get(at..).unwrap_or_default();
            if let Some(id) = NoteId::at_start_of(rest) {
                ids.insert(id);
            }
        }
    }
    ids
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use ralph_model::Shelf;

    /// A file of few different ids, some of them twice, some broken, some where nothing is read.
    fn file() -> impl Strategy<Value = String> {
        let id = ("mem|fix|memem|mem-mem", 1u8..13, "[0-9a]{3,5}");
        let id = id.prop_map(|(prefix, digits, signs)| format!("{prefix}-{}-{signs}", "1".repeat(usize::from(digits))));
        let line = prop_oneof![
            id.clone().prop_map(|id| format!("### {id}\n> text\n\n")),
            id.prop_map(|id| format!("> said {id}.\n\n")),
        ];
        prop::collection::vec(line, 0..40).prop_map(|lines| lines.concat())
    }

    #[test]
    fn what_entries_say_of_an_id_does_not_make_it_stand() {
        let text = b"## Fixes\n### mem-1-0000\n> as mem-2-0000\n<!-- tags: mem-3-0000 | created: 2025-01-01 -->\n\
            <!-- ralph: conflicts=mem-4-0000 -->\nprose mem-5-0000\n### mem-6-0000\n\n## Other\n### mem-7-0000\n> text\n";
        let document = Document::parse(Shelf::Memories, text);
        for questions in [1, 1_000] {
            let lookup = document.lookup(questions);
            let stands = |digit: &u8| lookup.stands_unread(&NoteId::new("mem", i64::from(*digit), 0));
            assert_eq!((1..9).filter(stands).collect::<Vec<u8>>(), [5, 6, 7]);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn many_questions_get_the_answers_of_a_few(text in file()) {
            let document = Document::parse(Shelf::Memories, text.as_bytes());
            let (few, many) = (document.lookup(1), document.lookup(1_000));
            for digits in 0..13 {
                let start = format!("mem-{}", "1".repeat(digits));
                prop_assert_eq!(few.find_prefix(&start), many.find_prefix(&start));
                for signs in ["000", "0000", "a0a0", "aaaa", "1111"] {
                    let id = format!("{start}-{signs}");
                    prop_assert_eq!(few.find(&id), many.find(&id));
                    if let Some(id) = NoteId::parse(&id, &["mem"]) {
                        prop_assert_eq!(few.mentions(&id), many.mentions(&id), "{}", id);
                        prop_assert_eq!(few.stands_unread(&id), many.stands_unread(&id), "{}", id);
                    }
                }
            }
            for entry in document.entries() {
                let id = document.id(entry);
                prop_assert_eq!(few.find(id), many.find(id));
                prop_assert!(many.mentions(&NoteId::parse(id, &["mem"]).unwrap()));
            }
        }
    }
}
