//! Runs over several tasks: order, failed tasks, and when a run is complete.

use ralph_loop::state::{End, Notice};
use ralph_model::{NewTask, Priority, TaskKind, TaskStatus};
use ralph_testkit::scripted::{Action, append, if_prompt_contains, say, write};

use crate::bench::{Dialect, Project};

const DONE: &str = "<task-done>{task}</task-done>";

/// Finishes its task, except a task titled "Bad", which it reports failed.
fn worker() -> Vec<Action> {
    let failed = [say("<task-failed>{task} there is no way</task-failed>")];
    vec![if_prompt_contains(
        "**Bad**",
        failed,
        [append("work.txt", "{task}\n"), say(DONE)],
    )]
}

/// The task titles of the journal entries, in order.
fn order(project: &Project) -> Vec<String> {
    project.journal().into_iter().map(|row| row.row.task_title).collect()
}

#[test]
fn tasks_run_by_priority_then_age_after_their_dependencies() {
    let project = Project::plain([worker()]);
    let old = project.task("Old");
    let with = |title: &str, priority, after: &[&ralph_model::TaskId]| {
        project.add(&NewTask {
            priority: Priority(priority),
            after: after.iter().map(|id| (*id).clone()).collect(),
            ..NewTask::titled(title)
        })
    };
    let last = with("Last", 9, &[]);
    let waits = with("Waits", 1, &[&last]);
    let first = with("First", 2, &[]);
    project.task("Young");
    let ran = project.run();
    assert_eq!(order(&project), ["First", "Old", "Young", "Last", "Waits"]);
    assert_eq!((ran.code(), ran.iterations), (0, 5));
    for task in [old, last, waits, first] {
        assert_eq!(project.status(&task), TaskStatus::Done);
    }
}

#[test]
fn siblings_of_a_failed_task_run_and_exit_code_is_4() {
    let mut project = Project::plain([worker()]);
    project.config.execution.max_retries = 1;
    let parent = project.task("Parent");
    let below = |title: &str, after| {
        project.add(&NewTask {
            parent: Some(parent.clone()),
            after,
            ..NewTask::titled(title)
        })
    };
    let bad = below("Bad", Vec::new());
    let behind = below("Behind", vec![bad.clone()]);
    let sibling = below("Sibling", Vec::new());
    let other = project.task("Other");
    let ran = project.run();
    assert_eq!(order(&project), ["Bad", "Bad", "Sibling", "Other"]);
    let statuses = [&parent, &bad, &behind, &sibling, &other].map(|task| project.status(task));
    let expected = [
        TaskStatus::Failed,
        TaskStatus::Failed,
        TaskStatus::Blocked,
        TaskStatus::Done,
        TaskStatus::Done,
    ];
    assert_eq!((statuses, ran.code()), (expected, 4));
    let Some(End::NeedsAttention(standing)) = ran.end else {
        panic!("{ran:?}")
    };
    assert_eq!(
        (standing.done, standing.failed, standing.waiting, standing.open),
        (2, 1, 1, 0)
    );
}

#[test]
fn fault_30_complete_is_ignored_while_tasks_are_open() {
    for dialect in [Dialect::Plain, Dialect::Claude] {
        let complete = say("<promise>COMPLETE</promise>");
        let turns = [
            // Without a sigil for its task it does not count as done.
            vec![complete.clone()],
            vec![append("a.txt", "1"), say(DONE), complete.clone()],
            vec![
                append("a.txt", "2"),
                say(&format!("{DONE}\n<promise>COMPLETE</promise>")),
            ],
        ];
        let project = Project::new(dialect, turns);
        project.task("A");
        project.task("B");
        let ran = project.run();
        let first = ["A blocked: no_sigil", "A done: task_done", "B done: task_done"];
        let story = project.story();
        if dialect == Dialect::Plain {
            assert_eq!(story, first);
        }
        assert_eq!((ran.code(), story.last().unwrap().as_str()), (0, first[2]));
        assert!(ran.seen.notices.contains(&Notice::CompleteTooEarly));
    }
}

#[test]
fn fault_4_a_limit_of_n_runs_n_iterations() {
    for (limit, code) in [(1, 4), (2, 4), (3, 0), (4, 0)] {
        let mut project = Project::plain([worker()]);
        project.config.limits.iterations = Some(limit);
        for title in ["A", "B", "C"] {
            project.task(title);
        }
        let ran = project.run();
        let expected = (limit.min(3), code);
        assert_eq!((ran.iterations, ran.code()), expected, "{ran:?}");
        assert_eq!(project.agent.turns(), limit.min(3) as usize);
    }
}

#[test]
fn consecutive_failure_limit_gives_up_one_task() {
    let mut project = Project::plain([worker()]);
    project.config.limits.consecutive_failures = Some(2);
    for title in ["Good", "Bad", "After"] {
        project.task(title);
    }
    let ran = project.run();
    assert_eq!(order(&project), ["Good", "Bad", "Bad", "After"]);
    assert_eq!(
        (ran.code(), ran.end.unwrap().sentence().as_str()),
        (4, "Stopped: 1 task failed.")
    );
    let reason = &project.journal()[2].row.reason;
    assert!(reason.ends_with("Gave up: 2 attempts in a row failed."), "{reason}");
}

#[test]
fn cost_limit_ends_the_run() {
    // Every agent turn and every verification costs 0.25.
    for (verify, expected) in [(false, 3), (true, 2)] {
        let mut project = Project::new(Dialect::Claude, [worker()]);
        project.config.execution.verify = verify;
        project.config.limits.cost_usd = Some(0.6);
        for title in ["A", "B", "C", "D"] {
            project.task(title);
        }
        let ran = project.run();
        assert_eq!((ran.code(), ran.iterations), (4, expected), "with a verifier: {verify}");
        assert_eq!(project.status(&project.tasks()[3].id), TaskStatus::Pending);
    }
}

/// A prompt file that is run repeatedly, as one task.
fn prompt_loop(project: &Project) -> ralph_model::TaskId {
    project.add(&NewTask {
        kind: TaskKind::PromptLoop,
        description: "Write until there are three lines.".to_owned(),
        ..NewTask::titled("PROMPT.md")
    })
}

#[test]
fn prompt_loop_repeats_until_complete_and_gates_pass() {
    let turns = [
        vec![append("lines.txt", "1\n"), say("One.")],
        // Too early: the gate requires three lines.
        vec![append("lines.txt", "2\n"), say("<promise>COMPLETE</promise>")],
        vec![append("lines.txt", "3\n"), say("Now there are three.")],
        vec![write("end.txt", "x"), say("<promise>COMPLETE</promise>")],
    ];
    let mut project = Project::plain(turns).gated(&["test ! -e lines.txt || test $(wc -l < lines.txt) -ne 2"]);
    project.config.execution.max_retries = 0;
    let task = prompt_loop(&project);
    let ran = project.run();
    let expected = [
        "done: no_sigil",
        "retried: task_done",
        "done: no_sigil",
        "done: task_done",
    ];
    assert_eq!(project.story(), expected.map(|row| format!("PROMPT.md {row}")));
    assert_eq!((ran.code(), project.status(&task)), (0, TaskStatus::Done));
}

#[test]
fn only_the_iteration_limit_ends_an_incomplete_prompt_loop() {
    let mut project = Project::plain([vec![append("lines.txt", "x\n"), say("More.")]]);
    project.config.limits.iterations = Some(6);
    let task = prompt_loop(&project);
    let ran = project.run();
    assert_eq!((ran.code(), ran.iterations), (4, 6));
    let record = project.load_task(&task);
    assert_eq!((record.status, record.retries_used), (TaskStatus::Pending, 0));
}

#[test]
fn agent_can_request_only_a_configured_next_model() {
    let turns = [
        vec![say("<next-model>gpt</next-model>"), append("a.txt", "1"), say(DONE)],
        vec![
            append("a.txt", "2"),
            say(&format!("<next-model>Opus</next-model> {DONE}")),
        ],
        vec![append("a.txt", "3"), say(DONE)],
        vec![append("a.txt", "4"), say(DONE)],
    ];
    let mut project = Project::plain(turns);
    project.config.agent.models = ["haiku", "sonnet", "opus"].map(str::to_owned).to_vec();
    for title in ["A", "B", "C", "D"] {
        project.task(title);
    }
    let ran = project.run();
    let models: Vec<String> = project.journal().into_iter().filter_map(|row| row.row.model).collect();
    assert_eq!(models, ["sonnet", "sonnet", "opus", "sonnet"]);
    assert_eq!(ran.seen.notices, [Notice::UnknownModel("gpt".to_owned())]);
    // A model that is not configured counts as malformed.
    let malformed: Vec<u32> = project.journal().iter().map(|row| row.row.malformed_sigils).collect();
    assert_eq!(malformed, [1, 0, 0, 0]);
    let model = |turn| project.agent.call(turn).environment.get("RALPH_MODEL").cloned();
    assert_eq!(
        (model(2), model(3)),
        (Some("sonnet".to_owned()), Some("opus".to_owned()))
    );
}

#[test]
fn fault_5_earlier_failures_do_not_pin_the_strongest_model() {
    let mut project = Project::new(Dialect::Claude, [worker()]);
    project.config.agent.models = ["haiku", "sonnet", "opus"].map(str::to_owned).to_vec();
    project.config.limits.iterations = Some(1);
    project.task("Bad");
    for _ in 0..3 {
        project.run();
    }
    project.task("Good");
    project.config.limits.iterations = None;
    project.run();
    let rows = project.journal();
    let outcomes: Vec<String> = rows.iter().map(|row| row.row.outcome.to_string()).collect();
    assert_eq!(outcomes, ["failed", "failed", "failed", "failed", "done"]);
    let models: Vec<&str> = rows.iter().filter_map(|row| row.row.model.as_deref()).collect();
    // Only the task that keeps failing gets the strongest model; the next one starts in the middle.
    assert_eq!(models, ["sonnet", "sonnet", "opus", "opus", "sonnet"]);
}
