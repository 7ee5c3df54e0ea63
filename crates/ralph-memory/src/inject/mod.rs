//! Injection: chooses whole entries for a prompt within budgets.

mod claims;
mod feature_texts;
mod origin;
mod pack;
mod prime;
pub mod prompt;
mod seen_texts;
mod tail;

pub use feature_texts::{FeatureFile, FeatureFileText, FeatureTexts, FeaturesFolder, MAX_FEATURE_FILE_BYTES};
pub use origin::{Origin, Origins};
pub use pack::{Item, Packed, Sizes, pack};
pub use prime::{PrimeFormat, PrimeRequest, Primed, prime};
pub use tail::{Tail, tail};
