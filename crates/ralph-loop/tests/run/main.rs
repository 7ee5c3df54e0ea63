//! The loop with a real database, real files, real git repositories, real gates and a real program as the agent.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

mod bench;
mod clock_jumps;
mod crash;
mod evidence;
mod evidence_basis;
mod full_disk;
mod gates;
mod guidance;
mod hostile;
mod lessons;
mod recovery;
mod settlement;
mod several;
mod sigils;
mod story;
mod verifier;
mod waits;
mod worktrees;
