//! `## Project Knowledge`: knowledge entries relevant to the task by tags and links.

use ralph_model::{EntryKind, InjectionReason};
use ralph_search::IndexError;

use super::markdown::{below_heading, one_line, quote, title};
use super::section::{Considered, MAX_LEFT_OUT, Section, visible};
use super::section_budgets::SectionBudgets;
use super::{OPENING, PromptRequest};
use crate::inject::origin::{Origin, Origins};
use crate::inject::pack::{Item, Sizes, pack};
use crate::inject::prime::{PrimeFormat, left_out_note};
use crate::inject::seen_texts::{Fact, SeenTexts};
use crate::recall::{Relevant, TaskSignals, relevant_knowledge};
use ralph_search::{KnowledgeMetadata, SearchIndex};

const HEADING: &str = "Project Knowledge";
/// After this many entries that do not fit, the rest only counts as left out.
const MAX_SKIPPED: usize = MAX_LEFT_OUT;

struct Choice {
    file: String,
    /// The relevance; `None` if only a link led to it.
    score: Option<u32>,
    fact: Fact,
    /// As in the prompt, even if left out.
    text: String,
    reason: InjectionReason,
}

/// The section. An entry whose text is already in the prompt is omitted.
pub(super) fn section(
    index: &SearchIndex,
    request: &PromptRequest<'_>,
    room: &mut SectionBudgets,
    seen: &mut SeenTexts,
) -> Result<Section, IndexError> {
    let mut section = Section {
        heading: HEADING,
        ..Section::default()
    };
    let mut relevant = relevant_knowledge(index, &signals(request))?;
    if relevant.total() == 0 {
        return Ok(section);
    }
    let frame = format!("## {HEADING}\n\n{OPENING}");
    let budget = room.for_section(request.config.context.knowledge);
    let mut tried = Tried::default();
    let mut room_left = budget;
    let mut skipped = 0;
    while skipped < MAX_SKIPPED
        && let Some(note) = relevant.next().transpose()?
    {
        if let Some(size) = tried.add((index, request.origins), note, seen)?
            && !room_left.take(size)
        {
            skipped += 1;
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
            seen.add(choice.fact);
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

/// The entries read so far, in order of preference.
#[derive(Default)]
struct Tried {
    choices: Vec<Choice>,
    /// Those that are not duplicates, and their positions among the choices.
    items: Vec<Item>,
    positions: Vec<usize>,
    seen: SeenTexts,
}

impl Tried {
    /// Reads an entry and returns its size; `None` if it is a duplicate.
    fn add(
        &mut self,
        (index, origins): (&SearchIndex, &Origins),
        note: Relevant,
        seen: &SeenTexts,
    ) -> Result<Option<usize>, IndexError> {
        let (outline, body) = index.knowledge_entry(note.number)?;
        let text = visible(&entry(&outline, &body, origins.of(&note.file)));
        let fact = Fact::of(if body.trim().is_empty() { &outline.title } else { &body });
        let is_new = !seen.contains(fact) && !self.seen.contains(fact);
        // Includes the blank line before it.
        let size = text.chars().count() + 1;
        if is_new {
            self.seen.add(fact);
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

/// An entry in the format of earlier tools. If an agent wrote or may have written it, the heading is the file name and
/// the title is quoted, so that it cannot imitate a section.
fn entry(outline: &KnowledgeMetadata, body: &str, origin: Origin) -> String {
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
