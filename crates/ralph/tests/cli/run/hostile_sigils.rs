//! Tests of hostile sigils: broken, nested, by the thousand, megabytes long, with arbitrary attributes. They never fail
//! an iteration: it has one journal entry, and the captures stay within their limits.

use ralph_model::JournalRow;
use ralph_store::{JournalFilter, Store, Wait};
use ralph_testkit::scripted::{Script, say, write};

use super::{DONE, Scene};
use crate::DATABASE;

/// The maximum of learnings per turn.
const MAX_LEARNINGS: usize = 100;

/// Output with sigils that cannot be parsed or are misleading.
fn broken() -> String {
    let nested = "<learning category=\"pitfall\" tags=\"nested\">Outer \
                  <failure-report>what_tried: inner\nwhy_failed: inner</failure-report> end.</learning>\n\n\
                  <learning category=\"other\">never ended <learning category=\"other\">in the other</learning>\n\n";
    let attributes = "<learning category='a\"b' tags=\"x&quot;y,&lt;z&gt;,&#0;,\0,',&bogus;,😀,'; DROP TABLE learnings; --\">\
                      Attributes \0 with \u{1b}[2J anything &amp; all.</learning>\n\n\
                      <learning category=\"a tags=\"b\">odd quotes</learning>\n\n<learning category=>none</learning>\n\n\
                      <learning CATEGORY=\"Other\" category=\"second\" x=\"y\" tags>twice</learning>\n\n";
    let fenced = "```\n<learning category=\"other\">fenced</learning>\n<task-done>{task}</task-done>\n```\n\n\
                  > <learning category=\"other\">quoted</learning>\n\n`<learning category=\"other\">inline</learning>`\n\n";
    let reports = "<failure-report>nothing in it</failure-report>\n\n\
                   <failure-report>\nwhat_tried: everything\nwhy_failed: \u{7}it rang\nerror_category: nonsense\n\
                   relevant_files: ../../etc/passwd, , \0, src/lib.rs\nwhat_tried: again\n</failure-report>\n\n\
                   <failure-report>\nwhat_tried: second\nwhy_failed: second\n</failure-report>\n\n\
                   <difficulty-estimate>impossible</difficulty-estimate><retry-suggestion></retry-suggestion>\n\n";
    let unclosed =
        "<learning category=\"other\">".repeat(1500) + &"</learning>".repeat(10) + "\n\n<failure-report>\n<journal\n\n";
    [nested, attributes, fenced, reports, &unclosed].concat()
}

/// Output with far too many and too long sigils.
fn endless() -> String {
    let learning =
        |number: u32| format!("<learning category=\"other\" tags=\"n{number}\">Learning number {number}.</learning>\n");
    let many: String = (0..10_000).map(learning).collect();
    let long = format!(
        "<learning category=\"{0}\" tags=\"{0}\">{0}</learning>\n\n",
        "x".repeat(256 << 10)
    );
    let tags: String = (0..20_000).map(|number| format!("t{number},")).collect();
    let tagged = format!("<learning category=\"other\" tags=\"{tags}\">Much tagged.</learning>\n\n");
    [long, tagged, many].concat()
}

fn rows(scene: &Scene) -> (Store, Vec<JournalRow>) {
    let store = Store::open_existing(&scene.env.path(DATABASE), Wait::Long)
        .unwrap()
        .unwrap();
    let mut rows = store.journal_list(&JournalFilter::default()).unwrap();
    rows.sort_by_key(|row| row.id);
    (store, rows)
}

#[test]
fn broken_sigils_fail_no_iteration() {
    for script in [Script::new(), Script::new().speaking_claude()] {
        let script = script
            .turn([write("a.txt", "x"), say(&broken()), say("I say nothing of the task.")])
            .turn([write("b.txt", "x"), say(&broken()), say(DONE)]);
        let is_claude = format!("{script:?}").contains("Claude");
        let scene = Scene::new(&script);
        if is_claude {
            scene.env.write(crate::USER_CONFIG, "[agent]\nkind = \"claude\"\n");
        }
        let finished = scene.run(&["one"]);
        assert_eq!(finished.code, Some(0), "{finished}");
        let (store, rows) = rows(&scene);
        assert_eq!(scene.outcomes(), ["blocked", "done"], "{finished}");
        assert!(rows.iter().all(|row| row.row.malformed_sigils > 1000), "{rows:?}");
        let report = store.report_of(rows[0].id).unwrap().unwrap().report;
        assert_eq!(
            (report.what_tried.as_str(), report.why_failed.as_str()),
            ("everything\nagain", "it rang")
        );
        assert_eq!(report.relevant_files, ["../../etc/passwd", "src/lib.rs"]);
        let mut said: Vec<String> = store
            .learnings()
            .unwrap()
            .into_iter()
            .filter(|learning| learning.source == ralph_model::LearningSource::Sigil)
            .map(|learning| learning.content)
            .collect();
        said.sort();
        said.dedup();
        let outer = "Outer <failure-report>what_tried: inner\nwhy_failed: inner</failure-report> end.";
        assert_eq!(
            said,
            ["Attributes  with  anything & all.", outer, "in the other", "twice"]
        );
        let shown = scene.env.ok(["journal", "show", &rows[1].id.to_string()]);
        assert!(!shown.contains(['\0', '\u{1b}']), "{shown}");
    }
}

#[test]
fn endless_sigils_fail_no_iteration() {
    let script = Script::new()
        .turn([
            write("a.txt", "x"),
            say(&endless()),
            say("<task-failed>{task} too much</task-failed>"),
        ])
        .turn([write("b.txt", "x"), say(&endless()), say(DONE)])
        .turn([write("c.txt", "x"), say(DONE)]);
    let scene = Scene::new(&script);
    assert_eq!(scene.ralph(&["task", "add", "one"]).run().code, Some(0));
    assert_eq!(
        scene
            .ralph(&["task", "add", "Learning number 7 and the others"])
            .run()
            .code,
        Some(0)
    );
    let finished = scene.run(&[]);
    assert_eq!(finished.code, Some(0), "{finished}");
    assert_eq!(scene.outcomes(), ["failed", "done", "done"], "{finished}");
    let (store, rows) = rows(&scene);
    assert!(rows[0].row.malformed_sigils > 9000, "{:?}", rows[0]);
    let learnings = store.learnings().unwrap();
    assert!(learnings.len() <= 2 * MAX_LEARNINGS, "{}", learnings.len());
    let contents: std::collections::BTreeSet<&str> =
        learnings.iter().map(|learning| learning.content.as_str()).collect();
    assert_eq!(contents.len(), learnings.len(), "a learning stands twice");
    for learning in &learnings {
        let tags = learning.tags.len();
        assert!(
            learning.content.len() <= 2100 && learning.category.len() <= 60 && tags <= 60,
            "{learning:?}"
        );
    }
    // The next prompt stays within its budget.
    let prompt = scene.agent.prompt(3);
    assert!(prompt.len() < 60_000, "{} bytes", prompt.len());
}
