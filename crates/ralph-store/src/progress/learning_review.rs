//! A user's decision on a learning that was displayed: it applies only to the state that they saw.

use jiff::Timestamp;
use ralph_model::{Learning, LearningStatus, TextFeatures, with_figures};

use super::Store;
use super::learning_changes::{existing, judge};
use super::learning_error::LearningError;
use super::learning_update::{change_words, reworded};

/// A user's decision on a proposed learning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict<'a> {
    Promote,
    /// Accepted with these words and their features; those of an estimate include its figures.
    Reword(&'a str, &'a TextFeatures),
    /// Rejected, for this reason.
    Reject(&'a str),
}

#[derive(Debug, Clone, PartialEq)]
pub enum Judged {
    AsSaid(Learning),
    /// The learning was changed since it was displayed; this is the current state, unchanged.
    ChangedMeanwhile(Learning),
}

impl Store {
    /// Judges a learning as the user has seen it. If its text or status has changed since, nothing is decided.
    ///
    /// # Errors
    /// When it is missing, another learning has the new words, an empty one would be promoted, or the
    /// database cannot be written.
    pub fn judge_as_seen(
        &mut self,
        seen: &Learning,
        verdict: Verdict<'_>,
        now: Timestamp,
    ) -> Result<Judged, LearningError> {
        self.change_learnings(|transaction| {
            let current = existing(transaction, &seen.id)?;
            if !is_unchanged(&current, seen) {
                return Ok(Judged::ChangedMeanwhile(current));
            }
            let (judged, status) = match verdict {
                Verdict::Promote => (current, (LearningStatus::Promoted, None)),
                Verdict::Reject(reason) => (current, (LearningStatus::Rejected, Some(reason))),
                Verdict::Reword(words, features) => {
                    let reworded = reworded(&current, words);
                    change_words(transaction, &current, &reworded, features, now)?;
                    (reworded, (LearningStatus::Promoted, None))
                }
            };
            judge(transaction, &judged, status, now)?;
            Ok(Judged::AsSaid(existing(transaction, &seen.id)?))
        })
    }
}

/// Whether text and status are the same. Changes of confidence and uses do not matter.
pub(super) fn is_unchanged(current: &Learning, seen: &Learning) -> bool {
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
    what_counts(current) == what_counts(seen)
}
