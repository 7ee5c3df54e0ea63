//! Whether tasks have checkouts of their own, and where their work lands.

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

/// The checkouts of a run; none where it works in the project itself, with a line that says why if that is not what is
/// configured.
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
            .status("Working in the project itself: the repository has no commit that a checkout could begin with.");
        return Ok(None);
    }
    if has_submodules(context)? {
        context
            .ui
            .status("Working in the project itself: the repository has submodules, which a checkout would not have.");
        return Ok(None);
    }
    refuse_taken_name(context)?;
    refuse_untracked_scripts(context, config)?;
    if matches!(can_commit(&project.root), Err(CommitError::NoIdentity)) {
        context.ui.status(
            "Finished tasks are committed as ralph, since git does not know your name: `git config user.name` sets it.",
        );
    }
    let branch = project.branch();
    say_what_is_left_out(context, branch.as_deref());
    let prefix = project.root.strip_prefix(&worktree.top).map(PathBuf::from);
    Ok(Some(Isolation {
        work: context.make_state_folder()?.work(),
        prefix: prefix.unwrap_or_default(),
        base: branch.map(|branch| Base::new(format!("refs/heads/{branch}"))),
    }))
}

/// Whether the run is about one prompt that is repeated.
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

/// A branch named like our folder of branches would keep git from making any in it.
fn refuse_taken_name(context: &Context<'_>) -> Result<(), CommandError> {
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

/// A gate whose script is not committed cannot run in a checkout.
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
                "{script}, which a gate runs, is not committed, so the checkouts of tasks do not have it"
            ))
            .hint(format!(
                "commit it, or add `copy = [\"{script}\"]` to `[worktree]` in .ralph.toml; `[git] isolate = \"off\"` works in \
                 the project itself"
            )));
        }
    }
    Ok(())
}

/// Says what of the project is not part of the tasks, and where their work lands.
fn say_what_is_left_out(context: &Context<'_>, branch: Option<&str>) {
    let files = ProjectFiles::new(
        &context.project.root,
        &context.project.runs(),
        super::own_files(context),
    );
    // Where git does not answer now, it does when the first checkout is made.
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
            .status("No branch is checked out: finished tasks land on a branch of this run.");
    }
}

fn ask(context: &Context<'_>, arguments: &[&str]) -> Result<String, CommandError> {
    let answer = Git::question(&context.project.root).run(arguments);
    let text = answer.and_then(|answer| answer.text());
    text.map_err(|error| CommandError::new(error.to_string()))
}
