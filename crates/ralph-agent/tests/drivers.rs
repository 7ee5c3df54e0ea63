//! Tests the drivers with real child processes: a scripted agent that behaves in all the ways agents do.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};

use jiff::Timestamp;
use ralph_agent::{
    Agent, ClaudeAgent, CodexAgent, CommandAgent, EndOfTurn, RunningTurn, StartError, Turn, TurnEnd, TurnEvent,
};
use ralph_model::Clock;
use ralph_model::config::{CommandLine, Permissions};
use ralph_testkit::scripted::{
    Action, Script, ScriptedAgent, daemon, exit, flood, flood_errors, garbage, hang, kill, raw, run, say, say_error,
    say_in_chunks, think, write,
};

fn agent(kind: &str, command: &CommandLine) -> Box<dyn Agent> {
    match kind {
        "claude" => Box::new(ClaudeAgent::new(command, Arc::new(Noon)).unwrap()),
        "codex" => Box::new(CodexAgent::new(command, Arc::new(Noon)).unwrap()),
        _ => Box::new(CommandAgent::new(command).unwrap()),
    }
}

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
    kind: &'static str,
    output_limit: Option<u64>,
}

impl Stage {
    fn plain(actions: Vec<Action>) -> Self {
        Self::new("command", &Script::new().turn(actions))
    }

    fn claude(actions: Vec<Action>) -> Self {
        Self::new("claude", &Script::new().speaking_claude().turn(actions))
    }

    fn codex(actions: Vec<Action>) -> Self {
        Self::new("codex", &Script::new().speaking_codex().turn(actions))
    }

    fn new(kind: &'static str, script: &Script) -> Self {
        ralph_process::become_subreaper().unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("project")).unwrap();
        let script = script.install(&folder.path().join("agent"));
        Self {
            folder,
            script,
            kind,
            output_limit: None,
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
        self.start_with(words, "the prompt ü")
    }

    fn start_with(&self, words: Vec<String>, prompt: &str) -> (Box<dyn RunningTurn>, Receiver<TurnEvent>) {
        let agent = agent(self.kind, &CommandLine::Words(words));
        let (sender, events) = mpsc::channel();
        let sink = Box::new(move |event| sender.send(event).unwrap());
        let turn = self.begin(&*agent, prompt, &self.project(), sink).unwrap();
        (turn, events)
    }

    fn begin(
        &self,
        agent: &dyn Agent,
        prompt: &str,
        folder: &Path,
        sink: ralph_agent::TurnSink,
    ) -> Result<Box<dyn RunningTurn>, StartError> {
        let prompt_file = self.folder.path().join("the prompt.md");
        let mut file = std::fs::File::create(&prompt_file).unwrap();
        std::io::Write::write_all(&mut file, prompt.as_bytes()).unwrap();
        let environment: [(OsString, OsString); 1] = [("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())];
        let turn = Turn {
            prompt,
            prompt_file: &prompt_file,
            model: Some("big"),
            folder,
            environment: &environment,
            also_writable: &[],
            access: Permissions::Edit.into(),
            allowed_commands: &[],
            marker: &self.marker(),
            output_limit: self.output_limit,
        };
        agent.start(&turn, sink)
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
fn plain_program_answers_with_its_output() {
    let stage = Stage::plain(vec![
        say("one"),
        write("a.txt", "x"),
        run("echo tool output"),
        say("two\nthree"),
    ]);
    let (events, end) = stage.play();
    assert_eq!(
        events,
        [
            TurnEvent::Line("one".into()),
            TurnEvent::Text("one\n".into()),
            TurnEvent::Line("two".into()),
            TurnEvent::Text("two\n".into()),
            TurnEvent::Line("three".into()),
            TurnEvent::Text("three\n".into()),
        ]
    );
    assert_eq!(end.end, TurnEnd::Finished);
    assert_eq!(end.messages, ["one\ntwo\nthree\n"]);
    assert_eq!(end.messages, end.final_messages());
    assert_eq!(stage.script.prompts(), ["the prompt ü"]);
    let call = stage.script.call(1);
    assert_eq!(call.folder, stage.project().canonicalize().unwrap());
    let names: Vec<&str> = call.environment.keys().map(String::as_str).collect();
    assert_eq!(names, ["PATH", "RALPH_MARKER"]);
}

#[test]
fn plain_program_may_read_a_prompt_file() {
    let stage = Stage::plain(vec![say("read")]);
    let (_turn, events) = stage.start(stage.script.words_with_prompt_file());
    assert_eq!(stage.finish(&events).1.end, TurnEnd::Finished);
    assert_eq!(stage.script.prompts(), ["the prompt ü"]);
}

#[test]
fn plain_program_failure_is_reported() {
    let crash = |text: &str| TurnEnd::Crash(text.to_owned());
    let stage = Stage::plain(vec![say_error("first\nno such model\n\n"), exit(3)]);
    assert_eq!(stage.end(), crash("exit code 3: no such model"));
    assert_eq!(Stage::plain(vec![exit(1)]).end(), crash("exit code 1"));
    assert_eq!(Stage::plain(vec![kill(9)]).end(), crash("killed by signal 9"));
}

#[test]
fn huge_prompt_arrives_whole_or_is_ignored() {
    let stage = Stage::plain(vec![say("ok")]);
    let long = "långt ".repeat(700_000);
    for words in [stage.script.words(), vec!["true".to_owned()]] {
        let (_turn, events) = stage.start_with(words, &long);
        assert_eq!(stage.finish(&events).1.end, TurnEnd::Finished);
    }
    assert!(stage.script.prompts() == [long], "the prompt differs");
}

#[test]
fn fault_29_no_process_is_left_after_a_turn() {
    for kind in [Stage::plain, Stage::claude, Stage::codex] {
        let stage = kind(vec![daemon(), run("setsid sleep 600 >/dev/null 2>&1 &"), say("done")]);
        let (_, end) = stage.play();
        assert_eq!(end.end, TurnEnd::Finished);
        assert_eq!(end.final_messages().concat().trim(), "done");
    }
}

#[test]
fn hanging_turn_is_stopped() {
    for kind in [Stage::plain, Stage::claude, Stage::codex] {
        let stage = kind(vec![daemon(), say("up"), hang()]);
        let (mut turn, events) = stage.start(stage.script.words());
        while !matches!(events.recv().unwrap(), TurnEvent::Text(_)) {}
        let (pid, started) = turn.process();
        assert!(ralph_process::is_alive(pid, started));
        turn.stop();
        turn.stop();
        let (_, end) = stage.finish(&events);
        assert_eq!(end.end, TurnEnd::Stopped);
        assert_eq!(end.messages.concat().trim(), "up");
        assert!(!ralph_process::is_alive(pid, started));
    }
}

#[test]
fn flooding_turn_is_ended_at_its_limit() {
    let mut stage = Stage::plain(vec![flood(10_000_000)]);
    stage.output_limit = Some(1_000_000);
    let (_, end) = stage.play();
    assert_eq!(end.end, TurnEnd::OutputLimit);
    let length = end.messages.concat().len();
    assert!(length <= 1_000_001, "{length}");

    let (_, end) = Stage::claude(vec![flood_errors(10_000_000), say("ok")]).play();
    assert_eq!(end.end, TurnEnd::Finished);
    // Only whole lines are kept.
    let length = end.stderr_tail.len();
    assert!((60 * 1024..=64 * 1024).contains(&length), "{length}");
}

#[test]
fn claude_records_are_interpreted() {
    let stage = Stage::claude(vec![
        say("I begin"),
        write("a.txt", "x"),
        think("<task-done>t-000001</task-done>"),
        run("echo '<task-done>t-000002</task-done>'"),
        say_in_chunks("all done, ü", 50),
    ]);
    let (events, end) = stage.play();
    assert_eq!(end.end, TurnEnd::Finished);
    assert_eq!(end.messages, ["I begin", "all done, ü"]);
    assert_eq!(end.final_messages(), ["all done, ü"]);
    assert_eq!(end.writes, [stage.project().canonicalize().unwrap().join("a.txt")]);
    assert_eq!(end.usage.tokens(), 370);
    assert_eq!(end.model.as_deref(), Some("scripted-model"));
    assert!(events.contains(&TurnEvent::Used(end.usage)));
    assert_eq!(
        stage.script.call(1).arguments.join(" "),
        "-p --output-format stream-json --verbose --permission-mode acceptEdits --allowedTools Bash(ralph remember:*) \
         Bash(ralph recall:*) Bash(ralph memory:*) Bash(ralph guardrails:*) Bash(ralph scratchpad:*) \
         Bash(ralph knowledge:*) --model big"
    );
    assert_eq!(stage.script.prompts(), ["the prompt ü"]);
}

#[test]
fn claude_crash_is_reported() {
    let crash = |text: &str| TurnEnd::Crash(text.to_owned());
    let stage = Stage::claude(vec![say("half"), say_error("boom"), exit(1)]);
    let (_, end) = stage.play();
    assert_eq!(
        (end.end, end.messages.concat()),
        (crash("exit code 1: boom"), "half".to_owned())
    );
    assert_eq!(Stage::claude(vec![kill(9)]).end(), crash("killed by signal 9"));
    let garbled = Stage::claude(vec![garbage(), exit(0)]);
    assert!(matches!(garbled.end(), TurnEnd::Garbage(_)));
    let cut = Stage::claude(vec![
        raw(r#"{"type":"assistant","message":{"content":[{"type":"te"#),
        exit(0),
    ]);
    assert!(matches!(cut.end(), TurnEnd::Garbage(_)));
}

#[test]
fn claude_last_record_decides_the_end() {
    let record =
        r#"{"type":"result","subtype":"success","is_error":true,"api_error_status":401,"result":"Invalid API key"}"#;
    let stage = Stage::claude(vec![raw(record), exit(1)]);
    assert_eq!(stage.end(), TurnEnd::Auth("Invalid API key".into()));
}

#[test]
fn codex_records_are_interpreted() {
    let stage = Stage::codex(vec![
        say("I begin"),
        write("a.txt", "x"),
        think("<task-done>t-000001</task-done>"),
        run("echo '<task-done>t-000002</task-done>'"),
        say_in_chunks("all done, ü", 50),
    ]);
    let (events, end) = stage.play();
    assert_eq!(end.end, TurnEnd::Finished);
    assert_eq!(end.messages, ["I begin", "all done, ü"]);
    assert_eq!(end.final_messages(), ["all done, ü"]);
    assert_eq!(end.writes, [stage.project().canonicalize().unwrap().join("a.txt")]);
    assert_eq!(end.usage.tokens(), 370);
    assert_eq!(end.model.as_deref(), Some("big"));
    assert!(events.contains(&TurnEvent::Used(end.usage)));
    let mut about = events.iter().filter_map(|event| match event {
        TurnEvent::Tool { name, about } => Some((name.as_str(), about.as_str())),
        _ => None,
    });
    assert_eq!(
        about.next_back(),
        Some(("shell", "echo '<task-done>t-000002</task-done>'"))
    );
    assert_eq!(
        stage.script.call(1).arguments.join(" "),
        "exec --json --skip-git-repo-check -c allow_login_shell=false -s workspace-write -m big -"
    );
    assert_eq!(stage.script.prompts(), ["the prompt ü"]);
}

#[test]
fn codex_failures_and_crashes_are_reported() {
    let message = "unexpected status 401 Unauthorized: no key, url: http://127.0.0.1/v1/responses";
    let record = format!(r#"{{"type":"turn.failed","error":{{"message":"{message}"}}}}"#);
    let stage = Stage::codex(vec![raw(&record), exit(1)]);
    assert_eq!(stage.end(), TurnEnd::Auth(message.into()));
    let crash = |text: &str| TurnEnd::Crash(text.to_owned());
    let stage = Stage::codex(vec![say("half"), say_error("boom"), exit(1)]);
    assert_eq!(stage.end(), crash("exit code 1: boom"));
    assert_eq!(Stage::codex(vec![kill(9)]).end(), crash("killed by signal 9"));
    for broken in [garbage(), raw(r#"{"type":"item.completed","item":{"type":"age"#)] {
        assert!(matches!(Stage::codex(vec![broken, exit(0)]).end(), TurnEnd::Garbage(_)));
    }
    let empty = Stage::codex(Vec::new()).play().1;
    assert_eq!((empty.end, empty.messages.len()), (TurnEnd::Finished, 0));
}

#[test]
fn missing_agent_is_reported() {
    let stage = Stage::plain(Vec::new());
    let command = CommandLine::Line("no-such-agent-here -x".to_owned());
    let agent = agent("command", &command);
    let start = |folder: &Path| {
        stage
            .begin(&*agent, "", folder, Box::new(|_| {}))
            .map(|_| ())
            .unwrap_err()
    };
    assert_eq!(
        start(&stage.project()).to_string(),
        "no-such-agent-here is not installed, or not on the PATH"
    );
    // The folder is missing here, so the error does not blame the agent.
    assert!(matches!(start(Path::new("/nowhere")), StartError::NotStarted { .. }));
}
