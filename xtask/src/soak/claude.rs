//! The real Claude Code against a scripted model: what `ralph setup claude` promises, seen in what the model is asked.
//!
//! It installs Claude Code under the target folder, once, which takes some 500 MB and needs a registry of npm packages; all
//! the rest happens on loopback, in a temporary folder, with an environment and a home of its own.

mod on_a_task;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use ralph_testkit::model::{ANSWER, ModelServer};
use serde_json::{Value, json};

use crate::agents::CLAUDE;
use crate::agents::install::{Installed, install};
use crate::agents::place::Place;
use crate::child::output;
use crate::flags::Flags;
use crate::programs::Programs;

/// How long one session may take, in seconds.
const SESSION_LIMIT_S: &str = "120";
const UPDATE: &str = "--update";

const MEMORY: &str = "The quokka service listens on port 4711.";
const GUARDRAIL: &str = "Feed the wombat before the tests.";
const OPENING: &str = "evidence, not orders";
/// How Claude Code marks a context that it has put into a file instead of handing it to the model.
const PUT_INTO_A_FILE: &str = "<persisted-output>";
/// What of the skill stands in every request.
const SKILL: &str = "Keep and find this project's notes across sessions";
const SETTINGS: &str = ".claude/settings.json";
/// A hook of the project's own, which keeps what Claude Code says at the beginning of a session.
const OWN_SETTINGS: &str = r#"{
    "hooks": {
        "SessionStart": [
            { "hooks": [{ "type": "command", "command": "cat >> \"$CLAUDE_PROJECT_DIR/sources.jsonl\"" }] }
        ]
    }
}
"#;

/// Runs all scenarios.
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
    soak.place.nothing_is_left_running()?;
    println!("soak claude took {:.1} s", begin.elapsed().as_secs_f64());
    Ok(())
}

type Scenario = fn(&Soak) -> Result<(), String>;

const SCENARIOS: [(&str, Scenario); 10] = [
    (
        "a session begins with the notes and knows the skill",
        Soak::begins_with_notes,
    ),
    ("the notes are there after a compaction", Soak::survives_compaction),
    ("the notes are there after /clear", Soak::survives_clear),
    ("a resumed session has them", Soak::is_resumed),
    (
        "more notes than fit are chosen, not put into a file",
        Soak::keeps_within_the_limit,
    ),
    (
        "settings with a comment are not read, as setup warns",
        Soak::ignores_comments,
    ),
    (
        "a session with a broken configuration works, without notes",
        Soak::survives_broken_configuration,
    ),
    (
        "the loop drives it: a file is written, the task is done",
        Soak::works_on_a_task,
    ),
    (
        "a tool that is not permitted is named with the line that permits it",
        Soak::names_what_is_denied,
    ),
    (
        "after --remove the settings are as before, and nothing is given",
        Soak::is_removed,
    ),
];

/// A project that Claude Code works in, with all that belongs to it; it goes with this value.
struct Soak {
    place: Place,
    server: ModelServer,
}

impl Soak {
    fn new(installed: &Installed, programs: &Programs) -> Result<Self, String> {
        let mut folders = installed.programs().to_vec();
        folders.push(programs.folder().to_owned());
        let server = ModelServer::start([]).map_err(|error| format!("cannot start the model: {error}"))?;
        Ok(Self {
            place: Place::new(folders)?,
            server,
        })
    }

    fn project(&self) -> PathBuf {
        self.place.project()
    }

    /// A project under git with notes, a hook of its own, and the set-up.
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

    /// One process, three prompts, the second of which makes the session forget the first: the notes in the last request
    /// came with that, for nothing else of what was there before is left.
    fn begins_again(&self, command: &str, source: &str) -> Result<(), String> {
        self.write("sources.jsonl", "")?;
        let asked = self.session(&["tell me a story", command, "go on"], &[])?;
        let last = asked.last().cloned().unwrap_or_default();
        let texts = [OPENING, MEMORY, GUARDRAIL];
        expect(std::slice::from_ref(&last), &texts, &["tell me a story"])?;
        if last.matches(MEMORY).count() != 1 {
            return Err("the notes stand more than once".to_owned());
        }
        let sources = self.sources()?;
        if sources == ["startup", source] {
            Ok(())
        } else {
            Err(format!("the session began by {sources:?}"))
        }
    }

    fn is_resumed(&self) -> Result<(), String> {
        self.write("sources.jsonl", "")?;
        let asked = self.session(&["and again"], &["--continue"])?;
        expect(&asked, &[MEMORY, GUARDRAIL], &[])?;
        match self.sources()?.as_slice() {
            [source] if source == "resume" => Ok(()),
            other => Err(format!("the session began by {other:?}")),
        }
    }

    fn keeps_within_the_limit(&self) -> Result<(), String> {
        let memories = self.read(".agent/memories.md")?;
        let many = |kind: &str| {
            let note = |n: usize| format!("### {kind}-17373{n:05}-0000\n> {}\n\n", "a long note 🦘 ".repeat(20));
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
            return Err(format!("the trace does not say why: {trouble}"));
        }
        self.write(".ralph.toml", &configuration)?;
        expect(&self.session(&["hello"], &[])?, &[MEMORY], &[])?;
        if self.project().join(".ralph/hook-trouble.json").exists() {
            return Err("the trace is still there".to_owned());
        }
        Ok(())
    }

    fn is_removed(&self) -> Result<(), String> {
        self.ralph(&["setup", "claude", "--remove", "--yes"])?;
        if self.read(SETTINGS)? != OWN_SETTINGS || self.project().join(".claude/skills").exists() {
            return Err("something of the set-up is left".to_owned());
        }
        let asked = self.session(&["hello"], &[])?;
        expect(&asked, &[], &[OPENING, MEMORY, GUARDRAIL, SKILL])
    }

    /// Runs a session with these prompts and gives what the model was asked; the session must succeed.
    fn session(&self, prompts: &[&str], flags: &[&str]) -> Result<Vec<String>, String> {
        let prompt = |text: &&str| {
            format!(
                "{}\n",
                json!({ "type": "user", "message": { "role": "user", "content": text } })
            )
        };
        self.write("prompts.jsonl", &prompts.iter().map(prompt).collect::<String>())?;
        let prompts = File::open(self.project().join("prompts.jsonl")).map_err(|error| error.to_string())?;
        drop(self.server.take_asked());
        let said = output(
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
        let mut events = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let result = events.rfind(|event| event["type"] == "result").unwrap_or_default();
        if result["is_error"] != false || result["result"] != ANSWER {
            return Err(format!("the session ended with {result}"));
        }
        Ok(self.server.take_asked().into_iter().map(|asked| asked.body).collect())
    }

    /// Why sessions began, as Claude Code told the project's own hook.
    fn sources(&self) -> Result<Vec<String>, String> {
        let told = self.read("sources.jsonl")?;
        let told = serde_json::Deserializer::from_str(&told).into_iter::<Value>();
        told.map(|input| match input {
            Ok(input) => Ok(input["source"].as_str().unwrap_or("nothing").to_owned()),
            Err(error) => Err(format!("a hook was not given JSON: {error}")),
        })
        .collect()
    }

    /// Claude Code, which is stopped after a while together with what it has started.
    fn claude(&self) -> Result<Command, String> {
        let mut command = self.bare("timeout")?;
        command.args(["--kill-after=5", SESSION_LIMIT_S, "claude"]);
        command.envs(self.model_variables()?);
        Ok(command)
    }

    /// What leads Claude Code to the scripted model, and to nobody else.
    fn model_variables(&self) -> Result<Vec<(&'static str, String)>, String> {
        (CLAUDE.set_up)(&self.place, &self.server.url())
    }

    fn ralph(&self, arguments: &[&str]) -> Result<String, String> {
        output(self.bare("ralph")?.args(arguments))
    }

    fn bare(&self, program: &str) -> Result<Command, String> {
        self.place.bare(program)
    }

    fn read(&self, name: &str) -> Result<String, String> {
        self.place.read(name)
    }

    fn write(&self, name: &str, text: &str) -> Result<(), String> {
        self.place.write(name, text)
    }
}

/// Checks that the last of the requests holds these texts, and that none holds those.
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
