//! Failure reports: relevant lines of an output, the failure category, and signatures of equal failures.

mod category;
mod failure_lines;
mod log_line;
mod message;
mod named_files;
mod normal;
mod signature;
mod values;
mod why;

pub use category::category_of;
pub use failure_lines::{failure_of, may_report_failure, reports_failure};
pub use named_files::named_files;
pub use normal::normalised;
pub use signature::signature;
pub use why::{WhyLines, why_lines};
