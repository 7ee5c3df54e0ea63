//! `ralph memory init`.

use insta::assert_snapshot;

use crate::{MEMORIES, SAMPLE, env, ids, sample};

#[test]
fn an_empty_file_has_its_sections() {
    let env = env();
    assert_snapshot!(env.ralph(["memory", "init"]).run(), @"
    exit 0
    --- stdout
    Initialized memories file at .agent/memories.md
    ");
    assert_eq!(
        env.read(MEMORIES),
        "# Memories\n\n## Patterns\n\n## Decisions\n\n## Fixes\n\n## Context\n"
    );
}

#[test]
fn an_existing_file_is_left_as_it_is() {
    let env = sample();
    let before = env.tree();
    assert_snapshot!(env.ralph(["memory", "init"]).run(), @"
    exit 1
    --- stderr
    Error: .agent/memories.md exists already, so it was left as it is
    Hint: --force starts anew and keeps the old file as .bak
    ");
    assert_eq!(crate::changes(&before, &env.tree()), [""; 0]);
}

#[test]
fn force_keeps_every_old_file() {
    let env = sample();
    assert_snapshot!(env.ralph(["memory", "init", "--force"]).run(), @"
    exit 0
    --- stdout
    Initialized memories file at .agent/memories.md
    --- stderr
    The old file is kept as .agent/memories.md.bak.
    ");
    assert_eq!(env.read(".agent/memories.md.bak"), SAMPLE);
    env.ok(["memory", "add", "new"]);
    let second = env.read(MEMORIES);
    assert_snapshot!(env.ralph(["memory", "init", "--force"]).run(), @"
    exit 0
    --- stdout
    Initialized memories file at .agent/memories.md
    --- stderr
    The old file is kept as .agent/memories.md.bak-2.
    ");
    assert_eq!(
        env.read(".agent/memories.md.bak"),
        SAMPLE,
        "the first copy is still there"
    );
    assert_eq!(env.read(".agent/memories.md.bak-2"), second);
    assert_eq!(ids(&env, &["memory", "list"]), [""; 0]);
    assert_eq!(
        ids(&env, &["memory", "restore", "--list"]).len(),
        5,
        "all of them are on record"
    );
}

#[test]
fn force_without_a_file_just_makes_one() {
    let env = env();
    assert_snapshot!(env.ralph(["tools", "memory", "init", "--force"]).run(), @"
    exit 0
    --- stdout
    Initialized memories file at .ralph/agent/memories.md
    ");
}
