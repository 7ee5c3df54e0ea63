//! The state machine against a world that answers every effect, in every order that chance finds.

use jiff::Timestamp;
use proptest::prelude::*;
use ralph_agent::TurnEnd;
use ralph_model::config::{Commit, Limits, StrategyName, WhenUnverified};
use ralph_model::{Control, Priority, RunId, Task, TaskId, TaskKind, TaskStatus, Verdict};
use ralph_store::{Claim, NewPause, Pause, PauseChange, PauseReason};

use super::*;
use crate::guide::{Asking, Guided, WhatNext};
use crate::rules::Rules;
use crate::settle::Fate;
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
        verifier: WhoVerifies::Nobody,
        unverified: WhenUnverified::Review,
        pace: Pace::default(),
        first_try: FirstTry::AfterThePause,
        asking: Asking::Nobody,
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

/// The answer to a claim where nothing came before.
fn answered(answer: ClaimAnswer) -> Happening {
    Happening::Answered {
        answer,
        past: Past::default(),
    }
}

/// The clock on the wall, where it goes as the other does: it is 1970.
fn clock(at: Duration) -> Timestamp {
    Timestamp::UNIX_EPOCH + at
}

fn event(at: Duration, what: Happening) -> Event {
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

/// A verifier whose turn ended so, and that said this.
fn looked(end: TurnEnd, verdict: Option<Verdict>) -> Happening {
    Happening::Verified(Box::new(Verification {
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
    /// What earlier attempts at every task have used.
    spent_before: Usage,
    tasks: u64,
    begun: u64,
    /// What was done, in words.
    done: Vec<String>,
    settled: Vec<Draft>,
    /// What keeps the agent from being started.
    pause: Option<Pause>,
    told: Vec<Notice>,
    /// What the person says when asked.
    guided: Guided,
    /// Whether the agent at work is the verifier.
    verifying: bool,
    /// What came before, of whatever task is claimed.
    past: Past,
    /// What comes of work as a commit; a commit that can land where there is nothing more.
    commits: VecDeque<WorkCommit>,
    /// How often the base moves before something lands.
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
            told: Vec::new(),
            guided: Guided {
                text: None,
                next: WhatNext::Stop,
            },
            verifying: false,
            past: Past::default(),
            commits: VecDeque::new(),
            base_moves: 0,
        }
    }

    /// Keeps the pause of a settlement as the database does.
    fn put_pause(&mut self, draft: &Draft, now: Timestamp) {
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

    /// Whether the pause keeps a run from a task.
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
            return ClaimAnswer::Nothing(Standing::default());
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

    /// What comes of the effects that bring work from a checkout into the base.
    fn landing(&mut self, effect: &Effect) -> Happening {
        match effect {
            Effect::CheckOut(_) => Happening::CheckedOut,
            Effect::CommitWork(_) => {
                let ready = || WorkCommit::Ready("c".to_owned());
                Happening::WorkCommitted(self.commits.pop_front().unwrap_or_else(ready))
            }
            Effect::RecordLanding(..) => Happening::LandingRecorded(true),
            _ if self.base_moves > 0 => {
                self.base_moves -= 1;
                Happening::BaseMoved
            }
            _ => Happening::Landed("refs/heads/main".to_owned()),
        }
    }

    fn answer(&mut self, effect: &Effect, now: Timestamp) -> Option<Happening> {
        let name = format!("{effect:?}");
        self.verifying = match effect {
            Effect::Verify(_) => true,
            Effect::Spawn => false,
            _ => self.verifying,
        };
        self.done
            .push(name.split([' ', '(', '{']).next().unwrap_or_default().to_owned());
        Some(match effect {
            Effect::Recover => Happening::Recovered(Vec::new()),
            Effect::Abandon(_) => Happening::Abandoned,
            Effect::FinishOutbox => Happening::OutboxFinished,
            Effect::Claim { pauses, .. } => Happening::Answered {
                answer: self.claim(pauses, now),
                past: self.past.clone(),
            },
            Effect::Count => {
                let open = u32::try_from(self.tasks - self.begun).unwrap();
                Happening::Counted(Standing {
                    open,
                    ..Standing::default()
                })
            }
            Effect::RunBaseline(..) => Happening::BaselineRan {
                results: Vec::new(),
                left: None,
            },
            Effect::Prepare { .. } => Happening::Prepared {
                before: "{}".to_owned(),
                overflowed_before: false,
                spent_before: self.spent_before,
            },
            Effect::Spawn | Effect::Verify(_) => Happening::Spawned,
            Effect::StopAgent | Effect::KillAgent if self.verifying => looked(TurnEnd::Stopped, None),
            Effect::StopAgent | Effect::KillAgent => Happening::TurnEnded(Box::new(TurnSummary {
                end: TurnEnd::Stopped,
                cause: None,
                ..TurnSummary::lost()
            })),
            Effect::RecordEnd(_) => Happening::EndRecorded,
            Effect::Examine(_) => Happening::Examined(Box::new(Examined {
                changed_something: true,
                ..Examined::default()
            })),
            Effect::FindRoom => Happening::RoomFound,
            Effect::CheckOut(_) | Effect::CommitWork(_) | Effect::RecordLanding(..) | Effect::Land(..) => {
                self.landing(effect)
            }
            Effect::Ask(_) => Happening::Guided(self.guided.clone()),
            Effect::RecordGuidance(_) => Happening::GuidanceRecorded,
            Effect::Commit(_) => Happening::Committed(Some(Ok("c".to_owned()))),
            Effect::Settle(draft) => {
                self.settled.push((**draft).clone());
                self.put_pause(draft, now);
                Happening::Settled
            }
            Effect::EndRun(end) => Happening::RunEnded(end.clone()),
            Effect::Tell(notice) => {
                self.told.push(notice.clone());
                return None;
            }
            Effect::Warn(_) | Effect::StopGates | Effect::KeepBaseline(_) | Effect::GiveUpAsking | Effect::GoOn => {
                return None;
            }
        })
    }

    /// Goes on until it is over or only something from outside can move it.
    fn run(&mut self, mut state: State, effects: Vec<Effect>, at: Duration) -> State {
        let mut open: VecDeque<Effect> = effects.into();
        while let Some(effect) = open.pop_front() {
            if let Some(what) = self.answer(&effect, clock(at)) {
                open.extend(state.step(event(at, what)));
            }
        }
        state
    }

    fn happens(&mut self, mut state: State, what: Happening, seconds: u64) -> State {
        let at = Duration::from_secs(seconds);
        let effects = state.step(event(at, what));
        self.run(state, effects, at)
    }

    fn begin(&mut self, plan: Plan) -> State {
        let (state, effects) = State::begin(plan);
        self.run(state, effects, Duration::ZERO)
    }

    /// Lets every agent end its task until the run is over.
    fn finish(&mut self, mut state: State) -> End {
        for _ in 0..100 {
            if let Some(end) = state.end() {
                return end.clone();
            }
            let turn = Box::new(turn_done(self.begun));
            state = self.happens(state, Happening::TurnEnded(turn), 1);
        }
        panic!("it does not end: {state:?}")
    }
}

#[test]
fn tasks_are_done_one_after_the_other_until_none_is_left() {
    let mut world = World::with_tasks(3);
    let state = world.begin(plan());
    assert_eq!(world.finish(state), End::Complete);
    assert_eq!(world.settled.len(), 3);
    assert!(world.settled.iter().all(|draft| draft.ruling.task == Fate::Done));
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
fn nothing_to_do_is_said_by_an_exit_code_of_its_own() {
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
fn an_interrupt_stops_the_agent_and_the_run() {
    let mut world = World::with_tasks(3);
    let state = world.begin(plan());
    let state = world.happens(state, Happening::Interrupt, 1);
    assert_eq!(state.end(), Some(&End::Interrupted));
    assert_eq!(world.settled.len(), 1);
    assert_eq!(world.settled[0].turn.cause, Some(StopCause::Interrupt));
}

/// How a run of one iteration ends in which Ctrl+C is pressed while this is done.
fn interrupted_at(turn: TurnSummary, is_moment: impl Fn(&State, &Effect) -> bool) -> Option<End> {
    let mut limited = plan();
    limited.limits.iterations = Some(1);
    let mut world = World::with_tasks(3);
    let mut state = world.begin(limited);
    let mut open: VecDeque<Effect> = state
        .step(event(Duration::ZERO, Happening::TurnEnded(Box::new(turn))))
        .into();
    while let Some(effect) = open.pop_front() {
        if is_moment(&state, &effect) {
            open.extend(state.step(event(Duration::ZERO, Happening::Interrupt)));
        }
        if let Some(what) = world.answer(&effect, clock(Duration::ZERO)) {
            open.extend(state.step(event(Duration::ZERO, what)));
        }
    }
    assert!(state.interrupts > 0, "the moment came");
    state.end().cloned()
}

#[test]
fn an_interrupt_on_the_way_to_another_end_is_an_interrupt() {
    let end = interrupted_at(turn_done(1), |_, effect| matches!(effect, Effect::Count));
    assert_eq!(end, Some(End::Interrupted));
    let mut failing = turn_done(1);
    failing.control.promise = Some(ralph_model::Promise::Failure);
    let end = interrupted_at(failing, |state, _| matches!(state.phase, Phase::Closing(_)));
    assert_eq!(end, Some(End::Interrupted));
}

#[test]
fn silence_and_time_stop_the_agent_and_the_run_goes_on() {
    for (signs, cause) in [(0..0, StopCause::Idle), (1..8, StopCause::Timeout)] {
        let mut world = World::with_tasks(1);
        let mut state = world.begin(plan());
        for sign in signs {
            state = world.happens(state, Happening::Sign, sign * 890);
        }
        let due = if cause == StopCause::Idle { 900 } else { 7130 };
        assert_eq!(state.deadline(), Some(Duration::from_secs(due)));
        state = world.happens(
            state,
            Happening::Tick,
            if cause == StopCause::Idle { 900 } else { 7200 },
        );
        assert_eq!(world.settled[0].turn.cause, Some(cause));
        assert_eq!(state.end(), Some(&End::Complete));
    }
}

#[test]
fn what_a_dead_run_left_is_settled_first_and_does_not_count_here() {
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
        Left::Claimed(current.clone()),
        Left::Ended(current.clone(), Box::new(TurnSummary::lost())),
        Left::Ended(current, Box::new(turn_done(7))),
    ];
    let mut world = World::with_tasks(0);
    let state = world.happens(state, Happening::Recovered(left), 0);
    let settled: Vec<(u32, Fate)> = world
        .settled
        .iter()
        .map(|d| (d.current.iteration, d.ruling.task))
        .collect();
    assert_eq!(settled, [(4, Fate::Again), (4, Fate::Done)]);
    assert_eq!((state.iterations(), state.end()), (0, Some(&End::Complete)));
    assert_eq!(world.done.iter().filter(|effect| *effect == "Abandon").count(), 1);
}

fn happening(number: u8) -> Happening {
    match number % 37 {
        0 => Happening::Recovered(Vec::new()),
        1 => Happening::Abandoned,
        2 => Happening::OutboxFinished,
        3 => Happening::Counted(Standing::default()),
        4 => answered(claim(u64::from(number))),
        5 => answered(ClaimAnswer::Nothing(Standing::default())),
        6 => Happening::BaselineRan {
            results: Vec::new(),
            left: None,
        },
        7 => Happening::Prepared {
            before: String::new(),
            overflowed_before: number > 100,
            spent_before: Usage::default(),
        },
        8 => Happening::Spawned,
        9 => Happening::Sign,
        10 => Happening::TurnEnded(Box::new(turn_done(u64::from(number)))),
        11 => Happening::EndRecorded,
        12 => Happening::Examined(Box::default()),
        13 => Happening::Committed(Some(Err("no".to_owned()))),
        14 => Happening::Settled,
        15 => Happening::Tick,
        16 => Happening::RunEnded(End::Complete),
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
        18 => Happening::Interrupt,
        19 => Happening::Failed("it is broken".to_owned()),
        20 => Happening::Used(Usage {
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
        25 => Happening::NoRoom,
        26 => Happening::RoomFound,
        27..=31 => of_a_person(number),
        32 => looked(TurnEnd::Finished, Some(Verdict::Pass)),
        33 => looked(TurnEnd::Finished, Some(Verdict::Fail("no".to_owned()))),
        34 if number > 100 => Happening::VerifierUnusable("no".to_owned()),
        34 => Happening::TaskGone,
        35 => looked(
            TurnEnd::UsageLimit {
                resets_at: None,
                message: String::new(),
            },
            None,
        ),
        _ => Happening::NoRoomInTime("the disk is full".to_owned()),
    }
}

/// What a person may say, whenever they like.
fn of_a_person(number: u8) -> Happening {
    match number % 5 {
        0 => Happening::Stop,
        1 => Happening::GuidanceWanted,
        2 => Happening::Wished(if number > 50 { Wish::GoOn } else { Wish::LastIteration }),
        3 => Happening::Guided(Guided {
            text: (number > 50).then(|| "so".to_owned()),
            next: if number > 90 { WhatNext::GoOn } else { WhatNext::Stop },
        }),
        _ => Happening::GuidanceRecorded,
    }
}

fn ended(end: TurnEnd) -> Happening {
    Happening::TurnEnded(Box::new(TurnSummary { end, ..turn_done(1) }))
}

/// What has been done of the iteration that is under way.
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
    /// Whatever is told in whatever order, between answers that fit or not: agents are started only for a claim that is on
    /// record, one at a time, every started turn is settled once, nothing is done after the end, no task is done that a
    /// verifier was to look at and has not let pass, and nothing is settled of which the person is still to be asked.
    #[test]
    fn any_order_of_events_leaves_the_state_legal(
        numbers in prop::collection::vec(any::<u8>(), 0..200), gates in any::<bool>(), committing in any::<bool>(),
        asking in any::<bool>(), guided in any::<(bool, bool)>(),
        verifier in prop::sample::select(vec![WhoVerifies::Nobody, WhoVerifies::SameAgent, WhoVerifies::Another]),
    ) {
        let mut plan = plan();
        plan.has_gates = gates;
        plan.asking = if asking { Asking::Possible } else { Asking::Nobody };
        plan.commit = if committing { Commit::Task } else { Commit::None };
        plan.verifier = verifier;
        let (mut state, effects) = State::begin(plan);
        let mut step = Step::Nothing;
        let mut open: VecDeque<Effect> = effects.into();
        let mut world = World::with_tasks(1000);
        world.guided = Guided {
            text: guided.0.then(|| "so".to_owned()),
            next: if guided.1 { WhatNext::GoOn } else { WhatNext::Stop },
        };
        for (at, number) in numbers.iter().enumerate() {
            let at = Duration::from_secs(at as u64);
            let over = state.end().is_some();
            // Half of what happens is the answer to what was last asked for, the rest is chance.
            let what = match open.pop_front() {
                Some(effect) if number % 2 == 0 => world.answer(&effect, clock(at)).unwrap_or(Happening::Sign),
                Some(effect) => {
                    open.push_front(effect);
                    happening(number / 2)
                }
                None => happening(number / 2),
            };
            // Nobody looks at the work of a task that is gone.
            let is_gone = matches!(what, Happening::TaskGone);
            let effects = state.step(event(at, what));
            prop_assert!(!over || effects.is_empty());
            for effect in &effects {
                if let Effect::Commit(draft) | Effect::Settle(draft) = effect
                    && draft.ruling.task == Fate::Done
                    && !is_gone
                {
                    let passes = draft.verification.as_ref().map(Verification::passes);
                    prop_assert_eq!(passes, (verifier != WhoVerifies::Nobody).then_some(true));
                }
                prop_assert!(!(matches!(effect, Effect::Settle(_)) && state.asks()));
                step = match (step, effect) {
                    // Again where there was no room for what the gates write.
                    (Step::Nothing | Step::Claimed, Effect::RunBaseline(..)) => Step::Claimed,
                    (Step::Nothing | Step::Claimed, Effect::Prepare { .. }) => Step::Prepared,
                    (Step::Prepared, Effect::Spawn) => Step::Spawned,
                    (Step::Spawned, Effect::RecordEnd(_)) => Step::Recorded,
                    (Step::Recorded, Effect::Ask(_)) if asking => Step::Asked,
                    (Step::Asked, Effect::GiveUpAsking) => Step::Asked,
                    (Step::Asked, Effect::RecordGuidance(_)) => Step::Noted,
                    // Again where there was no room; and what was not spoken against is looked at after the question.
                    (Step::Recorded | Step::Asked, Effect::Verify(_)) => Step::Recorded,
                    (Step::Recorded | Step::Asked | Step::Noted, Effect::Settle(_)) => Step::Nothing,
                    (Step::Nothing | Step::Claimed | Step::Prepared, Effect::Abandon(_)) => Step::Nothing,
                    (_, Effect::RunBaseline(..) | Effect::Prepare { .. } | Effect::Spawn | Effect::RecordEnd(_)
                        | Effect::Verify(_) | Effect::Settle(_) | Effect::Abandon(_) | Effect::Ask(_)
                        | Effect::GiveUpAsking | Effect::RecordGuidance(_)) => {
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
#[path = "state_tests/guided_look.rs"]
mod guided_look;
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
fn what_goes_on_by_itself_is_done_again_when_there_is_room() {
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
    assert_eq!(state.step(event(Duration::ZERO, Happening::NoRoom)), [Effect::FindRoom]);
    assert_eq!(
        state.step(event(Duration::ZERO, Happening::RoomFound)),
        [Effect::RunBaseline(current.clone(), BaselineOf::All)]
    );
    let examine = state.judged(current, Box::new(turn_done(1)));
    assert!(matches!(&examine[..], [Effect::Examine(what)] if what.gates == Gates::Run));
    assert_eq!(state.step(event(Duration::ZERO, Happening::NoRoom)), [Effect::FindRoom]);
    assert_eq!(state.step(event(Duration::ZERO, Happening::RoomFound)), examine);
    state.plan.commit = ralph_model::config::Commit::Task;
    let commit = state.step(event(Duration::ZERO, Happening::Examined(Box::default())));
    assert!(matches!(commit[..], [Effect::Commit(_)]), "{commit:?}");
    assert_eq!(state.step(event(Duration::ZERO, Happening::NoRoom)), [Effect::FindRoom]);
    assert_eq!(state.step(event(Duration::ZERO, Happening::RoomFound)), commit);
}
