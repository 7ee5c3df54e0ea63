//! Reports of failures: which lines of an output say why, what kind of failure they tell of, and when two attempts failed
//! the same way.

mod named_files;
mod normal;
mod signature;

pub use named_files::named_files;
pub use normal::normalised;
pub use signature::signature;
