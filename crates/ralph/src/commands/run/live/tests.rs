//! Tests of the live view's state and drawing.

use std::collections::BTreeMap;
use std::time::Duration;

use insta::assert_snapshot;
use proptest::prelude::*;
use ralph_agent::TurnEvent;
use ralph_loop::RunEvent;
use ralph_loop::gates::{GateEnd, GateResult};
use ralph_loop::state::{Notice, PauseWait};
use ralph_model::{RunId, TaskId, TaskStatus, Usage, display_width};
use ralph_store::{NewPause, Pause, PauseReason, ScopeCounts, UnverifiedCounts};

use super::draw::{Frame, Keys, draw};
use super::view::{Changed, Doing, Iteration, Last, Mark, View};
use crate::ui::{Charset, Theme};

const AT: Duration = Duration::from_secs(132);

const PLAIN: Theme = Theme {
    color: false,
    charset: Charset::Unicode,
};

fn usage(cost_usd: f64, input_tokens: u64) -> Usage {
    Usage {
        cost_usd,
        input_tokens,
        output_tokens: 500,
    }
}

fn view() -> View {
    View {
        agent: "claude".to_owned(),
        root: "/home/me/project/".to_owned(),
        run: Some(RunId::new(1)),
        tasks: Some(ScopeCounts {
            unverified: UnverifiedCounts::default(),
            done: 2,
            failed: 1,
            waiting: 1,
            open: 4,
        }),
        settled: BTreeMap::new(),
        iteration: Some(Iteration {
            run: RunId::new(1),
            number: 3,
            task: TaskId::new(0x1a_2b3c),
            title: "Fix the parser of dates".to_owned(),
            attempt: Some((2, 4)),
            model: Some("sonnet".to_owned()),
            shown: 12,
            began: Duration::from_secs(60),
            took: None,
        }),
        gates: Vec::new(),
        doing: Doing::Tool("Edit".to_owned(), "src/parser/dates.rs".to_owned()),
        verifier: None,
        spent: usage(0.30, 40_000),
        used: usage(0.12, 10_500),
        verifier_used: Usage::default(),
        recorded: 3,
        last: Last::No,
    }
}

fn drawn(view: &View, (width, height): (usize, usize), theme: Theme) -> String {
    let frame = Frame {
        width,
        height,
        at: AT,
        now: "2026-11-16T12:00:00Z".parse().unwrap(),
        theme,
        keys: Keys::Enabled,
    };
    draw(view, &frame).join("\n").replace('\u{1b}', "^[")
}

#[test]
fn wide_terminal_shows_everything() {
    assert_snapshot!(drawn(&view(), (80, 24), PLAIN), @"
    tasks  █████▒▒░░░░░░░░░░░░░ 2 of 8 done, 1 failed, 4 open, 1 waiting · 2:12
    task   iteration 3 · attempt 2 of 4 · t-1a2b3c Fix the parser of dates
    agent  claude · sonnet · 1:12 · $0.42 · 51k tokens · memory 12 in, 3 out
    now    Edit src/parser/dates.rs
    q stop after this iteration · g guidance · p prompt · Ctrl+C stop
    ");
}

#[test]
fn narrow_terminal_uses_fewer_words() {
    assert_snapshot!(drawn(&view(), (40, 10), PLAIN), @"
    ██▒░░░░░░░ 2/8, 1 failed · 2:12
    3. try 2/4 Fix the parser of dates
    sonnet · 1:12 · $0.42 · 12 in, 3 out ·…
    Edit src/parser/dates.rs
    q end · g guide · p prompt · Ctrl+C
    ");
}

#[test]
fn tiny_terminal_shows_the_essentials() {
    assert_snapshot!(drawn(&view(), (20, 5), PLAIN), @"
    █▒░░░ 2/8, 1 failed
    Edit src/parser/da…
    ");
    assert_snapshot!(drawn(&view(), (20, 3), PLAIN), @"2/8 Edit src/parse…");
    assert_snapshot!(drawn(&view(), (5, 2), PLAIN), @"2/8");
    assert_eq!(drawn(&view(), (80, 1), PLAIN), "");
    assert_eq!(drawn(&view(), (1, 24), PLAIN), "");
    assert_eq!(drawn(&view(), (0, 0), PLAIN), "");
}

#[test]
fn colors_and_ascii_signs() {
    let theme = Theme { color: true, ..PLAIN };
    assert_snapshot!(drawn(&view(), (80, 5), theme), @"
    ^[[2mtasks  ^[[0m^[[32m█████^[[0m^[[31m▒▒^[[0m^[[2m░░░░░░░░░░░░░^[[0m 2 of 8 done, 1 failed, 4 open, 1 waiting^[[2m · 2:12^[[0m
    ^[[2mnow    ^[[0m^[[1;36mEdit^[[0m src/parser/dates.rs
    ");
    let theme = Theme {
        charset: Charset::Ascii,
        ..PLAIN
    };
    let mut view = view();
    view.gates = vec![("make 日本".to_owned(), Mark::Green), ("true".to_owned(), Mark::Red)];
    view.doing = Doing::Saying("Größe".repeat(30));
    assert_snapshot!(drawn(&view, (80, 24), theme), @"
    tasks  #####xx------------- 2 of 8 done, 1 failed, 4 open, 1 waiting | 2:12
    task   iteration 3 | attempt 2 of 4 | t-1a2b3c Fix the parser of dates
    agent  claude | sonnet | 1:12 | $0.42 | 51k tokens | memory 12 in, 3 out
    gates  red true  ok make ??
    now    Gr??eGr??eGr??eGr??eGr??eGr??eGr??eGr??eGr??eGr??eGr??eGr??eGr??eGr??eG~
    q stop after this iteration | g guidance | p prompt | Ctrl+C stop
    ");
}

#[test]
fn work_of_others_is_not_counted() {
    let mut view = View::default();
    let mut seen = |settled: &[(u64, TaskStatus)], (done, failed): (u32, u32)| {
        let tasks = settled.iter().map(|(task, status)| (TaskId::new(*task), *status));
        view.settled.extend(tasks);
        let standing = ScopeCounts {
            unverified: UnverifiedCounts::default(),
            done,
            failed,
            waiting: 1,
            open: 3,
        };
        view.tell(&RunEvent::TaskCounts(&standing), Duration::ZERO);
        let ScopeCounts { done, failed, .. } = view.tasks.unwrap();
        (done, failed)
    };
    assert_eq!(seen(&[], (40, 2)), (0, 0));
    assert_eq!(
        seen(&[(1, TaskStatus::Done)], (42, 2)),
        (1, 0),
        "another run finished one"
    );
    assert_eq!(
        seen(&[(2, TaskStatus::Failed)], (42, 2)),
        (1, 1),
        "it had failed before and was reset"
    );
    assert_eq!(seen(&[(2, TaskStatus::Pending)], (42, 1)), (1, 0), "it is retried");
    assert_eq!(seen(&[(2, TaskStatus::Done)], (0, 1)), (0, 0), "all were reopened");
}

#[test]
fn bar_shows_the_share_of_done_tasks() {
    let bar = |done, failed, open| {
        let mut view = view();
        view.tasks = Some(ScopeCounts {
            unverified: UnverifiedCounts::default(),
            done,
            failed,
            open,
            waiting: 0,
        });
        let drawn = drawn(&view, (80, 24), PLAIN);
        drawn.lines().next().unwrap().trim_start_matches("tasks  ").to_owned()
    };
    assert_snapshot!([
        bar(0, 0, 0),
        bar(0, 0, 1),
        bar(1, 0, 0),
        bar(1, 1, 9_998),
        bar(9_999, 0, 1),
        bar(9_999, 1, 0),
        bar(0, 3, 0),
    ].join("\n"), @"
    ████████████████████ 0 of 0 done · 2:12
    ░░░░░░░░░░░░░░░░░░░░ 0 of 1 done, 1 open · 2:12
    ████████████████████ 1 of 1 done · 2:12
    █▒░░░░░░░░░░░░░░░░░░ 1 of 10000 done, 1 failed, 9998 open · 2:12
    ███████████████████░ 9999 of 10000 done, 1 open · 2:12
    ███████████████████▒ 9999 of 10000 done, 1 failed · 2:12
    ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒ 0 of 3 done, 3 failed · 2:12
    ");
}

fn gate(command: &str, end: GateEnd) -> GateResult {
    GateResult {
        command: command.to_owned(),
        end,
        output: String::new(),
        duration_ms: 1,
        failures: std::collections::BTreeSet::new(),
        why: String::new(),
    }
}

#[test]
fn gates_are_shown_during_and_after_their_run() {
    let mut view = view();
    for event in [
        RunEvent::GateBegan("cargo test"),
        RunEvent::GateRan(&gate("cargo test", GateEnd::Passed)),
        RunEvent::GateBegan("cargo clippy"),
        RunEvent::GateRan(&gate("cargo clippy", GateEnd::TimedOut)),
        RunEvent::GateBegan("cargo doc"),
    ] {
        assert_eq!(view.tell(&event, AT), Changed::Yes);
    }
    assert_snapshot!(drawn(&view, (80, 9), PLAIN), @"
    tasks  █████▒▒░░░░░░░░░░░░░ 2 of 8 done, 1 failed, 4 open, 1 waiting · 2:12
    task   iteration 3 · attempt 2 of 4 · t-1a2b3c Fix the parser of dates
    gates  ✗ cargo clippy  ✓ cargo test  … cargo doc
    now    gate: cargo doc
    ");
}

#[test]
fn verifier_is_shown_with_the_gates() {
    let mut view = view();
    view.tell(&RunEvent::GateRan(&gate("cargo test", GateEnd::Passed)), AT);
    view.verifier = Some("codex".to_owned());
    view.gates.push(("verifier".to_owned(), Mark::Runs));
    let tool = TurnEvent::Tool {
        name: "Read".to_owned(),
        about: "src/lib.rs".to_owned(),
    };
    view.tell(&RunEvent::VerifierEvent(&tool), AT);
    view.tell(&RunEvent::VerifierEvent(&TurnEvent::Used(usage(1.0, 0))), AT);
    assert_snapshot!(drawn(&view, (80, 10), PLAIN), @"
    tasks  █████▒▒░░░░░░░░░░░░░ 2 of 8 done, 1 failed, 4 open, 1 waiting · 2:12
    task   iteration 3 · attempt 2 of 4 · t-1a2b3c Fix the parser of dates
    agent  claude · sonnet · 1:12 · $1.42 · 52k tokens · memory 12 in, 3 out
    gates  ✓ cargo test  … verifier
    now    codex verifies: Read src/lib.rs
    ");
}

#[test]
fn wait_counts_down() {
    let now: jiff::Timestamp = "2026-11-16T12:00:00Z".parse().unwrap();
    let left = Duration::from_secs(300);
    let wait = PauseWait {
        pause: Box::new(Pause {
            agent: "claude".to_owned(),
            what: NewPause {
                reason: PauseReason::UsageLimit,
                until: now + left,
                times: 1,
                said: String::new(),
            },
            run: RunId::new(1),
            created_at: now,
        }),
        until: now + left,
        left,
    };
    let mut view = view();
    let reported = AT.checked_sub(Duration::from_secs(30)).unwrap();
    view.tell(&RunEvent::Notice(&Notice::Waits(wait)), reported);
    let drawn = drawn(&view, (100, 5), PLAIN);
    let (before, after) = drawn.split_once(", at ").unwrap();
    assert!(before.ends_with("\nnow    Resuming in 4 min 30 s"), "{drawn}");
    assert!(after.ends_with(": usage limit of claude. Ctrl+C stops."), "{drawn}");
}

#[test]
fn other_states_are_shown() {
    let now = |doing| {
        let mut view = view();
        view.doing = doing;
        drawn(&view, (60, 5), PLAIN).lines().last().unwrap().to_owned()
    };
    assert_snapshot!([Doing::Preparing, Doing::Starting, Doing::Examining, Doing::Busy(2), Doing::NoRoom, Doing::Locked].map(now).join("\n"), @"
    now    preparing
    now    the agent is reading its prompt
    now    checking what changed
    now    waiting for other runs, which have claimed 2 tasks
    now    waiting for disk space
    now    waiting for another process to unlock the database
    ");
    let fresh = View {
        agent: "sh".to_owned(),
        ..View::default()
    };
    assert_snapshot!(drawn(&fresh, (60, 24), PLAIN), @"
    tasks  2:12
    agent  sh · memory 0 in, 0 out
    now    preparing
    q stop after this iteration · g guidance · p prompt · Ctrl…
    ");
    let mut last = view();
    last.last = Last::Yes;
    let hint = drawn(&last, (80, 24), PLAIN).lines().last().unwrap().to_owned();
    assert_eq!(
        hint,
        "ends after this iteration, q to undo · g guidance · p prompt · Ctrl+C stop"
    );
}

#[test]
fn finished_iteration_stops_its_clock_and_usage_adds_up() {
    let mut view = view();
    view.iteration.as_mut().unwrap().took = Some(Duration::from_secs(3_725));
    view.tell(&RunEvent::Agent(&TurnEvent::Used(usage(1.0, 2_000_000))), AT);
    let drawn = drawn(&view, (80, 24), PLAIN);
    let agent = drawn.lines().nth(2).unwrap();
    assert_eq!(
        agent,
        "agent  claude · sonnet · 1:02:05 · $1.30 · 2.0M tokens · memory 12 in, 3 out"
    );
}

#[test]
fn last_line_of_text_is_shown_from_its_start() {
    let mut view = view();
    let mut says = |text: &str| {
        view.tell(&RunEvent::Agent(&TurnEvent::Text(text.to_owned())), AT);
        match &view.doing {
            Doing::Saying(line) => line.trim_end().to_owned(),
            other => format!("{other:?}"),
        }
    };
    assert_eq!(says("I look"), "I look");
    assert_eq!(says(" at it"), "I look at it");
    assert_eq!(says(".\n"), "I look at it.");
    assert_eq!(says("Then"), "Then");
    assert_eq!(says("\n\n"), "Then");
    assert_eq!(says("one\ntwo\n  three"), "three");
    assert_eq!(says(" more\n \n"), "three more");
    assert_eq!(says("next"), "next");
    assert_eq!(says(&"x".repeat(10_000)).len(), 400);
    let tool = TurnEvent::Tool {
        name: "Read".to_owned(),
        about: "/home/me/project/src/lib.rs\nand more".to_owned(),
    };
    view.tell(&RunEvent::Agent(&tool), AT);
    assert_eq!(view.doing, Doing::Tool("Read".to_owned(), "src/lib.rs".to_owned()));
    assert_eq!(view.tell(&RunEvent::Agent(&TurnEvent::Alive), AT), Changed::No);
    assert_eq!(
        view.tell(&RunEvent::Agent(&TurnEvent::Line("{}".to_owned())), AT),
        Changed::No
    );
}

#[test]
fn each_message_starts_a_new_line() {
    let mut view = view();
    for text in ["I look at part 0.", "I look", " at part 1."] {
        if text.starts_with('I') {
            view.tell(&RunEvent::Agent(&TurnEvent::MessageBegins), AT);
        }
        view.tell(&RunEvent::Agent(&TurnEvent::Text(text.to_owned())), AT);
    }
    assert_eq!(view.doing, Doing::Saying("I look at part 1.".to_owned()));
}

#[test]
fn failing_gate_is_shown_first() {
    let mut view = view();
    let gates = ["sleep 1; true", "cargo clippy --all-targets", "cargo test", "cargo doc"];
    view.gates = gates.map(|command| (command.to_owned(), Mark::Green)).to_vec();
    view.gates[2].1 = Mark::Red;
    let line = |width| {
        let drawn = drawn(&view, (width, 24), PLAIN);
        let gates = drawn.lines().find(|line| line.starts_with("gates")).unwrap();
        gates.to_owned()
    };
    assert_eq!(line(44), "gates ✗ cargo test  ✓ sleep 1; true  ✓ car…");
    assert_eq!(
        line(80),
        "gates  ✗ cargo test  ✓ sleep 1; true  ✓ cargo clippy --all-targets  ✓ cargo doc"
    );
}

proptest! {
    /// For any text: lines are narrower than the terminal, take at most half of it, and contain no control characters.
    #[test]
    fn lines_fit_and_contain_no_control_characters(
        said in ".{0,200}",
        title in "[\u{0}-\u{9f}\u{200b}-\u{202e}\u{5d0}-\u{5ea}日🦀👩‍👩‍👧é]{0,60}",
        width in 0..120_usize,
        height in 0..30_usize,
    ) {
        let mut view = view();
        view.iteration.as_mut().unwrap().title.clone_from(&title);
        view.gates = vec![(title, Mark::Runs)];
        view.doing = Doing::Saying(said);
        let drawn = drawn(&view, (width, height), PLAIN);
        let lines: Vec<&str> = drawn.lines().collect();
        prop_assert!(lines.len() <= (height / 2).max(1));
        for line in lines {
            prop_assert!(display_width(line) < width, "{line:?}");
            prop_assert!(!line.contains(|c: char| c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c)), "{line:?}");
        }
    }
}
