//! Use counts of learnings, recomputed from the journal and the injections.

use std::collections::{BTreeSet, HashMap};

use ralph_model::{Learning, LearningKind, counted_success_rate};
use rusqlite::{Connection, Transaction, params};

use super::super::columns::{lossy_at, moment};
use super::super::learning_parts::IS_PART;
use super::super::learning_reading::AllowedTypes;
use super::super::settle::IS_COUNTED;
use super::{LearningFault, LearningFaultKind, fault_of};

/// Tolerance for equal rates.
const SAME: f64 = 1e-9;

#[derive(Debug, Clone, Default)]
struct Counted {
    uses: u32,
    successes: u32,
    /// When the last iteration that had it in the prompt ended, as the column stores it.
    last_used_at: Option<String>,
}

/// Counts of every injected learning, and which were merged into which.
pub(super) struct Counters {
    shown: HashMap<String, Counted>,
    merged: HashMap<String, Vec<String>>,
}

impl Counters {
    pub(super) fn of(connection: &Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            shown: shown(connection)?,
            merged: merged(connection)?,
        })
    }

    /// Counts of a learning including those that were merged into it.
    fn counted(&self, id: &str) -> Counted {
        let mut sum = Counted::default();
        let mut seen = BTreeSet::from([id]);
        let mut open = vec![id];
        while let Some(id) = open.pop() {
            if let Some(shown) = self.shown.get(id) {
                sum.uses += shown.uses;
                sum.successes += shown.successes;
                sum.last_used_at = sum.last_used_at.max(shown.last_used_at.clone());
            }
            let members = self.merged.get(id).into_iter().flatten().map(String::as_str);
            open.extend(members.filter(|member| seen.insert(member)));
        }
        sum
    }

    fn expected(&self, learning: &Learning) -> Expected {
        let counted = self.counted(learning.id.as_str());
        let rate = match learning.kind {
            LearningKind::Antipattern => learning.success_rate,
            LearningKind::Strategy | LearningKind::Estimate | LearningKind::Convention => {
                counted_success_rate(learning.first_success_rate, counted.successes, counted.uses)
            }
        };
        let last = learning.last_used_at.map(moment).max(counted.last_used_at);
        Expected {
            use_count: learning.first_use_count.saturating_add(counted.uses),
            successes: counted.successes,
            rate,
            last,
        }
    }

    pub(super) fn fault(&self, learning: &Learning) -> Option<LearningFault> {
        let expected = self.expected(learning);
        if expected.is_of(learning) {
            return None;
        }
        let what = format!(
            "it counts {} uses, {} of them done, and a success rate of {:.3}; the journal says {}, {} and {:.3}",
            learning.use_count,
            learning.successes,
            learning.success_rate,
            expected.use_count,
            expected.successes,
            expected.rate
        );
        let is_late = expected.last != learning.last_used_at.map(moment);
        let late = expected.last.as_deref().filter(|_| is_late);
        let what = match late {
            Some(last) => format!("{what}; and it was last injected {last}"),
            None => what,
        };
        Some(fault_of(LearningFaultKind::Counters, learning, what))
    }
}

/// The expected counts.
struct Expected {
    use_count: u32,
    successes: u32,
    rate: f64,
    last: Option<String>,
}

impl Expected {
    fn is_of(&self, learning: &Learning) -> bool {
        self.use_count == learning.use_count
            && self.successes == learning.successes
            && (self.rate - learning.success_rate).abs() < SAME
            && self.last == learning.last_used_at.map(moment)
    }
}

/// Each iteration counts once per learning, however often its prompt had it; iterations that are not evidence do not
/// count.
fn shown(connection: &Connection) -> rusqlite::Result<HashMap<String, Counted>> {
    connection
        .prepare_cached(&format!(
            "SELECT entry, count(*), sum(outcome = 'done'), max(journal.id), created_at FROM (
                 SELECT DISTINCT entry, injections.journal AS shown_in
                 FROM injections JOIN learnings ON learnings.id = entry
                 WHERE injections.kind = 'learning' AND injections.reason = 'shown'
                       AND injections.journal > counted_since)
             JOIN journal ON journal.id = shown_in WHERE {IS_COUNTED} GROUP BY entry",
        ))?
        .query_map([], |row| {
            let counted = Counted {
                uses: row.get(1)?,
                successes: row.get(2)?,
                last_used_at: Some(lossy_at(row, 4)?),
            };
            Ok((lossy_at(row, 0)?, counted))
        })?
        .collect()
}

/// Maps learnings to those merged into them. Superseded ones are not included.
fn merged(connection: &Connection) -> rusqlite::Result<HashMap<String, Vec<String>>> {
    let mut merged = HashMap::<String, Vec<String>>::new();
    let mut statement = connection.prepare_cached(&format!(
        "SELECT member.id, survivor.id FROM learnings AS member JOIN learnings AS survivor
             ON survivor.id = member.superseded_by
         WHERE {IS_PART}",
    ))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        merged.entry(lossy_at(row, 1)?).or_default().push(lossy_at(row, 0)?);
    }
    Ok(merged)
}

/// Recomputes wrong counts.
pub(super) fn repair(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    let counters = Counters::of(transaction)?;
    let mut statement = transaction.prepare_cached("SELECT * FROM learnings ORDER BY seq")?;
    let allowed = AllowedTypes::of(transaction)?;
    let learnings = statement.query_map([], |row| Ok(allowed.read(row).ok()))?;
    let wrong: Vec<(Learning, Expected)> = learnings
        .filter_map(Result::transpose)
        .map(|learning| learning.map(|learning| (counters.expected(&learning), learning)))
        .filter(|expected| {
            !expected
                .as_ref()
                .is_ok_and(|(expected, learning)| expected.is_of(learning))
        })
        .map(|expected| expected.map(|(expected, learning)| (learning, expected)))
        .collect::<rusqlite::Result<_>>()?;
    let mut write = transaction.prepare_cached(
        "UPDATE learnings SET use_count = ?2, successes = ?3, success_rate = ?4, last_used_at = ?5 WHERE id = ?1",
    )?;
    for (learning, expected) in wrong {
        write.execute(params![
            learning.id.as_str(),
            expected.use_count,
            expected.successes,
            expected.rate,
            expected.last
        ])?;
    }
    Ok(())
}
