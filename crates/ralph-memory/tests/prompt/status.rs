//! Tests of `### Loop Status` and `### Stuck Loop Warning`.

use insta::assert_snapshot;
use ralph_memory::inject::prompt::{AttemptNumber, Counted, IterationInfo, MemoryShare, Prompt, PromptRequest};
use ralph_model::config::Config;
use ralph_model::{Attempt, Outcome, Rate, Signature, TaskKind, Tokens, TrackRecord};

use crate::attempts::{attempt, report};
use crate::support::Files;
use crate::{between, composed, leaked, request, task};

const ITERATION: IterationInfo<'static> = IterationInfo {
    iteration: 3,
    of: Some(20),
    model: Some("sonnet"),
    rationale: "escalate: 1 failure",
};

fn track_record(consecutive_failures: u32, done: u32, of: u32) -> TrackRecord {
    TrackRecord {
        consecutive_failures,
        recent: Rate { done, of },
    }
}

fn prompt<'a>(kind: TaskKind, change: impl FnOnce(&mut Config, &mut PromptRequest<'a>)) -> Prompt {
    let mut task = task(0xabc, "Parse dates", "");
    task.kind = kind;
    let mut config = Config::default();
    let mut request: PromptRequest<'a> = PromptRequest {
        iteration_info: Some(ITERATION),
        ..request(leaked(task), leaked(Config::default()))
    };
    change(&mut config, &mut request);
    composed(
        &Files::new(),
        &PromptRequest {
            config: &config,
            ..request
        },
    )
}

fn status<'a>(change: impl FnOnce(&mut Config, &mut PromptRequest<'a>)) -> String {
    let prompt = prompt(TaskKind::Once, change);
    if !prompt.text.contains("### Loop Status\n") {
        return String::new();
    }
    between(&prompt, "### Loop Status\n", "\n#").to_owned()
}

#[test]
fn status_has_progress_rate_and_model() {
    assert_snapshot!(status(|_, request| {
        request.track_record = track_record(1, 14, 20);
        request.attempt = AttemptNumber::of_all(2, 4);
    }), @"
    - **Iteration**: 3 of 20
    - **Attempt at this task**: 2 of 4, 1 previous failure
    - **Success rate**: 14/20 of the last iterations
    - **Model**: sonnet (escalate: 1 failure)
    ");
    let anew = status(|_, request| {
        request.track_record = track_record(4, 14, 20);
        request.attempt = AttemptNumber {
            counted: Counted::SinceReset(5),
            ..AttemptNumber::of_all(1, 4)
        };
    });
    let expected = "- **Attempt at this task**: 5 (1 of 4 since it was reset), 4 consecutive failures\n";
    assert!(anew.contains(expected), "{anew}");
    assert_snapshot!(status(|_, request| {
        request.track_record = track_record(0, 2, 4);
        request.iteration_info = Some(IterationInfo { of: None, model: None, rationale: "no models are configured", ..ITERATION });
    }), @"
    - **Iteration**: 3
    - **Attempt at this task**: 1 of 4, no previous failures
    - **Success rate**: 2/4, too few to tell
    - **Model**: agent's default (no models are configured)
    ");
    assert_snapshot!(between(&prompt(TaskKind::PromptLoop, |_, request| {
        request.track_record = track_record(2, 3, 5);
        request.iteration_info = Some(IterationInfo { rationale: "", ..ITERATION });
    }), "### Loop Status\n", "\n#"), @"
    - **Iteration**: 3 of 20
    - **This assignment**: 2 consecutive failures
    - **Success rate**: 3/5 of the last iterations
    - **Model**: sonnet
    ");
    assert!(status(|_, _| {}).contains("- **Success rate**: no iterations yet\n"));
    assert_eq!(
        status(|_, request| request.iteration_info = None),
        "",
        "no run is under way"
    );
}

/// Rule: without memory an agent sees nothing of earlier iterations, except the number of its own.
#[test]
fn status_without_memory_omits_earlier_iterations() {
    let without = |kind| {
        let prompt = prompt(kind, |_, request| {
            request.track_record = track_record(2, 14, 20);
            request.attempt = AttemptNumber::of_all(3, 4);
            request.share = MemoryShare::None;
        });
        between(&prompt, "### Loop Status\n", "\n#").to_owned()
    };
    assert_snapshot!(without(TaskKind::Once), @"
    - **Iteration**: 3 of 20
    - **Attempt at this task**: 3 of 4
    - **Model**: sonnet
    ");
    assert_snapshot!(without(TaskKind::PromptLoop), @"
    - **Iteration**: 3 of 20
    - **Model**: sonnet
    ");
}

#[test]
fn status_respects_its_budget() {
    let long = "größer 👨‍👩‍👧\n## a heading ".repeat(40);
    for model in [Some("sonnet"), Some(long.as_str())] {
        for (tokens, share) in [
            (125, MemoryShare::Whole),
            (125, MemoryShare::Half),
            (20, MemoryShare::Whole),
        ] {
            let prompt = prompt(TaskKind::Once, |config, request| {
                config.context.status = Tokens(tokens);
                let iteration_info = IterationInfo {
                    model,
                    rationale: &long,
                    ..ITERATION
                };
                (request.iteration_info, request.share) = (Some(iteration_info), share);
            });
            let part = prompt.parts.iter().find(|part| part.heading == "Loop Status").unwrap();
            let most = if share == MemoryShare::Half { tokens / 2 } else { tokens };
            assert!(part.tokens <= Tokens(most), "{} of {most}", part.tokens);
            assert!(!prompt.text.contains("\n## a heading"));
        }
    }
    let narrow = status(|config, _| config.context.status = Tokens(42));
    assert_snapshot!(narrow, @"
    - **Iteration**: 3 of 20
    - **Attempt at this task**: 1 of 4, no previous failures
    - **Success rate**: no iterations yet
    - **Model**: sonnet
    ");
    assert_eq!(status(|config, _| config.context.status = Tokens(3)), "");
}

/// Whether the prompt has a warning after this many failures.
fn warned(failures: u32, change: impl FnOnce(&mut Config, &mut PromptRequest<'static>)) -> bool {
    let prompt = prompt(TaskKind::Once, |config, request| {
        request.track_record = track_record(failures, 0, failures);
        change(config, request);
    });
    prompt.parts.iter().any(|part| part.heading == "Stuck Loop Warning")
}

#[test]
fn warning_starts_at_the_configured_number() {
    let stands = |failures| warned(failures, |_, _| {});
    assert_eq!([0, 1, 2, 3, 4].map(stands), [false, false, false, true, true]);
    assert!(warned(1, |config, _| config.strategy.stuck_after = Some(1)));
    let early = prompt(TaskKind::Once, |config, request| {
        (config.strategy.stuck_after, request.track_record) = (Some(1), track_record(1, 0, 1));
    });
    assert!(
        early.text.contains("\nThis task has failed once. Stop repeating"),
        "{}",
        early.text
    );
    assert!(!warned(9, |config, _| config.strategy.stuck_after = None), "never");
    // It ignores the budget, but is memory.
    assert!(warned(3, |config, _| {
        (config.context.budget, config.context.status) = (Tokens(1), Tokens(1));
    }));
    assert!(!warned(3, |_, request| request.share = MemoryShare::None));
    assert!(warned(3, |_, request| request.share = MemoryShare::Half));
}

#[test]
fn warning_has_advice() {
    let failed = |number| {
        let mut kept = report("a", "b");
        kept.signature = Some(Signature::new(u64::from(number > 1)));
        Attempt {
            report: Some(kept),
            ..attempt(number, None, Outcome::Failed)
        }
    };
    let attempts = [failed(1), failed(2), failed(3)];
    let stuck = |kind| {
        let prompt = prompt(kind, |_, request| {
            (request.track_record, request.attempts) = (track_record(3, 0, 3), &attempts);
        });
        between(&prompt, "### Stuck Loop Warning\n", "## Memory\n").to_owned()
    };
    assert_snapshot!(stuck(TaskKind::Once), @r#"
    This task has failed 3 times in a row. Attempts 2 and 3 failed the same way. Stop repeating what was tried:

    - First find an assumption that all attempts shared; it may be wrong. Then try another approach.
    - Or propose to split it: `ralph task add "TITLE" --parent t-000abc` proposes a self-contained subtask. Propose all of them, do none, and end with task-failed; a person accepts them.
    - Or, if a person must decide or help, end with task-failed and name the obstacle in the failure-report.
    "#);
    assert_snapshot!(stuck(TaskKind::PromptLoop), @r#"
    This assignment has failed 3 times in a row. Attempts 2 and 3 failed the same way. Stop repeating what was tried:

    - First find an assumption that all attempts shared; it may be wrong. Then try another approach.
    - Or do a smaller step, and record the obstacle with `ralph scratchpad append "TEXT"`.
    "#);
}
