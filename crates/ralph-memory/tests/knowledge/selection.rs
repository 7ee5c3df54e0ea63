//! Tests of which knowledge entries belong to a task, one per scoring rule.

use proptest::prelude::*;
use ralph_memory::recall::{TaskSignals, relevant_knowledge};
use ralph_model::NoteFileKind;

use super::support::Files;
use super::{note, put};

/// A task about a slow database, for a feature, after an iteration that changed a file.
const TASK: TaskSignals<'_> = TaskSignals {
    title: "Make the database, at last, quick",
    description: "Errors are handled elsewhere.",
    feature: Some("perf-optimization"),
    recent_files: &[],
};

/// The files selected from these entries (file, tags, text), with their scores.
fn chosen(notes: &[(&str, &str, &str)], signals: &TaskSignals<'_>) -> Vec<String> {
    let files = Files::new();
    for (file, tags, body) in notes {
        let title = file.trim_end_matches(".md");
        put(&files, file, note(title, tags, body));
    }
    ranked(&files, signals)
}

fn ranked(files: &Files, signals: &TaskSignals<'_>) -> Vec<String> {
    let search_index = files.note_index_with_knowledge();
    let relevant = relevant_knowledge(&search_index, signals).unwrap();
    let total = relevant.total();
    let ranked: Vec<String> = relevant
        .map(|note| note.unwrap())
        .map(|note| format!("{} {}", note.file, note.score()))
        .collect();
    assert_eq!(ranked.len(), total);
    ranked
}

/// Checks the score of a single entry with these tags; 0 if it is not selected.
#[track_caller]
fn check(tags: &str, signals: &TaskSignals<'_>, score: u32) {
    let expected: Vec<String> = Some(format!("a.md {score}"))
        .filter(|_| score > 0)
        .into_iter()
        .collect();
    assert_eq!(chosen(&[("a.md", tags, "Body.")], signals), expected, "{tags}");
}

#[test]
fn tag_in_title_or_description_scores_two() {
    check("quick", &TASK, 2);
    check("errors", &TASK, 2);
    check("quick, errors", &TASK, 4);
    check("slow", &TASK, 0);
}

#[test]
fn tag_in_the_feature_name_scores_two() {
    for tag in [
        "perf",
        "optimization",
        "perf-optimization",
        "perf optimization",
        "optimizations",
    ] {
        check(tag, &TASK, 2);
    }
    let without = TaskSignals { feature: None, ..TASK };
    check("perf", &without, 0);
}

#[test]
fn tag_in_recent_paths_scores_one() {
    let files = ["src/store/connection_pool.rs", "docs/v2/read-me.md"].map(str::to_owned);
    let signals = TaskSignals {
        recent_files: &files,
        ..TASK
    };
    for (tags, score) in [
        ("store", 1),
        ("connection, pool", 2),
        ("connection pool", 1),
        ("stores", 1),
        // Words of paths have at least three characters.
        ("rs", 0),
        ("v2", 0),
        ("me", 0),
        // A phrase does not span two paths.
        ("pool docs", 0),
    ] {
        check(tags, &signals, score);
    }
}

#[test]
fn each_tag_counts_once_per_signal() {
    let files = ["database/database.sql".to_owned(), "database.rs".to_owned()];
    let signals = TaskSignals {
        title: "Database of databases",
        description: "The database",
        feature: Some("database-database"),
        recent_files: &files,
    };
    check("database", &signals, 5);
    check("database, databases", &signals, 10);
}

#[test]
fn fault_8_words_match_by_stem_without_punctuation() {
    for tag in ["database", "databases", "quick", "error", "handle", "handling"] {
        check(tag, &TASK, 2);
    }
}

#[test]
fn multi_word_tag_matches_as_a_phrase() {
    for (tag, score) in [
        ("make the database", 2),
        ("at last", 2),
        ("handled elsewhere", 2),
        ("handled-elsewhere", 2),
        ("database quick", 0),
        ("elsewhere handled", 0),
        ("quick errors", 0),
    ] {
        check(tag, &TASK, score);
    }
}

#[test]
fn common_words_and_symbols_do_not_match() {
    for tags in ["the", "are", "\",\"", "\"!\", \"🚀\""] {
        check(tags, &TASK, 0);
    }
}

#[test]
fn fault_3_tags_may_have_any_characters() {
    let signals = TaskSignals {
        title: "Zürich: größe, 数据库 🚀 é",
        ..TASK
    };
    for (tags, score) in [("zürich", 2), ("größe", 2), ("数据库", 2), ("\"🚀\"", 0), ("ZURICH", 2)] {
        check(tags, &signals, score);
    }
}

#[test]
fn entries_without_score_are_left_out() {
    let notes = [
        ("a.md", "tea", "database"),
        ("b.md", "database", ""),
        ("c.md", "coffee", ""),
    ];
    assert_eq!(chosen(&notes, &TASK), ["b.md 2"]);
    assert!(chosen(&notes, &TaskSignals::default()).is_empty());
}

#[test]
fn links_add_two_at_one_hop_and_one_at_two() {
    // a scores; b is linked from it, c links to it; d and e are one hop further, f is too far.
    let notes = [
        ("a.md", "database", "[[b]]"),
        ("b.md", "x", "[[d]]"),
        ("c.md", "x", "[[A]]"),
        ("d.md", "x", "[[f]]"),
        ("e.md", "x", "[[c]]"),
        ("f.md", "x", ""),
    ];
    assert_eq!(
        chosen(&notes, &TASK),
        ["a.md 2", "b.md 2", "c.md 2", "d.md 1", "e.md 1"]
    );
}

#[test]
fn entry_gets_only_the_best_link_bonus() {
    // Links from a to c over one hop and two, and back.
    let triangle = [
        ("a.md", "database", "[[b]] [[c]]"),
        ("b.md", "x", "[[c]] [[a]]"),
        ("c.md", "x", "[[a]]"),
    ];
    assert_eq!(chosen(&triangle, &TASK), ["a.md 2", "b.md 2", "c.md 2"]);
    // Two scoring entries that are linked strengthen each other; through a third they get one.
    let two = [("a.md", "database", "[[b]]"), ("b.md", "quick", "")];
    assert_eq!(chosen(&two, &TASK), ["a.md 4", "b.md 4"]);
    let over = [
        ("a.md", "database", "[[m]]"),
        ("b.md", "quick", "[[m]]"),
        ("m.md", "x", ""),
    ];
    assert_eq!(chosen(&over, &TASK), ["a.md 3", "b.md 3", "m.md 2"]);
    let itself = [("a.md", "database", "[[a]]")];
    assert_eq!(chosen(&itself, &TASK), ["a.md 2"]);
}

#[test]
fn link_leads_to_all_entries_with_its_title() {
    let files = Files::new();
    put(&files, "a.md", note("Start", "database", "[[Same]] [[Missing]]"));
    put(&files, "y.md", note("same", "x", ""));
    put(&files, "z.md", note("Same", "x", ""));
    assert_eq!(ranked(&files, &TASK), ["a.md 2", "y.md 2", "z.md 2"]);
}

#[test]
fn ties_are_newest_first_then_by_file_name() {
    let files = Files::new();
    let made = |at: &str| format!("---\ntitle: t\ntags: [database]\n{at}\n---\n");
    put(&files, "a.md", made("created_at: 2026-01-01T00:00:00Z"));
    put(&files, "b.md", made("created_at: \"2026-01-02T00:00:00Z\""));
    put(&files, "c.md", made("created_at: 2026-01-02T00:00:00+00:00"));
    put(&files, "d.md", made("created_at: long ago"));
    put(&files, "e.md", made(""));
    put(&files, "f.md", made("created_at: 2026-01-03"));
    assert_eq!(
        ranked(&files, &TASK),
        ["f.md 2", "b.md 2", "c.md 2", "a.md 2", "d.md 2", "e.md 2"]
    );
}

#[test]
fn superseded_entry_is_ignored() {
    let files = Files::new();
    put(&files, "a.md", note("a", "database", "[[b]]"));
    put(&files, "b.md", note("b", "x", ""));
    assert_eq!(ranked(&files, &TASK), ["a.md 2", "b.md 2"]);
    files.write(
        NoteFileKind::Memories,
        b"## Fixes\n\n### mem-1-0000\n> Instead.\n<!-- ralph: supersedes=a.md -->\n",
    );
    assert!(ranked(&files, &TASK).is_empty());
}

#[test]
fn knowledge_is_empty_without_a_request() {
    let files = Files::new();
    put(&files, "a.md", note("a", "database", ""));
    assert_eq!(relevant_knowledge(&files.search_index(), &TASK).unwrap().count(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// Neither the order of the folder nor the way in which the index was built matters.
    #[test]
    fn fault_6_selection_does_not_depend_on_folder_order(
        notes in prop::collection::btree_map(
            "[a-h]{1,2}",
            (prop::sample::subsequence(vec!["database", "quick", "perf", "tea", "errors"], 1..4), "[a-h]{1,2}", "[a-h]{1,2}"),
            1..12,
        ),
        seed in any::<u64>(),
    ) {
        let notes: Vec<(String, String)> = notes
            .into_iter()
            .map(|(name, (tags, one, other))| {
                let body = format!("[[{one}]] and [[{other}]]");
                (format!("{name}.md"), note(&name, &tags.join(", "), &body))
            })
            .collect();
        let in_order = Files::new();
        for (file, text) in &notes {
            put(&in_order, file, text);
        }
        let mut shuffled = notes.clone();
        shuffled.sort_by_key(|(file, _)| file.bytes().fold(seed, |sum, byte| sum.wrapping_mul(31).rotate_left(7) ^ u64::from(byte)));
        let one_by_one = Files::with_index();
        for (file, text) in &shuffled {
            put(&one_by_one, file, text);
            drop(one_by_one.note_index_with_knowledge());
        }
        prop_assert_eq!(ranked(&one_by_one, &TASK), ranked(&in_order, &TASK));
    }
}
