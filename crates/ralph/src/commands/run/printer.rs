//! Prints the events of a run as lines for people; a live view is drawn below them.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::tz::TimeZone;
use ralph_agent::TurnEvent;
use ralph_loop::gates::GateResult;
use ralph_loop::state::{Notice, PauseWait};
use ralph_loop::{IterationBegan, RunEvent, Settled, Verification, Watch};
use ralph_memory::learn::Upkeep;
use ralph_model::{
    Extraction, Outcome, RunId, StopReason, TaskId, TaskKind, TaskStatus, Tokens, Verdict, count, duration, first_line,
    headline_of, preview, size,
};

use super::guard::PAUSED_BY_LOCK;
use super::live::Live;
use crate::commands::learnings::known;
use crate::context::Context;
use crate::denied;
use crate::pause_text::countdown;

/// The columns of the time, the task and a few words at the start of a line.
const PREFIX_COLUMNS: usize = 34;
/// The columns of a reason, which may take several lines.
const REASON_COLUMNS: usize = 300;

/// How often a wait is reported without a live view.
const REPORT_INTERVAL: Duration = Duration::from_mins(10);

/// The characters shown of a commit id, as in git.
const SHORT_COMMIT: usize = 7;

/// The columns for a text on a line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Columns(usize);

impl Columns {
    pub(super) fn of(context: &Context<'_>) -> Self {
        Self(context.ui.width().saturating_sub(PREFIX_COLUMNS).clamp(20, 100))
    }

    /// A text cut to the columns, without control characters.
    pub(super) fn cut(self, text: &str) -> String {
        preview(text, self.0)
    }
}

pub(super) struct Printer<'a> {
    context: &'a Context<'a>,
    columns: Columns,
    run: Option<RunId>,
    /// The task that lines are about.
    task: Option<TaskId>,
    /// The time left of a wait when it was last reported.
    reported_left: Option<Duration>,
    /// Whether the live view counts waits down.
    has_view: bool,
    /// The model last reported; a change is reported again.
    model: Option<String>,
    /// The prompt size last reported.
    prompt: Option<Tokens>,
    /// The last headline of each failing gate, by command.
    red: BTreeMap<String, String>,
}

impl Watch for Printer<'_> {
    fn tell(&mut self, event: &RunEvent<'_>) {
        if let Some(task) = task_of(event) {
            self.task = task.cloned();
        }
        match event {
            RunEvent::Began(began) => {
                self.run = Some(began.run.clone());
                self.line(&format!("{} started.", began.run));
            }
            RunEvent::FoundLeftover { run, iteration, killed } => self.found_left(run, *iteration, *killed),
            RunEvent::AlreadyFailing { gates } => {
                for gate in gates {
                    let headline = self.red.get(gate).map_or("", String::as_str);
                    let gate = gate_with_headline(self.columns, gate, headline);
                    self.line(&format!("already failing before this run: {gate}"));
                }
            }
            RunEvent::GateRan(gate) => self.gate(gate),
            RunEvent::IterationBegan(began) => self.iteration_began(began),
            RunEvent::Agent(event) | RunEvent::VerifierEvent(event) => self.agent(event),
            RunEvent::VerifierBegan { agent, .. } => {
                self.line(&format!("{} verifies the work", self.columns.cut(agent)));
            }
            RunEvent::Verified(found) => self.verified(found),
            RunEvent::Settled(settled) => self.settled(settled),
            RunEvent::WaitingForSubtasks { parts, .. } => {
                let subtasks = count(*parts, "subtask", "subtasks");
                self.line(&format!("The task was split and waits for its {subtasks}."));
            }
            RunEvent::DoneWithSubtasks { .. } => self.line("done: all its subtasks are done"),
            RunEvent::Wrote { path } => self.line(&format!("noted: {path}")),
            RunEvent::Pruned { folders, bytes } => {
                let folders = usize::try_from(*folders).unwrap_or(usize::MAX);
                let folders = count(folders, "old iteration", "old iterations");
                self.line(&format!("Removed the folders of {folders} ({}).", size(*bytes)));
            }
            RunEvent::Learned(done) => self.line(&format!("Learned from the run: {}.", counts(done))),
            RunEvent::LearnedEarlier(done) => self.line(&format!("Learned from earlier runs: {}.", counts(done))),
            RunEvent::UpkeepDone(done) => self.line(&kept_up(done)),
            RunEvent::Notice(notice) => self.notice(notice),
            RunEvent::Warning(warning) => self.context.ui.warning(warning),
            RunEvent::DiskFull(reason) => self.context.ui.warning(&format!(
                "{reason}. The run is paused and continues when there is disk space; Ctrl+C stops it."
            )),
            RunEvent::Locked(reason) => self.context.ui.warning(&format!("{reason}. {PAUSED_BY_LOCK}")),
            RunEvent::Unlocked => self.line("The database is unlocked again; the run continues."),
            RunEvent::DiskSpaceFreed => self.line("There is disk space again; the run continues."),
            RunEvent::KeptScratchpad { path } => self.line(&format!("Moved the scratchpad to {path}.")),
            // The live view has the counts and the running gate, the terminal the question, the summary the end.
            RunEvent::TaskCounts(_)
            | RunEvent::GateBegan(_)
            | RunEvent::AskingGuidance(_)
            | RunEvent::GuidanceAnswered(_)
            | RunEvent::Ended(_) => {}
        }
    }
}

/// The task that an event and the lines after it are about; `Some(None)` if they are about the whole run.
fn task_of<'e>(event: &'e RunEvent<'_>) -> Option<Option<&'e TaskId>> {
    match event {
        RunEvent::IterationBegan(began) => Some(Some(began.task)),
        RunEvent::VerifierBegan { task, .. }
        | RunEvent::WaitingForSubtasks { task, .. }
        | RunEvent::DoneWithSubtasks { task } => Some(Some(task)),
        RunEvent::Settled(settled) => Some(Some(&settled.draft.current.task)),
        RunEvent::Learned(_)
        | RunEvent::LearnedEarlier(_)
        | RunEvent::KeptScratchpad { .. }
        | RunEvent::Ended(_)
        | RunEvent::Notice(Notice::Busy(_) | Notice::Waits(_)) => Some(None),
        _ => None,
    }
}

impl<'a> Printer<'a> {
    pub(super) fn new(context: &'a Context<'a>, live: Option<&Live>) -> Self {
        Self {
            context,
            columns: Columns::of(context),
            run: None,
            task: None,
            reported_left: None,
            has_view: live.is_some(),
            model: None,
            prompt: None,
            red: BTreeMap::new(),
        }
    }

    /// Prints a line. It may contain text from agents, so control characters are removed.
    fn line(&self, text: &str) {
        let now = self.context.clock().now().to_zoned(TimeZone::system());
        let task = self.task.as_ref().map(|task| format!("[{task}] ")).unwrap_or_default();
        let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        self.context
            .ui
            .status(&format!("{} {task}{text}", now.strftime("%H:%M:%S")));
    }

    fn agent(&self, event: &TurnEvent) {
        if let TurnEvent::Tool { name, about } = event {
            let root = format!("{}/", self.context.project.root.display());
            let about = first_line(about.strip_prefix(&root).unwrap_or(about));
            self.line(&format!("  {} {}", self.columns.cut(name), self.columns.cut(about)));
        }
    }

    fn gate(&mut self, gate: &GateResult) {
        if !gate.is_green() {
            self.red.insert(gate.command.clone(), gate.headline());
        }
        let time = time_after(gate.duration_ms);
        self.line(&format!("gate {}: {}{time}", gate.end, self.columns.cut(&gate.command)));
    }

    /// Prints the verdict. Its reason is reported when the iteration is settled.
    fn verified(&self, found: &Verification) {
        let how = match &found.verdict {
            Some(Verdict::Pass) if found.passes() => "passed",
            Some(Verdict::Pass) => "passed, but this does not count",
            Some(Verdict::Fail(_)) => "refused",
            None => "gave no verdict",
        };
        self.line(&format!("verifier {how}{}", time_after(found.duration_ms)));
    }

    fn settled(&self, settled: &Settled<'_>) {
        let draft = settled.draft;
        let (decision, turn) = (&draft.decision, &draft.turn);
        let mut details = Vec::new();
        if !draft.files.is_empty() {
            details.push(format!("{} changed", count(draft.files.len(), "file", "files")));
        }
        details.extend(shown_duration(settled.duration));
        let details = match details.as_slice() {
            [] => String::new(),
            some => format!(" ({})", some.join(", ")),
        };
        let reason = match decision.outcome {
            Outcome::Done => preview(&decision.reason, REASON_COLUMNS),
            _ => preview(&headline(&decision.reason), REASON_COLUMNS),
        };
        let colon = if reason.is_empty() { "" } else { ": " };
        let committed = match &draft.commit {
            Some(Ok(commit)) => format!(", committed {}", commit.chars().take(SHORT_COMMIT).collect::<String>()),
            _ => String::new(),
        };
        self.line(&format!("{}{committed}{colon}{reason}{details}", decision.outcome));
        if turn.guidance.is_some() {
            self.line("saved your guidance in the task and the journal");
        }
        if let Some(unverified) = &draft.unverified {
            self.line(&format!("unverified: {}", unverified.words()));
        }
        // The reason above already names the first denial if it stopped the agent.
        let already_shown = usize::from(decision.stop == StopReason::PermissionDenied);
        for denial in turn.denials.iter().skip(already_shown) {
            self.line(&format!("denied: {}", denied::line(denial)));
        }
        match settled.task {
            Some(TaskStatus::Failed) => self.line("Gave up: no attempts are left."),
            Some(_) => {}
            None => self.line("The task no longer belonged to this run; its work is recorded in the journal."),
        }
    }

    /// Reports the time left of a wait at intervals, or only once if the live view counts it down.
    fn wait(&mut self, wait: &PauseWait) {
        let is_due = |reported: Duration| !self.has_view && reported.saturating_sub(wait.left) >= REPORT_INTERVAL;
        if self.reported_left.is_none_or(is_due) {
            self.line(&countdown(wait, self.context.clock().now()));
            self.reported_left = Some(wait.left);
        }
    }

    fn iteration_began(&mut self, began: &IterationBegan<'_>) {
        let title = self.columns.cut(began.title);
        let attempt = match (began.kind, began.attempt) {
            (TaskKind::Once, again @ 2..) => format!(", attempt {again} of {}", began.attempts),
            _ => String::new(),
        };
        self.line(&format!("iteration {}{attempt}: {title}", began.iteration));
        let memory = match began.notes_shown {
            0 => "nothing from memory".to_owned(),
            some => format!("with {} from memory", count(some, "entry", "entries")),
        };
        if has_changed_much(self.prompt, began.prompt_tokens) {
            self.line(&format!("prompt: {} tokens, {memory}", began.prompt_tokens));
            self.prompt = Some(began.prompt_tokens);
        }
        // The figures in the rationale always change, so only the model is compared.
        if let Some(model) = began.model.filter(|model| self.model.as_deref() != Some(*model)) {
            self.line(&format!("model: {} ({})", self.columns.cut(model), began.rationale));
            self.model = Some(model.to_owned());
        }
    }

    fn found_left(&self, run: &RunId, iteration: u32, killed: usize) {
        self.line(&format!(
            "{run} was killed during iteration {iteration}; settling that iteration first."
        ));
        if killed > 0 {
            let processes = count(killed, "leftover process", "leftover processes");
            self.line(&format!("Stopped {processes} from that run."));
        }
    }

    fn notice(&mut self, notice: &Notice) {
        match notice {
            Notice::Busy(held) => {
                let held: Vec<String> = held.iter().map(|(task, run)| format!("{task} ({run})")).collect();
                let held = held.join(", ");
                self.line(&format!("No task is ready; other runs are working on {held}."));
            }
            Notice::Waits(wait) => {
                self.reported_left = None;
                if self.run.as_ref() != Some(&wait.pause.run) {
                    let said = self.columns.cut(&wait.pause.what.said);
                    self.line(&format!("{} reported: {said}", wait.pause.run));
                }
                self.wait(wait);
            }
            Notice::StillWaits(wait) => self.wait(wait),
            Notice::UnknownModel(model) => {
                let model = self.columns.cut(model);
                self.line(&format!(
                    "The agent asked for the model {model}, which is not configured."
                ));
            }
            Notice::CompleteTooEarly => self.line("The agent reported everything complete, but it is not."),
            Notice::WillAsk => self.line("stopping the agent; you can give guidance next (Ctrl+C ends the run)"),
        }
    }
}

/// A failing gate and the headline of its output, if there is one.
pub(super) fn gate_with_headline(columns: Columns, gate: &str, headline: &str) -> String {
    match headline {
        "" => columns.cut(gate),
        headline => format!("{}: {}", columns.cut(gate), columns.cut(headline)),
    }
}

/// The first line of a reason. If that line only introduces the output of a gate, which was named just before, the
/// headline of the output replaces it.
fn headline(reason: &str) -> String {
    let (first, printed) = reason.split_once('\n').unwrap_or((reason, ""));
    match first.strip_suffix(':').filter(|_| !printed.trim().is_empty()) {
        Some(leads) => {
            let before = leads.split("The gate `").next().unwrap_or_default();
            format!("{before}{}", headline_of(printed))
        }
        None => first.to_owned(),
    }
}

/// Whether a prompt size is worth reporting: the first one, and any that differs from the last by more than half.
fn has_changed_much(reported: Option<Tokens>, size: Tokens) -> bool {
    reported.is_none_or(|reported| {
        let (small, large) = (reported.0.min(size.0), reported.0.max(size.0));
        large > small.saturating_add(small / 2)
    })
}

/// A duration of at least a second.
pub(super) fn shown_duration(time: Duration) -> Option<String> {
    (time >= Duration::from_secs(1)).then(|| duration(time))
}

fn time_after(milliseconds: u64) -> String {
    let time = shown_duration(Duration::from_millis(milliseconds));
    time.map(|time| format!(" ({time})")).unwrap_or_default()
}

fn counts(done: &Extraction) -> String {
    format!(
        "{} extracted, {} validated, {} rejected, {} promoted{}, {} skipped",
        done.extracted,
        done.validated,
        done.rejected,
        done.promoted,
        known(done),
        done.skipped
    )
}

fn kept_up(done: &Upkeep) -> String {
    let merged = (done.merged > 0).then(|| format!("{} merged into {}", done.merged, done.into));
    let pruned = (done.pruned > 0).then(|| format!("{} pruned", done.pruned));
    let learnings: Vec<String> = merged.into_iter().chain(pruned).collect();
    let them = if done.merged + done.pruned == 1 { "it" } else { "them" };
    let learnings = (!learnings.is_empty()).then(|| {
        format!(
            "Learnings: {}; restore {them} with `ralph learnings restore`.",
            learnings.join(", ")
        )
    });
    let reports = (done.shortened > 0).then(|| {
        let reports = count(done.shortened, "report", "reports");
        format!("Shortened {reports} of finished work.")
    });
    learnings.into_iter().chain(reports).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_learnings_are_counted() {
        let done = Extraction {
            extracted: 5,
            validated: 5,
            promoted: 5,
            known: 3,
            ..Extraction::default()
        };
        assert_eq!(
            counts(&done),
            "5 extracted, 5 validated, 0 rejected, 5 promoted (3 already known), 0 skipped"
        );
    }

    #[test]
    fn upkeep_lines() {
        let check = |merged, into, pruned, shortened, line: &str| {
            let done = Upkeep {
                merged,
                into,
                pruned,
                shortened,
            };
            assert_eq!(kept_up(&done), line);
        };
        let back = "; restore them with `ralph learnings restore`.";
        check(12, 3, 4, 0, &format!("Learnings: 12 merged into 3, 4 pruned{back}"));
        check(
            0,
            0,
            4,
            1,
            &format!("Learnings: 4 pruned{back} Shortened 1 report of finished work."),
        );
        check(
            0,
            0,
            1,
            0,
            "Learnings: 1 pruned; restore it with `ralph learnings restore`.",
        );
        check(0, 0, 0, 2, "Shortened 2 reports of finished work.");
    }
}
