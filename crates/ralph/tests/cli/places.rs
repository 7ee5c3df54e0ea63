//! Which project and which file a command works on.

use std::os::unix::fs::{PermissionsExt, symlink};

use insta::assert_snapshot;

use crate::{MEMORIES, add, env, ids, names};

const ORCHESTRATOR: &str = ".ralph/agent/memories.md";

fn one(id: u32) -> String {
    format!("### mem-{id}-0000\n> {id}\n")
}

#[test]
fn the_other_spelling_makes_its_file_where_that_tool_has_it() {
    let env = env();
    assert_snapshot!(env.ralph(["tools", "memory", "add", "x", "-t", "fix"]).run(), @"
    exit 0
    --- stdout
    Memory stored: mem-1737372000-910a
    ");
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
fn of_several_files_the_first_place_counts() {
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
fn the_configured_file_goes_before_all_others() {
    let env = env();
    env.write(MEMORIES, one(1));
    env.write(".ralph.toml", "[memories]\npath = \"docs/notes/ours.md\"\n");
    assert_eq!(ids(&env, &["memory", "list"]), [""; 0]);
    assert_snapshot!(env.ralph(["memory", "init"]).run(), @"
    exit 0
    --- stdout
    Initialized memories file at docs/notes/ours.md
    ");
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
fn the_project_is_found_from_below() {
    let env = env();
    env.write(MEMORIES, one(1));
    let deep = env.path("src/deep");
    std::fs::create_dir_all(&deep).unwrap();
    let listed = |folder| {
        let listed = env.ralph(["memory", "list", "--format", "quiet"]).folder(folder).run();
        listed.stdout.trim_end().to_owned()
    };
    assert_eq!(listed(&deep), "mem-1-0000");
    // A nearer folder of notes is nearer; a configuration further up goes before it.
    env.write("src/.agent/memories.md", one(2));
    assert_eq!(listed(&deep), "mem-2-0000");
    env.write(".ralph.toml", "");
    assert_eq!(listed(&deep), "mem-1-0000");
    // Nothing above the first folder with `.git` is looked at.
    std::fs::create_dir(env.path("src/.git")).unwrap();
    assert_eq!(listed(&deep), "mem-2-0000");
    std::fs::create_dir(env.path("src/deep/.git")).unwrap();
    assert_eq!(listed(&deep), "");
}

#[test]
fn the_root_may_be_given_and_is_taken_as_it_is() {
    let env = env();
    env.write("a/.agent/memories.md", one(1));
    env.write("a/.ralph.toml", "");
    std::fs::create_dir(env.path("a/b")).unwrap();
    assert_eq!(ids(&env, &["--root", "a", "memory", "list"]), ["mem-1-0000"]);
    assert_eq!(
        ids(&env, &["memory", "list", "--root", "a/b"]),
        [""; 0],
        "nothing is looked for above it"
    );
    env.ok(["memory", "add", "x", "--root", "a/b"]);
    assert!(env.path("a/b/.agent/memories.md").exists());
    assert_snapshot!(env.ralph(["memory", "list", "--root", "nowhere"]).run(), @"
    exit 2
    --- stderr
    Error: --root [TMP]/project/nowhere is not a folder
    ");
    assert_snapshot!(env.ralph(["memory", "list", "--root", "a/.ralph.toml"]).run(), @"
    exit 2
    --- stderr
    Error: --root [TMP]/project/a/.ralph.toml is not a folder
    ");
}

#[test]
fn a_linked_file_stays_a_link() {
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
        "the lock lies beside the file itself"
    );
    env.ok(["memory", "init", "--force"]);
    assert!(env.path(MEMORIES).is_symlink());
}

#[test]
fn a_link_to_a_file_that_is_not_there_yet_stays_a_link_too() {
    let env = env();
    std::fs::create_dir(env.path(".agent")).unwrap();
    symlink("../docs/later.md", env.path(MEMORIES)).unwrap();
    env.write("memories.md", one(9));
    assert_eq!(
        ids(&env, &["memory", "list"]),
        [""; 0],
        "the link is the file, though it leads nowhere"
    );
    let id = add(&env, "made through the link");
    assert!(env.path(MEMORIES).is_symlink());
    assert!(env.read("docs/later.md").contains(&id));
    assert_eq!(env.read("memories.md"), one(9));
}

#[test]
fn links_that_go_round_in_circles_are_an_error() {
    let env = env();
    std::fs::create_dir(env.path(".agent")).unwrap();
    symlink("memories.md", env.path(MEMORIES)).unwrap();
    assert_snapshot!(env.ralph(["memory", "list"]).run(), @"
    exit 1
    --- stderr
    Error: cannot read [TMP]/project/.agent/memories.md: Too many levels of symbolic links (os error 40)
    ");
    assert_snapshot!(env.ralph(["memory", "add", "x"]).run(), @"
    exit 1
    --- stderr
    Error: cannot follow [TMP]/project/.agent/memories.md: too many symbolic links
    ");
}

#[test]
fn the_mode_of_the_file_is_kept() {
    let env = env();
    env.write(MEMORIES, one(1));
    for mode in [0o600, 0o664] {
        std::fs::set_permissions(env.path(MEMORIES), std::fs::Permissions::from_mode(mode)).unwrap();
        add(&env, "x");
        let now = std::fs::metadata(env.path(MEMORIES)).unwrap().permissions().mode();
        assert_eq!(now & 0o7777, mode);
    }
}
