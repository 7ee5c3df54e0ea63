//! Document edits as patches: add, change, delete.

use ralph_model::{Note, NoteKind};

use crate::lines::{BOM, Fences, Line, heading, is_blank, is_part_of_entry};
use crate::render::{entry_text, extra_line, quoted, tags_line};
use crate::{Document, Entry, Patches, Sign, Span};

/// The place in a file where new notes are inserted, between the entries with these ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap<'d> {
    pub at: usize,
    pub before: Option<&'d str>,
    pub after: Option<&'d str>,
}

impl Document<'_> {
    /// Adds notes at the end of their sections, in the given order. Creates missing sections at the end of the file.
    #[must_use]
    pub fn add(&self, notes: &[Note]) -> Patches {
        let mut patches = Patches::none();
        self.add_to(&mut patches, notes);
        patches
    }

    /// Changes an entry to match the note. Only the parts that differ are rewritten; a different kind moves the entry
    /// to the end of the section for that kind.
    #[must_use]
    pub fn change(&self, entry: &Entry, note: &Note) -> Patches {
        let patches = self.change_parts(entry, note);
        if entry.kind == note.kind {
            return patches;
        }
        let mut moved = String::from("\n").into_bytes();
        for part in [entry.heading, entry.content, entry.tags, entry.extra] {
            moved.extend(patches.within(self.bytes, part));
            if !moved.ends_with(b"\n") {
                moved.push(b'\n');
            }
        }
        let mut patches = Patches::none();
        self.delete_from(&mut patches, entry);
        self.insert_into(&mut patches, note.kind, moved);
        patches
    }

    /// Patches the parts of an entry in place.
    fn change_parts(&self, entry: &Entry, note: &Note) -> Patches {
        let mut patches = Patches::none();
        let eol = self.eol_of(entry);
        if self.content(entry) != note.content {
            let with_break = ends_line(entry.content.of(self.bytes));
            patches.replace(entry.content, with_eol(&quoted(&note.content), eol, with_break));
        }
        let old_tags = (self.tags(entry), self.created(entry));
        let tags_differ = old_tags != (note.tags.clone(), note.created);
        let extra_differs = self.extra(entry) != note.extra;
        let tags = tags_line(&note.tags, note.created);
        let mut extra = extra_line(&note.extra);
        if extra.is_empty() && !entry.extra.is_empty() && self.has_stray_parts_after(entry.extra) {
            // Otherwise a second `ralph:` line further down would be read as this entry's own.
            extra.push_str("<!-- ralph: -->\n");
        }
        if entry.tags.is_empty() && entry.extra.is_empty() && (tags_differ || extra_differs) {
            self.put_comment(&mut patches, entry, Span::default(), &(tags + &extra));
            return patches;
        }
        if tags_differ {
            self.put_comment(&mut patches, entry, entry.tags, &tags);
        }
        if extra_differs {
            self.put_comment(&mut patches, entry, entry.extra, &extra);
        }
        patches
    }

    /// Deletes entries, each with the blank line before it. Keeps what people wrote between the parts of an entry.
    #[must_use]
    pub fn delete(&self, entries: &[&Entry]) -> Patches {
        let mut patches = Patches::none();
        // In file order, each patch is appended to the list.
        let mut entries = entries.to_vec();
        entries.sort_by_key(|entry| entry.heading.start());
        for entry in entries {
            self.delete_from(&mut patches, entry);
        }
        patches
    }

    /// Converts Signs to entries: in place if they are in the section for the note's kind, otherwise at the end of that
    /// section.
    #[must_use]
    pub fn migrate(&self, signs: &[(Sign, Note)]) -> Patches {
        let mut patches = Patches::none();
        let mut moved: Vec<Note> = Vec::new();
        for (sign, note) in signs {
            let block = sign.place.block;
            if sign.section == Some(note.kind) {
                let eol = self.eol_at(sign.place.heading);
                let with_break = ends_line(block.of(self.bytes));
                patches.replace(block, with_eol(&entry_text(note), eol, with_break));
            } else {
                let stays = self.has_stray_parts_after(block);
                self.take_out(&mut patches, (block.start(), block), stays.then_some(&sign.id));
                moved.push(note.clone());
            }
        }
        self.add_to(&mut patches, &moved);
        patches
    }

    /// Where new notes of a kind are inserted; `None` if their section is missing.
    #[must_use]
    pub fn gap_for(&self, kind: NoteKind) -> Option<Gap<'_>> {
        let kind = self.kind_here(kind);
        let section = self.sections.iter().find(|section| section.kind == Some(kind))?;
        let after = self
            .entries()
            .partition_point(|entry| entry.heading.start() < section.text_end);
        let id_at = |position: usize| self.entries().get(position).map(|entry| self.id(entry));
        Some(Gap {
            at: section.text_end,
            before: after.checked_sub(1).and_then(id_at),
            after: id_at(after),
        })
    }

    fn add_to(&self, patches: &mut Patches, notes: &[Note]) {
        for kind in self.kinds_to_fill() {
            let mut text = String::new();
            for note in notes.iter().filter(|note| self.kind_here(note.kind) == kind) {
                text.push('\n');
                text.push_str(&entry_text(note));
            }
            if !text.is_empty() {
                self.insert_into(patches, kind, with_eol(&text, self.eol(), true));
            }
        }
    }

    /// The order in which to insert kinds. A new section goes to the end of the file, where the last existing section
    /// may also end, so existing sections come first.
    pub(crate) fn kinds_to_fill(&self) -> Vec<NoteKind> {
        let mut kinds = self.file_kind.kinds().to_vec();
        kinds.sort_by_key(|kind| !self.sections.iter().any(|section| section.kind == Some(*kind)));
        kinds
    }

    /// Inserts entries at the end of a section, each after a blank line. Creates a missing section.
    pub(crate) fn insert_into(&self, patches: &mut Patches, kind: NoteKind, entries: Vec<u8>) {
        let kind = self.kind_here(kind);
        let section = self.sections.iter().find(|section| section.kind == Some(kind));
        let at = section.map_or(self.text_end, |section| section.text_end);
        let before = self.bytes.get(..at).unwrap_or_default();
        let mut opening = String::new();
        if !ends_line(before) && !is_blank_start(before) {
            opening.push('\n');
        }
        if section.is_none() {
            let gap = if at == 0 { "" } else { "\n" };
            opening.push_str(&format!("{gap}## {}\n", kind.section()));
        }
        let mut bytes = with_eol(&opening, self.eol(), true);
        bytes.extend(entries);
        patches.insert(at, bytes);
    }

    /// The section for notes of this kind in this file. A kind the file does not have becomes a pattern.
    fn kind_here(&self, kind: NoteKind) -> NoteKind {
        if self.file_kind.kinds().contains(&kind) {
            kind
        } else {
            NoteKind::Pattern
        }
    }

    fn delete_from(&self, patches: &mut Patches, entry: &Entry) {
        let mut parts = [entry.content, entry.tags, entry.extra];
        parts.sort_by_key(|part| part.start());
        let mut last = entry.heading;
        let mut leaves_stray_parts = false;
        for part in parts.into_iter().filter(|part| !part.is_empty()) {
            let between = Span::new(last.end(), part.start());
            if is_blank(between.of(self.bytes)) {
                last = last.to(part);
                continue;
            }
            patches.remove(last);
            leaves_stray_parts |= self.has_stray_parts(between);
            last = part;
        }
        leaves_stray_parts |= self.has_stray_parts_after(last);
        self.take_out(
            patches,
            (entry.heading.start(), last),
            leaves_stray_parts.then(|| self.id(entry)),
        );
    }

    /// Deletes the last span of a block that started at an offset. If stray parts remain below it, writes a heading
    /// with their old id, because they would otherwise become part of the entry above.
    fn take_out(&self, patches: &mut Patches, (begin, last): (usize, Span), heading_for_stray_parts: Option<&str>) {
        if let Some(name) = heading_for_stray_parts {
            let line = format!("### was {name}\n");
            let heading = Line::at(self.bytes, begin).map(Line::whole).unwrap_or_default();
            patches.remove(last);
            patches.insert(begin, with_eol(&line, self.eol_at(heading), true));
        } else if last.start() == begin {
            patches.remove(self.with_blank_line_before(last));
        } else {
            patches.remove(last);
        }
    }

    /// Whether quotes or comment lines that belong to no entry follow before the next heading.
    fn has_stray_parts_after(&self, stretch: Span) -> bool {
        self.has_stray_parts(Span::new(stretch.end(), self.bytes.len()))
    }

    /// Whether a span has quotes or comment lines before its next heading.
    fn has_stray_parts(&self, stretch: Span) -> bool {
        let mut fences = Fences::default();
        let mut offset = stretch.start();
        while let Some(line) = Line::at(self.bytes, offset).filter(|_| offset < stretch.end()) {
            let text = line.text.of(self.bytes);
            if is_part_of_entry(text) {
                return true;
            }
            if heading(text).is_some() {
                return false;
            }
            offset = fences.end_of_fence(self.bytes, line).unwrap_or(line.next);
        }
        false
    }

    /// Extends the span by the blank line before it, unless text follows that still needs the separator.
    fn with_blank_line_before(&self, stretch: Span) -> Span {
        let follows_text = Line::at(self.bytes, stretch.end()).is_some_and(|line| {
            let text = line.text.of(self.bytes);
            !is_blank(text) && !text.starts_with(b"#")
        });
        let before = self.bytes.get(..stretch.start()).unwrap_or_default();
        let blank = [&b"\r\n"[..], b"\n"].into_iter().find(|eol| {
            before
                .strip_suffix(*eol)
                .is_some_and(|rest| rest.is_empty() || rest.ends_with(b"\n"))
        });
        match blank {
            Some(eol) if !follows_text => Span::new(stretch.start() - eol.len(), stretch.end()),
            _ => stretch,
        }
    }

    /// Replaces a comment line, or inserts it after the preceding parts.
    fn put_comment(&self, patches: &mut Patches, entry: &Entry, old: Span, line: &str) {
        let eol = self.eol_of(entry);
        if !old.is_empty() {
            let with_break = ends_line(old.of(self.bytes));
            patches.replace(old, with_eol(line, eol, with_break));
            return;
        }
        let at = if entry.tags.is_empty() {
            entry.content.end()
        } else {
            entry.tags.end()
        };
        let before = self.bytes.get(..at).unwrap_or_default();
        let mut text = line.to_owned();
        if !text.is_empty() && !ends_line(before) {
            text.insert(0, '\n');
        }
        patches.insert(at, with_eol(&text, eol, true));
    }

    /// The line break of the file's first line.
    pub(crate) fn eol(&self) -> &'static str {
        eol_in(self.bytes)
    }

    fn eol_of(&self, entry: &Entry) -> &'static str {
        self.eol_at(entry.heading)
    }

    /// The line break of a line; the file's line break if the line has none.
    fn eol_at(&self, line: Span) -> &'static str {
        let line = line.of(self.bytes);
        if ends_line(line) { eol_in(line) } else { self.eol() }
    }
}

fn eol_in(bytes: &[u8]) -> &'static str {
    match Line::at(bytes, 0) {
        Some(line) if line.text.end() + 2 == line.next => "\r\n",
        _ => "\n",
    }
}

fn ends_line(bytes: &[u8]) -> bool {
    bytes.ends_with(b"\n")
}

/// Whether the file is empty up to here, apart from a byte order mark.
fn is_blank_start(before: &[u8]) -> bool {
    before.is_empty() || before == BOM
}

/// Converts the text to the file's line break; drops the last one if the replaced text had none.
fn with_eol(text: &str, eol: &str, with_last: bool) -> Vec<u8> {
    let text = if with_last {
        text
    } else {
        text.strip_suffix('\n').unwrap_or(text)
    };
    text.replace('\n', eol).into_bytes()
}
