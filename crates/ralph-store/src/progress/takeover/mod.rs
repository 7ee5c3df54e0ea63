//! Taking over what another tool has on record: reading its database, and making its history ours.

mod copies;
mod features;
mod foreign;
mod history;
mod ids;
mod importing;
mod matched;
mod reading;
mod relations;

pub use foreign::{ForeignDatabase, ForeignError};
pub use history::{ForeignFeature, ForeignHistory, ForeignIteration, ForeignTask, Remark, StatusThere};
pub use importing::{ImportedFeature, ImportedHistory, Tally};
