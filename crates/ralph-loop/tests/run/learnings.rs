//! Learnings of an iteration: its own task gets them at once, other tasks once there is evidence.

use ralph_model::config::Promote;
use ralph_model::{Learning, LearningSource, LearningStatus, TaskStatus};
use ralph_testkit::scripted::{Action, say, write};

use crate::bench::{Dialect, Project};

const DONE: &str = "<task-done>{task}</task-done>";
const LEARNING_SIGIL: &str =
    "<learning category=\"pitfall\" tags=\"quotes\">The lexer hangs on an open quote.</learning>";
const ITEM: &str = "- **[pitfall]** (by agent) The lexer hangs on an open quote.\n";

/// Reports a learning but no result.
fn unfinished() -> Vec<Action> {
    vec![write("src/lexer.rs", "x"), say(LEARNING_SIGIL)]
}

fn done() -> Vec<Action> {
    vec![write("done.txt", "x"), say(DONE)]
}

/// The learnings reported by agents, without those extracted from whole runs.
fn reported_learnings(project: &Project) -> Vec<Learning> {
    let mut learnings = project.store().learnings().unwrap();
    learnings.retain(|learning| learning.source == LearningSource::Sigil);
    learnings
}

#[test]
fn learning_reaches_other_tasks_after_a_second_report() {
    let mut project = Project::new(Dialect::Claude, [unfinished(), done(), done()]).in_git();
    let own = project.task("Repair the lexer");
    let other = project.task("Speed up src/lexer.rs with cargo bench");
    project.run();
    assert_eq!([&own, &other].map(|task| project.status(task)), [TaskStatus::Done; 2]);
    let has_item = |prompt: usize| project.agent.prompt(prompt).contains(ITEM);
    assert_eq!([1, 2, 3].map(has_item), [false, true, false]);
    let [learning] = reported_learnings(&project).try_into().unwrap();
    assert_eq!(learning.tags, ["quotes", "src/lexer.rs"]);
    assert_eq!(
        (learning.status, learning.use_count, learning.successes),
        (LearningStatus::Validated, 1, 1)
    );
    assert_eq!(project.journal()[2].row.tags, ["src/lexer.rs", "cargo"]);

    project.play([
        vec![write("more.txt", "x"), say(&format!("{LEARNING_SIGIL}{DONE}"))],
        done(),
    ]);
    project.task("Look elsewhere");
    project.task("Shorten src/lexer.rs");
    project.run();
    let has_item = |prompt: usize| project.agent.prompt(prompt).contains(ITEM);
    assert_eq!([1, 2].map(has_item), [false, true]);
    let [learning] = reported_learnings(&project).try_into().unwrap();
    assert_eq!((learning.status, learning.use_count), (LearningStatus::Promoted, 2));
    assert_eq!(learning.source_loops.len(), 2);
}

#[test]
fn review_mode_never_promotes_automatically() {
    let mut project = Project::plain([
        vec![write("a.txt", "x"), say(&format!("{LEARNING_SIGIL}{DONE}"))],
        done(),
    ])
    .in_git();
    project.config.learning.promote = Promote::Review;
    project.task("Repair the lexer");
    project.task("Repair the lexer again");
    project.run();
    assert!(!project.agent.prompt(2).contains(ITEM));
    let [learning] = reported_learnings(&project).try_into().unwrap();
    assert_eq!(learning.status, LearningStatus::Validated);
}
