//! Learnings and journal entries in the index, by the revision of the fact store: it grows with every change, and the
//! store knows which rows changed after one.

use ralph_store::{ChangedFact, FactKind, Revision, SearchText, Store, StoreError};

use crate::index::{Age, Index, IndexError, NewFact, Update};
use crate::{DocId, DocKind};

/// How many changes are read at a time.
const BATCH: usize = 1_000;

pub(super) fn is_current(index: &Index, store: &Store) -> Result<bool, IndexError> {
    Ok(indexed(index)? == Some(store.revision()?))
}

/// Brings the index up to date with the store.
pub(super) fn catch_up(update: &mut Update<'_>, store: &Store) -> Result<(), IndexError> {
    let known = indexed(update.index())?;
    let _snapshot = store.snapshot()?;
    let revision = store.revision()?;
    if known == Some(revision) {
        return Ok(());
    }
    // A restored backup has another epoch, and a database that was copied by hand an older revision.
    let mut after = match known {
        Some(known) if known.epoch == revision.epoch && known.number <= revision.number => known.number,
        _ => {
            update.remove_all(DocKind::Learning)?;
            update.remove_all(DocKind::Journal)?;
            0
        }
    };
    loop {
        let changed = store.facts_changed_after(after, BATCH)?;
        let Some(last) = changed.last() else { break };
        after = last.revision;
        for (kind, fact) in [
            (DocKind::Learning, FactKind::Learning),
            (DocKind::Journal, FactKind::Journal),
        ] {
            put(update, store, (kind, fact), &changed)?;
        }
    }
    for kind in [DocKind::Learning, DocKind::Journal] {
        update.index().put_kind_stamp(kind, Some(&to_bytes(revision)))?;
    }
    Ok(())
}

fn put(
    update: &mut Update<'_>,
    store: &Store,
    (kind, fact): (DocKind, FactKind),
    changed: &[ChangedFact],
) -> Result<(), IndexError> {
    let rows: Vec<i64> = changed
        .iter()
        .filter(|change| change.kind == fact)
        .map(|change| change.row)
        .collect();
    let texts = store.search_texts(fact, &rows)?;
    let mut found = texts.into_iter().peekable();
    // Both are in the order of the rows.
    for row in rows {
        match found.next_if(|text| text.row == row) {
            Some(text) => update.put_fact(&document(kind, text))?,
            None => update.remove_fact(kind, row)?,
        }
    }
    Ok(())
}

fn document(kind: DocKind, text: SearchText) -> NewFact {
    NewFact {
        id: DocId { kind, id: text.id },
        age: Age {
            created: text.created_at.strftime("%Y-%m-%d").to_string(),
            second: text.created_at.as_second(),
            place: text.row,
        },
        topic: text.topic,
        text: text.text,
        tags: text.tags,
        is_matched_by_tags: text.is_matched_by_tags,
    }
}

fn indexed(index: &Index) -> Result<Option<Revision>, IndexError> {
    Ok(index
        .kind_stamp(DocKind::Learning)?
        .and_then(|bytes| from_bytes(&bytes)))
}

fn to_bytes(revision: Revision) -> [u8; 16] {
    let mut bytes = [0; 16];
    let (number, epoch) = bytes.split_at_mut(8);
    number.copy_from_slice(&revision.number.to_le_bytes());
    epoch.copy_from_slice(&revision.epoch.to_le_bytes());
    bytes
}

fn from_bytes(bytes: &[u8]) -> Option<Revision> {
    let (number, epoch) = bytes.split_at_checked(8)?;
    Some(Revision {
        epoch: i64::from_le_bytes(epoch.try_into().ok()?),
        number: i64::from_le_bytes(number.try_into().ok()?),
    })
}

impl From<StoreError> for IndexError {
    fn from(error: StoreError) -> Self {
        Self::Facts(error)
    }
}
