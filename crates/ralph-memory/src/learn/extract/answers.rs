//! What the conventions that are found from paths answer: each is about one thing, which can be so or otherwise, but not both.

use super::paths::{Naming, is_language};

const BESIDE: &str = "co-located with source";
/// What modules are that may be either; in the words of the earlier tool, whose stores hold it.
pub(super) const EITHER_MODULES: &str = "ES modules (.mjs) or TypeScript (.ts)";
const MODULES: &str = "Modules are ";

/// What a convention is about, and what it says of that; none of one that others cannot contradict by their form. So much of
/// each sentence is looked at that what people write about other things is no answer.
pub(crate) fn answer_of(content: &str) -> Option<(&str, &str)> {
    let text = content.trim().trim_end_matches('.');
    let about = |beginning: &'static str| text.strip_prefix(beginning).map(|says| (beginning, says));
    if let Some((files, naming)) = text.split_once(" are named in ") {
        let is_naming = Naming::ALL.iter().any(|known| known.word() == naming);
        return is_naming.then_some((files, naming));
    }
    if text == EITHER_MODULES {
        return Some((MODULES, text));
    }
    about("Tests ")
        .filter(|(_, place)| is_place_of_tests(place))
        .or_else(|| about(MODULES).filter(|(_, modules)| modules.contains("(.") && modules.ends_with(')')))
        .or_else(|| about("Code is written in ").filter(|(_, language)| is_language(language)))
        .or_else(|| about("Rust modules with parts are "))
        .or_else(|| about("Source is organised as ").filter(|(_, pattern)| pattern.ends_with('/')))
}

fn is_place_of_tests(place: &str) -> bool {
    let is_folder = |place: &str| {
        let name = place
            .strip_prefix("in ")
            .and_then(|place| place.strip_suffix("/ directory"));
        name.is_some_and(|name| !name.contains(' '))
    };
    let behind = place.strip_prefix(BESIDE);
    is_folder(place)
        || behind.is_some_and(|behind| behind.is_empty() || behind.strip_prefix(" or ").is_some_and(is_folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_write_about_other_things_is_no_answer() {
        for content in [
            "Tests in CI run with -j 4",
            "Tests co-located with source are fast",
            "Tests in the slow suite/ directory",
            "Modules are small",
            "Code is written in English",
            "Variables are named in German",
            "Source is organised as it always was",
            "Folders of modules have an index file as their entry",
            "",
        ] {
            assert_eq!(answer_of(content), None, "{content}");
        }
    }
}
