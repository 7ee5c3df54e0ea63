//! Which words are distinctive: those that are not in nearly every entry.

/// A term in more than one in this many entries is common …
const COMMON_SHARE: u64 = 4;
/// … from this many entries on; among a handful every word would be common.
const COMMON_FROM: u64 = 24;

/// Whether a term in `holding` of `all` entries is distinctive.
pub(crate) fn is_distinctive(holding: u64, all: u64) -> bool {
    all < COMMON_FROM || holding * COMMON_SHARE <= all
}
