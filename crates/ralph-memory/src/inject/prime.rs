//! Selects notes for the start of a session: the most relevant ones, whole, within a budget.

use std::collections::HashSet;
use std::ops::ControlFlow;

use ralph_model::{Budget, InjectionReason, Note, NoteFileKind, NoteOrSign, count, show_invisible};
use ralph_notes::{entry_text_by, item_text};
use ralph_search::{Age, IndexError};

use super::origin::{Origin, Origins};
use super::pack::{Item, Packed, Sizes, pack};
use super::prompt::{OPENING, quote, without_controls};
use super::seen_texts::{Fact, SeenTexts};
use crate::recall::{
    KnowledgeSearch, Newest, NoteFilter, Question, Reach, Superseded, count_notes, recall, superseded_notes, walk_notes,
};
use ralph_search::SearchIndex;

/// How many relevant notes precede the others.
const MAX_RELEVANT: usize = 200;
/// How many notes of a type are read beyond the budget: one that does not fit is skipped, and a later one may be
/// shorter.
const READ_AHEAD: usize = 32;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrimeFormat {
    /// As in the file.
    Markdown,
    /// As a JSON array of objects.
    Json,
    /// As a section of a prompt.
    Section,
}

/// A request for notes.
#[derive(Debug, Clone, Copy)]
pub struct PrimeRequest<'a> {
    pub file_kind: NoteFileKind,
    pub wanted: &'a NoteFilter,
    /// The text that they should be relevant to.
    pub about: Option<&'a str>,
    pub budget: Budget,
    pub format: PrimeFormat,
    /// The notes' authors. In Markdown only those not written by a person are marked.
    pub origins: &'a Origins,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Primed {
    /// Empty without notes.
    pub text: String,
    /// The number of notes in it.
    pub shown: usize,
    /// The number that did not fit.
    pub left_out: usize,
}

/// The selected notes, and the decision about each candidate.
#[derive(Debug, Default)]
pub(super) struct Selected {
    pub(super) primed: Primed,
    /// In order of preference.
    pub(super) decisions: Vec<Decision>,
}

/// The decision about a note.
#[derive(Debug)]
pub(super) struct Decision {
    pub(super) item: NoteOrSign,
    /// As written in the output, even if left out.
    pub(super) text: String,
    /// The relevance; `None` if it only shares common words.
    pub(super) score: Option<f64>,
    pub(super) reason: InjectionReason,
}

struct Choice {
    item: NoteOrSign,
    age: Age,
    /// The section it belongs to.
    group: usize,
    /// As written in the output, after a line break.
    text: String,
    score: Option<f64>,
}

/// Selects notes for a budget: the most relevant to the text or, without a text, the newest. Superseded notes are never
/// included.
///
/// # Errors
/// If the index cannot be read.
pub fn prime(index: &SearchIndex, request: &PrimeRequest<'_>) -> Result<Primed, IndexError> {
    Ok(select(index, request, Duplicates::KeepAll)?.primed)
}

/// How duplicates are treated.
#[derive(Debug, Clone, Copy)]
pub(super) enum Duplicates<'a> {
    /// All are included, because the user asked for the file.
    KeepAll,
    /// Only the first is included, unless the prompt already says it.
    KeepFirst(&'a SeenTexts),
}

/// Like [`prime`], with the decision about each note.
pub(super) fn select(
    index: &SearchIndex,
    request: &PrimeRequest<'_>,
    duplicates: Duplicates<'_>,
) -> Result<Selected, IndexError> {
    let preferred = preferred(index, request)?;
    let total = count_notes(index, &newest(request, None))?.max(preferred.len());
    let mut here = SeenTexts::default();
    let (repeated, choices): (Vec<Choice>, Vec<Choice>) = preferred.into_iter().partition(|choice| {
        let Duplicates::KeepFirst(already) = duplicates else {
            return false;
        };
        let fact = Fact::of(choice.item.content());
        let is_seen = already.contains(fact) || here.contains(fact);
        here.add(fact);
        is_seen
    });
    let total = total - repeated.len();
    let packed = packed(&choices, total, request);
    let primed = written(&choices, &packed, total, request);
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

/// The superseded notes of a file, newest first, up to a number.
pub(super) fn replaced(
    index: &SearchIndex,
    request: &PrimeRequest<'_>,
    most: usize,
) -> Result<Vec<Decision>, IndexError> {
    Ok(superseded_notes(index, request.file_kind, most)?
        .into_iter()
        .filter(|item| request.wanted.matches(item))
        .map(|item| Choice::of(item, Age::default(), request).decided(InjectionReason::Superseded))
        .collect())
}

fn packed(choices: &[Choice], total: usize, request: &PrimeRequest<'_>) -> Packed {
    let items: Vec<Item> = choices
        .iter()
        .map(|choice| Item {
            group: choice.group,
            size: choice.text.chars().count(),
        })
        .collect();
    let headings: Vec<usize> = groups(request.file_kind)
        .iter()
        .map(|group| heading(group.section, request).chars().count())
        .collect();
    let (before, after) = frame(request.file_kind, request.format);
    let sizes = Sizes {
        frame: before.chars().count() + after.len(),
        group: &headings,
        note: left_out_note(total, request.format).len(),
    };
    pack(&items, &sizes, request.budget)
}

fn written(choices: &[Choice], packed: &Packed, total: usize, request: &PrimeRequest<'_>) -> Primed {
    let format = request.format;
    let chosen: HashSet<usize> = packed.chosen.iter().copied().collect();
    let mut text = String::new();
    for (group, section) in groups(request.file_kind).iter().enumerate() {
        let mut of_group: Vec<&Choice> = choices
            .iter()
            .enumerate()
            .filter(|(position, choice)| choice.group == group && chosen.contains(position))
            .map(|(_, choice)| choice)
            .collect();
        // Within a section the oldest is first, as in the file.
        of_group.sort_by(|one, other| one.age.cmp(&other.age));
        if !of_group.is_empty() {
            text.push_str(&heading(section.section, request));
        }
        text.extend(of_group.iter().map(|choice| choice.text.as_str()));
    }
    let (before, after) = frame(request.file_kind, format);
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

/// The candidates in order of preference: the relevant ones, then the newest.
fn preferred(index: &SearchIndex, request: &PrimeRequest<'_>) -> Result<Vec<Choice>, IndexError> {
    // Keyed by position too: a damaged file may contain an id twice.
    let mut taken: HashSet<(String, i64)> = HashSet::new();
    let mut choices = Vec::new();
    if let Some(text) = request.about {
        let question = Question {
            text,
            file_kinds: &[request.file_kind],
            knowledge: KnowledgeSearch::Exclude,
            wanted: request.wanted,
            reach: Reach::Best(MAX_RELEVANT),
        };
        for hit in recall(index, &question)?.hits {
            taken.insert((hit.item.id().to_owned(), hit.age.place));
            let score = Some(hit.score.total());
            let item = hit.item.into_item();
            choices.extend(item.map(|item| Choice {
                score,
                ..Choice::of(item, hit.age, request)
            }));
        }
    }
    let mut rest = Vec::new();
    for group in groups(request.file_kind) {
        let mut room = request.budget;
        let mut beyond = 0;
        walk_notes(index, &newest(request, Some(group.kind)), |item, age| {
            if !taken.contains(&(item.id().to_owned(), age.place)) {
                let choice = Choice::of(item, age, request);
                if !room.take(choice.text.chars().count()) {
                    beyond += 1;
                }
                rest.push(choice);
            }
            if beyond > READ_AHEAD {
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

fn newest<'a>(request: &PrimeRequest<'a>, kind: Option<&'a str>) -> Newest<'a> {
    Newest {
        file_kind: request.file_kind,
        kind,
        wanted: request.wanted,
        superseded: Superseded::Hidden,
    }
}

/// A section of the output.
struct Group {
    section: &'static str,
    /// The note type in it.
    kind: &'static str,
}

/// The sections in order; legacy Signs come last.
fn groups(file_kind: NoteFileKind) -> Vec<Group> {
    let kinds = file_kind.kinds().iter().map(|kind| Group {
        section: kind.section(),
        kind: kind.word(),
    });
    let signs = (file_kind == NoteFileKind::Guardrails).then_some(Group {
        section: "Signs",
        kind: NoteOrSign::SIGN,
    });
    kinds.chain(signs).collect()
}

impl Choice {
    fn of(item: NoteOrSign, age: Age, request: &PrimeRequest<'_>) -> Self {
        let kind = item.note().map_or(NoteOrSign::SIGN, |note| note.kind.word());
        let text = match (request.format, &item) {
            (PrimeFormat::Section, item) => format!("\n{}", section_text(item, request.origins)),
            (PrimeFormat::Markdown, item) if request.origins.of(item.id()) != Origin::Human => {
                format!("\n{}", section_text(item, request.origins))
            }
            (PrimeFormat::Markdown, item) => format!("\n{}", item_text(item)),
            // Serializing strings cannot fail.
            (PrimeFormat::Json, item) => format!("\n  {},", serde_json::to_string(item).unwrap_or_default()),
        };
        // Agents read this, so invisible characters are made visible. JSON is data and stays exact.
        let text = match request.format {
            PrimeFormat::Section | PrimeFormat::Markdown => show_invisible(&text).into_owned(),
            PrimeFormat::Json => text,
        };
        Self {
            group: groups(request.file_kind)
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

/// A note as an entry of a prompt section. No line of it can be mistaken for the prompt's structure.
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

/// The heading of a note type. Guardrails in a prompt have none, because their ids contain the type.
fn heading(section: &str, request: &PrimeRequest<'_>) -> String {
    match (request.format, request.file_kind) {
        (PrimeFormat::Json, _) | (PrimeFormat::Section, NoteFileKind::Guardrails) => String::new(),
        (PrimeFormat::Markdown, _) | (PrimeFormat::Section, NoteFileKind::Memories) => format!("\n## {section}\n"),
    }
}

fn frame(file_kind: NoteFileKind, format: PrimeFormat) -> (String, &'static str) {
    let title = file_kind.title();
    match (format, file_kind) {
        (PrimeFormat::Markdown, _) => (format!("# {title}\n"), ""),
        (PrimeFormat::Section, NoteFileKind::Memories) => (format!("# {title}\n\n{OPENING}"), ""),
        (PrimeFormat::Section, NoteFileKind::Guardrails) => (format!("## {title}\n\n{OPENING}"), ""),
        (PrimeFormat::Json, _) => ("[".to_owned(), "\n]\n"),
    }
}

/// The note about entries left out.
pub(super) fn left_out_note(left_out: usize, format: PrimeFormat) -> String {
    match format {
        PrimeFormat::Markdown | PrimeFormat::Section => {
            let left_out = count(left_out, "entry", "entries");
            format!("\n<!-- truncated: budget exceeded -->\n<!-- {left_out} left out -->\n")
        }
        PrimeFormat::Json => String::new(),
    }
}
