//! Which project and which file a command uses.

use std::os::unix::fs::{PermissionsExt, symlink};

use crate::{MEMORIES, add, env, ids, names};

const ORCHESTRATOR: &str = ".ralph/agent/memories.md";

fn one(id: u32) -> String {
    format!("### mem-{id}-0000\n> {id}\n")
}

#[test]
fn tools_memory_uses_the_orchestrator_path() {
    let env = env();
    let added = env.ok(["tools", "memory", "add", "x", "-t", "fix"]);
    assert_eq!(added, "Memory stored: mem-1737372000-910a\n");
    assert!(env.path(ORCHESTRATOR).exists() && !env.path(MEMORIES).exists());
    assert_eq!(
        ids(&env, &["memory", "list"]).len(),
        1,
        "both spellings read the same file"
    );
    add(&env, "y");
    assert_eq!(ids(&env, &["tools", "memory", "list"]).len(), 2);
    assert!(!env.path(MEMORIES).exists());
}

#[test]
fn first_existing_path_is_used() {
    let env = env();
    env.write("memories.md", one(3));
    assert_eq!(ids(&env, &["memory", "list"]), ["mem-3-0000"]);
    env.write(ORCHESTRATOR, one(2));
    assert_eq!(ids(&env, &["memory", "list"]), ["mem-2-0000"]);
    env.write(MEMORIES, one(1));
    assert_eq!(ids(&env, &["memory", "list"]), ["mem-1-0000"]);
    assert_eq!(ids(&env, &["tools", "memory", "list"]), ["mem-1-0000"]);
    env.ok(["tools", "memory", "add", "to the first"]);
    assert_eq!(env.read(ORCHESTRATOR), one(2));
    assert_eq!(env.read("memories.md"), one(3));
}

#[test]
fn configured_path_takes_precedence() {
    let env = env();
    env.write(MEMORIES, one(1));
    env.write(".ralph.toml", "[memories]\npath = \"docs/notes/ours.md\"\n");
    assert_eq!(ids(&env, &["memory", "list"]), [""; 0]);
    let init = env.ok(["memory", "init"]);
    assert_eq!(init, "Initialized memories file at docs/notes/ours.md\n");
    let id = add(&env, "there");
    assert!(env.read("docs/notes/ours.md").contains(&id));
    assert_eq!(env.read(MEMORIES), one(1));
    let elsewhere = env.beside("elsewhere.md");
    let other = env
        .ralph(["memory", "add", "x"])
        .env("RALPH_MEMORIES_PATH", &elsewhere)
        .run();
    assert_eq!(other.code, Some(0), "{other}");
    assert!(elsewhere.exists());
}

#[test]
fn project_is_found_from_subfolders() {
    let env = env();
    env.write(MEMORIES, one(1));
    let deep = env.path("src/deep");
    std::fs::create_dir_all(&deep).unwrap();
    let listed = |folder| {
        let listed = env.ralph(["memory", "list", "--format", "quiet"]).folder(folder).run();
        listed.stdout.trim_end().to_owned()
    };
    assert_eq!(listed(&deep), "mem-1-0000");
    // The nearest folder with notes is used, unless a parent has a configuration file.
    env.write("src/.agent/memories.md", one(2));
    assert_eq!(listed(&deep), "mem-2-0000");
    env.write(".ralph.toml", "");
    assert_eq!(listed(&deep), "mem-1-0000");
    // The search stops at the first folder with `.git`.
    std::fs::create_dir(env.path("src/.git")).unwrap();
    assert_eq!(listed(&deep), "mem-2-0000");
    std::fs::create_dir(env.path("src/deep/.git")).unwrap();
    assert_eq!(listed(&deep), "");
}

#[test]
fn given_root_is_used_as_is() {
    let env = env();
    env.write("a/.agent/memories.md", one(1));
    env.write("a/.ralph.toml", "");
    std::fs::create_dir(env.path("a/b")).unwrap();
    assert_eq!(ids(&env, &["--root", "a", "memory", "list"]), ["mem-1-0000"]);
    assert_eq!(
        ids(&env, &["memory", "list", "--root", "a/b"]),
        [""; 0],
        "parents are not searched"
    );
    env.ok(["memory", "add", "x", "--root", "a/b"]);
    assert!(env.path("a/b/.agent/memories.md").exists());
    for root in ["nowhere", "a/.ralph.toml"] {
        let refused = env.ralph(["memory", "list", "--root", root]).run();
        refused.refused(2, &[&format!("--root [TMP]/project/{root} is not a folder")]);
    }
}

#[test]
fn symlink_stays_a_symlink() {
    let env = env();
    env.write("docs/real.md", one(1));
    std::fs::create_dir(env.path(".agent")).unwrap();
    symlink("../docs/real.md", env.path(MEMORIES)).unwrap();
    let id = add(&env, "through the link");
    env.ok(["memory", "delete", "mem-1-0000"]);
    assert!(env.path(MEMORIES).is_symlink());
    assert!(env.read("docs/real.md").contains(&id));
    assert!(
        !names(&env).contains(&".agent/memories.md.lock".to_owned()),
        "the lock is next to the target"
    );
    env.ok(["memory", "init", "--force"]);
    assert!(env.path(MEMORIES).is_symlink());
}

#[test]
fn dangling_symlink_stays_a_symlink() {
    let env = env();
    std::fs::create_dir(env.path(".agent")).unwrap();
    symlink("../docs/later.md", env.path(MEMORIES)).unwrap();
    env.write("memories.md", one(9));
    assert_eq!(ids(&env, &["memory", "list"]), [""; 0], "the dangling link is used");
    let id = add(&env, "made through the link");
    assert!(env.path(MEMORIES).is_symlink());
    assert!(env.read("docs/later.md").contains(&id));
    assert_eq!(env.read("memories.md"), one(9));
}

#[test]
fn symlink_loop_is_an_error() {
    let env = env();
    std::fs::create_dir(env.path(".agent")).unwrap();
    symlink("memories.md", env.path(MEMORIES)).unwrap();
    for arguments in [&["memory", "list"][..], &["memory", "add", "x"]] {
        let refused = env.ralph(arguments.iter().copied()).run();
        refused.refused(1, &["[TMP]/project/.agent/memories.md: ", "many ", "symbolic links"]);
    }
}

#[test]
fn file_mode_is_kept() {
    let env = env();
    env.write(MEMORIES, one(1));
    for mode in [0o600, 0o664] {
        std::fs::set_permissions(env.path(MEMORIES), std::fs::Permissions::from_mode(mode)).unwrap();
        add(&env, "x");
        let now = std::fs::metadata(env.path(MEMORIES)).unwrap().permissions().mode();
        assert_eq!(now & 0o7777, mode);
    }
}
