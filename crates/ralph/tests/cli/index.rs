//! Tests of the index on disk: whatever happens to it, commands answer as the files do, without messages.

use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use ralph_testkit::{Finished, TestEnv};

use crate::{DATABASE, GUARDRAILS, MEMORIES, foreign_database, sample};

const INDEX: &str = ".ralph/index.db";
const STAMP: &str = ".ralph/index.db.stamp";
const LOCK: &str = ".ralph/index.db.lock";
const SIGN: &str = "### Sign: Database\n- **Trigger**: the database is down\n- **Instruction**: start docker\n";

/// Commands that use the index.
const QUESTIONS: [&[&str]; 9] = [
    &["memory", "list", "--json"],
    &["memory", "list", "--last", "2"],
    &["memory", "show", "mem-1737300000"],
    &["memory", "search", "the database, down?", "--explain"],
    &["memory", "search", "databse"],
    &["recall", "docker database", "--json", "--explain"],
    &["memory", "prime"],
    &["memory", "prime", "--for", "docker", "--budget", "60"],
    &["guardrails", "list", "--json"],
];

/// A project with notes, a Sign and an index.
fn indexed() -> TestEnv {
    let env = sample();
    env.write(GUARDRAILS, SIGN);
    env.ok(["memory", "add", "the database needs docker", "--tags", "docker"]);
    env.ok(["recall", "database"]);
    assert!(env.path(INDEX).is_file() && env.path(STAMP).is_file());
    env
}

fn ask_all(env: &TestEnv) -> Vec<Finished> {
    let ask = |arguments: &&[&str]| env.ralph(arguments.iter().copied()).run();
    QUESTIONS.iter().map(ask).collect()
}

fn remove_index(env: &TestEnv) {
    for entry in std::fs::read_dir(env.path(".ralph")).unwrap().map(Result::unwrap) {
        if entry.file_name().to_string_lossy().starts_with("index.db") && !entry.path().is_dir() {
            std::fs::remove_file(entry.path()).unwrap();
        }
    }
}

/// Every command answers as with a new index, both when the damage is found and afterwards.
#[track_caller]
fn assert_answers(env: &TestEnv, what: &str) {
    let found = ask_all(env);
    let again = ask_all(env);
    remove_index(env);
    let expected = ask_all(env);
    for finished in &found {
        assert_eq!(finished.code, Some(0), "{what}: {finished}");
        assert!(!finished.stderr.contains("index"), "{what}: {finished}");
    }
    assert_eq!(found, expected, "{what}");
    assert_eq!(again, expected, "{what}");
}

#[test]
fn damaged_bytes_do_not_change_answers() {
    type Damage = fn(&mut Vec<u8>);
    let damages: [(&str, Damage); 9] = [
        ("nothing", |_| {}),
        ("half", |bytes| bytes.truncate(bytes.len() / 2)),
        ("a stub", |bytes| bytes.truncate(60)),
        ("empty", Vec::clear),
        ("noise", |bytes| {
            bytes.iter_mut().skip(5).step_by(97).for_each(|byte| *byte ^= 0x5a);
        }),
        ("zeroed pages", |bytes| bytes[4096..].fill(0)),
        ("no header", |bytes| bytes[..100].fill(0xee)),
        ("more", |bytes| bytes.extend([1; 5000])),
        ("foreign", |bytes| *bytes = foreign_database()),
    ];
    for (what, damage) in damages {
        let env = indexed();
        let mut bytes = std::fs::read(env.path(INDEX)).unwrap();
        damage(&mut bytes);
        // A new file has another inode, so no time has to pass.
        std::fs::rename(env.path(INDEX), env.path("../old.db")).unwrap();
        env.write(INDEX, bytes);
        assert_answers(&env, what);
    }
}

#[test]
fn damaged_files_do_not_change_answers() {
    type Damage = fn(&TestEnv);
    let damages: [(&str, Damage); 8] = [
        ("deleted", remove_index),
        ("no stamp", |env| std::fs::remove_file(env.path(STAMP)).unwrap()),
        ("an empty stamp", |env| env.write(STAMP, "")),
        ("a strange stamp", |env| env.write(STAMP, b"\xff\xfe 1 2 3")),
        ("an older stamp", |env| {
            env.write(STAMP, format!("0{}", env.read(STAMP)));
        }),
        ("a link to nowhere", |env| {
            std::fs::remove_file(env.path(INDEX)).unwrap();
            symlink("/nowhere/at/all", env.path(INDEX)).unwrap();
        }),
        ("text", |env| env.write(INDEX, "not a database")),
        ("a lock that cannot be opened", |env| {
            std::fs::remove_file(env.path(LOCK)).unwrap();
            std::fs::remove_file(env.path(STAMP)).unwrap();
            symlink("/nowhere/at/all", env.path(LOCK)).unwrap();
        }),
    ];
    for (what, damage) in damages {
        let env = indexed();
        damage(&env);
        assert_answers(&env, what);
    }
}

#[test]
fn a_folder_or_foreign_database_is_not_touched() {
    let env = indexed();
    remove_index(&env);
    env.write(INDEX, foreign_database());
    let foreign = ask_all(&env);
    let id = crate::add(&env, "one more");
    env.ok(["memory", "delete", &id]);
    assert_eq!(std::fs::read(env.path(INDEX)).unwrap(), foreign_database());
    std::fs::remove_file(env.path(INDEX)).unwrap();
    std::fs::create_dir(env.path(INDEX)).unwrap();
    assert_eq!(ask_all(&env), foreign);
    assert!(env.path(INDEX).is_dir());
    std::fs::remove_dir(env.path(INDEX)).unwrap();
    assert_eq!(ask_all(&env), foreign);
}

#[test]
fn a_read_only_project_works_without_an_index() {
    let env = indexed();
    let expected = ask_all(&env);
    for damaged in [false, true] {
        if damaged {
            env.write(STAMP, "");
        }
        let modes = [(".ralph", 0o555), (".agent", 0o555), (".", 0o555)];
        for (folder, mode) in modes {
            std::fs::set_permissions(env.path(folder), Permissions::from_mode(mode)).unwrap();
        }
        for file in [DATABASE, ".ralph/progress.db-wal", ".ralph/progress.db-shm", INDEX] {
            let path = env.path(file);
            if path.exists() {
                std::fs::set_permissions(path, Permissions::from_mode(0o644)).unwrap();
            }
        }
        for (arguments, expected) in QUESTIONS.iter().zip(&expected) {
            let asked = env.ralph_as_plain_user(arguments.iter().copied()).run();
            assert_eq!(&asked, expected, "{arguments:?}");
        }
    }
}

#[test]
fn an_index_made_by_root_belongs_to_the_user() {
    let env = indexed();
    env.give_to_plain_user(".ralph");
    if std::fs::metadata(env.path(".ralph")).unwrap().uid() == 0 {
        return;
    }
    remove_index(&env);
    env.ok(["recall", "docker"]);
    let made = std::fs::metadata(env.path(INDEX)).unwrap();
    let owner = std::fs::metadata(env.path(".ralph")).unwrap().uid();
    assert_eq!(made.uid(), owner);
    env.ok(["recall", "database"]);
    let after = std::fs::metadata(env.path(INDEX)).unwrap();
    assert_eq!(
        (made.ino(), made.mtime_nsec()),
        (after.ino(), after.mtime_nsec()),
        "it was made again"
    );
}

#[test]
fn each_worktree_has_its_own_index() {
    let env = sample();
    env.git(["init", "--quiet"]);
    env.git(["add", "--all"]);
    env.git(["commit", "--quiet", "--message", "first"]);
    env.ok(["memory", "add", "docker here"]);
    env.ok(["memory", "search", "docker"]);
    env.git(["worktree", "add", "--quiet", "--detach", "../linked"]);
    let linked = env.beside("linked");
    let there = |arguments: &[&str]| {
        let finished = env.ralph(arguments.iter().copied()).folder(&linked).run();
        assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""), "{finished}");
        finished.stdout
    };
    there(&["memory", "add", "docker there"]);
    assert!(there(&["memory", "search", "docker"]).contains("docker there"));
    assert!(!there(&["memory", "search", "docker"]).contains("docker here"));
    let here = env.ok(["memory", "search", "docker"]);
    assert!(here.contains("docker here") && !here.contains("docker there"), "{here}");
    assert!(linked.join(INDEX).is_file() && env.path(INDEX).is_file());
}

#[test]
fn unreadable_guardrails_do_not_hide_memories() {
    let env = indexed();
    let expected = env.ok(["memory", "list"]);
    std::fs::remove_file(env.path(GUARDRAILS)).unwrap();
    std::fs::create_dir(env.path(GUARDRAILS)).unwrap();
    assert_eq!(env.ok(["memory", "list"]), expected);
    let refused = env.ralph(["recall", "docker"]).run();
    assert_eq!(refused.code, Some(1), "{refused}");
    assert!(refused.stderr.starts_with("Error: cannot read "), "{refused}");
}

#[test]
fn concurrent_readers_and_writers_see_no_errors() {
    let env = indexed();
    let workers = 20;
    std::thread::scope(|scope| {
        for worker in 0..workers {
            let env = &env;
            scope.spawn(move || {
                for round in 0..3 {
                    let text = format!("docker of worker{worker} in round{round}");
                    let arguments: Vec<&str> = match worker % 4 {
                        0 => vec!["memory", "add", &text],
                        1 => vec!["memory", "search", "docker", "--all"],
                        2 => vec!["recall", "database"],
                        _ => vec!["memory", "prime", "--for", "docker"],
                    };
                    let finished = env.ralph(arguments).unfixed().run();
                    assert!(finished.code == Some(0) && finished.stderr.is_empty(), "{finished}");
                    assert!(finished.stdout.contains("mem"), "{finished}");
                }
            });
        }
    });
    let text = env.read(MEMORIES);
    assert_eq!(text.matches("> docker of worker").count(), 15);
    assert_answers(&env, "after all");
}
