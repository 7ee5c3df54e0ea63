//! Tests of model selection by earlier outcomes.

use insta::assert_snapshot;
use ralph_testkit::scripted::{Script, say, write};

use super::{DONE, Scene, diligent};

const FAILED: &str = "<task-failed>{task}</task-failed>";

const MODELS: &str = "[agent]\ncommand = \"scripted-agent\"\nmodels = [\"haiku\", \"sonnet\", \"opus\"]\n";

/// A scene with three models and a strategy, or the default strategy.
fn scene(script: &Script, strategy: Option<&str>) -> Scene {
    let scene = Scene::new(script);
    let strategy = strategy.map_or_else(String::new, |name| format!("[strategy]\nname = {name:?}\n"));
    scene.env.write(".ralph.toml", format!("{MODELS}{strategy}"));
    scene
}

impl Scene {
    /// The models passed to the agent, turn by turn; the journal must agree.
    fn models(&self) -> Vec<String> {
        let told = (1..=self.agent.turns()).map(|turn| {
            let environment = self.agent.call(turn).environment;
            environment.get("RALPH_MODEL").cloned().unwrap_or_default()
        });
        let told: Vec<String> = told.collect();
        let of_journal: Vec<String> = self.journal().into_iter().map(|(model, _)| model).collect();
        assert_eq!(told, of_journal);
        told
    }

    /// The models and rationales in the journal, oldest first.
    fn journal(&self) -> Vec<(String, String)> {
        let rows = crate::json(&self.env, &["journal", "list", "--json"]);
        let mut rows: Vec<_> = rows.as_array().unwrap().clone();
        rows.sort_by_key(|row| row["id"].as_u64());
        let word = |row: &serde_json::Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
        rows.iter()
            .map(|row| (word(row, "model"), word(row, "model_rationale")))
            .collect()
    }

    /// The journal's models and rationales, one per line.
    fn reasons(&self) -> String {
        let lines = self
            .journal()
            .into_iter()
            .map(|(model, why)| format!("{model} ({why})"));
        lines.collect::<Vec<_>>().join("\n")
    }
}

#[test]
fn strategy_without_models_is_reported() {
    let said = "No models are configured for this agent, so the strategy `escalate` has no effect;";
    let plain = Scene::new(&diligent());
    let finished = plain.run(&["one", "--model-strategy", "escalate"]);
    assert_eq!(finished.stderr.matches(said).count(), 1, "{finished}");
    for arguments in [
        &["two"][..],
        &["three", "--model-strategy", "escalate", "--model", "huge"],
    ] {
        let finished = plain.run(arguments);
        assert!(!finished.stderr.contains("nothing to choose from"), "{finished}");
    }
    let finished = scene(&diligent(), Some("escalate")).run(&["one"]);
    assert!(!finished.stderr.contains("nothing to choose from"), "{finished}");
}

#[test]
fn escalate_climbs_per_failure_and_restarts_per_task() {
    let fails = [say(FAILED)];
    let script = Script::new()
        .turn(fails.clone())
        .turn(fails)
        .turn([write("work-{turn}.txt", "work\n"), say(DONE)]);
    let scene = scene(&script, Some("escalate"));
    scene.env.write("plan.md", "- [ ] one\n- [ ] two\n");
    let dry_run = scene.run(&["plan.md", "--dry-run"]);
    assert!(
        dry_run
            .stdout
            .contains("\nModel   haiku (escalate: no failure yet; not enough history)\n"),
        "{dry_run}"
    );
    let finished = scene.run(&["plan.md"]);
    assert_eq!(finished.code, Some(0), "{finished}");
    assert_eq!(scene.models(), ["haiku", "sonnet", "opus", "haiku"]);
    assert_snapshot!(scene.reasons(), @"
    haiku (escalate: no failure yet; not enough history)
    sonnet (escalate: 1 failure)
    opus (escalate: 2 failures in a row)
    haiku (escalate: no failure yet; no similar hard task on record)
    ");
    assert!(
        finished
            .stderr
            .contains("model: opus (escalate: 2 failures in a row)\n"),
        "{finished}"
    );
}

#[test]
fn failures_are_counted_across_runs() {
    let script = Script::new().turn([say(FAILED)]);
    let scene = scene(&script, None);
    let task = scene.env.ok(["task", "add", "it"]).trim().to_owned();
    for _ in 0..3 {
        assert_eq!(scene.run(&[&task, "--limit", "1"]).code, Some(4));
    }
    let dry_run = scene.run(&[&task, "--dry-run"]);
    assert!(
        dry_run
            .stdout
            .contains("\nModel   opus (cost-optimized: 3 failures in a row)\n"),
        "{dry_run}"
    );
    let prompt = scene.env.ok(["prompt", &task]);
    assert!(
        prompt.contains("opus") && prompt.contains("cost-optimized: 3 failures in a row"),
        "{prompt}"
    );
    let dry_run = scene.run(&["another", "--dry-run"]);
    assert!(
        dry_run
            .stdout
            .contains("\nModel   sonnet (cost-optimized: not enough history)\n"),
        "{dry_run}"
    );
    assert_eq!(scene.models(), ["sonnet", "sonnet", "opus"]);
}

/// A single earlier failure has no effect later.
#[test]
fn fault_5_default_returns_to_the_cheap_model() {
    let fails = [say(FAILED)];
    let works = || [write("work-{turn}.txt", "work\n"), say(DONE)];
    let script = Script::new()
        .turn(works())
        .turn(fails.clone())
        .turn(fails)
        .turn(works());
    let scene = scene(&script, None);
    let list: String = (1..=9).map(|number| format!("- [ ] task {number}\n")).collect();
    scene.env.write("plan.md", &list);
    let finished = scene.run(&["plan.md"]);
    assert_eq!(finished.code, Some(0), "{finished}");
    assert_snapshot!(scene.reasons(), @"
    sonnet (cost-optimized: not enough history)
    sonnet (cost-optimized: not enough history)
    sonnet (cost-optimized: 1 failure)
    opus (cost-optimized: 2 failures in a row)
    sonnet (cost-optimized: not enough history)
    sonnet (cost-optimized: 3 of the last 5 succeeded; no similar hard task on record)
    sonnet (cost-optimized: 4 of the last 6 succeeded; no similar hard task on record)
    sonnet (cost-optimized: 5 of the last 7 succeeded; no similar hard task on record)
    sonnet (cost-optimized: 6 of the last 8 succeeded; no similar hard task on record)
    sonnet (cost-optimized: 7 of the last 9 succeeded; no similar hard task on record)
    sonnet (cost-optimized: 8 of the last 10 succeeded; no similar hard task on record)
    ");
    assert_eq!(scene.run(&["one more"]).code, Some(0));
    assert_eq!(scene.run(&["and another"]).code, Some(0));
    let models = scene.models();
    assert_eq!(models.last().map(String::as_str), Some("haiku"), "{models:?}");
}

#[test]
fn similar_hard_task_starts_with_a_stronger_model() {
    let hard = "<difficulty-estimate>hard</difficulty-estimate>";
    let script = Script::new()
        .turn([say(&format!("{hard}{FAILED}"))])
        .turn([write("work-{turn}.txt", "work\n"), say(DONE)]);
    let scene = scene(&script, Some("escalate"));
    let first = scene.env.ok(["task", "add", "Implement numbers in src/lexer.rs"]);
    assert_eq!(scene.run(&["--limit", "2"]).code, Some(0));
    for title in ["Implement strings in src/lexer.rs", "Implement names in src/parser.rs"] {
        assert_eq!(scene.run(&[title]).code, Some(0));
    }
    let reasons = scene.reasons().replace(first.trim(), "FIRST");
    assert_snapshot!(reasons, @"
    haiku (escalate: no failure yet; not enough history)
    sonnet (escalate: 1 failure)
    sonnet (escalate: no failure yet; similar to FIRST, which was hard and failed on haiku)
    haiku (escalate: no failure yet; no similar hard task on record)
    ");
}

#[test]
fn agent_uses_its_default_without_models() {
    let scene = Scene::new(&diligent());
    for strategy in ["cost-optimized", "escalate"] {
        let dry_run = scene.run(&["it", "--dry-run", "--model-strategy", strategy]);
        assert!(
            dry_run
                .stdout
                .contains("Model   agent's default (no models are configured, so the agent uses its default)\n"),
            "{dry_run}"
        );
        let finished = scene.run(&["it", "--model-strategy", strategy]);
        assert_eq!(finished.code, Some(0), "{finished}");
    }
    assert_eq!(scene.models(), ["", ""]);
}
