//! Values that take the place of a secret in examples and templates.

use memchr::memmem;

/// Words that examples use as the whole value, in lower case.
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

/// Parts of a value that only examples and templates have, in lower case.
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

/// A value with the same character so often in a row is blanked out.
const LONG_RUN: usize = 8;

/// Whether this is an example's or a template's stand-in and not a secret.
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

/// How often the same byte occurs in a row at most.
fn longest_run(value: &[u8]) -> usize {
    value
        .chunk_by(|one, next| one == next)
        .map(<[u8]>::len)
        .max()
        .unwrap_or(0)
}
