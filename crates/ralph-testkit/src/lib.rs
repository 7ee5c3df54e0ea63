//! Shared test support: a project in a temporary folder with a cleared environment, fixed clock and seeded ids, a
//! scripted agent, a scripted model server, and a terminal emulator. A dev-dependency only.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests stop at the first surprise"
)]

mod assigned;
mod counts;
mod journal;
mod learnings;
pub mod model;
mod node;
mod recorded;
pub mod scripted;
mod terminal;
mod test_env;

pub use counts::{Seed, count};
pub use journal::journal_row;
pub use learnings::{extracted_warning, put_learnings, run_learning};
pub use node::node;
pub use recorded::{RECORDED, RECORDED_ROOT, Recorded, recorded};
pub use terminal::{Cursor, Screen, Terminal, TerminalExit};
pub use test_env::{Finished, Invocation, TestEnv};
