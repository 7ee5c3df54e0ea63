//! Short forms of commands: `ralph task` is `ralph task list`, and `ralph help task` is `ralph task --help`.

use std::ffi::{OsStr, OsString};

/// The families and their default verbs.
const FAMILIES: [(&str, &str); 8] = [
    ("task", "list"),
    ("feature", "list"),
    ("memory", "list"),
    ("guardrails", "list"),
    ("scratchpad", "show"),
    ("knowledge", "list"),
    ("journal", "list"),
    ("learnings", "list"),
];

/// Expands short forms in the arguments, which start with the program's name.
pub(crate) fn expanded(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let place = first_word(&arguments);
    if arguments.get(place).is_some_and(|word| word == "help") {
        arguments.remove(place);
        arguments.push("--help".into());
    } else if let Some(verb) = missing_verb(arguments.get(place..).unwrap_or_default()) {
        arguments.insert(place + 1, verb.into());
    }
    arguments
}

/// Position of the first word that is not a global option.
fn first_word(arguments: &[OsString]) -> usize {
    let mut place = 1;
    while let Some(argument) = arguments.get(place).filter(|argument| is_option(argument)) {
        let has_value = [OsStr::new("--root"), OsStr::new("--color")].contains(&argument.as_os_str());
        place += if has_value { 2 } else { 1 };
    }
    place
}

/// The default verb of a family without a verb. Only options may follow; any other word is a mistake for clap to
/// report.
fn missing_verb(words: &[OsString]) -> Option<&'static str> {
    let (family, rest) = words.split_first()?;
    let (_, verb) = FAMILIES.iter().find(|(name, _)| family == name)?;
    let asks_for_help = |argument: &OsString| argument == "-h" || argument == "--help" || argument == "--";
    (rest.iter().all(is_option) && !rest.iter().any(asks_for_help)).then_some(*verb)
}

fn is_option(argument: &OsString) -> bool {
    argument.to_string_lossy().starts_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_forms_are_expanded() {
        for (given, expected) in [
            ("ralph task", "ralph task list"),
            ("ralph task --json", "ralph task list --json"),
            ("ralph --root /x journal", "ralph --root /x journal list"),
            ("ralph --color=never scratchpad", "ralph --color=never scratchpad show"),
            ("ralph task --help", "ralph task --help"),
            ("ralph task -h", "ralph task -h"),
            ("ralph task add x", "ralph task add x"),
            ("ralph memory --type fix", "ralph memory --type fix"),
            ("ralph", "ralph"),
            ("ralph help", "ralph --help"),
            ("ralph help task add", "ralph task add --help"),
            ("ralph run help", "ralph run help"),
            ("ralph run task", "ralph run task"),
            ("ralph --root task", "ralph --root task"),
        ] {
            let arguments = given.split(' ').map(OsString::from).collect();
            let expected: Vec<OsString> = expected.split(' ').map(OsString::from).collect();
            assert_eq!(expanded(arguments), expected, "{given}");
        }
    }
}
