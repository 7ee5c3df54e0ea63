//! Files that a JavaScript program wrote are read, hashed and written again to the byte.

use std::path::{Path, PathBuf};

use ralph_memory::exchange::{JsValue, compact, indented, parse, sha256};

pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/exchange/golden")
}

pub(crate) fn golden(name: &str) -> Vec<u8> {
    std::fs::read(folder().join(name)).unwrap()
}

/// Checks a file, and the hash that it has of its list.
#[track_caller]
fn check(name: &str, list: &str) {
    let bytes = golden(name);
    let value = parse(&bytes).unwrap();
    assert_eq!(indented(&value).as_bytes(), bytes, "{name}");
    let whole = value.as_object().unwrap();
    let hash = sha256(compact(whole.get(list).unwrap()));
    assert_eq!(whole.get("checksum"), Some(&JsValue::from(hash.as_str())), "{name}");
}

#[test]
fn every_golden_file_is_written_again_to_the_byte_and_has_its_hash() {
    for name in ["plain.json", "numbers.json", "texts.json", "keys.json", "empty.json"] {
        check(name, "learnings");
    }
    check("staging.json", "staged");
}
