//! Tests of knowledge entries in the note index: read only on request and after changes, and found by title, tags and
//! text.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
#![expect(dead_code, reason = "not every test needs all of the support")]

mod selection;
#[path = "../support/mod.rs"]
mod support;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use ralph_memory::recall::{Answer, Found, KnowledgeSearch, NoteFilter, Question, Reach, recall};
use ralph_model::{NoteFileKind, Tags};
use ralph_search::{IndexPlace, SearchIndex, Sources};
use support::Files;

const NOTE_FILE_KINDS: [NoteFileKind; 2] = [NoteFileKind::Memories, NoteFileKind::Guardrails];

fn note(title: &str, tags: &str, body: &str) -> String {
    let title = title.replace('\\', "\\\\").replace('"', "\\\"");
    format!("---\ntitle: \"{title}\"\ntags: [{tags}]\ncreated_at: \"2026-02-17T12:00:00Z\"\n---\n\n{body}\n")
}

fn folder(files: &Files) -> PathBuf {
    let folder = files.folder().join("knowledge");
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn put(files: &Files, name: &str, text: impl AsRef<[u8]>) {
    files.write_knowledge(name, text.as_ref());
}

/// The titles in the index on disk, after comparing it with a new index.
#[track_caller]
fn titles(files: &Files) -> Vec<String> {
    let read = |search_index: &SearchIndex| search_index.all_knowledge();
    let outlines = SearchIndex::ask(&files.place(), (&[], Sources::KNOWLEDGE), read).unwrap();
    if files.index().exists() {
        // Built again from the files, it is the same.
        let place = IndexPlace {
            database: files.folder().join("nowhere/index.db"),
            may_create: false,
            ..files.place()
        };
        let built = SearchIndex::ask(&place, (&[], Sources::KNOWLEDGE), read).unwrap();
        assert_eq!(built, outlines);
    }
    outlines
        .iter()
        .map(|note| format!("{} {}", note.file, note.title))
        .collect()
}

fn problems(files: &Files) -> Vec<(String, String)> {
    SearchIndex::ask(
        &files.place(),
        (&[], Sources::KNOWLEDGE),
        SearchIndex::knowledge_problems,
    )
    .unwrap()
}

fn ask(files: &Files, text: &str, file_kinds: &[NoteFileKind]) -> Answer {
    let question = Question {
        text,
        file_kinds,
        knowledge: KnowledgeSearch::Include,
        wanted: &NoteFilter::default(),
        reach: Reach::Best(10),
    };
    SearchIndex::ask(&files.place(), (file_kinds, Sources::KNOWLEDGE), |search_index| {
        recall(search_index, &question)
    })
    .unwrap()
}

fn ids(answer: &Answer) -> Vec<&str> {
    answer.hits.iter().map(|hit| hit.item.id()).collect()
}

#[test]
fn index_follows_the_folder() {
    for files in [Files::with_index(), Files::with_index().trusting_times(), Files::new()] {
        assert_eq!(titles(&files), Vec::<String>::new(), "there is no folder");
        put(&files, "b.md", note("Bee", "x", "See [[Ant]] and [[Cow]]."));
        put(&files, "a.md", note("Ant", "x, y", "Body."));
        assert_eq!(titles(&files), ["a.md Ant", "b.md Bee"]);
        put(&files, "a.md", note("Aunt, longer", "x", "Other."));
        assert_eq!(titles(&files), ["a.md Aunt, longer", "b.md Bee"]);
        fs::rename(folder(&files).join("b.md"), folder(&files).join("c.md")).unwrap();
        assert_eq!(titles(&files), ["a.md Aunt, longer", "c.md Bee"]);
        fs::remove_file(folder(&files).join("a.md")).unwrap();
        assert_eq!(titles(&files), ["c.md Bee"]);
        let outlines = SearchIndex::ask(&files.place(), (&[], Sources::KNOWLEDGE), |index| index.all_knowledge());
        let outline = outlines.unwrap().remove(0);
        assert_eq!(outline.links, ["Ant", "Cow"]);
        assert_eq!(outline.created_at.as_deref(), Some("2026-02-17T12:00:00Z"));
        fs::remove_dir_all(folder(&files)).unwrap();
        assert_eq!(titles(&files), Vec::<String>::new());
    }
}

/// Equal size and times within the racy two seconds: only the bytes differ.
#[test]
fn change_with_equal_times_is_detected() {
    let files = Files::with_index();
    put(&files, "a.md", note("One", "x", "b"));
    assert_eq!(titles(&files), ["a.md One"]);
    let before = fs::metadata(folder(&files).join("a.md")).unwrap().modified().unwrap();
    put(&files, "a.md", note("Two", "x", "b"));
    let file = fs::File::options()
        .write(true)
        .open(folder(&files).join("a.md"))
        .unwrap();
    file.set_modified(before).unwrap();
    assert_eq!(titles(&files), ["a.md Two"]);
}

#[test]
fn knowledge_is_only_read_on_request() {
    let files = Files::with_index().trusting_times();
    files.write(NoteFileKind::Memories, b"# Memories\n");
    put(&files, "a.md", note("Ant", "x", "Body."));
    // Reading it would fail, even for root.
    let (folder, away) = (folder(&files), files.folder().join("away"));
    fs::rename(&folder, &away).unwrap();
    symlink(&folder, &folder).unwrap();
    let nothing = SearchIndex::ask(&files.place(), (&NOTE_FILE_KINDS, Sources::NOTES), |search_index| {
        Ok((search_index.all_knowledge()?, search_index.knowledge_problems()?))
    });
    assert_eq!(nothing.unwrap(), (Vec::new(), Vec::new()));
    let refused = SearchIndex::ask(&files.place(), (&[], Sources::KNOWLEDGE), |index| index.all_knowledge());
    let refused = refused.unwrap_err().to_string();
    assert!(
        refused.contains("knowledge: Too many levels of symbolic links"),
        "{refused}"
    );
    fs::remove_file(&folder).unwrap();
    fs::rename(&away, &folder).unwrap();
    assert_eq!(titles(&files), ["a.md Ant"]);
}

#[test]
fn other_files_are_skipped_or_reported() {
    let files = Files::with_index();
    let folder = folder(&files);
    for name in [".hidden.md", "note.txt", "README", ".lock"] {
        put(&files, name, note("Skipped", "x", "b"));
    }
    fs::create_dir(folder.join("sub.md")).unwrap();
    symlink("nowhere.md", folder.join("dangling.md")).unwrap();
    #[expect(clippy::disallowed_methods, reason = "a file of the test's own")]
    fs::write(
        folder.join(std::ffi::OsStr::from_encoded("x\u{0}")),
        note("Skipped", "x", "b"),
    )
    .unwrap();
    put(&files, "none.md", "no frontmatter");
    put(&files, "binary.md", b"---\ntitle: \xff\n---\n");
    put(&files, "untagged.md", "---\ntitle: x\n---\n");
    put(&files, "large.md", note("Large", "x", &"word ".repeat(1 << 20)));
    put(&files, "good.md", note("Good", "x", ""));
    symlink(folder.join("good.md"), folder.join("link.md")).unwrap();
    assert_eq!(titles(&files), ["good.md Good", "link.md Good"]);
    let reported: Vec<String> = problems(&files)
        .into_iter()
        .map(|(file, problem)| format!("{file}: {problem}"))
        .collect();
    insta::assert_snapshot!(reported.join("\n"), @"
    binary.md: it is not UTF-8
    large.md: it is larger than 4 MiB
    none.md: it does not start with frontmatter between `---` lines
    untagged.md: its frontmatter has no tags
    x�.md: its name is not UTF-8
    ");
    put(&files, "none.md", note("Mended", "x", ""));
    assert_eq!(titles(&files).len(), 3);
    assert_eq!(problems(&files).len(), 4);
}

/// A file name that is not UTF-8.
trait NotText {
    fn from_encoded(text: &str) -> std::ffi::OsString;
}

impl NotText for std::ffi::OsStr {
    fn from_encoded(text: &str) -> std::ffi::OsString {
        use std::os::unix::ffi::OsStringExt;
        let bytes = text.bytes().map(|byte| if byte == 0 { 0xff } else { byte });
        std::ffi::OsString::from_vec(bytes.chain(*b".md").collect())
    }
}

#[test]
fn folder_may_be_a_link_but_not_a_file() {
    let files = Files::with_index();
    let elsewhere = files.folder().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, files.folder().join("knowledge")).unwrap();
    put(&files, "a.md", note("Ant", "x", ""));
    assert_eq!(titles(&files), ["a.md Ant"]);
    fs::remove_file(files.folder().join("knowledge")).unwrap();
    #[expect(clippy::disallowed_methods, reason = "a file of the test's own")]
    fs::write(files.folder().join("knowledge"), "").unwrap();
    let refused =
        SearchIndex::ask(&files.place(), (&[], Sources::KNOWLEDGE), |index| index.all_knowledge()).unwrap_err();
    assert!(refused.to_string().contains("Not a directory"), "{refused}");
}

#[test]
fn fault_7_hostile_titles_are_kept_and_found() {
    let files = Files::with_index();
    let long = "é".repeat(150);
    let hostile = [
        "a \"quote\" --- b",
        "🚀🚀",
        "שלום עולם",
        "!!!",
        "---",
        &long,
        "'); DROP TABLE knowledge; --",
    ];
    for (number, title) in hostile.iter().enumerate() {
        put(
            &files,
            &format!("{number}.md"),
            note(title, "tag", &format!("Zebra {number}.")),
        );
    }
    let expected: Vec<String> = hostile
        .iter()
        .enumerate()
        .map(|(number, title)| format!("{number}.md {title}"))
        .collect();
    assert_eq!(titles(&files), expected);
    for (asked, file) in [
        ("quote", "0.md"),
        ("שלום", "2.md"),
        (&long, "5.md"),
        ("DROP TABLE", "6.md"),
    ] {
        assert_eq!(ids(&ask(&files, asked, &[])).first(), Some(&file), "{asked}");
    }
    assert_eq!(ask(&files, "zebra", &[]).hits.len(), hostile.len());
}

#[test]
fn knowledge_is_found_together_with_notes() {
    let files = Files::with_index();
    files.write(
        NoteFileKind::Memories,
        b"# Memories\n\n## Patterns\n\n### mem-1-0000\n> The pool holds ten connections.\n<!-- tags: db | created: 2025-01-20 -->\n",
    );
    put(
        &files,
        "pool.md",
        note("Connection pool", "database", "It is opened once."),
    );
    put(&files, "tea.md", note("Tea", "drinks", "Green."));
    assert_eq!(
        ids(&ask(&files, "connection pools", &NOTE_FILE_KINDS)),
        ["pool.md", "mem-1-0000"]
    );
    assert_eq!(
        ids(&ask(&files, "connection pools", &[])),
        ["pool.md"],
        "no note file is searched"
    );
    assert_eq!(
        ids(&ask(&files, "database", &NOTE_FILE_KINDS)),
        ["pool.md"],
        "by its tag"
    );
    assert_eq!(
        ids(&ask(&files, "databsae", &NOTE_FILE_KINDS)),
        ["pool.md"],
        "a typo is forgiven"
    );
    let answer = ask(&files, "drinks", &NOTE_FILE_KINDS);
    assert!(matches!(&answer.hits[0].item, Found::Knowledge(note) if note.outline.title == "Tea"));
    let filtered = |wanted: &NoteFilter| {
        let question = Question {
            text: "connection",
            file_kinds: &NOTE_FILE_KINDS,
            knowledge: KnowledgeSearch::Include,
            wanted,
            reach: Reach::All,
        };
        let answer = SearchIndex::ask(&files.place(), (&NOTE_FILE_KINDS, Sources::KNOWLEDGE), |search_index| {
            recall(search_index, &question)
        });
        answer.unwrap().hits.len()
    };
    let tagged = NoteFilter {
        tags: Tags::parse("Database").unwrap(),
        ..NoteFilter::default()
    };
    assert_eq!(filtered(&tagged), 1);
    let recent = NoteFilter {
        since: Some(jiff::civil::date(2026, 2, 17)),
        ..NoteFilter::default()
    };
    assert_eq!(filtered(&recent), 1);
    let except = NoteFilter {
        except: vec!["pool.md".to_owned()],
        ..NoteFilter::default()
    };
    assert_eq!(filtered(&except), 1);
    assert_eq!(filtered(&NoteFilter::default()), 2);
}

/// Scores of notes do not depend on whether knowledge was ever requested.
#[test]
fn note_scores_do_not_depend_on_knowledge() {
    let files = Files::with_index();
    files.write(
        NoteFileKind::Memories,
        b"# Memories\n\n## Patterns\n\n### mem-1-0000\n> The pool holds ten connections.\n\n### mem-2-0000\n> Tea is green.\n",
    );
    let asked = || {
        let question = Question {
            text: "pool of connections",
            file_kinds: &NOTE_FILE_KINDS,
            knowledge: KnowledgeSearch::Exclude,
            wanted: &NoteFilter::default(),
            reach: Reach::All,
        };
        let answer = SearchIndex::ask(&files.place(), (&NOTE_FILE_KINDS, Sources::NOTES), |search_index| {
            recall(search_index, &question)
        })
        .unwrap();
        answer.hits
    };
    let before = asked();
    for number in 0..30 {
        put(
            &files,
            &format!("{number}.md"),
            note("Pool", "pool", "Connections, connections."),
        );
    }
    assert_eq!(titles(&files).len(), 30);
    assert_eq!(asked(), before);
}

/// Ties are ordered by file name, not by insertion order.
#[test]
fn fault_6_ties_are_ordered_by_name() {
    let names = ["c.md", "a.md", "d.md", "b.md"];
    let files = Files::with_index();
    for name in names {
        // Each has a different number, so that none is a duplicate.
        put(
            &files,
            name,
            note(
                "Pool",
                "db",
                &format!("Hold {} connections.", name.len() + usize::from(name.as_bytes()[0])),
            ),
        );
        titles(&files);
    }
    assert_eq!(ids(&ask(&files, "pool", &[])), ["a.md", "b.md", "c.md", "d.md"]);
}

/// The number of bytes this thread has read so far.
#[cfg(target_os = "linux")]
fn bytes_read() -> u64 {
    let counters = fs::read_to_string("/proc/thread-self/io").unwrap();
    let read = counters.lines().find_map(|line| line.strip_prefix("rchar: "));
    read.unwrap().parse().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn only_changed_entries_are_read_again() {
    const NOTES: u64 = 1_000;
    let files = Files::with_index().trusting_times();
    // Long to read but quick to index: a single distinct word.
    let body = format!("word{}", " -".repeat(5_000));
    for number in 0..NOTES {
        put(
            &files,
            &format!("n{number}.md"),
            note(&format!("Note {number}"), "x", &body),
        );
    }
    let all = NOTES * body.len() as u64;
    let ask = || {
        let before = bytes_read();
        let outlines =
            SearchIndex::ask(&files.place(), (&[], Sources::KNOWLEDGE), |index| index.all_knowledge()).unwrap();
        assert_eq!(outlines.len() as u64, NOTES);
        bytes_read() - before
    };
    let first = ask();
    assert!(first >= all, "each is read once: {first} bytes");
    let again = ask();
    assert!(again < all / 4, "nothing has changed: {again} bytes");
    put(&files, "n7.md", note("Note 7", "x", "Short."));
    let one = ask();
    assert!(one < all / 4, "one has changed: {one} bytes");
}
