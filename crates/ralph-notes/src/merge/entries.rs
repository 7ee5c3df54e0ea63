//! Merges entries by their content on the three sides, regardless of the text around them.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use ralph_model::{Extra, Note, NoteFileKind, NoteId, Tags};

use super::MergeError;
use super::side::{Side, Unit, plain_breaks};
use crate::Document;

/// An entry that must be in the merged file exactly once.
#[derive(Debug, Clone)]
pub(super) struct Kept<'a> {
    /// The note that must be read back.
    pub(super) note: Note,
    pub(super) body: Cow<'a, [u8]>,
    /// Whether the entry has nothing beyond the note.
    pub(super) plain: bool,
    /// For the other side's version of an entry that both sides changed: the id that our version kept.
    pub(super) rival: Option<NoteId>,
}

impl<'a> Kept<'a> {
    fn of(unit: &Unit<'a>) -> Self {
        Self {
            note: unit.note.clone(),
            body: Cow::Borrowed(unit.body),
            plain: unit.plain,
            rival: None,
        }
    }
}

pub(super) struct Sides<'s, 'a> {
    pub(super) base: &'s Side<'a>,
    pub(super) ours: &'s Side<'a>,
    pub(super) theirs: &'s Side<'a>,
}

/// Merges every entry; returns those that stay, in our order and then in theirs.
///
/// # Errors
/// If a version that must be kept would be lost.
pub(super) fn resolve<'a>(sides: &Sides<'_, 'a>) -> Result<Vec<Kept<'a>>, MergeError> {
    let mut kept: Vec<Kept<'a>> = Vec::new();
    let mut clashes: HashMap<&str, &Unit<'a>> = HashMap::new();
    let added = |id: &&&str| !sides.ours.units.contains_key(**id);
    for id in sides.ours.order.iter().chain(sides.theirs.order.iter().filter(added)) {
        let base = sides.base.units.get(id);
        match (sides.ours.units.get(id), sides.theirs.units.get(id)) {
            (Some(ours), Some(theirs)) => match joined(base, ours, theirs) {
                Some(both) => kept.push(both),
                None => {
                    kept.push(Kept::of(ours));
                    clashes.insert(id, theirs);
                }
            },
            // Deleted on one side: keep it if the other side changed it.
            (Some(only), None) | (None, Some(only)) if !base.is_some_and(|base| base.same(only)) => {
                kept.push(Kept::of(only));
            }
            _ => {}
        }
    }
    drop_stale_copies(sides, &clashes, &mut kept);
    add_copies(sides, &clashes, kept)
}

/// Merges two versions into one entry; `None` if both must be kept.
fn joined<'a>(base: Option<&Unit<'a>>, ours: &Unit<'a>, theirs: &Unit<'a>) -> Option<Kept<'a>> {
    let same_bytes = |base: &Unit<'_>| base.body == ours.body;
    if ours.same(theirs) {
        return Some(Kept::of(if base.is_some_and(same_bytes) { theirs } else { ours }));
    }
    if base.is_some_and(|base| base.same(theirs)) {
        return Some(Kept::of(ours));
    }
    if base.is_some_and(|base| base.same(ours)) {
        return Some(Kept::of(theirs));
    }
    if !(ours.plain && theirs.plain) {
        return None;
    }
    let note = joined_notes(base.map(|base| &base.note), &ours.note, &theirs.note)?;
    let body = Cow::Owned(rewritten(ours, &note)?);
    Some(Kept {
        note,
        body,
        plain: true,
        rival: None,
    })
}

/// Merges the parts of two versions; `None` if both sides changed the text differently. If both set a different date,
/// kind, or value, ours wins.
fn joined_notes(base: Option<&Note>, ours: &Note, theirs: &Note) -> Option<Note> {
    fn pick<T: PartialEq>(base: Option<&T>, ours: T, theirs: T) -> Option<T> {
        if ours == theirs || base == Some(&theirs) {
            Some(ours)
        } else {
            (base == Some(&ours)).then_some(theirs)
        }
    }
    let content = pick(base.map(|base| &base.content).as_ref(), &ours.content, &theirs.content)?.clone();
    let kind = pick(base.map(|base| &base.kind), ours.kind, theirs.kind).unwrap_or(ours.kind);
    let created = pick(base.map(|base| &base.created), ours.created, theirs.created).unwrap_or(ours.created);
    let mut extra = Extra::default();
    for (key, _) in ours.extra.iter().chain(theirs.extra.iter()) {
        let of = |note: &Note| note.extra.get(key).map(str::to_owned);
        if let Some(value) = pick(Some(&base.and_then(of)), of(ours), of(theirs)).unwrap_or_else(|| of(ours)) {
            extra.set(key, &value);
        }
    }
    Some(Note {
        id: ours.id.clone(),
        kind,
        content,
        tags: joined_tags(base.map(|base| &base.tags), &ours.tags, &theirs.tags),
        created,
        extra,
    })
}

/// The tags of both, without those that one side removed.
fn joined_tags(base: Option<&Tags>, ours: &Tags, theirs: &Tags) -> Tags {
    let has = |tags: &Tags, tag: &str| tags.iter().any(|other| other == tag);
    let was_there = |tag: &str| base.is_some_and(|base| has(base, tag));
    let from_ours = ours.iter().filter(|tag| has(theirs, tag) || !was_there(tag));
    let from_theirs = theirs.iter().filter(|tag| !has(ours, tag) && !was_there(tag));
    // These tags were parsed before, so they are valid.
    Tags::new(from_ours.chain(from_theirs)).unwrap_or_else(|_| ours.clone())
}

/// Removes copies from earlier merges whose text is also in another entry, or which both sides have replaced. Otherwise
/// every merge of two branches that are merged repeatedly would add another copy.
fn drop_stale_copies<'a>(sides: &Sides<'_, 'a>, clashes: &HashMap<&str, &Unit<'a>>, kept: &mut Vec<Kept<'a>>) {
    let by_id: HashMap<&str, &Kept<'_>> = kept.iter().map(|kept| (kept.note.id.as_str(), kept)).collect();
    let stale: HashSet<NoteId> = kept
        .iter()
        .filter(|copy| !sides.base.units.contains_key(copy.note.id.as_str()))
        .filter(|copy| {
            let Some(id) = copy.note.extra.get(Extra::CONFLICTS) else {
                return false;
            };
            let as_rival = by_id
                .get(id)
                .is_some_and(|rival| rival.plain && copy.plain && rival.note.content == copy.note.content);
            let as_base =
                clashes.contains_key(id) && sides.base.units.get(id).is_some_and(|base| same_text(copy, base));
            id != copy.note.id.as_str() && (as_rival || as_base)
        })
        .map(|copy| copy.note.id.clone())
        .collect();
    kept.retain(|entry| !stale.contains(&entry.note.id));
}

/// Adds the other side's version of every entry that both sides changed, next to ours.
fn add_copies<'a>(
    sides: &Sides<'_, 'a>,
    clashes: &HashMap<&str, &Unit<'a>>,
    kept: Vec<Kept<'a>>,
) -> Result<Vec<Kept<'a>>, MergeError> {
    let files = sides.each(|side| side.document.lookup(clashes.len()));
    let mut made: HashMap<NoteId, Kept<'a>> = HashMap::new();
    let mut taken: HashSet<NoteId> = HashSet::new();
    let mut copies: HashMap<&str, Vec<&Kept<'a>>> = HashMap::new();
    for copy in &kept {
        if let Some(id) = copy.note.extra.get(Extra::CONFLICTS) {
            copies.entry(id).or_default().push(copy);
        }
    }
    for entry in &kept {
        let id = entry.note.id.as_str();
        let Some(theirs) = clashes.get(id) else { continue };
        if copies.get(id).into_iter().flatten().any(|copy| same_text(copy, theirs)) {
            continue;
        }
        // An id counts as taken if it occurs anywhere in the files, even in prose.
        let is_taken = |id: &NoteId| taken.contains(id) || files.iter().any(|file| file.mentions(id));
        let copy = copy_of(theirs, is_taken).ok_or_else(|| MergeError::losing([id]))?;
        taken.insert(copy.note.id.clone());
        made.insert(entry.note.id.clone(), copy);
    }
    let with_copy = |entry: Kept<'a>| {
        let copy = made.remove(&entry.note.id);
        std::iter::once(entry).chain(copy)
    };
    Ok(kept.into_iter().flat_map(with_copy).collect())
}

impl<'s, 'a> Sides<'s, 'a> {
    /// Applies a function to base, ours, and theirs.
    pub(super) fn each<T>(&self, ask: impl Fn(&'s Side<'a>) -> T) -> [T; 3] {
        [self.base, self.ours, self.theirs].map(ask)
    }
}

fn same_text(copy: &Kept<'_>, version: &Unit<'_>) -> bool {
    if copy.plain && version.plain {
        return copy.note.content == version.note.content;
    }
    let as_copy = marked(version, copy.note.id.clone());
    rewritten(version, &as_copy).is_some_and(|body| plain_breaks(&body) == plain_breaks(&copy.body))
}

/// The other side's version under its own id: the same timestamp, and four digits from its text.
fn copy_of<'a>(theirs: &Unit<'a>, is_taken: impl Fn(&NoteId) -> bool) -> Option<Kept<'a>> {
    let (stem, _) = theirs.note.id.as_str().rsplit_once('-')?;
    let first = text_hash(&theirs.note.content);
    let id = (0..=u16::MAX)
        .filter_map(|step| {
            let id = format!("{stem}-{:04x}", first.wrapping_add(step));
            NoteId::parse(&id, &NoteId::PREFIXES)
        })
        .find(|id| !is_taken(id))?;
    let note = marked(theirs, id);
    let body = Cow::Owned(rewritten(theirs, &note)?);
    Some(Kept {
        note,
        body,
        plain: theirs.plain,
        rival: Some(theirs.note.id.clone()),
    })
}

fn marked(version: &Unit<'_>, id: NoteId) -> Note {
    let mut note = version.note.clone();
    note.extra.set(Extra::CONFLICTS, note.id.as_str());
    note.id = id;
    note
}

/// A 16-bit text hash that is the same on every machine and in every version: FNV-1a, folded.
fn text_hash(text: &str) -> u16 {
    let hash = text.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    let [a, b, c, d] = hash.to_be_bytes();
    u16::from_be_bytes([a ^ c, b ^ d])
}

/// Rewrites the lines of an entry, including its id, to match a note; keeps everything else between them.
fn rewritten(unit: &Unit<'_>, note: &Note) -> Option<Vec<u8>> {
    let file_kind = if note.id.as_str().starts_with("mem-") {
        NoteFileKind::Memories
    } else {
        NoteFileKind::Guardrails
    };
    let document = Document::parse(file_kind, unit.body);
    let [entry] = document.entries() else { return None };
    let in_place = Note {
        kind: entry.kind,
        ..note.clone()
    };
    let mut patches = document.change(entry, &in_place);
    if document.id(entry) != note.id.as_str() {
        patches.replace(entry.id, note.id.as_str().as_bytes().to_vec());
    }
    Some(patches.apply(unit.body))
}
