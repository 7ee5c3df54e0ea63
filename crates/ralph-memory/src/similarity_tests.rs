//! Which texts are near-duplicates, and which learnings are in conflict.

use ralph_model::LearningKind::{Antipattern, Convention, Strategy};

use ralph_search::text_features;

use super::*;

fn near(one: &str, other: &str) -> bool {
    text_features(one).is_near(&text_features(other))
}

fn learning(kind: LearningKind, tags: &[&str], content: &str) -> LearningFeatures {
    let tags: Vec<String> = tags.iter().map(|tag| (*tag).to_owned()).collect();
    LearningFeatures::new(kind, "tool_usage", &tags, content)
}

/// How two learnings with one tag conflict, checked both ways.
#[track_caller]
fn difference(one: (LearningKind, &str), other: (LearningKind, &str)) -> Option<String> {
    let [first, second] = [one, other].map(|(kind, content)| learning(kind, &["build"], content));
    let found = first.conflict(&second);
    assert_eq!(found.is_some(), second.conflict(&first).is_some(), "{one:?} {other:?}");
    found.map(|difference| difference.to_string())
}

#[test]
fn near_duplicates_share_words_numbers_and_negations() {
    for (one, other) in [
        (
            "Start the emulator before the suite",
            "Before the suite: start the emulators",
        ),
        ("Build the parser with -j 4", "With -j 4, build the parser."),
        ("do not use tabs", "don't use the tabs"),
        ("Use port 5432.", "use the port 5432"),
    ] {
        assert!(near(one, other), "{one} / {other}");
    }
    for (one, other) in [
        ("use port 5432", "use port 5433"),
        ("use the cache", "do not use the cache"),
        ("use tabs", "avoid tabs"),
        ("test before you commit", "test after you commit"),
        ("Start the emulator", "Start the emulator before the integration suite"),
        ("Learned of t-e259c5.", "Learned of t-974e5c."),
        ("somebody reads it", "nobody reads it"),
    ] {
        assert!(!near(one, other), "{one} / {other}");
    }
}

#[test]
fn near_duplicate_learnings_share_kind_and_category() {
    let one = learning(Strategy, &[], "Start the emulator before the suite");
    let same = learning(Strategy, &["other"], "Before the suite start the emulator");
    let warning = learning(Antipattern, &[], "Start the emulator before the suite");
    let category = LearningFeatures::new(Strategy, "other", &[], "Start the emulator before the suite");
    assert!(one.is_near(&same));
    assert!(!one.is_near(&warning) && !one.is_near(&category));
}

#[test]
fn different_number_or_negation_is_a_conflict() {
    let cases = [
        (
            (Strategy, "Build the parser with -j 4"),
            (Strategy, "Build the parser with -j 8"),
            "one says 4, the other 8",
        ),
        (
            (Strategy, "Use unwrap in the parser"),
            (Strategy, "Never use unwrap in the parser"),
            "one negates the other",
        ),
        (
            (Antipattern, "Use of unwrap in the parser"),
            (Antipattern, "No use of unwrap in the parser"),
            "one negates the other",
        ),
        (
            (Strategy, "Use unwrap in the parser"),
            (Antipattern, "Do not use unwrap in the parser"),
            "one negates the other",
        ),
        (
            (Strategy, "Use unwrap in the parser"),
            (Antipattern, "Use of unwrap in the parser"),
            "one warns of what the other recommends",
        ),
    ];
    for (one, other, expected) in cases {
        assert_eq!(difference(one, other).as_deref(), Some(expected), "{one:?} {other:?}");
    }
}

#[test]
fn different_subjects_words_or_kinds_do_not_conflict() {
    for (one, other) in [
        (
            (Strategy, "Use unwrap in the parser"),
            (Strategy, "Use unwrap in the parser always"),
        ),
        (
            (Strategy, "Do not use unwrap in the parser"),
            (Antipattern, "Use of unwrap in the parser"),
        ),
        ((Strategy, "Never deploy on Fridays"), (Strategy, "Run the linter")),
        (
            (Strategy, "Keep 4 spaces in the parser"),
            (Convention, "Keep 8 spaces in the parser"),
        ),
        ((Strategy, "Wait 5 seconds"), (Strategy, "Wait for the emulator")),
    ] {
        assert_eq!(difference(one, other), None, "{one:?} {other:?}");
    }
    let (one, other) = ("Use unwrap in the parser", "Never use unwrap in the parser");
    assert_eq!(
        learning(Strategy, &["a"], one).conflict(&learning(Strategy, &["b"], other)),
        None
    );
    let (one, other) = ("Format src/parser.rs by hand", "Never format src/parser.rs by hand");
    assert!(
        learning(Strategy, &["a"], one)
            .conflict(&learning(Strategy, &["b"], other))
            .is_some()
    );
}

#[test]
fn neighbours_are_found_among_many() {
    let mut neighbours = Neighbours::default();
    for number in 0..500 {
        neighbours.add(
            number,
            learning(
                Strategy,
                &[],
                &format!("Wait {number} seconds for the emulator of the suite"),
            ),
        );
    }
    for (number, name) in ["alpha", "beta", "gamma"].iter().enumerate() {
        neighbours.add(
            1_000 + number,
            learning(Strategy, &[], &format!("Read the handbook of {name} first")),
        );
    }
    let found = |text: &str| {
        neighbours
            .near_duplicate(&learning(Strategy, &[], text), |_| true)
            .copied()
    };
    assert_eq!(found("The handbook of beta: read it first"), Some(1_001));
    assert_eq!(found("For the emulator of the suite, wait 499 seconds"), Some(499));
    assert_eq!(found("Nothing like these"), None);
    let compared = neighbours
        .of(&learning(Strategy, &[], "Wait for the emulator of the suite"))
        .count();
    assert!(compared <= MOST_COMPARED, "{compared}");
}
