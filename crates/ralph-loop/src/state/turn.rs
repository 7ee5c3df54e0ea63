//! From the start of an agent to the settlement of its turn.

use ralph_memory::inject::prompt::BrokenGate;
use std::time::Duration;

use jiff::Timestamp;
use ralph_agent::TurnEnd;
use ralph_model::config::Commit;
use ralph_model::{Promise, TaskKind, Usage};
use ralph_store::{EvidenceChange, PauseChange};

use super::pauses::MAX_TRANSIENTS;
use super::phase::{Examining, Moment, Phase, Working};
use super::{
    Current, Draft, Effect, End, Examined, Gates, Happening, LostLooks, Notice, Place, Reached, State, ToExamine,
};
use crate::basis::{changed_without_review, names};
use crate::gates::{Baseline, Changed, GateEnd, GateResult, not_started};
use crate::settle::{
    Facts, Fate, Judgement, StopRun, Then, Verdict, gate_not_started, gates_interrupted, judge, judge_evidence,
    judge_gates, landed_before,
};
use crate::strategy::on_the_ladder;
use crate::summary::{StopCause, TurnSummary};

impl State {
    pub(super) fn spawned(&mut self, current: Box<Current>, at: Duration) -> Vec<Effect> {
        let working = Working {
            current,
            stop: None,
            began: at,
            last_sign: at,
            used: Usage::default(),
        };
        if self.interrupts > 0 {
            return self.stop_agent(working, StopCause::Interrupt);
        }
        self.rest(Phase::Working(working))
    }

    pub(super) fn while_working(&mut self, mut working: Working, what: Happening, at: Duration) -> Vec<Effect> {
        match what {
            Happening::TurnEnded(mut summary) => {
                summary.cause = cause_of_end(working.stop, &summary.end);
                summary.limit = self.limit_of(summary.cause, &working);
                self.phase = Phase::Recording(working.current, summary.clone());
                return vec![Effect::RecordEnd(summary)];
            }
            Happening::Sign => working.last_sign = at,
            Happening::Used(usage) => {
                working.last_sign = at;
                working.used = usage;
            }
            _ => {}
        }
        // The verifier is not stopped for the task: work that is finished has been paid for.
        let over_task_limit = || {
            let reached = self.task_used_up(&working.current, working.used);
            reached.map(|_| (StopCause::TaskLimit, None))
        };
        match (working.stop, self.cause_to_stop(&working, at).or_else(over_task_limit)) {
            (None, Some((cause, reached))) => {
                self.reached = reached;
                self.stop_agent(working, cause)
            }
            (Some(_), _) | (None, None) => self.rest(Phase::Working(working)),
        }
    }

    /// The limit for which a session was stopped, in a sentence.
    pub(super) fn limit_of(&self, cause: Option<StopCause>, session: &Working) -> Option<String> {
        match cause? {
            StopCause::RunLimit => self.reached.as_ref().map(|reached| reached.said.clone()),
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

    /// The turn is over: are the gates to be asked?
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

    /// What a turn has left is to be seen.
    pub(super) fn examine(&self, current: &Current, turn: &TurnSummary, gates: Gates) -> Effect {
        Effect::Examine(Box::new(ToExamine {
            current: Box::new(current.clone()),
            writes: turn.writes.clone(),
            gates,
            baseline: self.baseline_of(current).cloned().unwrap_or_default(),
        }))
    }

    /// What the gates said before an iteration.
    fn baseline_of<'a>(&'a self, current: &'a Current) -> Option<&'a Baseline> {
        current.baseline.as_ref().or(self.baseline.as_ref())
    }

    /// What the gates say of the work. Where the check of a guardrail refuses it, the guardrail is the reason.
    pub(super) fn verdict(&self, baseline: &Baseline, gates: &[GateResult], changed: Changed) -> Verdict {
        let refusing = baseline.refusing(gates, changed);
        let guardrail = refusing.and_then(|gate| self.plan.rules.guardrail_of(&gate.command));
        match (baseline.verdict(gates, changed), guardrail) {
            (Verdict::Refused(why), Some(guardrail)) => Verdict::Refused(format!("{guardrail}\n{why}")),
            (verdict, _) => verdict,
        }
    }

    /// Remembers since which attempt a gate fails that passed before the run.
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

    /// What changed and what the gates say is known: the settlement can be drawn up.
    pub(super) fn examined(&mut self, examining: Examining, examined: Examined, when: Moment) -> Vec<Effect> {
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
        let ruling = match judgement {
            Judgement::Settled(ruling) => ruling,
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
        let draft = Box::new(Draft {
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
            unlooked: None,
            lost_looks: LostLooks::default(),
            pause: PauseChange::Keep,
            verifier_pause: PauseChange::Keep,
            current,
            turn,
            ruling,
        });
        if self.asks() {
            return self.ask(draft);
        }
        self.verify_or_conclude(draft, when)
    }

    /// Lets a second session look at what is done, where that is wanted, and settles.
    pub(super) fn verify_or_conclude(&mut self, draft: Box<Draft>, when: Moment) -> Vec<Effect> {
        if self.is_to_be_verified(&draft) {
            return self.verify(draft, when);
        }
        self.conclude(draft, when)
    }

    /// Asks whether a done task is confirmed, commits what is to be committed, and settles.
    pub(super) fn conclude(&mut self, mut draft: Box<Draft>, when: Moment) -> Vec<Effect> {
        if draft.current.landed.is_none() {
            self.judge_evidence(&mut draft);
        }
        if draft.ruling.task == Fate::Done && draft.current.place == Place::Checkout {
            return self.land_or_settle(draft, when);
        }
        if draft.ruling.task == Fate::Done && self.plan.commit == Commit::Task {
            self.phase = Phase::Committing(draft.clone());
            vec![Effect::Commit(draft)]
        } else {
            self.settle(draft, when.now)
        }
    }

    pub(super) fn judge_evidence(&self, draft: &mut Draft) {
        if draft.ruling.task == Fate::Done
            && let Some(unverified) = draft.lacks_evidence()
        {
            let (kind, when) = (draft.current.kind, self.plan.unverified);
            let passed = draft.ruling.clone();
            (draft.ruling, draft.unverified) = judge_evidence(kind, passed, unverified, when);
        }
    }

    /// Settles without a commit, because hooks or filters changed without review: evidence rests on them, too.
    pub(super) fn programs_changed(
        &mut self,
        mut draft: Box<Draft>,
        changes: Vec<EvidenceChange>,
        now: Timestamp,
    ) -> Vec<Effect> {
        let why = changed_without_review(&changes);
        draft.ruling.also(&format!("It is not committed: {why}"));
        draft.commit = Some(Err(why));
        let known = names(&draft.basis_changed);
        let new = changes.into_iter().filter(|change| !known.contains(&change.name));
        draft.basis_changed.extend(new);
        self.judge_evidence(&mut draft);
        self.settle(draft, now)
    }

    pub(super) fn settle(&mut self, mut draft: Box<Draft>, now: Timestamp) -> Vec<Effect> {
        self.give_up_if_stuck(&mut draft);
        (draft.pause, draft.verifier_pause) = self.pauses_after(&draft, now);
        self.phase = Phase::Settling(draft.clone());
        vec![Effect::Settle(draft)]
    }

    pub(super) fn settled(&mut self, draft: &Draft, at: Duration) -> Vec<Effect> {
        self.settled += 1;
        if draft.current.run != self.plan.run {
            // What a dead run did neither counts here nor decides what this one does; but the look at it was this one's.
            self.spent = self.spent.and(draft.usage_of_looks());
            return self.tidy();
        }
        let (ruling, control) = (&draft.ruling, &draft.turn.control);
        self.count_in(draft);
        let mut effects = Vec::new();
        if let Some(wish) = &control.next_model {
            match on_the_ladder(&self.plan.models, wish) {
                Some(model) => self.hint = Some(model.to_owned()),
                None => effects.push(Effect::Tell(Notice::UnknownModel(wish.clone()))),
            }
        }
        if control.promise == Some(Promise::Complete) && ruling.task != Fate::Done {
            effects.push(Effect::Tell(Notice::CompleteTooEarly));
        }
        effects.extend(self.after(draft, at));
        effects
    }

    /// Ends the run when the files of its last settlement are written.
    fn close(&mut self, end: End) -> Vec<Effect> {
        self.phase = Phase::Closing(end);
        vec![Effect::FinishOutbox]
    }

    /// Counts what limits look at.
    fn count_in(&mut self, draft: &Draft) {
        self.spent = self.spent.and(draft.usage());
        match draft.ruling.outcome.is_failure() {
            _ if draft.current.kind == TaskKind::Once => {}
            Some(true) => self.streak += 1,
            Some(false) => self.streak = 0,
            None => {}
        }
        self.count_standstill(draft);
    }

    /// What the run does after a settlement.
    fn after(&mut self, draft: &Draft, at: Duration) -> Vec<Effect> {
        match &draft.ruling.then {
            _ if self.is_to_stop() => self.close(End::Interrupted),
            Then::GoOn => match self.open_breaker() {
                Some(standstill) => self.close(End::NoProgress(standstill)),
                None => self.tidy(),
            },
            Then::Stop(StopRun::Interrupt) => self.close(End::Interrupted),
            Then::Stop(StopRun::FailurePromise) => self.close(End::FailurePromise),
            Then::Stop(StopRun::AgentUnusable | StopRun::GateNotStarted) => {
                self.close(End::Error(draft.ruling.reason.clone()))
            }
            Then::Stop(StopRun::Limit) => {
                let said = || Reached {
                    key: "",
                    said: draft.ruling.reason.clone(),
                };
                let limit = self
                    .reached
                    .take()
                    .or_else(|| self.limit_reached(at))
                    .unwrap_or_else(said);
                self.close(End::Limit(limit))
            }
            Then::BackOff if self.gives_up(draft) => self.close(End::Error(format!(
                "The service failed {MAX_TRANSIENTS} times in a row. {}",
                draft.ruling.reason
            ))),
            // The pause is on record; the next claim is answered with it.
            Then::BackOff | Then::WaitForUsage { .. } => self.tidy(),
        }
    }

    /// An effect found no room until the time of the run was up: that is the limit which it has reached.
    pub(super) fn no_room_in_time(&mut self, phase: Phase, reason: String, at: Duration) -> Vec<Effect> {
        match (phase, self.time_is_up(at)) {
            // The next run finds that this one has ended.
            (Phase::Ending(end) | Phase::Over(end), _) => self.rest(Phase::Over(end)),
            (phase, None) => self.failed(&phase, reason),
            (_, Some(mut reached)) => {
                reached.said = format!("{} The run was still waiting: {reason}.", reached.said);
                self.finish(End::Limit(reached))
            }
        }
    }

    /// An effect could not be done: the run is over. What it had begun stays on record for the next.
    pub(super) fn failed(&mut self, phase: &Phase, reason: String) -> Vec<Effect> {
        match phase {
            Phase::Ending(_) if self.interrupts > 0 => self.rest(Phase::Over(End::Interrupted)),
            Phase::Over(_) | Phase::Ending(_) => self.rest(Phase::Over(End::Error(reason))),
            _ if self.interrupts > 0 => self.finish(End::Interrupted),
            _ => self.finish(End::Error(reason)),
        }
    }
}

/// Why a turn ended, if ralph made it end. One that had come to its end before it was stopped was not stopped, unless the
/// person wanted it.
pub(super) fn cause_of_end(stop: Option<StopCause>, end: &TurnEnd) -> Option<StopCause> {
    stop.filter(|cause| *cause == StopCause::Interrupt || *end != TurnEnd::Finished)
}
