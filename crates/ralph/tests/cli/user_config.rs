//! Tests of the user configuration, `$XDG_CONFIG_HOME/ralph/config.toml`, which `.ralph.toml` overrides.

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
    let file = "[TMP]/home/.config/ralph/config.toml";
    env.write(USER_CONFIG, "[memories]\nbudgt = 5\n");
    let warned = env.ralph(["memory", "list"]).run();
    warned.printed(&[file, ":2: memories.budgt", "did you mean memories.budget?"]);
    assert_eq!(warned.stderr.lines().count(), 1, "{warned}");
    let refused = |error: &str| {
        let ended = env.ralph(["memory", "list"]).run();
        ended.refused(1, &[file, error]);
        assert_eq!(ended.stderr.lines().count(), 1, "{ended}");
    };
    for (bytes, error) in [
        (&b"[memories\n"[..], ":1:10: invalid TOML"),
        (b"[memories]\nbudget = \"x\"\n", ":2: memories.budget is \"x\""),
        (b"\xff", " is not UTF-8 text (byte 0)"),
    ] {
        env.write(USER_CONFIG, bytes);
        refused(error);
    }
    std::fs::remove_file(env.path(USER_CONFIG)).unwrap();
    std::fs::create_dir(env.path(USER_CONFIG)).unwrap();
    refused("");
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
