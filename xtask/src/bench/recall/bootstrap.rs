//! Bootstrap confidence intervals for the difference between two systems.

use crate::random::Random;

/// The number of bootstrap samples.
const RESAMPLES: usize = 10_000;
/// A fixed seed, so that results are reproducible.
const SEED: u64 = 20_240_101;
/// How many samples are below the interval, and above it: one in forty each, so 95 % are inside.
const OUTSIDE_EACH_SIDE: usize = RESAMPLES / 40;

/// A mean difference and its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Interval {
    pub(super) difference: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

/// The interval of each list of differences, with one difference per query. All lists are resampled with the same
/// draws, so that they stay paired.
pub(super) fn intervals(lists: &[Vec<f64>]) -> Vec<Interval> {
    let queries = lists.first().map_or(0, Vec::len);
    let mut random = Random::seeded(SEED);
    let mut extract_learnings = vec![0; queries];
    let mut means: Vec<Vec<f64>> = vec![Vec::with_capacity(RESAMPLES); lists.len()];
    for _ in 0..RESAMPLES {
        extract_learnings.fill_with(|| random.below(queries));
        for (list, means) in lists.iter().zip(&mut means) {
            let drawn = extract_learnings.iter().filter_map(|query| list.get(*query));
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
    fn interval_contains_the_difference() {
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
        // The standard error is sqrt(0.25 × 0.75 / 400) = 0.02165; 1.96 standard errors are 0.0424.
        assert_eq!(spread.difference, 0.25);
        assert!((spread.low - 0.2076).abs() < 0.004, "{spread:?}");
        assert!((spread.high - 0.2924).abs() < 0.004, "{spread:?}");
        let alone = [one_in_four];
        assert_eq!(intervals(&alone), intervals(&alone));
    }

    #[test]
    fn no_queries_means_no_difference() {
        let none = Interval {
            difference: 0.0,
            low: 0.0,
            high: 0.0,
        };
        assert_eq!(intervals(&[Vec::new()]), [none]);
    }
}
