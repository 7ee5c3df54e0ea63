//! Tests of the live view at a real terminal: the screen during a run, the scrollback, the keys, and the restored
//! terminal.

use ralph_testkit::scripted::{Action, Script, run, say, write};
use ralph_testkit::{Cursor, Finished, Invocation, Screen, Terminal, TerminalExit};

use super::signals::{assert_gone, until};
use super::{DONE, GATE, Scene, normal};

const CTRL_C: &str = "\u{3}";
const CTRL_Z: &str = "\u{1a}";
/// A shell that runs a command, and continues it in the foreground after Ctrl+Z and a line.
const SUSPENDABLE: &str = "set -m; $RUN; echo SHELL; read _; fg; exit $?";
const HINTS: &str = "q stop after this iteration · g guidance · p prompt · Ctrl+C stop";

/// Makes the agent wait for this file next to the project.
fn wait_for(file: &str) -> Action {
    run(&format!("until [ -e ../{file} ]; do sleep 0.02; done"))
}

/// An agent that prints something, waits for a file, and is done.
fn patient() -> Script {
    Script::new().turn([
        say("I read the parser.\n"),
        wait_for("go-{turn}"),
        write("work-{turn}.txt", "work\n"),
        say(DONE),
    ])
}

fn go(scene: &Scene, turn: u32) {
    std::fs::File::create(scene.env.beside(&format!("go-{turn}"))).unwrap();
}

fn at_terminal(invocation: Invocation, columns: u16, rows: u16) -> Terminal {
    Terminal::of_size(&invocation.command(), columns, rows)
}

/// The screen and scrollback, without what differs between runs.
fn lines(screen: &Screen) -> Vec<String> {
    let told = Finished {
        code: None,
        stdout: screen.lines().join("\n"),
        stderr: String::new(),
    };
    let told = normal(told).stdout;
    told.lines()
        .filter(|line| !line.starts_with("Agent: "))
        .map(str::to_owned)
        .collect()
}

/// The same for a run without a terminal.
fn piped(finished: &Finished) -> Vec<String> {
    let told = format!("{}{}", finished.stderr, finished.stdout);
    told.lines()
        .filter(|line| !line.starts_with("Agent: "))
        .map(str::to_owned)
        .collect()
}

/// A run whose agent has printed something.
fn working(scene: &Scene, arguments: &[&str]) -> Terminal {
    let terminal = at_terminal(scene.invocation(arguments), 80, 24);
    terminal.has_row("now    I read the parser.");
    terminal
}

/// A shell script that starts a run at a terminal; `$RUN` is the command.
fn in_shell(scene: &Scene, script: &str) -> Terminal {
    let shell = scene
        .env
        .sh(&script.replace("$RUN", r#""$RALPH" run --agent "$AGENT" "Mend the parser""#))
        .env("AGENT", scene.agent.command())
        .env("TZ", "UTC")
        .env("RALPH_VERIFY_COMMANDS", GATE);
    at_terminal(shell, 80, 24)
}

/// Waits until the run asks for guidance.
#[track_caller]
fn asks(terminal: &Terminal) -> Screen {
    terminal.is("the question", |screen| {
        screen.shown().last().is_some_and(|row| row == ">")
    })
}

/// Gives guidance when asked, and answers whether to continue with the task.
#[track_caller]
fn guides(terminal: &mut Terminal, answer: &str) {
    asks(terminal);
    terminal.types("use the other parser\r\r");
    terminal.shows("Continue with the task?");
    terminal.types(answer);
}

#[track_caller]
fn assert_left(left: &TerminalExit, code: Option<i32>) {
    assert_eq!(left.code, code, "{:?}", left.bytes);
    assert!(left.is_sane, "{:?}", left.bytes);
    assert_eq!(left.screen.cursor(), Cursor::Shown);
    let remains = ["tasks  ", "now    ", "agent  ", "q stop", "q end"];
    let lines = left.screen.lines();
    let found = lines
        .iter()
        .find(|line| remains.iter().any(|part| line.starts_with(part)));
    assert_eq!(found, None, "{lines:#?}");
}

#[test]
fn live_view_leaves_the_same_lines_as_a_pipe() {
    let scene = Scene::new(&patient());
    let terminal = working(&scene, &["Mend the parser"]);
    let screen = terminal.has_row(HINTS);
    let shown = screen.shown().join("\n");
    assert!(
        shown.contains("tasks  ░░░░░░░░░░░░░░░░░░░░ 0 of 1 done, 1 open · 0:"),
        "{shown}"
    );
    assert!(shown.contains("\ntask   iteration 1 · t-"), "{shown}");
    assert!(shown.contains(" memory 0 in, 0 out\n"), "{shown}");
    assert_eq!(screen.cursor(), Cursor::Hidden);
    assert!(!terminal.is_sane(), "keys are heard one by one");
    assert!(
        !terminal.read_blocks(),
        "Ctrl+C takes away a key that was seen and not read"
    );
    go(&scene, 1);
    let left = terminal.finish();
    assert_left(&left, Some(0));
    let other = Scene::new(&patient());
    go(&other, 1);
    // A terminal wraps long lines.
    let piped = piped(&other.run(&["Mend the parser"]));
    assert_eq!(lines(&left.screen).join(" "), piped.join(" "));
}

/// One task failed before the run, fails in it and is done in the end; the user completes another one meanwhile.
#[test]
fn run_counts_only_tasks_it_settled() {
    let reads = || say("I read the parser.\n");
    let script = Script::new()
        .turn([reads(), wait_for("go-1"), write("one.txt", "x"), say(DONE)])
        .turn([say("<task-failed>{task} no</task-failed>")])
        .turn([reads(), wait_for("go-3"), write("two.txt", "x"), say(DONE)])
        .turn([write("three.txt", "x"), say(DONE)]);
    let scene = Scene::new(&script);
    scene.env.write(".ralph.toml", "[execution]\nmax_retries = 0\n");
    for title in ["Fails", "Is done", "Is done later", "Is done by a person"] {
        assert_eq!(scene.ralph(&["task", "add", title]).run().code, Some(0), "{title}");
    }
    let listed = crate::json(&scene.env, &["task", "list", "--json"]);
    let id = |index: usize| listed[index]["id"].as_str().unwrap().to_owned();
    scene.env.ok(["task", "fail", &id(0)]);
    let terminal = working(&scene, &[]);
    terminal.has_row(" 0 of 3 done, 3 open · ");
    scene.env.ok(["task", "reset", &id(0)]);
    scene.env.ok(["task", "done", &id(3)]);
    go(&scene, 1);
    terminal.has_row(" 1 of 3 done, 1 failed, 1 open · ");
    scene.env.ok(["task", "reset", &id(0)]);
    go(&scene, 3);
    let left = terminal.finish();
    assert_left(&left, Some(0));
    let lines = left.screen.lines();
    let is_summary = |line: &&String| line.starts_with("4 iterations: 3 tasks done") && !line.contains("failed");
    assert!(lines.iter().any(|line| is_summary(&line)), "{lines:#?}");
}

#[test]
fn resizing_leaves_no_remains_of_the_view() {
    let scene = Scene::new(&patient());
    for title in ["Mend the parser", "Write it down"] {
        scene.env.ok(["task", "add", title]);
    }
    let terminal = working(&scene, &[]);
    terminal.resize(40, 10);
    terminal.has_row("q end · g guide · p prompt · Ctrl+C");
    terminal.resize(20, 5);
    terminal.is("two rows", |screen| {
        let shown = screen.shown();
        let [.., tasks, now] = shown.as_slice() else {
            return false;
        };
        tasks.starts_with("░░░░░ 0/2") && now == "I read the parser."
    });
    terminal.resize(20, 3);
    terminal.has_row("0/2 I read the par…");
    terminal.resize(20, 1);
    terminal.is("nothing", |screen| !screen.shown().concat().contains("read"));
    go(&scene, 1);
    terminal.is("the next iteration", |screen| {
        screen.lines().iter().any(|line| line.contains("iteration 2"))
    });
    terminal.resize(100, 30);
    terminal.has_row(HINTS);
    go(&scene, 2);
    let left = terminal.finish();
    assert_left(&left, Some(0));
    assert_eq!(scene.outcomes(), ["done", "done"]);
    let told = lines(&left.screen);
    assert!(
        told.iter()
            .all(|line| line.starts_with("11:20:00 ") || !line.contains('·')),
        "{told:#?}"
    );
    assert_eq!(told.last().map(String::as_str), Some("2 iterations: 2 tasks done"));
}

#[test]
fn q_toggles_the_end_after_the_iteration() {
    for (keys, outcomes) in [(1, 1), (2, 2)] {
        let scene = Scene::new(&patient());
        for title in ["One", "Two"] {
            scene.env.ok(["task", "add", title]);
        }
        go(&scene, 2);
        let mut terminal = working(&scene, &[]);
        for key in 0..keys {
            terminal.types("q");
            terminal.has_row(["ends after this iteration, q to undo", HINTS][key]);
        }
        go(&scene, 1);
        let left = terminal.finish();
        assert!(left.is_sane);
        assert_eq!(scene.outcomes().len(), outcomes, "{:?}", left.bytes);
    }
}

#[test]
fn p_shows_the_prompt_in_the_scrollback_or_in_a_pager() {
    let path = ".ralph/runs/run-658eec67/001/prompt.md";
    for (pager, shown) in [
        (
            "",
            vec![
                "## Assigned Task".to_owned(),
                format!("Prompt of iteration 1, {path}:"),
                "End of the prompt of iteration 1.".to_owned(),
            ],
        ),
        ("sed 's/^/PAGED: /'", vec!["PAGED: ## Assigned Task".to_owned()]),
    ] {
        let scene = Scene::new(&patient());
        let invocation = scene.invocation(&["Mend the parser"]).env("PAGER", pager);
        let mut terminal = at_terminal(invocation, 80, 24);
        terminal.has_row("now    I read the parser.");
        terminal.types("p");
        for shown in shown {
            terminal.is("the prompt", |screen| screen.lines().contains(&shown));
        }
        terminal.has_row(HINTS);
        go(&scene, 1);
        assert_left(&terminal.finish(), Some(0));
    }
}

#[test]
fn output_waits_for_the_pager_which_gets_ctrl_c() {
    let scene = Scene::new(&patient());
    for title in ["Mend the parser", "Write it down"] {
        scene.env.ok(["task", "add", title]);
    }
    let mut terminal = paging(&scene, &[]);
    assert_eq!(terminal.has_row("PAGER").cursor(), Cursor::Shown);
    terminal.types(CTRL_C);
    terminal.has_row("^C");
    go(&scene, 1);
    until("the end", || scene.outcomes() == ["done"]);
    let screen = terminal.has_row("PAGER");
    assert!(
        !screen.lines().iter().any(|line| line.contains("done")),
        "{:?}",
        screen.lines()
    );
    std::fs::File::create(scene.env.beside("closed")).unwrap();
    terminal.is("what was said", |screen| {
        screen
            .lines()
            .iter()
            .any(|line| line.ends_with("] done (1 file changed)"))
    });
    go(&scene, 2);
    assert_left(&terminal.finish(), Some(0));
}

/// A run that shows its prompt in a pager that ignores Ctrl+C and does not close by itself.
fn paging(scene: &Scene, arguments: &[&str]) -> Terminal {
    let pager = "trap : INT; stty -icanon; echo PAGER; until [ -e ../closed ]; do sleep 0.02; done; stty icanon; :";
    let invocation = scene.invocation(arguments).env("PAGER", pager);
    let mut terminal = at_terminal(invocation, 80, 24);
    terminal.has_row("now    I read the parser.");
    terminal.types("p");
    terminal.has_row("PAGER");
    terminal
}

#[test]
fn end_of_a_run_closes_the_pager() {
    for (signal, code) in [(None, 0), (Some("TERM"), 130)] {
        let scene = Scene::new(&patient());
        let terminal = paging(&scene, &["Mend the parser"]);
        match signal {
            Some(signal) => terminal.signal(signal),
            None => go(&scene, 1),
        }
        let left = terminal.finish();
        assert_left(&left, Some(code));
        let told = lines(&left.screen);
        assert_eq!(
            told.iter().filter(|line| line.contains(" iteration 1: ")).count(),
            1,
            "{told:#?}"
        );
    }
}

#[test]
fn early_signal_restores_the_terminal() {
    for round in 0..12 {
        let scene = Scene::new(&patient());
        let mut terminal = at_terminal(scene.invocation(&["Mend the parser"]), 80, 24);
        terminal.shows("\u{1b}[?25l");
        terminal.signal(["TERM", "HUP"][round % 2]);
        assert_left(&terminal.finish(), Some(130));
    }
}

#[test]
fn g_asks_at_a_non_controlling_terminal() {
    let scene = Scene::new(&patient());
    go(&scene, 2);
    let mut terminal = in_shell(&scene, "setsid --wait $RUN");
    terminal.has_row("now    I read the parser.");
    terminal.types("g");
    guides(&mut terminal, "y\r");
    assert_left(&terminal.finish(), Some(0));
    assert!(scene.agent.prompt(2).contains("use the other parser"));
}

#[test]
fn g_asks_for_guidance_and_the_view_returns() {
    let scene = Scene::new(&patient());
    go(&scene, 2);
    let mut terminal = working(&scene, &["Mend the parser"]);
    terminal.types("g");
    let screen = asks(&terminal);
    assert!(terminal.is_sane());
    assert!(
        !screen.shown().iter().any(|row| row.starts_with("tasks")),
        "{:?}",
        screen.shown()
    );
    guides(&mut terminal, "y\r");
    let left = terminal.finish();
    assert_left(&left, Some(0));
    assert_eq!(scene.outcomes(), ["interrupted", "done"]);
    assert!(scene.agent.prompt(2).contains("use the other parser"));
}

#[test]
fn every_end_restores_the_terminal() {
    for signal in ["TERM", "HUP", "INT"] {
        let scene = Scene::new(&patient());
        let mut terminal = working(&scene, &["Mend the parser"]);
        terminal.signal(signal);
        if signal == "INT" {
            asks(&terminal);
            terminal.types(CTRL_C);
        }
        assert_left(&terminal.finish(), Some(130));
    }
}

#[test]
fn ctrl_backslash_ends_all_agent_processes() {
    for arguments in [&["Mend the parser"][..], &["--plain", "Mend the parser"]] {
        let scene = Scene::new(&patient());
        let mut terminal = at_terminal(scene.invocation(arguments), 80, 24);
        until("the agent", || scene.agent.turns() == 1);
        terminal.types("\u{1c}");
        let left = terminal.finish();
        assert_eq!(left.signal, Some(3), "{:?}", left.bytes);
        assert_left(&left, None);
        assert_gone(&scene, &scene.agent.command());
    }
}

#[test]
fn ctrl_z_suspends_and_fg_restores_the_view() {
    let scene = Scene::new(&patient());
    let mut terminal = in_shell(&scene, SUSPENDABLE);
    terminal.has_row("now    I read the parser.");
    terminal.types(CTRL_Z);
    let screen = terminal.has_row("SHELL");
    assert!(terminal.is_sane());
    assert!(
        !screen.lines().iter().any(|row| row.starts_with("tasks")),
        "{:?}",
        screen.lines()
    );
    terminal.types("\r");
    terminal.has_row(HINTS);
    terminal.is("keys", |screen| screen.cursor() == Cursor::Hidden);
    go(&scene, 1);
    let left = terminal.finish();
    assert_left(&left, Some(0));
    assert_eq!(scene.outcomes(), ["done"]);
}

#[test]
fn ctrl_z_during_a_question_and_fg_restores_the_prompt() {
    let scene = Scene::new(&patient());
    let mut terminal = in_shell(&scene, SUSPENDABLE);
    terminal.has_row("now    I read the parser.");
    terminal.types("g");
    asks(&terminal);
    terminal.types(CTRL_Z);
    terminal.has_row("SHELL");
    terminal.types("\r");
    guides(&mut terminal, "n\r");
    assert_left(&terminal.finish(), Some(130));
    assert_eq!(scene.outcomes(), ["interrupted"]);
}

#[test]
fn ctrl_z_without_a_shell_changes_nothing() {
    let scene = Scene::new(&patient());
    let mut terminal = working(&scene, &["Mend the parser"]);
    terminal.types(CTRL_Z);
    terminal.types("q");
    terminal.has_row("ends after this iteration");
    go(&scene, 1);
    assert_left(&terminal.finish(), Some(0));
}

#[test]
fn background_run_draws_nothing_and_continues() {
    let scene = Scene::new(&patient());
    go(&scene, 1);
    let left = in_shell(&scene, "set -m; $RUN & wait $!; exit $?").finish();
    assert_left(&left, Some(0));
    assert!(!left.bytes.contains('\u{1b}'), "{:?}", left.bytes);
}

#[test]
fn plain_lines_if_the_view_is_unwanted_or_impossible() {
    let variables = [("TERM", "dumb"), ("CI", "true"), ("RALPH_UI_LIVE", "never"), ("X", "")];
    for (name, value) in variables {
        let scene = Scene::new(&patient());
        go(&scene, 1);
        let arguments: &[&str] = if name == "X" { &["--plain", "Mend"] } else { &["Mend"] };
        let invocation = scene.invocation(arguments).env(name, value).env("NO_COLOR", "1");
        let left = at_terminal(invocation, 80, 24).finish();
        assert_left(&left, Some(0));
        assert!(!left.bytes.contains('\u{1b}'), "{name}: {:?}", left.bytes);
    }
}

#[test]
fn agent_output_is_never_interpreted() {
    let hostile = "\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}31m \u{202e}hostile 日本🦀\u{1b}[?1049h\n";
    let script = Script::new().turn([say(hostile), wait_for("go-1"), write("work.txt", "x"), say(DONE)]);
    let scene = Scene::new(&script);
    scene.env.write(
        ".ralph.toml",
        "[verify]\ncommands = [\"true # \\u202e\\u2066\\u0085gate\"]\n",
    );
    let arguments = ["--trust", "A \u{1b}[31mtitle \u{202e}\u{2067}turned"];
    let terminal = at_terminal(scene.invocation(&arguments), 80, 24);
    terminal.has_row("hostile 日本🦀");
    go(&scene, 1);
    let left = terminal.finish();
    assert_left(&left, Some(0));
    for obeyed in [
        "\u{1b}[2J",
        "\u{1b}]",
        "\u{7}",
        "\u{9b}",
        "\u{202e}",
        "\u{2066}",
        "\u{2067}",
        "\u{85}",
        "1049",
        "\u{1b}[31mtitle",
    ] {
        assert!(!left.bytes.contains(obeyed), "{obeyed:?} in {:?}", left.bytes);
    }
}
