//! Settles a conflict between two learnings.

use ralph_memory::learn::{Conflict, conflict};
use ralph_model::{Learning, LearningStatus};
use ralph_store::{ConflictDecision, Holds, LearningError};

use super::super::task::store_to_write;
use super::act::{Acted, settled_elsewhere};
use super::session::Item;
use super::summary::Action;
use crate::context::Context;
use crate::error::CommandError;

const SETTLED_BEFORE: &str = "They no longer conflict: someone else has handled it.";

/// Records which one to keep, if neither has changed since it was shown.
pub(super) fn choose(context: &Context<'_>, shown: &Conflict, holds: Holds) -> Result<Acted, CommandError> {
    let mut store = store_to_write(context)?;
    let (one, other) = (&shown.one, &shown.other);
    let settled = match store.settle_as_seen([one, other], holds, context.clock().now()) {
        Err(LearningError::Unknown { .. }) => return Ok(settled_elsewhere(context, SETTLED_BEFORE)),
        settled => settled?,
    };
    match settled {
        ConflictDecision::BothHold => return Ok(settled_elsewhere(context, SETTLED_BEFORE)),
        ConflictDecision::ChangedMeanwhile(now) => return Ok(changed(context, *now)),
        ConflictDecision::AsSaid => {}
    }
    let (old, new) = match holds {
        Holds::One => (other, one),
        Holds::Other => (one, other),
        Holds::Both => {
            let done = format!("Kept both: {} and {}", one.id, other.id);
            context.ui.result("✅", &done)?;
            return Ok(Acted::Done(Action::Settled));
        }
    };
    let promoted = match new.status {
        LearningStatus::Promoted => "",
        _ => ", which was promoted",
    };
    let done = format!("Learning superseded: {} by {}{promoted}", old.id, new.id);
    context.ui.result("✅", &done)?;
    Ok(Acted::Chosen {
        old: old.id.clone(),
        new: new.id.clone(),
    })
}

/// Handles a pair of which someone else changed one: ask again if they still conflict.
fn changed(context: &Context<'_>, [one, other]: [Learning; 2]) -> Acted {
    let is_out = |learning: &Learning| {
        matches!(learning.status, LearningStatus::Rejected | LearningStatus::Pruned) || learning.superseded_by.is_some()
    };
    let why = conflict(&one, &other).filter(|_| !is_out(&one) && !is_out(&other));
    match why {
        Some(why) => Acted::Changed(Item::Conflict(Box::new(Conflict { one, other, why }))),
        None => settled_elsewhere(context, SETTLED_BEFORE),
    }
}
