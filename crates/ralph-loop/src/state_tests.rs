//! The state machine against a world that answers every effect, with random orders of events.

use jiff::Timestamp;
use proptest::prelude::*;
use ralph_agent::TurnEnd;
use ralph_model::config::{Commit, Limits, StrategyName, WhenUnverified};
use ralph_model::{Control, Priority, RunId, Task, TaskId, TaskKind, TaskStatus, Verdict};
use ralph_store::{Claim, NewPause, Pause, PauseChange, PauseReason};

use super::*;
use crate::guide::{AfterGuidance, Attendance, GuidanceAnswer};
use crate::rules::Rules;
use crate::settle::TaskTransition;
use crate::summary::{StopCause, TurnSummary, Verification};

fn plan() -> Plan {
    Plan {
        run: RunId::new(1),
        models: Vec::new(),
        model: None,
        strategy: StrategyName::Fixed,
        escalate_after: Some(2),
        limits: Limits::default(),
        place: Place::Project,
        commit: Commit::None,
        has_gates: false,
        verifier: VerifierKind::None,
        unverified: WhenUnverified::Review,
        wait_times: WaitTimes::default(),
        first_try: FirstTry::AfterThePause,
        attendance: Attendance::Unattended,
        seed: 7,
        rules: Rules::default(),
        only_task: None,
    }
}

fn claim(number: u64) -> ClaimAnswer {
    let task = Task {
        id: TaskId::new(number),
        title: format!("task {number}"),
        description: String::new(),
        status: TaskStatus::InProgress,
        unverified: None,
        kind: TaskKind::Once,
        priority: Priority::default(),
        parent: None,
        feature: None,
        after: Vec::new(),
        retries_used: 0,
        max_retries: None,
        attempts: 1,
        claimed_by: Some(RunId::new(1)),
        checks: Vec::new(),
        proposal: None,
        created_at: Timestamp::UNIX_EPOCH,
        updated_at: Timestamp::UNIX_EPOCH,
    };
    ClaimAnswer::Claimed(Box::new(Claim {
        task,
        attempt: 1,
        fence: 1,
        marker: String::new(),
        pause: None,
        verifier_pause: None,
    }))
}

/// The answer to a claim without history.
fn answered(answer: ClaimAnswer) -> Input {
    Input::ClaimAnswered {
        answer,
        past: Past::default(),
    }
}

/// The wall clock, starting in 1970 and in step with the monotonic clock.
fn clock(at: Duration) -> Timestamp {
    Timestamp::UNIX_EPOCH + at
}

fn event(at: Duration, what: Input) -> Event {
    Event {
        slept: Duration::ZERO,
        at,
        now: clock(at),
        what,
    }
}

fn turn_done(number: u64) -> TurnSummary {
    TurnSummary {
        end: TurnEnd::Finished,
        cause: None,
        spoke: true,
        control: Control {
            done: vec![TaskId::new(number).to_string()],
            ..Control::default()
        },
        ..TurnSummary::lost()
    }
}

/// A verifier with this end and verdict.
fn verified(end: TurnEnd, verdict: Option<Verdict>) -> Input {
    Input::Verified(Box::new(Verification {
        agent: "claude".to_owned(),
        end,
        cause: None,
        limit: None,
        verdict,
        changed: Vec::new(),
        wrote: false,
        forgiven_before: false,
        unseen: None,
        usage: Usage::default(),
        duration_ms: 0,
        session: None,
    }))
}

/// A world in which every task is done at the first attempt.
struct World {
    /// What earlier attempts at every task used.
    spent_before: Usage,
    tasks: u64,
    begun: u64,
    /// The names of performed effects.
    done: Vec<String>,
    settled: Vec<PendingSettlement>,
    /// The pause that blocks the agent.
    pause: Option<Pause>,
    notices: Vec<Notice>,
    /// The user's answer when asked.
    guided: GuidanceAnswer,
    /// Whether the agent at work is the verifier.
    verifying: bool,
    /// The history of any claimed task.
    past: Past,
    /// Results of committing work; when empty, a commit that can land.
    commits: VecDeque<WorkCommit>,
    /// How often the base moves before a commit lands.
    base_moves: u32,
}

impl World {
    fn with_tasks(tasks: u64) -> Self {
        Self {
            spent_before: Usage::default(),
            tasks,
            begun: 0,
            done: Vec::new(),
            settled: Vec::new(),
            pause: None,
            notices: Vec::new(),
            guided: GuidanceAnswer {
                text: None,
                next: AfterGuidance::Stop,
            },
            verifying: false,
            past: Past::default(),
            commits: VecDeque::new(),
            base_moves: 0,
        }
    }

    /// Stores the pause of a settlement like the database does.
    fn put_pause(&mut self, draft: &PendingSettlement, now: Timestamp) {
        let seen = draft.current.pause.as_ref();
        let is_seen = |there: &Pause| seen.is_some_and(|seen| seen.is(there));
        let there = self.pause.as_ref();
        match &draft.pause {
            PauseChange::Lift if there.is_some_and(is_seen) => self.pause = None,
            PauseChange::Put(what) if there.is_none_or(|it| is_seen(it) || it.what.until < what.until) => {
                self.pause = Some(Pause {
                    agent: "claude".to_owned(),
                    what: what.clone(),
                    run: draft.current.run.clone(),
                    created_at: now,
                });
            }
            PauseChange::Keep | PauseChange::Lift | PauseChange::Put(_) => {}
        }
    }

    /// The pause that blocks a claim, if any.
    fn is_paused(&self, pauses: &Pauses, now: Timestamp) -> Option<Pause> {
        let pause = self.pause.clone().filter(|pause| pause.left(now).is_some())?;
        let is_heeded = match pauses {
            Pauses::Heeded => true,
            Pauses::HeededBut(waited) => !waited.is(&pause),
            Pauses::Ignored => false,
        };
        is_heeded.then_some(pause)
    }

    fn claim(&mut self, pauses: &Pauses, now: Timestamp) -> ClaimAnswer {
        if self.begun >= self.tasks {
            return ClaimAnswer::Nothing(ScopeCounts::default());
        }
        if let Some(pause) = self.is_paused(pauses, now) {
            return ClaimAnswer::Paused(Box::new(pause));
        }
        self.begun += 1;
        let ClaimAnswer::Claimed(mut claim) = claim(self.begun) else {
            unreachable!()
        };
        claim.pause.clone_from(&self.pause);
        ClaimAnswer::Claimed(claim)
    }

    /// Answers the effects that land work from a checkout.
    fn landing(&mut self, effect: &Effect) -> Input {
        match effect {
            Effect::CheckOut(_) => Input::CheckedOut,
            Effect::CommitWork(_) => {
                let ready = || WorkCommit::Ready("c".to_owned());
                Input::WorkCommitted(self.commits.pop_front().unwrap_or_else(ready))
            }
            Effect::RecordLanding(..) => Input::LandingRecorded(true),
            _ if self.base_moves > 0 => {
                self.base_moves -= 1;
                Input::BaseMoved
            }
            _ => Input::Landed("refs/heads/main".to_owned()),
        }
    }

    fn answer(&mut self, effect: &Effect, now: Timestamp) -> Option<Input> {
        let name = format!("{effect:?}");
        self.verifying = match effect {
            Effect::Verify(_) => true,
            Effect::Spawn => false,
            _ => self.verifying,
        };
        self.done
            .push(name.split([' ', '(', '{']).next().unwrap_or_default().to_owned());
        Some(match effect {
            Effect::Recover => Input::Recovered(Vec::new()),
            Effect::Abandon(_) => Input::Abandoned,
            Effect::FinishOutbox => Input::OutboxFinished,
            Effect::Claim { pauses, .. } => Input::ClaimAnswered {
                answer: self.claim(pauses, now),
                past: self.past.clone(),
            },
            Effect::Count => {
                let open = u32::try_from(self.tasks - self.begun).unwrap();
                Input::Counted(ScopeCounts {
                    open,
                    ..ScopeCounts::default()
                })
            }
            Effect::RunBaseline(..) => Input::BaselineRan {
                results: Vec::new(),
                left: None,
            },
            Effect::Prepare { .. } => Input::Prepared {
                before: "{}".to_owned(),
                overflowed_before: false,
                spent_before: self.spent_before,
            },
            Effect::Spawn | Effect::Verify(_) => Input::Spawned,
            Effect::StopAgent | Effect::KillAgent if self.verifying => verified(TurnEnd::Stopped, None),
            Effect::StopAgent | Effect::KillAgent => Input::TurnEnded(Box::new(TurnSummary {
                end: TurnEnd::Stopped,
                cause: None,
                ..TurnSummary::lost()
            })),
            Effect::RecordEnd(_) => Input::EndRecorded,
            Effect::Examine(_) => Input::Examined(Box::new(Examined {
                changed_something: true,
                ..Examined::default()
            })),
            Effect::WaitForDiskSpace => Input::DiskSpaceFound,
            Effect::CheckOut(_) | Effect::CommitWork(_) | Effect::RecordLanding(..) | Effect::Land(..) => {
                self.landing(effect)
            }
            Effect::Ask(_) => Input::Guided(self.guided.clone()),
            Effect::RecordGuidance(_) => Input::GuidanceRecorded,
            Effect::Commit(_) => Input::Committed(Some(Ok("c".to_owned()))),
            Effect::Settle(draft) => {
                self.settled.push((**draft).clone());
                self.put_pause(draft, now);
                Input::Settled
            }
            Effect::EndRun(end) => Input::RunEnded(end.clone()),
            Effect::Notify(notice) => {
                self.notices.push(notice.clone());
                return None;
            }
            Effect::Warn(_) | Effect::StopGates | Effect::SaveBaseline(_) | Effect::CancelQuestion | Effect::Resume => {
                return None;
            }
        })
    }

    /// Runs until the end, or until the state machine waits for an external event.
    fn run(&mut self, mut state: State, effects: Vec<Effect>, at: Duration) -> State {
        let mut open: VecDeque<Effect> = effects.into();
        while let Some(effect) = open.pop_front() {
            if let Some(what) = self.answer(&effect, clock(at)) {
                open.extend(state.step(event(at, what)));
            }
        }
        state
    }

    fn happens(&mut self, mut state: State, what: Input, seconds: u64) -> State {
        let at = Duration::from_secs(seconds);
        let effects = state.step(event(at, what));
        self.run(state, effects, at)
    }

    fn begin(&mut self, plan: Plan) -> State {
        let (state, effects) = State::begin(plan);
        self.run(state, effects, Duration::ZERO)
    }

    /// Lets every agent finish its task until the run is over.
    fn finish(&mut self, mut state: State) -> End {
        for _ in 0..100 {
            if let Some(end) = state.end() {
                return end.clone();
            }
            let turn = Box::new(turn_done(self.begun));
            state = self.happens(state, Input::TurnEnded(turn), 1);
        }
        panic!("the run does not end: {state:?}")
    }
}

#[test]
fn tasks_are_done_until_none_is_left() {
    let mut world = World::with_tasks(3);
    let state = world.begin(plan());
    assert_eq!(world.finish(state), End::Complete);
    assert_eq!(world.settled.len(), 3);
    assert!(
        world
            .settled
            .iter()
            .all(|draft| draft.decision.task == TaskTransition::Done)
    );
    let one = [
        "FinishOutbox",
        "Claim",
        "Prepare",
        "Spawn",
        "RecordEnd",
        "Examine",
        "Settle",
    ];
    assert_eq!(world.done.get(1..8).unwrap(), one);
}

#[test]
fn nothing_to_do_has_its_own_exit_code() {
    let mut world = World::with_tasks(0);
    let state = world.begin(plan());
    assert_eq!(state.end().map(End::code), Some(3));
}

#[test]
fn fault_4_a_limit_of_n_iterations_runs_n() {
    let mut limited = plan();
    limited.limits.iterations = Some(2);
    let mut world = World::with_tasks(5);
    let state = world.begin(limited);
    let end = world.finish(state);
    assert_eq!(world.settled.len(), 2);
    assert_eq!(end.sentence(), "The limit of 2 iterations is reached.");
    assert_eq!(end.code(), 4);
}

#[test]
fn completion_on_the_last_allowed_iteration_counts() {
    let mut limited = plan();
    limited.limits.iterations = Some(2);
    let mut world = World::with_tasks(2);
    let state = world.begin(limited);
    assert_eq!(world.finish(state), End::Complete);
}

#[test]
fn interrupt_stops_the_agent_and_the_run() {
    let mut world = World::with_tasks(3);
    let state = world.begin(plan());
    let state = world.happens(state, Input::Interrupt, 1);
    assert_eq!(state.end(), Some(&End::Interrupted));
    assert_eq!(world.settled.len(), 1);
    assert_eq!(world.settled[0].turn.cause, Some(StopCause::Interrupt));
}

/// How a run of one iteration ends if Ctrl+C comes at this moment.
fn interrupted_at(turn: TurnSummary, is_moment: impl Fn(&State, &Effect) -> bool) -> Option<End> {
    let mut limited = plan();
    limited.limits.iterations = Some(1);
    let mut world = World::with_tasks(3);
    let mut state = world.begin(limited);
    let mut open: VecDeque<Effect> = state
        .step(event(Duration::ZERO, Input::TurnEnded(Box::new(turn))))
        .into();
    while let Some(effect) = open.pop_front() {
        if is_moment(&state, &effect) {
            open.extend(state.step(event(Duration::ZERO, Input::Interrupt)));
        }
        if let Some(what) = world.answer(&effect, clock(Duration::ZERO)) {
            open.extend(state.step(event(Duration::ZERO, what)));
        }
    }
    assert!(state.interrupts > 0, "the moment came");
    state.end().cloned()
}

#[test]
fn interrupt_overrides_another_end() {
    let end = interrupted_at(turn_done(1), |_, effect| matches!(effect, Effect::Count));
    assert_eq!(end, Some(End::Interrupted));
    let mut failing = turn_done(1);
    failing.control.promise = Some(ralph_model::Promise::Failure);
    let end = interrupted_at(failing, |state, _| matches!(state.phase, Phase::Closing(_)));
    assert_eq!(end, Some(End::Interrupted));
}

#[test]
fn silent_or_slow_agent_is_stopped() {
    for (signs, cause) in [(0..0, StopCause::Idle), (1..8, StopCause::Timeout)] {
        let mut world = World::with_tasks(1);
        let mut state = world.begin(plan());
        for sign in signs {
            state = world.happens(state, Input::Activity, sign * 890);
        }
        let due = if cause == StopCause::Idle { 900 } else { 7130 };
        assert_eq!(state.deadline(), Some(Duration::from_secs(due)));
        state = world.happens(state, Input::Tick, if cause == StopCause::Idle { 900 } else { 7200 });
        assert_eq!(world.settled[0].turn.cause, Some(cause));
        assert_eq!(state.end(), Some(&End::Complete));
    }
}

#[test]
fn leftovers_of_dead_runs_are_settled_first() {
    let (state, _) = State::begin(plan());
    let ClaimAnswer::Claimed(claim) = claim(7) else {
        unreachable!()
    };
    let chosen = crate::strategy::Chosen {
        model: None,
        rationale: String::new(),
    };
    let mut current = Current::of(&RunId::new(99), 4, &claim, chosen);
    current.baseline = Some(Baseline::default());
    let current = Box::new(current);
    let left = vec![
        Leftover::Claimed(current.clone()),
        Leftover::Ended(current.clone(), Box::new(TurnSummary::lost())),
        Leftover::Ended(current, Box::new(turn_done(7))),
    ];
    let mut world = World::with_tasks(0);
    let state = world.happens(state, Input::Recovered(left), 0);
    let settled: Vec<(u32, TaskTransition)> = world
        .settled
        .iter()
        .map(|d| (d.current.iteration, d.decision.task))
        .collect();
    assert_eq!(settled, [(4, TaskTransition::Again), (4, TaskTransition::Done)]);
    assert_eq!((state.iterations(), state.end()), (0, Some(&End::Complete)));
    assert_eq!(world.done.iter().filter(|effect| *effect == "Abandon").count(), 1);
}

fn any_input(number: u8) -> Input {
    match number % 37 {
        0 => Input::Recovered(Vec::new()),
        1 => Input::Abandoned,
        2 => Input::OutboxFinished,
        3 => Input::Counted(ScopeCounts::default()),
        4 => answered(claim(u64::from(number))),
        5 => answered(ClaimAnswer::Nothing(ScopeCounts::default())),
        6 => Input::BaselineRan {
            results: Vec::new(),
            left: None,
        },
        7 => Input::Prepared {
            before: String::new(),
            overflowed_before: number > 100,
            spent_before: Usage::default(),
        },
        8 => Input::Spawned,
        9 => Input::Activity,
        10 => Input::TurnEnded(Box::new(turn_done(u64::from(number)))),
        11 => Input::EndRecorded,
        12 => Input::Examined(Box::default()),
        13 => Input::Committed(Some(Err("no".to_owned()))),
        14 => Input::Settled,
        15 => Input::Tick,
        16 => Input::RunEnded(End::Complete),
        17 => answered(ClaimAnswer::Paused(Box::new(Pause {
            agent: "claude".to_owned(),
            what: NewPause {
                reason: PauseReason::UsageLimit,
                until: clock(Duration::from_secs(100)),
                times: 1,
                said: String::new(),
            },
            run: RunId::new(2),
            created_at: clock(Duration::ZERO),
        }))),
        18 => Input::Interrupt,
        19 => Input::Failed("it is broken".to_owned()),
        20 => Input::Used(Usage {
            cost_usd: 1.0,
            input_tokens: u64::MAX,
            output_tokens: u64::MAX,
        }),
        21 => answered(ClaimAnswer::Busy {
            held: vec![(TaskId::new(1), RunId::new(2))],
        }),
        22 => ended(TurnEnd::Transient("503".to_owned())),
        23 => ended(TurnEnd::UsageLimit {
            resets_at: (number > 100).then(|| clock(Duration::from_secs(u64::from(number)))),
            message: String::new(),
        }),
        24 => ended(TurnEnd::Stopped),
        25 => Input::DiskFull,
        26 => Input::DiskSpaceFound,
        27..=31 => user_input(number),
        32 => verified(TurnEnd::Finished, Some(Verdict::Pass)),
        33 => verified(TurnEnd::Finished, Some(Verdict::Fail("no".to_owned()))),
        34 if number > 100 => Input::VerifierUnusable("no".to_owned()),
        34 => Input::TaskDeleted,
        35 => verified(
            TurnEnd::UsageLimit {
                resets_at: None,
                message: String::new(),
            },
            None,
        ),
        _ => Input::DiskFullTimeout("the disk is full".to_owned()),
    }
}

/// What the user may say at any time.
fn user_input(number: u8) -> Input {
    match number % 5 {
        0 => Input::Stop,
        1 => Input::GuidanceWanted,
        2 => Input::Requested(if number > 50 {
            RunRequest::GoOn
        } else {
            RunRequest::StopAfterIteration
        }),
        3 => Input::Guided(GuidanceAnswer {
            text: (number > 50).then(|| "so".to_owned()),
            next: if number > 90 {
                AfterGuidance::GoOn
            } else {
                AfterGuidance::Stop
            },
        }),
        _ => Input::GuidanceRecorded,
    }
}

fn ended(end: TurnEnd) -> Input {
    Input::TurnEnded(Box::new(TurnSummary { end, ..turn_done(1) }))
}

/// The last step of the current iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Nothing,
    Claimed,
    Prepared,
    Spawned,
    Recorded,
    Asked,
    Noted,
}

proptest! {
    /// For any order of events, expected or not: agents start only for a recorded claim, one at a time; every started
    /// turn is settled once; nothing happens after the end; a task to be verified is only done if the verifier passed
    /// it; nothing is settled while the user is still to be asked.
    #[test]
    fn any_order_of_events_leaves_the_state_legal(
        numbers in prop::collection::vec(any::<u8>(), 0..200), gates in any::<bool>(), committing in any::<bool>(),
        asking in any::<bool>(), guided in any::<(bool, bool)>(),
        verifier in prop::sample::select(vec![VerifierKind::None, VerifierKind::SameAgent, VerifierKind::OtherAgent]),
    ) {
        let mut plan = plan();
        plan.has_gates = gates;
        plan.attendance = if asking { Attendance::Attended } else { Attendance::Unattended };
        plan.commit = if committing { Commit::Task } else { Commit::None };
        plan.verifier = verifier;
        let (mut state, effects) = State::begin(plan);
        let mut step = Step::Nothing;
        let mut open: VecDeque<Effect> = effects.into();
        let mut world = World::with_tasks(1000);
        world.guided = GuidanceAnswer {
            text: guided.0.then(|| "so".to_owned()),
            next: if guided.1 { AfterGuidance::GoOn } else { AfterGuidance::Stop },
        };
        for (at, number) in numbers.iter().enumerate() {
            let at = Duration::from_secs(at as u64);
            let over = state.end().is_some();
            // Half of the events answer the last effect, the rest is random.
            let what = match open.pop_front() {
                Some(effect) if number % 2 == 0 => world.answer(&effect, clock(at)).unwrap_or(Input::Activity),
                Some(effect) => {
                    open.push_front(effect);
                    any_input(number / 2)
                }
                None => any_input(number / 2),
            };
            // The work of a deleted task is not verified.
            let is_deleted = matches!(what, Input::TaskDeleted);
            let effects = state.step(event(at, what));
            prop_assert!(!over || effects.is_empty());
            for effect in &effects {
                if let Effect::Commit(draft) | Effect::Settle(draft) = effect
                    && draft.decision.task == TaskTransition::Done
                    && !is_deleted
                {
                    let passes = draft.verification.as_ref().map(Verification::passes);
                    prop_assert_eq!(passes, (verifier != VerifierKind::None).then_some(true));
                }
                prop_assert!(!(matches!(effect, Effect::Settle(_)) && state.asks()));
                step = match (step, effect) {
                    // Repeated after a full disk.
                    (Step::Nothing | Step::Claimed, Effect::RunBaseline(..)) => Step::Claimed,
                    (Step::Nothing | Step::Claimed, Effect::Prepare { .. }) => Step::Prepared,
                    (Step::Prepared, Effect::Spawn) => Step::Spawned,
                    (Step::Spawned, Effect::RecordEnd(_)) => Step::Recorded,
                    (Step::Recorded, Effect::Ask(_)) if asking => Step::Asked,
                    (Step::Asked, Effect::CancelQuestion) => Step::Asked,
                    (Step::Asked, Effect::RecordGuidance(_)) => Step::Noted,
                    // Repeated after a full disk, or after a question without guidance.
                    (Step::Recorded | Step::Asked, Effect::Verify(_)) => Step::Recorded,
                    (Step::Recorded | Step::Asked | Step::Noted, Effect::Settle(_)) => Step::Nothing,
                    (Step::Nothing | Step::Claimed | Step::Prepared, Effect::Abandon(_)) => Step::Nothing,
                    (_, Effect::RunBaseline(..) | Effect::Prepare { .. } | Effect::Spawn | Effect::RecordEnd(_)
                        | Effect::Verify(_) | Effect::Settle(_) | Effect::Abandon(_) | Effect::Ask(_)
                        | Effect::CancelQuestion | Effect::RecordGuidance(_)) => {
                        return Err(TestCaseError::fail(format!("{effect:?} after {step:?}")));
                    }
                    (step, _) => step,
                };
            }
            open.extend(effects);
        }
    }
}

#[path = "state_tests/guidance.rs"]
mod guidance;
#[path = "state_tests/guided_verifier.rs"]
mod guided_verifier;
#[path = "state_tests/landing.rs"]
mod landing;
#[path = "state_tests/limits.rs"]
mod limits;
#[path = "state_tests/models.rs"]
mod models;
#[path = "state_tests/standstill.rs"]
mod standstill;
#[path = "state_tests/verify.rs"]
mod verify;
#[path = "state_tests/waits.rs"]
mod waits;

#[test]
fn concurrent_work_is_repeated_after_a_full_disk() {
    let ClaimAnswer::Claimed(claim) = claim(1) else {
        unreachable!()
    };
    let chosen = crate::strategy::Chosen {
        model: None,
        rationale: String::new(),
    };
    let current = Box::new(Current::of(&RunId::new(1), 1, &claim, chosen));
    let (mut state, _) = State::begin(plan());
    state.phase = Phase::Baselining(current.clone(), BaselineOf::All);
    assert_eq!(
        state.step(event(Duration::ZERO, Input::DiskFull)),
        [Effect::WaitForDiskSpace]
    );
    assert_eq!(
        state.step(event(Duration::ZERO, Input::DiskSpaceFound)),
        [Effect::RunBaseline(current.clone(), BaselineOf::All)]
    );
    let examine = state.judged(current, Box::new(turn_done(1)));
    assert!(matches!(&examine[..], [Effect::Examine(what)] if what.gates == Gates::Run));
    assert_eq!(
        state.step(event(Duration::ZERO, Input::DiskFull)),
        [Effect::WaitForDiskSpace]
    );
    assert_eq!(state.step(event(Duration::ZERO, Input::DiskSpaceFound)), examine);
    state.plan.commit = ralph_model::config::Commit::Task;
    let commit = state.step(event(Duration::ZERO, Input::Examined(Box::default())));
    assert!(matches!(commit[..], [Effect::Commit(_)]), "{commit:?}");
    assert_eq!(
        state.step(event(Duration::ZERO, Input::DiskFull)),
        [Effect::WaitForDiskSpace]
    );
    assert_eq!(state.step(event(Duration::ZERO, Input::DiskSpaceFound)), commit);
}
