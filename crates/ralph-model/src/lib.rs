//! The nouns of ralph: ids, notes, tags, budgets, time, configuration.
//!
//! Nothing here reads a file, the environment or the wall clock; whoever needs those hands them in.

mod budget;
mod clock;
pub mod config;
mod file_stamp;
mod note;
mod note_id;
mod note_or_sign;
mod split_mix;
mod tags;
mod text;

pub use budget::{Budget, Tokens};
pub use clock::{Clock, Entropy};
pub use file_stamp::FileStamp;
pub use note::{Extra, Note, NoteKind, Shelf, ShelfWords};
pub use note_id::NoteId;
pub use note_or_sign::NoteOrSign;
pub use split_mix::SplitMix64;
pub use tags::{TagError, Tags};
pub use text::{count, display_width, first_line, preview, slug};
