//! Imports features. A feature with the name of an existing one is merged into it; two imported features with the same
//! name stay two.

use std::collections::HashSet;

use ralph_model::{FeatureId, FeatureName, MAX_FEATURE_NAME_BYTES};
use rusqlite::params;

use super::ForeignFeature;
use super::ids::feature_ids;
use super::importing::{Import, ImportedFeature};
use super::matched::{Kind, LocalState};
use crate::progress::columns::{moment, word_at};
use crate::progress::features::is_free;

type Named = (FeatureId, FeatureName);

/// Prefix for a name that is invalid by itself.
const PREFIX: &str = "feature-";

pub(super) fn add(import: &mut Import<'_>, features: &[ForeignFeature]) -> rusqlite::Result<()> {
    let before: Vec<Named> = import
        .transaction
        .prepare("SELECT id, name FROM features")?
        .query_map([], |row| {
            let name = word_at(row, "name", |name| FeatureName::new(name).ok())?;
            Ok((word_at(row, "id", FeatureId::parse)?, name))
        })?
        .collect::<rusqlite::Result<_>>()?;
    let (mut made, mut seen, mut joined) = (Vec::new(), HashSet::new(), HashSet::new());
    for feature in features {
        let at = moment(feature.created_at);
        if !seen.insert((&feature.id, feature.created_at)) {
            import.remark(&feature.name, "it is a duplicate: skipped");
            continue;
        }
        if let Some(id) = imported_before(import, feature, &at)? {
            let known = before.iter().find(|(known, _)| *known == id);
            link(import, feature, known, id.clone());
            joined.insert(id);
            continue;
        }
        let (name, fault) = name_of(&feature.name);
        let Some(name) = name else {
            import.remark(&feature.name, "no valid name: skipped");
            continue;
        };
        let known = before.iter().find(|(_, other)| other.is(name.as_str()));
        if let Some(known) = known.filter(|(id, _)| joined.insert(id.clone())) {
            let text = format!("merged with the existing feature {}", known.1);
            import.remark(&feature.name, text);
            import.record((Kind::Feature, known.0.as_str()), &feature.id, &at)?;
            link(import, feature, Some(known), known.0.clone());
            continue;
        }
        let Some(free) = free_name(&name, (&before, &made)) else {
            import.remark(&feature.name, "no valid name: skipped");
            continue;
        };
        remark_on_name(import, feature, (&name, &free), fault);
        if let Some(id) = put(import, feature, &free)? {
            made.push((id, free));
        }
    }
    Ok(())
}

fn imported_before(import: &Import<'_>, feature: &ForeignFeature, at: &str) -> rusqlite::Result<Option<FeatureId>> {
    let id = import.imported(Kind::Feature, &feature.id, at)?;
    Ok(id.and_then(|id| FeatureId::parse(&id)))
}

/// Links a feature to one that exists or existed here.
fn link(import: &mut Import<'_>, feature: &ForeignFeature, known: Option<&Named>, id: FeatureId) {
    let state = match known {
        Some((_, name)) => {
            let here = ImportedFeature {
                name: name.clone(),
                is_new: false,
            };
            import.done.features_here.insert(feature.id.clone(), here);
            LocalState::Present
        }
        None => LocalState::Deleted,
    };
    import.features.insert(&feature.id, id, state);
    import.done.features.known += 1;
}

/// Creates a feature; returns its id.
fn put(import: &mut Import<'_>, feature: &ForeignFeature, name: &FeatureName) -> rusqlite::Result<Option<FeatureId>> {
    let Some(id) = free_id(import, &feature.id)? else {
        import.remark(&feature.name, "no free id: skipped");
        return Ok(None);
    };
    let made = moment(feature.created_at);
    import
        .transaction
        .prepare_cached("INSERT INTO features (id, name, created_at, updated_at) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![id.as_str(), name.as_str(), made, moment(feature.updated_at)])?;
    import.record((Kind::Feature, id.as_str()), &feature.id, &made)?;
    import.features.insert(&feature.id, id.clone(), LocalState::Present);
    let here = ImportedFeature {
        name: name.clone(),
        is_new: true,
    };
    import.done.features_here.insert(feature.id.clone(), here);
    import.done.features.added += 1;
    Ok(Some(id))
}

/// Explains why a feature was renamed.
fn remark_on_name(
    import: &mut Import<'_>,
    feature: &ForeignFeature,
    (name, free): (&FeatureName, &FeatureName),
    fault: Option<String>,
) {
    let why = match fault {
        Some(fault) => fault,
        None if name != free => format!("the name {name} is taken (names ignore case)"),
        None => return,
    };
    let text = format!("{why}: imported as {free}; rename its folder to match");
    import.remark(&feature.name, text);
}

fn free_id(import: &Import<'_>, there: &str) -> rusqlite::Result<Option<FeatureId>> {
    for id in feature_ids(import.tool, there) {
        if is_free(import.transaction, &id)? {
            return Ok(Some(id));
        }
    }
    Ok(None)
}

/// The name, or if it is taken, the name with the first free number.
fn free_name(name: &FeatureName, (before, made): (&[Named], &[Named])) -> Option<FeatureName> {
    let is_taken = |name: &FeatureName| before.iter().chain(made).any(|(_, other)| other.is(name.as_str()));
    if !is_taken(name) {
        return Some(name.clone());
    }
    (2..=made.len() + before.len() + 2).find_map(|number| {
        let number = format!("-{number}");
        let beginning = cut(name.as_str(), MAX_FEATURE_NAME_BYTES - number.len());
        let name = FeatureName::new(&format!("{beginning}{number}")).ok()?;
        (!is_taken(&name)).then_some(name)
    })
}

/// The name for an imported feature, and why it differs from the original.
fn name_of(text: &str) -> (Option<FeatureName>, Option<String>) {
    let fault = match FeatureName::new(text) {
        Ok(name) => return (Some(name), None),
        Err(fault) => fault.to_string(),
    };
    let cleaned: String = text
        .chars()
        .map(|sign| {
            if sign.is_alphanumeric() || "-_.".contains(sign) {
                sign
            } else {
                '-'
            }
        })
        .collect();
    let cleaned = cleaned.trim_matches(['-', '.']);
    let short = |text: &str| FeatureName::new(&cut(text, MAX_FEATURE_NAME_BYTES));
    let name = short(cleaned).or_else(|_| short(&format!("{PREFIX}{cleaned}")));
    (name.ok(), Some(fault))
}

/// The start of a text, limited to `most` bytes.
fn cut(text: &str, most: usize) -> String {
    let mut kept = String::new();
    for sign in text.chars() {
        if kept.len() + sign.len_utf8() > most {
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
    fn any_text_gives_a_valid_name() {
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
        assert!(name_of("a b").1.unwrap().contains("invalid feature name"));
    }
}
