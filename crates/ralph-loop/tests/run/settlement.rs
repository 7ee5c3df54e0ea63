//! Every row of the settlement table, with a real agent process.

use ralph_loop::state::{Effect, Notice};
use ralph_model::{ReportOrigin, StoredReport, TaskStatus};
use ralph_store::PauseReason;
use ralph_testkit::scripted::{Action, append, exit, flood, garbage, hang, kill, raw, say, say_error, write};

use crate::bench::{Dialect, Intervention, NOON, Probe, Project};

const DONE: &str = "<task-done>{task}</task-done>";

/// The expected result of a run with one task and one turn.
struct Expected<'a> {
    /// Outcome and stop reason of the first journal entry.
    row: &'a str,
    /// The status of the task, and how many retries it has used.
    task: (TaskStatus, u32),
    code: u8,
}

fn pending(row: &str, retries: u32, code: u8) -> Expected<'_> {
    Expected {
        row,
        task: (TaskStatus::Pending, retries),
        code,
    }
}

/// Runs one iteration only, so that the result is that of this turn.
#[track_caller]
fn check(dialect: Dialect, turn: Vec<Action>, expected: &Expected<'_>) -> Project {
    check_with(Project::new(dialect, [turn]), expected)
}

#[track_caller]
fn check_with(mut project: Project, expected: &Expected<'_>) -> Project {
    project.config.limits.iterations = Some(1);
    let task = project.task("A");
    let ran = project.run();
    let row = project.journal().remove(0).row;
    assert_eq!(format!("{} {}", row.outcome, row.stop), expected.row, "{}", row.reason);
    let record = project.load_task(&task);
    assert_eq!((record.status, record.retries_used), expected.task, "{}", expected.row);
    assert_eq!(ran.code(), expected.code, "{}: {ran:?}", expected.row);
    assert_eq!(project.journal().len(), 1, "{}", expected.row);
    assert_eq!(record.claimed_by, None);
    check_report(&project, expected.row);
    project
}

/// A failed attempt has a report with a signature; no other outcome has a report.
#[track_caller]
fn check_report(project: &Project, row: &str) {
    let journal = project.journal().remove(0);
    let kept = project.store().report_of(journal.id).unwrap();
    if journal.row.outcome.is_failure() != Some(true) {
        assert_eq!(kept, None, "{row}");
        return;
    }
    assert!(kept.is_some(), "{row} has no report");
    let Some(kept) = kept else { return };
    assert!(kept.signature.is_some(), "{row}");
    assert_eq!(kept.report.origin, ReportOrigin::Ralph, "{row}");
    assert!(!kept.report.why_failed.is_empty(), "{kept:?}");
}

/// The last record of a turn that ended with a service error.
fn service_error(fields: &str) -> Vec<Action> {
    let record = format!(r#"{{"type":"result","subtype":"success","is_error":true,"session_id":"s",{fields}}}"#);
    vec![raw(&record), exit(1)]
}

fn result(fields: &str) -> Action {
    raw(&format!(r#"{{"type":"result","session_id":"s",{fields}}}"#))
}

#[test]
fn finished_task_is_done() {
    for dialect in [Dialect::Plain, Dialect::Claude] {
        let expected = Expected {
            row: "done task_done",
            task: (TaskStatus::Done, 0),
            code: 0,
        };
        let project = Project::new(dialect, [vec![write("a.txt", "x"), say(DONE)]]).gated(&["test -e a.txt"]);
        // The gate fails before the turn and passes after it.
        check_with(project, &expected);
    }
}

#[test]
fn failing_gate_is_explained_in_the_next_prompt() {
    let turns = [
        vec![write("a.txt", "bad"), say(DONE)],
        vec![write("a.txt", "good"), say(DONE)],
    ];
    let project = Project::plain(turns).gated(&["! grep -H bad *.txt"]);
    project.write("b.txt", "fine");
    let task = project.task("A");
    let ran = project.run();
    assert_eq!(project.story(), ["A retried: task_done", "A done: task_done"]);
    assert_eq!(
        (ran.code(), project.load_task(&task).retries_used),
        (0, 0),
        "done resets"
    );
    let second = project.agent.prompt(2);
    assert!(
        second.contains("## Retry Information") && second.contains("a.txt:bad"),
        "{second}"
    );
}

#[test]
fn repeated_failure_has_the_same_signature() {
    let turn = |file: &str, text: &str, said: &str| vec![write(file, text), say(&format!("{said}\n{DONE}"))];
    let turns = [
        turn("a.txt", "bad", "I wrote it down."),
        turn("a.txt", "a line more\nbad", "I wrote one line more."),
        vec![write("a.txt", "good"), write("c.txt", "bad"), say(DONE)],
        vec![write("c.txt", "good"), say(DONE)],
    ];
    let mut project = Project::plain(turns).gated(&["! grep -Hn bad *.txt"]);
    project.write("b.txt", "fine");
    let task = project.task("A");
    project.config.limits.iterations = Some(3);
    project.run();
    let attempts = project.store().failed_attempts(&task).unwrap();
    let reports: Vec<StoredReport> = attempts.into_iter().filter_map(|attempt| attempt.report).collect();
    let [first, second, third] = reports.as_slice() else {
        panic!("{reports:?}");
    };
    assert_eq!(first.signature, second.signature);
    assert_ne!(second.signature, third.signature);
    let report = &second.report;
    assert_eq!(report.what_tried, "I wrote one line more.");
    assert_eq!(
        report.why_failed,
        "The gate `! grep -Hn bad *.txt` failed (exit code 1)."
    );
    assert_eq!(report.error_output.as_deref(), Some("a.txt:2:bad"));
    assert_eq!(report.relevant_files, ["a.txt"]);
    // Once the task is done, its failures are cleared.
    project.run();
    assert_eq!(project.store().failed_attempts(&task).unwrap(), []);
}

#[test]
fn failed_turn_counts_as_an_attempt() {
    let failed = |stop: &str| format!("failed {stop}");
    let cases = [
        (vec![say("<task-failed>{task} no network</task-failed>")], "task_failed"),
        (vec![say_error("boom"), exit(3)], "crash"),
        (vec![say(DONE), exit(1)], "crash"),
        (vec![say(DONE), kill(9)], "crash"),
    ];
    for (turn, stop) in cases {
        check(Dialect::Plain, turn, &pending(&failed(stop), 1, 4));
    }
    let cases = [
        (vec![garbage(), exit(0)], "garbage"),
        (vec![say(DONE), kill(9)], "crash"),
        (
            vec![
                say("No."),
                result(r#""subtype":"success","is_error":false,"result":"No.","stop_reason":"refusal""#),
            ],
            "refusal",
        ),
    ];
    for (turn, stop) in cases {
        check(Dialect::Claude, turn, &pending(&failed(stop), 1, 4));
    }
}

#[test]
fn turn_over_a_limit_is_stopped_and_fails() {
    let hanging = || Project::plain([vec![say(DONE), hang()]]);
    let mut project = hanging();
    project.config.limits.iteration_time = Some(std::time::Duration::from_millis(100));
    check_with(project, &pending("failed timeout", 1, 4));
    let mut project = hanging();
    project.config.limits.idle_time = Some(std::time::Duration::from_millis(100));
    check_with(project, &pending("failed idle", 1, 4));
    let mut project = Project::plain([vec![flood(200_000), hang()]]);
    project.config.limits.output_bytes = Some(ralph_model::config::Bytes(100_000));
    check_with(project, &pending("failed output_limit", 1, 4));
}

#[test]
fn turn_without_a_task_sigil_is_blocked() {
    let cases = [
        (vec![say("I did something.")], "no_sigil"),
        (vec![say("<task-done>t-0000ff</task-done>")], "wrong_task"),
        (vec![], "empty_answer"),
        (vec![say("<promise>FAILURE</promise>")], "failure_promise"),
    ];
    for (turn, stop) in cases {
        check(Dialect::Plain, turn, &pending(&format!("blocked {stop}"), 1, 4));
    }
    let denied = r#""subtype":"success","is_error":false,"result":"I may not.","permission_denials":[{"tool_name":"Bash","tool_use_id":"toolu_9","tool_input":{"command":"cargo test"}}]"#;
    let cut = r#""subtype":"success","is_error":false,"result":"…","stop_reason":"max_tokens""#;
    let cases = [
        (vec![say("I may not."), result(denied)], "permission_denied"),
        (vec![say(DONE), result(cut)], "token_limit"),
        (
            vec![
                say(DONE),
                result(r#""subtype":"error_max_turns","is_error":true"#),
                exit(1),
            ],
            "turn_limit",
        ),
    ];
    for (turn, stop) in cases {
        let project = check(Dialect::Claude, turn, &pending(&format!("blocked {stop}"), 1, 4));
        if stop == "permission_denied" {
            let reason = &project.journal()[0].row.reason;
            assert!(reason.contains(r#"allow = ["cargo test"]"#), "{reason}");
        }
    }
    // Denials do not matter when the work is done.
    let project = Project::new(Dialect::Claude, [vec![write("a.txt", "x"), say(DONE), result(denied)]]);
    let expected = Expected {
        row: "done task_done",
        task: (TaskStatus::Done, 0),
        code: 0,
    };
    check_with(project, &expected);
}

#[test]
fn usage_limit_is_waited_for_without_an_attempt() {
    let noon: jiff::Timestamp = NOON.parse().unwrap();
    let resets_at = format!(r#""result":"Claude AI usage limit reached|{}""#, noon.as_second());
    let without_reset = r#""result":"You've hit your limit""#;
    for fields in [resets_at.as_str(), without_reset] {
        let turns = [service_error(fields), vec![write("a.txt", "x"), say(DONE)]];
        let project = Project::new(Dialect::Claude, turns);
        let task = project.task("A");
        let ran = project.run();
        assert_eq!(project.story(), ["A interrupted: usage_limit", "A done: task_done"]);
        assert_eq!((ran.code(), project.load_task(&task).attempts), (0, 2));
        assert!(waited_for(&ran.seen, PauseReason::UsageLimit), "{:?}", ran.seen.notices);
    }
}

fn waited_for(seen: &Probe, wanted: PauseReason) -> bool {
    let is = |notice: &Notice| matches!(notice, Notice::Waits(wait) if wait.pause.what.reason == wanted);
    seen.notices.iter().any(is)
}

#[test]
fn eighth_service_failure_ends_the_run() {
    let overloaded = || service_error(r#""api_error_status":529,"result":"Overloaded""#);
    let mut turns: [Vec<Action>; 8] = std::array::from_fn(|_| overloaded());
    turns[7] = vec![write("a.txt", "x"), say(DONE)];
    let project = Project::new(Dialect::Claude, turns);
    let task = project.task("A");
    let ran = project.run();
    assert_eq!((ran.code(), project.load_task(&task).retries_used), (0, 0));
    assert_eq!(
        project
            .story()
            .iter()
            .filter(|row| row.ends_with("interrupted: transient"))
            .count(),
        7
    );
    assert!(waited_for(&ran.seen, PauseReason::Transient));

    let project = Project::new(Dialect::Claude, [overloaded()]);
    let task = project.task("A");
    let ran = project.run();
    assert_eq!((ran.code(), ran.iterations), (1, 8), "{ran:?}");
    assert_eq!(
        (project.status(&task), project.load_task(&task).retries_used),
        (TaskStatus::Pending, 0)
    );
}

#[test]
fn overlong_prompt_is_retried_once_with_half_the_memory() {
    let too_long = || service_error(r#""terminal_reason":"prompt_too_long","result":"Prompt is too long""#);
    let mut project = Project::new(Dialect::Claude, [too_long()]);
    let long = format!("# Memories\n\n## Patterns\n\n{}", memories(60));
    project.write(".agent/memories.md", &long);
    project.config.limits.iterations = Some(2);
    let task = project.task("A");
    let ran = project.run();
    assert_eq!(
        project.story(),
        ["A interrupted: context_overflow", "A failed: context_overflow"]
    );
    assert_eq!((ran.code(), project.load_task(&task).retries_used), (4, 1));
    let (whole, half) = (project.agent.prompt(1), project.agent.prompt(2));
    let count = |prompt: &str| prompt.matches("### mem-").count();
    assert!(
        count(&half) > 0 && count(&half) * 3 < count(&whole) * 2,
        "{} of {}",
        count(&half),
        count(&whole)
    );
}

fn memories(count: usize) -> String {
    let one = |number| {
        format!(
            "### mem-1737372000-{number:04x}\n> {number} {}\n<!-- tags: a | created: 2025-01-20 -->\n\n",
            "word ".repeat(60).trim()
        )
    };
    (0..count).map(one).collect()
}

#[test]
fn unusable_agent_ends_the_run() {
    for (fields, stop) in [
        (r#""api_error_status":401,"result":"Invalid API key""#, "auth"),
        (
            r#""api_error_status":402,"result":"Credit balance is too low""#,
            "billing",
        ),
    ] {
        let mut project = Project::new(Dialect::Claude, [service_error(fields)]);
        project.config.limits.iterations = Some(5);
        let task = project.task("A");
        let ran = project.run();
        assert_eq!(project.story(), [format!("A interrupted: {stop}")]);
        assert_eq!(
            (ran.code(), ran.iterations, project.load_task(&task).retries_used),
            (1, 1, 0)
        );
    }
}

#[test]
fn ctrl_c_stops_the_run_without_an_attempt() {
    let project = Project::plain([vec![say("<journal>half way</journal>"), hang()]]);
    let task = project.task("A");
    let seen = Probe::with_hook(|effect| matches!(effect, Effect::Spawn).then_some(Intervention::Interrupt));
    let ran = project.run_with(seen);
    assert_eq!(project.story(), ["A interrupted: cancelled"]);
    assert_eq!((ran.code(), project.load_task(&task).retries_used), (130, 0));
    assert_eq!(
        (project.status(&task), project.load_task(&task).claimed_by),
        (TaskStatus::Pending, None)
    );
}

#[test]
fn task_without_retries_left_needs_a_person() {
    let turn = vec![
        append("tries.txt", "{turn}\n"),
        say("<task-failed>{task} the way of turn {turn} is closed</task-failed>"),
    ];
    let mut project = Project::plain([turn]);
    project.config.execution.max_retries = 2;
    let task = project.task("A");
    let ran = project.run();
    assert_eq!(project.story(), ["A failed: task_failed"; 3]);
    assert_eq!((ran.code(), project.status(&task)), (4, TaskStatus::Failed));
    let third = project.agent.prompt(3);
    for part in ["attempt 3 of 3", "the way of turn 2 is closed"] {
        assert!(third.contains(part), "{third}");
    }
    assert_eq!(project.run().code(), 4, "the task still needs a person");
    assert_eq!(project.agent.turns(), 3);
}

#[test]
fn unlockable_knowledge_folder_defers_the_entries() {
    let note = r#"<knowledge tags="build" title="The build">With make.</knowledge>"#;
    let work = vec![write("a.txt", "1"), say(note), say("<task-done>{task}</task-done>")];
    let again = || vec![write("b.txt", "2"), say(DONE)];
    let project = Project::plain([work, again(), again()]);
    // A folder in place of the lock file: it cannot be opened.
    let lock = project.root().join(".ralph/knowledge/.lock");
    std::fs::create_dir_all(&lock).unwrap();
    project.task("A");
    project.task("B");
    let ran = project.run();
    assert_eq!((ran.code(), ran.iterations), (0, 2));
    let warned = |warning: &String| warning.starts_with("Knowledge entries are not written yet: cannot lock ");
    assert!(ran.seen.warnings.iter().any(warned), "{:?}", ran.seen.warnings);
    std::fs::remove_dir(&lock).unwrap();
    project.task("C");
    assert_eq!(project.run().code(), 0);
    assert!(project.read(".ralph/knowledge/the-build.md").contains("With make."));
}

#[test]
fn used_knowledge_entry_is_matched_by_title() {
    let work = vec![
        write("a.txt", "1"),
        say("<memory-used>Colours of the chart 2</memory-used><task-done>{task}</task-done>"),
    ];
    let project = Project::plain([work]);
    let text = "---\ntitle: Colours of the chart 2\ntags: [colours]\n---\nHex.\n";
    project.write(".ralph/knowledge/mine.md", text);
    project.task("Colours of the chart");
    assert_eq!(project.run().code(), 0);
    let journal = project.journal().remove(0).id;
    let injected = project.store().injections(journal).unwrap();
    let note = injected.iter().find(|one| one.injection.id == "mine.md");
    assert!(note.is_some_and(|note| note.used), "{injected:?}");
}
