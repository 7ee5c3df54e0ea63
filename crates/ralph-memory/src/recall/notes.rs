//! Notes as a searchable corpus, restricted to the wanted files and kinds.

use std::collections::HashSet;

use ralph_model::NoteFileKind;
use ralph_store::index::{DocFeatures, Index, IndexError, KNOWLEDGE_SOURCE, KnownTerm, TermScope, Totals};

use super::corpus::Corpus;
use super::{Found, FoundKnowledge, KnowledgeSearch, Question};
use crate::note_index::{NoteIndex, source_name};

/// At most one in this many entries of the index counts as few.
const FEW_OF_ALL: usize = 4;

pub(super) struct Notes<'q> {
    pub(super) index: &'q Index,
    question: &'q Question<'q>,
    /// The numbers of the searched files, in the order of the question.
    pub(super) sources: Vec<i64>,
    file_kinds: Vec<NoteFileKind>,
    superseded: HashSet<String>,
    /// The searchable entries, if they are few among all in the index: checking the file of every other entry would
    /// take longer.
    only: Option<HashSet<i64>>,
    holders: TermScope,
    pub(super) has_any: bool,
}

impl<'q> Notes<'q> {
    pub(super) fn of(note_index: &'q NoteIndex, question: &'q Question<'q>) -> Result<Self, IndexError> {
        let index = &note_index.index;
        let numbers = index.source_numbers()?;
        let known = |file_kind: &NoteFileKind| Some((*numbers.get(source_name(*file_kind))?, *file_kind));
        let (mut sources, file_kinds): (Vec<i64>, Vec<NoteFileKind>) =
            question.file_kinds.iter().filter_map(known).unzip();
        let (mut all, mut entries) = (0, 0);
        for (name, number) in &numbers {
            let of_file = index.entries_in(name)?;
            all += of_file;
            if sources.contains(number) {
                entries += of_file;
            }
        }
        let only = if entries * FEW_OF_ALL < all {
            Some(index.numbers_in(&sources)?)
        } else {
            None
        };
        let mut has_any = entries > 0;
        let holders = match question.knowledge {
            KnowledgeSearch::Include if note_index.includes_knowledge() => {
                has_any |= index.knowledge_totals()?.entries > 0;
                sources.push(KNOWLEDGE_SOURCE);
                if file_kinds.is_empty() {
                    TermScope::Knowledge
                } else {
                    TermScope::All
                }
            }
            KnowledgeSearch::Include | KnowledgeSearch::Exclude => TermScope::NoteFiles,
        };
        Ok(Self {
            only,
            holders,
            has_any,
            sources,
            file_kinds,
            superseded: index.superseded()?,
            index,
            question,
        })
    }

    pub(super) fn found(&self, outline: &DocFeatures) -> Result<Found, IndexError> {
        if let Some(number) = long_note(outline.number) {
            let day = outline.age.created.clone();
            let (outline, body) = self.index.knowledge_note(number)?;
            return Ok(Found::Knowledge(Box::new(FoundKnowledge { outline, day, body })));
        }
        Ok(Found::Note {
            file_kind: self.file_kind_of(outline.source),
            item: self.index.item(outline.number)?,
        })
    }

    /// Visits every term of a findable entry.
    pub(super) fn all_terms(&self, visit: &mut dyn FnMut(KnownTerm)) -> Result<(), IndexError> {
        self.index.all_terms(self.holders, visit)
    }

    fn file_kind_of(&self, source: i64) -> NoteFileKind {
        let position = self.sources.iter().position(|number| *number == source);
        let file_kind = position.and_then(|position| self.file_kinds.get(position));
        file_kind.copied().unwrap_or(NoteFileKind::Memories)
    }

    fn may_be_found(&self, outline: &DocFeatures) -> Result<bool, IndexError> {
        if !self.sources.contains(&outline.source) || self.superseded.contains(&outline.id) {
            return Ok(false);
        }
        let wanted = self.question.wanted;
        if wanted.is_everything() {
            return Ok(true);
        }
        Ok(match long_note(outline.number) {
            Some(number) => wanted.matches_knowledge(&self.index.knowledge_metadata(number)?, &outline.age),
            None => wanted.matches(&self.index.item(outline.number)?),
        })
    }

    fn outline(&self, number: i64) -> Result<Vec<DocFeatures>, IndexError> {
        match long_note(number) {
            Some(own) => Ok(vec![DocFeatures {
                number,
                ..self.index.knowledge_ranking(own)?
            }]),
            None => self.index.features([number]),
        }
    }
}

/// The number of a knowledge entry, if it is one: these have negative numbers among other notes.
fn long_note(number: i64) -> Option<i64> {
    (number < 0).then(|| number.saturating_neg())
}

impl Corpus for Notes<'_> {
    type Error = IndexError;

    const TIE_BATCH: usize = usize::MAX;

    fn totals(&self) -> Result<Totals, IndexError> {
        let (none, file_kinds) = (Totals { entries: 0, terms: 0 }, self.index.totals()?);
        let (file_kinds, knowledge) = match self.holders {
            TermScope::NoteFiles => return Ok(file_kinds),
            TermScope::Knowledge => (none, self.index.knowledge_totals()?),
            TermScope::All => (file_kinds, self.index.knowledge_totals()?),
        };
        Ok(Totals {
            entries: file_kinds.entries + knowledge.entries,
            terms: file_kinds.terms + knowledge.terms,
        })
    }

    fn term(&self, term: &str) -> Result<Option<KnownTerm>, IndexError> {
        self.index.term(term, self.holders)
    }

    fn entries_with(&self, term: &KnownTerm, visit: &mut dyn FnMut(i64)) -> Result<(), IndexError> {
        if self.holders != TermScope::NoteFiles {
            self.index
                .knowledge_with(term.number, &mut |note| visit(note.saturating_neg()))?;
        }
        match &self.only {
            _ if self.holders == TermScope::Knowledge => Ok(()),
            None => self.index.entries_with(term.number, visit),
            Some(only) => self.index.entries_with(term.number, &mut |entry| {
                if only.contains(&entry) {
                    visit(entry);
                }
            }),
        }
    }

    fn outlines(&self, numbers: &[i64]) -> Result<Vec<DocFeatures>, IndexError> {
        let mut found = Vec::new();
        for number in numbers {
            for outline in self.outline(*number)? {
                if self.may_be_found(&outline)? {
                    found.push(outline);
                }
            }
        }
        Ok(found)
    }

    fn text(&self, number: i64) -> Result<String, IndexError> {
        match long_note(number) {
            Some(number) => self.index.knowledge_text(number),
            None => Ok(self.index.item(number)?.content().to_owned()),
        }
    }
}
