//! Whether the index is up to date with a file, told without reading the file where that is possible.

use ralph_model::{FileStamp, Shelf};
use ralph_notes::Document;
use ralph_store::index::{Index, IndexError, SourceState};
use xxhash_rust::xxh3::{Xxh3Default, xxh3_128};

use super::{Problems, source_name};

/// For so long after a change of a file its times cannot tell another change from it.
const RACY_NS: i64 = 2_000_000_000;

/// What can be told of a file from its stamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Freshness {
    /// It is what was indexed.
    Fresh,
    /// It may be; its bytes have this digest if it is.
    Unsure { digest: u128 },
    /// It is not there any more, or was not there before.
    Stale,
}

/// Compares a file with what was indexed.
pub(super) fn freshness(index: &Index, shelf: Shelf, stamp: Option<&FileStamp>) -> Result<Freshness, IndexError> {
    Ok(match (index.source(source_name(shelf))?, stamp) {
        (None, None) => Freshness::Fresh,
        (Some(state), Some(stamp)) if state.stamp == *stamp && is_settled(stamp, state.indexed_ns) => Freshness::Fresh,
        (Some(state), Some(_)) => Freshness::Unsure { digest: state.digest },
        (Some(_), None) | (None, Some(_)) => Freshness::Stale,
    })
}

/// Whether every later change of the file would show in its times.
pub(super) fn is_settled(stamp: &FileStamp, at_ns: i64) -> bool {
    stamp.mtime_ns.max(stamp.ctime_ns) <= at_ns.saturating_sub(RACY_NS)
}

/// What is recorded of a file that was read.
pub(super) fn state_of(document: &Document<'_>, stamp: FileStamp, digest: u128, now_ns: i64) -> SourceState {
    SourceState {
        stamp,
        digest,
        indexed_ns: now_ns,
        problems: Problems::of(document).encode(),
    }
}

/// The digest of a file's bytes.
pub(super) fn digest(bytes: &[u8]) -> u128 {
    xxh3_128(bytes)
}

/// The digest of a file that is in pieces.
pub(super) fn digest_of_pieces<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> u128 {
    let mut hasher = Xxh3Default::new();
    for piece in pieces {
        hasher.update(piece);
    }
    hasher.digest128()
}
