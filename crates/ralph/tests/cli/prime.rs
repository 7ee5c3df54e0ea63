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
    assert_snapshot!(env.ralph(["memory", "prime"]).run(), @"exit 0");
    assert_snapshot!(env.ralph(["memory", "prime", "--format", "json"]).run(), @"
    exit 0
    --- stdout
    []
    ");
    env.write(MEMORIES, crate::SAMPLE);
    assert_snapshot!(env.ralph(["memory", "prime", "--tags", "none"]).run(), @"exit 0");
    assert_snapshot!(env.ralph(["memory", "prime", "--tags", "none", "--json"]).run(), @"
    exit 0
    --- stdout
    []
    ");
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
    assert_snapshot!(env.ralph(["memory", "prime", "--budget", "80"]).run(), @"
    exit 0
    --- stdout
    # Memories

    ## Patterns

    ### mem-1737372000-a1b2
    > Handlers return { success, data }.
    > Errors too.
    <!-- tags: api, http | created: 2025-01-20 -->

    <!-- truncated: budget exceeded -->
    <!-- 3 entries left out -->
    --- stderr
    Left out 3 notes that did not fit into 80 tokens.
    ");
    assert_snapshot!(env.ralph(["memory", "prime", "--budget", "80", "--json"]).run(), @r#"
    exit 0
    --- stdout
    [
      {"id":"mem-1737372000-a1b2","memory_type":"pattern","content":"Handlers return { success, data }.\nErrors too.","tags":["api","http"],"created":"2025-01-20"},
      {"id":"mem-1736000000-g7h8","memory_type":"context","content":"The billing service belongs to team Falcon.","tags":[],"created":"2025-01-04"}
    ]
    --- stderr
    Left out 2 notes that did not fit into 80 tokens.
    "#);
    let least = env.ralph(["memory", "prime", "--budget", "1"]).run();
    assert_eq!(least.stderr, "Left out 4 notes that did not fit into 1 token.\n");
}

#[test]
fn budget_is_never_exceeded_and_json_is_valid() {
    let env = sample();
    for text in [
        "日本語の長いメモ。".repeat(9),
        "👩\u{200d}🚀".repeat(20),
        "x".repeat(300),
    ] {
        add(&env, &text);
    }
    for budget in [1, 2, 10, 19, 20, 40, 75, 100, 150, 200, 400, 4_294_967_295_u32] {
        let text = budget.to_string();
        let markdown = env.ok(["memory", "prime", "--budget", &text]);
        assert!(markdown.chars().count() <= budget as usize * 4, "{budget}: {markdown}");
        let primed = env.ok(["memory", "prime", "--budget", &text, "--json"]);
        let memories: Vec<serde_json::Value> = serde_json::from_str(&primed).unwrap();
        let limit = (budget as usize * 4).max("[]\n".len());
        assert!(primed.chars().count() <= limit, "{budget}: {primed}");
        assert!(memories.iter().all(|memory| memory.as_object().unwrap().len() == 5));
    }
    assert_eq!(
        env.ok(["memory", "prime", "--budget", "0"]),
        env.ok(["memory", "prime"]),
        "0 is unlimited"
    );
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
    assert_snapshot!(sample().ralph(["memory", "prime", "--format", "table"]).run(), @"
    exit 2
    --- stderr
    error: invalid value 'table' for '--format <FORMAT>'
      [possible values: markdown, json]

    For more information, try '--help'.
    ");
}
