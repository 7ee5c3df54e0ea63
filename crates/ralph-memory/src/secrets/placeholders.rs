//! Recognises placeholders in examples and templates.

use memchr::memmem;

/// Complete placeholder values, in lower case.
const WORDS: &[&str] = &[
    "password",
    "passwd",
    "pass",
    "pwd",
    "secret",
    "token",
    "user",
    "username",
    "changeme",
    "change-me",
    "change_me",
    "redacted",
    "mypassword",
    "my_password",
    "x-oauth-basic",
];

/// Parts that only occur in placeholders, in lower case.
const PARTS: &[&str] = &[
    "example",
    "placeholder",
    "your_",
    "your-",
    "yourpassword",
    "yourtoken",
    "mytoken",
    "${",
    "$(",
    "{{",
    "process.env",
    "abcdefghijklmnopqrstuvwxyz",
    "...",
];

/// A value with a run of this length is blanked out.
const LONG_RUN: usize = 8;

/// Whether a value is a placeholder rather than a secret.
pub(super) fn is_placeholder(value: &[u8]) -> bool {
    let opens_template = value
        .first()
        .is_none_or(|first| matches!(first, b'$' | b'<' | b'{' | b'['))
        || value.starts_with(b"%(")
        || value.starts_with(b"%s");
    opens_template
        || value.iter().all(|byte| matches!(byte, b'*' | b'x' | b'X' | b'.'))
        || longest_run(value) >= LONG_RUN
        || WORDS.iter().any(|word| value.eq_ignore_ascii_case(word.as_bytes()))
        || {
            let lower = value.to_ascii_lowercase();
            PARTS.iter().any(|part| memmem::find(&lower, part.as_bytes()).is_some())
        }
}

/// The longest run of the same byte.
fn longest_run(value: &[u8]) -> usize {
    value
        .chunk_by(|one, next| one == next)
        .map(<[u8]>::len)
        .max()
        .unwrap_or(0)
}
