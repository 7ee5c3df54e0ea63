//! Checks whether the index is up to date with a file, without reading the file where possible.

use ralph_model::{FileStamp, NoteFileKind};
use ralph_notes::Document;
use xxhash_rust::xxh3::{Xxh3Default, xxh3_128};

use super::Problems;
use crate::DocKind;
use crate::index::{FileState, Index, IndexError};

/// For this long after a change, a file's timestamps may hide another change.
const RACY_NS: i64 = 2_000_000_000;

/// What a file's stamp says about the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Freshness {
    /// Unchanged since it was indexed.
    Fresh,
    /// Maybe unchanged: then its bytes have this digest.
    Unsure { digest: u128 },
    /// Deleted or created since.
    Stale,
}

pub(super) fn freshness(index: &Index, file: NoteFileKind, stamp: Option<&FileStamp>) -> Result<Freshness, IndexError> {
    Ok(match (index.file(DocKind::of_file(file), file.file_name())?, stamp) {
        (None, None) => Freshness::Fresh,
        (Some(state), Some(stamp)) if state.stamp == *stamp && is_settled(stamp, state.indexed_ns) => Freshness::Fresh,
        (Some(state), Some(_)) => Freshness::Unsure { digest: state.digest },
        (Some(_), None) | (None, Some(_)) => Freshness::Stale,
    })
}

/// Whether every later change of the file would change its timestamps.
pub(super) fn is_settled(stamp: &FileStamp, at_ns: i64) -> bool {
    stamp.mtime_ns.max(stamp.ctime_ns) <= at_ns.saturating_sub(RACY_NS)
}

/// The index record of a file that was read.
pub(super) fn state_of(document: &Document<'_>, stamp: FileStamp, digest: u128, now_ns: i64) -> FileState {
    FileState {
        stamp,
        digest,
        indexed_ns: now_ns,
        problems: Problems::of(document).encode(),
    }
}

pub(super) fn digest(bytes: &[u8]) -> u128 {
    xxh3_128(bytes)
}

pub(super) fn digest_of_pieces<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> u128 {
    let mut hasher = Xxh3Default::new();
    for piece in pieces {
        hasher.update(piece);
    }
    hasher.digest128()
}
