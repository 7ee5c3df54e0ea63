//! The proof that an entry stood in a prompt: some of its lines have the digest that was recorded.

use ralph_model::{EntryKind, Injection, Tokens};
use xxhash_rust::xxh3::Xxh3Default;

/// Whether lines of a prompt are the text of an entry, by its size and digest.
#[must_use]
pub fn stands_in(prompt: &str, injection: &Injection) -> bool {
    entry_in(prompt, injection).is_some()
}

/// The lines of a prompt that are the text of an entry, by its size and digest.
#[must_use]
pub fn entry_in<'p>(prompt: &'p str, injection: &Injection) -> Option<&'p str> {
    let lines: Vec<&str> = prompt.split_inclusive('\n').collect();
    let sizes: Vec<usize> = lines.iter().map(|line| line.chars().count()).collect();
    // An entry begins with a heading, maybe after a blank line; the scratchpad after a blank line, and the
    // texts of a feature in a fence. Learnings are short, and items of lists. To try all lines of a long entry would take for ever.
    let is_lesson = injection.kind == EntryKind::Learning;
    let is_scratchpad = injection.kind == EntryKind::Scratchpad;
    let mut above = "";
    let mut start = 0;
    for (first, line) in lines.iter().enumerate() {
        let begins = line.starts_with('#') || line.trim().is_empty() || (is_lesson && line.starts_with("- "));
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

    /// Were it compared from every line on, this would run for hours.
    #[test]
    fn a_long_entry_is_no_trouble() {
        let entry = format!("### mem-1\n{}", "> a\n".repeat(1 << 19));
        let prompt = format!("# Memories\n\n{entry}\n## Memory\n");
        assert!(stands_in(&prompt, &injection(&entry)));
        assert!(!stands_in(&prompt, &injection(&entry.replace("mem-1", "mem-2"))));
    }

    #[test]
    fn whole_lines_are_found_and_changed_ones_are_not() {
        let prompt = "# Memories\n\n### mem-1\n> größer\n\n## Memory\n";
        for (text, is_there) in [
            ("### mem-1\n> größer\n", true),
            ("## Memory\n", true),
            ("### mem-1\n> grösser\n", false),
            ("## Memory\n\n", false),
            ("mem-1\n", false),
        ] {
            assert_eq!(stands_in(prompt, &injection(text)), is_there, "{text:?}");
            assert_eq!(entry_in(prompt, &injection(text)), is_there.then_some(text));
        }
    }
}
