//! Memories, guardrails, knowledge and the scratchpad: files byte for byte, JSON, history.

use ralph_testkit::scripted::Script;

use crate::story::Story;

const MEMORIES: &str = ".agent/memories.md";
const GUARDRAILS: &str = ".agent/guardrails.md";

/// What people leave in a file of memories: prose, odd spacing, an unknown section, a malformed block, a fence.
const BY_HAND: &str = "\
# Memories\r
\r
Read me first.\r
## Decisions\r
\r
### mem-1700000000-c3d4\r
> Chose SQLite for events: one file, no server\r
>\r
> ## Not a heading\r
<!-- tags: storage, database | created: 2023-11-14 -->\r
<!-- ralph: reason=one%20file; source=review -->\r
\r
## Ideas\r
\r
### mem-1736000000-0000\r
> Nobody reads this.\r
\r
### mem-bad\r
> malformed\r
```\r
### mem-1736000001-0001\r
```\r
";

#[test]
fn memories() {
    let mut story = Story::new(&Script::new());
    story.json(&["memory", "list", "--json"]);
    let first = story.id(&[
        "memory",
        "add",
        "Handlers return { success, data }.",
        "--tags",
        "api,http",
        "--format",
        "quiet",
    ]);
    story.id(&[
        "memory",
        "add",
        "fix: port 5432 is taken by the test database",
        "--type",
        "fix",
        "--tags",
        "docker, database",
        "--format",
        "quiet",
    ]);
    let lines = story.act_with(
        &["memory", "add", "-", "--type", "context", "--format", "quiet"],
        "line one\n\n> quoted --> <!-- tags: x -->\n### mem-1700000000-ffff\n",
    );
    let third = lines.trim().to_owned();
    story.act(&["remember", "Handlers return { success, data }."]);
    story.file(MEMORIES);
    story.json(&["memory", "list", "--json"]);
    story.json(&["memory", "list", "--json", "--last", "1"]);
    story.json(&["memory", "show", &third, "--json"]);
    story.json(&["memory", "search", "test database port", "--json"]);
    story.json(&["recall", "which port has the database?", "--json"]);
    story.act(&[
        "memory",
        "edit",
        &first,
        "--content",
        "Handlers return { data }.",
        "--tags",
        "api",
    ]);
    story.act(&["memory", "delete", &third]);
    story.json(&["memory", "restore", "--list", "--json"]);
    story.act(&["memory", "restore", &third]);
    story.file(MEMORIES);
    story.json(&["memory", "validate", "--json"]);
    story.json(&["memory", "prime", "--json"]);
    story.act(&["memory", "show", "mem-1-0000"]);
    story.act(&["memory", "init"]);
    story.json(&["blame", &first, "--json"]);
    story.facts();
    story.folder(".");
    story.end("memories");
}

#[test]
fn memories_edited_by_hand() {
    let mut story = Story::new(&Script::new());
    story.env.write(MEMORIES, BY_HAND);
    story.json(&["memory", "list", "--json"]);
    story.json(&["memory", "validate", "--json"]);
    story.act(&["memory", "add", "A new one.", "--type", "decision"]);
    story.file(MEMORIES);
    story.act(&["memory", "delete", "mem-1700000000-c3d4"]);
    story.file(MEMORIES);
    story.facts();
    story.end("memories_edited_by_hand");
}

#[test]
fn guardrails() {
    let mut story = Story::new(&Script::new());
    story.env.write(
        GUARDRAILS,
        "# Guardrails\n\n### Sign: Database\n- **Trigger**: database down\n- **Instruction**: start docker\n\n<!--\n### Sign: Example\n- **Trigger**: x\n- **Instruction**: y\n-->\n",
    );
    story.json(&["guardrails", "list", "--json"]);
    story.json(&["guardrails", "migrate", "--json"]);
    story.file(GUARDRAILS);
    let rule = story.id(&[
        "guardrails",
        "add",
        "commands.txt is generated",
        "--deny-path",
        "commands.txt",
        "--type",
        "decision",
        "--format",
        "quiet",
    ]);
    story.id(&[
        "guardrails",
        "add",
        "Keep it fast",
        "--check",
        "test -e fast",
        "--format",
        "quiet",
    ]);
    story.file(GUARDRAILS);
    story.json(&["guardrails", "list", "--json"]);
    story.json(&["guardrails", "promote", &rule, "--json"]);
    story.file(GUARDRAILS);
    story.file(MEMORIES);
    story.json(&["guardrails", "validate", "--json"]);
    story.json(&["recall", "generated commands", "--json"]);
    story.end("guardrails");
}

#[test]
fn knowledge() {
    let mut story = Story::new(&Script::new());
    story.act(&[
        "knowledge",
        "add",
        "Payments API: \"versioning\" --- now",
        "--tags",
        "payments,api",
        "Use a header. See [[Ledger]].",
    ]);
    story.act(&[
        "knowledge",
        "add",
        "Ledger",
        "--tags",
        "payments",
        "Double entry.\n\nEvery row.",
    ]);
    story.act(&[
        "knowledge",
        "add",
        "ledger",
        "--tags",
        "accounting",
        "Double entry, again.",
    ]);
    story.folder(".ralph/knowledge");
    story.file(".ralph/knowledge/ledger.md");
    story.file(".ralph/knowledge/payments-api-versioning-now.md");
    story.json(&["knowledge", "list", "--json"]);
    story.json(&["knowledge", "show", "Ledger", "--json"]);
    story.json(&["knowledge", "search", "double entry", "--json"]);
    story.act(&["knowledge", "delete", "ledger"]);
    story.json(&["knowledge", "list", "--json"]);
    story.act(&["knowledge", "restore", "ledger"]);
    story.file(".ralph/knowledge/ledger.md");
    story.facts();
    story.end("knowledge");
}

#[test]
fn scratchpad() {
    let mut story = Story::new(&Script::new());
    story.json(&["scratchpad", "show", "--json"]);
    story.act(&["scratchpad", "append", "step 1 is done"]);
    story.act(&["scratchpad", "append", "step 2 is next"]);
    story.file(".agent/scratchpad.md");
    story.json(&["scratchpad", "show", "--json"]);
    story.act(&["scratchpad", "clear"]);
    story.folder(".agent");
    story.end("scratchpad");
}
