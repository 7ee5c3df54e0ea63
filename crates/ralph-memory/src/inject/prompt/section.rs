//! A section of a prompt and the entries considered for it.

use std::collections::HashMap;

use ralph_model::{EntryKind, Injection, InjectionReason, Tokens, show_invisible};
use xxhash_rust::xxh3::xxh3_64;

use crate::secrets::mask;

/// The maximum number of recorded entries that were left out, per reason.
pub const MAX_LEFT_OUT: usize = 50;

/// A section; without text it is omitted.
#[derive(Debug, Default)]
pub(super) struct Section {
    pub(super) heading: &'static str,
    /// Complete, with heading and final line break.
    pub(super) text: String,
    /// The number of characters that are the same in every prompt.
    pub(super) fixed: usize,
    pub(super) injections: Vec<Injection>,
}

#[derive(Debug)]
pub(super) struct Considered<'a> {
    pub(super) kind: EntryKind,
    pub(super) id: &'a str,
    /// As in the prompt, even if left out.
    pub(super) text: &'a str,
    pub(super) score: Option<f64>,
    pub(super) reason: InjectionReason,
}

impl Section {
    /// A section that is the same in every prompt.
    pub(super) fn fixed(heading: &'static str, text: &str) -> Self {
        Self {
            heading,
            text: text.to_owned(),
            fixed: text.chars().count(),
            injections: Vec::new(),
        }
    }

    /// Records the considered entries, in order of preference; a limited number of those left out for each reason.
    pub(super) fn considered<'a>(&mut self, entries: impl IntoIterator<Item = Considered<'a>>) {
        let mut recorded: HashMap<InjectionReason, usize> = HashMap::new();
        for (rank, entry) in (1..).zip(entries) {
            if entry.reason != InjectionReason::Shown {
                let recorded = recorded.entry(entry.reason).or_default();
                *recorded += 1;
                if *recorded > MAX_LEFT_OUT {
                    continue;
                }
            }
            let text = visible(entry.text);
            self.injections.push(Injection {
                kind: entry.kind,
                id: entry.id.to_owned(),
                digest: xxh3_64(text.as_bytes()),
                section: self.heading.to_owned(),
                rank,
                tokens: Tokens::of_characters(text.chars().count()),
                score: entry.score,
                reason: entry.reason,
            });
        }
    }

    /// The section without its text, which is withheld on purpose.
    pub(super) fn held_out(mut self) -> Self {
        for injection in &mut self.injections {
            if injection.reason == InjectionReason::Shown {
                injection.reason = InjectionReason::HeldOut;
            }
        }
        self.text.clear();
        self
    }
}

/// A text as it appears in the prompt: with secrets masked and invisible characters made visible. Entries are converted
/// before they are packed, because it changes their length.
pub(super) fn visible(text: &str) -> String {
    mask(&show_invisible(text)).into_owned()
}
