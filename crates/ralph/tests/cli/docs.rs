//! Runs every command of the README and the guides, in order, in a project with a scripted agent.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use ralph_testkit::TestEnv;
use ralph_testkit::scripted::{Script, if_prompt_contains, say, write};

use crate::env;
use crate::run::DONE;

/// The pages that are generated from the code, and the events, whose fields other tests compare.
const REFERENCE: [&str; 4] = ["cli.md", "config.md", "environment.md", "events.md"];

/// What the pages expect in a project.
const FILES: [(&str, &str); 8] = [
    ("Makefile", "test:\n\t@true\n"),
    ("src/totals.py", "def total(prices):\n    return round(sum(prices))\n"),
    ("PROMPT.md", "Improve the totals.\n"),
    (
        "plan.md",
        "- [ ] Read the dates\n  check: test -d src\n- [ ] Print the dates\n",
    ),
    ("spec.md", "Words are found by their stem.\n"),
    ("notes.md", "Tag, build, publish.\n"),
    (".env", "STAGE=test\n"),
    (".gitignore", ".env\nnotifications.jsonl\n"),
];

/// The ids in the pages stand for the first fitting ones of the project.
const IDS: [(&str, &str); 2] = [
    ("t-1a2b3c", "ralph task list --all --format quiet"),
    ("mem-1737", "ralph memory list --format quiet"),
];

fn project() -> TestEnv {
    let env = env();
    for (name, text) in FILES {
        env.write(name, text);
    }
    env.git(["init", "--quiet"]);
    env.git(["config", "user.name", "Ann"]);
    env.git(["config", "user.email", "ann@example.org"]);
    env.git(["add", "--all"]);
    env.git(["commit", "--quiet", "--message", "Start"]);
    let agent = Script::new()
        .speaking_claude()
        .turn([if_prompt_contains(
            "Improve the totals",
            [write("totals.txt", "1.00\n"), say("<promise>COMPLETE</promise>")],
            [if_prompt_contains(
                "as CSV",
                [write("export.csv", "1.00\n"), say(DONE)],
                [write("work-{turn}.txt", "done\n"), say(DONE)],
            )],
        )])
        .install(&env.beside("agent"));
    let programs = env.beside("programs");
    std::fs::create_dir(&programs).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_ralph"), programs.join("ralph")).unwrap();
    env.write(
        "../programs/claude",
        format!("#!/bin/sh\nexec {} \"$@\"\n", agent.command()),
    );
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(programs.join("claude"), executable).unwrap();
    env
}

/// Runs a shell line and returns its output.
fn sh(env: &TestEnv, line: &str) -> ralph_testkit::Finished {
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", env.beside("programs").display());
    env.sh(line).unfixed().env("PATH", path).env("EDITOR", "true").run()
}

/// The shell lines of a page; a here-document is part of its line.
fn lines(page: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut is_shell = false;
    let mut end: Option<String> = None;
    for line in page.lines() {
        match (&end, line) {
            (None, "```sh") => is_shell = true,
            (None, "```") => is_shell = false,
            _ if !is_shell => {}
            (Some(word), _) => {
                let is_end = line == word;
                let whole: &mut String = lines.last_mut().unwrap();
                whole.push('\n');
                whole.push_str(line);
                end = end.filter(|_| !is_end);
            }
            (None, _) if line.trim().is_empty() => {}
            (None, _) => {
                lines.push(line.to_owned());
                end = line
                    .split_once("<<")
                    .map(|(_, word)| word.trim_matches('\'').to_owned());
            }
        }
    }
    lines
}

/// Runs all commands of a page. Those of Cargo build and test ralph itself.
#[track_caller]
fn check(page: &str, env: &TestEnv) {
    let text = std::fs::read_to_string(root().join(page)).unwrap();
    let mut ids: BTreeMap<&str, String> = BTreeMap::new();
    let lines = lines(&text);
    assert!(lines.len() > 4, "{page} has few commands: {lines:?}");
    for line in lines.iter().filter(|line| !line.starts_with("cargo ")) {
        let mut line = line.clone();
        for (shown, list) in IDS {
            if line.contains(shown) {
                let first = || sh(env, list).stdout.lines().next().unwrap_or_default().to_owned();
                let id = ids.entry(shown).or_insert_with(first);
                line = line.replace(shown, id);
            }
        }
        let finished = sh(env, &line);
        let is_run = line.starts_with("ralph run");
        let is_as_written = finished.code == Some(0) || is_run && finished.code == Some(NOTHING_TO_DO);
        assert!(is_as_written, "{page}: {line}\n{finished}");
    }
}

const NOTHING_TO_DO: i32 = 3;

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn readme() {
    check("README.md", &project());
}

#[test]
fn first_night() {
    check("docs/first-night.md", &project());
}

#[test]
fn bash_loop() {
    check("docs/bash-loop.md", &project());
}

#[test]
fn ralph_orchestrator() {
    let env = project();
    env.write(
        ".ralph/agent/tasks.jsonl",
        r#"{"id":"task-1737372000-a1b2","title":"Log in","status":"open","priority":1,"blocked_by":[],"created":"2025-01-20T11:20:00+00:00"}"#,
    );
    check("docs/ralph-orchestrator.md", &env);
}

#[test]
fn memory() {
    check("docs/memory.md", &project());
}

#[test]
fn configure() {
    check("docs/configure.md", &project());
}

/// The guides, sorted.
fn guides() -> Vec<String> {
    let names = std::fs::read_dir(root().join("docs")).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut guides: Vec<String> = names.filter(|name| !REFERENCE.contains(&name.as_str())).collect();
    guides.sort();
    guides
}

/// A key is named as `[section] key`.
#[test]
fn every_key_that_a_guide_names_exists() {
    let reference = std::fs::read_to_string(root().join("docs/config.md")).unwrap();
    let has = |section: &str, key: &str| {
        let part = reference
            .split(&format!("\n## `[{section}]`\n"))
            .nth(1)
            .unwrap_or_default();
        let part = part.split("\n## ").next().unwrap_or_default();
        part.contains(&format!("\n| `{key}` |"))
    };
    let mut unknown = Vec::new();
    for page in guides()
        .iter()
        .map(|name| format!("docs/{name}"))
        .chain(["README.md".to_owned()])
    {
        let text = std::fs::read_to_string(root().join(&page)).unwrap();
        for named in text.split("`[").skip(1).filter_map(|rest| rest.split('`').next()) {
            let Some((section, key)) = named.split_once("] ") else {
                continue;
            };
            let key = key.split(' ').next().unwrap_or_default();
            if !has(section, key) {
                unknown.push(format!("{page}: {named}"));
            }
        }
    }
    assert_eq!(unknown, Vec::<String>::new());
}

#[test]
fn all_guides_are_checked() {
    let checked = [
        "bash-loop.md",
        "configure.md",
        "first-night.md",
        "memory.md",
        "ralph-orchestrator.md",
    ];
    assert_eq!(guides(), checked);
}
