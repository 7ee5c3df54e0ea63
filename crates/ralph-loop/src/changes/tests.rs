//! Snapshots, changes and commits with real files and a real git.

use super::*;
use std::fs::{self, File, FileTimes};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use tempfile::TempDir;

/// A project and the folder of a run.
pub(crate) struct Project {
    pub(crate) folder: TempDir,
    pub(crate) root: PathBuf,
}

impl Project {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("project");
        fs::create_dir(&root).unwrap();
        Self { folder, root }
    }

    pub(crate) fn in_git() -> Self {
        let project = Self::new();
        project.git("init -q -b main");
        project.identify();
        project
    }

    pub(crate) fn with_files(files: &[(&str, &str)]) -> Self {
        let project = Self::in_git();
        for (name, text) in files {
            project.write(name, text);
        }
        project.git("add -A");
        project.git("commit -q --allow-empty -m first");
        project
    }

    pub(crate) fn identify(&self) {
        self.git("config user.name Somebody");
        self.git("config user.email somebody@example.org");
    }

    #[track_caller]
    pub(crate) fn git(&self, arguments: &str) -> String {
        let arguments: Vec<&str> = arguments.split(' ').collect();
        let answer = Git::change(&self.root).run(&arguments).unwrap();
        assert!(answer.status.success(), "{arguments:?}: {}", answer.errors);
        String::from_utf8(answer.output).unwrap()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        File::create(path).unwrap().write_all(text.as_bytes()).unwrap();
    }

    fn remove(&self, name: &str) {
        fs::remove_file(self.root.join(name)).unwrap();
    }

    pub(crate) fn watch(&self) -> ProjectFiles {
        let own = OwnFiles {
            hidden: vec![".ralph".to_owned(), ".agent/scratchpad.md".to_owned()],
            notes: vec![".agent/memories.md".to_owned()],
        };
        ProjectFiles::new(&self.root, &self.root.join(".ralph/runs/run-1/scratch"), own)
    }

    /// The changes that a closure makes.
    #[track_caller]
    pub(crate) fn changes(&self, change: impl FnOnce()) -> Changes {
        let watch = self.watch();
        let before = watch.snapshot();
        assert_eq!(before.degraded, None);
        change();
        watch.changes(&before, &watch.snapshot())
    }

    /// The content of `.git`, without file times.
    fn repository(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut found = Vec::new();
        collect(&self.root.join(".git"), &mut found);
        found.sort();
        found
    }
}

/// Commits without a stop request.
pub(crate) fn committed(folder: &Path, files: &BTreeSet<String>, message: &str) -> Result<String, CommitError> {
    commit_task(folder, files, message, &ralph_process::StopHandle::default(), "")
}

fn collect(folder: &Path, found: &mut Vec<(PathBuf, Vec<u8>)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, found);
        } else {
            found.push((path.clone(), fs::read(path).unwrap()));
        }
    }
}

pub(crate) fn of(files: &[&str]) -> Changes {
    let files: Vec<String> = files.iter().map(|file| (*file).to_owned()).collect();
    Changes {
        work: files.clone(),
        files,
        degraded: None,
    }
}

pub(crate) fn set(files: &[&str]) -> BTreeSet<String> {
    files.iter().map(|file| (*file).to_owned()).collect()
}

#[test]
fn changes_are_seen_with_and_without_git() {
    for project in [Project::with_files(&[]), Project::new()] {
        project.write("changed", "one");
        project.write("removed", "one");
        project.write("mode", "one");
        project.write("same", "one");
        project.write(".gitignore", "ignored\n/target\n");
        project.write("ignored", "one");
        let changes = project.changes(|| {
            project.write("changed", "two");
            project.remove("removed");
            project.write("new/ü ñ\"\t.txt", "two");
            project.write("ignored", "two");
            project.write("target/x", "two");
            project.write("same", "one");
            let runnable = fs::Permissions::from_mode(0o755);
            fs::set_permissions(project.root.join("mode"), runnable).unwrap();
            symlink("nowhere", project.root.join("link")).unwrap();
            project.write(".ralph/knowledge/k.md", "two");
            project.write(".agent/scratchpad.md", "two");
        });
        let expected = of(&["changed", "link", "mode", "new/ü ñ\"\t.txt", "removed"]);
        assert_eq!(changes, expected);
        assert!(!changes.changed_nothing());
        assert_eq!(project.changes(|| {}), of(&[]));
    }
}

#[test]
fn notes_alone_are_not_work() {
    for project in [Project::with_files(&[("a", "a")]), Project::new()] {
        let changes = project.changes(|| project.write(".agent/memories.md", "a note"));
        assert_eq!(changes.files, [".agent/memories.md"]);
        assert!(changes.changed_nothing());
    }
}

#[test]
fn change_with_same_size_and_times_is_seen() {
    for project in [Project::with_files(&[("a", "one")]), Project::new()] {
        project.write("a", "one");
        let path = project.root.join("a");
        let time = fs::metadata(&path).unwrap().modified().unwrap();
        let changes = project.changes(|| {
            project.write("a", "two");
            let times = FileTimes::new().set_modified(time);
            File::options()
                .write(true)
                .open(&path)
                .unwrap()
                .set_times(times)
                .unwrap();
        });
        assert_eq!(changes, of(&["a"]));
    }
}

#[test]
fn too_many_files_are_reported() {
    let project = Project::new();
    for n in 0..201 {
        project.write(&n.to_string(), "");
    }
    let watch = project.watch();
    let snapshot = watch.snapshot();
    let reason = snapshot.degraded.clone().unwrap();
    assert!(
        reason.ends_with("has more than 200 files, so its changes are not tracked"),
        "{reason}"
    );
    assert!(!watch.changes(&snapshot, &snapshot).changed_nothing());
}

#[test]
fn snapshot_leaves_the_repository_unchanged() {
    let project = Project::with_files(&[("a", "a"), ("b", "b")]);
    project.write("a", "staged");
    project.git("add a");
    project.write("b", "not staged");
    project.write("new", "not known");
    let before = project.repository();
    let changes = project.changes(|| project.write("new", "changed"));
    assert_eq!(changes, of(&["new"]));
    assert!(
        project
            .watch()
            .patch(&project.watch().snapshot(), &project.watch().snapshot(), 100)
            .unwrap()
            .is_none()
    );
    assert!(project.repository() == before, "something in .git changed");
}

#[test]
fn snapshots_do_not_run_hooks() {
    let project = Project::with_files(&[("a", "a")]);
    project.write(".git/hooks/post-index-change", "#!/bin/sh\ntouch ran\n");
    let hook = project.root.join(".git/hooks/post-index-change");
    fs::set_permissions(hook, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(project.changes(|| project.write("a", "b")), of(&["a"]));
}

#[test]
fn commits_alone_change_no_file() {
    let project = Project::with_files(&[("a", "a")]);
    let changes = project.changes(|| {
        project.write("a", "b");
        project.git("add -A");
        project.git("commit -q -m second");
    });
    assert_eq!(changes, of(&["a"]));
    project.write("c", "c");
    let committed = project.changes(|| {
        project.git("add -A");
        project.git("commit -q -m third");
    });
    assert_eq!(committed, of(&[]));
}

#[test]
fn tracked_ignored_file_counts() {
    let project = Project::with_files(&[(".gitignore", "log\n"), ("log", "")]);
    assert_eq!(project.changes(|| project.write("log", "a")), of(&[]));
    project.git("add -f log");
    assert_eq!(project.changes(|| project.write("log", "b")), of(&["log"]));
}

#[test]
fn ignored_ralph_folders_hide_nothing() {
    let project = Project::with_files(&[(".gitignore", ".ralph/\n.agent/\n")]);
    project.write(".agent/scratchpad.md", "");
    assert_eq!(project.changes(|| project.write("a", "1")), of(&["a"]));
}

#[test]
fn unusual_repositories_are_supported() {
    // Without a commit.
    let project = Project::in_git();
    assert_eq!(project.changes(|| project.write("a", "a")), of(&["a"]));
    assert_eq!(head_commit(&project.root).unwrap(), None);
    // A linked worktree.
    let main = Project::with_files(&[("a", "a")]);
    main.git("worktree add -q ../linked");
    let linked = Project {
        root: main.folder.path().join("linked"),
        folder: tempfile::tempdir().unwrap(),
    };
    assert_eq!(linked.changes(|| linked.write("a", "b")), of(&["a"]));
    assert!(main.watch().dirty_files().unwrap().is_empty());
    // With a sparse checkout.
    let sparse = Project::with_files(&[("in/a", "a"), ("out/b", "b"), ("c", "c")]);
    sparse.git("sparse-checkout set --cone --sparse-index in");
    assert_eq!(sparse.changes(|| sparse.write("in/a", "b")), of(&["in/a"]));
    // In the middle of a merge.
    let merging = Project::with_files(&[("a", "a")]);
    merging.git("checkout -q -b other");
    merging.write("a", "b");
    merging.git("commit -q -a -m other");
    merging.git("checkout -q main");
    merging.write("a", "c");
    merging.git("commit -q -a -m mine");
    let conflict = Git::change(&merging.root).run(["merge", "other"]).unwrap();
    assert_eq!(conflict.status.code(), Some(1));
    assert_eq!(merging.changes(|| merging.write("a", "d")), of(&["a"]));
}

#[test]
fn project_in_a_subfolder_sees_the_whole_repository() {
    let outer = Project::with_files(&[("part/one/a", "a"), ("part/b", "b"), ("c", "c")]);
    let part = Project {
        root: outer.root.join("part/one"),
        folder: tempfile::tempdir().unwrap(),
    };
    let changes = part.changes(|| {
        part.write("a", "2");
        part.write(".ralph/x", "2");
        outer.write("part/b", "2");
        outer.write("c", "2");
    });
    assert_eq!(changes, of(&["../../c", "../b", "a"]));
    assert_eq!(part.watch().dirty_files().unwrap(), set(&["../../c", "../b", "a"]));
    let id = committed(&part.root, &set(&["a", "../b"]), "both").unwrap();
    assert_eq!(head_commit(&part.root).unwrap(), Some(id));
    assert_eq!(part.watch().dirty_files().unwrap(), set(&["../../c"]));
}

#[test]
fn nested_repositories_count_as_their_commits() {
    let project = Project::with_files(&[("a", "a")]);
    let inner = Project {
        root: project.root.join("inner"),
        folder: tempfile::tempdir().unwrap(),
    };
    fs::create_dir(&inner.root).unwrap();
    inner.git("init -q");
    let without_commit = project.watch().snapshot();
    let reason = without_commit.degraded.clone().unwrap();
    assert!(
        reason.starts_with("git could not read everything: error: 'inner/'"),
        "{reason}"
    );
    project.write("b", "b");
    let changes = project.watch().changes(&without_commit, &project.watch().snapshot());
    assert_eq!(changes.files, ["b"]);
    assert!(changes.degraded.is_some() && !changes.changed_nothing());
    inner.identify();
    inner.write("x", "x");
    inner.git("add -A");
    inner.git("commit -q -m first");
    let changes = project.changes(|| {
        inner.write("x", "y");
        inner.git("commit -q -a -m second");
    });
    assert_eq!(changes, of(&["inner"]));
}

#[test]
fn leftovers_of_a_killed_run_are_harmless() {
    let project = Project::with_files(&[("a", "a")]);
    project.changes(|| {});
    project.write(".ralph/runs/run-1/scratch/index.lock", "");
    project.write(".ralph/runs/run-1/scratch/index.source", "rubbish");
    assert_eq!(project.changes(|| project.write("a", "b")), of(&["a"]));
}

#[test]
fn odd_folder_names_work() {
    let mut project = Project::new();
    project.root = project.folder.path().join("it's: a \"project\" [1]*");
    fs::create_dir(&project.root).unwrap();
    project.git("init -q");
    project.identify();
    project.write("a", "a");
    project.git("add -A");
    project.git("commit -q -m first");
    assert_eq!(project.changes(|| project.write("a", "b")), of(&["a"]));
}

#[test]
fn patches_have_whole_lines_within_the_limit() {
    let project = Project::with_files(&[("a", "one\n"), (".gitattributes", "*.txt diff=shout\n")]);
    project.git("config diff.shout.command false");
    let watch = project.watch();
    let before = watch.snapshot();
    project.write("a", "two\n");
    project.write("b.txt", "new\n");
    let after = watch.snapshot();
    let patch = watch.patch(&before, &after, 10_000).unwrap().unwrap();
    assert!(
        patch.text.contains("\n-one\n+two\n") && patch.text.contains("\n+new\n"),
        "{}",
        patch.text
    );
    assert!(!patch.cut);
    let short = watch.patch(&before, &after, 60).unwrap().unwrap();
    assert_eq!(short.text.lines().next(), Some("diff --git a/a b/a"));
    assert!(short.cut && short.text.ends_with('\n') && short.text.len() <= 60);
    // A snapshot outlives the process that made it.
    let kept: Snapshot = serde_json::from_str(&serde_json::to_string(&before).unwrap()).unwrap();
    assert_eq!(project.watch().changes(&kept, &after), of(&["a", "b.txt"]));
}

#[test]
fn snapshots_of_different_kinds_are_degraded() {
    let project = Project::new();
    project.write("a", "a");
    let changes = project.changes(|| {
        project.git("init -q");
    });
    assert!(changes.degraded.is_some() && !changes.changed_nothing());
}

#[test]
fn missing_list_is_reported() {
    let project = Project::new();
    project.write("a", "a");
    let watch = project.watch();
    let before = watch.snapshot();
    fs::remove_dir_all(project.root.join(".ralph")).unwrap();
    let changes = watch.changes(&before, &watch.snapshot());
    assert_eq!(changes.degraded, None, "the same list was written again");
    project.write("a", "b");
    fs::remove_dir_all(project.root.join(".ralph")).unwrap();
    let changes = watch.changes(&before, &watch.snapshot());
    assert!(changes.degraded.unwrap().contains("cannot be read"));
}

#[test]
fn dirty_files_differ_from_the_last_commit() {
    let project = Project::with_files(&[("same", ""), ("changed", ""), ("staged", ""), ("removed", "")]);
    project.write("changed", "x");
    project.write("staged", "x");
    project.git("add staged");
    project.remove("removed");
    project.write("folder/new", "x");
    project.write(".ralph/progress.db", "x");
    let expected = set(&["changed", "folder/new", "removed", "staged"]);
    assert_eq!(project.watch().dirty_files().unwrap(), expected);
    assert_eq!(Project::new().watch().dirty_files().unwrap(), set(&[]));
}

#[test]
fn only_the_task_is_committed() {
    let project = Project::with_files(&[
        ("changed", "1"),
        ("removed", "1"),
        ("removed and staged", "1"),
        ("partly", "1"),
        ("other", "1"),
        ("staged other", "1"),
        (".gitignore", "ignored\n"),
    ]);
    project.write("changed", "2");
    project.remove("removed");
    Git::change(&project.root)
        .run(["rm", "-q", "removed and staged"])
        .unwrap();
    project.write("partly", "2");
    project.git("add partly");
    project.write("partly", "3");
    project.write("new *[x]", "2");
    project.write("new y", "2");
    project.write("staged new", "2");
    Git::change(&project.root).run(["add", "staged new"]).unwrap();
    project.write("ignored", "2");
    // Files that do not belong to the task.
    project.write("other", "2");
    project.write("staged other", "2");
    Git::change(&project.root).run(["add", "staged other"]).unwrap();
    project.write("staged other", "3");
    project.write("other new", "2");
    let files = set(&[
        "changed",
        "removed",
        "removed and staged",
        "partly",
        "new *[x]",
        "staged new",
        "ignored",
        "made and removed again",
        "../outside",
    ]);
    let id = committed(&project.root, &files, "Do it\n\nFor a reason.").unwrap();
    assert_eq!(head_commit(&project.root).unwrap().as_deref(), Some(id.as_str()));
    assert_eq!(project.git("log -1 --format=%B").trim(), "Do it\n\nFor a reason.");
    let shown = project
        .git("show --format= --name-status --no-renames -z HEAD")
        .replace('\0', " ");
    assert_eq!(
        shown.trim(),
        "M changed A new *[x] M partly D removed D removed and staged A staged new"
    );
    assert_eq!(project.git("show HEAD:partly"), "3");
    let status = project.git("status --porcelain -z --ignored").replace('\0', "|");
    assert_eq!(status, " M other|MM staged other|?? new y|?? other new|!! ignored|");
    assert_eq!(
        Git::question(&project.root)
            .run(["show", ":staged other"])
            .unwrap()
            .text()
            .unwrap(),
        "2"
    );
}

#[test]
fn task_can_be_the_first_commit() {
    let project = Project::in_git();
    project.write("a", "a");
    project.write("b", "b");
    committed(&project.root, &set(&["a"]), "first").unwrap();
    assert_eq!(project.git("ls-tree --name-only HEAD"), "a\n");
    assert_eq!(project.git("status --porcelain"), "?? b\n");
}

#[test]
fn failing_hook_leaves_everything_unchanged() {
    let project = Project::with_files(&[("a", "1"), ("b", "1")]);
    project.write(
        ".git/hooks/pre-commit",
        "#!/bin/sh\necho 'no tests, no commit' >&2\nexit 1\n",
    );
    let hook = project.root.join(".git/hooks/pre-commit");
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    project.write("a", "2");
    project.write("new", "2");
    project.write("b", "2");
    project.git("add b");
    let before = project.git("status --porcelain");
    let error = committed(&project.root, &set(&["a", "new"]), "x").unwrap_err();
    assert_eq!(error.to_string(), "git did not commit: no tests, no commit");
    assert_eq!(project.git("status --porcelain"), before);
    assert_eq!(project.git("log --format=%s"), "first\n");
    assert_eq!(fs::read_to_string(project.root.join("new")).unwrap(), "2");
    project.write(".git/hooks/pre-commit", "#!/bin/sh\nexit 0\n");
    committed(&project.root, &set(&["a", "new"]), "x").unwrap();
    assert_eq!(project.git("status --porcelain"), "M  b\n");
}

#[test]
fn leftover_hook_processes_are_killed() {
    let project = Project::with_files(&[("a", "1")]);
    project.identify();
    project.write("a", "2");
    project.write(
        ".git/hooks/post-commit",
        "#!/bin/sh\nsetsid sleep 600 >/dev/null 2>&1 &\n",
    );
    let hook = project.root.join(".git/hooks/post-commit");
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let marker = format!("hook-test-{}", std::process::id());
    commit_task(
        &project.root,
        &set(&["a"]),
        "x",
        &ralph_process::StopHandle::default(),
        &marker,
    )
    .unwrap();
    assert_eq!(ralph_process::kill_leftovers(&marker, None), 0);
}

#[test]
fn existing_commit_of_the_work_is_found() {
    let project = Project::with_files(&[(".gitignore", "ignored\n"), ("a", "1"), ("deleted", "1")]);
    let holding = |files: &[&str]| commit_containing(&project.root, &set(files)).unwrap();
    let head = head_commit(&project.root).unwrap();
    assert_eq!(holding(&["a"]), head);
    project.write("ignored", "1");
    assert_eq!(
        (holding(&["ignored"]), holding(&["a", "ignored"])),
        (None, head.clone())
    );
    project.write("a", "2");
    project.remove("deleted");
    assert_eq!((holding(&["a"]), holding(&["deleted"])), (None, None));
    project.git("commit -q -a -m second");
    let second = head_commit(&project.root).unwrap();
    assert_ne!(second, head);
    assert_eq!((holding(&["a"]), holding(&["deleted"])), (second.clone(), second));
}

#[test]
fn index_of_a_killed_commit_is_updated() {
    let project = Project::in_git();
    project.write("a.txt", "one");
    project.git("add --all");
    project.git("commit --quiet --message=one");
    let head = project.git("rev-parse HEAD").trim().to_owned();
    project.git("rm --cached --quiet a.txt");
    project.git("add --intent-to-add a.txt");
    assert_eq!(project.git("status --porcelain a.txt"), "DA a.txt\n");
    let holding = commit_containing(&project.root, &set(&["a.txt"])).unwrap();
    assert_eq!(holding, Some(head));
    assert_eq!(project.git("status --porcelain"), "");
}

#[test]
fn missing_commit_is_explained() {
    let project = Project::with_files(&[("a", "1")]);
    let fails = |files: &[&str]| committed(&project.root, &set(files), "x").unwrap_err().to_string();
    let nothing = "there is nothing to commit: the files are as in the last commit, or ignored";
    assert_eq!(fails(&["a"]), nothing);
    assert_eq!(fails(&[]), nothing);
    project.write("a", "2");
    project.git("config user.name ");
    project.git("config user.email ");
    assert!(fails(&["a"]).starts_with("git does not know who you are"));
    assert_eq!(project.git("status --porcelain"), " M a\n");
    let outside = Project::new();
    let error = committed(&outside.root, &set(&["a"]), "x").unwrap_err().to_string();
    assert!(
        error.ends_with("is in no git repository, so nothing can be committed"),
        "{error}"
    );
}

#[test]
fn commits_in_head_are_found() {
    let project = Project::with_files(&[("a", "1")]);
    let first = head_commit(&project.root).unwrap().unwrap();
    project.git("checkout -q -b other");
    project.git("commit -q --allow-empty -m other");
    let other = head_commit(&project.root).unwrap().unwrap();
    project.git("checkout -q main");
    project.git("commit -q --allow-empty -m second");
    let second = head_commit(&project.root).unwrap().unwrap();
    let unknown = "0123456789".repeat(4);
    let tree = project.git("rev-parse HEAD^{tree}").trim().to_owned();
    let all = set(&[&first, &second, &other, &unknown, &tree, "HEAD", "", "--all"]);
    assert_eq!(commits_in_head(&project.root, &all).unwrap(), set(&[&first, &second]));
    assert_eq!(commits_in_head(&project.root, &set(&[])).unwrap(), set(&[]));
    assert_eq!(commits_in_head(&Project::new().root, &all).unwrap(), set(&[]));
    assert_eq!(commits_in_head(&Project::in_git().root, &all).unwrap(), set(&[]));
}

#[test]
fn work_in_ignored_files_is_found_by_write_calls() {
    let files = [(".gitignore", "out/\n"), ("out/old", "1"), ("a", "1")];
    for project in [Project::with_files(&files), Project::new()] {
        files.iter().for_each(|(name, text)| project.write(name, text));
        let watch = project.watch();
        let written = fs::metadata(project.root.join("a")).unwrap().modified().unwrap();
        let begun = written - std::time::Duration::from_secs(60);
        let old = fs::File::options()
            .write(true)
            .open(project.root.join("out/old"))
            .unwrap();
        old.set_modified(begun - std::time::Duration::from_secs(60)).unwrap();
        project.write("out/new", "1");
        project.write(".ralph/x", "1");
        let named = [
            "a",
            "out/new",
            "out/old",
            "out/denied",
            ".ralph/x",
            ".agent/memories.md",
        ];
        assert_eq!(watch.unseen(&named.map(str::to_owned), begun), set(&["out/new"]));
    }
}

#[test]
fn hook_output_is_stripped_of_escapes() {
    let project = Project::with_files(&[("a", "1")]);
    project.write(
        ".git/hooks/pre-commit",
        "#!/bin/sh\nprintf 'no\\033[2J tests\\n' >&2\nexit 1\n",
    );
    let path = project.root.join(".git/hooks/pre-commit");
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    project.write("a", "2");
    let error = committed(&project.root, &set(&["a"]), "x").unwrap_err();
    assert_eq!(error.to_string(), "git did not commit: no tests");
}

#[test]
fn commit_waits_for_a_locked_index() {
    let project = Project::with_files(&[("a.txt", "1")]);
    project.write("a.txt", "2");
    project.write(".git/index.lock", "");
    let lock = project.root.join(".git/index.lock");
    let holder = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(300));
        fs::remove_file(lock).unwrap();
    });
    committed(&project.root, &set(&["a.txt"]), "second").unwrap();
    holder.join().unwrap();
    assert_eq!(project.git("log --format=%s"), "second\nfirst\n");
}
