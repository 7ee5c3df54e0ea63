//! Reads the configuration from the user's file, the project's file and the environment, and keeps the project's files
//! inside its boundary.

use std::path::{Path, PathBuf};

use ralph_model::NoteFileKind;
use ralph_model::config::{Inspected, Loaded, Origin, Sources};
use ralph_notes::{Boundary, read_file};

use crate::env;
use crate::error::CommandError;
use crate::paths::{self, Project, Spelling};
use crate::ui::Ui;

/// The texts of both files, with the names used in messages; `None` for a missing file.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    pub(crate) user: Option<(String, String)>,
    pub(crate) project: Option<String>,
}

impl Texts {
    pub(crate) fn read(project: &Project) -> Result<Self, CommandError> {
        Ok(Self {
            user: read_user_text()?,
            project: read_project_text(project)?,
        })
    }

    fn sources<'a>(&'a self, environment: &'a dyn Fn(&str) -> Option<String>) -> Sources<'a> {
        let user = self.user.as_ref();
        Sources {
            user: user.map(|(path, text)| (path.as_str(), text.as_str())),
            project: self.project.as_deref().map(|text| (paths::CONFIG, text)),
            environment,
        }
    }

    /// Parses the configuration and collects all errors and warnings.
    pub(crate) fn inspect(&self) -> Inspected {
        self.sources(&env::read).inspect()
    }
}

/// Reads the configuration and warns about settings without effect.
pub(crate) fn load(project: &Project, ui: &Ui) -> Result<Loaded, CommandError> {
    let texts = Texts::read(project)?;
    let loaded = texts.sources(&env::read).load()?;
    for warning in &loaded.warnings {
        let warning = warning.to_string();
        let end = if warning.ends_with('?') { "" } else { "." };
        ui.warning(&format!("{warning}{end}"));
    }
    Ok(loaded)
}

/// The user's configuration file; `None` if there is no folder for it.
pub(crate) fn user_file() -> Option<PathBuf> {
    env::config_folder().map(|folder| folder.join(paths::USER_CONFIG))
}

/// The name and text of the user's file, if it exists.
pub(crate) fn read_user_text() -> Result<Option<(String, String)>, CommandError> {
    let Some(path) = user_file() else { return Ok(None) };
    let name = path.display().to_string();
    let text = read_text(&path, &name)?;
    Ok(text.map(|text| (name, text)))
}

/// The text of the project's file, if it exists.
pub(crate) fn read_project_text(project: &Project) -> Result<Option<String>, CommandError> {
    read_text(&project.root.join(paths::CONFIG), paths::CONFIG)
}

fn read_text(path: &Path, name: &str) -> Result<Option<String>, CommandError> {
    let Some(text) = read_file(path)? else {
        return Ok(None);
    };
    String::from_utf8(text.bytes).map(Some).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        CommandError::new(format!("{name} is not UTF-8 text (byte {at})"))
    })
}

/// The boundary of a project. It includes the folders that the user allows and the paths that the user set.
pub(crate) fn boundary(project: &Project, loaded: &Loaded) -> Boundary {
    let mut allowed = allowed_outside(project, loaded);
    allowed.extend(project.checkout.clone());
    Boundary::new(&project.root, &allowed)
}

fn allowed_outside(project: &Project, loaded: &Loaded) -> Vec<PathBuf> {
    let allowed = loaded
        .config
        .paths
        .allow_outside
        .iter()
        .map(|path| expanded(project, path));
    let set_by_user = configured_paths(loaded)
        .into_iter()
        .filter(|(key, _)| loaded.origin(key) != Some(Origin::Project))
        .filter_map(|(_, path)| Some(expanded(project, path?)));
    allowed.chain(set_by_user).collect()
}

/// Expands `~` to the user's home.
fn expanded(project: &Project, path: &Path) -> PathBuf {
    match (path.strip_prefix("~"), env::home()) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => project.root.join(path),
    }
}

fn configured_paths(loaded: &Loaded) -> [(&'static str, Option<&Path>); 3] {
    let config = &loaded.config;
    [
        ("memories.path", config.memories.path.as_deref()),
        ("guardrails.path", config.guardrails.path.as_deref()),
        ("scratchpad.path", config.scratchpad.path.as_deref()),
    ]
}

/// A file or folder of the project that leads to a forbidden place.
pub(crate) struct Misplaced {
    /// A configuration key, or a path from the root.
    what: String,
    leads_to: PathBuf,
    place: Place,
}

/// A place that project files must not lead to.
#[derive(Clone, Copy)]
enum Place {
    Outside,
    /// A file of git or an internal file of ralph.
    Reserved,
}

impl Misplaced {
    /// Describes the problem, without a leading place or a period.
    pub(crate) fn sentence(&self) -> String {
        let (what, leads_to) = (&self.what, self.leads_to.display());
        match self.place {
            Place::Outside => format!("{what} leads outside the project, to {leads_to}"),
            Place::Reserved => format!("{what} leads to {leads_to}, which is not a file for notes"),
        }
    }

    pub(crate) fn remedy(&self) -> String {
        match self.place {
            Place::Outside => {
                let file = user_file().map_or_else(|| paths::USER_CONFIG.to_owned(), |file| file.display().to_string());
                format!("to allow it, add its folder to `allow_outside` of `[paths]` in your own configuration, {file}")
            }
            Place::Reserved => "set another path, or remove the link".to_owned(),
        }
    }
}

impl From<Misplaced> for CommandError {
    fn from(misplaced: Misplaced) -> Self {
        Self::new(misplaced.sentence()).hint(misplaced.remedy())
    }
}

/// Finds files and folders that lead to a forbidden place. The project's boundary must be set.
pub(crate) fn misplaced(project: &Project, loaded: &Loaded) -> Vec<Misplaced> {
    let [memories, guardrails, scratchpad] = configured_paths(loaded);
    let mut found = Vec::new();
    let mut check_notes = |key: Option<&str>, path: PathBuf| {
        let what = match key {
            Some(key) => format!("`{key}` in {}", paths::CONFIG),
            None => format!("`{}`", project.shown(&path)),
        };
        let outside = project.boundary.outside(&path).map(|to| (Place::Outside, to));
        let reserved = || project.reserved(&path).map(|to| (Place::Reserved, to));
        let misplaced = outside.or_else(reserved);
        found.extend(misplaced.map(|(place, leads_to)| Misplaced { what, leads_to, place }));
    };
    for (kind, (key, path)) in [
        (NoteFileKind::Memories, memories),
        (NoteFileKind::Guardrails, guardrails),
    ] {
        let key = path.map(|_| key);
        for spelling in [Spelling::Own, Spelling::Orchestrator] {
            check_notes(key, project.notes_path(kind, path, spelling));
        }
    }
    let (key, path) = scratchpad;
    check_notes(path.map(|_| key), project.scratchpad_file(path));
    // All worktrees share the database of the main one.
    let home = Boundary::new(&project.home(), &allowed_outside(project, loaded));
    let own = project.own_places().into_iter().map(|path| (path, &project.boundary));
    for (path, boundary) in own.chain([(project.database(), &home)]) {
        let leads_to = boundary.outside(&path);
        found.extend(leads_to.map(|leads_to| Misplaced {
            what: format!("`{}`", project.shown(&path)),
            leads_to,
            place: Place::Outside,
        }));
    }
    found
}
