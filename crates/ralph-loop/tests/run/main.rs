//! The loop with a real database, files, git repositories, gates and agent process.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

mod bench;
mod clock_jumps;
mod crash;
mod documented;
mod evidence;
mod evidence_basis;
mod full_disk;
mod gates;
mod guidance;
mod hostile;
mod learnings;
mod recovery;
mod settlement;
mod several;
mod sigils;
mod story;
mod verifier;
mod waits;
mod worktrees;
