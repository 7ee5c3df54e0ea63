//! The failures that lessons warn of, by their signatures.

use ralph_model::{LearningId, Signature};
use rusqlite::{Transaction, params};

/// Notes that a lesson warns of failures.
pub(super) fn note_warnings(
    transaction: &Transaction<'_>,
    id: &LearningId,
    signatures: &[Signature],
) -> rusqlite::Result<()> {
    let mut statement = transaction.prepare_cached(
        "INSERT OR IGNORE INTO learning_signatures (signature, learning) SELECT ?1, seq FROM learnings WHERE id = ?2",
    )?;
    for signature in signatures {
        statement.execute(params![signature.as_str(), id.as_str()])?;
    }
    Ok(())
}

/// Notes that a lesson warns of all that another one warns of.
pub(super) fn take_warnings(transaction: &Transaction<'_>, id: &LearningId, of: &LearningId) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "INSERT OR IGNORE INTO learning_signatures (signature, learning)
                 SELECT signature, (SELECT seq FROM learnings WHERE id = ?1) FROM learning_signatures
                 WHERE learning = (SELECT seq FROM learnings WHERE id = ?2)",
        )?
        .execute(params![id.as_str(), of.as_str()])
        .map(drop)
}
