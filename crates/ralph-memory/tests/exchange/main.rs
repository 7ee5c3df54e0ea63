//! Exchange with the earlier tool: golden files written by a JavaScript program, and that program itself if it is
//! installed.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

mod damage;
mod golden;
mod live;
mod round_trip;
