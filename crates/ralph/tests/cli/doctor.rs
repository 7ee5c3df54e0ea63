//! `ralph doctor`.

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use insta::assert_snapshot;
use ralph_testkit::{Finished, Invocation, TestEnv};

use crate::{DATABASE, GUARDRAILS, MEMORIES, add, changes, env, foreign_database};

const INDEX: &str = ".ralph/index.db";
const SEAL: &str = ".ralph/index.db.seal";

/// A project after `init`, in a git repository.
fn healthy() -> TestEnv {
    let env = env();
    env.git(["init", "--quiet"]);
    env.ok(["init"]);
    env
}

/// The same with a note and an index.
fn used() -> TestEnv {
    let env = healthy();
    add(&env, "tea is green");
    env.ok(["memory", "search", "tea"]);
    env
}

/// Doctor at the present time, with a PATH that has git, an agent and this program, and nothing else.
fn doctor<'a>(env: &TestEnv, arguments: impl IntoIterator<Item = &'a str>) -> Invocation {
    let programs = env.beside("programs");
    if !programs.exists() {
        std::fs::create_dir(&programs).unwrap();
        let git = ["/usr/local/bin/git", "/usr/bin/git", "/bin/git"];
        let git = git.into_iter().find(|git| std::path::Path::new(git).exists()).unwrap();
        symlink(git, programs.join("git")).unwrap();
        symlink(env!("CARGO_BIN_EXE_ralph"), programs.join("ralph")).unwrap();
        symlink("/bin/sh", programs.join("claude")).unwrap();
    }
    env.ralph(["doctor"].into_iter().chain(arguments))
        .unfixed()
        .env("PATH", programs)
}

/// What doctor finds wrong: everything but what is as it should be.
fn wrong(finished: &Finished) -> String {
    let titles = |line: &&str| line.starts_with(' ') && !line.starts_with("  ok ");
    let lines: Vec<&str> = finished.stdout.lines().filter(titles).collect();
    format!(
        "exit {}\n{}\n{}",
        finished.code.unwrap(),
        lines.join("\n"),
        finished.stderr
    )
}

/// Looks without and then with `--fix`: without it nothing changes, and with it twice no more than once.
#[track_caller]
fn looked_and_fixed(env: &TestEnv) -> (String, String) {
    let before = env.tree();
    let looked = doctor(env, []).run();
    assert_eq!(changes(&before, &env.tree()), [""; 0], "doctor only looks");
    let fixed = doctor(env, ["--fix"]).run();
    let after = env.tree();
    let again = doctor(env, ["--fix"]).run();
    assert_eq!(
        changes(&after, &env.tree()),
        [""; 0],
        "the second time there is nothing to mend"
    );
    assert!(!again.stdout.contains("mended"), "{again}");
    (wrong(&looked), wrong(&fixed))
}

/// The same for what `--fix` does nothing about.
#[track_caller]
fn only_looked(env: &TestEnv) -> String {
    let (looked, fixed) = looked_and_fixed(env);
    assert_eq!(looked, fixed);
    looked
}

#[test]
fn a_project_after_init_is_fine() {
    let env = healthy();
    assert_snapshot!(doctor(&env, []).run(), @"
    exit 0
    --- stdout
    configuration
      ok       .ralph.toml is fine
    environment
      ok       no variable is in the way
    notes
      ok       .agent/memories.md is fine: 0 memories
      ok       .agent/guardrails.md is fine: 0 guardrails
    database
      ok       .ralph/progress.db is whole: 0 changes on record
    index
      ok       there is no index yet; the next question makes it
    git
      ok       git keeps the notes, and nothing that it must not
    merges
      ok       git merges notes entry by entry
    agent
      ok       on PATH: claude
      ok       `ralph` on PATH is this program
    claude
      ok       Claude Code is not set up here; `ralph setup claude` does that

    Everything is fine.
    ");
    assert_eq!(only_looked(&env), "exit 0\n\n");
    assert_eq!(doctor(&env, ["--json"]).run().stdout, "[]\n");
    let env = used();
    assert_eq!(only_looked(&env), "exit 0\n\n");
}

#[test]
fn an_empty_folder_is_no_reason_to_complain() {
    let env = env();
    assert_snapshot!(only_looked(&env), @"
    exit 0
      note     .ralph/progress.db: there is no database yet, so there is no history of the notes
               → `ralph init`, or the first note, makes it
    ");
    assert_eq!(env.tree(), []);
}

#[test]
fn a_wrong_configuration_is_told_whole() {
    let env = healthy();
    env.write(
        ".ralph.toml",
        "[memories]\nbudgt = 3\nbudget = -1\npath = \"~/notes.md\"\n[execution]\nlearn = true\n[guardrails]\npath = \
         \"../elsewhere/g.md\"\n[colours]\nred = 1\n[agent]\ncommand = \"no-such-agent --fast\"\n",
    );
    let looked = doctor(&env, [])
        .env("RALPH_GUARDRAILS_BUGDET", "1")
        .env("RALPH_SCRATCHPAD_BUDGET", "lots")
        .env("RALPH_NOW", "yesterday")
        .env("RALPH_SEED", "4")
        .env("HOME", "")
        .run();
    assert_snapshot!(wrong(&looked), @r#"
    exit 1
      error    .ralph.toml:3: memories.budget is -1; allowed is a whole number from 0 to 4294967295
               → set it to what is allowed, or take it out; until then nearly every command fails
      error    RALPH_SCRATCHPAD_BUDGET: scratchpad.budget is "lots"; allowed is a whole number from 0 to 4294967295
               → set it to what is allowed, or take it out; until then nearly every command fails
      error    .ralph.toml:2: memories.budgt is not known, so it has no effect
               → memories.budget may have been meant
      error    .ralph.toml:9: [colours] is not known, so it has no effect
               → take it out; known are memories, guardrails, scratchpad, context, execution, agent, verify, limits, strategy, learning, git, runs, ui
      note     .ralph.toml:6: execution.learn has no effect; it is accepted from earlier tools
               → take it out
      warning  RALPH_GUARDRAILS_BUGDET: there is no such variable, so it has no effect
               → RALPH_GUARDRAILS_BUDGET may have been meant
      warning  memories.path is "~/notes.md", and ~ does not stand for your folder here
               → write the whole path, or one from the project's root
      warning  memories.path is "~/notes.md", and there is no such folder
               → the first note makes it; if that is not wanted, mend the path
      warning  guardrails.path is "../elsewhere/g.md", and there is no such folder
               → the first note makes it; if that is not wanted, mend the path
      note     guardrails.path is "../elsewhere/g.md", which is outside the project
               → git keeps no history of it here, and every worktree has the same one
      error    RALPH_NOW: it is "yesterday", which is not an RFC 3339 time: failed to parse four digit integer as year: invalid digit, expected 0-9 but got y
               → unset RALPH_NOW; until then nearly every command fails
      warning  RALPH_SEED: it is set to "4", which is for tests: ids are not random
               → unset RALPH_SEED
      note     HOME: it is not set, so git and agents do not find their settings
               → set it to your folder
      warning  .agent/memories.md: it is not read, because ~/notes.md is used
               → move what it says to ~/notes.md, and remove it
      warning  .agent/guardrails.md: it is not read, because ../elsewhere/g.md is used
               → move what it says to ../elsewhere/g.md, and remove it
      error    agent.command starts "no-such-agent", and there is no such program
               → install it, put its folder into PATH, or mend the key
    "#);
}

#[test]
fn a_configuration_that_cannot_be_read_does_not_stop_it() {
    let env = healthy();
    env.write(".ralph.toml", "[memories]\nbudget = \n");
    assert_snapshot!(only_looked(&env), @"
    exit 1
      error    .ralph.toml:2:10: this is not TOML: string values must be quoted, expected literal string
               → mend it there; until then nearly every command fails, and doctor takes the defaults
    ");
    env.write(".ralph.toml", b"# \xff\n");
    assert_snapshot!(only_looked(&env), @"
    exit 1
      error    .ralph.toml: it is not UTF-8 text (byte 2)
               → .ralph.toml has to be a file of UTF-8 text that you may read
    ");
    std::fs::remove_file(env.path(".ralph.toml")).unwrap();
    std::fs::create_dir(env.path(".ralph.toml")).unwrap();
    assert_snapshot!(only_looked(&env), @"
    exit 1
      error    .ralph.toml: cannot read [TMP]/project/.ralph.toml: is a directory
               → .ralph.toml has to be a file of UTF-8 text that you may read
    ");
}

#[test]
fn of_two_files_the_one_that_is_used_is_named() {
    let env = healthy();
    env.write("memories.md", "# Memories\n");
    symlink(env.path(GUARDRAILS), env.path("guardrails.md")).unwrap();
    assert_snapshot!(only_looked(&env), @"
    exit 0
      warning  memories.md: it is not read, because .agent/memories.md is used
               → move what it says to .agent/memories.md, and remove it
    ");
}

#[test]
fn what_validate_reports_is_reported_and_cut_short() {
    let env = healthy();
    let broken: String = (1..=9).map(|n| format!("### mem-{n}\n> x\n")).collect();
    env.write(
        MEMORIES,
        format!("## Fixes\n### mem-1-abcd\n> a\n### mem-1-abcd\n> b\n{broken}"),
    );
    env.write(GUARDRAILS, "### Sign: Care\n- **Trigger**: x\n- **Instruction**: y\n");
    assert_snapshot!(only_looked(&env), @r#"
    exit 1
      warning  .agent/memories.md:4: the id mem-1-abcd stands here a second time
               → give one of them another id, or remove it, in the file
      error    .agent/memories.md:6: "mem-1" is not a valid id, so this block is not read
               → mend it in the file
      error    .agent/memories.md:8: "mem-2" is not a valid id, so this block is not read
               → mend it in the file
      error    .agent/memories.md:10: "mem-3" is not a valid id, so this block is not read
               → mend it in the file
      error    .agent/memories.md:12: "mem-4" is not a valid id, so this block is not read
               → mend it in the file
      error    .agent/memories.md: and 5 more
               → `ralph memory validate` lists all
      note     .agent/guardrails.md: 1 Sign has the old form of guardrails, which can be read but not changed
               → `ralph guardrails migrate --dry-run`
    "#);
}

#[test]
fn files_that_are_no_text_are_named() {
    let env = healthy();
    env.write(MEMORIES, b"# Memories\n\xff\xfe\n## Fixes\n### mem-1-abcd\n> fine\n");
    env.write(GUARDRAILS, b"# Guardrails\n\0\n");
    env.write(".agent/scratchpad.md", b"\n\n\x80");
    assert_snapshot!(only_looked(&env), @"
    exit 0
      warning  .agent/memories.md:2: this is not UTF-8 text
               → save the file as UTF-8; what is not text may be shown wrongly, and is kept as it is
      warning  .agent/guardrails.md:2: this is a NUL, which no text holds
               → save the file as UTF-8; what is not text may be shown wrongly, and is kept as it is
      warning  .agent/scratchpad.md:3: this is not UTF-8 text
               → save the file as UTF-8; what is not text may be shown wrongly, and is kept as it is
    ");
    for name in [MEMORIES, GUARDRAILS] {
        std::fs::remove_file(env.path(name)).unwrap();
    }
    std::fs::create_dir(env.path(MEMORIES)).unwrap();
    assert_eq!(env.sh("mkfifo .agent/guardrails.md").run().code, Some(0));
    std::fs::remove_file(env.path(".agent/scratchpad.md")).unwrap();
    let looked = doctor(&env, []).run();
    assert_snapshot!(wrong(&looked), @"
    exit 1
      error    .agent/memories.md: it cannot be read: is a directory
               → put a file of text there that you may read
      error    .agent/guardrails.md: it cannot be read: it is not a file
               → put a file of text there that you may read
    ");
}

#[test]
fn what_killed_processes_left_is_cleared_away_and_texts_are_kept() {
    let env = healthy();
    std::fs::hard_link(env.path(MEMORIES), env.path(".agent/.memories.md.ralph-new")).unwrap();
    env.write(".agent/.guardrails.md.ralph-new", "what an editor saved");
    env.write(".agent/memories.md.kept", "text of a person");
    env.write(".agent/memories.md.bak-2", "an old file");
    let (looked, fixed) = looked_and_fixed(&env);
    assert_snapshot!(looked, @"
    exit 0
      note     .agent/.memories.md.ralph-new: a process that was killed left this; the next change clears it away
               → `ralph doctor --fix` does so now
      note     .agent/memories.md.bak-2: this is the file as it was before it was made anew
               → remove it when you do not need it any more
      warning  .agent/memories.md.kept: this is what somebody saved at the same time as ralph, and nobody has merged it
               → take over into .agent/memories.md what is missing there, and remove it
      note     .agent/.guardrails.md.ralph-new: a process that was killed left this; the next change clears it away
               → `ralph doctor --fix` does so now
    ");
    assert_snapshot!(fixed, @"
    exit 0
      mended   .agent/.memories.md.ralph-new: a process that was killed left this; the next change clears it away
               → cleared away what was left beside .agent/memories.md
      mended   .agent/.guardrails.md.ralph-new: a process that was killed left this; the next change clears it away
               → cleared away what was left beside .agent/guardrails.md
      note     .agent/memories.md.bak-2: this is the file as it was before it was made anew
               → remove it when you do not need it any more
      warning  .agent/memories.md.kept: this is what somebody saved at the same time as ralph, and nobody has merged it
               → take over into .agent/memories.md what is missing there, and remove it
      warning  .agent/guardrails.md.kept: this is what somebody saved at the same time as ralph, and nobody has merged it
               → take over into .agent/guardrails.md what is missing there, and remove it
    Warning: Somebody saved the file at the same time, and that text could not be merged; it is kept in [TMP]/project/.agent/guardrails.md.kept.
    ");
    assert_eq!(env.read(".agent/guardrails.md.kept"), "what an editor saved");
    assert_eq!(env.read(".agent/memories.md.kept"), "text of a person");
}

#[test]
fn notes_that_vanished_are_named() {
    let env = healthy();
    let first = add(&env, "one");
    env.write(MEMORIES, "# Memories\n");
    assert_snapshot!(only_looked(&env), @"
    exit 0
      warning  .agent/memories.md: 1 note is gone without having been deleted: mem-1737372000-910a
               → `ralph memory restore --list` lists them, `ralph memory restore ID` brings one back
    ");
    // Once it was reported it is only worth a note.
    env.ok(["memory", "list"]);
    assert_snapshot!(only_looked(&env), @"
    exit 0
      note     .agent/memories.md: 1 note is gone without having been deleted: mem-1737372000-910a
               → `ralph memory restore --list` lists them, `ralph memory restore ID` brings one back
    ");
    env.ok(["memory", "restore", &first]);
    assert_eq!(only_looked(&env), "exit 0\n\n");
}

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
                       → `mv .ralph/progress.db .ralph/progress.db.other`, and ralph starts a history of its own
            "),
            "text" => assert_snapshot!(looked, @"
            exit 1
              error    .ralph/progress.db: it is not an SQLite database, so no history is recorded
                       → `mv .ralph/progress.db .ralph/progress.db.other`, and ralph starts a history of its own
            "),
            "newer" => assert_snapshot!(looked, @"
            exit 1
              error    .ralph/progress.db: a newer ralph wrote it (its format is 99, this one knows up to 1), so no history is recorded
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
fn a_long_write_ahead_log_and_one_that_is_off_are_named() {
    let env = healthy();
    let log = std::fs::OpenOptions::new()
        .append(true)
        .open(env.path(&format!("{DATABASE}-wal")))
        .unwrap();
    log.set_len(20 << 20).unwrap();
    assert_snapshot!(wrong(&doctor(&env, []).run()), @"
    exit 0
      warning  .ralph/progress.db-wal: its write-ahead log has grown to 20 MiB
               → close the program that keeps the database open; the next change then folds the log in
    ");
    let env = healthy();
    for ending in ["-wal", "-shm"] {
        drop(std::fs::remove_file(env.path(&format!("{DATABASE}{ending}"))));
    }
    let mut bytes = std::fs::read(env.path(DATABASE)).unwrap();
    bytes[18..20].fill(1);
    env.write(DATABASE, bytes);
    let before = env.tree();
    assert_snapshot!(wrong(&doctor(&env, []).run()), @"
    exit 0
      note     .ralph/progress.db: its write-ahead log is switched off; the next change switches it on
    ");
    assert_eq!(changes(&before, &env.tree()), [""; 0]);
    assert_snapshot!(wrong(&doctor(&env, ["--fix"]).run()), @"
    exit 0
      mended   .ralph/progress.db: its write-ahead log is switched off; the next change switches it on
               → brought the database up to date
    ");
    assert_eq!(only_looked(&env), "exit 0\n\n");
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
fn ignore_lines_are_added_and_what_git_keeps_wrongly_is_named() {
    let env = healthy();
    env.write(".gitignore", "target\n.agent/*.md\n!.ralph/progress.db\n");
    env.write(".agent/scratchpad.md", "now");
    env.git([
        "add",
        "--force",
        DATABASE,
        ".agent/scratchpad.md",
        ".agent/memories.md.lock",
        GUARDRAILS,
    ]);
    let (looked, fixed) = looked_and_fixed(&env);
    assert_snapshot!(looked, @r#"
    exit 1
      warning  .gitignore:2: the line ".agent/*.md" keeps memories out of git
               → take it out, or add `!.agent/memories.md` below it; they are meant to be in git
      warning  .gitignore: git is not told to leave .ralph/progress.db*, .ralph/index.db*, .ralph/runs/, .ralph/*hook-trouble.json*, and 7 others alone
               → `ralph doctor --fix`, or `ralph init`, adds what is missing
      error    .ralph/progress.db: git keeps the database, so a checkout replaces it with an old one
               → take it out with `git rm --cached`, which leaves the files, and commit that
      warning  .agent/memories.md.lock, .agent/scratchpad.md: git keeps what is of use only here, so it gets in the way of checkouts and merges
               → take it out with `git rm --cached`, which leaves the files, and commit that
    "#);
    assert_snapshot!(fixed, @r#"
    exit 1
      mended   .gitignore: git is not told to leave .ralph/progress.db*, .ralph/index.db*, .ralph/runs/, .ralph/*hook-trouble.json*, and 7 others alone
               → added 12 lines to .gitignore
      warning  .gitignore:2: the line ".agent/*.md" keeps memories out of git
               → take it out, or add `!.agent/memories.md` below it; they are meant to be in git
      error    .ralph/progress.db: git keeps the database, so a checkout replaces it with an old one
               → take it out with `git rm --cached`, which leaves the files, and commit that
      warning  .agent/memories.md.lock, .agent/scratchpad.md: git keeps what is of use only here, so it gets in the way of checkouts and merges
               → take it out with `git rm --cached`, which leaves the files, and commit that
    "#);
    env.write(".gitignore", format!("{}!/.ralph/index.db\n", env.read(".gitignore")));
    let looked = only_looked(&env);
    assert!(
        looked.contains("another line takes back that .ralph/index.db* is ignored"),
        "{looked}"
    );
}

#[test]
fn a_project_without_init_lacks_only_the_merges() {
    let env = env();
    env.git(["init", "--quiet"]);
    add(&env, "a note");
    let (looked, fixed) = looked_and_fixed(&env);
    assert_snapshot!(looked, @"
    exit 0
      note     .gitattributes: git merges notes as text: it lacks .agent/memories.md merge=ralph, .agent/guardrails.md merge=ralph
               → `ralph doctor --fix`, or `ralph init`, sets it up
    ");
    assert_snapshot!(fixed, @"
    exit 0
      mended   .gitattributes: git merges notes as text: it lacks .agent/memories.md merge=ralph, .agent/guardrails.md merge=ralph
               → added 2 lines to .gitattributes, set merge.ralph.driver in git's configuration
    ");
    assert_eq!(env.git(["config", "merge.ralph.name"]), "notes, entry by entry\n");
}

#[test]
fn half_of_what_makes_git_merge_notes_is_a_warning() {
    let clone = healthy();
    clone.git(["config", "--unset", "merge.ralph.driver"]);
    let (looked, fixed) = looked_and_fixed(&clone);
    assert_snapshot!(looked, @"
    exit 0
      warning  git's configuration here has no merge.ralph.driver, or an outdated one; a clone does not bring it along
               → `ralph doctor --fix`, or `ralph init`, sets it up
    ");
    assert_snapshot!(fixed, @"
    exit 0
      mended   git's configuration here has no merge.ralph.driver, or an outdated one; a clone does not bring it along
               → set merge.ralph.driver in git's configuration
    ");
    let env = healthy();
    env.write(".gitattributes", "*.md text\n");
    let (looked, _) = looked_and_fixed(&env);
    assert_snapshot!(looked, @"
    exit 0
      warning  .gitattributes: git merges notes as text: it lacks .agent/memories.md merge=ralph, .agent/guardrails.md merge=ralph
               → `ralph doctor --fix`, or `ralph init`, sets it up
    ");
    let env = healthy();
    env.write(".gitattributes", "*.md merge=union\n");
    env.git(["config", "merge.ralph.driver", "mine %A"]);
    assert_snapshot!(only_looked(&env), @r#"
    exit 0
      warning  .gitattributes: git's attributes say `.agent/memories.md merge=union`, so it does not merge entry by entry
               → make that merge=ralph
      warning  .gitattributes: git's attributes say `.agent/guardrails.md merge=union`, so it does not merge entry by entry
               → make that merge=ralph
      warning  merge.ralph.driver is "mine %A", which is not ralph's own
               → `git config --unset merge.ralph.driver`, then `ralph doctor --fix`
    "#);
    assert_eq!(env.git(["config", "merge.ralph.driver"]), "mine %A\n");
}

#[test]
fn what_text_merges_leave_in_a_file_is_named() {
    let env = healthy();
    env.write(
        MEMORIES,
        "## Fixes\n<<<<<<< ours\n### mem-1-abcd\n> one\n=======\n### mem-2-abcd\n> two\n>>>>>>> theirs\n",
    );
    assert_snapshot!(only_looked(&env), @"
    exit 1
      error    .agent/memories.md:2: a conflict of a merge was left in the file, and at most one side of it is read; settle it and remove the marker lines
               → mend it in the file
    ");
}

#[test]
fn ignore_lines_that_come_from_a_pipe_are_not_waited_for() {
    let env = healthy();
    for name in [".gitignore", ".gitattributes"] {
        std::fs::remove_file(env.path(name)).unwrap();
        assert_eq!(env.sh(&format!("mkfifo {name}")).run().code, Some(0));
    }
    assert_snapshot!(wrong(&doctor(&env, ["--fix"]).run()), @"
    exit 1
      error    .gitignore: it is not a file
               → move it away
      error    .gitattributes: it is not a file
               → move it away
    ");
}

#[test]
fn without_git_the_rest_is_looked_at() {
    let env = healthy();
    env.write(MEMORIES, "## Fixes\n### mem-1\n");
    let looked = doctor(&env, []).env("PATH", env.beside("nowhere")).run();
    assert_snapshot!(wrong(&looked), @r#"
    exit 1
      error    .agent/memories.md:2: "mem-1" is not a valid id, so this block is not read
               → mend it in the file
      note     what git keeps and ignores was not looked at: git could not be started: No such file or directory (os error 2)
      note     how git merges notes was not looked at: git could not be started: No such file or directory (os error 2)
      note     no coding agent that ralph knows by its name is on PATH
               → install one, or name yours in .ralph.toml: [agent] command = "…"
      warning  there is no `ralph` on PATH, so hooks and git do not find it
               → add this program's folder to PATH
    "#);
}

#[test]
fn notes_behind_a_link_are_none_of_gits_business() {
    let env = healthy();
    std::fs::rename(env.path(".agent"), env.beside("notes")).unwrap();
    symlink("../notes", env.path(".agent")).unwrap();
    assert_eq!(only_looked(&env), "exit 0\n\n");
    env.write(".gitignore", "");
    let looked = wrong(&doctor(&env, []).run());
    assert!(
        looked.contains("git is not told to leave .ralph/progress.db*"),
        "{looked}"
    );
    assert!(!looked.contains(".agent"), "{looked}");
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
    std::fs::copy(env.path(DATABASE), linked.join(DATABASE)).unwrap();
    assert_snapshot!(wrong(&doctor(&env, []).folder(&linked).run()), @"
    exit 0
      warning  .ralph/progress.db: it is not used: all worktrees share [TMP]/project/.ralph/progress.db
               → remove it if nothing else needs it
    ");
}

#[test]
fn the_set_up_of_claude_and_its_trouble_are_told() {
    let env = healthy();
    env.ok(["setup", "claude", "--yes"]);
    assert!(
        doctor(&env, [])
            .run()
            .stdout
            .contains("the hook and the skill are in place")
    );
    env.write(
        ".ralph/hook-trouble.json",
        r#"{"last": "2025-01-20T11:20:00Z", "count": 3, "message": "no\u001b[31m notes"}"#,
    );
    let settings = env.read(".claude/settings.json");
    env.write(".claude/settings.json", format!("// mine\n{settings}"));
    env.write(".claude/skills/ralph/SKILL.md", "mine");
    assert_snapshot!(only_looked(&env), @"
    exit 1
      warning  .ralph/hook-trouble.json: the hook failed 3 times, the last time at 2025-01-20T11:20:00Z: no [31m notes
               → mend that; the trace goes when the hook works again (`ralph hook session-start < /dev/null`)
      note     .claude/skills/ralph/SKILL.md: the skill was written or changed by hand, so ralph leaves it alone
      error    .claude/settings.json:1: Claude Code does not read settings with comments or commas at the end, so the hook does not run
               → take them out; nothing else in the file has to change
    ");
    env.write(".claude/settings.json", "{");
    env.write(".ralph/hook-trouble.json", "{");
    assert_snapshot!(only_looked(&env), @"
    exit 1
      note     .ralph/hook-trouble.json: the trace of the hook cannot be read
               → remove it
      error    .claude/settings.json:1:2: it is not JSON: a bracket is not closed
               → mend it there; Claude Code does not read it either
    ");
}

#[test]
fn another_ralph_on_path_is_named() {
    let env = healthy();
    let other = env.beside("other");
    std::fs::create_dir(&other).unwrap();
    symlink("/bin/sh", other.join("ralph")).unwrap();
    let path = format!("{}:{}", other.display(), env.beside("programs").display());
    drop(doctor(&env, []));
    let looked = doctor(&env, []).env("PATH", path).run();
    assert_snapshot!(wrong(&looked), @"
    exit 0
      warning  `ralph` on PATH is [TMP]/other/ralph, not this program
               → hooks and git call that one; put this program's folder in front in PATH
    ");
}

#[test]
fn files_of_another_user_are_named_with_what_is_wrong() {
    let env = used();
    for (name, mode) in [
        (".", 0o755),
        (".agent", 0o755),
        (".ralph", 0o755),
        (MEMORIES, 0o644),
        (GUARDRAILS, 0o600),
        (DATABASE, 0o600),
        (INDEX, 0o644),
    ] {
        std::fs::set_permissions(env.path(name), std::fs::Permissions::from_mode(mode)).unwrap();
    }
    if std::fs::metadata(env.project()).unwrap().uid() != 0 {
        return;
    }
    let looked = env.ralph_as_plain_user(["doctor", "--fix"]).unfixed().run();
    let lines: Vec<&str> = looked.stdout.lines().collect();
    assert_eq!(looked.code, Some(1), "{looked}");
    for part in [
        "  error    .agent/guardrails.md: it cannot be read: Permission denied (os error 13)",
        "  warning  .agent/memories.md: notes can be read but not changed: Permission denied (os error 13)",
        "  warning  .agent: notes can be read but not changed: permission denied",
        "  error    .ralph/progress.db: it cannot be read: Permission denied (os error 13)",
    ] {
        assert!(lines.contains(&part), "{part} in {looked}");
    }
}

#[test]
fn with_everything_broken_at_once_it_still_tells_all() {
    let env = env();
    env.write(".git", "nonsense");
    env.write(".ralph.toml", b"\xff");
    env.write(".claude/settings.json", b"\xfe{");
    env.write(".ralph/hook-trouble.json", b"\0");
    env.write(DATABASE, "text");
    env.write(INDEX, foreign_database());
    std::fs::create_dir_all(env.path(&format!("{MEMORIES}/deep/folder"))).unwrap();
    symlink("guardrails.md", env.path(GUARDRAILS)).unwrap();
    assert_eq!(env.sh("mkfifo .agent/scratchpad.md .gitignore").run().code, Some(0));
    let looked = doctor(&env, [])
        .env("RALPH_NOW", "never")
        .env("RALPH_UI_COLOR", "red")
        .run();
    assert_snapshot!(wrong(&looked), @r#"
    exit 1
      error    .ralph.toml: it is not UTF-8 text (byte 0)
               → .ralph.toml has to be a file of UTF-8 text that you may read
      error    RALPH_UI_COLOR: ui.color is "red"; allowed is "auto", "always" or "never"
               → set it to what is allowed, or take it out; until then nearly every command fails
      error    RALPH_NOW: it is "never", which is not an RFC 3339 time: failed to parse four digit integer as year: invalid digit, expected 0-9 but got n
               → unset RALPH_NOW; until then nearly every command fails
      error    .agent/memories.md: it cannot be read: is a directory
               → put a file of text there that you may read
      error    .agent/guardrails.md: it cannot be read: Too many levels of symbolic links (os error 40)
               → put a file of text there that you may read
      error    .agent/scratchpad.md: it cannot be read: it is not a file
               → put a file of text there that you may read
      error    .ralph/progress.db: it is not an SQLite database, so no history is recorded
               → `mv .ralph/progress.db .ralph/progress.db.other`, and ralph starts a history of its own
      error    .ralph/index.db: it belongs to another tool, so there is no index, and answers take longer
               → `mv .ralph/index.db .ralph/index.db.other`, and ralph makes an index
      note     .ralph/hook-trouble.json: the trace of the hook cannot be read
               → remove it
      error    .claude/settings.json:1:1: it is not UTF-8 text
               → mend it there; Claude Code does not read it either
    "#);
    let fixed = doctor(&env, ["--fix"]).run();
    assert_eq!(fixed.code, Some(1), "{fixed}");
    let json = doctor(&env, ["--json"]).run();
    let list: Vec<serde_json::Value> = serde_json::from_str(&json.stdout).unwrap();
    assert!(list.len() > 7 && json.code == Some(1), "{json}");
}

#[test]
fn json_has_every_key() {
    let env = used();
    env.write(SEAL, "another seal");
    let json = doctor(&env, ["--json", "--fix"]).run();
    assert_snapshot!(json, @r#"
    exit 0
    --- stdout
    [
      {
        "check": "index",
        "severity": "note",
        "place": ".ralph/index.db",
        "problem": "it was not written to its end, before a restart, or by another version; it will be made anew",
        "remedy": "made the index anew",
        "fixable": true,
        "fixed": true
      }
    ]
    "#);
}

#[test]
fn a_huge_file_and_a_deep_folder_are_no_trouble() {
    let env = healthy();
    let entries: String = (0..4_000)
        .map(|n| format!("### mem-{n}-abcd\n> note {n} says {}\n", "words ".repeat(20)))
        .collect();
    env.write(MEMORIES, format!("## Fixes\n{entries}"));
    env.ok(["memory", "search", "says"]);
    let looked = doctor(&env, []).run();
    assert_eq!(wrong(&looked), "exit 0\n\n");
    assert!(looked.stdout.contains("4000 memories"), "{looked}");
    let deep = env.path(&"deep/".repeat(500));
    std::fs::create_dir_all(&deep).unwrap();
    assert_eq!(wrong(&doctor(&env, []).folder(&deep).run()), "exit 0\n\n");
}

#[test]
fn wrong_arguments_are_usage_errors() {
    let env = env();
    assert_eq!(doctor(&env, ["--root", "nowhere"]).run().code, Some(2));
    assert_eq!(doctor(&env, ["now"]).run().code, Some(2));
}
