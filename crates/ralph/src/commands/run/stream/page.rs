//! The page that describes the events, with an example of each that the same types write.

use jiff::{SignedDuration, Timestamp};
use ralph_model::config::Limits;
use ralph_model::{AuthorKind, Evidence, Extraction, Outcome, RunId, StopReason, TaskId, TaskKind, TaskStatus, Usage};

use super::{AgentNoted, Denied, Event, Held, IterationBegan, LimitsSet, Line, RunBegan, Settled, Verified, Wait};

const INTRODUCTION: &str = "# Events

Generated from the code by `cargo xtask gen`.

`ralph run --json` prints one JSON object a line on standard output, each as soon as it happens. What a person reads stands
on standard error, as without `--json`. Every object has `event`, the word for what happened, and `at`, the time in UTC;
from the beginning of the run on also `run`, its id. Fields may be added, so ignore those that you do not know; none is
renamed or taken away. What is not known is `null`. Secrets are masked.

The last line is `run_ended`, `nothing_began` or `error`, with the `exit_code` of the command. When nobody reads any more,
the run goes on in silence: stop it with a signal, as any run. Read on as long as the run lasts: what cannot be printed, because
the pipe is full and nobody empties it, holds the run up. After a second Ctrl+C, or when it is killed, the lines just end.
";

const NOTIFICATIONS: &str = r#"
# Notifications

`[notify] command` gets one JSON object on standard input when a run ends (`run_ended`, with `exit_code`), when the first task
of a run needs review and the run goes on (`needs_review`, with `task`), and when it waits for a usage limit (`waits`, with
`until`). Each has `event`, `at`, `project`, `run` and `sentence`. A run that you stop yourself tells nobody. The command runs
in a shell in the project's folder, for 10 seconds at most; one that fails is a warning.

```toml
[notify]                                   # one of these, in .ralph.toml or in your own configuration
command = 'notify-send ralph "$(jq -r .sentence)"'                                   # the desktop
command = 'jq -r .sentence | curl -sSf -d @- https://ntfy.sh/TOPIC'                  # ntfy
command = 'jq "{text: .sentence}" | curl -sSf --json @- https://hooks.slack.com/services/ID'   # Slack
bell = true                                # rings the bell of the terminal as well
```
"#;

/// The page.
pub(crate) fn page() -> String {
    let mut page = INTRODUCTION.to_owned();
    let (run, task) = (RunId::new(0x1a2b_3c4d), TaskId::new(0x1a2b3c));
    with_examples(&run, &task, &mut |event| {
        let (word, about) = described(&event);
        let has_run = !matches!(event, Event::NothingBegan { .. } | Event::Error { .. });
        let line = Line {
            at: Timestamp::UNIX_EPOCH + SignedDuration::from_hours(24 * 365 * 57),
            run: has_run.then_some(&run),
            event,
        };
        let example = serde_json::to_string_pretty(&line).unwrap_or_default();
        page.push_str(&format!("\n## `{word}`\n\n{about}\n\n```json\n{example}\n```\n"));
    });
    page.push_str(NOTIFICATIONS);
    page
}

/// The word for an event, and what it means.
#[expect(
    clippy::too_many_lines,
    reason = "every event has its sentence, and they are read together"
)]
fn described(event: &Event<'_>) -> (&'static str, &'static str) {
    match event {
        Event::RunBegan(_) => (
            "run_began",
            "The run begins. `permissions` is what the agent may do without asking, null where its command decides. `verifier` is the agent that looks at finished work, null where nobody does. `limits` are null where there is none.",
        ),
        Event::FoundLeft { .. } => (
            "found_left",
            "A run that was killed left an iteration, which is settled now; so many of its processes were still there and are not any more.",
        ),
        Event::RedFromTheStart { .. } => ("red_from_the_start", "These gates are red before anything was done."),
        Event::GateRan { .. } => (
            "gate_ran",
            "A gate has spoken. `result` is `passed`, `failed`, `broken`, `timed_out` or `stopped`; `output` is its beginning and its end.",
        ),
        Event::IterationBegan(_) => (
            "iteration_began",
            "An agent is started. `attempt` of `attempts` counts those that failed before; `notes_shown` are the notes and journal rows in its prompt; `folder` holds prompt, transcript and difference. `kind` is `once` or `prompt_loop`.",
        ),
        Event::Text { .. } => (
            "text",
            "The agent says something. Of a long text the beginning is told, and how many bytes are not; the transcript has more.",
        ),
        Event::Tool { .. } => ("tool", "The agent uses a tool."),
        Event::Usage(_) => (
            "usage",
            "What the agent has used so far in this iteration, as it counts itself; null where it does not say.",
        ),
        Event::VerifierBegan { .. } => (
            "verifier_began",
            "The gates let the work pass, and a session is started that looks at it and changes nothing. `folder` holds its prompt and its transcript.",
        ),
        Event::VerifierText { .. } => ("verifier_text", "The verifier says something, as `text`."),
        Event::VerifierTool { .. } => ("verifier_tool", "The verifier uses a tool."),
        Event::VerifierUsage(_) => (
            "verifier_usage",
            "What the verifier has used so far, as it counts itself.",
        ),
        Event::Verified(_) => (
            "verified",
            "The verifier's session is over. `verdict` is `pass`, `fail` or null where it came to none; `passes` whether the work is taken as done, which it is not where something changed meanwhile: `changed_files` names that, branches and tags among it.",
        ),
        Event::Settled(_) => (
            "settled",
            "The iteration is settled. `iteration_run` is another run than `run` where that was killed. `task_status` is null when the task was no longer this run's. `commit` is the commit that was made, `commit_error` why there is none. `guidance` is what the person said who stopped it at a terminal; with `--json` nobody is asked, so it is another run's.",
        ),
        Event::WaitsForParts { .. } => (
            "waits_for_parts",
            "The task of that iteration was split: so many of its parts are to be done now.",
        ),
        Event::DoneWithParts { .. } => (
            "done_with_parts",
            "A task that was split is done, as all its parts are.",
        ),
        Event::WroteNote { .. } => ("wrote_note", "A knowledge entry of the agent was written."),
        Event::KeptScratchpad { .. } => (
            "kept_scratchpad",
            "Everything is done, and the scratchpad was moved to the folder of the run.",
        ),
        Event::Pruned { .. } => ("pruned", "Folders of old iterations were removed."),
        Event::Learned(_) => (
            "learned",
            "Lessons were drawn from the run: how many, how many of them can be true and how many cannot, how many hold from now on or are surer, and how many were left out, because their run had taught them already or a person had rejected them.",
        ),
        Event::LearnedEarlier(_) => (
            "learned_earlier",
            "The same of earlier runs that nothing had been drawn from yet, because they were killed or an older version ran them, all together.",
        ),
        Event::KeptUp { .. } => (
            "kept_up",
            "Learnings were merged or pruned, or old reports shortened. `ralph learnings restore` brings the learnings back.",
        ),
        Event::Busy { .. } => (
            "busy",
            "No task is ready, but other runs hold some; the run waits for them. Told again when these are others.",
        ),
        Event::Waits(_) => (
            "waits",
            "The run waits from now on. `reason` is `transient` (the service failed for a moment) or `usage_limit`, `message` what the agent said of it.",
        ),
        Event::StillWaits(_) => ("still_waits", "The run still waits; told about twice a minute."),
        Event::UnknownModel { .. } => ("unknown_model", "The agent asked for a model that is not configured."),
        Event::CompleteTooEarly => (
            "complete_too_early",
            "The agent said that everything is complete, and it is not.",
        ),
        Event::PausedForRoom { .. } => (
            "paused_for_room",
            "The disk is full: the run is paused until there is room. An agent that works goes on.",
        ),
        Event::PausedForLock { .. } => (
            "paused_for_lock",
            "Another process keeps the database locked: the run is paused until it is free. An agent that works goes on.",
        ),
        Event::GoesOn => ("goes_on", "The run was paused, and goes on."),
        Event::Warning { .. } => ("warning", "Something went wrong that does not end the run."),
        Event::RunEnded { .. } => (
            "run_ended",
            "The run is over. `end` is `complete`, `nothing_to_do`, `left_for_person`, `limit`, `no_progress`, `failure_promise`, `as_wished` (a person wished that it ends after an iteration), `interrupted` or `error`. `limit` is the key in `[limits]` that ended it, `again` the command that goes on with what is left. `agent_notes` lists the notes that the agent stored or changed with commands, by id, and with the author `unknown` those whose files were edited directly meanwhile.",
        ),
        Event::NothingBegan { .. } => (
            "nothing_began",
            "What was asked for is done already, or cannot be begun; there is no run.",
        ),
        Event::Error { .. } => (
            "error",
            "The command failed before a run began, or could not keep a record of it.",
        ),
    }
}

fn with_examples(run: &RunId, task: &TaskId, tell: &mut dyn FnMut(Event<'_>)) {
    tell(Event::RunBegan(&RunBegan {
        agent: "claude".to_owned(),
        goal: "all tasks".to_owned(),
        permissions: Some("edit".to_owned()),
        gates: vec!["cargo test".to_owned()],
        verifier: Some("claude".to_owned()),
        limits: LimitsSet::from(Limits::default()),
        worktree: String::new(),
        branch: Some("main".to_owned()),
        commit: Some("9fceb02d0ae598e95dc970b74767f19372d61af8".to_owned()),
        pid: 4711,
    }));
    tell(Event::FoundLeft {
        left_run: run,
        iteration: 3,
        processes_ended: 1,
    });
    tell(Event::RedFromTheStart {
        gates: vec!["cargo test".to_owned()],
    });
    tell(Event::IterationBegan(IterationBegan {
        iteration: 1,
        task,
        title: "Mend the login page",
        kind: TaskKind::Once,
        attempt: 1,
        attempts: 4,
        model: Some("sonnet"),
        rationale: "the middle of the configured models",
        prompt_tokens: 2100,
        notes_shown: 7,
        folder: format!("runs/{run}/001"),
    }));
    with_examples_of_work(run, task, tell);
    with_rarer_examples(run, task, tell);
}

fn with_examples_of_work(run: &RunId, task: &TaskId, tell: &mut dyn FnMut(Event<'_>)) {
    let spent = Usage {
        cost_usd: 0.25,
        input_tokens: 12_000,
        output_tokens: 800,
    };
    tell(Event::Text {
        text: "I look at the form first.",
        left_out_bytes: 0,
    });
    tell(Event::Tool {
        name: "Edit",
        about: "src/login.rs",
    });
    tell(Event::Usage(spent));
    tell(Event::GateRan {
        command: "cargo test",
        result: "failed",
        status: Some("exit code 101"),
        output: "test login ... FAILED\n",
        duration_ms: 5300,
    });
    with_examples_of_verification(run, task, tell);
    tell(Event::Settled(Box::new(Settled {
        iteration_run: run,
        iteration: 1,
        task,
        title: "Mend the login page",
        outcome: Outcome::Retried,
        stop_reason: StopReason::TaskDone,
        reason: "The gate `cargo test` failed (exit code 101):\ntest login ... FAILED",
        guidance: None,
        task_status: Some(TaskStatus::Pending),
        files: &["src/login.rs".to_owned()],
        changed_nothing: false,
        evidence: Evidence::Gates,
        unverified: None,
        spent,
        duration_ms: 61_000,
        commit: None,
        commit_error: None,
        denied: vec![Denied {
            tool: "Bash",
            about: "cargo publish",
            permit: Some("\"Bash(cargo publish)\" in permissions.allow"),
        }],
        folder: format!("runs/{run}/001"),
    })));
}

fn with_examples_of_verification(run: &RunId, task: &TaskId, tell: &mut dyn FnMut(Event<'_>)) {
    let spent = Usage {
        cost_usd: 0.05,
        input_tokens: 6_000,
        output_tokens: 200,
    };
    tell(Event::VerifierBegan {
        agent: "claude",
        iteration: 1,
        task,
        prompt_tokens: 900,
        folder: format!("runs/{run}/001/verify"),
    });
    tell(Event::VerifierText {
        text: "I look at the test first.",
        left_out_bytes: 0,
    });
    tell(Event::VerifierTool {
        name: "Read",
        about: "src/login.rs",
    });
    tell(Event::VerifierUsage(spent));
    tell(Event::Verified(Verified {
        agent: "claude",
        passes: false,
        verdict: Some("fail"),
        reason: Some("The test of an empty password is gone."),
        changed_files: &[],
        spent,
        duration_ms: 12_000,
    }));
}

fn with_rarer_examples(run: &RunId, task: &TaskId, tell: &mut dyn FnMut(Event<'_>)) {
    tell(Event::WaitsForParts { task, parts: 2 });
    tell(Event::DoneWithParts { task });
    tell(Event::WroteNote {
        path: "knowledge/login.md".to_owned(),
    });
    tell(Event::KeptScratchpad {
        path: format!("runs/{run}/scratchpad.md"),
    });
    tell(Event::Pruned {
        folders: 12,
        bytes: 40_000_000,
    });
    let taught = Extraction {
        extracted: 5,
        validated: 4,
        rejected: 1,
        promoted: 4,
        known: 2,
        skipped: 0,
    };
    tell(Event::Learned(taught));
    tell(Event::LearnedEarlier(taught));
    tell(Event::KeptUp {
        merged: 12,
        into: 3,
        pruned: 4,
        reports_shortened: 5,
    });
    tell(Event::Busy {
        held: vec![Held { task, run }],
    });
    let wait = |seconds| Wait {
        reason: "usage_limit",
        message: "You have hit your session limit",
        until: Timestamp::UNIX_EPOCH + SignedDuration::from_hours(24 * 365 * 57 + 1),
        seconds,
    };
    tell(Event::Waits(wait(3600.0)));
    tell(Event::StillWaits(wait(3540.0)));
    tell(Event::UnknownModel { model: "gigantic" });
    tell(Event::CompleteTooEarly);
    tell(Event::PausedForRoom {
        message: "cannot write .ralph/progress.db: the disk is full",
    });
    tell(Event::PausedForLock {
        message: "the database .ralph/progress.db is locked by another process",
    });
    tell(Event::GoesOn);
    tell(Event::Warning {
        message: "There will be no transcript: no space left on device",
    });
    with_ends(tell);
}

fn with_ends(tell: &mut dyn FnMut(Event<'_>)) {
    tell(Event::RunEnded {
        end: "left_for_person",
        sentence: "The rest is for you: 1 task has failed.",
        exit_code: 4,
        iterations: 4,
        limit: None,
        again: Some("ralph run"),
        agent_notes: vec![AgentNoted {
            id: "mem-1737372000-a1b2".to_owned(),
            action: "added",
            author: AuthorKind::Agent,
            iteration: Some(2),
        }],
    });
    tell(Event::NothingBegan {
        sentence: "t-1a2b3c is done already.",
        hint: "`ralph task reset t-1a2b3c` opens it again.",
        exit_code: 3,
    });
    tell(Event::Error {
        message: "no agent is configured, and none is on the PATH",
        hint: Some("`[agent] command` in .ralph.toml, or --agent COMMAND"),
        exit_code: 1,
    });
}
