//! Tests of `ralph import ralph-orchestrator`.

use insta::assert_snapshot;

use crate::{MEMORIES, changes, env, ids, json, names};

const TASKS: &str = ".ralph/agent/tasks.jsonl";
const THEIR_MEMORIES: &str = ".ralph/agent/memories.md";

const LINES: &str = r#"{"id":"task-1737372000-a1b2","title":"Set up","status":"closed","priority":1,"blocked_by":[],"created":"2025-01-20T11:20:00+00:00","closed":"2025-01-20T11:25:00+00:00"}
{"id":"task-1737372001-c3d4","title":"Log in","description":"Only those with an account.","status":"open","priority":2,"blocked_by":["task-1737372000-a1b2"],"loop_id":"main","created":"2025-01-20T11:20:01+00:00"}
{"id":"task-1737372002-e5f6","title":"Log out","status":"in_progress","priority":3,"blocked_by":["task-1737372001-c3d4","task-9"],"created":"2025-01-20T11:20:02+00:00"}
{"id":"task-1737372003-0718","title":
"#;

const NOTES: &str = "\
# Memories

## Patterns

### mem-1737372000-a1b2
> Handlers return { success, data }.
<!-- tags: api | created: 2025-01-20 -->

### mem-1737372001-c3d4
> Tests need a database.
<!-- tags: tests | created: 2025-01-20 -->

### mem-what
> no id
";

fn project() -> ralph_testkit::TestEnv {
    let env = env();
    env.write(TASKS, LINES);
    env
}

#[test]
fn a_dry_run_changes_nothing() {
    let env = project();
    env.write(THEIR_MEMORIES, NOTES);
    env.write(MEMORIES, "# Memories\n");
    let before = env.tree();
    let dry = env.ralph(["import", "ralph-orchestrator", "--dry-run"]).run();
    dry.printed(&[
        "Would import 3 tasks and 2 memories",
        "2 dependencies",
        "task-1737372000-a1b2 is t-ebf9fd",
        "nothing was changed",
        "--dry-run",
    ]);
    assert_eq!(env.tree(), before);
}

#[test]
fn tasks_and_memories_are_imported_once() {
    let env = project();
    env.write(THEIR_MEMORIES, NOTES);
    env.write(
        MEMORIES,
        "# Memories\n\n## Fixes\n\n### mem-1737372000-a1b2\n> Something else.\n",
    );
    assert_snapshot!(env.ralph(["import", "ralph-orchestrator"]).run(), @r#"
    exit 0
    --- stdout
    Imported 3 tasks and 2 memories

    ABOUT                        WHAT
    .ralph/agent/tasks.jsonl:4   EOF while parsing a value (column 37): skipped
    tasks                        1 task was in progress: imported as pending
    task-1737372002-e5f6         its dependency task-9 is missing: skipped
    .ralph/agent/memories.md:13  "mem-what" is not a valid id, so this block is not read
    mem-1737372000-a1b2          its id is taken: imported as mem-1737372000-910a

    Showing 5 remarks
    --- stderr
    Also imported 2 dependencies.
    3 tasks have another id here: task-1737372000-a1b2 is t-ebf9fd, task-1737372001-c3d4 is t-5d98e9, task-1737372002-e5f6 is t-7f154c.
    Next: `ralph task list` shows the tasks, `ralph run` works on them.
    "#);
    assert_eq!(
        (env.read(TASKS), env.read(THEIR_MEMORIES)),
        (LINES.to_owned(), NOTES.to_owned())
    );
    env.ralph(["task", "tree", "--all"]).run().printed(&[
        "✓ t-ebf9fd  Set up",
        "○ t-5d98e9  Log in",
        "◌ t-7f154c  Log out",
    ]);
    let memories = env.read(MEMORIES);
    for entry in [
        "### mem-1737372000-a1b2\n> Something else.\n",
        "### mem-1737372001-c3d4\n> Tests need a database.\n",
        "### mem-1737372000-910a\n> Handlers return { success, data }.\n<!-- tags: api | created: 2025-01-20 -->\n\
         <!-- ralph: source=mem-1737372000-a1b2 -->\n",
    ] {
        assert!(memories.contains(entry), "{entry} in {memories}");
    }
    let before = env.tree();
    let again = json(&env, &["import", "ralph-orchestrator", "--json"]);
    assert_eq!(again["tasks"], serde_json::json!({"added": 0, "known": 3}));
    assert_eq!(again["memories"], serde_json::json!({"added": 0, "known": 2}));
    // Remarks on tasks are not repeated for tasks that exist.
    assert!(!again["remarks"].to_string().contains("pending here"), "{again}");
    let changed = changes(&before, &env.tree());
    let machinery = |name: &String| name.contains("progress.db") || name.ends_with("run.lock");
    assert_eq!(changed.into_iter().filter(|name| !machinery(name)).count(), 0);
}

#[test]
fn later_edits_and_deletions_are_kept() {
    let env = project();
    env.write(THEIR_MEMORIES, NOTES);
    env.write(MEMORIES, "# Memories\n");
    env.ok(["import", "ralph-orchestrator"]);
    env.ok([
        "memory",
        "edit",
        "mem-1737372000-a1b2",
        "--content",
        "Handlers return data.",
    ]);
    env.ok(["memory", "delete", "mem-1737372001-c3d4"]);
    let again = json(&env, &["import", "ralph-orchestrator", "--json"]);
    assert_eq!(again["memories"], serde_json::json!({"added": 0, "known": 2}));
    assert_eq!(ids(&env, &["memory", "list"]), ["mem-1737372000-a1b2"]);
}

#[test]
fn memories_already_in_use_are_not_imported() {
    let env = project();
    env.write(THEIR_MEMORIES, NOTES);
    let finished = env.ralph(["import", "ralph-orchestrator"]).run();
    assert!(
        finished
            .stderr
            .contains(".ralph/agent/memories.md needs no import: ralph uses it directly."),
        "{finished}"
    );
    assert_eq!(env.read(THEIR_MEMORIES), NOTES);
    assert!(!env.path(MEMORIES).exists());
}

#[test]
fn secrets_are_skipped_and_reported() {
    let env = project();
    let secret = format!("ghp_{}", "a1B2".repeat(9));
    env.write(THEIR_MEMORIES, NOTES.replace("Tests need a database.", &secret));
    env.write(MEMORIES, "# Memories\n");
    let report = json(&env, &["import", "ralph-orchestrator", "--json"]);
    assert_eq!(report["memories"]["added"], 1);
    let remarks = report["remarks"].to_string();
    assert!(
        remarks.contains("looks like a secret") && !remarks.contains(&secret),
        "{remarks}"
    );
    let report = json(&env, &["import", "ralph-orchestrator", "--json", "--allow-secret"]);
    assert_eq!(report["memories"], serde_json::json!({"added": 1, "known": 1}));
}

#[test]
fn sources_can_be_projects_files_and_the_old_place() {
    let other = project();
    other.write(THEIR_MEMORIES, NOTES);
    let folder = other.project();
    let file = other.path(TASKS);
    for path in [folder.to_str().unwrap(), file.to_str().unwrap()] {
        let env = env();
        let report = json(&env, &["import", "ralph-orchestrator", path, "--json"]);
        assert_eq!(
            (&report["tasks"]["added"], &report["memories"]["added"]),
            (&3.into(), &2.into()),
            "{path}"
        );
        assert_eq!(ids(&env, &["memory", "list"]).len(), 2);
    }
    let env = env();
    env.write(".agent/tasks.jsonl", LINES);
    assert_eq!(
        json(&env, &["import", "ralph-orchestrator", "--json"])["tasks"]["added"],
        3
    );
}

#[test]
fn an_empty_source_is_an_error() {
    let env = env();
    env.write("x", "y");
    let before = names(&env);
    let nothing = env.ralph(["import", "ralph-orchestrator"]).run();
    nothing.refused(1, &["no tasks or memories of ralph-orchestrator", "tasks.jsonl"]);
    let gone = env.ralph(["import", "ralph-orchestrator", "gone.jsonl"]).run();
    assert_eq!(gone.code, Some(1), "{gone}");
    assert_eq!(names(&env), before);
}
