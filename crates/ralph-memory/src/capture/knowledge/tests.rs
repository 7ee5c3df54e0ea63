//! Tests of writing knowledge entries: from commands and the outbox, with kills after every step and concurrent edits.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::LazyLock;
use std::time::Duration;

use jiff::Timestamp;
use ralph_model::{Author, AuthorKind, CapturedKnowledge, Clock, NewJournalRow, RunId};
use ralph_notes::Boundary;
use ralph_store::{DatabasePlace, KnowledgeChange, KnowledgeVersion, NoteAction, NoteFile, Settlement, Store, Wait};
use ralph_testkit::journal_row;

use super::*;

/// Every path is inside it.
static ANYWHERE: LazyLock<Boundary> = LazyLock::new(Boundary::default);

/// A clock that makes every file time untrustworthy.
#[derive(Debug)]
struct LongAgo;

impl Clock for LongAgo {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }
}

struct Bench {
    folder: tempfile::TempDir,
    store: Store,
    iteration: u32,
}

fn at() -> Timestamp {
    "2026-02-17T12:00:00Z".parse().unwrap()
}

fn note(title: &str, tag: &str, body: &str) -> CapturedKnowledge {
    CapturedKnowledge {
        title: title.to_owned(),
        tags: tag.split(',').map(str::to_owned).collect(),
        feature: None,
        body: body.to_owned(),
    }
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open_or_create(&folder.path().join("progress.db")).unwrap();
        Self {
            folder,
            store,
            iteration: 0,
        }
    }

    /// Settles an iteration with these entries.
    fn capture(&mut self, worktree: &str, notes: &[CapturedKnowledge]) {
        self.iteration += 1;
        let row = NewJournalRow {
            created_at: at(),
            ..journal_row(RunId::new(1), self.iteration)
        };
        let settlement = Settlement {
            worktree: worktree.to_owned(),
            knowledge: notes.to_vec(),
            ..Settlement::new(row, 1)
        };
        self.store.settle(&settlement).unwrap();
    }

    fn knowledge(&self, worktree: &str) -> KnowledgeFolder<'static> {
        knowledge_in(&self.folder.path().join(format!("knowledge{worktree}")))
    }

    fn write(&mut self) -> Vec<Placement> {
        let outboxed = self.knowledge("").write_outbox(&mut self.store, "").unwrap();
        assert!(outboxed.failed.is_empty(), "{:?}", outboxed.failed);
        assert_eq!(self.store.outbox("").unwrap(), []);
        outboxed.written.into_iter().map(|written| written.placement).collect()
    }

    /// Writes until this many steps are done, then panics; returns whether there were that many.
    fn write_and_die_after(&mut self, steps: usize) -> bool {
        let knowledge = self.knowledge("");
        let mut left = steps;
        let killed = catch_unwind(AssertUnwindSafe(|| {
            knowledge.write_with_steps(&mut self.store, "", &mut || {
                left -= 1;
                assert!(left > 0, "killed");
            })
        }));
        killed.is_err()
    }

    fn changed(&self, name: &str) -> Placement {
        Placement::Updated(self.path(name))
    }

    /// The logged changes of an entry: action, author and last line of the text.
    fn logged(&self, name: &str) -> Vec<String> {
        let line = |version: &KnowledgeVersion| {
            let KnowledgeChange {
                action, text, author, ..
            } = &version.change;
            let last = text.trim_end().lines().next_back().unwrap_or_default();
            format!("{} by {author}: {last}", action.word())
        };
        self.knowledge("").history(name).unwrap().iter().map(line).collect()
    }

    /// Writes an entry as the agent of an earlier iteration.
    fn put_agents(&mut self, name: &str, text: &str) {
        self.put_file(name, text);
        let agent = Author::in_iteration(AuthorKind::Agent, RunId::new(9), 1);
        let knowledge = KnowledgeFolder {
            author: agent.clone(),
            ..self.knowledge("")
        };
        let locked = knowledge.lock().unwrap();
        let mut log = knowledge.logged(Some(&mut self.store), at());
        log.record_made(NoteAction::Added, (name, text), locked.stamp(name))
            .unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("knowledge").join(name)
    }

    /// All files in the folder except temporary ones: name and text.
    fn files(&self) -> Vec<(String, String)> {
        let mut files: Vec<(String, String)> = fs::read_dir(self.folder.path().join("knowledge"))
            .unwrap()
            .map(|entry| entry.unwrap())
            .filter(|entry| entry.file_name() != ".lock")
            .map(|entry| {
                let text = fs::read_to_string(entry.path()).unwrap();
                (entry.file_name().into_string().unwrap(), text)
            })
            .collect();
        files.sort();
        files
    }

    fn names(&self) -> Vec<String> {
        self.files().into_iter().map(|(name, _)| name).collect()
    }

    fn put_file(&self, name: &str, text: &str) {
        let folder = self.folder.path().join("knowledge");
        fs::create_dir_all(&folder).unwrap();
        drop(fs::remove_file(folder.join(name)));
        ralph_notes::write_new_file(&folder.join(name), text.as_bytes()).unwrap();
    }
}

const OLD: &str = "---\ntitle: COLOURS\ntags: [old]\nmood: good\n---\n\nOld text.\n";

#[test]
fn same_title_updates_the_same_file() {
    let mut bench = Bench::new();
    assert_eq!(bench.write(), []);
    assert!(!bench.path("").exists(), "an empty outbox creates nothing");
    bench.put_file("hex.md", "no note, but the name is taken");
    bench.capture("", &[note("Colours", "css", "One."), note("Hex!", "css", "Two.")]);
    assert_eq!(
        bench.write(),
        [
            Placement::Created(bench.path("colours.md")),
            Placement::Created(bench.path("hex-2.md"))
        ]
    );
    bench.capture("", &[note("colours", "Hex", "Three.\nFour.")]);
    assert_eq!(bench.write(), [bench.changed("colours.md")]);
    assert_eq!(
        bench.files()[0].1,
        "---\ntitle: \"Colours\"\ntags: [css, hex]\ncreated_at: \"2026-02-17T12:00:00Z\"\n---\n\nThree.\nFour.\n"
    );
    bench.capture("", &[note("colours", "hex", "Three.\nFour.")]);
    assert_eq!(bench.write(), [Placement::Unchanged(bench.path("colours.md"))]);
    assert_eq!(bench.names(), ["colours.md", "hex-2.md", "hex.md"]);
}

#[test]
fn kill_after_any_step_writes_each_entry_once() {
    for old in [None, Some(OLD)] {
        let mut steps = 0;
        loop {
            steps += 1;
            let mut bench = Bench::new();
            if let Some(old) = old {
                bench.put_agents("c.md", old);
            }
            bench.capture("", &[note("Colours", "css", "New."), note("Other", "x", "Other.")]);
            let killed = bench.write_and_die_after(steps);
            bench.write();
            let files = bench.files();
            let [first, other] = files.as_slice() else {
                panic!("after {steps} steps: {files:?}");
            };
            assert!(
                first.1.contains("\nNew.\n") && other.1.contains("\nOther.\n"),
                "{files:?}"
            );
            assert_eq!(first.0, if old.is_some() { "c.md" } else { "colours.md" });
            assert_eq!(first.1.contains("mood: good"), old.is_some());
            if !killed {
                break;
            }
        }
        assert_eq!(steps, 9, "four steps per entry, and one to end");
    }
}

#[test]
fn edits_after_the_write_are_kept() {
    for old in [None, Some(OLD)] {
        for steps in 1..=4 {
            for deletes in [true, false] {
                let mut bench = Bench::new();
                let name = if old.is_some() { "c.md" } else { "colours.md" };
                if let Some(old) = old {
                    bench.put_agents(name, old);
                }
                bench.capture("", &[note("Colours", "css", "New.")]);
                assert!(bench.write_and_die_after(steps));
                let is_placed = fs::read_to_string(bench.path(name)).is_ok_and(|text| text.contains("New."));
                assert_eq!(is_placed, steps >= 3);
                if !is_placed {
                    continue;
                }
                let mine = "---\ntitle: Colours\ntags: [mine]\n---\nMine.\n";
                if deletes {
                    fs::remove_file(bench.path(name)).unwrap();
                } else {
                    bench.put_file(name, mine);
                }
                bench.write();
                let expected: &[(String, String)] = &[(name.to_owned(), mine.to_owned())];
                assert_eq!(bench.files(), if deletes { &[] } else { expected }, "{steps}");
            }
        }
    }
}

#[test]
fn edits_before_the_write_decide_its_place() {
    for steps in 1..=2 {
        let mut bench = Bench::new();
        bench.put_agents("c.md", OLD);
        bench.capture("", &[note("Colours", "css", "New.")]);
        assert!(bench.write_and_die_after(steps));
        fs::remove_file(bench.path("c.md")).unwrap();
        bench.write();
        assert_eq!(bench.names(), ["colours.md"], "the new entry itself was not deleted");

        let mut bench = Bench::new();
        bench.capture("", &[note("Colours", "css", "New.")]);
        assert!(bench.write_and_die_after(steps));
        bench.put_file("mine.md", OLD);
        bench.write();
        assert_eq!(bench.names(), ["colours.md", "mine.md"], "a person's entry stays");
        assert_eq!(bench.files()[1].1, OLD);
    }
}

#[test]
fn concurrent_writers_write_each_entry_once() {
    let mut bench = Bench::new();
    let notes: Vec<CapturedKnowledge> = (0..20)
        .map(|n| note(&format!("Note {n}"), &format!("t{n}"), &format!("Text {n}.")))
        .collect();
    bench.capture("", &notes);
    let database = bench.folder.path().join("progress.db");
    let path = bench.path("");
    let written: usize = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let knowledge = knowledge_in(&path);
                    let mut store = Store::open_existing(&database, Wait::Long).unwrap().unwrap();
                    let outboxed = knowledge.write_outbox(&mut store, "").unwrap();
                    assert!(outboxed.failed.is_empty());
                    outboxed.written.len()
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).sum()
    });
    assert_eq!(written, 20);
    assert_eq!(bench.files().len(), 20);
}

#[test]
fn worktrees_have_separate_files() {
    let mut bench = Bench::new();
    bench.capture("", &[note("Colours", "css", "Here.")]);
    bench.capture("w", &[note("Colours", "css", "There.")]);
    bench.write();
    assert_eq!(bench.store.outbox("w").unwrap().len(), 1);
    let there = bench.knowledge("w");
    there.write_outbox(&mut bench.store, "w").unwrap();
    assert!(bench.files()[0].1.contains("Here."));
    assert!(
        fs::read_to_string(there.path().join("colours.md"))
            .unwrap()
            .contains("There.")
    );
}

#[test]
fn failed_entry_waits_without_blocking_others() {
    let mut bench = Bench::new();
    bench.put_agents("c.md", OLD);
    let mut permissions = fs::metadata(bench.path("c.md")).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(bench.path("c.md"), permissions.clone()).unwrap();
    bench.capture("", &[note("Colours", "css", "New."), note("Other", "x", "Other.")]);
    let outboxed = bench.knowledge("").write_outbox(&mut bench.store, "").unwrap();
    let [(title, error)] = outboxed.failed.as_slice() else {
        panic!("{outboxed:?}");
    };
    assert_eq!(title, "Colours");
    assert!(error.to_string().ends_with("c.md: the file is read-only"), "{error}");
    assert_eq!(outboxed.written.len(), 1);
    #[expect(clippy::permissions_set_readonly_false, reason = "it is a file of this test")]
    permissions.set_readonly(false);
    fs::set_permissions(bench.path("c.md"), permissions).unwrap();
    bench.write();
    assert!(bench.files()[0].1.contains("New."));
}

fn knowledge_in(path: &Path) -> KnowledgeFolder<'static> {
    KnowledgeFolder {
        index: IndexPlace {
            database: path.with_extension("index.db"),
            file_kinds: Vec::new(),
            knowledge: path.to_owned(),
            may_create: true,
            boundary: &ANYWHERE,
            file_clock: &LongAgo,
        },
        log: LogPlace {
            database: DatabasePlace {
                path: path.with_file_name("progress.db"),
                backups: None,
            },
            file: NoteFile {
                worktree: path.file_name().unwrap().to_string_lossy().replace("knowledge", ""),
                path: ".ralph/knowledge".to_owned(),
            },
        },
        author: Author::HUMAN,
        project_env: ProjectEnv::default(),
        patience: Patience {
            notice_after: Duration::from_secs(10),
            limit: Duration::from_secs(20),
            notice: &|_| {},
        },
    }
}

#[test]
fn linked_entry_stays_a_link() {
    let mut bench = Bench::new();
    bench.capture("", &[note("Colours", "a", "hex")]);
    bench.write();
    let elsewhere = bench.folder.path().join("elsewhere.md");
    fs::rename(bench.path("colours.md"), &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, bench.path("colours.md")).unwrap();
    bench.capture("", &[note("COLOURS", "b", "rgb")]);
    assert_eq!(bench.write(), [bench.changed("colours.md")]);
    assert!(fs::symlink_metadata(bench.path("colours.md")).unwrap().is_symlink());
    assert!(fs::read_to_string(&elsewhere).unwrap().contains("rgb"));
}

#[test]
fn entries_written_together_see_each_other() {
    let mut bench = Bench::new();
    bench.capture(
        "",
        &[note("One", "a", "1"), note("Two", "a", "2"), note("one", "a", "3")],
    );
    assert_eq!(
        bench.write(),
        [
            Placement::Created(bench.path("one.md")),
            Placement::Created(bench.path("two.md")),
            bench.changed("one.md"),
        ]
    );
}

/// Runs a check twice, with entries from a command and from the outbox.
fn either_way(check: impl Fn(&mut Bench, &dyn Fn(&mut Bench, &CapturedKnowledge) -> Placement)) {
    check(&mut Bench::new(), &|bench, note| {
        bench.knowledge("").add(note, at()).unwrap().outcome
    });
    check(&mut Bench::new(), &|bench, note| {
        bench.capture("", std::slice::from_ref(note));
        let [placement] = bench.write().try_into().unwrap();
        placement
    });
}

#[test]
fn same_title_replaces_the_body_and_adds_tags() {
    either_way(|bench, put| {
        bench.put_agents("c.md", OLD);
        let placement = put(bench, &note("Colours", "css,OLD", "New text."));
        assert_eq!(placement, bench.changed("c.md"));
        let new = "---\ntitle: COLOURS\ntags: [old, css]\nmood: good\n---\n\nNew text.\n";
        assert_eq!(bench.files(), [("c.md".to_owned(), new.to_owned())]);
    });
}

#[test]
fn similar_title_updates_an_entry_and_keeps_its_metadata() {
    let old = "---\ntitle: WAL mode\ntags: [sqlite, wal]\ncreated_at: 2025-01-01\n---\n\nOld.\n";
    either_way(|bench, put| {
        bench.put_agents("mine.md", old);
        let near = note("SQLite WAL mode", "wal,sqlite,readers", "New.");
        assert_eq!(put(bench, &near), bench.changed("mine.md"));
        let new = "---\ntitle: WAL mode\ntags: [sqlite, wal, readers]\ncreated_at: 2025-01-01\n---\n\nNew.\n";
        assert_eq!(bench.files(), [("mine.md".to_owned(), new.to_owned())]);
        assert_eq!(put(bench, &near), Placement::Unchanged(bench.path("mine.md")));
        let other = note("SQLite WAL mode", "x,sqlite", "Else.");
        assert_eq!(
            put(bench, &other),
            Placement::Created(bench.path("sqlite-wal-mode.md")),
            "half of the tags is not most of them"
        );
        let part = note("WAL", "sqlite,wal", "Else.");
        assert_eq!(
            put(bench, &part),
            Placement::Updated(bench.path("mine.md")),
            "one of two words is half of the title"
        );
        let one_of_three = note("SQLite", "sqlite,wal,readers", "Else.");
        assert_eq!(put(bench, &one_of_three), Placement::Created(bench.path("sqlite.md")));
    });
}

#[test]
fn existing_entry_keeps_its_feature() {
    either_way(|bench, put| {
        let of = |feature: &str, body: &str| CapturedKnowledge {
            feature: Some(feature.to_owned()),
            ..note("Colours", "css", body)
        };
        put(bench, &of("paint", "One."));
        assert!(bench.files()[0].1.contains("\nfeature: \"paint\"\ncreated_at: "));
        put(bench, &of("other", "Two."));
        let text = &bench.files()[0].1;
        assert!(
            text.contains("\nfeature: \"paint\"\n") && text.contains("\nTwo.\n"),
            "{text}"
        );
    });
}

#[test]
fn equal_slugs_get_numbers() {
    either_way(|bench, put| {
        let long = "x".repeat(90);
        for (title, name) in [
            ("Ports?", "ports.md"),
            ("ports!", "ports-2.md"),
            ("…ports…", "ports-3.md"),
            ("?!", "note.md"),
            ("!?", "note-2.md"),
            (&format!("{long} one"), &format!("{}.md", "x".repeat(80))),
            (&format!("{long} two"), &format!("{}-2.md", "x".repeat(80))),
        ] {
            let made = put(bench, &note(title, title, "Text."));
            assert_eq!(made, Placement::Created(bench.path(name)), "{title}");
        }
    });
}

#[test]
fn invalid_files_are_ignored() {
    either_way(|bench, put| {
        bench.put_file("a.md", "---\ntitle: [Colours\n---\n");
        bench.put_file("b.md", "---\ntitle: Colours\n---\nIt has no tags.\n");
        bench.put_file("b.txt", OLD);
        bench.put_file(".c.md", OLD);
        assert_eq!(
            put(bench, &note("Colours", "css", "Text.")),
            Placement::Created(bench.path("colours.md"))
        );
        assert_eq!(bench.files().len(), 5);
    });
}

#[test]
fn deleted_entry_is_restored_from_the_log() {
    let bench = Bench::new();
    let folder = bench.knowledge("");
    assert!(folder.delete("a.md", at()).unwrap().is_none());
    assert!(!folder.path().exists(), "deleting nothing creates nothing");
    folder.add(&note("A", "x", "First."), at()).unwrap();
    assert!(folder.delete("b.md", at()).unwrap().is_none());
    let first = bench.files();
    folder.delete("a.md", at()).unwrap().unwrap();
    assert_eq!(bench.files(), []);
    let gone: Vec<String> = folder.missing().unwrap().into_iter().map(|gone| gone.file).collect();
    assert_eq!(gone, ["a.md"]);
    assert_eq!(folder.restore("a.md", None, at()).unwrap(), RestoreOutcome::Done);
    assert_eq!(bench.files(), first);
    assert_eq!(folder.restore("a.md", None, at()).unwrap(), RestoreOutcome::Unchanged);
    folder.add(&note("A", "x", "Second."), at()).unwrap();
    assert_eq!(folder.restore("a.md", Some(1), at()).unwrap(), RestoreOutcome::Done);
    assert_eq!(bench.files(), first);
    assert!(folder.restore("a.md", Some(9), at()).is_err());
    assert!(folder.restore("b.md", None, at()).is_err());
    assert_eq!(
        bench.logged("a.md"),
        [
            "added by human: First.",
            "deleted by human: First.",
            "restored by human: First.",
            "edited by human: Second.",
            "restored by human: First.",
        ]
    );
}

#[test]
fn all_texts_of_an_entry_are_logged() {
    either_way(|bench, put| {
        bench.put_agents("c.md", OLD);
        assert_eq!(put(bench, &note("Colours", "css", "New.")), bench.changed("c.md"));
        put(bench, &note("Colours", "paint", "New."));
        put(bench, &note("Colours", "css", "Newer."));
        let texts: Vec<String> = bench
            .logged("c.md")
            .iter()
            .map(|line| line.split(": ").nth(1).unwrap().to_owned())
            .collect();
        assert_eq!(texts, ["Old text.", "New.", "New.", "Newer."]);
        assert_eq!(bench.names(), ["c.md"], "no copies");
    });
}

#[test]
fn direct_edits_are_found_by_comparing() {
    let mut bench = Bench::new();
    bench.put_file("c.md", OLD);
    let sync = |bench: &mut Bench| bench.knowledge("").sync_log(&mut bench.store, at()).unwrap();
    sync(&mut bench);
    sync(&mut bench);
    bench.put_file("c.md", &OLD.replace("Old text.", "By hand."));
    sync(&mut bench);
    fs::remove_file(bench.path("c.md")).unwrap();
    sync(&mut bench);
    bench.put_file("c.md", OLD);
    sync(&mut bench);
    assert_eq!(
        bench.logged("c.md"),
        [
            "adopted by unknown: Old text.",
            "changed by unknown: By hand.",
            "vanished by unknown: By hand.",
            "returned by unknown: Old text.",
        ]
    );
}

#[test]
fn unchanged_file_is_not_read_again() {
    let mut bench = Bench::new();
    for number in 0..50 {
        bench.put_file(&format!("n{number}.md"), OLD);
    }
    bench.knowledge("").sync_log(&mut bench.store, at()).unwrap();
    // A file that cannot be read would be noticed.
    for number in 0..50 {
        let path = bench.path(&format!("n{number}.md"));
        let before = fs::metadata(&path).unwrap();
        let stamp = ralph_model::FileStamp::of(&before);
        let states = bench.store.knowledge_states(&bench.knowledge("").log.file).unwrap();
        assert!(states.iter().any(|state| state.record.stamp == stamp));
    }
    bench.knowledge("").sync_log(&mut bench.store, at()).unwrap();
    assert_eq!(bench.logged("n7.md"), ["adopted by unknown: Old text."]);
}

#[test]
fn agents_never_replace_a_persons_entry() {
    let mut bench = Bench::new();
    bench
        .knowledge("")
        .add(&note("Colours", "css", "A person's."), at())
        .unwrap();
    let persons = bench.files();
    bench.capture("", &[note("COLOURS", "css", "An agent's.")]);
    assert_eq!(bench.write(), [Placement::Created(bench.path("colours-2.md"))]);
    bench.capture("", &[note("Colours", "css", "An agent's, again.")]);
    assert_eq!(
        bench.write(),
        [bench.changed("colours-2.md")],
        "an agent's own entry may be updated"
    );
    bench.capture("", &[note("Colours", "other", "A person's.")]);
    assert_eq!(bench.write(), [Placement::Unchanged(bench.path("colours.md"))]);
    bench.capture("", &[note("Colours of paint", "css", "Near.")]);
    assert_eq!(bench.write(), [Placement::Created(bench.path("colours-of-paint.md"))]);
    assert_eq!(fs::read_to_string(bench.path("colours.md")).unwrap(), persons[0].1);
    let agents = fs::read_to_string(bench.path("colours-2.md")).unwrap();
    bench.put_file(
        "colours-2.md",
        &agents.replace("An agent's, again.", "Edited by a person."),
    );
    bench.capture("", &[note("Colours", "css", "An agent's, once more.")]);
    assert_eq!(bench.write(), [Placement::Created(bench.path("colours-3.md"))]);
    assert_eq!(
        bench.logged("colours-2.md"),
        [
            "added by agent, run-00000001, iteration 1: An agent's.",
            "edited by agent, run-00000001, iteration 2: An agent's, again.",
            "changed by unknown: Edited by a person.",
        ]
    );
}

#[test]
fn kill_after_any_step_logs_old_text_and_agent_once() {
    for steps in 1..=5 {
        let mut bench = Bench::new();
        bench.put_agents("c.md", OLD);
        bench.capture("", &[note("Colours", "css", "New.")]);
        bench.write_and_die_after(steps);
        bench.knowledge("").sync_log(&mut bench.store, at()).unwrap();
        bench.write();
        let logged = bench.logged("c.md");
        assert_eq!(
            logged[0], "added by agent, run-00000009, iteration 1: Old text.",
            "{steps}"
        );
        let new: Vec<&String> = logged.iter().filter(|line| line.ends_with(": New.")).collect();
        let [new] = new.as_slice() else {
            panic!("{steps}: {logged:?}");
        };
        assert!(
            new.contains("by agent, run-00000001, iteration 1"),
            "{steps}: {logged:?}"
        );
    }
}

#[test]
fn entries_are_selected_by_title_or_file() {
    let bench = Bench::new();
    let folder = bench.knowledge("");
    for title in ["Ports?", "Ports!", "IPv6", "Ports, and who has them", "Unnamed"] {
        folder.add(&note(title, title, "Text."), at()).unwrap();
    }
    bench.put_file("mine.md", OLD);
    let named = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        folder.named(&names).unwrap()
    };
    assert_eq!(named(&["ports!"]), ["ports-2.md"]);
    assert_eq!(named(&["colours ", "ipV6"]), ["ipv6.md", "mine.md"]);
    assert_eq!(named(&["Ports, and who has them"]), ["ports-and-who-has-them.md"]);
    assert_eq!(named(&["mine", "ports.md"]), ["mine.md", "ports.md"]);
    assert_eq!(named(&["mem-1-aaaa", "Port"]), [""; 0]);
}

#[test]
fn entry_with_the_longest_name_can_be_changed() {
    let bench = Bench::new();
    let name = format!("{}.md", "é".repeat(126));
    assert_eq!(name.len(), 255);
    bench.put_file("short.md", OLD);
    fs::rename(bench.path("short.md"), bench.path(&name)).unwrap();
    let folder = bench.knowledge("");
    let changed = folder.add(&note("Colours", "css", "New."), at()).unwrap();
    assert_eq!(changed.outcome, Placement::Updated(bench.path(&name)));
    folder.delete(&name, at()).unwrap().unwrap();
    assert_eq!(bench.files(), []);
    assert_eq!(folder.restore(&name, Some(1), at()).unwrap(), RestoreOutcome::Done);
    assert_eq!(bench.files(), [(name, OLD.to_owned())]);
}
