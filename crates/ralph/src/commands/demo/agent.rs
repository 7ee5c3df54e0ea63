//! `ralph demo-agent`: the built-in agent of the demo, started like any other agent. It reads a prompt, edits files and
//! reports the result. It is not a model and has no knowledge of its own: whether it runs into a pitfall depends only
//! on the prompt.

use std::path::Path;

use clap::Args;
use ralph_process::command;

use super::project::write_file;
use crate::env;
use crate::error::CommandError;
use crate::ui::Ui;

const MAX_PROMPT_BYTES: usize = 1 << 20;

/// Works on a task of the demo's project; the prompt is on standard input
#[derive(Debug, Args)]
pub(crate) struct DemoAgentArgs {}

pub(crate) fn cmd_demo_agent(ui: &Ui, _args: &DemoAgentArgs) -> Result<(), CommandError> {
    let prompt = ui.read_input(MAX_PROMPT_BYTES)?;
    let folder = env::working_folder()?;
    let Some(assignment) = Assignment::in_prompt(&prompt) else {
        return ui.data("I only know the tasks of `ralph demo`, and this is not one of them.\n");
    };
    let knowledge = assignment.work.pitfall().knowledge(&prompt);
    let message = assignment.work.perform(&folder, &knowledge)?;
    ui.data(&message)?;
    match &knowledge {
        Knowledge::Nothing => {}
        Knowledge::FromNote { id } => ui.data(&format!("<memory-used>{id}</memory-used>\n"))?,
        Knowledge::FromFailure => ui.data(&learn(assignment.work.pitfall())?)?,
    }
    ui.data(&format!("<task-done>{}</task-done>\n", assignment.id))
}

struct Assignment<'a> {
    id: &'a str,
    work: Work<'a>,
}

enum Work<'a> {
    Add(&'a Addition),
    Release { version: &'a str },
}

/// A command that it can add to the project.
struct Addition {
    name: &'static str,
    script: &'static str,
    expected: &'static str,
}

const ADDITIONS: &[Addition] = &[
    Addition {
        name: "upper",
        script: "tr '[:lower:]' '[:upper:]'",
        expected: "ONE TWO",
    },
    Addition {
        name: "count",
        script: "wc -w | tr -d ' '",
        expected: "2",
    },
    Addition {
        name: "first",
        script: "cut -d ' ' -f 1",
        expected: "one",
    },
];

/// A fact that a task requires; without it the first attempt fails.
struct Pitfall {
    /// How the output of the gate shows it.
    symptom: &'static str,
    note: &'static str,
    tags: &'static str,
    journal: &'static str,
}

const LIST: Pitfall = Pitfall {
    symptom: "FAIL commands.txt",
    note: "commands.txt is never edited: tools/list.sh prints what it has to hold",
    tags: "commands",
    journal: "The gate refused a line that was written into commands.txt by hand.",
};

const VERSION: Pitfall = Pitfall {
    symptom: "FAIL README.md",
    note: "A release changes two files: VERSION and the version in README.md",
    tags: "release",
    journal: "The gate compares VERSION with README.md, which still had the old version.",
};

/// What the agent knows about a pitfall, and from where.
enum Knowledge {
    Nothing,
    FromNote { id: String },
    FromFailure,
}

impl Pitfall {
    /// Searches the prompt for a note with the fact, or for a previous failure, which reveals it.
    fn knowledge(&self, prompt: &str) -> Knowledge {
        let mut heading = "";
        for line in prompt.lines() {
            if let Some(id) = line.strip_prefix("### ") {
                heading = id;
            }
            if line.strip_prefix("> ") == Some(self.note) {
                return Knowledge::FromNote { id: heading.to_owned() };
            }
        }
        let mut of_attempts = prompt
            .lines()
            .skip_while(|line| !["### Previous Attempts", "## Retry Information"].contains(line));
        if of_attempts.any(|line| line.trim_start_matches("> ").starts_with(self.symptom)) {
            Knowledge::FromFailure
        } else {
            Knowledge::Nothing
        }
    }
}

impl<'a> Assignment<'a> {
    /// Parses the line `**TITLE** (ID)` below the heading.
    fn in_prompt(prompt: &'a str) -> Option<Self> {
        let mut lines = prompt.lines().skip_while(|line| *line != "## Assigned Task");
        let line = lines.find_map(|line| line.strip_prefix("**"))?;
        let (title, id) = line.strip_suffix(')')?.split_once("** (")?;
        let work = match title.rsplit_once(' ')? {
            ("Add the command", name) => Work::Add(ADDITIONS.iter().find(|addition| addition.name == name)?),
            ("Release version", version) => Work::Release { version },
            _ => return None,
        };
        Some(Self { id, work })
    }
}

impl Work<'_> {
    fn pitfall(&self) -> &'static Pitfall {
        match self {
            Self::Add(_) => &LIST,
            Self::Release { .. } => &VERSION,
        }
    }

    /// Does the work as far as it knows how; returns its message.
    fn perform(&self, folder: &Path, knowledge: &Knowledge) -> Result<String, CommandError> {
        let knows = !matches!(knowledge, Knowledge::Nothing);
        match self {
            Self::Add(addition) => {
                let name = addition.name;
                write(
                    folder,
                    &format!("commands/{name}.sh"),
                    &format!("{}\n", addition.script),
                )?;
                write(folder, &format!("tests/{name}.sh"), &addition.test())?;
                let list = if knows {
                    generated_list(folder)?
                } else {
                    // Where a person would insert it, above the last line.
                    read(folder, "commands.txt")?.replace("# checksum", &format!("{name}\n# checksum"))
                };
                write(folder, "commands.txt", &list)?;
                Ok(format!(
                    "The command {name} is done, with a test, and listed in commands.txt.\n"
                ))
            }
            Self::Release { version } => {
                write(folder, "VERSION", &format!("{version}\n"))?;
                if knows {
                    let readme = read(folder, "README.md")?;
                    write(folder, "README.md", &with_version(&readme, version))?;
                }
                Ok(format!("This is version {version} now.\n"))
            }
        }
    }
}

impl Addition {
    fn test(&self) -> String {
        let Self { name, expected, .. } = self;
        format!("test \"$(echo one two | sh commands/{name}.sh)\" = '{expected}'\n")
    }
}

/// Stores the fact as the prompt asks for; returns its message.
fn learn(pitfall: &Pitfall) -> Result<String, CommandError> {
    let output = command("ralph")
        .args(["remember", pitfall.note, "--type", "fix", "--tags", pitfall.tags])
        .output()
        .map_err(|error| CommandError::new(format!("cannot start ralph: {error}")))?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(CommandError::new(format!("cannot store the memory: {why}")));
    }
    let message = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(format!("{message}<journal>{}</journal>\n", pitfall.journal))
}

fn generated_list(folder: &Path) -> Result<String, CommandError> {
    let output = command("sh")
        .arg("tools/list.sh")
        .current_dir(folder)
        .output()
        .map_err(|error| CommandError::new(format!("cannot start sh: {error}")))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Replaces the text between `(version ` and `)`.
fn with_version(text: &str, version: &str) -> String {
    let parts = text
        .split_once("(version ")
        .and_then(|(before, rest)| Some((before, rest.split_once(')')?.1)));
    parts.map_or_else(
        || text.to_owned(),
        |(before, after)| format!("{before}(version {version}){after}"),
    )
}

fn read(folder: &Path, name: &str) -> Result<String, CommandError> {
    std::fs::read_to_string(folder.join(name))
        .map_err(|error| CommandError::new(format!("cannot read {name}: {error}")))
}

fn write(folder: &Path, name: &str, text: &str) -> Result<(), CommandError> {
    write_file(&folder.join(name), text).map_err(|error| CommandError::new(format!("cannot write {name}: {error}")))
}
