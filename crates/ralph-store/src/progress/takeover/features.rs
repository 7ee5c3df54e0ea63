//! Imported features. One that has the name of a feature here is that feature.

use ralph_model::{FeatureId, FeatureName, MAX_FEATURE_NAME_BYTES};
use rusqlite::params;

use super::ForeignFeature;
use super::ids::feature_ids;
use super::importing::Import;
use crate::progress::columns::{moment, word_at};

/// What a name begins with that was none by itself.
const PREFIX: &str = "feature-";

/// Puts the features in.
pub(super) fn add(import: &mut Import<'_>, features: &[ForeignFeature]) -> rusqlite::Result<()> {
    let mut known: Vec<(FeatureId, FeatureName)> = import
        .transaction
        .prepare("SELECT id, name FROM features")?
        .query_map([], |row| {
            let name = word_at(row, "name", |name| FeatureName::new(name).ok())?;
            Ok((word_at(row, "id", FeatureId::parse)?, name))
        })?
        .collect::<rusqlite::Result<_>>()?;
    for feature in features {
        let (name, fault) = name_of(&feature.name);
        let Some(name) = name else {
            import.remark(&feature.name, "it can have no name here: left out");
            continue;
        };
        if let Some((id, _)) = known.iter().find(|(_, other)| other.is(name.as_str())) {
            import.features.insert(feature.id.clone(), id.clone());
            import.done.features.known += 1;
            continue;
        }
        if let Some(fault) = fault {
            let text = format!("{fault}: it is {name} here, and its folder must be called so to be found");
            import.remark(&feature.name, text);
        }
        let Some(id) = free_id(import, &feature.id)? else {
            continue;
        };
        import
            .transaction
            .prepare_cached("INSERT INTO features (id, name, created_at, updated_at) VALUES (?1, ?2, ?3, ?4)")?
            .execute(params![
                id.as_str(),
                name.as_str(),
                moment(feature.created_at),
                moment(feature.updated_at)
            ])?;
        known.push((id.clone(), name));
        import.features.insert(feature.id.clone(), id);
        import.done.features.added += 1;
    }
    Ok(())
}

fn free_id(import: &Import<'_>, there: &str) -> rusqlite::Result<Option<FeatureId>> {
    for id in feature_ids(import.tool, there) {
        if import
            .text("SELECT id FROM features WHERE id = ?1", id.as_str())?
            .is_none()
        {
            return Ok(Some(id));
        }
    }
    Ok(None)
}

/// The name that a feature has here, and why that is not its own.
fn name_of(text: &str) -> (Option<FeatureName>, Option<String>) {
    let fault = match FeatureName::new(text) {
        Ok(name) => return (Some(name), None),
        Err(fault) => fault.to_string(),
    };
    let mended: String = text
        .chars()
        .map(|sign| {
            if sign.is_alphanumeric() || "-_.".contains(sign) {
                sign
            } else {
                '-'
            }
        })
        .collect();
    let mended = mended.trim_matches(['-', '.']);
    let name = FeatureName::new(&cut(mended)).or_else(|_| FeatureName::new(&cut(&format!("{PREFIX}{mended}"))));
    (name.ok(), Some(fault))
}

/// The beginning of a text that is no longer than a name may be.
fn cut(text: &str) -> String {
    let mut kept = String::new();
    for sign in text.chars() {
        if kept.len() + sign.len_utf8() > MAX_FEATURE_NAME_BYTES {
            break;
        }
        kept.push(sign);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_leads_to_a_name() {
        let name = |text: &str| name_of(text).0.unwrap().to_string();
        for (text, expected) in [
            ("search", "search"),
            ("User log in!", "User-log-in"),
            ("../../etc", "etc"),
            ("t-1a2b3c", "feature-t-1a2b3c"),
            ("", "feature-"),
            ("…", "feature-"),
        ] {
            assert_eq!(name(text), expected);
        }
        assert_eq!(name(&"é".repeat(60)).len(), 64);
        assert_eq!(name_of("search").1, None);
        assert!(name_of("a b").1.unwrap().contains("no name for a feature"));
    }
}
