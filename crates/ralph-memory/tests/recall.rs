//! Search results: what is found, what is not, and in which order.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
#![expect(dead_code, reason = "not every test needs all of the support")]

mod support;

use jiff::civil::date;
use ralph_memory::recall::{Answer, KnowledgeSearch, NoteFilter, Question, Reach, recall};
use ralph_model::{Extra, Note, NoteFileKind, NoteId, NoteKind, Tags};
use ralph_notes::Document;
use ralph_search::SearchIndex;
use support::Files;

const NOTE_FILE_KINDS: [NoteFileKind; 2] = [NoteFileKind::Memories, NoteFileKind::Guardrails];

fn note(number: i64, content: &str, tags: &str) -> Note {
    Note {
        id: NoteId::new("mem", 1_700_000_000 + number, 0),
        kind: NoteKind::Fix,
        content: content.to_owned(),
        tags: Tags::parse(tags).unwrap(),
        created: date(2024, 1, 1),
        extra: Extra::default(),
    }
}

/// Notes without tags, each a second newer than the one before.
fn notes(texts: &[&str]) -> Vec<Note> {
    (0..).zip(texts).map(|(number, text)| note(number, text, "")).collect()
}

fn files(notes: &[Note]) -> Files {
    let files = Files::new();
    let bytes = Document::parse(NoteFileKind::Memories, b"").add(notes).apply(b"");
    files.write(NoteFileKind::Memories, &bytes);
    files
}

fn ask(files: &Files, text: &str) -> Answer {
    ask_index(&files.search_index(), text)
}

fn ask_index(search_index: &SearchIndex, text: &str) -> Answer {
    let question = Question {
        text,
        file_kinds: &NOTE_FILE_KINDS,
        knowledge: KnowledgeSearch::Exclude,
        wanted: &NoteFilter::default(),
        reach: Reach::Best(10),
    };
    recall(search_index, &question).unwrap()
}

fn texts(answer: &Answer) -> Vec<&str> {
    answer.hits.iter().map(|hit| hit.item.content()).collect()
}

#[track_caller]
fn check(notes: &[Note], text: &str, expected: &[&str]) {
    assert_eq!(texts(&ask(&files(notes), text)), expected, "{text:?}");
}

#[test]
fn superseded_note_is_never_found() {
    let mut notes = notes(&["we deploy with npm", "we deploy with pnpm", "we deploy with bun"]);
    for newer in 1..3 {
        let old = notes[newer - 1].id.to_string();
        notes[newer].extra.set(Extra::SUPERSEDES, &old);
    }
    check(&notes, "deploy", &["we deploy with bun"]);
    check(&notes, "npm", &[]);
    // A note that supersedes itself by mistake is not hidden.
    let own = notes[2].id.to_string();
    notes[2].extra.set(Extra::SUPERSEDES, &own);
    check(&notes[2..], "deploy", &["we deploy with bun"]);
    // The superseding note is deleted, so this one is found again.
    check(&notes[..2], "deploy", &["we deploy with pnpm"]);
}

#[test]
fn note_with_only_common_words_is_not_found() {
    check(&notes(&["the tests are not in it", "docker"]), "it is not the one", &[]);
    let mut all: Vec<String> = (0..30).map(|number| format!("project topic{number}")).collect();
    all.push("project docker".to_owned());
    let all = notes(&all.iter().map(String::as_str).collect::<Vec<_>>());
    check(&all, "docker in the project", &["project docker"]);
    assert_eq!(ask(&files(&all), "project").hits.len(), 10, "it is the whole question");
    check(
        &all[..5],
        "docker in the project",
        &[
            "project topic4",
            "project topic3",
            "project topic2",
            "project topic1",
            "project topic0",
        ],
    );
}

#[test]
fn common_words_count_when_there_are_no_others() {
    let all: Vec<String> = (0..30)
        .map(|number| format!("run cargo test before commit n{number}"))
        .collect();
    let all = notes(&all.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(ask(&files(&all), "run cargo test before commit").hits.len(), 10);
}

#[test]
fn only_the_newest_near_duplicate_is_shown() {
    let all = [
        "Use port 5432 for the database.",
        "use the port 5432 for a database",
        "Unrelated",
    ];
    check(&notes(&all), "database port", &[all[1]]);
}

#[test]
fn different_number_or_negation_is_no_duplicate() {
    for (one, other) in [
        ("use port 5432 for the database", "use port 5433 for the database"),
        (
            "use the cache for the database",
            "do not use the cache for the database",
        ),
        ("you can share the database", "you can't share the database"),
        (
            "lock the database before the backup",
            "lock the database after the backup",
        ),
        ("version 1.2 of the database", "version 2.1 of the database"),
    ] {
        check(&notes(&[one, other]), "database", &[other, one]);
    }
}

#[test]
fn newest_note_on_a_subject_comes_first() {
    let all = [
        "docker compose starts the staging database on the old host",
        "docker compose starts the staging database on the new machine",
        "something else about docker entirely, with many other words that hold it back",
    ];
    let answer = ask(&files(&notes(&all)), "docker staging database");
    assert_eq!(texts(&answer)[..2], [all[1], all[0]]);
}

#[test]
fn typo_is_corrected_only_without_exact_matches() {
    let all = notes(&["the migration fails", "restart docker"]);
    let answer = ask(&files(&all), "migartion");
    assert_eq!(texts(&answer), ["the migration fails"]);
    assert_eq!(answer.corrected.len(), 1);
    let answer = ask(&files(&all), "migartion docker");
    assert_eq!(texts(&answer), ["restart docker"]);
    assert!(answer.corrected.is_empty());
    assert!(ask(&files(&all), "xyzzy").hits.is_empty());
}

#[test]
fn word_prefix_matches_only_without_exact_matches() {
    check(
        &notes(&["authentication is strict"]),
        "authent",
        &["authentication is strict"],
    );
    check(&notes(&["configuration", "conf"]), "conf", &["conf"]);
}

#[test]
fn name_is_found_in_every_spelling() {
    let spellings = [
        "parseConfig",
        "ParseConfig",
        "parse_config",
        "parse-config",
        "PARSE_CONFIG",
        "parse config",
    ];
    for stored in spellings {
        for asked in spellings {
            let all = notes(&[&format!("{stored} is slow"), "something else"]);
            assert_eq!(ask(&files(&all), asked).hits.len(), 1, "{asked} in {stored}");
        }
    }
    let all = notes(&["config of parse trees", "call parseConfig once"]);
    let answer = ask(&files(&all), "parse_config");
    assert_eq!(texts(&answer)[0], "call parseConfig once", "the name itself is best");
}

#[test]
fn search_ignores_capitals_inside_names() {
    for name in ["GitHub", "SQLite", "PostgreSQL", "TypeScript", "APIs", "IPv6"] {
        for (stored, asked) in [
            (name.to_owned(), name.to_lowercase()),
            (name.to_owned(), name.to_uppercase()),
            (name.to_lowercase(), name.to_owned()),
        ] {
            let all = notes(&[&format!("we use {stored} here"), "something else"]);
            assert_eq!(ask(&files(&all), &asked).hits.len(), 1, "{asked} in {stored}");
        }
    }
}

#[test]
fn scripts_without_spaces_are_found() {
    let all = notes(&["数据库连接失败", "テストが遅い", "пароль истёк", "Größe der Datei"]);
    for (asked, expected) in [
        ("数据库", 0),
        ("连接", 0),
        ("テスト", 1),
        ("ПАРОЛЬ", 2),
        ("grosse", 3),
        ("verschlüsselt", 9),
        ("größe", 3),
    ] {
        let expected: Vec<&str> = all
            .get(expected)
            .map(|note| note.content.as_str())
            .into_iter()
            .collect();
        check(&all, asked, &expected);
    }
}

#[test]
fn fault_8_punctuation_around_a_word_does_not_hide_a_tag() {
    let tagged = note(0, "run it in a container", "database, C++");
    let all = [tagged, note(1, "other", "x")];
    for asked in [
        "database,",
        "the (database)",
        "\"database\"?",
        "DATABASE:",
        "database's",
        "databases!",
    ] {
        check(&all, asked, &["run it in a container"]);
    }
}

/// Results depend neither on the order in the file nor on the history of the index.
#[test]
fn fault_6_order_of_results_is_deterministic() {
    let all: Vec<Note> = (0..40)
        .map(|number| {
            note(
                number % 7 + number / 20 * 100,
                &format!("docker topic{} again{}", number % 5, number % 3),
                "",
            )
        })
        .enumerate()
        .map(|(number, mut note)| {
            note.id = NoteId::new("mem", note.id.unix_second(), u16::try_from(number).unwrap());
            note.created = date(2024, 1, i8::try_from(1 + number).unwrap_or(28).min(28));
            note
        })
        .collect();
    let ids = |answer: &Answer| -> Vec<String> { answer.hits.iter().map(|hit| hit.item.id().to_owned()).collect() };
    let mut expected: Option<Vec<Vec<String>>> = None;
    for turn in [0, 1, 13, 39] {
        let mut turned = all.clone();
        turned.rotate_left(turn);
        // Notes from the same second and day are ordered by place alone.
        turned.retain(|note| note.created < date(2024, 1, 28));
        let files = files(&turned);
        let found = ["docker", "topic3 again1", "dcoker topci2"]
            .map(|text| ids(&ask(&files, text)))
            .to_vec();
        assert!(found.iter().all(|ids| !ids.is_empty()), "{found:?}");
        assert_eq!(
            expected.get_or_insert_with(|| found.clone()),
            &found,
            "turned by {turn}"
        );
    }
}

#[test]
fn fault_6_same_second_notes_of_two_files_keep_their_order() {
    let entry = |id: &str| format!("\n### {id}\n> docker daemon {id}\n<!-- tags:  | created: 2024-01-01 -->\n");
    let memories = |ids: &[&str]| format!("## Fixes\n{}", ids.iter().map(|id| entry(id)).collect::<String>());
    let files = Files::with_index();
    files.write(
        NoteFileKind::Guardrails,
        memories(&["fix-1700000000-000a", "fix-1700000000-000b"]).as_bytes(),
    );
    for ids in [
        &["mem-1700000000-000d"][..],
        &["mem-1700000000-000c", "mem-1700000000-000d"],
    ] {
        files.write(NoteFileKind::Memories, memories(ids).as_bytes());
        let kept = ask(&files, "docker");
        let made = ask_index(&files.new_index(), "docker");
        assert_eq!(texts(&kept), texts(&made));
    }
}

#[test]
fn small_file_is_searchable_beside_a_large_one() {
    let many: Vec<Note> = (0..60)
        .map(|number| note(number, &format!("docker daemon {number}"), ""))
        .collect();
    let files = files(&many);
    let guardrail =
        "## Fixes\n\n### fix-1700000000-000a\n> restart the docker daemon\n<!-- tags:  | created: 2024-01-01 -->\n";
    files.write(NoteFileKind::Guardrails, guardrail.as_bytes());
    let on = |file_kind: NoteFileKind, text: &str| {
        let question = Question {
            text,
            file_kinds: &[file_kind],
            knowledge: KnowledgeSearch::Exclude,
            wanted: &NoteFilter::default(),
            reach: Reach::Best(100),
        };
        recall(&files.search_index(), &question).unwrap()
    };
    assert_eq!(
        texts(&on(NoteFileKind::Guardrails, "docker")),
        ["restart the docker daemon"]
    );
    assert_eq!(on(NoteFileKind::Memories, "docker").hits.len(), 60);
    // No typo correction where there is nothing to find.
    files.write(NoteFileKind::Guardrails, b"## Fixes\n");
    let empty = on(NoteFileKind::Guardrails, "dokcer");
    assert!(empty.hits.is_empty() && empty.corrected.is_empty(), "{empty:?}");
}

/// Query syntax, quotes, control characters, bidi marks and very long texts.
fn naughty() -> Vec<String> {
    let short = [
        "",
        " ",
        ":",
        ",",
        ".",
        "'",
        "\"",
        "/",
        "-",
        "(",
        ")",
        "+",
        "*",
        "^",
        "{}",
        "AND",
        "NOT",
        "OR",
        "NEAR",
        "NEAR(a b)",
        "a AND",
        "NOT a",
        "\"unclosed",
        "'; DROP TABLE entries;--",
        "words:docker",
        "docker*",
        "^docker",
        "-docker",
        "docker\0daemon",
        "\0",
        "\u{202e}docker\u{2066}",
        "👩‍👩‍👧 docker",
        "\u{1b}[31mdocker",
        "\u{7}\r\n\t",
        "%_\\",
        "{docker}",
        "\u{feff}docker",
        "ﬁle ﬀ",
        "İstanbul ß",
        "e\u{301}\u{301}\u{301}",
        "\u{301}",
        "🇩🇪",
        "..//::--''",
        "a'b'c'd",
    ];
    let mut all: Vec<String> = short.iter().map(|text| (*text).to_owned()).collect();
    all.push("docker ".repeat(150_000));
    all.push("x".repeat(1 << 20));
    all.push("a.".repeat(1 << 19));
    all.push((0..100_000).map(|number| format!("w{number} ")).collect());
    all.push("数".repeat(300_000));
    all
}

#[test]
fn fault_2_every_text_is_a_valid_question() {
    let search_index = files(&notes(&["docker daemon", "数据 w99 x"])).search_index();
    for text in naughty() {
        let answer = ask_index(&search_index, &text);
        assert!(answer.hits.len() <= 2);
        if text.contains("docker") && !text.contains("\0daemon") {
            assert!(texts(&answer).contains(&"docker daemon"), "{:?}", text.get(..20));
        }
    }
}

#[test]
fn fault_2_every_text_that_can_be_stored_is_found_by_itself() {
    let stored: Vec<String> = naughty()
        .into_iter()
        .filter(|text| !text.trim().is_empty() && !text.contains(['\0', '\r']) && text.len() < 1 << 20)
        .collect();
    let all: Vec<Note> = (0..)
        .zip(&stored)
        .map(|(number, text)| note(number, text, ""))
        .collect();
    let search_index = files(&all).search_index();
    for text in &stored {
        let words = ralph_search::terms_of(text);
        let answer = ask_index(&search_index, text);
        assert_eq!(answer.hits.is_empty(), words.is_empty(), "{:?}", text.get(..20));
    }
}

#[test]
fn filters_narrow_results() {
    let mut all = notes(&["docker one", "docker two", "docker three"]);
    all[1].kind = NoteKind::Decision;
    all[2].tags = Tags::parse("Ops").unwrap();
    all[2].created = date(2025, 1, 1);
    let files = files(&all);
    let found = |wanted: NoteFilter| -> Vec<String> {
        let question = Question {
            text: "docker",
            file_kinds: &NOTE_FILE_KINDS,
            knowledge: KnowledgeSearch::Exclude,
            wanted: &wanted,
            reach: Reach::All,
        };
        let answer = recall(&files.search_index(), &question).unwrap();
        texts(&answer).into_iter().map(str::to_owned).collect()
    };
    let kinds = vec![NoteKind::Decision];
    assert_eq!(
        found(NoteFilter {
            kinds,
            ..NoteFilter::default()
        }),
        ["docker two"]
    );
    let tags = Tags::parse("ops").unwrap();
    assert_eq!(
        found(NoteFilter {
            tags,
            ..NoteFilter::default()
        }),
        ["docker three"]
    );
    let since = Some(date(2024, 6, 1));
    assert_eq!(
        found(NoteFilter {
            since,
            ..NoteFilter::default()
        }),
        ["docker three"]
    );
    let before_second = Some(1_700_000_001);
    assert_eq!(
        found(NoteFilter {
            before_second,
            ..NoteFilter::default()
        }),
        ["docker one"]
    );
    let except = vec![all[0].id.to_string(), all[2].id.to_string()];
    assert_eq!(
        found(NoteFilter {
            except,
            ..NoteFilter::default()
        }),
        ["docker two"]
    );
}

#[test]
fn reach_all_returns_every_match() {
    let all: Vec<Note> = (0..3_000)
        .map(|number| {
            note(
                number,
                &format!("docker n{number} m{} k{}", number * 7, number * 13),
                "",
            )
        })
        .collect();
    let question = Question {
        text: "docker",
        file_kinds: &NOTE_FILE_KINDS,
        knowledge: KnowledgeSearch::Exclude,
        wanted: &NoteFilter::default(),
        reach: Reach::All,
    };
    let answer = recall(&files(&all).search_index(), &question).unwrap();
    assert_eq!(answer.hits.len(), 3_000);
}
