//! Repeated lookups in one document. A few lookups scan the file; for many, an index of ids is built once, so that a
//! thousand lookups among a hundred thousand entries cost about one pass.

use std::cell::OnceCell;
use std::collections::HashSet;

use ralph_model::NoteId;

use crate::{Document, Entry};

/// Up to this many lookups, scanning is cheaper than sorting the ids.
const MAX_SCANS: usize = 8;

#[derive(Debug)]
pub struct Lookup<'d, 'a> {
    document: &'d Document<'a>,
    lookups: usize,
    /// All entries sorted by id, then by file order.
    by_id: OnceCell<Vec<&'d Entry>>,
    mentioned: OnceCell<HashSet<&'a [u8]>>,
    /// The ids outside of entries.
    outside_entries: OnceCell<HashSet<&'a [u8]>>,
}

impl<'a> Document<'a> {
    /// Prepares for about this many lookups. More are allowed, but slower.
    #[must_use]
    pub fn lookup(&self, lookups: usize) -> Lookup<'_, 'a> {
        Lookup {
            document: self,
            lookups,
            by_id: OnceCell::new(),
            mentioned: OnceCell::new(),
            outside_entries: OnceCell::new(),
        }
    }
}

impl<'d, 'a> Lookup<'d, 'a> {
    #[must_use]
    pub fn document(&self) -> &'d Document<'a> {
        self.document
    }

    /// The entries with this id, in file order.
    #[must_use]
    pub fn find(&self, id: &str) -> Vec<&'d Entry> {
        if self.lookups <= MAX_SCANS {
            return self.document.find(id).collect();
        }
        let from = self.not_before(id.as_bytes());
        let same = from
            .iter()
            .take_while(|entry| self.document.id_bytes(entry) == id.as_bytes());
        same.copied().collect()
    }

    /// The entries whose id starts with this prefix, in file order.
    #[must_use]
    pub fn find_prefix(&self, prefix: &str) -> Vec<&'d Entry> {
        if self.lookups <= MAX_SCANS {
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

    /// Whether an id occurs anywhere in the file, including parts that are not parsed.
    #[must_use]
    pub fn mentions(&self, id: &NoteId) -> bool {
        if self.lookups <= MAX_SCANS {
            return self.document.mentions(id.as_str());
        }
        let mentioned = self.mentioned.get_or_init(|| ids_in(self.document.bytes));
        mentioned.contains(id.as_str().as_bytes())
    }

    /// Whether an id occurs outside of entries. Mentions in the text or comment lines of an entry do not count.
    #[must_use]
    pub fn is_outside_entries(&self, id: &NoteId) -> bool {
        let id = id.as_str().as_bytes();
        if self.lookups <= MAX_SCANS {
            let mut parts = self.document.outside_entries().into_iter();
            return parts.any(|part| memchr::memmem::find(part, id).is_some());
        }
        let outside_entries = self
            .outside_entries
            .get_or_init(|| self.document.outside_entries().into_iter().flat_map(ids_in).collect());
        outside_entries.contains(id)
    }

    /// The entries from this id on, sorted by id.
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

/// All ids in these bytes. The end of an id is unambiguous.
fn ids_in(bytes: &[u8]) -> HashSet<&[u8]> {
    let mut ids = HashSet::new();
    for prefix in NoteId::PREFIXES {
        // Searching with the dash avoids overlapping matches, as in `memem-1-0000`.
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
    use ralph_model::NoteFileKind;

    /// A file with few distinct ids: some duplicate, some malformed, some outside of entries.
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
    fn mentions_inside_entries_do_not_count_as_outside() {
        let text = b"## Fixes\n### mem-1-0000\n> as mem-2-0000\n<!-- tags: mem-3-0000 | created: 2025-01-01 -->\n\
            <!-- ralph: conflicts=mem-4-0000 -->\nprose mem-5-0000\n### mem-6-0000\n\n## Other\n### mem-7-0000\n> text\n";
        let document = Document::parse(NoteFileKind::Memories, text);
        for lookups in [1, 1_000] {
            let lookup = document.lookup(lookups);
            let is_outside = |digit: &u8| lookup.is_outside_entries(&NoteId::new("mem", i64::from(*digit), 0));
            assert_eq!((1..9).filter(is_outside).collect::<Vec<u8>>(), [5, 6, 7]);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn indexed_lookups_match_scans(text in file()) {
            let document = Document::parse(NoteFileKind::Memories, text.as_bytes());
            let (few, many) = (document.lookup(1), document.lookup(1_000));
            for digits in 0..13 {
                let start = format!("mem-{}", "1".repeat(digits));
                prop_assert_eq!(few.find_prefix(&start), many.find_prefix(&start));
                for signs in ["000", "0000", "a0a0", "aaaa", "1111"] {
                    let id = format!("{start}-{signs}");
                    prop_assert_eq!(few.find(&id), many.find(&id));
                    if let Some(id) = NoteId::parse(&id, &["mem"]) {
                        prop_assert_eq!(few.mentions(&id), many.mentions(&id), "{}", id);
                        prop_assert_eq!(few.is_outside_entries(&id), many.is_outside_entries(&id), "{}", id);
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
