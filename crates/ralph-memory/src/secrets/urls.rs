//! Passwords in URLs: `scheme://user:password@host`.

use std::ops::Range;
use std::sync::LazyLock;

use memchr::{memchr, memmem, memrchr};

use super::placeholders::is_placeholder;
use super::{Secret, SecretKind, run_length};

/// A shorter password is most likely an example.
const MIN_PASSWORD: usize = 3;

/// Built once, because building takes longer than searching a short line.
static AUTHORITIES: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new(b"://"));

/// The passwords of the URLs in these bytes.
pub(super) fn find(bytes: &[u8]) -> Vec<Secret> {
    AUTHORITIES
        .find_iter(bytes)
        .filter(|at| bytes.get(..*at).is_some_and(ends_in_scheme))
        .filter_map(|at| {
            let start = at + 3;
            let password = password(bytes.get(start..)?)?;
            Some(Secret {
                range: start + password.start..start + password.end,
                kind: SecretKind::URL,
            })
        })
        .collect()
}

fn ends_in_scheme(before: &[u8]) -> bool {
    before.last().is_some_and(u8::is_ascii_alphanumeric)
}

/// The range of the password in the bytes after `://`.
fn password(bytes: &[u8]) -> Option<Range<usize>> {
    // A slash ends this run, so runs of different URLs never overlap and the work is linear.
    let authority = bytes.get(..run_length(bytes, usize::MAX, in_authority))?;
    // Passwords may contain an unescaped `@`; as in browsers, the last one counts.
    let credentials = authority.get(..memrchr(b'@', authority)?)?;
    let colon = memchr(b':', credentials)?;
    let (user, password) = (credentials.get(..colon)?, credentials.get(colon + 1..)?);
    let secret = password.len() >= MIN_PASSWORD
        // `postgres:postgres` and `guest:guest` are common test credentials.
        && password != user
        && !is_placeholder(password)
        && !is_template(authority.get(..memchr(b'@', authority)?)?)
        && !is_documentation(authority.get(credentials.len() + 1..)?);
    secret.then_some(colon + 1..credentials.len())
}

/// Whether a shell or template must still fill in these credentials, as in `${USER:-me}:${PASSWORD:-none}`.
fn is_template(credentials: &[u8]) -> bool {
    [b"${".as_slice(), b"$(", b"{{"]
        .iter()
        .any(|opening| memmem::find(credentials, opening).is_some())
}

/// Whether a host is reserved for documentation, such as `db.example.com`.
fn is_documentation(host: &[u8]) -> bool {
    host.split(|byte| matches!(byte, b'.' | b':'))
        .any(|label| label.eq_ignore_ascii_case(b"example"))
}

/// Whether a byte may be between `://` and the path. A URL is ASCII and ends at quotes, brackets and backslashes.
fn in_authority(byte: u8) -> bool {
    byte.is_ascii_graphic()
        && !matches!(
            byte,
            b'/' | b'?' | b'#' | b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\' | b'[' | b']'
        )
}
