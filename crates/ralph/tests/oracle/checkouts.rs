//! Undo and rollback of landed work.

use ralph_testkit::scripted::{Script, run, say, write};

use crate::story::Story;

#[test]
fn undo_and_rollback() {
    let script = Script::new().turn([
        write("{task}.txt", "work\n"),
        run("ralph remember \"§ memory of $RALPH_ITERATION\""),
        say("<knowledge tags=\"a\" title=\"Entry {turn}\">§ text</knowledge><task-done>{task}</task-done>"),
    ]);
    let mut story = Story::in_git(&script);
    story.env.write(".ralph.toml", "[verify]\ncommands = [\"true\"]\n");
    story.env.git(["add", "."]);
    story.env.git(["commit", "-q", "-m", "settings"]);
    let first = story.id(&["task", "add", "§ One"]);
    story.id(&["task", "add", "§ Two"]);
    story.events(&["run", "--json"]);
    story.json(&["undo", &first, "--yes", "--json"]);
    story.json(&["task", "list", "--all", "--json"]);
    story.file(".agent/memories.md");
    story.folder(".ralph/knowledge");
    story.facts();
    story.end("undo_and_rollback");
}
