//! What every command works with: the project, its configuration, the clock, the printer.

use std::cell::RefCell;
use std::time::Duration;

use ralph_memory::capture::{Findings, History, Notebook, Scratchpad, Stored};
use ralph_model::config::Config;
use ralph_model::{Clock, Entropy, Shelf, count, first_line, preview};
use ralph_notes::{Document, Notice, Patience, read_file};
use ralph_store::StoreError;

use crate::cli::Global;
use crate::env;
use crate::error::CommandError;
use crate::paths::{self, Project, Spelling};
use crate::surroundings::{ProgramClock, ProgramEntropy};
use crate::ui::Ui;

/// How long a command waits for another one before it says so.
const WAIT_NOTICE: Duration = Duration::from_secs(2);
/// How long a command waits for another one.
const WAIT_LIMIT: Duration = Duration::from_secs(120);
/// How many problems of a file are named; `validate` names all.
const PROBLEMS_NAMED: usize = 3;
/// How many vanished notes are named.
const VANISHED_NAMED: usize = 5;
/// How many columns of a note stand in a message.
const PREVIEW_COLUMNS: usize = 50;

/// What every command works with.
pub(crate) struct Context<'a> {
    pub(crate) ui: &'a Ui,
    pub(crate) project: Project,
    pub(crate) config: Config,
    clock: ProgramClock,
    entropy: RefCell<ProgramEntropy>,
    /// Whether `--` stood among the arguments, so that what follows is meant as it is.
    pub(crate) text_after_dashes: bool,
    notice: Box<dyn Fn(Notice<'_>) + 'a>,
}

impl<'a> Context<'a> {
    /// Finds the project and reads its configuration.
    pub(crate) fn new(global: &Global, ui: &'a Ui) -> Result<Self, CommandError> {
        let project = match &global.root {
            Some(root) => Project::at(std::path::absolute(root)?),
            None => Project::around(&env::working_folder().map_err(|error| {
                CommandError::new(format!("cannot tell the working folder: {error}")).hint("pass --root FOLDER")
            })?),
        };
        if !project.root.is_dir() {
            return Err(CommandError::usage(format!(
                "--root {} is not a folder",
                project.root.display()
            )));
        }
        let config = load_config(&project, ui)?;
        if global.color.is_none() {
            ui.configure(config.ui.color);
        }
        Ok(Self {
            ui,
            project,
            config,
            clock: ProgramClock::from_environment()?,
            entropy: RefCell::new(ProgramEntropy::from_environment()?),
            text_after_dashes: global.text_after_dashes,
            notice: Box::new(|notice| match notice {
                Notice::Waiting(lock) => {
                    ui.status(&format!("Waiting for another process that holds {} …", lock.display()));
                }
                Notice::Kept(text) => ui.warning(&format!(
                    "Somebody saved the file at the same time, and that text could not be merged; it is kept in {}.",
                    text.display()
                )),
            }),
        })
    }

    /// The present moment.
    pub(crate) fn clock(&self) -> &dyn Clock {
        &self.clock
    }

    /// Hands the randomness to a function.
    pub(crate) fn with_entropy<T>(&self, work: impl FnOnce(&mut dyn Entropy) -> T) -> T {
        work(&mut *self.entropy.borrow_mut())
    }

    /// The notes of a shelf.
    pub(crate) fn notebook(&self, shelf: Shelf, spelling: Spelling) -> Notebook<'_> {
        let configured = match shelf {
            Shelf::Memories => self.config.memories.path.as_deref(),
            Shelf::Guardrails => self.config.guardrails.path.as_deref(),
        };
        let path = self.project.shelf_file(shelf, configured, spelling);
        let patience = self.patience();
        Notebook {
            shelf,
            log: self.project.log_of(&path),
            path,
            surroundings: &self.project,
            clock: &self.clock,
            patience,
        }
    }

    /// The working notes.
    pub(crate) fn scratchpad(&self) -> Scratchpad<'_> {
        let configured = self.config.scratchpad.path.as_deref();
        Scratchpad {
            path: self.project.scratchpad_file(configured),
            surroundings: &self.project,
            patience: self.patience(),
        }
    }

    fn patience(&self) -> Patience<'_> {
        Patience {
            notice_after: WAIT_NOTICE,
            limit: WAIT_LIMIT,
            notice: &*self.notice,
        }
    }

    /// Says what is wrong in a file that was read.
    pub(crate) fn report_problems(&self, notebook: &Notebook<'_>, document: &Document<'_>) {
        let hidden = document
            .problems()
            .iter()
            .filter(|problem| problem.kind.hides_an_entry());
        let shown = self.project.shown(&notebook.path);
        let total = hidden.clone().count();
        for problem in hidden.take(PROBLEMS_NAMED) {
            let line = document.line_number(problem.at);
            self.ui.warning(&format!("{shown}:{line}: {}.", problem.kind));
        }
        if total > PROBLEMS_NAMED {
            let more = count(total - PROBLEMS_NAMED, "more problem", "more problems");
            let command = notebook.shelf.words().command;
            self.ui
                .warning(&format!("{shown} has {more}; `{command} validate` lists all."));
        }
    }

    /// Says which notes vanished from a file.
    pub(crate) fn report_findings(&self, notebook: &Notebook<'_>, findings: &Findings) {
        if findings.vanished.is_empty() {
            return;
        }
        let gone = count(findings.vanished.len(), "note is", "notes are");
        let shown = self.project.shown(&notebook.path);
        self.ui.warning(&format!(
            "{gone} gone from {shown} without having been deleted; an old version of the file may have been saved over it."
        ));
        for note in findings.vanished.iter().take(VANISHED_NAMED) {
            let text = preview(first_line(&note.content), PREVIEW_COLUMNS);
            self.ui.status(&format!("  {}  {text}", note.id));
        }
        let command = notebook.shelf.words().command;
        self.ui.hint(&format!(
            "`{command} restore ID` brings one back, `{command} restore --list` lists them."
        ));
    }

    /// Says what a person should know about a change beside that it was made.
    pub(crate) fn report_stored(&self, notebook: &Notebook<'_>, stored: &Stored) {
        self.report_findings(notebook, &stored.findings);
        if let History::NotRecorded(error) = &stored.history {
            self.ui
                .warning(&format!("The note is safe, but its history was not recorded: {error}."));
            if matches!(error, StoreError::Foreign { .. }) {
                self.ui
                    .hint("move that file away, and ralph starts a history of its own.");
            }
        }
    }
}

fn load_config(project: &Project, ui: &Ui) -> Result<Config, CommandError> {
    let path = project.root.join(paths::CONFIG);
    let text = match read_file(&path)? {
        None => None,
        Some(text) => Some(String::from_utf8(text.bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            CommandError::new(format!("{} is not UTF-8 text (byte {at})", paths::CONFIG))
        })?),
    };
    let loaded = Config::load(text.as_deref().map(|text| (paths::CONFIG, text)), &env::read)?;
    for warning in &loaded.warnings {
        let warning = warning.to_string();
        let end = if warning.ends_with('?') { "" } else { "." };
        ui.warning(&format!("{warning}{end}"));
    }
    Ok(loaded.config)
}
