//! Tests that notes and runs survive errors and kills at every system call, many writers, editors that save at the same
//! time, and merged branches.
//!
//! The gate runs small counts; `cargo xtask soak notes`, `soak merge`, `soak loop` and `soak agents` raise them through
//! the environment.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

mod editor;
mod every_call;
mod features;
mod full_disk;
mod import;
mod index;
mod kills;
mod knowledge;
mod memory;
mod merges;
mod note_files;
mod other_clients;
mod rollback;
mod runs;
mod setup;
mod transitions;
mod upkeep;
mod writers;

use std::path::{Path, PathBuf};

use ralph_testkit::{Finished, Invocation, TestEnv};

const PROGRAM: &str = env!("CARGO_BIN_EXE_ralph");
const FILE: &str = ".agent/memories.md";

/// The library that makes system calls fail; cargo builds it with the tests, as an example.
fn fault_library() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let library = test.parent().unwrap().parent().unwrap().join("examples/libfault.so");
    assert!(
        library.exists(),
        "{} is not built; run `cargo build -p ralph --examples`",
        library.display()
    );
    library
}

/// Runs a command under a fault; returns whether the fault occurred.
fn under_fault(env: &TestEnv, invocation: Invocation, fault: &str) -> (Finished, bool) {
    let mark = env.path("../mark");
    let finished = invocation
        .env("LD_PRELOAD", fault_library())
        .env("RALPH_FAULT", fault)
        .env("RALPH_FAULT_MARK", &mark)
        .run();
    let came = mark.exists();
    if came {
        std::fs::remove_file(&mark).unwrap();
    }
    (finished, came)
}

/// The ids in the file.
fn ids(env: &TestEnv) -> Vec<String> {
    let finished = env.ralph(["memory", "list", "--format", "quiet"]).run();
    assert_eq!(finished.code, Some(0), "{finished}");
    finished.stdout.lines().map(str::to_owned).collect()
}

/// The id in the line that acknowledges a change.
fn acknowledged(stdout: &str) -> Option<String> {
    let (_, id) = stdout.trim_end().rsplit_once(": ")?;
    Some(id.to_owned())
}

/// Checks that the file is valid and nothing is left next to it.
#[track_caller]
fn assert_clean(env: &TestEnv) {
    let finished = env.ralph(["memory", "validate"]).run();
    assert_eq!(finished.code, Some(0), "{finished}");
    let mut names: Vec<String> = std::fs::read_dir(env.path(".agent"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != ".gitignore")
        .collect();
    names.sort();
    assert_eq!(names, ["memories.md", "memories.md.lock"]);
}

fn copy_project(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_project(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}
