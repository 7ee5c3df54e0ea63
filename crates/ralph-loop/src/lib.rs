//! The run loop: take a task, start a fresh agent session, settle the outcome, repeat. What happens next is a pure
//! function (`state`); a driver performs its effects.

mod agents;
mod basis;
pub mod changes;
mod checkout;
mod disk_space;
mod driver;
mod files;
pub mod gates;
mod guide;
mod heartbeat;
mod inbox;
mod lock;
mod prune;
mod report;
mod rules;
mod run_folder;
pub mod settle;
mod site;
pub mod state;
mod stopwatch;
pub mod strategy;
mod summary;
mod transcript;
mod watch;
mod whole_lines;

pub use agents::agent_for;
pub use checkout::{
    BRANCHES, Base, BranchError, Change, PROJECT_FILE, Prepared, ReportCommits, commit_changes, is_in, land_branch,
    remove_checkout, repair_landing,
};
pub use disk_space::is_disk_full;
#[cfg(feature = "faults")]
pub use driver::Faults;
pub use driver::{Interrupter, RunError, Runner};
pub use guide::{AfterGuidance, Attendance, GUIDANCE_CHARACTERS, GuidanceAnswer, GuidanceQuestion, Guide, RunRequest};
pub use lock::{LockError, WorktreeLock};
pub use prune::RunsSize;
pub use rules::{Rules, path_pattern};
pub use run_folder::IterationFolder;
pub use site::{Isolation, Order, Site, Verifier};
pub use summary::{StopCause, TurnSummary, Verification};
pub use watch::{IterationBegan, RunBegan, RunEnded, RunEvent, Settled, Watch};
