//! Imports another tool's history: reads its database and adds its records to ours.

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
pub use history::{ForeignFeature, ForeignHistory, ForeignIteration, ForeignStatus, ForeignTask, Remark};
pub use importing::{ImportedFeature, ImportedHistory, Tally, TaskTypeOf};
