//! A person's word on a lesson that they have before their eyes: it counts for what they saw, and for nothing else.

use jiff::Timestamp;
use ralph_model::{Learning, LearningStatus, with_figures};

use super::Store;
use super::learning_changes::{existing, judge};
use super::learning_damage::refuse_damaged;
use super::learning_error::LearningError;
use super::learning_seal::{STANDING, Seal, WORDS};
use super::learning_update::{change_words, reworded};

/// What a person says of a lesson that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict<'a> {
    /// It holds.
    Promote,
    /// It holds in these words; those of an estimate have its figures in them.
    Reword(&'a str),
    /// It does not hold, for this reason.
    Reject(&'a str),
}

/// What became of a person's word.
#[derive(Debug, Clone, PartialEq)]
pub enum Judged {
    /// It stands.
    AsSaid(Learning),
    /// Somebody else has changed the lesson since it was shown; it is as it was left, which is this.
    ChangedMeanwhile(Learning),
}

impl Store {
    /// Puts a person's word on a lesson as they have seen it. Where it was changed since, its words or how far it has come,
    /// their word is not taken for it.
    ///
    /// # Errors
    /// When there is no such lesson any more, another one says already what it is to say, one that says nothing is to hold, the
    /// figures of an estimate cannot be read, it is damaged where nothing is said anew, or the database cannot be written.
    pub fn judge_as_seen(
        &mut self,
        seen: &Learning,
        verdict: Verdict<'_>,
        now: Timestamp,
    ) -> Result<Judged, LearningError> {
        self.change_learnings(|transaction| {
            let standing = existing(transaction, &seen.id)?;
            if !is_as_seen(&standing, seen) {
                return Ok(Judged::ChangedMeanwhile(standing));
            }
            let said_anew: &[Seal] = match verdict {
                Verdict::Promote | Verdict::Reject(_) => &[STANDING],
                Verdict::Reword(_) => &[WORDS, STANDING],
            };
            refuse_damaged(transaction, &seen.id, said_anew)?;
            let (judged, status) = match verdict {
                Verdict::Promote => (standing, (LearningStatus::Promoted, None)),
                Verdict::Reject(reason) => (standing, (LearningStatus::Rejected, Some(reason))),
                Verdict::Reword(words) => {
                    let reworded = reworded(&standing, words)?;
                    change_words(transaction, &standing, &reworded, now)?;
                    (reworded, (LearningStatus::Promoted, None))
                }
            };
            judge(transaction, &judged, status, now)?;
            for seal in said_anew {
                seal.vouch_for(transaction, &seen.id)?;
            }
            Ok(Judged::AsSaid(existing(transaction, &seen.id)?))
        })
    }
}

/// Whether a lesson still says what it said, to the same effect. That it became surer, or was used, changes nothing in that.
pub(super) fn is_as_seen(standing: &Learning, seen: &Learning) -> bool {
    let what_counts = |learning: &Learning| {
        let Learning {
            status,
            content,
            reason,
            superseded_by,
            facts,
            ..
        } = learning.clone();
        (status, with_figures(&content, facts.as_ref()), reason, superseded_by)
    };
    what_counts(standing) == what_counts(seen)
}
