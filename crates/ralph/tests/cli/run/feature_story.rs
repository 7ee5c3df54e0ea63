//! The story of a feature, from its first file to its last task, at a real terminal: a second session refuses a part once,
//! a person stops another and says what they want instead, and what the first part found out decides a later one. Every
//! prompt of it is kept beside this file, as the agent got it.

use std::cell::RefCell;

use insta::{Settings, assert_snapshot};
use ralph_testkit::Terminal;
use ralph_testkit::scripted::{Action, Script, hang, if_prompt_holds, say, write};

use super::signals::until;
use super::{DONE, Scene, normal};
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
/// What each part waits for, by their numbers in the plan.
const ORDER: [(usize, &[usize]); 5] = [(1, &[0]), (2, &[0]), (3, &[1, 2]), (4, &[1]), (5, &[3, 4])];
/// The gate: whoever sums up in any other way than these books are kept fails.
const CHECK: &str = "\
if test -e total.txt && ! grep -qx 1250 total.txt; then
    echo 'FAIL total.txt: this is not the total of the books'
    exit 1
fi
";
const REFUSAL: &str = "src/amount.rs refuses `-3.00`, and money that comes back is a payment";
const GUIDANCE: [&str; 2] = ["semicolons, not commas:", "our spreadsheet is a German one"];

/// What the first part finds out: two long notes, of which the first leads to the second.
const LESSON: &str = "\
Half of what I know now is not written anywhere.
<knowledge tags=\"amounts, money\" title=\"Amounts are whole cents\">
Every amount is kept as whole cents: 12.50 is 1250. How half a cent is rounded: [[The bank rounds to even]].
</knowledge>
<knowledge tags=\"bank\" title=\"The bank rounds to even\">
Half a cent goes to the even cent, as in the statements of the bank.
</knowledge>
<journal>The lines end in CRLF; the last one may be cut off.</journal>";

/// How the parts go.
#[derive(Clone, Copy)]
enum Course {
    /// Each is done at once, as far as its agent knows how.
    Smooth,
    /// One is refused, and one is stopped.
    Eventful,
}

fn script(course: Course) -> Script {
    let part = |actions: Vec<Action>| [actions, vec![say(DONE)]].concat();
    let read = part(vec![write("src/read.rs", "lines\n"), say(LESSON)]);
    let parse = part(vec![if_prompt_holds(
        REFUSAL,
        [write("src/amount.rs", "amounts, also below zero\n")],
        [
            say("<journal>Amounts are parsed by hand: no crate does it without floats.</journal>"),
            write("src/amount.rs", "amounts\n"),
        ],
    )]);
    let table = part(vec![if_prompt_holds(
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
    // Whoever knows nothing of cents writes a decimal point; whoever knows nothing of the bank rounds up.
    let sum = part(vec![if_prompt_holds(
        "Every amount is kept as whole cents",
        [
            if_prompt_holds(
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

/// A project in which the feature is described and its parts are tasks; nothing of it is done.
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

/// The ids of the tasks, as the plan has them.
fn tasks(scene: &Scene) -> Vec<String> {
    let shown = json(&scene.env, &["feature", "show", FEATURE, "--json"]);
    let tree = shown["tree"].as_array().unwrap();
    let ids = tree.iter().map(|task| task["id"].as_str().unwrap_or_default());
    ids.map(str::to_owned).collect()
}

/// Runs the feature at a terminal, where somebody stops the third part and says what they want.
fn run_at_a_terminal(scene: &Scene) {
    let mut terminal = Terminal::start(scene.ralph(&["run", FEATURE, "--trust"]), COLUMNS);
    // A file that is there may still be empty.
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
    terminal.shows("Go on with the task? [Y/n] ");
    terminal.types("y\r");
    let left = terminal.left();
    assert_eq!(left.code, Some(0), "{}", left.bytes);
    assert!(left.is_sane, "{}", left.bytes);
}

/// What a command prints, without durations.
fn printed(scene: &Scene, arguments: &[&str]) -> String {
    let finished = normal(scene.ralph(arguments).run());
    assert_eq!(finished.code, Some(0), "{finished}");
    let lines = finished.stdout.lines().map(|line| match line.split_once(" s, ") {
        Some((before, after)) if before.starts_with("Spent") => format!("Spent    [time], {after}\n"),
        _ => match line.split_once("Done in commit ") {
            Some((before, _)) => format!("{before}Done in commit [commit].\n"),
            None => format!("{line}\n"),
        },
    });
    lines.collect()
}

/// Compares a text with the file of this name beside this one, and writes that where `INSTA_UPDATE=always` is set.
fn kept(name: &str, text: &str) {
    let mut settings = Settings::clone_current();
    settings.set_snapshot_path("feature_story");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| assert_snapshot!(name, text));
}

/// The same with prompts, one a file, without the times that their iterations took.
fn prompts_kept(kind: &str, prompts: &[String]) {
    for (prompt, number) in prompts.iter().zip(1..) {
        let lines = prompt.lines().map(|line| match line.strip_prefix("- **Duration**: ") {
            Some(time) => format!(
                "- **Duration**: [time]{}\n",
                time.find(" |").and_then(|at| time.get(at..)).unwrap_or_default()
            ),
            None => format!("{line}\n"),
        });
        kept(&format!("{kind}_{number}"), &lines.collect::<String>());
    }
}

/// Checks that the run has left no process and no temporary file.
#[track_caller]
fn nothing_left(scene: &Scene) {
    let folder = scene.env.project().parent().unwrap().to_string_lossy().into_owned();
    // What a command prints has that folder's name hidden.
    let processes = scene.env.sh("ps -eo args=").run().stdout.replace(&folder, "[TMP]");
    let left: Vec<&str> = processes.lines().filter(|line| line.contains("[TMP]")).collect();
    assert_eq!(left, [""; 0]);
    assert_eq!(scene.env.left_behind(), [""; 0]);
}

#[test]
fn a_feature_from_its_plan_to_its_end() {
    let scene = planned(Course::Eventful);
    run_at_a_terminal(&scene);
    nothing_left(&scene);
    assert_eq!(
        scene.outcomes(),
        ["done", "retried", "done", "interrupted", "done", "done", "done", "done"]
    );
    let shown = json(&scene.env, &["feature", "show", FEATURE, "--json"]);
    assert_eq!(shown["status"], "done", "{shown}");
    prompts_kept("turn", &scene.agent.prompts());
    prompts_kept("look", &scene.agent.verifications());
    let tasks = tasks(&scene);
    for (name, command) in [
        ("feature_show", &["feature", "show", FEATURE][..]),
        ("journal_list", &["journal", "list"]),
        ("log_of_the_refused", &["task", "log", &tasks[1]]),
        ("log_of_the_stopped", &["task", "log", &tasks[2]]),
        ("knowledge_list", &["knowledge", "list"]),
        ("why_the_lesson_stood", &["why", "7"]),
        ("status", &["status"]),
    ] {
        kept(name, &printed(&scene, command));
    }
}

#[test]
fn without_memory_the_part_that_needs_the_lesson_fails_its_gate() {
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
    // The lesson was there: it only did not stand in the prompt.
    let known = json(&scene.env, &["knowledge", "list", "--json"]);
    assert_eq!(known.as_array().map(Vec::len), Some(2), "{known}");
    assert!(
        !scene.agent.prompt(5).contains("whole cents"),
        "{}",
        scene.agent.prompt(5)
    );
    nothing_left(&scene);
}
