//! Which agent works, and what it gets: the one that is asked for, configured or installed, with its environment.

use std::os::unix::fs::PermissionsExt;

use insta::assert_snapshot;
use ralph_testkit::scripted::{Script, append, exit, if_allowed, raw, remember, run, say, say_in_chunks, write};

use super::{DONE, Scene, diligent, normal};
use crate::json;

#[test]
fn without_any_agent_it_is_said_what_can_be_installed() {
    let scene = Scene::new(&diligent());
    let finished = scene.ralph(&["run", "a text"]).run();
    assert_snapshot!(finished, @"
    exit 1
    --- stderr
    Error: no agent is configured, and none is on the PATH; ralph knows claude, codex, gemini, opencode, qwen, copilot, claude-agent-acp, codex-acp
    Hint: `npm install -g @anthropic-ai/claude-code` installs the first; any other program works too: `[agent] command` in .ralph.toml, or --agent COMMAND; it gets the prompt on its standard input
    ");
    assert_eq!(scene.env.tree(), []);
    let dry = scene.ralph(&["run", "--dry-run", "a text"]).run();
    assert_eq!(dry.code, Some(0), "{dry}");
    assert!(
        dry.stdout
            .contains("Agent   no agent is configured, and none is on the PATH"),
        "{dry}"
    );
    assert!(dry.stdout.contains("\nPrompt  "), "{dry}");
}

/// Puts the agent of a scene on a PATH, under the name of a real one.
pub(super) fn installed_as(scene: &Scene, name: &str) -> String {
    let text = format!("#!/bin/sh\nexec {} \"$@\"\n", scene.agent.command());
    scene.env.write(&format!("../bin/{name}"), text);
    let program = scene.env.beside("bin").join(name);
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    format!("{}:/usr/bin:/bin", scene.env.beside("bin").display())
}

#[test]
fn codex_that_is_installed_is_used_with_its_model_and_permissions() {
    let scene = Scene::new(&Script::new().speaking_codex().turn([write("a.txt", "x"), say(DONE)]));
    let path = installed_as(&scene, "codex");
    let finished = scene
        .ralph(&["run", "a text", "--model", "gpt-9"])
        .env("PATH", &path)
        .run();
    assert_snapshot!(normal(finished), @"
    exit 0
    --- stdout
    Everything is done.
    1 iteration: 1 task done
    --- stderr
    Task t-025cc1: a text
    Agent: codex (found on the PATH), permissions: edit (-s workspace-write).
    Verifier: codex, read-only.
    11:20:00 run-658eec67 begins.
    11:20:00 [t-025cc1] iteration 1: a text
    11:20:00 [t-025cc1] prompt: [n] tokens, nothing of it from memory
    11:20:00 [t-025cc1] model: gpt-9 (you asked for it)
    11:20:00 [t-025cc1]   apply_patch a.txt
    11:20:00 [t-025cc1] codex looks at the work
    11:20:00 [t-025cc1] verifier passed
    11:20:00 [t-025cc1] done (1 file changed)
    ");
    assert_eq!(
        scene.agent.call(1).arguments.join(" "),
        "exec --json --skip-git-repo-check -c allow_login_shell=false -s workspace-write -m gpt-9 -"
    );

    // A kind that is asked for is found behind another agent, which is the first choice else.
    installed_as(&scene, "claude");
    scene
        .env
        .write(".ralph.toml", "[agent]\nkind = \"codex\"\npermissions = \"full\"\n");
    let finished = scene.ralph(&["run", "more", "--trust"]).env("PATH", &path).run();
    // It wrote what was there already.
    assert_eq!(finished.code, Some(4), "{finished}");
    let line = "codex (found on the PATH), permissions: full (--dangerously-bypass-approvals-and-sandbox).";
    assert!(finished.stderr.contains(line), "{finished}");
}

#[test]
fn the_models_of_another_agent_are_not_asked_of_this_one() {
    let scene = Scene::new(&Script::new().speaking_codex().turn([write("a.txt", "x"), say(DONE)]));
    let path = installed_as(&scene, "codex");
    scene
        .env
        .write(".ralph.toml", "[agent]\nmodels = [\"haiku\", \"sonnet\", \"opus\"]\n");
    let finished = scene
        .ralph(&["run", "a text", "--agent", "codex", "--trust"])
        .env("PATH", &path)
        .run();
    assert_eq!(finished.code, Some(0), "{finished}");
    let line = "(-s workspace-write); the configured models are another agent's and not used.";
    assert!(finished.stderr.contains(line), "{finished}");
    let words = scene.agent.call(1).arguments.join(" ");
    assert!(words.ends_with("-s workspace-write -"), "{words}");
}

#[test]
fn codex_may_write_the_database_of_the_main_worktree_from_another_one() {
    let scene = Scene::new(&Script::new().speaking_codex().turn([write("a.txt", "x"), say(DONE)]));
    let path = installed_as(&scene, "codex");
    scene.env.git(["init", "--quiet"]);
    scene.env.git(["commit", "--quiet", "--allow-empty", "-m", "first"]);
    let other = scene.env.beside("other");
    scene
        .env
        .git(["worktree", "add", "--quiet", "--detach", other.to_str().unwrap()]);
    let finished = scene.ralph(&["run", "a text"]).folder(&other).env("PATH", &path).run();
    assert_eq!(finished.code, Some(0), "{finished}");
    let words = scene.agent.call(1).arguments.join(" ");
    let database = scene.env.path(".ralph").canonicalize().unwrap();
    let notes = other.canonicalize().unwrap().join(".agent");
    for folder in [notes, database] {
        let expected = format!("--add-dir {} ", folder.display());
        assert!(words.contains(&expected), "{words}");
    }
}

#[test]
fn an_agent_that_is_installed_is_used_and_named() {
    let scene = Scene::new(&Script::new().speaking_claude().turn([write("a.txt", "x"), say(DONE)]));
    let path = installed_as(&scene, "claude");
    let finished = scene.ralph(&["run", "a text"]).env("PATH", path).run();
    assert_snapshot!(normal(finished), @"
    exit 0
    --- stdout
    Everything is done.
    1 iteration: 1 task done, $0.50
    --- stderr
    Task t-025cc1: a text
    Agent: claude (found on the PATH), permissions: edit (--permission-mode acceptEdits).
    Verifier: claude, read-only.
    11:20:00 run-658eec67 begins.
    11:20:00 [t-025cc1] iteration 1: a text
    11:20:00 [t-025cc1] prompt: [n] tokens, nothing of it from memory
    11:20:00 [t-025cc1]   Write a.txt
    11:20:00 [t-025cc1] claude looks at the work
    11:20:00 [t-025cc1] verifier passed
    11:20:00 [t-025cc1] done (1 file changed)
    ");
    let arguments = scene.agent.call(1).arguments;
    assert!(arguments.contains(&"stream-json".to_owned()), "{arguments:?}");
    assert!(arguments.contains(&"acceptEdits".to_owned()), "{arguments:?}");
}

#[test]
fn an_agent_that_cannot_be_started_leaves_nothing_behind() {
    let scene = Scene::new(&diligent());
    let finished = scene
        .ralph(&["run", "--agent", "there-is-no-such-program", "a text"])
        .run();
    assert_snapshot!(normal(finished), @"
    exit 1
    --- stderr
    Error: the agent cannot be started: there-is-no-such-program is not on the PATH
    Hint: set `[agent] command` in .ralph.toml, or pass --agent COMMAND
    ");
    assert_eq!(scene.env.tree(), []);

    for (name, text) in [
        ("plain", "#!/bin/sh\n"),
        ("orphan", "#!/nowhere/python -u\n"),
        ("by-env", "#!/usr/bin/env no-such-python\n"),
    ] {
        scene.env.write(name, text);
        let mode = if name == "plain" { 0o644 } else { 0o755 };
        std::fs::set_permissions(scene.env.path(name), std::fs::Permissions::from_mode(mode)).unwrap();
    }
    let before = scene.env.tree();
    let mut said = String::new();
    for agent in ["/nowhere/agent", "./gone", "./plain", "./orphan -x", "./by-env", "./"] {
        for more in [&["--dry-run"][..], &[]] {
            let finished = scene
                .ralph(&[&["run", "--agent", agent, "a text"], more].concat())
                .run();
            assert_eq!((finished.code, finished.stdout.as_str()), (Some(1), ""), "{finished}");
            let line = finished.stderr.lines().next().unwrap_or_default().to_owned() + "\n";
            if !said.ends_with(&line) {
                said.push_str(&line);
            }
        }
    }
    assert_snapshot!(said, @"
    Error: the agent cannot be started: there is no file /nowhere/agent
    Error: the agent cannot be started: there is no file [TMP]/project/./gone
    Error: the agent cannot be started: [TMP]/project/./plain is not executable (`chmod +x` makes it so)
    Error: the agent cannot be started: the interpreter of [TMP]/project/./orphan is missing: /nowhere/python
    Error: the agent cannot be started: the interpreter of [TMP]/project/./by-env is missing: no-such-python
    Error: the agent cannot be started: [TMP]/project/./ is a folder
    ");
    assert_eq!(scene.env.tree(), before);
}

#[test]
fn a_command_that_is_none_is_refused() {
    let scene = Scene::new(&diligent());
    for command in ["", "'unclosed"] {
        let finished = scene.ralph(&["run", "--agent", command, "a text"]).run();
        assert_eq!((finished.code, finished.stdout.as_str()), (Some(1), ""), "{finished}");
        assert!(finished.stderr.contains("names no program"), "{finished}");
    }
    scene.env.write(".ralph.toml", "[agent]\nkind = \"codex9\"\n");
    assert_snapshot!(scene.run(&["a text"]), @r#"
    exit 1
    --- stderr
    Error: .ralph.toml:2: agent.kind is "codex9"; allowed is "claude", "codex", "acp" or "command"
    "#);
}

#[test]
fn an_agent_is_told_of_its_run_and_of_no_other_session() {
    let script = Script::new().turn([
        run("command -v ralph > where.txt && ralph --version > version.txt"),
        say(DONE),
    ]);
    let scene = Scene::new(&script);
    scene.env.write(
        ".ralph.toml",
        "[agent]\ncommand = \"scripted-agent\"\nmodels = [\"only\"]\n",
    );
    let invocation = scene.invocation(&["a text", "--limit", "7"]);
    let markers = [
        "CLAUDECODE",
        "CLAUDE_CODE_ENTRYPOINT",
        "GEMINI_CLI",
        "RALPH_LIMITS_ITERATIONS",
    ];
    let invocation = markers.iter().fold(invocation, |all, name| all.env(name, "9"));
    let finished = invocation.env("KEPT", "yes").run();
    assert_eq!(finished.code, Some(0), "{finished}");
    let environment = scene.agent.call(1).environment;
    let value = |name: &str| environment.get(name).map(String::as_str);
    assert_eq!(value("RALPH_ITERATION"), Some("1"));
    assert_eq!(value("RALPH_TOTAL"), Some("7"));
    assert_eq!(value("RALPH_MODEL"), Some("only"));
    assert_eq!(value("KEPT"), Some("yes"));
    let run = value("RALPH_RUN_ID").unwrap();
    assert!(
        finished.stderr.contains(&format!("{run} begins.")),
        "{run} in {finished}"
    );
    for name in [
        "CLAUDECODE",
        "CLAUDE_CODE_ENTRYPOINT",
        "GEMINI_CLI",
        "RALPH_LIMITS_ITERATIONS",
    ] {
        assert_eq!(value(name), None, "{name}");
    }
    assert_ne!(value("RALPH_MARKER"), Some("9"));
    let here = std::fs::canonicalize(scene.env.read("where.txt").trim()).unwrap();
    assert_eq!(here, std::fs::canonicalize(env!("CARGO_BIN_EXE_ralph")).unwrap());
}

#[test]
fn what_an_agent_remembers_stands_in_the_next_prompt() {
    let script = Script::new()
        .turn([
            remember("fix: the port is taken, use 8081"),
            write("a.txt", "x"),
            say(DONE),
        ])
        .turn([write("b.txt", "x"), say(DONE)]);
    let scene = Scene::new(&script);
    scene.env.write("plan.md", "- [ ] one\n- [ ] two\n");
    let finished = scene.run(&["plan.md"]);
    assert_eq!(finished.code, Some(0), "{finished}");
    assert!(!scene.agent.prompt(1).contains("use 8081"));
    assert!(scene.agent.prompt(2).contains("use 8081"));
}

#[test]
fn what_an_agent_was_denied_is_named_with_the_line_that_permits_it() {
    let result = r#"{"type":"result","subtype":"success","is_error":false,"result":"","permission_denials":[{"tool_name":"Bash","tool_use_id":"1","tool_input":{"command":"cargo test --all"}}]}"#;
    let scene = Scene::new(
        &Script::new()
            .speaking_claude()
            .turn([say("I may not run the tests."), raw(result)]),
    );
    scene.env.write(
        crate::USER_CONFIG,
        "[agent]\nkind = \"claude\"\n[execution]\nmax_retries = 0\n",
    );
    assert_snapshot!(scene.run(&["run the tests"]), @r#"
    exit 4
    --- stdout
    The rest is for you: 1 task has failed.
    1 iteration: no task done, 1 failed
    --- stderr
    Task t-025cc1: run the tests
    Agent: claude (from --agent), permissions: edit (--permission-mode acceptEdits).
    Verifier: claude, read-only.
    11:20:00 run-658eec67 begins.
    11:20:00 gate passed: true
    11:20:00 [t-025cc1] iteration 1: run the tests
    11:20:00 [t-025cc1] prompt: [n] tokens, nothing of it from memory
    11:20:00 [t-025cc1] blocked: The agent was not allowed to use Bash (cargo test --all). This line permits it: allow = ["cargo test --all"] below [agent] in .ralph.toml
    11:20:00 [t-025cc1] It is left for you: all attempts are used up.
    Hint: `ralph review` shows what waits for you, and why; `ralph task reset ID` lets a task be tried again.
    "#);
    for command in [&["status"][..], &["task", "show", "t-025cc1"], &["review"]] {
        let shown = scene.ralph(command).run().stdout;
        let joined = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            joined.contains("Bash: cargo test --all")
                && joined.contains("to permit it: allow = [\"cargo test --all\"] below [agent] in .ralph.toml"),
            "{shown}"
        );
    }
    let status = json(&scene.env, &["status", "--json"]);
    assert_eq!(status["runs"]["denials"][0]["about"], "cargo test --all");
}

#[test]
fn an_agent_that_asks_may_run_memory_commands_gates_checks_and_what_is_allowed() {
    let commands = [
        "ralph recall parser",
        "true",
        "test -e a.txt",
        "make it so",
        "make it",
        "ralph status",
    ];
    let ask = |command: &&str| if_allowed("execute", command, [append("ran.txt", &format!("{command}\n"))], []);
    let turn = commands.iter().map(ask).chain([write("a.txt", "x"), say(DONE)]);
    let scene = Scene::new(&Script::new().speaking_acp().turn(turn));
    let config = "[agent]\nkind = \"acp\"\nallow = [\"make it so\"]\n";
    scene.env.write(crate::USER_CONFIG, config);
    let added = scene.ralph(&["task", "add", "one", "--check", "test -e a.txt"]).run();
    assert_eq!(added.code, Some(0), "{added}");
    let finished = scene.run(&[]);
    assert_eq!(finished.code, Some(0), "{finished}");
    assert_eq!(
        scene.env.read("ran.txt"),
        "ralph recall parser\ntrue\ntest -e a.txt\nmake it so\n"
    );
}

#[test]
fn an_agent_that_speaks_acp_ends_its_task() {
    let script = Script::new().speaking_acp().turn([
        if_allowed("execute", "cargo test", [say("ran")], [say("not run")]),
        write("a.txt", "x"),
        say_in_chunks(DONE, 7),
    ]);
    let scene = Scene::new(&script);
    scene.env.write(crate::USER_CONFIG, "[agent]\nkind = \"acp\"\n");
    let finished = scene.run(&["a text"]);
    assert_snapshot!(finished, @r#"
    exit 0
    --- stdout
    Everything is done.
    1 iteration: 1 task done
    --- stderr
    Task t-025cc1: a text
    Starting scripted-agent to ask whether it has a read-only mode.
    Agent: scripted-agent (from --agent).
    No verifier: scripted-agent cannot be kept from changing files; `[verify] verifier` names another agent.
    11:20:00 run-658eec67 begins.
    11:20:00 gate passed: true
    11:20:00 [t-025cc1] iteration 1: a text
    11:20:00 [t-025cc1] prompt: [n] tokens, nothing of it from memory
    11:20:00 [t-025cc1]   edit a.txt
    11:20:00 [t-025cc1] gate passed: true
    11:20:00 [t-025cc1] done (1 file changed)
    11:20:00 [t-025cc1] denied: execute: cargo test; to permit it: allow = ["cargo test"] below [agent] in .ralph.toml
    "#);
    assert_eq!(scene.env.read("a.txt"), "x");
}

#[test]
fn a_hook_inside_a_run_adds_nothing_to_the_prompt() {
    let hook = "ralph hook session-start < /dev/null > hook.txt";
    let scene = Scene::new(&Script::new().turn([run(hook), say(DONE)]));
    scene.env.ok(["remember", "the parser is slow"]);
    let outside = scene.ralph(&["hook", "session-start"]).run();
    assert!(outside.stdout.contains("the parser is slow"), "{outside}");
    let finished = scene.run(&["a text"]);
    assert_eq!(scene.env.read("hook.txt"), "", "{finished}");
    assert_eq!(scene.agent.prompt(1).matches("the parser is slow").count(), 1);
}

#[test]
fn an_unknown_acp_program_verifies_where_it_offers_a_read_only_mode() {
    let modes = |modes: &[&str]| {
        let offered: Vec<_> = modes
            .iter()
            .map(|mode| serde_json::json!({"id": mode, "name": mode}))
            .collect();
        serde_json::json!({"modes": {"currentModeId": modes[0], "availableModes": offered}}).to_string()
    };
    for (offered, verifies) in [
        (&["code", "plan"][..], true),
        (&["code", "read-only"], true),
        (&["code"], false),
    ] {
        let script = Script::new().speaking_acp().offering(&modes(offered));
        let scene = Scene::new(&script.turn([write("a.txt", "x"), say(DONE)]));
        scene.env.write(crate::USER_CONFIG, "[agent]\nkind = \"acp\"\n");
        let finished = scene.run(&["a text"]);
        assert_eq!(finished.code, Some(0), "{finished}");
        let said = ["Verifier: scripted-agent, read-only.", "verifier passed"];
        for said in said {
            assert_eq!(finished.stderr.contains(said), verifies, "{offered:?}: {finished}");
        }
    }
}

#[test]
fn a_silent_program_that_may_speak_acp_is_told_apart() {
    let scene = Scene::new(&Script::new().turn([exit(0)]));
    let finished = scene.run(&["a text", "--limit", "1"]);
    let hint = "The agent said nothing. If it speaks ACP, set `kind = \"acp\"` below [agent] in .ralph.toml.";
    assert!(finished.stderr.contains(hint), "{finished}");
}
