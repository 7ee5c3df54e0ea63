//! `ralph recall`, and how results are shown.

use crate::{GUARDRAILS, MEMORIES, env, json, sample};

#[test]
fn all_note_files_and_signs_are_searched() {
    let env = sample();
    env.write(
        GUARDRAILS,
        "### Sign: Database\n- **Trigger**: database down\n- **Instruction**: start docker\n",
    );
    let found = json(&env, &["recall", "docker database down", "--json", "--explain"]);
    let kinds: Vec<&str> = found
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| hit["shelf"].as_str().unwrap())
        .collect();
    assert!(kinds.contains(&"memories") && kinds.contains(&"guardrails"), "{found}");
    assert_eq!(env.ok(["recall", "zebra"]), "No matching notes found\n");
}

#[test]
fn score_parts_add_up() {
    let env = sample();
    let found = json(
        &env,
        &[
            "recall",
            "database events docker: ECONNREFUSED 5432",
            "--json",
            "--explain",
        ],
    );
    assert!(!found.as_array().unwrap().is_empty());
    for hit in found.as_array().unwrap() {
        let part = |name: &str| hit["score"][name].as_f64().unwrap();
        let sum: f64 = ["words", "names", "phrases", "tags"].into_iter().map(part).sum();
        assert!((sum - part("total")).abs() < 0.005 && sum > 0.0, "{hit}");
    }
}

#[test]
fn fault_2_any_text_is_a_valid_query() {
    let env = sample();
    for text in [
        ":",
        ",",
        ".",
        "'",
        "/",
        "-",
        "-x",
        "\"",
        "(",
        "+",
        "AND",
        "NOT",
        "NEAR",
        "*",
        "^",
        "{}",
        "a AND (b OR",
        "\"a b",
        "words:x",
        "'; DROP TABLE entries;--",
        "\u{202e}x",
        "👩‍👩‍👧",
        "\u{1b}[31m",
        "\u{7}",
        "%s%n",
        "數據",
    ] {
        for arguments in [
            &["memory", "search", text][..],
            &["guardrails", "list", "--json"],
            &["recall", text],
            &["memory", "prime", "--for", text],
        ] {
            let finished = env.ralph(arguments.iter().copied()).run();
            assert!(
                finished.code == Some(0) && finished.stderr.is_empty(),
                "{arguments:?}: {finished}"
            );
        }
    }
    let long = "database ".repeat(10_000);
    assert!(env.ok(["recall", &long]).contains("mem-1737300000-e5f6"));
}

#[test]
fn fault_8_a_comma_after_a_word_of_a_task_does_not_hide_a_tag() {
    let env = sample();
    let found = env.ok([
        "memory",
        "prime",
        "--for",
        "look at the storage, first",
        "--budget",
        "60",
    ]);
    assert!(found.contains("Chose SQLite"), "{found}");
    assert!(env.ok(["recall", "storage,"]).contains("Chose SQLite"));
}

#[test]
fn matches_are_highlighted_only_with_colours() {
    let env = sample();
    let plain = env.ok(["recall", "databases"]);
    assert!(!plain.contains('\u{1b}'), "{plain}");
    let colored = env.ok(["--color", "always", "recall", "databases"]);
    let marked = colored.matches("database\u{1b}[0m").count();
    assert_eq!(marked, 1, "{colored:?}");
    let never = env.ralph(["--color", "never", "recall", "databases"]).run();
    assert_eq!(never.stdout, plain);
    let no_color = env.ralph(["recall", "databases"]).env("NO_COLOR", "1").run();
    assert_eq!(no_color.stdout, plain);
    let stripped = strip(&colored);
    assert_eq!(stripped, plain, "colours do not change the columns");
}

/// Strips the escape sequences of colours.
fn strip(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let mut plain = parts.next().unwrap().to_owned();
    plain.extend(parts.map(|part| part.split_once('m').unwrap().1));
    plain
}

#[test]
fn lines_fit_narrow_terminals() {
    let env = env();
    env.write(
        MEMORIES,
        "## Fixes\n\n### mem-1700000000-aaaa\n> 数据库连接失败的时候请检查数据库端口和数据库密码是否正确 docker docker docker docker\n",
    );
    for width in ["40", "60", "120"] {
        let colored = env
            .ralph(["--color", "always", "recall", "数据库 docker"])
            .env("COLUMNS", width)
            .run();
        let plain = env.ralph(["recall", "数据库 docker"]).env("COLUMNS", width).run();
        assert_eq!(strip(&colored.stdout), plain.stdout);
        for line in plain.stdout.lines() {
            assert!(ralph_width(line) <= width.parse::<usize>().unwrap(), "{width}: {line}");
        }
    }
}

/// Display width of a line of Han and ASCII characters.
fn ralph_width(line: &str) -> usize {
    line.chars().map(|c| if c > '\u{2e80}' { 2 } else { 1 }).sum()
}

#[test]
fn stored_escape_sequences_are_not_printed() {
    let env = env();
    env.ok(["memory", "add", "docker \u{1b}[31mred\u{1b}[0m docker\u{7}"]);
    let shown = env.ok(["--color", "always", "recall", "docker"]);
    assert!(!shown.contains("\u{1b}[31m") && !shown.contains('\u{7}'), "{shown:?}");
    assert_eq!(shown.matches("docker\u{1b}[0m").count(), 2, "{shown:?}");
}

#[test]
fn best_matching_line_is_shown() {
    let env = env();
    env.ok(["memory", "add", "A title\n\nbackground\nthe docker daemon hangs\nmore"]);
    let shown = env.ok(["recall", "docker daemon"]);
    assert!(
        shown.contains("the docker daemon hangs") && !shown.contains("A title"),
        "{shown}"
    );
}

#[test]
fn query_needs_no_quotes() {
    let env = sample();
    let quoted = env.ok(["recall", "database is down", "--json"]);
    assert!(quoted.contains("mem-"), "{quoted}");
    assert_eq!(env.ok(["recall", "database", "is", "down", "--json"]), quoted);
    assert_eq!(env.ok(["recall", "--json", "database", "is", "down"]), quoted);
    let search = ["memory", "search", "database is down"];
    assert_eq!(
        env.ok(["memory", "search", "database", "is", "down"]),
        env.ok(search),
        "`memory search` works the same"
    );
}

#[test]
fn pipes_get_whole_lines() {
    let env = env();
    let text = format!("docker {}the end", "and so on ".repeat(20));
    env.ok(["memory", "add", &text]);
    for arguments in [&["recall", "docker"][..], &["memory", "list"]] {
        let shown = env.ok(arguments.iter().copied());
        assert!(shown.contains(&text), "{shown}");
    }
    let narrow = env.ralph(["recall", "docker"]).env("COLUMNS", "80").run();
    assert!(narrow.stdout.lines().all(|line| line.chars().count() <= 80), "{narrow}");
}

#[test]
fn match_far_to_the_right_is_visible() {
    let env = env();
    let text = format!("{}the docker daemon hangs {0}", "and so on ".repeat(20));
    env.ok(["memory", "add", &text]);
    let shown = env.ralph(["recall", "docker"]).env("COLUMNS", "80").run();
    shown.printed(&["mem-1737372000-910a", "…on the docker daemon hangs and…\n"]);
    // A word of one megabyte, and a match after it.
    let wide = format!("{} zebra", "x".repeat(1 << 20));
    let stored = env.ralph(["memory", "add", "-"]).input(wide).run();
    assert_eq!(stored.code, Some(0), "{stored}");
    let shown = env.ralph(["recall", "zebra"]).env("COLUMNS", "80").run();
    assert!(shown.stdout.contains("…zebra"), "{shown}");
}

fn with_learnings() -> ralph_testkit::TestEnv {
    let env = sample();
    let task = crate::past::task(&env, "Parse dates");
    let learning = |category: &str, tag: &str, content: &str| ralph_model::CapturedLearning {
        category: category.to_owned(),
        tags: vec![tag.to_owned()],
        content: content.to_owned(),
    };
    let worked = crate::past::Worked {
        task: &task,
        captured: ralph_model::Captured {
            learnings: vec![
                learning("pitfall", "lexer", "The lexer hangs on an open quote."),
                learning("tool_usage", "docker", "Docker needs a moment before 5432 answers."),
            ],
            ..ralph_model::Captured::default()
        },
        ..crate::past::Worked::default()
    };
    crate::past::work(&env, 1, &[worked]);
    env
}

#[test]
fn learnings_are_found_beside_notes() {
    let env = with_learnings();
    let row = "learn-00000001  learning  2025-01-21  lexer  [pitfall] The lexer hangs on an open quote.\n";
    let shown = env.ralph(["recall", "why does the lexer hang"]).run();
    shown.printed(&[row, "Showing 1 note\n"]);
    let found = json(&env, &["recall", "lexer", "--json", "--explain"]);
    assert_eq!(found[0]["memory_type"], "learning");
    assert_eq!(
        (&found[0]["category"], &found[0]["status"]),
        (&"pitfall".into(), &"promoted".into())
    );
    assert_eq!(found[0]["shelf"], "learnings");
    let markdown = env.ralph(["recall", "lexer", "--format", "markdown"]).run();
    markdown.printed(&[
        "### learn-00000001\n",
        "pitfall",
        "lexer",
        "The lexer hangs on an open quote.\n",
    ]);
    let kinds = json(&env, &["recall", "docker 5432", "--json"]);
    let kinds: Vec<&str> = kinds
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| hit["memory_type"].as_str().unwrap())
        .collect();
    assert!(kinds.contains(&"learning") && kinds.contains(&"fix"), "{kinds:?}");
}

#[test]
fn blank_query_is_refused() {
    let env = sample();
    for blank in [&["recall", ""][..], &["recall", " ", "\n"]] {
        let refused = env.ralph(blank.iter().copied()).run();
        let error = "Error: the text is blank\n";
        assert_eq!((refused.code, refused.stderr.as_str()), (Some(2), error));
    }
}

#[test]
fn notes_are_found_with_any_database() {
    let env = sample();
    let expected = env.ok(["recall", "docker"]);
    for (bytes, warns) in [
        (crate::foreign_database(), false),
        (b"no database at all".to_vec(), true),
    ] {
        env.write(crate::DATABASE, &bytes);
        let ran = env.ralph(["recall", "docker"]).run().to_string();
        assert!(ran.contains(expected.lines().nth(1).unwrap()), "{ran}");
        assert_eq!(ran.contains("Searched only notes"), warns, "{ran}");
        assert_eq!(std::fs::read(env.path(crate::DATABASE)).unwrap(), bytes);
    }
}
