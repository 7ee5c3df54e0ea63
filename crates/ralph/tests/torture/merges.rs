//! Tests random histories of two branches, merged by git, by `merge=union` and by ralph: no note is lost.

mod history;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use ralph_model::{Extra, Note, NoteFileKind};
use ralph_notes::Document;
use ralph_testkit::{Finished, Seed, TestEnv, count};

use super::{FILE, PROGRAM};
use history::History;

/// Totals of all histories.
#[derive(Debug, Default)]
struct Figures {
    histories: usize,
    entries: usize,
    conflicts_of_git: usize,
    conflicts_of_ralph: usize,
    entries_in_two_versions: usize,
    criss_crosses: usize,
    rebases: usize,
}

#[test]
fn no_merge_loses_a_note() {
    let histories = count("RALPH_SOAK_MERGES", 10);
    let mut seed = Seed::announced("merges");
    let figures = Mutex::new(Figures::default());
    let seeds: Vec<Seed> = (0..histories).map(|_| seed.split()).collect();
    std::thread::scope(|scope| {
        for worker in 0..2 {
            let (seeds, figures) = (&seeds, &figures);
            scope.spawn(move || {
                for (number, seed) in seeds.iter().enumerate().skip(worker).step_by(2) {
                    let history = History::random(seed.clone());
                    Repository::new(number, &history).try_all_ways(&history, figures);
                }
            });
        }
    });
    eprintln!("{:?}", figures.into_inner().unwrap());
}

/// A repository with the branches of a history.
struct Repository {
    env: TestEnv,
    number: usize,
}

impl Repository {
    fn new(number: usize, history: &History) -> Self {
        let env = TestEnv::new(PROGRAM);
        let driver = format!("{PROGRAM} merge-driver %O %A %B %P");
        env.write(
            "../home/.gitconfig",
            format!(
                "[user]\n\tname = t\n\temail = t@example.com\n[init]\n\tdefaultBranch = main\n[gc]\n\tauto = 0\n\
                 [core]\n\tautocrlf = false\n[merge \"ralph\"]\n\tdriver = {driver}\n"
            ),
        );
        let repository = Self { env, number };
        let made = repository
            .git_script("git init --quiet --template= && git fast-import --quiet")
            .input(history.fast_import(FILE))
            .run();
        assert_eq!(made.code, Some(0), "history {number}: {made}");
        repository
    }

    /// A script of git commands, with only this test's configuration.
    fn git_script(&self, script: &str) -> ralph_testkit::Invocation {
        self.env
            .sh(script)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_AUTHOR_DATE", "2025-01-20T11:20:00Z")
            .env("GIT_COMMITTER_DATE", "2025-01-20T11:20:00Z")
    }

    fn try_all_ways(&self, history: &History, figures: &Mutex<Figures>) {
        let wanted = NoteFilter::of(history);
        let default = self.merge("text", "merged", "ours", "theirs");
        self.check_text("git's merge", &wanted);
        self.check_no_leak();
        let union = self.merge("union", "merged", "ours", "theirs");
        assert_eq!(union.code, Some(0), "history {}: {union}", self.number);
        self.check_text("merge=union", &wanted);
        let ralph = self.merge("ralph", "merged", "ours", "theirs");
        self.check_entries(&wanted);
        if !history.both_wrote_prose {
            assert_eq!(ralph.code, Some(0), "history {}: {ralph}", self.number);
        }
        let crossed = self.number.is_multiple_of(3) && ralph.code == Some(0) && self.criss_cross();
        let rebased = self.number % 3 == 1 && ralph.code == Some(0) && self.rebase(&wanted);
        let mut figures = figures.lock().unwrap();
        figures.histories += 1;
        figures.entries += wanted.kept.len() + wanted.clashing.len();
        figures.conflicts_of_git += usize::from(default.code != Some(0));
        figures.conflicts_of_ralph += usize::from(ralph.code != Some(0));
        figures.entries_in_two_versions += wanted.clashing.len() / 2;
        figures.criss_crosses += usize::from(crossed);
        figures.rebases += usize::from(rebased);
    }

    /// Merges one branch into another on a new branch; conflicts are committed with their markers.
    fn merge(&self, way: &str, onto: &str, ours: &str, theirs: &str) -> Finished {
        let script = format!(
            "mkdir -p .git/info && echo '*.md merge={way}' > .git/info/attributes\n\
             git checkout --quiet --force -B {onto} {ours} || exit 99\n\
             git merge --quiet --no-edit {theirs} >&2; code=$?\n\
             if [ $code -ne 0 ]; then git add --all && git commit --quiet --message conflict || exit 98; fi\n\
             exit $code\n"
        );
        let way = if way == "text" {
            script.replace("merge=text", "merge")
        } else {
            script
        };
        let finished = self.git_script(&way).run();
        assert!(
            matches!(finished.code, Some(0 | 1)),
            "history {}: {finished}",
            self.number
        );
        finished
    }

    /// Each branch merges the other, then the two merges are merged; nothing is duplicated.
    fn criss_cross(&self) -> bool {
        let before = self.texts();
        self.merge("ralph", "back", "theirs", "ours");
        assert_eq!(self.texts(), before, "history {}: from the other side", self.number);
        self.merge("ralph", "met", "merged", "back");
        assert_eq!(self.texts(), before, "history {}: after a criss-cross", self.number);
        true
    }

    /// Rebases the other branch's commits onto ours.
    fn rebase(&self, wanted: &NoteFilter) -> bool {
        let script = "git checkout --quiet --force -B rebased theirs && git rebase --quiet ours >&2";
        let finished = self.git_script(script).run();
        if finished.code != Some(0) {
            // A single commit may conflict in prose even if the whole does not.
            return false;
        }
        let texts = self.texts();
        let kept = wanted.kept.iter().filter(|(id, _)| !wanted.deleted.contains(id));
        for text in kept.map(|(_, text)| text).chain(&wanted.clashing) {
            assert!(
                texts.contains(text),
                "history {}: {text:?} is lost by a rebase",
                self.number
            );
        }
        true
    }

    fn bytes(&self) -> Vec<u8> {
        std::fs::read(self.env.path(FILE)).unwrap()
    }

    fn texts(&self) -> Vec<String> {
        let bytes = self.bytes();
        let document = Document::parse(NoteFileKind::Memories, &bytes);
        let mut texts: Vec<String> = document.entries().iter().map(|entry| document.content(entry)).collect();
        texts.sort();
        texts
    }

    /// Checks that every line of every expected note is in the file.
    fn check_text(&self, way: &str, wanted: &NoteFilter) {
        let text = String::from_utf8(self.bytes()).unwrap();
        let lines: BTreeSet<&str> = text.lines().collect();
        for (id, content) in wanted.kept.iter().filter(|(id, _)| !wanted.deleted.contains(id)) {
            let heading = format!("### {id}");
            assert!(
                lines.contains(heading.as_str()),
                "history {}: {way} lost {id}:\n{text}",
                self.number
            );
            for line in content.lines() {
                let quoted = format!("> {line}");
                assert!(
                    lines.contains(quoted.as_str()),
                    "history {}: {way} lost {line:?}",
                    self.number
                );
            }
        }
        for line in wanted.clashing.iter().flat_map(|text| text.lines()) {
            let quoted = format!("> {line}");
            assert!(
                lines.contains(quoted.as_str()),
                "history {}: {way} lost {line:?}",
                self.number
            );
        }
    }

    /// Checks that no entry has lines of another. Every line names its entry.
    fn check_no_leak(&self) {
        for (id, note) in notes(&self.bytes()) {
            for line in note.content.lines() {
                assert!(
                    line.starts_with(&id),
                    "history {}: fault 16: {id} says {line:?}",
                    self.number
                );
            }
        }
    }

    /// Checks that exactly the expected entries can be parsed.
    fn check_entries(&self, wanted: &NoteFilter) {
        let found = notes(&self.bytes());
        for (id, content) in &wanted.kept {
            let read = found.get(id).map(|note| &note.content);
            assert_eq!(read, Some(content), "history {}: {id}", self.number);
        }
        let texts: BTreeSet<&String> = wanted.texts().collect();
        let read = self.texts();
        assert_eq!(read.iter().collect::<BTreeSet<_>>(), texts, "history {}", self.number);
        assert_eq!(
            read.len(),
            texts.len(),
            "history {}: something is there twice",
            self.number
        );
        let copies = found
            .values()
            .filter(|note| note.extra.get(Extra::CONFLICTS).is_some())
            .count();
        assert_eq!(copies * 2, wanted.clashing.len(), "history {}", self.number);
    }
}

/// The expected result of a merge.
struct NoteFilter {
    /// Ids with the text that both sides agree on or only one side changed.
    kept: Vec<(String, String)>,
    /// The texts of entries that both sides changed, two of each.
    clashing: Vec<String>,
    /// The ids of entries that one side deleted while the other only moved or tagged them. ralph keeps them, while git,
    /// which sees lines, deletes them. A rebase goes commit by commit, and such an entry may get the text that the
    /// branch gave it before deleting it.
    deleted: BTreeSet<String>,
}

impl NoteFilter {
    fn of(history: &History) -> Self {
        let base = notes(&history.base);
        let [ours, theirs] = [&history.ours, &history.theirs].map(|versions| notes(versions.last().unwrap()));
        let mut wanted = Self {
            kept: Vec::new(),
            clashing: Vec::new(),
            deleted: BTreeSet::new(),
        };
        let ids: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
        for id in ids {
            let (old, left, right) = (base.get(id), ours.get(id), theirs.get(id));
            let text = |note: Option<&Note>| note.map(|note| note.content.clone());
            let (old_text, left_text, right_text) = (text(old), text(left), text(right));
            let stays = match (left, right) {
                (Some(_), Some(_)) if left_text == right_text || right_text == old_text => left_text,
                (Some(_), Some(_)) if left_text == old_text => right_text,
                (Some(_), Some(_)) => {
                    wanted.clashing.extend(left_text.into_iter().chain(right_text));
                    None
                }
                // Deleted on one side: it is kept if the other side changed it.
                _ => left_text
                    .filter(|_| left != old)
                    .or(right_text.filter(|_| right != old)),
            };
            let text_is_old = stays.is_some() && stays == old_text;
            if text_is_old && (left.is_none() || right.is_none()) {
                wanted.deleted.insert(id.clone());
            }
            wanted.kept.extend(stays.map(|text| (id.clone(), text)));
        }
        wanted
    }

    fn texts(&self) -> impl Iterator<Item = &String> {
        self.kept.iter().map(|(_, text)| text).chain(&self.clashing)
    }
}

fn notes(bytes: &[u8]) -> BTreeMap<String, Note> {
    let document = Document::parse(NoteFileKind::Memories, bytes);
    let notes = document.entries().iter().map(|entry| document.note(entry).unwrap());
    notes.map(|note| (note.id.to_string(), note)).collect()
}
