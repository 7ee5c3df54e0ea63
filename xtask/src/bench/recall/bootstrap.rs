//! How sure a difference between two systems is: the queries are drawn anew many times, and the differences looked at.

use crate::random::Random;

/// How often the queries are drawn anew.
const RESAMPLES: usize = 10_000;
/// The same draws every time, so that a figure does not change by itself.
const SEED: u64 = 20_240_101;
/// Which part of the draws may lie below the interval, and above it: one in forty, so that 95 % lie within.
const OUTSIDE_EACH_SIDE: usize = RESAMPLES / 40;

/// A mean difference and where 95 % of the draws lie.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Interval {
    pub(super) difference: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

/// The interval of each list of differences, one difference a query. All lists are of the same queries, which are drawn
/// together, so that what one query is worth is compared with itself.
pub(super) fn intervals(lists: &[Vec<f64>]) -> Vec<Interval> {
    let queries = lists.first().map_or(0, Vec::len);
    let mut random = Random::seeded(SEED);
    let mut draw = vec![0; queries];
    let mut means: Vec<Vec<f64>> = vec![Vec::with_capacity(RESAMPLES); lists.len()];
    for _ in 0..RESAMPLES {
        draw.fill_with(|| random.below(queries));
        for (list, means) in lists.iter().zip(&mut means) {
            let drawn = draw.iter().filter_map(|query| list.get(*query));
            means.push(mean(drawn, queries));
        }
    }
    lists
        .iter()
        .zip(means)
        .map(|(list, mut means)| {
            means.sort_unstable_by(f64::total_cmp);
            let at = |place: usize| means.get(place).copied().unwrap_or_default();
            Interval {
                difference: mean(list.iter(), queries),
                low: at(OUTSIDE_EACH_SIDE),
                high: at(RESAMPLES - 1 - OUTSIDE_EACH_SIDE),
            }
        })
        .collect()
}

fn mean<'a>(differences: impl Iterator<Item = &'a f64>, queries: usize) -> f64 {
    differences.sum::<f64>() / queries.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_holds_the_difference_and_narrows_with_its_spread() {
        let one_in_four: Vec<f64> = (0..400).map(|query| if query % 4 == 0 { 1.0 } else { 0.0 }).collect();
        let found = intervals(&[vec![0.1; 400], one_in_four.clone(), vec![0.0; 400]]);
        let [same, spread, none] = found.as_slice() else {
            panic!("{found:?}")
        };
        assert!(
            (same.low - 0.1).abs() < 1e-9 && (same.high - 0.1).abs() < 1e-9,
            "{same:?}"
        );
        assert_eq!((none.low, none.high), (0.0, 0.0));
        // The standard error is sqrt(0.25 × 0.75 / 400) = 0.02165, and 1.96 of them reach 0.0424 to each side.
        assert_eq!(spread.difference, 0.25);
        assert!((spread.low - 0.2076).abs() < 0.004, "{spread:?}");
        assert!((spread.high - 0.2924).abs() < 0.004, "{spread:?}");
        let alone = [one_in_four];
        assert_eq!(intervals(&alone), intervals(&alone));
    }

    #[test]
    fn without_queries_there_is_no_difference() {
        let none = Interval {
            difference: 0.0,
            low: 0.0,
            high: 0.0,
        };
        assert_eq!(intervals(&[Vec::new()]), [none]);
    }
}
