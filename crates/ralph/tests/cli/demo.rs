//! Tests of `ralph demo`.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::mpsc;
use std::thread;

use unicode_width::UnicodeWidthStr;

use crate::{MEMORIES, SAMPLE, env, names, sample};

/// The note that the demo agent stores first.
const NOTE: &str = "> commands.txt is never edited: tools/list.sh prints what it has to hold\n";

/// An agent that knows everything before it starts.
const KNOWS_ALL: &str = r##"
prompt=$(cat)
task=$(printf '%s\n' "$prompt" | sed -n 's/^\*\*\(.*\)\*\* (\(t-[0-9a-f]*\))$/\1;\2/p' | head -n 1)
title=${task%;*}
name=${title##* }; echo cat > "commands/$name.sh"; echo true > "tests/$name.sh"; sh tools/list.sh > commands.txt
echo "<task-done>${task#*;}</task-done>"
"##;

/// Prompts of a kept demo run, in order.
fn prompts(project: &Path) -> Vec<String> {
    let runs = std::fs::read_dir(project.join(".ralph/runs")).unwrap();
    let run = runs.map(|run| run.unwrap().path()).next().unwrap();
    let iterations = std::fs::read_dir(run)
        .unwrap()
        .map(|entry| entry.unwrap().path().join("prompt.md"));
    let mut files: Vec<PathBuf> = iterations.filter(|file| file.exists()).collect();
    files.sort();
    files
        .iter()
        .map(|file| std::fs::read_to_string(file).unwrap())
        .collect()
}

/// Cells of the table row with this title.
fn cells<'a>(shown: &'a str, title: &str) -> Vec<&'a str> {
    let line = shown.lines().find_map(|line| line.strip_prefix(title));
    let line = line.unwrap_or_else(|| panic!("{title} in\n{shown}"));
    line.split("  ")
        .map(str::trim)
        .filter(|cell| !cell.is_empty())
        .collect()
}

#[test]
fn memory_saves_iterations() {
    let env = env();
    let demo = env.ralph(["demo"]).run();
    assert_eq!((demo.code, demo.stderr.as_str()), (Some(0), ""), "{demo}");
    let shown = demo.stdout.as_str();
    assert_eq!(cells(shown, "Iterations "), ["6", "10"], "{demo}");
    assert_eq!(cells(shown, "Failed attempts"), ["1", "5"]);
    for line in [
        "    FAIL commands.txt: its checksum is wrong",
        "    + > commands.txt is never edited: tools/list.sh prints what it has to hold",
        "Memory saved 4 iterations. Next: `ralph init`, or `ralph demo --agent claude`.",
    ] {
        assert!(shown.lines().any(|shown| shown == line), "{line} in\n{demo}");
    }
    assert!(
        shown.contains("    $ ralph remember \"commands.txt is never edited"),
        "{demo}"
    );
    assert_eq!(env.left_behind(), [""; 0]);
    assert_eq!(names(&env), [""; 0]);
}

#[test]
fn output_matches_the_kept_projects() {
    let env = env();
    let demo = env.ralph(["demo", "--keep"]).run();
    assert_eq!(demo.code, Some(0), "{demo}");
    let kept = demo.stdout.lines().find_map(|line| line.strip_prefix("Kept: [TMP]/"));
    let kept = env.beside(kept.unwrap());

    let with = prompts(&kept.join("with"));
    let holds: Vec<bool> = with.iter().map(|prompt| prompt.contains(NOTE)).collect();
    assert_eq!(holds, [false, false, true, true, true, true]);
    let without = prompts(&kept.join("without"));
    assert_eq!(without.len(), 10);
    assert!(
        without
            .iter()
            .all(|prompt| !prompt.contains("commands.txt is never edited"))
    );

    for project in ["with", "without"] {
        let project = kept.join(project);
        let tasks = env.ralph(["task", "list", "--all", "--json"]).folder(&project).run();
        let tasks: serde_json::Value = serde_json::from_str(&tasks.stdout).unwrap();
        let open: Vec<_> = tasks
            .as_array()
            .unwrap()
            .iter()
            .filter(|task| task["status"] != "done")
            .collect();
        assert_eq!(open, [&serde_json::Value::Null; 0], "{}", project.display());
        let gate = env.sh("sh check.sh").folder(&project).run();
        assert_eq!(gate.code, Some(0), "{gate}");
        // The agent stored the note in both runs; only the prompts differ.
        assert!(std::fs::read_to_string(project.join(MEMORIES)).unwrap().contains(NOTE));
        assert!(project.join(".git").is_dir());
    }
}

#[test]
fn shell_and_standard_tools_are_enough() {
    let env = env();
    let programs = env.beside("programs");
    std::fs::create_dir(&programs).unwrap();
    for name in ["sh", "basename", "cat", "cksum", "cut", "grep", "sed", "tr", "wc"] {
        let folders = ["/bin", "/usr/bin"].map(|folder| Path::new(folder).join(name));
        let program = folders.into_iter().find(|program| program.exists()).unwrap();
        symlink(program, programs.join(name)).unwrap();
    }
    let demo = env.ralph(["demo"]).env("PATH", &programs).run();
    assert_eq!((demo.code, demo.stderr.as_str()), (Some(0), ""), "{demo}");
    assert_eq!(cells(&demo.stdout, "Iterations "), ["6", "10"], "{demo}");
    assert_eq!(env.left_behind(), [""; 0]);
}

#[test]
fn runs_in_a_container() {
    let env = env();
    let container = "exec unshare --user --map-root-user --pid --fork --mount-proc";
    if env.sh(&format!("{container} true")).run().code != Some(0) {
        eprintln!("skipped: this system does not allow process namespaces");
        return;
    }
    let demo = env.sh(&format!("{container} \"$RALPH\" demo")).run();
    assert_eq!((demo.code, demo.stderr.as_str()), (Some(0), ""), "{demo}");
    assert_eq!(cells(&demo.stdout, "Iterations "), ["6", "10"], "{demo}");
}

#[test]
fn user_settings_are_ignored() {
    // A temporary folder inside a git repository, and settings that point to the user's files.
    let env = sample();
    env.git(["init", "-q"]);
    let temporary = env.path("tmp");
    std::fs::create_dir(&temporary).unwrap();
    let demo = env
        .ralph(["demo"])
        .env("TMPDIR", &temporary)
        .env("RALPH_MEMORIES_PATH", env.path(MEMORIES))
        .env("RALPH_MEMORIES_ENABLED", "false")
        .env("RALPH_AGENT_COMMAND", "false")
        .env("RALPH_LIMITS_ITERATIONS", "1")
        .env("GIT_DIR", env.path(".git"))
        .env("HOME", "")
        .run();
    assert_eq!(demo.code, Some(0), "{demo}");
    assert_eq!(cells(&demo.stdout, "Iterations "), ["6", "10"], "{demo}");
    assert_eq!(names(&env), [".agent/", MEMORIES, "tmp/"]);
    assert_eq!(env.read(MEMORIES), SAMPLE);
    assert_eq!(env.git(["log", "--all", "--oneline"]), "");
}

#[test]
fn output_fits_twenty_lines() {
    let demo = env().ralph(["demo"]).env("COLUMNS", "80").run();
    assert!(demo.stdout.lines().count() <= 20, "{demo}");
}

#[test]
fn own_agent_needs_confirmation() {
    let env = env();
    env.write("agent.sh", include_str!("../../src/commands/demo/project/agent.sh"));
    let agent = format!("sh {}", env.path("agent.sh").display());
    let refused = env.ralph(["demo", "--agent", "my-agent"]).run();
    assert_eq!(refused.code, Some(2), "{refused}");
    for text in [
        "`my-agent`",
        "10 sessions on your account",
        "stops at 15 iterations",
        "$1.00",
    ] {
        assert!(refused.stdout.contains(text), "{text}: {refused}");
    }
    assert!(
        refused
            .stderr
            .contains("cannot ask for confirmation here; pass `--yes`"),
        "{refused}"
    );
    assert_eq!(env.left_behind(), [""; 0]);
    let demo = env.ralph(["demo", "--agent", &agent, "--yes"]).run();
    assert_eq!(demo.code, Some(0), "{demo}");
    assert_eq!(cells(&demo.stdout, "Iterations "), ["6", "10"], "{demo}");
    assert_eq!(cells(&demo.stdout, "Tasks done "), ["5", "5"], "{demo}");
    assert_eq!(cells(&demo.stdout, "Cost "), ["not reported", "not reported"], "{demo}");
    assert!(demo.stdout.contains("Memory saved 4 iterations."), "{demo}");
    assert!(demo.stderr.contains("iteration 1: Add the command upper"), "{demo}");
    assert_eq!(env.left_behind(), [""; 0]);
}

#[test]
fn memory_without_effect_is_reported() {
    let env = env();
    // It knows everything beforehand and makes no mistake.
    env.write("knows.sh", KNOWS_ALL);
    let agent = format!("sh {}", env.path("knows.sh").display());
    let demo = env.ralph(["demo", "--agent", &agent, "--yes"]).run();
    assert_eq!(demo.code, Some(0), "{demo}");
    assert_eq!(cells(&demo.stdout, "Failed attempts"), ["0", "0"], "{demo}");
    assert!(
        demo.stdout
            .contains("The failure: none. Your agent avoided every trap.\n"),
        "{demo}"
    );
    assert!(demo.stdout.contains("Memory made no difference here."), "{demo}");
}

#[test]
fn narrow_terminals_and_colors_are_supported() {
    let env = env();
    let narrow = env.ralph(["demo"]).env("COLUMNS", "60").env("NO_COLOR", "1").run();
    assert_eq!(narrow.code, Some(0), "{narrow}");
    let longest = narrow.stdout.lines().map(UnicodeWidthStr::width).max().unwrap();
    assert!(longest <= 60, "{longest} in\n{narrow}");
    assert!(!narrow.stdout.contains('\u{1b}'), "{narrow}");

    let wide = env.ralph(["--color", "always", "demo"]).env("COLUMNS", "200").run();
    assert!(wide.stdout.contains("\u{1b}[1;31m    FAIL commands.txt"), "{wide}");
}

enum Update {
    /// The gate has started, with this process id.
    Ready(String),
    Ended(Output),
}

#[test]
fn stopped_demo_leaves_nothing_behind() {
    // A program that the gate starts, and that does not end once the run has begun.
    let env = env();
    let (programs, ready) = (env.beside("programs"), env.beside("ready"));
    let made = env
        .sh("mkdir \"$PROGRAMS\" && mkfifo \"$READY\" && cat > \"$PROGRAMS/cksum\" && chmod +x \"$PROGRAMS/cksum\"")
        .env("PROGRAMS", &programs)
        .env("READY", &ready)
        .input(format!(
            "#!/bin/sh\n[ -e .git/ralph-project ] || PATH=/usr/bin:/bin exec cksum\necho $$ > '{}'\nexec sleep 1000\n",
            ready.display()
        ))
        .run();
    assert_eq!(made.code, Some(0), "{made}");
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        let path = format!("{}:/usr/bin:/bin", programs.display());
        let demo = env.ralph(["demo"]).env("PATH", path).start();
        let process = i32::try_from(demo.id()).unwrap();
        // The gate runs once it has written into the pipe. A demo that ends earlier never writes.
        let (sender, updates) = mpsc::channel();
        let (ready_sender, ready) = (sender.clone(), ready.clone());
        thread::spawn(move || ready_sender.send(Update::Ready(std::fs::read_to_string(ready).unwrap())));
        thread::spawn(move || sender.send(Update::Ended(demo.wait_with_output().unwrap())));
        let gate: i32 = match updates.recv().unwrap() {
            Update::Ready(gate) => gate.trim().parse().unwrap(),
            Update::Ended(early) => panic!("it ended early: {}", String::from_utf8_lossy(&early.stderr)),
        };
        send(signal, process);
        let Update::Ended(ended) = updates.recv().unwrap() else {
            panic!("two gates at a time");
        };
        let stderr = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(
            (ended.status.code(), stderr.as_str()),
            (Some(130), "Stopped.\n"),
            "signal {signal}"
        );
        assert_eq!(env.left_behind(), [""; 0], "signal {signal}");
        // A killed process may still be a zombie.
        let stat = std::fs::read_to_string(format!("/proc/{gate}/stat")).unwrap_or_default();
        let state = stat.rsplit(") ").next().and_then(|rest| rest.chars().next());
        assert!(matches!(state, None | Some('Z' | 'X')), "signal {signal}: {stat}");
    }
}

fn send(signal: i32, process: i32) {
    #[expect(unsafe_code, reason = "sending a signal has no safe way")]
    // SAFETY: the process is a child that was not waited for, so its id is still its own.
    let sent = unsafe { libc::kill(process, signal) };
    assert_eq!(sent, 0);
}

#[test]
fn failed_demo_reports_why_and_leaves_nothing_behind() {
    // Without a shell there is no gate.
    let env = env();
    let demo = env.ralph(["demo"]).env("PATH", env.beside("home")).run();
    assert_eq!((demo.code, demo.stderr.lines().count()), (Some(1), 1), "{demo}");
    let error = "Error: cannot run the demo with sh: No such file or directory";
    assert!(demo.stderr.starts_with(error), "{demo}");
    assert_eq!(env.left_behind(), [""; 0]);
}
