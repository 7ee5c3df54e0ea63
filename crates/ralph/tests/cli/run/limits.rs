//! Tests of runs that end at a limit or make no progress.

use insta::assert_snapshot;
use ralph_testkit::scripted::{Script, hang, raw, say, write};

use super::{Scene, normal};

#[test]
fn prompt_without_progress_is_stopped() {
    let scene = Scene::new(&Script::new().turn([say("I looked at it.")]));
    scene.env.write(
        ".ralph.toml",
        "[verify]\ncommands = [\"ls made.txt\"]\n[limits]\nno_progress = 3\n",
    );
    scene.env.write("PROMPT.md", "Make it good.\n");
    assert_snapshot!(scene.run(&["--trust", "PROMPT.md"]), @"
    exit 4
    --- stdout
    No progress: 3 iterations in a row changed nothing on disk and ended the same way. Last reason: Nothing changed, and the gate still fails. The gate `ls made.txt` failed (exit code 2).
    3 iterations
    --- stderr
    Confirmed what this project may do on your machine:
      verify.commands = ls made.txt
    Agent: scripted-agent (from --agent).
    No verifier: scripted-agent cannot be made read-only; set `[verify] verifier` to another agent.
    11:20:00 run-658eec67 started.
    11:20:00 gate failed (exit code 2): ls made.txt
    11:20:00 already failing before this run: ls made.txt: ls: cannot access 'made.txt': No such file or directory
    11:20:00 [t-025cc1] iteration 1: PROMPT.md
    11:20:00 [t-025cc1] prompt: [n] tokens, nothing from memory
    11:20:00 [t-025cc1] gate failed (exit code 2): ls made.txt
    11:20:00 [t-025cc1] retried: Nothing changed, and the gate still fails. ls: cannot access 'made.txt': No such file or directory
    11:20:00 [t-025cc1] iteration 2: PROMPT.md
    11:20:00 [t-025cc1] gate failed (exit code 2): ls made.txt
    11:20:00 [t-025cc1] retried: Nothing changed, and the gate still fails. ls: cannot access 'made.txt': No such file or directory
    11:20:00 [t-025cc1] iteration 3: PROMPT.md
    11:20:00 [t-025cc1] prompt: [n] tokens, with 2 entries from memory
    11:20:00 [t-025cc1] gate failed (exit code 2): ls made.txt
    11:20:00 [t-025cc1] retried: Nothing changed, and the gate still fails. ls: cannot access 'made.txt': No such file or directory
    11:20:00 Learned from the run: 1 extracted, 1 validated, 0 rejected, 1 promoted, 0 skipped.
    Hint: See what was tried with `ralph journal list`. Describe the task in more detail or fix what blocks it, then run `ralph run PROMPT.md --agent [agent]` to continue. `[limits] no_progress = 0` in .ralph.toml turns this limit off.
    ");
    assert_eq!(scene.agent.turns(), 3);
    // A change on disk counts as progress, even if the gate fails.
    let busy = Scene::new(&Script::new().turn([write("work-{turn}.txt", "x"), say("I did a part.")]));
    busy.env.write(
        ".ralph.toml",
        "[verify]\ncommands = [\"ls made.txt\"]\n[limits]\nno_progress = 3\n",
    );
    busy.env.write("PROMPT.md", "Make it good.\n");
    assert_eq!(busy.run(&["--trust", "--limit", "7", "PROMPT.md"]).code, Some(4));
    assert_eq!(busy.agent.turns(), 7);
}

#[test]
fn token_limit_names_the_limit_and_how_to_continue() {
    let used = r#"{"type":"assistant","session_id":"s","message":{"id":"m1","role":"assistant","content":[{"type":"text","text":"a"}],"usage":{"input_tokens":900,"output_tokens":200}}}"#;
    let scene = Scene::new(&Script::new().speaking_claude().turn([raw(used), say("Something.")]));
    scene.env.write(
        crate::USER_CONFIG,
        "[agent]\nkind = \"claude\"\n[limits]\ntokens = 1000\n",
    );
    let finished = normal(scene.invocation(&["one"]).run());
    assert_eq!(finished.code, Some(4), "{finished}");
    assert!(
        finished
            .stdout
            .contains("The limit `[limits] tokens = 1000` is reached: "),
        "{finished}"
    );
    let hint = "Hint: Run `ralph run t-025cc1 --agent [agent]` to continue; counting starts again (the limit is `[limits] \
                tokens` in .ralph.toml).";
    assert!(finished.stderr.contains(hint), "{finished}");
}

#[test]
fn turn_over_the_token_limit_is_stopped() {
    let used = r#"{"type":"assistant","session_id":"s","message":{"id":"m1","role":"assistant","content":[],"usage":{"input_tokens":900,"output_tokens":200}}}"#;
    let scene = Scene::new(&Script::new().speaking_claude().turn([raw(used), hang()]));
    scene.env.write(
        crate::USER_CONFIG,
        "[agent]\nkind = \"claude\"\n[limits]\ntokens = 1000\niteration_time = \"60s\"\n",
    );
    let finished = normal(scene.invocation(&["one"]).run());
    assert_eq!(finished.code, Some(4), "{finished}");
    let reached = "The limit `[limits] tokens = 1000` is reached: ";
    assert!(finished.stdout.contains(reached), "{finished}");
    let rows = scene.ralph(&["journal", "list", "--json"]).run().stdout;
    assert!(rows.contains(r#""input_tokens": 900"#), "{rows}");
}

#[test]
fn iteration_limit_names_its_source() {
    let turn = [write("work-{turn}.txt", "x"), say("I did a part.")];
    let scene = Scene::new(&Script::new().turn(turn));
    scene.env.write("PROMPT.md", "Make it good.\n");
    let by_flag = scene.run(&["PROMPT.md", "--limit", "1"]);
    let hint = "Hint: Run `ralph run PROMPT.md --limit 1 --agent [agent]` to continue.\n";
    assert!(by_flag.stderr.ends_with(hint), "{by_flag}");
    scene.env.write(".ralph.toml", "[limits]\niterations = 1\n");
    let by_key = scene.run(&["PROMPT.md"]);
    let hint = "Hint: Run `ralph run PROMPT.md --agent [agent]` to continue; counting starts again (the limit is `[limits] \
                iterations` in .ralph.toml).\n";
    assert!(by_key.stderr.ends_with(hint), "{by_key}");
    assert_eq!((by_flag.code, by_key.code), (Some(4), Some(4)));
}
