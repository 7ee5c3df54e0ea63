//! What an iteration learns: its own task reads it at once, others when there is evidence for it.

use ralph_model::config::Promote;
use ralph_model::{Learning, LearningSource, LearningStatus, TaskStatus};
use ralph_testkit::scripted::{Action, say, write};

use crate::bench::{Project, Speaks};

const DONE: &str = "<task-done>{task}</task-done>";
const TOLD: &str = "<learning category=\"pitfall\" tags=\"quotes\">The lexer hangs on an open quote.</learning>";
const ITEM: &str = "- **[pitfall]** (by agent) The lexer hangs on an open quote.\n";

/// It learns something, and does not come to an end.
fn unfinished() -> Vec<Action> {
    vec![write("src/lexer.rs", "x"), say(TOLD)]
}

fn done() -> Vec<Action> {
    vec![write("done.txt", "x"), say(DONE)]
}

/// The lessons that agents told; what is drawn from whole runs stands beside them.
fn told(project: &Project) -> Vec<Learning> {
    let mut learnings = project.store().learnings().unwrap();
    learnings.retain(|lesson| lesson.source == LearningSource::Sigil);
    learnings
}

#[test]
fn a_lesson_helps_its_own_task_at_once_and_others_when_another_iteration_has_told_it() {
    let mut project = Project::new(Speaks::Claude, [unfinished(), done(), done()]).in_git();
    let own = project.task("Mend the lexer");
    let other = project.task("Speed up src/lexer.rs with cargo bench");
    project.run();
    assert_eq!([&own, &other].map(|task| project.status(task)), [TaskStatus::Done; 2]);
    let holds = |prompt: usize| project.agent.prompt(prompt).contains(ITEM);
    assert_eq!([1, 2, 3].map(holds), [false, true, false]);
    let [lesson] = told(&project).try_into().unwrap();
    assert_eq!(lesson.tags, ["quotes", "src/lexer.rs"]);
    assert_eq!(
        (lesson.status, lesson.use_count, lesson.successes),
        (LearningStatus::Validated, 1, 1)
    );
    assert_eq!(project.journal()[2].row.tags, ["src/lexer.rs", "cargo"]);

    project.play([vec![write("more.txt", "x"), say(&format!("{TOLD}{DONE}"))], done()]);
    project.task("Look elsewhere");
    project.task("Shorten src/lexer.rs");
    project.run();
    let holds = |prompt: usize| project.agent.prompt(prompt).contains(ITEM);
    assert_eq!([1, 2].map(holds), [false, true]);
    let [lesson] = told(&project).try_into().unwrap();
    assert_eq!((lesson.status, lesson.use_count), (LearningStatus::Promoted, 2));
    assert_eq!(lesson.source_loops.len(), 2);
}

#[test]
fn where_a_person_decides_nothing_holds_by_itself() {
    let mut project = Project::plain([vec![write("a.txt", "x"), say(&format!("{TOLD}{DONE}"))], done()]).in_git();
    project.config.learning.promote = Promote::Review;
    project.task("Mend the lexer");
    project.task("Mend the lexer again");
    project.run();
    assert!(!project.agent.prompt(2).contains(ITEM));
    let [lesson] = told(&project).try_into().unwrap();
    assert_eq!(lesson.status, LearningStatus::Validated);
}
