//! Property tests: any history of changes, through ralph and by hand, with an incrementally updated index.

mod operation;
mod view;

use proptest::prelude::*;

use super::support::Files;
use operation::{Operation, operation};
use view::{Counts, View};

fn cases() -> ProptestConfig {
    // The soak raises the number of cases with PROPTEST_CASES; every case is a history on disk.
    let default = ProptestConfig::default();
    ProptestConfig {
        failure_persistence: None,
        cases: (default.cases / 16).max(1),
        ..default
    }
}

fn check(operations: &[Operation]) {
    let files = Files::with_index();
    for (step, operation) in operations.iter().enumerate() {
        operation.apply(&files);
        let kept = View::of(&files.search_index());
        let made = View::of(&files.new_index());
        let after = || format!("after step {step} of {operations:#?}");
        for (kept, made) in kept.parts().zip(made.parts()) {
            assert_eq!(kept, made, "{}", after());
        }
        assert_eq!(
            Counts::of(&files.index(), &files),
            Counts::from_scratch(&files),
            "{}",
            after()
        );
    }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn updated_index_answers_like_a_new_one(
        operations in prop::collection::vec(operation(), 1..24)
    ) {
        check(&operations);
    }
}
