//! The identity of a project, and the folder outside of it in which ralph keeps what must survive the project's own files:
//! backups of the fact store, and the checkouts of tasks.
//!
//! In git the id is random. It lives in git's common folder, so that linked worktrees share it and clones do not, together
//! with the project's path, which tells a project that was moved from one that was copied. The folder names the path of the
//! one project that it belongs to, so that of several copies only one keeps the id. Git itself is not started.

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

/// The folder of ours in the user's state folder, and in git's.
const OURS: &str = "ralph";
/// The file in git's folder that holds the id of the project at the top of the repository.
const ID_FILE: &str = "project";
/// The file in a project's folder that names the path of the project.
const OWNER_FILE: &str = "project";
/// How many hexadecimal digits an id has.
const ID_DIGITS: usize = 32;

/// What a project is called outside of it.
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

/// The folder of a project in the user's state folder. It need not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StateFolder {
    path: PathBuf,
}

impl StateFolder {
    /// The folder of a project; none where the user has none, or the project has no id yet. Nothing is created.
    pub(crate) fn find(project: &Project) -> Option<Self> {
        let place = IdPlace::of(project)?;
        Self::of(&place.known()?)
    }

    /// The folder of a project, which gets an id where it has none. In git the folder is created with the path of the project,
    /// else by what is put into it.
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

    /// The folder of the fact store's backups.
    pub(crate) fn backups(&self) -> PathBuf {
        self.path.join("backups")
    }

    /// The folder of the tasks' checkouts.
    pub(crate) fn work(&self) -> PathBuf {
        self.path.join("work")
    }

    fn of(id: &ProjectId) -> Option<Self> {
        let path = env::state_folder()?.join(OURS).join(&id.0);
        Some(Self { path })
    }

    /// The path of the project that it belongs to.
    fn owner(&self) -> Option<PathBuf> {
        path_on_line(&fs::read(self.path.join(OWNER_FILE)).ok()?)
    }
}

/// Where the id of a project is.
struct IdPlace {
    /// The real path of the folder that holds the fact store's folder: with linked worktrees the main one.
    real_path: PathBuf,
    /// The file with the id; none without git.
    file: Option<PathBuf>,
}

impl IdPlace {
    fn of(project: &Project) -> Option<Self> {
        let home = project.home();
        let file = project.worktree.as_ref().map(|tree| {
            // A repository may hold several projects, each in a folder of its own.
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

    /// The id that the project has already.
    fn known(&self) -> Option<ProjectId> {
        let Some(file) = &self.file else {
            return Some(ProjectId::of_path(&self.real_path));
        };
        let recorded = Recorded::parse(&fs::read(file).ok()?)?;
        let owner = StateFolder::of(&recorded.id).and_then(|folder| folder.owner());
        let owner = owner.unwrap_or(recorded.path);
        (!self.is_of_another(&recorded.id, &owner)).then_some(recorded.id)
    }

    /// The id of the project, recorded with its present path.
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
            // Another process may have recorded one meanwhile.
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

    /// Makes this project the owner of an id's folder, under the folder's lock, unless another project is; says whether it is.
    /// A folder without an owner belongs to the project at the path that was recorded with the id.
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

    /// Whether an id is that of another project, which is still at the path of the owner, with the same id in a file of its
    /// own. Otherwise this is that project, moved, or the first of its copies that asks.
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

/// What the file with an id holds: the id, a line break, the project's real path, a line break.
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

/// A path with a line break behind it, which is the only one that does not belong to the path.
fn line_of(path: &Path) -> Vec<u8> {
    [path.as_os_str().as_bytes(), b"\n"].concat()
}

fn path_on_line(bytes: &[u8]) -> Option<PathBuf> {
    bytes.strip_suffix(b"\n").map(|path| OsStr::from_bytes(path).into())
}

/// Whether two paths lead to one file, as through two mounts of a folder.
fn is_same_file(one: &Path, other: &Path) -> bool {
    let identity = |path: &Path| fs::metadata(path).ok().map(|file| (file.dev(), file.ino()));
    identity(one).is_some_and(|one| identity(other) == Some(one))
}

fn hex_digest(path: &Path, digits: usize) -> String {
    let digest = Sha256::digest(path.as_os_str().as_bytes());
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    hex.chars().take(digits).collect()
}
