//! Real gate commands, changed files, and commits.

use ralph_loop::state::End;
use ralph_model::TaskStatus;
use ralph_model::config::Commit;
use ralph_testkit::scripted::{Action, append, run, say, write};

use crate::bench::{Dialect, Project};

const DONE: &str = "<task-done>{task}</task-done>";

fn done(actions: impl IntoIterator<Item = Action>) -> Vec<Action> {
    actions.into_iter().chain([say(DONE)]).collect()
}

/// Fails while `failures.txt` exists, and prints its contents.
const FAILURES: &str = "! cat failures.txt";

#[test]
fn already_failing_gate_refuses_only_new_failures() {
    let turns = [
        // Work that leaves the old failures alone.
        done([write("a.txt", "x")]),
        // A turn that changed nothing.
        done([]),
        // A new failure.
        done([append("failures.txt", "test c ... FAILED\n")]),
        // Only one of the old failures.
        done([write("failures.txt", "test b ... FAILED\n")]),
        // A fixed failure comes back.
        done([append("failures.txt", "test a ... FAILED\n")]),
        // Everything is fixed.
        done([run("rm failures.txt")]),
        // Once the gate has passed, old failures count too.
        done([write("failures.txt", "test b ... FAILED\n")]),
        done([run("rm failures.txt")]),
    ];
    let project = Project::plain(turns).gated(&[FAILURES]);
    project.write("failures.txt", "test a ... FAILED\ntest b ... FAILED\n");
    for title in ["A", "B", "C", "D"] {
        project.task(title);
    }
    let ran = project.run();
    let outcomes: Vec<String> = project
        .journal()
        .iter()
        .map(|row| row.row.outcome.to_string())
        .collect();
    let expected = [
        "done", "retried", "retried", "done", "retried", "done", "retried", "done",
    ];
    assert_eq!(outcomes, expected, "{:#?}", project.journal());
    assert_eq!(ran.code(), 0);
    let says_red = |turn| {
        project
            .agent
            .prompt(turn)
            .contains("These gates already failed before the run")
    };
    assert_eq!((says_red(1), says_red(6), says_red(7)), (true, true, false));
    let reasons: Vec<String> = project.journal().into_iter().map(|row| row.row.reason).collect();
    assert!(reasons[1].starts_with("Nothing changed"), "{}", reasons[1]);
    assert!(reasons[2].contains("test c ... FAILED"), "{}", reasons[2]);
    assert!(project.journal()[1].row.changed_nothing);
}

#[test]
fn hanging_gate_is_killed_with_all_its_children() {
    let hanging = "test ! -e a.txt || { setsid sleep 600 & setsid sleep 600 >/dev/null 2>&1 & sleep 600; }";
    let mut project = Project::plain([done([write("a.txt", "x")])]).gated(&[hanging, "true"]);
    project.config.verify.timeout = Some(std::time::Duration::from_millis(200));
    project.config.limits.iterations = Some(1);
    let task = project.task("A");
    let ran = project.run();
    assert_eq!(project.story(), ["A retried: task_done"]);
    assert_eq!((ran.code(), project.status(&task)), (4, TaskStatus::Pending));
    let reason = project.journal().remove(0).row.reason;
    assert!(
        reason.contains("took longer than `[verify] timeout` allows"),
        "{reason}"
    );
    for (_, _, marker) in project.calls() {
        assert_eq!(ralph_process::kill_leftovers(&marker, None), 0);
    }
}

#[test]
fn changed_files_are_found_with_and_without_git() {
    for in_git in [true, false] {
        for dialect in [Dialect::Plain, Dialect::Claude] {
            let turns = [
                done([
                    write("src/new.txt", "x"),
                    append("old.txt", "more\n"),
                    run("rm gone.txt"),
                    write("notes.log", "ignored"),
                ]),
                done([]),
                done([append(".agent/memories.md", "# Memories\n")]),
            ];
            let project = Project::new(dialect, turns);
            for (file, text) in [
                ("old.txt", "x\n"),
                ("gone.txt", "x\n"),
                (".gitignore", "*.log\n.ralph/\n"),
            ] {
                project.write(file, text);
            }
            let project = if in_git { project.in_git() } else { project };
            project.write(".gitignore", "*.log\n.ralph/\n");
            for title in ["A", "B", "C"] {
                project.task(title);
            }
            assert_eq!(project.run().code(), 0);
            let seen: Vec<(String, bool)> = project
                .journal()
                .into_iter()
                .map(|row| (row.row.files_modified.join(" "), row.row.changed_nothing))
                .collect();
            // An ignored file is known only from the agent's own tool calls.
            let ignored = if dialect == Dialect::Claude { "notes.log " } else { "" };
            let expected = [
                (format!("gone.txt {ignored}old.txt src/new.txt"), false),
                (String::new(), true),
                (".agent/memories.md".to_owned(), true),
            ];
            assert_eq!(seen, expected, "in git: {in_git}, {dialect:?}");
        }
    }
}

#[test]
fn commit_contains_files_of_all_attempts() {
    let turns = [
        done([write("first.txt", "x"), write("bad.txt", "x")]),
        done([run("rm bad.txt"), write("second.txt", "x")]),
    ];
    let mut project = Project::plain(turns).in_git().gated(&["! ls bad.txt"]);
    project.config.git.commit = Commit::Task;
    project.write("mine.txt", "a person's own");
    let task = project.task("Write both");
    assert_eq!(project.run().code(), 0);
    assert_eq!(
        project.story(),
        ["Write both retried: task_done", "Write both done: task_done"]
    );
    let shown = project.git(&["show", "--format=%B", "--name-only", "HEAD"]);
    assert_eq!(
        shown,
        format!("Write both\n\nTask: {task}\n\n\nfirst.txt\nsecond.txt\n")
    );
    assert_eq!(project.git(&["status", "--porcelain"]), "?? mine.txt\n");
}

#[test]
fn previously_dirty_file_prevents_the_commit() {
    let mut project = Project::plain([done([append("mine.txt", "the agent's\n"), write("new.txt", "x")])]).in_git();
    project.config.git.commit = Commit::Task;
    project.write("mine.txt", "a person's own\n");
    let task = project.task("A");
    let ran = project.run();
    assert_eq!(
        (ran.code(), project.status(&task)),
        (0, TaskStatus::Done),
        "the work is done anyway"
    );
    assert_eq!(
        project.journal().remove(0).row.reason,
        "Not committed: mine.txt had uncommitted changes before the first attempt"
    );
    assert_eq!(project.git(&["log", "--format=%s"]), "Begin\n");
    assert_eq!(project.git(&["status", "--porcelain"]), "?? mine.txt\n?? new.txt\n");
}

#[test]
fn agents_own_commit_counts_as_the_commit() {
    let commit = run("git add a.txt && git commit --quiet --message='By the agent'");
    let mut project = Project::plain([done([write("a.txt", "x"), commit])]).in_git();
    project.config.git.commit = Commit::Task;
    project.task("A");
    let ran = project.run();
    assert_eq!((ran.code(), ran.seen.warnings), (0, Vec::new()));
    assert_eq!(project.git(&["log", "--format=%s"]), "By the agent\nBegin\n");
    let commit = ran.seen.settled[0].commit.clone();
    assert_eq!(commit, Some(Ok(project.git(&["rev-parse", "HEAD"]).trim().to_owned())));
}

#[test]
fn breakage_from_an_earlier_run_still_fails_the_task() {
    let turns = [done([write("bad.txt", "x")]), done([append("more.txt", "x")])];
    let mut project = Project::plain(turns).gated(&["! ls bad.txt"]);
    project.config.limits.iterations = Some(1);
    project.config.execution.max_retries = 1;
    let (first, second) = (project.task("A"), project.task("B"));
    project.run();
    project.run();
    assert_eq!(project.story(), ["A retried: task_done"; 2]);
    assert_eq!(project.status(&first), TaskStatus::Failed);
    // The first task now needs a person. A new run accepts the current state as its baseline.
    project.run();
    assert_eq!(project.status(&second), TaskStatus::Done);
    assert!(
        project
            .agent
            .prompt(3)
            .contains("These gates already failed before the run")
    );
}

#[test]
fn unrunnable_gate_prevents_any_agent_start() {
    for (gate, says) in [
        (
            "no-such-program test",
            "cannot be started (exit code 127): sh: 1: no-such-program: not found",
        ),
        (
            "sh no-such-script.sh",
            "cannot be started (no-such-script.sh does not exist)",
        ),
        ("./data.txt", "cannot be started (exit code 126)"),
        ("sleep 600", "took longer than `[verify] timeout` allows"),
        ("kill -9 $$", "was killed before it could finish (signal 9)"),
    ] {
        let mut project = Project::plain([done([write("a.txt", "x")])]).gated(&["true", gate]);
        project.write("data.txt", "not a program");
        project.config.verify.timeout = Some(std::time::Duration::from_millis(100));
        let task = project.task("A");
        let ran = project.run();
        let Some(End::Error(reason)) = &ran.end else {
            panic!("{ran:?}");
        };
        assert!(
            reason.contains(&format!("The gate `{gate}`")) && reason.contains(says),
            "{reason}"
        );
        assert_eq!((ran.code(), ran.iterations, project.agent.turns()), (1, 0, 0));
        assert_eq!((project.status(&task), project.story().len()), (TaskStatus::Pending, 0));
    }
}

#[test]
fn gate_broken_by_the_agent_does_not_block_retries() {
    let turns = [done([run("rm check.sh")]), done([write("check.sh", "true")])];
    let mut project = Project::plain(turns).gated(&["sh ./check.sh || kill -9 $$"]);
    project.write("check.sh", "true");
    project.config.limits.iterations = Some(1);
    let task = project.task("A");
    project.run();
    assert_eq!(project.story(), ["A retried: task_done"]);
    // The second attempt restores the script, so the gate is unchanged.
    assert_eq!((project.run().code(), project.status(&task)), (0, TaskStatus::Done));
}
