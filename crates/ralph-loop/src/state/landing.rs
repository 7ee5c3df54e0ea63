//! Commits and landing: the work of a finished task lands as one commit, and only then is the task done.

use ralph_model::{StopReason, Unverified};

use super::phase::{Phase, TimePoint};
use super::{Current, Effect, Examined, Gates, Input, PendingSettlement, Place, State, WorkCommit};
use crate::basis::names;
use crate::gates::{Baseline, Changed, GateEnd, not_started};
use crate::settle::{
    Claimed, TaskTransition, gate_not_started, gates_interrupted, judge_evidence, judge_gates, not_landed,
};

/// How often work is moved to a new tip of the base before the task waits for another iteration.
const MAX_MOVES: u32 = 10;

impl State {
    /// Handles the steps that turn work into a commit, in a checkout or in the project itself.
    pub(super) fn towards_base(&mut self, phase: Phase, what: Input, when: TimePoint) -> Vec<Effect> {
        match (phase, what) {
            (Phase::CheckingOut(current), Input::CheckedOut) => self.checked_out(current),
            (Phase::CheckingOut(current), Input::LandedBefore) => self.abandon(current),
            (Phase::Committing(draft), Input::Committed(result)) => self.committed(draft, result, when),
            (Phase::Committing(draft) | Phase::CommittingWork(draft), Input::ProgramsChanged(changes)) => {
                self.programs_changed(draft, changes, when.now)
            }
            (Phase::CommittingWork(draft), Input::WorkCommitted(result)) => self.work_committed(draft, result, when),
            (Phase::Rechecking(draft), Input::Examined(examined)) => self.rechecked(draft, *examined, when),
            (Phase::RecordingLanding(draft, commit), Input::LandingRecorded(is_ours)) => {
                self.landing_recorded(draft, commit, is_ours, when)
            }
            (Phase::Landing(draft, commit), Input::Landed(base)) => self.landed(draft, commit, base, when),
            (Phase::Landing(draft, _), Input::BaseMoved) => self.commit_work(draft, when),
            (
                phase
                @ (Phase::CheckingOut(_) | Phase::Committing(_) | Phase::CommittingWork(_) | Phase::Rechecking(_)),
                Input::DiskFull,
            ) => self.wait_for_disk_space(phase),
            (phase, _) => self.enter(phase),
        }
    }

    /// Handles the commit of work in the project itself.
    fn committed(
        &mut self,
        mut draft: Box<PendingSettlement>,
        result: Option<Result<String, String>>,
        when: TimePoint,
    ) -> Vec<Effect> {
        if self.is_to_stop() && matches!(result, Some(Err(_))) {
            // The task is done only once it is committed; the next run does that.
            draft.decision = gates_interrupted();
        } else if let Some(Err(why)) = &result {
            draft.decision.also(&format!("Not committed: {why}"));
        }
        draft.commit = result;
        self.settle(draft, when.now)
    }

    fn checked_out(&mut self, mut current: Box<Current>) -> Vec<Effect> {
        if self.is_to_stop() || self.is_last() {
            return self.abandon(current);
        }
        current.place = Place::Checkout;
        self.baseline_or_prepare(current)
    }

    /// Lands confirmed work. Work that changed the basis of its evidence stays on its branch for review.
    pub(super) fn land_or_settle(&mut self, mut draft: Box<PendingSettlement>, when: TimePoint) -> Vec<Effect> {
        if let Some(landed) = draft.current.landed.clone() {
            let reason = landed.confirmed.unverified;
            draft.unverified = reason.map(|reason| Unverified::from_parts(reason, Vec::new()));
            draft.commit = Some(Ok(landed.commit));
            draft.landed_on = Some(landed.base);
            return self.settle(draft, when.now);
        }
        match &draft.unverified {
            Some(Unverified::EvidenceChanged(_)) => self.settle(draft, when.now),
            _ => self.commit_work(draft, when),
        }
    }

    pub(super) fn commit_work(&mut self, mut draft: Box<PendingSettlement>, when: TimePoint) -> Vec<Effect> {
        if self.is_to_stop() {
            draft.decision = gates_interrupted();
            draft.unverified = None;
            return self.settle(draft, when.now);
        }
        self.phase = Phase::CommittingWork(draft.clone());
        vec![Effect::CommitWork(draft)]
    }

    fn work_committed(
        &mut self,
        mut draft: Box<PendingSettlement>,
        result: WorkCommit,
        when: TimePoint,
    ) -> Vec<Effect> {
        match result {
            WorkCommit::Nothing => {
                if draft.unverified.is_none() {
                    let passed = draft.decision.clone();
                    (draft.decision, draft.unverified) = judge_evidence(
                        draft.current.kind,
                        passed,
                        Unverified::NothingChanged,
                        self.plan.unverified,
                    );
                }
                self.settle(draft, when.now)
            }
            WorkCommit::Ready(commit) => {
                self.phase = Phase::RecordingLanding(draft.clone(), commit.clone());
                vec![Effect::RecordLanding(draft, commit)]
            }
            WorkCommit::Moved if draft.moves >= MAX_MOVES => {
                let why = format!("The base branch moved {MAX_MOVES} times while the work was landing.");
                draft.decision = gates_interrupted();
                draft.decision.reason = why;
                draft.decision.then = crate::settle::Then::GoOn;
                draft.unverified = None;
                self.settle(draft, when.now)
            }
            WorkCommit::Moved => {
                draft.moves += 1;
                self.recheck(draft, when)
            }
            _ if self.is_to_stop() => {
                draft.decision = gates_interrupted();
                draft.unverified = None;
                self.settle(draft, when.now)
            }
            WorkCommit::Refused(why) => {
                draft.decision = not_landed(StopReason::TaskDone, &why);
                draft.unverified = None;
                self.settle(draft, when.now)
            }
            // Nothing is decided about the work; the next run picks it up.
            WorkCommit::Failed(why) => self.failed(&Phase::CommittingWork(draft), why),
        }
    }

    /// Runs the gates again on the new tip of the base.
    fn recheck(&mut self, draft: Box<PendingSettlement>, when: TimePoint) -> Vec<Effect> {
        if draft.gates.is_empty() {
            return self.commit_work(draft, when);
        }
        let effect = self.examine(&draft.current, &draft.turn, Gates::Run);
        self.phase = Phase::Rechecking(draft);
        vec![effect]
    }

    fn rechecked(&mut self, mut draft: Box<PendingSettlement>, examined: Examined, when: TimePoint) -> Vec<Effect> {
        draft.gates = examined.gates;
        draft.basis_changed = examined.basis_changed;
        let empty = Baseline::default();
        let baseline = draft.baseline.as_ref().unwrap_or(&empty);
        let is_stopped = draft.gates.iter().any(|result| result.end == GateEnd::Stopped);
        let decision = if is_stopped {
            gates_interrupted()
        } else if let Some(why) = not_started(&draft.gates, &names(&draft.basis_changed)) {
            gate_not_started(&why)
        } else {
            let verdict = self.verdict(baseline, &draft.gates, Changed::Something);
            judge_gates(&self.facts(&draft.current, &draft.turn), Claimed::Done, &verdict)
        };
        draft.decision = decision;
        draft.unverified = None;
        if draft.decision.task != TaskTransition::Done {
            draft
                .decision
                .also("It passed before it was moved to the new tip of the base branch.");
            return self.settle(draft, when.now);
        }
        self.judge_evidence(&mut draft);
        match draft.decision.task {
            TaskTransition::Done => self.land_or_settle(draft, when),
            _ => self.settle(draft, when.now),
        }
    }

    fn landing_recorded(
        &mut self,
        draft: Box<PendingSettlement>,
        commit: String,
        is_ours: bool,
        when: TimePoint,
    ) -> Vec<Effect> {
        if !is_ours {
            // Another run has the task by now, so this record does not change it.
            return self.settle(draft, when.now);
        }
        self.phase = Phase::Landing(draft.clone(), commit.clone());
        vec![Effect::Land(draft, commit)]
    }

    fn landed(
        &mut self,
        mut draft: Box<PendingSettlement>,
        commit: String,
        base: String,
        when: TimePoint,
    ) -> Vec<Effect> {
        draft.commit = Some(Ok(commit));
        draft.landed_on = Some(base);
        self.settle(draft, when.now)
    }
}
