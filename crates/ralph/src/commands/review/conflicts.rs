//! Which of two lessons that contradict each other holds.

use jiff::Timestamp;
use ralph_memory::learn::Conflict;
use ralph_model::{Learning, LearningStatus};
use ralph_store::{Judgement, Store};

use crate::error::CommandError;

/// Which of two lessons holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    One,
    Other,
    Both,
}

/// Says which one holds; the answer tells what is so now.
pub(super) fn settle(
    store: &mut Store,
    conflict: &Conflict,
    keep: Keep,
    now: Timestamp,
) -> Result<String, CommandError> {
    let (one, other) = (&conflict.one, &conflict.other);
    let (old, new) = match keep {
        Keep::One => (other, one),
        Keep::Other => (one, other),
        Keep::Both => {
            store.settle_conflict(&one.id, &other.id, now)?;
            return Ok(format!("Both hold: {} and {}", one.id, other.id));
        }
    };
    store.supersede_learning(&old.id, &new.id, now)?;
    let promoted = promoted(store, new, now)?;
    Ok(format!("Learning superseded: {} by {}{promoted}", old.id, new.id))
}

/// What a person has chosen holds, also where it was still waiting.
fn promoted(store: &mut Store, chosen: &Learning, now: Timestamp) -> Result<&'static str, CommandError> {
    if chosen.status == LearningStatus::Promoted {
        return Ok("");
    }
    store.judge_learnings(std::slice::from_ref(&chosen.id), Judgement::Promote, now)?;
    Ok(", which is promoted")
}
