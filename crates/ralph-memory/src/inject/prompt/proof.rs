//! Proves that an entry was in a prompt: lines of the prompt have its recorded digest.

use ralph_model::{EntryKind, Injection, Tokens};
use xxhash_rust::xxh3::Xxh3Default;

/// Whether a prompt contains an entry, by size and digest.
#[must_use]
pub fn is_in_prompt(prompt: &str, injection: &Injection) -> bool {
    entry_in(prompt, injection).is_some()
}

/// The lines of a prompt that are an entry, by size and digest.
#[must_use]
pub fn entry_in<'p>(prompt: &'p str, injection: &Injection) -> Option<&'p str> {
    let lines: Vec<&str> = prompt.split_inclusive('\n').collect();
    let sizes: Vec<usize> = lines.iter().map(|line| line.chars().count()).collect();
    // An entry begins with a heading, optionally after a blank line; the scratchpad after a blank line, feature texts
    // in a fence, learnings with a list item. Trying all lines would take too long for long entries.
    let is_learning = injection.kind == EntryKind::Learning;
    let is_scratchpad = injection.kind == EntryKind::Scratchpad;
    let mut above = "";
    let mut start = 0;
    for (first, line) in lines.iter().enumerate() {
        let begins = line.starts_with('#') || line.trim().is_empty() || (is_learning && line.starts_with("- "));
        if begins || above.starts_with("```") || (is_scratchpad && above.trim().is_empty()) {
            let mut digest = Xxh3Default::new();
            let (mut characters, mut end) = (0, start);
            for (line, size) in lines.iter().zip(&sizes).skip(first) {
                digest.update(line.as_bytes());
                characters += size;
                end += line.len();
                let tokens = Tokens::of_characters(characters);
                if tokens > injection.tokens {
                    break;
                }
                if tokens == injection.tokens && digest.digest() == injection.digest {
                    return prompt.get(start..end);
                }
            }
        }
        above = line;
        start += line.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use ralph_model::{EntryKind, InjectionReason};
    use xxhash_rust::xxh3::xxh3_64;

    use super::*;

    fn injection(text: &str) -> Injection {
        Injection {
            kind: EntryKind::Memory,
            id: "mem-1".to_owned(),
            digest: xxh3_64(text.as_bytes()),
            section: "Memories".to_owned(),
            rank: 1,
            tokens: Tokens::of_characters(text.chars().count()),
            score: None,
            reason: InjectionReason::Shown,
        }
    }

    /// If it were compared from every line on, this would run for hours.
    #[test]
    fn long_entry_is_checked_quickly() {
        let entry = format!("### mem-1\n{}", "> a\n".repeat(1 << 19));
        let prompt = format!("# Memories\n\n{entry}\n## Memory\n");
        assert!(is_in_prompt(&prompt, &injection(&entry)));
        assert!(!is_in_prompt(&prompt, &injection(&entry.replace("mem-1", "mem-2"))));
    }

    #[test]
    fn only_unchanged_whole_lines_match() {
        let prompt = "# Memories\n\n### mem-1\n> größer\n\n## Memory\n";
        for (text, is_there) in [
            ("### mem-1\n> größer\n", true),
            ("## Memory\n", true),
            ("### mem-1\n> grösser\n", false),
            ("## Memory\n\n", false),
            ("mem-1\n", false),
        ] {
            assert_eq!(is_in_prompt(prompt, &injection(text)), is_there, "{text:?}");
            assert_eq!(entry_in(prompt, &injection(text)), is_there.then_some(text));
        }
    }
}
