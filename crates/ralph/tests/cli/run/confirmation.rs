//! Tests that commands of a project are confirmed once by the user, and that this is stored outside the project.

use insta::assert_snapshot;
use ralph_testkit::Finished;

use super::{Scene, diligent, normal};

/// A cloned project.
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

/// `ralph run` with these arguments and no agent.
fn run(scene: &Scene, arguments: &[&str]) -> Finished {
    normal(scene.ralph(&[&["run"], arguments].concat()).run())
}

/// The output without the path of the scripted agent.
fn short(finished: &Finished) -> String {
    let program = ralph_testkit::scripted::program().display().to_string();
    finished.to_string().replace(&program, "[AGENT]")
}

/// The output at a terminal, with an answer.
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
fn project_commands_need_confirmation() {
    let scene = cloned();
    let before = scene.env.tree();
    let refused = run(&scene, &["a text"]);
    assert_snapshot!(short(&refused), @"
    exit 1
    --- stderr
    Confirm what this project may do on your machine:
      agent.command = [AGENT] [TMP]/agent
      verify.commands = true
    Error: not confirmed, and there is no terminal to ask on: agent.command, verify.commands
    Hint: run `ralph run --trust` to confirm until it changes
    ");
    assert_eq!(scene.env.tree(), before);
    assert_eq!(scene.agent.turns(), 0);
}

#[test]
fn commands_are_confirmed_once_until_they_change() {
    let scene = cloned();
    let trusted = run(&scene, &["--trust", "a text"]);
    trusted.printed(&[
        "Confirmed what",
        "\n  agent.command = ",
        " [TMP]/agent\n  verify.commands = true\n",
    ]);
    let known = run(&scene, &["--trust", "another"]);
    assert_eq!(known.code, Some(0));
    assert!(!known.stderr.contains("Confirmed what"), "{known}");
    let kept = scene.env.beside("home/.local/state/ralph/confirmed.json");
    assert!(kept.exists());
    let kept = std::fs::read_to_string(kept).unwrap();
    assert!(kept.contains(&*scene.env.project().to_string_lossy()), "{kept}");

    configure(&scene, "true || true");
    let changed = run(&scene, &["a third"]);
    assert_eq!(changed.code, Some(1), "{changed}");
    assert!(
        changed
            .stderr
            .contains("verify.commands = true || true (changed since you confirmed it)"),
        "{changed}"
    );
    configure(&scene, "true");
    assert_eq!(run(&scene, &["a third"]).code, Some(0), "what was confirmed stays so");
}

#[test]
fn agent_flag_needs_no_confirmation_but_gates_do() {
    let scene = cloned();
    let refused = scene.run(&["a text"]);
    assert_eq!(refused.code, Some(1), "{refused}");
    assert!(
        refused.stderr.contains("verify.commands = true") && !refused.stderr.contains("agent.command"),
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
fn full_permissions_need_confirmation() {
    let scene = Scene::new(&diligent());
    scene.env.write(".ralph.toml", "[agent]\npermissions = \"full\"\n");
    let refused = scene.run(&["a text"]);
    refused.refused(
        1,
        &[
            "agent.permissions = full\n",
            "Error: ",
            ": agent.permissions\n",
            "`ralph run --trust`",
        ],
    );
    assert_eq!(scene.agent.turns(), 0);
    assert_eq!(scene.run(&["a text", "--trust"]).code, Some(0));
    assert_eq!(scene.run(&["a text"]).code, Some(0));
}

#[test]
fn confirmations_follow_xdg_state_home() {
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
    homeless.refused(1, &["HOME is not set\n", "Hint: ", "XDG_STATE_HOME"]);
}

#[test]
fn home_is_not_needed_without_confirmations() {
    let scene = Scene::new(&diligent());
    scene.env.write(".ralph.toml", "[limits]\niterations = 3\n");
    let finished = scene.invocation(&["a text"]).env("HOME", "").run();
    assert_eq!(finished.code, Some(0), "{finished}");
}

#[test]
fn broken_confirmation_file_confirms_nothing() {
    let scene = cloned();
    scene
        .env
        .write("../home/.local/state/ralph/confirmed.json", "{ not json");
    assert_eq!(run(&scene, &["a text"]).code, Some(1));
    assert_eq!(run(&scene, &["--trust", "a text"]).code, Some(0));
    assert_eq!(run(&scene, &["a text"]).code, Some(0));
}

#[test]
fn user_is_asked_at_a_terminal() {
    let scene = cloned();
    let no = answered(&scene, "n");
    assert_eq!(no.code, Some(1), "{no}");
    assert!(no.stdout.contains("Allow it? [y/N] "), "{no}");
    assert!(no.stdout.contains("not confirmed; nothing was started"), "{no}");
    assert_eq!(scene.agent.turns(), 0);
    let yes = answered(&scene, "y");
    assert_eq!(yes.code, Some(0), "{yes}");
    assert_eq!(scene.agent.turns(), 1);
    let again = answered(&scene, "");
    assert_eq!(again.code, Some(0), "{again}");
    assert!(!again.stdout.contains("Allow it?"), "{again}");
}

#[test]
fn scripts_are_confirmed_by_content() {
    let scene = cloned();
    configure(&scene, "sh ci/test.sh");
    scene.env.write("ci/test.sh", "true\n");
    assert_eq!(run(&scene, &["--trust", "a text"]).code, Some(0));
    assert_eq!(run(&scene, &["a text"]).code, Some(0));
    scene.env.write("ci/test.sh", "true # changed\n");
    let changed = run(&scene, &["a text"]);
    let script = "script ci/test.sh";
    changed.refused(
        1,
        &[
            script,
            "(changed since you confirmed it)\n",
            "Error: ",
            script,
            "`ralph run --trust`",
        ],
    );
    assert!(!changed.stderr.contains("verify.commands"), "{changed}");
    assert_eq!(scene.agent.turns(), 2);
    assert_eq!(run(&scene, &["--trust", "a text"]).code, Some(0));
    assert_eq!(run(&scene, &["a text"]).code, Some(0));
}

#[test]
fn keys_that_weaken_protection_are_confirmed() {
    for text in [
        "[execution]\nverify = false\n",
        "[agent]\nkind = \"command\"\n",
        "[agent]\npermissions = \"full\"\n",
    ] {
        let scene = Scene::new(&diligent());
        scene.env.write(".ralph.toml", text);
        let refused = scene.run(&["a text"]);
        assert_eq!(refused.code, Some(1), "{text} {refused}");
        assert!(
            refused.stderr.contains("Confirm what this project may do"),
            "{text} {refused}"
        );
        assert_eq!(scene.agent.turns(), 0);
    }
}

#[test]
fn user_configuration_needs_no_confirmation() {
    let scene = Scene::new(&diligent());
    let gates = "[agent]\npermissions = \"full\"\n[verify]\ncommands = [\"true\"]\n";
    scene.env.write("../home/.config/ralph/config.toml", gates);
    assert_eq!(scene.run(&["a text"]).code, Some(0));
    scene.env.write(".ralph.toml", gates);
    assert_eq!(
        scene.run(&["a text"]).code,
        Some(0),
        "the project sets what the user set already"
    );
    scene.env.write(".ralph.toml", "[verify]\ncommands = []\n");
    assert_eq!(
        scene.run(&["a text"]).code,
        Some(1),
        "the project takes the user's gates away"
    );
    let by_variable = scene.invocation(&["a text"]).env("RALPH_VERIFY_COMMANDS", "true").run();
    assert_eq!(by_variable.code, Some(0), "{by_variable}");
}

#[test]
fn data_files_of_gates_are_not_confirmed() {
    let scene = cloned();
    configure(&scene, "test -e work-1.txt && cat work-1.txt");
    scene.env.write("work-1.txt", "before\n");
    assert_eq!(run(&scene, &["--trust", "a text"]).code, Some(0));
    scene.env.write("work-1.txt", "after\n");
    assert_eq!(run(&scene, &["a text"]).code, Some(0));
}

#[test]
fn gate_scripts_outside_the_project_are_confirmed() {
    let scene = cloned();
    let outside = scene.env.beside("out.sh");
    let home = scene.env.beside("home/check.sh");
    for script in [&outside, &home] {
        ralph_notes::write_new_file(script, b"true\n").unwrap();
    }
    configure(
        &scene,
        &format!("sh {} && sh ~/check.sh && /bin/true", outside.display()),
    );
    let trusted = run(&scene, &["--trust", "a text"]);
    assert_eq!(trusted.code, Some(0), "{trusted}");
    let scripts: Vec<&str> = trusted
        .stderr
        .lines()
        .filter(|line| line.starts_with("  script"))
        .collect();
    assert_eq!(
        scripts,
        ["  script [TMP]/home/check.sh", "  script [TMP]/out.sh"],
        "{trusted}"
    );
    for script in [&outside, &home] {
        std::fs::remove_file(script).unwrap();
        ralph_notes::write_new_file(script, b"exit 0\n").unwrap();
        let refused = run(&scene, &["another"]);
        let name = script.file_name().unwrap().to_string_lossy();
        assert_eq!(refused.code, Some(1), "{refused}");
        assert!(refused.stderr.contains(&format!("{name} (changed since")), "{refused}");
        assert_ne!(run(&scene, &["--trust", "another"]).code, Some(1));
    }
}

#[test]
fn config_set_confirms_only_its_own_setting() {
    let scene = Scene::new(&diligent());
    let command = scene.agent.command();
    for (key, value) in [("agent.command", command.as_str()), ("verify.commands", "true")] {
        let set = scene.ralph(&["config", "set", key, value]).run();
        assert_eq!(set.code, Some(0), "{set}");
    }
    let finished = run(&scene, &["a text"]);
    assert_eq!(finished.code, Some(0), "{finished}");
    // A line by someone else in the same file.
    let config = scene.env.read(".ralph.toml");
    let with_setup = config.replace("[worktree]\n", "[worktree]\nsetup = [\"./steal.sh\"]\n");
    scene.env.write(".ralph.toml", with_setup);
    let set = scene.ralph(&["config", "set", "verify.commands", "echo fine"]).run();
    assert_eq!(set.code, Some(0), "{set}");
    let refused = run(&scene, &["another text"]);
    assert_eq!(refused.code, Some(1), "{refused}");
    let missing = "no terminal to ask on: worktree.setup\n";
    assert!(refused.stderr.contains(missing), "{refused}");
}
