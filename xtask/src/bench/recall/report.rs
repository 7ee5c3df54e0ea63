//! The results on a set, as a table for people and JSON for programs.

use std::time::Duration;

use serde_json::{Value, json};

use super::bootstrap::{Interval, intervals};
use super::measures::Scores;
use super::set::Set;
use super::systems::PEER;
use crate::bench::table::{Side, table};

#[derive(Debug)]
pub(super) struct Measured {
    pub(super) name: &'static str,
    /// One per query, in the same order for all systems.
    pub(super) scores: Vec<Scores>,
    pub(super) loading: Duration,
    pub(super) asking: Duration,
}

/// The results of all systems.
#[derive(Debug)]
pub(super) struct Report<'s> {
    pub(super) set: &'s Set,
    rows: Vec<Row>,
}

#[derive(Debug)]
struct Row {
    measured: Measured,
    mean: Scores,
    /// The differences from the peer; none for the peer itself.
    against_peer: Option<Differences>,
}

#[derive(Debug)]
struct Differences {
    ndcg_10: Interval,
    recall_10: Interval,
}

impl<'s> Report<'s> {
    pub(super) fn new(set: &'s Set, measured: Vec<Measured>) -> Self {
        let peer: Vec<Scores> = measured
            .iter()
            .find(|measured| measured.name == PEER)
            .map(|measured| measured.scores.clone())
            .unwrap_or_default();
        let differences = |measured: &Measured, part: fn(&Scores) -> f64| -> Vec<f64> {
            let both = measured.scores.iter().zip(&peer);
            both.map(|(one, peer)| part(one) - part(peer)).collect()
        };
        let lists: Vec<Vec<f64>> = measured
            .iter()
            .flat_map(|measured| {
                [
                    differences(measured, |scores| scores.ndcg_10),
                    differences(measured, |scores| scores.recall_10),
                ]
            })
            .collect();
        let found = intervals(&lists);
        let rows = measured
            .into_iter()
            .zip(found.chunks(2))
            .map(|(measured, found)| Row {
                mean: Scores::mean(&measured.scores),
                against_peer: match found {
                    [ndcg_10, recall_10] if measured.name != PEER => Some(Differences {
                        ndcg_10: *ndcg_10,
                        recall_10: *recall_10,
                    }),
                    _ => None,
                },
                measured,
            })
            .collect();
        Self { set, rows }
    }

    pub(super) fn mean(&self, name: &str) -> Scores {
        let row = self.rows.iter().find(|row| row.measured.name == name);
        row.map(|row| row.mean).unwrap_or_default()
    }

    /// The table, below a summary of the set.
    pub(super) fn table(&self) -> String {
        let nearer = format!("nDCG@10 − {PEER} [95 %]");
        let found = format!("recall@10 − {PEER} [95 %]");
        let titles = [
            "system",
            "recall@5",
            "recall@10",
            "MRR@10",
            "nDCG@10",
            "nothing",
            &nearer,
            &found,
            "loading",
            "asking",
        ];
        let mut rows = vec![titles.map(str::to_owned)];
        rows.extend(self.rows.iter().map(Row::cells));
        let mut sides = [Side::Right; 10];
        sides[0] = Side::Left;
        let Set { name, projects, .. } = self.set;
        format!(
            "{name}: documents {}, projects {}, queries with an answer {} of {}\n{}",
            self.set.documents(),
            projects.len(),
            self.measured_queries(),
            self.set.queries,
            table(sides, &rows)
        )
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "set": self.set.name,
            "documents": self.set.documents(),
            "projects": self.set.projects.len(),
            "queries": self.set.queries,
            "queries_measured": self.measured_queries(),
            "systems": self.rows.iter().map(Row::json).collect::<Vec<_>>(),
        })
    }

    fn measured_queries(&self) -> usize {
        self.rows.first().map_or(0, |row| row.measured.scores.len())
    }
}

impl Row {
    fn cells(&self) -> [String; 10] {
        let Scores {
            recall_5,
            recall_10,
            reciprocal_rank,
            ndcg_10,
            nothing,
        } = self.mean;
        let share = |value: f64| format!("{value:.3}");
        let against = |part: fn(&Differences) -> Interval| {
            self.against_peer
                .as_ref()
                .map(part)
                .map_or_else(String::new, |interval| {
                    let Interval { difference, low, high } = interval;
                    format!("{difference:+.3} [{low:+.3}, {high:+.3}]")
                })
        };
        [
            self.measured.name.to_owned(),
            share(recall_5),
            share(recall_10),
            share(reciprocal_rank),
            share(ndcg_10),
            format!("{:.1} %", nothing * 100.0),
            against(|differences| differences.ndcg_10),
            against(|differences| differences.recall_10),
            format!("{:.2} s", self.measured.loading.as_secs_f64()),
            format!("{:.2} s", self.measured.asking.as_secs_f64()),
        ]
    }

    fn json(&self) -> Value {
        let digits = |value: f64| (value * 10_000.0).round() / 10_000.0;
        let interval = |interval: Interval| {
            json!({
                "difference": digits(interval.difference),
                "low": digits(interval.low),
                "high": digits(interval.high),
            })
        };
        json!({
            "system": self.measured.name,
            "recall_at_5": digits(self.mean.recall_5),
            "recall_at_10": digits(self.mean.recall_10),
            "mrr_at_10": digits(self.mean.reciprocal_rank),
            "ndcg_at_10": digits(self.mean.ndcg_10),
            "nothing_returned": digits(self.mean.nothing),
            "against_bm25": self.against_peer.as_ref().map(|differences| json!({
                "ndcg_at_10": interval(differences.ndcg_10),
                "recall_at_10": interval(differences.recall_10),
            })),
            "loading_seconds": digits(self.measured.loading.as_secs_f64()),
            "asking_seconds": digits(self.measured.asking.as_secs_f64()),
        })
    }
}
