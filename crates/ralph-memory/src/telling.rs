//! Which words tell something: not those that stand nearly everywhere.

/// A term that more than one in so many notes holds is common …
const COMMON_SHARE: u64 = 4;
/// … from so many notes on; among a handful of notes every word of theirs is common.
const COMMON_FROM: u64 = 24;

/// Whether a term tells something that so many of all entries hold.
pub(crate) fn tells(holding: u64, all: u64) -> bool {
    all < COMMON_FROM || holding * COMMON_SHARE <= all
}
