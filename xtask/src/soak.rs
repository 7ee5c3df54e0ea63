//! Long runs: the tests of the gate with full counts, what only root can do to a machine, and real agents.

pub(crate) mod claude;
mod disk;
mod ledger;
mod model_server;
pub(crate) mod notes;
pub(crate) mod power;
mod writer;
