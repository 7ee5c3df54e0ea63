//! A story: a project, an agent that follows a script, and the record of what the command did.

use std::fmt::Write as _;

use insta::{Settings, assert_snapshot};
use ralph_testkit::scripted::{Script, ScriptedAgent};
use ralph_testkit::{Finished, TestEnv};
use serde_json::Value;

use crate::normal::Names;
use crate::{facts, prompts};

/// Texts of stories contain it, so that a prompt's lines with recorded content can be told from its own sentences.
pub(crate) const MARK: &str = "§";

pub(crate) struct Story {
    pub(crate) env: TestEnv,
    agent: ScriptedAgent,
    names: Names,
    commands: u32,
    record: String,
}

impl Story {
    pub(crate) fn new(script: &Script) -> Self {
        let env = TestEnv::new(env!("CARGO_BIN_EXE_ralph"));
        let agent = script.install(&env.beside("agent"));
        Self {
            env,
            agent,
            names: Names::default(),
            commands: 0,
            record: String::new(),
        }
    }

    /// A project in git with one commit.
    pub(crate) fn in_git(script: &Script) -> Self {
        let story = Self::new(script);
        story.env.git(["init", "-q"]);
        story.env.write("readme.txt", "a project\n");
        story.env.git(["add", "."]);
        story.env.git(["commit", "-q", "-m", "begin"]);
        story
    }

    /// Runs a command, with random numbers of its own: otherwise each would make the ids of the last one.
    fn finish(&mut self, arguments: &[&str], input: &str) -> Finished {
        self.commands += 1;
        let command = self.agent.command();
        let mut arguments = arguments.to_vec();
        if arguments.first() == Some(&"run") {
            arguments.extend(["--trust", "--agent", &command]);
        }
        self.env
            .ralph(arguments)
            .env("RALPH_SEED", self.commands.to_string())
            .env("TZ", "UTC")
            .input(input)
            .run()
    }

    fn heading(&mut self, arguments: &[&str], code: Option<i32>) {
        let command = self.names.text(&arguments.join(" "));
        let code = code.map_or("none".to_owned(), |code| code.to_string());
        writeln!(self.record, "\n== ralph {command}\nexit {code}").unwrap();
    }

    /// Runs a command and records its exit code. Returns what it printed.
    pub(crate) fn act(&mut self, arguments: &[&str]) -> String {
        self.act_with(arguments, "")
    }

    /// The same with a text on standard input.
    pub(crate) fn act_with(&mut self, arguments: &[&str], input: &str) -> String {
        let finished = self.finish(arguments, input);
        self.heading(arguments, finished.code);
        finished.stdout
    }

    /// Runs a command that prints an id.
    pub(crate) fn id(&mut self, arguments: &[&str]) -> String {
        let printed = self.act(arguments);
        printed.split_whitespace().next_back().unwrap_or_default().to_owned()
    }

    /// Runs a command that prints JSON, and records it.
    pub(crate) fn json(&mut self, arguments: &[&str]) -> Value {
        let finished = self.finish(arguments, "");
        self.heading(arguments, finished.code);
        let value: Value = serde_json::from_str(&finished.stdout).unwrap_or_else(|error| panic!("{error}: {finished}"));
        let shown = self.names.json(&value);
        writeln!(self.record, "{}", serde_json::to_string_pretty(&shown).unwrap()).unwrap();
        value
    }

    /// Runs a command that prints a line of JSON for each event, and records them.
    pub(crate) fn events(&mut self, arguments: &[&str]) {
        let finished = self.finish(arguments, "");
        self.heading(arguments, finished.code);
        for line in finished.stdout.lines() {
            let event: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"));
            writeln!(self.record, "{}", self.names.json(&event)).unwrap();
        }
    }

    /// Records a file of the project.
    pub(crate) fn file(&mut self, name: &str) {
        let text = self.names.text(&self.env.read(name));
        writeln!(self.record, "\n== file {name}\n{text}").unwrap();
    }

    /// Records the names of the files below a folder of the project.
    pub(crate) fn folder(&mut self, name: &str) {
        let tree = self.env.tree();
        let names = tree.iter().map(|(path, _)| path).filter(|path| path.starts_with(name));
        let mut names: Vec<String> = names.map(|path| self.names.text(path)).collect();
        names.sort();
        writeln!(self.record, "\n== folder {name}\n{}", names.join("\n")).unwrap();
    }

    /// Records the sections of each prompt that the agent got.
    pub(crate) fn prompts(&mut self) {
        for turn in 1..=self.agent.turns() {
            let sections = self.names.text(&prompts::sections(&self.agent.prompt(turn)));
            writeln!(self.record, "\n== prompt {turn}\n{sections}").unwrap();
        }
    }

    /// Records what the database says, after it was checked by another SQLite client.
    pub(crate) fn facts(&mut self) {
        for (table, rows) in facts::of(&self.env.path(".ralph/progress.db")) {
            writeln!(self.record, "\n== table {table}").unwrap();
            for row in rows {
                writeln!(self.record, "{}", self.names.json(&row)).unwrap();
            }
        }
    }

    /// Compares the record with the golden one.
    pub(crate) fn end(self, name: &str) {
        let mut settings = Settings::clone_current();
        settings.set_snapshot_path("golden");
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.bind(|| assert_snapshot!(name, self.record));
    }
}
