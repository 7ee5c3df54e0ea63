//! Tests of tasks in their own checkouts: what lands, what stays on a branch, and what of the user's is left alone.

use ralph_store::{CheckoutRecord, Store};
use ralph_testkit::scripted::{Action, Script, if_prompt_contains, run, say, write};

use super::{DONE, Scene};
use crate::{DATABASE, json};

/// A project in git whose gate refuses a broken `calc.txt`.
pub(super) fn project(script: &Script) -> Scene {
    let scene = Scene::new(script);
    scene.env.write("calc.txt", "whole\n");
    scene.env.write("mine.txt", "as committed\n");
    scene.env.write(".gitignore", ".ralph/\n.ralph.toml\n");
    scene
        .env
        .write(".ralph.toml", "[verify]\ncommands = [\"grep -q whole calc.txt\"]\n");
    scene.env.git(["init", "--quiet", "-b", "main"]);
    for (name, value) in [("user.name", "T"), ("user.email", "t@example.com")] {
        scene.env.git(["config", name, value]);
    }
    commit(&scene, "first");
    scene
}

pub(super) fn commit(scene: &Scene, message: &str) {
    scene.env.git(["add", "--all"]);
    scene.env.git(["commit", "--quiet", "-m", message]);
}

pub(super) fn log(scene: &Scene) -> Vec<String> {
    let log = scene.env.git(["log", "--reverse", "--format=%s", "main"]);
    log.lines().map(str::to_owned).collect()
}

fn branches(scene: &Scene) -> String {
    scene.env.git([
        "for-each-ref",
        "--format=%(refname:short)",
        "refs/heads/ralph",
        "refs/ralph",
    ])
}

pub(super) fn add(scene: &Scene, title: &str) -> String {
    let added = scene.ralph(&["task", "add", title]).run();
    assert_eq!(added.code, Some(0), "{added}");
    added.stdout.trim().to_owned()
}

/// The remaining checkouts.
fn checkouts(scene: &Scene) -> String {
    scene
        .env
        .sh("cd \"$HOME\"/.local/state/ralph/*/work && ls -A")
        .run()
        .stdout
}

fn done(actions: impl IntoIterator<Item = Action>) -> Vec<Action> {
    actions.into_iter().chain([say(DONE)]).collect()
}

#[test]
fn failed_task_keeps_its_branch_and_others_land() {
    let broken = [
        write("calc.txt", "broken\n"),
        run("ralph remember 'calc.txt is touchy'"),
        say(DONE),
    ];
    let script = Script::new().turn([if_prompt_contains(
        "**Bad**",
        broken,
        [write("good-{task}.txt", "good\n"), say(DONE)],
    )]);
    let scene = project(&script);
    let bad = add(&scene, "Bad");
    let good = ["Good one", "Good two", "Good three"].map(|title| add(&scene, title));
    scene.env.write("mine.txt", "my own change\n");
    let finished = scene.run(&["--trust"]);
    assert_eq!(finished.code, Some(4), "{finished}");
    assert!(
        finished
            .stderr
            .contains("1 file has uncommitted changes, which the tasks will not see."),
        "{finished}"
    );
    assert_eq!(log(&scene), ["first", "Good one", "Good two", "Good three"]);
    assert_eq!(branches(&scene), format!("ralph/{bad}-bad\n"));
    assert_eq!(
        scene.env.git(["show", &format!("ralph/{bad}-bad:calc.txt")]),
        "broken\n"
    );
    assert_eq!(scene.env.read("calc.txt"), "whole\n");
    assert_eq!(scene.env.read("mine.txt"), "my own change\n");
    for task in &good {
        assert_eq!(scene.env.read(&format!("good-{task}.txt")), "good\n");
    }
    assert_eq!(
        scene.env.git(["status", "--porcelain", "--untracked-files=no"]),
        " M mine.txt\n"
    );
    assert_eq!(checkouts(&scene), "");
    // The memory of the failed task is kept, without its code.
    assert!(scene.env.read(".agent/memories.md").contains("calc.txt is touchy"));
    let diff = scene.ralph(&["diff", &bad]).run();
    assert!(diff.stdout.contains("-whole\n+broken\n"), "{diff}");
    let diff = scene.ralph(&["diff", &good[0]]).run();
    assert!(diff.stdout.contains("+good\n"), "{diff}");
    let left = json(&scene.env, &["branches", "--json"]);
    assert_eq!(left[0]["branch"], format!("ralph/{bad}-bad"), "{left}");
    assert_eq!(left[0]["task_status"], "failed", "{left}");
    assert_eq!(left[0]["next"], format!("git merge ralph/{bad}-bad"), "{left}");
}

#[test]
fn retry_continues_with_earlier_work() {
    let scene = project(
        &Script::new()
            .turn(done([write("calc.txt", "broken\n"), write("kept.txt", "1\n")]))
            .turn(done([run("test -e kept.txt && echo whole again > calc.txt")])),
    );
    let finished = scene.run(&["Fix it", "--trust"]);
    assert_eq!(
        (finished.code, scene.outcomes()),
        (Some(0), vec!["retried".into(), "done".into()]),
        "{finished}"
    );
    assert_eq!(scene.env.read("calc.txt"), "whole again\n");
    assert_eq!(scene.env.read("kept.txt"), "1\n");
    assert_eq!((log(&scene).len(), branches(&scene)), (2, String::new()));
}

#[test]
fn conflicting_local_change_makes_the_run_land_on_its_own_branch() {
    let scene = project(&Script::new().turn(done([
        write("work-{turn}.txt", "x\n"),
        write("mine.txt", "theirs {turn}\n"),
    ])));
    for title in ["One", "Two"] {
        add(&scene, title);
    }
    scene.env.write("mine.txt", "mine\n");
    let finished = scene.run(&["--trust"]);
    assert_eq!(finished.code, Some(0), "{finished}");
    assert_eq!(scene.env.read("mine.txt"), "mine\n");
    assert_eq!(log(&scene), ["first"]);
    let landed = branches(&scene);
    let landed = landed.trim();
    assert!(landed.starts_with("ralph/landed-run-"), "{landed}");
    assert!(finished.stderr.contains(&format!("lands on {landed}")), "{finished}");
    assert_eq!(
        scene.env.git(["log", "--reverse", "--format=%s", landed]),
        "first\nOne\nTwo\n"
    );
    let status = scene.ralph(&["status"]).run();
    assert!(status.stdout.contains(&format!("git merge {landed}")), "{status}");
}

#[test]
fn detached_head_lands_on_a_branch_of_the_run() {
    let scene = project(&Script::new().turn(done([write("a.txt", "x\n")])));
    scene.env.git(["checkout", "--quiet", "--detach"]);
    let finished = scene.run(&["one", "--trust"]);
    assert_eq!(finished.code, Some(0), "{finished}");
    assert!(!scene.env.path("a.txt").exists());
    let landed = branches(&scene);
    assert_eq!(
        scene.env.git(["log", "--reverse", "--format=%s", landed.trim()]),
        "first\none\n"
    );
    assert_eq!(log(&scene), ["first"]);
    // A run that lands nothing leaves no branch.
    let finished = scene.run(&["--trust", "--limit", "1"]);
    assert_eq!(finished.code, Some(3), "{finished}");
    assert_eq!(branches(&scene), landed);
}

#[test]
fn killed_checkout_setup_is_repeated() {
    let scene = project(&Script::new().turn(done([write("a.txt", "x\n")])));
    let setup = "[worktree]\nsetup = [\"test -e ../../../../../../go && touch made || { touch ../../../../../../go; kill -9 $PPID; }\"]\n";
    scene.env.write(".ralph.toml", setup);
    add(&scene, "one");
    let killed = scene.invocation(&["--trust"]).run();
    assert_eq!(killed.code, None, "{killed}");
    let finished = scene.run(&["--trust"]);
    assert_eq!(finished.code, Some(0), "{finished}");
    assert_eq!(
        scene.env.git(["show", "--name-only", "--format=", "main"]),
        "a.txt\nmade\n"
    );
}

#[test]
fn no_commit_or_submodules_works_in_place() {
    let script = Script::new().turn(done([write("a.txt", "x\n")]));
    let scene = Scene::new(&script);
    scene.env.git(["init", "--quiet", "-b", "main"]);
    let finished = scene.run(&["one"]);
    assert_eq!(finished.code, Some(0), "{finished}");
    assert!(finished.stderr.contains("tasks need a first commit"), "{finished}");
    assert_eq!(scene.env.read("a.txt"), "x\n");

    let scene = project(&script);
    let made = "git init -q ../other && git -C ../other -c user.name=T -c user.email=t@x commit -q --allow-empty -m other && \
                git -c protocol.file.allow=always submodule --quiet add ../other sub && git commit -qm sub";
    let made = scene.env.sh(made).run();
    assert_eq!(made.code, Some(0), "{made}");
    let finished = scene.run(&["one", "--trust"]);
    assert_eq!(finished.code, Some(0), "{finished}");
    assert!(finished.stderr.contains("do not support submodules"), "{finished}");
    assert_eq!(scene.env.read("a.txt"), "x\n");
}

#[test]
fn branch_conflict_and_uncommitted_script_are_refused() {
    let scene = project(&Script::new().turn(done([write("a.txt", "x\n")])));
    scene.env.git(["branch", "ralph"]);
    let refused = scene.run(&["one", "--trust"]);
    assert_eq!(refused.code, Some(1), "{refused}");
    assert!(refused.stderr.contains("git branch -m ralph"), "{refused}");
    scene.env.git(["branch", "-m", "ralph", "other"]);
    scene.env.write("check.sh", "true\n");
    scene
        .env
        .write(".ralph.toml", "[verify]\ncommands = [\"sh check.sh\"]\n");
    let refused = scene.run(&["--trust"]);
    assert_eq!((refused.code, scene.agent.turns()), (Some(1), 0), "{refused}");
    assert!(
        refused.stderr.contains("a gate runs check.sh, but it is not committed"),
        "{refused}"
    );
    scene.env.write(
        ".ralph.toml",
        "[verify]\ncommands = [\"sh check.sh\"]\n[worktree]\ncopy = [\"check.sh\"]\n",
    );
    let finished = scene.run(&["--trust"]);
    assert_eq!(finished.code, Some(0), "{finished}");
    let files = scene.env.git(["show", "--name-only", "--format=", "main"]);
    assert_eq!(files, "a.txt\n", "a copy is not part of the work");
}

#[test]
fn missing_checkout_is_recreated_from_its_branch() {
    let scene = project(
        &Script::new()
            .turn(done([write("a.txt", "x\n"), write("calc.txt", "broken\n")]))
            .turn(done([write("calc.txt", "whole\n")])),
    );
    let first = scene.run(&["one", "--trust", "--limit", "1"]);
    assert_eq!(scene.outcomes(), ["retried"], "{first}");
    scene.env.write("theirs.txt", "theirs\n");
    commit(&scene, "theirs");
    // A killed run moved the checkout to this commit, and then the checkout was deleted.
    let mut store = Store::open_or_create(&scene.env.path(DATABASE)).unwrap();
    let (record, _) = store.checkouts().unwrap().remove(0);
    let base_commit = scene.env.git(["rev-parse", "main"]).trim().to_owned();
    store.put_checkout(&CheckoutRecord { base_commit, ..record }).unwrap();
    drop(store);
    let deleted = scene.env.sh("rm -rf \"$HOME\"/.local/state/ralph/*/work/*").run();
    assert_eq!(deleted.code, Some(0), "{deleted}");
    let second = scene.run(&["--trust"]);
    assert_eq!(second.code, Some(0), "{second}");
    assert_eq!(log(&scene), ["first", "theirs", "one"]);
    assert_eq!(scene.env.git(["show", "--name-only", "--format=", "main"]), "a.txt\n");
}

#[test]
fn user_commits_during_a_run_are_kept() {
    let meanwhile = "cd \"$PROJECT\" && echo theirs > theirs.txt && git add theirs.txt && git commit -qm theirs";
    // Git before 2.40 has no `--merge-base` and fails like this.
    let old = "#!/bin/sh\nPATH=${PATH#*:}\nfor word; do case $word in --merge-base=*) \
               echo refused >> \"$HOME/refused\"; exit 129;; esac; done\nexec git \"$@\"\n";
    for git in [None, Some(old)] {
        let scene = project(&Script::new().turn(done([write("a.txt", "x\n"), run(meanwhile)])));
        if let Some(git) = git {
            scene.env.write("../first/git", git);
            assert_eq!(scene.env.sh("chmod +x ../first/git").run().code, Some(0));
        }
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", scene.env.beside("first").display());
        let invocation = scene.invocation(&["one", "--trust"]);
        let finished = invocation.env("PROJECT", scene.env.project()).env("PATH", path).run();
        assert_eq!(finished.code, Some(0), "{finished}");
        assert_eq!(scene.env.beside("home/refused").exists(), git.is_some());
        assert_eq!(log(&scene), ["first", "theirs", "one"]);
        assert_eq!(scene.env.git(["show", "--name-only", "--format=", "main"]), "a.txt\n");
        assert_eq!(
            (scene.env.read("a.txt"), scene.env.read("theirs.txt")),
            ("x\n".into(), "theirs\n".into())
        );
        // The gate ran on the new tip.
        let gates = finished.stderr.matches("gate passed").count();
        assert_eq!(gates, 3, "{finished}");
        assert_eq!(scene.env.git(["status", "--porcelain"]), "");
    }
}

#[test]
fn conflict_retries_with_the_hunks_in_the_prompt() {
    let meanwhile = "cd \"$PROJECT\" && echo user > shared.txt && git add shared.txt && git commit -qm theirs";
    let scene = project(
        &Script::new()
            .turn(done([write("shared.txt", "agent\n"), run(meanwhile)]))
            .turn(done([run("grep -q '<<<<<<<' shared.txt && echo both > shared.txt")])),
    );
    let project = scene.env.project();
    let finished = scene.invocation(&["one", "--trust"]).env("PROJECT", &project).run();
    assert_eq!(
        (finished.code, scene.outcomes()),
        (Some(0), vec!["retried".into(), "done".into()]),
        "{finished}"
    );
    let prompt = scene.agent.prompt(2);
    assert!(
        prompt.contains("shared.txt") && prompt.contains("user\n") && prompt.contains("agent\n"),
        "{prompt}"
    );
    assert_eq!(scene.env.read("shared.txt"), "both\n");
    assert_eq!(log(&scene), ["first", "theirs", "one"]);
}

#[test]
fn deleted_checkout_fails_and_is_recreated() {
    let scene = project(
        &Script::new()
            .turn(done([run("rm -rf \"$PWD\"")]))
            .turn(done([write("a.txt", "x\n")])),
    );
    let finished = scene.run(&["one", "--trust"]);
    assert_eq!(
        (finished.code, scene.outcomes()),
        (Some(0), vec!["failed".into(), "done".into()]),
        "{finished}"
    );
    assert!(finished.stderr.contains("deleted its working folder"), "{finished}");
    assert_eq!(log(&scene), ["first", "one"]);
}

#[test]
fn agent_that_commits_itself_lands_one_commit() {
    let own = "git add -A && git commit -qm 'my own' && git checkout -q -b elsewhere && echo more > more.txt";
    let scene = project(&Script::new().turn(done([write("a.txt", "x\n"), run(own)])));
    let finished = scene.run(&["one", "--trust"]);
    assert_eq!(finished.code, Some(0), "{finished}");
    assert_eq!(log(&scene), ["first", "one"]);
    assert_eq!(
        scene.env.git(["show", "--name-only", "--format=", "main"]),
        "a.txt\nmore.txt\n"
    );
    assert_eq!(scene.env.git(["branch", "--format=%(refname:short)"]), "main\n");
}

#[test]
fn commit_hooks_can_refuse_or_change_the_work() {
    let hook = "#!/bin/sh\ngrep -q formatted a.txt || { echo 'a.txt is not formatted'; exit 1; }\n\
                echo by the hook > hooked.txt && git add hooked.txt\n";
    let scene = project(
        &Script::new()
            .turn(done([write("a.txt", "x\n")]))
            .turn(done([write("a.txt", "formatted\n")])),
    );
    scene.env.write(".git/hooks/pre-commit", hook);
    assert_eq!(scene.env.sh("chmod +x .git/hooks/pre-commit").run().code, Some(0));
    let finished = scene.run(&["one", "--trust"]);
    assert_eq!(
        (finished.code, scene.outcomes()),
        (Some(0), vec!["retried".into(), "done".into()]),
        "{finished}"
    );
    assert!(
        scene.agent.prompt(2).contains("a.txt is not formatted"),
        "{}",
        scene.agent.prompt(2)
    );
    assert_eq!(
        scene.env.git(["show", "--name-only", "--format=", "main"]),
        "a.txt\nhooked.txt\n"
    );
    assert_eq!(scene.env.read("hooked.txt"), "by the hook\n");
}

#[test]
fn note_edits_in_a_checkout_reach_the_project() {
    let memories = "# Memories\n\n## Patterns\n\n### mem-1737372000-a1b2\n> Kept by a person.\n<!-- tags: a | created: 2025-01-20 -->\n";
    let add = "printf '\\n### mem-1737372001-c3d4\\n> Found by hand.\\n<!-- tags: b | created: 2025-01-20 -->\\n' >> .agent/memories.md";
    let scene = project(
        &Script::new()
            .turn(done([
                write("a.txt", "1\n"),
                run(add),
                write(
                    ".ralph/knowledge/found.md",
                    "---\ntitle: Found\ntags: [x]\n---\n\nIt is so.\n",
                ),
            ]))
            .turn(done([
                write("b.txt", "1\n"),
                run("git stash -q --include-untracked --all; git stash drop -q; echo 1 > b.txt"),
            ])),
    );
    scene.env.write(
        ".gitignore",
        ".ralph.toml\n.ralph/progress*\n.ralph/index*\n.ralph/runs/\n*.lock\n",
    );
    scene.env.write(".agent/memories.md", memories);
    commit(&scene, "notes");
    let finished = scene.run(&["one", "--trust"]);
    assert_eq!(finished.code, Some(0), "{finished}");
    let after = scene.env.read(".agent/memories.md");
    assert!(
        after.contains("Kept by a person.") && after.contains("Found by hand."),
        "{after}"
    );
    assert!(scene.env.read(".ralph/knowledge/found.md").contains("It is so."));
    assert_eq!(scene.env.git(["show", "--name-only", "--format=", "main"]), "a.txt\n");
    let finished = scene.run(&["two", "--trust"]);
    assert_eq!(finished.code, Some(0), "{finished}");
    assert_eq!(scene.env.read(".agent/memories.md"), after);
    assert!(scene.env.read(".ralph/knowledge/found.md").contains("It is so."));
}

#[test]
fn gate_on_untracked_files_is_explained() {
    let scene = project(&Script::new().turn(done([write("a-{turn}.txt", "x\n")])));
    scene.env.write(".gitignore", ".ralph/\n.ralph.toml\ndeps/\n");
    commit(&scene, "ignore");
    scene.env.write("deps/library", "1");
    let config = "[verify]\ncommands = [\"test -e deps/library\"]\n";
    scene.env.write(".ralph.toml", config);
    let finished = scene.run(&["one", "--trust"]);
    assert!(
        finished.stderr.contains("`[worktree] copy`, `link` or `setup`"),
        "{finished}"
    );
    let linked = format!("{config}[worktree]\nlink = [\"deps\"]\nsetup = [\"test -e deps/library\"]\n");
    scene.env.write(".ralph.toml", linked);
    let finished = scene.run(&["two", "--trust"]);
    assert_eq!(finished.code, Some(0), "{finished}");
    assert!(!finished.stderr.contains("[worktree]"), "{finished}");
    let files = scene.env.git(["show", "--name-only", "--format=", "main"]);
    assert_eq!(files, "a-2.txt\n", "a link is not part of the work");
    scene
        .env
        .write(".ralph.toml", "[worktree]\nsetup = [\"echo no registry >&2; false\"]\n");
    let refused = scene.run(&["three", "--trust"]);
    assert_eq!(refused.code, Some(1), "{refused}");
    assert!(refused.stderr.contains("no registry"), "{refused}");
}

#[test]
fn scratchpad_is_per_task_and_does_not_land() {
    let notes = "ralph scratchpad append 'half of {task} is done' && ralph scratchpad clear && \
                 ralph scratchpad append 'all of {task} is done' && ralph scratchpad show > seen.txt";
    let scene = project(&Script::new().turn(done([run(notes)])));
    for title in ["One", "Two"] {
        add(&scene, title);
    }
    let finished = scene.run(&["--trust"]);
    assert_eq!(finished.code, Some(0), "{finished}");
    assert_eq!(
        scene.env.git(["show", "--name-only", "--format=", "main"]),
        "seen.txt\n"
    );
    assert_eq!(
        scene.env.read("seen.txt").lines().count(),
        1,
        "the second one saw the first one's"
    );
    let kept = scene.env.sh("cat .ralph/runs/run-*/scratchpad-t-*.md").run().stdout;
    assert_eq!(kept.matches("all of t-").count(), 2, "{kept}");
}

#[test]
fn in_place_prompt_lists_failing_gates() {
    let fix = [write("calc.txt", "whole again\n"), say(DONE)];
    let spoil = [write("calc.txt", "broken {turn}\n"), say(DONE)];
    let told = "grep -q whole calc.txt    # since attempt 1 at ";
    let next_task = if_prompt_contains("**Two**", [if_prompt_contains(told, fix, [])], spoil);
    let scene = project(&Script::new().turn([next_task]));
    let toml = scene.env.read(".ralph.toml");
    scene.env.write(
        ".ralph.toml",
        format!("{toml}[git]\nisolate = \"off\"\n[execution]\nmax_retries = 1\n"),
    );
    add(&scene, "One");
    let two = add(&scene, "Two");
    let finished = scene.run(&["--trust"]);
    assert_eq!(finished.code, Some(4), "{finished}");
    assert_eq!(
        json(&scene.env, &["task", "show", &two, "--json"])["status"],
        "done",
        "{finished}"
    );
}

#[test]
fn prompt_mentions_the_checkout() {
    let told = "This folder is a checkout of the project for this task alone.";
    let scene = project(&Script::new().turn([if_prompt_contains(told, [write("a.txt", "a\n"), say(DONE)], [])]));
    add(&scene, "One");
    let finished = scene.run(&["--trust"]);
    assert_eq!(finished.code, Some(0), "{finished}");
}
