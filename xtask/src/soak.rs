//! Long runs: the tests of the gate with full counts, and what only root can do to a machine.

mod disk;
mod ledger;
pub(crate) mod notes;
pub(crate) mod power;
mod writer;
