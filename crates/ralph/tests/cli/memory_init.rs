//! `ralph memory init`.

use std::os::unix::fs::PermissionsExt;

use crate::{MEMORIES, SAMPLE, env, ids, sample};

#[test]
fn new_file_has_all_sections() {
    let env = env();
    assert_eq!(
        env.ok(["memory", "init"]),
        "Initialized memories file at .agent/memories.md\n"
    );
    assert_eq!(
        env.read(MEMORIES),
        "# Memories\n\n## Patterns\n\n## Decisions\n\n## Fixes\n\n## Context\n"
    );
}

#[test]
fn file_created_concurrently_is_kept() {
    for command in [&["memory", "init"][..], &["init"]] {
        let env = env();
        env.write(".agent/memories.md.lock", "");
        let lock = std::fs::File::open(env.path(".agent/memories.md.lock")).unwrap();
        lock.lock().unwrap();
        let waiting = env.ralph(command.iter().copied()).start();
        env.write(MEMORIES, SAMPLE);
        lock.unlock().unwrap();
        waiting.wait_with_output().unwrap();
        assert_eq!(env.read(MEMORIES), SAMPLE, "{command:?}");
    }
}

#[test]
fn backup_keeps_the_mode() {
    let env = sample();
    std::fs::set_permissions(env.path(MEMORIES), std::fs::Permissions::from_mode(0o600)).unwrap();
    env.ok(["memory", "init", "--force"]);
    let old = std::fs::metadata(env.path(".agent/memories.md.bak")).unwrap();
    assert_eq!(old.permissions().mode() & 0o777, 0o600);
    assert_eq!(env.read(".agent/memories.md.bak"), SAMPLE);
}

#[test]
fn existing_file_is_unchanged() {
    let env = sample();
    let before = env.tree();
    env.ralph(["memory", "init"])
        .run()
        .refused(1, &[".agent/memories.md already exists", "--force"]);
    assert_eq!(crate::changes(&before, &env.tree()), [""; 0]);
}

#[test]
fn force_keeps_all_backups() {
    let env = sample();
    let force = || env.ralph(["memory", "init", "--force"]).run();
    let initialized = "Initialized memories file at .agent/memories.md\n";
    force().printed(&[initialized, ".agent/memories.md.bak.\n"]);
    assert_eq!(env.read(".agent/memories.md.bak"), SAMPLE);
    env.ok(["memory", "add", "new"]);
    let second = env.read(MEMORIES);
    force().printed(&[initialized, ".agent/memories.md.bak-2.\n"]);
    assert_eq!(
        env.read(".agent/memories.md.bak"),
        SAMPLE,
        "the first backup is unchanged"
    );
    assert_eq!(env.read(".agent/memories.md.bak-2"), second);
    assert_eq!(ids(&env, &["memory", "list"]), [""; 0]);
    assert_eq!(
        ids(&env, &["memory", "restore", "--list"]).len(),
        5,
        "all of them are recorded"
    );
}

#[test]
fn force_without_a_file_creates_one() {
    let env = env();
    let created = env.ralph(["tools", "memory", "init", "--force"]).run();
    created.printed(&["Initialized memories file at .ralph/agent/memories.md\n"]);
    assert_eq!(created.stderr, "", "there is nothing to keep");
}
