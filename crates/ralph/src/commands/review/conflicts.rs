//! Which of two lessons that contradict each other holds.

use ralph_memory::learn::{Conflict, contradiction};
use ralph_model::{Learning, LearningStatus};
use ralph_store::{Holds, LearningError, Weighed};

use super::super::task::store_to_write;
use super::act::{Acted, overtaken};
use super::session::Item;
use super::tally::Deed;
use crate::context::Context;
use crate::error::CommandError;

/// What is said where the two have nothing to do with each other any more.
const SETTLED_BEFORE: &str = "They do not contradict each other any more: somebody else has seen to it.";

/// Says which one holds, if both still stand as they were shown.
pub(super) fn choose(context: &Context<'_>, shown: &Conflict, holds: Holds) -> Result<Acted, CommandError> {
    let mut store = store_to_write(context)?;
    let (one, other) = (&shown.one, &shown.other);
    let settled = match store.settle_as_seen([one, other], holds, context.clock().now()) {
        Err(LearningError::Unknown { .. }) => return Ok(overtaken(context, SETTLED_BEFORE)),
        settled => settled?,
    };
    match settled {
        Weighed::BothHold => return Ok(overtaken(context, SETTLED_BEFORE)),
        Weighed::ChangedMeanwhile(now) => return Ok(changed(context, *now)),
        Weighed::AsSaid => {}
    }
    let (old, new) = match holds {
        Holds::One => (other, one),
        Holds::Other => (one, other),
        Holds::Both => {
            let done = format!("Both hold: {} and {}", one.id, other.id);
            context.ui.result("✅", &done)?;
            return Ok(Acted::Done(Deed::Settled));
        }
    };
    let promoted = match new.status {
        LearningStatus::Promoted => "",
        _ => ", which is promoted",
    };
    let done = format!("Learning superseded: {} by {}{promoted}", old.id, new.id);
    context.ui.result("✅", &done)?;
    Ok(Acted::Chosen {
        old: old.id.clone(),
        new: new.id.clone(),
    })
}

/// Two of which somebody else has changed one: where they still contradict each other, they are asked about again.
fn changed(context: &Context<'_>, [one, other]: [Learning; 2]) -> Acted {
    let is_out = |learning: &Learning| {
        matches!(learning.status, LearningStatus::Rejected | LearningStatus::Pruned) || learning.superseded_by.is_some()
    };
    let why = contradiction(&one, &other).filter(|_| !is_out(&one) && !is_out(&other));
    match why {
        Some(why) => Acted::Changed(Item::Conflict(Box::new(Conflict { one, other, why }))),
        None => overtaken(context, SETTLED_BEFORE),
    }
}
