//! The index compared with the files it was made from.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
#![expect(dead_code, reason = "not every test needs all of the support")]

mod support;

use ralph_memory::catalogue::{Catalogue, Verified};
use ralph_model::Shelf;
use support::Files;

const THREE: &str = "## Fixes\n### mem-1-0001\n> tea is green\n### mem-2-0002\n> tea is black, says `pot.rs`\n<!-- tags: tea | \
                     created: 2025-01-20 -->\n### mem-3-0003\n> no water\n<!-- ralph: supersedes=mem-1-0001 -->\n";

/// Files with an index on disk.
fn files() -> Files {
    let files = Files::new();
    std::fs::create_dir(files.folder().join("ralph")).unwrap();
    files.write(Shelf::Memories, THREE.as_bytes());
    drop(files.catalogue());
    files
}

#[test]
fn an_index_that_followed_changes_is_the_same_as_one_made_at_once() {
    let files = files();
    assert_eq!(Catalogue::verify(&files.place()).unwrap(), Verified::Same);
    let changed = THREE
        .replace("green", "white")
        .replace("### mem-2-0002", "### mem-4-0004");
    for text in [
        changed.as_str(),
        "## Fixes\n### mem-3-0003\n> no water\n### mem-1-0001\n> tea is green\n",
        THREE,
    ] {
        files.write(Shelf::Memories, text.as_bytes());
        assert_eq!(Catalogue::verify(&files.place()).unwrap(), Verified::Behind);
        drop(files.catalogue());
        assert_eq!(Catalogue::verify(&files.place()).unwrap(), Verified::Same, "{text}");
    }
    files.write(
        Shelf::Guardrails,
        b"## Fixes\n### Sign: Care\n- **Trigger**: x\n- **Instruction**: y\n",
    );
    drop(files.catalogue());
    std::fs::remove_file(files.path(Shelf::Memories)).unwrap();
    assert_eq!(Catalogue::verify(&files.place()).unwrap(), Verified::Behind);
    drop(files.catalogue());
    assert_eq!(Catalogue::verify(&files.place()).unwrap(), Verified::Same);
}

#[test]
fn no_index_is_none_that_could_differ() {
    let files = Files::new();
    assert_eq!(Catalogue::verify(&files.place()).unwrap(), Verified::Behind);
}
