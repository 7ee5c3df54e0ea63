//! Inject: what of the notes stands in a prompt, whole entries within a budget.

mod pack;
mod prime;
pub mod prompt;
mod said;
mod tail;

pub use pack::{Item, Packed, Sizes, pack};
pub use prime::{Occasion, PrimeFormat, Primed, prime};
pub use tail::{Tail, tail};
