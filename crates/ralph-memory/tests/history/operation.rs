//! Changes to the files, through ralph and by people or other programs.

use jiff::Timestamp;
use proptest::prelude::*;
use proptest::sample::Index;
use ralph_memory::capture::{Draft, SecretPolicy};
use ralph_model::{Entropy, Extra, Note, NoteFileKind, NoteKind, SplitMix64, Tags};
use ralph_notes::{Document, entry_text};

use super::super::support::Files;
use super::view::NOTE_FILE_KINDS;

/// A change to a note file.
#[derive(Debug, Clone)]
pub(crate) struct Operation {
    file_kind: NoteFileKind,
    what: What,
    /// Determines new ids, and which note or position is affected.
    seed: u64,
    pick: Index,
}

#[derive(Debug, Clone)]
enum What {
    Add(Vec<(String, usize, &'static str)>),
    Supersede(String),
    Edit(String),
    Retag(&'static str),
    ChangeKind(usize),
    Delete(usize),
    Restore,
    GoBack,
    Promote,
    Migrate,
    ByHand(ByHand),
}

#[derive(Debug, Clone)]
enum ByHand {
    /// Duplicates an entry at the end.
    Repeat,
    /// Swaps the halves of the file.
    Turn,
    /// Reverses the entries.
    Reverse,
    /// Uses CRLF line endings.
    Crlf,
    /// Changes a line of a text.
    Say(String),
    /// Inserts lines that are not an entry or only look like one.
    Insert(&'static str),
    Cut,
    Remove,
}

/// Words that collide often: names, numbers, negations, other scripts.
const WORDS: [&str; 24] = [
    "docker",
    "daemon",
    "port",
    "5432",
    "5433",
    "parseConfig",
    "parse_config",
    "config",
    "database,",
    "migration",
    "test",
    "tests",
    "run",
    "cargo",
    "build",
    "not",
    "never",
    "the",
    "数据库连接",
    "größe",
    "src/lib.rs",
    "\n",
    "fails",
    "v2.1",
];
const TAGS: [&str; 5] = ["", "tag-1", "tag-1, db", "docker", "数据, x"];
const PIECES: [&str; 8] = [
    "\n### Sign: Docker\n- **Trigger**: docker fails\n- **Instruction**: run the daemon\n",
    "\n### Sign: Docker\n- **Trigger**: another\n- **Instruction**: port 5432\n",
    "\n### mem-broken\n> docker of nobody\n",
    "\n## Fixes\n",
    "\n## Unknown\n\n### mem-1600000000-zzzz\n> docker unread\n",
    "\nprose about docker\n\n> an orphaned quote\n",
    "\n### fix-1600000000-aaaa\n> docker port by hand\n<!-- tags: db | created: 2023-05-05 -->\n",
    "\n### mem-1600000000-bbbb\n> test by hand\n<!-- ralph: supersedes=mem-1700000000-0000 -->\n",
];

pub(crate) fn operation() -> impl Strategy<Value = Operation> {
    (0usize..3, what(), any::<u64>(), any::<Index>()).prop_map(|(file_kind, what, seed, pick)| Operation {
        // Most changes affect the memories.
        file_kind: NOTE_FILE_KINDS[file_kind / 2],
        what,
        seed,
        pick,
    })
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(&WORDS[..]), 1..9)
        .prop_map(|words| words.join(" "))
        .prop_filter("it says something", |text| !text.trim().is_empty())
}

fn what() -> impl Strategy<Value = What> {
    let draft = (text(), 0usize..4, prop::sample::select(&TAGS[..]));
    prop_oneof![
        6 => prop::collection::vec(draft, 1..5).prop_map(What::Add),
        2 => text().prop_map(What::Supersede),
        3 => text().prop_map(What::Edit),
        1 => prop::sample::select(&TAGS[..]).prop_map(What::Retag),
        2 => (0usize..4).prop_map(What::ChangeKind),
        2 => (1usize..4).prop_map(What::Delete),
        2 => Just(What::Restore),
        1 => Just(What::GoBack),
        1 => Just(What::Promote),
        1 => Just(What::Migrate),
        6 => by_hand().prop_map(What::ByHand),
    ]
}

fn by_hand() -> impl Strategy<Value = ByHand> {
    prop_oneof![
        2 => Just(ByHand::Repeat),
        1 => Just(ByHand::Turn),
        1 => Just(ByHand::Reverse),
        1 => Just(ByHand::Crlf),
        2 => text().prop_map(ByHand::Say),
        4 => prop::sample::select(&PIECES[..]).prop_map(ByHand::Insert),
        1 => Just(ByHand::Cut),
        1 => Just(ByHand::Remove),
    ]
}

impl Operation {
    /// Applies the change. If ralph refuses it, because the file is damaged or there is no such note, the index is not
    /// affected.
    pub(crate) fn apply(&self, files: &Files) {
        match &self.what {
            What::ByHand(what) => self.by_hand(files, what),
            What::Promote => {
                let guardrails = files.note_repository(NoteFileKind::Guardrails);
                if let Some(note) = self.some_note(files, NoteFileKind::Guardrails) {
                    let memories = files.note_repository(NoteFileKind::Memories);
                    let gate = (SecretPolicy::Allow, &mut self.entropy() as &mut dyn Entropy);
                    drop(guardrails.promote(&memories, note.id.as_str(), gate));
                }
            }
            What::Migrate => {
                let guardrails = files.note_repository(NoteFileKind::Guardrails);
                drop(guardrails.migrate(NoteKind::Fix, &mut self.entropy()));
            }
            what => self.through_ralph(files, what),
        }
    }

    fn through_ralph(&self, files: &Files, what: &What) {
        let note_repository = files.note_repository(self.file_kind);
        let id = self.some_note(files, self.file_kind).map(|note| note.id.to_string());
        let edited = |change: &dyn Fn(&mut Note)| {
            let edit = |old: &Note| {
                let mut new = old.clone();
                change(&mut new);
                Ok(new)
            };
            id.as_ref()
                .map(|id| note_repository.edit(id, SecretPolicy::Allow, edit))
        };
        let done = match what {
            What::Add(texts) => {
                let drafts: Vec<Draft> = (0..).zip(texts).map(|(nth, text)| self.draft(nth, text)).collect();
                Some(note_repository.add(&drafts, &mut self.entropy()))
            }
            What::Supersede(text) => id.as_ref().map(|id| {
                let mut draft = self.draft(0, &(text.clone(), 0, "db"));
                draft.extra.set(Extra::SUPERSEDES, id);
                note_repository.add(&[draft], &mut self.entropy())
            }),
            What::Edit(text) => edited(&|note| note.content.clone_from(text)),
            What::Retag(tags) => edited(&|note| note.tags = Tags::parse(tags).unwrap()),
            What::ChangeKind(kind) => edited(&|note| note.kind = self.kind(*kind)),
            What::Delete(many) => {
                let ids: Vec<String> = self
                    .notes(files, self.file_kind)
                    .map(|note| note.id.to_string())
                    .collect();
                let first = self.pick.index(ids.len().max(1)).min(ids.len());
                let ids: Vec<String> = ids.into_iter().skip(first).take(*many).collect();
                (!ids.is_empty()).then(|| note_repository.delete(&ids))
            }
            What::Restore => {
                let gone = note_repository.missing().unwrap();
                let id = gone.first().map(|known| known.note.id.to_string());
                id.map(|id| note_repository.restore(&[id]))
            }
            What::GoBack => id.as_ref().map(|id| note_repository.revert_to(id, 1)),
            What::Promote | What::Migrate | What::ByHand(_) => None,
        };
        drop(done);
    }

    fn by_hand(&self, files: &Files, what: &ByHand) {
        let path = files.path(self.file_kind);
        let old = std::fs::read_to_string(&path).unwrap_or_default();
        let lines: Vec<&str> = old.split_inclusive('\n').collect();
        let at = self.pick.index(lines.len() + 1);
        let (before, after) = lines.split_at(at);
        let (before, after) = (before.concat(), after.concat());
        let new = match what {
            ByHand::Repeat => match self.some_note(files, self.file_kind) {
                Some(note) => format!("{old}\n{}", entry_text(&note)),
                None => old,
            },
            ByHand::Turn => format!("{after}\n{before}"),
            ByHand::Reverse => {
                let mut notes: Vec<Note> = self.notes(files, self.file_kind).collect();
                notes.reverse();
                let added = Document::parse(self.file_kind, b"").add(&notes).apply(b"");
                String::from_utf8(added).unwrap()
            }
            ByHand::Crlf => old.replace("\r\n", "\n").replace('\n', "\r\n"),
            ByHand::Say(text) => old.replacen("\n> ", &format!("\n> {} ", text.replace('\n', " ")), 1),
            ByHand::Insert(piece) => format!("{before}{piece}{after}"),
            ByHand::Cut => before,
            ByHand::Remove => {
                if path.exists() {
                    std::fs::remove_file(&path).unwrap();
                }
                return;
            }
        };
        files.write(self.file_kind, new.as_bytes());
    }

    fn draft(&self, nth: u64, (text, kind, tags): &(String, usize, &str)) -> Draft {
        // Some share a second, some a day.
        let ago = [0, 0, 1, 100_000][usize::try_from((self.seed + nth) % 4).unwrap()];
        Draft {
            kind: self.kind(*kind),
            content: text.clone(),
            tags: Tags::parse(tags).unwrap(),
            extra: Extra::default(),
            secrets: SecretPolicy::Allow,
            at: Some(Timestamp::from_second(1_700_000_000 - ago).unwrap()),
        }
    }

    fn kind(&self, number: usize) -> NoteKind {
        let kinds = self.file_kind.kinds();
        kinds[number % kinds.len()]
    }

    fn entropy(&self) -> SplitMix64 {
        SplitMix64::new(self.seed)
    }

    fn notes(&self, files: &Files, file_kind: NoteFileKind) -> std::vec::IntoIter<Note> {
        let bytes = std::fs::read(files.path(file_kind)).unwrap_or_default();
        let document = Document::parse(file_kind, &bytes);
        let notes: Vec<Note> = document
            .entries()
            .iter()
            .filter_map(|entry| document.note(entry))
            .collect();
        notes.into_iter()
    }

    fn some_note(&self, files: &Files, file_kind: NoteFileKind) -> Option<Note> {
        let mut notes = self.notes(files, file_kind);
        let count = notes.len();
        notes.nth(self.pick.index(count.max(1)))
    }
}
