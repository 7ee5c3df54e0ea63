//! The state that every command shares: the project, its configuration, the clock, the printer.

use std::cell::RefCell;
use std::path::PathBuf;
use std::time::Duration;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use ralph_memory::capture::{Findings, History, KnowledgeFolder, NoteRepository, Scratchpad, Stored};
use ralph_memory::inject::{FeaturesFolder, Origins};
use ralph_model::config::{Config, Loaded, Restricted};
use ralph_model::{Actor, Clock, Entropy, NoteFileKind, count, first_line, preview};
use ralph_notes::{Notice, Patience};
use ralph_search::{IndexError, IndexPlace, NoteFileState, Problems, SearchIndex, SourceError, Sources};
use ralph_store::{Store, StoreError, Wait};

use crate::cli::Global;
use crate::env;
use crate::error::{CommandError, restore_hint};
use crate::paths::{self, Project, Spelling};
use crate::project_env::{ProgramClock, ProgramEntropy};
use crate::settings;
use crate::state_folder::StateFolder;
use crate::ui::Ui;

/// How long a command waits for a lock before it prints a notice.
const WAIT_NOTICE: Duration = Duration::from_secs(2);
/// How long a command waits for a lock.
const WAIT_LIMIT: Duration = Duration::from_secs(120);
/// How many missing notes a warning lists.
const MISSING_LISTED: usize = 5;
/// The columns of a note that a message shows.
const PREVIEW_COLUMNS: usize = 50;

/// The state that every command shares.
pub(crate) struct Context<'a> {
    pub(crate) ui: &'a Ui,
    pub(crate) project: Project,
    /// The configuration, without project settings that the user has yet to confirm.
    pub(crate) config: Config,
    /// The configuration including unconfirmed settings, for commands that ask for confirmation or run nothing.
    pub(crate) configured: Config,
    /// The project settings that the user has yet to confirm.
    pub(crate) restricted: Vec<Restricted>,
    clock: ProgramClock,
    entropy: RefCell<ProgramEntropy>,
    /// Whether the arguments contain `--`, so that the text after it is taken literally.
    pub(crate) text_after_dashes: bool,
    pub(crate) actor: Actor,
    /// The stored input of a proposed command, read instead of standard input.
    input: Option<String>,
    notice: Box<dyn Fn(Notice<'_>) + 'a>,
}

impl<'a> Context<'a> {
    /// Finds the project and reads its configuration.
    pub(crate) fn new(global: &Global, ui: &'a Ui) -> Result<Self, CommandError> {
        Self::of(project_here(global)?, global, ui)
    }

    /// Reads the configuration of a project.
    pub(crate) fn of(project: Project, global: &Global, ui: &'a Ui) -> Result<Self, CommandError> {
        let loaded = settings::load(&project, ui)?;
        let (clock, entropy) = (ProgramClock::from_environment()?, ProgramEntropy::from_environment()?);
        Ok(Self {
            clock,
            entropy: RefCell::new(entropy),
            ..Self::checked(project, loaded, global, ui)?
        })
    }

    /// Checks first that no file or folder leads to a forbidden place.
    fn checked(mut project: Project, loaded: Loaded, global: &Global, ui: &'a Ui) -> Result<Self, CommandError> {
        project.boundary = settings::boundary(&project, &loaded);
        match settings::misplaced(&project, &loaded).into_iter().next() {
            Some(misplaced) => Err(misplaced.into()),
            None => Ok(Self::unchecked(project, loaded, global, ui)),
        }
    }

    /// Uses a configuration that was read before, without any checks of files or of the environment.
    pub(crate) fn unchecked(project: Project, loaded: Loaded, global: &Global, ui: &'a Ui) -> Self {
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
                    ui.status(&format!(
                        "Waiting for a lock held by another process: {} …",
                        lock.display()
                    ));
                }
                Notice::Kept(text) => ui.warning(&format!(
                    "Another program saved the file at the same time. Its version could not be merged and is in {}.",
                    text.display()
                )),
            }),
        }
    }

    /// Reads standard input, up to a limit.
    pub(crate) fn read_input(&self, most_bytes: usize) -> Result<String, CommandError> {
        match &self.input {
            Some(input) => Ok(input.clone()),
            None => self.ui.read_input(most_bytes),
        }
    }

    pub(crate) fn clock(&self) -> &dyn Clock {
        &self.clock
    }

    pub(crate) fn today(&self) -> Date {
        self.clock().now().to_zoned(TimeZone::UTC).date()
    }

    pub(crate) fn with_entropy<T>(&self, work: impl FnOnce(&mut dyn Entropy) -> T) -> T {
        work(&mut *self.entropy.borrow_mut())
    }

    /// The notes file of a kind.
    pub(crate) fn note_repository(&self, kind: NoteFileKind, spelling: Spelling) -> NoteRepository<'_> {
        let path = self.note_file_path(kind, spelling);
        NoteRepository {
            file_kind: kind,
            log: self.project.log_of(&path),
            author: self.actor.author(),
            index: self.index(spelling),
            path,
            project_env: self.project.env(),
            clock: &self.clock,
            patience: self.patience(),
        }
    }

    pub(crate) fn knowledge(&self) -> KnowledgeFolder<'_> {
        let index = self.index(Spelling::Own);
        KnowledgeFolder {
            log: self.project.log_of(&index.knowledge),
            author: self.actor.author(),
            index,
            project_env: self.project.env(),
            patience: self.patience(),
        }
    }

    pub(crate) fn scratchpad(&self) -> Scratchpad<'_> {
        let configured = self.config.scratchpad.path.as_deref();
        Scratchpad {
            path: self.project.scratchpad_file(configured),
            project_env: self.project.env(),
            patience: self.patience(),
        }
    }

    /// The folder with specifications and plans of features.
    pub(crate) fn features(&self) -> FeaturesFolder {
        FeaturesFolder {
            path: self.project.root.join(paths::FEATURES),
            shown: paths::FEATURES.to_owned(),
            boundary: self.project.boundary.clone(),
        }
    }

    /// Opens the database for reading, if it exists. Reading never creates it.
    pub(crate) fn facts(&self) -> Result<Option<Store>, CommandError> {
        Ok(Store::open_for_reading(&self.project.fact_store(), Wait::Long)?)
    }

    /// The author of each note. If that cannot be read, the user counts as the author of all.
    pub(crate) fn origins(&self) -> Origins {
        let store = Store::open_for_reading(&self.project.fact_store(), Wait::Brief)
            .ok()
            .flatten();
        let written = store.and_then(|store| store.notes_written_in_iterations().ok());
        written.unwrap_or_default().into_iter().collect()
    }

    /// The project's folder outside the repository; gives the project an id if it has none.
    pub(crate) fn make_state_folder(&self) -> Result<StateFolder, CommandError> {
        // Two projects never share an id, so that of a test is random too.
        StateFolder::make(&self.project, &mut ProgramEntropy::Machine, &self.patience())
    }

    /// Creates the state folder, or warns if it cannot be created.
    pub(crate) fn make_state_folder_or_warn(&self) {
        if let Err(error) = self.make_state_folder() {
            self.ui.warning(&format!("Backups are disabled: {}.", error.message()));
        }
    }

    /// How long to wait for other processes that lock a file.
    pub(crate) fn patience(&self) -> Patience<'_> {
        Patience {
            notice_after: WAIT_NOTICE,
            limit: WAIT_LIMIT,
            notice: &*self.notice,
        }
    }

    /// The index of all notes.
    pub(crate) fn index(&self, spelling: Spelling) -> IndexPlace<'_> {
        IndexPlace {
            database: self.project.index(),
            file_kinds: [NoteFileKind::Memories, NoteFileKind::Guardrails]
                .map(|kind| (kind, self.note_file_path(kind, spelling)))
                .to_vec(),
            knowledge: self.project.root.join(paths::KNOWLEDGE),
            may_create: self.project.may_have_index(),
            boundary: &self.project.boundary,
            file_clock: &ProgramClock::Machine,
        }
    }

    fn note_file_path(&self, kind: NoteFileKind, spelling: Spelling) -> PathBuf {
        let configured = match kind {
            NoteFileKind::Memories => self.config.memories.path.as_deref(),
            NoteFileKind::Guardrails => self.config.guardrails.path.as_deref(),
        };
        self.project.notes_path(kind, configured, spelling)
    }

    /// Asks the search index about one notes file, and warns about problems in that file.
    pub(crate) fn ask<T>(
        &self,
        note_repository: &NoteRepository<'_>,
        question: impl Fn(&SearchIndex) -> Result<T, IndexError>,
    ) -> Result<T, CommandError> {
        self.ask_all(std::slice::from_ref(note_repository), question)
    }

    /// Asks the search index about several notes files, and warns about problems in them.
    pub(crate) fn ask_all<T>(
        &self,
        repositories: &[NoteRepository<'_>],
        question: impl Fn(&SearchIndex) -> Result<T, IndexError>,
    ) -> Result<T, CommandError> {
        Ok(self.ask_about((repositories, Sources::NOTES), question)?)
    }

    /// Asks the search index about knowledge entries and the given notes files, and warns about problems in those
    /// files.
    pub(crate) fn ask_knowledge<T>(
        &self,
        repositories: &[NoteRepository<'_>],
        question: impl Fn(&SearchIndex) -> Result<T, IndexError>,
    ) -> Result<T, CommandError> {
        Ok(self.ask_about((repositories, Sources::KNOWLEDGE), question)?)
    }

    /// Asks the search index about the facts of a store.
    pub(crate) fn ask_facts<T>(
        &self,
        store: &Store,
        question: impl Fn(&SearchIndex) -> Result<T, IndexError>,
    ) -> Result<T, CommandError> {
        Ok(self.ask_about((&[], Sources::NOTES.and_facts(store)), question)?)
    }

    /// Asks the search index about the given notes files and other sources, and warns about problems in these files.
    pub(crate) fn ask_about<T>(
        &self,
        (repositories, sources): (&[NoteRepository<'_>], Sources<'_>),
        question: impl Fn(&SearchIndex) -> Result<T, IndexError>,
    ) -> Result<T, SourceError> {
        self.project.prepare_index_folder();
        let place = match repositories.first() {
            Some(note_repository) => IndexPlace {
                may_create: self.project.may_have_index(),
                ..note_repository.index.clone()
            },
            None => self.index(Spelling::Own),
        };
        let (answer, states) = SearchIndex::ask(&place, (&kinds_of(repositories), sources), |index| {
            Ok((question(index)?, states_of(repositories, index)))
        })?;
        self.report_states(repositories, states);
        Ok(answer)
    }

    fn report_states(&self, repositories: &[NoteRepository<'_>], states: Vec<Option<NoteFileState>>) {
        for (note_repository, state) in repositories.iter().zip(states) {
            if let Some(state) = state {
                self.report_problems(note_repository, &state.problems);
                self.report_findings(note_repository, &note_repository.detect_changes(state.stamp));
            }
        }
    }

    /// Warns about problems in a file that was read.
    pub(crate) fn report_problems(&self, note_repository: &NoteRepository<'_>, problems: &Problems) {
        let shown = self.project.shown(&note_repository.path);
        for (line, what) in &problems.named {
            self.ui.warning(&format!("{shown}:{line}: {what}."));
        }
        let more = problems.total.saturating_sub(problems.named.len());
        if more > 0 {
            let more = count(more, "more problem", "more problems");
            let command = note_repository.file_kind.words().command;
            self.ui
                .warning(&format!("{shown} has {more}; `{command} validate` lists all."));
        }
    }

    /// Warns about notes that disappeared from a file.
    pub(crate) fn report_findings(&self, note_repository: &NoteRepository<'_>, findings: &Findings) {
        if findings.vanished.is_empty() {
            return;
        }
        let missing = count(findings.vanished.len(), "note is", "notes are");
        let shown = self.project.shown(&note_repository.path);
        self.ui.warning(&format!(
            "{missing} missing from {shown} but not deleted; an older version of the file may have been saved over it."
        ));
        for note in findings.vanished.iter().take(MISSING_LISTED) {
            let text = preview(first_line(&note.content), PREVIEW_COLUMNS);
            self.ui.status(&format!("  {}  {text}", note.id));
        }
        let command = note_repository.file_kind.words().command;
        self.ui.hint(&format!(
            "`{command} restore ID` restores one, `{command} restore --list` lists them."
        ));
    }

    /// Warns about side effects of a change.
    pub(crate) fn report_stored(&self, note_repository: &NoteRepository<'_>, stored: &Stored) {
        self.report_findings(note_repository, &stored.findings);
        self.report_history(&stored.history);
    }

    /// Warns if a change was not recorded in the log.
    pub(crate) fn report_history(&self, history: &History) {
        if let History::NotRecorded(error) = history {
            self.ui.warning(&format!(
                "The note was saved, but its history was not recorded: {error}."
            ));
            match error {
                StoreError::Foreign { .. } => self.hint_at_import(),
                StoreError::Lost { backup, .. } => self.ui.hint(&format!("{}.", restore_hint(backup))),
                _ => {}
            }
        }
    }

    /// Explains what to do about another tool's database.
    pub(crate) fn hint_at_import(&self) {
        self.ui
            .hint("If it belongs to RefoundAI's ralph, run `ralph import refound`; otherwise move it away.");
    }
}

fn kinds_of(repositories: &[NoteRepository<'_>]) -> Vec<NoteFileKind> {
    repositories
        .iter()
        .map(|note_repository| note_repository.file_kind)
        .collect()
}

fn states_of(repositories: &[NoteRepository<'_>], index: &SearchIndex) -> Vec<Option<NoteFileState>> {
    let states = repositories
        .iter()
        .map(|note_repository| index.file_kind(note_repository.file_kind).cloned());
    states.collect()
}

/// The project at `--root`, else the one that contains the working directory.
pub(crate) fn project_here(global: &Global) -> Result<Project, CommandError> {
    find_project(global, || {
        env::working_folder().map_err(|error| {
            CommandError::new(format!("cannot determine the current directory: {error}")).hint("pass --root FOLDER")
        })
    })
}

/// The project at `--root`, else the one that contains a folder.
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
