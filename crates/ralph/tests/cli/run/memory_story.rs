//! The story of memory across iterations: reports in later attempts only, stronger models, the warning, and learnings
//! in matching tasks.

use insta::{Settings, assert_snapshot};
use ralph_testkit::scripted::{Script, if_prompt_contains, run, say, write};

use super::{DONE, Scene, normal};

/// Three models that escalate on failure, and a gate that refuses wrong work.
const SETTINGS: &str = "\
[agent]
command = \"scripted-agent\"
models = [\"haiku\", \"sonnet\", \"opus\"]
[strategy]
name = \"escalate\"
[verify]
commands = [\"sh check.sh\"]
";

/// The gate prints much noise and then the failure, which the report must contain.
const CHECK: &str = "\
test -e leap.txt || exit 0
for number in $(seq 200); do echo \"case $number ... ok\"; done
grep -q 28 leap.txt || exit 0
echo 'case 2100-02-29 ... FAILED'
echo 'error: expected no such day, found 29 February'
exit 1
";

const GAVE_UP: &str = "\
I tried what the documentation says.
<failure-report>
what_tried: Looked for a calendar library in the registry.
why_failed: There is no network, the registry cannot be reached.
error_category: dependency_error
relevant_files: Cargo.toml
</failure-report>
<retry-suggestion>Write the rule of leap years by hand.</retry-suggestion>
<task-failed>{task} no network</task-failed>";

const STUCK: &str = "\
<failure-report>
what_tried: Another bolt, number {turn}.
why_failed: The girder bends at src/girder.rs:1{turn}.
error_category: logic_error
relevant_files: src/girder.rs
</failure-report>
<task-failed>{task} the girder bends</task-failed>";

/// The part of a prompt about the task.
#[track_caller]
fn assigned(prompt: &str) -> &str {
    let (_, from) = prompt.split_once("\n## Assigned Task\n").unwrap();
    from.split_once("\n## ").map_or(from, |(task, _)| task).trim()
}

/// The same with names instead of ids.
fn task_prompt(scene: &Scene, turn: usize) -> String {
    let prompt = scene.agent.prompt(turn);
    let text = assigned(&prompt).to_owned();
    let Some((before, after)) = text.split_once("(t-") else {
        return text;
    };
    let id = after.split_once(')').map_or(after, |(id, _)| id).to_owned();
    format!("{before}(t-{after}").replace(&format!("t-{id}"), "TASK")
}

/// Checks the headings in the task part of a turn's prompt, and that it contains these texts in this order.
#[track_caller]
fn assert_task_parts(scene: &Scene, turn: usize, headings: &[&str], texts: &[&str]) {
    let prompt = task_prompt(scene, turn);
    let found: Vec<&str> = prompt.lines().filter(|line| line.starts_with("### ")).collect();
    assert_eq!(found, headings, "{prompt}");
    let mut rest = prompt.as_str();
    for text in texts {
        let Some((_, after)) = rest.split_once(text) else {
            panic!("{text:?} is missing or out of order in\n{prompt}");
        };
        rest = after;
    }
}

/// Compares the task part of a turn's prompt with its snapshot.
#[track_caller]
fn assert_task_prompt(scene: &Scene, turn: usize, name: &str) {
    let mut settings = Settings::clone_current();
    settings.set_snapshot_path("memory_story");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| assert_snapshot!(name, task_prompt(scene, turn)));
}

fn models(scene: &Scene) -> Vec<String> {
    let model = |turn| scene.agent.call(turn).environment.remove("RALPH_MODEL");
    (1..=scene.agent.turns())
        .map(|turn| model(turn).unwrap_or_default())
        .collect()
}

/// The prompts in the folders of runs, in order.
fn kept_prompts(scene: &Scene) -> Vec<String> {
    let listed = scene.env.sh("find .ralph/runs -name prompt.md | sort").run().stdout;
    listed.lines().map(|path| scene.env.read(path)).collect()
}

#[test]
fn failure_reports_reach_only_attempts_at_the_same_task() {
    let script = Script::new()
        .turn([write("notes.txt", "no network\n"), say(GAVE_UP)])
        .turn([
            write("leap.txt", "every 4th year, 28 else\n"),
            say("I wrote the rule by hand, every 4th year."),
            say(DONE),
        ])
        .turn([if_prompt_contains(
            "expected no such day, found 29 February",
            [write("leap.txt", "every 4th year but the 100th\n"), say(DONE)],
            [say("I know of nothing.")],
        )])
        .turn([write("door.txt", "green\n"), say(DONE)]);
    let scene = Scene::new(&script);
    scene.env.write(".ralph.toml", SETTINGS);
    scene.env.write("check.sh", CHECK);
    scene
        .env
        .write("plan.md", "- [ ] Count the days of a month\n- [ ] Paint the door\n");
    let finished = scene.run(&["plan.md", "--trust"]);
    assert_eq!(finished.code, Some(0), "{finished}");
    assert_eq!(scene.outcomes(), ["failed", "retried", "done", "done"], "{finished}");
    assert_eq!(models(&scene), ["haiku", "sonnet", "opus", "haiku"]);
    let first_attempt = "\n- **Attempt at this task**: 1 of 4, no previous failures\n";
    for (turn, task, rate) in [
        (1, "Count the days of a month", "no iterations yet"),
        (4, "Paint the door", "1/3, too few to tell"),
    ] {
        let task = format!("**{task}** (TASK)\n\nIt is a subtask of **plan.md** (t-");
        let rate = format!("- **Success rate**: {rate}\n- **Model**: haiku (escalate: no failure yet; ");
        assert_task_parts(&scene, turn, &["### Loop Status"], &[&task, first_attempt, &rate]);
    }
    assert_task_parts(
        &scene,
        2,
        &["### Previous Attempts", "### Loop Status"],
        &[
            "#### Attempt 1 (haiku, failed)\n",
            "Looked for a calendar library in the registry.\n",
            "There is no network, the registry cannot be reached.\n",
            "dependency_error\n- **Files**: Cargo.toml\n- **Files changed**: notes.txt\n",
            "- **Suggested after attempt 1**: (by agent) Write the rule of leap years by hand.\n",
            "- **Attempt at this task**: 2 of 4, 1 previous failure\n",
            "sonnet (escalate: 1 failure)",
        ],
    );
    assert_task_prompt(&scene, 3, "twice_turn_3");
    let next = scene.agent.prompt(4);
    for of_a_report in [
        "calendar library",
        "registry",
        "leap years",
        "by hand",
        "last words",
        "dependency_error\n",
        // The output of the gate.
        "29 February",
        "2100-02-29",
    ] {
        assert!(!next.contains(of_a_report), "{of_a_report}: {next}");
    }
    let sent: Vec<String> = (1..=4).map(|turn| scene.agent.prompt(turn)).collect();
    assert_eq!(kept_prompts(&scene), sent);
    for prompt in sent {
        assert!(!prompt.contains("Stuck Loop Warning"), "{prompt}");
    }
}

#[test]
fn repeated_failure_is_warned_about_and_given_up() {
    let script = Script::new().turn([if_prompt_contains(
        "## Assigned Task\n\n**Build the bridge**",
        [write("bridge-{turn}.txt", "bent\n"), say(STUCK)],
        [write("door.txt", "green\n"), say(DONE)],
    )]);
    let scene = Scene::new(&script);
    scene.env.write(".ralph.toml", SETTINGS);
    scene.env.write("check.sh", CHECK);
    scene
        .env
        .write("plan.md", "- [ ] Build the bridge\n- [ ] Paint the door\n");
    let finished = scene.run(&["plan.md", "--trust"]);
    assert_eq!(finished.code, Some(4), "{finished}");
    assert_eq!(
        scene.outcomes(),
        ["failed", "failed", "failed", "failed", "done"],
        "{finished}"
    );
    assert_eq!(models(&scene), ["haiku", "sonnet", "opus", "opus", "haiku"]);
    let warned: Vec<bool> = (1..=5)
        .map(|turn| scene.agent.prompt(turn).contains("Stuck Loop Warning"))
        .collect();
    assert_eq!(warned, [false, false, false, true, false]);
    assert_task_prompt(&scene, 4, "always_turn_4");
    let next = scene.agent.prompt(5);
    for of_a_report in ["bolt", "girder.rs", "bends at", "last words"] {
        assert!(!next.contains(of_a_report), "{of_a_report}: {next}");
    }
    let failed = |title: &str| (title.to_owned(), "failed".to_owned());
    assert_eq!(scene.open_tasks(), [failed("plan.md"), failed("Build the bridge")]);
    let shown = scene.env.ok(["task", "show", &task_titled(&scene, "Build the bridge")]);
    for attempt in 1..=4 {
        assert!(shown.contains(&format!("Another bolt, number {attempt}.")), "{shown}");
    }
    let review = normal(scene.ralph(&["review"]).run());
    assert!(review.stdout.contains("Build the bridge"), "{review}");
}

/// The warning tells an agent that cannot do the whole task to split it.
#[test]
fn split_task_is_done_with_its_subtasks() {
    let failed = || [write("bridge-{turn}.txt", "bent\n"), say(STUCK)];
    let split = if_prompt_contains(
        "`ralph task add \"TITLE\" --parent {task}`",
        [
            run("RALPH_SEED=91 ralph task add 'Raise the pillars' --parent {task}"),
            run("RALPH_SEED=92 ralph task add 'Lay the deck' --parent {task}"),
            say(STUCK),
        ],
        [say("I know of no way out.")],
    );
    let script = Script::new()
        .turn(failed())
        .turn(failed())
        .turn(failed())
        .turn([split])
        .turn([write("pillars.txt", "up\n"), say(DONE)])
        .turn([write("deck.txt", "flat\n"), say(DONE)]);
    let scene = Scene::new(&script);
    scene.env.write(".ralph.toml", "[tasks]\nfrom_agents = \"accept\"\n");
    scene.env.write("plan.md", "- [ ] Build the bridge\n");
    let finished = scene.run(&["plan.md", "--trust"]);
    assert_eq!(finished.code, Some(0), "{finished}");
    assert_eq!(
        scene.outcomes(),
        ["failed", "failed", "failed", "failed", "done", "done"],
        "{finished}"
    );
    let bridge = assigned(&scene.agent.prompt(4))
        .split_once("(t-")
        .unwrap()
        .1
        .get(..6)
        .unwrap()
        .to_owned();
    for line in [
        "The task was split and waits for its 2 subtasks.\n",
        "done: all its subtasks are done\n",
    ] {
        let line = format!("[t-{bridge}] {line}");
        assert_eq!(finished.stderr.matches(&line).count(), 1, "{finished}");
    }
    assert!(finished.stdout.contains("\n6 iterations: 3 tasks done"), "{finished}");
    for (turn, title) in [(5, "Raise the pillars"), (6, "Lay the deck")] {
        let prompt = scene.agent.prompt(turn);
        assert!(assigned(&prompt).starts_with(&format!("**{title}** (")), "{prompt}");
        assert!(
            assigned(&prompt).contains("It is a subtask of **Build the bridge** ("),
            "{prompt}"
        );
    }
    assert_eq!(scene.open_tasks(), []);
    let all = crate::json(&scene.env, &["task", "list", "--all", "--json"]);
    let bridge = all
        .as_array()
        .unwrap()
        .iter()
        .find(|task| task["title"] == "Build the bridge");
    let bridge = bridge.unwrap();
    assert_eq!(bridge["status"], "done", "{all}");
    let log = scene.env.ok(["task", "log", bridge["id"].as_str().unwrap()]);
    assert!(!log.contains("waits for a person"), "{log}");
    assert!(log.contains("Its status now follows from its subtasks."), "{log}");
    assert!(log.contains("Done: all subtasks are done."), "{log}");
}

fn task_titled(scene: &Scene, title: &str) -> String {
    let listed = crate::json(&scene.env, &["task", "list", "--json"]);
    let task = listed.as_array().unwrap().iter().find(|task| task["title"] == title);
    task.unwrap()["id"].as_str().unwrap().to_owned()
}

const PARSER: &str = "The parser reads a zone as an hour: run its tests with TZ=UTC.";
const KILN: &str = "The kiln needs an hour before the glaze goes in.";

#[test]
fn learnings_of_done_iterations_reach_similar_tasks() {
    let parser = format!("<learning category=\"testing_strategy\" tags=\"parser, zones\">{PARSER}</learning>");
    let kiln = format!("<learning category=\"pitfall\" tags=\"kiln, glaze\">{KILN}</learning>");
    let works = |file: &str| [write(file, "x\n"), say(DONE)];
    let script = Script::new()
        .turn([write("a.txt", "x\n"), say(&parser), say(DONE)])
        .turn([
            write("b.txt", "x\n"),
            say(&kiln),
            say("<task-failed>{task} it cracked</task-failed>"),
        ])
        .turn(works("c.txt"))
        .turn(works("d.txt"))
        .turn(works("e.txt"))
        .turn(works("f.txt"));
    let scene = Scene::new(&script);
    let plan = "- [ ] Teach the parser zones\n- [ ] Glaze the cup in the kiln\n- [ ] Print what the parser reads of zones\n\
                - [ ] Clean the kiln of old glaze\n- [ ] Water the plants\n";
    scene.env.write("plan.md", plan);
    let finished = scene.run(&["plan.md"]);
    assert_eq!(finished.code, Some(0), "{finished}");
    assert_eq!(
        scene.outcomes(),
        ["done", "failed", "done", "done", "done", "done"],
        "{finished}"
    );
    let holders = |learning: &str| -> Vec<usize> {
        (1..=6)
            .filter(|turn| scene.agent.prompt(*turn).contains(learning))
            .collect()
    };
    // The fourth turn is the task similar to the first; the third is the second attempt at the second task.
    assert_eq!(holders(PARSER), [4]);
    assert_eq!(holders(KILN), [3]);
    let learnings = "### Learnings from Previous Iterations";
    let own = format!("\n- **[pitfall]** (by agent) {KILN}\n");
    let reason = "The agent reported that the task cannot be done: it cracked\n- **Files**: b.txt\n";
    let headings = ["### Previous Attempts", learnings, "### Loop Status"];
    assert_task_parts(&scene, 3, &headings, &[reason, &own]);
    let similar = format!("\n- **[testing_strategy]** (by agent) {PARSER}\n");
    assert_task_parts(&scene, 4, &headings[1..], &[&similar]);
}

#[test]
fn supported_learning_reaches_similar_tasks_of_later_runs() {
    let kiln = format!("<learning category=\"pitfall\" tags=\"kiln, glaze\">{KILN}</learning>");
    let script = Script::new()
        .turn([
            write("a.txt", "x\n"),
            say(&kiln),
            say("<task-failed>{task} it cracked</task-failed>"),
        ])
        .turn([write("b.txt", "x\n"), say(&kiln), say(DONE)])
        .turn([write("c.txt", "x\n"), say(DONE)]);
    let scene = Scene::new(&script);
    assert_eq!(scene.run(&["Glaze the cup in the kiln"]).code, Some(0));
    assert_eq!(scene.run(&["Clean the kiln of old glaze"]).code, Some(0));
    let prompt = scene.agent.prompt(3);
    assert_eq!(prompt.matches(KILN).count(), 1, "{prompt}");
    // It is stored once, however often it was taught, and can be found.
    let found = scene.env.ok(["recall", "kiln glaze"]);
    assert_eq!(found.matches(KILN).count(), 1, "{found}");
    let listed = crate::json(&scene.env, &["learnings", "list", "--json"]);
    assert_eq!(listed.as_array().map(Vec::len), Some(1), "{listed}");
    assert_eq!(listed[0]["status"], "promoted", "{listed}");
}
