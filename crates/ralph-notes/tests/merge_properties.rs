//! Property tests: random files with random changes on two sides are merged without losses or needless conflicts.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use ralph_model::{Extra, Note, NoteFileKind};
use ralph_notes::{Document, Merged, merge};

const SECTIONS: [&str; 4] = ["Patterns", "Decisions", "Fixes", "Context"];

/// A change that one side makes to a file.
#[derive(Debug, Clone)]
enum Change {
    Add { number: u16, section: usize, at: usize },
    Edit { at: usize },
    Tag { at: usize },
    Delete { at: usize },
    Move { at: usize, to: usize },
    Prose { at: usize },
    Crlf,
    Fence { at: usize },
    Section { at: usize },
}

/// A file as a list of blocks of whole lines.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Plan(Vec<String>);

impl Plan {
    fn base(entries: &[(u16, usize)]) -> Self {
        let mut blocks = vec!["# Memories\n".to_owned(), "\nA line of prose.\n".to_owned()];
        for (index, section) in SECTIONS.iter().enumerate() {
            blocks.push(format!("\n## {section}\n"));
            let here = entries.iter().filter(|(_, place)| *place == index);
            blocks.extend(here.map(|(number, _)| block(&format!("mem-{number}-0000"), "of the base", "")));
        }
        Self(blocks)
    }

    fn text(&self) -> String {
        self.0.concat()
    }

    fn entries(&self) -> Vec<usize> {
        let is_entry = |index: &usize| self.0[*index].starts_with("\n### mem-");
        (0..self.0.len()).filter(is_entry).collect()
    }

    /// The index of one of the entries, if there are any.
    fn pick(&self, at: usize) -> Option<usize> {
        let entries = self.entries();
        entries.get(at % entries.len().max(1)).copied()
    }

    fn apply(&mut self, change: &Change, side: &str) {
        let text = format!("{side} {change:?}").replace('"', "");
        match change {
            Change::Add { number, section, at } => {
                let title = format!("\n## {}\n", SECTIONS[*section]);
                let from = self
                    .0
                    .iter()
                    .position(|block| *block == title)
                    .map_or(self.0.len(), |at| at + 1);
                let rest = &self.0[from..];
                let section_len = rest
                    .iter()
                    .position(|block| block.starts_with("\n## "))
                    .unwrap_or(rest.len());
                // Mostly append, like ralph does.
                let place = if at % 4 == 0 {
                    from + at % (section_len + 1)
                } else {
                    from + section_len
                };
                let id = format!("mem-{number}-{}", if side == "ours" { "aaaa" } else { "bbbb" });
                if !self.text().contains(&id) {
                    self.0.insert(place, block(&id, &text, ""));
                }
            }
            Change::Edit { at } => self.rewrite(*at, |id, tags| block(id, &text, tags)),
            Change::Tag { at } => {
                if let Some(place) = self.pick(*at) {
                    let tag = format!("tags: {side}{at}, ");
                    self.0[place] = self.0[place].replacen("tags: ", &tag, 1);
                }
            }
            Change::Delete { at } => {
                if let Some(place) = self.pick(*at) {
                    self.0.remove(place);
                }
            }
            Change::Move { at, to } => {
                if let Some(place) = self.pick(*at) {
                    let moved = self.0.remove(place);
                    let to = 2 + to % (self.0.len() - 1);
                    self.0.insert(to, moved);
                }
            }
            Change::Prose { at } => self
                .0
                .insert(2 + at % (self.0.len() - 1), format!("\nProse, {text}.\n")),
            Change::Fence { at } => self.0.insert(2 + at % (self.0.len() - 1), "\n```\n".to_owned()),
            Change::Section { at } => self.0.insert(2 + at % (self.0.len() - 1), format!("\n## Of {side}\n")),
            Change::Crlf => {
                for block in &mut self.0 {
                    *block = block.replace("\r\n", "\n").replace('\n', "\r\n");
                }
            }
        }
    }

    fn rewrite(&mut self, at: usize, new: impl Fn(&str, &str) -> String) {
        if let Some(place) = self.pick(at) {
            let old = self.0[place].clone();
            let id = old.trim_start_matches("\n### ").lines().next().unwrap();
            let (_, tags) = old.split_once("tags: ").unwrap();
            let (tags, _) = tags.split_once(" |").unwrap();
            self.0[place] = new(id, tags);
        }
    }
}

fn block(id: &str, text: &str, tags: &str) -> String {
    format!("\n### {id}\n> {text}\n>\n> {id}\n<!-- tags: {tags} | created: 2025-01-09 -->\n")
}

fn change() -> impl Strategy<Value = Change> {
    let any = 0..100usize;
    prop_oneof![
        6 => (1000..2000u16, 0..4usize, any.clone()).prop_map(|(number, section, at)| Change::Add { number, section, at }),
        4 => any.clone().prop_map(|at| Change::Edit { at }),
        2 => any.clone().prop_map(|at| Change::Tag { at }),
        3 => any.clone().prop_map(|at| Change::Delete { at }),
        2 => (any.clone(), any.clone()).prop_map(|(at, to)| Change::Move { at, to }),
        2 => any.clone().prop_map(|at| Change::Prose { at }),
        1 => Just(Change::Crlf),
        1 => any.clone().prop_map(|at| Change::Fence { at }),
        1 => any.prop_map(|at| Change::Section { at }),
    ]
}

fn plans() -> impl Strategy<Value = (Plan, Plan, Plan)> {
    let entries = prop::collection::btree_map(1..30u16, 0..4usize, 0..12);
    let changes = || prop::collection::vec(change(), 0..8);
    (entries, changes(), changes()).prop_map(|(entries, ours, theirs)| {
        let base = Plan::base(&entries.into_iter().collect::<Vec<_>>());
        let (mut left, mut right) = (base.clone(), base.clone());
        ours.iter().for_each(|change| left.apply(change, "ours"));
        theirs.iter().for_each(|change| right.apply(change, "theirs"));
        (base, left, right)
    })
}

fn merged(base: &str, ours: &str, theirs: &str) -> Merged {
    merge(
        NoteFileKind::Memories,
        base.as_bytes(),
        ours.as_bytes(),
        theirs.as_bytes(),
    )
    .unwrap()
}

fn notes(text: &[u8]) -> BTreeMap<String, Note> {
    let document = Document::parse(NoteFileKind::Memories, text);
    let notes = document.entries().iter().map(|entry| document.note(entry).unwrap());
    notes.map(|note| (note.id.to_string(), note)).collect()
}

/// The ids and texts of all entries, including those with duplicate ids.
fn ids_and_texts(text: &[u8]) -> BTreeSet<(String, String)> {
    let document = Document::parse(NoteFileKind::Memories, text);
    let entries = document.entries().iter();
    entries
        .map(|entry| (document.id(entry).to_owned(), document.content(entry)))
        .collect()
}

fn texts(text: &[u8]) -> BTreeSet<String> {
    ids_and_texts(text).into_iter().map(|(_, text)| text).collect()
}

/// The ids and texts of entries that must exist after a merge, by what each side did to them.
fn expected(base: &str, ours: &str, theirs: &str) -> (BTreeSet<(String, String)>, BTreeSet<String>) {
    let [base, ours, theirs] = [base, ours, theirs].map(|text| notes(text.as_bytes()));
    let mut kept = BTreeSet::new();
    let mut clashing = BTreeSet::new();
    let ids: BTreeSet<&String> = base.keys().chain(ours.keys()).chain(theirs.keys()).collect();
    for id in ids {
        let text = |notes: &BTreeMap<String, Note>| notes.get(id).map(|note| note.content.clone());
        let (old, left, right) = (text(&base), text(&ours), text(&theirs));
        let winner = match (&left, &right) {
            (Some(left_text), Some(right_text)) if left != old && right != old && left != right => {
                clashing.extend([left_text.clone(), right_text.clone()]);
                None
            }
            (Some(_), Some(_)) => {
                if left == old {
                    right
                } else {
                    left
                }
            }
            // A change to any part counts, and keeps the entry.
            (Some(_), None) => left.filter(|_| ours.get(id) != base.get(id)),
            (None, _) => right.filter(|_| theirs.get(id) != base.get(id)),
        };
        kept.extend(winner.map(|text| (id.clone(), text)));
    }
    (kept, clashing)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn merge_loses_nothing_and_restores_nothing((base, ours, theirs) in plans()) {
        let (base, ours, theirs) = (base.text(), ours.text(), theirs.text());
        let merged = merged(&base, &ours, &theirs);
        let found = notes(&merged.bytes);
        let (kept, clashing) = expected(&base, &ours, &theirs);
        // Text that an unknown section hid on one side may become a second entry with that id.
        let found_entries = ids_and_texts(&merged.bytes);
        for (id, text) in &kept {
            prop_assert!(found_entries.contains(&(id.clone(), text.clone())), "{} is not in {:?}", id, found_entries);
        }
        let all = texts(&merged.bytes);
        prop_assert!(clashing.is_subset(&all), "{:?} is not in {:?}", clashing, all);
        let known = kept.iter().map(|(_, text)| text).chain(&clashing);
        let known: BTreeSet<String> = known.cloned().collect();
        // An open fence may have hidden entries of one side, which the other side's prose uncovers.
        if !ours.contains("```") && !theirs.contains("```") && !ours.contains("## Of") && !theirs.contains("## Of") {
            prop_assert_eq!(all, known);
        }
        prop_assert_eq!(merged.entry_conflicts.len() * 2, clashing.len());
        for note in found.values().filter(|note| note.extra.get(Extra::CONFLICTS).is_some()) {
            prop_assert!(clashing.contains(&note.content));
        }
        let lines = |text: &str| -> BTreeSet<String> {
            text.lines().filter(|line| line.starts_with("Prose")).map(str::to_owned).collect()
        };
        let prose = lines(&String::from_utf8(merged.bytes).unwrap());
        prop_assert!(lines(&ours).union(&lines(&theirs)).all(|line| prose.contains(line)));
    }

    #[test]
    fn separate_entries_never_conflict((base, ours, theirs) in plans()) {
        let (base, ours, theirs) = (base.text(), ours.text(), theirs.text());
        let only_entries = |text: &str| !["```", "Prose", "## Of"].iter().any(|word| text.contains(word));
        let merged = merged(&base, &ours, &theirs);
        if only_entries(&ours) || only_entries(&theirs) {
            prop_assert_eq!(merged.prose_conflicts, 0, "{}", String::from_utf8_lossy(&merged.bytes));
        }
    }

    #[test]
    fn one_sided_changes_are_taken_verbatim((base, ours, _) in plans()) {
        let (base, ours) = (base.text(), ours.text());
        prop_assert_eq!(merged(&base, &base, &ours).bytes, ours.as_bytes());
        prop_assert_eq!(merged(&base, &ours, &base).bytes, ours.as_bytes());
        prop_assert_eq!(merged(&base, &ours, &ours).bytes, ours.as_bytes());
    }

    #[test]
    fn merge_result_does_not_depend_on_side_order((base, ours, theirs) in plans()) {
        let (base, ours, theirs) = (base.text(), ours.text(), theirs.text());
        let one = merged(&base, &ours, &theirs);
        let other = merged(&base, &theirs, &ours);
        let (kept, clashing) = expected(&base, &ours, &theirs);
        let wanted: BTreeSet<String> = kept.into_iter().map(|(_, text)| text).chain(clashing).collect();
        for side in [&one, &other] {
            prop_assert!(wanted.is_subset(&texts(&side.bytes)));
        }
        // The two merges converge without another copy.
        let [one, other] = [one, other].map(|merged| String::from_utf8(merged.bytes).unwrap());
        if one.contains("<<<<<<<") || other.contains("<<<<<<<") || one.contains("```") {
            return Ok(());
        }
        prop_assert_eq!(texts(one.as_bytes()), texts(other.as_bytes()));
        let met = merged(&base, &one, &other);
        prop_assert_eq!(texts(&met.bytes), texts(one.as_bytes()));
        prop_assert_eq!(notes(&met.bytes).len(), notes(one.as_bytes()).len());
    }

    #[test]
    fn any_bytes_merge_without_panic(base in file(), ours in file(), theirs in file()) {
        let Ok(merged) = merge(NoteFileKind::Memories, &base, &ours, &theirs) else {
            // git merges such a file as text.
            let marked = [&base, &ours, &theirs].iter().any(|text| text.starts_with(b"<<<<<<<") || holds_marker(text));
            prop_assert!(marked, "only markers in an entry are a reason not to merge");
            return Ok(());
        };
        let all = texts(&merged.bytes);
        let repeated: BTreeSet<String> = [&base, &ours, &theirs].iter().flat_map(|text| repeated(text)).collect();
        let merged_text = String::from_utf8_lossy(&merged.bytes);
        for (side, other) in [(&ours, &theirs), (&theirs, &ours)] {
            let (before, others) = (notes(&base), notes(other));
            for (id, note) in notes(side) {
                // An entry with a duplicate id is prose, and may be in a place that is not parsed.
                let lines_are_there = || note.content.lines().all(|line| merged_text.contains(line));
                let is_there = all.contains(&note.content) || (repeated.contains(&id) && lines_are_there());
                let replaced = others.contains_key(&id) || before.get(&id) == Some(&note);
                prop_assert!(replaced || is_there, "{} is lost from {}", id, merged_text);
            }
        }
    }
}

fn holds_marker(text: &[u8]) -> bool {
    text.windows(8)
        .any(|bytes| bytes == b"\n<<<<<<<" || bytes == b"\n>>>>>>>")
}

fn repeated(text: &[u8]) -> Vec<String> {
    let document = Document::parse(NoteFileKind::Memories, text);
    let ids = document.entries().iter().map(|entry| document.id(entry));
    ids.filter(|id| document.find(id).count() > 1)
        .map(str::to_owned)
        .collect()
}

/// Meaningful lines in any order, mixed with invalid bytes.
fn file() -> impl Strategy<Value = Vec<u8>> {
    let line = prop::sample::select(vec![
        &b"# Memories\n"[..],
        b"## Patterns\n",
        b"## Fixes\r\n",
        b"## Own\n",
        b"### mem-1-0000\n",
        b"### mem-2-0000\n",
        b"### mem-3-0000 words\n",
        b"### mem-bad\n",
        b"> one\n",
        b"> two\n",
        b">\n",
        b"> three",
        b"\n",
        b"\r\n",
        b"   \n",
        b"<!-- tags: a, b | created: 2025-01-01 -->\n",
        b"<!-- tags: broken -->\n",
        b"<!-- ralph: reason=x -->\n",
        b"<!-- ralph: conflicts=mem-1-0000 -->\n",
        b"prose\n",
        b"```\n",
        b"~~~\n",
        b"\xff\xfe\n",
        b"\xef\xbb\xbf",
        b"<<<<<<< HEAD\n",
        b"=======\n",
        b">>>>>>> other\n",
        b"### Sign: Name\n",
    ]);
    prop::collection::vec(line, 0..24).prop_map(|lines| lines.concat())
}
