//! Finds and masks credentials, so that they are never stored.
//!
//! Only tokens of known services, private keys and passwords in URLs are found, because a false positive loses
//! knowledge: nothing is flagged merely for looking random, and no service is asked whether a key is valid. The work is
//! linear in the text, and masked text contains nothing that would be found again.

mod blocks;
mod placeholders;
mod rules;
mod urls;

use std::borrow::Cow;
use std::cmp::Reverse;
use std::fmt;
use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secret {
    /// In bytes; both ends are character boundaries.
    pub range: Range<usize>,
    pub kind: SecretKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SecretKind {
    slug: &'static str,
    name: &'static str,
}

impl SecretKind {
    /// A private key in PEM or PGP armor.
    pub const PRIVATE_KEY: Self = Self::of("private-key", "private key");
    /// The password in `scheme://user:password@host`.
    pub const URL: Self = Self::of("url", "URL password");

    const fn of(slug: &'static str, name: &'static str) -> Self {
        Self { slug, name }
    }

    /// The word used in masked text.
    #[must_use]
    pub fn slug(self) -> &'static str {
        self.slug
    }

    /// The replacement text: `[secret: kind]`.
    pub(crate) fn mask(self) -> String {
        format!("{MASK_OPENING}{}]", self.slug)
    }
}

impl fmt::Display for SecretKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name)
    }
}

const MASK_OPENING: &str = "[secret: ";
/// Built once, because building takes longer than searching a short line.
static MASKS: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new(MASK_OPENING));

/// The longest slug in a mask, in bytes.
const MAX_SLUG: usize = 40;

/// Shorter parts cannot contain a secret.
const MIN_SECRET: usize = 8;

/// How often the text between secrets is searched again. Masking one token can reveal another next to it, but longer
/// chains only occur in tests.
const MAX_ROUNDS: usize = 8;

/// The credentials in a text, in order and disjoint. No credential crosses an existing mask.
#[must_use]
pub fn find(text: &str) -> Vec<Secret> {
    let mut found = Vec::new();
    let mut parts = between(&masks(text), 0..text.len());
    // Search the rest as it will be after masking, so that nothing remains next to a mask.
    for _ in 0..MAX_ROUNDS {
        let mut rest = Vec::new();
        for part in parts {
            let secrets = find_in(text, part.clone());
            if !secrets.is_empty() {
                let ranges: Vec<_> = secrets.iter().map(|secret| secret.range.clone()).collect();
                rest.extend(between(&ranges, part));
                found.extend(secrets);
            }
        }
        if rest.is_empty() {
            break;
        }
        parts = rest;
    }
    found.sort_by_key(|secret| secret.range.start);
    found
}

/// Replaces each credential with `[secret: kind]`.
#[must_use]
pub fn mask(text: &str) -> Cow<'_, str> {
    let found = find(text);
    if found.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut masked = String::with_capacity(text.len());
    let mut at = 0;
    for Secret { range, kind } in found {
        masked.push_str(text.get(at..range.start).unwrap_or_default());
        masked.push_str(&kind.mask());
        at = range.end;
    }
    masked.push_str(text.get(at..).unwrap_or_default());
    Cow::Owned(masked)
}

/// Whether a text contains a masked secret.
#[must_use]
pub fn has_mask(text: &str) -> bool {
    !masks(text).is_empty()
}

pub(crate) use blocks::is_rest_of_line;

/// The start of a token at the end of a text, whose next piece may complete it.
pub(crate) fn open_token(text: &str) -> Option<Secret> {
    rules::open_token(text)
}

/// The credentials in a part without masks. Private keys come first, because they may contain anything.
fn find_in(text: &str, part: Range<usize>) -> Vec<Secret> {
    let inside = text.get(part.clone()).unwrap_or_default();
    let mut found = blocks::find(inside.as_bytes());
    if found.is_empty() {
        found = rules::find(inside);
        found.extend(urls::find(inside.as_bytes()));
    }
    for secret in &mut found {
        secret.range = secret.range.start + part.start..secret.range.end + part.start;
    }
    found.sort_by_key(|secret| (secret.range.start, Reverse(secret.range.end)));
    // A token that is also a password is one secret, of the outer kind or else of the first rule.
    found.dedup_by(|next, last| {
        let overlap = next.range.start < last.range.end;
        if overlap {
            last.range.end = last.range.end.max(next.range.end);
        }
        overlap
    });
    found
}

fn masks(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let closed = |start: usize| {
        let slug = bytes.get(start + MASK_OPENING.len()..)?;
        let length = run_length(slug, MAX_SLUG, |byte| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'
        });
        let end = start + MASK_OPENING.len() + length;
        (length > 0 && bytes.get(end) == Some(&b']')).then_some(start..end + 1)
    };
    MASKS.find_iter(bytes).filter_map(closed).collect()
}

/// The gaps between these ranges.
fn between(taken: &[Range<usize>], part: Range<usize>) -> Vec<Range<usize>> {
    let starts = std::iter::once(part.start).chain(taken.iter().map(|range| range.end));
    let ends = taken.iter().map(|range| range.start).chain([part.end]);
    starts
        .zip(ends)
        .map(|(start, end)| start..end)
        .filter(|gap| gap.len() >= MIN_SECRET)
        .collect()
}

/// The number of bytes in this alphabet from here on, at most `most`.
///
/// All long reads use this function, so that tests can count the bytes read in hostile text.
fn run_length(bytes: &[u8], most: usize, alphabet: fn(u8) -> bool) -> usize {
    let length = bytes.iter().take(most).take_while(|byte| alphabet(**byte)).count();
    #[cfg(test)]
    tests::count_read(length);
    length
}

#[cfg(test)]
mod tests;
