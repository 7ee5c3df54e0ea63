//! Parses whole numbers on the command line, with consistent error messages.

use std::str::FromStr;

/// A whole number from 0.
pub(crate) fn from_zero<N: FromStr + PartialOrd + From<u8>>(text: &str) -> Result<N, String> {
    whole_number(text, 0)
}

/// A whole number from 1.
pub(crate) fn from_one<N: FromStr + PartialOrd + From<u8>>(text: &str) -> Result<N, String> {
    whole_number(text, 1)
}

fn whole_number<N: FromStr + PartialOrd + From<u8>>(text: &str, least: u8) -> Result<N, String> {
    let digits = text.trim();
    match digits.parse::<N>() {
        Ok(number) if number >= N::from(least) => Ok(number),
        Err(_) if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) => Err("too large".to_owned()),
        _ => Err(format!("expected a whole number from {least}")),
    }
}
