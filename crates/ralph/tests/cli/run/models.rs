//! Tests of model selection by earlier outcomes.

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

    /// Checks the models in the journal, oldest first, and a part of each rationale.
    #[track_caller]
    fn check_reasons(&self, expected: &[(&str, &str)]) {
        let journal = self.journal();
        assert_eq!(journal.len(), expected.len(), "{journal:?}");
        for ((model, why), (expected_model, reason)) in journal.iter().zip(expected) {
            assert!(
                model == expected_model && why.contains(reason),
                "{reason} in {journal:?}"
            );
        }
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
    scene.check_reasons(&[
        ("haiku", "no failure yet; not enough history"),
        ("sonnet", "1 failure"),
        ("opus", "2 failures in a row"),
        ("haiku", "no failure yet; no similar hard task on record"),
    ]);
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
    let similar = format!("similar to {}, which was hard and failed on haiku", first.trim());
    scene.check_reasons(&[
        ("haiku", "not enough history"),
        ("sonnet", "1 failure"),
        ("sonnet", &similar),
        ("haiku", "no similar hard task on record"),
    ]);
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
