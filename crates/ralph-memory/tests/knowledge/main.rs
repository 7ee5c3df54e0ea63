//! Long notes in the catalogue: looked at only where they are asked for, read only where they have changed, and found by
//! their titles, tags and texts.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
#![expect(dead_code, reason = "not every test needs all of the support")]

mod selection;
#[path = "../support/mod.rs"]
mod support;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use ralph_memory::catalogue::{Catalogue, Verified};
use ralph_memory::recall::{Answer, Found, LongNotes, Question, Reach, Wanted, recall};
use ralph_model::{Shelf, Tags};
use support::Files;

const SHELVES: [Shelf; 2] = [Shelf::Memories, Shelf::Guardrails];

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

/// What the long notes are, as the index on disk says, after a comparison with one that is made anew from the files.
#[track_caller]
fn titles(files: &Files) -> Vec<String> {
    let read = |catalogue: &Catalogue| catalogue.knowledge_outlines();
    let outlines = Catalogue::ask_knowledge(&files.place(), &[], read).unwrap();
    if files.index().exists() {
        assert_eq!(Catalogue::verify(&files.place()).unwrap(), Verified::Same);
    }
    outlines
        .iter()
        .map(|note| format!("{} {}", note.file, note.title))
        .collect()
}

fn problems(files: &Files) -> Vec<(String, String)> {
    Catalogue::ask_knowledge(&files.place(), &[], Catalogue::knowledge_problems).unwrap()
}

fn ask(files: &Files, text: &str, shelves: &[Shelf]) -> Answer {
    let question = Question {
        text,
        shelves,
        knowledge: LongNotes::Sought,
        wanted: &Wanted::default(),
        reach: Reach::Best(10),
    };
    Catalogue::ask_knowledge(&files.place(), shelves, |catalogue| recall(catalogue, &question)).unwrap()
}

fn ids(answer: &Answer) -> Vec<&str> {
    answer.hits.iter().map(|hit| hit.item.id()).collect()
}

#[test]
fn the_index_follows_the_folder() {
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
        let outlines = Catalogue::ask_knowledge(&files.place(), &[], Catalogue::knowledge_outlines);
        let outline = outlines.unwrap().remove(0);
        assert_eq!(outline.links, ["Ant", "Cow"]);
        assert_eq!(outline.created_at.as_deref(), Some("2026-02-17T12:00:00Z"));
        fs::remove_dir_all(folder(&files)).unwrap();
        assert_eq!(titles(&files), Vec::<String>::new());
    }
}

/// The same size and times, within the two seconds in which times tell nothing: only the bytes differ.
#[test]
fn a_change_that_the_times_do_not_show_is_seen() {
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

/// The number that tells of all files at once: while the times of one of them tell nothing, it would not tell a change.
#[test]
fn only_where_times_tell_every_change_one_number_tells_of_the_folder() {
    let sum = |files: &Files| {
        ralph_store::index::Index::open(&files.index())
            .unwrap()
            .knowledge_sum()
            .unwrap()
    };
    let young = Files::with_index();
    put(&young, "a.md", note("One", "x", "b"));
    assert_eq!(titles(&young), ["a.md One"]);
    assert_eq!(sum(&young), None);
    let old = Files::with_index().trusting_times();
    put(&old, "a.md", note("One", "x", "b"));
    assert_eq!(titles(&old), ["a.md One"]);
    let of_one = sum(&old);
    assert!(of_one.is_some());
    put(&old, "b.md", note("Two", "x", "b"));
    assert_eq!(titles(&old), ["a.md One", "b.md Two"]);
    assert!(sum(&old).is_some_and(|of_two| Some(of_two) != of_one));
}

#[test]
fn whoever_does_not_ask_for_long_notes_does_not_look_at_them() {
    let files = Files::with_index().trusting_times();
    files.write(Shelf::Memories, b"# Memories\n");
    put(&files, "a.md", note("Ant", "x", "Body."));
    // Were it looked at, this would be refused, also to somebody who may read everything.
    let (folder, away) = (folder(&files), files.folder().join("away"));
    fs::rename(&folder, &away).unwrap();
    symlink(&folder, &folder).unwrap();
    let nothing = Catalogue::ask(&files.place(), &SHELVES, |catalogue| {
        Ok((catalogue.knowledge_outlines()?, catalogue.knowledge_problems()?))
    });
    assert_eq!(nothing.unwrap(), (Vec::new(), Vec::new()));
    let refused = Catalogue::ask_knowledge(&files.place(), &[], Catalogue::knowledge_outlines);
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
fn what_is_no_long_note_is_skipped_or_told() {
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
    let told: Vec<String> = problems(&files)
        .into_iter()
        .map(|(file, problem)| format!("{file}: {problem}"))
        .collect();
    insta::assert_snapshot!(told.join("\n"), @"
    binary.md: it is not UTF-8
    large.md: it has more than 4 MiB
    none.md: it does not begin with frontmatter between two lines `---`
    untagged.md: its frontmatter has no tags
    x�.md: its name is not UTF-8
    ");
    put(&files, "none.md", note("Mended", "x", ""));
    assert_eq!(titles(&files).len(), 3);
    assert_eq!(problems(&files).len(), 4);
}

/// A name that is not UTF-8.
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
fn a_folder_may_be_a_link_and_no_file() {
    let files = Files::with_index();
    let elsewhere = files.folder().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, files.folder().join("knowledge")).unwrap();
    put(&files, "a.md", note("Ant", "x", ""));
    assert_eq!(titles(&files), ["a.md Ant"]);
    fs::remove_file(files.folder().join("knowledge")).unwrap();
    #[expect(clippy::disallowed_methods, reason = "a file of the test's own")]
    fs::write(files.folder().join("knowledge"), "").unwrap();
    let refused = Catalogue::ask_knowledge(&files.place(), &[], Catalogue::knowledge_outlines).unwrap_err();
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
fn long_notes_are_found_beside_the_others() {
    let files = Files::with_index();
    files.write(
        Shelf::Memories,
        b"# Memories\n\n## Patterns\n\n### mem-1-0000\n> The pool holds ten connections.\n<!-- tags: db | created: 2025-01-20 -->\n",
    );
    put(
        &files,
        "pool.md",
        note("Connection pool", "database", "It is opened once."),
    );
    put(&files, "tea.md", note("Tea", "drinks", "Green."));
    assert_eq!(
        ids(&ask(&files, "connection pools", &SHELVES)),
        ["pool.md", "mem-1-0000"]
    );
    assert_eq!(
        ids(&ask(&files, "connection pools", &[])),
        ["pool.md"],
        "no shelf is asked"
    );
    assert_eq!(ids(&ask(&files, "database", &SHELVES)), ["pool.md"], "by its tag");
    assert_eq!(
        ids(&ask(&files, "databsae", &SHELVES)),
        ["pool.md"],
        "a typo is forgiven"
    );
    let answer = ask(&files, "drinks", &SHELVES);
    assert!(matches!(&answer.hits[0].item, Found::Knowledge(note) if note.outline.title == "Tea"));
    let filtered = |wanted: &Wanted| {
        let question = Question {
            text: "connection",
            shelves: &SHELVES,
            knowledge: LongNotes::Sought,
            wanted,
            reach: Reach::All,
        };
        let answer = Catalogue::ask_knowledge(&files.place(), &SHELVES, |catalogue| recall(catalogue, &question));
        answer.unwrap().hits.len()
    };
    let tagged = Wanted {
        tags: Tags::parse("Database").unwrap(),
        ..Wanted::default()
    };
    assert_eq!(filtered(&tagged), 1);
    let recent = Wanted {
        since: Some(jiff::civil::date(2026, 2, 17)),
        ..Wanted::default()
    };
    assert_eq!(filtered(&recent), 1);
    let except = Wanted {
        except: vec!["pool.md".to_owned()],
        ..Wanted::default()
    };
    assert_eq!(filtered(&except), 1);
    assert_eq!(filtered(&Wanted::default()), 2);
}

/// What the shelves answer does not depend on whether long notes were ever asked for.
#[test]
fn scores_of_the_shelves_do_not_change_with_long_notes() {
    let files = Files::with_index();
    files.write(
        Shelf::Memories,
        b"# Memories\n\n## Patterns\n\n### mem-1-0000\n> The pool holds ten connections.\n\n### mem-2-0000\n> Tea is green.\n",
    );
    let asked = || {
        let question = Question {
            text: "pool of connections",
            shelves: &SHELVES,
            knowledge: LongNotes::Left,
            wanted: &Wanted::default(),
            reach: Reach::All,
        };
        let answer = Catalogue::ask(&files.place(), &SHELVES, |catalogue| recall(catalogue, &question)).unwrap();
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

/// The order of equals is that of the names, whatever the order in which they came into the index.
#[test]
fn fault_6_equals_stand_in_the_order_of_their_names() {
    let names = ["c.md", "a.md", "d.md", "b.md"];
    let files = Files::with_index();
    for name in names {
        // Each differs in a number, so that none repeats another.
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

/// How many bytes this thread has read so far.
#[cfg(target_os = "linux")]
fn bytes_read() -> u64 {
    let counters = fs::read_to_string("/proc/thread-self/io").unwrap();
    let read = counters.lines().find_map(|line| line.strip_prefix("rchar: "));
    read.unwrap().parse().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn of_a_thousand_long_notes_only_those_are_read_that_have_changed() {
    const NOTES: u64 = 1_000;
    let files = Files::with_index().trusting_times();
    // Long to read, and quick to index: it has no word but one.
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
        let outlines = Catalogue::ask_knowledge(&files.place(), &[], Catalogue::knowledge_outlines).unwrap();
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
