//! A section of a prompt, and the entries that were considered for it.

use std::collections::HashMap;

use ralph_model::{EntryKind, Injection, InjectionReason, Tokens, show_invisible};
use xxhash_rust::xxh3::xxh3_64;

use crate::secrets::mask;

/// How many entries that do not stand in a section are told of, for each reason.
pub const MOST_LEFT_OUT: usize = 50;

/// A section of a prompt; nothing stands of one without text.
#[derive(Debug, Default)]
pub(super) struct Section {
    pub(super) heading: &'static str,
    /// All of it, its heading included, with a line break at its end.
    pub(super) text: String,
    /// How many characters of it are the same in every prompt.
    pub(super) fixed: usize,
    pub(super) injections: Vec<Injection>,
}

/// An entry that was considered.
#[derive(Debug)]
pub(super) struct Considered<'a> {
    pub(super) kind: EntryKind,
    pub(super) id: &'a str,
    /// As it stands in the prompt, or would.
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

    /// Tells of the entries that were considered, in the order of preference; of those that do not stand in it, for each
    /// reason, only the first so many.
    pub(super) fn considered<'a>(&mut self, entries: impl IntoIterator<Item = Considered<'a>>) {
        let mut told: HashMap<InjectionReason, usize> = HashMap::new();
        for (rank, entry) in (1..).zip(entries) {
            if entry.reason != InjectionReason::Shown {
                let told = told.entry(entry.reason).or_default();
                *told += 1;
                if *told > MOST_LEFT_OUT {
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

    /// The same without its text: what would have stood in it is left out on purpose.
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

/// A text as the prompt has it, whatever it comes from: the agent must not read what a person does not see, and the prompt is
/// recorded. Entries go through it before they are packed, since it changes their length.
pub(super) fn visible(text: &str) -> String {
    mask(&show_invisible(text)).into_owned()
}
