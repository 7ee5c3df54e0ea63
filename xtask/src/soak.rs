//! Long runs: the tests of the gate with full counts, what only root can do to a machine, and real agents.

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
