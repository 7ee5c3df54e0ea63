//! The picture of a run, and how it is drawn: wide, narrow and tiny, with and without colours, in every state.

use std::collections::BTreeMap;
use std::time::Duration;

use insta::assert_snapshot;
use proptest::prelude::*;
use ralph_agent::TurnEvent;
use ralph_loop::News;
use ralph_loop::gates::{GateEnd, GateResult};
use ralph_loop::state::{Notice, PauseWait};
use ralph_memory::inject::prompt::AttemptNumber;
use ralph_model::{RunId, TaskId, TaskStatus, Usage, display_width};
use ralph_store::{NewPause, Pause, PauseReason, Standing, UnverifiedCounts};

use super::draw::{Frame, Keys, draw};
use super::view::{Changed, Doing, Iteration, Last, Mark, View};
use crate::ui::{Look, Signs};

/// Two minutes and a bit after the beginning.
const AT: Duration = Duration::from_secs(132);

const PLAIN: Look = Look {
    color: false,
    signs: Signs::Unicode,
};

fn usage(cost_usd: f64, input_tokens: u64) -> Usage {
    Usage {
        cost_usd,
        input_tokens,
        output_tokens: 500,
    }
}

/// A run in the middle of its work.
fn view() -> View {
    View {
        agent: "claude".to_owned(),
        root: "/home/me/project/".to_owned(),
        run: Some(RunId::new(1)),
        tasks: Some(Standing {
            unverified: UnverifiedCounts::default(),
            done: 2,
            failed: 1,
            waiting: 1,
            open: 4,
        }),
        left: BTreeMap::new(),
        iteration: Some(Iteration {
            run: RunId::new(1),
            number: 3,
            task: TaskId::new(0x1a_2b3c),
            title: "Mend the parser of dates".to_owned(),
            attempt: Some(AttemptNumber::of_all(2, 4)),
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

fn drawn(view: &View, (width, height): (usize, usize), look: Look) -> String {
    let frame = Frame {
        width,
        height,
        at: AT,
        now: "2026-11-16T12:00:00Z".parse().unwrap(),
        look,
        keys: Keys::Heard,
    };
    draw(view, &frame).join("\n").replace('\u{1b}', "^[")
}

#[test]
fn a_wide_terminal_shows_everything() {
    assert_snapshot!(drawn(&view(), (80, 24), PLAIN), @"
    tasks  █████▒▒░░░░░░░░░░░░░ 2 of 8 done, 1 failed, 4 open, 1 waiting · 2:12
    task   iteration 3 · attempt 2 of 4 · t-1a2b3c Mend the parser of dates
    agent  claude · sonnet · 1:12 · $0.42 · 51k tokens · memory 12 in, 3 out
    now    Edit src/parser/dates.rs
    q stop after this iteration · g guidance · p prompt · Ctrl+C stop
    ");
}

#[test]
fn a_narrow_terminal_shows_it_in_fewer_words() {
    assert_snapshot!(drawn(&view(), (40, 10), PLAIN), @"
    ██▒░░░░░░░ 2/8, 1 failed · 2:12
    3. try 2/4 Mend the parser of dates
    sonnet · 1:12 · $0.42 · 12 in, 3 out ·…
    Edit src/parser/dates.rs
    q end · g guide · p prompt · Ctrl+C
    ");
}

#[test]
fn a_tiny_terminal_shows_what_matters_most() {
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
fn colours_set_apart_and_other_signs_are_spelled() {
    let look = Look { color: true, ..PLAIN };
    assert_snapshot!(drawn(&view(), (80, 5), look), @"
    ^[[2mtasks  ^[[0m^[[32m█████^[[0m^[[31m▒▒^[[0m^[[2m░░░░░░░░░░░░░^[[0m 2 of 8 done, 1 failed, 4 open, 1 waiting^[[2m · 2:12^[[0m
    ^[[2mnow    ^[[0m^[[1;36mEdit^[[0m src/parser/dates.rs
    ");
    let look = Look {
        signs: Signs::Ascii,
        ..PLAIN
    };
    let mut view = view();
    view.gates = vec![("make 日本".to_owned(), Mark::Green), ("true".to_owned(), Mark::Red)];
    view.doing = Doing::Saying("Größe".repeat(30));
    assert_snapshot!(drawn(&view, (80, 24), look), @"
    tasks  #####xx------------- 2 of 8 done, 1 failed, 4 open, 1 waiting | 2:12
    task   iteration 3 | attempt 2 of 4 | t-1a2b3c Mend the parser of dates
    agent  claude | sonnet | 1:12 | $0.42 | 51k tokens | memory 12 in, 3 out
    gates  red true  ok make ??
    now    Gr??eGr??eGr??eGr??eGr??eGr??eGr??eGr??eGr??eGr??eGr??eGr??eGr??eGr??eG~
    q stop after this iteration | g guidance | p prompt | Ctrl+C stop
    ");
}

#[test]
fn what_others_did_is_not_counted_before_the_run_and_beside_it() {
    let mut view = View::default();
    let mut seen = |left: &[(u64, TaskStatus)], (done, failed): (u32, u32)| {
        let tasks = left.iter().map(|(task, status)| (TaskId::new(*task), *status));
        view.left.extend(tasks);
        let standing = Standing {
            unverified: UnverifiedCounts::default(),
            done,
            failed,
            waiting: 1,
            open: 3,
        };
        view.tell(&News::Standing(&standing), Duration::ZERO);
        let Standing { done, failed, .. } = view.tasks.unwrap();
        (done, failed)
    };
    assert_eq!(seen(&[], (40, 2)), (0, 0));
    assert_eq!(
        seen(&[(1, TaskStatus::Done)], (42, 2)),
        (1, 0),
        "one was done beside it"
    );
    assert_eq!(
        seen(&[(2, TaskStatus::Failed)], (42, 2)),
        (1, 1),
        "it had failed before, and was reset"
    );
    assert_eq!(seen(&[(2, TaskStatus::Pending)], (42, 1)), (1, 0), "it is tried again");
    assert_eq!(seen(&[(2, TaskStatus::Done)], (0, 1)), (0, 0), "all were opened again");
}

#[test]
fn many_tasks_and_few_fill_the_bar_as_far_as_they_are_done() {
    let bar = |done, failed, open| {
        let mut view = view();
        view.tasks = Some(Standing {
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
fn gates_are_seen_while_they_run_and_afterwards() {
    let mut view = view();
    for news in [
        News::GateBegins("cargo test"),
        News::GateRan(&gate("cargo test", GateEnd::Passed)),
        News::GateBegins("cargo clippy"),
        News::GateRan(&gate("cargo clippy", GateEnd::TimedOut)),
        News::GateBegins("cargo doc"),
    ] {
        assert_eq!(view.tell(&news, AT), Changed::Yes);
    }
    assert_snapshot!(drawn(&view, (80, 9), PLAIN), @"
    tasks  █████▒▒░░░░░░░░░░░░░ 2 of 8 done, 1 failed, 4 open, 1 waiting · 2:12
    task   iteration 3 · attempt 2 of 4 · t-1a2b3c Mend the parser of dates
    gates  ✗ cargo clippy  ✓ cargo test  … cargo doc
    now    gate: cargo doc
    ");
}

#[test]
fn whoever_looks_at_the_work_is_seen_beside_the_gates() {
    let mut view = view();
    view.tell(&News::GateRan(&gate("cargo test", GateEnd::Passed)), AT);
    view.verifier = Some("codex".to_owned());
    view.gates.push(("verifier".to_owned(), Mark::Runs));
    let tool = TurnEvent::Tool {
        name: "Read".to_owned(),
        about: "src/lib.rs".to_owned(),
    };
    view.tell(&News::VerifierDid(&tool), AT);
    view.tell(&News::VerifierDid(&TurnEvent::Used(usage(1.0, 0))), AT);
    assert_snapshot!(drawn(&view, (80, 10), PLAIN), @"
    tasks  █████▒▒░░░░░░░░░░░░░ 2 of 8 done, 1 failed, 4 open, 1 waiting · 2:12
    task   iteration 3 · attempt 2 of 4 · t-1a2b3c Mend the parser of dates
    agent  claude · sonnet · 1:12 · $1.42 · 52k tokens · memory 12 in, 3 out
    gates  ✓ cargo test  … verifier
    now    codex verifies: Read src/lib.rs
    ");
}

#[test]
fn a_wait_counts_down_by_itself() {
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
    let told = AT.checked_sub(Duration::from_secs(30)).unwrap();
    view.tell(&News::Notice(&Notice::Waits(wait)), told);
    let drawn = drawn(&view, (100, 5), PLAIN);
    let (before, after) = drawn.split_once(", at ").unwrap();
    assert!(before.ends_with("\nnow    Goes on in 4 min 30 s"), "{drawn}");
    assert!(after.ends_with(": usage limit of claude. Ctrl+C stops."), "{drawn}");
}

#[test]
fn other_waits_and_beginnings_are_said() {
    let now = |doing| {
        let mut view = view();
        view.doing = doing;
        drawn(&view, (60, 5), PLAIN).lines().last().unwrap().to_owned()
    };
    assert_snapshot!([Doing::Preparing, Doing::Starting, Doing::Examining, Doing::Busy(2), Doing::NoRoom, Doing::Locked].map(now).join("\n"), @"
    now    preparing
    now    the agent reads its prompt
    now    looking at what has changed
    now    waiting for other runs, which hold 2 tasks
    now    waiting for room on the disk
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
        "ends after this iteration, q goes on · g guidance · p prompt · Ctrl+C stop"
    );
}

#[test]
fn an_iteration_that_is_over_stands_still_and_what_a_run_used_adds_up() {
    let mut view = view();
    view.iteration.as_mut().unwrap().took = Some(Duration::from_secs(3_725));
    view.tell(&News::Agent(&TurnEvent::Used(usage(1.0, 2_000_000))), AT);
    let drawn = drawn(&view, (80, 24), PLAIN);
    let agent = drawn.lines().nth(2).unwrap();
    assert_eq!(
        agent,
        "agent  claude · sonnet · 1:02:05 · $1.30 · 2.0M tokens · memory 12 in, 3 out"
    );
}

#[test]
fn what_the_agent_says_last_is_shown_from_its_beginning() {
    let mut view = view();
    let mut says = |text: &str| {
        view.tell(&News::Agent(&TurnEvent::Text(text.to_owned())), AT);
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
    view.tell(&News::Agent(&tool), AT);
    assert_eq!(view.doing, Doing::Tool("Read".to_owned(), "src/lib.rs".to_owned()));
    assert_eq!(view.tell(&News::Agent(&TurnEvent::Alive), AT), Changed::No);
    assert_eq!(
        view.tell(&News::Agent(&TurnEvent::Line("{}".to_owned())), AT),
        Changed::No
    );
}

#[test]
fn a_message_that_follows_another_is_a_line_of_its_own() {
    let mut view = view();
    for text in ["I look at part 0.", "I look", " at part 1."] {
        if text.starts_with('I') {
            view.tell(&News::Agent(&TurnEvent::MessageBegins), AT);
        }
        view.tell(&News::Agent(&TurnEvent::Text(text.to_owned())), AT);
    }
    assert_eq!(view.doing, Doing::Saying("I look at part 1.".to_owned()));
}

#[test]
fn a_red_gate_is_seen_however_narrow_the_terminal_is() {
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
    /// Whatever an agent says and a task is called: no line is as wide as the terminal, there are no more than fit into
    /// half of it, and nothing in them is obeyed.
    #[test]
    fn no_line_is_too_wide_and_no_sign_is_obeyed(
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
