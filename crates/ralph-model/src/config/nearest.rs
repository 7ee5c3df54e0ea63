//! Suggestions for unknown names.

use super::keys::{SECTIONS, keys};
use super::{Hint, Key, Section};

/// Edit distance is quadratic; a longer name is not a typo.
const MAX_BYTES: usize = 64;

/// The hint for an unknown key: the nearest key of its section, else a key with this name in another.
pub(super) fn hint_for_key(section: &Section, name: &str) -> Hint {
    let near = nearest(name, section.keys.iter().map(|key| key.name)).and_then(|near| section.key(near));
    let meant = near
        .or_else(|| section.keys.iter().find(|key| last_word(key) == name))
        .or_else(|| keys().find(|key| last_word(key) == name));
    match meant {
        Some(key) => Hint::Nearest(key.full_name()),
        None => Hint::Known(section.keys.iter().map(|key| key.name).collect()),
    }
}

/// The hint for an unknown section: the nearest section, else a key with this name.
pub(super) fn hint_for_section(name: &str) -> Hint {
    let names = SECTIONS.iter().map(|section| section.name);
    if let Some(near) = nearest(name, names.clone()) {
        return Hint::Nearest(format!("[{near}]"));
    }
    match keys().find(|key| last_word(key) == name) {
        Some(key) => Hint::Nearest(key.full_name()),
        None => Hint::Known(names.collect()),
    }
}

/// The variable that an unknown one was probably meant to be. Other programs' variables may have the same prefix, so
/// only one or two typos count.
#[must_use]
pub fn nearest_variable(name: &str) -> Option<String> {
    const MAX_TYPOS: usize = 2;
    let distance = |known: &String| strsim::damerau_levenshtein(name, known);
    if name.len() > MAX_BYTES {
        return None;
    }
    let near = keys().map(Key::environment_name).min_by_key(distance)?;
    (distance(&near) <= MAX_TYPOS).then_some(near)
}

/// The name with the smallest edit distance, ignoring case, if that is small for its length.
pub fn nearest<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    if name.len() > MAX_BYTES {
        return None;
    }
    let name = name.to_lowercase();
    let (distance, near) = names
        .map(|known| (strsim::damerau_levenshtein(&name, &known.to_lowercase()), known))
        .min_by_key(|(distance, _)| *distance)?;
    (distance <= 1 + near.len() / 4).then_some(near)
}

fn last_word(key: &Key) -> &'static str {
    key.name.rsplit('.').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typos_are_recognised_and_other_names_are_not() {
        for (section, name, expected) in [
            ("memories", "budgt", Some("memories.budget")),
            ("memories", "BUDGT", Some("memories.budget")),
            ("memories", "skill-injection", Some("memories.skill_injection")),
            ("memories", "filter.tag", Some("memories.filter.tags")),
            ("memories", "types", Some("memories.filter.types")),
            ("memories", "max_retries", Some("execution.max_retries")),
            ("limits", "iteration", Some("limits.iterations")),
            ("memories", "colour_scheme", None),
            ("memories", "日本語", None),
        ] {
            let hint = hint_for_key(Section::find(section).unwrap(), name);
            match expected {
                Some(near) => assert_eq!(hint, Hint::Nearest(near.to_owned()), "{name}"),
                None => assert!(
                    matches!(&hint, Hint::Known(names) if names.contains(&"budget")),
                    "{hint:?}"
                ),
            }
        }
    }

    #[test]
    fn sections_are_suggested_by_name_or_key() {
        for (name, expected) in [
            ("memory", "[memories]"),
            ("limit", "[limits]"),
            ("idle_time", "limits.idle_time"),
        ] {
            assert_eq!(hint_for_section(name), Hint::Nearest(expected.to_owned()), "{name}");
        }
        assert!(matches!(hint_for_section("database"), Hint::Known(names) if names.len() == SECTIONS.len()));
        assert!(matches!(hint_for_section(&"m".repeat(100_000)), Hint::Known(_)));
    }
}
