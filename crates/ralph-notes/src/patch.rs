//! Patches to a file's bytes. What no patch names cannot change.

use crate::Span;

/// Replacements of stretches of a file, in its order and without overlap.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Patches(Vec<(Span, Vec<u8>)>);

impl Patches {
    /// No change.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// A file made anew: these bytes instead of all of the old ones.
    #[must_use]
    pub fn whole(old: &[u8], new: Vec<u8>) -> Self {
        let mut patches = Self::none();
        patches.replace(Span::new(0, old.len()), new);
        patches
    }

    /// Puts bytes in the place of a stretch that no other patch touches. Insertions at its start go before it.
    pub fn replace(&mut self, at: Span, with: Vec<u8>) {
        let position = self
            .0
            .partition_point(|(span, _)| (span.start(), span.end()) <= (at.start(), at.end()));
        self.0.insert(position, (at, with));
    }

    /// Puts bytes in at an offset.
    pub fn insert(&mut self, offset: usize, bytes: Vec<u8>) {
        self.replace(Span::at(offset), bytes);
    }

    /// Takes a stretch out.
    pub fn remove(&mut self, at: Span) {
        self.replace(at, Vec::new());
    }

    /// Whether nothing changes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The patched file, piece by piece, so that a large one need not stand in memory twice.
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

    /// The patched bytes of a stretch: what stands in it, and what is put in at its end.
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

    /// The patched file.
    #[must_use]
    pub fn apply(&self, old: &[u8]) -> Vec<u8> {
        self.pieces(old).flatten().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patches_change_what_they_name_and_nothing_else() {
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
