//! Tests the driver with real child processes: a scripted agent speaks ACP and behaves in all the ways agents do.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use jiff::Timestamp;
use ralph_acp::{AcpAgent, AgentInfo};
use ralph_agent::{Agent, EndOfTurn, RunningTurn, Turn, TurnEnd, TurnEvent};
use ralph_model::Clock;
use ralph_model::config::{CommandLine, Permissions};
use ralph_testkit::scripted::{
    Action, Script, ScriptedAgent, ask, daemon, exit, flood, garbage, hang, if_allowed, ignore_cancel, kill, raw, run,
    say, say_error, say_in_chunks, think, write,
};

struct Noon;

impl Clock for Noon {
    fn now(&self) -> Timestamp {
        "2026-11-16T11:00:00Z".parse().unwrap()
    }
}

/// A scripted agent in a temporary folder.
struct Stage {
    folder: tempfile::TempDir,
    script: ScriptedAgent,
    permissions: Permissions,
    model: Option<&'static str>,
}

impl Stage {
    fn acp(actions: Vec<Action>) -> Self {
        Self::new(&Script::new().speaking_acp().turn(actions))
    }

    fn new(script: &Script) -> Self {
        ralph_process::become_subreaper().unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("project")).unwrap();
        let script = script.install(&folder.path().join("agent"));
        Self {
            folder,
            script,
            permissions: Permissions::Edit,
            model: None,
        }
    }

    fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    /// A unique marker.
    fn marker(&self) -> String {
        self.folder.path().to_str().unwrap().to_owned()
    }

    fn start(&self, words: Vec<String>) -> (Box<dyn RunningTurn>, Receiver<TurnEvent>) {
        let (sender, events) = mpsc::channel();
        let sink = Box::new(move |event| sender.send(event).unwrap());
        let turn = self.with_turn(words, |agent, turn| agent.start(turn, sink).unwrap());
        (turn, events)
    }

    /// Probes the agent with a time limit and a stop flag.
    fn probe(&self, words: &[&str], limit: Duration, stop: &AtomicBool) -> AgentInfo {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        let met = self.with_turn(words, |agent, turn| agent.probe(turn, limit, stop).unwrap());
        assert_eq!(
            ralph_process::kill_leftovers(&self.marker(), None),
            0,
            "processes were left"
        );
        met
    }

    fn with_turn<T>(&self, words: Vec<String>, act: impl FnOnce(&AcpAgent, &Turn<'_>) -> T) -> T {
        let agent = AcpAgent::new(&CommandLine::Words(words), Arc::new(Noon)).unwrap();
        let environment: [(OsString, OsString); 1] = [("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())];
        let prompt_file = self.folder.path().join("the prompt.md");
        std::fs::File::create(&prompt_file).unwrap();
        let turn = Turn {
            prompt: "the prompt ü",
            prompt_file: &prompt_file,
            model: self.model,
            folder: &self.project(),
            environment: &environment,
            also_writable: &[],
            access: self.permissions.into(),
            allowed_commands: &[],
            marker: &self.marker(),
            output_limit: None,
        };
        act(&agent, &turn)
    }

    fn play(&self) -> (Vec<TurnEvent>, EndOfTurn) {
        let (_turn, events) = self.start(self.script.words());
        self.finish(&events)
    }

    fn end(&self) -> TurnEnd {
        self.play().1.end
    }

    /// All events. The end comes last and exactly once, and no process is left.
    fn finish(&self, events: &Receiver<TurnEvent>) -> (Vec<TurnEvent>, EndOfTurn) {
        let mut events: Vec<TurnEvent> = events.iter().filter(|event| *event != TurnEvent::Alive).collect();
        let left = ralph_process::kill_leftovers(&self.marker(), None);
        assert_eq!(left, 0, "processes were left");
        let ends = events.iter().filter(|event| matches!(event, TurnEvent::Ended(_)));
        assert_eq!(ends.count(), 1);
        let Some(TurnEvent::Ended(end)) = events.pop() else {
            unreachable!("the last event must be the end");
        };
        (events, *end)
    }
}

#[test]
fn turn_from_handshake_to_final_text() {
    let stage = Stage::acp(vec![
        say("I begin. <task-done>t-000001</task-done>"),
        write("a.txt", "x"),
        think("<task-done>t-000002</task-done>"),
        run("echo '<task-done>t-000003</task-done>'"),
        say_in_chunks("all done, ü <task-done>t-1</task-done>", 19),
    ]);
    let (events, end) = stage.play();
    assert_eq!(end.end, TurnEnd::Finished, "{}", end.stderr_tail);
    assert_eq!(end.final_messages(), ["all done, ü <task-done>t-1</task-done>"]);
    assert_eq!(end.writes, [stage.project().canonicalize().unwrap().join("a.txt")]);
    assert_eq!(end.usage.tokens(), 330);
    assert!(end.session.is_some() && end.denials.is_empty());
    assert!(events.contains(&TurnEvent::Used(end.usage)));
    let pieces = events.iter().filter(|event| matches!(event, TurnEvent::Text(_)));
    assert_eq!(pieces.count(), 20);
    assert_eq!(stage.script.prompts(), ["the prompt ü"]);
    assert_eq!(stage.script.call(1).folder, stage.project().canonicalize().unwrap());
}

#[test]
fn model_and_mode_are_selected_in_the_session() {
    let offered = r#"{"models":{"currentModelId":"small","availableModels":[{"modelId":"small"},{"modelId":"big"}]},
        "modes":{"currentModeId":"default","availableModes":[{"id":"acceptEdits","name":"x"}]}}"#;
    let mut stage = Stage::new(&Script::new().speaking_acp().offering(offered).turn([say("ok")]));
    stage.model = Some("big");
    let (_, end) = stage.play();
    assert_eq!((end.end, end.model.as_deref()), (TurnEnd::Finished, Some("big")));
}

#[test]
fn permission_requests_are_answered_and_denials_recorded() {
    let actions = || {
        vec![
            ask("craft/drainMidTurnQueue"),
            raw(r#"{"jsonrpc":"2.0","method":"_auth/status_update","params":{}}"#),
            if_allowed("edit", "Write b.txt", [write("b.txt", "x")], [say("not even that")]),
            if_allowed("execute", "cargo test", [say("ran it")], [say("could not run it")]),
        ]
    };
    let (_, end) = Stage::acp(actions()).play();
    assert_eq!(end.final_messages(), ["could not run it"]);
    assert!(end.stderr_tail.contains("-32601"), "{}", end.stderr_tail);
    let denied: Vec<(&str, &str)> = end
        .denials
        .iter()
        .map(|denial| (denial.tool.as_str(), denial.about.as_str()))
        .collect();
    assert_eq!(denied, [("execute", "cargo test")]);
    let mut stage = Stage::acp(actions());
    stage.permissions = Permissions::Full;
    let (_, end) = stage.play();
    assert_eq!(
        (end.final_messages(), end.denials.len()),
        (&["ran it".to_owned()][..], 0)
    );
}

#[test]
fn hanging_turn_gets_a_cancel_message() {
    let stage = Stage::acp(vec![daemon(), say("up"), hang()]);
    let (mut turn, events) = stage.start(stage.script.words());
    while !matches!(events.recv().unwrap(), TurnEvent::Text(_)) {}
    turn.stop();
    let (events, end) = stage.finish(&events);
    assert_eq!((end.end, end.messages.concat().as_str()), (TurnEnd::Stopped, "up"));
    let cancelled = |event: &TurnEvent| matches!(event, TurnEvent::Line(line) if line.contains("cancelled"));
    assert!(events.iter().any(cancelled), "it was not cancelled: {events:?}");
}

#[test]
fn agent_that_ignores_cancel_is_ended() {
    let stage = Stage::acp(vec![ignore_cancel(), say("up"), hang()]);
    let (mut turn, events) = stage.start(stage.script.words());
    while !matches!(events.recv().unwrap(), TurnEvent::Text(_)) {}
    turn.stop();
    assert_eq!(stage.finish(&events).1.end, TurnEnd::Stopped);
}

#[test]
fn agent_that_never_starts_is_stopped() {
    let stage = Stage::new(&Script::new());
    let (mut turn, events) = stage.start(["sleep", "600"].map(str::to_owned).to_vec());
    turn.stop();
    assert_eq!(stage.finish(&events).1.end, TurnEnd::Stopped);
}

#[test]
fn agent_that_stays_after_its_turn_is_ended() {
    let (_, end) = Stage::acp(vec![ignore_cancel(), say("done")]).play();
    assert_eq!((end.end, end.messages.concat().as_str()), (TurnEnd::Finished, "done"));
}

#[test]
fn fault_29_no_process_is_left_after_a_turn() {
    let stage = Stage::acp(vec![daemon(), run("setsid sleep 600 >/dev/null 2>&1 &"), say("done")]);
    let (_, end) = stage.play();
    assert_eq!((end.end, end.messages.concat().as_str()), (TurnEnd::Finished, "done"));
}

#[test]
fn crash_during_a_turn_is_reported() {
    let crash = |text: &str| TurnEnd::Crash(text.to_owned());
    let stage = Stage::acp(vec![say("half"), say_error("boom"), exit(1)]);
    let (_, end) = stage.play();
    assert_eq!(
        (end.end, end.messages.concat().as_str()),
        (crash("exit code 1: boom"), "half")
    );
    assert_eq!(Stage::acp(vec![kill(9)]).end(), crash("killed by signal 9"));
    let cut = Stage::acp(vec![raw(r#"{"jsonrpc":"2.0","method":"session/upd"#), exit(0)]);
    assert_eq!(cut.end(), crash("it exited with code 0 in the middle of its turn"));
}

#[test]
fn garbage_and_floods_are_tolerated() {
    let (_, end) = Stage::acp(vec![garbage(), say("one"), flood(3_000_000), garbage(), say("two")]).play();
    assert_eq!(
        (end.end, end.messages.join(" ").as_str()),
        (TurnEnd::Finished, "one two")
    );
}

#[test]
fn program_without_acp_is_reported_with_its_output() {
    let stage = Stage::new(&Script::new().turn([say("Hello, I am no agent")]));
    let (_turn, events) = stage.start(
        stage
            .script
            .words_with_prompt_file()
            .into_iter()
            .map(|word| word.replace("{prompt_file}", "/dev/null"))
            .collect(),
    );
    let message = "it does not speak ACP; it printed: Hello, I am no agent";
    assert_eq!(stage.finish(&events).1.end, TurnEnd::Garbage(message.to_owned()));
}

#[test]
fn error_is_classified_and_agent_ended() {
    let error = r#"{"jsonrpc":"2.0","id":{request},"error":{"code":-32603,"message":"Internal error: x","data":{"errorKind":"rate_limit"}}}"#;
    let stage = Stage::acp(vec![say("API Error"), raw(error)]);
    assert_eq!(stage.end(), TurnEnd::Transient("Internal error: x".to_owned()));
    let no_login = r#"{"code":-32000,"message":"Authentication required"}"#;
    let stage = Stage::new(&Script::new().speaking_acp().refusing_sessions(no_login).turn([]));
    assert_eq!(stage.end(), TurnEnd::Auth("Authentication required".to_owned()));
}

#[test]
fn huge_answer_arrives_whole() {
    let long = "långt ".repeat(300_000);
    for chunks in [1, 500] {
        let (_, end) = Stage::acp(vec![say_in_chunks(&long, chunks)]).play();
        assert_eq!(end.end, TurnEnd::Finished);
        assert!(end.messages == [long.clone()], "the answer differs");
    }
}

#[test]
fn silent_agent_is_ended_after_probing() {
    let stage = Stage::acp(vec![]);
    let never = Duration::from_secs(3_600);
    let deaf = ["sh", "-c", "setsid sleep 600 & exec sleep 600"];
    // The time limit has passed.
    let met = stage.probe(&deaf, Duration::ZERO, &AtomicBool::new(false));
    assert_eq!((met.end, met.protocol), (TurnEnd::Stopped, None));
    // A stop is requested.
    let met = stage.probe(&deaf, never, &AtomicBool::new(true));
    assert_eq!((met.end, met.protocol), (TurnEnd::Stopped, None));
    let words = stage.script.words();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let met = stage.probe(&words, never, &AtomicBool::new(false));
    assert_eq!((met.end, met.protocol), (TurnEnd::Finished, Some(1)));
    assert_eq!(stage.script.turns(), 0, "it was prompted");
}
