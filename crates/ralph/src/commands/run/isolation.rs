//! Decides whether tasks get their own checkouts, and where their work lands.

use std::collections::BTreeSet;
use std::path::PathBuf;

use ralph_loop::changes::{CommitError, ProjectFiles, can_commit};
use ralph_loop::{BRANCHES, Base, Isolation};
use ralph_model::config::{Config, Isolate, command_paths};
use ralph_model::{TaskKind, count};
use ralph_process::git::Git;
use ralph_store::{Scope, Store};

use crate::context::Context;
use crate::error::CommandError;

/// The checkouts of a run; none if it works in the project folder. Prints why if that is not what is configured.
pub(super) fn chosen(
    context: &Context<'_>,
    config: &Config,
    store: &Store,
    scope: &Scope,
) -> Result<Option<Isolation>, CommandError> {
    let project = &context.project;
    let Some(worktree) = project
        .worktree
        .as_ref()
        .filter(|_| config.git.isolate == Isolate::Auto)
    else {
        return Ok(None);
    };
    if is_prompt_loop(store, scope)? {
        return Ok(None);
    }
    if worktree.commit().is_none() {
        context
            .ui
            .status("Working in the project folder: tasks need a first commit to get their own checkouts.");
        return Ok(None);
    }
    if has_submodules(context)? {
        context
            .ui
            .status("Working in the project folder: task checkouts do not support submodules.");
        return Ok(None);
    }
    refuse_branch_name_conflict(context)?;
    refuse_untracked_scripts(context, config)?;
    if matches!(can_commit(&project.root), Err(CommitError::NoIdentity)) {
        context.ui.status(
            "Finished tasks are committed as ralph, because git does not know your name; set it with `git config user.name`.",
        );
    }
    let branch = project.branch();
    print_excluded_work(context, branch.as_deref());
    let prefix = project.root.strip_prefix(&worktree.top).map(PathBuf::from);
    Ok(Some(Isolation {
        work: context.make_state_folder()?.work(),
        prefix: prefix.unwrap_or_default(),
        base: branch.map(|branch| Base::new(format!("refs/heads/{branch}"))),
    }))
}

/// Whether the run repeats a single prompt.
fn is_prompt_loop(store: &Store, scope: &Scope) -> Result<bool, CommandError> {
    Ok(match scope {
        Scope::Task(task) => store.task(task)?.is_some_and(|task| task.kind == TaskKind::PromptLoop),
        Scope::All | Scope::Feature(_) => false,
    })
}

fn has_submodules(context: &Context<'_>) -> Result<bool, CommandError> {
    let Some(worktree) = &context.project.worktree else {
        return Ok(false);
    };
    if !worktree.top.join(".gitmodules").exists() {
        return Ok(false);
    }
    let listed = ask(context, &["ls-files", "--stage"])?;
    Ok(listed.lines().any(|line| line.starts_with("160000 ")))
}

/// A branch with the name of our branch prefix keeps git from creating branches below it.
fn refuse_branch_name_conflict(context: &Context<'_>) -> Result<(), CommandError> {
    let name = BRANCHES.trim_end_matches('/');
    let found = ask(
        context,
        &["for-each-ref", "--format=%(refname)", &format!("refs/heads/{name}")],
    )?;
    if found.lines().any(|line| line == format!("refs/heads/{name}")) {
        return Err(CommandError::new(format!(
            "a branch named `{name}` keeps ralph from creating branches like `{name}/t-1a2b3c`"
        ))
        .hint(format!("rename it: `git branch -m {name} NEW-NAME`")));
    }
    Ok(())
}

/// A gate cannot run in a checkout if its script is not committed.
fn refuse_untracked_scripts(context: &Context<'_>, config: &Config) -> Result<(), CommandError> {
    let root = &context.project.root;
    let commands = config.verify.commands.iter().chain(&config.worktree.setup);
    let shared = config.worktree.copy.iter().chain(&config.worktree.link);
    let shared: Vec<&PathBuf> = shared.collect();
    let scripts: BTreeSet<String> = commands
        .flat_map(|command| command_paths(command))
        .filter(|path| path.is_relative() && root.join(path).is_file())
        .filter(|path| !shared.iter().any(|shared| path.starts_with(shared)))
        .map(|path| path.components().collect::<PathBuf>().display().to_string())
        .collect();
    for script in scripts {
        let tracked = ask(context, &["ls-tree", "--name-only", "HEAD", "--", &script])?;
        if tracked.is_empty() {
            return Err(CommandError::new(format!(
                "a gate runs {script}, but it is not committed, so task checkouts do not contain it"
            ))
            .hint(format!(
                "commit it, or add `copy = [\"{script}\"]` to `[worktree]` in .ralph.toml; to work in the project folder, \
                 set `[git] isolate = \"off\"`"
            )));
        }
    }
    Ok(())
}

/// Prints which changes tasks will not see, and where their work lands without a branch.
fn print_excluded_work(context: &Context<'_>, branch: Option<&str>) {
    let files = ProjectFiles::new(
        &context.project.root,
        &context.project.runs(),
        super::own_files(context),
    );
    // A failure of git is reported when the first checkout is made.
    let dirty = files.dirty_files().unwrap_or_default();
    let dirty = dirty.iter().filter(|file| files.is_work(file)).count();
    if dirty > 0 {
        let changed = count(dirty, "file has", "files have");
        context
            .ui
            .status(&format!("{changed} uncommitted changes, which the tasks will not see."));
    }
    if branch.is_none() {
        context
            .ui
            .status("No branch is checked out: finished tasks land on a new branch for this run.");
    }
}

fn ask(context: &Context<'_>, arguments: &[&str]) -> Result<String, CommandError> {
    let answer = Git::question(&context.project.root).run(arguments);
    let text = answer.and_then(|answer| answer.text());
    text.map_err(|error| CommandError::new(error.to_string()))
}
