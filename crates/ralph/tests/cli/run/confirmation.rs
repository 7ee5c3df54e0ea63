//! Commands that come with a project are confirmed once, by a person, and that is kept outside of the project.

use insta::assert_snapshot;
use ralph_testkit::Finished;

use super::{Scene, diligent, normal};

/// A project as somebody else wrote it.
fn cloned() -> Scene {
    let scene = Scene::new(&diligent());
    configure(&scene, "true");
    scene
}

fn configure(scene: &Scene, gate: &str) {
    let words = scene.agent.words();
    let text = format!("[agent]\ncommand = {words:?}\n[verify]\ncommands = [\"{gate}\"]\n");
    scene.env.write(".ralph.toml", text);
}

/// `ralph run` with these arguments, and nothing about the agent.
fn run(scene: &Scene, arguments: &[&str]) -> Finished {
    normal(scene.ralph(&[&["run"], arguments].concat()).run())
}

/// What was printed, without the long path of the scripted agent's program.
fn short(finished: &Finished) -> String {
    let program = ralph_testkit::scripted::program().display().to_string();
    finished.to_string().replace(&program, "[AGENT]")
}

/// The same at a terminal, with an answer.
fn answered(scene: &Scene, answer: &str) -> Finished {
    let shell = format!("printf '{answer}\\n' | script -qec '\"$RALPH\" run \"a text\"' /dev/null");
    normal(
        scene
            .env
            .sh(&shell)
            .env("TERM", "xterm")
            .env("TZ", "UTC")
            .unfixed()
            .run(),
    )
}

#[test]
fn commands_of_a_project_are_not_run_before_somebody_has_seen_them() {
    let scene = cloned();
    let before = scene.env.tree();
    let refused = run(&scene, &["a text"]);
    assert_snapshot!(short(&refused), @"
    exit 1
    --- stderr
    .ralph.toml says what will be run here:
      agent: [AGENT] [TMP]/agent
      gate: true
    Error: this was never confirmed, and there is no terminal to ask at; nothing was started
    Hint: the same command with --trust confirms it, until it changes
    ");
    assert_eq!(scene.env.tree(), before);
    assert_eq!(scene.agent.turns(), 0);
}

#[test]
fn commands_are_confirmed_once_until_they_change() {
    let scene = cloned();
    let trusted = run(&scene, &["--trust", "a text"]);
    assert_eq!(trusted.code, Some(0), "{trusted}");
    assert_eq!(run(&scene, &["another"]).code, Some(0));
    let kept = scene.env.beside("home/.local/state/ralph/confirmed.json");
    assert!(kept.exists());
    let kept = std::fs::read_to_string(kept).unwrap();
    assert!(kept.contains(&*scene.env.project().to_string_lossy()), "{kept}");

    configure(&scene, "true || true");
    let changed = run(&scene, &["a third"]);
    assert_eq!(changed.code, Some(1), "{changed}");
    assert!(changed.stderr.contains("gate: true || true"), "{changed}");
    configure(&scene, "true");
    assert_eq!(run(&scene, &["a third"]).code, Some(0), "what was confirmed stays so");
}

#[test]
fn an_agent_of_a_flag_is_the_persons_own_and_gates_are_still_asked_for() {
    let scene = cloned();
    let refused = scene.run(&["a text"]);
    assert_eq!(refused.code, Some(1), "{refused}");
    assert!(
        refused.stderr.contains("gate: true") && !refused.stderr.contains("agent: "),
        "{refused}"
    );
    scene
        .env
        .write(".ralph.toml", "[agent]\ncommand = \"rm -rf everything\"\n");
    assert_eq!(
        scene.run(&["a text"]).code,
        Some(0),
        "no command of the project is used"
    );
}

#[test]
fn a_project_does_not_decide_alone_that_an_agent_asks_for_nothing() {
    let scene = Scene::new(&diligent());
    scene.env.write(".ralph.toml", "[agent]\npermissions = \"full\"\n");
    assert_snapshot!(scene.run(&["a text"]), @r#"
    exit 1
    --- stderr
    .ralph.toml says what will be run here:
      agent: may do everything without asking (permissions = "full")
    Error: this was never confirmed, and there is no terminal to ask at; nothing was started
    Hint: the same command with --trust confirms it, until it changes
    "#);
    assert_eq!(scene.agent.turns(), 0);
    assert_eq!(scene.run(&["a text", "--trust"]).code, Some(0));
    assert_eq!(scene.run(&["a text"]).code, Some(0));
}

#[test]
fn the_place_for_what_was_confirmed_follows_the_persons_settings() {
    let scene = cloned();
    let state = scene.env.beside("state");
    let trusted = scene
        .ralph(&["run", "--trust", "a text"])
        .env("XDG_STATE_HOME", &state)
        .run();
    assert_eq!(trusted.code, Some(0), "{trusted}");
    assert!(state.join("ralph/confirmed.json").exists());
    assert!(!scene.env.beside("home/.local").exists());

    let homeless = scene.ralph(&["run", "--trust", "a text"]).env("HOME", "").run();
    assert_snapshot!(normal(homeless), @"
    exit 1
    --- stderr
    Error: there is no folder to remember confirmed commands in, since HOME is not set
    Hint: set HOME or XDG_STATE_HOME
    ");
}

#[test]
fn where_there_is_nothing_to_confirm_no_place_for_it_is_needed() {
    let scene = Scene::new(&diligent());
    scene.env.write(".ralph.toml", "[limits]\niterations = 3\n");
    let finished = scene.invocation(&["a text"]).env("HOME", "").run();
    assert_eq!(finished.code, Some(0), "{finished}");
}

#[test]
fn a_broken_record_of_what_was_confirmed_confirms_nothing() {
    let scene = cloned();
    scene
        .env
        .write("../home/.local/state/ralph/confirmed.json", "{ not json");
    assert_eq!(run(&scene, &["a text"]).code, Some(1));
    assert_eq!(run(&scene, &["--trust", "a text"]).code, Some(0));
    assert_eq!(run(&scene, &["a text"]).code, Some(0));
}

#[test]
fn at_a_terminal_a_person_is_asked() {
    let scene = cloned();
    let no = answered(&scene, "n");
    assert_eq!(no.code, Some(1), "{no}");
    assert!(no.stdout.contains("Run them? [y/N] "), "{no}");
    assert!(
        no.stdout.contains("it was not confirmed, so nothing was started"),
        "{no}"
    );
    assert_eq!(scene.agent.turns(), 0);
    let yes = answered(&scene, "y");
    assert_eq!(yes.code, Some(0), "{yes}");
    assert_eq!(scene.agent.turns(), 1);
    let again = answered(&scene, "");
    assert_eq!(again.code, Some(0), "{again}");
    assert!(!again.stdout.contains("Run them?"), "{again}");
}
