//! Finds anti-patterns that warn of an error. Candidates are picked by shared words and support, and only as many are
//! read as are wanted.

use std::collections::HashMap;

use ralph_model::Learning;
use ralph_search::{CommonWords, Index, IndexError, Limits, Reach, Searcher, row_of_fact};
use ralph_store::{LearningQuery, Store};

use super::learnings::KINDS;
use super::patterns::ErrorPattern;
use super::relevance::Support;

/// How many candidates are read when only the best are wanted: those that share most.
const MOST_LOOKED_AT: usize = 2_000;
const READ_AT_ONCE: usize = 32;

struct Sharing {
    number: i64,
    /// Its weight of shared words relative to the best match for that error.
    share: f64,
    support: f64,
}

/// The learnings that match the filter and warn of one of these errors, best supported first; ties go to the newest.
///
/// # Errors
/// When the index or the store cannot be read.
pub fn warnings_of(
    (index, store): (&Index, &Store),
    errors: &[ErrorPattern],
    wanted: &LearningQuery,
    reach: Reach,
) -> Result<Vec<Learning>, IndexError> {
    let mut sharing = sharing_words((index, store), errors, wanted, reach)?;
    let most = match reach {
        Reach::Best(most) => {
            sharing.sort_unstable_by(|one, other| other.share.total_cmp(&one.share).then(by_support(one, other)));
            sharing.truncate(MOST_LOOKED_AT);
            most
        }
        Reach::All => usize::MAX,
    };
    sharing.sort_unstable_by(by_support);
    let mut found: Vec<Learning> = Vec::new();
    for some in sharing.chunks(READ_AT_ONCE) {
        let numbers: Vec<i64> = some.iter().map(|warning| warning.number).collect();
        for learning in store.learnings_numbered(&numbers)? {
            if errors.iter().any(|error| error.is_in(&learning)) {
                found.push(learning);
            }
        }
        if found.len() >= most {
            break;
        }
    }
    found.truncate(most);
    Ok(found)
}

fn by_support(one: &Sharing, other: &Sharing) -> std::cmp::Ordering {
    other
        .support
        .total_cmp(&one.support)
        .then(other.number.cmp(&one.number))
}

/// The matching learnings that share words with one of the errors, unordered.
fn sharing_words(
    (index, store): (&Index, &Store),
    errors: &[ErrorPattern],
    wanted: &LearningQuery,
    reach: Reach,
) -> Result<Vec<Sharing>, IndexError> {
    let searcher = Searcher::new(index, &KINDS, Limits::FACTS)?;
    let mut shares: HashMap<i64, f64> = HashMap::new();
    for text in errors.iter().flat_map(ErrorPattern::asked) {
        let question = searcher.question(&text, CommonWords::Search)?;
        let shared = searcher.sharing(&question, reach)?;
        let all = shared.iter().map(|(_, weight)| *weight).fold(0.0, f64::max);
        for (number, weight) in shared {
            let share = shares.entry(row_of_fact(number)).or_default();
            *share = share.max(weight / all);
        }
    }
    let mut sharing = Vec::new();
    store.learning_strengths(wanted, &mut |strength| {
        if let Some(share) = shares.get(&strength.number) {
            sharing.push(Sharing {
                number: strength.number,
                share: *share,
                support: Support::of_strength(&strength).total(),
            });
        }
    })?;
    Ok(sharing)
}

#[cfg(test)]
mod tests {
    use ralph_model::{LearningKind, TaskType};
    use ralph_search::SearchIndex;
    use ralph_store::LearningFilter;
    use ralph_testkit::{extracted_warning, put_learnings, run_learning};

    use super::*;

    struct Bench {
        _folder: tempfile::TempDir,
        store: Store,
    }

    impl Bench {
        fn new(warnings: &[(&str, f64)]) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let database = folder.path().join("progress.db");
            let store = Store::open_or_create(&database).unwrap();
            let learnings: Vec<Learning> = (1..)
                .zip(warnings)
                .map(|(number, (content, confidence))| Learning {
                    confidence: *confidence,
                    ..match content.starts_with("Avoid: ") {
                        true => extracted_warning(number, TaskType::BugFix, content),
                        false => run_learning(number, LearningKind::Antipattern, TaskType::BugFix, content),
                    }
                })
                .collect();
            put_learnings(&database, learnings.iter());
            Self { _folder: folder, store }
        }

        fn found(&self, errors: &[&str], reach: Reach) -> Vec<String> {
            let errors: Vec<ErrorPattern> = errors.iter().filter_map(|text| ErrorPattern::of(text)).collect();
            let wanted = LearningQuery {
                filter: LearningFilter {
                    kind: Some(LearningKind::Antipattern),
                    ..LearningFilter::default()
                },
                ..LearningQuery::default()
            };
            let index = SearchIndex::of_facts(&self.store).unwrap();
            let found = warnings_of((&index, &self.store), &errors, &wanted, reach).unwrap();
            found.into_iter().map(|learning| learning.content).collect()
        }
    }

    #[test]
    fn best_supported_warnings_are_found_among_many() {
        let mut warnings: Vec<(String, f64)> = Vec::new();
        for number in 0..300 {
            let confidence = 0.4 + 0.001 * f64::from(number * 7 % 500);
            warnings.push((format!("Avoid: port {number} - it is taken elsewhere"), confidence));
            warnings.push((
                format!("Avoid: the port was already taken by part{number} - wait"),
                confidence,
            ));
        }
        let warnings: Vec<(&str, f64)> = warnings.iter().map(|(text, sure)| (text.as_str(), *sure)).collect();
        let bench = Bench::new(&warnings);
        let error = ["the port was already taken"];
        let all = bench.found(&error, Reach::All);
        assert_eq!(all.len(), 300);
        assert_eq!(all[0], "Avoid: the port was already taken by part214 - wait");
        for most in [1, 10, 299, 400] {
            let best = bench.found(&error, Reach::Best(most));
            assert_eq!(best, all.iter().take(most).cloned().collect::<Vec<_>>(), "{most}");
        }
    }

    #[test]
    fn short_warning_is_found_in_long_output() {
        let bench = Bench::new(&[
            ("Avoid: port taken - take another", 0.5),
            (
                "Avoid: server of the test suite printed nothing while it started - read the log",
                0.9,
            ),
            ("avoid: Port taken; take another!", 0.6),
            ("Avoid: Timeout errors - break into smaller steps", 0.4),
        ]);
        let printed = "the server of the test suite printed a lot while it started, and then: error: port taken (5432)";
        for reach in [Reach::All, Reach::Best(10)] {
            assert_eq!(
                bench.found(&[printed, "timed out"], reach),
                [
                    "Avoid: port taken - take another",
                    "Avoid: Timeout errors - break into smaller steps"
                ]
            );
            assert_eq!(bench.found(&["nothing of that kind"], reach), [] as [&str; 0]);
        }
    }

    #[test]
    fn duplicate_warnings_are_all_returned() {
        let text = "Avoid: Timeout errors - break into smaller steps";
        let bench = Bench::new(&[(text, 0.5), (text, 0.7), ("Avoid: timeout errors: wait", 0.6)]);
        let all = [text, "Avoid: timeout errors: wait", text];
        assert_eq!(bench.found(&["timed out"], Reach::All), all);
        assert_eq!(bench.found(&["timed out"], Reach::Best(2)), all[..2]);
    }
}
