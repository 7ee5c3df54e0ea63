//! Values that only their name gives away: `aws_secret_access_key = …`, `_authToken=…`, the path of a Slack webhook.

use std::ops::Range;

use super::SecretKind::{self, Aws, Npm, Slack};
use super::placeholders::is_placeholder;
use super::{Secret, first_bytes, run_length};

/// A name, and what its value looks like.
struct Label {
    kind: SecretKind,
    /// In lower case; the text may write it in any.
    names: &'static [&'static str],
    /// How many quotes, signs and spaces stand at least between the name and the value.
    least_gap: usize,
    /// What never stands before the name.
    never_after: Option<u8>,
    alphabet: fn(u8) -> bool,
    /// How many signs the value has at least.
    ///
    /// There is no most: cutting the end off a value, as a mask might, must never turn it into one that is found.
    least: usize,
    accepts: fn(&[u8]) -> bool,
}

/// The most bytes that are skipped between a name and its value.
const MOST_GAP: usize = 16;

const LABELS: &[Label] = &[
    Label {
        kind: Aws,
        names: &["secret_access_key", "secretaccesskey", "secret-access-key"],
        least_gap: 1,
        never_after: None,
        alphabet: base64,
        least: 40,
        accepts: has_both_cases,
    },
    // Programs have fields called `_authToken`, too: hence the equals sign, and no dot before the name.
    Label {
        kind: Npm,
        names: &["_authtoken="],
        least_gap: 0,
        never_after: Some(b'.'),
        alphabet: token,
        least: 8,
        accepts: is_no_placeholder,
    },
    Label {
        kind: Npm,
        names: &["/:_authtoken"],
        least_gap: 1,
        never_after: None,
        alphabet: token,
        least: 8,
        accepts: is_no_placeholder,
    },
    Label {
        kind: Slack,
        names: &[
            "hooks.slack.com/services/",
            "hooks.slack.com/workflows/",
            "hooks.slack.com/triggers/",
        ],
        least_gap: 0,
        never_after: None,
        alphabet: path,
        least: 30,
        accepts: is_no_placeholder,
    },
];

const FIRST: [bool; 256] = {
    let mut table = [false; 256];
    let mut i = 0;
    while i < LABELS.len() {
        table = first_bytes(LABELS[i].names, table);
        i += 1;
    }
    table
};

impl Label {
    /// Where the value of the name at this place stands, if there is a name.
    fn value(&self, bytes: &[u8], at: usize) -> Option<Range<usize>> {
        let (before, bytes) = bytes.split_at_checked(at)?;
        if self.never_after.is_some() && before.last().copied() == self.never_after {
            return None;
        }
        let name = self.names.iter().find(|name| {
            let second = |bytes: &[u8]| bytes.get(1).map(u8::to_ascii_lowercase);
            second(bytes) == second(name.as_bytes())
                && bytes
                    .get(..name.len())
                    .is_some_and(|head| head.eq_ignore_ascii_case(name.as_bytes()))
        })?;
        let rest = bytes.get(name.len()..)?;
        let gap = run_length(rest, MOST_GAP, separates);
        // This comes before the value is read: a name that runs on into the next name has none.
        if gap < self.least_gap {
            return None;
        }
        let length = run_length(rest.get(gap..)?, usize::MAX, self.alphabet);
        let start = at + name.len() + gap;
        (length >= self.least).then_some(start..start + length)
    }
}

/// The values in these bytes whose names give them away.
pub(super) fn find(bytes: &[u8]) -> Vec<Secret> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(rest) = bytes.get(at..)
        && let Some(skipped) = rest.iter().position(|byte| FIRST[usize::from(*byte)])
    {
        at += skipped;
        let hit = LABELS
            .iter()
            .find_map(|label| label.value(bytes, at).map(|value| (value, label)));
        let Some((value, label)) = hit else {
            at += 1;
            continue;
        };
        // A refused value is passed over as well: no part of it would be accepted under a name inside it, and reading
        // it again for each such name would take for ever.
        at = value.end;
        if bytes.get(value.clone()).is_some_and(label.accepts) {
            found.push(Secret {
                range: value,
                kind: label.kind,
            });
        }
    }
    found
}

fn separates(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'"' | b'\'' | b'\\' | b':' | b'=' | b'>' | b',')
}

fn base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

fn token(byte: u8) -> bool {
    base64(byte) || matches!(byte, b'_' | b'-' | b'.' | b'~')
}

fn path(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'/'
}

/// Forty random signs have letters of both cases; a path or a sum in hex has not.
fn has_both_cases(value: &[u8]) -> bool {
    value.iter().any(u8::is_ascii_uppercase) && value.iter().any(u8::is_ascii_lowercase)
}

fn is_no_placeholder(value: &[u8]) -> bool {
    !is_placeholder(value)
}
