//! The identity of a project, and its folder in the user's state folder, which holds what must survive the project's
//! own files: database backups and the checkouts of tasks.
//!
//! In git, the id is random. It is stored in git's common folder, together with the project's path, so linked worktrees
//! share it and clones do not. The path tells a moved project from a copied one. The state folder records the path of
//! the project that owns it, so of several copies only one keeps the id. Git itself is not started.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use ralph_model::Entropy;
use ralph_notes::{Patches, Patience, create_folder};
use sha2::{Digest, Sha256};

use crate::changed_file::change_file;
use crate::env;
use crate::error::CommandError;
use crate::paths::Project;

/// Our folder in the user's state folder and in git's folder.
const OURS: &str = "ralph";
/// The file in git's folder with the id of the project at the top of the repository.
const ID_FILE: &str = "project";
/// The file in a state folder with the path of the project that owns it.
const OWNER_FILE: &str = "project";
/// The number of hexadecimal digits in an id.
const ID_DIGITS: usize = 32;

/// The id of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProjectId(String);

impl ProjectId {
    fn random(entropy: &mut dyn Entropy) -> Self {
        Self(format!("{:016x}{:016x}", entropy.next_bits(), entropy.next_bits()))
    }

    fn of_path(path: &Path) -> Self {
        Self(hex_digest(path, ID_DIGITS))
    }

    fn parse(text: &str) -> Option<Self> {
        let is_id = text.len() == ID_DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_id.then(|| Self(text.to_owned()))
    }
}

/// A project's folder in the user's state folder. It need not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StateFolder {
    path: PathBuf,
}

impl StateFolder {
    /// Finds the folder of a project; `None` if the user has no state folder or the project has no id yet. Creates
    /// nothing.
    pub(crate) fn find(project: &Project) -> Option<Self> {
        let place = IdPlace::of(project)?;
        Self::of(&place.known()?)
    }

    /// Finds the folder of a project, creating an id if needed. In git, the folder is created together with its owner
    /// file; otherwise it is created when something is stored in it.
    pub(crate) fn make(
        project: &Project,
        entropy: &mut dyn Entropy,
        patience: &Patience<'_>,
    ) -> Result<Self, CommandError> {
        let id = IdPlace::of(project)
            .ok_or_else(|| CommandError::new(format!("cannot resolve {}", project.root.display())))?
            .make(entropy, patience)?;
        Self::of(&id).ok_or_else(|| {
            CommandError::new("there is no folder to keep it in, since HOME is not set")
                .hint("set HOME or XDG_STATE_HOME")
        })
    }

    /// The folder of database backups.
    pub(crate) fn backups(&self) -> PathBuf {
        self.path.join("backups")
    }

    /// The folder of task checkouts.
    pub(crate) fn work(&self) -> PathBuf {
        self.path.join("work")
    }

    fn of(id: &ProjectId) -> Option<Self> {
        let path = env::state_folder()?.join(OURS).join(&id.0);
        Some(Self { path })
    }

    /// The path of the project that owns this folder.
    fn owner(&self) -> Option<PathBuf> {
        path_on_line(&fs::read(self.path.join(OWNER_FILE)).ok()?)
    }
}

/// Where the id of a project is stored.
struct IdPlace {
    /// The real path of the project root; in linked worktrees, that of the main one.
    real_path: PathBuf,
    /// The file with the id; `None` without git.
    file: Option<PathBuf>,
}

impl IdPlace {
    fn of(project: &Project) -> Option<Self> {
        let home = project.home();
        let file = project.worktree.as_ref().map(|tree| {
            // A repository may contain several projects, each in a folder of its own.
            let name = match home.strip_prefix(&tree.main) {
                Ok(inside) if inside.as_os_str().is_empty() => ID_FILE.to_owned(),
                Ok(inside) => format!("{ID_FILE}-{}", hex_digest(inside, 16)),
                Err(_) => format!("{ID_FILE}-{}", hex_digest(&home, 16)),
            };
            tree.common().join(OURS).join(name)
        });
        Some(Self {
            real_path: home.canonicalize().ok()?,
            file,
        })
    }

    /// The existing id of the project.
    fn known(&self) -> Option<ProjectId> {
        let Some(file) = &self.file else {
            return Some(ProjectId::of_path(&self.real_path));
        };
        let recorded = Recorded::parse(&fs::read(file).ok()?)?;
        let owner = StateFolder::of(&recorded.id).and_then(|folder| folder.owner());
        let owner = owner.unwrap_or(recorded.path);
        (!self.is_of_another(&recorded.id, &owner)).then_some(recorded.id)
    }

    /// Returns the id of the project, recorded with its current path.
    fn make(&self, entropy: &mut dyn Entropy, patience: &Patience<'_>) -> Result<ProjectId, CommandError> {
        let Some(file) = &self.file else {
            return Ok(ProjectId::of_path(&self.real_path));
        };
        let recorded = fs::read(file).ok().and_then(|bytes| Recorded::parse(&bytes));
        let is_ours = |recorded: &Recorded| {
            let owner = StateFolder::of(&recorded.id).and_then(|folder| folder.owner());
            recorded.path == self.real_path && owner.is_some_and(|owner| owner == self.real_path)
        };
        if let Some(recorded) = recorded.filter(is_ours) {
            return Ok(recorded.id);
        }
        if let Some(folder) = file.parent() {
            create_folder(folder)?;
        }
        let mut made = ProjectId::random(entropy);
        change_file(file, patience, |bytes| {
            // Another process may have recorded an id since.
            match Recorded::parse(bytes) {
                Some(recorded) if self.claim(&recorded.id, &recorded.path, patience)? => made = recorded.id,
                _ => drop(self.claim(&made, &self.real_path, patience)?),
            }
            let record = Recorded {
                id: made.clone(),
                path: self.real_path.clone(),
            };
            Ok(Patches::whole(bytes, record.to_bytes()))
        })?;
        Ok(made)
    }

    /// Makes this project the owner of an id's folder, under the folder's lock, unless another project owns it; returns
    /// whether this project is the owner. A folder without an owner belongs to the project at the path recorded with
    /// the id.
    fn claim(&self, id: &ProjectId, recorded: &Path, patience: &Patience<'_>) -> Result<bool, CommandError> {
        let Some(folder) = StateFolder::of(id) else {
            return Ok(!self.is_of_another(id, recorded));
        };
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&folder.path)
            .map_err(|error| CommandError::new(format!("cannot create {}: {error}", folder.path.display())))?;
        let mut is_ours = false;
        change_file(&folder.path.join(OWNER_FILE), patience, |bytes| {
            let owner = path_on_line(bytes);
            is_ours = !self.is_of_another(id, owner.as_deref().unwrap_or(recorded));
            let line = match is_ours {
                true => line_of(&self.real_path),
                false => bytes.to_vec(),
            };
            Ok(Patches::whole(bytes, line))
        })?;
        Ok(is_ours)
    }

    /// Returns true if an id belongs to another project, which still exists at the owner's path with the same id in its
    /// own file. Otherwise this is the same project after a move, or the first copy to ask.
    fn is_of_another(&self, id: &ProjectId, owner: &Path) -> bool {
        if owner == self.real_path {
            return false;
        }
        let Some(file) = &self.file else { return false };
        let original = Self::of(&Project::at(owner.to_owned())).and_then(|place| place.file);
        let Some(original) = original.filter(|original| !is_same_file(original, file)) else {
            return false;
        };
        let recorded = fs::read(original).ok().and_then(|bytes| Recorded::parse(&bytes));
        recorded.is_some_and(|recorded| recorded.id == *id)
    }
}

/// The contents of an id file: the id, a newline, the project's real path, a newline.
struct Recorded {
    id: ProjectId,
    path: PathBuf,
}

impl Recorded {
    fn parse(bytes: &[u8]) -> Option<Self> {
        let end = bytes.iter().position(|byte| *byte == b'\n')?;
        let (id, path) = bytes.split_at(end);
        Some(Self {
            id: ProjectId::parse(std::str::from_utf8(id).ok()?)?,
            path: path_on_line(path.strip_prefix(b"\n")?)?,
        })
    }

    fn to_bytes(&self) -> Vec<u8> {
        [self.id.0.as_bytes(), b"\n", &line_of(&self.path)].concat()
    }
}

/// A path followed by a newline. Other newlines belong to the path.
fn line_of(path: &Path) -> Vec<u8> {
    [path.as_os_str().as_bytes(), b"\n"].concat()
}

fn path_on_line(bytes: &[u8]) -> Option<PathBuf> {
    bytes.strip_suffix(b"\n").map(|path| OsStr::from_bytes(path).into())
}

/// Returns true if two paths lead to the same file, for example through two mounts.
fn is_same_file(one: &Path, other: &Path) -> bool {
    let identity = |path: &Path| fs::metadata(path).ok().map(|file| (file.dev(), file.ino()));
    identity(one).is_some_and(|one| identity(other) == Some(one))
}

fn hex_digest(path: &Path, digits: usize) -> String {
    let digest = Sha256::digest(path.as_os_str().as_bytes());
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    hex.chars().take(digits).collect()
}
