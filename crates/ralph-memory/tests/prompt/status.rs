//! `### Loop Status` and `### Stuck Loop Warning`: what an agent reads of how the run goes.

use insta::assert_snapshot;
use ralph_memory::inject::prompt::{AttemptNumber, Counted, MemoryShare, Prompt, PromptRequest, Round};
use ralph_model::config::Config;
use ralph_model::{Attempt, Course, Outcome, Rate, Signature, TaskKind, Tokens};

use crate::attempts::{attempt, report};
use crate::support::Files;
use crate::{between, composed, lasting, request, task};

const ROUND: Round<'static> = Round {
    iteration: 3,
    of: Some(20),
    model: Some("sonnet"),
    rationale: "escalate: 1 failure",
};

fn course(consecutive_failures: u32, done: u32, of: u32) -> Course {
    Course {
        consecutive_failures,
        recent: Rate { done, of },
    }
}

fn prompt<'a>(kind: TaskKind, change: impl FnOnce(&mut Config, &mut PromptRequest<'a>)) -> Prompt {
    let mut task = task(0xabc, "Parse dates", "");
    task.kind = kind;
    let mut config = Config::default();
    let mut request: PromptRequest<'a> = PromptRequest {
        round: Some(ROUND),
        ..request(lasting(task), lasting(Config::default()))
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
fn it_says_where_the_run_is_how_it_goes_and_which_model_works() {
    assert_snapshot!(status(|_, request| {
        request.course = course(1, 14, 20);
        request.attempt = AttemptNumber::of_all(2, 4);
    }), @"
    - **Iteration**: 3 of 20
    - **Attempt at this task**: 2 of 4, 1 failure before it
    - **Success rate**: 14/20 of the last iterations
    - **Model**: sonnet (escalate: 1 failure)
    ");
    let anew = status(|_, request| {
        request.course = course(4, 14, 20);
        request.attempt = AttemptNumber {
            counted: Counted::SinceReset(5),
            ..AttemptNumber::of_all(1, 4)
        };
    });
    let said = "- **Attempt at this task**: 5 (1 of 4 since it was reset), 4 failures in a row before it\n";
    assert!(anew.contains(said), "{anew}");
    assert_snapshot!(status(|_, request| {
        request.course = course(0, 2, 4);
        request.round = Some(Round { of: None, model: None, rationale: "no models are configured", ..ROUND });
    }), @"
    - **Iteration**: 3
    - **Attempt at this task**: 1 of 4, no failure before it
    - **Success rate**: 2/4, too few to tell
    - **Model**: the agent's own (no models are configured)
    ");
    assert_snapshot!(between(&prompt(TaskKind::PromptLoop, |_, request| {
        request.course = course(2, 3, 5);
        request.round = Some(Round { rationale: "", ..ROUND });
    }), "### Loop Status\n", "\n#"), @"
    - **Iteration**: 3 of 20
    - **This assignment**: 2 failures in a row before it
    - **Success rate**: 3/5 of the last iterations
    - **Model**: sonnet
    ");
    assert!(status(|_, _| {}).contains("- **Success rate**: no iterations yet\n"));
    assert_eq!(status(|_, request| request.round = None), "", "no run is under way");
}

/// The rule: whoever compares runs with and without memory sees nothing of earlier iterations, and still which one it is.
#[test]
fn without_memory_it_says_nothing_of_earlier_iterations() {
    let without = |kind| {
        let prompt = prompt(kind, |_, request| {
            request.course = course(2, 14, 20);
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
fn it_keeps_to_its_room_whatever_the_model_and_the_reason_for_it_are_called() {
    let long = "größer 👨‍👩‍👧\n## a heading ".repeat(40);
    for model in [Some("sonnet"), Some(long.as_str())] {
        for (tokens, share) in [
            (125, MemoryShare::Whole),
            (125, MemoryShare::Half),
            (20, MemoryShare::Whole),
        ] {
            let prompt = prompt(TaskKind::Once, |config, request| {
                config.context.status = Tokens(tokens);
                let round = Round {
                    model,
                    rationale: &long,
                    ..ROUND
                };
                (request.round, request.share) = (Some(round), share);
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
    - **Attempt at this task**: 1 of 4, no failure before it
    - **Success rate**: no iterations yet
    - **Model**: sonnet
    ");
    assert_eq!(status(|config, _| config.context.status = Tokens(3)), "");
}

/// Whether the warning stands after so many failures.
fn warned(failures: u32, change: impl FnOnce(&mut Config, &mut PromptRequest<'static>)) -> bool {
    let prompt = prompt(TaskKind::Once, |config, request| {
        request.course = course(failures, 0, failures);
        change(config, request);
    });
    prompt.parts.iter().any(|part| part.heading == "Stuck Loop Warning")
}

#[test]
fn the_warning_stands_from_the_configured_number_of_failures_on() {
    let stands = |failures| warned(failures, |_, _| {});
    assert_eq!([0, 1, 2, 3, 4].map(stands), [false, false, false, true, true]);
    assert!(warned(1, |config, _| config.strategy.stuck_after = Some(1)));
    let early = prompt(TaskKind::Once, |config, request| {
        (config.strategy.stuck_after, request.course) = (Some(1), course(1, 0, 1));
    });
    assert!(
        early.text.contains("\nThis task has failed once. Stop repeating"),
        "{}",
        early.text
    );
    assert!(!warned(9, |config, _| config.strategy.stuck_after = None), "never");
    // It asks for no room, and is a memory all the same.
    assert!(warned(3, |config, _| {
        (config.context.budget, config.context.status) = (Tokens(1), Tokens(1));
    }));
    assert!(!warned(3, |_, request| request.share = MemoryShare::None));
    assert!(warned(3, |_, request| request.share = MemoryShare::Half));
}

#[test]
fn the_warning_says_what_to_do_instead() {
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
            (request.course, request.attempts) = (course(3, 0, 3), &attempts);
        });
        between(&prompt, "### Stuck Loop Warning\n", "## Memory\n").to_owned()
    };
    assert_snapshot!(stuck(TaskKind::Once), @r#"
    This task has failed 3 times in a row. Attempts 2 and 3 failed the same way. Stop repeating what was tried:

    - Find out first what all attempts took for granted; it may be wrong. Then take another approach.
    - Or propose how to split it: `ralph task add "TITLE" --parent t-000abc` proposes a subtask that can be done by itself. Propose them all, do none of them, and end with task-failed: a person accepts them.
    - Or, where a person has to decide or to help, end with task-failed and say in the failure-report what stands in the way.
    "#);
    assert_snapshot!(stuck(TaskKind::PromptLoop), @r#"
    This assignment has failed 3 times in a row. Attempts 2 and 3 failed the same way. Stop repeating what was tried:

    - Find out first what all attempts took for granted; it may be wrong. Then take another approach.
    - Or do a smaller piece, and note with `ralph scratchpad append "TEXT"` what stands in the way.
    "#);
}
