//! Notifies the user, with their own command and the terminal bell, that a run ended, needs review, or waits for a
//! usage limit.

use std::time::Duration;

use jiff::Timestamp;
use ralph_loop::state::{End, Notice, PendingSettlement};
use ralph_loop::{RunEvent, Watch};
use ralph_memory::capture::clean;
use ralph_model::config::{Config, Notify, WhenUnverified};
use ralph_model::{Entropy, RunId, TaskId, TaskStatus, preview, serialize_timestamp};
use ralph_process::{ExitReason, Input, RunLimits, Spec, StopHandle, run_to_end};
use ralph_store::PauseReason;
use serde::Serialize;

use crate::context::Context;
use crate::env;
use crate::pause_text::resume_line;
use crate::project_env::ProgramEntropy;

/// How long the command may take; the run waits for it.
const TIME_LIMIT: Duration = Duration::from_secs(10);

/// The characters of a sentence, and of a task's title in it.
const MAX_SENTENCE: usize = 1000;
const MAX_TITLE: usize = 80;

#[derive(Debug, Serialize)]
struct Notification<'a> {
    #[serde(serialize_with = "serialize_timestamp")]
    at: Timestamp,
    project: &'a str,
    run: Option<&'a RunId>,
    #[serde(flatten)]
    event: Event<'a>,
    /// The whole message, for people.
    sentence: String,
}

#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Event<'a> {
    RunEnded {
        exit_code: u8,
    },
    NeedsReview {
        task: &'a TaskId,
    },
    Waits {
        #[serde(serialize_with = "serialize_timestamp")]
        until: Timestamp,
    },
}

/// Notification about the first task of a run that needs review.
#[derive(Debug)]
enum Review {
    None,
    /// Sent when the run continues; the notification about the end of the run covers it otherwise.
    Pending(TaskId, String),
    Sent,
}

/// Watches a run and sends notifications.
pub(super) struct Notifier<'a> {
    context: &'a Context<'a>,
    how: Notify,
    unverified: WhenUnverified,
    run: Option<RunId>,
    review: Review,
}

impl<'a> Notifier<'a> {
    pub(super) fn new(context: &'a Context<'a>, config: &Config) -> Self {
        Self {
            context,
            how: config.notify.clone(),
            unverified: config.verify.unverified,
            run: None,
            review: Review::None,
        }
    }

    fn notify(&self, event: Event<'_>, sentence: &str) {
        if self.how.bell {
            self.context.ui.bell();
        }
        let Some(command) = &self.how.command else { return };
        let project = self
            .context
            .project
            .root
            .file_name()
            .unwrap_or_default()
            .to_string_lossy();
        let notification = Notification {
            at: self.context.clock().now(),
            project: &project,
            run: self.run.as_ref(),
            event,
            sentence: clean(&format!("{project}: {sentence}"), MAX_SENTENCE),
        };
        if let Err(why) = self.run_command(command, &notification) {
            self.context
                .ui
                .warning(&format!("`[notify] command` failed: {}", clean(&why, MAX_SENTENCE)));
        }
    }

    fn run_command(&self, command: &str, notification: &Notification<'_>) -> Result<(), String> {
        let line = serde_json::to_string(notification).map_err(|error| error.to_string())? + "\n";
        let spec = Spec {
            program: "sh".into(),
            arguments: vec!["-c".into(), command.into()],
            folder: self.context.project.root.clone(),
            environment: env::all(),
            stdin: Input::Whole(line.into_bytes()),
            marker: format!("notify-{:016x}", ProgramEntropy::Machine.next_bits()),
            output_limit: None,
        };
        let limits = RunLimits {
            time: Some(TIME_LIMIT),
            ..RunLimits::default()
        };
        let finished = run_to_end(spec, limits, &StopHandle::default()).map_err(|error| format!("sh: {error}"))?;
        let how = match finished.how {
            ExitReason::Exited(0) => return Ok(()),
            ExitReason::Exited(code) => format!("exit code {code}"),
            ExitReason::TimedOut => format!("it took longer than {} seconds", TIME_LIMIT.as_secs()),
            ExitReason::Signalled(signal) => format!("signal {signal}"),
            ExitReason::Stopped | ExitReason::OutputLimit => "it was stopped".to_owned(),
        };
        Err(match finished.output.lines().last() {
            Some(last) => format!("{how}: {last}"),
            None => how,
        })
    }

    fn settled(&mut self, draft: &PendingSettlement, task: Option<TaskStatus>) {
        let what = match task {
            Some(TaskStatus::Failed) => "failed",
            Some(TaskStatus::Done) if draft.unverified.is_some() && self.unverified == WhenUnverified::Review => {
                "is done but unverified"
            }
            _ => return,
        };
        if matches!(self.review, Review::None) {
            let (id, title) = (&draft.current.task, preview(&draft.current.task_title, MAX_TITLE));
            let sentence = format!("Task {id} needs your review; the run continues. \"{title}\" {what}.");
            self.review = Review::Pending(id.clone(), sentence);
        }
    }

    fn send_pending(&mut self) {
        if let Review::Pending(task, sentence) = &self.review {
            self.notify(Event::NeedsReview { task }, sentence);
            self.review = Review::Sent;
        }
    }
}

impl Watch for Notifier<'_> {
    fn tell(&mut self, event: &RunEvent<'_>) {
        match event {
            RunEvent::Began(began) => self.run = Some(began.run.clone()),
            RunEvent::Settled(settled) => self.settled(settled.draft, settled.task),
            RunEvent::IterationBegan(_) => self.send_pending(),
            RunEvent::Notice(Notice::Waits(wait)) if wait.pause.what.reason == PauseReason::UsageLimit => {
                let sentence = resume_line(wait, self.context.clock().now());
                self.notify(Event::Waits { until: wait.until }, &sentence);
            }
            // A user who stops a run needs no notification.
            RunEvent::Ended(ended) if *ended.end != End::Interrupted => {
                let exit_code = ended.exit_code;
                self.notify(Event::RunEnded { exit_code }, ended.sentence);
            }
            _ => {}
        }
    }
}
