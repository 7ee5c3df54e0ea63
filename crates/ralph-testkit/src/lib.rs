//! What the tests share: a project in a temporary folder, a cleared environment, a fixed clock and seeded ids, and an
//! agent that follows a script.
//! A dev-dependency only.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests stop at the first surprise"
)]

mod counts;
mod journal;
pub mod scripted;
mod test_env;

pub use counts::{Seed, count};
pub use journal::journal_row;
pub use test_env::{Finished, Invocation, TestEnv};
