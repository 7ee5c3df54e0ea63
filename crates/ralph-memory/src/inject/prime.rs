//! Notes for the beginning of a session: the most fitting ones, whole, within a budget.

use std::collections::HashSet;
use std::ops::ControlFlow;

use ralph_model::{Budget, InjectionReason, Note, NoteOrSign, Shelf, count, show_invisible};
use ralph_notes::{entry_text_by, item_text};
use ralph_store::index::{Age, IndexError};

use super::origin::{Origin, Origins};
use super::pack::{Item, Packed, Sizes, pack};
use super::prompt::{OPENING, quote, without_controls};
use super::said::{Fact, Said};
use crate::catalogue::Catalogue;
use crate::recall::{LongNotes, Newest, Question, Reach, Superseded, Wanted, recall};

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
    /// As a section of a prompt.
    Section,
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
    /// Who wrote which of them. Notes in their file's form are marked unless a person wrote them.
    pub origins: &'a Origins,
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

/// Notes that were chosen, and what became of each that was looked at.
#[derive(Debug, Default)]
pub(super) struct Selected {
    pub(super) primed: Primed,
    /// In the order of preference.
    pub(super) decisions: Vec<Decision>,
}

/// What became of a note.
#[derive(Debug)]
pub(super) struct Decision {
    pub(super) item: NoteOrSign,
    /// As it is written, or would be.
    pub(super) text: String,
    /// How well it fits the text; none where it shares no telling word with it.
    pub(super) score: Option<f64>,
    pub(super) reason: InjectionReason,
}

/// A note that may be chosen.
struct Choice {
    item: NoteOrSign,
    age: Age,
    /// The section it stands in.
    group: usize,
    /// As it is written, after a line break.
    text: String,
    score: Option<f64>,
}

/// Chooses notes for a budget: those that fit the text best or, without one, the newest. Superseded ones never stand.
///
/// # Errors
/// When the index cannot be read.
pub fn prime(catalogue: &Catalogue, occasion: &Occasion<'_>) -> Result<Primed, IndexError> {
    Ok(select(catalogue, occasion, Repetitions::AllStand)?.primed)
}

/// What becomes of notes that say the same.
#[derive(Debug, Clone, Copy)]
pub(super) enum Repetitions<'a> {
    /// All stand: whoever asks for a shelf gets what is on it.
    AllStand,
    /// The first of them stands, unless it is said already.
    StandOnce(&'a Said),
}

/// The same, with what became of each note.
pub(super) fn select(
    catalogue: &Catalogue,
    occasion: &Occasion<'_>,
    repetitions: Repetitions<'_>,
) -> Result<Selected, IndexError> {
    let preferred = preferred(catalogue, occasion)?;
    let total = catalogue.count(&newest(occasion, None))?.max(preferred.len());
    let mut here = Said::default();
    let (repeated, choices): (Vec<Choice>, Vec<Choice>) = preferred.into_iter().partition(|choice| {
        let Repetitions::StandOnce(already) = repetitions else {
            return false;
        };
        let fact = Fact::of(choice.item.content());
        let is_said = already.holds(fact) || here.holds(fact);
        here.add(fact);
        is_said
    });
    let total = total - repeated.len();
    let packed = packed(&choices, total, occasion);
    let primed = written(&choices, &packed, total, occasion);
    let chosen: HashSet<usize> = packed.chosen.iter().copied().collect();
    let decided = choices.into_iter().enumerate().map(|(position, choice)| {
        choice.decided(if chosen.contains(&position) {
            InjectionReason::Shown
        } else {
            InjectionReason::OverBudget
        })
    });
    let repeated = repeated
        .into_iter()
        .map(|choice| choice.decided(InjectionReason::Duplicate));
    Ok(Selected {
        primed,
        decisions: decided.chain(repeated).collect(),
    })
}

/// Those of a shelf that others have replaced, the newest first, at most so many.
pub(super) fn replaced(
    catalogue: &Catalogue,
    occasion: &Occasion<'_>,
    most: usize,
) -> Result<Vec<Decision>, IndexError> {
    Ok(catalogue
        .replaced(occasion.shelf, most)?
        .into_iter()
        .filter(|item| occasion.wanted.matches(item))
        .map(|item| Choice::of(item, Age::default(), occasion).decided(InjectionReason::Superseded))
        .collect())
}

fn packed(choices: &[Choice], total: usize, occasion: &Occasion<'_>) -> Packed {
    let items: Vec<Item> = choices
        .iter()
        .map(|choice| Item {
            group: choice.group,
            size: choice.text.chars().count(),
        })
        .collect();
    let headings: Vec<usize> = groups(occasion.shelf)
        .iter()
        .map(|group| heading(group.section, occasion).chars().count())
        .collect();
    let (before, after) = frame(occasion.shelf, occasion.format);
    let sizes = Sizes {
        frame: before.chars().count() + after.len(),
        group: &headings,
        note: left_out_note(total, occasion.format).len(),
    };
    pack(&items, &sizes, occasion.budget)
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
            text.push_str(&heading(section.section, occasion));
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
            knowledge: LongNotes::Left,
            wanted: occasion.wanted,
            reach: Reach::Best(MOST_FITTING),
        };
        for hit in recall(catalogue, &question)?.hits {
            taken.insert((hit.item.id().to_owned(), hit.age.place));
            let score = Some(hit.score.total());
            let item = hit.item.on_shelf();
            choices.extend(item.map(|item| Choice {
                score,
                ..Choice::of(item, hit.age, occasion)
            }));
        }
    }
    let mut rest = Vec::new();
    for group in groups(occasion.shelf) {
        let mut room = occasion.budget;
        let mut beyond = 0;
        catalogue.walk(&newest(occasion, Some(group.kind)), |item, age| {
            if !taken.contains(&(item.id().to_owned(), age.place)) {
                let choice = Choice::of(item, age, occasion);
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
    fn of(item: NoteOrSign, age: Age, occasion: &Occasion<'_>) -> Self {
        let kind = item.note().map_or(NoteOrSign::SIGN, |note| note.kind.word());
        let text = match (occasion.format, &item) {
            (PrimeFormat::Section, item) => format!("\n{}", section_text(item, occasion.origins)),
            (PrimeFormat::Markdown, item) if occasion.origins.of(item.id()) != Origin::Human => {
                format!("\n{}", section_text(item, occasion.origins))
            }
            (PrimeFormat::Markdown, item) => format!("\n{}", item_text(item)),
            // What has only texts in it can always be written.
            (PrimeFormat::Json, item) => format!("\n  {},", serde_json::to_string(item).unwrap_or_default()),
        };
        // Agents read it: it shows what a person would not see. JSON is data and stays exact.
        let text = match occasion.format {
            PrimeFormat::Section | PrimeFormat::Markdown => show_invisible(&text).into_owned(),
            PrimeFormat::Json => text,
        };
        Self {
            group: groups(occasion.shelf)
                .iter()
                .position(|group| group.kind == kind)
                .unwrap_or_default(),
            text,
            item,
            age,
            score: None,
        }
    }

    fn decided(self, reason: InjectionReason) -> Decision {
        Decision {
            text: self.text.trim_start_matches('\n').to_owned(),
            item: self.item,
            score: self.score,
            reason,
        }
    }
}

/// A note as an entry of a prompt's section. No line of it can be taken for the prompt's own.
fn section_text(item: &NoteOrSign, origins: &Origins) -> String {
    let origin = origins.of(item.id()).word();
    match item {
        NoteOrSign::Note(note) => {
            let content = without_controls(&note.content);
            entry_text_by(
                &Note {
                    content,
                    ..note.clone()
                },
                origin,
            )
        }
        NoteOrSign::Sign { id, text, .. } => format!("### {id}\n{}<!-- by: {origin} -->\n", quote(text)),
    }
}

/// The heading over the notes of a kind. Among the sections of a prompt guardrails have none: their ids say the kind.
fn heading(section: &str, occasion: &Occasion<'_>) -> String {
    match (occasion.format, occasion.shelf) {
        (PrimeFormat::Json, _) | (PrimeFormat::Section, Shelf::Guardrails) => String::new(),
        (PrimeFormat::Markdown, _) | (PrimeFormat::Section, Shelf::Memories) => format!("\n## {section}\n"),
    }
}

fn frame(shelf: Shelf, format: PrimeFormat) -> (String, &'static str) {
    let title = shelf.title();
    match (format, shelf) {
        (PrimeFormat::Markdown, _) => (format!("# {title}\n"), ""),
        (PrimeFormat::Section, Shelf::Memories) => (format!("# {title}\n\n{OPENING}"), ""),
        (PrimeFormat::Section, Shelf::Guardrails) => (format!("## {title}\n\n{OPENING}"), ""),
        (PrimeFormat::Json, _) => ("[".to_owned(), "\n]\n"),
    }
}

/// What stands where something was left out.
pub(super) fn left_out_note(left_out: usize, format: PrimeFormat) -> String {
    match format {
        PrimeFormat::Markdown | PrimeFormat::Section => {
            let left_out = count(left_out, "entry", "entries");
            format!("\n<!-- truncated: budget exceeded -->\n<!-- {left_out} left out -->\n")
        }
        PrimeFormat::Json => String::new(),
    }
}
