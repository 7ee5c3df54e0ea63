//! The failures that learnings warn of, by signature.

use ralph_model::{LearningId, Signature};
use rusqlite::{Transaction, params};

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

/// Copies the failures that another learning warns of.
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
