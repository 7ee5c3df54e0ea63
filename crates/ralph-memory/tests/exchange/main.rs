//! Exchange with the earlier tool: golden files that a JavaScript program wrote, and that program itself where it is there.

mod golden;
mod live;
