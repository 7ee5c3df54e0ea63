//! Evidence that a task is done, and tasks without evidence.

use std::os::unix::fs::PermissionsExt;

use ralph_loop::state::End;
use ralph_model::config::WhenUnverified;
use ralph_model::{Evidence, NewTask, Outcome, TaskKind, TaskStatus, Unverified};
use ralph_testkit::scripted::{Action, run, say, write};

use crate::bench::{Dialect, Project};

const DONE: &str = "<task-done>{task}</task-done>";

fn done(actions: impl IntoIterator<Item = Action>) -> Vec<Action> {
    actions.into_iter().chain([say(DONE)]).collect()
}

fn writes() -> Vec<Action> {
    done([write("x.txt", "x\n")])
}

/// A project with these gates in which a person reviews unverified tasks.
fn reviewed<const N: usize>(turns: [Vec<Action>; N], gates: &[&str]) -> Project {
    let mut project = Project::plain(turns).gated(gates);
    project.config.verify.unverified = WhenUnverified::Review;
    project
}

fn evidence(project: &Project) -> Vec<Evidence> {
    project.journal().iter().map(|row| row.row.evidence).collect()
}

#[test]
fn gate_is_evidence_when_it_passes_at_settlement() {
    for (gates, expected) in [
        (&[][..], Evidence::None),
        (&["true"][..], Evidence::Gates),
        // It also failed before the run.
        (&["false"][..], Evidence::None),
        (&["false", "true"][..], Evidence::Gates),
    ] {
        let project = reviewed([writes()], gates);
        let task = project.task("A");
        let ran = project.run();
        assert_eq!(evidence(&project), [expected], "{gates:?}");
        assert_eq!(project.status(&task), TaskStatus::Done);
        let mark = (expected == Evidence::None).then_some(Unverified::NoEvidence);
        assert_eq!(project.load_task(&task).unverified, mark, "{gates:?}");
        assert_eq!(ran.code(), if mark.is_some() { 4 } else { 0 }, "{gates:?}");
    }
}

#[test]
fn verifier_is_evidence_and_retried_entries_name_the_refuser() {
    for (gates, expected) in [(&[][..], Evidence::Verifier), (&["true"][..], Evidence::Both)] {
        let mut project = Project::new(Dialect::Claude, [writes()]).gated(gates);
        project.config.verify.unverified = WhenUnverified::Review;
        project.verified_by(
            Dialect::Claude,
            [vec![say("<verify-fail>no</verify-fail>")], vec![say("<verify-pass/>")]],
        );
        project.task("A");
        assert_eq!(project.run().code(), 0);
        assert_eq!(evidence(&project), [Evidence::Verifier, expected]);
    }
    let project = reviewed([writes(), done([run("rm x.txt")])], &["! ls x.txt"]);
    let task = project.task("A");
    project.run();
    assert_eq!(evidence(&project), [Evidence::Gates, Evidence::Gates]);
    assert_eq!(project.load_task(&task).unverified, None);
}

#[test]
fn task_is_unverified_when_no_attempt_changed_anything() {
    let project = reviewed([done([])], &["true"]);
    let task = project.task("A");
    let ran = project.run();
    assert_eq!(project.load_task(&task).unverified, Some(Unverified::NothingChanged));
    let Some(End::NeedsAttention(standing)) = ran.end else {
        panic!("{ran:?}");
    };
    assert_eq!(standing.unverified.nothing_changed, 1);
    // The first attempt changed something; the one that reports the task done did not.
    let project = reviewed([vec![write("x.txt", "x")], done([])], &["true"]);
    let task = project.task("A");
    assert_eq!(project.run().code(), 0);
    assert_eq!(project.story(), ["A blocked: empty_answer", "A done: task_done"]);
    assert_eq!(project.load_task(&task).unverified, None);
}

#[test]
fn unverified_task_can_be_accepted_or_retried() {
    let mut project = Project::plain([writes()]).gated(&[]);
    let task = project.task("A");
    assert_eq!(project.run().code(), 0);
    assert_eq!(
        (evidence(&project), project.load_task(&task).unverified),
        (vec![Evidence::None], None)
    );
    project.config.verify.unverified = WhenUnverified::Retry;
    project.config.execution.max_retries = 1;
    let task = project.task("B");
    assert_eq!(project.run().code(), 4);
    assert_eq!(project.status(&task), TaskStatus::Failed);
    let row = project.journal().pop().unwrap().row;
    assert_eq!((row.outcome.word(), row.evidence), ("retried", Evidence::None));
    assert_eq!(
        row.reason,
        "Reported done, but unverified: no gate or verifier confirmed it."
    );
}

#[test]
fn gate_that_can_no_longer_start_stops_the_run() {
    for (gate, breaks) in [
        ("sh check.sh", "rm check.sh"),
        ("./check.sh", "chmod -x check.sh"),
        ("./check.sh", "rm check.sh"),
    ] {
        let project = reviewed([done([write("x.txt", "x"), run(breaks)])], &[gate]);
        project.write("check.sh", "#!/bin/sh\ntrue\n");
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(project.root().join("check.sh"), executable).unwrap();
        let task = project.task("A");
        let ran = project.run();
        let Some(End::Error(reason)) = &ran.end else {
            panic!("{ran:?}");
        };
        assert!(
            reason.starts_with(&format!("The gate `{gate}` cannot be started (")),
            "{reason}"
        );
        assert!(
            reason.ends_with(". Restore check.sh, which the iteration changed."),
            "{reason}"
        );
        assert_eq!(project.story(), ["A interrupted: gate_not_started"], "{gate}, {breaks}");
        assert_eq!((ran.code(), project.status(&task)), (1, TaskStatus::Pending));
        // The next run does not start until that is fixed.
        let again = project.run();
        assert_eq!((again.code(), again.iterations, project.story().len()), (1, 0, 1));
    }
}

#[test]
fn prompt_loop_is_unverified_without_confirmation() {
    let rounds = || {
        [
            vec![write("x.txt", "x"), say("more")],
            vec![say("<promise>COMPLETE</promise>")],
        ]
    };
    for (gates, mark) in [(&[][..], Some(Unverified::NoEvidence)), (&["true"][..], None)] {
        let project = reviewed(rounds(), gates);
        let task = project.add(&NewTask {
            kind: TaskKind::PromptLoop,
            ..NewTask::titled("A")
        });
        let ran = project.run();
        assert_eq!(project.story(), ["A done: no_sigil", "A done: task_done"], "{gates:?}");
        assert_eq!(project.load_task(&task).unverified, mark, "{gates:?}");
        assert_eq!(ran.code(), if mark.is_some() { 4 } else { 0 });
    }
}

#[test]
fn check_applies_only_to_its_own_task() {
    let work = |text: &str| vec![write("a.txt", text), say("<task-done>{task}</task-done>")];
    let project = Project::plain([work("wrong"), work("right")]).gated(&["true"]);
    let checked = project.add(&NewTask {
        checks: vec!["grep -q right a.txt".to_owned(), "true".to_owned()],
        ..NewTask::titled("Checked")
    });
    let other = project.task("Other");
    let ran = project.run();
    assert_eq!((ran.code(), project.status(&checked)), (0, TaskStatus::Done), "{ran:?}");
    assert_eq!(project.status(&other), TaskStatus::Done);
    let journal = project.journal();
    let outcomes: Vec<Outcome> = journal.iter().map(|row| row.row.outcome).collect();
    assert_eq!(outcomes, [Outcome::Retried, Outcome::Done, Outcome::Done]);
    assert!(
        journal[0].row.reason.contains("grep -q right a.txt"),
        "{:?}",
        journal[0]
    );
    let prompt = project.agent.prompt(1);
    assert!(
        prompt.contains("Checks: this task is done only when these commands pass:"),
        "{prompt}"
    );
    assert!(!project.agent.prompt(3).contains("Checks: this task"));
    let warning = format!("The check `true` of {checked} already passes before any work.");
    assert_eq!(ran.seen.warnings, [warning]);
}
