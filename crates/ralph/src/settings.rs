//! Reads the configuration: the user's file, the project's and the environment; and keeps the project's files beneath it.

use std::path::{Path, PathBuf};

use ralph_model::Shelf;
use ralph_model::config::{Inspected, Loaded, Origin, Sources};
use ralph_notes::{Boundary, read_file};

use crate::env;
use crate::error::CommandError;
use crate::paths::{self, Project, Spelling};
use crate::ui::Ui;

/// The texts of both files, with the names that messages use; none where there is no file.
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

    /// Everything that can be said about the configuration, usable or not.
    pub(crate) fn inspect(&self) -> Inspected {
        self.sources(&env::read).inspect()
    }
}

/// Reads the configuration and warns about what has no effect.
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

/// The user's own file; none where there is no folder for it.
pub(crate) fn user_file() -> Option<PathBuf> {
    env::config_folder().map(|folder| folder.join(paths::USER_CONFIG))
}

/// The user's own file, its name and its text; none where there is no such file.
pub(crate) fn read_user_text() -> Result<Option<(String, String)>, CommandError> {
    let Some(path) = user_file() else { return Ok(None) };
    let name = path.display().to_string();
    let text = read_text(&path, &name)?;
    Ok(text.map(|text| (name, text)))
}

/// The text of the project's file; none where there is no such file.
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

/// The boundary of a project: the folders that the user allows, and the paths that the user set, are inside.
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

/// A path with `~` for the user's home.
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

/// A file or folder of the project that leads where it must not.
pub(crate) struct Misplaced {
    /// What leads there: a key of the configuration, or a path from the root.
    what: String,
    leads_to: PathBuf,
    place: Place,
}

/// A place that files of the project must not lead to.
#[derive(Clone, Copy)]
enum Place {
    Outside,
    /// A file of git's or of ralph's own.
    Reserved,
}

impl Misplaced {
    /// What is wrong, as the end of a sentence that may have the place in front.
    pub(crate) fn sentence(&self) -> String {
        let (what, leads_to) = (&self.what, self.leads_to.display());
        match self.place {
            Place::Outside => format!("{what} leads outside the project, to {leads_to}"),
            Place::Reserved => format!("{what} leads to {leads_to}, which is not a file for notes"),
        }
    }

    /// What the user can do.
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

/// The files and folders that lead where they must not. The project's boundary is known.
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
    for (shelf, (key, path)) in [(Shelf::Memories, memories), (Shelf::Guardrails, guardrails)] {
        let key = path.map(|_| key);
        for spelling in [Spelling::Own, Spelling::Orchestrator] {
            check_notes(key, project.shelf_file(shelf, path, spelling));
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
