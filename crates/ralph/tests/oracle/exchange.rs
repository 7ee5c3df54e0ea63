//! Files of other tools, in and out.

use ralph_testkit::scripted::Script;

use crate::story::Story;

/// A store of learnings as AIWG writes it, with keys that ralph does not know.
const STORE: &str = r#"{"version":"1.0.0","learnings":[{"id":"learn-abc","type":"strategy","taskType":"bug-fix","content":{"description":"Run cargo check first","examples":["a"],"custom":1},"confidence":0.85,"sourceLoops":["loop-1"],"createdAt":"2024-10-12T00:00:00.000Z","updatedAt":"2024-10-12T00:00:00.000Z","useCount":5,"successRate":0.9,"extra":"kept"},{"id":"learn-def","type":"anti-pattern","taskType":"bug-fix","content":{"description":"Editing generated files"},"confidence":0.6,"sourceLoops":["loop-1","loop-2"],"createdAt":"2024-10-12T00:00:00.000Z","updatedAt":"2024-10-12T00:00:00.000Z","useCount":0,"successRate":0}]}"#;

#[test]
fn learnings_of_aiwg() {
    let mut story = Story::new(&Script::new());
    story.env.write("store.json", STORE);
    story.json(&["learnings", "import", "store.json", "--force", "--json"]);
    story.json(&["learnings", "list", "--all", "--json"]);
    story.act(&["learnings", "export", "json", "--to", "out.json"]);
    story.file("out.json");
    story.json(&["learnings", "import", "out.json", "--json"]);
    story.act(&["learnings", "export", "csv", "--to", "out.csv"]);
    story.file("out.csv");
    story.facts();
    story.end("learnings_of_aiwg");
}

#[test]
fn project_of_ralph_orchestrator() {
    let mut story = Story::new(&Script::new());
    story.env.write(
        ".ralph/agent/memories.md",
        "# Memories\n\n## Patterns\n\n### mem-1737372000-a1b2\n> Old one\n<!-- tags: imports | created: 2025-01-20 -->\n",
    );
    story.env.write(
        "ralph.yml",
        "memories:\n  enabled: true\n  inject: manual\n  budget: 1234\n",
    );
    story.act(&["tools", "memory", "add", "New one", "--format", "quiet"]);
    story.json(&["tools", "memory", "list", "--format", "json"]);
    story.act(&["init"]);
    story.file(".ralph/agent/memories.md");
    story.json(&["config", "--json"]);
    story.folder(".");
    story.end("project_of_ralph_orchestrator");
}

#[test]
fn claude_code() {
    let mut story = Story::new(&Script::new());
    story
        .env
        .write(".claude/settings.json", "{\n  // mine\n  \"model\": \"opus\"\n}\n");
    story.act(&["memory", "add", "§ One memory", "--tags", "a"]);
    story.act(&["setup", "claude", "--yes"]);
    story.folder(".claude");
    let printed = story.act_with(
        &["hook", "session-start"],
        "{\"session_id\":\"s\",\"cwd\":\".\",\"hook_event_name\":\"SessionStart\",\"source\":\"startup\"}",
    );
    assert!(printed.contains("§ One memory"), "{printed}");
    story.end("claude_code");
}
