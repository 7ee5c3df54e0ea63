//! `ralph remember`.

use crate::{GUARDRAILS, MEMORIES, env, json, names};

#[test]
fn guessed_kind_is_reported() {
    for (text, kind, message) in [
        (
            "ECONNREFUSED on 5432: start docker",
            "fix",
            "Stored as a fix; use --type to change that.\n",
        ),
        (
            "we chose SQLite",
            "decision",
            "Stored as a decision; use --type to change that.\n",
        ),
        (
            "never edit src/gen",
            "pattern",
            "Stored as a pattern; use --type to change that.\n",
        ),
        (
            "team Falcon owns billing",
            "context",
            "Stored as context; use --type to change that.\n",
        ),
    ] {
        let env = env();
        let kept = env.ralph(["remember", text, "--tags", "docker"]).run();
        assert_eq!((kept.code, kept.stderr.as_str()), (Some(0), message), "{text}");
        let stored = &json(&env, &["memory", "list", "--json"])[0];
        assert_eq!(
            kept.stdout,
            format!("Memory stored: {}\n", stored["id"].as_str().unwrap())
        );
        assert_eq!(
            (&stored["memory_type"], &stored["content"]),
            (&kind.into(), &text.into())
        );
        assert_eq!(stored["tags"], serde_json::json!(["docker"]));
    }
}

#[test]
fn given_type_is_used() {
    let env = env();
    let kept = env.ralph(["remember", "it crashes", "-t", "context"]).run();
    assert_eq!((kept.code, kept.stderr.as_str()), (Some(0), ""));
    assert_eq!(json(&env, &["memory", "list", "--json"])[0]["memory_type"], "context");
}

#[test]
fn here_stores_a_guardrail() {
    let env = env();
    let kept = env.ralph(["remember", "team Falcon owns billing", "--here"]).run();
    kept.printed(&["Guardrail stored: pattern-1737372000-910a\n", "Stored as a pattern"]);
    assert!(env.read(GUARDRAILS).contains("> team Falcon owns billing\n"));
    assert!(!env.path(MEMORIES).exists());
    let refused = env.ralph(["remember", "x", "--here", "--type", "context"]).run();
    refused.refused(2, &["--type", "\"context\"", "fix, decision or pattern"]);
}

#[test]
fn flags_of_add_are_accepted() {
    let env = env();
    let old = env.ok(["remember", "we use npm", "--format", "quiet"]);
    let kept = env
        .ralph([
            "remember",
            "-",
            "--supersedes",
            old.trim_end(),
            "--reason",
            "faster",
            "--tags",
            "node",
            "--json",
        ])
        .input("we use pnpm\r\nnow")
        .run();
    assert_eq!(
        kept.stderr,
        "Converted line breaks to LF.\nStored as a decision; use --type to change that.\n"
    );
    let note: serde_json::Value = serde_json::from_str(&kept.stdout).unwrap();
    assert_eq!(
        (&note["content"], &note["tags"]),
        (&"we use pnpm\nnow".into(), &serde_json::json!(["node"]))
    );
    let shown = env.ok(["memory", "show", note["id"].as_str().unwrap()]);
    assert!(
        shown.contains("reason  faster") && shown.contains("supersedes  mem-"),
        "{shown}"
    );
}

#[test]
fn invalid_text_is_refused() {
    let env = env();
    let token = format!("the token is ghp_{}", "a1B2".repeat(9));
    for arguments in [
        vec!["remember"],
        vec!["remember", " "],
        vec!["remember", token.as_str()],
        vec!["remember", "--colour"],
        vec!["remember", "x", "--type", "bug"],
        vec!["remember", "two", "texts"],
    ] {
        let refused = env.ralph(arguments.iter().copied()).run();
        assert_eq!(
            (refused.code, refused.stdout.as_str()),
            (Some(2), ""),
            "{arguments:?}: {refused}"
        );
        assert!(!refused.stderr.contains("Stored"), "{refused}");
    }
    assert_eq!(names(&env), [""; 0]);
    env.ok(["remember", &token, "--allow-secret"]);
}

#[test]
fn most_used_commands_come_first_in_help() {
    let help = env().ok(["--help"]);
    let commands = help.split("Commands:\n").nth(1).unwrap().lines();
    let names: Vec<&str> = commands
        .filter_map(|line| line.split_whitespace().next())
        .take(6)
        .collect();
    assert_eq!(
        names,
        ["run", "status", "remember", "recall", "review", "why"],
        "{help}"
    );
}
