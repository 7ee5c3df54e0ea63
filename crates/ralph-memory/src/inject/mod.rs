//! Inject: what of the notes stands in a prompt, whole entries within a budget.

mod claims;
mod feature_texts;
mod origin;
mod pack;
mod prime;
pub mod prompt;
mod said;
mod tail;

pub use feature_texts::{FeatureFile, FeatureFileText, FeatureTexts, FeaturesFolder, MAX_FEATURE_FILE_BYTES};
pub use origin::{Origin, Origins};
pub use pack::{Item, Packed, Sizes, pack};
pub use prime::{Occasion, PrimeFormat, Primed, prime};
pub use tail::{Tail, tail};
