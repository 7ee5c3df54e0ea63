//! Verifies learnings: the integrity of the database, and use counts, which are recomputed from the journal and the
//! injections.

use std::collections::{BTreeSet, HashMap};

use ralph_model::{Learning, LearningId, LearningKind, counted_success_rate};
use rusqlite::{Connection, Transaction, params};

use super::Store;
use super::columns::moment;
use super::health::{Depth, faults};
use super::learning_parts::IS_PART;
use super::learning_reading::read_learning;
use super::settle::IS_COUNTED;
use crate::StoreError;

/// Tolerance for equal rates.
const SAME: f64 = 1e-9;

/// A problem with a learning, or with the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LearningFault {
    /// The learning whose counts differ from the journal; `None` for damage of the database.
    pub id: Option<LearningId>,
    /// A sentence without a period.
    pub what: String,
}

impl Store {
    /// Returns every problem with learnings.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn verify_learnings(&self) -> Result<Vec<LearningFault>, StoreError> {
        self.sql((|| {
            let moment = self.begin_read()?;
            let damage = faults(&moment, Depth::Full)?;
            let damage = damage.into_iter().map(|what| LearningFault { id: None, what });
            let miscounted = miscounted(&moment)?;
            let miscounted = miscounted.iter().map(|(learning, counted)| LearningFault {
                id: Some(learning.id.clone()),
                what: counted.difference(learning),
            });
            Ok(damage.chain(miscounted).collect())
        })())
    }

    /// Recomputes wrong counts and returns the ids of their learnings.
    ///
    /// # Errors
    /// When the database cannot be written; then nothing is repaired.
    pub fn recount_learnings(&mut self) -> Result<Vec<LearningId>, StoreError> {
        self.write(|transaction| {
            let mut recounted = Vec::new();
            for (learning, counted) in miscounted(transaction)? {
                counted.write(transaction, &learning.id)?;
                recounted.push(learning.id);
            }
            Ok(recounted)
        })
    }
}

/// Learnings whose counts differ from the journal, with the right ones, oldest first.
fn miscounted(connection: &Connection) -> rusqlite::Result<Vec<(Learning, Counts)>> {
    let (injected, merged) = (injected(connection)?, merged(connection)?);
    let mut statement = connection.prepare_cached("SELECT * FROM learnings ORDER BY seq")?;
    let mut wrong = Vec::new();
    for learning in statement.query_map([], read_learning)? {
        let learning = learning?;
        let counts = Counts::of(&learning, &injected, &merged);
        if !counts.are_of(&learning) {
            wrong.push((learning, counts));
        }
    }
    Ok(wrong)
}

/// The uses of a learning, and those of all learnings that were merged into it.
#[derive(Debug, Clone, Default)]
struct Uses {
    uses: u32,
    successes: u32,
    /// When the last iteration that had it in the prompt ended, as the column stores it.
    last: Option<String>,
}

/// The columns of a learning that follow from its uses.
struct Counts {
    use_count: u32,
    successes: u32,
    rate: f64,
    last: Option<String>,
}

impl Counts {
    fn of(learning: &Learning, injected: &HashMap<String, Uses>, merged: &HashMap<String, Vec<String>>) -> Self {
        let mut sum = Uses::default();
        let mut seen = BTreeSet::from([learning.id.as_str()]);
        let mut open = vec![learning.id.as_str()];
        while let Some(id) = open.pop() {
            if let Some(part) = injected.get(id) {
                sum.uses += part.uses;
                sum.successes += part.successes;
                sum.last = sum.last.max(part.last.clone());
            }
            let members = merged.get(id).into_iter().flatten().map(String::as_str);
            open.extend(members.filter(|member| seen.insert(member)));
        }
        Self {
            use_count: learning.first_use_count.saturating_add(sum.uses),
            successes: sum.successes,
            rate: match learning.kind {
                LearningKind::Antipattern => learning.success_rate,
                _ => counted_success_rate(learning.first_success_rate, sum.successes, sum.uses),
            },
            last: learning.last_used_at.map(moment).max(sum.last),
        }
    }

    fn are_of(&self, learning: &Learning) -> bool {
        self.use_count == learning.use_count
            && self.successes == learning.successes
            && (self.rate - learning.success_rate).abs() < SAME
            && self.last == learning.last_used_at.map(moment)
    }

    fn difference(&self, learning: &Learning) -> String {
        let last = self
            .last
            .as_deref()
            .filter(|_| self.last != learning.last_used_at.map(moment));
        format!(
            "it counts {} uses, {} of them done, and a success rate of {:.3}; the journal says {}, {} and {:.3}{}",
            learning.use_count,
            learning.successes,
            learning.success_rate,
            self.use_count,
            self.successes,
            self.rate,
            last.map(|last| format!("; and it was last injected {last}"))
                .unwrap_or_default()
        )
    }

    fn write(&self, transaction: &Transaction<'_>, id: &LearningId) -> rusqlite::Result<()> {
        transaction
            .prepare_cached(
                "UPDATE learnings SET use_count = ?2, successes = ?3, success_rate = ?4, last_used_at = ?5 WHERE id = ?1",
            )?
            .execute(params![id.as_str(), self.use_count, self.successes, self.rate, self.last])
            .map(drop)
    }
}

/// Each iteration counts once per learning, however often its prompt had it; iterations that are not evidence do not
/// count.
fn injected(connection: &Connection) -> rusqlite::Result<HashMap<String, Uses>> {
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
            let uses = Uses {
                uses: row.get(1)?,
                successes: row.get(2)?,
                last: row.get(4)?,
            };
            Ok((row.get(0)?, uses))
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
        merged.entry(row.get(1)?).or_default().push(row.get(0)?);
    }
    Ok(merged)
}
