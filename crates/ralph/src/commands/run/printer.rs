//! What a person sees of a run: a line for each thing that happens, and a summary at the end.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::tz::TimeZone;
use ralph_agent::TurnEvent;
use ralph_loop::gates::{GateEnd, GateResult};
use ralph_loop::state::{Draft, End, Notice, WaitReason};
use ralph_loop::{News, Watch};
use ralph_model::{Outcome, TaskId, TaskStatus, Usage, count, first_line, preview};

use crate::context::Context;
use crate::error::CommandError;

/// How many columns of a text stand on a line.
const COLUMNS: usize = 100;

/// Prints a run.
pub(super) struct Printer<'a> {
    context: &'a Context<'a>,
    task: Option<TaskId>,
    iterations: u32,
    done: BTreeSet<TaskId>,
    failed: BTreeSet<TaskId>,
    notes: usize,
    spent: Usage,
    time: Duration,
}

impl<'a> Printer<'a> {
    pub(super) fn new(context: &'a Context<'a>) -> Self {
        Self {
            context,
            task: None,
            iterations: 0,
            done: BTreeSet::new(),
            failed: BTreeSet::new(),
            notes: 0,
            spent: Usage::default(),
            time: Duration::ZERO,
        }
    }

    /// The last lines: how it ended, what it did, and what to do now.
    pub(super) fn close(&self, end: &End) -> Result<(), CommandError> {
        let ui = self.context.ui;
        ui.data(&format!("{}\n", end.sentence()))?;
        if self.iterations > 0 {
            let mut parts = vec![count(self.iterations as usize, "iteration", "iterations")];
            parts.push(format!("{} done", self.done.len()));
            parts.push(format!("{} failed", self.failed.len()));
            if self.notes > 0 {
                parts.push(count(self.notes, "note", "notes"));
            }
            if self.spent.cost_usd > 0.0 {
                parts.push(format!("${:.2}", self.spent.cost_usd));
            }
            parts.push(duration(self.time));
            ui.data(&format!("{}\n", parts.join(", ")))?;
        }
        match end {
            End::NothingToDo => {
                ui.hint("`ralph task add \"TITLE\"` makes a task, `ralph run \"TEXT\"` makes one and runs it.");
            }
            End::LeftForPerson(_) | End::FailurePromise => {
                ui.hint("`ralph status` shows what waits for you; `ralph task reset ID` lets one be tried again.");
            }
            End::Limit(_) | End::Interrupted => ui.hint("`ralph run` goes on."),
            End::Complete | End::Error(_) => {}
        }
        Ok(())
    }

    fn line(&self, text: &str) {
        let now = self.context.clock().now().to_zoned(TimeZone::system());
        let task = self.task.as_ref().map(|task| format!("[{task}] ")).unwrap_or_default();
        self.context
            .ui
            .status(&format!("{} {task}{text}", now.strftime("%H:%M:%S")));
    }

    fn agent(&self, event: &TurnEvent) {
        if let TurnEvent::Tool { name, about } = event {
            let about = preview(first_line(about), COLUMNS);
            self.line(&format!("  {name} {about}"));
        }
    }

    fn gate(&self, gate: &GateResult) {
        let time = duration(Duration::from_millis(gate.duration_ms));
        let how = match &gate.end {
            GateEnd::Passed => "passed".to_owned(),
            GateEnd::Failed(status) | GateEnd::Broken(status) => format!("failed ({status})"),
            GateEnd::TimedOut => "took too long".to_owned(),
            GateEnd::Stopped => "was broken off".to_owned(),
        };
        self.line(&format!("gate {how}: {} ({time})", preview(&gate.command, COLUMNS)));
    }

    fn settled(&mut self, draft: &Draft, task: Option<TaskStatus>, time: Duration) {
        let (ruling, turn) = (&draft.ruling, &draft.turn);
        self.iterations += 1;
        self.time += time;
        self.spent.cost_usd += turn.usage.cost_usd;
        self.notes += turn.captured.knowledge.len() + turn.captured.learnings.len();
        match task {
            Some(TaskStatus::Done) => drop(self.done.insert(draft.current.task.clone())),
            Some(TaskStatus::Failed) => drop(self.failed.insert(draft.current.task.clone())),
            _ => {}
        }
        let files = match draft.files.len() {
            0 => "no files".to_owned(),
            some => count(some, "file", "files"),
        };
        let reason = preview(first_line(&ruling.reason), COLUMNS);
        let colon = if reason.is_empty() { "" } else { ": " };
        let took = duration(time);
        self.line(&format!("{}{colon}{reason} ({files} changed, {took})", ruling.outcome));
        if draft.changed_nothing && ruling.outcome == Outcome::Done {
            self.line("The agent said that it is done, and nothing has changed on disk.");
        }
        for denial in &turn.denials {
            let permit = denial.permit.as_deref().map(|line| format!("; to permit it: {line}"));
            let about = preview(first_line(&denial.about), COLUMNS);
            self.line(&format!(
                "not allowed: {} {about}{}",
                denial.tool,
                permit.unwrap_or_default()
            ));
        }
        if task == Some(TaskStatus::Failed) {
            self.line("It is left for you: all attempts are used up.");
        }
        if task.is_none() {
            self.line("The task was no longer this run's; what it did stands in the journal.");
        }
    }

    fn notice(&self, notice: &Notice) {
        match notice {
            Notice::Busy(held) => {
                let held: Vec<String> = held.iter().map(|(task, run)| format!("{task} ({run})")).collect();
                self.line(&format!("No task is ready; other runs work on {}.", held.join(", ")));
            }
            Notice::Waits { time, reason } => {
                let why = match reason {
                    WaitReason::Busy => return,
                    WaitReason::Transient => "the service failed for a moment",
                    WaitReason::UsageLimit => "the usage limit is reached",
                };
                self.line(&format!("Waiting for {}: {why}.", duration(*time)));
            }
            Notice::UnknownModel(model) => {
                let model = preview(model, COLUMNS);
                self.line(&format!(
                    "The agent asked for the model {model}, which is not configured."
                ));
            }
            Notice::CompleteTooEarly => self.line("The agent said that everything is complete, and it is not."),
        }
    }
}

impl Watch for Printer<'_> {
    fn tell(&mut self, news: &News<'_>) {
        match news {
            News::Began { run } => self.line(&format!("{run} begins.")),
            News::FoundLeft {
                run, iteration, killed, ..
            } => {
                self.line(&format!(
                    "{run} was killed in iteration {iteration}, which is settled now."
                ));
                if *killed > 0 {
                    self.line(&format!("{} of it ended.", count(*killed, "process", "processes")));
                }
            }
            News::RedFromTheStart(baseline) => {
                for gate in baseline.red_gates() {
                    self.line(&format!("red before anything was done: {gate}"));
                }
            }
            News::GateRan(gate) => self.gate(gate),
            News::IterationBegan { current, prompt, shown } => {
                self.task = Some(current.task.clone());
                let title = preview(&current.task_title, COLUMNS);
                self.line(&format!("iteration {}: {title}", current.iteration));
                let model = current.model.as_deref().unwrap_or("the agent's own");
                let entries = count(*shown, "entry", "entries");
                let why = &current.rationale;
                self.line(&format!(
                    "model: {model} ({why}); prompt: {prompt} tokens, {entries} of memory"
                ));
            }
            News::Agent(event) => self.agent(event),
            News::Settled { draft, task, duration } => self.settled(draft, *task, *duration),
            News::Wrote(file) => self.line(&format!("noted: {}", self.context.project.shown(file))),
            News::Notice(notice) => self.notice(notice),
            News::Warning(warning) => self.context.ui.warning(warning),
            News::Ended { .. } => self.task = None,
        }
    }
}

/// A duration as people say it.
pub(crate) fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..10 => format!("{:.1} s", time.as_secs_f64()),
        10..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", seconds / 3600, seconds % 3600 / 60),
    }
}
