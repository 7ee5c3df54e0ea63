//! `ralph demo-agent`: an agent for the demo, started as any other one is. It reads a prompt, changes files and says how it
//! stands. It is no model and knows nothing by itself: whether it steps into a trap depends on what its prompt says.

use std::path::Path;

use clap::Args;
use ralph_process::command;

use super::project::write_file;
use crate::env;
use crate::error::CommandError;
use crate::ui::Ui;

/// The longest prompt that it reads.
const MAX_PROMPT_BYTES: usize = 1 << 20;

/// Works on a task of the demo's project; the prompt is on standard input
#[derive(Debug, Args)]
pub(crate) struct DemoAgentArgs {}

pub(crate) fn cmd_demo_agent(ui: &Ui, _args: &DemoAgentArgs) -> Result<(), CommandError> {
    let prompt = ui.read_input(MAX_PROMPT_BYTES)?;
    let folder = env::working_folder()?;
    let Some(assignment) = Assignment::in_prompt(&prompt) else {
        return ui.data("I only know the tasks of `ralph demo`, and this is none of them.\n");
    };
    let knowledge = assignment.work.trap().knowledge(&prompt);
    let said = assignment.work.carry_out(&folder, &knowledge)?;
    ui.data(&said)?;
    match &knowledge {
        Knowledge::Nothing => {}
        Knowledge::FromNote { id } => ui.data(&format!("<memory-used>{id}</memory-used>\n"))?,
        Knowledge::FromFailure => ui.data(&learn(assignment.work.trap())?)?,
    }
    ui.data(&format!("<task-done>{}</task-done>\n", assignment.id))
}

/// What it is to do, and under which id.
struct Assignment<'a> {
    id: &'a str,
    work: Work<'a>,
}

/// What it can do.
enum Work<'a> {
    Add(&'a Addition),
    Release { version: &'a str },
}

/// A command that it can write.
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

/// What one has to know to do some work, and learns from its failure else.
struct Trap {
    /// How the project's gate tells of it.
    symptom: &'static str,
    note: &'static str,
    tags: &'static str,
    journal: &'static str,
}

const LIST: Trap = Trap {
    symptom: "FAIL commands.txt",
    note: "commands.txt is never edited: tools/list.sh prints what it has to hold",
    tags: "commands",
    journal: "The gate refused a line that was written into commands.txt by hand.",
};

const VERSION: Trap = Trap {
    symptom: "FAIL README.md",
    note: "A release changes two files: VERSION and the version in README.md",
    tags: "release",
    journal: "The gate compares VERSION with README.md, which still had the old version.",
};

/// What it knows of a trap, and from where.
enum Knowledge {
    Nothing,
    FromNote { id: String },
    FromFailure,
}

impl Trap {
    /// Looks for it in the prompt: a note that says it, or the failure of the last attempt, after which it finds out.
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
    /// Finds it in a prompt, below its heading: `**TITLE** (ID)`.
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
    fn trap(&self) -> &'static Trap {
        match self {
            Self::Add(_) => &LIST,
            Self::Release { .. } => &VERSION,
        }
    }

    /// Does it as well as it knows how; what it says about that.
    fn carry_out(&self, folder: &Path, knowledge: &Knowledge) -> Result<String, CommandError> {
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
                    // Where a person would put it, above the last line.
                    read(folder, "commands.txt")?.replace("# checksum", &format!("{name}\n# checksum"))
                };
                write(folder, "commands.txt", &list)?;
                Ok(format!(
                    "The command {name} is there, with a test, and stands in commands.txt.\n"
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

/// Keeps what it found out, as the prompt says that one should; what it says about that.
fn learn(trap: &Trap) -> Result<String, CommandError> {
    let kept = command("ralph")
        .args(["remember", trap.note, "--type", "fix", "--tags", trap.tags])
        .output()
        .map_err(|error| CommandError::new(format!("cannot start ralph: {error}")))?;
    if !kept.status.success() {
        let why = String::from_utf8_lossy(&kept.stderr).trim().to_owned();
        return Err(CommandError::new(format!("the note was not kept: {why}")));
    }
    let said = String::from_utf8_lossy(&kept.stdout).into_owned();
    Ok(format!("{said}<journal>{}</journal>\n", trap.journal))
}

fn generated_list(folder: &Path) -> Result<String, CommandError> {
    let made = command("sh")
        .arg("tools/list.sh")
        .current_dir(folder)
        .output()
        .map_err(|error| CommandError::new(format!("cannot start sh: {error}")))?;
    Ok(String::from_utf8_lossy(&made.stdout).into_owned())
}

/// A text with another word between `(version ` and `)`.
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
