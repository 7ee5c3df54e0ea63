//! Tests of how the agent is chosen (flag, configuration, PATH), and of its environment.

use std::os::unix::fs::PermissionsExt;

use ralph_testkit::scripted::{Script, append, exit, if_allowed, raw, remember, run, say, say_in_chunks, write};

use super::{DONE, Scene, diligent};
use crate::json;

#[test]
fn missing_agent_lists_installable_ones() {
    let scene = Scene::new(&diligent());
    let finished = scene.ralph(&["run", "a text"]).run();
    finished.refused(
        1,
        &[
            "PATH: claude, codex",
            "npm install -g @anthropic-ai/claude-code",
            "--agent COMMAND",
        ],
    );
    assert_eq!(scene.env.tree(), []);
    let dry = scene.ralph(&["run", "--dry-run", "a text"]).run();
    assert_eq!(dry.code, Some(0), "{dry}");
    assert!(
        dry.stdout
            .contains("Agent   no agent is configured, and none of these is on the PATH"),
        "{dry}"
    );
    assert!(dry.stdout.contains("\nPrompt  "), "{dry}");
}

/// Puts the scripted agent on a PATH under the name of a real agent.
pub(super) fn installed_as(scene: &Scene, name: &str) -> String {
    let text = format!("#!/bin/sh\nexec {} \"$@\"\n", scene.agent.command());
    scene.env.write(&format!("../bin/{name}"), text);
    let program = scene.env.beside("bin").join(name);
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    format!("{}:/usr/bin:/bin", scene.env.beside("bin").display())
}

#[test]
fn installed_codex_gets_its_model_and_permissions() {
    let scene = Scene::new(&Script::new().speaking_codex().turn([write("a.txt", "x"), say(DONE)]));
    let path = installed_as(&scene, "codex");
    let finished = scene
        .ralph(&["run", "a text", "--model", "gpt-9"])
        .env("PATH", &path)
        .run();
    finished.printed(&[
        "Everything is done.",
        "Agent: codex (found on the PATH), permissions: edit (-s workspace-write)",
        "Verifier: codex, read-only",
        "model: gpt-9 (you asked for it)",
        "apply_patch a.txt",
        "codex verifies the work",
        "verifier passed",
        "done (1 file changed)",
    ]);
    assert_eq!(
        scene.agent.call(1).arguments.join(" "),
        "exec --json --skip-git-repo-check -c allow_login_shell=false -s workspace-write -m gpt-9 -"
    );

    // The configured kind is found even behind an agent that would otherwise be chosen first.
    installed_as(&scene, "claude");
    scene
        .env
        .write(".ralph.toml", "[agent]\nkind = \"codex\"\npermissions = \"full\"\n");
    let finished = scene.ralph(&["run", "more", "--trust"]).env("PATH", &path).run();
    // The agent wrote content that was already there.
    assert_eq!(finished.code, Some(4), "{finished}");
    let line = "codex (found on the PATH), permissions: full (--dangerously-bypass-approvals-and-sandbox).";
    assert!(finished.stderr.contains(line), "{finished}");
}

#[test]
fn models_of_another_agent_are_ignored() {
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
    let line = "(-s workspace-write); the configured models belong to another agent and are ignored.";
    assert!(finished.stderr.contains(line), "{finished}");
    let words = scene.agent.call(1).arguments.join(" ");
    assert!(words.ends_with("-s workspace-write -"), "{words}");
}

#[test]
fn codex_in_a_worktree_may_write_the_main_database() {
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
fn installed_agent_is_used_and_named() {
    let scene = Scene::new(&Script::new().speaking_claude().turn([write("a.txt", "x"), say(DONE)]));
    let path = installed_as(&scene, "claude");
    let finished = scene.ralph(&["run", "a text"]).env("PATH", path).run();
    finished.printed(&[
        "Agent: claude (found on the PATH), permissions: edit (--permission-mode acceptEdits)",
        "Verifier: claude, read-only",
        "Write a.txt",
        "claude verifies the work",
        "done (1 file changed)",
    ]);
    let arguments = scene.agent.call(1).arguments;
    assert!(arguments.contains(&"stream-json".to_owned()), "{arguments:?}");
    assert!(arguments.contains(&"acceptEdits".to_owned()), "{arguments:?}");
}

#[test]
fn unstartable_agent_leaves_nothing_behind() {
    let scene = Scene::new(&diligent());
    let finished = scene
        .ralph(&["run", "--agent", "there-is-no-such-program", "a text"])
        .run();
    finished.refused(
        1,
        &[
            "there-is-no-such-program is not on the PATH",
            "[agent] command",
            "--agent COMMAND",
        ],
    );
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
    for (agent, reason) in [
        ("/nowhere/agent", "there is no file /nowhere/agent"),
        ("./gone", "there is no file [TMP]/project/./gone"),
        ("./plain", "./plain is not executable (`chmod +x` makes it so)"),
        (
            "./orphan -x",
            "the interpreter of [TMP]/project/./orphan is missing: /nowhere/python",
        ),
        ("./by-env", "./by-env is missing: no-such-python"),
        ("./", "[TMP]/project/./ is a folder"),
    ] {
        for more in [&["--dry-run"][..], &[]] {
            let finished = scene
                .ralph(&[&["run", "--agent", agent, "a text"], more].concat())
                .run();
            finished.refused(1, &["cannot start the agent", reason]);
        }
    }
    assert_eq!(scene.env.tree(), before);
}

#[test]
fn invalid_agent_commands_are_refused() {
    let scene = Scene::new(&diligent());
    for command in ["", "'unclosed"] {
        let finished = scene.ralph(&["run", "--agent", command, "a text"]).run();
        finished.refused(1, &["names no program"]);
    }
    scene.env.write(".ralph.toml", "[agent]\nkind = \"codex9\"\n");
    let unknown = scene.run(&["a text"]);
    unknown.refused(
        1,
        &[
            ".ralph.toml:2: agent.kind is \"codex9\"",
            "\"claude\", \"codex\", \"acp\" or \"command\"",
        ],
    );
}

#[test]
fn agent_environment_names_only_its_own_run() {
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
        finished.stderr.contains(&format!("{run} started.")),
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
fn stored_memory_is_in_the_next_prompt() {
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
fn denied_tools_are_shown_with_their_permit() {
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
    let finished = scene.run(&["run the tests"]);
    assert_eq!(finished.code, Some(4), "{finished}");
    assert!(finished.stdout.contains("1 failed"), "{finished}");
    for text in [
        "blocked: The agent was not allowed to use Bash (cargo test --all)",
        "allow = [\"cargo test --all\"] under [agent] in .ralph.toml",
        "no attempts are left",
    ] {
        assert!(finished.stderr.contains(text), "{text} in {finished}");
    }
    for command in [&["status"][..], &["task", "show", "t-025cc1"], &["review"]] {
        let shown = scene.ralph(command).run().stdout;
        let joined = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            joined.contains("Bash: cargo test --all")
                && joined.contains("to permit it: allow = [\"cargo test --all\"] under [agent] in .ralph.toml"),
            "{shown}"
        );
    }
    let status = json(&scene.env, &["status", "--json"]);
    assert_eq!(status["runs"]["denials"][0]["about"], "cargo test --all");
}

#[test]
fn memory_commands_gates_checks_and_allowed_commands_are_permitted() {
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
fn acp_agent_finishes_its_task() {
    let script = Script::new().speaking_acp().turn([
        if_allowed("execute", "cargo test", [say("ran")], [say("not run")]),
        write("a.txt", "x"),
        say_in_chunks(DONE, 7),
    ]);
    let scene = Scene::new(&script);
    scene.env.write(crate::USER_CONFIG, "[agent]\nkind = \"acp\"\n");
    let finished = scene.run(&["a text"]);
    finished.printed(&[
        "Everything is done.",
        "No verifier: scripted-agent cannot be made read-only",
        "edit a.txt",
        "done (1 file changed)",
        "denied: execute: cargo test; to permit it: allow = [\"cargo test\"] under [agent]",
    ]);
    assert_eq!(scene.env.read("a.txt"), "x");
}

#[test]
fn hook_inside_a_run_adds_nothing() {
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
fn unknown_acp_agent_verifies_in_read_only_mode() {
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
fn silent_program_is_not_taken_for_an_acp_agent() {
    let scene = Scene::new(&Script::new().turn([exit(0)]));
    let finished = scene.run(&["a text", "--limit", "1"]);
    let hint = "The agent said nothing. If it speaks ACP, set `kind = \"acp\"` under [agent] in .ralph.toml.";
    assert!(finished.stderr.contains(hint), "{finished}");
}
