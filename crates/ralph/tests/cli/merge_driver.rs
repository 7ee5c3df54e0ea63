//! `ralph merge-driver`, called directly and by git.

use std::os::unix::fs::PermissionsExt;

use ralph_testkit::{Finished, TestEnv};

use crate::{MEMORIES, SAMPLE, env, names};

/// Writes the three files as git does and runs the driver.
fn drive(env: &TestEnv, [base, ours, theirs]: [&str; 3], path: &str) -> Finished {
    for (name, text) in [(".merge_base", base), (".merge_ours", ours), (".merge_theirs", theirs)] {
        env.write(name, text);
    }
    env.ralph(["merge-driver", ".merge_base", ".merge_ours", ".merge_theirs", path])
        .run()
}

fn appended(text: &str, id: &str, content: &str) -> String {
    format!("{text}\n### {id}\n> {content}\n")
}

#[test]
fn result_replaces_only_ours() {
    let env = env();
    let ours = appended(SAMPLE, "mem-1737400000-aaaa", "ours");
    let theirs = appended(SAMPLE, "mem-1737400000-bbbb", "theirs");
    let done = drive(&env, [SAMPLE, &ours, &theirs], MEMORIES);
    assert_eq!(done.to_string(), "exit 0\n", "nothing is printed");
    assert_eq!(
        env.read(".merge_ours"),
        appended(&ours, "mem-1737400000-bbbb", "theirs")
    );
    assert_eq!(
        names(&env),
        [".merge_base", ".merge_ours", ".merge_theirs"],
        "no lock, no log"
    );
}

#[test]
fn markers_inside_an_entry_are_left_to_git() {
    let env = env();
    let ours = "### mem-2-0000\n> one\n";
    let theirs = "<<<<<<< HEAD\n### mem-2-0000\n=======\n> one\n";
    drive(&env, ["", ours, theirs], MEMORIES).refused(98, &["Warning: ", "would lose mem-2-0000"]);
    assert_eq!(env.read(".merge_ours"), ours);
}

#[test]
fn both_versions_of_an_entry_are_kept() {
    let env = env();
    let ours = SAMPLE.replace("one file, no server", "ours");
    let theirs = SAMPLE.replace("one file, no server", "theirs");
    let (old, copy) = ("mem-1700000000-c3d4", "mem-1700000000-534c");
    let done = drive(&env, [SAMPLE, &ours, &theirs], MEMORIES);
    done.printed(&["Warning: ", old, "was changed on both sides", copy]);
    assert_eq!((done.stdout.as_str(), done.stderr.lines().count()), ("", 1), "{done}");
    env.write(MEMORIES, env.read(".merge_ours"));
    let conflict = format!(".agent/memories.md:18: {copy} and {old} conflict since a merge; delete or supersede one");
    let invalid = env.ralph(["memory", "validate"]).run();
    assert_eq!(
        (invalid.code, invalid.stdout.lines().count()),
        (Some(1), 1),
        "{invalid}"
    );
    assert!(invalid.stdout.starts_with(&conflict), "{invalid}");
    env.ralph(["memory", "show", copy]).run().printed(&[
        "mem-1700000000-534c  decision, 2023-11-14\n",
        "conflicts  mem-1700000000-c3d4\n",
        "Chose SQLite for events: theirs\n",
        &conflict,
    ]);
    env.ok(["memory", "add", "Chose SQLite, for all of it", "--supersedes", old]);
    assert_eq!(env.ralph(["memory", "validate"]).run().code, Some(0));
}

#[test]
fn only_first_conflicts_are_listed() {
    let env = env();
    let side = |name: &str| -> String {
        let entry = |n: usize| format!("### mem-{n}-aaaa\n> {name}\n\n");
        (1..=8).map(entry).collect()
    };
    let done = drive(&env, [&side("base"), &side("ours"), &side("theirs")], MEMORIES);
    let warnings: Vec<&str> = done.stderr.lines().collect();
    assert_eq!((done.code, warnings.len()), (Some(0), 6), "{done}");
    assert_eq!(
        warnings.last(),
        Some(&"Warning: 3 more notes were changed on both sides; `ralph memory validate` lists all.")
    );
}

#[test]
fn conflict_is_reported_while_both_exist() {
    let env = env();
    let copy = "\n### mem-1-aaaa\n> theirs\n<!-- ralph: conflicts=mem-1-0000 -->\n";
    env.write(MEMORIES, format!("## Fixes\n\n### mem-1-0000\n> ours\n{copy}"));
    let is_reported = || {
        let listed = env.ralph(["memory", "list"]).run().stderr;
        listed.contains("mem-1-aaaa and mem-1-0000 conflict since a merge")
    };
    // The first command builds the index, which is then kept up to date.
    assert!(is_reported());
    for id in ["mem-1-0000", "mem-1-aaaa"] {
        env.ok(["memory", "delete", id]);
        assert!(!is_reported(), "{id} is deleted");
        env.ok(["memory", "restore", id]);
        assert!(is_reported(), "{id} is restored");
    }
    let better = env.ok([
        "memory",
        "add",
        "both",
        "--supersedes",
        "mem-1-0000",
        "--format",
        "quiet",
    ]);
    assert!(!is_reported(), "one of the two is superseded");
    env.ok(["memory", "delete", better.trim_end()]);
    assert!(is_reported(), "and not any more");
}

#[test]
fn conflict_in_prose_sets_the_exit_code() {
    let env = env();
    let ours = SAMPLE.replace("this file is ours", "ours");
    let theirs = appended(
        &SAMPLE.replace("this file is ours", "theirs"),
        "mem-1737400000-bbbb",
        "new",
    );
    let done = drive(&env, [SAMPLE, &ours, &theirs], MEMORIES);
    assert_eq!(done.to_string(), "exit 97\n", "nothing is printed");
    let text = env.read(".merge_ours");
    assert!(text.contains("<<<<<<< ours\nRead me first: ours.\n=======\n"), "{text}");
    assert!(text.ends_with("### mem-1737400000-bbbb\n> new\n"), "{text}");
}

#[test]
fn errors_leave_ours_unchanged() {
    let env = env();
    env.write("ours.md", "ours\n");
    env.ralph(["merge-driver", "no-base.md", "ours.md", "ours.md", MEMORIES])
        .run()
        .refused(129, &["file not found: no-base.md"]);
    assert_eq!(env.read("ours.md"), "ours\n");
    // The folder is read-only.
    let [base, ours, theirs] = [
        SAMPLE,
        &appended(SAMPLE, "mem-1-aaaa", "a"),
        &appended(SAMPLE, "mem-1-bbbb", "b"),
    ];
    for (name, text) in [("in/base", base), ("in/ours", ours), ("in/theirs", theirs)] {
        env.write(name, text);
    }
    let mode = |mode| std::fs::set_permissions(env.path("in"), std::fs::Permissions::from_mode(mode)).unwrap();
    mode(0o555);
    let failed = env
        .ralph_as_plain_user(["merge-driver", "in/base", "in/ours", "in/theirs", MEMORIES])
        .run();
    mode(0o755);
    failed.refused(129, &["cannot write in/ours: "]);
    assert_eq!(env.read("in/ours"), ours);
}

#[test]
fn file_kind_comes_from_config_name_or_content() {
    let empty = "# Guardrails\n\n## Fixes\n";
    let [ours, theirs] = ["fix-1-aaaa", "fix-1-bbbb"].map(|id| appended(empty, id, id));
    for (config, path) in [
        ("", "sub/.agent/guardrails.md"),
        ("[guardrails]\npath = \"rules.md\"\n", "rules.md"),
        ("", "odd.md"),
        ("<<<<<<< HEAD\nnot to be read\n", ".agent/guardrails.md"),
    ] {
        let env = env();
        env.write(".ralph.toml", config);
        let done = drive(&env, [empty, &ours, &theirs], path);
        assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""), "{path}");
        assert_eq!(
            env.read(".merge_ours"),
            appended(&ours, "fix-1-bbbb", "fix-1-bbbb"),
            "{path}"
        );
    }
}

#[test]
fn git_uses_it_and_the_log_adopts_merged_notes() {
    let env = env();
    env.git(["init", "--quiet"]);
    env.ok(["init"]);
    // Git finds no `ralph` in the tests' PATH.
    let driver = format!("{} merge-driver %O %A %B %P", env!("CARGO_BIN_EXE_ralph"));
    env.git(["config", "merge.ralph.driver", &driver]);
    let commit = |message: &str| {
        env.git(["add", "--all"]);
        env.git(["commit", "--quiet", "--message", message]);
    };
    commit("empty");
    env.git(["checkout", "--quiet", "-b", "other"]);
    env.ok(["memory", "add", "of the other branch"]);
    commit("theirs");
    env.git(["checkout", "--quiet", "main"]);
    env.ok(["memory", "add", "of this branch"]);
    commit("ours");
    env.git(["merge", "--quiet", "--no-edit", "other"]);
    let listed = env.ralph(["memory", "list", "--json"]).run();
    assert_eq!((listed.code, listed.stderr.as_str()), (Some(0), ""));
    assert!(listed.stdout.contains("of this branch") && listed.stdout.contains("of the other branch"));
    assert_eq!(env.git(["status", "--porcelain"]), "");
    assert_eq!(env.ralph(["memory", "validate"]).run().code, Some(0));
}
