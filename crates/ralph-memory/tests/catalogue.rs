//! The index follows the files: however it came about, it answers like one that is made from them anew.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
#![expect(dead_code, reason = "not every test needs all of the support")]

mod history;
mod support;
