//! A range of a file's bytes.

/// A range of a file's bytes, from `start` up to but not including `end`.
///
/// Offsets are 32 bits wide, because a document keeps several spans for each of perhaps 100,000 entries, and note files
/// are limited far below 4 GiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    start: u32,
    end: u32,
}

impl Span {
    /// The span between two offsets. Offsets beyond 4 GiB, which no note file reaches, saturate.
    #[must_use]
    pub fn new(start: usize, end: usize) -> Self {
        let narrow = |offset| u32::try_from(offset).unwrap_or(u32::MAX);
        Self {
            start: narrow(start),
            end: narrow(end.max(start)),
        }
    }

    #[must_use]
    pub fn at(offset: usize) -> Self {
        Self::new(offset, offset)
    }

    #[must_use]
    pub fn start(self) -> usize {
        self.start as usize
    }

    #[must_use]
    pub fn end(self) -> usize {
        self.end as usize
    }

    #[must_use]
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// The bytes of the span; empty if it reaches beyond the end.
    #[must_use]
    pub fn of(self, bytes: &[u8]) -> &[u8] {
        bytes.get(self.start()..self.end()).unwrap_or_default()
    }

    /// The span from the start of this one to the end of another.
    #[must_use]
    pub fn to(self, other: Self) -> Self {
        Self::new(self.start(), other.end())
    }
}
