//! Notes for the beginning of a session: the most fitting ones, whole, within a budget.

use std::collections::HashSet;
use std::ops::ControlFlow;

use ralph_model::{Budget, NoteOrSign, Shelf};
use ralph_notes::item_text;
use ralph_store::index::{Age, IndexError};

use super::pack::{Item, Packed, Sizes, pack};
use crate::catalogue::Catalogue;
use crate::recall::{Newest, Question, Reach, Superseded, Wanted, recall};

/// How many notes that fit a text go before the others.
const MOST_FITTING: usize = 200;
/// So many more notes of a kind than the budget holds are looked at: one that does not fit is passed over, and a later one
/// may be shorter.
const LOOK_BEYOND: usize = 32;

/// How the notes are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrimeFormat {
    /// As they stand in their file.
    Markdown,
    /// As an array of objects.
    Json,
}

/// What is wanted for the beginning of a session.
#[derive(Debug, Clone, Copy)]
pub struct Occasion<'a> {
    /// The shelf.
    pub shelf: Shelf,
    /// Which notes are wanted.
    pub wanted: &'a Wanted,
    /// The text that they should fit.
    pub about: Option<&'a str>,
    /// How much room there is.
    pub budget: Budget,
    /// How they are written.
    pub format: PrimeFormat,
}

/// Notes that were chosen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Primed {
    /// The text; empty when there is nothing to say.
    pub text: String,
    /// How many notes stand in it.
    pub shown: usize,
    /// How many did not fit.
    pub left_out: usize,
}

/// A note that may be chosen.
struct Choice {
    age: Age,
    /// The section it stands in.
    group: usize,
    /// As it is written.
    text: String,
}

/// Chooses notes for a budget: those that fit the text best or, without one, the newest. Superseded ones never stand.
///
/// # Errors
/// When the index cannot be read.
pub fn prime(catalogue: &Catalogue, occasion: &Occasion<'_>) -> Result<Primed, IndexError> {
    let choices = preferred(catalogue, occasion)?;
    let total = catalogue.count(&newest(occasion, None))?.max(choices.len());
    let groups = groups(occasion.shelf);
    let items: Vec<Item> = choices
        .iter()
        .map(|choice| Item {
            group: choice.group,
            size: choice.text.chars().count(),
        })
        .collect();
    let headings: Vec<usize> = groups
        .iter()
        .map(|group| heading(group.section, occasion.format).chars().count())
        .collect();
    let (before, after) = frame(occasion.shelf, occasion.format);
    let sizes = Sizes {
        frame: before.len() + after.len(),
        group: &headings,
        note: left_out_note(total, occasion.format).len(),
    };
    let packed = pack(&items, &sizes, occasion.budget);
    Ok(written(&choices, &packed, total, occasion))
}

fn written(choices: &[Choice], packed: &Packed, total: usize, occasion: &Occasion<'_>) -> Primed {
    let format = occasion.format;
    let chosen: HashSet<usize> = packed.chosen.iter().copied().collect();
    let mut text = String::new();
    for (group, section) in groups(occasion.shelf).iter().enumerate() {
        let mut of_group: Vec<&Choice> = choices
            .iter()
            .enumerate()
            .filter(|(position, choice)| choice.group == group && chosen.contains(position))
            .map(|(_, choice)| choice)
            .collect();
        // Within a section the oldest stands first, as in the file.
        of_group.sort_by(|one, other| one.age.cmp(&other.age));
        if !of_group.is_empty() {
            text.push_str(&heading(section.section, format));
        }
        text.extend(of_group.iter().map(|choice| choice.text.as_str()));
    }
    let (before, after) = frame(occasion.shelf, format);
    if format == PrimeFormat::Json && text.is_empty() {
        text = "[]\n".to_owned();
    } else if format == PrimeFormat::Json {
        text = format!("{before}{}{after}", text.strip_suffix(',').unwrap_or(&text));
    } else if !text.is_empty() {
        text = format!("{before}{text}{after}");
    }
    let left_out = total - chosen.len();
    if left_out > 0 && packed.note_fits {
        let note = left_out_note(left_out, format);
        text.push_str(if text.is_empty() { note.trim_start() } else { &note });
    }
    Primed {
        text,
        shown: chosen.len(),
        left_out,
    }
}

/// The notes that may be chosen, in the order of preference: those that fit the text, then the newest.
fn preferred(catalogue: &Catalogue, occasion: &Occasion<'_>) -> Result<Vec<Choice>, IndexError> {
    // By their places too: a file that is not in order may have an id twice.
    let mut taken: HashSet<(String, i64)> = HashSet::new();
    let mut choices = Vec::new();
    if let Some(text) = occasion.about {
        let question = Question {
            text,
            shelves: &[occasion.shelf],
            wanted: occasion.wanted,
            reach: Reach::Best(MOST_FITTING),
        };
        for hit in recall(catalogue, &question)?.hits {
            taken.insert((hit.item.id().to_owned(), hit.age.place));
            choices.push(Choice::of(&hit.item, hit.age, occasion));
        }
    }
    let mut rest = Vec::new();
    for group in groups(occasion.shelf) {
        let mut room = occasion.budget;
        let mut beyond = 0;
        catalogue.walk(&newest(occasion, Some(group.kind)), |item, age| {
            if !taken.contains(&(item.id().to_owned(), age.place)) {
                let choice = Choice::of(&item, age, occasion);
                if !room.take(choice.text.chars().count()) {
                    beyond += 1;
                }
                rest.push(choice);
            }
            if beyond > LOOK_BEYOND {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })?;
    }
    rest.sort_by(|one, other| other.age.cmp(&one.age));
    choices.extend(rest);
    Ok(choices)
}

fn newest<'a>(occasion: &Occasion<'a>, kind: Option<&'a str>) -> Newest<'a> {
    Newest {
        shelf: occasion.shelf,
        kind,
        wanted: occasion.wanted,
        superseded: Superseded::Hidden,
    }
}

/// A section of what is written.
struct Group {
    section: &'static str,
    /// The word for the kind of what stands in it.
    kind: &'static str,
}

/// The sections of a shelf in their order; the Signs of old guardrails stand last.
fn groups(shelf: Shelf) -> Vec<Group> {
    let kinds = shelf.kinds().iter().map(|kind| Group {
        section: kind.section(),
        kind: kind.word(),
    });
    let signs = (shelf == Shelf::Guardrails).then_some(Group {
        section: "Signs",
        kind: NoteOrSign::SIGN,
    });
    kinds.chain(signs).collect()
}

impl Choice {
    fn of(item: &NoteOrSign, age: Age, occasion: &Occasion<'_>) -> Self {
        let kind = item.note().map_or(NoteOrSign::SIGN, |note| note.kind.word());
        let text = match occasion.format {
            PrimeFormat::Markdown => format!("\n{}", item_text(item)),
            // What has only texts in it can always be written.
            PrimeFormat::Json => format!("\n  {},", serde_json::to_string(item).unwrap_or_default()),
        };
        Self {
            group: groups(occasion.shelf)
                .iter()
                .position(|group| group.kind == kind)
                .unwrap_or_default(),
            text,
            age,
        }
    }
}

fn heading(section: &str, format: PrimeFormat) -> String {
    match format {
        PrimeFormat::Markdown => format!("\n## {section}\n"),
        PrimeFormat::Json => String::new(),
    }
}

fn frame(shelf: Shelf, format: PrimeFormat) -> (String, &'static str) {
    match format {
        PrimeFormat::Markdown => (format!("# {}\n", shelf.title()), ""),
        PrimeFormat::Json => ("[".to_owned(), "\n]\n"),
    }
}

fn left_out_note(left_out: usize, format: PrimeFormat) -> String {
    match format {
        PrimeFormat::Markdown => {
            format!("\n<!-- truncated: budget exceeded -->\n<!-- {left_out} entries left out -->\n")
        }
        PrimeFormat::Json => String::new(),
    }
}
