//! Commits the work in a checkout, and moves it onto another base.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ralph_memory::capture::clean;
use ralph_process::git::{Git, GitAnswer};
use ralph_process::{MARKER_VARIABLE, StopHandle};

use super::worktrees::{Difference, differences};
use super::{Checkout, LandError, base_ref_of};
use crate::changes::{NESTED_REPOSITORY, OwnFiles, TrustedTimes, has_identity};
use crate::rules::Rules;

/// The maximum length of a hook's output in a reason.
const HOOK_CHARACTERS: usize = 2000;
/// The maximum length of conflicting hunks in a reason.
const CONFLICT_CHARACTERS: usize = 4000;
/// Git's exit code for unknown options.
const USAGE: i32 = 129;

/// The committer if git has no user identity.
pub(super) const FALLBACK_NAME: &str = "ralph";
pub(super) const FALLBACK_EMAIL: &str = "ralph@localhost";

pub(crate) struct CommitOptions<'a> {
    /// The base commit of the work.
    pub(crate) base_commit: &'a str,
    pub(crate) message: &'a str,
    /// Files that are never part of the work: notes and ralph's own files.
    pub(crate) own: &'a OwnFiles,
    /// Links and copies added to the checkout, as paths from the root.
    pub(crate) extras: &'a [PathBuf],
    /// The guardrail rules for the work.
    pub(crate) rules: &'a Rules,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Committed {
    /// The files are the same as in the base.
    Nothing,
    Commit(String),
}

/// The work after moving it onto another commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MoveResult {
    Clean,
    /// These files have conflict markers; the text shows the hunks.
    Conflict {
        files: Vec<String>,
        hunks: String,
    },
}

impl Checkout {
    /// Commits all files in their current state, without hooks. No reference moves.
    pub(crate) fn commit(&self, options: &CommitOptions<'_>) -> Result<Committed, LandError> {
        self.add_all(options)?;
        self.commit_index(options)
    }

    /// The same with the project's commit hooks, which may change the committed files.
    pub(crate) fn commit_with_hooks(
        &self,
        options: &CommitOptions<'_>,
        (stop, marker): (&StopHandle, &str),
    ) -> Result<Committed, LandError> {
        self.add_all(options)?;
        if self.commit_index(options)? == Committed::Nothing {
            return Ok(Committed::Nothing);
        }
        let message_file = self.beside("message");
        // A killed run may have left one behind.
        drop(std::fs::remove_file(&message_file));
        let written = ralph_notes::write_new_file(&message_file, options.message.as_bytes());
        written.map_err(|error| LandError::Git(error.to_string()))?;
        let result = self.run_hooks(&message_file, stop, marker).and_then(|()| {
            let message = std::fs::read_to_string(&message_file).unwrap_or_else(|_| options.message.to_owned());
            self.commit_index(&CommitOptions {
                message: &message,
                ..*options
            })
        });
        drop(std::fs::remove_file(&message_file));
        let _ended: usize = ralph_process::kill_leftovers(marker, None);
        result
    }

    fn run_hooks(&self, message: &Path, stop: &StopHandle, marker: &str) -> Result<(), LandError> {
        // A relative hooks path refers to the worktree, and the agent can write to that of the checkout.
        let hooks = Git::question(&self.project.top)
            .run(["rev-parse", "--path-format=absolute", "--git-path", "hooks"])?
            .text()?;
        let hooks = PathBuf::from(hooks.trim_end_matches('\n'));
        let message = message.to_string_lossy().into_owned();
        for (hook, arguments) in [("pre-commit", None), ("commit-msg", Some(message.as_str()))] {
            if !hooks.join(hook).is_file() {
                continue;
            }
            let mut call = vec!["hook", "run", "--ignore-missing", hook];
            call.extend(["--"].into_iter().filter(|_| arguments.is_some()).chain(arguments));
            let answer = self
                .git()
                .setting(format!("core.hooksPath={}", hooks.display()))
                .env(MARKER_VARIABLE, marker)
                .stoppable(stop)
                .run(call)?;
            if !answer.status.success() {
                let said = clean(said(&answer).trim(), HOOK_CHARACTERS);
                return Err(LandError::Refused(format!(
                    "The {hook} hook refused the commit: {said}"
                )));
            }
        }
        Ok(())
    }

    fn add_all(&self, options: &CommitOptions<'_>) -> Result<(), LandError> {
        let extras = options.extras.iter().map(|path| path.to_string_lossy().into_owned());
        let own = options.own.hidden.iter().chain(&options.own.notes).cloned();
        let excluded: Vec<String> = own.chain(extras).collect();
        let mut call: Vec<String> = ["add", "--all", "--"].map(str::to_owned).to_vec();
        call.extend(self.project.all_but(&excluded));
        let entries = self.git().run(["ls-files", "--stage", "-z"])?;
        entries.text()?;
        let trusted_times = TrustedTimes::of(&self.repository(), self.index());
        let forgotten = trusted_times.forget_changed(self.git(), &entries.output);
        forgotten.map_err(LandError::Git)?;
        let git = self
            .git()
            .setting("advice.addIgnoredFile=false")
            .setting("advice.addEmbeddedRepo=false")
            .env("LC_ALL", "C");
        let answer = trusted_times.run(git, call).map_err(LandError::Git)?;
        // Git exits with 1 if an excluded path is ignored anyway.
        let is_harmless = answer.status.code() == Some(1)
            && !answer
                .errors
                .lines()
                .any(|line| line.starts_with("error:") || line.starts_with("fatal:"));
        if !is_harmless {
            answer.text()?;
        }
        Ok(())
    }

    fn commit_index(&self, options: &CommitOptions<'_>) -> Result<Committed, LandError> {
        let trusted_times = TrustedTimes::of(&self.repository(), self.index());
        let tree = trusted_times.run(self.git(), ["write-tree"]);
        let tree = tree.map_err(LandError::Git)?.text()?;
        let tree = tree.trim();
        let changes = differences(self.git(), options.base_commit, tree)?;
        if changes.is_empty() {
            return Ok(Committed::Nothing);
        }
        let is_repository = |change: &&Difference| change.new.as_ref().is_some_and(|new| new.mode == NESTED_REPOSITORY);
        if let Some(Difference { path, .. }) = changes.iter().find(is_repository) {
            return Err(LandError::Refused(format!(
                "{path} is a git repository of its own, so its files cannot be committed: remove {path}/.git"
            )));
        }
        let prefix = &self.project.prefix;
        let files = changes
            .iter()
            .filter_map(|change| Path::new(&change.path).strip_prefix(prefix).ok()?.to_str());
        if let Some(why) = options.rules.refusal(&files.collect::<Vec<_>>()) {
            return Err(LandError::Refused(why));
        }
        let message = options.message;
        let call = ["commit-tree", tree, "-p", options.base_commit, "-m", message];
        let commit = with_identity(self.git(), &self.project.top)?.run(call)?.text()?;
        Ok(Committed::Commit(commit.trim().to_owned()))
    }

    /// Moves a commit of the work onto the tip, in the files of the checkout. The caller records the new base and then
    /// calls [`Self::moved_to`]; until then [`Self::finish_move`] repeats the move.
    pub(crate) fn move_onto(
        &self,
        branch: &str,
        (commit, base_commit): (&str, &str),
        tip: &str,
    ) -> Result<MoveResult, LandError> {
        let Merged { tree, files } = merge_trees(&|| self.git(), (tip, commit), base_commit)?;
        let call = ["commit-tree", &tree, "-p", tip, "-m", "moved"];
        let moved = as_ralph(self.git()).run(call)?.text()?;
        self.set_base_ref(moved.trim())?;
        self.put_files(branch, moved.trim(), tip)?;
        if files.is_empty() {
            return Ok(MoveResult::Clean);
        }
        let hunks = files
            .iter()
            .map(|file| self.hunks_of(file))
            .collect::<Vec<_>>()
            .join("\n");
        Ok(MoveResult::Conflict {
            hunks: clean(&hunks, CONFLICT_CHARACTERS),
            files,
        })
    }

    /// Finishes an interrupted move that was not recorded. Returns the new base if there was one.
    pub(crate) fn finish_move(&self, branch: &str, base_commit: &str) -> Result<Option<String>, LandError> {
        let base_ref = base_ref_of(&self.task);
        let Some(moved) = self.resolve(&base_ref)?.filter(|commit| commit != base_commit) else {
            return Ok(None);
        };
        let Some(tip) = self.resolve(&format!("{base_ref}^"))? else {
            return Ok(None);
        };
        if tip == base_commit {
            // The move was recorded, so the agent may have changed these files since.
            self.set_base_ref(base_commit)?;
            return Ok(None);
        }
        self.put_files(branch, &moved, &tip)?;
        Ok(Some(tip))
    }

    /// Ends a move after the new base is recorded.
    pub(crate) fn moved_to(&self, base_commit: &str) -> Result<(), LandError> {
        self.set_base_ref(base_commit)
    }

    fn put_files(&self, branch: &str, commit: &str, base_commit: &str) -> Result<(), LandError> {
        // The work is committed, so overwriting loses nothing.
        self.git().run(["read-tree", "--reset", "-u", commit])?.text()?;
        self.move_clone(branch, base_commit).map_err(LandError::Git)
    }

    fn set_base_ref(&self, commit: &str) -> Result<(), LandError> {
        let call = ["update-ref", &base_ref_of(&self.task), commit];
        self.in_project().run(call)?.text()?;
        Ok(())
    }

    /// The conflicting hunks of a file, after its name.
    fn hunks_of(&self, file: &str) -> String {
        let text = std::fs::read(self.folder.join(file)).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        let mut hunks = format!("{file}:\n");
        let mut is_inside = false;
        for line in text.lines() {
            is_inside |= line.starts_with("<<<<<<< ");
            if is_inside {
                hunks.push_str(line);
                hunks.push('\n');
            }
            is_inside &= !line.starts_with(">>>>>>> ");
        }
        hunks
    }

    /// Points the work's branch in the project to a commit. If the user has that branch checked out, another name is
    /// used.
    pub(crate) fn keep_branch(&self, branch: &str, commit: &str) -> Result<String, LandError> {
        let taken: BTreeSet<String> = super::worktrees::all(&self.project.top)?
            .into_iter()
            .filter_map(|worktree| worktree.branch)
            .collect();
        let names = std::iter::once(branch.to_owned()).chain((2..).map(|number| format!("{branch}-{number}")));
        let is_free = |name: &String| !taken.contains(&format!("refs/heads/{name}"));
        let name = names.into_iter().find(is_free).unwrap_or_else(|| branch.to_owned());
        let reference = format!("refs/heads/{name}");
        self.in_project().run(["update-ref", &reference, commit])?.text()?;
        Ok(name)
    }

    /// Fetches the agent's own commits on top of the base as untrusted data; `None` if there are none or they are
    /// unusable.
    pub(crate) fn fetch_own_commits(&self, base_commit: &str) -> Option<String> {
        let head = Git::question(&self.folder)
            .env("GIT_DIR", self.folder.join(".git"))
            .run(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])
            .ok()?
            .text()
            .ok()?;
        let head = head.trim();
        if head == base_commit {
            return None;
        }
        let clone = self.folder.join(".git").to_string_lossy().into_owned();
        let fetched = self
            .in_project()
            .setting("fetch.fsckObjects=true")
            .setting("protocol.file.allow=always")
            .setting("gc.auto=0")
            .setting("maintenance.auto=false")
            .run([
                "fetch",
                "--quiet",
                "--no-tags",
                "--no-recurse-submodules",
                "--no-write-fetch-head",
                &clone,
                head,
            ])
            .ok()?;
        let descends = Git::question(&self.project.top)
            .run(["merge-base", "--is-ancestor", base_commit, head])
            .ok()?;
        (fetched.status.success() && descends.status.success()).then(|| head.to_owned())
    }
}

/// Lets git commit even without a user identity.
pub(super) fn with_identity(git: Git, folder: &Path) -> Result<Git, LandError> {
    Ok(match has_identity(folder)? {
        true => git,
        false => as_ralph(git),
    })
}

fn as_ralph(mut git: Git) -> Git {
    for name in ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"] {
        git = git.env(name, FALLBACK_NAME);
    }
    for name in ["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"] {
        git = git.env(name, FALLBACK_EMAIL);
    }
    git
}

/// The result of merging two commits without a worktree.
pub(super) struct Merged {
    pub(super) tree: String,
    /// The files with conflict markers in the tree.
    pub(super) files: Vec<String>,
}

/// Applies the changes of a commit since a base to another commit that descends from that base.
pub(super) fn merge_trees(
    git: &dyn Fn() -> Git,
    (ours, theirs): (&str, &str),
    base: &str,
) -> Result<Merged, LandError> {
    let merge = |base: Option<&str>, theirs: &str| {
        let mut call = vec!["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages"];
        call.extend(base);
        call.extend([ours, theirs]);
        git().run(call)
    };
    let mut answer = merge(Some(&format!("--merge-base={base}")), theirs)?;
    if answer.status.code() == Some(USAGE) {
        // Git before 2.40 always chooses the base itself.
        answer = merge(None, &on_base(git, theirs, base)?)?;
    }
    if !matches!(answer.status.code(), Some(0 | 1)) {
        return Err(answer.failure().into());
    }
    let output = String::from_utf8_lossy(&answer.output).into_owned();
    let mut fields = output.split_terminator('\0');
    let tree = fields.next().unwrap_or_default().to_owned();
    let files: BTreeSet<String> = fields.map(str::to_owned).collect();
    Ok(Merged {
        tree,
        files: files.into_iter().collect(),
    })
}

/// A commit with the files of one commit and another one as its only parent.
pub(super) fn on_base(git: &dyn Fn() -> Git, files_of: &str, parent: &str) -> Result<String, LandError> {
    let tree = format!("{files_of}^{{tree}}");
    let commit = as_ralph(git())
        .run(["commit-tree", &tree, "-p", parent, "-m", "base"])?
        .text()?;
    Ok(commit.trim().to_owned())
}

fn said(answer: &GitAnswer) -> String {
    let output = String::from_utf8_lossy(&answer.output);
    match answer.errors.trim() {
        "" => output.into_owned(),
        errors => format!("{output}{errors}"),
    }
}
