//! Tokens that are known by how they begin: a prefix, then so many signs of one alphabet.

use memchr::memmem;

use super::SecretKind::{self, Anthropic, Aws, GitHub, Google, Npm, OpenAi, Slack};
use super::{Secret, first_bytes, run_length};

/// What a kind of token looks like.
struct Form {
    kind: SecretKind,
    prefixes: &'static [&'static str],
    /// The signs after the prefix.
    alphabet: fn(u8) -> bool,
    /// How many of them there are at least.
    least: usize,
    /// How many there are at most.
    most: usize,
    /// How many of the first ones are letters and digits, though the alphabet has more.
    plain: usize,
    /// What stands somewhere in the token.
    marker: &'static str,
}

/// For tokens whose length has no known end. It leaves room for the one sign more that is read to see an end.
const ANY: usize = usize::MAX - 1;

/// The prefixes of one form must not begin one another, and the first form that fits wins.
///
/// A form without a known end that may refuse a long run, for its plain start or its marker, must keep to signs of
/// [`url_safe`]: no token begins inside a run of those, so no byte is read for a second one.
const FORMS: &[Form] = &[
    Form::new(Aws, &["AKIA", "ASIA", "ABIA", "ACCA"], upper_or_digit, 16, 16),
    Form::new(GitHub, &["ghp_", "gho_", "ghr_"], letter_or_digit, 36, ANY),
    // Since 2026 the tokens of apps hold a JWT, about 520 signs long.
    Form::new(GitHub, &["ghs_", "ghu_"], dotted, 36, ANY),
    Form::new(GitHub, &["github_pat_"], word, 22, ANY).plain(22),
    Form::new(Anthropic, &["sk-ant-"], url_safe, 24, ANY),
    Form::new(OpenAi, &["sk-proj-", "sk-svcacct-", "sk-admin-"], url_safe, 32, ANY),
    Form::new(OpenAi, &["sk-"], letter_or_digit, 48, 48),
    // Every key of OpenAI has this in its middle, the name of the company in base64.
    Form::new(OpenAi, &["sk-"], url_safe, 40, ANY).marker("T3BlbkFJ"),
    Form::new(
        Slack,
        &["xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxe-"],
        url_safe,
        24,
        ANY,
    ),
    Form::new(Slack, &["xoxe.xox", "xapp-1-"], url_safe, 24, ANY),
    Form::new(Google, &["AIza"], url_safe, 35, 35),
    Form::new(Google, &["GOCSPX-"], url_safe, 28, 28),
    Form::new(Google, &["ya29."], dotted, 30, ANY),
    Form::new(Npm, &["npm_"], letter_or_digit, 36, 36),
];

const FIRST: [bool; 256] = {
    let mut table = [false; 256];
    let mut i = 0;
    while i < FORMS.len() {
        table = first_bytes(FORMS[i].prefixes, table);
        i += 1;
    }
    table
};

impl Form {
    const fn new(
        kind: SecretKind,
        prefixes: &'static [&'static str],
        alphabet: fn(u8) -> bool,
        least: usize,
        most: usize,
    ) -> Self {
        Self {
            kind,
            prefixes,
            alphabet,
            least,
            most,
            plain: 0,
            marker: "",
        }
    }

    const fn plain(mut self, plain: usize) -> Self {
        self.plain = plain;
        self
    }

    const fn marker(mut self, marker: &'static str) -> Self {
        self.marker = marker;
        self
    }

    /// The length of the token of this form at the start of these bytes.
    fn length(&self, bytes: &[u8]) -> Option<usize> {
        let prefix = self
            .prefixes
            .iter()
            .find(|prefix| bytes.first() == prefix.as_bytes().first() && bytes.starts_with(prefix.as_bytes()))?;
        let rest = bytes.get(prefix.len()..)?;
        let mut body = rest.get(..run_length(rest, self.most + 1, self.alphabet))?;
        // A dot may stand in a token; the last one ends the sentence.
        while let Some(shorter) = body.strip_suffix(b".") {
            body = shorter;
        }
        let ends = !rest.get(body.len()).is_some_and(|next| word(*next));
        let fits = (self.least..=self.most).contains(&body.len())
            && ends
            && run_length(body, self.plain, letter_or_digit) == self.plain
            && memmem::find(body, self.marker.as_bytes()).is_some();
        fits.then_some(prefix.len() + body.len())
    }
}

/// The tokens in these bytes.
pub(super) fn find(bytes: &[u8]) -> Vec<Secret> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(rest) = bytes.get(at..)
        && let Some(skipped) = rest.iter().position(|byte| FIRST[usize::from(*byte)])
    {
        at += skipped;
        let hit = if may_begin_at(bytes, at) {
            token(bytes.get(at..).unwrap_or_default())
        } else {
            None
        };
        let Some((length, kind)) = hit else {
            at += 1;
            continue;
        };
        found.push(Secret {
            range: at..at + length,
            kind,
        });
        at += length;
    }
    found
}

fn token(bytes: &[u8]) -> Option<(usize, SecretKind)> {
    FORMS
        .iter()
        .find_map(|form| form.length(bytes).map(|length| (length, form.kind)))
}

/// Whether a token may begin here and not, like the `sk-` of `task-sk-1`, inside a word.
fn may_begin_at(bytes: &[u8], at: usize) -> bool {
    match bytes.get(..at).unwrap_or_default() {
        // Agents pass text on in JSON and in URLs, where what stands before a token may be an escaped line break or
        // equals sign.
        [.., b'\\', b'n' | b'r' | b't'] => true,
        [.., b'%', high, low] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => true,
        [.., last] => !url_safe(*last),
        [] => true,
    }
}

fn upper_or_digit(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}

fn letter_or_digit(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

fn word(byte: u8) -> bool {
    letter_or_digit(byte) || byte == b'_'
}

fn url_safe(byte: u8) -> bool {
    word(byte) || byte == b'-'
}

fn dotted(byte: u8) -> bool {
    url_safe(byte) || byte == b'.'
}
