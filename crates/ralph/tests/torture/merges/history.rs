//! A random history: a file, and its changes on two branches in a few commits each.

use jiff::civil::date;
use ralph_model::{Extra, Note, NoteFileKind, NoteId, NoteKind, Tags};
use ralph_notes::{Document, Entry, Patches, entry_text};
use ralph_testkit::Seed;

/// The versions of a file on two branches.
pub(super) struct History {
    pub(super) base: Vec<u8>,
    pub(super) ours: Vec<Vec<u8>>,
    pub(super) theirs: Vec<Vec<u8>>,
    /// Whether both branches changed text outside entries, so that it may conflict.
    pub(super) both_wrote_prose: bool,
}

impl History {
    pub(super) fn random(mut seed: Seed) -> Self {
        let mut base = Branch {
            bytes: match seed.below(4) {
                0 => b"# Memories\n".to_vec(),
                _ => NoteFileKind::Memories.template().into_bytes(),
            },
            name: 'b',
            counter: 0,
            wrote_prose: false,
        };
        for _ in 0..seed.below(12) {
            base.add(&mut seed);
        }
        if seed.below(5) == 0 {
            base.turn_into_crlf();
        }
        let (ours, our_prose) = base.grow('a', &mut seed);
        let (theirs, their_prose) = base.grow('c', &mut seed);
        Self {
            base: base.bytes,
            ours,
            theirs,
            both_wrote_prose: our_prose && their_prose,
        }
    }

    /// The history as a stream for `git fast-import`.
    pub(super) fn fast_import(&self, path: &str) -> Vec<u8> {
        let mut stream = Vec::new();
        let mut commit = |branch: &str, from: Option<usize>, mark: usize, bytes: &[u8]| {
            let head = format!(
                "commit refs/heads/{branch}\nmark :{mark}\ncommitter t <t@example.com> 1737372000 +0000\ndata 1\nx\n"
            );
            stream.extend(head.into_bytes());
            stream.extend(
                from.map(|from| format!("from :{from}\n"))
                    .unwrap_or_default()
                    .into_bytes(),
            );
            stream.extend(format!("M 100644 inline {path}\ndata {}\n", bytes.len()).into_bytes());
            stream.extend(bytes);
            stream.push(b'\n');
        };
        commit("base", None, 1, &self.base);
        let mut mark = 1;
        for (branch, versions) in [("ours", &self.ours), ("theirs", &self.theirs)] {
            let mut from = 1;
            for bytes in versions {
                mark += 1;
                commit(branch, Some(from), mark, bytes);
                from = mark;
            }
        }
        stream
    }
}

#[derive(Clone)]
struct Branch {
    bytes: Vec<u8>,
    name: char,
    counter: usize,
    wrote_prose: bool,
}

impl Branch {
    /// Creates a branch: its versions, and whether it changed anything but entries.
    fn grow(&self, name: char, seed: &mut Seed) -> (Vec<Vec<u8>>, bool) {
        let mut branch = self.clone();
        branch.name = name;
        let versions = (0..1 + seed.below(3))
            .map(|_| {
                for _ in 0..1 + seed.below(4) {
                    branch.change(seed);
                }
                branch.bytes.clone()
            })
            .collect();
        (versions, branch.wrote_prose)
    }

    fn change(&mut self, seed: &mut Seed) {
        match seed.below(24) {
            0..8 => self.add(seed),
            8..13 => self.with_entry(seed, |branch, document, entry, _| {
                let mut note = document.note(entry).unwrap();
                note.content = branch.text(note.id.as_str(), 1 + branch.counter % 2);
                document.change(entry, &note)
            }),
            13..15 => self.with_entry(seed, |branch, document, entry, _| {
                let mut note = document.note(entry).unwrap();
                note.tags = Tags::new([format!("tag-{}{}", branch.name, branch.counter).as_str()]).unwrap();
                document.change(entry, &note)
            }),
            15..18 => self.with_entry(seed, |_, document, entry, _| document.delete(&[entry])),
            18..20 => self.with_entry(seed, |_, document, entry, seed| {
                let mut note = document.note(entry).unwrap();
                note.kind = kind(seed);
                document.change(entry, &note)
            }),
            20..22 => self.move_up(seed),
            22 => self.write_prose(seed),
            _ => self.turn_into_crlf(),
        }
    }

    fn with_entry(&mut self, seed: &mut Seed, edit: impl Fn(&Self, &Document<'_>, &Entry, &mut Seed) -> Patches) {
        self.counter += 1;
        let bytes = self.bytes.clone();
        let document = Document::parse(NoteFileKind::Memories, &bytes);
        if let Some(entry) = document.entries().get(seed.below(document.entries().len())) {
            self.bytes = edit(self, &document, entry, seed).apply(&bytes);
        }
    }

    fn add(&mut self, seed: &mut Seed) {
        self.counter += 1;
        let second = 1_700_000_000 + i64::try_from(self.counter).unwrap();
        let suffix = u16::try_from(self.name.to_digit(16).unwrap() * 0x1000).unwrap();
        let id = NoteId::new("mem", second, suffix);
        let note = Note {
            content: self.text(id.as_str(), 1 + seed.below(3)),
            id,
            kind: kind(seed),
            tags: Tags::default(),
            created: date(2025, 1, 20),
            extra: Extra::default(),
        };
        let document = Document::parse(NoteFileKind::Memories, &self.bytes);
        self.bytes = document.add(&[note]).apply(&self.bytes);
    }

    /// Every line names its entry and is unique.
    fn text(&self, id: &str, lines: usize) -> String {
        let line = |number| format!("{id} says {}{} in line {number}", self.name, self.counter);
        (0..lines).map(line).collect::<Vec<_>>().join("\n")
    }

    /// Moves an entry to the start of its section, as a user may who sorts the file.
    fn move_up(&mut self, seed: &mut Seed) {
        let bytes = self.bytes.clone();
        let document = Document::parse(NoteFileKind::Memories, &bytes);
        let Some(entry) = document.entries().get(seed.below(document.entries().len())) else {
            return;
        };
        let note = document.note(entry).unwrap();
        let without = String::from_utf8(document.delete(&[entry]).apply(&bytes)).unwrap();
        let eol = if without.contains("\r\n") { "\r\n" } else { "\n" };
        let heading = format!("## {}{eol}", note.kind.section());
        if let Some((before, after)) = without.split_once(&heading) {
            let moved = format!("\n{}", entry_text(&note)).replace('\n', eol);
            self.bytes = format!("{before}{heading}{moved}{after}").into_bytes();
        }
    }

    fn write_prose(&mut self, seed: &mut Seed) {
        self.counter += 1;
        self.wrote_prose = true;
        let text = String::from_utf8(self.bytes.clone()).unwrap();
        let eol = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let remark = format!("{eol}A remark, {}{}.{eol}", self.name, self.counter);
        let headings: Vec<usize> = text.match_indices("\n## ").map(|(at, _)| at + 1).collect();
        let at = headings
            .get(seed.below(headings.len() + 1))
            .copied()
            .unwrap_or(text.len());
        let (before, after) = text.split_at(at);
        self.bytes = format!("{before}{remark}{eol}{after}").into_bytes();
    }

    fn turn_into_crlf(&mut self) {
        let text = String::from_utf8(self.bytes.clone()).unwrap();
        self.bytes = text.replace("\r\n", "\n").replace('\n', "\r\n").into_bytes();
    }
}

fn kind(seed: &mut Seed) -> NoteKind {
    NoteKind::ALL[seed.below(4)]
}
