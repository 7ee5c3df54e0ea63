//! Grouping of similar learnings.

use proptest::prelude::*;
use ralph_model::LearningId;

use super::*;

/// A promoted learning of an agent.
fn learning(number: u64, category: &str, tags: &[&str]) -> MergeCandidate {
    MergeCandidate {
        id: LearningId::new(number),
        kind: LearningKind::of_category(category),
        category: category.to_owned(),
        status: LearningStatus::Promoted,
        source: LearningSource::Sigil,
        task: None,
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        content: "Hold the lock".to_owned(),
        examples: Vec::new(),
    }
}

/// The same, with a text.
fn saying(number: u64, tags: &[&str], words: &str) -> MergeCandidate {
    MergeCandidate {
        content: words.to_owned(),
        ..learning(number, "pitfall", tags)
    }
}

/// Texts of merged learnings, without words of their own.
fn examples(count: usize) -> Vec<String> {
    vec![String::new(); count]
}

/// The groups as numbers, the newest of each first.
fn found(candidates: &[MergeCandidate]) -> Vec<Vec<u64>> {
    let number = |id: &LearningId| {
        let digits = id.as_str().strip_prefix(LearningId::PREFIX).unwrap();
        u64::from_str_radix(digits, 16).unwrap()
    };
    let ids = |group: MergeGroup| std::iter::once(group.newest).chain(group.others).collect::<Vec<_>>();
    let groups = merge_groups(candidates).into_iter().map(ids);
    groups.map(|group| group.iter().map(number).collect()).collect()
}

#[test]
fn conflicting_learning_does_not_join_a_group() {
    let saying = |number, content: &str| MergeCandidate {
        content: content.to_owned(),
        ..learning(number, "tool_usage", &["make", "jobs"])
    };
    let four = || saying(1, "Build with -j 4");
    let plain = || saying(2, "Build in a clean folder");
    assert_eq!(found(&[four(), saying(3, "Build with -j 8")]), [[0; 0]; 0]);
    assert_eq!(found(&[plain(), four(), saying(3, "Build with -j 8")]), [[2, 1]]);
    assert_eq!(found(&[four(), saying(3, "Never build with -j 4"), plain()]), [[3, 2]]);
}

#[test]
fn half_of_the_fewer_tags_is_enough() {
    let check = |one: &[&str], other: &[&str], are_alike: bool| {
        let groups = found(&[learning(1, "pitfall", one), learning(2, "pitfall", other)]);
        assert_eq!(!groups.is_empty(), are_alike, "{one:?} and {other:?}");
    };
    check(&["a"], &["a"], true);
    check(&["a", "b"], &["b", "a"], true);
    check(&["a", "b"], &["b", "c"], false);
    check(&["a", "b", "c", "d"], &["c", "d", "e", "f"], true);
    check(&["a", "b", "c"], &["c", "d", "e"], false);
    check(&["a", "b", "c"], &["b", "c", "d"], true);
    check(&["a", "b", "c", "d", "e"], &["e"], false);
    check(&["e"], &["a", "b", "c", "d", "e"], false);
    check(&["d", "e"], &["a", "b", "c", "d", "e"], true);
    check(&["a", "a", "a", "b", "c"], &["a", "d", "e"], false);
    check(&["a"], &["b"], false);
    check(&[], &[], false);
    check(&[], &["a"], false);
}

#[test]
fn common_tags_without_common_words_are_not_enough() {
    let found_in_task = ["src/parser.rs", "cargo", "test_failure"];
    let learnings = [
        saying(1, &found_in_task, "lexer keep last newlin"),
        saying(2, &found_in_task, "snapshot review befor commit"),
        saying(3, &found_in_task, "fixtur read only in ci"),
    ];
    assert_eq!(found(&learnings), [] as [Vec<u64>; 0]);
    let check = |one: &str, other: &str, are_alike: bool| {
        let groups = found(&[saying(1, &found_in_task, one), saying(2, &found_in_task, other)]);
        assert_eq!(!groups.is_empty(), are_alike, "{one} and {other}");
    };
    check("lexer newlin", "newlin", true);
    check("b c d f", "f g h j", true);
    check("b c d f g", "g h j k m", false);
    check("b c d f g", "f g h j k", true);
    check("", "", false);
    check("b", "", false);
}

#[test]
fn common_word_does_not_group_learnings() {
    let many: Vec<MergeCandidate> = (0..40)
        .map(|number| saying(number, &["cargo", "ci"], &format!("run own{number}")))
        .collect();
    assert_eq!(found(&many), [] as [Vec<u64>; 0]);
    assert_eq!(found(&many[..20]).len(), 2, "among few a word tells something");
}

#[test]
fn only_learnings_of_one_subject_are_grouped() {
    let one = learning(1, "pitfall", &["a"]);
    let other = |change: &dyn Fn(&mut MergeCandidate)| {
        let mut other = learning(2, "pitfall", &["a"]);
        change(&mut other);
        found(&[one.clone(), other]).len()
    };
    assert_eq!(other(&|_| {}), 1);
    assert_eq!(other(&|other| other.category = "other".to_owned()), 0);
    assert_eq!(other(&|other| other.kind = LearningKind::Estimate), 0);
    assert_eq!(other(&|other| other.status = LearningStatus::Validated), 0);
    assert_eq!(other(&|other| other.source = LearningSource::Human), 0);
    assert_eq!(
        other(&|other| other.task = Some(TaskId::new(1))),
        1,
        "it holds for all tasks"
    );
    let waiting = |number, task| MergeCandidate {
        status: LearningStatus::Validated,
        task: Some(TaskId::new(task)),
        ..learning(number, "pitfall", &["a"])
    };
    assert_eq!(found(&[waiting(1, 1), waiting(2, 2), waiting(3, 1)]), [[1, 3]]);
}

#[test]
fn learning_joins_the_best_group_with_room() {
    let learnings = [
        learning(1, "other", &["a", "b", "c", "d"]),
        learning(2, "other", &["c", "x", "y", "z"]),
        learning(3, "other", &["b", "c", "d"]),
        learning(4, "other", &["c", "y"]),
    ];
    assert_eq!(found(&learnings), [[1, 3], [2, 4]]);
    let many: Vec<MergeCandidate> = (1..=23).map(|number| learning(number, "other", &["a"])).collect();
    let sizes: Vec<usize> = found(&many).iter().map(Vec::len).collect();
    assert_eq!(sizes, [10, 10, 3]);
    let full = MergeCandidate {
        examples: examples(9),
        ..learning(1, "other", &["a"])
    };
    assert_eq!(
        found(&[full.clone(), learning(2, "other", &["a"])]),
        [] as [Vec<u64>; 0]
    );
    assert_eq!(found(&[learning(2, "other", &["a"]), full]), [] as [Vec<u64>; 0]);
}

#[test]
fn grouping_many_learnings_is_linear() {
    let learnings: Vec<MergeCandidate> = (0..5_000)
        .map(|number| {
            let own = [format!("x{number}"), format!("y{number}")];
            let words = format!("subject{}", number % 10);
            saying(number, &["cargo", "git", "tests", &own[0], &own[1]], &words)
        })
        .collect();
    // Three of five are more than half.
    assert_eq!(found(&learnings).len(), 500);
    let apart: Vec<MergeCandidate> = (0..5_000)
        .map(|number| {
            let own = [format!("x{number}"), format!("y{number}")];
            saying(number, &["cargo", &own[0], &own[1]], &format!("subject{}", number % 10))
        })
        .collect();
    assert_eq!(found(&apart), [] as [Vec<u64>; 0]);
}

proptest! {
    #[test]
    fn groups_hold_each_learning_once_and_only_similar_ones(
        drawn in proptest::collection::vec(
            ("[ab]", proptest::collection::btree_set("[a-f]", 0..5), 0_usize..4, "[u-z]( [u-z]){0,6}"),
            0..40,
        ),
    ) {
        let learnings: Vec<MergeCandidate> = (0..).zip(&drawn).map(|(number, (category, tags, examples, words))| {
            let tags: Vec<&str> = tags.iter().map(String::as_str).collect();
            MergeCandidate { examples: self::examples(*examples), content: words.clone(), ..learning(number, category, &tags) }
        }).collect();
        let groups = found(&learnings);
        let mut seen = std::collections::BTreeSet::new();
        let at = |number: &u64| &learnings[usize::try_from(*number).unwrap()];
        for group in &groups {
            prop_assert!(group.is_sorted(), "the newest is first in {group:?}");
            prop_assert!(group.iter().all(|number| seen.insert(*number)), "twice in {groups:?}");
            let first = at(&group[0]);
            let texts: usize = group.iter().map(|number| 1 + at(number).examples.len()).sum();
            prop_assert!(texts <= 1 + MAX_EXAMPLES);
            for other in group[1..].iter().map(at) {
                let shared = other.tags.iter().filter(|tag| first.tags.contains(tag)).count();
                let is_half = shared * 2 >= other.tags.len().min(first.tags.len()) && shared >= 2;
                prop_assert!(is_half || shared > 0 && other.tags == first.tags);
                prop_assert!(!words_of(first).is_disjoint(&words_of(other)));
                prop_assert_eq!(&other.category, &first.category);
            }
        }
        prop_assert_eq!(found(&learnings), groups, "the same learnings make the same groups");
    }
}
