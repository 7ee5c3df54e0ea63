//! Files shared by several users and programs.

use std::os::unix::fs::{MetadataExt, PermissionsExt};

use crate::{DATABASE, MEMORIES, SAMPLE, USER_CONFIG, add, env, ids, sample};

#[test]
fn file_open_for_writing_is_read_but_not_changed() {
    let env = sample();
    let open = std::fs::OpenOptions::new()
        .append(true)
        .open(env.path(MEMORIES))
        .unwrap();
    assert_eq!(ids(&env, &["memory", "list"]).len(), 4);
    let refused = env.ralph(["memory", "add", "x"]).run();
    refused.refused(1, &[".agent/memories.md: another program keeps it open for writing"]);
    assert_eq!(env.read(MEMORIES), SAMPLE);
    drop(open);
}

#[test]
fn files_created_by_root_belong_to_the_user() {
    let env = env();
    env.give_to_plain_user(".");
    add(&env, "by the test user");
    let owner = std::fs::metadata(env.project()).unwrap().uid();
    for name in [
        MEMORIES,
        ".agent",
        ".agent/memories.md.lock",
        ".agent/.gitignore",
        ".ralph",
        DATABASE,
    ] {
        assert_eq!(std::fs::metadata(env.path(name)).unwrap().uid(), owner, "{name}");
    }
    let added = env.ralph_as_plain_user(["memory", "add", "by the user"]).run();
    assert_eq!((added.code, added.stderr.as_str()), (Some(0), ""), "{added}");
    assert_eq!(ids(&env, &["memory", "list"]).len(), 2);
}

#[test]
fn writable_file_of_another_user_can_be_changed() {
    let env = sample();
    for name in [".", ".agent", MEMORIES] {
        let mode = if name == MEMORIES { 0o666 } else { 0o777 };
        std::fs::set_permissions(env.path(name), std::fs::Permissions::from_mode(mode)).unwrap();
    }
    let added = env.ralph_as_plain_user(["memory", "add", "by another user"]).run();
    assert_eq!(added.code, Some(0), "{added}");
    let file = std::fs::metadata(env.path(MEMORIES)).unwrap();
    assert_eq!(file.permissions().mode() & 0o777, 0o666);
    assert!(env.read(MEMORIES).contains("> by another user\n"));
}

#[test]
fn broken_config_does_not_block_unrelated_commands() {
    let env = env();
    env.write(".ralph.toml", "[memories\n");
    assert!(env.ok(["completions", "bash"]).contains("memory"));
    assert_eq!(env.ralph(["demo"]).run().code, Some(0));
    assert_eq!(env.ralph(["memory", "list"]).run().code, Some(1));
}

#[test]
fn full_disk_leaves_no_partial_config() {
    let env = env();
    let failed = env.sh("ulimit -f 1; \"$RALPH\" init").run();
    assert_ne!(failed.code, Some(0), "{failed}");
    assert!(!env.path(".ralph.toml").exists());
    env.ok(["init"]);
    assert!(env.read(".ralph.toml").contains("[ui]"));
}

#[test]
fn ids_in_unread_sections_are_not_reused() {
    let env = env();
    let first = add(&env, "x");
    let other = self::env();
    other.write(MEMORIES, format!("# Memories\n\n## Mine\n\n### {first}\n> not read\n"));
    assert_ne!(add(&other, "x"), first);
}

#[test]
fn pipes_and_devices_are_refused() {
    for make in ["mkfifo .agent/memories.md", "ln -s /dev/zero .agent/memories.md"] {
        let env = env();
        let made = env.sh(&format!("mkdir .agent && {make}")).run();
        assert_eq!(made.code, Some(0), "{made}");
        for command in [&["memory", "list"][..], &["memory", "add", "x"]] {
            let refused = env.ralph(command.iter().copied()).run();
            assert_eq!(refused.code, Some(1), "{make}: {refused}");
            let reasons = ["it is not a file", "leads outside the project, to /dev/zero"];
            let is_clear = reasons.iter().any(|reason| refused.stderr.contains(reason));
            assert!(is_clear, "{make}: {refused}");
        }
    }
}

#[test]
fn projects_sharing_a_file_report_lost_notes() {
    let (one, other) = (env(), env());
    std::fs::create_dir_all(other.path(".agent")).unwrap();
    let shared = one.path(".agent");
    let allowed = format!("[paths]\nallow_outside = [\"{}\"]\n", shared.display());
    other.write(USER_CONFIG, allowed);
    let first = add(&one, "the first");
    std::os::unix::fs::symlink(one.path(MEMORIES), other.path(MEMORIES)).unwrap();
    let stale = one.read(MEMORIES);
    let second = add(&other, "the second");
    one.write(MEMORIES, &stale);
    assert_eq!(ids(&one, &["memory", "list"]), [first.as_str()]);
    let looked = other.ralph(["memory", "list"]).run();
    assert!(looked.stderr.contains(&second), "{looked}");
}

#[test]
fn note_in_unknown_section_is_not_missing() {
    let env = env();
    let id = add(&env, "archived");
    env.write(MEMORIES, env.read(MEMORIES).replace("## Patterns", "## Archive"));
    let looked = env.ralph(["memory", "list"]).run();
    assert!(!looked.stderr.contains("missing"), "{looked}");
    let refused = env.ralph(["memory", "restore", &id]).run();
    refused.refused(1, &["is still in the file"]);
    assert_eq!(env.read(MEMORIES).matches(&id).count(), 1);
}

#[test]
fn branch_switch_with_reftable_is_not_reported() {
    let env = env();
    if env.sh("git init --quiet --ref-format=reftable .").run().code != Some(0) {
        // This git has no reftable support.
        return;
    }
    env.ok(["init"]);
    env.git(["add", "--all"]);
    env.git(["commit", "--quiet", "--message", "first"]);
    env.git(["checkout", "--quiet", "-b", "feature"]);
    add(&env, "only on the feature");
    env.git(["commit", "--quiet", "--all", "--message", "second"]);
    env.git(["checkout", "--quiet", "-"]);
    let looked = env.ralph(["memory", "list"]).run();
    assert_eq!(looked.to_string(), "exit 0\n--- stdout\nNo memories yet.\n");
}

#[test]
fn unknown_temporary_file_is_kept() {
    let env = sample();
    add(&env, "before");
    env.write(".agent/.memories.md.ralph-new", "whose is this?\n");
    let added = env.ralph(["memory", "add", "after"]).unfixed().run();
    assert!(
        added.stderr.contains("is in [TMP]/project/.agent/memories.md.kept"),
        "{added}"
    );
    assert_eq!(env.read(".agent/memories.md.kept"), "whose is this?\n");
    env.ok(["memory", "list"]);
}
