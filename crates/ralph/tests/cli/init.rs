//! Tests of `ralph init`.

use std::os::unix::fs::{MetadataExt, symlink};

use insta::assert_snapshot;
use ralph_testkit::TestEnv;
use ralph_testkit::scripted::{Script, say, write};

use crate::{DATABASE, MEMORIES, SAMPLE, USER_CONFIG, add, changes, env, foreign_database, names, sample};

#[test]
fn a_new_project_has_everything() {
    let env = env();
    assert_snapshot!(env.ralph(["init"]).run(), @r#"
    exit 0
    --- stdout
    Agent  none found; for example: npm install -g @anthropic-ai/claude-code
    Gates  none found; set `[verify] commands` in .ralph.toml
    Wrote  .ralph.toml, .agent/, .ralph/, .gitignore
    Next   ralph run "what the agent should do"
    "#);
    assert_eq!(
        names(&env),
        [
            ".agent/",
            ".agent/guardrails.md",
            ".agent/guardrails.md.lock",
            ".agent/memories.md",
            ".agent/memories.md.lock",
            ".gitignore",
            ".ralph.toml",
            ".ralph/",
            ".ralph/features/",
            ".ralph/knowledge/",
            ".ralph/progress.db",
            ".ralph/progress.db-shm",
            ".ralph/progress.db-wal",
            ".ralph/progress.db.lock",
        ]
    );
    assert_snapshot!(env.read(".gitignore"), @"
    # ralph
    .ralph/progress.db*
    .ralph/index.db*
    .ralph/runs/
    .ralph/run.lock
    .ralph/*hook-trouble.json*
    .ralph/knowledge/.lock
    .ralph/knowledge/.*ralph-*
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
fn a_second_init_changes_nothing() {
    let env = env();
    env.ok(["init"]);
    add(&env, "a note");
    let before = env.tree();
    let again = env.ralph(["init"]).run();
    again.printed(&["Wrote  nothing; everything is in place\n"]);
    assert_eq!(again.stderr, "");
    assert_eq!(changes(&before, &env.tree()), [""; 0]);
}

#[test]
fn existing_files_are_kept() {
    let fresh = env();
    fresh.ok(["init"]);
    let env = sample();
    env.write(".ralph.toml", "# mine\n");
    env.write(".gitignore", "target\r\n/.ralph/runs/\r\nlast");
    let done = env.ralph(["init"]).run();
    done.printed(&["Wrote  .ralph/, .gitignore, .agent/\n"]);
    assert_eq!(done.stderr, "");
    assert_eq!(env.read(MEMORIES), SAMPLE);
    assert_eq!(env.read(".ralph.toml"), "# mine\n");
    let missing = fresh.read(".gitignore").replace(".ralph/runs/\n", "");
    assert_eq!(
        env.read(".gitignore"),
        format!(
            "target\r\n/.ralph/runs/\r\nlast\r\n\r\n{}",
            missing.replace('\n', "\r\n")
        )
    );
}

#[test]
fn an_ignore_line_that_hides_notes_is_reported() {
    let env = env();
    env.git(["init", "--quiet"]);
    env.write(".gitignore", "target/\n.ralph/\n.agent/*.md\n");
    let warned = env.ralph(["init"]).run();
    warned.printed(&[
        ".gitignore, .gitattributes, git config\n",
        "\".ralph/\" in .gitignore keeps knowledge files out of git",
        "\".agent/*.md\" in .gitignore keeps memories out of git",
        "\".agent/*.md\" in .gitignore keeps guardrails out of git",
    ]);
    assert_eq!(warned.stderr.lines().count(), 3, "{warned}");
    env.write(".gitignore", ".agent/*\n!.agent/memories.md\n!.agent/guardrails.md\n");
    assert_eq!(env.ralph(["init"]).run().stderr, "");
}

#[test]
fn an_ignore_line_above_the_project_is_reported() {
    let env = env();
    env.git(["init", "--quiet"]);
    env.write(".gitignore", ".ralph/\n");
    env.write("part/.ralph.toml", "");
    env.write("part/.gitignore", "memories.md\n");
    let done = env.ralph(["init"]).folder(&env.path("part")).run();
    done.printed(&[
        "\".ralph/\" in [TMP]/project/.gitignore keeps knowledge files out of git",
        "\"memories.md\" in .gitignore keeps memories out of git",
    ]);
    assert_eq!(done.stderr.lines().count(), 2, "{done}");
}

#[test]
fn old_skills_never_overwrite_new_ones() {
    let env = env();
    env.write(".ralph/skills/deploy/SKILL.md", "old deploy");
    env.write(".ralph/skills/test/SKILL.md", "old test");
    env.write(".claude/skills/test/SKILL.md", "new test");
    let moved = "moved .ralph/skills/deploy to .claude/skills/\n";
    let kept = "Warning: .ralph/skills/test was not moved: .claude/skills already has that name.\n";
    check_skill_lines(&env, &[moved, kept]);
    assert_eq!(env.read(".claude/skills/deploy/SKILL.md"), "old deploy");
    assert_eq!(env.read(".claude/skills/test/SKILL.md"), "new test");
    assert_eq!(env.read(".ralph/skills/test/SKILL.md"), "old test");
    assert!(!env.path(".ralph/skills/deploy").exists());
    std::fs::remove_dir_all(env.path(".claude/skills/test")).unwrap();
    check_skill_lines(&env, &["moved .ralph/skills/test to .claude/skills/\n"]);
    assert!(!env.path(".ralph/skills").exists(), "it goes once it is empty");
}

/// Checks init's lines about skills: each contains its text.
#[track_caller]
fn check_skill_lines(env: &TestEnv, texts: &[&str]) {
    let done = env.ralph(["init"]).run();
    done.printed(texts);
    let printed = format!("{}{}", done.stdout, done.stderr);
    let lines = printed.lines().filter(|line| line.contains("skills"));
    assert_eq!(lines.count(), texts.len(), "{done}");
}

#[test]
fn skills_outside_the_project_are_not_moved() {
    let env = env();
    let shared = env.beside("shared");
    std::fs::create_dir_all(shared.join("deploy")).unwrap();
    std::fs::create_dir_all(env.path(".ralph")).unwrap();
    symlink(&shared, env.path(".ralph/skills")).unwrap();
    check_skill_lines(&env, &[]);
    env.write("CLAUDE.md", "mine");
    check_skill_lines(&env, &[".ralph/skills was not moved: it is a link to another place"]);
    assert!(shared.join("deploy").is_dir());

    std::fs::remove_file(env.path(".ralph/skills")).unwrap();
    symlink("../.claude/skills", env.path(".ralph/skills")).unwrap();
    env.write(".claude/skills/mine/SKILL.md", "mine");
    check_skill_lines(&env, &[]);
    assert_eq!(env.read(".claude/skills/mine/SKILL.md"), "mine");
}

#[test]
fn movable_skills_are_moved() {
    let env = env();
    env.write(".ralph/skills/a/SKILL.md", "a");
    env.write(".ralph/skills/c/SKILL.md", "c");
    env.write(".ralph/shared/SKILL.md", "shared");
    env.write("elsewhere/SKILL.md", "elsewhere");
    symlink("../shared", env.path(".ralph/skills/b")).unwrap();
    symlink("../../elsewhere", env.path(".ralph/skills/d")).unwrap();
    symlink("nowhere", env.path(".ralph/skills/e")).unwrap();
    symlink("nowhere", env.path(".ralph/skills/f")).unwrap();
    std::fs::create_dir_all(env.path(".claude/skills")).unwrap();
    symlink("nowhere", env.path(".claude/skills/f")).unwrap();
    let kept = [
        ".ralph/skills/b was not moved: it is a relative link",
        ".ralph/skills/e was not moved: it is a relative link",
        ".ralph/skills/f was not moved: .claude/skills already has that name",
    ];
    let moved = [
        "moved .ralph/skills/a to",
        "moved .ralph/skills/c to",
        "moved .ralph/skills/d to",
    ];
    check_skill_lines(&env, &[moved, kept].concat());
    assert_eq!(env.read(".claude/skills/d/SKILL.md"), "elsewhere");
    assert_eq!(env.read(".ralph/skills/b/SKILL.md"), "shared");
    let before = env.tree();
    check_skill_lines(&env, &kept);
    assert_eq!(
        changes(&before, &env.tree()),
        [""; 0],
        "the second time nothing changes"
    );
}

#[test]
fn an_obstacle_to_skills_does_not_stop_init() {
    let env = env();
    env.write(".claude/skills", "a file");
    env.write(".ralph/skills/a/SKILL.md", "a");
    check_skill_lines(&env, &[".claude/skills cannot be created: File exists"]);
    assert_eq!(env.read(".claude/skills"), "a file");
    assert_eq!(env.read(".ralph/skills/a/SKILL.md"), "a");
    assert!(env.path(MEMORIES).exists());

    let env = crate::env();
    env.write(".ralph/skills", "a file");
    env.write("CLAUDE.md", "mine");
    check_skill_lines(
        &env,
        &[".ralph/skills was not moved: it cannot be read: Not a directory"],
    );
}

#[test]
fn skills_on_another_file_system_are_not_moved() {
    let env = env();
    let Some(elsewhere) = another_file_system(&env.project()) else {
        return;
    };
    let folder = tempfile::tempdir_in(elsewhere).unwrap();
    env.write(".ralph/skills/a/SKILL.md", "a");
    std::fs::create_dir(env.path(".claude")).unwrap();
    symlink(folder.path(), env.path(".claude/skills")).unwrap();
    let refused = env.ralph(["init"]).run();
    refused.printed(&["Warning: .claude/skills leads outside the project, to "]);
    let allowed = format!("[paths]\nallow_outside = [{:?}]\n", folder.path());
    env.write(USER_CONFIG, allowed);
    check_skill_lines(
        &env,
        &[".ralph/skills/a was not moved: .claude/skills is on another file system"],
    );
    assert_eq!(env.read(".ralph/skills/a/SKILL.md"), "a");
}

/// A writable folder on another file system, if the machine has one.
fn another_file_system(than: &std::path::Path) -> Option<&'static str> {
    let device = |path: &std::path::Path| std::fs::metadata(path).map(|metadata| metadata.dev()).ok();
    let others = ["/dev/shm", "/run", "/tmp", "/var/tmp"];
    let is_other = |path: &&str| device(path.as_ref()).is_some_and(|there| Some(there) != device(than));
    let can_write = |path: &&str| tempfile::tempdir_in(path).is_ok();
    others.into_iter().find(|path| is_other(path) && can_write(path))
}

#[test]
fn the_agents_own_files_are_not_touched() {
    let env = env();
    env.ok(["init"]);
    assert!(!env.path("CLAUDE.md").exists() && !env.path("AGENTS.md").exists());
    let mine = "# Mine\r\n\r\n  as I wrote it \n";
    for name in ["CLAUDE.md", "AGENTS.md", ".claude/skills/x/SKILL.md"] {
        env.write(name, mine);
    }
    env.ok(["init"]);
    for name in ["CLAUDE.md", "AGENTS.md", ".claude/skills/x/SKILL.md"] {
        assert_eq!(env.read(name), mine, "{name}");
    }
}

#[test]
fn a_foreign_database_is_reported_and_not_touched() {
    let env = env();
    env.write(DATABASE, foreign_database());
    env.ralph(["init"]).run().printed(&[
        "Wrote  .ralph.toml, .agent/, .ralph/, .gitignore\n",
        "Warning: [TMP]/project/.ralph/progress.db belongs to another tool",
        "`ralph import refound`",
    ]);
    assert_eq!(std::fs::read(env.path(DATABASE)).unwrap(), foreign_database());
    assert!(env.path(MEMORIES).exists());
}

#[test]
fn files_in_other_places_are_not_created_again() {
    let env = env();
    env.write("memories.md", SAMPLE);
    env.ok(["init"]);
    assert_eq!(env.read("memories.md"), SAMPLE);
    assert!(!env.path(MEMORIES).exists());
    assert!(env.read(".gitignore").lines().any(|line| line == "/memories.md.lock"));
}

#[test]
fn ignore_lines_match_only_their_files() {
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
    let answer = env.git(["check-ignore", "--no-index"].into_iter().chain(names));
    assert_eq!(answer.lines().collect::<Vec<_>>(), ignored);
}

#[test]
fn a_pipe_as_gitattributes_does_not_block() {
    let env = env();
    env.git(["init", "--quiet"]);
    let done = env.sh("mkfifo .gitattributes && timeout 20 $RALPH init").run();
    assert_eq!(done.code, Some(0), "{done}");
    let warning = "Warning: git was not set up to merge notes through ralph: .gitattributes is not a file.\n";
    assert!(done.stderr.contains(warning), "{done}");
}

#[test]
fn only_agent_and_gates_are_configured() {
    let env = env();
    let bin = env.beside("bin");
    std::fs::create_dir(&bin).unwrap();
    symlink("/bin/true", bin.join("claude")).unwrap();
    env.write("Cargo.toml", "[package]\n");
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let done = env.ralph(["init"]).env("PATH", path).run();
    done.printed(&["Agent  claude (on the PATH)\nGates  cargo test\nWrote  .ralph.toml, "]);
    let config = env.read(".ralph.toml");
    assert!(config.contains("\ncommands = [\"cargo test\"]\n"), "{config}");
    assert!(config.contains("\n# Not set. For example: models = "), "{config}");
    assert!(!env.path(".claude").exists());
}

#[test]
fn an_unknown_agent_is_probed_once() {
    let env = env();
    let agent = Script::new()
        .speaking_acp()
        .turn([say("never")])
        .install(&env.beside("agent"));
    env.ok(["init", "--agent", &agent.command()]);
    let config = env.read(".ralph.toml");
    assert!(
        config.contains(&format!("\ncommand = {:?}\n", agent.command())),
        "{config}"
    );
    assert!(config.contains("\nkind = \"acp\"\n"), "{config}");
    assert_eq!(agent.turns(), 0);
    let refused = env.ralph(["init", "--agent", "no-such-agent"]).run();
    refused.refused(2, &["--agent \"no-such-agent\"", "is not on the PATH"]);
    assert_eq!(env.read(".ralph.toml"), config);
    // The rest of an existing file is kept.
    env.write(".ralph.toml", "# mine\n[agent]\ncommand = \"x\"\n");
    env.ok(["init", "--agent", "/bin/true --bare"]);
    assert_eq!(
        env.read(".ralph.toml"),
        "# mine\n[agent]\ncommand = \"/bin/true --bare\"\n"
    );
}

#[test]
fn checkout_settings_match_the_ecosystem() {
    let env = env();
    env.write("Cargo.toml", "");
    env.write("package-lock.json", "{}");
    env.ok(["init"]);
    let config = env.read(".ralph.toml");
    assert!(config.contains("\nlink = [\"target/\"]\n"), "{config}");
    assert!(config.contains("\nsetup = [\"npm ci\"]\n"), "{config}");
    assert!(config.contains("For example: copy = [\".env\"]\n"), "{config}");
}

#[test]
fn three_commands_lead_to_a_finished_task() {
    let env = env();
    let agent = Script::new()
        .speaking_claude()
        .turn([
            write("greeting.txt", "Good morning\n"),
            say("<task-done>{task}</task-done>"),
        ])
        .install(&env.beside("agent"));
    env.write("Makefile", "test:\n\ttest -s greeting.txt\n");
    env.write("greeting.txt", "Hello\n");
    let bin = env.beside("bin");
    let made = env
        .sh("mkdir \"$BIN\" && cat > \"$BIN/claude\" && chmod +x \"$BIN/claude\" && git init -q -b main && git add .")
        .env("BIN", &bin)
        .input(format!("#!/bin/sh\nexec {} \"$@\"\n", agent.command()))
        .run();
    assert_eq!(made.code, Some(0), "{made}");
    env.git(["config", "user.name", "T"]);
    env.git(["config", "user.email", "t@example.com"]);
    env.git(["commit", "-q", "-m", "first"]);
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let ralph = |arguments: &[&str]| env.ralph(arguments.iter().copied()).env("PATH", &path).run();

    let begun = ralph(&["init"]);
    begun.printed(&["Agent  claude (on the PATH)\nGates  make test\n"]);
    let run = ralph(&["run", "greet people in the morning"]);
    assert_eq!(run.code, Some(0), "{run}");
    let review = ralph(&["review"]);
    assert!(review.stdout.contains("greet people in the morning"), "{review}");

    assert_eq!(env.read("greeting.txt"), "Good morning\n");
    assert_eq!(env.git(["log", "--format=%s", "-1"]), "greet people in the morning\n");
}
