//! Long runs: the tests of the gate with full counts, and what only root can do to a machine.

pub(crate) mod notes;
pub(crate) mod power;
