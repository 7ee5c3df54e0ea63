//! Random histories of two branches, merged by git's own merge, by `merge=union` and by ralph: no note is lost.

mod history;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use ralph_model::{Extra, Note, Shelf};
use ralph_notes::Document;
use ralph_testkit::{Finished, Seed, TestEnv, count};

use super::{FILE, PROGRAM};
use history::History;

/// What all histories came to.
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
fn no_way_of_merging_two_branches_loses_a_note() {
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

    /// A script of git commands, with the configuration of this test and no other.
    fn git_script(&self, script: &str) -> ralph_testkit::Invocation {
        self.env
            .sh(script)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_AUTHOR_DATE", "2025-01-20T11:20:00Z")
            .env("GIT_COMMITTER_DATE", "2025-01-20T11:20:00Z")
    }

    fn try_all_ways(&self, history: &History, figures: &Mutex<Figures>) {
        let wanted = Wanted::of(history);
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

    /// Merges one branch into another on a new branch; a conflict is committed with its markers.
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

    /// Each branch merges the other, and then the two merges are merged: nothing is there twice.
    fn criss_cross(&self) -> bool {
        let before = self.texts();
        self.merge("ralph", "back", "theirs", "ours");
        assert_eq!(self.texts(), before, "history {}: from the other side", self.number);
        self.merge("ralph", "met", "merged", "back");
        assert_eq!(self.texts(), before, "history {}: after a criss-cross", self.number);
        true
    }

    /// The commits of the other branch one by one on top of ours.
    fn rebase(&self, wanted: &Wanted) -> bool {
        let script = "git checkout --quiet --force -B rebased theirs && git rebase --quiet ours >&2";
        let finished = self.git_script(script).run();
        if finished.code != Some(0) {
            // One of its commits conflicts in prose with ours, although the whole does not.
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
        let document = Document::parse(Shelf::Memories, &bytes);
        let mut texts: Vec<String> = document.entries().iter().map(|entry| document.content(entry)).collect();
        texts.sort();
        texts
    }

    /// Checks that every line of every note that must be there stands in the file, read or not.
    fn check_text(&self, way: &str, wanted: &Wanted) {
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

    /// Checks that no entry says anything that was said in another. Every line names the entry that it is of.
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

    /// Checks that exactly the right entries can be read.
    fn check_entries(&self, wanted: &Wanted) {
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

/// What must be there after a merge.
struct Wanted {
    /// Ids with the text that both sides agree on, or that only one side changed.
    kept: Vec<(String, String)>,
    /// The texts of the entries that both sides changed, two of each.
    clashing: Vec<String>,
    /// The ids of entries that one side deleted while the other only moved or tagged them. ralph keeps them; to git, who
    /// sees lines, they are deleted and nothing else. A rebase goes commit by commit, and there
    /// such an entry may have got the text that the branch gave it before it deleted it.
    deleted: BTreeSet<String>,
}

impl Wanted {
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
                // Gone on one side: it stays if anything of it was changed on the other.
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
    let document = Document::parse(Shelf::Memories, bytes);
    let notes = document.entries().iter().map(|entry| document.note(entry).unwrap());
    notes.map(|note| (note.id.to_string(), note)).collect()
}
