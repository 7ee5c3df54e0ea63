//! Edits of a document, as patches: add, change, delete.

use ralph_model::{Note, NoteKind};

use crate::lines::{Line, is_blank};
use crate::render::{entry_text, extra_line, quoted, tags_line};
use crate::{Document, Entry, Patches, Span};

impl Document<'_> {
    /// Adds notes at the end of their sections, in the order given; a missing section is created at the end.
    #[must_use]
    pub fn add(&self, notes: &[Note]) -> Patches {
        let mut patches = Patches::none();
        self.add_to(&mut patches, notes);
        patches
    }

    /// Changes an entry to what the note says. Only the parts that differ are written; another kind moves the entry to
    /// the end of that section.
    #[must_use]
    pub fn change(&self, entry: &Entry, note: &Note) -> Patches {
        let mut patches = Patches::none();
        if entry.kind != note.kind {
            self.delete_from(&mut patches, entry);
            self.add_to(&mut patches, std::slice::from_ref(note));
            return patches;
        }
        let eol = self.eol_of(entry);
        if self.content(entry) != note.content {
            let with_break = ends_line(entry.content.of(self.bytes));
            patches.replace(entry.content, with_eol(&quoted(&note.content), eol, with_break));
        }
        let old_tags = (self.tags(entry), self.created(entry));
        let tags_differ = old_tags != (note.tags.clone(), note.created);
        let extra_differs = self.extra(entry) != note.extra;
        let tags = tags_line(&note.tags, note.created);
        let extra = extra_line(&note.extra);
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

    /// Takes entries out, each with the blank line that set it apart. What people wrote between its parts stays.
    #[must_use]
    pub fn delete(&self, entries: &[&Entry]) -> Patches {
        let mut patches = Patches::none();
        for entry in entries {
            self.delete_from(&mut patches, entry);
        }
        patches
    }

    fn add_to(&self, patches: &mut Patches, notes: &[Note]) {
        let eol = self.eol();
        for kind in self.shelf.kinds() {
            let mut text = String::new();
            for note in notes.iter().filter(|note| self.kind_here(note.kind) == *kind) {
                text.push('\n');
                text.push_str(&entry_text(note));
            }
            if text.is_empty() {
                continue;
            }
            let section = self.sections.iter().find(|section| section.kind == Some(*kind));
            let at = section.map_or(self.text_end, |section| section.text_end);
            if section.is_none() {
                let gap = if at == 0 { "" } else { "\n" };
                text = format!("{gap}## {}\n{text}", kind.section());
            }
            let before = self.bytes.get(..at).unwrap_or_default();
            if !ends_line(before) && !is_blank_start(before) {
                text.insert(0, '\n');
            }
            patches.insert(at, with_eol(&text, eol, true));
        }
    }

    /// The section a note of this kind goes to on this shelf: one that it does not have becomes a pattern.
    fn kind_here(&self, kind: NoteKind) -> NoteKind {
        if self.shelf.kinds().contains(&kind) {
            kind
        } else {
            NoteKind::Pattern
        }
    }

    fn delete_from(&self, patches: &mut Patches, entry: &Entry) {
        let mut parts = [entry.heading, entry.content, entry.tags, entry.extra];
        parts.sort_by_key(|part| part.start());
        let mut stretch: Option<Span> = None;
        for part in parts.into_iter().filter(|part| !part.is_empty()) {
            stretch = Some(match stretch {
                None => part,
                Some(before) if is_blank(Span::new(before.end(), part.start()).of(self.bytes)) => before.to(part),
                Some(before) => {
                    patches.remove(before);
                    part
                }
            });
        }
        let Some(last) = stretch else { return };
        if last.start() == entry.heading.start() {
            patches.remove(self.with_blank_line_before(last));
        } else {
            patches.remove(last);
        }
    }

    /// The stretch with the blank line before it, unless text follows that the line then has to set apart.
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

    /// Replaces a comment line, or puts it after the parts that stand before it.
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

    /// The line break of the file: that of its first line.
    fn eol(&self) -> &'static str {
        eol_in(self.bytes)
    }

    fn eol_of(&self, entry: &Entry) -> &'static str {
        let heading = entry.heading.of(self.bytes);
        if ends_line(heading) {
            eol_in(heading)
        } else {
            self.eol()
        }
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

/// Whether nothing stands before: an empty file, or one with only its byte order mark.
fn is_blank_start(before: &[u8]) -> bool {
    before.is_empty() || before == b"\xef\xbb\xbf"
}

/// The text with the file's line break; without the last one where the replaced text had none either.
fn with_eol(text: &str, eol: &str, with_last: bool) -> Vec<u8> {
    let text = if with_last {
        text
    } else {
        text.strip_suffix('\n').unwrap_or(text)
    };
    text.replace('\n', eol).into_bytes()
}
