//! Exchange with the earlier tool: golden files that a JavaScript program wrote, and that program itself where it is there.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

mod damage;
mod golden;
mod live;
mod round_trip;
