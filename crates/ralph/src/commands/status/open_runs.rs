//! Runs without a recorded end: whether they are still running, their current task, and how to resume killed ones.

use jiff::Timestamp;
use ralph_model::{first_line, preview};
use ralph_store::{AtWork, Overview, Run};

use super::news::ago;

const COLUMNS: usize = 30;
const QUESTION_COLUMNS: usize = 80;
/// A run on another host counts as lost after this long without a heartbeat.
const MAX_SILENCE_SECONDS: i64 = 300;

/// The state of a run without a recorded end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunState {
    Live,
    Killed,
    /// It belongs to another host and has had no heartbeat for long.
    Lost,
}

impl RunState {
    /// The state of a run, by its process on the same host, else by its heartbeat.
    pub(super) fn of(run: &Run, now: Timestamp) -> Self {
        let silent = now.duration_since(run.heartbeat).as_secs();
        match run.begun.process.is_alive() {
            Some(true) => Self::Live,
            Some(false) => Self::Killed,
            None if silent > MAX_SILENCE_SECONDS => Self::Lost,
            None => Self::Live,
        }
    }

    /// Whether the worktree has a run in this state.
    pub(super) fn exists(self, overview: Option<&Overview>, worktree: &str, now: Timestamp) -> bool {
        let mut runs = overview.iter().flat_map(|overview| &overview.open_runs);
        runs.any(|run| run.begun.worktree == worktree && Self::of(run, now) == self)
    }
}

/// The current task of a run.
pub(super) fn current_task<'a>(overview: &'a Overview, run: &Run) -> Option<&'a AtWork> {
    overview.at_work.iter().find(|at_work| at_work.run == run.begun.id)
}

/// Describes a run, from the point of view of a worktree.
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
        return format!("{id} is waiting{here} for your answer in its terminal: {question}");
    }
    match (RunState::of(run, now), current_task(overview, run)) {
        (RunState::Killed, _) => format!("{id} ({goal}) was killed; resume it with `ralph run`{here}"),
        (RunState::Lost, _) => {
            format!(
                "{id} ({goal}) is lost; its last heartbeat was {}",
                ago(run.heartbeat, now)
            )
        }
        (RunState::Live, Some(AtWork { task, title, since, .. })) => {
            let title = preview(first_line(title), COLUMNS);
            format!(
                "{id} is working{here} on {task} ({title}), started {}",
                ago(*since, now)
            )
        }
        (RunState::Live, None) => {
            let began = ago(run.begun.started_at, now);
            format!("{id} ({goal}) is running{here}, started {began}")
        }
    }
}
