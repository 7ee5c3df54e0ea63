//! A turn, from the start of the agent to its settlement.

use ralph_memory::inject::prompt::BrokenGate;
use std::time::Duration;

use jiff::Timestamp;
use ralph_agent::TurnEnd;
use ralph_model::config::Commit;
use ralph_model::{Promise, TaskKind, Usage};
use ralph_store::{EvidenceChange, PauseChange};

use super::pauses::MAX_TRANSIENTS;
use super::phase::{Examining, Phase, TimePoint, Working};
use super::{
    Current, DiscardedVerifications, Effect, End, Examined, Gates, Input, LimitReached, Notice, PendingSettlement,
    Place, State, ToExamine,
};
use crate::basis::{changed_without_review, names};
use crate::gates::{Baseline, Changed, GateEnd, GateResult, not_started};
use crate::settle::{
    Facts, Judgement, StopRun, TaskTransition, Then, Verdict, gate_not_started, gates_interrupted, judge,
    judge_evidence, judge_gates, landed_before,
};
use crate::strategy::configured_model;
use crate::summary::{StopCause, TurnSummary};

impl State {
    pub(super) fn spawned(&mut self, current: Box<Current>, at: Duration) -> Vec<Effect> {
        let working = Working {
            current,
            stop: None,
            began: at,
            last_activity: at,
            used: Usage::default(),
        };
        if self.interrupts > 0 {
            return self.stop_agent(working, StopCause::Interrupt);
        }
        self.enter(Phase::Working(working))
    }

    pub(super) fn while_working(&mut self, mut working: Working, what: Input, at: Duration) -> Vec<Effect> {
        match what {
            Input::TurnEnded(mut summary) => {
                summary.cause = cause_of_end(working.stop, &summary.end);
                summary.limit = self.limit_of(summary.cause, &working);
                self.phase = Phase::Recording(working.current, summary.clone());
                return vec![Effect::RecordEnd(summary)];
            }
            Input::Activity => working.last_activity = at,
            Input::Used(usage) => {
                working.last_activity = at;
                working.used = usage;
            }
            _ => {}
        }
        // The task limit does not stop the verifier: finished work has already been paid for.
        let over_task_limit = || {
            let reached = self.task_used_up(&working.current, working.used);
            reached.map(|_| (StopCause::TaskLimit, None))
        };
        match (working.stop, self.cause_to_stop(&working, at).or_else(over_task_limit)) {
            (None, Some((cause, reached))) => {
                self.reached = reached;
                self.stop_agent(working, cause)
            }
            (Some(_), _) | (None, None) => self.enter(Phase::Working(working)),
        }
    }

    /// The limit that stopped a session, in a sentence.
    pub(super) fn limit_of(&self, cause: Option<StopCause>, session: &Working) -> Option<String> {
        match cause? {
            StopCause::RunLimit => self.reached.as_ref().map(|reached| reached.message.clone()),
            StopCause::TaskLimit => self.task_used_up(&session.current, session.used),
            _ => None,
        }
    }

    pub(super) fn stop_agent(&mut self, mut working: Working, cause: StopCause) -> Vec<Effect> {
        working.stop = Some(cause);
        self.phase = Phase::Working(working);
        vec![Effect::StopAgent]
    }

    pub(super) fn facts<'a>(&self, current: &'a Current, turn: &'a TurnSummary) -> Facts<'a> {
        Facts {
            assigned: &current.task,
            kind: current.kind,
            turn,
            overflowed_before: current.overflowed_before,
            complete_is_done: self.plan.only_task.as_ref() == Some(&current.task),
            limits: self.plan.limits,
        }
    }

    /// The turn is over; decides whether to run the gates.
    pub(super) fn judged(&mut self, current: Box<Current>, turn: Box<TurnSummary>) -> Vec<Effect> {
        let judgement = match &current.landed {
            Some(_) => Judgement::Settled(landed_before()),
            None => judge(&self.facts(&current, &turn)),
        };
        let gates = match &judgement {
            Judgement::AskGates(_) if self.interrupts == 0 => Gates::Run,
            Judgement::AskGates(_) | Judgement::Settled(_) => Gates::Skip,
        };
        let effect = self.examine(&current, &turn, gates);
        self.phase = Phase::Examining(Box::new(Examining {
            current,
            turn,
            judgement,
            gates,
        }));
        vec![effect]
    }

    /// The effect that examines what a turn changed.
    pub(super) fn examine(&self, current: &Current, turn: &TurnSummary, gates: Gates) -> Effect {
        Effect::Examine(Box::new(ToExamine {
            current: Box::new(current.clone()),
            writes: turn.writes.clone(),
            gates,
            baseline: self.baseline_of(current).cloned().unwrap_or_default(),
        }))
    }

    /// The baseline of an iteration.
    fn baseline_of<'a>(&'a self, current: &'a Current) -> Option<&'a Baseline> {
        current.baseline.as_ref().or(self.baseline.as_ref())
    }

    /// The verdict of the gates. If the check of a guardrail refuses the work, the reason names the guardrail.
    pub(super) fn verdict(&self, baseline: &Baseline, gates: &[GateResult], changed: Changed) -> Verdict {
        let refusing = baseline.refusing(gates, changed);
        let guardrail = refusing.and_then(|gate| self.plan.rules.guardrail_of(&gate.command));
        match (baseline.verdict(gates, changed), guardrail) {
            (Verdict::Refused(why), Some(guardrail)) => Verdict::Refused(format!("{guardrail}\n{why}")),
            (verdict, _) => verdict,
        }
    }

    /// Records which attempt broke a gate that passed before the run.
    fn note_broken(&mut self, current: &Current, results: &[GateResult]) {
        let red_before = self.baseline.as_ref().map(Baseline::red_gates).unwrap_or_default();
        for result in results {
            let is_known = self.broken_gates.iter().any(|gate| gate.command == result.command);
            if result.is_green() {
                self.broken_gates.retain(|gate| gate.command != result.command);
            } else if !is_known && !red_before.contains(&result.command) && !current.checks.contains(&result.command) {
                self.broken_gates.push(BrokenGate {
                    command: result.command.clone(),
                    since: format!("attempt {} at {}", current.attempt, current.task),
                });
            }
        }
    }

    /// Prepares the settlement from the changes and the gate results.
    pub(super) fn examined(&mut self, examining: Examining, examined: Examined, when: TimePoint) -> Vec<Effect> {
        let Examining {
            current,
            turn,
            judgement,
            gates,
        } = examining;
        let changed = if examined.changed_something {
            Changed::Something
        } else {
            Changed::Nothing
        };
        let empty = Baseline::default();
        let baseline = self.baseline_of(&current).unwrap_or(&empty);
        let broken_off = examined.gates.iter().any(|result| result.end == GateEnd::Stopped);
        let decision = match judgement {
            Judgement::Settled(decision) => decision,
            Judgement::AskGates(_) if broken_off || gates == Gates::Skip => gates_interrupted(),
            Judgement::AskGates(claimed) => match not_started(&examined.gates, &names(&examined.basis_changed)) {
                Some(why) => gate_not_started(&why),
                None => {
                    let verdict = match &examined.denied {
                        Some(why) => Verdict::Refused(why.clone()),
                        None => self.verdict(baseline, &examined.gates, changed),
                    };
                    judge_gates(&self.facts(&current, &turn), claimed, &verdict)
                }
            },
        };
        if current.place == Place::Project && !broken_off {
            self.note_broken(&current, &examined.gates);
        }
        let baseline = self.baseline_of(&current).unwrap_or(&empty);
        let shrunk = (gates == Gates::Run && !broken_off).then(|| baseline.shrunk(&examined.gates));
        if current.run == self.plan.run && shrunk.is_some() {
            self.baseline.clone_from(&shrunk);
        }
        let draft = Box::new(PendingSettlement {
            changed,
            changed_before: examined.changed_before,
            basis_changed: examined.basis_changed,
            unverified: None,
            files: examined.files,
            unseen: examined.unseen,
            gates: examined.gates,
            baseline: shrunk,
            commit: None,
            landed_on: None,
            moves: 0,
            verification: None,
            decision_before_verifier: None,
            discarded: DiscardedVerifications::default(),
            pause: PauseChange::Keep,
            verifier_pause: PauseChange::Keep,
            current,
            turn,
            decision,
        });
        if self.asks() {
            return self.ask(draft);
        }
        self.verify_or_conclude(draft, when)
    }

    /// Runs the verifier on finished work if configured, then settles.
    pub(super) fn verify_or_conclude(&mut self, draft: Box<PendingSettlement>, when: TimePoint) -> Vec<Effect> {
        if self.is_to_be_verified(&draft) {
            return self.verify(draft, when);
        }
        self.conclude(draft, when)
    }

    /// Checks the evidence for a finished task, commits if configured, and settles.
    pub(super) fn conclude(&mut self, mut draft: Box<PendingSettlement>, when: TimePoint) -> Vec<Effect> {
        if draft.current.landed.is_none() {
            self.judge_evidence(&mut draft);
        }
        if draft.decision.task == TaskTransition::Done && draft.current.place == Place::Checkout {
            return self.land_or_settle(draft, when);
        }
        if draft.decision.task == TaskTransition::Done && self.plan.commit == Commit::Task {
            self.phase = Phase::Committing(draft.clone());
            vec![Effect::Commit(draft)]
        } else {
            self.settle(draft, when.now)
        }
    }

    pub(super) fn judge_evidence(&self, draft: &mut PendingSettlement) {
        if draft.decision.task == TaskTransition::Done
            && let Some(unverified) = draft.lacks_evidence()
        {
            let (kind, when) = (draft.current.kind, self.plan.unverified);
            let passed = draft.decision.clone();
            (draft.decision, draft.unverified) = judge_evidence(kind, passed, unverified, when);
        }
    }

    /// Settles without a commit, because hooks or filters changed without review. They are part of the evidence, too.
    pub(super) fn programs_changed(
        &mut self,
        mut draft: Box<PendingSettlement>,
        changes: Vec<EvidenceChange>,
        now: Timestamp,
    ) -> Vec<Effect> {
        let why = changed_without_review(&changes);
        draft.decision.also(&format!("Not committed: {why}"));
        draft.commit = Some(Err(why));
        let known = names(&draft.basis_changed);
        let new = changes.into_iter().filter(|change| !known.contains(&change.name));
        draft.basis_changed.extend(new);
        self.judge_evidence(&mut draft);
        self.settle(draft, now)
    }

    pub(super) fn settle(&mut self, mut draft: Box<PendingSettlement>, now: Timestamp) -> Vec<Effect> {
        self.give_up_if_stuck(&mut draft);
        (draft.pause, draft.verifier_pause) = self.pauses_after(&draft, now);
        self.phase = Phase::Settling(draft.clone());
        vec![Effect::Settle(draft)]
    }

    pub(super) fn settled(&mut self, draft: &PendingSettlement, at: Duration) -> Vec<Effect> {
        self.settled += 1;
        if draft.current.run != self.plan.run {
            // The leftovers of a dead run do not count here; only the verification belongs to this run.
            self.spent = self.spent.and(draft.verifier_usage());
            return self.tidy();
        }
        let (decision, control) = (&draft.decision, &draft.turn.control);
        self.count_in(draft);
        let mut effects = Vec::new();
        if let Some(requested) = &control.next_model {
            match configured_model(&self.plan.models, requested) {
                Some(model) => self.hint = Some(model.to_owned()),
                None => effects.push(Effect::Notify(Notice::UnknownModel(requested.clone()))),
            }
        }
        if control.promise == Some(Promise::Complete) && decision.task != TaskTransition::Done {
            effects.push(Effect::Notify(Notice::CompleteTooEarly));
        }
        effects.extend(self.after(draft, at));
        effects
    }

    /// Ends the run once the files of its last settlement are written.
    fn close(&mut self, end: End) -> Vec<Effect> {
        self.phase = Phase::Closing(end);
        vec![Effect::FinishOutbox]
    }

    /// Updates the counters behind the limits.
    fn count_in(&mut self, draft: &PendingSettlement) {
        self.spent = self.spent.and(draft.usage());
        match draft.decision.outcome.is_failure() {
            _ if draft.current.kind == TaskKind::Once => {}
            Some(true) => self.streak += 1,
            Some(false) => self.streak = 0,
            None => {}
        }
        self.count_standstill(draft);
    }

    fn after(&mut self, draft: &PendingSettlement, at: Duration) -> Vec<Effect> {
        match &draft.decision.then {
            _ if self.is_to_stop() => self.close(End::Interrupted),
            Then::GoOn => match self.open_breaker() {
                Some(standstill) => self.close(End::NoProgress(standstill)),
                None => self.tidy(),
            },
            Then::Stop(StopRun::Interrupt) => self.close(End::Interrupted),
            Then::Stop(StopRun::FailurePromise) => self.close(End::FailurePromise),
            Then::Stop(StopRun::AgentUnusable | StopRun::GateNotStarted) => {
                self.close(End::Error(draft.decision.reason.clone()))
            }
            Then::Stop(StopRun::Limit) => {
                let from_decision = || LimitReached {
                    key: "",
                    message: draft.decision.reason.clone(),
                };
                let limit = self
                    .reached
                    .take()
                    .or_else(|| self.limit_reached(at))
                    .unwrap_or_else(from_decision);
                self.close(End::Limit(limit))
            }
            Then::BackOff if self.gives_up(draft) => self.close(End::Error(format!(
                "The service failed {MAX_TRANSIENTS} times in a row. {}",
                draft.decision.reason
            ))),
            // The pause is recorded; the next claim returns it.
            Then::BackOff | Then::WaitForUsage { .. } => self.tidy(),
        }
    }

    /// The disk stayed full until the run was out of time, so the time limit ended it.
    pub(super) fn disk_full_timeout(&mut self, phase: Phase, reason: String, at: Duration) -> Vec<Effect> {
        match (phase, self.time_is_up(at)) {
            // The next run will find that this one ended.
            (Phase::Ending(end) | Phase::Over(end), _) => self.enter(Phase::Over(end)),
            (phase, None) => self.failed(&phase, reason),
            (_, Some(mut reached)) => {
                reached.message = format!("{} The run was still waiting: {reason}.", reached.message);
                self.finish(End::Limit(reached))
            }
        }
    }

    /// An effect failed, so the run ends. Its recorded work is left for the next run.
    pub(super) fn failed(&mut self, phase: &Phase, reason: String) -> Vec<Effect> {
        match phase {
            Phase::Ending(_) if self.interrupts > 0 => self.enter(Phase::Over(End::Interrupted)),
            Phase::Over(_) | Phase::Ending(_) => self.enter(Phase::Over(End::Error(reason))),
            _ if self.interrupts > 0 => self.finish(End::Interrupted),
            _ => self.finish(End::Error(reason)),
        }
    }
}

/// Why ralph stopped the turn, if it did. A turn that had already finished counts as stopped only if the user
/// interrupted it.
pub(super) fn cause_of_end(stop: Option<StopCause>, end: &TurnEnd) -> Option<StopCause> {
    stop.filter(|cause| *cause == StopCause::Interrupt || *end != TurnEnd::Finished)
}
