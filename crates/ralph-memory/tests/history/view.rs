//! Everything that an index answers, in a form that can be compared.

use std::collections::BTreeMap;
use std::path::Path;

use ralph_memory::catalogue::{Catalogue, Problems};
use ralph_memory::inject::{Occasion, Origins, PrimeFormat, prime};
use ralph_memory::recall::{self, Answer, LongNotes, Newest, Question, Reach, Superseded, Wanted, recall};
use ralph_model::{Budget, NoteKind, NoteOrSign, Shelf, Tags, Tokens};
use ralph_notes::Document;
use ralph_store::index::{Holders, Index, Totals, terms_of};

use super::super::support::Files;

pub(crate) const SHELVES: [Shelf; 2] = [Shelf::Memories, Shelf::Guardrails];

/// What is asked of every index: words, names, tags, common ones, typos, other scripts, nothing.
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

/// What an index answers.
#[derive(Debug, PartialEq)]
pub(crate) struct View {
    shelves: Vec<ShelfView>,
    answers: Vec<Answered>,
    primed: Vec<String>,
}

/// A question, what it found, and which words were taken for others.
type Answered = (String, Vec<Found>, Vec<(String, String)>);

#[derive(Debug, PartialEq)]
struct ShelfView {
    all: Vec<NoteOrSign>,
    standing: Vec<NoteOrSign>,
    fixes: Vec<NoteOrSign>,
    tagged: Vec<NoteOrSign>,
    counts: Vec<usize>,
    found: Vec<Option<NoteOrSign>>,
    problems: Problems,
}

/// A hit without its place, which is a matter of the index alone; scores must be the same to the last bit.
#[derive(Debug, PartialEq)]
struct Found {
    item: recall::Found,
    parts: Vec<u64>,
}

impl View {
    /// Its parts as texts, so that a difference can be read.
    pub(crate) fn parts(&self) -> impl Iterator<Item = String> {
        let shelves = self.shelves.iter().map(|shelf| format!("{shelf:#?}"));
        let answers = self.answers.iter().map(|answer| format!("{answer:#?}"));
        shelves.chain(answers).chain(self.primed.iter().cloned())
    }

    pub(crate) fn of(catalogue: &Catalogue) -> Self {
        let tagged = Wanted {
            tags: Tags::parse("tag-1, db").unwrap(),
            ..Wanted::default()
        };
        let mut answers: Vec<Answered> = Vec::new();
        for text in QUESTIONS {
            for reach in [Reach::Best(3), Reach::All] {
                for (shelves, wanted) in [
                    (&SHELVES[..], &Wanted::default()),
                    (&SHELVES[..1], &Wanted::default()),
                    (&SHELVES[..], &tagged),
                ] {
                    let question = Question {
                        text,
                        shelves,
                        knowledge: LongNotes::Left,
                        wanted,
                        reach,
                    };
                    let answer = recall(catalogue, &question).unwrap();
                    let name = format!("{text} {reach:?} {} {}", shelves.len(), wanted.tags);
                    answers.push((name, found(&answer), answer.forgiven));
                }
            }
        }
        Self {
            shelves: SHELVES
                .map(|shelf| ShelfView::of(catalogue, shelf, &tagged))
                .into_iter()
                .collect(),
            answers,
            primed: SHELVES
                .iter()
                .flat_map(|shelf| primed(catalogue, *shelf, &tagged))
                .collect(),
        }
    }
}

impl ShelfView {
    fn of(catalogue: &Catalogue, shelf: Shelf, tagged: &Wanted) -> Self {
        let everything = Wanted::default();
        let all = Newest {
            shelf,
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
        let list = |newest: &Newest<'_>| catalogue.newest(newest, usize::MAX).unwrap();
        let listed = list(&all);
        let selectors = listed.iter().flat_map(|item| [item.id(), short(item.id())]);
        Self {
            found: selectors.map(|id| catalogue.find(shelf, id).unwrap()).collect(),
            standing: list(&standing),
            fixes: list(&fixes),
            tagged: list(&tagged),
            counts: [all, standing, fixes, tagged]
                .iter()
                .map(|newest| catalogue.count(newest).unwrap())
                .collect(),
            problems: catalogue
                .shelf(shelf)
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

fn primed(catalogue: &Catalogue, shelf: Shelf, tagged: &Wanted) -> Vec<String> {
    let mut texts = Vec::new();
    for (about, tokens, wanted) in [
        (None, 0, &Wanted::default()),
        (None, 60, tagged),
        (Some("docker port"), 90, &Wanted::default()),
    ] {
        let occasion = Occasion {
            shelf,
            wanted,
            about,
            budget: Budget::of(Tokens(tokens)),
            format: PrimeFormat::Markdown,
            origins: &Origins::default(),
        };
        texts.push(prime(catalogue, &occasion).unwrap().text);
    }
    texts
}

/// What an index counts.
#[derive(Debug, PartialEq)]
pub(crate) struct Counts {
    totals: Totals,
    terms: BTreeMap<String, u64>,
    listed: BTreeMap<String, usize>,
}

impl Counts {
    /// The counts of an index on disk.
    pub(crate) fn of(path: &Path) -> Self {
        let index = Index::open(path).unwrap();
        let mut terms = BTreeMap::new();
        let mut listed = BTreeMap::new();
        index
            .all_terms(Holders::Shelves, &mut |known| {
                terms.insert(known.term.clone(), known.entries);
                listed.insert(known.term, known.number);
            })
            .unwrap();
        let listed = listed.into_iter().map(|(term, number)| {
            let mut entries = 0;
            index.entries_with(number, &mut |_| entries += 1).unwrap();
            (term, entries)
        });
        Self {
            totals: index.totals().unwrap(),
            listed: listed.collect(),
            terms,
        }
    }

    /// The counts that the files themselves have.
    pub(crate) fn from_scratch(files: &Files) -> Self {
        let mut counts = Self {
            totals: Totals { entries: 0, terms: 0 },
            terms: BTreeMap::new(),
            listed: BTreeMap::new(),
        };
        for shelf in SHELVES {
            let bytes = std::fs::read(files.path(shelf)).unwrap_or_default();
            for item in Document::parse(shelf, &bytes).items() {
                let mut terms = terms_of(item.content());
                if let Some(note) = item.note() {
                    terms.extend(terms_of(&note.tags.to_string()));
                }
                counts.totals.entries += 1;
                counts.totals.terms += terms.len() as u64;
                terms.sort();
                terms.dedup();
                for term in terms {
                    *counts.listed.entry(term.clone()).or_default() += 1;
                    *counts.terms.entry(term).or_default() += 1;
                }
            }
        }
        counts
    }
}
