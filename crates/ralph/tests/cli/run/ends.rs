//! Tests of how a run ends: exit code, summary and hints.

use insta::assert_snapshot;
use ralph_testkit::scripted::{Script, exit, raw, say, say_error, write};

use super::{DONE, Scene, check_end, diligent};

#[test]
fn failing_task_is_given_up_and_others_continue() {
    let failing = [say(
        "<failure-report>\nwhat_tried: everything\nwhy_failed: nothing helped\n</failure-report><task-failed>{task} the key is missing</task-failed>",
    )];
    let script = Script::new()
        .turn(failing.clone())
        .turn(failing)
        .turn([write("b.txt", "x"), say(DONE)]);
    let scene = Scene::new(&script);
    scene.env.write(".ralph.toml", "[execution]\nmax_retries = 1\n");
    scene.env.write("plan.md", "- [ ] one\n- [ ] two\n");
    assert_snapshot!(scene.run(&["plan.md"]), @"
    exit 4
    --- stdout
    Stopped: 1 task failed.
    3 iterations: 1 task done, 1 failed
    --- stderr
    Agent: scripted-agent (from --agent).
    No verifier: scripted-agent cannot be made read-only; set `[verify] verifier` to another agent.
    11:20:00 run-ee42c90b started.
    11:20:00 gate passed: true
    11:20:00 [t-8eec67] iteration 1: one
    11:20:00 [t-8eec67] prompt: [n] tokens, nothing from memory
    11:20:00 [t-8eec67] failed: The agent reported that the task cannot be done: the key is missing
    11:20:00 [t-8eec67] iteration 2, attempt 2 of 2: one
    11:20:00 [t-8eec67] failed: The agent reported that the task cannot be done: the key is missing
    11:20:00 [t-8eec67] Gave up: no attempts are left.
    11:20:00 [t-32555e] iteration 3: two
    11:20:00 [t-32555e] gate passed: true
    11:20:00 [t-32555e] done (1 file changed)
    11:20:00 Learned from the run: 2 extracted, 1 validated, 1 rejected, 1 promoted, 0 skipped.
    Hint: Run `ralph review` to see what needs your attention, or `ralph task reset ID` to retry a task.
    ");
    check_end(
        &scene.run(&["plan.md"]),
        4,
        &[
            "1 task of plan.md failed",
            "`ralph task tree t-025cc1`",
            "`ralph task reset t-025cc1 --all`",
        ],
    );
    assert_eq!(scene.agent.turns(), 3);
}

#[test]
fn fault_4_limit_is_exact_and_hints_how_to_continue() {
    let scene = Scene::new(&diligent());
    scene.env.write("plan.md", "- [ ] one\n- [ ] two\n- [ ] three\n");
    check_end(
        &scene.run(&["plan.md", "--limit", "2"]),
        4,
        &[
            "limit of 2 iterations",
            "2 iterations: 2 tasks done",
            "iteration 2: two",
            "Hint: Run `ralph run plan.md --limit 2 --agent [agent]` to continue.",
        ],
    );
    assert_eq!(scene.agent.turns(), 2);
    // The last allowed iteration may complete everything.
    assert_eq!(scene.run(&["plan.md", "--limit", "1"]).code, Some(0));
}

#[test]
fn crash_silence_and_wrong_task_are_distinguished() {
    let script = Script::new()
        .turn([say_error("panic: no disk"), exit(3)])
        .turn([])
        .turn([say("<task-done>t-000000</task-done>")])
        .turn([say("I did something.")]);
    let scene = Scene::new(&script);
    check_end(
        &scene.run(&["one"]),
        4,
        &[
            "1 task failed",
            "4 iterations: no task done, 1 failed",
            "failed: The agent crashed: exit code 3: panic: no disk",
            "iteration 2, attempt 2 of 4",
            "blocked: The agent said nothing",
            "set `kind = \"acp\"` under [agent]",
            "iteration 3, attempt 3 of 4",
            "blocked: The agent reported on t-000000",
            "iteration 4, attempt 4 of 4",
            "blocked: The agent ended without saying",
            "Gave up",
            "`ralph review`",
            "`ralph task reset ID`",
        ],
    );
    assert_eq!(scene.outcomes(), ["failed", "blocked", "blocked", "blocked"]);
}

#[test]
fn failure_promise_ends_the_run() {
    let scene = Scene::new(&Script::new().turn([say("<promise>FAILURE</promise>")]));
    scene.env.write("plan.md", "- [ ] one\n- [ ] two\n");
    check_end(
        &scene.run(&["plan.md"]),
        4,
        &[
            "The agent asked to stop the run",
            "1 iteration: no task done",
            "blocked: The agent asked to stop",
            "Hint: Run `ralph run plan.md --agent [agent]` to continue.",
        ],
    );
    assert_eq!(scene.agent.turns(), 1);
}

#[test]
fn fault_30_completion_promise_does_not_end_the_run() {
    let script = Script::new()
        .turn([say("<promise>COMPLETE</promise>")])
        .turn([write("a.txt", "x"), say(DONE)]);
    let scene = Scene::new(&script);
    let added = scene.ralph(&["task", "add", "one"]).run();
    assert_eq!(added.code, Some(0), "{added}");
    let finished = scene.run(&[]);
    assert_eq!((finished.code, scene.agent.turns()), (Some(0), 2), "{finished}");
    assert!(
        finished
            .stderr
            .contains("The agent reported everything complete, but it is not."),
        "{finished}"
    );
}

#[test]
fn agent_without_login_ends_the_run() {
    let result = r#"{"type":"result","subtype":"success","is_error":true,"result":"Invalid API key","api_error_status":401,"terminal_reason":"api_error"}"#;
    let scene = Scene::new(&Script::new().speaking_claude().turn([raw(result), exit(1)]));
    scene.env.write(crate::USER_CONFIG, "[agent]\nkind = \"claude\"\n");
    check_end(
        &scene.run(&["one"]),
        1,
        &[
            "1 iteration: no task done",
            "interrupted: The agent is not logged in",
            "Error: The agent is not logged in",
            "Invalid API key",
        ],
    );
    assert_eq!(scene.open_tasks(), [("one".to_owned(), "pending".to_owned())]);
}

#[test]
fn codex_turn_ends_are_distinguished() {
    let failed = |message: &str| {
        let error = serde_json::json!({"type": "error", "message": message});
        let end = serde_json::json!({"type": "turn.failed", "error": {"message": message}});
        [raw(&error.to_string()), raw(&end.to_string()), exit(1)]
    };
    let declined = r#"{"type":"item.completed","item":{"id":"item_7","type":"command_execution","command":"/bin/bash -lc 'git push'","aggregated_output":"","exit_code":null,"status":"declined"}}"#;
    let script = Script::new()
        .speaking_codex()
        .turn([])
        .turn(failed(
            r#"{"error": {"message": "too long", "code": "context_length_exceeded"}}"#,
        ))
        .turn(failed("Incomplete response returned, reason: max_output_tokens"))
        .turn([raw(declined), say("I may not push.")])
        .turn(failed(
            "unexpected status 401 Unauthorized: no key, url: http://127.0.0.1/v1/responses",
        ));
    let scene = Scene::new(&script);
    scene.env.write(
        crate::USER_CONFIG,
        "[agent]\nkind = \"codex\"\n[execution]\nmax_retries = 9\n",
    );
    check_end(
        &scene.run(&["one"]),
        1,
        &[
            "blocked: The agent said nothing",
            "interrupted: The prompt was too long",
            "half the memory",
            "blocked: The agent's answer was cut off",
            "blocked: The agent was not allowed to use shell (git push)",
            "prefix_rule(pattern = [\"git\",\"push\"], decision = \"allow\") in ~/.codex/rules/default.rules",
            "interrupted: The agent is not logged in",
            "unexpected status 401",
        ],
    );
    assert_eq!(
        scene.outcomes(),
        ["blocked", "interrupted", "blocked", "blocked", "interrupted"]
    );
}

#[test]
fn done_without_a_change_is_reported() {
    let scene = Scene::new(&Script::new().turn([say(DONE)]));
    check_end(
        &scene.run(&["one"]),
        4,
        &[
            "unverified",
            "`ralph review`",
            "1 iteration: 1 task done, 1 unverified",
            "[t-025cc1] done\n",
            "unverified: no attempt changed a project file",
        ],
    );
}

#[test]
fn summary_has_cost_and_notes() {
    let script = Script::new().speaking_claude().turn([
        write("a.txt", "x"),
        say("<knowledge tags=\"ports\" title=\"Ports\">8080 is taken.</knowledge><learning category=\"pitfall\">Look first.</learning><task-done>{task}</task-done>"),
    ]);
    let scene = Scene::new(&script);
    scene.env.write(crate::USER_CONFIG, "[agent]\nkind = \"claude\"\n");
    scene.env.write("plan.md", "- [ ] one\n- [ ] two\n");
    check_end(
        &scene.run(&["plan.md"]),
        4,
        &[
            "2 iterations: 2 tasks done, 1 unverified, 2 notes, $1.00\n",
            "Notes stored by the agent: 1\n  ports.md\n",
            "Agent: claude (from --agent), permissions: edit",
            "Verifier: claude, read-only.",
            "Write a.txt",
            "verifier passed",
            "noted: .ralph/knowledge/ports.md",
        ],
    );
}

#[test]
fn scratchpad_is_kept_while_tasks_are_open() {
    let scene = Scene::new(&diligent());
    scene.env.write(".agent/scratchpad.md", "half of two is there\n");
    assert_eq!(scene.ralph(&["task", "add", "two"]).run().code, Some(0));
    let first = scene.run(&["one"]);
    assert_eq!(
        first.stdout.lines().next(),
        Some("t-9756ce (one) is done. 1 other task is not done.")
    );
    assert_eq!(scene.env.read(".agent/scratchpad.md"), "half of two is there\n");
    let second = scene.run(&[]);
    assert_eq!(second.stdout.lines().next(), Some("Everything is done."));
    assert_eq!(scene.env.read(".agent/scratchpad.md"), "");
    let kept = second
        .stderr
        .lines()
        .find_map(|line| line.split_once("Moved the scratchpad to "));
    let kept = kept.unwrap().1.trim_end_matches('.');
    assert_eq!(scene.env.read(kept), "half of two is there\n");
}

#[test]
fn idle_run_leaves_no_folder() {
    let scene = Scene::new(&diligent());
    assert_eq!(scene.run(&[]).code, Some(3));
    let runs = std::fs::read_dir(scene.env.path(".ralph/runs"));
    assert_eq!(runs.map_or(0, Iterator::count), 0);
}

#[test]
fn completion_means_done_for_a_single_task() {
    let script = Script::new().turn([write("a.txt", "x"), say("All of it.\n<promise>COMPLETE</promise>")]);
    let scene = Scene::new(&script);
    let finished = scene.run(&["write a file"]);
    assert_eq!(
        (finished.code, scene.outcomes()),
        (Some(0), vec!["done".to_owned()]),
        "{finished}"
    );
}
