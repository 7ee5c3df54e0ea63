//! `ralph doctor --agent`: the agent is started once, and nothing of it is left.

use insta::assert_snapshot;
use ralph_testkit::scripted::{Script, ScriptedAgent, exit, say, say_error};
use ralph_testkit::{Finished, TestEnv};

use super::{doctor, healthy};
use crate::run::signals::until;

/// A project whose agent follows a script, with these lines below `[agent]`.
fn with_agent(script: &Script, lines: &str) -> (TestEnv, ScriptedAgent) {
    let env = healthy();
    let agent = script.install(&env.beside("agent"));
    let command = agent.command().replace('\'', "");
    env.write(".ralph.toml", format!("[agent]\ncommand = \"{command}\"\n{lines}"));
    (env, agent)
}

/// Confirms the agent of the project, by a run that finds nothing to do.
fn confirm(env: &TestEnv) {
    let idle = env.ralph(["run", "--trust"]).run();
    assert!(!idle.stderr.contains("not confirmed"), "{idle}");
}

/// What is said of the session of a confirmed agent, without the times that things took and the path of the agent.
fn session(env: &TestEnv) -> String {
    confirm(env);
    session_in(&doctor(env, ["--agent"]).run())
}

fn session_in(finished: &Finished) -> String {
    let lines = finished.stdout.lines().skip_while(|line| *line != "session");
    let lines = lines.skip(1).take_while(|line| line.starts_with(' '));
    let lines: Vec<String> = lines.map(normal).collect();
    format!("exit {}\n{}", finished.code.unwrap(), lines.join("\n"))
}

fn normal(line: &str) -> String {
    let line = match line.split_once(" after ") {
        Some((before, _)) => format!("{before} after [time]"),
        None => line.to_owned(),
    };
    match line.split_once("/scripted-agent") {
        Some((before, after)) => format!("{}[agent]{after}", before.split_once('/').unwrap().0),
        None => line,
    }
}

#[test]
fn an_agent_that_speaks_acp_says_who_it_is_and_what_it_offers() {
    let offered = r#"{"models":{"currentModelId":"small","availableModels":[{"modelId":"small"},{"modelId":"big"}]},
        "modes":{"currentModeId":"default","availableModes":[{"id":"default","name":"d"},{"id":"acceptEdits","name":"x"}]}}"#;
    let script = Script::new().speaking_acp().offering(offered).turn([say("never")]);
    let (env, agent) = with_agent(&script, "kind = \"acp\"\nmodels = [\"big\", \"huge\"]\n");
    assert_snapshot!(session(&env), @r#"
    exit 0
      ok       [agent] (configured), spoken to as "acp"
      ok       scripted-agent 1.0.0; ACP version 1, after [time]
      ok       it opened a session, so it does not ask for a login
      ok       what it may do without asking is what its mode "acceptEdits" allows; its modes: default (now), acceptEdits
      ok       models: small (now), big
      warning  agent.models names what it does not offer: huge
               → take them out, or write them as it does
    "#);
    assert_eq!(agent.turns(), 0, "it was prompted");
    let findings = doctor(&env, ["--agent", "--json"]).run().stdout;
    let findings: serde_json::Value = serde_json::from_str(&findings).unwrap();
    let problems: Vec<&str> = findings
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["problem"].as_str().unwrap())
        .collect();
    assert!(problems.contains(&"models: small (now), big"), "{problems:?}");
    assert!(
        !doctor(&env, []).run().stdout.contains("session"),
        "it is started only when that is asked for"
    );
}

#[test]
fn an_agent_that_is_not_logged_in_is_told_with_what_it_offers() {
    let error = r#"{"code":-32000,"message":"Authentication required"}"#;
    let (env, _) = with_agent(
        &Script::new().speaking_acp().refusing_sessions(error),
        "kind = \"acp\"\n",
    );
    assert_snapshot!(session(&env), @r#"
    exit 1
      ok       [agent] (configured), spoken to as "acp"
      ok       scripted-agent 1.0.0; ACP version 1, after [time]
      error    it is not logged in: Authentication required
               → log in with the agent itself, or set its key; it offers: A key
    "#);
}

#[test]
fn a_program_that_does_not_speak_acp_is_told() {
    let script = Script::new().turn([say("Hello")]);
    let (env, agent) = with_agent(&script, "kind = \"acp\"\n");
    let words = format!("{} --prompt-file /dev/null", agent.command().replace('\'', ""));
    env.write(
        ".ralph.toml",
        format!("[agent]\nkind = \"acp\"\ncommand = \"{words}\"\n"),
    );
    assert_snapshot!(session(&env), @r#"
    exit 1
      ok       [agent] (configured), spoken to as "acp"
      error    it does not speak ACP; it printed: Hello
               → add the words that make it speak ACP to [agent] command, or set kind = "command"
    "#);
}

#[test]
fn any_other_agent_is_asked_for_its_version() {
    let env = healthy();
    let said = |script: &str, words: &str, kind: &str| {
        env.write("../bin/an-agent", format!("#!/bin/sh\n{script}\n"));
        let program = env.beside("bin/an-agent");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&program, mode).unwrap();
        let path = program.display();
        env.write(
            ".ralph.toml",
            format!("[agent]\ncommand = \"{path} {words}\"\nkind = \"{kind}\"\n"),
        );
        session(&env)
    };
    assert_snapshot!(said("echo \"$@ is 2.1\"", "-x", "claude"), @r#"
    exit 0
      ok       [TMP]/bin/an-agent (configured), spoken to as "claude"
      ok       `an-agent --version` says --version is 2.1 after [time]
      ok       whether it is logged in is seen only in its first turn
    "#);
    assert_snapshot!(said("echo broken; exit 3", "-x", "claude"), @r#"
    exit 1
      ok       [TMP]/bin/an-agent (configured), spoken to as "claude"
      error    `an-agent --version` ended with exit code 3: broken after [time]
               → install it, put its folder into PATH, or mend [agent] command in .ralph.toml
    "#);
    assert_snapshot!(said("echo 11.0", "@openai/codex", "codex"), @r#"
    exit 0
      ok       [TMP]/bin/an-agent (configured), spoken to as "codex"
      ok       `an-agent --version` says 11.0 after [time]
      ok       that is the version of an-agent, and not of what an-agent starts
      ok       whether it is logged in is seen only in its first turn
    "#);
    assert!(
        said("exit 3", "-x", "command").starts_with("exit 0"),
        "any program may be an agent"
    );
}

#[test]
fn an_agent_that_is_not_there_is_told_with_how_to_install_it() {
    let env = healthy();
    env.write(".ralph.toml", "[agent]\ncommand = \"gemini\"\n");
    assert_snapshot!(session(&env), @r"
    exit 1
      error    the agent cannot be started: gemini is not on the PATH
               → `npm install -g @google/gemini-cli` installs it
    ");
}

#[test]
fn an_agent_that_breaks_down_at_once_says_so() {
    let script = Script::new().turn([say_error("no node here"), exit(3)]);
    let (env, agent) = with_agent(&script, "");
    let words = format!("{} --prompt-file /dev/null", agent.command().replace('\'', ""));
    env.write(
        ".ralph.toml",
        format!("[agent]\nkind = \"acp\"\ncommand = \"{words}\"\n"),
    );
    assert_snapshot!(session(&env), @r#"
    exit 1
      ok       [agent] (configured), spoken to as "acp"
      error    exit code 3: no node here
               → start it by hand and see what it says
    "#);
}

/// A project with a program for an agent, made by this script.
fn with_program(script: &str, kind: &str) -> TestEnv {
    let env = healthy();
    env.write("agent.sh", script);
    let text = format!("[agent]\nkind = \"{kind}\"\ncommand = \"/bin/sh agent.sh\"\n");
    env.write(".ralph.toml", text);
    env
}

#[test]
fn the_agent_of_a_project_is_not_started_before_somebody_has_seen_its_command() {
    for kind in ["command", "acp"] {
        let env = with_program(": > started", kind);
        let finished = doctor(&env, ["--agent"]).run();
        assert!(!env.path("started").exists());
        assert_eq!(
            finished.stderr,
            format!(
                "Confirm what this project may do on your machine:\n  agent.kind = {kind}\n  agent.command = /bin/sh agent.sh\n  script agent.sh\n"
            )
        );
        let lines = [
            "exit 1",
            &format!("  ok       /bin/sh (configured), spoken to as {kind:?}"),
            "  error    not confirmed, and there is no terminal to ask at: agent.kind, agent.command, script agent.sh",
            "           → `ralph doctor --agent` asks at a terminal; `ralph run --trust` confirms it with the whole run",
        ];
        assert_eq!(session_in(&finished), lines.join("\n"));
    }
}

#[test]
fn whoever_has_confirmed_a_run_has_confirmed_its_agent() {
    let env = with_program(": > started", "acp");
    let config = env.read(".ralph.toml");
    env.write(
        ".ralph.toml",
        format!("{config}permissions = \"full\"\n[verify]\ncommands = [\"true\"]\n"),
    );
    confirm(&env);
    assert!(!env.path("started").exists(), "there was nothing to do");
    let finished = doctor(&env, ["--agent"]).run();
    assert!(env.path("started").exists(), "{finished}");
    assert_eq!(
        finished.stderr,
        "Starting sh, which may take a while; Ctrl+C ends that.\n"
    );
}

#[test]
fn a_program_of_an_unknown_name_that_speaks_acp_is_found_out() {
    let (env, agent) = with_agent(&Script::new().speaking_acp().turn([say("never")]), "");
    assert_snapshot!(session(&env), @r#"
    exit 1
      ok       [agent] (configured), spoken to as "command"
      error    it speaks ACP, and is spoken to as a program that answers in plain text
               → set kind = "acp" below [agent] in .ralph.toml
    "#);
    assert_eq!(agent.turns(), 0);
}

#[test]
fn an_agent_that_prints_without_end_is_stopped() {
    let env = with_program("exec /usr/bin/yes", "acp");
    assert_snapshot!(session(&env), @r#"
    exit 1
      ok       /bin/sh (configured), spoken to as "acp"
      error    it printed more than 16 MiB and opened no session, and was stopped
               → start it by hand and see what it prints
    "#);
}

#[test]
fn one_that_is_interrupted_says_so() {
    let env = with_program(
        "/bin/sleep 4711 & echo $! > child; : > started; exec /bin/sleep 4711",
        "acp",
    );
    confirm(&env);
    let child = doctor(&env, ["--agent"]).start();
    until("the agent", || env.path("started").exists());
    let pid = child.id().to_string();
    let sent = ralph_process::command("kill").args(["-INT", &pid]).status();
    assert!(sent.unwrap().success());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("it was interrupted before it opened a session"), "{said}");
    let child = env.read("child").trim().parse().unwrap();
    assert_eq!(ralph_process::start_time(child), None, "the agent's child is left");
}
