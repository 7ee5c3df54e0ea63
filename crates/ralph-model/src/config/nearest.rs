//! What may have been meant by a name that is not known.

use super::keys::{SECTIONS, keys};
use super::{Hint, Key, Section};

/// The distance between two names costs the product of their lengths; one longer than this is no slip.
const MOST_BYTES: usize = 64;

/// For a key that its section does not have: the nearest of the section, else one of this name elsewhere.
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

/// For a name at the top of the file: the nearest section, else a key that needs its section around it.
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

/// The variable of a key that may have been meant by a name which is none; `None` where nothing is near. Other programs
/// have variables that begin alike, so that only one or two slips count.
#[must_use]
pub fn nearest_variable(name: &str) -> Option<String> {
    const MOST_SLIPS: usize = 2;
    let slips = |known: &String| strsim::damerau_levenshtein(name, known);
    if name.len() > MOST_BYTES {
        return None;
    }
    let near = keys().map(Key::environment_name).min_by_key(slips)?;
    (slips(&near) <= MOST_SLIPS).then_some(near)
}

/// The name with the fewest slips of the keyboard between them, in whatever capitals, when they are few for its length.
pub fn nearest<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    if name.len() > MOST_BYTES {
        return None;
    }
    let name = name.to_lowercase();
    let (slips, near) = names
        .map(|known| (strsim::damerau_levenshtein(&name, &known.to_lowercase()), known))
        .min_by_key(|(slips, _)| *slips)?;
    (slips <= 1 + near.len() / 4).then_some(near)
}

fn last_word(key: &Key) -> &'static str {
    key.name.rsplit('.').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_seen_and_other_names_are_not_guessed_at() {
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
    fn sections_are_found_by_their_own_name_or_by_a_key() {
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
