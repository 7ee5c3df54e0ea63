//! Tests of `ralph status` during a run and after it was killed.

use ralph_testkit::scripted::{Script, hang, say, write};

use super::signals::{Going, until};
use super::{DONE, Scene, diligent};

#[test]
fn unreported_usage_is_not_shown_as_zero() {
    let scene = Scene::new(&diligent());
    assert_eq!(scene.run(&["one"]).code, Some(0));
    let stats = scene.env.ok(["stats"]);
    let rows: Vec<&str> = stats
        .lines()
        .filter(|line| line.contains("(agent's default)"))
        .collect();
    assert!(!stats.contains('$') && rows.len() == 1, "{stats}");
    assert!(rows[0].ends_with('1'), "the column of tokens is empty: {stats}");
    let stats = crate::json(&scene.env, &["stats", "--json"]);
    let status = crate::json(&scene.env, &["status", "--json"]);
    let rows = crate::json(&scene.env, &["journal", "list", "--json"]);
    for usage in [&stats, &stats["by_model"][0], &status["runs"], &rows[0]["usage"]] {
        for key in ["cost_usd", "input_tokens", "output_tokens"] {
            assert_eq!(usage.get(key), Some(&serde_json::Value::Null), "{key}: {usage}");
        }
    }
}

#[test]
fn running_and_killed_runs() {
    let script = Script::new()
        .turn([write("half.txt", "x"), hang()])
        .turn([write("work-{turn}.txt", "x"), say(DONE)]);
    let scene = Scene::new(&script);
    scene.env.write("plan.md", "- [ ] one\n- [ ] two\n");
    let going = Going::start(&scene, "run", scene.invocation(&["plan.md"]));
    until("half.txt", || scene.env.path("half.txt").exists());
    let status = || scene.env.ralph(["status"]).run();
    status().printed(&[
        "Run      run-ee42c90b is working on t-8eec67 (one), started just now\n",
        "Tasks    1 open, 1 in progress\n",
        "Next     ralph journal list ",
    ]);
    let open = &crate::json(&scene.env, &["status", "--json"])["runs"]["open"][0];
    assert_eq!(
        (&open["live"], &open["task"]),
        (&serde_json::json!(true), &serde_json::json!("t-8eec67"))
    );
    going.signal("KILL");
    assert_eq!(going.end().code, None);
    status().printed(&[
        "Run      run-ee42c90b (plan.md) was killed; resume it with `ralph run`\n",
        "Tasks    1 open, 1 in progress\n",
        "Next     ralph run ",
    ]);
    let open = &crate::json(&scene.env, &["status", "--json"])["runs"]["open"][0];
    assert_eq!(open["live"], false);
    let again = scene.run(&[]);
    assert_eq!(again.code, Some(0), "{again}");
    assert_eq!(
        crate::json(&scene.env, &["status", "--json"])["runs"]["open"],
        serde_json::json!([])
    );
}
