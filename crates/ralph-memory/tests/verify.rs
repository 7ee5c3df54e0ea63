//! Verification of the index against its files.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
#![expect(dead_code, reason = "not every test needs all of the support")]

mod support;

use ralph_memory::note_index::{NoteIndex, Verified};
use ralph_model::NoteFileKind;
use support::Files;

const THREE: &str = "## Fixes\n### mem-1-0001\n> tea is green\n### mem-2-0002\n> tea is black, says `pot.rs`\n<!-- tags: tea | \
                     created: 2025-01-20 -->\n### mem-3-0003\n> no water\n<!-- ralph: supersedes=mem-1-0001 -->\n";

/// Files with an index on disk.
fn files() -> Files {
    let files = Files::new();
    std::fs::create_dir(files.folder().join("ralph")).unwrap();
    files.write(NoteFileKind::Memories, THREE.as_bytes());
    drop(files.note_index());
    files
}

#[test]
fn updated_index_equals_a_fresh_one() {
    let files = files();
    assert_eq!(NoteIndex::verify(&files.place()).unwrap(), Verified::Same);
    let changed = THREE
        .replace("green", "white")
        .replace("### mem-2-0002", "### mem-4-0004");
    for text in [
        changed.as_str(),
        "## Fixes\n### mem-3-0003\n> no water\n### mem-1-0001\n> tea is green\n",
        THREE,
    ] {
        files.write(NoteFileKind::Memories, text.as_bytes());
        assert_eq!(NoteIndex::verify(&files.place()).unwrap(), Verified::Behind);
        drop(files.note_index());
        assert_eq!(NoteIndex::verify(&files.place()).unwrap(), Verified::Same, "{text}");
    }
    files.write(
        NoteFileKind::Guardrails,
        b"## Fixes\n### Sign: Care\n- **Trigger**: x\n- **Instruction**: y\n",
    );
    drop(files.note_index());
    std::fs::remove_file(files.path(NoteFileKind::Memories)).unwrap();
    assert_eq!(NoteIndex::verify(&files.place()).unwrap(), Verified::Behind);
    drop(files.note_index());
    assert_eq!(NoteIndex::verify(&files.place()).unwrap(), Verified::Same);
}

#[test]
fn missing_index_is_behind() {
    let files = Files::new();
    assert_eq!(NoteIndex::verify(&files.place()).unwrap(), Verified::Behind);
}
