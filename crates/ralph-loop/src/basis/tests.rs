//! The basis of evidence with real files and a real git.

use super::*;
use ralph_process::git::Git;
use std::os::unix::fs::symlink;
use tempfile::TempDir;

struct Project {
    _folder: TempDir,
    root: PathBuf,
    commands: Vec<String>,
}

impl Project {
    fn new(commands: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("project");
        fs::create_dir(&root).unwrap();
        Self {
            _folder: folder,
            root,
            commands: commands.iter().map(|command| (*command).to_owned()).collect(),
        }
    }

    fn in_git(commands: &[&str]) -> Self {
        let project = Self::new(commands);
        project.git(&["init", "-q"]);
        project
    }

    fn git(&self, arguments: &[&str]) {
        let answer = Git::change(&self.root).run(arguments).unwrap();
        assert!(answer.status.success(), "{arguments:?}: {}", answer.errors);
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        if path.exists() {
            fs::remove_file(&path).unwrap();
        }
        ralph_notes::write_new_file(&path, text.as_bytes()).unwrap();
    }

    fn basis(&self) -> EvidenceBasis {
        let settings = [self.root.join("settings.toml")];
        EvidenceBasis::of(
            &self.root,
            GitPrograms::of(&self.root),
            self.root.parent(),
            &settings,
            &self.commands,
        )
    }

    /// Checks the names of the items that a change affects.
    #[track_caller]
    fn check(&self, change: impl FnOnce(), expected: &[&str]) {
        let before = self.basis();
        change();
        let changed = before.changed(&before.now(
            &self.root,
            GitPrograms::of(&self.root),
            &[self.root.join("settings.toml")],
        ));
        assert_eq!(changed.iter().map(String::as_str).collect::<Vec<_>>(), expected);
        // It is stored with the iteration.
        let kept: EvidenceBasis = serde_json::from_str(&serde_json::to_string(&before).unwrap()).unwrap();
        assert_eq!(kept, before);
    }
}

#[test]
fn unrelated_files_do_not_count() {
    let project = Project::in_git(&["sh scripts/test.sh", "make check", "npm test"]);
    for file in ["scripts/test.sh", "Makefile", "settings.toml", "src/a.rs"] {
        project.write(file, "1");
    }
    project.write("package.json", r#"{"scripts": {"test": "x"}}"#);
    project.check(|| {}, &[]);
    project.check(|| project.write("src/a.rs", "2"), &[]);
}

#[test]
fn configuration_and_files_in_gate_commands_count() {
    let project = Project::new(&[
        "./run-tests --fast",
        "cd sub && python3 'tools/my check.py' > sub/out.txt",
        "sh later.sh",
        "sh /etc/hostname ../outside.sh",
        "sh ~/home.sh && \"$PWD\"/here.sh",
    ]);
    for file in [
        "run-tests",
        "sub/tools/my check.py",
        "settings.toml",
        "--fast",
        "../outside.sh",
        "../home.sh",
        "here.sh",
        "sub/out.txt",
    ] {
        project.write(file, "1");
    }
    project.check(|| project.write("settings.toml", "2"), &["settings.toml"]);
    project.check(|| project.write("run-tests", "2"), &["run-tests"]);
    project.check(
        || project.write("sub/tools/my check.py", "2"),
        &["sub/tools/my check.py"],
    );
    // Created and removed files count.
    project.check(|| project.write("later.sh", "2"), &["later.sh"]);
    project.check(
        || fs::remove_file(project.root.join("run-tests")).unwrap(),
        &["run-tests"],
    );
    project.check(|| project.write("here.sh", "2"), &["here.sh"]);
    for name in ["outside.sh", "home.sh"] {
        let outside = project.root.with_file_name(name).display().to_string();
        project.check(|| project.write(&format!("../{name}"), "2"), &[&outside]);
    }
    // An output file of the gate.
    project.check(|| project.write("sub/out.txt", "2"), &[]);
}

#[test]
fn links_large_files_and_permissions_are_seen() {
    let project = Project::new(&["sh link.sh large.sh pipe"]);
    project.write("real.sh", "1");
    symlink("real.sh", project.root.join("link.sh")).unwrap();
    project.check(|| project.write("real.sh", "2"), &["link.sh"]);
    let path = project.root.join("real.sh");
    let runnable = || fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    project.check(runnable, &["link.sh"]);
    project.write("large.sh", &"x".repeat(1 << 17));
    project.check(|| {}, &[]);
    project.check(|| project.write("large.sh", &"y".repeat(1 << 17)), &["large.sh"]);
    // Reading a pipe would block.
    let pipe = Path::new("pipe");
    let made = ralph_process::Spec {
        program: "mkfifo".into(),
        arguments: vec![pipe.into()],
        folder: project.root.clone(),
        environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
        stdin: ralph_process::Input::Nothing,
        marker: format!("pipe-test-{}", std::process::id()),
        output_limit: None,
    };
    let limits = ralph_process::RunLimits::default();
    ralph_process::run_to_end(made, limits, &ralph_process::StopHandle::default()).unwrap();
    project.check(|| {}, &[]);
}

#[test]
fn package_scripts_count_but_dependencies_do_not() {
    let package =
        |scripts: &str, version: &str| format!(r#"{{"scripts": {scripts}, "dependencies": {{"a": "{version}"}}}}"#);
    for (command, folder) in [
        ("npm test", ""),
        ("pnpm -C web test", "web/"),
        ("cd web && yarn test", "web/"),
        ("npm --prefix web run check", "web/"),
        ("./gate.sh", ""),
    ] {
        let project = Project::new(&[command]);
        project.write("gate.sh", "#!/bin/sh\nexec npx jest\n");
        let file = format!("{folder}package.json");
        let write = |scripts: &str, version: &str| project.write(&file, &package(scripts, version));
        write(r#"{"test": "jest"}"#, "1");
        project.check(|| write(r#"{"test": "jest"}"#, "2"), &[]);
        let name = format!("{file} (scripts)");
        project.check(|| write(r#"{"test": "true"}"#, "2"), &[&name]);
        project.check(|| project.write(&file, "{"), &[&name]);
    }
    let project = Project::new(&["cargo test"]);
    project.write("package.json", &package("{}", "1"));
    project.check(|| project.write("package.json", &package(r#"{"a": "b"}"#, "1")), &[]);
}

#[test]
fn makefile_counts_if_a_gate_uses_it() {
    for (command, file) in [
        ("make check", "Makefile"),
        ("make -C build all", "build/makefile"),
        ("make", "GNUmakefile"),
        ("make -f other.mk", "other.mk"),
    ] {
        let project = Project::new(&[command]);
        fs::create_dir(project.root.join("build")).unwrap();
        project.check(|| project.write(file, "all:\n"), &[file]);
        project.check(|| project.write(file, "all:\n\ttrue\n"), &[file]);
    }
    let project = Project::new(&["cargo test"]);
    project.check(|| project.write("Makefile", "all:\n"), &[]);
}

#[test]
fn programs_in_git_configuration_count() {
    for (key, value) in [
        ("core.hooksPath", "hooks"),
        ("core.fsmonitor", "./monitor"),
        ("core.sshCommand", "ssh -x"),
        ("core.pager", "cat"),
        ("filter.a.b.clean", "cat"),
        ("diff.a.textconv", "cat"),
        ("merge.a.driver", "true"),
        ("credential.https://example.org.helper", "!x"),
        ("gpg.ssh.program", "x"),
        ("alias.x", "!true"),
        ("include.path", "other"),
    ] {
        let project = Project::in_git(&[]);
        let set = || project.git(&["config", key, value]);
        let key = match key.rsplit_once('.') {
            Some((section, name)) => format!("git config {section}.{}", name.to_lowercase()),
            None => String::new(),
        };
        project.check(set, &[&key]);
    }
    let project = Project::in_git(&[]);
    project.git(&["config", "extensions.worktreeConfig", "true"]);
    let set = || project.git(&["config", "--worktree", "core.editor", "vi"]);
    project.check(set, &["git config core.editor"]);
    // Included files count.
    project.git(&["config", "include.path", "../included"]);
    let included = || project.write("included", "[filter \"x\"]\nclean = cat\n");
    project.check(included, &["git config filter.x.clean"]);
    // Not a program.
    project.check(|| project.git(&["config", "user.name", "x"]), &[]);
    project.check(|| project.git(&["config", "alias.s", "status"]), &[]);
    project.check(|| project.git(&["config", "branch.main.remote", "x"]), &[]);
}

#[test]
fn hooks_and_filter_attributes_count() {
    let project = Project::in_git(&[]);
    let hook = ".git/hooks/pre-commit";
    project.check(|| project.write(hook, "#!/bin/sh\n"), &[hook]);
    project.check(|| project.write(hook, "#!/bin/sh\nexit 0\n"), &[hook]);
    project.check(|| project.write(".git/hooks/pre-push.sample", "x"), &[]);
    project.git(&["config", "core.hooksPath", ".husky/_"]);
    project.check(|| project.write(".husky/_/pre-commit", "x"), &[".husky/_/pre-commit"]);
    project.check(|| project.write(".husky/pre-commit", "x"), &[".husky/pre-commit"]);
    project.check(|| project.write(".gitattributes", "*.md text\n*.rs merge=ralph\n"), &[]);
    let named = |file: &str| format!("{file} (filters)");
    for file in [".gitattributes", "sub/.gitattributes", ".git/info/attributes"] {
        project.check(|| project.write(file, "*.bin filter=lfs\n"), &[&named(file)]);
    }
    project.write("scripts/clean.sh", "cat\n");
    project.git(&["config", "filter.x.clean", "scripts/clean.sh %f"]);
    project.check(|| project.write("scripts/clean.sh", "true\n"), &["scripts/clean.sh"]);
}

#[test]
fn linked_worktree_shares_the_repository_hooks() {
    let project = Project::in_git(&[]);
    project.git(&[
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@b",
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        "x",
    ]);
    project.git(&["worktree", "add", "-q", "../linked"]);
    let root = project.root.join("../linked").canonicalize().unwrap();
    let before = GitPrograms::of(&root);
    project.write(".git/hooks/pre-commit", "x");
    let hook = BTreeSet::from([".git/hooks/pre-commit".to_owned()]);
    assert_eq!(before.changed(&GitPrograms::of(&root)), hook);
}

#[test]
fn commits_depend_only_on_hooks_and_filters() {
    let project = Project::in_git(&[]);
    let check = |change: &dyn Fn(), expected: &[&str]| {
        let before = GitPrograms::of(&project.root);
        change();
        let changed = before.changed_for_commits(&GitPrograms::of(&project.root));
        assert_eq!(changed.iter().map(String::as_str).collect::<Vec<_>>(), expected);
    };
    check(&|| project.git(&["config", "alias.x", "!true"]), &[]);
    check(&|| project.git(&["config", "core.pager", "cat"]), &[]);
    check(
        &|| project.git(&["config", "filter.x.process", "cat"]),
        &["git config filter.x.process"],
    );
    check(
        &|| project.git(&["config", "gpg.program", "x"]),
        &["git config gpg.program"],
    );
    check(
        &|| project.git(&["config", "core.hooksPath", "hooks"]),
        &["git config core.hookspath"],
    );
    check(&|| project.write("hooks/pre-commit", "x"), &["hooks/pre-commit"]);
    check(
        &|| project.write(".gitattributes", "* filter=x\n"),
        &[".gitattributes (filters)"],
    );
}

#[test]
fn agent_changes_count_until_the_user_changes_them() {
    let project = Project::new(&["sh test.sh", "sh other.sh"]);
    project.write("test.sh", "1");
    project.write("other.sh", "1");
    let (mut unreviewed, mut tasks) = (Vec::new(), 0);
    let mut iteration = |change: &dyn Fn()| {
        let before = project.basis();
        change();
        tasks += 1;
        let task = TaskId::new(tasks);
        let counted = counted_changes(&task, (&before, &project.basis()), &unreviewed);
        unreviewed.extend(counted.iter().filter(|change| change.task == task).cloned());
        names(&counted).into_iter().collect::<Vec<String>>()
    };
    assert_eq!(iteration(&|| {}), [""; 0]);
    assert_eq!(iteration(&|| project.write("test.sh", "2")), ["test.sh"]);
    // Not reviewed since.
    assert_eq!(iteration(&|| {}), ["test.sh"]);
    assert_eq!(iteration(&|| project.write("other.sh", "2")), ["other.sh", "test.sh"]);
    // The user rewrites one, and an agent restores the other.
    project.write("test.sh", "3");
    assert_eq!(iteration(&|| {}), ["other.sh"]);
    assert_eq!(iteration(&|| project.write("other.sh", "1")), [""; 0]);
    // An agent that restores what another one changed further has changed nothing.
    assert_eq!(iteration(&|| project.write("other.sh", "5")), ["other.sh"]);
    assert_eq!(iteration(&|| project.write("other.sh", "6")), ["other.sh"]);
    assert_eq!(iteration(&|| project.write("other.sh", "1")), [""; 0]);
}
