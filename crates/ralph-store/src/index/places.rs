//! The order of entries as numbers with room between them, so that a new entry moves no other.

/// How far apart two entries are that were read one after the other.
const GAP: i64 = 1 << 32;
/// How far after its neighbour a new one goes at most: many more go to the same end of a section.
const STEP: i64 = 1 << 16;

/// The places of entries in their order, given the places that some of them have. These stay, unless they are out of order
/// or leave too little room for the new ones.
pub(super) fn arrange(old: &[Option<i64>]) -> Vec<i64> {
    keep(old).unwrap_or_else(|| (1..).map(|nth: i64| nth.saturating_mul(GAP)).take(old.len()).collect())
}

/// A place between two others, of which one or both may be the end of the file; none where there is no room.
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
    fn entries_that_were_there_stay_where_they_are() {
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
        fn places_go_up(old in prop::collection::vec(prop::option::of(0i64..100), 0..20)) {
            let arranged = arrange(&old);
            prop_assert_eq!(arranged.len(), old.len());
            prop_assert!(arranged.is_sorted_by(|one, other| one < other), "{arranged:?}");
        }
    }
}
