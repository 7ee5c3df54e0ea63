//! Values that stand for a secret in examples and templates.

/// Words that examples use, in lower case.
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
    "example",
    "redacted",
    "your_password",
    "your-password",
    "yourpassword",
    "my_password",
    "mypassword",
    "x-oauth-basic",
];

/// Whether this is an example's or a template's stand-in and not a secret.
pub(super) fn is_placeholder(value: &[u8]) -> bool {
    let opens_template = value
        .first()
        .is_none_or(|first| matches!(first, b'$' | b'<' | b'{' | b'['))
        || value.starts_with(b"%(")
        || value.starts_with(b"%s");
    let blanked_out = value.iter().all(|byte| matches!(byte, b'*' | b'x' | b'X' | b'.'));
    opens_template || blanked_out || WORDS.iter().any(|word| value.eq_ignore_ascii_case(word.as_bytes()))
}
