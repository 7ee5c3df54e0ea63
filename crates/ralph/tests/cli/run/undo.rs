//! Tests of `ralph undo`, which undoes the code, tasks and memory of finished work and can itself be undone.

use ralph_testkit::scripted::{Script, if_prompt_contains, run, say, write};

use super::isolation::{add, commit, log, project};
use super::{DONE, Scene};
use crate::json;
use ralph_testkit::Terminal;

/// Five landed tasks, each with its own file and memory; the third also wrote `shared.txt`.
fn five_landed() -> (Scene, Vec<String>) {
    let own = |rest| {
        let own = [
            write("{task}.txt", "work\n"),
            run("ralph remember \"memory of $RALPH_ITERATION\""),
        ];
        own.into_iter().chain(rest).chain([say(DONE)]).collect::<Vec<_>>()
    };
    let third = own(vec![write("shared.txt", "third\n")]);
    let scene = project(&Script::new().turn([if_prompt_contains("**Task 3**", third, own(Vec::new()))]));
    let tasks: Vec<String> = (1..=5).map(|number| add(&scene, &format!("Task {number}"))).collect();
    scene.env.write("mine.txt", "my own change\n");
    let finished = scene.run(&["--trust"]);
    assert_eq!(finished.code, Some(0), "{finished}");
    (scene, tasks)
}

fn status(scene: &Scene, task: &str) -> String {
    json(&scene.env, &["task", "show", task, "--json"])["status"]
        .as_str()
        .unwrap()
        .to_owned()
}

fn exists(scene: &Scene, file: &str) -> bool {
    scene.env.path(file).exists()
}

fn memories(scene: &Scene) -> Vec<String> {
    let all = json(&scene.env, &["memory", "list", "--json"]);
    let mut texts: Vec<String> = all
        .as_array()
        .unwrap()
        .iter()
        .map(|memory| memory["content"].as_str().unwrap().to_owned())
        .collect();
    texts.sort();
    texts
}

/// Undoes a target and returns the id of the rollback.
fn undo(scene: &Scene, target: &str) -> String {
    let undone = scene.ralph(&["undo", target, "--yes", "--json"]).run();
    assert_eq!(undone.code, Some(0), "{undone}");
    let undone: serde_json::Value = serde_json::from_str(&undone.stdout).unwrap();
    undone["rollback"].as_str().unwrap().to_owned()
}

/// Whether an undo was interrupted.
fn is_interrupted(scene: &Scene) -> bool {
    json(&scene.env, &["status", "--json"])["interrupted_rollbacks"] != serde_json::json!([])
}

#[test]
fn one_of_five_tasks_is_undone_and_restored() {
    let (scene, tasks) = five_landed();
    let third = tasks[2].as_str();
    let file = format!("{third}.txt");
    let planned = scene.ralph(&["undo", third, "--dry-run"]).run();
    assert!(
        planned.stdout.starts_with(&format!("{third}: reopened, "))
            && planned.stdout.contains(": removed: memory of 3\n"),
        "{planned}"
    );
    let refused = scene.ralph(&["undo", third]).run();
    assert!(refused.stderr.contains("nothing was changed"), "{refused}");
    assert_eq!(log(&scene).len(), 6);

    let undone = scene
        .ralph(&["undo", third, "--yes", "--comment", "keep it short"])
        .run();
    assert_eq!(undone.code, Some(0), "{undone}");
    assert_eq!(log(&scene)[6..], ["Revert \"Task 3\""]);
    assert!(!exists(&scene, &file) && !exists(&scene, "shared.txt"));
    assert_eq!(status(&scene, third), "pending");
    assert_eq!(
        memories(&scene),
        [1, 2, 4, 5].map(|number| format!("memory of {number}"))
    );
    // Everything else is kept.
    for other in tasks.iter().filter(|task| *task != third) {
        assert_eq!(status(&scene, other), "done");
        assert!(exists(&scene, &format!("{other}.txt")));
    }
    assert_eq!(scene.env.read("mine.txt"), "my own change\n");
    assert_eq!(
        scene.env.git(["status", "--porcelain", "--untracked-files=no"]),
        " M mine.txt\n"
    );
    let prompt = scene.ralph(&["prompt", third]).run();
    assert!(prompt.stdout.contains("keep it short"), "{prompt}");
    let again = scene.ralph(&["undo", third, "--yes"]).run();
    assert!(again.stderr.contains("is already undone"), "{again}");

    let hint = again.stderr.rsplit_once("`ralph undo ").unwrap().1;
    undo(&scene, hint.split_once('`').unwrap().0);
    assert_eq!(log(&scene)[7..], ["Reapply \"Task 3\""]);
    assert_eq!(scene.env.read("shared.txt"), "third\n");
    assert_eq!(status(&scene, third), "done");
    assert_eq!(memories(&scene).len(), 5);

    // It can be undone again, and a run redoes it.
    let id = undo(&scene, third);
    assert!(!exists(&scene, "shared.txt"));
    let finished = scene.run(&["--trust"]);
    assert_eq!(finished.code, Some(0), "{finished}");
    assert_eq!(scene.env.read("shared.txt"), "third\n");
    let refused = scene.ralph(&["undo", &id, "--yes"]).run();
    assert!(refused.stderr.contains("is no longer open"), "{refused}");
}

#[test]
fn undo_conflict_changes_nothing() {
    let (scene, tasks) = five_landed();
    let third = tasks[2].as_str();
    scene.env.git(["checkout", "--quiet", "--", "mine.txt"]);
    scene.env.write("shared.txt", "later\n");
    commit(&scene, "a person builds on it");
    let before = (log(&scene), memories(&scene));
    let refused = scene.ralph(&["undo", third, "--yes"]).run();
    assert_eq!(refused.code, Some(1), "{refused}");
    assert!(
        refused.stderr.contains("it conflicts with main in shared.txt"),
        "{refused}"
    );
    assert_eq!((log(&scene), memories(&scene)), before);
    assert_eq!(status(&scene, third), "done");
    assert_eq!(scene.env.git(["status", "--porcelain"]), "");
    assert!(!is_interrupted(&scene));

    // A conflicting local change is kept as well.
    scene.env.git(["reset", "--quiet", "--hard", "HEAD^"]);
    scene.env.write("shared.txt", "my own\n");
    let refused = scene.ralph(&["undo", third, "--yes"]).run();
    assert!(refused.stderr.contains("a local change is in the way"), "{refused}");
    assert_eq!(scene.env.read("shared.txt"), "my own\n");
    assert_eq!(status(&scene, third), "done");
    assert!(!is_interrupted(&scene));
}

#[test]
fn whole_run_is_undone() {
    let (scene, tasks) = five_landed();
    let run = json(&scene.env, &["journal", "list", "--json"])[0]["run"]
        .as_str()
        .unwrap()
        .to_owned();
    let undone = scene.ralph(&["undo", &run, "--dry-run"]).run();
    assert_eq!(undone.stdout.matches(": reopened, ").count(), 5, "{undone}");
    let id = undo(&scene, &run);
    assert_eq!(memories(&scene), [""; 0]);
    assert!(tasks.iter().all(|task| status(&scene, task) == "pending"));
    assert_eq!(scene.env.git(["diff", "--stat", "HEAD~10", "HEAD"]), "");
    undo(&scene, &id);
    assert_eq!(
        log(&scene)[11..],
        (1..=5)
            .map(|number| format!("Reapply \"Task {number}\""))
            .collect::<Vec<_>>()
    );
    assert!(tasks.iter().all(|task| status(&scene, task) == "done"));
    assert_eq!(memories(&scene).len(), 5);
}

#[test]
fn list_is_undone_with_its_items() {
    let scene = project(&Script::new().turn([
        write("{task}.txt", "work\n"),
        run("ralph remember \"memory of $RALPH_ITERATION\""),
        say(DONE),
    ]));
    scene.env.write("PLAN.md", "- [ ] one\n- [ ] two\n");
    commit(&scene, "plan");
    assert_eq!(scene.run(&["PLAN.md", "--trust"]).code, Some(0));
    let list = json(&scene.env, &["task", "list", "--all", "--json"])[0].clone();
    assert_eq!(
        (&list["title"], &list["status"]),
        (&"PLAN.md".into(), &"done".into()),
        "{list}"
    );
    let id = undo(&scene, list["id"].as_str().unwrap());
    assert_eq!(scene.env.git(["diff", "--stat", "HEAD~4", "HEAD"]), "");
    assert_eq!(memories(&scene), [""; 0]);
    assert_eq!(status(&scene, list["id"].as_str().unwrap()), "pending");
    undo(&scene, &id);
    assert_eq!(status(&scene, list["id"].as_str().unwrap()), "done");
    assert_eq!(memories(&scene).len(), 2);
}

/// Waits for a finished task and the keys below it.
fn asked(terminal: &mut Terminal, title: &str) {
    terminal.shows("+work");
    terminal.shows(title);
    terminal.shows("evidence: gates, commit ");
    terminal.shows("n send back");
}

#[test]
fn review_accepts_sends_back_or_undoes_code() {
    let (scene, tasks) = five_landed();
    let review = scene.ralph(&["review"]).env("NO_COLOR", "1").env("GIT_PAGER", "cat");
    let mut terminal = Terminal::start(review, 100);
    asked(&mut terminal, "1 of 5: a finished task");
    terminal.types("y");
    terminal.shows(&format!("Task accepted: {}", tasks[0]));
    asked(&mut terminal, "2 of 5");
    terminal.types("n");
    terminal.shows("What should be different?");
    terminal.types("never use tabs\r");
    terminal.shows(&format!("Task sent back: {}", tasks[1]));
    terminal.shows("n only for this task");
    terminal.types("y");
    terminal.shows("Guardrail stored: ");
    asked(&mut terminal, "3 of 5");
    terminal.types("u");
    terminal.shows(&format!("{}: reopened, ", tasks[2]));
    terminal.shows("n leave it");
    terminal.types("y");
    terminal.shows("Undid 1 task");
    asked(&mut terminal, "4 of 5");
    terminal.types("s");
    asked(&mut terminal, "5 of 5");
    terminal.types("l");
    let (code, _) = terminal.end();
    assert_eq!(code, Some(0));
    let statuses: Vec<String> = tasks.iter().map(|task| status(&scene, task)).collect();
    assert_eq!(statuses, ["done", "pending", "pending", "done", "done"]);
    let prompt = scene.ralph(&["prompt", &tasks[1]]).run();
    assert_eq!(prompt.stdout.matches("never use tabs").count(), 2, "{prompt}");
    // A task sent back keeps its code, and an undecided one is shown again.
    assert!(exists(&scene, &format!("{}.txt", tasks[1])) && !exists(&scene, "shared.txt"));
    let left = json(&scene.env, &["review", "--json"])["finished_tasks"].clone();
    let left: Vec<&str> = left
        .as_array()
        .unwrap()
        .iter()
        .map(|task| task["id"].as_str().unwrap())
        .collect();
    assert_eq!(left, [&tasks[3], &tasks[4]]);
    let accepted = scene.ralph(&["review", "--accept", &tasks[3], &tasks[4]]).run();
    assert_eq!(accepted.code, Some(0), "{accepted}");
    assert_eq!(scene.ralph(&["review"]).run().stdout, "Nothing needs review.\n");
}

#[test]
fn work_sent_back_is_undone_and_restored_in_order() {
    let scene = project(
        &Script::new()
            .turn([write("a.txt", "one\n"), say(DONE)])
            .turn([write("a.txt", "two\n"), say(DONE)]),
    );
    let task = add(&scene, "Task");
    assert_eq!(scene.run(&["--trust"]).code, Some(0));
    assert_eq!(scene.ralph(&["task", "reset", &task]).run().code, Some(0));
    assert_eq!(scene.run(&["--trust"]).code, Some(0));
    for _ in 0..2 {
        let id = undo(&scene, &task);
        assert!(!exists(&scene, "a.txt"));
        assert_eq!(status(&scene, &task), "pending");
        undo(&scene, &id);
        assert_eq!(scene.env.read("a.txt"), "two\n");
        assert_eq!(status(&scene, &task), "done");
    }
    let shown = json(&scene.env, &["task", "show", &task, "--json"]);
    assert_eq!(shown["commit"], scene.env.git(["rev-parse", "HEAD"]).trim(), "{shown}");
}

#[test]
fn rollback_and_undo_do_not_finish_each_other() {
    let (scene, tasks) = five_landed();
    let third = tasks[2].as_str();
    let rolled_back = scene.ralph(&["rollback", third, "--yes"]).run();
    assert_eq!(rolled_back.code, Some(0), "{rolled_back}");
    assert_eq!((memories(&scene).len(), status(&scene, third).as_str()), (4, "done"));
    let id = undo(&scene, third);
    assert!(!exists(&scene, "shared.txt"));
    undo(&scene, &id);
    assert_eq!(
        memories(&scene).len(),
        4,
        "the memory was rolled back by the other command"
    );
}

#[test]
fn review_continues_without_git_changes() {
    let scene = project(&Script::new().turn([say(DONE)]));
    let task = add(&scene, "Nothing");
    assert_eq!(scene.run(&["--trust"]).code, Some(4));
    let review = scene.ralph(&["review"]).env("NO_COLOR", "1").env("GIT_PAGER", "cat");
    let mut terminal = Terminal::start(review, 100);
    terminal.shows("1 of 1: an unverified task");
    terminal.shows("n send back");
    terminal.types("y");
    terminal.shows(&format!("Task accepted: {task}"));
    assert_eq!(terminal.end().0, Some(0));
}
