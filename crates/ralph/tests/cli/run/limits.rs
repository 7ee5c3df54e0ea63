//! Tests of runs that end at a limit or make no progress.

use ralph_testkit::scripted::{Action, Script, hang, raw, say, write};

use super::{Scene, normal};

#[test]
fn prompt_without_progress_is_stopped() {
    let scene = |script: &Script| {
        let scene = Scene::new(script);
        let config = "[verify]\ncommands = [\"ls made.txt\"]\n[limits]\nno_progress = 3\n";
        scene.env.write(".ralph.toml", config);
        scene.env.write("PROMPT.md", "Make it good.\n");
        scene
    };
    let idle = scene(&Script::new().turn([say("I looked at it.")]));
    let stopped = idle.run(&["--trust", "PROMPT.md"]);
    assert_eq!((stopped.code, idle.agent.turns()), (Some(4), 3), "{stopped}");
    assert!(
        stopped.stdout.starts_with("No progress: 3 iterations in a row "),
        "{stopped}"
    );
    assert!(
        stopped.stdout.contains("The gate `ls made.txt` failed (exit code 2)"),
        "{stopped}"
    );
    let (_, hint) = stopped.stderr.split_once("\nHint: ").unwrap();
    for command in [
        "`ralph journal list`",
        "`ralph run PROMPT.md --agent [agent]`",
        "`[limits] no_progress = 0`",
    ] {
        assert!(hint.contains(command), "{stopped}");
    }
    // A change on disk counts as progress, even if the gate fails.
    let busy = scene(&Script::new().turn([write("work-{turn}.txt", "x"), say("I did a part.")]));
    assert_eq!(busy.run(&["--trust", "--limit", "7", "PROMPT.md"]).code, Some(4));
    assert_eq!(busy.agent.turns(), 7);
}

/// An agent that uses more than 1000 tokens and then does this.
fn token_limited(last: Action, limits: &str) -> Scene {
    let used = r#"{"type":"assistant","session_id":"s","message":{"id":"m1","role":"assistant","content":[{"type":"text","text":"a"}],"usage":{"input_tokens":900,"output_tokens":200}}}"#;
    let scene = Scene::new(&Script::new().speaking_claude().turn([raw(used), last]));
    let config = format!("[agent]\nkind = \"claude\"\n[limits]\ntokens = 1000\n{limits}");
    scene.env.write(crate::USER_CONFIG, config);
    scene
}

#[test]
fn token_limit_names_the_limit_and_how_to_continue() {
    let scene = token_limited(say("Something."), "");
    let finished = normal(scene.invocation(&["one"]).run());
    assert_eq!(finished.code, Some(4), "{finished}");
    assert!(
        finished.stdout.contains("`[limits] tokens = 1000` is reached: "),
        "{finished}"
    );
    let (_, hint) = finished.stderr.split_once("\nHint: ").unwrap();
    assert!(hint.contains("`ralph run t-025cc1 --agent [agent]`"), "{finished}");
    assert!(hint.contains("`[limits] tokens` in .ralph.toml"), "{finished}");
}

#[test]
fn turn_over_the_token_limit_is_stopped() {
    let scene = token_limited(hang(), "iteration_time = \"60s\"\n");
    let finished = normal(scene.invocation(&["one"]).run());
    assert_eq!(finished.code, Some(4), "{finished}");
    assert!(
        finished.stdout.contains("`[limits] tokens = 1000` is reached: "),
        "{finished}"
    );
    let rows = scene.ralph(&["journal", "list", "--json"]).run().stdout;
    assert!(rows.contains(r#""input_tokens": 900"#), "{rows}");
}

#[test]
fn iteration_limit_names_its_source() {
    let turn = [write("work-{turn}.txt", "x"), say("I did a part.")];
    let scene = Scene::new(&Script::new().turn(turn));
    scene.env.write("PROMPT.md", "Make it good.\n");
    let by_flag = scene.run(&["PROMPT.md", "--limit", "1"]);
    let hint = "`ralph run PROMPT.md --limit 1 --agent [agent]` to continue.\n";
    assert!(by_flag.stderr.ends_with(hint), "{by_flag}");
    scene.env.write(".ralph.toml", "[limits]\niterations = 1\n");
    let by_key = scene.run(&["PROMPT.md"]);
    let (_, hint) = by_key.stderr.split_once("\nHint: ").unwrap();
    for text in [
        "`ralph run PROMPT.md --agent [agent]`",
        "`[limits] iterations` in .ralph.toml",
    ] {
        assert!(hint.contains(text), "{by_key}");
    }
    assert_eq!((by_flag.code, by_key.code), (Some(4), Some(4)));
}
