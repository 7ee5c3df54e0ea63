//! `## Project Knowledge`: the long notes that belong to the task, by their tags and their links.

use ralph_model::{EntryKind, InjectionReason};
use ralph_store::index::IndexError;

use super::markdown::{below_heading, one_line, quote, title};
use super::room::Room;
use super::section::{Considered, MOST_LEFT_OUT, Section, visible};
use super::{OPENING, PromptRequest};
use crate::catalogue::{Catalogue, KnowledgeOutline};
use crate::inject::origin::{Origin, Origins};
use crate::inject::pack::{Item, Sizes, pack};
use crate::inject::prime::{PrimeFormat, left_out_note};
use crate::inject::said::{Fact, Said};
use crate::recall::{Relevant, TaskSignals, relevant_knowledge};

const HEADING: &str = "Project Knowledge";
/// After so many that do not fit no further ones are tried: they only count as left out.
const MOST_PASSED_OVER: usize = MOST_LEFT_OUT;

/// A note that may stand in the section.
struct Choice {
    file: String,
    /// How well it fits the task; none where no tag of its does, and only a link led to it.
    score: Option<u32>,
    /// What it says.
    fact: Fact,
    /// As it stands in the prompt, or would.
    text: String,
    reason: InjectionReason,
}

/// The section. A note that says what stands in the prompt already does not stand there again.
pub(super) fn section(
    catalogue: &Catalogue,
    request: &PromptRequest<'_>,
    room: &mut Room,
    said: &mut Said,
) -> Result<Section, IndexError> {
    let mut section = Section {
        heading: HEADING,
        ..Section::default()
    };
    let mut relevant = relevant_knowledge(catalogue, &signals(request))?;
    if relevant.total() == 0 {
        return Ok(section);
    }
    let frame = format!("## {HEADING}\n\n{OPENING}");
    let budget = room.for_section(request.config.context.knowledge);
    let mut tried = Tried::default();
    let mut room_left = budget;
    let mut passed_over = 0;
    while passed_over < MOST_PASSED_OVER
        && let Some(note) = relevant.next().transpose()?
    {
        if let Some(size) = tried.weigh((catalogue, request.origins), note, said)?
            && !room_left.take(size)
        {
            passed_over += 1;
        }
    }
    let sizes = Sizes {
        frame: frame.chars().count(),
        group: &[0],
        note: left_out_note(relevant.total(), PrimeFormat::Section).len(),
    };
    let packed = pack(&tried.items, &sizes, budget);
    let mut shown = 0;
    for position in packed.chosen.iter().filter_map(|chosen| tried.positions.get(*chosen)) {
        if let Some(choice) = tried.choices.get_mut(*position) {
            choice.reason = InjectionReason::Shown;
            said.add(choice.fact);
            shown += 1;
        }
    }
    if shown > 0 {
        section.text = frame;
        for choice in tried
            .choices
            .iter()
            .filter(|choice| choice.reason == InjectionReason::Shown)
        {
            section.text.push('\n');
            section.text.push_str(&choice.text);
        }
        let duplicates = tried.choices.len() - tried.items.len();
        let left_out = relevant.total() - duplicates - shown;
        if left_out > 0 && packed.note_fits {
            section.text.push_str(&left_out_note(left_out, PrimeFormat::Section));
        }
        section.fixed = OPENING.chars().count();
        room.spend(&section.text);
    }
    section.considered(tried.choices.iter().map(|choice| Considered {
        kind: EntryKind::Knowledge,
        id: &choice.file,
        text: &choice.text,
        score: choice.score.map(f64::from),
        reason: choice.reason,
    }));
    Ok(section)
}

fn signals<'a>(request: &PromptRequest<'a>) -> TaskSignals<'a> {
    TaskSignals {
        title: &request.task.title,
        description: &request.task.description,
        feature: request.feature.map(|feature| feature.name.as_str()),
        recent_files: request.recent_files,
    }
}

/// Notes that were read, in the order of preference.
#[derive(Default)]
struct Tried {
    choices: Vec<Choice>,
    /// Those that are no duplicates, as they are packed, and where they stand among the choices.
    items: Vec<Item>,
    positions: Vec<usize>,
    said: Said,
}

impl Tried {
    /// Reads a note, and says how much room it takes; none where it says nothing new.
    fn weigh(
        &mut self,
        (catalogue, origins): (&Catalogue, &Origins),
        note: Relevant,
        said: &Said,
    ) -> Result<Option<usize>, IndexError> {
        let (outline, body) = catalogue.index.knowledge_note(note.number)?;
        let text = visible(&entry(&outline, &body, origins.of(&note.file)));
        let fact = Fact::of(if body.trim().is_empty() { &outline.title } else { &body });
        let is_new = !said.holds(fact) && !self.said.holds(fact);
        // With the empty line before it.
        let size = text.chars().count() + 1;
        if is_new {
            self.said.add(fact);
            self.positions.push(self.choices.len());
            self.items.push(Item { group: 0, size });
        }
        self.choices.push(Choice {
            score: (note.by_tags > 0).then(|| note.score()),
            file: note.file,
            fact,
            text,
            reason: if is_new {
                InjectionReason::OverBudget
            } else {
                InjectionReason::Duplicate
            },
        });
        Ok(is_new.then_some(size))
    }
}

/// A note as an entry of the section, in the form that the earlier tools gave it. One that an agent wrote, or may have written, has its file in the
/// heading instead of the title, which is quoted with the rest: else it could have the name of a section.
fn entry(outline: &KnowledgeOutline, body: &str, origin: Origin) -> String {
    let tags: Vec<String> = outline.tags.iter().map(|tag| one_line(tag)).collect();
    let tags = format!("_Tags: {} | by: {}_\n", tags.join(", "), origin.word());
    match origin {
        Origin::Agent | Origin::Unknown => {
            let text = format!("{}\n\n{body}", one_line(&outline.title));
            format!("### {}\n{tags}\n{}", title(&outline.file), quote(&text))
        }
        Origin::Human | Origin::Extracted => {
            let body = below_heading(body);
            let gap = if body.is_empty() { "" } else { "\n" };
            format!("### {}\n{tags}{gap}{body}", title(&outline.title))
        }
    }
}
