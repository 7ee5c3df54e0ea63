//! An agent that changes its gates or git hooks: the task is unverified, and git runs none of the changes.

use std::os::unix::fs::PermissionsExt;

use ralph_loop::state::Effect;
use ralph_model::config::Commit;
use ralph_model::{TaskId, Unverified};
use ralph_store::{DoneIn, Reach};
use ralph_testkit::scripted::{Action, run, say, write};

use crate::bench::{Dialect, Probe, Project};

const DONE: &str = "<task-done>{task}</task-done>";

fn works() -> Vec<Action> {
    vec![write("a.txt", "{turn}"), say(DONE)]
}

/// A turn that works and also performs this action.
fn works_and_also(action: Action) -> Vec<Action> {
    vec![write("a.txt", "{turn}"), action, say(DONE)]
}

/// A project whose only gate is a script.
fn gated<const N: usize>(turns: [Vec<Action>; N]) -> Project {
    let project = Project::plain(turns).gated(&["sh check.sh"]);
    project.write("check.sh", "true\n");
    project.write(".ralph.toml", "# gates\n");
    project.in_git()
}

/// The changed files that make a task unverified.
#[track_caller]
fn changed(project: &Project, task: &TaskId) -> Vec<String> {
    let unverified = project.load_task(task).unverified;
    let changed = unverified.as_ref().map(Unverified::changed).unwrap_or_default();
    assert_eq!(changed.is_empty(), unverified.is_none(), "{unverified:?}");
    changed.to_vec()
}

#[test]
fn changed_gate_script_or_config_is_not_evidence() {
    for (action, name) in [
        (write("check.sh", "exit 0\n"), "check.sh"),
        (write(".ralph.toml", "[verify]\ncommands = [\"true\"]\n"), ".ralph.toml"),
        (run("git config core.hooksPath nowhere"), "git config core.hookspath"),
        (run("echo x > .git/hooks/pre-push"), ".git/hooks/pre-push"),
    ] {
        let project = gated([works_and_also(action)]);
        let task = project.task("A");
        let ran = project.run();
        assert_eq!(changed(&project, &task), [name]);
        assert_eq!(ran.code(), 4, "{name}");
        assert_eq!(project.story(), ["A done: task_done"], "{name}");
    }
    let project = gated([works()]);
    let task = project.task("A");
    assert_eq!(project.run().code(), 0);
    assert_eq!(changed(&project, &task), [""; 0]);
}

#[test]
fn gates_are_read_at_run_start() {
    let gates = "[verify]\ncommands = [\"touch wrong\"]\n";
    let project = gated([works_and_also(write(".ralph.toml", gates)), works()]);
    project.task("A");
    project.task("B");
    project.run();
    assert_eq!(project.names("").iter().filter(|name| *name == "wrong").count(), 0);
}

#[test]
fn later_attempts_and_tasks_are_unverified_too() {
    let project = gated([
        vec![write("check.sh", "test -f b.txt\n"), write("a.txt", "1"), say(DONE)],
        vec![write("b.txt", "1"), say(DONE)],
        works(),
    ]);
    let (first, second) = (project.task("A"), project.task("B"));
    assert_eq!(project.run().code(), 4);
    let story = ["A retried: task_done", "A done: task_done", "B done: task_done"];
    assert_eq!(project.story(), story);
    assert_eq!(
        (changed(&project, &first), changed(&project, &second)),
        (vec!["check.sh".to_owned()], vec!["check.sh".to_owned()])
    );
}

#[test]
fn user_changes_between_iterations_are_not_the_agents() {
    let project = gated([works()]);
    let tasks = [project.task("A"), project.task("B")];
    let script = project.root().join("check.sh");
    let ran = project.run_with(Probe::with_hook(move |effect| {
        if matches!(effect, Effect::Claim { iteration: 2, .. }) {
            std::fs::remove_file(&script).unwrap();
            ralph_notes::write_new_file(&script, b"test -f a.txt\n").unwrap();
        }
        None
    }));
    assert_eq!(ran.code(), 0, "{ran:?}");
    for task in &tasks {
        assert_eq!(changed(&project, task), [""; 0]);
    }
}

#[test]
fn evidence_basis_survives_a_crash_after_the_turn() {
    let project = gated([works_and_also(write("check.sh", "exit 0\n"))]);
    let task = project.task("A");
    let died = project.run_with(Probe::dying_at(|effect| matches!(effect, Effect::RecordEnd(_))));
    assert_eq!(died.end, None);
    assert_eq!(project.run().code(), 4);
    assert_eq!(changed(&project, &task), ["check.sh"]);
    assert_eq!(project.agent.turns(), 1);
}

/// A person accepts a task.
fn accept(project: &Project, task: &TaskId) {
    let here = DoneIn {
        worktree: String::new(),
        commit: None,
    };
    project.store().finish_task(task, &here, project.now()).unwrap();
}

/// Runs another task that writes its own file, and returns what makes it unverified.
fn next(project: &mut Project, title: &str) -> Vec<String> {
    project.play([vec![write(&format!("{title}.txt"), "1"), say(DONE)]]);
    let task = project.task(title);
    project.run();
    changed(project, &task)
}

#[test]
fn changes_of_an_unreviewed_task_count_in_later_runs() {
    let weakens = write("check.sh", "exit 0\n");
    let mut project = gated([works_and_also(weakens)]);
    let first = project.task("A");
    project.run();
    assert_eq!(changed(&project, &first), ["check.sh"]);
    assert_eq!(next(&mut project, "B"), ["check.sh"]);
    // A person replaces the script, then puts the agent's version back.
    let script = project.root().join("check.sh");
    let put = |text: &str| {
        std::fs::remove_file(&script).unwrap();
        ralph_notes::write_new_file(&script, text.as_bytes()).unwrap();
    };
    put("test -f a.txt\n");
    assert_eq!(next(&mut project, "C"), [""; 0]);
    put("exit 0\n");
    assert_eq!(next(&mut project, "D"), ["check.sh"]);
    // The other tasks did not change it, so accepting the first one is enough.
    accept(&project, &first);
    assert_eq!(next(&mut project, "E"), [""; 0]);
}

#[test]
fn earlier_attempts_changes_count_until_task_reset() {
    let weakens = vec![write("check.sh", "test -f b.txt\n"), write("a.txt", "1"), say(DONE)];
    for reset in [false, true] {
        let mut project = gated([weakens.clone()]);
        project.config.limits.iterations = Some(1);
        let task = project.task("A");
        project.run();
        assert_eq!(project.story(), ["A retried: task_done"]);
        if reset {
            let mut store = project.store();
            store.reset_task(&task, Reach::Itself, project.now()).unwrap();
        }
        project.play([vec![write("b.txt", "1"), say(DONE)]]);
        project.run();
        let expected: &[&str] = if reset { &[] } else { &["check.sh"] };
        assert_eq!(changed(&project, &task), expected);
    }
}

#[test]
fn hooks_of_an_unreviewed_task_never_run() {
    for (place, name) in [
        ("hook", ".git/hooks/pre-commit"),
        ("filter", ".git/info/attributes (filters)"),
    ] {
        let mut project = gated([works_and_also(traps(place))]);
        project.config.git.commit = Commit::Task;
        let first = project.task("A");
        project.run();
        let changed = next(&mut project, "B");
        assert!(changed.iter().any(|one| one == name), "{place}: {changed:?}");
        assert_eq!(project.git(&["log", "--format=%s"]), "Begin\n", "{place}");
        assert!(!has_canary(&project), "{place}");
        accept(&project, &first);
        // The filter names this file, so it counts as part of the filter.
        project.write("../canary", "");
        assert_eq!(next(&mut project, "C"), [""; 0], "{place}");
        assert_eq!(project.git(&["log", "--format=%s"]), "C\nBegin\n", "{place}");
    }
}

/// A shell command that installs a hook or filter which creates a canary file outside the project.
fn traps(place: &str) -> Action {
    match place {
        "hook" => {
            run("printf '#!/bin/sh\\ntouch ../canary\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit")
        }
        "hooks path" => run(
            "mkdir hooks; printf '#!/bin/sh\\ntouch ../canary\\n' > hooks/pre-commit; chmod +x hooks/pre-commit; \
             git config core.hooksPath hooks",
        ),
        _ => run("git config filter.x.clean 'touch ../canary; cat'; echo '* filter=x' > .git/info/attributes"),
    }
}

fn has_canary(project: &Project) -> bool {
    project.root().join("../canary").exists()
}

#[test]
fn changed_hooks_and_filters_prevent_commits() {
    for (place, name) in [
        ("hook", ".git/hooks/pre-commit"),
        ("hooks path", "git config core.hookspath"),
        ("filter", ".git/info/attributes (filters)"),
    ] {
        let mut project = gated([works_and_also(traps(place)), works()]);
        project.config.git.commit = Commit::Task;
        let tasks = [project.task("A"), project.task("B")];
        assert_eq!(project.run().code(), 4);
        for task in &tasks {
            let changed = changed(&project, task);
            assert!(changed.iter().any(|one| one == name), "{place}: {changed:?}");
        }
        assert_eq!(project.git(&["log", "--format=%s"]), "Begin\n", "{place}");
        let reason = project.journal()[0].row.reason.clone();
        assert!(reason.contains("Not committed: ") && reason.contains(name), "{reason}");
        assert!(!has_canary(&project), "{place}");
    }
}

#[test]
fn gate_that_changes_a_hook_prevents_commits() {
    let gate = "printf '#!/bin/sh\\ntouch ../canary\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit";
    let mut project = Project::plain([works()]).gated(&[gate]);
    project.config.git.commit = Commit::Task;
    let project = project.in_git();
    let task = project.task("A");
    assert_eq!(project.run().code(), 4);
    assert_eq!(changed(&project, &task), [".git/hooks/pre-commit"]);
    assert_eq!(project.git(&["log", "--format=%s"]), "Begin\n");
    assert!(!has_canary(&project));
}

#[test]
fn recovering_run_ignores_hooks_of_a_dead_agent() {
    let mut project = gated([works_and_also(traps("hook"))]);
    project.config.git.commit = Commit::Task;
    let task = project.task("A");
    project.run_with(Probe::dying_at(|effect| matches!(effect, Effect::RecordEnd(_))));
    assert_eq!(project.run().code(), 4);
    assert_eq!(changed(&project, &task), [".git/hooks/pre-commit"]);
    assert_eq!(project.git(&["log", "--format=%s"]), "Begin\n");
    assert!(!has_canary(&project));
}

#[test]
fn original_hooks_and_filters_are_used_for_commits() {
    let mut project = gated([vec![write("secret.txt", "plain text\n"), say(DONE)]]);
    project.config.git.commit = Commit::Task;
    project.write(".git/info/attributes", "secret.txt filter=crypt\n");
    project.git(&["config", "filter.crypt.clean", "tr a-z n-za-m"]);
    project.git(&["config", "filter.crypt.required", "true"]);
    project.write(".git/hooks/pre-commit", "#!/bin/sh\ntouch ../canary\n");
    let hook = project.root().join(".git/hooks/pre-commit");
    std::fs::set_permissions(hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    let task = project.task("A");
    assert_eq!(project.run().code(), 0);
    assert_eq!(changed(&project, &task), [""; 0]);
    assert_eq!(project.git(&["cat-file", "-p", "HEAD:secret.txt"]), "cynva grkg\n");
    assert!(has_canary(&project));
}

#[test]
fn verifier_that_changes_a_hook_does_not_approve() {
    let mut project = Project::new(Dialect::Claude, [works()]).gated(&["true"]).in_git();
    project.config.execution.max_retries = 0;
    project.verified_by(
        Dialect::Claude,
        [vec![run("echo x > .git/hooks/pre-push"), say("<verify-pass/>")]],
    );
    project.task("A");
    project.run();
    let row = &project.journal()[0].row;
    assert!(row.reason.contains(".git/hooks/pre-push"), "{}", row.reason);
    assert_ne!(row.outcome, ralph_model::Outcome::Done);
}
