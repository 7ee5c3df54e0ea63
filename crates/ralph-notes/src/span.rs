//! A stretch of a file's bytes.

/// A stretch of a file's bytes, from `start` up to but not including `end`.
///
/// Offsets are 32 bits wide: a document keeps several spans for each of maybe 100,000 entries, and note files are
/// limited far below 4 GiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    start: u32,
    end: u32,
}

impl Span {
    /// The span between two offsets. An offset beyond 4 GiB, which no note file reaches, becomes the largest one.
    #[must_use]
    pub fn new(start: usize, end: usize) -> Self {
        let narrow = |offset| u32::try_from(offset).unwrap_or(u32::MAX);
        Self {
            start: narrow(start),
            end: narrow(end.max(start)),
        }
    }

    /// The empty span at an offset.
    #[must_use]
    pub fn at(offset: usize) -> Self {
        Self::new(offset, offset)
    }

    /// Where it begins.
    #[must_use]
    pub fn start(self) -> usize {
        self.start as usize
    }

    /// Where it ends.
    #[must_use]
    pub fn end(self) -> usize {
        self.end as usize
    }

    /// Whether it holds nothing.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// Its bytes; none where it reaches beyond the end.
    #[must_use]
    pub fn of(self, bytes: &[u8]) -> &[u8] {
        bytes.get(self.start()..self.end()).unwrap_or_default()
    }

    /// The span from the beginning of this one to the end of another.
    #[must_use]
    pub fn to(self, other: Self) -> Self {
        Self::new(self.start(), other.end())
    }
}
