//! What the tests share: a project in a temporary folder, a cleared environment, a fixed clock and seeded ids, an
//! agent that follows a script, and a model that follows a scenario.
//! A dev-dependency only.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests stop at the first surprise"
)]

mod assigned;
mod counts;
mod journal;
pub mod model;
pub mod scripted;
mod terminal;
mod test_env;

pub use counts::{Seed, count};
pub use journal::journal_row;
pub use terminal::Terminal;
pub use test_env::{Finished, Invocation, TestEnv};
