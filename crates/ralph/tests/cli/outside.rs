//! Configured paths and symlinks must stay inside the project, unless the user's own configuration allows it.

use std::os::unix::fs::symlink;

use ralph_testkit::{Finished, TestEnv};

use crate::{MEMORIES, USER_CONFIG, env};

/// A user's file that no command may read or change.
const OUTSIDE: &str = "../home/.bashrc";

fn private() -> TestEnv {
    let env = env();
    env.write(OUTSIDE, "### secret-of-the-user\n");
    env
}

/// Checks that the command is refused and the file outside is neither shown nor changed.
#[track_caller]
fn refused(env: &TestEnv, arguments: &[&str], about: &str) -> Finished {
    let ended = env.ralph(arguments.iter().copied()).run();
    assert_eq!(ended.code, Some(1), "{arguments:?} {ended}");
    assert!(ended.stderr.contains(about), "{arguments:?} {ended}");
    assert!(ended.stderr.contains("outside the project"), "{arguments:?} {ended}");
    assert!(!ended.to_string().contains("secret-of-the-user"), "{ended}");
    assert_eq!(env.read(OUTSIDE), "### secret-of-the-user\n");
    ended
}

#[test]
fn configured_path_outside_is_refused() {
    let env = private();
    let absolute = env.path(OUTSIDE).display().to_string();
    env.write(".ralph.toml", format!("[scratchpad]\npath = \"{absolute}\"\n"));
    refused(&env, &["scratchpad", "show"], "scratchpad.path");
    refused(&env, &["scratchpad", "append", "x"], "scratchpad.path");
    env.write(".ralph.toml", "[scratchpad]\npath = \"../home/.bashrc\"\n");
    let own = "[TMP]/home/.config/ralph/config.toml";
    refused(&env, &["scratchpad", "append", "x"], "scratchpad.path").refused(
        1,
        &[
            ".ralph.toml",
            "to [TMP]/home/.bashrc\n",
            "Hint: ",
            "`allow_outside`",
            own,
        ],
    );
    env.write(".ralph.toml", "[memories]\npath = \"../home/.bashrc\"\n");
    refused(&env, &["memory", "list"], "memories.path");
    refused(&env, &["memory", "add", "x"], "memories.path");
    env.write(".ralph.toml", "[guardrails]\npath = \"a/../../home/.bashrc\"\n");
    refused(&env, &["guardrails", "add", "x"], "guardrails.path");
}

#[test]
fn symlink_to_outside_is_refused() {
    for (link, arguments) in [
        (MEMORIES, ["memory", "add", "x"]),
        (MEMORIES, ["memory", "list", "--json"]),
        (".agent/guardrails.md", ["guardrails", "add", "x"]),
        (".agent/scratchpad.md", ["scratchpad", "append", "x"]),
        (".agent/scratchpad.md", ["recall", "secret", "--json"]),
    ] {
        let env = private();
        std::fs::create_dir_all(env.path(".agent")).unwrap();
        symlink(env.path(OUTSIDE), env.path(link)).unwrap();
        refused(&env, &arguments, link);
    }
    for (folder, arguments) in [
        (".agent", &["memory", "add", "x"][..]),
        (".ralph", &["knowledge", "list"]),
        (".ralph/knowledge", &["knowledge", "list"]),
        (".ralph/features", &["feature", "create", "x"]),
    ] {
        let env = private();
        std::fs::create_dir_all(env.path(folder).parent().unwrap()).unwrap();
        symlink(env.path("../home"), env.path(folder)).unwrap();
        refused(&env, arguments, folder);
    }
}

/// Locking writes to the lock file.
#[test]
fn symlinked_lock_is_refused() {
    for (lock, arguments) in [
        (".agent/memories.md.lock", &["remember", "hello"][..]),
        (".agent/guardrails.md.lock", &["guardrails", "add", "hello"]),
        (".agent/scratchpad.md.lock", &["scratchpad", "append", "hello"]),
        (
            ".ralph/knowledge/.lock",
            &["knowledge", "add", "Hello", "text", "--tags", "x"],
        ),
        (".ralph/progress.db.lock", &["task", "add", "hello"]),
        (".ralph/run.lock", &["run", "hello", "--agent", "true"]),
    ] {
        let env = private();
        std::fs::create_dir_all(env.path(lock).parent().unwrap()).unwrap();
        symlink(env.path(OUTSIDE), env.path(lock)).unwrap();
        let ended = env.ralph(arguments.iter().copied()).run();
        assert_eq!(ended.code, Some(1), "{lock} {ended}");
        let errors = ended
            .stderr
            .lines()
            .filter(|line| line.starts_with("Error: "))
            .collect::<Vec<_>>();
        assert!(
            matches!(errors[..], [error] if error.contains(lock) && error.ends_with("it is a symbolic link; remove it")),
            "{ended}"
        );
        assert_eq!(env.read(OUTSIDE), "### secret-of-the-user\n", "{lock}");
    }
}

#[test]
fn symlinked_index_is_not_used() {
    for (link, target) in [
        (".ralph/index.db.lock", OUTSIDE),
        (".ralph/index.db", OUTSIDE),
        (".ralph/index.db", "../home/new.db"),
    ] {
        let env = private();
        env.ok(["task", "add", "hello"]);
        let entry = "# Memories\n\n## Patterns\n\n### mem-1737372000-a1b2\n> green hello\n";
        env.write(MEMORIES, entry);
        for name in ["index.db", "index.db.lock", "index.db.stamp"] {
            drop(std::fs::remove_file(env.path(&format!(".ralph/{name}"))));
        }
        symlink(env.path(target), env.path(link)).unwrap();
        let found = env.ralph(["recall", "hello"]).run();
        assert_eq!(found.code, Some(0), "{link} {found}");
        assert!(found.stdout.contains("green hello"), "{link} {found}");
        assert_eq!(env.read(OUTSIDE), "### secret-of-the-user\n", "{link}");
        assert!(!env.path("../home/new.db").exists(), "{link}");
    }
}

#[test]
fn notes_cannot_be_in_git_or_ralph_files() {
    let env = private();
    std::fs::create_dir_all(env.path(".git/hooks")).unwrap();
    env.ok(["task", "add", "x"]);
    for path in [
        ".git/config",
        "vendor/.git/hooks/pre-commit",
        ".ralph/progress.db",
        ".ralph/progress.db-wal",
        ".ralph/index.db",
        ".ralph/runs/run-1/001/prompt.md",
        ".ralph.toml",
    ] {
        for (section, arguments) in [
            ("memories", ["memory", "add", "x"]),
            ("guardrails", ["guardrails", "add", "x"]),
            ("scratchpad", ["scratchpad", "append", "x"]),
        ] {
            env.write(".ralph.toml", format!("[{section}]\npath = \"{path}\"\n"));
            let before = std::fs::read(env.path(path)).ok();
            let ended = env.ralph(arguments).run();
            assert_eq!(ended.code, Some(1), "{path} {ended}");
            let refusal = format!(
                "Error: `{section}.path` in .ralph.toml leads to [TMP]/project/{path}, which is not a file for notes"
            );
            assert!(ended.stderr.starts_with(&refusal), "{path} {ended}");
            assert_eq!(std::fs::read(env.path(path)).ok(), before, "{path}");
            let doctor = env.ralph(["doctor"]).run();
            assert!(doctor.stdout.contains("which is not a file for notes"), "{doctor}");
        }
    }
}

#[test]
fn symlinked_ralph_files_are_refused() {
    for (link, arguments) in [
        (".ralph", &["task", "list"][..]),
        (".ralph/progress.db", &["task", "add", "x"]),
        (".ralph/runs", &["run", "hello", "--agent", "true"]),
        (".ralph/features/search", &["feature", "create", "search"]),
        (".gitignore", &["init"]),
        (".gitattributes", &["init"]),
    ] {
        let env = private();
        env.git(["init", "--quiet"]);
        std::fs::create_dir_all(env.path("../home/folder")).unwrap();
        std::fs::create_dir_all(env.path(link).parent().unwrap()).unwrap();
        let is_folder = [".ralph", ".ralph/runs", ".ralph/features/search"].contains(&link);
        let target = if is_folder { "../home/folder" } else { OUTSIDE };
        symlink(env.path(target), env.path(link)).unwrap();
        refused(&env, arguments, link);
        let inside = std::fs::read_dir(env.path("../home/folder")).unwrap().count();
        assert_eq!(inside, 0, "{link}");
        if link == ".ralph" {
            env.ok(["hook", "session-start"]);
            let inside = std::fs::read_dir(env.path("../home/folder")).unwrap().count();
            assert_eq!(inside, 0, "no trace of the failed hook");
        }
    }
}

#[test]
fn user_config_allows_ralph_folder_outside() {
    let env = env();
    std::fs::create_dir_all(env.path("../shared/ralph")).unwrap();
    symlink(env.path("../shared/ralph"), env.path(".ralph")).unwrap();
    assert_eq!(env.ralph(["task", "add", "x"]).run().code, Some(1));
    env.write(
        USER_CONFIG,
        format!("[paths]\nallow_outside = [{:?}]\n", env.beside("shared")),
    );
    env.ok(["task", "add", "x"]);
    assert!(env.path("../shared/ralph/progress.db").exists());
}

#[test]
fn dangling_symlink_to_outside_is_refused() {
    let env = private();
    std::fs::create_dir_all(env.path(".agent")).unwrap();
    symlink(env.path("../home/new.md"), env.path(MEMORIES)).unwrap();
    refused(&env, &["memory", "add", "x"], MEMORIES);
    assert!(!env.path("../home/new.md").exists());
}

#[test]
fn symlinked_knowledge_file_is_skipped() {
    let env = private();
    env.write(
        "../home/private.md",
        "---\ntitle: Private\ntags: [x]\n---\nsecret-of-the-user\n",
    );
    std::fs::create_dir_all(env.path(".ralph/knowledge")).unwrap();
    symlink(env.path("../home/private.md"), env.path(".ralph/knowledge/private.md")).unwrap();
    let listed = env.ralph(["knowledge", "list"]).run();
    assert!(
        listed.stderr.contains("private.md") && listed.stderr.contains("outside the project"),
        "{listed}"
    );
    for arguments in [&["knowledge", "show", "Private"][..], &["recall", "secret of the user"]] {
        let shown = env.ralph(arguments.iter().copied()).run();
        assert!(!shown.stdout.contains("secret-of-the-user"), "{shown}");
    }
    env.ok(["knowledge", "add", "Private", "new text", "--tags", "x"]);
    assert!(env.read("../home/private.md").contains("secret-of-the-user"));
}

#[test]
fn symlinks_inside_the_project_work() {
    let env = env();
    env.write("docs/notes.md", "# Memories\n");
    std::fs::create_dir_all(env.path(".agent")).unwrap();
    symlink("../docs/notes.md", env.path(MEMORIES)).unwrap();
    env.ok(["memory", "add", "x"]);
    assert!(env.path(MEMORIES).is_symlink());
    assert!(env.read("docs/notes.md").contains("> x"));
}

#[test]
fn user_config_allows_paths_outside() {
    let env = env();
    env.write("../shared/memories.md", "# Memories\n");
    let shared = env.path("../shared").canonicalize().unwrap().display().to_string();
    env.write(".ralph.toml", "[memories]\npath = \"../shared/memories.md\"\n");
    assert_eq!(env.ralph(["memory", "add", "x"]).run().code, Some(1));
    env.write(USER_CONFIG, format!("[paths]\nallow_outside = [\"{shared}\"]\n"));
    env.ok(["memory", "add", "x"]);
    assert!(env.read("../shared/memories.md").contains("> x"));

    std::fs::remove_file(env.path(".ralph.toml")).unwrap();
    env.write(USER_CONFIG, format!("[memories]\npath = \"{shared}/memories.md\"\n"));
    env.ok(["memory", "add", "y"]);
    assert!(env.read("../shared/memories.md").contains("> y"));

    std::fs::remove_file(env.path(USER_CONFIG)).unwrap();
    let by_variable = env
        .ralph(["memory", "add", "z"])
        .env("RALPH_MEMORIES_PATH", format!("{shared}/memories.md"));
    assert_eq!(by_variable.run().code, Some(0));
}

#[test]
fn project_config_cannot_allow_outside_paths() {
    let env = private();
    env.write(
        ".ralph.toml",
        "[paths]\nallow_outside = [\"/\"]\n[memories]\npath = \"../home/.bashrc\"\n",
    );
    let ended = refused(&env, &["memory", "add", "x"], "memories.path");
    assert!(ended.stderr.contains(".ralph.toml:2: paths.allow_outside"), "{ended}");
}
