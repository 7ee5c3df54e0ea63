//! Reports of failures: which lines of an output say why, what kind of failure they tell of, and when two attempts failed
//! the same way.

mod category;
mod log_line;
mod message;
mod named_files;
mod normal;
mod signature;
mod telling;
mod values;
mod why;

pub use category::category_of;
pub use named_files::named_files;
pub use normal::normalised;
pub use signature::signature;
pub use telling::{failure_of, may_tell, tells_of_failure};
pub use why::{WhyLines, why_lines};
