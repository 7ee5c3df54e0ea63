//! What the tests share: a project in a temporary folder, a cleared environment, a fixed clock and seeded ids, an
//! agent that follows a script, a model that follows a scenario, and a terminal that shows what it is sent.
//! A dev-dependency only.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests stop at the first surprise"
)]

mod assigned;
mod counts;
mod damage;
mod journal;
mod lessons;
pub mod model;
mod node;
mod recorded;
pub mod scripted;
mod terminal;
mod test_env;

pub use counts::{Seed, count};
pub use damage::past_its_types;
pub use journal::journal_row;
pub use lessons::{known_lesson, put_lessons};
pub use node::node;
pub use recorded::{RECORDED, RECORDED_ROOT, Recorded, recorded};
pub use terminal::{Cursor, Left, Screen, Terminal};
pub use test_env::{Finished, Invocation, TestEnv};
