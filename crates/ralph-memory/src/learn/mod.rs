//! Learn: what whole runs teach, and what becomes of lessons when they are many or old. Alike ones are merged, unused ones
//! pruned, and the long texts of old reports dropped; nothing of it cannot be brought back but those texts. And which of them
//! contradict each other.

mod conflicts;
mod extract;
mod groups;
mod upkeep;

pub use crate::contradiction::{Contradiction, Reading, contradiction};
pub use conflicts::{Conflict, conflicts};
pub(crate) use extract::answer_of;
pub use extract::{Learned, Lessons, draw, learn_from, learn_from_run, learn_from_runs};
pub use groups::alike;
pub use upkeep::{LIFECYCLE_TIME, Upkeep, keep_up, prune_rules};
