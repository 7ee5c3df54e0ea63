//! Writes the reference pages under `docs/`; with `--check`, reports outdated ones.
#![expect(clippy::print_stderr, reason = "a tool for developers")]

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

fn main() -> std::io::Result<ExitCode> {
    let check = std::env::args().any(|argument| argument == "--check");
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let mut stale = false;
    for (name, text) in ralph::reference::pages() {
        let path = docs.join(name);
        if std::fs::read_to_string(&path).is_ok_and(|old| old == text) {
            continue;
        }
        if check {
            eprintln!("docs/{name} is out of date; run `cargo xtask gen`");
            stale = true;
        } else {
            std::fs::create_dir_all(&docs)?;
            std::fs::File::create(&path)?.write_all(text.as_bytes())?;
        }
    }
    Ok(if stale { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
