//! Generates the page about events, with an example of each from the same types.

use jiff::{SignedDuration, Timestamp};
use ralph_model::config::Limits;
use ralph_model::{AuthorKind, Evidence, Extraction, Outcome, RunId, StopReason, TaskId, TaskKind, TaskStatus, Usage};

use super::{AgentNoted, Denied, Event, Held, IterationBegan, LimitsSet, Line, RunBegan, Settled, Verified, Wait};

const INTRODUCTION: &str = "# Events

Generated from the code by `cargo xtask gen`.

`ralph run --json` prints one JSON object per line on standard output as events happen. Progress for people still goes
to standard error. Every object has `event`, the name of the event, and `at`, the time in UTC. Once the run has begun,
it also has `run`, the id of the run. New fields may be added, so ignore those you do not know; existing fields are
never renamed or removed. Unknown values are `null`. Secrets are masked.

The last line is `run_ended`, `nothing_began` or `error`, with the `exit_code` of the command. If the reader closes the
pipe, the run continues without output; stop it with a signal. Keep reading while the run lasts, because a full pipe
blocks the run. After a second Ctrl+C or a kill, the output just stops.
";

const NOTIFICATIONS: &str = r#"
# Notifications

`[notify] command` gets one JSON object on standard input when a run ends (`run_ended`, with `exit_code`), when the
first task of a run needs review and the run continues (`needs_review`, with `task`), and when it waits for a usage
limit (`waits`, with `until`). Each has `event`, `at`, `project`, `run` and `sentence`. A run that you stop yourself
sends no notification. The command runs in a shell in the project folder for at most 10 seconds; a failure is a warning.

```toml
[notify]                                   # use one of these, in .ralph.toml or your user configuration
command = 'notify-send ralph "$(jq -r .sentence)"'                                   # desktop
command = 'jq -r .sentence | curl -sSf -d @- https://ntfy.sh/TOPIC'                  # ntfy
command = 'jq "{text: .sentence}" | curl -sSf --json @- https://hooks.slack.com/services/ID'   # Slack
bell = true                                # also ring the terminal bell
```
"#;

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

/// The name of an event and its description.
#[expect(
    clippy::too_many_lines,
    reason = "one list of all events, easiest to read in one place"
)]
fn described(event: &Event<'_>) -> (&'static str, &'static str) {
    match event {
        Event::RunBegan(_) => (
            "run_began",
            "The run begins. `permissions` is what the agent may do without asking, or null if its command decides. `verifier` is the agent that verifies finished work, or null. A limit that is not set is null.",
        ),
        Event::FoundLeft { .. } => (
            "found_left",
            "An earlier run was killed during an iteration, which is settled now. `processes_ended` is the number of its leftover processes that were stopped.",
        ),
        Event::RedFromTheStart { .. } => (
            "red_from_the_start",
            "These gates were already failing before the run changed anything.",
        ),
        Event::GateRan { .. } => (
            "gate_ran",
            "A gate ran. `result` is `passed`, `failed`, `broken`, `timed_out` or `stopped`; `output` is the beginning and the end of its output.",
        ),
        Event::IterationBegan(_) => (
            "iteration_began",
            "An agent is started. `attempt` and `attempts` are the number of this attempt and the maximum; `notes_shown` is the number of notes and journal entries in its prompt; `folder` holds the prompt, transcript and diff. `kind` is `once` or `prompt_loop`.",
        ),
        Event::Text { .. } => (
            "text",
            "The agent prints text. A long text is cut, and `left_out_bytes` is the number of missing bytes; the transcript has more.",
        ),
        Event::Tool { .. } => ("tool", "The agent uses a tool."),
        Event::Usage(_) => (
            "usage",
            "What the agent has used so far in this iteration, as reported by the agent; null if it does not report it.",
        ),
        Event::VerifierBegan { .. } => (
            "verifier_began",
            "The gates passed, and a read-only verifier session is started. `folder` holds its prompt and transcript.",
        ),
        Event::VerifierText { .. } => ("verifier_text", "The verifier prints text, like `text`."),
        Event::VerifierTool { .. } => ("verifier_tool", "The verifier uses a tool."),
        Event::VerifierUsage(_) => (
            "verifier_usage",
            "What the verifier has used so far, as reported by the agent.",
        ),
        Event::Verified(_) => (
            "verified",
            "The verifier session is over. `verdict` is `pass`, `fail`, or null if there was none. `passes` is whether the work counts as done; it does not if anything changed during the session. `changed_files` lists such changes, including branches and tags.",
        ),
        Event::Settled(_) => (
            "settled",
            "The iteration is settled. `iteration_run` differs from `run` if the iteration belongs to a killed run. `task_status` is null if the task no longer belonged to this run. `commit` is the commit that was made, `commit_error` why there is none. `guidance` is what the user said after stopping the agent at a terminal; with `--json` the user is never asked, so it comes from another run.",
        ),
        Event::WaitsForParts { .. } => (
            "waits_for_parts",
            "The task of that iteration was split. `parts` is the number of its open subtasks.",
        ),
        Event::DoneWithParts { .. } => (
            "done_with_parts",
            "A task that was split is done, because all its subtasks are.",
        ),
        Event::WroteNote { .. } => ("wrote_note", "A knowledge entry of the agent was written."),
        Event::KeptScratchpad { .. } => (
            "kept_scratchpad",
            "All tasks are done, and the scratchpad was moved to the folder of the run.",
        ),
        Event::Pruned { .. } => ("pruned", "Folders of old iterations were removed."),
        Event::Learned(_) => (
            "learned",
            "Learnings were extracted from the run. `validated` and `rejected` count those that passed and failed validation, `promoted` those that became active or gained confidence, `known` those of them that were already active, and `skipped` those left out because the run had already taught them or a user had rejected them.",
        ),
        Event::LearnedEarlier(_) => (
            "learned_earlier",
            "The same for all earlier runs whose learnings had not been extracted yet, because they were killed or an older version ran them.",
        ),
        Event::KeptUp { .. } => (
            "kept_up",
            "Learnings were merged or pruned, or old reports shortened. `ralph learnings restore` restores the learnings.",
        ),
        Event::Busy { .. } => (
            "busy",
            "No task is ready, but other runs have claimed some; the run waits for them. Reported again when the claims change.",
        ),
        Event::Waits(_) => (
            "waits",
            "The run starts to wait. `reason` is `transient` (a temporary failure of the service) or `usage_limit`; `message` is what the agent reported.",
        ),
        Event::StillWaits(_) => (
            "still_waits",
            "The run is still waiting; reported about twice a minute.",
        ),
        Event::UnknownModel { .. } => ("unknown_model", "The agent asked for a model that is not configured."),
        Event::CompleteTooEarly => (
            "complete_too_early",
            "The agent reported everything complete, but it is not.",
        ),
        Event::PausedForRoom { .. } => (
            "paused_for_room",
            "The disk is full, and the run is paused until there is space. A working agent continues.",
        ),
        Event::PausedForLock { .. } => (
            "paused_for_lock",
            "Another process keeps the database locked, and the run is paused until the lock is released. A working agent continues.",
        ),
        Event::GoesOn => ("goes_on", "The run continues after a pause."),
        Event::Warning { .. } => ("warning", "A problem that does not end the run."),
        Event::RunEnded { .. } => (
            "run_ended",
            "The run is over. `end` is `complete`, `nothing_to_do`, `left_for_person`, `limit`, `no_progress`, `failure_promise`, `as_wished` (the user asked to stop after an iteration), `interrupted` or `error`. `limit` is the key in `[limits]` that ended it, `again` the command that continues with what is left. `agent_notes` lists the notes that the agent stored or changed with commands, by id; the author `unknown` marks notes whose files were edited directly during the run.",
        ),
        Event::NothingBegan { .. } => (
            "nothing_began",
            "The requested work is already done or cannot be started; no run began.",
        ),
        Event::Error { .. } => (
            "error",
            "The command failed before a run began, or could not record it.",
        ),
    }
}

fn with_examples(run: &RunId, task: &TaskId, emit: &mut dyn FnMut(Event<'_>)) {
    emit(Event::RunBegan(&RunBegan {
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
    emit(Event::FoundLeft {
        left_run: run,
        iteration: 3,
        processes_ended: 1,
    });
    emit(Event::RedFromTheStart {
        gates: vec!["cargo test".to_owned()],
    });
    emit(Event::IterationBegan(IterationBegan {
        iteration: 1,
        task,
        title: "Fix the login page",
        kind: TaskKind::Once,
        attempt: 1,
        attempts: 4,
        model: Some("sonnet"),
        rationale: "the middle of the configured models",
        prompt_tokens: 2100,
        notes_shown: 7,
        folder: format!("runs/{run}/001"),
    }));
    with_examples_of_work(run, task, emit);
    with_rare_examples(run, task, emit);
}

fn with_examples_of_work(run: &RunId, task: &TaskId, emit: &mut dyn FnMut(Event<'_>)) {
    let spent = Usage {
        cost_usd: 0.25,
        input_tokens: 12_000,
        output_tokens: 800,
    };
    emit(Event::Text {
        text: "I'll check the form first.",
        left_out_bytes: 0,
    });
    emit(Event::Tool {
        name: "Edit",
        about: "src/login.rs",
    });
    emit(Event::Usage(spent));
    emit(Event::GateRan {
        command: "cargo test",
        result: "failed",
        status: Some("exit code 101"),
        output: "test login ... FAILED\n",
        duration_ms: 5300,
    });
    with_examples_of_verification(run, task, emit);
    emit(Event::Settled(Box::new(Settled {
        iteration_run: run,
        iteration: 1,
        task,
        title: "Fix the login page",
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

fn with_examples_of_verification(run: &RunId, task: &TaskId, emit: &mut dyn FnMut(Event<'_>)) {
    let spent = Usage {
        cost_usd: 0.05,
        input_tokens: 6_000,
        output_tokens: 200,
    };
    emit(Event::VerifierBegan {
        agent: "claude",
        iteration: 1,
        task,
        prompt_tokens: 900,
        folder: format!("runs/{run}/001/verify"),
    });
    emit(Event::VerifierText {
        text: "I'll check the test first.",
        left_out_bytes: 0,
    });
    emit(Event::VerifierTool {
        name: "Read",
        about: "src/login.rs",
    });
    emit(Event::VerifierUsage(spent));
    emit(Event::Verified(Verified {
        agent: "claude",
        passes: false,
        verdict: Some("fail"),
        reason: Some("The test for an empty password was removed."),
        changed_files: &[],
        spent,
        duration_ms: 12_000,
    }));
}

fn with_rare_examples(run: &RunId, task: &TaskId, emit: &mut dyn FnMut(Event<'_>)) {
    emit(Event::WaitsForParts { task, parts: 2 });
    emit(Event::DoneWithParts { task });
    emit(Event::WroteNote {
        path: "knowledge/login.md".to_owned(),
    });
    emit(Event::KeptScratchpad {
        path: format!("runs/{run}/scratchpad.md"),
    });
    emit(Event::Pruned {
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
    emit(Event::Learned(taught));
    emit(Event::LearnedEarlier(taught));
    emit(Event::KeptUp {
        merged: 12,
        into: 3,
        pruned: 4,
        reports_shortened: 5,
    });
    emit(Event::Busy {
        held: vec![Held { task, run }],
    });
    let wait = |seconds| Wait {
        reason: "usage_limit",
        message: "You have hit your session limit",
        until: Timestamp::UNIX_EPOCH + SignedDuration::from_hours(24 * 365 * 57 + 1),
        seconds,
    };
    emit(Event::Waits(wait(3600.0)));
    emit(Event::StillWaits(wait(3540.0)));
    emit(Event::UnknownModel { model: "gigantic" });
    emit(Event::CompleteTooEarly);
    emit(Event::PausedForRoom {
        message: "cannot write .ralph/progress.db: the disk is full",
    });
    emit(Event::PausedForLock {
        message: "the database .ralph/progress.db is locked by another process",
    });
    emit(Event::GoesOn);
    emit(Event::Warning {
        message: "Cannot write a transcript: no space left on device",
    });
    with_ends(emit);
}

fn with_ends(emit: &mut dyn FnMut(Event<'_>)) {
    emit(Event::RunEnded {
        end: "left_for_person",
        sentence: "Stopped: 1 task failed.",
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
    emit(Event::NothingBegan {
        sentence: "t-1a2b3c is already done.",
        hint: "Run `ralph task reset t-1a2b3c` to reopen it.",
        exit_code: 3,
    });
    emit(Event::Error {
        message: "no agent is configured, and none of these is on the PATH: claude, codex",
        hint: Some("set `[agent] command` in .ralph.toml, or pass --agent COMMAND"),
        exit_code: 1,
    });
}
