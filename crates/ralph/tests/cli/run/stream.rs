//! Tests of `ralph run --json`: every event is a JSON line, with nothing else on standard output.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use insta::assert_snapshot;
use ralph_testkit::Invocation;
use ralph_testkit::scripted::{Script, say, write};
use serde_json::Value;

use super::{DONE, Scene, diligent};

/// The parsed lines, without what varies.
fn events(stdout: &str) -> Vec<Value> {
    let parse = |line: &str| -> Value {
        let mut event: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        for key in ["duration_ms", "pid", "prompt_tokens"] {
            if let Some(number) = event.get_mut(key) {
                assert!(number.is_u64(), "{line}");
                *number = Value::from(0);
            }
        }
        assert!(event["at"].is_string() && event["event"].is_string(), "{line}");
        event
    };
    stdout.lines().map(parse).collect()
}

fn words(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["event"].as_str().unwrap()).collect()
}

#[test]
fn whole_run_as_json_lines() {
    let script = Script::new()
        .turn([say("I try it."), say(DONE)])
        .turn([write("a.txt", "x"), say(DONE)]);
    let scene = Scene::new(&script);
    scene
        .env
        .write(".ralph.toml", "[verify]\ncommands = [\"test -e a.txt\"]\n");
    let finished = scene.invocation(&["--json", "--trust", "make a.txt"]).run();
    let events = events(&finished.stdout);
    let lines: Vec<String> = events.iter().map(Value::to_string).collect();
    assert_snapshot!(lines.join("\n"), @r#"
    {"at":"2025-01-20T11:20:00.000Z","run":"run-658eec67","event":"run_began","agent":"scripted-agent","goal":"make a.txt","permissions":null,"gates":["test -e a.txt"],"verifier":null,"limits":{"iterations":null,"wall_clock_seconds":null,"cost_usd":null,"tokens":null,"iteration_seconds":7200.0,"idle_seconds":900.0,"consecutive_failures":null,"no_progress":5,"output_bytes":268435456},"worktree":"","branch":null,"commit":null,"pid":0}
    {"at":"2025-01-20T11:20:00.000Z","run":"run-658eec67","event":"gate_ran","command":"test -e a.txt","result":"failed","status":"exit code 1","output":"","duration_ms":0}
    {"at":"2025-01-20T11:20:00.000Z","run":"run-658eec67","event":"red_from_the_start","gates":["test -e a.txt"]}
    {"at":"2025-01-20T11:20:00.000Z","run":"run-658eec67","event":"iteration_began","iteration":1,"task":"t-025cc1","title":"make a.txt","kind":"once","attempt":1,"attempts":4,"model":null,"rationale":"no models are configured, so the agent uses its default","prompt_tokens":0,"notes_shown":0,"folder":".ralph/runs/run-658eec67/001"}
    {"at":"2025-01-20T11:20:00.000Z","run":"run-658eec67","event":"text","text":"I try it.\n","left_out_bytes":0}
    {"at":"2025-01-20T11:20:00.000Z","run":"run-658eec67","event":"text","text":"<task-done>t-025cc1</task-done>\n","left_out_bytes":0}
    {"at":"2025-01-20T11:20:00.000Z","run":"run-658eec67","event":"gate_ran","command":"test -e a.txt","result":"failed","status":"exit code 1","output":"","duration_ms":0}
    {"at":"2025-01-20T11:20:00.000Z","run":"run-658eec67","event":"settled","iteration_run":"run-658eec67","iteration":1,"task":"t-025cc1","title":"make a.txt","outcome":"retried","stop_reason":"task_done","reason":"Nothing changed, and the gate still fails. The gate `test -e a.txt` failed (exit code 1).","guidance":null,"task_status":"pending","files":[],"changed_nothing":true,"evidence":"gates","unverified":null,"cost_usd":null,"input_tokens":null,"output_tokens":null,"duration_ms":0,"commit":null,"commit_error":null,"denied":[],"folder":".ralph/runs/run-658eec67/001"}
    {"at":"2025-01-20T11:20:00.000Z","run":"run-658eec67","event":"iteration_began","iteration":2,"task":"t-025cc1","title":"make a.txt","kind":"once","attempt":2,"attempts":4,"model":null,"rationale":"no models are configured, so the agent uses its default","prompt_tokens":0,"notes_shown":1,"folder":".ralph/runs/run-658eec67/002"}
    {"at":"2025-01-20T11:20:00.000Z","run":"run-658eec67","event":"text","text":"<task-done>t-025cc1</task-done>\n","left_out_bytes":0}
    {"at":"2025-01-20T11:20:00.000Z","run":"run-658eec67","event":"gate_ran","command":"test -e a.txt","result":"passed","status":null,"output":"","duration_ms":0}
    {"at":"2025-01-20T11:20:00.000Z","run":"run-658eec67","event":"settled","iteration_run":"run-658eec67","iteration":2,"task":"t-025cc1","title":"make a.txt","outcome":"done","stop_reason":"task_done","reason":"","guidance":null,"task_status":"done","files":["a.txt"],"changed_nothing":false,"evidence":"gates","unverified":null,"cost_usd":null,"input_tokens":null,"output_tokens":null,"duration_ms":0,"commit":null,"commit_error":null,"denied":[],"folder":".ralph/runs/run-658eec67/002"}
    {"at":"2025-01-20T11:20:00.000Z","run":"run-658eec67","event":"run_ended","end":"complete","sentence":"Everything is done.","exit_code":0,"iterations":2,"limit":null,"again":null,"agent_notes":[]}
    "#);
    assert_eq!(finished.code, Some(0));
    assert!(finished.stderr.contains("started."), "{}", finished.stderr);
}

#[test]
fn secrets_in_agent_text_are_masked() {
    let token = format!("ghp_{}", "a1B2".repeat(9));
    let key = format!("{0}BEGIN PRIVATE KEY{0}", "-".repeat(5));
    let base64 = "q7Zr2mKx9TbVw4LcHs8Ny3Gd".repeat(3);
    let said = format!("the token {token}\n{key}\n{base64}\n{base64}\n");
    let scene = Scene::new(&Script::new().turn([say(&said), say(DONE)]));
    let stdout = scene.invocation(&["--json", "one"]).run().stdout;
    assert!(!stdout.contains(&token) && !stdout.contains("q7Zr2mKx9T"), "{stdout}");
    let events = events(&stdout);
    let text: String = events.iter().filter_map(|event| event["text"].as_str()).collect();
    assert!(text.contains("the token [secret: github]"), "{text}");
}

#[test]
fn long_text_is_cut_with_its_missing_size() {
    let scene = Scene::new(&Script::new().turn([say(&"x".repeat(20_000)), say(DONE)]));
    let events = events(&scene.invocation(&["--json", "one"]).run().stdout);
    let long = events.iter().find(|event| event["event"] == "text").unwrap();
    assert_eq!(long["text"].as_str().unwrap().len(), 16 << 10);
    assert_eq!(long["left_out_bytes"], 20_001 - (16 << 10));
}

#[test]
fn errors_before_a_run_are_events() {
    let scene = Scene::new(&diligent());
    let refused = |run: Invocation, why: &str, help: &str| {
        let refused = run.run();
        let told = events(&refused.stdout);
        assert_eq!((refused.code, words(&told)), (Some(1), vec!["error"]), "{refused}");
        assert_eq!(told[0]["exit_code"], 1, "{refused}");
        let message = told[0]["message"].as_str().unwrap();
        assert!(message.contains(why), "{refused}");
        assert!(told[0]["hint"].as_str().unwrap_or_default().contains(help), "{refused}");
        assert!(refused.stderr.contains(&format!("Error: {message}\n")), "{refused}");
    };
    let unknown_agent = ["run", "--json", "--agent", "no-such-program", "one"];
    let why = "no-such-program is not on the PATH";
    refused(scene.ralph(&unknown_agent), why, "`[agent] command`");
    refused(
        scene.invocation(&["--json", "t-123456"]),
        "t-123456",
        "`ralph task list --all`",
    );
    scene.env.write(".ralph.toml", "[limits]\niterations = \"many\"\n");
    refused(scene.invocation(&["--json", "one"]), "limits.iterations", "");
}

#[test]
fn end_names_the_limit_and_the_command_to_continue() {
    let scene = Scene::new(&diligent());
    scene.env.write("plan.md", "- [ ] one\n- [ ] two\n");
    let told = events(&scene.invocation(&["--json", "plan.md", "--limit", "1"]).run().stdout);
    let end = told.last().unwrap();
    assert_eq!(
        (&end["end"], &end["limit"]),
        (&"limit".into(), &"iterations".into()),
        "{end}"
    );
    let again = end["again"].as_str().unwrap();
    assert!(again.starts_with("ralph run plan.md --limit 1 --agent "), "{again}");
}

#[test]
fn finished_work_begins_no_run() {
    let scene = Scene::new(&diligent());
    scene.env.write("plan.md", "- [ ] one\n");
    let first = events(&scene.invocation(&["--json", "plan.md"]).run().stdout);
    assert_eq!(words(&first).last(), Some(&"run_ended"));
    let again = scene.invocation(&["--json", "plan.md"]).run();
    assert_eq!((again.code, again.stderr.as_str()), (Some(3), ""), "{again}");
    let told = events(&again.stdout);
    assert_eq!(words(&told), ["nothing_began"], "{again}");
    assert_eq!(told[0]["exit_code"], 3, "{again}");
    for (key, text) in [("sentence", "plan.md are done"), ("hint", "`ralph task tree t-025cc1`")] {
        assert!(told[0][key].as_str().unwrap().contains(text), "{again}");
    }
}

#[test]
fn run_continues_without_a_reader() {
    let scene = Scene::new(&diligent());
    scene.env.write("plan.md", "- [ ] one\n- [ ] two\n- [ ] three\n");
    let mut command = scene.invocation(&["--json", "plan.md"]).command();
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut first = String::new();
    stdout.read_line(&mut first).unwrap();
    drop(stdout);
    assert!(first.contains("run_began"), "{first}");
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{stderr}");
    assert_eq!(scene.outcomes(), ["done"; 3]);
    assert!(!stderr.contains("rror"), "{stderr}");
}
