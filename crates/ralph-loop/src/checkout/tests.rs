//! Checkouts and landings with a real git.

use std::fs;

use super::landing::tip_of;
use super::*;
use crate::changes::tests::Project;
use crate::changes::{OwnFiles, ProjectFiles, TrustedTimes};
use crate::rules::Rules;

const BASE: &str = "refs/heads/main";

/// A project with a checkout of one task.
struct Fixture {
    project: Project,
    checkout: Checkout,
    base_commit: String,
    rules: Rules,
}

impl Fixture {
    fn new(files: &[(&str, &str)]) -> Self {
        Self::of(Project::with_files(files))
    }

    fn of(project: Project) -> Self {
        let task = TaskId::parse("t-0a1b2c").unwrap();
        let work = project.folder.path().join("state/work");
        let checkout = Checkout::of(&project.root, &work, &task).unwrap();
        let base_commit = project.git("rev-parse HEAD").trim().to_owned();
        checkout
            .create(&branch_of(&task, "Fix it"), &base_commit, &base_commit)
            .unwrap();
        Self {
            rules: Rules::default(),
            project,
            checkout,
            base_commit,
        }
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.checkout.root().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        super::super::run_folder::private_file(&path).unwrap();
        std::io::Write::write_all(&mut fs::File::create(path).unwrap(), text.as_bytes()).unwrap();
    }

    fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.checkout.root().join(name)).ok()
    }

    fn options<'a>(&'a self, own: &'a OwnFiles) -> CommitOptions<'a> {
        CommitOptions {
            base_commit: &self.base_commit,
            message: "Fix it\n\nTask: t-0a1b2c\n",
            own,
            extras: &[],
            rules: &self.rules,
        }
    }

    fn commit(&self) -> Result<Committed, LandError> {
        let own = own();
        // Leftover hook processes are found by the marker, so it must be unique per test process.
        let marker = format!("checkout-test-{}", std::process::id());
        self.checkout
            .commit_with_hooks(&self.options(&own), (&ralph_process::StopHandle::default(), &marker))
    }

    #[track_caller]
    fn committed(&self) -> String {
        match self.commit().unwrap() {
            Committed::Commit(commit) => commit,
            Committed::Nothing => panic!("there is nothing to commit"),
        }
    }

    fn land(&self, commit: &str) -> Landed {
        land(&self.project.root, &Base::new(BASE), (&self.base_commit, commit)).unwrap()
    }

    fn tip(&self) -> String {
        tip_of(&self.project.root, &Base::new(BASE)).unwrap().unwrap()
    }
}

fn own() -> OwnFiles {
    OwnFiles {
        hidden: vec![".ralph".to_owned(), ".agent/scratchpad.md".to_owned()],
        notes: vec![".agent/memories.md".to_owned()],
    }
}

#[test]
fn work_of_a_checkout_lands_as_one_commit() {
    let fixture = Fixture::new(&[("a.txt", "one\n"), ("sub/b.txt", "two\n")]);
    assert!(fixture.checkout.exists());
    assert_eq!(fixture.read("sub/b.txt").unwrap(), "two\n");
    let in_clone = |arguments: &[&str]| {
        let answer = Git::question(&fixture.checkout.folder).run(arguments).unwrap();
        answer.text().unwrap()
    };
    assert_eq!(in_clone(&["status", "--porcelain"]), "");
    assert_eq!(in_clone(&["log", "--format=%s"]), "first\n");
    assert_eq!(in_clone(&["branch", "--show-current"]), "ralph/t-0a1b2c-fix-it\n");
    fixture.write("a.txt", "changed\n");
    fixture.write("new.txt", "new\n");
    fs::remove_file(fixture.checkout.root().join("sub/b.txt")).unwrap();
    // The user's change of another file is not in the way.
    fixture.project.write("notes.txt", "mine\n");
    let commit = fixture.committed();
    assert_eq!(fixture.land(&commit), Landed::Done);
    assert_eq!(fixture.tip(), commit);
    assert_eq!(fixture.project.git("log --format=%s"), "Fix it\nfirst\n");
    assert_eq!(fixture.project.git("status --porcelain"), "?? notes.txt\n");
    assert_eq!(
        fs::read_to_string(fixture.project.root.join("a.txt")).unwrap(),
        "changed\n"
    );
    assert!(!fixture.project.root.join("sub/b.txt").exists());
    fixture.checkout.remove().unwrap();
    assert!(!fixture.checkout.folder.exists());
    assert_eq!(fixture.project.git("for-each-ref refs/ralph"), "");
}

#[test]
fn notes_and_scratchpad_are_not_part_of_the_commit() {
    let fixture = Fixture::new(&[("a.txt", "one\n"), (".agent/memories.md", "# Memories\n")]);
    fixture.write(".agent/memories.md", "# Memories\n\nMore.\n");
    fixture.write(".agent/scratchpad.md", "state\n");
    assert_eq!(fixture.commit().unwrap(), Committed::Nothing);
    fixture.write("a.txt", "two\n");
    let commit = fixture.committed();
    let files = fixture.project.git(&format!("show --name-only --format= {commit}"));
    assert_eq!(files, "a.txt\n");
}

#[test]
fn local_change_in_the_way_blocks_the_landing() {
    let fixture = Fixture::new(&[("a.txt", "one\n"), ("b.txt", "one\n")]);
    fixture.write("a.txt", "agent\n");
    fixture.write("b.txt", "agent\n");
    fixture.project.write("b.txt", "user\n");
    let commit = fixture.committed();
    let landed = fixture.land(&commit);
    assert!(
        matches!(&landed, Landed::InTheWay(said) if said.contains("b.txt")),
        "{landed:?}"
    );
    assert_eq!(fixture.tip(), fixture.base_commit);
    assert_eq!(fixture.project.git("status --porcelain"), " M b.txt\n");
    assert_eq!(
        fs::read_to_string(fixture.project.root.join("b.txt")).unwrap(),
        "user\n"
    );
    // The same for an untracked file.
    let fixture = Fixture::new(&[("a.txt", "one\n")]);
    fixture.write("new.txt", "agent\n");
    fixture.project.write("new.txt", "user\n");
    let commit = fixture.committed();
    assert!(matches!(fixture.land(&commit), Landed::InTheWay(_)));
    assert_eq!(
        fs::read_to_string(fixture.project.root.join("new.txt")).unwrap(),
        "user\n"
    );
}

#[test]
fn work_is_moved_onto_a_moved_base() {
    let mut fixture = Fixture::new(&[("a.txt", "one\ntwo\nthree\n"), ("b.txt", "one\n")]);
    fixture.write("a.txt", "one\ntwo\nTHREE\n");
    let commit = fixture.committed();
    fixture.project.write("b.txt", "user\n");
    fixture.project.git("commit -qam second");
    assert_eq!(fixture.land(&commit), Landed::Moved);
    assert_eq!(fixture.project.git("status --porcelain"), "");
    let tip = fixture.tip();
    let branch = "ralph/t-0a1b2c-fix-it";
    let brought = fixture
        .checkout
        .move_onto(branch, (&commit, &fixture.base_commit), &tip);
    assert_eq!(brought.unwrap(), MoveResult::Clean);
    assert_eq!(fixture.read("b.txt").unwrap(), "user\n");
    assert_eq!(fixture.read("a.txt").unwrap(), "one\ntwo\nTHREE\n");
    fixture.base_commit = tip;
    let commit = fixture.committed();
    assert_eq!(fixture.land(&commit), Landed::Done);
    assert_eq!(fixture.project.git("log --format=%s"), "Fix it\nsecond\nfirst\n");
}

#[test]
fn unrecorded_move_is_repeated() {
    let branch = "ralph/t-0a1b2c-fix-it";
    for killed in ["before the files", "after the files", "after the record"] {
        let mut fixture = Fixture::new(&[("a.txt", "one\n"), ("b.txt", "one\n")]);
        fixture.write("a.txt", "agent\n");
        let commit = fixture.committed();
        fixture.project.write("b.txt", "user\n");
        fixture.project.git("commit -qam second");
        let (base, tip) = (fixture.base_commit.clone(), fixture.tip());
        let checkout = fixture.checkout.clone();
        assert_eq!(checkout.finish_move(branch, &base).unwrap(), None, "{killed}");
        assert_eq!(
            checkout.move_onto(branch, (&commit, &base), &tip).unwrap(),
            MoveResult::Clean
        );
        match killed {
            "before the files" => {
                fixture.write("b.txt", "one\n");
                drop(fs::File::create(checkout.index_lock()).unwrap());
                checkout.unlock().unwrap();
            }
            "after the record" => {
                assert_eq!(checkout.finish_move(branch, &tip).unwrap(), None, "{killed}");
                fixture.write("b.txt", "agent\n");
            }
            _ => {}
        }
        if killed != "after the record" {
            let moved = checkout.finish_move(branch, &base).unwrap();
            assert_eq!(moved.as_ref(), Some(&tip), "{killed}");
            assert_eq!(fixture.read("b.txt").unwrap(), "user\n", "{killed}");
            checkout.moved_to(&tip).unwrap();
        }
        assert_eq!(checkout.finish_move(branch, &tip).unwrap(), None, "{killed}");
        fixture.base_commit = tip;
        let commit = fixture.committed();
        let expected = if killed == "after the record" {
            "a.txt\nb.txt\n"
        } else {
            "a.txt\n"
        };
        let changed = fixture.project.git(&format!("show --name-only --format= {commit}"));
        assert_eq!(changed, expected, "{killed}");
    }
}

#[test]
fn conflict_leaves_markers_and_shows_hunks() {
    let fixture = Fixture::new(&[("a.txt", "one\n"), ("c.txt", "c\n")]);
    fixture.write("a.txt", "agent\n");
    let commit = fixture.committed();
    fixture.project.write("a.txt", "user\n");
    fixture.project.git("commit -qam second");
    let brought = fixture
        .checkout
        .move_onto("ralph/x", (&commit, &fixture.base_commit), &fixture.tip());
    let MoveResult::Conflict { files, hunks } = brought.unwrap() else {
        panic!("there is no conflict");
    };
    assert_eq!(files, ["a.txt"]);
    assert!(hunks.contains("user\n=======\nagent\n"), "{hunks}");
    assert!(fixture.read("a.txt").unwrap().contains("<<<<<<<"));
}

#[test]
fn rename_and_change_are_merged() {
    let text = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
    let fixture = Fixture::new(&[("a.txt", text)]);
    fixture.write("a.txt", "1\n2\n3\n4\n5\n6\n7\n8\nNINE\n");
    let commit = fixture.committed();
    fixture.project.git("mv a.txt b.txt");
    fixture.project.git("commit -qm moved");
    let brought = fixture
        .checkout
        .move_onto("ralph/x", (&commit, &fixture.base_commit), &fixture.tip());
    assert_eq!(brought.unwrap(), MoveResult::Clean);
    assert_eq!(fixture.read("a.txt"), None);
    assert!(fixture.read("b.txt").unwrap().ends_with("NINE\n"));
}

#[test]
fn interrupted_landing_is_finished() {
    for stop in ["before", "one file", "all files", "index", "reference"] {
        let fixture = Fixture::new(&[("a.txt", "one\n"), ("b.txt", "one\n"), ("mine.txt", "one\n")]);
        fixture.write("a.txt", "agent\n");
        fixture.write("b.txt", "agent\n");
        fixture.write("new/c.txt", "agent\n");
        let commit = fixture.committed();
        fixture.project.write("mine.txt", "user\n");
        let project = &fixture.project;
        match stop {
            "one file" => project.write("a.txt", "agent\n"),
            "all files" => ["a.txt", "b.txt", "new/c.txt"]
                .map(|name| project.write(name, "agent\n"))
                .into_iter()
                .collect(),
            "index" => drop(project.git(&format!("read-tree -m -u {} {commit}", fixture.base_commit))),
            "reference" => assert_eq!(fixture.land(&commit), Landed::Done),
            _ => {}
        }
        let landed = finish_landing(&fixture.checkout, &Base::new(BASE), &commit);
        assert!(landed.unwrap(), "{stop}");
        assert_eq!(fixture.tip(), commit, "{stop}");
        assert_eq!(project.git("status --porcelain"), " M mine.txt\n", "{stop}");
        assert_eq!(project.git("log --format=%s"), "Fix it\nfirst\n", "{stop}");
    }
}

#[test]
fn interrupted_landing_on_a_moved_base_is_reverted() {
    let fixture = Fixture::new(&[("a.txt", "one\n"), ("b.txt", "one\n")]);
    fixture.write("a.txt", "agent\n");
    let commit = fixture.committed();
    fixture.project.write("b.txt", "user\n");
    fixture.project.git("commit -qam second");
    fixture.project.write("a.txt", "agent\n");
    assert!(!finish_landing(&fixture.checkout, &Base::new(BASE), &commit).unwrap());
    assert_eq!(fixture.project.git("status --porcelain"), "");
}

#[test]
fn project_hooks_can_refuse_or_change_the_commit() {
    let fixture = Fixture::new(&[("a.txt", "one\n")]);
    let hook = fixture.project.root.join(".git/hooks/pre-commit");
    let make_hook = |text: &str| {
        fixture.project.write(".git/hooks/pre-commit", text);
        fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    };
    fixture.write("a.txt", "two\n");
    make_hook("#!/bin/sh\necho no tabs please; exit 1\n");
    let refused = fixture.commit().unwrap_err();
    assert!(
        matches!(&refused, LandError::Refused(why) if why.contains("pre-commit") && why.contains("no tabs please")),
        "{refused}"
    );
    make_hook("#!/bin/sh\necho formatted > a.txt && git add a.txt\n");
    let commit = fixture.committed();
    assert_eq!(fixture.project.git(&format!("show {commit}:a.txt")), "formatted\n");
    // The project itself is unchanged.
    assert_eq!(fixture.project.git("status --porcelain"), "");
}

#[test]
fn nested_repository_is_refused() {
    let fixture = Fixture::new(&[("a.txt", "one\n")]);
    fixture.write("inner/x.txt", "x\n");
    let inner = fixture.checkout.root().join("inner");
    for arguments in [
        &["init", "-q"][..],
        &["add", "-A"],
        &["-c", "user.name=x", "-c", "user.email=x@y", "commit", "-qm", "x"],
    ] {
        Git::change(&inner).run(arguments).unwrap().text().unwrap();
    }
    let refused = fixture.commit().unwrap_err();
    assert!(
        refused.to_string().starts_with("inner is a git repository of its own"),
        "{refused}"
    );
}

#[test]
fn abandoned_work_keeps_the_agents_commits() {
    let fixture = Fixture::new(&[("a.txt", "one\n")]);
    fixture.write("a.txt", "two\n");
    for arguments in [
        &["add", "-A"][..],
        &["commit", "-qm", "the agent's own"],
        &["checkout", "-q", "-b", "elsewhere"],
    ] {
        Git::change(&fixture.checkout.folder)
            .run(arguments)
            .unwrap()
            .text()
            .unwrap();
    }
    fixture.write("a.txt", "three\n");
    let own_commits = fixture.checkout.fetch_own_commits(&fixture.base_commit).unwrap();
    let own = own();
    let options = CommitOptions {
        base_commit: &own_commits,
        ..fixture.options(&own)
    };
    let Committed::Commit(commit) = fixture.checkout.commit(&options).unwrap() else {
        panic!("nothing was committed");
    };
    let branch = fixture.checkout.keep_branch("ralph/t-0a1b2c-fix-it", &commit).unwrap();
    assert_eq!(branch, "ralph/t-0a1b2c-fix-it");
    assert_eq!(
        fixture.project.git(&format!("log --format=%s {branch}")),
        "Fix it\nthe agent's own\nfirst\n"
    );
    assert_eq!(fixture.project.git(&format!("show {branch}:a.txt")), "three\n");
}

#[test]
fn clone_configuration_has_no_effect() {
    let fixture = Fixture::new(&[("a.txt", "one\n")]);
    let config = fixture.checkout.folder.join(".git/config");
    let evil =
        "[filter \"x\"]\nclean = touch ../../evil; cat\n[core]\nfsmonitor = touch ../../evil\nhooksPath = evil\n";
    let text = fs::read_to_string(&config).unwrap() + evil;
    std::io::Write::write_all(&mut fs::File::create(&config).unwrap(), text.as_bytes()).unwrap();
    fixture.write(".gitattributes", "*.txt filter=x\n");
    fixture.write("a.txt", "two\n");
    fixture.committed();
    assert!(!fixture.project.folder.path().join("state/evil").exists());
    assert!(!fixture.project.folder.path().join("evil").exists());
}

#[test]
fn shallow_projects_and_linked_worktrees_are_supported() {
    let origin = Project::with_files(&[("a.txt", "one\n")]);
    origin.write("a.txt", "two\n");
    origin.git("commit -qam second");
    let shallow = Project::new();
    let url = format!("file://{}", origin.root.display());
    shallow.git(&format!("clone -q --depth 1 {url} ."));
    shallow.identify();
    let fixture = Fixture::of(shallow);
    let log = Git::question(&fixture.checkout.folder)
        .run(["log", "--format=%s"])
        .unwrap();
    assert_eq!(log.text().unwrap(), "second\n");
    fixture.write("a.txt", "three\n");
    let commit = fixture.committed();
    assert_eq!(fixture.land(&commit), Landed::Done);

    let main = Project::with_files(&[("a.txt", "one\n")]);
    main.git("worktree add -q ../linked -b side");
    let linked = Project {
        root: main.folder.path().join("linked"),
        folder: tempfile::tempdir().unwrap(),
    };
    let fixture = Fixture::of(linked);
    fixture.write("a.txt", "two\n");
    let commit = fixture.committed();
    let base = Base::new("refs/heads/side");
    let landed = land(&fixture.project.root, &base, (&fixture.base_commit, &commit)).unwrap();
    assert_eq!(landed, Landed::Done);
    assert_eq!(fixture.project.git("status --porcelain"), "");
    assert_eq!(main.git("status --porcelain"), "");
}

#[test]
fn partial_clone_is_supported_without_fetching() {
    let origin = Project::with_files(&[("in/a.txt", "one\n"), ("out/b.txt", "another\n")]);
    origin.git("config uploadpack.allowFilter true");
    let partial = Project::new();
    let url = format!("file://{}", origin.root.display());
    partial.git(&format!("clone -q --filter=blob:none --sparse {url} ."));
    partial.git("sparse-checkout set in");
    partial.identify();
    let missing = |project: &Project| project.git("rev-list --objects --all --missing=print").contains("\n?");
    assert!(missing(&partial));
    let fixture = Fixture::of(partial);
    fixture.write("in/a.txt", "two\n");
    let commit = fixture.committed();
    assert_eq!(fixture.land(&commit), Landed::Done);
    assert_eq!(fixture.project.git("show --name-only --format= HEAD"), "in/a.txt\n");
    assert_eq!(fixture.project.git("status --porcelain"), "");
    assert!(missing(&fixture.project), "nothing was fetched for it");
}

#[test]
fn lfs_files_are_committed_as_pointers() {
    let is_installed = ralph_process::command("git").args(["lfs", "version"]).output();
    if !is_installed.is_ok_and(|output| output.status.success()) {
        eprintln!("SKIPPED: git-lfs is not installed");
        return;
    }
    let project = Project::new();
    project.git("init -q -b main");
    project.identify();
    project.git("lfs install --local");
    project.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n");
    project.write("a.bin", "large\n");
    project.git("add --all");
    project.git("commit -qm first");
    assert!(project.git("show HEAD:a.bin").starts_with("version https://git-lfs"));
    let fixture = Fixture::of(project);
    assert_eq!(fixture.read("a.bin").as_deref(), Some("large\n"));
    fixture.write("b.bin", "also large\n");
    let commit = fixture.committed();
    assert_eq!(fixture.land(&commit), Landed::Done);
    assert!(
        fixture
            .project
            .git("show HEAD:b.bin")
            .starts_with("version https://git-lfs")
    );
    assert_eq!(
        fs::read_to_string(fixture.project.root.join("b.bin")).unwrap(),
        "also large\n"
    );
    assert_eq!(fixture.project.git("status --porcelain"), "");
}

#[test]
fn sparse_project_has_sparse_checkouts() {
    let project = Project::with_files(&[("in/a.txt", "one\n"), ("out/b.txt", "one\n")]);
    project.git("sparse-checkout set in");
    let fixture = Fixture::of(project);
    assert_eq!(fixture.read("out/b.txt"), None);
    fixture.write("in/a.txt", "two\n");
    let commit = fixture.committed();
    assert_eq!(
        fixture.project.git(&format!("show --name-only --format= {commit}")),
        "in/a.txt\n"
    );
    assert_eq!(fixture.land(&commit), Landed::Done);
    assert_eq!(fixture.project.git("status --porcelain"), "");
}

#[test]
fn encrypting_filter_works_in_both_directions() {
    let project = Project::with_files(&[(".gitattributes", "*.secret filter=rot\n")]);
    for setting in ["filter.rot.clean", "filter.rot.smudge"] {
        Git::change(&project.root)
            .run(["config", setting, "tr a-z n-za-m"])
            .unwrap()
            .text()
            .unwrap();
    }
    project.write("key.secret", "hello\n");
    project.git("add -A");
    project.git("commit -qm secret");
    assert_eq!(project.git("show HEAD:key.secret"), "uryyb\n");
    let fixture = Fixture::of(project);
    assert_eq!(fixture.read("key.secret").unwrap(), "hello\n");
    fixture.write("key.secret", "world\n");
    let commit = fixture.committed();
    assert_eq!(fixture.project.git(&format!("show {commit}:key.secret")), "jbeyq\n");
    assert_eq!(fixture.land(&commit), Landed::Done);
    assert_eq!(
        fs::read_to_string(fixture.project.root.join("key.secret")).unwrap(),
        "world\n"
    );
    assert_eq!(fixture.project.git("status --porcelain"), "");
}

#[test]
fn reviewed_branch_lands_and_can_be_undone() {
    let fixture = Fixture::new(&[("a.txt", "one\n"), ("b.txt", "one\n")]);
    let base = Base::new(BASE);
    fixture.write("a.txt", "agent\n");
    let commit = fixture.committed();
    let branch = fixture.checkout.keep_branch("ralph/t-0a1b2c-fix-it", &commit).unwrap();
    fixture.project.write("b.txt", "user\n");
    fixture.project.git("commit -qam second");
    let landed = land_branch(&fixture.project.root, &base, (&branch, &fixture.base_commit))
        .unwrap()
        .unwrap();
    assert_eq!(fixture.tip(), landed);
    assert_eq!(fixture.project.git("log --format=%s"), "Fix it\nsecond\nfirst\n");
    // If the command was killed here, repeating it lands nothing again and finds the commit.
    let again = land_branch(&fixture.project.root, &base, (&branch, &fixture.base_commit));
    assert_eq!((again.unwrap(), fixture.tip()), (Some(landed.clone()), landed.clone()));
    // A later commit of another file does not prevent the undo.
    fixture.project.write("b.txt", "later\n");
    fixture.project.git("commit -qam third");
    let undo = Change::undoing(&fixture.project.root, &landed, "Undo: Fix it".to_owned()).unwrap();
    let undone = commit_changes(&fixture.project.root, &base, &[undo], &mut |_| Ok(())).unwrap();
    assert_eq!(undone.commits, [Some(fixture.tip())]);
    assert_eq!(fs::read_to_string(fixture.project.root.join("a.txt")).unwrap(), "one\n");
    assert_eq!(
        fs::read_to_string(fixture.project.root.join("b.txt")).unwrap(),
        "later\n"
    );
    // Undo of undo.
    let redo = Change::repeating(&fixture.project.root, &landed, "Redo: Fix it".to_owned()).unwrap();
    commit_changes(&fixture.project.root, &base, &[redo], &mut |_| Ok(())).unwrap();
    assert_eq!(
        fs::read_to_string(fixture.project.root.join("a.txt")).unwrap(),
        "agent\n"
    );
    assert_eq!(fixture.project.git("status --porcelain"), "");
}

#[test]
fn interrupted_undo_leaves_the_worktree_unchanged() {
    for killed in ["before", "one file", "all files", "index", "branch"] {
        let fixture = Fixture::new(&[("a.txt", "one\n"), ("b.txt", "one\n"), ("mine.txt", "one\n")]);
        fixture.write("a.txt", "agent\n");
        fixture.write("b.txt", "agent\n");
        let commit = fixture.committed();
        assert_eq!(fixture.land(&commit), Landed::Done);
        let (project, base) = (&fixture.project, Base::new(BASE));
        project.write("mine.txt", "user\n");
        let undo = Change::undoing(&project.root, &commit, "Undo".to_owned()).unwrap();
        let prepared = Prepared::on(&project.root, &base, &[undo]).unwrap();
        let [Some(undoing)] = prepared.commits.as_slice() else {
            panic!("there is nothing to undo");
        };
        match killed {
            "one file" => project.write("a.txt", "one\n"),
            "all files" => ["a.txt", "b.txt"]
                .map(|name| project.write(name, "one\n"))
                .into_iter()
                .collect(),
            "index" => drop(project.git(&format!("read-tree -m -u {commit} {undoing}"))),
            "branch" => assert!(prepared.land(&project.root).unwrap()),
            _ => {}
        }
        repair_landing(&project.root, &base, (undoing, undoing)).unwrap();
        let expected = if killed == "branch" { undoing } else { &commit };
        assert_eq!(&fixture.tip(), expected, "{killed}");
        assert_eq!(project.git("status --porcelain"), " M mine.txt\n", "{killed}");
    }
}

#[test]
fn undo_refuses_files_changed_since() {
    let fixture = Fixture::new(&[("a.txt", "one\n")]);
    fixture.write("a.txt", "agent\n");
    let commit = fixture.committed();
    assert_eq!(fixture.land(&commit), Landed::Done);
    fixture.project.write("a.txt", "later\n");
    fixture.project.git("commit -qam second");
    let tip = fixture.tip();
    let undo = Change::undoing(&fixture.project.root, &commit, "Undo".to_owned()).unwrap();
    let refused = commit_changes(&fixture.project.root, &Base::new(BASE), &[undo], &mut |_| Ok(())).unwrap_err();
    assert!(
        matches!(&refused, BranchError::Conflict { files, .. } if files == &["a.txt"]),
        "{refused}"
    );
    assert_eq!(fixture.tip(), tip);
    assert_eq!(fixture.project.git("status --porcelain"), "");
}

/// Changes that git can only see by reading: same size, and a time from the second of the index.
#[test]
fn every_change_right_after_the_checkout_is_found() {
    let fixture = Fixture::new(&[
        ("same.txt", "one\n"),
        ("back.txt", "one\n"),
        ("a/moved.txt", "aaa\n"),
        ("b/moved.txt", "bbb\n"),
        ("untouched.txt", "one\n"),
    ]);
    let root = fixture.checkout.root();
    let scratch = fixture.project.folder.path().join("scratch");
    let files = ProjectFiles::of_checkout(&root, &scratch, own(), fixture.checkout.repository());
    let before = files.snapshot();
    assert_eq!(before.degraded, None);
    let times = fs::metadata(root.join("back.txt")).unwrap().modified().unwrap();
    fixture.write("same.txt", "two\n");
    fixture.write("back.txt", "two\n");
    let back = fs::File::options().write(true).open(root.join("back.txt")).unwrap();
    back.set_modified(times).unwrap();
    for (from, to) in [("a", "c"), ("b", "a"), ("c", "b")] {
        fs::rename(root.join(from), root.join(to)).unwrap();
    }
    let after = files.snapshot();
    let changed = ["a/moved.txt", "b/moved.txt", "back.txt", "same.txt"];
    assert_eq!(files.changes(&before, &after).files, changed);
    fixture.write("same.txt", "six\n");
    assert_eq!(files.changes(&after, &files.snapshot()).files, ["same.txt"]);
    let commit = fixture.committed();
    let committed = fixture.project.git(&format!("diff --name-only main {commit}"));
    assert_eq!(committed.lines().collect::<Vec<_>>(), changed);
    let text = fixture.project.git(&format!("show {commit}:same.txt"));
    assert_eq!(text, "six\n");
}

#[test]
fn files_are_not_read_again_unless_they_changed_since_the_checkout() {
    let fixture = Fixture::new(&[("changed.txt", "one\n"), ("untouched.txt", "one\n")]);
    fixture.write("changed.txt", "two\n");
    let index = fixture.checkout.index();
    let entries = fixture.checkout.git().run(["ls-files", "--stage", "-z"]).unwrap();
    let times = TrustedTimes::of(&fixture.checkout.repository(), index);
    times.forget_changed(fixture.checkout.git(), &entries.output).unwrap();
    // Without times, git has to read a file.
    let debug = fixture
        .checkout
        .git()
        .run(["ls-files", "--debug"])
        .unwrap()
        .text()
        .unwrap();
    let without_times: Vec<bool> = debug
        .lines()
        .filter_map(|line| Some(line.trim().strip_prefix("mtime: ")? == "0:0"))
        .collect();
    assert_eq!(without_times, [true, false]);
}
