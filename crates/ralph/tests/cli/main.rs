//! Tests of the command as a user sees it: output, messages, exit codes and files.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests stop at the first surprise")]

mod add;
mod attempts;
mod backups;
mod bad_input;
mod completions;
mod config;
mod delete;
mod demo;
mod docs;
mod doctor;
mod edit;
mod estimates;
mod exchange;
mod extraction;
mod faults;
mod feature;
mod guardrails;
mod hook;
mod import;
mod index;
mod init;
mod invisible;
mod journal;
mod json_times;
mod knowledge_files;
mod knowledge_search;
mod languages;
mod learning_conflicts;
mod learnings;
mod learnings_at_once;
mod learnings_care;
mod learnings_query;
mod list;
mod man;
mod memory_init;
mod merge_driver;
mod merge_setup;
mod merged_by_git;
mod migrate;
mod naughty;
mod outside;
mod overview;
mod past;
mod places;
mod prime;
mod promote;
mod prompt;
mod recall;
mod remember;
mod restore;
mod review;
mod review_keys;
mod run;
mod scratchpad;
mod screens;
mod search;
mod setup_claude;
mod sharing;
mod show;
mod stats;
mod status;
mod task;
mod task_import;
mod terminal;
mod user_config;
mod validate;
mod why;
mod worktrees;

use ralph_testkit::TestEnv;

const MEMORIES: &str = ".agent/memories.md";
const USER_CONFIG: &str = "../home/.config/ralph/config.toml";
const GUARDRAILS: &str = ".agent/guardrails.md";
const DATABASE: &str = ".ralph/progress.db";

/// A memories file with several years, types and tags, out of order, as users leave it.
const SAMPLE: &str = "\
# Memories

Read me first: this file is ours.

## Patterns

### mem-1737372000-a1b2
> Handlers return { success, data }.
> Errors too.
<!-- tags: api, http | created: 2025-01-20 -->

## Decisions

### mem-1700000000-c3d4
> Chose SQLite for events: one file, no server
<!-- tags: storage, database | created: 2023-11-14 -->

## Fixes

### mem-1737300000-e5f6
> ECONNREFUSED on port 5432: the database is down
<!-- tags: docker, Database | created: 2025-01-19 -->

## Context

### mem-1736000000-g7h8
> The billing service belongs to team Falcon.
";

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_ralph"))
}

/// A project with [`SAMPLE`] in it and nothing else.
fn sample() -> TestEnv {
    let env = env();
    env.write(MEMORIES, SAMPLE);
    env
}

/// Adds a memory and returns its id.
#[track_caller]
fn add(env: &TestEnv, text: &str) -> String {
    env.ok(["memory", "add", text, "--format", "quiet"])
        .trim_end()
        .to_owned()
}

/// The ids that a command with `--format quiet` prints.
#[track_caller]
fn ids(env: &TestEnv, arguments: &[&str]) -> Vec<String> {
    let printed = env.ok(arguments.iter().copied().chain(["--format", "quiet"]));
    printed.lines().map(str::to_owned).collect()
}

/// A shell line in which a foreign SQLite client executes a statement; `$DB` is the database.
fn other_client(sql: &str) -> String {
    format!(
        "python3 -c 'import sqlite3, sys; c = sqlite3.connect(sys.argv[1], timeout=30); c.execute(sys.argv[2]); c.commit()' \
         \"${{DB:-.ralph/progress.db}}\" \"{sql}\""
    )
}

/// The JSON output of a command.
#[track_caller]
fn json(env: &TestEnv, arguments: &[&str]) -> serde_json::Value {
    let printed = env.ok(arguments.iter().copied());
    serde_json::from_str(&printed).unwrap_or_else(|error| panic!("{error} in {printed}"))
}

fn names(env: &TestEnv) -> Vec<String> {
    env.tree().into_iter().map(|(name, _)| name).collect()
}

/// The differences between two snapshots of the project. `-shm` only has SQLite's locks and is ignored.
fn changes(before: &[(String, Vec<u8>)], after: &[(String, Vec<u8>)]) -> Vec<String> {
    let changed = after.iter().filter(|entry| !before.contains(entry));
    let gone = before
        .iter()
        .filter(|(name, _)| !after.iter().any(|(other, _)| other == name));
    let names = changed.chain(gone).map(|(name, _)| name.clone());
    names.filter(|name| !name.ends_with("-shm")).collect()
}

/// A database of another tool, with `application_id` 0 and `user_version` 4.
fn foreign_database() -> Vec<u8> {
    let mut bytes = vec![0; 4096];
    bytes[..16].copy_from_slice(b"SQLite format 3\0");
    // Pages of 4096 bytes, a rollback journal, and an empty list of tables.
    bytes[16..24].copy_from_slice(&[16, 0, 1, 1, 0, 64, 32, 32]);
    bytes[100..108].copy_from_slice(&[13, 0, 0, 0, 0, 16, 0, 0]);
    bytes[63] = 4;
    bytes
}
