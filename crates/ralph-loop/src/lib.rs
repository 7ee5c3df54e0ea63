//! The loop: a task, a fresh session, its outcome, again. What happens next is a pure function of what was (`state`); a
//! driver does what it says.

mod agents;
mod alive;
mod basis;
pub mod changes;
mod checkout;
mod driver;
mod files;
pub mod gates;
mod guide;
mod heart;
mod inbox;
mod lock;
mod prune;
mod report;
mod room;
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
pub use alive::is_alive;
pub use checkout::{
    BRANCHES, Base, BranchError, Change, PROJECT_FILE, Prepared, ReportCommits, commit_changes, is_in, land_branch,
    remove_checkout, repair_landing,
};
pub use driver::{Finish, Interrupter, RunError, Runner};
pub use guide::{Asked, Asking, GUIDANCE_CHARACTERS, Guide, Guided, WhatNext, Wish};
pub use lock::{LockError, WorktreeLock};
pub use prune::RunsSize;
pub use room::is_disk_full;
pub use rules::{Rules, path_pattern};
pub use run_folder::IterationFolder;
pub use site::{Isolation, Order, Site, Verifier};
pub use summary::{StopCause, TurnSummary, Verification};
pub use watch::{News, Room, Survival, Watch};
