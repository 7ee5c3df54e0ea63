//! The story of a feature from its first file to its last task, at a real terminal: the verifier refuses a task once,
//! the user stops another and gives guidance, and knowledge of the first task decides a later one. One prompt of the
//! agent and one of the verifier are stored next to this file; of the others, what differs is checked.

use std::cell::RefCell;

use insta::{Settings, assert_snapshot};
use ralph_testkit::Terminal;
use ralph_testkit::scripted::{Action, Script, hang, if_prompt_contains, say, write};

use super::signals::until;
use super::{DONE, Scene};
use crate::json;

const FEATURE: &str = "ledger";
const COLUMNS: u16 = 120;
const SPEC: &str = "\
# Ledger

A month of payments becomes a table that a spreadsheet reads, with one total.

## Payments

One a line: the day, the payee, the amount. Money that comes back is a payment too.

## Total

The total of a month stands in `total.txt`, and nothing else.
";
const PLAN: &str = "\
# Plan

From the lines to the table, the total beside it.

- [ ] Read the lines of a month
  An empty line is no payment.
- [ ] Parse amounts
- [ ] Write a table
- [ ] Put the payments of a month into the table
- [ ] Sum the amounts of a month
- [ ] Add the command `ledger`
";
/// The dependencies of each task, by number in the plan.
const ORDER: [(usize, &[usize]); 5] = [(1, &[0]), (2, &[0]), (3, &[1, 2]), (4, &[1]), (5, &[3, 4])];
/// The gate fails unless amounts are summed the way these books are kept.
const CHECK: &str = "\
if test -e total.txt && ! grep -qx 1250 total.txt; then
    echo 'FAIL total.txt: this is not the total of the books'
    exit 1
fi
";
const REFUSAL: &str = "src/amount.rs refuses `-3.00`, and money that comes back is a payment";
const GUIDANCE: [&str; 2] = ["semicolons, not commas:", "our spreadsheet is a German one"];

/// The knowledge of the first task: two entries, the first of which links to the second.
const LEARNING: &str = "\
Half of what I know now is not written anywhere.
<knowledge tags=\"amounts, money\" title=\"Amounts are whole cents\">
Every amount is kept as whole cents: 12.50 is 1250. How half a cent is rounded: [[The bank rounds to even]].
</knowledge>
<knowledge tags=\"bank\" title=\"The bank rounds to even\">
Half a cent goes to the even cent, as in the statements of the bank.
</knowledge>
<journal>The lines end in CRLF; the last one may be cut off.</journal>";

#[derive(Clone, Copy)]
enum Course {
    /// Each task is done at once, as well as its agent knows how.
    Smooth,
    /// One task is refused, and one is stopped.
    Eventful,
}

fn script(course: Course) -> Script {
    let part = |actions: Vec<Action>| [actions, vec![say(DONE)]].concat();
    let read = part(vec![write("src/read.rs", "lines\n"), say(LEARNING)]);
    let parse = part(vec![if_prompt_contains(
        REFUSAL,
        [write("src/amount.rs", "amounts, also below zero\n")],
        [
            say("<journal>Amounts are parsed by hand: no crate does it without floats.</journal>"),
            write("src/amount.rs", "amounts\n"),
        ],
    )]);
    let table = part(vec![if_prompt_contains(
        &GUIDANCE.join("\n"),
        [write("src/table.rs", "a;b\n")],
        [
            say("<journal>Commas, as everybody has them.</journal>"),
            write("src/table.rs", "a,b\n"),
        ],
    )]);
    let mut stopped = table.clone();
    stopped.insert(1, hang());
    let payments = part(vec![write("src/payments.rs", "payments\n")]);
    // Without the note about cents the agent writes a decimal point; without the one about the bank it rounds up.
    let sum = part(vec![if_prompt_contains(
        "Every amount is kept as whole cents",
        [
            if_prompt_contains(
                "Half a cent goes to the even cent",
                [write("total.txt", "1250\n")],
                [write("total.txt", "1251\n")],
            ),
            say("<memory-used>Amounts are whole cents, The bank rounds to even</memory-used>"),
        ],
        [write("total.txt", "12.505\n")],
    )]);
    let command = part(vec![write("src/main.rs", "ledger\n")]);
    let turns = match course {
        Course::Smooth => vec![read, parse, table, payments, sum, command],
        Course::Eventful => vec![read, parse.clone(), parse, stopped, table, payments, sum, command],
    };
    let script = turns.into_iter().fold(Script::new().speaking_claude(), Script::turn);
    match course {
        Course::Smooth => script,
        Course::Eventful => script
            .verification([say("<verify-pass/>")])
            .verification([say(&format!("<verify-fail>{REFUSAL}</verify-fail>"))])
            .verification([say("All is there.\n<verify-pass/>")]),
    }
}

/// A project with the feature's files and its tasks, none of them done.
fn planned(course: Course) -> Scene {
    let scene = Scene::new(&script(course));
    scene.env.git(["init", "--quiet"]);
    scene.env.write("check.sh", CHECK);
    scene.env.write("docs/ledger.md", SPEC);
    scene.env.write("docs/plan.md", PLAN);
    let done = |arguments: &[&str]| {
        let finished = scene.ralph(arguments).run();
        assert_eq!(finished.code, Some(0), "{finished}");
        finished.stdout
    };
    done(&["init"]);
    let config = format!(
        "[agent]\nkind = \"claude\"\ncommand = {:?}\nmodels = [\"haiku\", \"sonnet\", \"opus\"]\n[verify]\ncommands = [\"sh check.sh\"]\n",
        scene.agent.words()
    );
    scene.env.write(".ralph.toml", config);
    scene.env.git(["add", "."]);
    scene.env.git(["commit", "--quiet", "--message", "The project"]);
    let (spec, plan) = ("docs/ledger.md", "docs/plan.md");
    done(&["feature", "create", FEATURE, "--spec", spec, "--plan", plan]);
    assert_eq!(done(&["task", "import", "--feature", FEATURE]), "Imported 6 tasks\n");
    let tasks = tasks(&scene);
    for (task, before) in ORDER {
        let before: Vec<&str> = before.iter().map(|task| tasks[*task].as_str()).collect();
        done(&["task", "deps", &tasks[task], "--add", &before.join(",")]);
    }
    scene
}

/// The ids of the tasks, in the order of the plan.
fn tasks(scene: &Scene) -> Vec<String> {
    let shown = json(&scene.env, &["feature", "show", FEATURE, "--json"]);
    let tree = shown["tree"].as_array().unwrap();
    let ids = tree.iter().map(|task| task["id"].as_str().unwrap_or_default());
    ids.map(str::to_owned).collect()
}

/// Runs the feature at a terminal, where the user stops the third task and gives guidance.
fn run_at_a_terminal(scene: &Scene) {
    let mut terminal = Terminal::start(scene.ralph(&["run", FEATURE, "--trust"]), COLUMNS);
    // An existing file may still be empty.
    let table = scene
        .env
        .sh("cat \"$HOME\"/.local/state/ralph/*/work/*/src/table.rs 2>/dev/null");
    let table = RefCell::new(table.command());
    let is_written = || table.borrow_mut().output().unwrap().stdout.ends_with(b"\n");
    until("the table", is_written);
    terminal.types("\u{3}");
    terminal.shows("What should it do differently?");
    for line in GUIDANCE {
        terminal.shows("> ");
        terminal.types(&format!("{line}\r"));
    }
    terminal.shows("> ");
    terminal.types("\r");
    terminal.shows("Continue with the task? [Y/n] ");
    terminal.types("y\r");
    let left = terminal.finish();
    assert_eq!(left.code, Some(0), "{}", left.bytes);
    assert!(left.is_sane, "{}", left.bytes);
}

/// Compares a text with the snapshot of this name.
fn assert_kept(name: &str, text: &str) {
    let mut settings = Settings::clone_current();
    settings.set_snapshot_path("feature_story");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| assert_snapshot!(name, text));
}

/// A prompt without durations.
fn without_times(prompt: &str) -> String {
    let lines = prompt.lines().map(|line| match line.strip_prefix("- **Duration**: ") {
        Some(time) => format!(
            "- **Duration**: [time]{}\n",
            time.find(" |").and_then(|at| time.get(at..)).unwrap_or_default()
        ),
        None => format!("{line}\n"),
    });
    lines.collect()
}

const ATTEMPTS: &str = "### Previous Attempts";
const KNOWLEDGE: &str = "## Project Knowledge";
const CENTS: &str = "### amounts-are-whole-cents.md";
const BANK: &str = "### the-bank-rounds-to-even.md";

/// Checks the prompts of the agent: the third has all sections but guidance, and the others differ as the story goes.
fn check_prompts(prompts: &[String]) {
    assert_eq!(prompts.len(), 8);
    assert_kept("turn_3", &without_times(&prompts[2]));
    let guidance = format!("```\n{}\n```\n", GUIDANCE.join("\n"));
    check_parts(
        prompts,
        &[
            (
                1,
                &[
                    "**Read the lines of a month**",
                    "```\nAn empty line is no payment.\n```",
                    "no iterations yet",
                ],
                &["## Run Journal", KNOWLEDGE],
            ),
            (
                2,
                &[
                    "Completed prerequisites:\n\n- **Read the lines of a month**",
                    "### Iteration 1 [done]",
                    "(by agent) The lines end in CRLF",
                    CENTS,
                    BANK,
                ],
                &[ATTEMPTS],
            ),
            (
                4,
                &[
                    "**Write a table**",
                    "1 of 4, no previous failures",
                    "### Iteration 2 [retried]",
                    REFUSAL,
                ],
                &[ATTEMPTS, "Guidance from the user"],
            ),
        ],
    );
    check_later_prompts(prompts, &guidance);
}

fn check_later_prompts(prompts: &[String], guidance: &str) {
    check_parts(
        prompts,
        &[
            (
                5,
                &[
                    "Guidance from the user",
                    guidance,
                    "2 (1 of 4 that count), no previous failures",
                    "### Iteration 4 [interrupted]",
                    "The agent's own notes: Commas, as everybody has them.",
                ],
                &[ATTEMPTS],
            ),
            (
                6,
                &["- **Write a table**", "- **Parse amounts**"],
                &["Guidance from the user"],
            ),
            (
                7,
                &[
                    "4/5 of the last iterations",
                    "### Iteration 2 [retried]",
                    "### Iteration 6 [done]",
                    CENTS,
                    BANK,
                ],
                &["### Iteration 1 "],
            ),
            (
                8,
                &[
                    "5/6 of the last iterations",
                    "**Model**: haiku",
                    "### Iteration 7 [done]",
                ],
                &[KNOWLEDGE],
            ),
        ],
    );
}

/// Texts that the prompt of a turn has and lacks; each prompt has specification and plan.
fn check_parts(prompts: &[String], turns: &[(usize, &[&str], &[&str])]) {
    for (turn, has, lacks) in turns {
        let prompt = &prompts[turn - 1];
        for text in has.iter().chain(&[SPEC, PLAN]) {
            assert!(prompt.contains(text), "{text} in prompt {turn}: {prompt}");
        }
        for text in *lacks {
            assert!(!prompt.contains(text), "{text} in prompt {turn}: {prompt}");
        }
    }
}

/// Checks the prompts of the verifier: the fourth has guidance and an earlier attempt; the others differ in the work.
fn check_verifications(prompts: &[String]) {
    assert_eq!(prompts.len(), 7);
    assert_kept("verification_4", &prompts[3]);
    for (number, file, is_second_attempt) in [
        (1, "src/read.rs", false),
        (2, "src/amount.rs", false),
        (3, "src/amount.rs", true),
        (4, "src/table.rs", true),
        (5, "src/payments.rs", false),
        (6, "total.txt", false),
        (7, "src/main.rs", false),
    ] {
        let prompt = &prompts[number - 1];
        let (listed, diff) = (format!("## Changed Files\n\n- {file}\n"), format!("\n+++ b/{file}\n"));
        for text in [SPEC, PLAN, "- `sh check.sh`: passed\n", &listed, &diff] {
            assert!(prompt.contains(text), "{text} in verification {number}: {prompt}");
        }
        assert_eq!(
            prompt.contains("Earlier attempts also changed"),
            is_second_attempt,
            "{prompt}"
        );
        assert_eq!(prompt.contains("Guidance from the user"), number == 4, "{prompt}");
    }
}

/// Checks that the run left no process and no temporary file.
#[track_caller]
fn assert_nothing_left(scene: &Scene) {
    let folder = scene.env.project().parent().unwrap().to_string_lossy().into_owned();
    // The output of commands hides the name of that folder.
    let processes = scene.env.sh("ps -eo args=").run().stdout.replace(&folder, "[TMP]");
    let left: Vec<&str> = processes.lines().filter(|line| line.contains("[TMP]")).collect();
    assert_eq!(left, [""; 0]);
    assert_eq!(scene.env.left_behind(), [""; 0]);
}

#[test]
fn feature_from_plan_to_done() {
    let scene = planned(Course::Eventful);
    run_at_a_terminal(&scene);
    assert_nothing_left(&scene);
    assert_eq!(
        scene.outcomes(),
        ["done", "retried", "done", "interrupted", "done", "done", "done", "done"]
    );
    let shown = json(&scene.env, &["feature", "show", FEATURE, "--json"]);
    assert_eq!(shown["status"], "done", "{shown}");
    let tree = shown["tree"].as_array().unwrap();
    assert!(tree.iter().all(|task| task["status"] == "done"), "{shown}");
    check_prompts(&scene.agent.prompts());
    check_verifications(&scene.agent.verifications());
    let tasks = tasks(&scene);
    for (command, texts) in [
        (
            &["task", "log", &tasks[1]][..],
            &[
                "Blocked: waiting for",
                "Pending: all dependencies are done",
                "In progress: attempt 1",
                REFUSAL,
                "In progress: attempt 2",
                "Done in commit ",
            ][..],
        ),
        (
            &["task", "log", &tasks[2]],
            &[
                "Stopped on request, with guidance",
                "the attempt does not count",
                GUIDANCE[0],
                GUIDANCE[1],
                "In progress: attempt 2",
                "Done in commit ",
            ],
        ),
        (
            &["knowledge", "list"],
            &[
                "amounts-are-whole-cents.md",
                "ledger",
                "the-bank-rounds-to-even.md",
                "ledger",
            ],
        ),
        (
            &["why", "7"],
            &[
                "matches the task; relied on",
                "linked from a matching entry; relied on",
                "0 left out; confirmed by",
            ],
        ),
        (
            &["status"],
            &[
                "6 tasks were done",
                "2 learnings, 2 knowledge entries, 2 notes stored",
                "ralph review",
            ],
        ),
    ] {
        scene.ralph(command).run().printed(texts);
    }
}

#[test]
fn task_that_needs_memory_fails_without_it() {
    let scene = planned(Course::Smooth);
    let config = scene.env.read(".ralph.toml") + "[execution]\nmax_retries = 0\n";
    scene.env.write(".ralph.toml", config);
    let ran = scene
        .ralph(&["run", FEATURE, "--trust", "--no-verify", "--without-memory"])
        .run();
    assert_eq!(ran.code, Some(4), "{ran}");
    assert_eq!(scene.outcomes(), ["done", "done", "done", "done", "retried"]);
    let branch = format!("ralph/{}-sum-the-amounts-of-a-month:total.txt", tasks(&scene)[4]);
    assert_eq!(scene.env.git(["show", branch.as_str()]), "12.505\n");
    let shown = json(&scene.env, &["feature", "show", FEATURE, "--json"]);
    assert_eq!(shown["tree"][4]["status"], "failed", "{shown}");
    // The knowledge existed but was not in the prompt.
    let known = json(&scene.env, &["knowledge", "list", "--json"]);
    assert_eq!(known.as_array().map(Vec::len), Some(2), "{known}");
    assert!(
        !scene.agent.prompt(5).contains("whole cents"),
        "{}",
        scene.agent.prompt(5)
    );
    assert_nothing_left(&scene);
}
