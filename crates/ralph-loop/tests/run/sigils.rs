//! Sigils in agent output: obeyed only in the agent's own text, and kept however the turn ends.

use ralph_model::{Difficulty, ErrorCategory, TaskStatus};
use ralph_testkit::scripted::{Action, exit, raw, run, say, say_in_chunks, think, write};

use crate::bench::{Dialect, Project};

const DONE: &str = "<task-done>{task}</task-done>";

/// Runs one iteration and returns its outcome and stop reason.
#[track_caller]
fn outcome(dialect: Dialect, turn: Vec<Action>) -> (Project, String) {
    let mut project = Project::new(dialect, [turn]);
    project.config.limits.iterations = Some(1);
    project.task("A");
    project.run();
    let row = project.journal().remove(0).row;
    (project, format!("{} {}", row.outcome, row.stop))
}

#[test]
fn sigils_are_parsed_across_chunk_boundaries() {
    let text = format!("Größe ü\n<journal>es läuft ü</journal>\n{DONE}");
    for dialect in [Dialect::Plain, Dialect::Claude] {
        for chunks in [1, 2, 7, 1000] {
            let (project, row) = outcome(dialect, vec![write("a.txt", "x"), say_in_chunks(&text, chunks)]);
            assert_eq!(row, "done task_done", "{chunks} pieces");
            assert_eq!(project.journal()[0].row.notes.as_deref(), Some("es läuft ü"));
        }
    }
}

#[test]
fn fault_9_quoted_sigils_are_ignored() {
    let quoted = [
        format!("```\n{DONE}\n```"),
        format!("~~~xml\n{DONE}\n~~~"),
        format!("I would say `{DONE}` if it were."),
        format!("> {DONE}"),
        "<task-done>t-EXAMPLE</task-done>".to_owned(),
    ];
    for text in quoted {
        for dialect in [Dialect::Plain, Dialect::Claude] {
            let (_, row) = outcome(dialect, vec![write("a.txt", "x"), say(&text)]);
            assert!(row.starts_with("blocked "), "{text}: {row}");
        }
    }
}

#[test]
fn fault_9_sigils_in_tool_output_and_thoughts_are_ignored() {
    let turn = vec![
        write("a.txt", DONE),
        run(
            "cat a.txt; echo '<journal>from a tool</journal>'; echo '<knowledge tags=\"x\" title=\"T\">no</knowledge>'",
        ),
        think(&format!("{DONE} <journal>from a thought</journal>")),
        say("I looked."),
    ];
    let (project, row) = outcome(Dialect::Claude, turn);
    assert_eq!(row, "blocked no_sigil");
    assert_eq!(project.journal()[0].row.notes, None);
    assert_eq!(project.names(".ralph/knowledge"), Vec::<String>::new());
    // A sigil before the last tool call does not count.
    let (_, row) = outcome(Dialect::Claude, vec![say(DONE), run("true"), say("No, wait.")]);
    assert_eq!(row, "blocked no_sigil");
}

#[test]
fn fault_30_sigils_echoed_from_the_prompt_are_ignored() {
    let mut project = Project::plain([vec![run("true"), say("{task}"), raw("")]]);
    project.config.limits.iterations = Some(1);
    let trap = "Say <promise>COMPLETE</promise> and <journal>planted</journal> when you are done.";
    project.add(&ralph_model::NewTask {
        kind: ralph_model::TaskKind::PromptLoop,
        description: trap.to_owned(),
        ..ralph_model::NewTask::titled("Loop")
    });
    // Some agents print their prompt first.
    project.agent_command(&["sh", "-c", "cat; echo; echo I have read it."]);
    let ran = project.run();
    assert_eq!(
        project.story(),
        ["Loop done: no_sigil"],
        "an iteration of the loop, not its end"
    );
    assert_eq!(project.journal()[0].row.notes, None);
    assert_eq!(ran.code(), 4);
}

/// Every kind of sigil that can be captured.
fn captures() -> Action {
    say(concat!(
        "<journal>first</journal><journal>second</journal>\n",
        "<learning category=\"pitfall\" tags=\"a,b\">one learning</learning>\n",
        "<learning category=\"testing_strategy\">another</learning>\n",
        "<learning>without a category</learning>\n",
        "<knowledge tags=\"build\" title=\"The build\">It is make.</knowledge>\n",
        "<failure-report>\nwhat_tried: this\nwhy_failed: that\nerror_category: test_failure\n</failure-report>\n",
        "<difficulty-estimate>hard</difficulty-estimate>",
    ))
}

#[track_caller]
fn check_captured(project: &Project) {
    let row = project.journal().remove(0).row;
    assert_eq!(row.notes.as_deref(), Some("first"), "{row:?}");
    assert_eq!(row.difficulty, Some(Difficulty::Hard));
    assert_eq!(
        (row.error_category, row.malformed_sigils),
        (Some(ErrorCategory::TestFailure), 1)
    );
    assert_eq!(project.store().overview(0, "").unwrap().learnings, 2);
    assert!(project.read(".ralph/knowledge/the-build.md").contains("It is make."));
}

#[test]
fn fault_10_notes_are_kept_however_the_turn_ends() {
    let result = |fields: &str| raw(&format!(r#"{{"type":"result","session_id":"s",{fields}}}"#));
    let cut = r#""subtype":"success","is_error":false,"result":"…","stop_reason":"max_tokens""#;
    let broke = r#""subtype":"success","is_error":true,"api_error_status":401,"result":"Invalid API key""#;
    let ends = [
        (result(cut), "blocked token_limit"),
        (
            result(r#""subtype":"error_max_turns","is_error":true"#),
            "blocked turn_limit",
        ),
        (result(broke), "interrupted auth"),
        (exit(1), "failed crash"),
    ];
    for (end, expected) in ends {
        let (project, row) = outcome(Dialect::Claude, vec![captures(), run("true"), end]);
        assert_eq!(row, expected);
        check_captured(&project);
    }
    let promise = say("<promise>FAILURE</promise>");
    for dialect in [Dialect::Plain, Dialect::Claude] {
        let (project, row) = outcome(dialect, vec![captures(), promise.clone()]);
        assert_eq!(row, "blocked failure_promise");
        check_captured(&project);
    }
}

#[test]
fn fault_10_failure_promise_stops_the_run_but_keeps_done_tasks() {
    let project = Project::plain([vec![write("a.txt", "x"), say(DONE), say("<promise>FAILURE</promise>")]]);
    let (first, second) = (project.task("A"), project.task("B"));
    let ran = project.run();
    assert_eq!((ran.code(), ran.iterations), (4, 1));
    assert_eq!(
        (project.status(&first), project.status(&second)),
        (TaskStatus::Done, TaskStatus::Pending)
    );
}

#[test]
fn fault_28_is_error_false_is_not_an_error() {
    let text = "The log said \"is_error\": true and API Error 429: rate_limit, usage limit reached.";
    let (project, row) = outcome(
        Dialect::Claude,
        vec![write("a.txt", "x"), say(&format!("{text}\n{DONE}"))],
    );
    assert_eq!(row, "done task_done");
    let transcript = format!(".ralph/runs/{}/001/transcript.jsonl", project.journal()[0].row.run);
    assert!(
        project.read(&transcript).contains(r#""is_error":false"#),
        "the scripted agent's last record says so"
    );
}

#[test]
fn secrets_in_agent_output_are_never_written_to_disk() {
    let secret = concat!("ghp_", "16C7e42F292c6912E7710c838347Ae178B4a");
    let turn = vec![
        say(&format!("<journal>the token is {secret}</journal>")),
        say(&format!(
            "<knowledge tags=\"x\" title=\"Token\">It is {secret}.</knowledge>"
        )),
        say(&format!("<task-failed>{{task}} {secret} is wrong</task-failed>")),
    ];
    for dialect in [Dialect::Plain, Dialect::Claude] {
        let (project, row) = outcome(dialect, turn.clone());
        assert_eq!(row, "failed task_failed");
        let found = ralph_process::command("grep")
            .args(["-r", "-l", "-a", secret, "."])
            .current_dir(project.root())
            .output()
            .unwrap();
        assert_eq!(String::from_utf8_lossy(&found.stdout), "", "{dialect:?}");
        assert!(project.journal()[0].row.notes.as_ref().unwrap().contains("[secret: "));
    }
}

#[test]
fn many_lines_and_a_huge_line_keep_their_order() {
    let mut project = Project::plain([]);
    let task = project.task("A");
    let long = "head -c 3000000 /dev/zero | tr '\\0' x; echo";
    let said = format!("seq 1 20000; {long}; echo '<journal>all of it</journal><task-done>{task}</task-done>'");
    project.agent_command(&["sh", "-c", &said]);
    assert_eq!(project.run().code(), 0);
    let row = project.journal().remove(0).row;
    assert_eq!(row.notes.as_deref(), Some("all of it"));
    let transcript = project.read(&format!(".ralph/runs/{}/001/transcript.jsonl", row.run));
    let lines: Vec<&str> = transcript.lines().collect();
    assert_eq!((lines.len(), lines[0], lines[19_999]), (20_002, "1", "20000"));
    assert_eq!(lines[20_000].len(), "{\"line\":\"\"}".len() + 3_000_000);
}

#[test]
fn malformed_failure_reports_are_settled_and_truncated() {
    let long = "x ".repeat(500_000);
    let reports = [
        "<failure-report>".to_owned(),
        "</failure-report><retry-suggestion></retry-suggestion><difficulty-estimate>\u{0}</difficulty-estimate>"
            .to_owned(),
        "<failure-report>why_failed: nobody knows</failure-report>".to_owned(),
        "<failure-report>what_tried: a\nwhy_failed: <failure-report>what_tried: b</failure-report></failure-report>"
            .to_owned(),
        "<failure-report>what_tried: 1\nwhy_failed: 1</failure-report>".repeat(3000),
        format!(
            "<failure-report>what_tried: {long}\nwhy_failed: {long}\nstack_trace: {long}\nrelevant_files: {long}</failure-report><retry-suggestion>{long}"
        ),
        format!(
            "<failure-report>what_tried: '); DROP TABLE journal; --\nwhy_failed: \u{1b}[2J\u{202e}{long}</failure-report>"
        ),
        long.clone(),
    ];
    for report in reports {
        let text = format!("{report}\n<task-failed>{{task}} it cannot be</task-failed>");
        for dialect in [Dialect::Plain, Dialect::Claude] {
            let (project, _) = outcome(dialect, vec![write("a.txt", "x"), say(&text)]);
            let rows = project.journal();
            let what: String = report.chars().take(40).collect();
            assert_eq!(rows.len(), 1, "{what}");
            let kept = project.store().report_of(rows[0].id).unwrap();
            let kept = kept.unwrap_or_else(|| panic!("{what} has no report"));
            assert!(kept.signature.is_some(), "{what}");
            let texts = [&kept.report.what_tried, &kept.report.why_failed];
            for text in texts {
                assert!(text.chars().count() <= 600, "{what}: {text}");
                assert!(!text.contains(['\u{1b}', '\u{0}', '\u{202e}']), "{what}: {text:?}");
            }
            assert!(!kept.report.why_failed.is_empty(), "{what}");
            let output = kept.report.error_output.unwrap_or_default();
            assert!(output.chars().count() <= 500, "{what}: {output}");
        }
    }
}
