//! What a person sees of a run: a line for each thing that happens, and a summary at the end.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use jiff::tz::TimeZone;
use ralph_agent::TurnEvent;
use ralph_loop::gates::{GateEnd, GateResult};
use ralph_loop::state::{Current, Draft, End, Notice, PauseWait};
use ralph_loop::{News, Verification, Watch};
use ralph_memory::inject::prompt::AttemptNumber;
use ralph_model::{
    AuthorKind, Outcome, RunId, StopReason, Task, TaskId, TaskKind, TaskStatus, Tokens, Usage, Verdict, count,
    duration, first_line, gist_of, preview, size,
};
use ralph_store::{AgentNote, NoteAction, Store, StoreError, Wait};

use crate::context::Context;
use crate::denied;
use crate::error::CommandError;
use crate::pause_words::countdown;
use crate::ui::Line;

use super::guard::PAUSED_BY_LOCK;
use super::live::Live;
use super::upkeep_words::{kept_up, learned, learned_earlier};

/// How many columns of a text stand on a line, at most and at least.
const MOST_COLUMNS: usize = 100;
const LEAST_COLUMNS: usize = 20;
/// The columns of the time and the task at the beginning of a line, and of a few words.
const BEGINNING: usize = 34;
/// How many columns of a reason are shown: it may take several lines.
const REASON_COLUMNS: usize = 300;

/// How often a wait is told of where nobody watches.
const TELL_EVERY: Duration = Duration::from_mins(10);

/// How many characters of a commit's id are shown, as git does.
const SHORT_COMMIT: usize = 7;

/// Prints a run.
pub(super) struct Printer<'a> {
    context: &'a Context<'a>,
    /// The command that goes on with the same.
    again: String,
    columns: usize,
    run: Option<RunId>,
    task: Option<TaskId>,
    /// How much was left of a wait when a line last told of it.
    told_left: Option<Duration>,
    /// Whether a view counts waits down.
    has_view: bool,
    /// The model that was told last: it is told again when it changes.
    model: Option<String>,
    /// The size of a prompt that was told last.
    prompt: Option<Tokens>,
    /// What was said last of the tasks that others hold: a wait looks every few seconds.
    busy: String,
    iterations: u32,
    /// How many of them were rounds of a prompt loop.
    rounds: u32,
    done: BTreeSet<TaskId>,
    failed: BTreeSet<TaskId>,
    /// How many of the done ones need review, as the database says at the end.
    unverified: usize,
    /// What the red gates said last, each with its command.
    red: BTreeMap<String, String>,
    /// The gates that failed when work was accepted last.
    still_failing: Vec<String>,
    /// How it ended.
    sentence: String,
    notes: usize,
    spent: Usage,
    time: Duration,
}

/// How many notes of the agent the last lines of a run list.
const MOST_STORED: usize = 10;

/// What the agents of a run stored with commands; nothing where that cannot be read.
pub(super) fn agent_notes(context: &Context<'_>, run: Option<&RunId>) -> Vec<AgentNote> {
    let store = context.facts().ok().flatten();
    let notes = store.zip(run).map(|(store, run)| store.notes_by_agents(run));
    notes.and_then(Result::ok).unwrap_or_default()
}

impl<'a> Printer<'a> {
    pub(super) fn new(context: &'a Context<'a>, again: String, live: Option<&Live>) -> Self {
        let room = context.ui.width().saturating_sub(BEGINNING);
        Self {
            context,
            again,
            columns: room.clamp(LEAST_COLUMNS, MOST_COLUMNS),
            run: None,
            task: None,
            told_left: None,
            has_view: live.is_some(),
            model: None,
            busy: String::new(),
            prompt: None,
            iterations: 0,
            rounds: 0,
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

    /// The last lines: how it ended, what it did, and what to do now. An error is for whoever called to tell.
    pub(super) fn close(&mut self, end: &End) -> Result<(), CommandError> {
        let ui = self.context.ui;
        let mut lines = Vec::new();
        let counted = match (self.count_again(), end) {
            // The database is what went wrong.
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
        let still_failing = |gate: &String| format!("Still failing, as before the run: {gate}{}", self.words_of(gate));
        lines.extend(self.still_failing.iter().map(still_failing));
        let lines: Vec<Line> = lines.into_iter().map(|line| (None, line)).collect();
        ui.lines(&lines)?;
        if !self.failed.is_empty() && !matches!(end, End::LeftForPerson(_)) {
            ui.hint("`ralph review` shows what has failed, and why.");
        }
        match end {
            End::NothingToDo => {
                ui.hint("`ralph task add \"TITLE\"` makes a task, `ralph run \"TEXT\"` makes one and runs it.");
            }
            End::LeftForPerson(standing) if standing.failed + standing.waiting + standing.open > 0 => {
                ui.hint("`ralph review` shows what waits for you, and why; `ralph task reset ID` lets a task be tried again.");
            }
            End::LeftForPerson(standing) if standing.unverified.no_evidence > 0 => ui.hint(
                "A gate that passes (`[verify] commands` in .ralph.toml) or a verifier confirms finished work.",
            ),
            End::LeftForPerson(_) => {}
            End::Limit(limit) => {
                let anew = match limit.key {
                    // A flag stands in the command itself.
                    "iterations" if self.again.contains(" --limit ") => String::new(),
                    "" => String::new(),
                    key => format!(" and counts anew; `[limits] {key}` in .ralph.toml sets how far"),
                };
                ui.hint(&format!("`{}` goes on{anew}.", self.again));
            }
            End::NoProgress(_) => ui.hint(&format!(
                "`ralph journal list` shows what was tried. Say more in the task, or mend what is in its way; then `{}` goes \
                 on. `[limits] no_progress = 0` in .ralph.toml lets it go on for ever.",
                self.again
            )),
            End::Interrupted | End::FailurePromise | End::AsWished(_) => ui.hint(&format!("`{}` goes on.", self.again)),
            End::Complete | End::Error(_) => {}
        }
        Ok(())
    }

    /// Counts only what the database says is done, unverified or failed.
    fn count_again(&mut self) -> Result<(), StoreError> {
        if self.done.is_empty() && self.failed.is_empty() {
            return Ok(());
        }
        let store = Store::open_to_read(&self.context.project.database(), Wait::Long)?;
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

    /// What the agents of the run stored with commands. Where that cannot be read, nothing is said.
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

    /// How many changes and tasks the agents of the run proposed that a person has not decided about.
    fn proposed_by_agent(&self) -> u32 {
        let store = self.context.facts().ok().flatten();
        let proposed = store.zip(self.run.as_ref()).map(|(store, run)| store.proposed_in(run));
        proposed.and_then(Result::ok).unwrap_or_default()
    }

    fn summary(&self) -> String {
        let only_rounds = self.rounds == self.iterations;
        let mut parts = Vec::new();
        match self.done.len() {
            0 if only_rounds => {}
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
        parts.extend(worth_telling(self.time));
        let iterations = match self.iterations as usize {
            rounds if only_rounds => count(rounds, "round", "rounds"),
            iterations => count(iterations, "iteration", "iterations"),
        };
        match parts.as_slice() {
            [] => iterations,
            parts => format!("{iterations}: {}", parts.join(", ")),
        }
    }

    /// Says a line. What agents say stands in many of them, and a terminal must not obey it.
    fn line(&self, text: &str) {
        let now = self.context.clock().now().to_zoned(TimeZone::system());
        let task = self.task.as_ref().map(|task| format!("[{task}] ")).unwrap_or_default();
        let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        self.context
            .ui
            .status(&format!("{} {task}{text}", now.strftime("%H:%M:%S")));
    }

    /// A text as far as there is room for it, without control characters.
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

    /// What a red gate said, ready to follow its command.
    fn words_of(&self, gate: &str) -> String {
        let words = self.red.get(gate).filter(|words| !words.is_empty());
        words
            .map(|words| format!(": {}", self.short(words)))
            .unwrap_or_default()
    }

    fn gate(&mut self, gate: &GateResult) {
        if !gate.is_green() {
            self.red.insert(gate.command.clone(), gate.gist());
        }
        let time = worth_telling(Duration::from_millis(gate.duration_ms));
        let time = time.map(|time| format!(" ({time})")).unwrap_or_default();
        let how = match &gate.end {
            GateEnd::Passed => "passed".to_owned(),
            GateEnd::Failed(status) | GateEnd::Broken(status) => format!("failed ({status})"),
            GateEnd::NotStarted(status) => format!("could not be started ({status})"),
            GateEnd::TimedOut => "took longer than `[verify] timeout` allows".to_owned(),
            GateEnd::Stopped => "was broken off".to_owned(),
        };
        self.line(&format!("gate {how}: {}{time}", self.short(&gate.command)));
    }

    /// What the verifier found. Why it refused, came to no word or has none that counts is told with what becomes of the iteration.
    fn verified(&self, found: &Verification) {
        let how = match &found.verdict {
            Some(Verdict::Pass) if found.passes() => "passed",
            Some(Verdict::Pass) => "passed, which does not count",
            Some(Verdict::Fail(_)) => "refused",
            None => "came to no verdict",
        };
        let time = worth_telling(Duration::from_millis(found.duration_ms));
        let time = time.map(|time| format!(" ({time})")).unwrap_or_default();
        self.line(&format!("verifier {how}{time}"));
    }

    fn settled(&mut self, draft: &Draft, task: Option<TaskStatus>, time: Duration) {
        let (ruling, turn) = (&draft.ruling, &draft.turn);
        // It may be that of a run that was killed.
        self.task = Some(draft.current.task.clone());
        self.iterations += 1;
        self.rounds += u32::from(draft.current.kind == TaskKind::PromptLoop);
        self.time += time;
        self.spent.cost_usd += draft.usage().cost_usd;
        if ruling.outcome == Outcome::Done {
            let red = draft.gates.iter().filter(|gate| !gate.is_green());
            self.still_failing = red.map(|gate| gate.command.clone()).collect();
        }
        self.counts(&draft.current.task, task);
        let mut details = Vec::new();
        if !draft.files.is_empty() {
            details.push(format!("{} changed", count(draft.files.len(), "file", "files")));
        }
        details.extend(worth_telling(time));
        let details = match details.as_slice() {
            [] => String::new(),
            some => format!(" ({})", some.join(", ")),
        };
        let reason = match ruling.outcome {
            Outcome::Done => preview(&ruling.reason, REASON_COLUMNS),
            _ => preview(&headline(&ruling.reason), REASON_COLUMNS),
        };
        let colon = if reason.is_empty() { "" } else { ": " };
        let committed = match &draft.commit {
            Some(Ok(commit)) => format!(", committed {}", commit.chars().take(SHORT_COMMIT).collect::<String>()),
            _ => String::new(),
        };
        self.line(&format!("{}{committed}{colon}{reason}{details}", ruling.outcome));
        if turn.guidance.is_some() {
            self.line("noted: your guidance stands in the task and in the journal");
        }
        if let Some(unverified) = &draft.unverified {
            self.line(&format!("unverified: {}", unverified.words()));
        }
        // The first of them is the reason already when it kept the agent from its task.
        let told = usize::from(ruling.stop == StopReason::PermissionDenied);
        for denial in turn.denials.iter().skip(told) {
            self.line(&format!("denied: {}", denied::line(denial)));
        }
        if task == Some(TaskStatus::Failed) {
            self.line("It is left for you: all attempts are used up.");
        }
        if task.is_none() {
            self.line("The task was no longer this run's; what it did stands in the journal.");
        }
    }

    /// Counts a task as what it is now: one that has failed may have been reset since.
    fn counts(&mut self, task: &TaskId, status: Option<TaskStatus>) {
        let Some(status) = status else { return };
        self.failed.remove(task);
        match status {
            TaskStatus::Done => drop(self.done.insert(task.clone())),
            TaskStatus::Failed => drop(self.failed.insert(task.clone())),
            _ => {}
        }
    }

    fn waits_for_parts(&mut self, task: &TaskId, parts: usize) {
        self.task = Some(task.clone());
        let parts = count(parts, "part", "parts");
        self.line(&format!("It was split, and waits for its {parts}."));
    }

    fn done_with_parts(&mut self, task: &TaskId) {
        self.task = Some(task.clone());
        self.done.insert(task.clone());
        self.line("done: all its parts are");
    }

    /// Counts a wait down, now and then. Where somebody sees every second of it, it is told once.
    fn wait(&mut self, wait: &PauseWait) {
        let is_time = |told: Duration| !self.has_view && told.saturating_sub(wait.left) >= TELL_EVERY;
        if self.told_left.is_none_or(is_time) {
            self.line(&countdown(wait, self.context.clock().now()));
            self.told_left = Some(wait.left);
        }
    }

    fn locked(&self, reason: &str) {
        self.context.ui.warning(&format!("{reason}. {PAUSED_BY_LOCK}"));
    }

    fn no_room(&self, reason: &str) {
        let paused = "The run is paused and goes on by itself when there is room; Ctrl+C stops it.";
        self.context.ui.warning(&format!("{reason}. {paused}"));
    }

    /// Says that an agent is started, for what, and with what.
    fn begins(&mut self, current: &Current, attempt: &AttemptNumber, (prompt, shown): (Tokens, usize)) {
        self.task = Some(current.task.clone());
        let title = self.short(&current.task_title);
        let attempt = match (current.kind, attempt.number) {
            (TaskKind::Once, again @ 2..) => format!(", attempt {again} of {}", attempt.of),
            _ => String::new(),
        };
        self.line(&format!("iteration {}{attempt}: {title}", current.iteration));
        let memory = match shown {
            0 => "nothing of it from memory".to_owned(),
            some => format!("with {} of memory", count(some, "entry", "entries")),
        };
        if is_news(self.prompt, prompt) {
            self.line(&format!("prompt: {prompt} tokens, {memory}"));
            self.prompt = Some(prompt);
        }
        if let Some(model) = &current.model {
            // The figures in the reason change all the time.
            if self.model.as_ref() != Some(model) {
                self.line(&format!("model: {} ({})", self.short(model), current.rationale));
                self.model = Some(model.clone());
            }
        }
    }

    fn found_left(&self, run: &RunId, iteration: u32, killed: usize) {
        self.line(&format!(
            "{run} was killed in its iteration {iteration}; that is settled first."
        ));
        if killed > 0 {
            self.line(&format!("{} of it ended.", count(killed, "process", "processes")));
        }
    }

    fn wrote(&mut self, file: &Path) {
        self.notes += 1;
        self.line(&format!("noted: {}", self.context.project.shown(file)));
    }

    fn pruned(&self, folders: u64, bytes: u64) {
        let folders = usize::try_from(folders).unwrap_or(usize::MAX);
        let folders = count(folders, "old iteration", "old iterations");
        self.line(&format!("The folders of {folders} are removed ({}).", size(bytes)));
    }

    fn notice(&mut self, notice: &Notice) {
        match notice {
            Notice::Busy(held) => {
                self.task = None;
                let held: Vec<String> = held.iter().map(|(task, run)| format!("{task} ({run})")).collect();
                let line = format!("No task is ready; other runs work on {}.", held.join(", "));
                if line != self.busy {
                    self.line(&line);
                    self.busy = line;
                }
            }
            Notice::Waits(wait) => {
                self.task = None;
                self.told_left = None;
                if self.run.as_ref() != Some(&wait.pause.run) {
                    let said = self.short(&wait.pause.what.said);
                    self.line(&format!("{} found: {said}", wait.pause.run));
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
            Notice::CompleteTooEarly => self.line("The agent said that everything is complete, and it is not."),
            Notice::WillAsk => self.line("stopping the agent; you are asked next (Ctrl+C: end the run)"),
        }
    }
}

impl Watch for Printer<'_> {
    fn tell(&mut self, news: &News<'_>) {
        match news {
            News::Began { run } => {
                self.run = Some((*run).clone());
                self.line(&format!("{run} begins."));
            }
            News::FoundLeft {
                run, iteration, killed, ..
            } => self.found_left(run, *iteration, *killed),
            News::RedFromTheStart(baseline) => {
                for gate in baseline.red_gates() {
                    let words = self.words_of(&gate);
                    self.line(&format!("red before anything was done: {}{words}", self.short(&gate)));
                }
            }
            News::GateRan(gate) => self.gate(gate),
            News::Standing(_) | News::GateBegins(_) => {}
            News::IterationBegan {
                current,
                attempt,
                prompt,
                shown,
            } => {
                self.begins(current, attempt, (*prompt, *shown));
            }
            // What is asked stands on the terminal already.
            News::Asks(_) | News::Answered(_) => {}
            News::Agent(event) | News::VerifierDid(event) => self.agent(event),
            News::VerifierBegan { current, agent, .. } => {
                // It may be that of a run that was killed.
                self.task = Some(current.task.clone());
                self.line(&format!("{} looks at the work", self.short(agent)));
            }
            News::Verified(found) => self.verified(found),
            News::Settled {
                draft,
                task,
                new_lessons,
                duration,
            } => {
                self.notes += new_lessons;
                self.settled(draft, *task, *duration);
            }
            News::WaitsForParts { task, parts } => self.waits_for_parts(task, *parts),
            News::DoneWithParts(task) => self.done_with_parts(task),
            News::Wrote(file) => self.wrote(file),
            News::Pruned { folders, bytes } => self.pruned(*folders, *bytes),
            News::Learned(done) => {
                // It is of all tasks of the run.
                self.task = None;
                self.line(&learned(done));
            }
            News::LearnedEarlier(done) => {
                self.task = None;
                self.line(&learned_earlier(done));
            }
            News::KeptUp(done) => self.line(&kept_up(done)),
            News::Notice(notice) => self.notice(notice),
            News::Warning(warning) => self.context.ui.warning(warning),
            News::NoRoom(reason) => self.no_room(reason),
            News::Locked(reason) => self.locked(reason),
            News::Unlocked => self.line("The database is free again; the run goes on."),
            News::RoomAgain => self.line("There is room again; the run goes on."),
            News::KeptScratchpad(file) => {
                self.task = None;
                self.line(&format!("The scratchpad is now {}.", self.context.project.shown(file)));
            }
            News::Ended { sentence, .. } => {
                self.task = None;
                (*sentence).clone_into(&mut self.sentence);
            }
        }
    }
}

/// A reason on one line: its first. Where that only leads up to what a gate said, which was named just before, what the gate
/// said most of all stands in its place.
fn headline(reason: &str) -> String {
    let (first, printed) = reason.split_once('\n').unwrap_or((reason, ""));
    match first.strip_suffix(':').filter(|_| !printed.trim().is_empty()) {
        Some(leads) => {
            let before = leads.split("The gate `").next().unwrap_or_default();
            format!("{before}{}", gist_of(printed))
        }
        None => first.to_owned(),
    }
}

/// Whether the size of a prompt is worth telling: the first, and one that is half as large again or smaller by as much.
fn is_news(told: Option<Tokens>, size: Tokens) -> bool {
    told.is_none_or(|told| {
        let (small, large) = (told.0.min(size.0), told.0.max(size.0));
        large > small.saturating_add(small / 2)
    })
}

/// A duration; none when nobody would notice it.
fn worth_telling(time: Duration) -> Option<String> {
    (time >= Duration::from_secs(1)).then(|| duration(time))
}
