//! Tests of doctor's checks of the database and the index.

use std::os::unix::fs::PermissionsExt;

use ralph_testkit::TestEnv;

use super::{INDEX, STAMP, check, checked_and_fixed, doctor, healthy, only_checked, used, wrong};
use crate::{DATABASE, add, foreign_database};

#[test]
fn foreign_and_damaged_databases_are_reported() {
    let env = healthy();
    let newer = newer(&env);
    let report = |bytes: Option<Vec<u8>>| {
        for ending in ["", "-wal", "-shm"] {
            drop(std::fs::remove_file(env.path(&format!("{DATABASE}{ending}"))));
        }
        if let Some(bytes) = bytes {
            env.write(DATABASE, bytes);
            std::fs::set_permissions(env.path(DATABASE), std::fs::Permissions::from_mode(0o600)).unwrap();
        }
        only_checked(&env)
    };
    let aside = "`mv .ralph/progress.db .ralph/progress.db.other`";
    check(
        &report(None),
        0,
        &[["note", "there is no database yet", "`ralph init`"]],
    );
    for (bytes, problem, remedies) in [
        (
            foreign_database(),
            "it belongs to another tool, so no history is recorded",
            ["`ralph import refound`", aside],
        ),
        (
            b"select * from notes;\n".to_vec(),
            "it is not an SQLite database, so no history is recorded",
            [aside, ""],
        ),
        (newer, "newer version of ralph (format 99, ", ["update ralph", ""]),
    ] {
        let looked = report(Some(bytes));
        for remedy in remedies {
            check(&looked, 1, &[["error", problem, remedy]]);
        }
    }
    let whole = whole_database();
    for bytes in [whole[..8192].to_vec(), scribbled(whole)] {
        let looked = report(Some(bytes));
        assert!(
            looked.starts_with("exit 1\n") && looked.contains("it is damaged: "),
            "{looked}"
        );
    }
}

/// A database of ours without a write-ahead log.
fn whole_database() -> Vec<u8> {
    let env = healthy();
    for number in 0..30 {
        add(&env, &format!("{number} {}", "long ".repeat(8000)));
    }
    std::fs::read(env.path(DATABASE)).unwrap()
}

/// A database with a newer format than this program knows.
fn newer(env: &TestEnv) -> Vec<u8> {
    let mut bytes = std::fs::read(env.path(DATABASE)).unwrap_or_else(|_| whole_database());
    bytes[63] = 99;
    bytes
}

/// A database with damaged pages.
fn scribbled(mut bytes: Vec<u8>) -> Vec<u8> {
    let pages = bytes.len() / 4096;
    assert!(pages > 8, "{pages}");
    bytes[2 * 4096..].fill(0x5a);
    bytes
}

#[test]
fn a_log_kept_by_a_reader_is_reported() {
    let env = healthy();
    #[expect(clippy::disallowed_methods, reason = "a client that is not ours")]
    let connect = || rusqlite::Connection::open(env.path(DATABASE)).unwrap();
    let (reader, writer) = (connect(), connect());
    reader.execute_batch("BEGIN; SELECT count(*) FROM tasks").unwrap();
    writer
        .execute_batch("PRAGMA wal_autocheckpoint = 0; CREATE TABLE guests AS SELECT zeroblob(2000000) AS large")
        .unwrap();
    let looked = wrong(&doctor(&env, []).run());
    let log = ".ralph/progress.db-wal: another program reads the database, so its write-ahead log (1.9 MiB)";
    check(&looked, 0, &[["warning", log, "close that program"]]);
    reader.execute_batch("COMMIT").unwrap();
    assert_eq!(wrong(&doctor(&env, []).run()), "exit 0\n\n");
}

#[test]
fn an_untrusted_index_is_rebuilt() {
    let env = used();
    env.write(STAMP, "another stamp");
    let (looked, fixed) = checked_and_fixed(&env);
    check(&looked, 0, &[["note", "it will be rebuilt", ""]]);
    check(&fixed, 0, &[["fixed", "it will be rebuilt", "rebuilt the index"]]);
    env.write(INDEX, "no index at all");
    let (_, fixed) = checked_and_fixed(&env);
    assert!(fixed.starts_with("exit 0\n  fixed "), "{fixed}");
    assert_eq!(only_checked(&env), "exit 0\n\n");
    assert!(env.ok(["memory", "search", "tea"]).contains("tea is green"));
}

#[test]
fn an_index_of_another_tool_is_not_touched() {
    let env = healthy();
    env.write(INDEX, foreign_database());
    let aside = "`mv .ralph/index.db .ralph/index.db.other`";
    let foreign = ".ralph/index.db: it belongs to another tool";
    check(&only_checked(&env), 1, &[["error", foreign, aside]]);
    std::fs::remove_file(env.path(INDEX)).unwrap();
    std::fs::create_dir(env.path(INDEX)).unwrap();
    check(
        &only_checked(&env),
        1,
        &[["error", ".ralph/index.db: not a file", "move it away"]],
    );
}

#[test]
fn a_read_only_folder_is_not_reported_as_damage() {
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
    let looked = wrong(&doctor(&env, []).folder(&linked).run());
    let unused = ".ralph/progress.db: not used: all worktrees share [TMP]/project/.ralph/progress.db";
    check(&looked, 0, &[["warning", unused, "remove it"]]);
}
