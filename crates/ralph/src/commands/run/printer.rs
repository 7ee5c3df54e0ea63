//! Prints a run for people: a line for each event, and a summary at the end.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use jiff::tz::TimeZone;
use ralph_agent::TurnEvent;
use ralph_loop::gates::{Baseline, GateEnd, GateResult};
use ralph_loop::state::{Current, End, Notice, PauseWait, PendingSettlement};
use ralph_loop::{RunEvent, Verification, Watch};
use ralph_memory::inject::prompt::AttemptNumber;
use ralph_model::{
    AuthorKind, Outcome, RunId, StopReason, Task, TaskId, TaskKind, TaskStatus, Tokens, Usage, Verdict, count,
    duration, first_line, headline_of, preview, size,
};
use ralph_store::{AgentNote, NoteAction, Store, StoreError, Wait};

use crate::context::Context;
use crate::denied;
use crate::error::CommandError;
use crate::pause_text::countdown;
use crate::ui::Line;

use super::guard::PAUSED_BY_LOCK;
use super::live::Live;
use super::upkeep_words::{kept_up, learned, learned_earlier};

/// The columns for a text on a line.
const MOST_COLUMNS: usize = 100;
const LEAST_COLUMNS: usize = 20;
/// The columns of the time, the task and a few words at the start of a line.
const PREFIX_COLUMNS: usize = 34;
/// The columns of a reason, which may take several lines.
const REASON_COLUMNS: usize = 300;

/// How often a wait is reported without a live view.
const REPORT_INTERVAL: Duration = Duration::from_mins(10);

/// The characters shown of a commit id, as in git.
const SHORT_COMMIT: usize = 7;

pub(super) struct Printer<'a> {
    context: &'a Context<'a>,
    /// The command that continues this run.
    again: String,
    columns: usize,
    run: Option<RunId>,
    task: Option<TaskId>,
    /// The time left of a wait when it was last reported.
    reported_left: Option<Duration>,
    /// Whether the live view counts waits down.
    has_view: bool,
    /// The model last reported; a change is reported again.
    model: Option<String>,
    /// The prompt size last reported.
    prompt: Option<Tokens>,
    /// The last line about tasks claimed by other runs, to avoid repeating it on every poll.
    busy: String,
    iterations: u32,
    /// How many of the iterations belong to prompt loops.
    loop_iterations: u32,
    done: BTreeSet<TaskId>,
    failed: BTreeSet<TaskId>,
    /// How many of the done tasks are unverified, according to the database at the end.
    unverified: usize,
    /// The last headline of each failing gate, by command.
    red: BTreeMap<String, String>,
    /// The gates that failed when work was last accepted.
    still_failing: Vec<String>,
    sentence: String,
    notes: usize,
    spent: Usage,
    time: Duration,
}

/// How many of the agent's notes the summary lists.
const MOST_STORED: usize = 10;

/// Notes that agents stored with commands during the run; empty if they cannot be read.
pub(super) fn agent_notes(context: &Context<'_>, run: Option<&RunId>) -> Vec<AgentNote> {
    let store = context.facts().ok().flatten();
    let notes = store.zip(run).map(|(store, run)| store.notes_by_agents(run));
    notes.and_then(Result::ok).unwrap_or_default()
}

impl<'a> Printer<'a> {
    pub(super) fn new(context: &'a Context<'a>, again: String, live: Option<&Live>) -> Self {
        let columns = context.ui.width().saturating_sub(PREFIX_COLUMNS);
        Self {
            context,
            again,
            columns: columns.clamp(LEAST_COLUMNS, MOST_COLUMNS),
            run: None,
            task: None,
            reported_left: None,
            has_view: live.is_some(),
            model: None,
            busy: String::new(),
            prompt: None,
            iterations: 0,
            loop_iterations: 0,
            done: BTreeSet::new(),
            failed: BTreeSet::new(),
            unverified: 0,
            red: BTreeMap::new(),
            still_failing: Vec::new(),
            sentence: String::new(),
            notes: 0,
            spent: Usage::default(),
            time: Duration::ZERO,
        }
    }

    /// Prints the summary: how the run ended, what it did, and what to do next. The caller reports an error.
    pub(super) fn close(&mut self, end: &End) -> Result<(), CommandError> {
        let ui = self.context.ui;
        let mut lines = Vec::new();
        let counted = match (self.recount(), end) {
            // The database may be the cause of the error.
            (Err(_), End::Error(_)) => false,
            (counted, _) => counted.map(|()| true)?,
        };
        if !matches!(end, End::Error(_)) {
            lines.push(self.sentence.clone());
        }
        if self.iterations > 0 && counted {
            lines.push(self.summary());
        }
        lines.extend(self.stored_by_agent());
        lines.extend(self.still_failing.iter().map(|gate| {
            let headline = self.gate_headline(gate);
            format!("Still failing, as before this run: {gate}{headline}")
        }));
        let lines: Vec<Line> = lines.into_iter().map(|line| (None, line)).collect();
        ui.lines(&lines)?;
        if !self.failed.is_empty() && !matches!(end, End::NeedsAttention(_)) {
            ui.hint("Run `ralph review` to see what failed and why.");
        }
        match end {
            End::NothingToDo => {
                ui.hint("Add a task with `ralph task add \"TITLE\"`, or add and run one with `ralph run \"TEXT\"`.");
            }
            End::NeedsAttention(standing) if standing.failed + standing.waiting + standing.open > 0 => {
                ui.hint(
                    "Run `ralph review` to see what needs your attention, or `ralph task reset ID` to retry a task.",
                );
            }
            End::NeedsAttention(standing) if standing.unverified.no_evidence > 0 => {
                ui.hint("Set a gate (`[verify] commands` in .ralph.toml) or a verifier to confirm finished work.");
            }
            End::NeedsAttention(_) => {}
            End::Limit(limit) => {
                let raise = match limit.key {
                    // The printed command already contains the flag.
                    "iterations" if self.again.contains(" --limit ") => String::new(),
                    "" => String::new(),
                    key => format!("; counting starts again (the limit is `[limits] {key}` in .ralph.toml)"),
                };
                ui.hint(&format!("Run `{}` to continue{raise}.", self.again));
            }
            End::NoProgress(_) => ui.hint(&format!(
                "See what was tried with `ralph journal list`. Describe the task in more detail or fix what blocks it, \
                 then run `{}` to continue. `[limits] no_progress = 0` in .ralph.toml turns this limit off.",
                self.again
            )),
            End::Interrupted | End::FailurePromise | End::StoppedAsRequested(_) => {
                ui.hint(&format!("Run `{}` to continue.", self.again));
            }
            End::Complete | End::Error(_) => {}
        }
        Ok(())
    }

    /// Recounts done, unverified and failed tasks from the database.
    fn recount(&mut self) -> Result<(), StoreError> {
        if self.done.is_empty() && self.failed.is_empty() {
            return Ok(());
        }
        let store = Store::open_for_reading(&self.context.project.database(), Wait::Long)?;
        let having = |tasks: &BTreeSet<TaskId>, wanted| -> Result<Vec<Task>, StoreError> {
            let mut found = Vec::new();
            for id in tasks {
                let task = store.as_ref().map(|store| store.task(id)).transpose()?.flatten();
                found.extend(task.filter(|task| task.status == wanted));
            }
            Ok(found)
        };
        let done = having(&self.done, TaskStatus::Done)?;
        let failed = having(&self.failed, TaskStatus::Failed)?;
        self.unverified = done.iter().filter(|task| task.unverified.is_some()).count();
        self.done = done.into_iter().map(|task| task.id).collect();
        self.failed = failed.into_iter().map(|task| task.id).collect();
        Ok(())
    }

    /// Lines about notes that agents stored with commands; empty if they cannot be read.
    fn stored_by_agent(&self) -> Vec<String> {
        let stored = agent_notes(self.context, self.run.as_ref());
        let mut lines = Vec::new();
        if !stored.is_empty() {
            lines.push(format!("Notes stored by the agent: {}", stored.len()));
        }
        lines.extend(stored.iter().take(MOST_STORED).map(|note| {
            let how = match (note.action, note.author) {
                (NoteAction::Deleted, _) => " (deleted)",
                (_, AuthorKind::Unknown) => " (edited in its file)",
                _ => "",
            };
            match note.is_file() {
                true => format!("  {}{how}", note.id),
                false => format!("  {}{how}: {}", note.id, self.short(&note.text)),
            }
        }));
        if let Some(more) = stored.len().checked_sub(MOST_STORED).filter(|more| *more > 0) {
            lines.push(format!("  and {more} more"));
        }
        let proposed = self.proposed_by_agent();
        if proposed > 0 {
            lines.push(format!(
                "Proposed by the agent: {proposed}. Run `ralph review` to decide."
            ));
        }
        lines
    }

    /// How many changes and tasks proposed during the run still await a decision.
    fn proposed_by_agent(&self) -> u32 {
        let store = self.context.facts().ok().flatten();
        let proposed = store.zip(self.run.as_ref()).map(|(store, run)| store.proposed_in(run));
        proposed.and_then(Result::ok).unwrap_or_default()
    }

    fn summary(&self) -> String {
        let is_loop = self.loop_iterations == self.iterations;
        let mut parts = Vec::new();
        match self.done.len() {
            0 if is_loop => {}
            0 => parts.push("no task done".to_owned()),
            done => parts.push(format!("{} done", count(done, "task", "tasks"))),
        }
        if self.unverified > 0 {
            parts.push(format!("{} unverified", self.unverified));
        }
        if !self.failed.is_empty() {
            parts.push(format!("{} failed", self.failed.len()));
        }
        if self.notes > 0 {
            parts.push(count(self.notes, "note", "notes"));
        }
        if self.spent.cost_usd > 0.0 {
            parts.push(format!("${:.2}", self.spent.cost_usd));
        }
        parts.extend(shown_duration(self.time));
        let iterations = count(self.iterations as usize, "iteration", "iterations");
        match parts.as_slice() {
            [] => iterations,
            parts => format!("{iterations}: {}", parts.join(", ")),
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

    /// A text cut to the available columns, without control characters.
    fn short(&self, text: &str) -> String {
        preview(text, self.columns)
    }

    fn agent(&self, event: &TurnEvent) {
        if let TurnEvent::Tool { name, about } = event {
            let root = format!("{}/", self.context.project.root.display());
            let about = self.short(first_line(about.strip_prefix(&root).unwrap_or(about)));
            let name = self.short(name);
            self.line(&format!("  {name} {about}"));
        }
    }

    /// The headline of a failing gate, to append to its command.
    fn gate_headline(&self, gate: &str) -> String {
        let words = self.red.get(gate).filter(|words| !words.is_empty());
        words
            .map(|words| format!(": {}", self.short(words)))
            .unwrap_or_default()
    }

    fn gate(&mut self, gate: &GateResult) {
        if !gate.is_green() {
            self.red.insert(gate.command.clone(), gate.headline());
        }
        let time = shown_duration(Duration::from_millis(gate.duration_ms));
        let time = time.map(|time| format!(" ({time})")).unwrap_or_default();
        let how = match &gate.end {
            GateEnd::Passed => "passed".to_owned(),
            GateEnd::Failed(status) | GateEnd::Broken(status) => format!("failed ({status})"),
            GateEnd::NotStarted(status) => format!("could not be started ({status})"),
            GateEnd::TimedOut => "took longer than `[verify] timeout` allows".to_owned(),
            GateEnd::Stopped => "was stopped".to_owned(),
        };
        self.line(&format!("gate {how}: {}{time}", self.short(&gate.command)));
    }

    /// Prints the verdict. Its reason is reported when the iteration is settled.
    fn verified(&self, found: &Verification) {
        let how = match &found.verdict {
            Some(Verdict::Pass) if found.passes() => "passed",
            Some(Verdict::Pass) => "passed, but this does not count",
            Some(Verdict::Fail(_)) => "refused",
            None => "gave no verdict",
        };
        let time = shown_duration(Duration::from_millis(found.duration_ms));
        let time = time.map(|time| format!(" ({time})")).unwrap_or_default();
        self.line(&format!("verifier {how}{time}"));
    }

    fn settled(&mut self, draft: &PendingSettlement, task: Option<TaskStatus>, time: Duration) {
        let (decision, turn) = (&draft.decision, &draft.turn);
        // This iteration may belong to a killed run.
        self.task = Some(draft.current.task.clone());
        self.iterations += 1;
        self.loop_iterations += u32::from(draft.current.kind == TaskKind::PromptLoop);
        self.time += time;
        self.spent.cost_usd += draft.usage().cost_usd;
        if decision.outcome == Outcome::Done {
            let red = draft.gates.iter().filter(|gate| !gate.is_green());
            self.still_failing = red.map(|gate| gate.command.clone()).collect();
        }
        self.count_task(&draft.current.task, task);
        let mut details = Vec::new();
        if !draft.files.is_empty() {
            details.push(format!("{} changed", count(draft.files.len(), "file", "files")));
        }
        details.extend(shown_duration(time));
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
        if task == Some(TaskStatus::Failed) {
            self.line("Gave up: no attempts are left.");
        }
        if task.is_none() {
            self.line("The task no longer belonged to this run; its work is recorded in the journal.");
        }
    }

    /// Counts a task by its current status: a failed one may have been reset since.
    fn count_task(&mut self, task: &TaskId, status: Option<TaskStatus>) {
        let Some(status) = status else { return };
        self.failed.remove(task);
        match status {
            TaskStatus::Done => drop(self.done.insert(task.clone())),
            TaskStatus::Failed => drop(self.failed.insert(task.clone())),
            _ => {}
        }
    }

    fn waits_for_subtasks(&mut self, task: &TaskId, subtasks: usize) {
        self.task = Some(task.clone());
        let subtasks = count(subtasks, "subtask", "subtasks");
        self.line(&format!("The task was split and waits for its {subtasks}."));
    }

    fn done_with_subtasks(&mut self, task: &TaskId) {
        self.task = Some(task.clone());
        self.done.insert(task.clone());
        self.line("done: all its subtasks are done");
    }

    /// Reports the time left of a wait at intervals, or only once if the live view counts it down.
    fn wait(&mut self, wait: &PauseWait) {
        let is_due = |reported: Duration| !self.has_view && reported.saturating_sub(wait.left) >= REPORT_INTERVAL;
        if self.reported_left.is_none_or(is_due) {
            self.line(&countdown(wait, self.context.clock().now()));
            self.reported_left = Some(wait.left);
        }
    }

    fn locked(&self, reason: &str) {
        self.context.ui.warning(&format!("{reason}. {PAUSED_BY_LOCK}"));
    }

    fn disk_full(&self, reason: &str) {
        let paused = "The run is paused and continues when there is disk space; Ctrl+C stops it.";
        self.context.ui.warning(&format!("{reason}. {paused}"));
    }

    fn iteration_began(&mut self, current: &Current, attempt: &AttemptNumber, (prompt, shown): (Tokens, usize)) {
        self.task = Some(current.task.clone());
        let title = self.short(&current.task_title);
        let attempt = match (current.kind, attempt.number) {
            (TaskKind::Once, again @ 2..) => format!(", attempt {again} of {}", attempt.of),
            _ => String::new(),
        };
        self.line(&format!("iteration {}{attempt}: {title}", current.iteration));
        let memory = match shown {
            0 => "nothing from memory".to_owned(),
            some => format!("with {} from memory", count(some, "entry", "entries")),
        };
        if has_changed_much(self.prompt, prompt) {
            self.line(&format!("prompt: {prompt} tokens, {memory}"));
            self.prompt = Some(prompt);
        }
        if let Some(model) = &current.model {
            // The figures in the rationale always change, so only the model is compared.
            if self.model.as_ref() != Some(model) {
                self.line(&format!("model: {} ({})", self.short(model), current.rationale));
                self.model = Some(model.clone());
            }
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

    fn wrote(&mut self, file: &Path) {
        self.notes += 1;
        self.line(&format!("noted: {}", self.context.project.shown(file)));
    }

    fn pruned(&self, folders: u64, bytes: u64) {
        let folders = usize::try_from(folders).unwrap_or(usize::MAX);
        let folders = count(folders, "old iteration", "old iterations");
        self.line(&format!("Removed the folders of {folders} ({}).", size(bytes)));
    }

    fn notice(&mut self, notice: &Notice) {
        match notice {
            Notice::Busy(held) => {
                self.task = None;
                let held: Vec<String> = held.iter().map(|(task, run)| format!("{task} ({run})")).collect();
                let line = format!("No task is ready; other runs are working on {}.", held.join(", "));
                if line != self.busy {
                    self.line(&line);
                    self.busy = line;
                }
            }
            Notice::Waits(wait) => {
                self.task = None;
                self.reported_left = None;
                if self.run.as_ref() != Some(&wait.pause.run) {
                    let said = self.short(&wait.pause.what.said);
                    self.line(&format!("{} reported: {said}", wait.pause.run));
                }
                self.wait(wait);
            }
            Notice::StillWaits(wait) => self.wait(wait),
            Notice::UnknownModel(model) => {
                let model = self.short(model);
                self.line(&format!(
                    "The agent asked for the model {model}, which is not configured."
                ));
            }
            Notice::CompleteTooEarly => self.line("The agent reported everything complete, but it is not."),
            Notice::WillAsk => self.line("stopping the agent; you can give guidance next (Ctrl+C ends the run)"),
        }
    }

    fn already_failing(&self, baseline: &Baseline) {
        for gate in baseline.red_gates() {
            let headline = self.gate_headline(&gate);
            self.line(&format!(
                "already failing before this run: {}{headline}",
                self.short(&gate)
            ));
        }
    }
}

impl Watch for Printer<'_> {
    fn tell(&mut self, event: &RunEvent<'_>) {
        match event {
            RunEvent::Began { run } => {
                self.run = Some((*run).clone());
                self.line(&format!("{run} started."));
            }
            RunEvent::FoundLeftover {
                run, iteration, killed, ..
            } => self.found_left(run, *iteration, *killed),
            RunEvent::AlreadyFailing(baseline) => self.already_failing(baseline),
            RunEvent::GateRan(gate) => self.gate(gate),
            RunEvent::Standing(_) | RunEvent::GateBegins(_) => {}
            RunEvent::IterationBegan {
                current,
                attempt,
                prompt,
                shown,
            } => {
                self.iteration_began(current, attempt, (*prompt, *shown));
            }
            // The question is already on the terminal.
            RunEvent::AskingGuidance(_) | RunEvent::GuidanceAnswered(_) => {}
            RunEvent::Agent(event) | RunEvent::VerifierEvent(event) => self.agent(event),
            RunEvent::VerifierBegan { current, agent, .. } => {
                // This iteration may belong to a killed run.
                self.task = Some(current.task.clone());
                self.line(&format!("{} verifies the work", self.short(agent)));
            }
            RunEvent::Verified(found) => self.verified(found),
            RunEvent::Settled {
                draft,
                task,
                new_learnings,
                duration,
            } => {
                self.notes += new_learnings;
                self.settled(draft, *task, *duration);
            }
            RunEvent::WaitingForSubtasks { task, parts } => self.waits_for_subtasks(task, *parts),
            RunEvent::DoneWithSubtasks(task) => self.done_with_subtasks(task),
            RunEvent::Wrote(file) => self.wrote(file),
            RunEvent::Pruned { folders, bytes } => self.pruned(*folders, *bytes),
            RunEvent::Learned(done) => {
                // Learnings cover all tasks of the run.
                self.task = None;
                self.line(&learned(done));
            }
            RunEvent::LearnedEarlier(done) => {
                self.task = None;
                self.line(&learned_earlier(done));
            }
            RunEvent::UpkeepDone(done) => self.line(&kept_up(done)),
            RunEvent::Notice(notice) => self.notice(notice),
            RunEvent::Warning(warning) => self.context.ui.warning(warning),
            RunEvent::DiskFull(reason) => self.disk_full(reason),
            RunEvent::Locked(reason) => self.locked(reason),
            RunEvent::Unlocked => self.line("The database is unlocked again; the run continues."),
            RunEvent::DiskSpaceFreed => self.line("There is disk space again; the run continues."),
            RunEvent::KeptScratchpad(file) => {
                self.task = None;
                self.line(&format!(
                    "Moved the scratchpad to {}.",
                    self.context.project.shown(file)
                ));
            }
            RunEvent::Ended { sentence, .. } => {
                self.task = None;
                (*sentence).clone_into(&mut self.sentence);
            }
        }
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
fn shown_duration(time: Duration) -> Option<String> {
    (time >= Duration::from_secs(1)).then(|| duration(time))
}
