//! `ralph memory prime`.

use insta::assert_snapshot;

use crate::{MEMORIES, add, env, json, sample};

#[test]
fn notes_are_printed_in_section_order() {
    assert_snapshot!(sample().ralph(["memory", "prime"]).run(), @"
    exit 0
    --- stdout
    # Memories

    ## Patterns

    ### mem-1737372000-a1b2
    > Handlers return { success, data }.
    > Errors too.
    <!-- tags: api, http | created: 2025-01-20 -->

    ## Decisions

    ### mem-1700000000-c3d4
    > Chose SQLite for events: one file, no server
    <!-- tags: storage, database | created: 2023-11-14 -->

    ## Fixes

    ### mem-1737300000-e5f6
    > ECONNREFUSED on port 5432: the database is down
    <!-- tags: docker, Database | created: 2025-01-19 -->

    ## Context

    ### mem-1736000000-g7h8
    > The billing service belongs to team Falcon.
    <!-- tags:  | created: 2025-01-04 -->
    ");
}

#[test]
fn no_notes_print_nothing() {
    let env = env();
    let primed = |arguments: &[&str]| {
        let prime = ["memory", "prime"].into_iter().chain(arguments.iter().copied());
        env.ralph(prime).run().to_string()
    };
    let empty_json = "exit 0\n--- stdout\n[]\n";
    assert_eq!(primed(&[]), "exit 0\n");
    assert_eq!(primed(&["--format", "json"]), empty_json);
    env.write(MEMORIES, crate::SAMPLE);
    assert_eq!(primed(&["--tags", "none"]), "exit 0\n");
    assert_eq!(primed(&["--tags", "none", "--json"]), empty_json);
}

#[test]
fn filters_apply() {
    let env = sample();
    for (flags, expected) in [
        (vec!["--type", "fix,pattern"], vec!["a1b2", "e5f6"]),
        (vec!["-t", "context"], vec!["g7h8"]),
        (vec!["--tags", "database"], vec!["c3d4", "e5f6"]),
        (vec!["--recent", "1"], vec!["a1b2", "e5f6"]),
        (vec!["--recent", "0"], vec!["a1b2"]),
        (
            vec!["--recent", "1", "--tags", "database", "--type", "fix,decision"],
            vec!["e5f6"],
        ),
    ] {
        let arguments: Vec<&str> = ["memory", "prime", "--json"]
            .into_iter()
            .chain(flags.iter().copied())
            .collect();
        let primed = json(&env, &arguments);
        let ids: Vec<&str> = primed
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|m| m["id"].as_str())
            .collect();
        let suffixes: Vec<&str> = ids.iter().filter_map(|id| id.rsplit('-').next()).collect();
        assert_eq!(suffixes, expected, "{flags:?}");
    }
}

#[test]
fn budget_keeps_whole_notes() {
    let env = sample();
    let primed = env.ralph(["memory", "prime", "--budget", "80"]).run();
    primed.printed(&[
        "# Memories\n\n## Patterns\n\n### mem-1737372000-a1b2\n",
        "tags: api, http | created: 2025-01-20 -->\n\n<!-- truncated: budget exceeded -->\n",
        "<!-- 3 entries left out -->\n",
        "3 notes",
        "80 tokens",
    ]);
    assert_eq!(primed.stdout.matches("### ").count(), 1, "{primed}");
    let primed = env.ralph(["memory", "prime", "--budget", "80", "--json"]).run();
    primed.printed(&["2 notes", "80 tokens"]);
    let notes: serde_json::Value = serde_json::from_str(&primed.stdout).unwrap();
    assert_eq!(notes.as_array().unwrap().len(), 2, "{notes}");
    assert_eq!(notes[0]["content"], "Handlers return { success, data }.\nErrors too.");
    assert_eq!(notes[1]["id"], "mem-1736000000-g7h8");
    assert_eq!(primed.stdout.lines().count(), 4, "one note per line: {primed}");
    let unlimited = env.ok(["memory", "prime", "--budget", "0"]);
    assert_eq!(unlimited, env.ok(["memory", "prime"]));
    let least = env.ralph(["memory", "prime", "--budget", "1"]).run();
    assert_eq!(least.stderr, "Left out 4 notes that did not fit into 1 token.\n");
}

#[test]
fn for_selects_relevant_notes() {
    let env = env();
    for text in [
        "the parser reads tokens",
        "the docker daemon must run",
        "colours of the page",
    ] {
        add(&env, text);
    }
    let about = |text: &str| {
        let primed = json(&env, &["memory", "prime", "--budget", "35", "--json", "--for", text]);
        primed[0]["content"].as_str().unwrap().to_owned()
    };
    assert_eq!(about("why does Docker not start?"), "the docker daemon must run");
    assert_eq!(about("tokens: broken (again) \"'*"), "the parser reads tokens");
    assert_eq!(about("nothing alike"), "colours of the page", "else the newest");
}

#[test]
fn sections_are_sorted_oldest_first() {
    let env = env();
    let all = ["one", "two", "three"].map(|text| add(&env, text));
    for flags in [vec![], vec!["--for", "two"], vec!["--for", "three two"]] {
        let arguments: Vec<&str> = ["memory", "prime", "--json"]
            .into_iter()
            .chain(flags.iter().copied())
            .collect();
        let primed = json(&env, &arguments);
        let ids: Vec<&str> = primed
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|m| m["id"].as_str())
            .collect();
        assert_eq!(ids, all, "{flags:?}");
    }
}

#[test]
fn prime_changes_no_file() {
    let env = sample();
    let before = env.tree();
    env.ok(["memory", "prime", "--budget", "20"]);
    assert_eq!(crate::changes(&before, &env.tree()), [""; 0]);
}

#[test]
fn table_format_is_refused() {
    let primed = sample().ralph(["memory", "prime", "--format", "table"]).run();
    primed.refused(2, &["'table'", "markdown, json"]);
}
