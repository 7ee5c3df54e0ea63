//! Exchange of lessons with an earlier tool, which keeps them in two JSON files: a store with a checksum, and a staging area.
//! Both are read and written as that tool, a JavaScript program, does it.

mod javascript;

pub use javascript::{JsObject, JsText, JsValue, JsonProblem, compact, indented, parse, sha256};
