//! `ralph demo`: a guided tour in a temporary project, with the real commands on real files.

use std::io::Write;
use std::path::Path;

use clap::Args;
use ralph_model::Shelf;
use ralph_model::config::keys;
use ralph_process::command;

use crate::error::CommandError;
use crate::paths;
use crate::ui::{Style, Ui};

/// The widest that the tour is where no terminal tells a width.
const TOUR_WIDTH: usize = 120;

/// See in a few seconds how notes are kept, found and brought back
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {}

pub(crate) fn cmd_demo(ui: &Ui, _args: &DemoArgs) -> Result<(), CommandError> {
    let tour = Tour {
        ui,
        folder: tempfile::Builder::new()
            .prefix("ralph-demo-")
            .tempdir()
            .map_err(|error| CommandError::new(format!("cannot make a temporary project: {error}")))?,
        program: std::env::current_exe()
            .map_err(|error| CommandError::new(format!("cannot find this program: {error}")))?,
    };
    tour.run()
}

struct Tour<'a> {
    ui: &'a Ui,
    folder: tempfile::TempDir,
    program: std::path::PathBuf,
}

impl Tour<'_> {
    fn run(&self) -> Result<(), CommandError> {
        self.say("A project in a temporary folder, which is removed at the end.")?;
        self.ralph(&["init"])?;

        self.say("An agent keeps what it found out. One command, and it is on disk for good.")?;
        let fix = self.keep(&[
            "ECONNREFUSED on port 5432: the database is down; `docker compose up -d`",
            "--tags",
            "docker,database",
        ])?;
        self.keep(&["Chose SQLite for events: one file, no server", "--tags", "database"])?;
        self.say("What holds for the current work only is a guardrail.")?;
        let guardrail = self.keep(&["Always run the parser tests before a commit", "--here"])?;

        self.say("Notes are Markdown in git. A person adds one of their own in an editor …")?;
        let file = self.folder.path().join(paths::AGENT).join(Shelf::Memories.file_name());
        let text = self.read(&file)?;
        let by_hand = "## Context\n\n### mem-1760000000-cafe\n> The billing service belongs to team Falcon.\n";
        self.write(&file, &text.replace("## Context\n", by_hand))?;
        self.say("… and a question finds what is known, wherever it is kept and however it is spelled.")?;
        self.ralph(&["recall", "the team for billing"])?;
        self.ralph(&["recall", "databases sqlite", "--explain"])?;

        self.say("The work is done, and the rule turns out to hold for good: it becomes a memory.")?;
        self.ralph(&["guardrails", "promote", &guardrail])?;

        self.say("Now somebody saves an old copy of the file over it.")?;
        self.write(&file, "# Memories\n\n## Patterns\n")?;
        self.ralph(&["memory", "list"])?;
        self.say("ralph noticed, and has them on record.")?;
        self.ralph(&["memory", "restore", &fix])?;
        self.ralph(&["memory", "show", &fix, "--history"])?;

        self.say("At the start of a session, an agent gets the notes that fit its task, within a budget.")?;
        self.ralph(&[
            "memory",
            "prime",
            "--budget",
            "200",
            "--for",
            "the database does not answer",
        ])?;

        self.say("The same in your project:")?;
        self.ui
            .data("  cd your-project\n  ralph init\n  ralph setup claude                # Claude Code begins with the notes\n  ralph remember \"what you know\"\n")
    }

    fn say(&self, line: &str) -> Result<(), CommandError> {
        let ui = self.ui;
        ui.data(&format!("\n{}\n", ui.paint(Style::Strong, line)))
    }

    /// Keeps a note; its id.
    fn keep(&self, note: &[&str]) -> Result<String, CommandError> {
        let printed = self.ralph(&[&["remember"], note].concat())?;
        let id = printed.split_whitespace().last().unwrap_or_default();
        Ok(id.to_owned())
    }

    /// Runs a command of ours in the demo's project, shows it with what it printed, and returns that.
    fn ralph(&self, arguments: &[&str]) -> Result<String, CommandError> {
        let ui = self.ui;
        let shown: Vec<String> = arguments
            .iter()
            .map(|word| {
                if word.contains([' ', '`']) {
                    format!("'{word}'")
                } else {
                    (*word).to_owned()
                }
            })
            .collect();
        ui.data(&ui.paint(Style::Faint, &format!("$ ralph {}\n", shown.join(" "))))?;
        let mut child = command(&self.program);
        // Neither a project around the temporary folder nor a setting of the person's may lead out of it.
        child.arg("--root").arg(self.folder.path());
        child.env("COLUMNS", self.ui.width().min(TOUR_WIDTH).to_string());
        for key in keys() {
            child.env_remove(key.environment_name());
        }
        let output = child
            .args(arguments)
            .current_dir(self.folder.path())
            .output()
            .map_err(|error| CommandError::new(format!("cannot start {}: {error}", self.program.display())))?;
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        ui.data(&printed)?;
        ui.data(&String::from_utf8_lossy(&output.stderr))?;
        if output.status.success() {
            Ok(printed)
        } else {
            Err(CommandError::new(format!(
                "`ralph {}` failed in the demo",
                shown.join(" ")
            )))
        }
    }

    fn read(&self, file: &Path) -> Result<String, CommandError> {
        std::fs::read_to_string(file)
            .map_err(|error| CommandError::new(format!("cannot read {}: {error}", file.display())))
    }

    /// Saves a file in place, as some editors do.
    fn write(&self, file: &Path, text: &str) -> Result<(), CommandError> {
        std::fs::File::create(file)
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(|error| CommandError::new(format!("cannot write {}: {error}", file.display())))
    }
}
