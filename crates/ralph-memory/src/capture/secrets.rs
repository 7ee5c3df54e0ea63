//! Finds and masks credentials in text, so that a memory never keeps one.
//!
//! Only well-known forms are looked for: a note masked by mistake is lost knowledge. This is no scanner for random
//! looking text and asks no service whether a key is still valid. The work grows with the length of the text and no
//! faster, whatever the text holds, and masked text holds nothing that would be found again.

mod blocks;
mod forms;
mod labels;
mod placeholders;
mod urls;

use std::borrow::Cow;
use std::cmp::Reverse;
use std::fmt;
use std::ops::Range;

/// A credential in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secret {
    /// Where it stands, in bytes; both ends are character boundaries.
    pub range: Range<usize>,
    /// What it opens.
    pub kind: SecretKind,
}

/// Whose credential it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SecretKind {
    /// A private key in PEM or PGP armor.
    PrivateKey,
    /// An AWS access key id or secret access key.
    Aws,
    /// A GitHub token.
    GitHub,
    /// An Anthropic key.
    Anthropic,
    /// An OpenAI key.
    OpenAi,
    /// A Slack token or the path of a webhook.
    Slack,
    /// A Google API key, client secret or access token.
    Google,
    /// A token of npm or of a registry that npm talks to.
    Npm,
    /// The password in `scheme://user:password@host`.
    UrlCredentials,
}

impl SecretKind {
    /// The short word for it in masked text.
    #[must_use]
    pub fn slug(self) -> &'static str {
        match self {
            Self::PrivateKey => "private-key",
            Self::Aws => "aws",
            Self::GitHub => "github",
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
            Self::Slack => "slack",
            Self::Google => "google",
            Self::Npm => "npm",
            Self::UrlCredentials => "url",
        }
    }

    /// What stands in the place of it: `[secret: kind]`.
    pub(super) fn mask(self) -> String {
        format!("{MASK_OPENING}{}]", self.slug())
    }
}

impl fmt::Display for SecretKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::PrivateKey => "private key",
            Self::Aws => "AWS key",
            Self::GitHub => "GitHub token",
            Self::Anthropic => "Anthropic key",
            Self::OpenAi => "OpenAI key",
            Self::Slack => "Slack token",
            Self::Google => "Google key",
            Self::Npm => "npm token",
            Self::UrlCredentials => "URL password",
        })
    }
}

/// How a mask begins. No form but the header lines of a key reaches across its bracket and its space, and those look out
/// for it, so a mask never becomes part of another secret.
const MASK_OPENING: &str = "[secret: ";

/// The credentials in this text, in order and apart from one another.
#[must_use]
pub fn find(text: &str) -> Vec<Secret> {
    let bytes = text.as_bytes();
    let mut found = blocks::find(bytes);
    // The rest is looked for between the blocks, as if they were gone already: what stands against the edge of a block
    // is then judged as it will be once the block is masked.
    for gap in gaps(&found, bytes.len()) {
        let part = bytes.get(gap.clone()).unwrap_or_default();
        for scan in [forms::find, labels::find, urls::find] {
            found.extend(scan(part).into_iter().map(|secret| secret.moved_by(gap.start)));
        }
    }
    found.sort_by_key(|secret| (secret.range.start, Reverse(secret.range.end)));
    // A token that is also a password is one secret, and it keeps the name of the outer or, at a tie, the more exact
    // form.
    found.dedup_by(|next, last| {
        let overlap = next.range.start < last.range.end;
        if overlap {
            last.range.end = last.range.end.max(next.range.end);
        }
        overlap
    });
    found
}

/// The text with each credential replaced by `[secret: kind]`.
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

impl Secret {
    fn moved_by(self, offset: usize) -> Self {
        Self {
            range: self.range.start + offset..self.range.end + offset,
            kind: self.kind,
        }
    }
}

/// What is left of a text of this length between the blocks.
fn gaps(blocks: &[Secret], length: usize) -> Vec<Range<usize>> {
    let starts = std::iter::once(0).chain(blocks.iter().map(|block| block.range.end));
    let ends = blocks.iter().map(|block| block.range.start).chain([length]);
    starts.zip(ends).map(|(start, end)| start..end).collect()
}

/// How many bytes from here on belong to this alphabet, at most `most`.
///
/// Whatever reads far goes through here, so that the tests can count what hostile text makes us read.
fn run_length(bytes: &[u8], most: usize, alphabet: fn(u8) -> bool) -> usize {
    let length = bytes.iter().take(most).take_while(|byte| alphabet(**byte)).count();
    #[cfg(test)]
    tests::count_read(length);
    length
}

/// For each byte, whether it is the first of one of these words.
const fn first_bytes(words: &[&str], mut table: [bool; 256]) -> [bool; 256] {
    let mut i = 0;
    while i < words.len() {
        let first = words[i].as_bytes()[0];
        table[first.to_ascii_lowercase() as usize] = true;
        table[first.to_ascii_uppercase() as usize] = true;
        i += 1;
    }
    table
}

#[cfg(test)]
mod tests;
