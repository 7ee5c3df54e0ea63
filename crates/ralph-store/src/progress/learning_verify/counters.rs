//! What lessons count, drawn anew from the journal and from what was shown.

use std::collections::{BTreeSet, HashMap};

use ralph_model::{Learning, LearningKind, counted_success_rate};
use rusqlite::{Connection, Transaction, params};

use super::super::columns::{lossy_at, moment};
use super::super::learning_parts::IS_PART;
use super::super::learning_reading::AllowedTypes;
use super::super::settle::IS_COUNTED;
use super::{LearningFault, LearningFaultKind, fault_of};

/// How far two rates may be apart that are the same.
const SAME: f64 = 1e-9;

/// What the journal says of a lesson.
#[derive(Debug, Clone, Default)]
struct Counted {
    uses: u32,
    successes: u32,
    /// When the last iteration that saw it ended, as the column has it.
    last_used_at: Option<String>,
}

/// What the journal says of every lesson that was shown, and which were merged into which.
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

    /// What a lesson has to count: what itself was shown, and what was merged into it.
    fn counted(&self, id: &str) -> Counted {
        let mut sum = Counted::default();
        let mut met = BTreeSet::from([id]);
        let mut open = vec![id];
        while let Some(id) = open.pop() {
            if let Some(shown) = self.shown.get(id) {
                sum.uses += shown.uses;
                sum.successes += shown.successes;
                sum.last_used_at = sum.last_used_at.max(shown.last_used_at.clone());
            }
            let members = self.merged.get(id).into_iter().flatten().map(String::as_str);
            open.extend(members.filter(|member| met.insert(member)));
        }
        sum
    }

    /// What a lesson should say of its uses.
    fn due(&self, learning: &Learning) -> Due {
        let counted = self.counted(learning.id.as_str());
        let rate = match learning.kind {
            LearningKind::Antipattern => learning.success_rate,
            LearningKind::Strategy | LearningKind::Estimate | LearningKind::Convention => {
                counted_success_rate(learning.first_success_rate, counted.successes, counted.uses)
            }
        };
        let last = learning.last_used_at.map(moment).max(counted.last_used_at);
        Due {
            use_count: learning.first_use_count.saturating_add(counted.uses),
            successes: counted.successes,
            rate,
            last,
        }
    }

    /// What is wrong with the counts of a lesson.
    pub(super) fn fault(&self, learning: &Learning) -> Option<LearningFault> {
        let due = self.due(learning);
        if due.is_of(learning) {
            return None;
        }
        let what = format!(
            "it counts {} uses, {} of them done, and a success rate of {:.3}; the journal says {}, {} and {:.3}",
            learning.use_count, learning.successes, learning.success_rate, due.use_count, due.successes, due.rate
        );
        let is_late = due.last != learning.last_used_at.map(moment);
        let late = due.last.as_deref().filter(|_| is_late);
        let what = match late {
            Some(last) => format!("{what}; and it was last shown {last}"),
            None => what,
        };
        Some(fault_of(LearningFaultKind::Counters, learning, what))
    }
}

/// What a lesson should say of its uses.
struct Due {
    use_count: u32,
    successes: u32,
    rate: f64,
    last: Option<String>,
}

impl Due {
    fn is_of(&self, learning: &Learning) -> bool {
        self.use_count == learning.use_count
            && self.successes == learning.successes
            && (self.rate - learning.success_rate).abs() < SAME
            && self.last == learning.last_used_at.map(moment)
    }
}

/// Every iteration counts once for a lesson, however often it stood in its prompt; one that says nothing about it does
/// not.
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

/// The lessons that were merged into others, by those. One that was merely replaced is no part of the other one.
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

/// Counts anew wherever it is wrong.
pub(super) fn mend(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    let counters = Counters::of(transaction)?;
    let mut statement = transaction.prepare_cached("SELECT * FROM learnings ORDER BY seq")?;
    let allowed = AllowedTypes::of(transaction)?;
    let learnings = statement.query_map([], |row| Ok(allowed.read(row).ok()))?;
    let wrong: Vec<(Learning, Due)> = learnings
        .filter_map(Result::transpose)
        .map(|learning| learning.map(|learning| (counters.due(&learning), learning)))
        .filter(|due| !due.as_ref().is_ok_and(|(due, learning)| due.is_of(learning)))
        .map(|due| due.map(|(due, learning)| (learning, due)))
        .collect::<rusqlite::Result<_>>()?;
    let mut write = transaction.prepare_cached(
        "UPDATE learnings SET use_count = ?2, successes = ?3, success_rate = ?4, last_used_at = ?5 WHERE id = ?1",
    )?;
    for (learning, due) in wrong {
        write.execute(params![
            learning.id.as_str(),
            due.use_count,
            due.successes,
            due.rate,
            due.last
        ])?;
    }
    Ok(())
}
