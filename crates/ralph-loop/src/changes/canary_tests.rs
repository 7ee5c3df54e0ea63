//! Every program that a repository can configure leaves a canary file when it runs. None of our git calls may run one,
//! except for the hooks and filters of a commit.

use super::tests::{Project, committed, of, set};
use super::*;
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// Configuration keys whose values are commands or executable files.
const PROGRAMS: [&str; 28] = [
    "core.fsmonitor",
    "core.pager",
    "core.editor",
    "core.sshCommand",
    "core.askPass",
    "core.gitProxy",
    "core.alternateRefsCommand",
    "sequence.editor",
    "gpg.program",
    "gpg.ssh.program",
    "gpg.x509.program",
    "filter.canary.clean",
    "filter.canary.smudge",
    "filter.long.process",
    "diff.external",
    "diff.canary.textconv",
    "diff.canary.command",
    "merge.canary.driver",
    "interactive.diffFilter",
    "pager.status",
    "pager.diff-tree",
    "pager.config",
    "pager.for-each-ref",
    "remote.origin.uploadpack",
    "remote.origin.vcs",
    "trailer.canary.command",
    "hook.canary.command",
    "uploadpack.packObjectsHook",
];

/// Keys whose values are commands only with a leading `!`.
const BANG_PROGRAMS: [&str; 6] = [
    "credential.helper",
    "alias.add",
    "alias.status",
    "alias.rev-parse",
    "alias.write-tree",
    "alias.diff-tree",
];

const ATTRIBUTES: &str = "*.txt filter=canary diff=canary merge=canary\n*.long filter=long diff=canary\n";

/// The configuration files, as options of `git config`.
const PLACES: [&str; 2] = ["--local", "--worktree"];

const ATTRIBUTE_FILES: [&str; 2] = [".gitattributes", ".git/info/attributes"];

/// Makes every configurable program leave a canary in a folder outside the project.
fn set_traps(project: &Project, place: &str, attributes: &str) -> PathBuf {
    let canaries = project.folder.path().join("canaries");
    fs::create_dir_all(canaries.join("hooks")).unwrap();
    project.write(attributes, ATTRIBUTES);
    let git = |key: &str, value: &str| {
        let answer = Git::change(&project.root).run(["config", place, key, value]).unwrap();
        assert!(answer.status.success(), "{key}: {}", answer.errors);
    };
    project.git("config extensions.worktreeConfig true");
    for key in PROGRAMS {
        git(key, &format!("touch '{}/{key}'; cat", canaries.display()));
    }
    for key in BANG_PROGRAMS {
        git(key, &format!("!touch '{}/{key}'", canaries.display()));
    }
    for (key, value) in [
        ("filter.canary.required", "true"),
        ("hook.canary.event", "post-index-change"),
        ("commit.gpgSign", "true"),
        ("log.showSignature", "true"),
        ("protocol.ext.allow", "always"),
        ("diff.ignoreSubmodules", "none"),
        ("core.hooksPath", canaries.join("hooks").to_str().unwrap()),
    ] {
        git(key, value);
    }
    let hooks = [
        "post-index-change",
        "pre-commit",
        "post-commit",
        "reference-transaction",
        "fsmonitor-watchman",
    ];
    for hook in hooks {
        let path = canaries.join("hooks").join(hook);
        let text = format!("#!/bin/sh\ntouch '{}/{hook}'\n", canaries.display());
        ralph_notes::write_new_file(&path, text.as_bytes()).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    canaries
}

/// Returns the programs that ran, and clears the canaries.
fn ran(canaries: &Path) -> BTreeSet<String> {
    let mut ran = BTreeSet::new();
    for entry in fs::read_dir(canaries).unwrap() {
        let entry = entry.unwrap();
        if entry.path().is_file() {
            ran.insert(entry.file_name().into_string().unwrap());
            fs::remove_file(entry.path()).unwrap();
        }
    }
    ran
}

fn trapped_project() -> Project {
    let files = [("a.txt", "1\n"), ("a.long", "1\n"), ("other", "1\n")];
    Project::with_files(&files)
}

#[test]
fn snapshots_and_queries_run_no_repository_program() {
    for place in PLACES {
        for attributes in ATTRIBUTE_FILES {
            let project = trapped_project();
            let head = head_commit(&project.root).unwrap().unwrap();
            let canaries = set_traps(&project, place, attributes);
            ran(&canaries);
            let watch = project.watch();
            project.write("a.txt", "2\n");
            let before = watch.snapshot();
            project.write("a.txt", "3\n");
            project.write("a.long", "3\n");
            project.write("new.txt", "3\n");
            let after = watch.snapshot();
            let changes = watch.changes(&before, &after);
            assert_eq!(changes, of(&["a.long", "a.txt", "new.txt"]), "{place} {attributes}");
            watch.patch(&before, &after, 10_000).unwrap().unwrap();
            assert!(watch.unseen(&["a.txt".to_owned()], SystemTime::UNIX_EPOCH).is_empty());
            Refs::of(&project.root).unwrap();
            commits_in_head(&project.root, &set(&[&head])).unwrap();
            can_commit(&project.root).unwrap();
            assert_eq!(ran(&canaries), set(&[]), "{place} {attributes}");
        }
    }
}

#[test]
fn snapshots_run_no_nested_repository_program() {
    let project = trapped_project();
    let inner = Project {
        root: project.root.join("inner"),
        folder: tempfile::tempdir().unwrap(),
    };
    fs::create_dir(&inner.root).unwrap();
    inner.git("init -q");
    inner.identify();
    inner.write("a.txt", "1\n");
    inner.git("add -A");
    inner.git("commit -q -m first");
    project.git("add -A");
    project.git("commit -q -m second");
    let canaries = set_traps(&inner, "--local", ".gitattributes");
    ran(&canaries);
    inner.write("a.txt", "2\n");
    assert_eq!(project.changes(|| inner.write("a.txt", "3\n")), of(&[]));
    project.watch().dirty_files().unwrap();
    assert_eq!(ran(&canaries), set(&[]));
}

#[test]
fn commit_runs_only_hooks_and_filters() {
    let project = trapped_project();
    let canaries = set_traps(&project, "--local", ".gitattributes");
    for key in ["commit.gpgSign", "hook.canary.command", "hook.canary.event"] {
        Git::change(&project.root).run(["config", "--unset", key]).unwrap();
    }
    ran(&canaries);
    project.write("a.txt", "2\n");
    committed(&project.root, &set(&["a.txt"]), "second").unwrap();
    let mut ran = ran(&canaries);
    // Git may check a file again that was written in the same second as its index.
    ran.remove("filter.long.process");
    let expected = set(&[
        "filter.canary.clean",
        "post-commit",
        "post-index-change",
        "pre-commit",
        "reference-transaction",
    ]);
    assert_eq!(ran, expected);
}

/// A project with a filter: its files are upper case in git and lower case on disk.
fn filtered_project() -> Project {
    let project = Project::in_git();
    let filter = ["config", "filter.upper.clean", "tr a-z A-Z"];
    Git::change(&project.root).run(filter).unwrap();
    project.write(".gitattributes", "*.up filter=upper\n");
    project.write("kept.up", "kept\n");
    project.write("changed.up", "old\n");
    project.git("add -A");
    project.git("commit -q -m first");
    project
}

#[test]
fn unwritten_filtered_file_is_unchanged() {
    let project = filtered_project();
    let file = project.root.join("kept.up");
    let time = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    let kept = fs::File::options().write(true).open(&file).unwrap();
    // Git reads it again and finds lower case.
    kept.set_modified(time).unwrap();
    let scratch = project.folder.path().join("time");
    let written = ralph_model::FileStamp::of(&fs::metadata(&file).unwrap()).ctime_ns;
    while by_stat::now_of(&scratch).unwrap() <= written {
        std::thread::yield_now();
    }
    let changes = project.changes(|| {
        project.write("changed.up", "new\n");
        // The project's own index now has it in upper case.
        project.git("add -u");
    });
    assert_eq!(changes, of(&["changed.up"]));
    assert_eq!(project.git("diff --cached --name-only"), "changed.up\n");
}

#[test]
fn patch_hides_text_of_filtered_files() {
    let project = filtered_project();
    let watch = project.watch();
    let before = watch.snapshot();
    project.write("changed.up", "plain text\n");
    project.write("odd \"[*]\\\u{fc}\t.up", "plain text\n");
    project.write("b.txt", "shown\n");
    let patch = watch.patch(&before, &watch.snapshot(), 10_000).unwrap().unwrap();
    assert!(!patch.text.contains("plain text"), "{}", patch.text);
    assert!(
        patch.text.contains("Binary files a/changed.up and b/changed.up differ"),
        "{}",
        patch.text
    );
    assert!(patch.text.contains("+shown"), "{}", patch.text);
}

#[test]
fn line_endings_and_ignores_follow_the_repository() {
    let project = Project::with_files(&[("a.txt", "one\n"), (".gitattributes", "*.txt text\n")]);
    project.git("config core.autocrlf true");
    project.write(".git/info/exclude", "private\n");
    project.write("../ignored", "other\n");
    let excludes = project.folder.path().join("ignored");
    let excludes = ["config", "core.excludesFile", excludes.to_str().unwrap()];
    Git::change(&project.root).run(excludes).unwrap();
    let changes = project.changes(|| {
        project.write("a.txt", "one\r\n");
        project.write("private", "x");
        project.write("other", "x");
    });
    assert_eq!(changes, of(&[]));
}

#[test]
fn split_index_and_sha256_are_supported() {
    let split = Project::with_files(&[("a", "1"), ("b", "1")]);
    split.git("update-index --split-index");
    assert_eq!(split.changes(|| split.write("a", "2")), of(&["a"]));
    let project = Project::new();
    project.git("init -q --object-format=sha256");
    project.identify();
    project.write("a", "1");
    project.git("add -A");
    project.git("commit -q -m first");
    assert_eq!(project.changes(|| project.write("a", "2")), of(&["a"]));
}
