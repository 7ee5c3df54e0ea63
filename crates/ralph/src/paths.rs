//! Where everything is: the project's root, its files, its database. The only module that knows these paths.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use ralph_loop::{IterationFolder, PROJECT_FILE};
use ralph_memory::capture::{Ignores, LogPlace, ProjectEnv, restrict};
use ralph_model::{NoteFileKind, RunId};
use ralph_notes::{Boundary, FileError, lock_path, real_path, resolve};
use ralph_process::git::Git;
use ralph_store::{DatabasePlace, NoteFile, Store};

use crate::error::CommandError;
use crate::git::Worktree;
use crate::git_ignores::literal;
use crate::state_folder::StateFolder;

pub(crate) const CONFIG: &str = ".ralph.toml";
/// The user configuration, below the user's configuration folder.
pub(crate) const USER_CONFIG: &str = "ralph/config.toml";
pub(crate) const AGENT: &str = ".agent";
/// The folder of everything else.
pub(crate) const RALPH: &str = ".ralph";
pub(crate) const KNOWLEDGE: &str = ".ralph/knowledge";
/// Specifications and plans of features.
pub(crate) const FEATURES: &str = ".ralph/features";
/// Skills of an earlier tool.
pub(crate) const OLD_SKILLS: &str = ".ralph/skills";
/// Skills of Claude Code.
pub(crate) const SKILLS: &str = ".claude/skills";
/// Files that show that a project uses Claude Code.
pub(crate) const CLAUDE_SIGNS: [&str; 2] = [".claude", "CLAUDE.md"];
/// The folders in which agents look for skills, each in its own folder.
pub(crate) const SKILL_FOLDERS: [&str; 2] = [SKILLS, ".agents/skills"];
pub(crate) const SKILL_FILE: &str = "SKILL.md";
/// The settings of Claude Code for a project.
pub(crate) const CLAUDE_SETTINGS: &str = ".claude/settings.json";
/// The skill that explains ralph.
pub(crate) const CLAUDE_SKILL: &str = ".claude/skills/ralph/SKILL.md";
/// The record of hook failures, which have no terminal to report to.
pub(crate) const HOOK_TROUBLE: &str = ".ralph/hook-trouble.json";
/// Settings of an earlier tool.
pub(crate) const OLD_SETTINGS: &str = ".ralph/config.sh";
/// The learnings of an earlier tool.
pub(crate) const EARLIER_KNOWLEDGE: &str = ".aiwg/knowledge";
pub(crate) const ORCHESTRATOR_CONFIG: &str = "ralph.yml";
pub(crate) const SCRATCHPAD: &str = "scratchpad.md";
const DATABASE: &str = "progress.db";
const RUNS: &str = "runs";
const INDEX: &str = "index.db";
/// The lock that prevents a second run.
const RUN_LOCK: &str = "run.lock";
/// The lock of the knowledge folder.
const KNOWLEDGE_LOCK: &str = ".ralph/knowledge/.lock";
/// Paths that git must ignore, from the project's root. The lock of each notes file is added to these.
pub(crate) const IGNORED: &[&str] = &[
    ".ralph/progress.db*",
    ".ralph/index.db*",
    ".ralph/runs/",
    ".ralph/run.lock",
    ".ralph/*hook-trouble.json*",
    KNOWLEDGE_LOCK,
    ".ralph/knowledge/.*ralph-*",
    ".agent/scratchpad.md",
];

/// The ignore lines in the folder of the database.
const DATABASE_IGNORES: [&str; 7] = [
    "/progress.db*",
    "/index.db*",
    "/runs/",
    "/run.lock",
    "/*hook-trouble.json*",
    "/knowledge/.lock",
    "/knowledge/.*ralph-*",
];

/// The spelling of the command; it decides where a new file is created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spelling {
    /// `ralph memory`.
    Own,
    /// `ralph tools memory`, as in ralph-orchestrator.
    Orchestrator,
}

/// A project: its root and its git worktree.
#[derive(Debug)]
pub(crate) struct Project {
    pub(crate) root: PathBuf,
    /// The boundary that its files must stay in.
    pub(crate) boundary: Boundary,
    pub(crate) worktree: Option<Worktree>,
    /// The root inside a task's checkout, if the command runs in one.
    pub(crate) checkout: Option<PathBuf>,
}

impl Project {
    /// The current branch; `None` without git or on a detached HEAD.
    pub(crate) fn branch(&self) -> Option<String> {
        self.worktree.as_ref()?;
        let head = Git::question(&self.root).run(["symbolic-ref", "--quiet", "HEAD"]);
        let head = head.and_then(|answer| answer.text()).ok()?;
        head.trim().strip_prefix("refs/heads/").map(str::to_owned)
    }

    pub(crate) fn at(root: PathBuf) -> Self {
        Self {
            worktree: Worktree::of(&root),
            boundary: Boundary::new(&root, &[]),
            checkout: None,
            root,
        }
    }

    /// The project that a task's checkout belongs to; `None` if the folder is not a checkout or the project is missing.
    fn of_checkout(top: &Path) -> Option<Self> {
        let line = std::fs::read(top.join(".git").join(PROJECT_FILE)).ok()?;
        let root = PathBuf::from(OsStr::from_bytes(line.strip_suffix(b"\n")?));
        if !root.is_dir() {
            return None;
        }
        let mut project = Self::at(root);
        let inside = project
            .worktree
            .as_ref()
            .and_then(|worktree| project.root.strip_prefix(&worktree.top).ok());
        project.checkout = Some(top.join(inside.unwrap_or(Path::new(""))));
        Some(project)
    }

    /// Finds the project of a folder. A task's checkout belongs to its project. Otherwise the search goes up to the
    /// first folder with `.git`: the nearest folder with a configuration wins, then the nearest with `.agent`, `.ralph`
    /// or `.git`, then the folder itself.
    pub(crate) fn around(folder: &Path) -> Self {
        let mut within: Vec<&Path> = Vec::new();
        for ancestor in folder.ancestors() {
            within.push(ancestor);
            if ancestor.join(".git").exists() {
                if let Some(project) = Self::of_checkout(ancestor) {
                    return project;
                }
                break;
            }
        }
        let has = |folder: &&&Path, names: &[&str]| names.iter().any(|name| folder.join(name).exists());
        let root = within
            .iter()
            .find(|folder| has(folder, &[CONFIG]))
            .or_else(|| within.iter().find(|folder| has(folder, &[AGENT, RALPH, ".git"])))
            .unwrap_or(&folder);
        Self::at(root.to_path_buf())
    }

    /// The notes file of a kind: the configured one, else the first that exists, else the place for a new one.
    pub(crate) fn notes_path(&self, kind: NoteFileKind, configured: Option<&Path>, spelling: Spelling) -> PathBuf {
        self.note_file(kind.file_name(), configured, spelling)
    }

    /// The scratchpad, found the same way. Each checkout has its own, at the same relative path.
    pub(crate) fn scratchpad_file(&self, configured: Option<&Path>) -> PathBuf {
        let file = self.note_file(SCRATCHPAD, configured, Spelling::Own);
        match (&self.checkout, file.strip_prefix(&self.root)) {
            (Some(checkout), Ok(inside)) => checkout.join(inside),
            _ => file,
        }
    }

    fn note_file(&self, name: &str, configured: Option<&Path>, spelling: Spelling) -> PathBuf {
        if let Some(path) = configured {
            return self.root.join(path);
        }
        self.candidates(name)
            .into_iter()
            // A path that cannot be checked may exist, and skipping it would hide its notes.
            .find(|path| path.try_exists().unwrap_or(true) || path.is_symlink())
            .unwrap_or_else(|| match spelling {
                Spelling::Own => self.root.join(AGENT).join(name),
                Spelling::Orchestrator => self.root.join(RALPH).join("agent").join(name),
            })
    }

    /// The places where a notes file is searched, in this order.
    pub(crate) fn candidates(&self, name: &str) -> [PathBuf; 3] {
        [
            self.root.join(AGENT).join(name),
            self.root.join(RALPH).join("agent").join(name),
            self.root.join(name),
        ]
    }

    /// The current and the former place of a file in ralph-orchestrator.
    pub(crate) fn orchestrator_files(&self, name: &str) -> [PathBuf; 2] {
        [
            self.root.join(RALPH).join("agent").join(name),
            self.root.join(AGENT).join(name),
        ]
    }

    /// Where the log of a file is kept: in the main worktree, shared by all worktrees.
    pub(crate) fn log_of(&self, file: &Path) -> LogPlace {
        let path = file.strip_prefix(&self.root).unwrap_or(file);
        LogPlace {
            database: self.fact_store(),
            file: NoteFile {
                worktree: self.worktree_name().to_owned(),
                path: path.to_string_lossy().into_owned(),
            },
        }
    }

    /// The search index; each worktree has its own.
    pub(crate) fn index(&self) -> PathBuf {
        self.root.join(RALPH).join(INDEX)
    }

    /// Where the database would be if this worktree did not share one.
    pub(crate) fn own_database(&self) -> PathBuf {
        self.root.join(RALPH).join(DATABASE)
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.home().join(RALPH).join(DATABASE)
    }

    /// The database and its backups.
    pub(crate) fn fact_store(&self) -> DatabasePlace {
        DatabasePlace {
            path: self.database(),
            backups: StateFolder::find(self).map(|folder| folder.backups()),
        }
    }

    /// Creates the folder of the database if it is missing.
    pub(crate) fn create_home(&self) -> Result<(), FileError> {
        self.env().prepare_database_folder(&self.home().join(RALPH))
    }

    /// Creates the folders of this worktree and of the database if they are missing.
    pub(crate) fn create_folders(&self) -> Result<(), FileError> {
        self.env().prepare_database_folder(&self.root.join(RALPH))?;
        self.create_home()
    }

    /// What the writers of notes need to know about this project.
    pub(crate) fn env(&self) -> ProjectEnv {
        let roots = std::iter::once(&self.root).chain(&self.checkout);
        let init_ignores = |line: String| Some((self.root.join(".gitignore"), line));
        let note_files = [NoteFileKind::Memories, NoteFileKind::Guardrails].map(NoteFileKind::file_name);
        let beside_notes = note_files.into_iter().chain([SCRATCHPAD]).flat_map(transient_names);
        let beside_notes = beside_notes.chain([SCRATCHPAD.to_owned(), kept_names(SCRATCHPAD)]);
        ProjectEnv {
            git_head: self.worktree.as_ref().map(Worktree::git_head),
            boundary: self.boundary.clone(),
            note_folders: roots
                .flat_map(|root| [root.join(AGENT), root.join(RALPH).join("agent")])
                .collect(),
            private_folder: Some(self.root.join(RALPH)),
            note_ignores: Ignores {
                lines: beside_notes.map(|name| format!("/{name}")).collect(),
                unless: init_ignores(format!("{AGENT}/{}.lock", NoteFileKind::Memories.file_name())),
            },
            database_ignores: Ignores {
                lines: DATABASE_IGNORES.map(str::to_owned).into(),
                unless: None,
            },
            knowledge_ignores: Ignores {
                lines: ["/.lock", "/.*ralph-*"].map(str::to_owned).into(),
                unless: init_ignores(KNOWLEDGE_LOCK.to_owned()),
            },
        }
    }

    /// The project root in the main worktree, whose database all worktrees share.
    pub(crate) fn home(&self) -> PathBuf {
        self.worktree.as_ref().map_or_else(
            || self.root.clone(),
            |tree| match self.root.strip_prefix(&tree.top) {
                Ok(inside) => tree.main.join(inside),
                Err(_) => self.root.clone(),
            },
        )
    }

    /// The folder of an iteration's files. Each worktree has its own runs.
    pub(crate) fn iteration_folder(&self, run: &RunId, iteration: u32) -> IterationFolder {
        IterationFolder::of(&self.runs(), run, iteration)
    }

    /// The lock that prevents a second run in this worktree.
    pub(crate) fn run_lock(&self) -> PathBuf {
        Self::run_lock_in(&self.root)
    }

    pub(crate) fn runs(&self) -> PathBuf {
        self.root.join(RALPH).join(RUNS)
    }

    /// The files and folders of each worktree, except its notes and the index, which can be rebuilt.
    pub(crate) fn own_places(&self) -> Vec<PathBuf> {
        let ralph = [RALPH, KNOWLEDGE, FEATURES, HOOK_TROUBLE].map(|path| self.root.join(path));
        ralph.into_iter().chain([self.runs()]).collect()
    }

    /// Internal files and folders, which are not part of anyone's work: databases, runs, locks.
    pub(crate) fn internal_paths(&self) -> Vec<PathBuf> {
        let ralph = self.root.join(RALPH);
        let beside = |name: &str| ["", "-wal", "-shm", "-journal"].map(|end| ralph.join(format!("{name}{end}")));
        let trouble = self.root.join(HOOK_TROUBLE);
        let others = [RUNS, RUN_LOCK, ".gitignore"].map(|name| ralph.join(name));
        [DATABASE, INDEX]
            .into_iter()
            .flat_map(beside)
            .chain(others)
            .chain([lock_path(&trouble), trouble, self.root.join(KNOWLEDGE_LOCK)])
            .collect()
    }

    /// Our folders and database files that other users can read. Another tool's database is excluded. No connection of
    /// this process to the database may be open.
    pub(crate) fn readable_by_others(&self) -> Vec<PathBuf> {
        let mut paths = vec![self.home().join(RALPH), self.root.join(RALPH)];
        paths.dedup();
        if Store::exists(&self.database()) {
            let folder = self.home().join(RALPH);
            paths.extend(["", "-wal", "-shm"].map(|ending| folder.join(format!("{DATABASE}{ending}"))));
        }
        let is_open = |path: &PathBuf| std::fs::metadata(path).is_ok_and(|file| file.permissions().mode() & 0o077 != 0);
        paths.into_iter().filter(is_open).collect()
    }

    /// Makes these folders and databases private to their owner.
    pub(crate) fn restrict_permissions(&self) -> Result<(), CommandError> {
        for path in self.readable_by_others() {
            restrict(&path).map_err(|error| {
                CommandError::new(format!(
                    "cannot keep others from reading {}: {error}",
                    self.shown(&path)
                ))
            })?;
        }
        Ok(())
    }

    pub(crate) fn roots(&self) -> Vec<PathBuf> {
        let Some(tree) = &self.worktree else {
            return vec![self.root.clone()];
        };
        let Ok(inside) = self.root.strip_prefix(&tree.top) else {
            return vec![self.root.clone()];
        };
        tree.all_tops().into_iter().map(|top| top.join(inside)).collect()
    }

    /// The run lock of the worktree with this root.
    pub(crate) fn run_lock_in(root: &Path) -> PathBuf {
        root.join(RALPH).join(RUN_LOCK)
    }

    /// The name of this linked worktree; empty for the main one.
    pub(crate) fn worktree_name(&self) -> &str {
        self.worktree.as_ref().map_or("", |tree| tree.name.as_str())
    }

    /// A path for display: relative to the root if it is below it.
    pub(crate) fn shown<'p>(&self, path: &'p Path) -> std::path::Display<'p> {
        path.strip_prefix(&self.root).unwrap_or(path).display()
    }
}

impl Project {
    /// Whether the search index exists or may be created: a search leaves no trace in a project that has nothing of
    /// ralph's but its notes.
    pub(crate) fn may_have_index(&self) -> bool {
        let index = self.index();
        let may_create = || self.root.join(RALPH).is_dir() && Store::exists(&self.database());
        self.boundary.outside(&index).is_none() && (index.exists() || may_create())
    }

    /// Prepares for creating the search index, which is next to the database. A linked worktree, whose database is in
    /// the main one, gets a folder for it.
    pub(crate) fn prepare_index_folder(&self) {
        let (index, database) = (self.index(), self.database());
        let folder = self.root.join(RALPH);
        let is_ready = index.exists() || database.starts_with(&folder);
        if !is_ready && self.boundary.outside(&index).is_none() && Store::exists(&database) {
            // Without the folder, the index is built in memory.
            drop(self.env().prepare_database_folder(&folder));
        }
    }

    /// Refuses a path that leads outside the project.
    pub(crate) fn refuse_outside(&self, path: &Path) -> Result<(), FileError> {
        self.env().refuse_outside(path)
    }

    /// Like `refuse_outside`, for a file of the repository, whose top may be above the project.
    pub(crate) fn refuse_outside_repository(&self, path: &Path) -> Result<(), FileError> {
        let top = self.worktree.as_ref().map_or(&self.root, |tree| &tree.top);
        match Boundary::new(top, &[]).outside(path) {
            Some(_) => self.refuse_outside(path),
            None => Ok(()),
        }
    }

    /// Where a path leads, if that is git's own folder or an internal file of ralph: notes would destroy it.
    pub(crate) fn reserved(&self, path: &Path) -> Option<PathBuf> {
        let real = real_path(path);
        let from_root = real.strip_prefix(real_path(&self.root)).unwrap_or(&real);
        let is_in_git = from_root.iter().any(|part| part.eq_ignore_ascii_case(".git"));
        let is_own = [self.root.join(RALPH), self.home().join(RALPH)]
            .iter()
            .filter_map(|folder| real.strip_prefix(real_path(folder)).ok())
            .any(is_own_file);
        (is_in_git || is_own || from_root == Path::new(CONFIG)).then_some(real)
    }
}

/// Returns true for an internal file; the path is relative to ralph's folder.
fn is_own_file(path: &Path) -> bool {
    let first = path.iter().next().unwrap_or_default().to_string_lossy();
    [DATABASE, INDEX].iter().any(|name| first.starts_with(name))
        || [RUNS, RUN_LOCK, ".gitignore"].contains(&&*first)
        || Path::new(RALPH).join(path) == Path::new(KNOWLEDGE_LOCK)
        || Path::new(RALPH).join(path) == Path::new(HOOK_TROUBLE)
}

/// Returns true if both paths exist and lead to the same file.
pub(crate) fn is_same(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}

/// Temporary files next to a notes file, as ignore lines: its lock, and the new version before it replaces the file.
fn transient_names(name: &str) -> [String; 2] {
    let name = literal(name);
    [format!("{name}.lock"), format!(".{name}.ralph-*")]
}

/// Ignore line for the backups that `scratchpad clear` keeps.
fn kept_names(name: &str) -> String {
    format!("{}.bak*", literal(name))
}

/// The names in a folder, sorted.
pub(crate) fn names_in(folder: &Path) -> io::Result<Vec<OsString>> {
    let entries = std::fs::read_dir(folder)?;
    let mut names = entries
        .map(|entry| entry.map(|entry| entry.file_name()))
        .collect::<Result<Vec<_>, _>>()?;
    names.sort();
    Ok(names)
}

/// The ignore lines for temporary files next to a notes file, relative to the root.
pub(crate) fn transient_ignore_lines(project: &Project, file: &Path) -> Vec<String> {
    let resolved = resolve(file).unwrap_or_else(|_| file.to_owned());
    lines_beside(project, &resolved, |name| transient_names(name).to_vec())
}

/// The ignore lines for the scratchpad and for the files next to it.
pub(crate) fn scratchpad_ignore_lines(project: &Project, file: &Path) -> Vec<String> {
    let mut lines = lines_beside(project, file, |name| vec![literal(name), kept_names(name)]);
    lines.extend(transient_ignore_lines(project, file));
    lines
}

/// Ignore lines for names in the folder of a file and in no other; empty for a file outside the project.
fn lines_beside(project: &Project, file: &Path, names: impl Fn(&str) -> Vec<String>) -> Vec<String> {
    let (Ok(inside), Some(name)) = (file.strip_prefix(&project.root), file.file_name()) else {
        return Vec::new();
    };
    let folder = inside.parent().unwrap_or(Path::new(""));
    let folder = literal(&folder.to_string_lossy());
    // Without a leading slash, a line at the top would apply to every folder.
    let names = names(&name.to_string_lossy()).into_iter();
    names.map(|name| format!("{folder}/{name}")).collect()
}
