//! Tests of the user configuration, `$XDG_CONFIG_HOME/ralph/config.toml`, which `.ralph.toml` overrides.

use insta::assert_snapshot;
use ralph_testkit::TestEnv;

use crate::{USER_CONFIG, env, sample};

/// The types of the memories that `prime` chooses.
fn primed(env: &TestEnv, variables: &[(&str, &str)]) -> Vec<String> {
    let mut invocation = env.ralph(["memory", "prime", "--json"]);
    for (name, value) in variables {
        invocation = invocation.env(name, value);
    }
    let ended = invocation.run();
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended}");
    let memories: Vec<serde_json::Value> = serde_json::from_str(&ended.stdout).unwrap();
    let kinds = memories.iter().filter_map(|memory| memory["memory_type"].as_str());
    let mut kinds: Vec<String> = kinds.map(str::to_owned).collect();
    kinds.dedup();
    kinds
}

#[test]
fn the_project_overrides_the_user_configuration() {
    let env = sample();
    env.write(USER_CONFIG, "[memories]\nfilter.types = [\"fix\"]\n");
    assert_eq!(primed(&env, &[]), ["fix"]);
    env.write(".ralph.toml", "[memories]\nfilter.types = [\"pattern\"]\n");
    assert_eq!(primed(&env, &[]), ["pattern"], "a list replaces the user's list");
    assert_eq!(
        primed(&env, &[("RALPH_MEMORIES_FILTER_TYPES", "decision")]),
        ["decision"]
    );
    env.write(".ralph.toml", "[memories]\nbudget = 500\n");
    assert_eq!(primed(&env, &[]), ["fix"], "other keys of the section do not hide it");
}

#[test]
fn the_environment_sets_the_path_of_the_user_configuration() {
    let env = sample();
    env.write(
        "../elsewhere/ralph/config.toml",
        "[memories]\nfilter.types = [\"fix\"]\n",
    );
    let elsewhere = env.beside("elsewhere").display().to_string();
    assert_eq!(primed(&env, &[("XDG_CONFIG_HOME", &elsewhere)]), ["fix"]);
    assert!(
        primed(&env, &[("XDG_CONFIG_HOME", "elsewhere")]).len() > 1,
        "a relative path does not count"
    );
}

#[test]
fn messages_name_the_user_file() {
    let env = env();
    env.write(USER_CONFIG, "[memories]\nbudgt = 5\n");
    assert_snapshot!(env.ralph(["memory", "list"]).run(), @r"
    exit 0
    --- stdout
    No memories yet.
    --- stderr
    Warning: [TMP]/home/.config/ralph/config.toml:2: memories.budgt is not known; did you mean memories.budget?
    ");
    for (text, line) in [
        ("[memories\n", "1:10: invalid TOML"),
        ("[memories]\nbudget = \"x\"\n", "2: memories.budget is \"x\""),
    ] {
        env.write(USER_CONFIG, text);
        let ended = env.ralph(["memory", "list"]).run();
        assert_eq!(ended.code, Some(1), "{ended}");
        assert!(
            ended
                .stderr
                .contains(&format!("Error: [TMP]/home/.config/ralph/config.toml:{line}")),
            "{ended}"
        );
        assert_eq!(ended.stderr.lines().count(), 1, "{ended}");
    }
}

#[test]
fn an_unreadable_user_file_is_a_one_line_error() {
    let env = env();
    std::fs::create_dir_all(env.path(USER_CONFIG)).unwrap();
    let folder = env.ralph(["memory", "list"]).run();
    assert_eq!((folder.code, folder.stderr.lines().count()), (Some(1), 1), "{folder}");
    assert!(
        folder.stderr.contains("[TMP]/home/.config/ralph/config.toml"),
        "{folder}"
    );
    std::fs::remove_dir(env.path(USER_CONFIG)).unwrap();
    env.write(USER_CONFIG, b"\xff");
    let bytes = env.ralph(["memory", "list"]).run();
    assert_eq!((bytes.code, bytes.stderr.lines().count()), (Some(1), 1), "{bytes}");
    assert!(
        bytes.stderr.contains("config.toml is not UTF-8 text (byte 0)"),
        "{bytes}"
    );
}

#[test]
fn doctor_names_the_user_file() {
    let env = env();
    env.write(USER_CONFIG, "[memories]\nbudget = 100\n");
    let fine = env.ralph(["doctor"]).run();
    assert!(fine.stdout.contains("[TMP]/home/.config/ralph/config.toml"), "{fine}");
    env.write(USER_CONFIG, "[memories]\nbudgt = 100\n");
    let unknown = env.ralph(["doctor"]).run();
    assert_eq!(unknown.code, Some(1), "{unknown}");
    assert!(
        unknown.stdout.contains("[TMP]/home/.config/ralph/config.toml:2"),
        "{unknown}"
    );
}
