//! The oracle: what users, agents and other programs may rely on, recorded from outside and compared with `golden/`.
//!
//! Each story runs the real command in a fresh project and records JSON outputs, events, files, facts in the database and prompts.
//! Ids, times, durations and the wording of messages are not part of a record, so that a change of the inside or of a sentence
//! changes nothing here. A difference means that a format or a behaviour has changed: it needs a line in the changelog.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests stop at the first surprise")]

mod checkouts;
mod exchange;
mod facts;
mod learnings;
mod night;
mod normal;
mod notes;
mod prompts;
mod story;
mod tasks;
