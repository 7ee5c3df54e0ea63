//! What doctor says of the database and the index.

use std::os::unix::fs::{MetadataExt, PermissionsExt};

use insta::assert_snapshot;
use ralph_testkit::TestEnv;

use super::{INDEX, SEAL, doctor, healthy, looked_and_fixed, only_looked, used, wrong};
use crate::{DATABASE, add, foreign_database};

#[test]
fn a_database_that_is_not_ours_or_not_whole_is_named() {
    let env = healthy();
    for (name, bytes) in [
        ("missing", None),
        ("foreign", Some(foreign_database())),
        ("text", Some(b"select * from notes;\n".to_vec())),
        ("newer", Some(newer(&env))),
        ("cut", Some(whole_database()[..8192].to_vec())),
        ("scribbled", Some(scribbled(whole_database()))),
    ] {
        for ending in ["", "-wal", "-shm"] {
            drop(std::fs::remove_file(env.path(&format!("{DATABASE}{ending}"))));
        }
        if let Some(bytes) = bytes {
            env.write(DATABASE, bytes);
            std::fs::set_permissions(env.path(DATABASE), std::fs::Permissions::from_mode(0o600)).unwrap();
        }
        let looked = only_looked(&env);
        match name {
            "missing" => assert_snapshot!(looked, @"
            exit 0
              note     .ralph/progress.db: there is no database yet, so there is no history of the notes
                       → `ralph init`, or the first note, makes it
            "),
            "foreign" => assert_snapshot!(looked, @"
            exit 1
              error    .ralph/progress.db: it belongs to another tool, so no history is recorded
                       → `ralph import refound` takes it over if it is that of RefoundAI's ralph; else `mv .ralph/progress.db .ralph/progress.db.other`, and ralph starts a history of its own
            "),
            "text" => assert_snapshot!(looked, @"
            exit 1
              error    .ralph/progress.db: it is not an SQLite database, so no history is recorded
                       → `mv .ralph/progress.db .ralph/progress.db.other`, and ralph starts a history of its own
            "),
            "newer" => assert_snapshot!(looked, @"
            exit 1
              error    .ralph/progress.db: a newer ralph wrote it (its format is 99, this one knows up to 14), so no history is recorded
                       → update ralph
            "),
            _ => assert!(
                looked.starts_with("exit 1\n") && looked.contains("it is damaged: "),
                "{looked}"
            ),
        }
    }
}

/// A database of ours without a log beside it.
fn whole_database() -> Vec<u8> {
    let env = healthy();
    for number in 0..30 {
        add(&env, &format!("{number} {}", "long ".repeat(8000)));
    }
    std::fs::read(env.path(DATABASE)).unwrap()
}

/// One with a higher number than this program knows.
fn newer(env: &TestEnv) -> Vec<u8> {
    let mut bytes = std::fs::read(env.path(DATABASE)).unwrap_or_else(|_| whole_database());
    bytes[63] = 99;
    bytes
}

/// One with pages full of nonsense.
fn scribbled(mut bytes: Vec<u8>) -> Vec<u8> {
    let pages = bytes.len() / 4096;
    assert!(pages > 8, "{pages}");
    bytes[2 * 4096..].fill(0x5a);
    bytes
}

#[test]
fn a_log_that_a_reader_keeps_is_named() {
    let env = healthy();
    #[expect(clippy::disallowed_methods, reason = "a client that is not ours")]
    let connect = || rusqlite::Connection::open(env.path(DATABASE)).unwrap();
    let (reader, writer) = (connect(), connect());
    reader.execute_batch("BEGIN; SELECT count(*) FROM tasks").unwrap();
    writer
        .execute_batch("PRAGMA wal_autocheckpoint = 0; CREATE TABLE guests AS SELECT zeroblob(2000000) AS large")
        .unwrap();
    assert_snapshot!(wrong(&doctor(&env, []).run()), @"
    exit 0
      warning  .ralph/progress.db-wal: another program reads the database, so its write-ahead log (1.9 MiB) cannot be reset
               → close that program; until then, damage to the log can cost everything that is in it
    ");
    reader.execute_batch("COMMIT").unwrap();
    assert_eq!(wrong(&doctor(&env, []).run()), "exit 0\n\n");
}

#[test]
fn an_index_that_is_not_to_be_trusted_is_made_anew() {
    let env = used();
    env.write(SEAL, "another seal");
    let (looked, fixed) = looked_and_fixed(&env);
    assert_snapshot!(looked, @"
    exit 0
      note     .ralph/index.db: it was not written to its end, before a restart, or by another version; it will be made anew
    ");
    assert_snapshot!(fixed, @"
    exit 0
      mended   .ralph/index.db: it was not written to its end, before a restart, or by another version; it will be made anew
               → made the index anew
    ");
    env.write(INDEX, "no index at all");
    let (_, fixed) = looked_and_fixed(&env);
    assert!(fixed.starts_with("exit 0\n  mended "), "{fixed}");
    assert_eq!(only_looked(&env), "exit 0\n\n");
    assert!(env.ok(["memory", "search", "tea"]).contains("tea is green"));
}

#[test]
fn an_index_that_answers_otherwise_is_made_anew() {
    let env = used();
    let mut bytes = std::fs::read(env.path(INDEX)).unwrap();
    let at = bytes.windows(12).position(|text| text == b"tea is green").unwrap();
    bytes[at..at + 12].copy_from_slice(b"tea is brown");
    env.write(INDEX, bytes);
    reseal(&env);
    assert!(env.ok(["memory", "search", "tea"]).contains("brown"), "nobody notices");
    let (looked, fixed) = looked_and_fixed(&env);
    assert_snapshot!(looked.replace(&crate::ids(&env, &["memory", "list"])[0], "[ID]"), @"
    exit 1
      error    .ralph/index.db: it does not answer what the files say: entry 1 of memories.md, [ID]
               → `ralph doctor --fix`, or remove .ralph/index.db; it is made anew
    ");
    assert!(fixed.starts_with("exit 0\n  mended "), "{fixed}");
    assert!(env.ok(["memory", "search", "tea"]).contains("tea is green"));
}

/// Puts the seal of an index on again, as if its own writer had changed it.
fn reseal(env: &TestEnv) {
    let seal = env.read(SEAL);
    let words: Vec<&str> = seal.split(' ').collect();
    let file = std::fs::metadata(env.path(INDEX)).unwrap();
    let ns = |seconds: i64, ns: i64| (seconds * 1_000_000_000 + ns).to_string();
    let (mtime, ctime) = (ns(file.mtime(), file.mtime_nsec()), ns(file.ctime(), file.ctime_nsec()));
    let (inode, size) = (file.ino().to_string(), file.size().to_string());
    env.write(SEAL, [words[0], &inode, &size, &mtime, &ctime, words[5]].join(" "));
}

#[test]
fn an_index_of_another_tool_is_left_alone() {
    let env = healthy();
    env.write(INDEX, foreign_database());
    assert_snapshot!(only_looked(&env), @"
    exit 1
      error    .ralph/index.db: it belongs to another tool, so there is no index, and answers take longer
               → `mv .ralph/index.db .ralph/index.db.other`, and ralph makes an index
    ");
    std::fs::remove_file(env.path(INDEX)).unwrap();
    std::fs::create_dir(env.path(INDEX)).unwrap();
    assert_snapshot!(only_looked(&env), @"
    exit 1
      error    .ralph/index.db: it is not a file, so there is no index, and answers take longer
               → move it away, and ralph makes an index
    ");
}

#[test]
fn a_database_in_a_folder_that_cannot_be_written_is_told_from_a_damaged_one() {
    let env = used();
    std::fs::remove_file(env.path(&format!("{DATABASE}-shm"))).unwrap();
    for name in [".agent", ".ralph", DATABASE, INDEX] {
        env.give_to_plain_user(name);
    }
    std::fs::set_permissions(env.path(".ralph"), std::fs::Permissions::from_mode(0o555)).unwrap();
    let looked = env.ralph_as_plain_user(["doctor"]).unfixed().run();
    std::fs::set_permissions(env.path(".ralph"), std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(looked.code, Some(1), "{looked}");
    assert!(looked.stdout.contains("progress.db: it cannot be "), "{looked}");
    assert!(!looked.stdout.contains("damaged"), "{looked}");
}

#[test]
fn a_worktree_shares_the_database() {
    let env = used();
    env.git(["add", "--all"]);
    env.git(["commit", "--quiet", "--message", "all"]);
    env.git(["worktree", "add", "--quiet", "../linked"]);
    let linked = env.beside("linked");
    let looked = doctor(&env, []).folder(&linked).run();
    assert_eq!(wrong(&looked), "exit 0\n\n");
    assert!(
        looked
            .stdout
            .contains("this worktree shares the database of [TMP]/project"),
        "{looked}"
    );
    std::fs::create_dir_all(linked.join(".ralph")).unwrap();
    std::fs::set_permissions(linked.join(".ralph"), std::fs::Permissions::from_mode(0o700)).unwrap();
    std::fs::copy(env.path(DATABASE), linked.join(DATABASE)).unwrap();
    assert_snapshot!(wrong(&doctor(&env, []).folder(&linked).run()), @"
    exit 0
      warning  .ralph/progress.db: it is not used: all worktrees share [TMP]/project/.ralph/progress.db
               → remove it if nothing else needs it
    ");
}
