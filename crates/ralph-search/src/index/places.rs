//! Positions of entries as spaced numbers, so that an insertion does not renumber its neighbors.

/// Distance of two entries that were read one after the other.
const GAP: i64 = 1 << 32;
/// Maximum distance of an insertion from its neighbor: further entries are usually inserted on the same side.
const STEP: i64 = 1 << 16;

/// Assigns positions in order. Existing positions are kept unless they are out of order or leave no space for new
/// entries.
pub(super) fn arrange(old: &[Option<i64>]) -> Vec<i64> {
    keep(old).unwrap_or_else(|| (1..).map(|nth: i64| nth.saturating_mul(GAP)).take(old.len()).collect())
}

/// Returns a position between two others; `None` for a neighbor is the end of the file. Returns `None` if there is no
/// space.
pub(super) fn between(before: Option<i64>, after: Option<i64>) -> Option<i64> {
    let before = before.unwrap_or_default();
    let Some(after) = after else {
        return before.checked_add(GAP);
    };
    let room = after.checked_sub(before)?;
    (room >= 2).then(|| before + (room / 2).min(STEP))
}

fn keep(old: &[Option<i64>]) -> Option<Vec<i64>> {
    let mut arranged = Vec::with_capacity(old.len());
    let mut last = 0;
    let mut rest = old;
    while let Some(first) = rest.first() {
        if let Some(place) = first {
            if *place <= last {
                return None;
            }
            last = *place;
            arranged.push(last);
            rest = rest.get(1..)?;
            continue;
        }
        let new = rest.iter().take_while(|place| place.is_none()).count();
        let parts = i64::try_from(new).ok()? + 1;
        let step = match rest.get(new).copied().flatten() {
            None => GAP,
            Some(next) => next.checked_sub(last)? / parts,
        };
        if step < 1 {
            return None;
        }
        for _ in 0..new {
            last = last.checked_add(step)?;
            arranged.push(last);
        }
        rest = rest.get(new..)?;
    }
    Some(arranged)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn existing_entries_keep_their_places() {
        assert_eq!(arrange(&[None, None]), [GAP, 2 * GAP]);
        assert_eq!(arrange(&[Some(8), None, Some(20), None]), [8, 14, 20, 20 + GAP]);
        assert_eq!(arrange(&[None, Some(1)]), [GAP, 2 * GAP], "there is no room before 1");
        assert_eq!(arrange(&[Some(9), Some(5)]), [GAP, 2 * GAP], "they changed places");
        assert_eq!(between(Some(4), Some(6)), Some(5));
        assert_eq!(between(Some(4), Some(5)), None);
        assert_eq!(between(None, None), Some(GAP));
    }

    proptest! {
        #[test]
        fn places_are_ascending(old in prop::collection::vec(prop::option::of(0i64..100), 0..20)) {
            let arranged = arrange(&old);
            prop_assert_eq!(arranged.len(), old.len());
            prop_assert!(arranged.is_sorted_by(|one, other| one < other), "{arranged:?}");
        }
    }
}
