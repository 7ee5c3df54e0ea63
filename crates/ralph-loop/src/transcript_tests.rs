//! Tests of transcripts: what is kept of a long one, after a normal end or a kill.

use super::*;
use crate::run_folder::private_file;
use crate::whole_lines::full_disk::set_free_bytes;
use tempfile::TempDir;

/// A line of ten bytes, including its line break.
fn line(number: u32) -> String {
    format!("{:09}", 100_000_000 + number)
}

fn limits(head: u64, tail: u64, piece: u64) -> Limits {
    Limits { head, tail, piece }
}

fn written(folder: &TempDir, limits: Limits, lines: impl Iterator<Item = String>) -> Transcript {
    let mut transcript = Transcript::begin(folder.path(), limits).unwrap();
    for line in lines {
        transcript.line(&line).unwrap();
    }
    transcript
}

/// Ends it like a kill: nothing more is written.
fn kill(mut transcript: Transcript) {
    transcript.flush().unwrap();
    std::mem::forget(transcript);
}

fn put(folder: &TempDir, name: &str, text: &str) {
    private_file(&folder.path().join(name))
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
}

fn read(folder: &TempDir) -> Vec<String> {
    let text = fs::read_to_string(path(folder.path())).unwrap();
    text.lines().map(str::to_owned).collect()
}

fn names(folder: &TempDir) -> Vec<String> {
    let entries = fs::read_dir(folder.path()).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn on_disk(folder: &TempDir) -> u64 {
    let entries = fs::read_dir(folder.path()).unwrap();
    entries.map(|entry| entry.unwrap().metadata().unwrap().len()).sum()
}

/// The first lines, a marker, and the last lines of `all` lines.
fn expected(all: u32, first: u32, last: u32) -> Vec<String> {
    let missing = all - first - last;
    let note = format!(r#"{{"left_out_lines":{missing},"left_out_bytes":{}}}"#, missing * 10);
    let note = (missing > 0).then_some(note);
    (0..first)
        .map(line)
        .chain(note)
        .chain((all - last..all).map(line))
        .collect()
}

#[track_caller]
fn check(all: u32, limits: Limits, (first, last): (u32, u32)) {
    let folder = TempDir::new().unwrap();
    written(&folder, limits, (0..all).map(line)).close().unwrap();
    assert_eq!(
        read(&folder),
        expected(all, first, last),
        "closed: {all} lines, {limits:?}"
    );
    assert_eq!(names(&folder), ["transcript.jsonl"]);

    let folder = TempDir::new().unwrap();
    kill(written(&folder, limits, (0..all).map(line)));
    join(folder.path(), limits).unwrap();
    assert_eq!(
        read(&folder),
        expected(all, first, last),
        "killed: {all} lines, {limits:?}"
    );
    assert_eq!(names(&folder), ["transcript.jsonl"]);
}

#[test]
fn start_and_end_are_kept_and_the_rest_counted() {
    let limits = limits(100, 50, 20);
    check(0, limits, (0, 0));
    check(10, limits, (10, 0));
    check(11, limits, (10, 1));
    check(15, limits, (10, 5));
    for all in 16..40 {
        check(all, limits, (10, 5));
    }
    check(1000, limits, (10, 5));
}

#[test]
fn limits_keep_whole_lines() {
    check(1000, limits(109, 59, 29), (10, 5));
    check(1000, limits(0, 10, 1), (0, 1));
    check(1000, limits(9, 10, 1000), (0, 1));
}

#[test]
fn disk_usage_is_bounded() {
    let folder = TempDir::new().unwrap();
    let limits = limits(1000, 500, 100);
    let mut transcript = Transcript::begin(folder.path(), limits).unwrap();
    for number in 0..1000 {
        transcript.line(&line(number)).unwrap();
        transcript.flush().unwrap();
        let places = 8 * 80;
        assert!(on_disk(&folder) <= 1000 + 500 + 100 + places, "{}", on_disk(&folder));
    }
    assert!(Limits::default().head + 2 * Limits::default().tail + Limits::default().piece < 49 << 20);
}

#[test]
fn overlong_line_becomes_a_marker() {
    let folder = TempDir::new().unwrap();
    let long = "x".repeat(2000);
    let lines = [line(1), long, line(2)];
    let transcript = written(&folder, limits(10, 100, 20), lines.into_iter());
    transcript.close().unwrap();
    let note = r#"{"left_out_lines":1,"left_out_bytes":2012}"#;
    assert_eq!(read(&folder), [line(1), note.to_owned(), line(2)]);
    // The marker still counts in full when it is dropped itself.
    let long = "x".repeat(2000);
    let lines = [line(1), long].into_iter().chain((0..20).map(line));
    let folder = TempDir::new().unwrap();
    written(&folder, limits(10, 100, 20), lines).close().unwrap();
    let mut kept = vec![line(1), r#"{"left_out_lines":11,"left_out_bytes":2112}"#.to_owned()];
    kept.extend((10..20).map(line));
    assert_eq!(read(&folder), kept);
}

#[test]
fn line_larger_than_a_piece_is_kept_whole() {
    let folder = TempDir::new().unwrap();
    let long = format!("\"{}\"", "x".repeat(60));
    let lines = [line(1), line(2), long.clone(), line(3)];
    written(&folder, limits(10, 80, 20), lines.into_iter()).close().unwrap();
    let note = r#"{"left_out_lines":1,"left_out_bytes":10}"#.to_owned();
    assert_eq!(read(&folder), [line(1), note, long, line(3)]);
}

#[test]
fn interrupted_join_is_repeated() {
    let limits = limits(100, 50, 20);
    let folder = TempDir::new().unwrap();
    kill(written(&folder, limits, (0..100).map(line)));
    let pieces: Vec<_> = names(&folder)
        .into_iter()
        .filter(|name| name.starts_with(PIECE))
        .collect();
    let transcript = path(folder.path());
    // Part of the end has already been written.
    let mut file = OpenOptions::new().append(true).open(&transcript).unwrap();
    file.write_all(b"{\"left_out_lines\":3,").unwrap();
    join(folder.path(), limits).unwrap();
    assert_eq!(read(&folder), expected(100, 10, 5));
    // All of it has been written, but some pieces remain.
    put(&folder, JOINED, "");
    put(&folder, pieces.last().unwrap(), "what is left");
    join(folder.path(), limits).unwrap();
    assert_eq!(read(&folder), expected(100, 10, 5));
    assert_eq!(names(&folder), ["transcript.jsonl"]);
}

#[test]
fn incomplete_piece_is_ignored() {
    let limits = limits(100, 50, 20);
    for torn in ["", "{\"head_bytes\":1"] {
        let folder = TempDir::new().unwrap();
        kill(written(&folder, limits, (0..10).map(line)));
        put(&folder, &format!("{PIECE}00000000"), torn);
        join(folder.path(), limits).unwrap();
        assert_eq!(read(&folder), expected(10, 10, 0));
        let folder = TempDir::new().unwrap();
        kill(written(&folder, limits, (0..100).map(line)));
        put(&folder, &format!("{PIECE}99999999"), torn);
        join(folder.path(), limits).unwrap();
        assert_eq!(read(&folder), expected(100, 10, 5));
    }
}

#[test]
fn secrets_are_masked_and_lines_become_json() {
    let folder = TempDir::new().unwrap();
    let token = format!("ghp_{}", "a1B2".repeat(9));
    let lines = (0..100).map(|_| format!("the token {token}"));
    written(&folder, limits(100, 100, 50), lines).close().unwrap();
    let kept = read(&folder);
    assert_eq!(kept.first().unwrap(), r#"{"line":"the token [secret: github]"}"#);
    assert_eq!(kept.last(), kept.first());
    assert_eq!(kept.len(), 2 + 1 + 2);
}

#[test]
fn printed_lines_exclude_markers() {
    let folder = TempDir::new().unwrap();
    written(&folder, limits(100, 50, 20), (0..100).map(line))
        .close()
        .unwrap();
    let printed: Vec<String> = printed(&path(folder.path())).collect();
    assert_eq!(printed, (0..10).chain(95..100).map(line).collect::<Vec<_>>());
}

/// Counts all lines of a transcript, including those in markers.
fn counted(folder: &TempDir) -> u64 {
    let lines = read(folder).into_iter();
    lines
        .map(|line| match left_out(&line) {
            Some(missing) => {
                assert_eq!(missing.bytes, missing.lines * 10);
                missing.lines
            }
            None => {
                assert_eq!(line.len(), 9, "{line}");
                1
            }
        })
        .sum()
}

#[test]
fn full_disk_leaves_a_marker() {
    let folder = TempDir::new().unwrap();
    let mut transcript = written(&folder, limits(1000, 50, 20), (0..2).map(line));
    transcript.flush().unwrap();
    set_free_bytes(25);
    for number in 2..6 {
        transcript.line(&line(number)).unwrap();
    }
    assert_eq!(transcript.flush().unwrap_err().kind(), io::ErrorKind::StorageFull);
    assert!(transcript.line(&line(6)).is_err());
    set_free_bytes(usize::MAX);
    transcript.line(&line(7)).unwrap();
    transcript.close().unwrap();
    let missing = r#"{"left_out_lines":5,"left_out_bytes":50}"#.to_owned();
    assert_eq!(read(&folder), [line(0), line(1), missing, line(7)]);
}

#[test]
fn full_disk_at_any_line_keeps_the_count() {
    for all in [30, 60] {
        for (limits, flushes) in [
            (limits(100, 100, 20), 1),
            (limits(100, 50, 20), 3),
            (limits(1000, 50, 20), 1),
        ] {
            for full_at in 0..all {
                for free in [0, 5, 15, 45] {
                    let folder = TempDir::new().unwrap();
                    let mut transcript = Transcript::begin(folder.path(), limits).unwrap();
                    for number in 0..all {
                        if number == full_at {
                            set_free_bytes(free);
                        } else if number == full_at + 8 {
                            set_free_bytes(usize::MAX);
                        }
                        drop(transcript.line(&line(number)));
                        if number % flushes == 0 {
                            drop(transcript.flush());
                        }
                    }
                    set_free_bytes(usize::MAX);
                    transcript.close().unwrap();
                    let seen = format!(
                        "{limits:?}, full at {full_at} of {all} with {free}: {:?}",
                        read(&folder)
                    );
                    assert_eq!(counted(&folder), u64::from(all), "{seen}");
                    assert!(
                        full_at + 8 >= all || read(&folder).last() == Some(&line(all - 1)),
                        "{seen}"
                    );
                    assert_eq!(names(&folder), ["transcript.jsonl"], "{seen}");
                }
            }
        }
    }
}

#[test]
fn marker_is_written_on_close() {
    let folder = TempDir::new().unwrap();
    let mut transcript = written(&folder, limits(20, 500, 20), (0..4).map(line));
    transcript.flush().unwrap();
    set_free_bytes(0);
    transcript.line(&line(4)).unwrap_err();
    set_free_bytes(usize::MAX);
    transcript.close().unwrap();
    let missing = r#"{"left_out_lines":1,"left_out_bytes":10}"#.to_owned();
    assert_eq!(read(&folder), [line(0), line(1), line(2), line(3), missing]);
}
