//! Learnings that people add, judge, replace and prune.

use ralph_testkit::scripted::Script;

use crate::story::Story;

#[test]
fn learnings() {
    let mut story = Story::new(&Script::new());
    let add = |story: &mut Story, text: &str, category: &str, tags: &str| {
        story.id(&[
            "learnings",
            "add",
            text,
            "--category",
            category,
            "--tags",
            tags,
            "--format",
            "quiet",
        ])
    };
    let first = add(
        &mut story,
        "Run the tests with --locked.",
        "testing_strategy",
        "cargo,tests",
    );
    let second = add(
        &mut story,
        "Never run the tests in parallel with the server.",
        "pitfall",
        "tests,server",
    );
    let third = add(&mut story, "Modules have one file each.", "code_structure", "modules");
    add(&mut story, "Run the tests with --locked.", "testing_strategy", "cargo");
    for arguments in [
        &["learnings", "list", "--json"][..],
        &["learnings", "show", &first, "--json"],
        &["learnings", "query", "tests", "--json"],
        &["learnings", "query", "--for", "run the tests of the server", "--json"],
        &["learnings", "conflicts", "--json"],
        &[
            "learnings",
            "update",
            &first,
            "--content",
            "Run the tests with --locked --all.",
            "--json",
        ],
        &["learnings", "reject", &third, "--reason", "not true", "--json"],
        &["learnings", "promote", &third, "--json"],
        &["learnings", "list", "--all", "--json"],
        &["learnings", "prune", "--dry-run", "--json"],
        &["learnings", "stats", "--json"],
        &["learnings", "delete", &third, "--yes", "--json"],
        &["blame", &first, "--json"],
    ] {
        story.json(arguments);
    }
    story.act(&["learnings", "supersede", &second, &first]);
    story.json(&["learnings", "list", "--all", "--json"]);
    story.facts();
    story.end("learnings");
}
