//! A second session looks at finished work: what it is told, what follows from its word, and whoever does not come to one.

use std::time::Duration;

use jiff::Timestamp;
use ralph_loop::state::{Effect, End};
use ralph_model::config::Commit;
use ralph_model::{NewTask, Outcome, TaskStatus};
use ralph_store::TaskUpdate;
use ralph_testkit::scripted::{Action, exit, garbage, hang, if_prompt_holds, raw, run, say, write};

use crate::bench::{Deed, Project, Seen, Speaks};

/// What claude prints when its usage limit is reached; it is over two seconds after the tests' time begins.
/// A usage limit that is over ten minutes after noon: six hundred looks at the clock, which no slow machine needs before it waits.
const USED_UP: &str = r#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1794827400,"rateLimitType":"five_hour"}}"#;
const USED_UP_RESULT: &str = r#"{"type":"result","subtype":"success","is_error":true,"api_error_status":429,"terminal_reason":"api_error","result":"You have hit your limit","total_cost_usd":0.25}"#;

fn done() -> Vec<Action> {
    vec![
        write("a.txt", "{turn}"),
        say("<journal>my own notes</journal>"),
        say("<task-done>{task}</task-done>"),
    ]
}

fn passes() -> Vec<Action> {
    vec![say("All is there.\n\n<verify-pass/>")]
}

/// A project in git with one task, whose agent's work is looked at in these ways.
fn looked_at<const N: usize>(looks: [Vec<Action>; N]) -> Project {
    let project = Project::new(Speaks::Claude, [done()]).in_git();
    project.agent.look(looks);
    project.task("Work");
    project
}

/// A first look that comes to no good end, and a second one that lets the work pass. The reason stands in the next prompt.
#[track_caller]
fn check_refused(look: Vec<Action>, reason: &str) {
    check_refused_in(&looked_at([look, passes()]), reason);
}

#[track_caller]
fn check_refused_in(project: &Project, reason: &str) {
    let ran = project.run();
    assert_eq!(ran.code(), 0, "{:?} {ran:?}", project.story());
    assert_eq!(project.story(), ["Work retried: task_done", "Work done: task_done"]);
    let rows = project.journal();
    assert_eq!(rows[0].row.reason, reason);
    let again = project.agent.prompt(2);
    let retry = again.split("## Retry Information").nth(1).unwrap();
    assert!(retry.contains("This is attempt 2 of 4."), "{retry}");
    assert!(retry.contains(reason), "{retry}");
}

#[test]
fn work_that_passes_is_done_and_both_sessions_are_paid_for() {
    let project = looked_at([passes()]).gated(&["test -f a.txt"]);
    let ran = project.run();
    assert_eq!(project.story(), ["Work done: task_done"], "{ran:?}");
    let row = &project.journal()[0].row;
    assert!((row.usage.cost_usd - 0.5).abs() < 1e-9, "{:?}", row.usage);
    let found = ran.seen.settled[0].verification.as_ref().unwrap();
    assert!(found.passes(), "{found:?}");
    assert_eq!((found.agent.as_str(), ran.seen.began), ("claude", vec![1]));
    // It was started so that it can change nothing, in the same folder and by the same marker.
    let (call, look) = (project.agent.call(1), project.agent.verification_call(1));
    assert!(
        look.arguments
            .windows(2)
            .any(|words| words == ["--permission-mode", "default"])
    );
    assert_eq!(look.folder, call.folder);
    for same in ["RALPH_RUN_ID", "RALPH_ITERATION", ralph_process::MARKER_VARIABLE] {
        assert_eq!(look.environment.get(same), call.environment.get(same));
    }
    // What it was told and said is kept beside the turn's own.
    let folder = format!(".ralph/runs/{}/001", ran.run);
    assert_eq!(
        project.names(&format!("{folder}/verify")),
        ["prompt.md", "transcript.jsonl"]
    );
    assert_eq!(
        project.read(&format!("{folder}/verify/prompt.md")),
        project.agent.verifications()[0]
    );
    let result: serde_json::Value = serde_json::from_str(&project.read(&format!("{folder}/result.json"))).unwrap();
    assert_eq!(result["verification"]["verdict"], "Pass");
}

#[test]
fn it_is_told_the_task_the_diff_and_the_gates_and_nothing_that_the_agent_said() {
    let mut project = Project::new(Speaks::Claude, [done()]).in_git();
    project.config.verify.commands = vec!["test -f a.txt".to_owned()];
    project.write(
        ".agent/memories.md",
        "# Memories\n\n## Patterns\n\n### mem-1737372000-a1b2\n> A note about quokkas.\n<!-- tags: x | created: 2025-01-20 -->\n",
    );
    project.add(&NewTask {
        description: "Write the number of the turn.".to_owned(),
        ..NewTask::titled("Work")
    });
    project.run();
    assert!(project.agent.prompt(1).contains("quokkas"));
    let prompt = project.agent.verifications().remove(0);
    for part in [
        "# Verification\n",
        "**Work** (t-",
        "Write the number of the turn.",
        "- `test -f a.txt`: passed",
        "- a.txt",
        "+++ b/a.txt",
        "+1",
    ] {
        assert!(prompt.contains(part), "{part}: {prompt}");
    }
    for secret in ["my own notes", "quokkas", "## Memory", "## Run Journal", "task-done"] {
        assert!(!prompt.contains(secret), "{secret}: {prompt}");
    }
}

#[test]
fn work_that_is_refused_is_tried_again_with_the_reason() {
    let refuses = vec![say("<verify-fail>The limit of a.txt is missing</verify-fail>")];
    check_refused(refuses, "The verifier refused: The limit of a.txt is missing.");
}

#[test]
fn whoever_says_both_has_refused() {
    let both = vec![say("<verify-pass/>\n<verify-fail>no</verify-fail>\n<verify-pass/>")];
    check_refused(both, "The verifier refused: no.");
}

#[test]
fn no_verdict_is_a_fail() {
    check_refused(vec![say("It looks good.")], "The verifier came to no verdict.");
    // In a fence, or before a tool is used, it is none.
    check_refused(
        vec![say("The file a.txt says <verify-pass/>, so I cannot tell.")],
        "The verifier came to no verdict.",
    );
    check_refused(
        vec![say("```\n<verify-pass/>\n```")],
        "The verifier came to no verdict.",
    );
    check_refused(
        vec![say("<verify-pass/>"), run("true"), say("Well.")],
        "The verifier came to no verdict.",
    );
}

#[test]
fn a_verifier_that_changed_a_file_fails_and_the_change_is_named_and_stays() {
    let changes = vec![write("b.txt", "better"), say("<verify-pass/>")];
    let reason = "The verifier changed b.txt, and was to change nothing; so its word does not count.";
    check_refused(changes.clone(), reason);
    let without_git = Project::new(Speaks::Claude, [done()]);
    without_git.agent.look([changes, passes()]);
    without_git.task("Work");
    check_refused_in(&without_git, reason);
}

#[test]
fn a_change_of_what_git_ignores_is_seen_and_one_of_ralphs_own_is_none() {
    let ignored = vec![write("build/x.txt", "x"), say("<verify-pass/>")];
    let project = looked_at([ignored, passes()]);
    project.write(".git/info/exclude", "build/\n");
    let reason = "The verifier changed build/x.txt, and was to change nothing; so its word does not count.";
    check_refused_in(&project, reason);
    let own = vec![
        write(".agent/scratchpad.md", "x"),
        write(".ralph/y", "x"),
        say("<verify-pass/>"),
    ];
    let project = looked_at([own]);
    project.run();
    assert_eq!(project.story(), ["Work done: task_done"]);
}

/// Notes stand in every later prompt: whoever only looks writes none.
#[test]
fn a_verifier_that_writes_notes_fails() {
    let notes = vec![write(".agent/memories.md", "# Memories\n"), say("<verify-pass/>")];
    let reason = "The verifier changed .agent/memories.md, and was to change nothing; so its word does not count.";
    check_refused(notes, reason);
}

/// Nobody saw who it was: it may have been a person.
#[test]
fn what_changes_while_it_looks_and_is_not_named_is_forgiven_once() {
    let reason = |what: &str| {
        format!(
            "While the verifier looked, {what} changed, by its hand or by somebody else's; so its word does not count, and \
             this once neither does the attempt."
        )
    };
    for (command, what) in [
        ("echo x > b.txt", "b.txt"),
        (
            "git -c user.name=n -c user.email=e commit --allow-empty -qm x",
            "refs/heads/main",
        ),
        ("git tag x", "refs/tags/x"),
        ("git checkout -q --detach", "HEAD"),
    ] {
        let project = looked_at([vec![run(command), say("<verify-pass/>")], passes()]);
        let ran = project.run();
        assert_eq!(ran.code(), 0, "{command}: {:?} {ran:?}", project.story());
        assert_eq!(project.story(), ["Work interrupted: task_done", "Work done: task_done"]);
        assert_eq!(project.journal()[0].row.reason, reason(what), "{command}");
        assert_eq!(project.tasks()[0].retries_used, 0);
        // What was forgiven says nothing of how the work goes.
        let course = project.store().course(&project.tasks()[0].id).unwrap();
        assert_eq!((course.recent.done, course.recent.of), (1, 1));
    }
}

/// Each look is spoilt, and each turn changes something: no other limit would end this.
#[test]
fn where_something_changes_at_each_look_the_attempts_are_used_up_and_the_run_goes_on() {
    let spoilt = vec![run("date +%N >> b.txt"), say("<verify-pass/>")];
    let mut project = looked_at([spoilt.clone(), spoilt.clone(), spoilt.clone(), passes()]);
    project.config.execution.max_retries = 1;
    project.task("Next");
    let ran = project.run();
    assert_eq!(
        project.story(),
        [
            "Work interrupted: task_done",
            "Work retried: task_done",
            "Work retried: task_done",
            "Next done: task_done",
        ],
        "{ran:?}"
    );
    let task = &project.tasks()[0];
    assert_eq!((task.status, task.retries_used), (TaskStatus::Failed, 2));
    assert_eq!(
        project.journal()[2].row.reason,
        "While the verifier looked, b.txt changed, by its hand or by somebody else's, and not for the first time; so its \
         word does not count."
    );
}

#[test]
fn one_that_cannot_be_started_is_settled_and_the_run_says_what_to_do() {
    let mut project = Project::new(Speaks::Codex, [done()]).in_git();
    project.verified_by(Speaks::Claude, [passes()]);
    project.verifier = Some((Speaks::Claude, vec!["/nonexistent/looker".to_owned()]));
    project.task("Work");
    let ran = project.run();
    let Some(End::Error(said)) = &ran.end else {
        panic!("{ran:?}")
    };
    assert!(said.starts_with("The verifier cannot be started: "), "{said}");
    assert!(said.ends_with("--no-verify goes without."), "{said}");
    assert_eq!(project.story(), ["Work interrupted: crash"]);
    let task = &project.tasks()[0];
    assert_eq!((task.status, task.retries_used), (TaskStatus::Pending, 0));
}

#[test]
fn a_verifier_that_breaks_down_or_speaks_nonsense_came_to_no_verdict() {
    let crash = "The verifier came to no verdict. The agent broke down: exit code 7.";
    check_refused(vec![say("<verify-pass/>"), exit(7)], crash);
    let project = looked_at([vec![garbage(), exit(0)], passes()]);
    project.run();
    let reason = project.journal()[0].row.reason.clone();
    assert!(reason.starts_with("The verifier came to no verdict. "), "{reason}");
    assert_eq!(project.story(), ["Work retried: task_done", "Work done: task_done"]);
}

#[test]
fn a_verifier_that_hangs_is_stopped() {
    let mut project = looked_at([vec![hang()], passes()]);
    project.config.limits.idle_time = Some(Duration::from_millis(300));
    let ran = project.run();
    let reason = &project.journal()[0].row.reason;
    assert!(
        reason.starts_with("The verifier came to no verdict. It was silent for longer than"),
        "{reason} {ran:?}"
    );
}

#[test]
fn its_usage_limit_is_waited_for_and_not_held_against_the_work() {
    let used_up = vec![raw(USED_UP), raw(USED_UP_RESULT)];
    let project = looked_at([used_up, passes()]);
    let ran = project.run();
    assert_eq!(ran.code(), 0, "{ran:?}");
    assert_eq!(
        project.story(),
        ["Work interrupted: usage_limit", "Work done: task_done"]
    );
    assert_eq!(project.tasks()[0].retries_used, 0);
    let reason = &project.journal()[0].row.reason;
    assert!(
        reason.starts_with("The verifier, claude, could not look. The usage limit is reached"),
        "{reason}"
    );
    assert!(!ran.seen.notices.is_empty(), "it waited");
}

#[test]
fn another_agent_may_look_and_its_pause_is_its_own() {
    let mut project = Project::new(Speaks::Codex, [done()]).in_git();
    let verifier = project.verified_by(Speaks::Claude, [vec![raw(USED_UP), raw(USED_UP_RESULT)], passes()]);
    project.task("Work");
    let ran = project.run();
    assert_eq!(ran.code(), 0, "{ran:?}");
    assert_eq!(
        project.story(),
        ["Work interrupted: usage_limit", "Work done: task_done"]
    );
    assert_eq!(
        (
            project.agent.turns(),
            project.agent.verifications().len(),
            verifier.verifications().len()
        ),
        (2, 0, 2)
    );
    assert!(!ran.seen.notices.is_empty(), "it waited");
    let store = project.store();
    assert_eq!(store.pause_of_agent("claude").unwrap(), None, "it is over");
    assert!(!verifier.verification_call(1).environment.contains_key("RALPH_MODEL"));
}

#[test]
fn one_that_is_not_logged_in_stops_the_run_and_the_task_is_as_it_was() {
    let not_logged_in = r#"{"type":"result","subtype":"success","is_error":true,"api_error_status":401,"terminal_reason":"api_error","result":"Invalid API key"}"#;
    let project = looked_at([vec![raw(not_logged_in)]]);
    let ran = project.run();
    assert!(matches!(ran.end, Some(End::Error(_))), "{ran:?}");
    assert_eq!(project.story(), ["Work interrupted: auth"]);
    let task = &project.tasks()[0];
    assert_eq!((task.status, task.retries_used), (TaskStatus::Pending, 0));
}

#[test]
fn nobody_looks_where_it_is_not_wanted_or_not_possible() {
    let mut project = looked_at([vec![say("<verify-fail>no</verify-fail>")]]);
    project.config.execution.verify = false;
    project.run();
    assert_eq!(project.story(), ["Work done: task_done"]);
    assert!(project.agent.verifications().is_empty());
    let plain = Project::plain([done()]);
    plain.task("Work");
    plain.run();
    assert_eq!(plain.story(), ["Work done: task_done"]);
    assert!(plain.agent.verifications().is_empty());
}

#[test]
fn nobody_looks_at_what_the_gates_refuse() {
    let mut project = looked_at([passes()]).gated(&["! test -f a.txt"]);
    project.config.execution.max_retries = 0;
    project.run();
    assert_eq!(project.story(), ["Work retried: task_done"]);
    assert!(project.agent.verifications().is_empty());
}

#[test]
fn what_is_refused_is_not_committed() {
    let refuses = vec![say("<verify-fail>no</verify-fail>")];
    let mut project = looked_at([refuses, passes()]);
    project.config.git.commit = Commit::Task;
    let mut refused = None;
    let root = project.root().to_owned();
    let ran = project.run_with(Seen::doing(move |effect| {
        if let (Effect::Settle(draft), None) = (effect, &refused) {
            refused = Some(draft.ruling.outcome);
            assert_eq!(draft.ruling.outcome, Outcome::Retried);
            let log = ralph_process::git::Git::change(&root)
                .run(["log", "--format=%s"])
                .unwrap();
            assert_eq!(log.text().unwrap(), "Begin\n");
        }
        None
    }));
    assert_eq!(ran.code(), 0);
    assert_eq!(project.git(&["log", "--format=%s"]), "Work\nBegin\n");
    assert_eq!(project.git(&["status", "--porcelain"]), "");
}

#[test]
fn an_interrupt_stops_it_and_nothing_counts() {
    let project = looked_at([vec![hang()]]);
    let ran = project.run_with(Seen::doing(|effect| {
        matches!(effect, Effect::Verify(_)).then_some(Deed::Interrupt)
    }));
    assert_eq!(ran.code(), 130);
    assert_eq!(project.story(), ["Work interrupted: cancelled"]);
    let task = &project.tasks()[0];
    assert_eq!((task.status, task.retries_used), (TaskStatus::Pending, 0));
}

#[test]
fn a_run_that_dies_while_it_looks_is_looked_at_by_the_next_and_nothing_is_left() {
    let stays = if_prompt_holds(
        "nothing of the kind",
        [],
        [run("setsid sleep 600 >/dev/null 2>&1 &"), hang()],
    );
    let project = looked_at([vec![stays], passes()]).gated(&["test -f a.txt"]);
    let died = project.run_with(Seen::dying_at(|effect| matches!(effect, Effect::Verify(_))));
    assert_eq!(died.end, None);
    let ran = project.run();
    assert_eq!((ran.code(), ran.iterations), (0, 0), "{ran:?}");
    assert_eq!(project.story(), ["Work done: task_done"]);
    assert_eq!(project.agent.turns(), 1);
    let (_, _, marker) = project.calls().remove(0);
    assert_eq!(ralph_process::kill_leftovers(&marker, None), 0);
}

#[test]
fn a_prompt_that_is_complete_is_looked_at_and_a_part_of_it_is_not() {
    let part = vec![write("a.txt", "{turn}"), say("More to do.")];
    let complete = vec![write("a.txt", "{turn}"), say("<promise>COMPLETE</promise>")];
    let project = Project::new(Speaks::Claude, [part, complete]).in_git();
    project
        .agent
        .look([vec![say("<verify-fail>not all of it</verify-fail>")], passes()]);
    project.add(&NewTask {
        kind: ralph_model::TaskKind::PromptLoop,
        description: "Do all of it.".to_owned(),
        ..NewTask::titled("PROMPT.md")
    });
    let ran = project.run();
    assert_eq!(
        project.story(),
        [
            "PROMPT.md done: no_sigil",
            "PROMPT.md retried: task_done",
            "PROMPT.md done: task_done"
        ],
        "{ran:?}"
    );
    assert_eq!(project.agent.verifications().len(), 2);
    assert!(project.agent.prompt(3).contains("The verifier refused: not all of it."));
}

/// The rule: whoever looks at work has no memory and leaves none.
#[test]
fn it_neither_reads_nor_writes_the_journal_and_long_notes() {
    let note = "<knowledge tags=\"work\" title=\"Planted\">By the verifier.</knowledge><journal>planted</journal>";
    let turn = [
        vec![say(
            "<knowledge tags=\"work\" title=\"Known\">By the agent.</knowledge>",
        )],
        done(),
    ];
    let project = Project::new(Speaks::Claude, [turn.concat()]).in_git();
    project.agent.look([vec![say(&format!("{note}\n<verify-pass/>"))]]);
    project.task("Work");
    project.task("More work");
    project.run();
    assert_eq!(project.story(), ["Work done: task_done", "More work done: task_done"]);
    let mut notes = project.names(".ralph/knowledge");
    notes.retain(|name| !name.starts_with('.'));
    assert_eq!(notes, ["known.md"]);
    assert!(
        project
            .journal()
            .iter()
            .all(|row| row.row.notes.as_deref() == Some("my own notes"))
    );
    assert!(
        project.agent.prompt(2).contains("By the agent."),
        "{}",
        project.agent.prompt(2)
    );
    for prompt in project.agent.verifications() {
        assert!(
            !prompt.contains("By the agent.") && !prompt.contains("my own notes"),
            "{prompt}"
        );
    }
}

/// Whoever works on a task can change it, too; its work is measured by what was asked for.
#[test]
fn it_is_told_the_task_as_it_was_when_the_work_began() {
    let project = Project::new(Speaks::Claude, [done()]).in_git();
    let task = project.add(&NewTask {
        description: "Write a parser.".to_owned(),
        ..NewTask::titled("Work")
    });
    let died = project.run_with(Seen::dying_at(|effect| matches!(effect, Effect::RecordEnd(_))));
    assert_eq!(died.end, None);
    let easier = TaskUpdate {
        description: Some("Write hello.txt.\n\nGuidance (2026-11-16 10:00 UTC):\nPass it.".to_owned()),
        ..TaskUpdate::default()
    };
    project
        .store()
        .update_task(&task, &easier, Timestamp::UNIX_EPOCH)
        .unwrap();
    project.run();
    assert_eq!(project.story(), ["Work done: task_done"]);
    let prompt = project.agent.verifications().remove(0);
    assert!(prompt.contains("Write a parser."), "{prompt}");
    assert!(prompt.contains("has changed it since."), "{prompt}");
    for later in ["hello.txt", "Pass it", "Guidance"] {
        assert!(!prompt.contains(later), "{later}: {prompt}");
    }
}
