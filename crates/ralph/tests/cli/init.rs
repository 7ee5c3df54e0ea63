//! `ralph init`.

use insta::assert_snapshot;

use crate::{DATABASE, MEMORIES, SAMPLE, add, changes, env, foreign_database, names, sample};

#[test]
fn a_new_project_has_everything() {
    let env = env();
    assert_snapshot!(env.ralph(["init"]).run(), @r#"
    exit 0
    --- stdout
    created .ralph.toml
    created .agent/
    created .ralph/knowledge/
    created .ralph/features/
    created .ralph/progress.db
    added 15 lines to .gitignore
    created .agent/memories.md
    created .agent/guardrails.md
    --- stderr
    Next: `ralph remember "TEXT"` keeps a note, `ralph --help` shows the rest.
    "#);
    assert_snapshot!(names(&env).join("\n"), @"
    .agent/
    .agent/guardrails.md
    .agent/guardrails.md.lock
    .agent/memories.md
    .agent/memories.md.lock
    .gitignore
    .ralph.toml
    .ralph/
    .ralph/features/
    .ralph/knowledge/
    .ralph/progress.db
    .ralph/progress.db-shm
    .ralph/progress.db-wal
    .ralph/progress.db.lock
    ");
    assert_snapshot!(env.read(".gitignore"), @"
    # ralph
    .ralph/progress.db*
    .ralph/index.db*
    .ralph/runs/
    .ralph/run.lock
    .ralph/*hook-trouble.json*
    .ralph/knowledge/.lock
    .ralph/knowledge/.*ralph-*
    .ralph/features/*/.*ralph-*
    .agent/scratchpad.md
    .agent/memories.md.lock
    .agent/.memories.md.ralph-*
    .agent/guardrails.md.lock
    .agent/.guardrails.md.ralph-*
    .agent/scratchpad.md.bak*
    .agent/scratchpad.md.lock
    .agent/.scratchpad.md.ralph-*
    ");
    assert_eq!(
        env.read(".agent/guardrails.md"),
        "# Guardrails\n\n## Fixes\n\n## Decisions\n\n## Patterns\n"
    );
    assert!(env.read(".ralph.toml").contains("\n# budget = 2000\n"));
}

#[test]
fn the_second_time_everything_is_in_place_and_no_byte_changes() {
    let env = env();
    env.ok(["init"]);
    add(&env, "a note");
    let before = env.tree();
    assert_snapshot!(env.ralph(["init"]).run(), @"
    exit 0
    --- stdout
    Everything is in place.
    ");
    assert_eq!(changes(&before, &env.tree()), [""; 0]);
}

#[test]
fn what_is_there_stays() {
    let env = sample();
    env.write(".ralph.toml", "# mine\n");
    env.write(".gitignore", "target\r\n/.ralph/runs/\r\nlast");
    let done = env.ralph(["init"]).run();
    assert_snapshot!(done, @r#"
    exit 0
    --- stdout
    created .ralph/knowledge/
    created .ralph/features/
    created .ralph/progress.db
    added 14 lines to .gitignore
    created .agent/guardrails.md
    --- stderr
    Next: `ralph remember "TEXT"` keeps a note, `ralph --help` shows the rest.
    "#);
    assert_eq!(env.read(MEMORIES), SAMPLE);
    assert_eq!(env.read(".ralph.toml"), "# mine\n");
    assert_eq!(
        env.read(".gitignore"),
        "target\r\n/.ralph/runs/\r\nlast\r\n\r\n# ralph\r\n.ralph/progress.db*\r\n.ralph/index.db*\r\n.ralph/run.lock\r\n\
         .ralph/*hook-trouble.json*\r\n\
         .ralph/knowledge/.lock\r\n\
         .ralph/knowledge/.*ralph-*\r\n\
         .ralph/features/*/.*ralph-*\r\n\
         .agent/scratchpad.md\r\n.agent/memories.md.lock\r\n.agent/.memories.md.ralph-*\r\n\
         .agent/guardrails.md.lock\r\n.agent/.guardrails.md.ralph-*\r\n\
         .agent/scratchpad.md.bak*\r\n.agent/scratchpad.md.lock\r\n.agent/.scratchpad.md.ralph-*\r\n"
    );
}

#[test]
fn an_ignore_line_that_hides_notes_is_reported() {
    let env = env();
    env.git(["init", "--quiet"]);
    env.write(".gitignore", "target/\n.ralph/\n.agent/*.md\n");
    assert_snapshot!(env.ralph(["init"]).run(), @r#"
    exit 0
    --- stdout
    created .ralph.toml
    created .agent/
    created .ralph/knowledge/
    created .ralph/features/
    created .ralph/progress.db
    added 15 lines to .gitignore
    added 2 lines to .gitattributes
    set merge.ralph.driver in git's configuration
    created .agent/memories.md
    created .agent/guardrails.md
    --- stderr
    Warning: the line ".ralph/" of .gitignore keeps knowledge files out of git; they are meant to be in it.
    Warning: the line ".agent/*.md" of .gitignore keeps memories out of git; they are meant to be in it.
    Warning: the line ".agent/*.md" of .gitignore keeps guardrails out of git; they are meant to be in it.
    Next: `ralph remember "TEXT"` keeps a note, `ralph --help` shows the rest.
    "#);
    env.write(".gitignore", ".agent/*\n!.agent/memories.md\n!.agent/guardrails.md\n");
    let done = env.ralph(["init"]).run();
    assert_eq!(
        done.stderr,
        "Next: `ralph remember \"TEXT\"` keeps a note, `ralph --help` shows the rest.\n"
    );
}

#[test]
fn an_ignore_line_above_the_project_is_told_with_its_file() {
    let env = env();
    env.git(["init", "--quiet"]);
    env.write(".gitignore", ".ralph/\n");
    env.write("part/.ralph.toml", "");
    env.write("part/.gitignore", "memories.md\n");
    let done = env.ralph(["init"]).folder(&env.path("part")).run();
    assert_snapshot!(done.to_string().split_once("--- stderr\n").unwrap().1, @r#"
    Warning: the line ".ralph/" of [TMP]/project/.gitignore keeps knowledge files out of git; they are meant to be in it.
    Warning: the line "memories.md" of .gitignore keeps memories out of git; they are meant to be in it.
    Next: `ralph remember "TEXT"` keeps a note, `ralph --help` shows the rest.
    "#);
}

#[test]
fn old_skills_are_moved_and_never_over_new_ones() {
    let env = env();
    env.write(".ralph/skills/deploy/SKILL.md", "old deploy");
    env.write(".ralph/skills/test/SKILL.md", "old test");
    env.write(".claude/skills/test/SKILL.md", "new test");
    assert_snapshot!(env.ralph(["init"]).run(), @r#"
    exit 0
    --- stdout
    created .ralph.toml
    created .agent/
    created .ralph/knowledge/
    created .ralph/features/
    created .ralph/progress.db
    added 15 lines to .gitignore
    created .agent/memories.md
    created .agent/guardrails.md
    moved .ralph/skills/deploy to .claude/skills/
    --- stderr
    Warning: .ralph/skills/test stays where it is: .claude/skills has one of that name.
    Next: `ralph remember "TEXT"` keeps a note, `ralph --help` shows the rest.
    "#);
    assert_eq!(env.read(".claude/skills/deploy/SKILL.md"), "old deploy");
    assert_eq!(env.read(".claude/skills/test/SKILL.md"), "new test");
    assert_eq!(env.read(".ralph/skills/test/SKILL.md"), "old test");
    assert!(!env.path(".ralph/skills/deploy").exists());
    std::fs::remove_dir_all(env.path(".claude/skills/test")).unwrap();
    assert_snapshot!(env.ralph(["init"]).run(), @r#"
    exit 0
    --- stdout
    moved .ralph/skills/test to .claude/skills/
    --- stderr
    Next: `ralph remember "TEXT"` keeps a note, `ralph --help` shows the rest.
    "#);
    assert!(!env.path(".ralph/skills").exists(), "it goes once it is empty");
}

#[test]
fn a_foreign_database_is_named_once_and_left_alone() {
    let env = env();
    env.write(DATABASE, foreign_database());
    assert_snapshot!(env.ralph(["init"]).run(), @r#"
    exit 0
    --- stdout
    created .ralph.toml
    created .agent/
    created .ralph/knowledge/
    created .ralph/features/
    added 15 lines to .gitignore
    created .agent/memories.md
    created .agent/guardrails.md
    --- stderr
    Warning: [TMP]/project/.ralph/progress.db belongs to another tool, so it is left alone; notes work, but without a history.
    Next: `ralph remember "TEXT"` keeps a note, `ralph --help` shows the rest.
    "#);
    assert_eq!(std::fs::read(env.path(DATABASE)).unwrap(), foreign_database());
    assert!(env.path(MEMORIES).exists());
}

#[test]
fn files_in_their_other_places_are_not_made_twice() {
    let env = env();
    env.write("memories.md", SAMPLE);
    env.ok(["init"]);
    assert_eq!(env.read("memories.md"), SAMPLE);
    assert!(!env.path(MEMORIES).exists());
    assert!(env.read(".gitignore").lines().any(|line| line == "/memories.md.lock"));
}

#[test]
fn ignore_lines_hold_for_their_files_and_no_others() {
    let env = env();
    env.git(["init", "--quiet"]);
    env.write(".ralph.toml", "[memories]\npath = \"a[1]/my *.md\"\n");
    env.write("scratchpad.md", "now");
    env.ok(["init"]);
    let ignored = [
        "a[1]/my *.md.lock",
        "a[1]/.my *.md.ralph-new",
        "scratchpad.md",
        "scratchpad.md.bak",
    ];
    let others = ["docs/scratchpad.md", "a1/my x.md.lock", "a[1]/my x.md.lock"];
    let names = ignored.into_iter().chain(others);
    let told = env.git(["check-ignore", "--no-index"].into_iter().chain(names));
    assert_eq!(told.lines().collect::<Vec<_>>(), ignored);
}

#[test]
fn attributes_that_come_from_a_pipe_are_not_waited_for() {
    let env = env();
    env.git(["init", "--quiet"]);
    let done = env.sh("mkfifo .gitattributes && timeout 20 $RALPH init").run();
    assert_eq!(done.code, Some(0), "{done}");
    let warning = "Warning: git was not told to merge notes through ralph: .gitattributes is not a file.\n";
    assert!(done.stderr.contains(warning), "{done}");
}

#[test]
fn the_models_of_claude_are_written_where_it_is_installed() {
    let env = env();
    let bin = env.beside("bin");
    std::fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink("/bin/true", bin.join("claude")).unwrap();
    let path = format!("{}:/usr/bin:/bin", bin.display());
    assert!(
        env.ralph(["init"])
            .env("PATH", path)
            .run()
            .stdout
            .contains("created .ralph.toml")
    );
    let config = env.read(".ralph.toml");
    assert!(
        config.contains("\nmodels = [\"haiku\", \"sonnet\", \"opus\"]\n"),
        "{config}"
    );
}
