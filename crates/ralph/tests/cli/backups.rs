//! Tests of database backups: when they are made, what happens without a database, and how one is restored.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use ralph_testkit::{Finished, TestEnv};

use crate::{DATABASE, env};

/// Runs one iteration of an agent that does nothing.
fn run_in(env: &TestEnv, folder: &Path) -> Finished {
    run_with_seed(env, folder, "1")
}

/// Like `run_in`, with another seed for databases that have a run of the first one.
fn run_with_seed(env: &TestEnv, folder: &Path, seed: &str) -> Finished {
    let ran = env
        .ralph(["run", "--agent", "true", "--limit", "1", "--plain"])
        .env("RALPH_SEED", seed)
        .folder(folder)
        .run();
    assert_eq!(ran.code, Some(4), "{ran}");
    ran
}

fn run(env: &TestEnv) -> Finished {
    run_in(env, &env.project())
}

/// A project with a task and a backup.
fn with_backup() -> TestEnv {
    let env = env();
    env.ok(["task", "add", "keep me"]);
    run(&env);
    env
}

/// The backups of all projects, sorted.
fn backups(env: &TestEnv) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let Ok(projects) = std::fs::read_dir(env.beside("home/.local/state/ralph")) else {
        return found;
    };
    for project in projects {
        let Ok(files) = std::fs::read_dir(project.unwrap().path().join("backups")) else {
            continue;
        };
        let paths = files.map(|file| file.unwrap().path());
        found.extend(paths.filter(|path| path.extension().is_some_and(|extension| extension == "db")));
    }
    found.sort();
    found
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_missing_database_is_an_error_with_its_backup() {
    let env = with_backup();
    let [backup] = &backups(&env)[..] else {
        panic!("one backup")
    };
    let shown = backup.display().to_string();
    let shown = shown.split_once("/home/").unwrap().1;
    std::fs::remove_dir_all(env.path(".ralph")).unwrap();
    for arguments in [
        &["task", "list"][..],
        &["task", "add", "another"],
        &["task", "done", "t-1"],
        &["journal", "list"],
        &["learnings", "list"],
        &["status"],
        &["review"],
        &["init"],
        &["run", "--agent", "true"],
    ] {
        let refused = env.ralph(arguments.iter().copied()).run();
        assert_eq!(refused.code, Some(1), "{arguments:?}: {refused}");
        let said = format!("progress.db is missing, but there is a backup: [TMP]/home/{shown}\n");
        assert!(refused.stderr.contains(&said), "{arguments:?}: {refused}");
        assert!(
            refused.stderr.contains(
                "Hint: `ralph doctor --restore-backup` restores it; to start over without it, delete [TMP]/home/"
            ),
            "{refused}"
        );
        assert!(!env.path(DATABASE).exists(), "{arguments:?}");
    }
    let noted = env.ralph(["remember", "still works"]).run();
    assert_eq!(noted.code, Some(0), "{noted}");
    assert_eq!(
        noted.stderr.matches("is missing, but there is a backup").count(),
        1,
        "{noted}"
    );
    assert!(!env.path(DATABASE).exists());
    let doctor = env.ralph(["doctor"]).run();
    assert_eq!(doctor.code, Some(1), "{doctor}");
    assert!(doctor.stdout.contains("it is missing, but has a backup"), "{doctor}");
    std::fs::remove_dir_all(backup.parent().unwrap()).unwrap();
    env.ok(["task", "add", "started over"]);
}

#[test]
fn a_backup_is_restored_after_confirmation() {
    let env = with_backup();
    let refused = env.ralph(["doctor", "--restore-backup"]).run();
    assert_eq!(refused.code, Some(1));
    let said = "Error: confirmation needs a terminal; nothing was changed\n";
    assert!(refused.stderr.starts_with(said), "{refused}");
    env.ok(["task", "add", "after the backup"]);
    let restored = env.ralph(["doctor", "--restore-backup", "--yes"]).run();
    assert_eq!(restored.code, Some(0), "{restored}");
    assert_eq!(restored.stdout, "Database restored: progress-20250120T112000Z.db\n");
    assert!(
        restored
            .stderr
            .contains("The previous database was kept as .ralph/progress.db.replaced-20250120T112000Z."),
        "{restored}"
    );
    let listed = env.ok(["task", "list", "--all"]);
    assert!(
        listed.contains("keep me") && !listed.contains("after the backup"),
        "{listed}"
    );
    std::fs::remove_dir_all(env.path(".ralph")).unwrap();
    env.ok(["doctor", "--restore-backup", "progress-20250120", "--yes"]);
    assert!(env.ok(["task", "list", "--all"]).contains("keep me"));
    assert_eq!((mode(&env.path(".ralph")), mode(&env.path(DATABASE))), (0o700, 0o600));
}

#[test]
fn failed_restores_are_one_line_errors() {
    let refused = |env: &TestEnv, arguments: &[&str]| {
        let refused = env.ralph(arguments.iter().copied()).run();
        assert_eq!(refused.code, Some(1), "{refused}");
        refused.stderr.lines().next().unwrap_or_default().to_owned()
    };
    let empty = env();
    empty.ok(["task", "add", "x"]);
    let said = refused(&empty, &["doctor", "--restore-backup", "--yes"]);
    assert_eq!(said, "Error: there is no backup of this project");
    let env = with_backup();
    let said = refused(&env, &["doctor", "--restore-backup", "other", "--yes"]);
    assert_eq!(said, "Error: there is no single backup named other");
    let backup = backups(&env).remove(0);
    std::fs::File::create(&backup)
        .and_then(|mut file| std::io::Write::write_all(&mut file, b"nonsense"))
        .unwrap();
    let database = || std::fs::read(env.path(DATABASE)).unwrap();
    let before = database();
    let finished = env.ralph(["doctor", "--restore-backup", "--yes"]).run();
    assert_eq!(finished.code, Some(1));
    let said = "progress-20250120T112000Z.db is not an SQLite database; nothing was changed\n";
    assert!(
        finished.stderr.starts_with("Error: ") && finished.stderr.contains(said),
        "{finished}"
    );
    assert!(!finished.stderr.contains("Hint:"), "{finished}");
    assert!(database() == before);
    let older = backup.with_file_name("progress-20250119T000000Z.db");
    std::fs::copy(env.path(DATABASE), older).unwrap();
    let finished = env.ralph(["doctor", "--restore-backup", "--yes"]).run();
    let hint = "Hint: `ralph doctor --restore-backup progress-20250119T000000Z.db` restores the one from 2025-01-19 00:00 UTC\n";
    assert!(finished.stderr.contains(hint), "{finished}");
}

#[test]
fn doctor_offers_the_backup_of_a_damaged_database() {
    let restore = "`ralph doctor --restore-backup` restores the backup of 2025-01-20 11:20 UTC";
    let [no_journal, no_tasks, no_entries] =
        ["drop table journal", "delete from tasks", "delete from journal"].map(crate::other_client);
    let damages: [(&str, &str, &str); 6] = [
        (
            "garbage",
            "printf 'no database, but long enough %0100d' 1 > \"$DB\"",
            "it is not an SQLite database",
        ),
        (
            "pages",
            "dd if=/dev/urandom of=\"$DB\" bs=4096 seek=2 count=40 conv=notrunc 2>&1",
            "it is damaged: ",
        ),
        ("empty", ": > \"$DB\"", "it is empty, but has a backup: "),
        ("table", &no_journal, "it is damaged: table journal is missing"),
        (
            "tasks",
            &no_tasks,
            "it has 0 tasks and 1 journal entry, its newest backup 1 task and 0",
        ),
        (
            "entries",
            &no_entries,
            "it has 1 task and 0 journal entries, its newest backup 1 task and 1",
        ),
    ];
    for (name, damage, expected) in damages {
        let env = with_backup();
        if name == "entries" {
            std::fs::remove_file(&backups(&env)[0]).unwrap();
            run_with_seed(&env, &env.project(), "2");
        }
        let script = format!("DB={DATABASE}; rm -f $DB-wal $DB-shm; {damage}");
        let done = env.sh(&script).run();
        assert_eq!(done.code, Some(0), "{name}: {done}");
        let doctor = env.ralph(["doctor"]).run();
        assert!(doctor.stdout.contains(expected), "{name}: {doctor}");
        let restores =
            doctor.stdout.contains(restore) || doctor.stdout.contains("`ralph doctor --restore-backup` restores it");
        assert!(restores, "{name}: {doctor}");
    }
}

/// A run that lasts until it is killed.
struct Live(Child);

impl Live {
    fn begin(env: &TestEnv, folder: &Path) -> Self {
        let mut command = env
            .ralph(["run", "--agent", "sleep 600", "--plain"])
            .env("RALPH_SEED", "2")
            .folder(folder)
            .command();
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let live = Self(child.spawn().unwrap());
        wait_until("the run claims its task", || {
            env.ralph(["task", "list", "--json"])
                .run()
                .stdout
                .contains("in_progress")
        });
        live
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn restore_is_refused_while_any_worktree_runs() {
    let env = env();
    env.git(["init", "-q"]);
    env.git(["commit", "-q", "--allow-empty", "-m", "first"]);
    let side = env.beside("side");
    env.git(["worktree", "add", "-q", side.to_str().unwrap()]);
    env.ok(["task", "add", "one"]);
    run(&env);
    let live = Live::begin(&env, &side);
    let refused = env.ralph(["doctor", "--restore-backup", "--yes"]).run();
    assert_eq!(refused.code, Some(1), "{refused}");
    assert!(refused.stderr.contains("so nothing was restored"), "{refused}");
    drop(live);
    env.ok(["doctor", "--restore-backup", "--yes"]);
}

#[test]
fn worktrees_and_moves_keep_the_id_copies_do_not() {
    let env = env();
    env.git(["init", "-q"]);
    env.git(["commit", "-q", "--allow-empty", "-m", "first"]);
    env.ok(["task", "add", "one"]);
    for arguments in [
        &["task", "list"][..],
        &["status"],
        &["memory", "list"],
        &["doctor", "--json"],
    ] {
        drop(env.ralph(arguments.iter().copied()).run());
    }
    let id_file = env.path(".git/ralph/project");
    assert!(!id_file.exists(), "nothing has made a backup");
    run(&env);
    let recorded = std::fs::read_to_string(&id_file).unwrap();
    let (id, path) = recorded.split_once('\n').unwrap();
    assert_eq!(
        (id.len(), path.trim_end()),
        (32, env.project().canonicalize().unwrap().to_str().unwrap())
    );
    let lost = |folder: &Path| {
        let listed = env.ralph(["task", "list"]).folder(folder).run();
        listed.stderr.contains("there is a backup")
    };
    // A linked worktree has the same database, and so the same backups.
    let side = env.beside("side");
    env.git(["worktree", "add", "-q", side.to_str().unwrap()]);
    std::fs::remove_dir_all(env.path(".ralph")).unwrap();
    assert!(lost(&env.project()) && lost(&side));
    let clone = env.beside("clone");
    env.git(["clone", "-q", ".", clone.to_str().unwrap()]);
    let copy = env.beside("copy");
    assert!(env.sh("cp -r . ../copy").run().code == Some(0));
    assert!(!lost(&clone) && !lost(&copy));
    assert!(env.ralph(["task", "add", "two"]).folder(&copy).run().code == Some(0));
    run_in(&env, &copy);
    let of_copy = std::fs::read_to_string(copy.join(".git/ralph/project")).unwrap();
    assert_ne!(of_copy.split_once('\n').unwrap().0, id);
    assert_eq!(std::fs::read_to_string(&id_file).unwrap(), recorded);
    assert_eq!(backups(&env).len(), 2);
    // If the original is gone, the moved project keeps the id.
    let moved = env.beside("moved");
    std::fs::rename(env.project(), &moved).unwrap();
    assert!(lost(&moved));
    std::fs::create_dir(env.project()).unwrap();
    let restored = env.ralph(["doctor", "--restore-backup", "--yes"]).folder(&moved).run();
    assert_eq!(restored.code, Some(0), "{restored}");
}

#[test]
fn one_copy_keeps_the_id_of_a_removed_project() {
    let env = env();
    env.git(["init", "-q"]);
    env.git(["commit", "-q", "--allow-empty", "-m", "first"]);
    env.ok(["task", "add", "one"]);
    run(&env);
    assert_eq!(env.sh("cp -r . ../a && cp -r . ../b").run().code, Some(0));
    let [a, b] = ["a", "b"].map(|name| env.beside(name));
    std::fs::remove_dir_all(env.project()).unwrap();
    let id = |folder: &Path| {
        let recorded = std::fs::read_to_string(folder.join(".git/ralph/project")).unwrap();
        recorded.split_once('\n').unwrap().0.to_owned()
    };
    let of_project = id(&a);
    run_with_seed(&env, &a, "2");
    run_with_seed(&env, &b, "2");
    assert_eq!(id(&a), of_project);
    assert_ne!(id(&b), of_project);
    // A copy at the original's path is still a copy.
    assert_eq!(env.sh("cp -r . ../project").folder(&b).run().code, Some(0));
    let path = env.project().canonicalize().unwrap();
    env.write(".git/ralph/project", format!("{of_project}\n{}\n", path.display()));
    run_with_seed(&env, &env.project(), "3");
    assert!(id(&env.project()) != of_project && id(&env.project()) != id(&b));
}

#[test]
fn a_failed_backup_is_only_a_warning() {
    let env = env();
    env.ok(["task", "add", "one"]);
    env.write("file", "");
    let ran = env
        .ralph(["run", "--agent", "true", "--limit", "1", "--plain"])
        .env("XDG_STATE_HOME", env.path("file"))
        .run();
    assert_eq!(ran.code, Some(4), "{ran}");
    assert!(
        ran.stderr.contains("Warning: Cannot back up the database: cannot "),
        "{ran}"
    );
}

#[test]
fn other_users_cannot_read_ralphs_files() {
    let env = env();
    env.ok(["init"]);
    let folder = env.path(".ralph");
    assert_eq!((mode(&folder), mode(&env.path(DATABASE))), (0o700, 0o600));
    set_mode(&folder, 0o755);
    set_mode(&env.path(DATABASE), 0o644);
    let doctor = env.ralph(["doctor"]).run();
    let said = ".ralph: other users can read it, and 2 more files";
    assert!(doctor.stdout.contains(said), "{doctor}");
    env.ok(["task", "add", "one"]);
    run(&env);
    assert_eq!((mode(&folder), mode(&env.path(DATABASE))), (0o700, 0o600));
    assert!(!env.ralph(["doctor"]).run().stdout.contains("other users can read"));
    let of_notes = crate::env();
    of_notes.ok(["remember", "a note"]);
    assert_eq!(
        (mode(&of_notes.path(".ralph")), mode(&of_notes.path(DATABASE))),
        (0o700, 0o600)
    );
}

/// Returns true if tests may create namespaces on this machine.
fn has_namespaces(env: &TestEnv) -> bool {
    env.sh("unshare -Urmpf --mount-proc true").run().code == Some(0)
}

#[test]
fn a_run_in_another_pid_namespace_counts_as_alive() {
    let env = env();
    if !has_namespaces(&env) {
        return;
    }
    let task = env.ok(["task", "add", "one"]);
    let script = "exec unshare -Urpf --kill-child --mount-proc \"$RALPH\" run --agent 'sleep 600' --plain";
    let mut command = env.sh(script).command();
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let _live = Live(command.spawn().unwrap());
    wait_until("the run claims its task", || {
        env.ralph(["task", "list", "--json"])
            .run()
            .stdout
            .contains("in_progress")
    });
    let refused = env.ralph(["task", "reset", task.trim_end()]).run();
    assert_eq!(refused.code, Some(1), "{refused}");
}

#[test]
fn a_run_waits_for_a_full_disk_and_doctor_reports_it() {
    let env = env();
    if !has_namespaces(&env) {
        return;
    }
    let script = r#"
        mkdir full && mount -t tmpfs -o size=4m none full && cd full || exit 1
        "$RALPH" --root . task add one
        dd if=/dev/zero of=filler bs=4k 2>/dev/null
        "$RALPH" --root . doctor
        "$RALPH" --root . run --agent true --limit 1 --plain 2> ../said &
        while ! grep -q "disk is full" ../said; do sleep 0.1; done
        rm filler
        wait $!
        echo "ended with $?"
        cat ../said
    "#;
    let inside = format!("exec unshare -Urm sh -c '{}'", script.replace('\'', "'\\''"));
    let ran = env.sh(&inside).run();
    assert!(
        ran.stdout.contains("the disk is full: nothing can be recorded"),
        "{ran}"
    );
    assert!(ran.stdout.contains("The disk is full. The run is paused"), "{ran}");
    assert!(
        ran.stdout.contains("There is disk space again; the run continues."),
        "{ran}"
    );
    assert!(ran.stdout.contains("ended with 4"), "{ran}");
}
