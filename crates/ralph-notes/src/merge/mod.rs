//! Three-way merge of notes files: entry by entry, with the prose around them merged line by line.
//!
//! What happens to an entry does not depend on its position (`entries.rs`), and its position is never a conflict
//! (`weave.rs`). The result is parsed again before it is returned. An entry that prose would hide or run into is moved
//! to the end of its section, so no merge of prose can lose an entry.

mod entries;
mod side;
mod weave;

use std::collections::{HashMap, HashSet};

use ralph_model::{Note, NoteFileKind, NoteId, NoteKind};

use self::entries::{Kept, Sides, resolve};
use self::side::{Side, repeated_ids};
use self::weave::{Item, Origin, Symbols, Three, Woven, weave};
use crate::lines::BOM;
use crate::{Document, Patches};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    pub bytes: Vec<u8>,
    /// The number of conflicts in prose, marked with git's markers.
    pub prose_conflicts: usize,
    /// Entries that both sides changed: the id that ours kept, and the new id of theirs.
    pub entry_conflicts: Vec<(NoteId, NoteId)>,
}

impl Merged {
    fn unchanged(bytes: &[u8]) -> Self {
        Self {
            bytes: bytes.to_vec(),
            prose_conflicts: 0,
            entry_conflicts: Vec::new(),
        }
    }
}

/// No merged file was found in which every entry can be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the merged file would lose {}", ids.join(", "))]
pub struct MergeError {
    ids: Vec<String>,
}

impl MergeError {
    fn losing<'i>(ids: impl IntoIterator<Item = &'i str>) -> Self {
        let mut ids: Vec<String> = ids.into_iter().map(str::to_owned).collect();
        ids.sort();
        Self { ids }
    }
}

/// Merges two notes files with the common ancestor `base`, which may be empty.
///
/// # Errors
/// If an entry could not be read from the result, because a side has conflict markers inside an entry.
pub fn merge(file_kind: NoteFileKind, base: &[u8], ours: &[u8], theirs: &[u8]) -> Result<Merged, MergeError> {
    if ours == theirs || base == theirs {
        return Ok(Merged::unchanged(ours));
    }
    if base == ours {
        return Ok(Merged::unchanged(theirs));
    }
    let documents = [base, ours, theirs].map(|bytes| Document::parse(file_kind, bytes));
    let repeated: HashSet<&str> = documents.iter().flat_map(repeated_ids).collect();
    let [base, ours, theirs] = documents.map(|document| Side::new(document, &repeated));
    let sides = Sides {
        base: &base,
        ours: &ours,
        theirs: &theirs,
    };
    let mut symbols = Symbols::default();
    let tokens = [&base, &ours, &theirs].map(|side| symbols.tokens(&side.pieces));
    let [base_tokens, our_tokens, their_tokens] = &tokens;
    let assembly = Assembly {
        kept: resolve(&sides)?,
        woven: weave(Three {
            base: base_tokens,
            ours: our_tokens,
            theirs: their_tokens,
        }),
        sides,
        file_kind,
    };
    let bytes = assembly.bytes()?;
    let conflicts = assembly.kept.iter();
    Ok(Merged {
        bytes,
        prose_conflicts: assembly.woven.conflicts,
        entry_conflicts: conflicts
            .filter_map(|kept| Some((kept.rival.clone()?, kept.note.id.clone())))
            .collect(),
    })
}

/// The entries that must be in the result, and the order in which they may be.
struct Assembly<'s, 'a> {
    kept: Vec<Kept<'a>>,
    woven: Woven<'a>,
    sides: Sides<'s, 'a>,
    file_kind: NoteFileKind,
}

/// How strictly the entries of the merged file are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Judgement {
    Strict,
    /// Each occurs at least once: prose may have become an entry.
    Lenient,
}

impl Assembly<'_, '_> {
    /// Tries in turn: entries in place; those that cannot be read there at the end of their sections; all entries
    /// there; all entries before the prose.
    fn bytes(&self) -> Result<Vec<u8>, MergeError> {
        let mut bytes = self.with_moved(&HashSet::new());
        let mut moved = self.wrong(&bytes, Judgement::Strict);
        if moved.is_empty() {
            return Ok(bytes);
        }
        bytes = self.with_moved(&moved);
        if self.wrong(&bytes, Judgement::Strict).is_empty() {
            return Ok(bytes);
        }
        moved = self.kept.iter().map(|kept| kept.note.id.as_str()).collect();
        bytes = self.with_moved(&moved);
        if self.wrong(&bytes, Judgement::Lenient).is_empty() {
            return Ok(bytes);
        }
        bytes = self.entries_first();
        let wrong = self.wrong(&bytes, Judgement::Lenient);
        if wrong.is_empty() {
            return Ok(bytes);
        }
        Err(MergeError::losing(wrong))
    }

    /// Renders the file with these entries, and those without a position, at the end of their sections.
    fn with_moved(&self, moved: &HashSet<&str>) -> Vec<u8> {
        let eol = self.eol();
        let mut out = Vec::new();
        if self.has_bom() {
            out.extend(BOM);
        }
        let places = self.places(moved);
        let mut placed: HashSet<&str> = HashSet::new();
        for (position, item) in self.woven.items.iter().enumerate() {
            match item {
                Item::Text(bytes) => push(&mut out, bytes, eol),
                Item::Marker(text) => {
                    push(&mut out, text.as_bytes(), eol);
                    push(&mut out, b"", eol);
                }
                Item::Entry { lead, .. } => {
                    for kept in places.get(&position).into_iter().flatten() {
                        push(&mut out, if kept.rival.is_some() { eol.as_bytes() } else { lead }, eol);
                        push(&mut out, &kept.body, eol);
                        placed.insert(kept.note.id.as_str());
                    }
                }
            }
        }
        let rest = self.kept.iter().filter(|kept| !placed.contains(kept.note.id.as_str()));
        self.appended(out, &rest.collect::<Vec<_>>())
    }

    /// The last resort, for prose that would hide every entry after it, such as fences that close only together: first
    /// the entries as ralph writes them, then the prose. An entry with more than a note is repeated in the prose.
    fn entries_first(&self) -> Vec<u8> {
        let empty = Vec::from(if self.has_bom() { BOM } else { b"" });
        let notes: Vec<Note> = self.kept.iter().map(|kept| kept.note.clone()).collect();
        let mut out = Document::parse(self.file_kind, &empty).add(&notes).apply(&empty);
        // A title ends the last entry.
        push(&mut out, format!("\n# {}\n\n", self.file_kind.title()).as_bytes(), "\n");
        for item in &self.woven.items {
            match item {
                Item::Text(bytes) => push(&mut out, bytes, "\n"),
                Item::Marker(text) => push(&mut out, format!("{text}\n").as_bytes(), "\n"),
                Item::Entry { .. } => {}
            }
        }
        for kept in self.kept.iter().filter(|kept| !kept.plain) {
            push(&mut out, format!("\n### was {}\n", kept.note.id).as_bytes(), "\n");
            let lines = kept.body.splitn(2, |byte| *byte == b'\n');
            push(&mut out, lines.last().unwrap_or_default(), "\n");
        }
        out
    }

    /// Assigns entries to items. A copy that this merge made follows the entry it conflicts with.
    fn places(&self, moved: &HashSet<&str>) -> HashMap<usize, Vec<&Kept<'_>>> {
        let mut found: HashMap<&str, (bool, usize)> = HashMap::new();
        let kept: HashMap<&str, &Kept<'_>> = self.kept.iter().map(|kept| (kept.note.id.as_str(), kept)).collect();
        for (position, item) in self.woven.items.iter().enumerate() {
            if let Item::Entry { id, origin, .. } = item
                && let Some(kept) = kept.get(id)
            {
                let fits = self.kind_there(id, *origin) == Some(kept.note.kind);
                let best = found.entry(id).or_insert((fits, position));
                if fits && !best.0 {
                    *best = (fits, position);
                }
            }
        }
        let mut places: HashMap<usize, Vec<&Kept<'_>>> = HashMap::new();
        for entry in self.kept.iter().filter(|kept| !moved.contains(kept.note.id.as_str())) {
            let beside = entry.rival.as_ref().map_or(entry.note.id.as_str(), NoteId::as_str);
            if let Some((_, position)) = found.get(beside).filter(|_| !moved.contains(beside)) {
                places.entry(*position).or_default().push(entry);
            }
        }
        places
    }

    fn kind_there(&self, id: &str, origin: Origin) -> Option<NoteKind> {
        let side = match origin {
            Origin::Ours | Origin::Both => self.sides.ours,
            Origin::Theirs => self.sides.theirs,
        };
        side.units.get(id).map(|unit| unit.note.kind)
    }

    fn appended(&self, bytes: Vec<u8>, entries: &[&Kept<'_>]) -> Vec<u8> {
        if entries.is_empty() {
            return bytes;
        }
        let document = Document::parse(self.file_kind, &bytes);
        let eol = self.eol();
        let mut patches = Patches::none();
        for kind in document.kinds_to_fill() {
            let mut text = Vec::new();
            for entry in entries.iter().filter(|entry| entry.note.kind == kind) {
                text.extend(eol.as_bytes());
                push(&mut text, &entry.body, eol);
                push(&mut text, b"", eol);
            }
            if !text.is_empty() {
                document.insert_into(&mut patches, kind, text);
            }
        }
        patches.apply(&bytes)
    }

    /// The entries that cannot be read from a merged file as required.
    fn wrong(&self, bytes: &[u8], judgement: Judgement) -> HashSet<&str> {
        let document = Document::parse(self.file_kind, bytes);
        let mut read: HashMap<&str, Vec<&crate::Entry>> = HashMap::new();
        for entry in document.entries() {
            read.entry(document.id(entry)).or_default().push(entry);
        }
        let is_right = |kept: &&Kept<'_>| {
            let found = read.get(kept.note.id.as_str()).map(Vec::as_slice).unwrap_or_default();
            let mut right = found
                .iter()
                .filter(|entry| document.note(entry).is_some_and(|note| note == kept.note));
            right.next().is_some() && (judgement == Judgement::Lenient || found.len() == 1)
        };
        let wrong = self.kept.iter().filter(|kept| !is_right(kept));
        wrong.map(|kept| kept.note.id.as_str()).collect()
    }

    /// The line break of the side that changed it.
    fn eol(&self) -> &'static str {
        let [base, ours, theirs] = self.sides.each(|side| side.document.eol());
        if ours == base { theirs } else { ours }
    }

    fn has_bom(&self) -> bool {
        let [base, ours, theirs] = self.sides.each(|side| side.has_bom);
        if ours == base { theirs } else { ours }
    }
}

/// Appends bytes, after a line break if the last line has none.
fn push(out: &mut Vec<u8>, bytes: &[u8], eol: &str) {
    if !(out.is_empty() || out.ends_with(b"\n") || out == BOM) {
        out.extend(eol.as_bytes());
    }
    out.extend(bytes);
}
