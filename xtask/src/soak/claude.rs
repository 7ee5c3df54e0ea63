//! The real Claude Code against a scripted model: checks what `ralph setup claude` promises by the requests it causes.
//!
//! Claude Code is installed once under the target folder, which takes some 500 MB and an npm registry. Everything else
//! happens on loopback, in a temporary folder with its own environment and home.

mod on_a_task;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use ralph_testkit::model::{ANSWER, ModelServer};
use serde_json::{Value, json};

use crate::agents::CLAUDE;
use crate::agents::install::{Installed, install};
use crate::agents::sandbox::Sandbox;
use crate::child::output;
use crate::flags::Flags;
use crate::programs::Programs;

const SESSION_LIMIT_S: &str = "120";
const UPDATE: &str = "--update";

const MEMORY: &str = "The quokka service listens on port 4711.";
const GUARDRAIL: &str = "Feed the wombat before the tests.";
const OPENING: &str = "evidence, not orders";
/// How Claude Code marks context that it stored in a file instead of sending it to the model.
const PUT_INTO_A_FILE: &str = "<persisted-output>";
/// The part of the skill that is in every request.
const SKILL: &str = "Store and search this project's notes across sessions";
const SETTINGS: &str = ".claude/settings.json";
/// The project's own hook, which records the input of each session start.
const OWN_SETTINGS: &str = r#"{
    "hooks": {
        "SessionStart": [
            { "hooks": [{ "type": "command", "command": "cat >> \"$CLAUDE_PROJECT_DIR/sources.jsonl\"" }] }
        ]
    }
}
"#;

pub(crate) fn run(root: &Path, words: &[&str]) -> Result<(), String> {
    let flags = Flags::parse(words, &[UPDATE], &[])?;
    let installed = install(&CLAUDE, flags.has(UPDATE).into())?;
    let programs = Programs::build_for_tests(root)?;
    let begin = Instant::now();
    let soak = Soak::new(&installed, &programs)?;
    println!("soak: Claude Code {}", installed.version());
    soak.prepare()?;
    for (name, scenario) in SCENARIOS {
        let start = Instant::now();
        scenario(&soak).map_err(|why| format!("{name}: {why}"))?;
        println!("soak: passed in {:.1} s: {name}", start.elapsed().as_secs_f64());
    }
    soak.sandbox.check_no_processes_left()?;
    println!("soak claude took {:.1} s", begin.elapsed().as_secs_f64());
    Ok(())
}

type Scenario = fn(&Soak) -> Result<(), String>;

const SCENARIOS: [(&str, Scenario); 10] = [
    ("a session starts with the notes and the skill", Soak::begins_with_notes),
    ("the notes are there after a compaction", Soak::survives_compaction),
    ("the notes are there after /clear", Soak::survives_clear),
    ("a resumed session has them", Soak::is_resumed),
    (
        "more notes than fit are chosen, not put into a file",
        Soak::keeps_within_the_limit,
    ),
    (
        "settings with a comment are ignored, as setup warns",
        Soak::ignores_comments,
    ),
    (
        "a session with a broken configuration works, without notes",
        Soak::survives_broken_configuration,
    ),
    (
        "the loop runs it: a file is written, the task is done",
        Soak::works_on_a_task,
    ),
    (
        "a denied tool is reported with the setting that permits it",
        Soak::names_what_is_denied,
    ),
    (
        "after --remove the settings are restored and nothing is injected",
        Soak::is_removed,
    ),
];

/// A project for Claude Code with a scripted model, removed on drop.
struct Soak {
    sandbox: Sandbox,
    server: ModelServer,
}

impl Soak {
    fn new(installed: &Installed, programs: &Programs) -> Result<Self, String> {
        let mut folders = installed.programs().to_vec();
        folders.push(programs.folder().to_owned());
        let server = ModelServer::start([]).map_err(|error| format!("cannot start the model: {error}"))?;
        Ok(Self {
            sandbox: Sandbox::new(folders)?,
            server,
        })
    }

    fn project(&self) -> PathBuf {
        self.sandbox.project()
    }

    /// Prepares a git project with notes, its own hook, and the setup.
    fn prepare(&self) -> Result<(), String> {
        output(self.bare("git")?.args(["init", "--quiet"]))?;
        self.write(SETTINGS, OWN_SETTINGS)?;
        let guardrails = format!("# Guardrails\n\n## Fixes\n\n### fix-1737372000-a1b2\n> {GUARDRAIL}\n");
        self.write(".agent/guardrails.md", &guardrails)?;
        self.ralph(&["init"])?;
        self.ralph(&["memory", "add", MEMORY, "--type", "context"])?;
        self.ralph(&["setup", "claude", "--yes"])?;
        Ok(())
    }

    fn begins_with_notes(&self) -> Result<(), String> {
        let asked = self.session(&["hello"], &[])?;
        expect(&asked, &[OPENING, MEMORY, GUARDRAIL, SKILL], &[PUT_INTO_A_FILE])
    }

    fn survives_compaction(&self) -> Result<(), String> {
        self.begins_again("/compact", "compact")
    }

    fn survives_clear(&self) -> Result<(), String> {
        self.begins_again("/clear", "clear")
    }

    /// One process, three prompts, of which the second clears or compacts the session. Notes in the last request were
    /// therefore injected again, since nothing else of the first prompt is left.
    fn begins_again(&self, command: &str, source: &str) -> Result<(), String> {
        self.write("sources.jsonl", "")?;
        let asked = self.session(&["tell me a story", command, "go on"], &[])?;
        let last = asked.last().cloned().unwrap_or_default();
        let texts = [OPENING, MEMORY, GUARDRAIL];
        expect(std::slice::from_ref(&last), &texts, &["tell me a story"])?;
        if last.matches(MEMORY).count() != 1 {
            return Err("the notes are in the request more than once".to_owned());
        }
        let sources = self.sources()?;
        if sources == ["startup", source] {
            Ok(())
        } else {
            Err(format!("the session sources are {sources:?}"))
        }
    }

    fn is_resumed(&self) -> Result<(), String> {
        self.write("sources.jsonl", "")?;
        let asked = self.session(&["and again"], &["--continue"])?;
        expect(&asked, &[MEMORY, GUARDRAIL], &[])?;
        match self.sources()?.as_slice() {
            [source] if source == "resume" => Ok(()),
            other => Err(format!("the session sources are {other:?}")),
        }
    }

    fn keeps_within_the_limit(&self) -> Result<(), String> {
        let memories = self.read(".agent/memories.md")?;
        let many = |kind: &str| {
            let note = |n: usize| format!("### {kind}-17373{n:05}-0000\n> {}\n\n", "a long text 🦘 ".repeat(20));
            (0..60).map(note).collect::<String>()
        };
        let guardrails = self.read(".agent/guardrails.md")?;
        self.write(
            ".agent/memories.md",
            &memories.replace("## Fixes\n", &format!("## Fixes\n\n{}", many("mem"))),
        )?;
        self.write(".agent/guardrails.md", &format!("{guardrails}\n{}", many("fix")))?;
        let asked = self.session(&["hello"], &[])?;
        expect(
            &asked,
            &[OPENING, MEMORY, "truncated", "mem-1737300059", "fix-1737300059"],
            &[PUT_INTO_A_FILE],
        )?;
        self.write(".agent/memories.md", &memories)?;
        self.write(".agent/guardrails.md", &guardrails)
    }

    fn ignores_comments(&self) -> Result<(), String> {
        let settings = self.read(SETTINGS)?;
        self.write(SETTINGS, &format!("// a comment\n{settings}"))?;
        expect(&self.session(&["hello"], &[])?, &[], &[MEMORY])?;
        self.write(SETTINGS, &settings)
    }

    fn survives_broken_configuration(&self) -> Result<(), String> {
        let configuration = self.read(".ralph.toml")?;
        self.write(".ralph.toml", "[memories\n")?;
        let asked = self.session(&["hello"], &[])?;
        expect(&asked, &[SKILL], &[OPENING, MEMORY, GUARDRAIL])?;
        let trouble = self.read(".ralph/hook-trouble.json")?;
        if !trouble.contains(".ralph.toml:1") {
            return Err(format!("the trouble file does not give the reason: {trouble}"));
        }
        self.write(".ralph.toml", &configuration)?;
        expect(&self.session(&["hello"], &[])?, &[MEMORY], &[])?;
        if self.project().join(".ralph/hook-trouble.json").exists() {
            return Err("the trouble file still exists".to_owned());
        }
        Ok(())
    }

    fn is_removed(&self) -> Result<(), String> {
        self.ralph(&["setup", "claude", "--remove", "--yes"])?;
        if self.read(SETTINGS)? != OWN_SETTINGS || self.project().join(".claude/skills").exists() {
            return Err("part of the setup is left".to_owned());
        }
        let asked = self.session(&["hello"], &[])?;
        expect(&asked, &[], &[OPENING, MEMORY, GUARDRAIL, SKILL])
    }

    /// Runs a session with these prompts, which must succeed, and returns the model's requests.
    fn session(&self, prompts: &[&str], flags: &[&str]) -> Result<Vec<String>, String> {
        let prompt = |text: &&str| {
            format!(
                "{}\n",
                json!({ "type": "user", "message": { "role": "user", "content": text } })
            )
        };
        self.write("prompts.jsonl", &prompts.iter().map(prompt).collect::<String>())?;
        let prompts = File::open(self.project().join("prompts.jsonl")).map_err(|error| error.to_string())?;
        drop(self.server.take_requests());
        let printed = output(
            self.claude()?
                .args([
                    "-p",
                    "--verbose",
                    "--input-format",
                    "stream-json",
                    "--output-format",
                    "stream-json",
                ])
                .args(flags)
                .stdin(Stdio::from(prompts)),
        )?;
        let mut events = printed
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let result = events.rfind(|event| event["type"] == "result").unwrap_or_default();
        if result["is_error"] != false || result["result"] != ANSWER {
            return Err(format!("the session ended with {result}"));
        }
        Ok(self
            .server
            .take_requests()
            .into_iter()
            .map(|asked| asked.body)
            .collect())
    }

    /// The session sources that Claude Code passed to the project's own hook.
    fn sources(&self) -> Result<Vec<String>, String> {
        let sent = self.read("sources.jsonl")?;
        let sent = serde_json::Deserializer::from_str(&sent).into_iter::<Value>();
        sent.map(|input| match input {
            Ok(input) => Ok(input["source"].as_str().unwrap_or("nothing").to_owned()),
            Err(error) => Err(format!("a hook did not get JSON: {error}")),
        })
        .collect()
    }

    /// Claude Code, with a time limit that also stops its children.
    fn claude(&self) -> Result<Command, String> {
        let mut command = self.bare("timeout")?;
        command.args(["--kill-after=5", SESSION_LIMIT_S, "claude"]);
        command.envs(self.model_variables()?);
        Ok(command)
    }

    /// The variables that point Claude Code at the scripted model.
    fn model_variables(&self) -> Result<Vec<(&'static str, String)>, String> {
        (CLAUDE.set_up)(&self.sandbox, &self.server.url())
    }

    fn ralph(&self, arguments: &[&str]) -> Result<String, String> {
        output(self.bare("ralph")?.args(arguments))
    }

    fn bare(&self, program: &str) -> Result<Command, String> {
        self.sandbox.bare(program)
    }

    fn read(&self, name: &str) -> Result<String, String> {
        self.sandbox.read(name)
    }

    fn write(&self, name: &str, text: &str) -> Result<(), String> {
        self.sandbox.write(name, text)
    }
}

/// Checks that the last request contains `texts` and that no request contains `never`.
fn expect(asked: &[String], texts: &[&str], never: &[&str]) -> Result<(), String> {
    let last = asked.last().ok_or("the model was not asked")?;
    let missing = texts.iter().find(|text| !last.contains(**text));
    let surplus = never.iter().find(|text| asked.iter().any(|body| body.contains(**text)));
    match (missing, surplus) {
        (Some(text), _) => Err(format!("{text:?} is not in what the model was asked: {last}")),
        (_, Some(text)) => Err(format!("{text:?} is in what the model was asked")),
        (None, None) => Ok(()),
    }
}
