//! Finds out whether a user or an agent inside an iteration runs a command. This prevents accidents; it is not a
//! security boundary, since a program can hide where it comes from.

use clap::Parser;
use ralph_model::{Actor, RunId};
use ralph_process::{Ancestor, MARKER_VARIABLE, ancestors};
use ralph_store::{OpenIteration, Store};

use crate::cli::{Cli, Command, Global};
use crate::context::project_here;
use crate::env;

/// Returns who runs this command. It is an agent if this process or one of its ancestors has the marker of an iteration
/// in its environment, or if an ancestor is a live run. Everything that a run starts is its descendant, since orphans
/// are reparented to it.
pub(crate) fn find(global: &Global) -> Actor {
    let own = env::iteration_marker().map(|_| inside(env::run_id().as_deref(), env::iteration().as_deref()));
    if let Some(known @ Actor::Agent { run: Some(_), .. }) = own {
        return known;
    }
    let above = ancestors();
    let is_marked = |above: &&Ancestor| {
        above
            .variable(MARKER_VARIABLE)
            .is_some_and(|marker| !marker.starts_with(env::DEMO_MARKER))
    };
    let marked = above.iter().find(is_marked);
    let marked = marked.map(|marked| {
        let variable = |name| marked.variable(name);
        inside(
            variable(env::RUN_ID.name).as_deref(),
            variable(env::ITERATION.name).as_deref(),
        )
    });
    if let Some(known @ Actor::Agent { run: Some(_), .. }) = marked {
        return known;
    }
    // Git hooks have the marker but not the run. Without a marker, the database is only read if an ancestor is this
    // program: nothing else can be a run.
    let same_program: Vec<&Ancestor> = above.iter().filter(|above| above.is_same_program()).collect();
    let of_run = match same_program.is_empty() {
        true => None,
        false => live_run(global, &above),
    };
    let of_run = of_run.or(marked).or(own);
    // The command may name another project, whose database does not have the run.
    let of_other_project = || same_program.into_iter().any(is_run).then(|| inside(None, None));
    of_run.or_else(of_other_project).unwrap_or(Actor::Person)
}

/// Returns true if this process is `ralph run`.
fn is_run(process: &Ancestor) -> bool {
    let parsed = Cli::try_parse_from(process.arguments());
    parsed.is_ok_and(|cli| matches!(cli.command, Some(Command::Run(_))))
}

/// Finds a live run among the ancestors of this process.
fn live_run(global: &Global, above: &[Ancestor]) -> Option<Actor> {
    let project = project_here(global).ok()?;
    let store = Store::open_read_only(&project.database()).ok()??;
    let host = ralph_process::host();
    let is_above = |open: &OpenIteration| {
        let process = (open.process.pid, open.process.started);
        open.process.host == host && above.iter().any(|above| (above.pid, above.started) == process)
    };
    let open = store.open_iterations().ok()?.into_iter().find(is_above)?;
    Some(Actor::Agent {
        run: Some(open.run),
        iteration: open.iteration,
    })
}

fn inside(run: Option<&str>, iteration: Option<&str>) -> Actor {
    Actor::Agent {
        run: run.and_then(RunId::parse),
        iteration: iteration.and_then(|number| number.parse().ok()),
    }
}
