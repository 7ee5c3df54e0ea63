//! Soak tests: the gate's tests with full counts, tests that need root, and real agents.

pub(crate) mod agents;
pub(crate) mod claude;
mod disk;
pub(crate) mod exchange;
mod ledger;
pub(crate) mod loops;
pub(crate) mod merge;
pub(crate) mod notes;
pub(crate) mod power;
mod tests;
mod writer;
