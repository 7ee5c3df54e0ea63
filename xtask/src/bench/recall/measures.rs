//! Quality measures of search results.

/// How many results are requested; lower ranks do not count.
pub(super) const DEPTH: usize = 10;

/// The relevant documents of a query with their grades; neither the list nor a grade is ever zero.
pub(super) type Relevant = Vec<(usize, u32)>;

/// The scores of one query, or the mean of many.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Scores {
    /// The share of relevant documents in the first five results.
    pub(super) recall_5: f64,
    /// The share of relevant documents in the first ten results.
    pub(super) recall_10: f64,
    /// The reciprocal rank of the first relevant document.
    pub(super) reciprocal_rank: f64,
    /// The discounted cumulative gain, relative to that of the ideal order.
    pub(super) ndcg_10: f64,
    /// 1 if nothing was returned.
    pub(super) nothing: f64,
}

impl Scores {
    /// The scores of results, best first.
    pub(super) fn of(results: &[usize], relevant: &Relevant) -> Self {
        let grades: Vec<u32> = results
            .iter()
            .take(DEPTH)
            .map(|result| {
                let known = relevant.iter().find(|(document, _)| document == result);
                known.map_or(0, |(_, grade)| *grade)
            })
            .collect();
        let found = |first: usize| grades.iter().take(first).filter(|grade| **grade > 0).count();
        let first = grades.iter().position(|grade| *grade > 0);
        let mut ideal: Vec<u32> = relevant.iter().map(|(_, grade)| *grade).collect();
        ideal.sort_unstable_by(|one, other| other.cmp(one));
        Self {
            recall_5: found(5) as f64 / relevant.len() as f64,
            recall_10: found(10) as f64 / relevant.len() as f64,
            reciprocal_rank: first.map_or(0.0, |place| 1.0 / (place + 1) as f64),
            ndcg_10: gain(&grades) / gain(&ideal),
            nothing: if results.is_empty() { 1.0 } else { 0.0 },
        }
    }

    /// The mean of many scores; all zero for none.
    pub(super) fn mean(all: &[Self]) -> Self {
        let mean = |part: fn(&Self) -> f64| all.iter().map(part).sum::<f64>() / all.len().max(1) as f64;
        Self {
            recall_5: mean(|scores| scores.recall_5),
            recall_10: mean(|scores| scores.recall_10),
            reciprocal_rank: mean(|scores| scores.reciprocal_rank),
            ndcg_10: mean(|scores| scores.ndcg_10),
            nothing: mean(|scores| scores.nothing),
        }
    }
}

/// The discounted gain of the first ten grades.
fn gain(grades: &[u32]) -> f64 {
    (2_u32..)
        .zip(grades.iter().take(10))
        .map(|(place, grade)| (f64::from(*grade).exp2() - 1.0) / f64::from(place).log2())
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(results: &[usize], relevant: &[(usize, u32)], expected: [f64; 4]) {
        let scores = Scores::of(results, &relevant.to_vec());
        let measured = [
            scores.recall_5,
            scores.recall_10,
            scores.reciprocal_rank,
            scores.ndcg_10,
        ];
        let close = measured
            .iter()
            .zip(expected)
            .all(|(one, other)| (one - other).abs() < 1e-4);
        assert!(close, "{measured:?} instead of {expected:?}");
    }

    #[test]
    fn measures_match_manual_calculation() {
        check(&[7], &[(7, 1)], [1.0, 1.0, 1.0, 1.0]);
        check(&[], &[(7, 1)], [0.0; 4]);
        // Rank 3: 1 / log2(4).
        check(&[1, 2, 7], &[(7, 1)], [1.0, 1.0, 1.0 / 3.0, 0.5]);
        // Ranks 1 and 6 of three: (1 + 1/log2 7) / (1 + 1/log2 3 + 1/log2 4) = 1.35621 / 2.13093.
        let six = [7, 1, 2, 3, 4, 8];
        check(&six, &[(7, 1), (8, 1), (9, 1)], [1.0 / 3.0, 2.0 / 3.0, 1.0, 0.63644]);
        // Grades 1 then 3, in the wrong order: (1 + 7/log2 3) / (7 + 1/log2 3) = 5.41651 / 7.63093.
        check(&[1, 2], &[(1, 1), (2, 3)], [1.0, 1.0, 1.0, 0.70981]);
        // Rank 11 does not count.
        let eleven: Vec<usize> = (0..11).collect();
        check(&eleven, &[(10, 1)], [0.0; 4]);
        check(&eleven, &[(9, 1)], [0.0, 1.0, 0.1, 0.28906]);
        // Ten of twelve relevant documents are returned, which is ideal.
        let twelve: Vec<(usize, u32)> = (0..12).map(|document| (document, 1)).collect();
        check(&eleven, &twelve, [5.0 / 12.0, 10.0 / 12.0, 1.0, 1.0]);
    }

    #[test]
    fn means_cover_all_queries() {
        let relevant = vec![(7, 1)];
        let all = [Scores::of(&[7], &relevant), Scores::of(&[], &relevant)];
        let mean = Scores::mean(&all);
        assert_eq!((mean.recall_10, mean.ndcg_10, mean.nothing), (0.5, 0.5, 0.5));
        assert_eq!(Scores::mean(&[]), Scores::default());
    }
}
