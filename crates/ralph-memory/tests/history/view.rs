//! All answers of an index in a comparable form.

use std::collections::BTreeMap;
use std::path::Path;

use ralph_memory::inject::{Origins, PrimeFormat, PrimeRequest, prime};
use ralph_memory::recall::{
    self, Answer, KnowledgeSearch, Newest, NoteFilter, Question, Reach, Superseded, count_notes, find_note,
    newest_notes, recall,
};
use ralph_model::{Budget, NoteFileKind, NoteKind, NoteOrSign, Tags, Tokens};
use ralph_notes::Document;
use ralph_search::{DocKind, Index, Problems, SearchIndex, Totals, terms_of};

use super::super::support::Files;

pub(crate) const NOTE_FILE_KINDS: [NoteFileKind; 2] = [NoteFileKind::Memories, NoteFileKind::Guardrails];

/// Queries with words, names, tags, common words, typos, other scripts and nothing.
const QUESTIONS: [&str; 9] = [
    "docker",
    "the docker daemon is not running, port 5432!",
    "parseConfig",
    "parse-config of the database, please",
    "migartion",
    "数据库",
    "run test cargo build docker port",
    "tag-1 tag-2",
    "",
];

#[derive(Debug, PartialEq)]
pub(crate) struct View {
    file_kinds: Vec<NoteFileView>,
    answers: Vec<Answered>,
    primed: Vec<String>,
}

/// A query, its hits and its fuzzy terms.
type Answered = (String, Vec<Found>, Vec<(String, String)>);

#[derive(Debug, PartialEq)]
struct NoteFileView {
    all: Vec<NoteOrSign>,
    standing: Vec<NoteOrSign>,
    fixes: Vec<NoteOrSign>,
    tagged: Vec<NoteOrSign>,
    counts: Vec<usize>,
    found: Vec<Option<NoteOrSign>>,
    problems: Problems,
}

/// A hit without its position; scores must be identical to the last bit.
#[derive(Debug, PartialEq)]
struct Found {
    item: recall::Found,
    parts: Vec<u64>,
}

impl View {
    /// Its parts as readable texts.
    pub(crate) fn parts(&self) -> impl Iterator<Item = String> {
        let file_kinds = self.file_kinds.iter().map(|file_kind| format!("{file_kind:#?}"));
        let answers = self.answers.iter().map(|answer| format!("{answer:#?}"));
        file_kinds.chain(answers).chain(self.primed.iter().cloned())
    }

    pub(crate) fn of(search_index: &SearchIndex) -> Self {
        let tagged = NoteFilter {
            tags: Tags::parse("tag-1, db").unwrap(),
            ..NoteFilter::default()
        };
        let mut answers: Vec<Answered> = Vec::new();
        for text in QUESTIONS {
            for reach in [Reach::Best(3), Reach::All] {
                for (file_kinds, wanted) in [
                    (&NOTE_FILE_KINDS[..], &NoteFilter::default()),
                    (&NOTE_FILE_KINDS[..1], &NoteFilter::default()),
                    (&NOTE_FILE_KINDS[..], &tagged),
                ] {
                    let question = Question {
                        text,
                        file_kinds,
                        knowledge: KnowledgeSearch::Exclude,
                        wanted,
                        reach,
                    };
                    let answer = recall(search_index, &question).unwrap();
                    let name = format!("{text} {reach:?} {} {}", file_kinds.len(), wanted.tags);
                    answers.push((name, found(&answer), answer.corrected));
                }
            }
        }
        Self {
            file_kinds: NOTE_FILE_KINDS
                .map(|file_kind| NoteFileView::of(search_index, file_kind, &tagged))
                .into_iter()
                .collect(),
            answers,
            primed: NOTE_FILE_KINDS
                .iter()
                .flat_map(|file_kind| primed(search_index, *file_kind, &tagged))
                .collect(),
        }
    }
}

impl NoteFileView {
    fn of(search_index: &SearchIndex, file_kind: NoteFileKind, tagged: &NoteFilter) -> Self {
        let everything = NoteFilter::default();
        let all = Newest {
            file_kind,
            kind: None,
            wanted: &everything,
            superseded: Superseded::Shown,
        };
        let standing = Newest {
            superseded: Superseded::Hidden,
            ..all
        };
        let fixes = Newest {
            kind: Some(NoteKind::Fix.word()),
            ..standing
        };
        let tagged = Newest { wanted: tagged, ..all };
        let list = |newest: &Newest<'_>| newest_notes(search_index, newest, usize::MAX).unwrap();
        let listed = list(&all);
        let selectors = listed.iter().flat_map(|item| [item.id(), short(item.id())]);
        Self {
            found: selectors
                .map(|id| find_note(search_index, file_kind, id).unwrap())
                .collect(),
            standing: list(&standing),
            fixes: list(&fixes),
            tagged: list(&tagged),
            counts: [all, standing, fixes, tagged]
                .iter()
                .map(|newest| count_notes(search_index, newest).unwrap())
                .collect(),
            problems: search_index
                .file_kind(file_kind)
                .map(|state| state.problems.clone())
                .unwrap_or_default(),
            all: listed,
        }
    }
}

fn short(id: &str) -> &str {
    id.get(..id.len() - 2).unwrap_or(id)
}

fn found(answer: &Answer) -> Vec<Found> {
    let hits = answer.hits.iter();
    hits.map(|hit| Found {
        item: hit.item.clone(),
        parts: hit.score.parts().map(|(_, part)| part.to_bits()).to_vec(),
    })
    .collect()
}

fn primed(search_index: &SearchIndex, file_kind: NoteFileKind, tagged: &NoteFilter) -> Vec<String> {
    let mut texts = Vec::new();
    for (about, tokens, wanted) in [
        (None, 0, &NoteFilter::default()),
        (None, 60, tagged),
        (Some("docker port"), 90, &NoteFilter::default()),
    ] {
        let occasion = PrimeRequest {
            file_kind,
            wanted,
            about,
            budget: Budget::of(Tokens(tokens)),
            format: PrimeFormat::Markdown,
            origins: &Origins::default(),
        };
        texts.push(prime(search_index, &occasion).unwrap().text);
    }
    texts
}

/// The number of documents and words, and of the documents with each word by its count and by its list.
#[derive(Debug, PartialEq)]
pub(crate) struct Counts {
    totals: Totals,
    terms: BTreeMap<String, (u64, u64)>,
}

impl Counts {
    /// The counts of an index on disk, for the words of the files.
    pub(crate) fn of(path: &Path, files: &Files) -> Self {
        const KINDS: [DocKind; 2] = [DocKind::Memory, DocKind::Guardrail];
        let index = Index::open(path).unwrap();
        let counts = |term: &String| {
            let known = index.term(term, &KINDS).unwrap()?;
            let mut listed = 0;
            index.docs_with(&known, &KINDS, &mut |_| listed += 1).unwrap();
            Some((term.clone(), (known.docs, listed)))
        };
        Self {
            totals: index.totals(&KINDS).unwrap(),
            terms: Self::from_scratch(files).terms.keys().filter_map(counts).collect(),
        }
    }

    /// The counts computed from the files.
    pub(crate) fn from_scratch(files: &Files) -> Self {
        let mut counts = Self {
            totals: Totals::default(),
            terms: BTreeMap::new(),
        };
        for file_kind in NOTE_FILE_KINDS {
            let bytes = std::fs::read(files.path(file_kind)).unwrap_or_default();
            for item in Document::parse(file_kind, &bytes).items() {
                let mut terms = terms_of(item.content());
                if let Some(note) = item.note() {
                    terms.extend(terms_of(&note.tags.to_string()));
                }
                counts.totals.docs += 1;
                counts.totals.terms += terms.len() as u64;
                terms.sort();
                terms.dedup();
                for term in terms {
                    let (count, listed) = counts.terms.entry(term).or_default();
                    *count += 1;
                    *listed += 1;
                }
            }
        }
        counts
    }
}
