//! Tests of work that changed its own evidence, and that no command runs what an agent put into git's configuration.

use ralph_testkit::scripted::{Script, run, say, write};

use super::{DONE, Scene};

/// A project in git with one commit.
fn in_git(script: &Script, configuration: &str) -> Scene {
    let scene = Scene::new(script);
    scene.env.write(".ralph.toml", configuration);
    scene.env.write(".gitignore", ".ralph/\n");
    scene.env.write("a.txt", "1\n");
    let git = "git init -q -b main && git config user.name T && git config user.email t@example.com && git add -A && \
               git commit -qm first";
    assert_eq!(scene.env.sh(git).run().code, Some(0));
    scene
}

#[test]
fn changed_gate_script_needs_review() {
    let script = Script::new().turn([write("b.txt", "1"), write("check.sh", "exit 0\n"), say(DONE)]);
    let scene = in_git(
        &script,
        "[verify]\ncommands = [\"sh check.sh\"]\n[git]\nisolate = \"off\"\n",
    );
    scene.env.write("check.sh", "exit 1\n");
    let finished = scene.run(&["one", "--trust"]);
    assert_eq!(finished.code, Some(4), "{finished}");
    assert!(finished.stderr.contains("check.sh"), "{finished}");
    let tasks = crate::json(&scene.env, &["task", "list", "--all", "--json"]);
    assert_eq!(tasks[0]["unverified"]["reason"], "evidence_changed");
    assert_eq!(tasks[0]["unverified"]["changed"], serde_json::json!(["check.sh"]));
    let review = scene.ralph(&["review"]).run();
    assert!(review.stdout.contains("check.sh"), "{review}");
}

#[test]
fn isolated_work_that_changed_its_gate_lands_on_acceptance() {
    let script = Script::new().turn([write("b.txt", "1"), write("check.sh", "exit 0\n"), say(DONE)]);
    let scene = in_git(&script, "[verify]\ncommands = [\"sh check.sh\"]\n");
    scene.env.write("check.sh", "exit 1\n");
    scene.env.git(["add", "--all"]);
    scene.env.git(["commit", "--quiet", "-m", "second"]);
    let finished = scene.run(&["one", "--trust"]);
    assert_eq!(finished.code, Some(4), "{finished}");
    assert_eq!(scene.env.git(["log", "--format=%s"]), "second\nfirst\n");
    let task = crate::json(&scene.env, &["task", "list", "--all", "--json"])[0]["id"].clone();
    let task = task.as_str().unwrap();
    let branch = format!("ralph/{task}-one");
    assert_eq!(scene.env.git(["show", &format!("{branch}:b.txt")]), "1");
    // The blocking file is named, and nothing changes.
    scene.env.write("b.txt", "mine");
    let refused = scene.ralph(&["task", "done", task]).run();
    assert_eq!(refused.code, Some(1), "{refused}");
    assert!(refused.stderr.contains("b.txt"), "{refused}");
    assert_eq!(scene.env.read("b.txt"), "mine");
    std::fs::remove_file(scene.env.path("b.txt")).unwrap();
    let accepted = scene.ralph(&["task", "done", task]).run();
    assert_eq!(accepted.code, Some(0), "{accepted}");
    assert_eq!(scene.env.git(["log", "--format=%s"]), "one\nsecond\nfirst\n");
    assert_eq!(scene.env.read("b.txt"), "1");
    assert_eq!(scene.env.git(["status", "--porcelain"]), "");
    assert_eq!(scene.env.git(["for-each-ref", "refs/ralph", "refs/heads/ralph"]), "");
}

/// Makes every program that git's configuration can name leave a canary next to the project.
const TRAPS: &str = r#"
mkdir -p ../canaries ../hooks
for key in core.fsmonitor core.pager core.editor core.sshCommand core.askPass gpg.program filter.x.clean filter.x.smudge \
    filter.y.process diff.external diff.x.textconv diff.x.command merge.x.driver pager.status pager.log; do
  for place in --local --global; do
    git config $place $key "touch '$PWD/../canaries/$key'; cat"
  done
done
for key in credential.helper alias.status alias.add alias.rev-parse alias.config; do
  git config $key "!touch '$PWD/../canaries/$key'"
done
for hook in post-index-change pre-commit post-commit reference-transaction; do
  printf '#!/bin/sh\ntouch "%s"\n' "$PWD/../canaries/$hook" > ../hooks/$hook
  chmod +x ../hooks/$hook
done
git config core.hooksPath "$PWD/../hooks"
printf '*.txt filter=x diff=x merge=x\n*.md filter=y\n' | tee .gitattributes > .git/info/attributes
rm -f ../canaries/*
"#;

#[test]
fn programs_in_git_configuration_are_not_run() {
    let script = Script::new().turn([
        write("a.txt", "2\n"),
        run(TRAPS),
        write("a.txt", "3\n"),
        write("b.md", "x\n"),
        say(DONE),
    ]);
    let configuration = "[verify]\ncommands = [\"true\"]\n[git]\nisolate = \"off\"\ncommit = \"task\"\n";
    let scene = in_git(&script, configuration);
    let finished = scene.run(&["one", "--trust"]);
    assert_eq!(finished.code, Some(4), "{finished}");
    scene.env.write("a.txt", "4\n");
    for command in [
        &["status"][..],
        &["review"],
        &["why"],
        &["doctor"],
        &["task", "list", "--all"],
        &["journal", "list"],
        &["recall", "one"],
        &["init"],
        &["stats"],
        &["memory", "add", "a note"],
    ] {
        let finished = scene.ralph(command).run();
        assert_ne!(finished.code, Some(2), "{finished}");
    }
    // Another run does not commit, because its hooks and filters would be these.
    let second = scene.run(&["two"]);
    assert_eq!(second.code, Some(4), "{second}");
    let canaries = std::fs::read_dir(scene.env.beside("canaries")).unwrap();
    let canaries: Vec<_> = canaries.map(|entry| entry.unwrap().file_name()).collect();
    assert!(canaries.is_empty(), "{canaries:?}");
    let log = scene
        .env
        .sh("git -c core.fsmonitor= -c core.pager=cat log --format=%s")
        .run();
    assert_eq!(log.stdout, "first\n", "{log}");
}
