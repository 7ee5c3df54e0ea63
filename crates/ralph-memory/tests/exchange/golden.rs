//! Files written by a JavaScript program are parsed, hashed and reproduced byte for byte.

use std::path::{Path, PathBuf};

use ralph_memory::exchange::{compact, indented, parse, sha256};
use serde_json::Value;

pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/exchange/golden")
}

pub(crate) fn golden(name: &str) -> Vec<u8> {
    std::fs::read(folder().join(name)).unwrap()
}

/// Checks a file and the hash of its list.
#[track_caller]
fn check(name: &str, list: &str) {
    let bytes = golden(name);
    let value = parse(&bytes).unwrap();
    assert_eq!(indented(&value).as_bytes(), bytes, "{name}");
    let whole = value.as_object().unwrap();
    let hash = sha256(compact(whole.get(list).unwrap()));
    assert_eq!(whole.get("checksum"), Some(&Value::from(hash.as_str())), "{name}");
}

#[test]
fn golden_files_are_reproduced_byte_for_byte() {
    for name in ["plain.json", "numbers.json", "texts.json", "keys.json", "empty.json"] {
        check(name, "learnings");
    }
    check("staging.json", "staged");
}
