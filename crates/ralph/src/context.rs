//! What every command works with: the project, its configuration, the clock, the printer.

use std::cell::RefCell;
use std::path::PathBuf;
use std::time::Duration;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use ralph_memory::capture::{Findings, History, KnowledgeFolder, Notebook, Scratchpad, Stored};
use ralph_memory::catalogue::{Catalogue, CataloguePlace, Problems, ShelfState};
use ralph_memory::inject::{FeaturesFolder, Origins};
use ralph_model::config::{Config, Loaded, Restricted};
use ralph_model::{Actor, Clock, Entropy, Shelf, count, first_line, preview};
use ralph_notes::{Notice, Patience};
use ralph_store::index::IndexError;
use ralph_store::{Store, StoreError, Wait};

use crate::cli::Global;
use crate::env;
use crate::error::{CommandError, restore_hint};
use crate::paths::{self, Project, Spelling};
use crate::settings;
use crate::state_folder::StateFolder;
use crate::surroundings::{ProgramClock, ProgramEntropy};
use crate::ui::Ui;

/// How long a command waits for another one before it says so.
const WAIT_NOTICE: Duration = Duration::from_secs(2);
/// How long a command waits for another one.
const WAIT_LIMIT: Duration = Duration::from_secs(120);
/// How many vanished notes are named.
const VANISHED_NAMED: usize = 5;
/// How many columns of a note stand in a message.
const PREVIEW_COLUMNS: usize = 50;

/// What every command works with.
pub(crate) struct Context<'a> {
    pub(crate) ui: &'a Ui,
    pub(crate) project: Project,
    /// The configuration without settings of the project that the user has to confirm first.
    pub(crate) config: Config,
    /// The same with them, for commands that ask, or show what is configured and run nothing.
    pub(crate) configured: Config,
    /// The settings that the user has to confirm first.
    pub(crate) restricted: Vec<Restricted>,
    clock: ProgramClock,
    entropy: RefCell<ProgramEntropy>,
    /// Whether `--` stood among the arguments, so that what follows is meant as it is.
    pub(crate) text_after_dashes: bool,
    /// Who gives the command.
    pub(crate) actor: Actor,
    /// What is read instead of standard input, where the command was proposed before.
    input: Option<String>,
    notice: Box<dyn Fn(Notice<'_>) + 'a>,
}

impl<'a> Context<'a> {
    /// Finds the project and reads its configuration.
    pub(crate) fn new(global: &Global, ui: &'a Ui) -> Result<Self, CommandError> {
        Self::of(project_here(global)?, global, ui)
    }

    /// The same for a project that was found before.
    pub(crate) fn of(project: Project, global: &Global, ui: &'a Ui) -> Result<Self, CommandError> {
        let loaded = settings::load(&project, ui)?;
        let (clock, entropy) = (ProgramClock::from_environment()?, ProgramEntropy::from_environment()?);
        Ok(Self {
            clock,
            entropy: RefCell::new(entropy),
            ..Self::contained(project, loaded, global, ui)?
        })
    }

    /// Refuses files and folders that lead where they must not.
    fn contained(mut project: Project, loaded: Loaded, global: &Global, ui: &'a Ui) -> Result<Self, CommandError> {
        project.boundary = settings::boundary(&project, &loaded);
        match settings::misplaced(&project, &loaded).into_iter().next() {
            Some(misplaced) => Err(misplaced.into()),
            None => Ok(Self::regardless(project, loaded, global, ui)),
        }
    }

    /// The same with a configuration that was read before, however wrong the files and the environment are.
    pub(crate) fn regardless(project: Project, loaded: Loaded, global: &Global, ui: &'a Ui) -> Self {
        if global.color.is_none() {
            ui.configure(loaded.config.ui.color);
        }
        Self {
            ui,
            project,
            config: loaded.unconfirmed,
            configured: loaded.config,
            restricted: loaded.restricted,
            clock: ProgramClock::from_environment().unwrap_or(ProgramClock::Machine),
            entropy: RefCell::new(ProgramEntropy::from_environment().unwrap_or(ProgramEntropy::Machine)),
            text_after_dashes: global.text_after_dashes,
            actor: global.actor.clone(),
            input: global.input.clone(),
            notice: Box::new(|notice| match notice {
                Notice::Waiting(lock) => {
                    ui.status(&format!("Waiting for another process that holds {} …", lock.display()));
                }
                Notice::Kept(text) => ui.warning(&format!(
                    "Somebody saved the file at the same time, and that text could not be merged; it is kept in {}.",
                    text.display()
                )),
            }),
        }
    }

    /// The standard input, up to a size.
    pub(crate) fn read_input(&self, most_bytes: usize) -> Result<String, CommandError> {
        match &self.input {
            Some(input) => Ok(input.clone()),
            None => self.ui.read_input(most_bytes),
        }
    }

    /// The present moment.
    pub(crate) fn clock(&self) -> &dyn Clock {
        &self.clock
    }

    /// Today, in UTC.
    pub(crate) fn today(&self) -> Date {
        self.clock().now().to_zoned(TimeZone::UTC).date()
    }

    /// Hands the randomness to a function.
    pub(crate) fn with_entropy<T>(&self, work: impl FnOnce(&mut dyn Entropy) -> T) -> T {
        work(&mut *self.entropy.borrow_mut())
    }

    /// The notes of a shelf.
    pub(crate) fn notebook(&self, shelf: Shelf, spelling: Spelling) -> Notebook<'_> {
        let path = self.shelf_path(shelf, spelling);
        Notebook {
            shelf,
            log: self.project.log_of(&path),
            author: self.actor.author(),
            catalogue: self.catalogue(spelling),
            path,
            surroundings: &self.project,
            clock: &self.clock,
            patience: self.patience(),
        }
    }

    /// The long notes.
    pub(crate) fn knowledge(&self) -> KnowledgeFolder<'_> {
        let catalogue = self.catalogue(Spelling::Own);
        KnowledgeFolder {
            log: self.project.log_of(&catalogue.knowledge),
            author: self.actor.author(),
            catalogue,
            surroundings: &self.project,
            patience: self.patience(),
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

    /// The folder of what is written about features.
    pub(crate) fn features(&self) -> FeaturesFolder {
        FeaturesFolder {
            path: self.project.root.join(paths::FEATURES),
            shown: paths::FEATURES.to_owned(),
            boundary: self.project.boundary.clone(),
        }
    }

    /// The database of facts to read, if there is one: to look something up nothing is made.
    pub(crate) fn facts(&self) -> Result<Option<Store>, CommandError> {
        Ok(Store::open_to_read(&self.project.fact_store(), Wait::Long)?)
    }

    /// Who wrote which notes. Where that cannot be read, all count as a person's.
    pub(crate) fn origins(&self) -> Origins {
        let store = Store::open_to_read(&self.project.fact_store(), Wait::Brief)
            .ok()
            .flatten();
        let written = store.and_then(|store| store.notes_written_in_iterations().ok());
        written.unwrap_or_default().into_iter().collect()
    }

    /// The folder of the project outside of it; the project gets an id where it has none.
    pub(crate) fn make_state_folder(&self) -> Result<StateFolder, CommandError> {
        // Two projects never share an id, so that of a test is random too.
        StateFolder::make(&self.project, &mut ProgramEntropy::Machine, &self.patience())
    }

    /// The same where nothing is put into it now.
    pub(crate) fn make_state_folder_or_warn(&self) {
        if let Err(error) = self.make_state_folder() {
            self.ui
                .warning(&format!("There will be no backups: {}.", error.message()));
        }
    }

    /// Warns of learnings that were passed over because they cannot be read.
    pub(crate) fn tell_unreadable(&self, store: &Store) {
        for learning in store.newly_unreadable_learnings() {
            self.ui.warning(&format!("{}.", learning.passed_over()));
        }
    }

    /// How long to wait for others who change a file.
    pub(crate) fn patience(&self) -> Patience<'_> {
        Patience {
            notice_after: WAIT_NOTICE,
            limit: WAIT_LIMIT,
            notice: &*self.notice,
        }
    }

    /// The index of all notes.
    pub(crate) fn catalogue(&self, spelling: Spelling) -> CataloguePlace<'_> {
        CataloguePlace {
            database: self.project.index(),
            shelves: [Shelf::Memories, Shelf::Guardrails]
                .map(|shelf| (shelf, self.shelf_path(shelf, spelling)))
                .to_vec(),
            knowledge: self.project.root.join(paths::KNOWLEDGE),
            home: &self.project,
            file_clock: &ProgramClock::Machine,
        }
    }

    fn shelf_path(&self, shelf: Shelf, spelling: Spelling) -> PathBuf {
        let configured = match shelf {
            Shelf::Memories => self.config.memories.path.as_deref(),
            Shelf::Guardrails => self.config.guardrails.path.as_deref(),
        };
        self.project.shelf_file(shelf, configured, spelling)
    }

    /// Asks the catalogue about a shelf, and says what a reader should know about its file.
    pub(crate) fn ask<T>(
        &self,
        notebook: &Notebook<'_>,
        question: impl Fn(&Catalogue) -> Result<T, IndexError>,
    ) -> Result<T, CommandError> {
        self.ask_all(std::slice::from_ref(notebook), question)
    }

    /// The same for several shelves, of which there is at least one.
    pub(crate) fn ask_all<T>(
        &self,
        notebooks: &[Notebook<'_>],
        question: impl Fn(&Catalogue) -> Result<T, IndexError>,
    ) -> Result<T, CommandError> {
        let place = match notebooks.first() {
            Some(notebook) => notebook.catalogue.clone(),
            None => self.catalogue(Spelling::Own),
        };
        let (answer, states) = Catalogue::ask(&place, &shelves_of(notebooks), |catalogue| {
            Ok((question(catalogue)?, states_of(notebooks, catalogue)))
        })?;
        self.report_states(notebooks, states);
        Ok(answer)
    }

    /// Asks the catalogue about long notes, and about shelves if there are any, and says what a reader should know about
    /// the files of the shelves.
    pub(crate) fn ask_knowledge<T>(
        &self,
        notebooks: &[Notebook<'_>],
        question: impl Fn(&Catalogue) -> Result<T, IndexError>,
    ) -> Result<T, CommandError> {
        let place = self.catalogue(Spelling::Own);
        let (answer, states) = Catalogue::ask_knowledge(&place, &shelves_of(notebooks), |catalogue| {
            Ok((question(catalogue)?, states_of(notebooks, catalogue)))
        })?;
        self.report_states(notebooks, states);
        Ok(answer)
    }

    fn report_states(&self, notebooks: &[Notebook<'_>], states: Vec<Option<ShelfState>>) {
        for (notebook, state) in notebooks.iter().zip(states) {
            if let Some(state) = state {
                self.report_problems(notebook, &state.problems);
                self.report_findings(notebook, &notebook.look(state.stamp));
            }
        }
    }

    /// Says what is wrong in a file that was read.
    pub(crate) fn report_problems(&self, notebook: &Notebook<'_>, problems: &Problems) {
        let shown = self.project.shown(&notebook.path);
        for (line, what) in &problems.named {
            self.ui.warning(&format!("{shown}:{line}: {what}."));
        }
        let more = problems.total.saturating_sub(problems.named.len());
        if more > 0 {
            let more = count(more, "more problem", "more problems");
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
        self.report_history(&stored.history);
    }

    /// Says so where a change is not in the log.
    pub(crate) fn report_history(&self, history: &History) {
        if let History::NotRecorded(error) = history {
            self.ui
                .warning(&format!("The note is safe, but its history was not recorded: {error}."));
            match error {
                StoreError::Foreign { .. } => self.hint_at_import(),
                StoreError::Lost { backup, .. } => self.ui.hint(&format!("{}.", restore_hint(backup))),
                _ => {}
            }
        }
    }

    /// Says what to do about a database of another tool.
    pub(crate) fn hint_at_import(&self) {
        self.ui
            .hint("`ralph import refound` takes it over if it is that of RefoundAI's ralph; else move it away.");
    }
}

fn shelves_of(notebooks: &[Notebook<'_>]) -> Vec<Shelf> {
    notebooks.iter().map(|notebook| notebook.shelf).collect()
}

fn states_of(notebooks: &[Notebook<'_>], catalogue: &Catalogue) -> Vec<Option<ShelfState>> {
    let states = notebooks
        .iter()
        .map(|notebook| catalogue.shelf(notebook.shelf).cloned());
    states.collect()
}

/// The project that `--root` names, else the one around the working folder.
pub(crate) fn project_here(global: &Global) -> Result<Project, CommandError> {
    find_project(global, || {
        env::working_folder().map_err(|error| {
            CommandError::new(format!("cannot tell the working folder: {error}")).hint("pass --root FOLDER")
        })
    })
}

/// The project that `--root` names, else the one around a folder.
pub(crate) fn find_project(
    global: &Global,
    folder: impl FnOnce() -> Result<PathBuf, CommandError>,
) -> Result<Project, CommandError> {
    let Some(root) = &global.root else {
        return Ok(Project::around(&folder()?));
    };
    let root = std::path::absolute(root).map_err(|error| CommandError::usage(format!("--root: {error}")))?;
    let project = Project::at(root);
    if project.root.is_dir() {
        Ok(project)
    } else {
        let root = project.root.display();
        Err(CommandError::usage(format!("--root {root} is not a folder")))
    }
}
