//! Tells a person who is not watching that a run ended, that its work needs review, or that it waits for a usage limit: by
//! their own command, and by the bell of the terminal.

use std::time::Duration;

use jiff::Timestamp;
use ralph_loop::state::{Draft, End, Notice};
use ralph_loop::{News, Watch};
use ralph_memory::capture::clean;
use ralph_model::config::{Config, Notify, WhenUnverified};
use ralph_model::{Entropy, RunId, TaskId, TaskStatus, preview, serialize_moment};
use ralph_process::{HowEnded, Input, RunLimits, Spec, StopHandle, run_to_end};
use ralph_store::PauseReason;
use serde::Serialize;

use crate::context::Context;
use crate::env;
use crate::pause_words::goes_on;
use crate::surroundings::ProgramEntropy;

/// How long the command may take: the run waits for it.
const TIME_LIMIT: Duration = Duration::from_secs(10);

/// The most characters of a sentence, and of a task's title in it.
const MOST_SENTENCE: usize = 1000;
const MOST_TITLE: usize = 80;

/// What the command reads.
#[derive(Debug, Serialize)]
struct Notification<'a> {
    #[serde(serialize_with = "serialize_moment")]
    at: Timestamp,
    project: &'a str,
    run: Option<&'a RunId>,
    #[serde(flatten)]
    event: Event<'a>,
    /// All of it, for a person.
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
        #[serde(serialize_with = "serialize_moment")]
        until: Timestamp,
    },
}

/// The first task of a run that needs review.
#[derive(Debug)]
enum Review {
    None,
    /// It is told when the run goes on: the end of a run tells of it anyway.
    ToTell(TaskId, String),
    Told,
}

/// Watches a run for whoever does not.
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
            sentence: clean(&format!("{project}: {sentence}"), MOST_SENTENCE),
        };
        if let Err(why) = self.run_command(command, &notification) {
            self.context
                .ui
                .warning(&format!("`[notify] command` failed: {}", clean(&why, MOST_SENTENCE)));
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
            HowEnded::Exited(0) => return Ok(()),
            HowEnded::Exited(code) => format!("exit code {code}"),
            HowEnded::TimedOut => format!("it took longer than {} seconds", TIME_LIMIT.as_secs()),
            HowEnded::Signalled(signal) => format!("signal {signal}"),
            HowEnded::Stopped | HowEnded::OutputLimit => "it was stopped".to_owned(),
        };
        Err(match finished.output.lines().last() {
            Some(last) => format!("{how}: {last}"),
            None => how,
        })
    }

    fn settled(&mut self, draft: &Draft, task: Option<TaskStatus>) {
        let what = match task {
            Some(TaskStatus::Failed) => "failed",
            Some(TaskStatus::Done) if draft.unverified.is_some() && self.unverified == WhenUnverified::Review => {
                "is done, unverified"
            }
            _ => return,
        };
        if matches!(self.review, Review::None) {
            let (id, title) = (&draft.current.task, preview(&draft.current.task_title, MOST_TITLE));
            let sentence = format!("Task {id} needs your review; the run goes on. \"{title}\" {what}.");
            self.review = Review::ToTell(id.clone(), sentence);
        }
    }

    fn goes_on(&mut self) {
        if let Review::ToTell(task, sentence) = &self.review {
            self.notify(Event::NeedsReview { task }, sentence);
            self.review = Review::Told;
        }
    }
}

impl Watch for Notifier<'_> {
    fn tell(&mut self, news: &News<'_>) {
        match news {
            News::Began { run } => self.run = Some((*run).clone()),
            News::Settled { draft, task, .. } => self.settled(draft, *task),
            News::IterationBegan { .. } => self.goes_on(),
            News::Notice(Notice::Waits(wait)) if wait.pause.what.reason == PauseReason::UsageLimit => {
                let sentence = goes_on(wait, self.context.clock().now());
                self.notify(Event::Waits { until: wait.until }, &sentence);
            }
            // Whoever stops a run knows of its end.
            News::Ended { end, sentence, .. } if **end != End::Interrupted => {
                self.notify(Event::RunEnded { exit_code: end.code() }, sentence);
            }
            _ => {}
        }
    }
}
