//! A night of work: tasks that succeed, fail, split and interrupt, in a project without git and in one with it.

use ralph_testkit::scripted::{Script, if_prompt_contains, run, say, write};

use crate::story::Story;

const REPORT: &str = "\
<failure-report>
what_tried: § Looked for a calendar library.
why_failed: § The registry cannot be reached.
error_category: dependency_error
relevant_files: Cargo.toml
</failure-report>
<retry-suggestion>§ Write the rule of leap years by hand.</retry-suggestion>
<difficulty-estimate>hard</difficulty-estimate>
<learning category=\"pitfall\" tags=\"calendar, network\">§ There is no network: vendor the calendar.</learning>
<task-failed>{task} § no network</task-failed>";

const SUCCESS: &str = "\
<journal>§ The calendar rule is in dates.txt.</journal>
<knowledge tags=\"calendar, dates\" title=\"Leap years\">§ Every 4th year but the 100th.</knowledge>
<learning category=\"testing_strategy\" tags=\"calendar\">§ Test the calendar with the year 2100.</learning>
<task-done>{task}</task-done>";

const SETTINGS: &str = "\
[agent]
command = \"scripted-agent\"
models = [\"haiku\", \"sonnet\", \"opus\"]
[strategy]
name = \"escalate\"
[verify]
commands = [\"test ! -e broken\"]
";

fn script() -> Script {
    Script::new()
        .turn([write("notes.txt", "no network\n"), say(REPORT)])
        .turn([
            run("ralph remember '§ The calendar has no network' --tags calendar"),
            write("dates.txt", "rule\n"),
            say(SUCCESS),
        ])
        .turn([write("broken", "x\n"), say("<task-done>{task}</task-done>")])
        .turn([
            run("rm -f broken"),
            write("door.txt", "green\n"),
            say("<memory-used>none</memory-used> <task-done>{task}</task-done>"),
        ])
        .turn([say("<learning>no category</learning> I say nothing of the task.")])
        .turn([if_prompt_contains(
            "§ Test the calendar with the year 2100.",
            [write("print.txt", "dates\n"), say("<task-done>{task}</task-done>")],
            [say("<task-failed>{task} it forgot</task-failed>")],
        )])
}

fn night(mut story: Story, name: &str) {
    story.env.write(".ralph.toml", SETTINGS);
    if name == "night_in_git" {
        story.env.git(["add", "."]);
        story.env.git(["commit", "-q", "-m", "settings"]);
    }
    story.act(&[
        "guardrails",
        "add",
        "§ Never touch the calendar of the users",
        "--tags",
        "calendar",
    ]);
    story.act(&[
        "memory",
        "add",
        "§ Dates are in UTC in every calendar",
        "--tags",
        "calendar",
    ]);
    story.env.write(
        "plan.md",
        "- [ ] § Count the days of a month in the calendar\n- [ ] § Paint the door\n- [ ] § Print dates of the calendar\n",
    );
    story.events(&["run", "plan.md", "--json"]);
    story.file("plan.md");
    story.prompts();
    story.facts();
    let tasks = story.json(&["task", "list", "--all", "--json"]);
    let first = tasks[1]["id"].as_str().unwrap_or_default().to_owned();
    for arguments in [
        &["status", "--json"][..],
        &["review", "--json"],
        &["why", "--json"],
        &["why", "1", "--json"],
        &["journal", "list", "--json"],
        &["journal", "show", "1", "--json"],
        &["journal", "search", "calendar registry", "--json"],
        &["learnings", "list", "--all", "--json"],
        &["learnings", "stats", "--json"],
        &["stats", "--json"],
        &["task", "show", &first, "--json"],
        &["task", "log", &first, "--json"],
        &["recall", "calendar network", "--json"],
        &["knowledge", "list", "--json"],
    ] {
        story.json(arguments);
    }
    story.file(".agent/memories.md");
    story.file(".agent/guardrails.md");
    story.file(".ralph/knowledge/leap-years.md");
    story.folder(".ralph/runs");
    if name == "night_in_git" {
        story.json(&["branches", "--json"]);
    }
    story.end(name);
}

#[test]
fn night_in_place() {
    night(Story::new(&script()), "night_in_place");
}

#[test]
fn night_in_git() {
    night(Story::in_git(&script()), "night_in_git");
}
