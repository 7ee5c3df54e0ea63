//! Tests of `.ralph.toml`, environment variables and their precedence.

use insta::assert_snapshot;
use ralph_testkit::TestEnv;

use crate::{env, ids, json, sample};

const CONFIG: &str = ".ralph.toml";

/// The id suffixes that `prime` chooses with these flags and variables.
fn primed(env: &TestEnv, flags: &[&str], variables: &[(&str, &str)]) -> Vec<String> {
    let mut invocation = env.ralph(["memory", "prime", "--json"].into_iter().chain(flags.iter().copied()));
    for (name, value) in variables {
        invocation = invocation.env(name, value);
    }
    let ended = invocation.run();
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended}");
    let memories: Vec<serde_json::Value> = serde_json::from_str(&ended.stdout).unwrap();
    let ids = memories.iter().filter_map(|memory| memory["id"].as_str());
    ids.filter_map(|id| id.rsplit('-').next()).map(str::to_owned).collect()
}

#[test]
fn flags_override_variables_which_override_the_file() {
    let env = sample();
    env.write(CONFIG, "[memories]\nfilter.types = [\"fix\"]\nfilter.recent = 1\n");
    assert_eq!(primed(&env, &[], &[]), ["e5f6"]);
    let variable = ("RALPH_MEMORIES_FILTER_TYPES", "pattern, fix");
    assert_eq!(primed(&env, &[], &[variable]), ["a1b2", "e5f6"]);
    assert_eq!(primed(&env, &["--type", "pattern"], &[variable]), ["a1b2"]);
    assert_eq!(
        primed(&env, &[], &[("RALPH_MEMORIES_FILTER_TYPES", "")]),
        ["e5f6"],
        "empty counts as not set"
    );
    assert_eq!(primed(&env, &["--recent", "9999", "--type", "decision"], &[]), ["c3d4"]);
    assert_eq!(primed(&env, &[], &[("RALPH_MEMORIES_FILTER_RECENT", "0")]), ["e5f6"]);
    assert_eq!(
        primed(&env, &[], &[("RALPH_MEMORIES_FILTER_RECENT", "4294967295")]),
        ["e5f6"]
    );
}

#[test]
fn configured_filters_only_apply_to_prime() {
    let env = sample();
    env.write(
        CONFIG,
        "[memories]\nenabled = false\ninject = \"none\"\nfilter.tags = [\"none\"]\n",
    );
    assert_eq!(primed(&env, &[], &[]), [""; 0]);
    assert_eq!(ids(&env, &["memory", "list"]).len(), 4);
    assert_eq!(ids(&env, &["memory", "search", "database"]).len(), 2);
}

#[test]
fn unknown_keys_are_warnings_with_the_nearest_key() {
    let env = sample();
    env.write(CONFIG, "[memories]\nbudgt = 5\n\n[memory]\nx = 1\n");
    let listed = env.ralph(["memory", "list", "--last", "1", "--format", "quiet"]).run();
    listed.printed(&[
        "mem-1737372000-a1b2",
        ".ralph.toml:2",
        "did you mean memories.budget?",
        ".ralph.toml:4",
    ]);
    assert_eq!(listed.stderr.lines().count(), 2, "{listed}");
}

#[test]
fn invalid_values_are_one_line_errors_with_their_place() {
    let env = sample();
    let refused = |texts: &[&str]| {
        let finished = env.ralph(["memory", "list"]).run();
        finished.refused(1, texts);
        assert_eq!(finished.stderr.lines().count(), 1, "{finished}");
    };
    for (text, place, reason) in [
        (
            &b"[memories]\nenabled = true\nbudget = \"many\"\n"[..],
            ".ralph.toml:3: memories.budget is \"many\"",
            "a whole number from 0",
        ),
        (b"[memories\nbudget = 1\n", ".ralph.toml:1:10", "invalid TOML"),
        (b"[memories]\n# \xff\n", ".ralph.toml", "not UTF-8 text (byte 13)"),
    ] {
        env.write(CONFIG, text);
        refused(&[place, reason]);
    }
    std::fs::remove_file(env.path(CONFIG)).unwrap();
    std::fs::create_dir(env.path(CONFIG)).unwrap();
    refused(&["cannot read [TMP]/project/.ralph.toml: is a directory"]);
}

#[test]
fn invalid_variables_are_reported() {
    let env = sample();
    for (name, value, reason) in [
        ("RALPH_MEMORIES_BUDGET", "lots", "memories.budget is \"lots\""),
        ("RALPH_NOW", "now", "\"now\", which is not an RFC 3339 time"),
        ("RALPH_SEED", "x", "\"x\", which is not a number"),
    ] {
        let refused = env.ralph(["memory", "list"]).env(name, value).run();
        refused.refused(1, &[name, reason]);
    }
}

#[test]
fn colors_follow_flag_environment_and_file() {
    let env = sample();
    let colored = |flags: &[&str], variables: &[(&str, &str)]| {
        let mut invocation = env.ralph(["memory", "show", "mem-1700"].into_iter().chain(flags.iter().copied()));
        for (name, value) in variables {
            invocation = invocation.env(name, value);
        }
        invocation.run().stdout.contains("\u{1b}[1m")
    };
    assert!(!colored(&[], &[]), "a pipe has none");
    assert!(colored(&["--color", "always"], &[("NO_COLOR", "1")]));
    assert!(colored(&[], &[("RALPH_UI_COLOR", "always")]));
    assert!(!colored(&[], &[("RALPH_UI_COLOR", "always"), ("NO_COLOR", "1")]));
    env.write(CONFIG, "[ui]\ncolor = \"always\"\n");
    assert!(colored(&[], &[]));
    assert!(!colored(&[], &[("RALPH_UI_COLOR", "never")]));
    assert!(!colored(&["--color", "never"], &[]));
    assert!(
        !colored(&["--color", "auto"], &[]),
        "the flag wins, and this is no terminal"
    );
}

#[test]
fn init_imports_settings_of_earlier_tools() {
    let env = sample();
    env.write(
        "ralph.yml",
        "cli: {backend: claude}\nmemories:\n  enabled: true\n  inject: manual\n  budget: 1500\n  filter:\n    types: [fix]\n",
    );
    env.write(
        ".ralph/config.sh",
        "#!/bin/sh\nexport MEMORIES_ENABLED=false\nMEMORIES_BUDGET=\"900\" # tokens\ntouch ran\n",
    );
    let taken = env.ralph(["init"]).run();
    taken.printed(&[
        "imported from ralph.yml: memories.enabled = true",
        "memories.filter.types = [\"fix\"]",
        "imported from .ralph/config.sh: guardrails.enabled = false, guardrails.budget = 900",
    ]);
    let set: Vec<String> = env
        .read(CONFIG)
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(str::to_owned)
        .collect();
    assert_eq!(
        set[..8],
        [
            "[memories]",
            "enabled = true",
            "inject = \"manual\"",
            "budget = 1500",
            "filter.types = [\"fix\"]",
            "[guardrails]",
            "enabled = false",
            "budget = 900"
        ]
    );
    assert!(!env.path("ran").exists(), "the script is read, never run");
    assert_eq!(primed(&env, &[], &[]), ["e5f6"]);
}

#[test]
fn settings_that_cannot_be_imported_are_warnings() {
    let env = env();
    env.write("ralph.yml", "memories:\n  inject: always\n");
    env.write(
        ".ralph/config.sh",
        "MEMORIES_BUDGET=$((2 * 500))\nMEMORIES_ENABLED=false\n",
    );
    let taken = env.ralph(["init"]).run();
    taken.printed(&[
        "imported from .ralph/config.sh: guardrails.enabled = false\n",
        "ralph.yml was not imported: memories.inject is \"always\"",
        ".ralph/config.sh:1: MEMORIES_BUDGET was not imported",
    ]);
    assert_eq!(json(&env, &["memory", "list", "--json"]), serde_json::json!([]));
}

/// The journal and knowledge are always on. `learn` of earlier tools is accepted without effect, and no flag of a run
/// disables them.
#[test]
fn journal_and_knowledge_cannot_be_disabled() {
    let env = env();
    let task = env.ok(["task", "add", "Parse dates"]);
    env.ok(["knowledge", "add", "Dates", "They are ISO.", "--tags", "dates"]);
    let prompted = |config: &str| {
        env.write(CONFIG, config);
        let prompted = env.ralph(["prompt", task.trim_end()]).run();
        assert_eq!(prompted.code, Some(0), "{prompted}");
        assert!(!prompted.stderr.contains("Warning"), "{prompted}");
        prompted.stdout
    };
    let prompt = prompted("");
    assert!(
        prompt.contains("## Project Knowledge") && prompt.contains("## Memory"),
        "{prompt}"
    );
    assert_eq!(prompted("[execution]\nlearn = false\n"), prompt);
    for section in ["journal", "knowledge"] {
        env.write(CONFIG, format!("[{section}]\nenabled = false\n"));
        let listed = env.ralph(["doctor"]).run();
        assert!(listed.stdout.contains(&format!("[{section}] is unknown")), "{listed}");
    }
    env.write(CONFIG, "");
    assert_eq!(env.ralph(["run", "--no-learn"]).run().code, Some(2));
}

#[test]
fn values_have_a_source_and_are_set_in_place() {
    let env = crate::env();
    env.write(crate::USER_CONFIG, "[ui]\ncolor = \"never\"\n");
    env.write(".ralph.toml", "# mine\n[memories]\nbudget = 1 # why\n");
    let set = env.ralph(["config", "set", "memories.budget", "3000"]).run();
    set.printed(&["memories.budget = 3000", ".ralph.toml"]);
    env.ok(["config", "set", "verify.commands", "make test, make lint"]);
    env.ok(["config", "set", "--user", "scratchpad.budget", "7"]);
    assert_eq!(
        env.read(".ralph.toml"),
        "# mine\n[memories]\nbudget = 3000 # why\n\n[verify]\ncommands = [\"make test\", \"make lint\"]\n"
    );
    let shown = env
        .ralph(["config", "--set-only"])
        .env("RALPH_CONTEXT_BUDGET", "9")
        .run();
    assert_snapshot!(shown, @r#"
    exit 0
    --- stdout
    KEY                VALUE                       SOURCE
    memories.budget    3000                        .ralph.toml
    scratchpad.budget  7                           your configuration
    context.budget     9                           RALPH_CONTEXT_BUDGET
    verify.commands    ["make test", "make lint"]  .ralph.toml (if confirmed)
    ui.color           "never"                     your configuration

    Showing 5 keys
    "#);
    let all = crate::json(&env, &["config", "--json"]);
    let attempts = all
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["key"] == "context.attempts");
    assert_eq!(attempts.unwrap()["source"], "default");
}

#[test]
fn invalid_settings_are_refused_without_changes() {
    let env = crate::env();
    env.write(".ralph.toml", "[memories]\nbudget = 1\n");
    let before = env.tree();
    for (key, value, texts) in [
        (
            "memories.bugdet",
            "1",
            &["memories.bugdet is not a known key", "memories.budget?"][..],
        ),
        (
            "memories.budget",
            "many",
            &["memories.budget is \"many\"", "a whole number", "ralph config"],
        ),
        ("nonsense", "1", &["nonsense is not a known key", "ralph config"]),
        ("paths.allow_outside", "/x", &["paths.allow_outside", "--user"]),
    ] {
        env.ralph(["config", "set", key, value]).run().refused(2, texts);
    }
    assert_eq!(crate::changes(&before, &env.tree()), [""; 0]);
    env.write(".ralph.toml", "[memories\n");
    let broken = env.ralph(["config", "set", "memories.budget", "1"]).run();
    assert_eq!(broken.code, Some(1), "{broken}");
    assert_eq!(env.read(".ralph.toml"), "[memories\n");
}

#[test]
fn doctor_reports_unused_settings_of_earlier_tools() {
    let env = crate::env();
    env.write("ralph.yml", "memories:\n  inject: manual\n  budget: 2000\n");
    env.write(".ralph/config.sh", "MEMORIES_BUDGET=500\n");
    let looked = env.ralph(["doctor"]).run().stdout;
    for line in [
        "ralph.yml: memories.inject = \"manual\" has no effect; ralph uses \"auto\"",
        ".ralph/config.sh: guardrails.budget = 500 has no effect; ralph uses 2000",
        "→ `ralph init` imports it",
    ] {
        assert!(looked.contains(line), "{line}: {looked}");
    }
    assert!(!looked.contains("memories.budget"), "{looked}");
    env.ok(["init"]);
    assert!(!env.ralph(["doctor"]).run().stdout.contains("has no effect"));
    env.ok(["config", "set", "memories.inject", "none"]);
    let looked = env.ralph(["doctor"]).run().stdout;
    assert!(
        looked.contains("`ralph config set memories.inject manual` imports it"),
        "{looked}"
    );
}
