//! Patches to the bytes of a file. Bytes that no patch covers cannot change.

use crate::Span;

/// Replacements in file order, without overlap.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Patches(Vec<(Span, Vec<u8>)>);

impl Patches {
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Replaces the whole file.
    #[must_use]
    pub fn whole(old: &[u8], new: Vec<u8>) -> Self {
        let mut patches = Self::none();
        patches.replace(Span::new(0, old.len()), new);
        patches
    }

    /// Replaces a span that no other patch covers. Insertions at its start go before it.
    pub fn replace(&mut self, at: Span, with: Vec<u8>) {
        let position = self
            .0
            .partition_point(|(span, _)| (span.start(), span.end()) <= (at.start(), at.end()));
        self.0.insert(position, (at, with));
    }

    pub fn insert(&mut self, offset: usize, bytes: Vec<u8>) {
        self.replace(Span::at(offset), bytes);
    }

    pub fn remove(&mut self, at: Span) {
        self.replace(at, Vec::new());
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The patched file in pieces, so that a large file is not in memory twice.
    pub fn pieces<'a>(&'a self, old: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
        let mut kept_from = 0;
        let patched = self.0.iter().flat_map(move |(span, new)| {
            let kept = old.get(kept_from..span.start()).unwrap_or_default();
            kept_from = span.end();
            [kept, new.as_slice()]
        });
        let last = self.0.last().map_or(0, |(span, _)| span.end());
        patched.chain([old.get(last..).unwrap_or_default()])
    }

    /// The patched bytes of a span, including insertions at its end.
    pub(crate) fn within(&self, old: &[u8], stretch: Span) -> Vec<u8> {
        if stretch.is_empty() {
            return Vec::new();
        }
        let inside = |span: &Span| span.start() >= stretch.start() && span.end() <= stretch.end();
        let mut bytes = Vec::new();
        let mut kept_from = stretch.start();
        for (span, new) in self.0.iter().filter(|(span, _)| inside(span)) {
            bytes.extend(old.get(kept_from..span.start()).unwrap_or_default());
            bytes.extend(new);
            kept_from = span.end();
        }
        bytes.extend(old.get(kept_from..stretch.end()).unwrap_or_default());
        bytes
    }

    #[must_use]
    pub fn apply(&self, old: &[u8]) -> Vec<u8> {
        self.pieces(old).flatten().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patches_change_only_their_spans() {
        let mut patches = Patches::none();
        patches.insert(10, b"!".to_vec());
        patches.remove(Span::new(0, 2));
        patches.replace(Span::new(4, 6), b"--".to_vec());
        patches.insert(4, b"<".to_vec());
        assert_eq!(patches.apply(b"0123456789"), b"23<--6789!");
        assert_eq!(Patches::none().apply(b"same"), b"same");
        assert_eq!(Patches::whole(b"old", b"new".to_vec()).apply(b"old"), b"new");
    }
}
