//! What an iteration says about lessons: how it went with those that stood in its prompt, and whether what some warn of came
//! back.

use ralph_model::{Injection, LearningKind, Outcome, counted_success_rate};
use rusqlite::{OptionalExtension, Row, Transaction, params};

use super::Settlement;
use super::learnings::{counts, shown};
use crate::progress::columns::{count_at, moment, word_at};

/// How much surer a warning is when what it warns of came back, and how sure that alone can make it.
const WARNING_STEP: f64 = 0.05;
const SUREST_WARNING: f64 = 0.8;
/// In so many prompts on end it stands without that before it is less sure by the same step, and how unsure that can make it.
const QUIET_SHOWINGS: u32 = 20;
const LEAST_SURE_WARNING: f64 = 0.3;

/// Which journal entries count as a use of the learnings in their prompts, as in [`count_uses`]: not the interrupted ones, nor
/// those that are done without evidence or unverified, of which nobody knows whether the work is good.
pub(in crate::progress) const IS_COUNTED: &str =
    "outcome <> 'interrupted' AND NOT (outcome = 'done' AND (evidence = 'none' OR unverified))";

/// Makes those lessons surer that warn of how this iteration failed, whether they stood in its prompt or not.
pub(super) fn heed_failure(transaction: &Transaction<'_>, settlement: &Settlement) -> rusqlite::Result<()> {
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
        .execute(params![signature.as_str(), WARNING_STEP, SUREST_WARNING])
        .map(drop)
}

/// Counts an iteration for the lessons that stood in its prompt, if it says anything about them: see [`IS_COUNTED`].
pub(super) fn count_uses(
    transaction: &Transaction<'_>,
    settlement: &Settlement,
    injections: &[Injection],
) -> rusqlite::Result<()> {
    let row = &settlement.row;
    let is_unproven = row.outcome == Outcome::Done && !settlement.is_proof();
    if !counts(row.outcome) || is_unproven {
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
    for id in shown(injections) {
        let Some((lesson, warned)) = read.query_row(params![id, signature], read_judged).optional()? else {
            continue;
        };
        let judged = lesson.after(row.outcome, warned);
        write.execute(params![
            id,
            judged.use_count,
            judged.successes,
            moment(row.created_at),
            judged.success_rate,
            judged.confidence,
            judged.quiet_showings,
        ])?;
    }
    Ok(())
}

/// What an iteration changes in a lesson that it saw. The rest of the row is not read: what cannot be read of it must not keep
/// an iteration from its end.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Judged {
    kind: LearningKind,
    confidence: f64,
    success_rate: f64,
    first_success_rate: f64,
    use_count: u32,
    first_use_count: u32,
    successes: u32,
    quiet_showings: u32,
}

/// What became of what a lesson warns of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Warned {
    /// The iteration failed so.
    CameBack,
    /// It did not.
    StayedAway,
    /// Nobody can tell: no failure is known by which it would be seen to come back.
    Unknown,
}

fn read_judged(row: &Row<'_>) -> rusqlite::Result<(Judged, Warned)> {
    let judged = Judged {
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
        Warned::CameBack
    } else if row.get("would_be_known")? {
        Warned::StayedAway
    } else {
        Warned::Unknown
    };
    Ok((judged, warned))
}

impl Judged {
    /// The lesson after an iteration that saw it.
    fn after(mut self, outcome: Outcome, warned: Warned) -> Self {
        self.use_count = self.use_count.saturating_add(1);
        self.successes = self.successes.saturating_add(u32::from(outcome == Outcome::Done));
        match self.kind {
            LearningKind::Antipattern => match warned {
                Warned::CameBack => self.quiet_showings = 0,
                Warned::StayedAway => self.stay_quiet(),
                Warned::Unknown => {}
            },
            LearningKind::Strategy | LearningKind::Estimate | LearningKind::Convention => {
                let uses_here = self.use_count.saturating_sub(self.first_use_count);
                self.success_rate = counted_success_rate(self.first_success_rate, self.successes, uses_here);
            }
        }
        self
    }

    /// What it warns of did not come back.
    fn stay_quiet(&mut self) {
        self.quiet_showings = self.quiet_showings.saturating_add(1);
        if self.quiet_showings >= QUIET_SHOWINGS {
            self.quiet_showings = 0;
            let less = (self.confidence - WARNING_STEP).max(LEAST_SURE_WARNING);
            self.confidence = self.confidence.min(less);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ralph_model::{Learning, TaskType};
    use ralph_testkit::known_lesson;

    use super::*;

    fn judged(kind: LearningKind, first: f64, first_uses: u32) -> Judged {
        Judged {
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

    /// Whether a strategy with these counts may stand in prompts.
    fn may_be_shown(judged: &Judged) -> bool {
        let learning = Learning {
            confidence: judged.confidence,
            success_rate: judged.success_rate,
            first_success_rate: judged.first_success_rate,
            use_count: judged.use_count,
            first_use_count: judged.first_use_count,
            successes: judged.successes,
            ..known_lesson(1, judged.kind, TaskType::General, "Look first.")
        };
        learning.may_be_shown()
    }

    fn outcomes() -> impl Strategy<Value = Vec<Outcome>> {
        let outcome = prop::sample::select(vec![Outcome::Done, Outcome::Failed, Outcome::Retried, Outcome::Blocked]);
        prop::collection::vec(outcome, 0..60)
    }

    proptest! {
        #[test]
        fn a_rate_is_what_a_plain_count_gives_and_moves_little_with_each(
            first in 0.0..=1.0_f64, first_uses in 0..9_u32, outcomes in outcomes(),
        ) {
            let mut lesson = judged(LearningKind::Strategy, first, first_uses);
            let mut done = 0.0;
            for (uses, outcome) in (1_u32..).zip(&outcomes) {
                let before = lesson;
                lesson = lesson.after(*outcome, Warned::StayedAway);
                done += if *outcome == Outcome::Done { 1.0 } else { 0.0 };
                let expected = (first * 5.0 + done) / (5.0 + f64::from(uses));
                prop_assert!((lesson.success_rate - expected).abs() < 1e-9);
                prop_assert!((0.0..=1.0).contains(&lesson.success_rate));
                let is_proven = uses > 5 && before.success_rate >= 0.6;
                prop_assert!(!is_proven || may_be_shown(&lesson), "{:?} after one more", before);
            }
            prop_assert_eq!(lesson.use_count, first_uses + u32::try_from(outcomes.len()).unwrap());
            // Whatever it has behind it, it leaves when it fails often enough.
            let enough = 3 * (5 + outcomes.len());
            let failing = (0..enough).fold(lesson, |lesson, _| lesson.after(Outcome::Failed, Warned::StayedAway));
            prop_assert!(!may_be_shown(&failing), "{failing:?}");
        }

        #[test]
        fn a_warning_is_less_sure_after_twenty_quiet_showings_and_never_by_others(
            confidence in 0.0..=1.0_f64, came_back in prop::collection::vec(prop::bool::weighted(0.04), 0..120),
        ) {
            let mut lesson = Judged { confidence, ..judged(LearningKind::Antipattern, 0.0, 0) };
            let (mut quiet, mut sure) = (0, confidence);
            for came_back in came_back {
                let warned = if came_back { Warned::CameBack } else { Warned::StayedAway };
                lesson = lesson.after(Outcome::Failed, warned);
                quiet = if came_back { 0 } else { quiet + 1 };
                if quiet == 20 {
                    quiet = 0;
                    if sure > 0.3 {
                        sure = f64::max(sure - 0.05, 0.3);
                    }
                }
                prop_assert!((lesson.confidence - sure).abs() < 1e-9);
                prop_assert_eq!((lesson.quiet_showings, lesson.success_rate), (quiet, 0.0));
            }
        }
    }

    #[test]
    fn one_bad_iteration_never_takes_a_good_strategy_out() {
        let new = judged(LearningKind::Strategy, 1.0, 0).after(Outcome::Failed, Warned::StayedAway);
        assert!(may_be_shown(&new), "{new:?}");
        let failing = |times| (0..times).fold(new, |lesson, _| lesson.after(Outcome::Failed, Warned::StayedAway));
        assert!(may_be_shown(&failing(6)), "seven failures");
        assert!(!may_be_shown(&failing(7)), "eight failures");
    }
}
