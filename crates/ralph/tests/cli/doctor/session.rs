//! Tests of `ralph doctor --agent`: the agent is started once, and all its processes end.

use insta::assert_snapshot;
use ralph_testkit::scripted::{Script, ScriptedAgent, exit, say, say_error};
use ralph_testkit::{Finished, TestEnv};

use super::{doctor, healthy};
use crate::run::signals::until;

/// A project whose agent follows a script, with these lines in `[agent]`.
fn with_agent(script: &Script, lines: &str) -> (TestEnv, ScriptedAgent) {
    let env = healthy();
    let agent = script.install(&env.beside("agent"));
    let command = agent.command().replace('\'', "");
    env.write(".ralph.toml", format!("[agent]\ncommand = \"{command}\"\n{lines}"));
    (env, agent)
}

/// Confirms the agent with a run that has nothing to do.
fn confirm(env: &TestEnv) {
    let idle = env.ralph(["run", "--trust"]).run();
    assert!(!idle.stderr.contains("not confirmed"), "{idle}");
}

/// The session findings for a confirmed agent, without durations and the agent's path.
fn session(env: &TestEnv) -> String {
    confirm(env);
    session_in(&doctor(env, ["--agent"]).run())
}

/// Checks the exit code of a confirmed agent, and that the session findings contain these texts in this order.
#[track_caller]
fn check(env: &TestEnv, code: i32, texts: &[&str]) {
    check_session(&session(env), code, texts);
}

#[track_caller]
fn check_session(session: &str, code: i32, texts: &[&str]) {
    assert!(session.starts_with(&format!("exit {code}\n")), "{session}");
    let mut rest = session;
    for text in texts {
        let Some((_, after)) = rest.split_once(text) else {
            panic!("{text:?} is missing or out of order in\n{session}");
        };
        rest = after;
    }
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
fn an_acp_agent_reports_its_name_and_features() {
    let offered = r#"{"models":{"currentModelId":"small","availableModels":[{"modelId":"small"},{"modelId":"big"}]},
        "modes":{"currentModeId":"default","availableModes":[{"id":"default","name":"d"},{"id":"acceptEdits","name":"x"}]}}"#;
    let script = Script::new().speaking_acp().offering(offered).turn([say("never")]);
    let (env, agent) = with_agent(&script, "kind = \"acp\"\nmodels = [\"big\", \"huge\"]\n");
    assert_snapshot!(session(&env), @r#"
    exit 0
      ok       [agent] (configured), protocol "acp"
      ok       scripted-agent 1.0.0; ACP version 1, after [time]
      ok       it opened a session, so no login is needed
      ok       its mode "acceptEdits" decides what it may do without asking; its modes: default (now), acceptEdits
      ok       models: small (now), big
      warning  agent.models has models that it does not offer: huge
               → remove them, or use the names it offers
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
fn a_missing_login_is_reported_with_login_methods() {
    let error = r#"{"code":-32000,"message":"Authentication required"}"#;
    let (env, _) = with_agent(
        &Script::new().speaking_acp().refusing_sessions(error),
        "kind = \"acp\"\n",
    );
    check(
        &env,
        1,
        &[
            "error    it is not logged in: Authentication required",
            "it offers: A key",
        ],
    );
}

#[test]
fn a_program_without_acp_is_reported() {
    for (actions, texts) in [
        (
            vec![say("Hello")],
            [
                "error    it does not speak ACP; it printed: Hello",
                "set kind = \"command\"",
            ],
        ),
        (
            vec![say_error("no node here"), exit(3)],
            ["error    exit code 3: no node here", "start it by hand"],
        ),
    ] {
        let (env, agent) = with_agent(&Script::new().turn(actions), "");
        let words = format!("{} --prompt-file /dev/null", agent.command().replace('\'', ""));
        env.write(
            ".ralph.toml",
            format!("[agent]\nkind = \"acp\"\ncommand = \"{words}\"\n"),
        );
        check(&env, 1, &texts);
    }
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
    let answer = said("echo \"$@ is 2.1\"", "-x", "claude");
    check_session(
        &answer,
        0,
        &["says --version is 2.1", "its login is only checked in its first turn"],
    );
    assert!(!answer.contains("not of the agent"), "{answer}");
    let broken = said("echo broken; exit 3", "-x", "claude");
    check_session(
        &broken,
        1,
        &[
            "error    `an-agent --version` ended with exit code 3: broken",
            "install it",
        ],
    );
    let launched = said("echo 11.0", "@openai/codex", "codex");
    check_session(
        &launched,
        0,
        &[
            "says 11.0",
            "the version of an-agent, not of the agent that an-agent starts",
        ],
    );
    let any = said("exit 3", "-x", "command");
    check_session(&any, 0, &[]);
}

#[test]
fn a_missing_agent_comes_with_its_install_command() {
    let env = healthy();
    env.write(".ralph.toml", "[agent]\ncommand = \"gemini\"\n");
    check(
        &env,
        1,
        &["gemini is not on the PATH", "`npm install -g @google/gemini-cli`"],
    );
}

/// A project whose agent is this script.
fn with_program(script: &str, kind: &str) -> TestEnv {
    let env = healthy();
    env.write("agent.sh", script);
    let text = format!("[agent]\nkind = \"{kind}\"\ncommand = \"/bin/sh agent.sh\"\n");
    env.write(".ralph.toml", text);
    env
}

#[test]
fn an_unconfirmed_agent_is_not_started() {
    for kind in ["command", "acp"] {
        let env = with_program(": > started", kind);
        let finished = doctor(&env, ["--agent"]).run();
        assert!(!env.path("started").exists());
        let kind = format!("agent.kind = {kind}");
        for setting in [kind.as_str(), "agent.command = /bin/sh agent.sh", "script agent.sh"] {
            assert!(finished.stderr.contains(setting), "{setting} in {finished}");
        }
        let texts = [
            "ok       /bin/sh (configured)",
            "error    not confirmed",
            "agent.kind, agent.command, script agent.sh",
            "`ralph doctor --agent`",
            "`ralph run --trust`",
        ];
        check_session(&session_in(&finished), 1, &texts);
    }
}

#[test]
fn confirming_a_run_confirms_its_agent() {
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
    assert!(finished.stderr.starts_with("Starting sh"), "{finished}");
    assert_eq!(finished.stderr.lines().count(), 1, "nothing to confirm: {finished}");
}

#[test]
fn an_unknown_acp_program_is_detected() {
    let (env, agent) = with_agent(&Script::new().speaking_acp().turn([say("never")]), "");
    check(&env, 1, &["error    it speaks ACP", "kind = \"acp\" under [agent]"]);
    assert_eq!(agent.turns(), 0);
}

#[test]
fn an_agent_with_endless_output_is_stopped() {
    let env = with_program("exec /usr/bin/yes", "acp");
    check(
        &env,
        1,
        &["error    it printed more than 16 MiB without opening a session, and was stopped"],
    );
}

#[test]
fn an_interruption_is_reported() {
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
    assert!(said.contains("interrupted before it opened a session"), "{said}");
    let child = env.read("child").trim().parse().unwrap();
    assert_eq!(ralph_process::start_time(child), None, "the agent's child is left");
}
