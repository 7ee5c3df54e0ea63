//! Splits a file into lines and finds closed code fences.

use memchr::memchr;

use crate::Span;

/// The byte order mark that some editors write.
pub(crate) const BOM: &[u8] = b"\xef\xbb\xbf";
/// The start of an entry's tags line.
pub(crate) const TAGS: &[u8] = b"<!-- tags:";
/// The start of an entry's `ralph:` line.
pub(crate) const EXTRA: &[u8] = b"<!-- ralph:";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Line {
    /// The line without its line break.
    pub(crate) text: Span,
    /// The offset of the next line.
    pub(crate) next: usize,
}

impl Line {
    /// The line at an offset; `None` at the end.
    pub(crate) fn at(bytes: &[u8], start: usize) -> Option<Self> {
        let rest = bytes.get(start..)?;
        if rest.is_empty() {
            return None;
        }
        let (end, next) = match memchr(b'\n', rest) {
            Some(feed) => (start + feed, start + feed + 1),
            None => (bytes.len(), bytes.len()),
        };
        let end = match bytes.get(start..end) {
            Some([.., b'\r']) => end - 1,
            _ => end,
        };
        Some(Self {
            text: Span::new(start, end),
            next,
        })
    }

    /// The line with its line break.
    pub(crate) fn whole(self) -> Span {
        Span::new(self.text.start(), self.next)
    }
}

pub(crate) fn lines_in(bytes: &[u8], span: Span) -> impl Iterator<Item = Line> {
    let bytes = bytes.get(..span.end()).unwrap_or(bytes);
    let mut offset = span.start();
    std::iter::from_fn(move || {
        let line = Line::at(bytes, offset)?;
        offset = line.next;
        Some(line)
    })
}

pub(crate) fn is_blank(text: &[u8]) -> bool {
    text.iter().all(u8::is_ascii_whitespace)
}

/// Whether a line may belong to an entry: a quote, tags line, or `ralph:` line.
pub(crate) fn is_part_of_entry(text: &[u8]) -> bool {
    text.starts_with(b">") || text.starts_with(TAGS) || text.starts_with(EXTRA)
}

/// The level and text of a structural heading; deeper ones and `#hashtags` are prose.
pub(crate) fn heading(text: &[u8]) -> Option<(usize, &[u8])> {
    let level = text.iter().take_while(|b| **b == b'#').count();
    let words = text.get(level..)?;
    let marked = words.first().is_none_or(|b| *b == b' ' || *b == b'\t');
    (matches!(level, 1..=3) && marked).then(|| (level, words.trim_ascii()))
}

/// A conflict marker left by git.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Marker {
    /// `<<<<<<<`: our side follows.
    Ours,
    /// `
    /// |` or `=======`: our side ends. Only after [`Marker::Ours`]; elsewhere it underlines a title.
    EndOfOurs,
    /// `>>>>>>>`: the other side ends.
    EndOfTheirs,
}

/// The number of characters in a marker.
const MARKER_SIGNS: usize = 7;

pub(crate) fn conflict_marker(text: &[u8]) -> Option<Marker> {
    let sign = *text.first()?;
    let marker = match sign {
        b'<' => Marker::Ours,
        b'|' | b'=' => Marker::EndOfOurs,
        b'>' => Marker::EndOfTheirs,
        _ => return None,
    };
    let signs = text.iter().take_while(|b| **b == sign).count();
    let set_apart = text.get(signs).is_none_or(|b| *b == b' ');
    (signs == MARKER_SIGNS && set_apart).then_some(marker)
}

/// Finds where code fences close.
///
/// An unclosed fence does not count, because one stray line of backticks would hide the rest of the file.
#[derive(Debug, Default)]
pub struct Fences {
    indentation: Indentation,
    /// For backticks and tildes: the shortest fence known to have no closing fence. Longer ones cannot have one either,
    /// which avoids searching a file full of stray fences again and again.
    open_until_end: [Option<usize>; 2],
}

/// How far a fence may be indented.
#[derive(Debug, Clone, Copy, Default)]
enum Indentation {
    /// Up to three spaces, like all text that is not indented code.
    #[default]
    OfText,
    /// Any depth, as below nested list items.
    Any,
}

impl Fences {
    /// Also finds fences indented below list items.
    #[must_use]
    pub fn in_lists() -> Self {
        Self {
            indentation: Indentation::Any,
            ..Self::default()
        }
    }

    /// Where the text continues after the closed fence that the line at `start` opens; `None` if it opens none. Call it
    /// for the lines of a text in order.
    pub fn after_fence(&mut self, text: &str, start: usize) -> Option<usize> {
        let bytes = text.as_bytes();
        self.end_of_fence(bytes, Line::at(bytes, start)?)
    }

    /// Like [`Self::after_fence`], for a line that is already split.
    pub(crate) fn end_of_fence(&mut self, bytes: &[u8], line: Line) -> Option<usize> {
        let (sign, length, info) = self.indentation.fence_marks(line.text.of(bytes))?;
        if sign == b'`' && info.contains(&b'`') {
            return None;
        }
        let known = self.open_until_end.get_mut(usize::from(sign == b'~'))?;
        if known.is_some_and(|shortest| length >= shortest) {
            return None;
        }
        let mut offset = line.next;
        while let Some(line) = Line::at(bytes, offset) {
            offset = line.next;
            if let Some((close, close_length, rest)) = self.indentation.fence_marks(line.text.of(bytes))
                && close == sign
                && close_length >= length
                && is_blank(rest)
            {
                return Some(offset);
            }
        }
        *known = Some(length);
        None
    }
}

impl Indentation {
    /// The fence character, how often it repeats, and the rest of the line.
    fn fence_marks(self, text: &[u8]) -> Option<(u8, usize, &[u8])> {
        let marks = match self {
            Self::OfText => {
                let indent = text.iter().take_while(|b| **b == b' ').count();
                text.get(indent..).filter(|_| indent <= 3)?
            }
            Self::Any => text.trim_ascii_start(),
        };
        let sign = *marks.first()?;
        if !matches!(sign, b'`' | b'~') {
            return None;
        }
        let length = marks.iter().take_while(|b| **b == sign).count();
        (length >= 3).then(|| (sign, length, marks.get(length..).unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(bytes: &[u8]) -> Vec<&[u8]> {
        lines_in(bytes, Span::new(0, bytes.len()))
            .map(|line| line.text.of(bytes))
            .collect()
    }

    #[test]
    fn lines_end_at_lf_or_crlf() {
        assert_eq!(texts(b"a\nb\r\n\nc"), [&b"a"[..], b"b", b"", b"c"]);
        assert_eq!(texts(b""), Vec::<&[u8]>::new());
        assert_eq!(texts(b"\n"), [b""]);
        assert_eq!(texts(b"lone\rreturn\n"), [b"lone\rreturn"]);
    }

    #[test]
    fn conflict_markers_have_seven_characters() {
        for (line, expected) in [
            ("<<<<<<< HEAD", Some(Marker::Ours)),
            ("<<<<<<<", Some(Marker::Ours)),
            ("||||||| 1a2b3c4", Some(Marker::EndOfOurs)),
            ("=======", Some(Marker::EndOfOurs)),
            (">>>>>>> a branch", Some(Marker::EndOfTheirs)),
            ("========", None),
            ("<<<<<<<HEAD", None),
            ("> >>>>>>> quoted", None),
            (" <<<<<<<", None),
            ("", None),
        ] {
            assert_eq!(conflict_marker(line.as_bytes()), expected, "{line:?}");
        }
    }

    fn fence_end(text: &str) -> Option<usize> {
        let bytes = text.as_bytes();
        Fences::default().end_of_fence(bytes, Line::at(bytes, 0)?)
    }

    #[test]
    fn only_closed_fences_count() {
        assert_eq!(fence_end("```\n# x\n```\nafter"), Some(12));
        assert_eq!(fence_end("```rust\nx\n````  \n"), Some(17));
        assert_eq!(fence_end("````\n```\n````"), Some(13));
        assert_eq!(fence_end("~~~\n```\n~~~\n"), Some(12));
        assert_eq!(fence_end("```\nnever closed\n"), None);
        assert_eq!(fence_end("```\n``` not a close\n"), None);
        assert_eq!(fence_end("``` in`line\n```\n"), None);
        assert_eq!(fence_end("    ```\n```\n"), None);
        assert_eq!(fence_end("``\n``\n"), None);
        let in_a_list = "      ```\n\t- [ ] x\n\t```\n";
        assert_eq!(fence_end(in_a_list), None);
        assert_eq!(Fences::in_lists().after_fence(in_a_list, 0), Some(in_a_list.len()));
    }
}
