//! Runs that have no end on record: whether they go on, what they are at, and what picks up those that were killed.

use jiff::Timestamp;
use ralph_loop::is_alive;
use ralph_model::{first_line, preview};
use ralph_store::{AtWork, Overview, Run};

use super::news::ago;

/// How many columns of what a run is about are shown.
const COLUMNS: usize = 30;
/// The same of what it asks.
const QUESTION_COLUMNS: usize = 80;
/// After how long without a sign a run of another host counts as cut off.
const SILENCE_SECONDS: i64 = 300;

/// How a run stands that has no end on record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunState {
    /// It goes on.
    Live,
    /// Its process is gone.
    Killed,
    /// Another host has it, and it was silent for long.
    CutOff,
}

impl RunState {
    /// How a run stands. Whether a process lives is known on its own host; elsewhere its signs tell.
    pub(super) fn of(run: &Run, now: Timestamp) -> Self {
        let silent = now.duration_since(run.heartbeat).as_secs();
        match is_alive(&run.begun.process, &ralph_process::host()) {
            Some(true) => Self::Live,
            Some(false) => Self::Killed,
            None if silent > SILENCE_SECONDS => Self::CutOff,
            None => Self::Live,
        }
    }

    /// Whether a run of a worktree stands so.
    pub(super) fn is_there(self, overview: Option<&Overview>, worktree: &str, now: Timestamp) -> bool {
        let mut runs = overview.iter().flat_map(|overview| &overview.open_runs);
        runs.any(|run| run.begun.worktree == worktree && Self::of(run, now) == self)
    }
}

/// What a run is at.
pub(super) fn at_work<'a>(overview: &'a Overview, run: &Run) -> Option<&'a AtWork> {
    overview.at_work.iter().find(|at_work| at_work.run == run.begun.id)
}

/// What there is to say of a run, seen from a worktree.
pub(super) fn sentence(overview: &Overview, run: &Run, worktree: &str, now: Timestamp) -> String {
    let id = &run.begun.id;
    let goal = preview(first_line(&run.begun.goal), COLUMNS);
    let here = match run.begun.worktree.as_str() {
        own if own == worktree => String::new(),
        "" => " in the main worktree".to_owned(),
        other => format!(" in the worktree {other}"),
    };
    if let (RunState::Live, Some(question)) = (RunState::of(run, now), &run.asks) {
        let question = preview(first_line(question), QUESTION_COLUMNS);
        return format!("{id} waits{here} for your answer in its terminal: {question}");
    }
    match (RunState::of(run, now), at_work(overview, run)) {
        (RunState::Killed, _) => format!("{id} ({goal}) was killed; `ralph run`{here} picks it up"),
        (RunState::CutOff, _) => {
            format!(
                "{id} ({goal}) was cut off; its last sign was {}",
                ago(run.heartbeat, now)
            )
        }
        (RunState::Live, Some(AtWork { task, title, since, .. })) => {
            let title = preview(first_line(title), COLUMNS);
            format!("{id} works{here} on {task} ({title}), begun {}", ago(*since, now))
        }
        (RunState::Live, None) => {
            let began = ago(run.begun.started_at, now);
            format!("{id} ({goal}) goes on{here}; it began {began}")
        }
    }
}
