//! Tasks, features and checklists without a run.

use ralph_testkit::scripted::Script;

use crate::story::Story;

#[test]
fn tasks() {
    let mut story = Story::new(&Script::new());
    let parent = story.id(&["task", "add", "Release 1.0", "--description", "All of it."]);
    let build = story.id(&["task", "add", "Build it", "--parent", &parent, "--priority", "1"]);
    let ship = story.id(&[
        "task",
        "add",
        "Ship it",
        "--parent",
        &parent,
        "--check",
        "test -e shipped",
    ]);
    story.act(&["task", "deps", &ship, "--add", &build]);
    story.act(&["task", "deps", &build, "--add", &ship]);
    story.json(&["task", "list", "--json"]);
    story.json(&["task", "tree", "--json"]);
    story.json(&["task", "show", &ship, "--json"]);
    story.json(&["task", "deps", &ship, "--json"]);
    story.act(&["task", "update", &build, "--title", "Build all", "--priority", "2"]);
    story.act(&["task", "done", &build]);
    story.act(&["task", "fail", &ship, "--reason", "no harbour"]);
    story.json(&["task", "list", "--all", "--json"]);
    story.json(&["status", "--json"]);
    story.act(&["task", "reset", &ship]);
    story.json(&["task", "log", &ship, "--json"]);
    story.act(&["task", "delete", &parent]);
    story.json(&["task", "list", "--all", "--json"]);
    story.act(&["task", "restore", &parent]);
    story.json(&["task", "list", "--all", "--json"]);
    story.act(&["task", "show", "t-ffffff"]);
    story.facts();
    story.end("tasks");
}

#[test]
fn features_and_checklists() {
    let mut story = Story::new(&Script::new());
    story.env.write(
        "plan.md",
        "# Plan\n\n- [ ] Parse dates\n  - [ ] Leap years\n    check: test -e dates\n- [x] Done before\n- [ ] Print dates\n",
    );
    story.json(&["task", "import", "plan.md", "--trust", "--json"]);
    story.json(&["task", "tree", "--all", "--json"]);
    story.env.write(
        "prd.json",
        r#"{"userStories": [{"id": "US-1", "title": "Log in", "description": "As a user", "acceptanceCriteria": ["a form"], "priority": 1, "passes": false}]}"#,
    );
    story.json(&["task", "import", "prd.json", "--json"]);
    story.json(&["feature", "create", "search", "--json"]);
    story.id(&["task", "add", "Index the texts", "--feature", "search"]);
    story.json(&["feature", "list", "--json"]);
    story.json(&["feature", "show", "search", "--json"]);
    story.folder(".ralph/features");
    story.facts();
    story.end("features_and_checklists");
}
