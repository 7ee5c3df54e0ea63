//! What an iteration says about existing learnings: how it went with those in its prompt, and whether failures recurred
//! that some warn of.

use ralph_model::{Injection, LearningKind, Outcome, counted_success_rate};
use rusqlite::{OptionalExtension, Row, Transaction, params};

use super::Settlement;
use super::learnings::{injected_ids, is_counted};
use crate::progress::columns::{count_at, moment, word_at};

/// Confidence that a warning gains when its failure recurs, and the upper limit of that gain.
const WARNING_STEP: f64 = 0.05;
const MAX_WARNING_CONFIDENCE: f64 = 0.8;
/// After this many consecutive prompts without a recurrence a warning loses one step, down to the lower limit.
const QUIET_USES: u32 = 20;
const MIN_WARNING_CONFIDENCE: f64 = 0.3;

/// Journal entries that count as a use of the learnings in their prompts, as in [`count_uses`]. Excluded are
/// interrupted ones, and done ones without evidence or verification, since the quality of their work is unknown.
pub(in crate::progress) const IS_COUNTED: &str =
    "outcome <> 'interrupted' AND NOT (outcome = 'done' AND (evidence = 'none' OR unverified))";

/// Raises the confidence of learnings that warn of this iteration's failure, whether they were in its prompt or not.
pub(super) fn strengthen_warnings(transaction: &Transaction<'_>, settlement: &Settlement) -> rusqlite::Result<()> {
    let failed = settlement.row.outcome.is_failure() == Some(true);
    let Some(signature) = settlement.signature.as_ref().filter(|_| failed) else {
        return Ok(());
    };
    transaction
        .prepare_cached(
            "UPDATE learnings SET quiet_showings = 0, confidence = max(confidence, min(confidence + ?2, ?3))
             WHERE seq IN (SELECT learning FROM learning_signatures WHERE signature = ?1)
                   AND kind = 'antipattern' AND status IN ('promoted', 'validated', 'pending')",
        )?
        .execute(params![signature.as_str(), WARNING_STEP, MAX_WARNING_CONFIDENCE])
        .map(drop)
}

/// Counts an iteration for the learnings in its prompt, if it counts at all: see [`IS_COUNTED`].
pub(super) fn count_uses(
    transaction: &Transaction<'_>,
    settlement: &Settlement,
    injections: &[Injection],
) -> rusqlite::Result<()> {
    let row = &settlement.row;
    let is_unproven = row.outcome == Outcome::Done && !settlement.is_evidence();
    if !is_counted(row.outcome) || is_unproven {
        return Ok(());
    }
    let signature = settlement.signature.as_ref().map(ralph_model::Signature::as_str);
    let mut read = transaction.prepare_cached(
        "SELECT kind, confidence, success_rate, first_success_rate, use_count, first_use_count, successes, quiet_showings,
                EXISTS (SELECT 1 FROM learning_signatures WHERE signature = ?2 AND learning = seq) AS came_back,
                EXISTS (SELECT 1 FROM learning_signatures WHERE learning = seq) AS would_be_known
         FROM learnings WHERE id = ?1",
    )?;
    let mut write = transaction.prepare_cached(
        "UPDATE learnings SET use_count = ?2, successes = ?3, last_used_at = ?4, success_rate = ?5, confidence = ?6,
             quiet_showings = ?7
         WHERE id = ?1",
    )?;
    for id in injected_ids(injections) {
        let Some((learning, warned)) = read.query_row(params![id, signature], read_counts).optional()? else {
            continue;
        };
        let use_counts = learning.after(row.outcome, warned);
        write.execute(params![
            id,
            use_counts.use_count,
            use_counts.successes,
            moment(row.created_at),
            use_counts.success_rate,
            use_counts.confidence,
            use_counts.quiet_showings,
        ])?;
    }
    Ok(())
}

/// The columns that an iteration changes in an injected learning. Others are not read: an unreadable one must not
/// prevent the settlement.
#[derive(Debug, Clone, Copy, PartialEq)]
struct UseCounts {
    kind: LearningKind,
    confidence: f64,
    success_rate: f64,
    first_success_rate: f64,
    use_count: u32,
    first_use_count: u32,
    successes: u32,
    quiet_showings: u32,
}

/// Whether the failure that a learning warns of recurred.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WarningOutcome {
    CameBack,
    StayedAway,
    /// Unknown: no failure signature is linked to the warning.
    Unknown,
}

fn read_counts(row: &Row<'_>) -> rusqlite::Result<(UseCounts, WarningOutcome)> {
    let use_counts = UseCounts {
        kind: word_at(row, "kind", LearningKind::parse)?,
        confidence: row.get("confidence")?,
        success_rate: row.get("success_rate")?,
        first_success_rate: row.get("first_success_rate")?,
        use_count: count_at(row, "use_count")?,
        first_use_count: count_at(row, "first_use_count")?,
        successes: count_at(row, "successes")?,
        quiet_showings: count_at(row, "quiet_showings")?,
    };
    let warned = if row.get("came_back")? {
        WarningOutcome::CameBack
    } else if row.get("would_be_known")? {
        WarningOutcome::StayedAway
    } else {
        WarningOutcome::Unknown
    };
    Ok((use_counts, warned))
}

impl UseCounts {
    /// Returns the learning as changed by an iteration that had it in the prompt.
    fn after(mut self, outcome: Outcome, warned: WarningOutcome) -> Self {
        self.use_count = self.use_count.saturating_add(1);
        self.successes = self.successes.saturating_add(u32::from(outcome == Outcome::Done));
        match self.kind {
            LearningKind::Antipattern => match warned {
                WarningOutcome::CameBack => self.quiet_showings = 0,
                WarningOutcome::StayedAway => self.record_no_recurrence(),
                WarningOutcome::Unknown => {}
            },
            LearningKind::Strategy | LearningKind::Estimate | LearningKind::Convention => {
                let uses_here = self.use_count.saturating_sub(self.first_use_count);
                self.success_rate = counted_success_rate(self.first_success_rate, self.successes, uses_here);
            }
        }
        self
    }

    /// Its failure did not recur.
    fn record_no_recurrence(&mut self) {
        self.quiet_showings = self.quiet_showings.saturating_add(1);
        if self.quiet_showings >= QUIET_USES {
            self.quiet_showings = 0;
            let less = (self.confidence - WARNING_STEP).max(MIN_WARNING_CONFIDENCE);
            self.confidence = self.confidence.min(less);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ralph_model::{Learning, TaskType};
    use ralph_testkit::run_learning;

    use super::*;

    fn use_counts(kind: LearningKind, first: f64, first_uses: u32) -> UseCounts {
        UseCounts {
            kind,
            confidence: 0.5,
            success_rate: first,
            first_success_rate: first,
            use_count: first_uses,
            first_use_count: first_uses,
            successes: 0,
            quiet_showings: 0,
        }
    }

    /// Whether a strategy with these counts may be injected.
    fn is_eligible(use_counts: &UseCounts) -> bool {
        let learning = Learning {
            confidence: use_counts.confidence,
            success_rate: use_counts.success_rate,
            first_success_rate: use_counts.first_success_rate,
            use_count: use_counts.use_count,
            first_use_count: use_counts.first_use_count,
            successes: use_counts.successes,
            ..run_learning(1, use_counts.kind, TaskType::General, "Look first.")
        };
        learning.is_eligible()
    }

    fn outcomes() -> impl Strategy<Value = Vec<Outcome>> {
        let outcome = prop::sample::select(vec![Outcome::Done, Outcome::Failed, Outcome::Retried, Outcome::Blocked]);
        prop::collection::vec(outcome, 0..60)
    }

    proptest! {
        #[test]
        fn rate_equals_a_plain_count_and_changes_slowly(
            first in 0.0..=1.0_f64, first_uses in 0..9_u32, outcomes in outcomes(),
        ) {
            let mut learning = use_counts(LearningKind::Strategy, first, first_uses);
            let mut done = 0.0;
            for (uses, outcome) in (1_u32..).zip(&outcomes) {
                let before = learning;
                learning = learning.after(*outcome, WarningOutcome::StayedAway);
                done += if *outcome == Outcome::Done { 1.0 } else { 0.0 };
                let expected = (first * 5.0 + done) / (5.0 + f64::from(uses));
                prop_assert!((learning.success_rate - expected).abs() < 1e-9);
                prop_assert!((0.0..=1.0).contains(&learning.success_rate));
                let is_proven = uses > 5 && before.success_rate >= 0.6;
                prop_assert!(!is_proven || is_eligible(&learning), "{:?} after one more", before);
            }
            prop_assert_eq!(learning.use_count, first_uses + u32::try_from(outcomes.len()).unwrap());
            // Enough failures exclude it, whatever its history.
            let enough = 3 * (5 + outcomes.len());
            let failing = (0..enough).fold(learning, |learning, _| learning.after(Outcome::Failed, WarningOutcome::StayedAway));
            prop_assert!(!is_eligible(&failing), "{failing:?}");
        }

        #[test]
        fn warning_weakens_after_twenty_quiet_uses(
            confidence in 0.0..=1.0_f64, came_back in prop::collection::vec(prop::bool::weighted(0.04), 0..120),
        ) {
            let mut learning = UseCounts { confidence, ..use_counts(LearningKind::Antipattern, 0.0, 0) };
            let (mut quiet, mut sure) = (0, confidence);
            for came_back in came_back {
                let warned = if came_back { WarningOutcome::CameBack } else { WarningOutcome::StayedAway };
                learning = learning.after(Outcome::Failed, warned);
                quiet = if came_back { 0 } else { quiet + 1 };
                if quiet == 20 {
                    quiet = 0;
                    if sure > 0.3 {
                        sure = f64::max(sure - 0.05, 0.3);
                    }
                }
                prop_assert!((learning.confidence - sure).abs() < 1e-9);
                prop_assert_eq!((learning.quiet_showings, learning.success_rate), (quiet, 0.0));
            }
        }
    }

    #[test]
    fn one_failure_never_excludes_a_good_strategy() {
        let new = use_counts(LearningKind::Strategy, 1.0, 0).after(Outcome::Failed, WarningOutcome::StayedAway);
        assert!(is_eligible(&new), "{new:?}");
        let failing = |times| {
            (0..times).fold(new, |learning, _| {
                learning.after(Outcome::Failed, WarningOutcome::StayedAway)
            })
        };
        assert!(is_eligible(&failing(6)), "seven failures");
        assert!(!is_eligible(&failing(7)), "eight failures");
    }
}
