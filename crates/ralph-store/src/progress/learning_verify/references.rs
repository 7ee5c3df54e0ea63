//! References from learnings to other learnings and to the journal. Tasks may be deleted while learnings remain.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use rusqlite::{Connection, Transaction};

use super::super::columns::lossy_at;
use super::super::learning_removal::{REPLACED_BY_NOTHING, release_replaced};
use super::{LearningFault, LearningFaultKind};

/// Dangling references: the query that finds them, the problem, and the statement that removes them.
const DANGLING: [(&str, &str, &str); 6] = [
    (
        "SELECT id FROM learnings WHERE journal IS NOT NULL AND journal NOT IN (SELECT id FROM journal)",
        "its iteration is missing from the journal",
        "UPDATE learnings SET journal = NULL WHERE journal NOT IN (SELECT id FROM journal)",
    ),
    (
        "SELECT DISTINCT id FROM learning_sources JOIN learnings ON seq = learning
         WHERE learning_sources.journal NOT IN (SELECT id FROM journal)",
        "an iteration that reported it is missing from the journal",
        "DELETE FROM learning_sources WHERE journal NOT IN (SELECT id FROM journal)",
    ),
    (
        "SELECT DISTINCT 'number ' || learning FROM learning_sources WHERE learning NOT IN (SELECT seq FROM learnings)",
        "iterations refer to a missing learning",
        "DELETE FROM learning_sources WHERE learning NOT IN (SELECT seq FROM learnings)",
    ),
    (
        "SELECT DISTINCT 'number ' || learning FROM learning_signatures
         WHERE learning NOT IN (SELECT seq FROM learnings)",
        "failure signatures refer to a missing learning",
        "DELETE FROM learning_signatures WHERE learning NOT IN (SELECT seq FROM learnings)",
    ),
    (
        "SELECT DISTINCT 'number ' || learning FROM learning_versions
         WHERE learning NOT IN (SELECT seq FROM learnings)",
        "stored versions refer to a missing learning",
        "DELETE FROM learning_versions WHERE learning NOT IN (SELECT seq FROM learnings)",
    ),
    (
        "SELECT one || ' and ' || other FROM settled_conflicts
         WHERE one NOT IN (SELECT id FROM learnings) OR other NOT IN (SELECT id FROM learnings)",
        "a settled conflict refers to a missing learning",
        "DELETE FROM settled_conflicts
         WHERE one NOT IN (SELECT id FROM learnings) OR other NOT IN (SELECT id FROM learnings)",
    ),
];

/// Checks references and duplicates.
pub(super) fn faults(connection: &Connection) -> rusqlite::Result<Vec<LearningFault>> {
    let mut faults = orphans(connection)?;
    for (which, what, _) in DANGLING {
        for id in texts(connection, which)? {
            faults.push(LearningFault {
                kind: LearningFaultKind::Reference,
                id: Some(id),
                what: what.to_owned(),
            });
        }
    }
    faults.extend(superseding_cycles(connection)?);
    faults.extend(duplicates(connection)?);
    Ok(faults)
}

/// Learnings that are superseded by a missing one.
fn orphans(connection: &Connection) -> rusqlite::Result<Vec<LearningFault>> {
    connection
        .prepare_cached(&format!(
            "SELECT id, status IN ('pruned', 'rejected') FROM learnings WHERE {REPLACED_BY_NOTHING} ORDER BY seq"
        ))?
        .query_map([], |row| {
            let (kind, what) = match row.get::<_, Option<bool>>(1)?.unwrap_or_default() {
                true => (
                    LearningFaultKind::Reference,
                    "the learning that it was merged into is missing",
                ),
                false => (
                    LearningFaultKind::Replaced,
                    "the learning that supersedes it is missing",
                ),
            };
            Ok(LearningFault {
                kind,
                id: Some(lossy_at(row, 0)?),
                what: what.to_owned(),
            })
        })?
        .collect()
}

/// Learnings that supersede each other in a cycle, so that none of them is active.
fn superseding_cycles(connection: &Connection) -> rusqlite::Result<Vec<LearningFault>> {
    let mut statement =
        connection.prepare_cached("SELECT id, superseded_by FROM learnings WHERE superseded_by IS NOT NULL")?;
    let next: BTreeMap<String, String> = statement
        .query_map([], |row| Ok((lossy_at(row, 0)?, lossy_at(row, 1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    let mut seen = BTreeSet::new();
    let mut faults = Vec::new();
    for first in next.keys() {
        let mut path = Vec::new();
        let mut at = Some(first);
        while let Some(id) = at.filter(|id| seen.insert(id.as_str())) {
            path.push(id);
            at = next.get(id);
        }
        // Revisiting a node of this walk means a cycle.
        if let Some(id) = at.filter(|id| path.contains(id)) {
            faults.push(LearningFault {
                kind: LearningFaultKind::Ring,
                id: Some(id.clone()),
                what: "it is in a cycle of superseded learnings, so none of them is active".to_owned(),
            });
        }
    }
    Ok(faults)
}

/// Active or proposed learnings with the same words as an older one.
fn duplicates(connection: &Connection) -> rusqlite::Result<Vec<LearningFault>> {
    connection
        .prepare_cached(
            "WITH standing AS MATERIALIZED (
                 SELECT seq, id, kind, task_type,
                        coalesce(iif(kind = 'estimate' AND json_valid(facts), facts ->> 'complexity', NULL), lesson) AS says
                 FROM learnings
                 WHERE status IN ('promoted', 'validated', 'pending') AND superseded_by IS NULL AND lesson <> '')
             SELECT id, older FROM (
                 SELECT seq, id, first_value(id) OVER (PARTITION BY kind, task_type, says ORDER BY seq) AS older
                 FROM standing)
             WHERE id <> older ORDER BY seq",
        )?
        .query_map([], |row| {
            Ok(LearningFault {
                kind: LearningFaultKind::Duplicate,
                id: Some(lossy_at(row, 0)?),
                what: format!("it is a duplicate of {}", lossy_at(row, 1)?),
            })
        })?
        .collect()
}

pub(super) fn repair(transaction: &Transaction<'_>, now: Timestamp) -> rusqlite::Result<()> {
    release_replaced(transaction, now)?;
    for (_, _, take_out) in DANGLING {
        transaction.execute(take_out, [])?;
    }
    Ok(())
}

fn texts(connection: &Connection, sql: &str) -> rusqlite::Result<Vec<String>> {
    connection
        .prepare_cached(sql)?
        .query_map([], |row| lossy_at(row, 0))?
        .collect()
}
