//! Merging two versions of a notes file: no losses, no conflicts between separate changes, prose merged like git does.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

mod entries;
mod prose;

use ralph_model::{Extra, Note, NoteFileKind};
use ralph_notes::{Document, Merged, Sign, merge};

const BASE: &str = "\
# Memories

Ours to read.

## Patterns

### mem-1-aaaa
> first
<!-- tags: a, b | created: 2025-01-01 -->

### mem-2-bbbb
> second
<!-- tags:  | created: 2025-01-02 -->

## Decisions

## Fixes

### mem-3-cccc
> third
<!-- tags: c | created: 2025-01-03 -->
";

fn merged(base: &str, ours: &str, theirs: &str) -> Merged {
    let merged = merge(
        NoteFileKind::Memories,
        base.as_bytes(),
        ours.as_bytes(),
        theirs.as_bytes(),
    )
    .unwrap();
    // Merging the result with either side again adds nothing.
    for side in [ours, theirs] {
        let again = merge(NoteFileKind::Memories, side.as_bytes(), &merged.bytes, side.as_bytes()).unwrap();
        assert_eq!(again.bytes, merged.bytes);
    }
    merged
}

#[track_caller]
fn check(base: &str, ours: &str, theirs: &str, expected: &str) {
    let merged = merged(base, ours, theirs);
    assert_eq!(String::from_utf8_lossy(&merged.bytes), expected);
    assert_eq!((merged.prose_conflicts, merged.entry_conflicts), (0, vec![]));
}

fn notes(bytes: &[u8]) -> Vec<Note> {
    let document = Document::parse(NoteFileKind::Memories, bytes);
    let entries = document.entries().iter();
    entries.map(|entry| document.note(entry).unwrap()).collect()
}

/// One line per entry: `id kind text [tags] extra`.
fn summary(bytes: &[u8]) -> Vec<String> {
    let line = |note: &Note| {
        let extra: Vec<String> = note
            .extra
            .iter()
            .map(|(key, value)| format!(" {key}={value}"))
            .collect();
        format!(
            "{} {} {:?} [{}]{}",
            note.id,
            note.kind,
            note.content,
            note.tags,
            extra.join("")
        )
    };
    notes(bytes).iter().map(line).collect()
}

fn entry(id: &str, text: &str) -> String {
    format!("\n### {id}\n> {text}\n<!-- tags:  | created: 2025-01-09 -->\n")
}

fn with_pattern(id: &str, text: &str) -> String {
    BASE.replace("\n## Decisions", &format!("{}\n## Decisions", entry(id, text)))
}

fn texts(bytes: &[u8]) -> Vec<String> {
    let mut texts: Vec<String> = notes(bytes).into_iter().map(|note| note.content).collect();
    texts.sort();
    texts
}
