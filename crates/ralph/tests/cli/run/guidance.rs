//! Tests of Ctrl+C at a real terminal: the turn stops, the user is asked for guidance, and the run continues or ends.

use insta::assert_snapshot;
use ralph_testkit::scripted::{Script, daemon, hang, if_prompt_contains, say, write};
use ralph_testkit::{Terminal, TestEnv};

use super::signals::{assert_gone, until};
use super::{DONE, Scene};

const COLUMNS: u16 = 120;
const CTRL_C: &str = "\u{3}";
const CTRL_D: &str = "\u{4}";
const QUESTION: &str = "What should it do differently?";
const GO_ON: &str = "Continue with the task? [Y/n] ";

/// An agent that is stuck until its prompt contains the user's guidance.
fn stuck() -> Script {
    Script::new()
        .turn([
            say("<journal>I was at the parser.</journal>"),
            write("half.txt", "x"),
            hang(),
        ])
        .turn([if_prompt_contains(
            "use the other parser",
            [write("whole.txt", "x"), say(DONE)],
            [hang()],
        )])
}

/// A run at a terminal after the first Ctrl+C, when it asks.
fn asked(scene: &Scene) -> Terminal {
    let mut terminal = Terminal::start(scene.invocation(&["Parse dates"]).unfixed(), COLUMNS);
    until("half.txt", || scene.env.path("half.txt").exists());
    terminal.types(CTRL_C);
    terminal.shows(QUESTION);
    terminal.shows("> ");
    terminal
}

fn field(env: &TestEnv, arguments: &[&str], key: &str) -> String {
    let value = crate::json(env, arguments);
    value[key].as_str().unwrap_or_default().to_owned()
}

/// The description and the log of the only task.
fn task(scene: &Scene) -> (String, String) {
    let listed = crate::json(&scene.env, &["task", "list", "--json"]);
    let id = listed[0]["id"].as_str().unwrap_or_default().to_owned();
    assert!(!id.is_empty(), "{listed}");
    let description = field(&scene.env, &["task", "show", &id, "--json"], "description");
    (description, scene.env.ok(["task", "log", &id]))
}

#[test]
fn fault_1_guidance_is_recorded_and_in_the_next_prompt() {
    let scene = Scene::new(&stuck());
    let mut terminal = asked(&scene);
    terminal.types("use the other parser\r");
    terminal.shows("> ");
    terminal.types("grün, not gruen\r");
    terminal.shows("> ");
    terminal.types("\r");
    terminal.shows(GO_ON);
    terminal.types("\r");
    let (code, shown) = terminal.end();
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("saved your guidance in the task"), "{shown}");
    assert!(shown.contains("Everything is done."), "{shown}");
    let prompt = scene.agent.prompt(2);
    let from = prompt.find("Guidance from the user, given on ").unwrap();
    let guidance = prompt.get(from..).unwrap().split_once("Follow it:\n\n").unwrap().1;
    assert!(
        guidance.starts_with("```\nuse the other parser\ngrün, not gruen\n```\n"),
        "{guidance}"
    );
    assert_eq!(scene.outcomes(), ["interrupted", "done"]);
    let notes = field(&scene.env, &["journal", "show", "1", "--json"], "notes");
    assert_eq!(
        notes,
        "use the other parser\ngrün, not gruen\n\nThe agent's own notes: I was at the parser."
    );
}

#[test]
fn guidance_is_kept_when_the_run_stops() {
    let scene = Scene::new(&stuck());
    let mut terminal = asked(&scene);
    terminal.types("use the other parser\r\r");
    terminal.shows(GO_ON);
    assert!(terminal.is_sane());
    terminal.types("n\r");
    let (code, shown) = terminal.end();
    assert_eq!(code, Some(130), "{shown}");
    assert_eq!(scene.outcomes(), ["interrupted"]);
    let (description, log) = task(&scene);
    assert!(description.starts_with("Guidance (20"), "{description}");
    assert!(description.ends_with(" UTC):\nuse the other parser"), "{description}");
    let said: Vec<&str> = log.lines().filter_map(|line| line.get(22..)).collect();
    let [.., interrupted, guidance] = said.as_slice() else {
        panic!("{log}")
    };
    assert!(
        interrupted.contains("interrupted: Stopped on request, with guidance"),
        "{log}"
    );
    assert_eq!(*guidance, "Guidance: use the other parser");
    // The next run continues with it.
    let again = scene.run(&[]);
    assert_eq!(again.code, Some(0), "{again}");
}

#[test]
fn ctrl_c_during_guidance_keeps_finished_lines() {
    for lines in ["", "use the other parser\r"] {
        let scene = Scene::new(&stuck());
        let mut terminal = asked(&scene);
        terminal.types(lines);
        if !lines.is_empty() {
            terminal.shows("> ");
        }
        terminal.types("and this is not fini");
        terminal.shows("fini");
        terminal.types(CTRL_C);
        let (code, shown) = terminal.end();
        assert_eq!(code, Some(130), "{shown}");
        assert!(shown.contains("Stopped on request"), "it ends in good order: {shown}");
        assert_eq!(scene.outcomes(), ["interrupted"]);
        let (description, _) = task(&scene);
        assert_eq!(description.contains("use the other parser"), !lines.is_empty());
        assert!(!description.contains("not fini"), "{description}");
    }
}

#[test]
fn empty_guidance_leaves_the_task_unchanged() {
    let scene = Scene::new(&Script::new().turn([write("half.txt", "x"), hang()]).turn([say(DONE)]));
    let mut terminal = asked(&scene);
    terminal.types("\r");
    terminal.shows(GO_ON);
    terminal.types("y\r");
    let (code, shown) = terminal.end();
    assert_eq!(code, Some(0), "{shown}");
    assert!(!shown.contains("saved your guidance"), "{shown}");
    assert_eq!(scene.outcomes(), ["interrupted", "done"]);
    assert!(!scene.agent.prompt(2).contains("Guidance from the user"));
}

#[test]
fn end_of_input_stops_without_guidance() {
    let scene = Scene::new(&stuck());
    let mut terminal = asked(&scene);
    terminal.types(CTRL_D);
    let (code, shown) = terminal.end();
    assert_eq!(code, Some(130), "{shown}");
    assert_eq!(scene.outcomes(), ["interrupted"]);
    assert_eq!(task(&scene).0, "");
}

#[test]
fn prompt_run_again_keeps_its_guidance() {
    let script = Script::new()
        .turn([write("half.txt", "x"), hang()])
        .turn([say("<promise>COMPLETE</promise>")]);
    let scene = Scene::new(&script);
    scene.env.write("PROMPT.md", "Parse dates.\n");
    let mut terminal = Terminal::start(scene.invocation(&["PROMPT.md"]).unfixed(), COLUMNS);
    until("half.txt", || scene.env.path("half.txt").exists());
    terminal.types(CTRL_C);
    terminal.shows("> ");
    terminal.types("use the other parser\r");
    terminal.shows("> ");
    terminal.types("\r");
    terminal.shows(GO_ON);
    terminal.types("n\r");
    assert_eq!(terminal.end().0, Some(130));
    scene.env.write("PROMPT.md", "Parse dates and times.\n");
    let again = scene.run(&["PROMPT.md"]);
    assert_eq!(again.code, Some(0), "{again}");
    let prompt = scene.agent.prompt(2);
    assert!(
        prompt.contains("Parse dates and times.") && prompt.contains("use the other parser"),
        "{prompt}"
    );
}

#[test]
fn other_signals_and_json_output_do_not_ask() {
    let cases: [(&[&str], Option<&str>); 3] = [(&[], Some("TERM")), (&[], Some("HUP")), (&["--json"], None)];
    for (flags, signal) in cases {
        let scene = Scene::new(&stuck());
        let arguments = [&["Parse dates"], flags].concat();
        let mut terminal = Terminal::start(scene.invocation(&arguments).unfixed(), COLUMNS);
        until("half.txt", || scene.env.path("half.txt").exists());
        match signal {
            Some(signal) => terminal.signal(signal),
            None => terminal.types(CTRL_C),
        }
        let (code, shown) = terminal.end();
        assert_eq!(code, Some(130), "{shown}");
        assert!(!shown.contains(QUESTION), "{shown}");
        assert_eq!(scene.outcomes(), ["interrupted"]);
    }
}

#[test]
fn agent_processes_end_before_it_asks() {
    let script = Script::new().turn([daemon(), write("half.txt", "x"), hang()]);
    let scene = Scene::new(&script);
    let mut terminal = asked(&scene);
    assert_gone(&scene, &scene.agent.command());
    let children = scene.env.sh(&format!("ps -o pid= --ppid {}", terminal.pid())).run();
    assert_eq!(children.stdout.trim(), "", "{children}");
    terminal.types(CTRL_C);
    assert_eq!(terminal.end().0, Some(130));
}

#[test]
fn guidance_on_a_narrow_screen_without_colors() {
    let scene = Scene::new(&stuck());
    let invocation = scene.invocation(&["--plain", "Parse dates, times, durations and zones"]);
    let mut terminal = Terminal::start(invocation.env("NO_COLOR", "1").env("LANG", "C"), 40);
    until("half.txt", || scene.env.path("half.txt").exists());
    terminal.types(CTRL_C);
    terminal.shows("> ");
    terminal.types("use the other parser\r");
    terminal.shows("> ");
    terminal.types("\r");
    terminal.shows(GO_ON);
    terminal.types("n\r");
    let (code, shown) = terminal.end();
    assert_eq!(code, Some(130), "{shown}");
    assert!(!shown.contains('\u{1b}'), "{shown:?}");
    let from = shown.find("Stopped iteration 1").unwrap();
    let to = shown.find("Hint:").unwrap();
    assert!(shown.get(to..).unwrap().contains(" --plain "), "{shown}");
    assert_snapshot!(shown.get(from..to).unwrap(), @"
    Stopped iteration 1: t-025cc1 Parse d...
    Changed 1 file: half.txt
    What should it do differently?
    Finish with an empty line.
    Enter nothing to leave the task as it is.
    Ctrl+C stops the run.
    > use the other parser
    > 
    Continue with the task? [Y/n] n
    11:20:00 [t-025cc1] interrupted:
    Stopped on request, with guidance. (1
    file changed)
    11:20:00 [t-025cc1] saved your
    guidance in the task and the journal
    Stopped on request, with your
    guidance.
    1 iteration: no task done
    ");
}
