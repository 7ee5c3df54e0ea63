//! `ralph status` beside a run, and after it was killed.

use insta::assert_snapshot;
use ralph_testkit::scripted::{Script, hang, say, write};

use super::signals::{Going, until};
use super::{DONE, Scene};

#[test]
fn a_run_is_told_while_it_lives_and_when_it_was_killed() {
    let script = Script::new()
        .turn([write("half.txt", "x"), hang()])
        .turn([write("work-{turn}.txt", "x"), say(DONE)]);
    let scene = Scene::new(&script);
    scene.env.write("plan.md", "- [ ] one\n- [ ] two\n");
    let going = Going::start(&scene, "run", scene.invocation(&["plan.md"]));
    until("half.txt", || scene.env.path("half.txt").exists());
    assert_snapshot!(scene.env.ok(["status"]), @"
    Project  [TMP]/project
    Run      run-ee42c90b works on t-8eec67 (one), begun just now
    Tasks    1 open, 1 in progress
    Notes    none yet
    Next     ralph journal list    # what the run has done so far
    ");
    let open = &crate::json(&scene.env, &["status", "--json"])["runs"]["open"][0];
    assert_eq!(
        (&open["live"], &open["task"]),
        (&serde_json::json!(true), &serde_json::json!("t-8eec67"))
    );
    going.signal("KILL");
    assert_eq!(going.end().code, None);
    assert_snapshot!(scene.env.ok(["status"]), @"
    Project  [TMP]/project
    Run      run-ee42c90b (plan.md) was killed; `ralph run` picks it up
    Tasks    1 open, 1 in progress
    Notes    none yet
    Next     ralph run    # pick up what was killed
    ");
    let open = &crate::json(&scene.env, &["status", "--json"])["runs"]["open"][0];
    assert_eq!(open["live"], false);
    let again = scene.run(&[]);
    assert_eq!(again.code, Some(0), "{again}");
    assert_eq!(
        crate::json(&scene.env, &["status", "--json"])["runs"]["open"],
        serde_json::json!([])
    );
}
