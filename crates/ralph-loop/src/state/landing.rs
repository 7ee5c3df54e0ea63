//! From a checkout to the base: the work of a task that is done lands as one commit, and only then is the task done.

use ralph_model::{StopReason, Unverified};

use super::phase::{Moment, Phase};
use super::{Current, Draft, Effect, Examined, Gates, Happening, Place, State, WorkCommit};
use crate::basis::names;
use crate::gates::{Baseline, Changed, GateEnd, not_started};
use crate::settle::{Claimed, Fate, gate_not_started, gates_interrupted, judge_evidence, judge_gates, not_landed};

/// How often work is brought onto a base that moves before the task has to wait for another iteration.
const MOST_MOVES: u32 = 10;

impl State {
    /// What happens on the way of work from a checkout, or from the project itself, into a commit.
    pub(super) fn towards_base(&mut self, phase: Phase, what: Happening, when: Moment) -> Vec<Effect> {
        match (phase, what) {
            (Phase::CheckingOut(current), Happening::CheckedOut) => self.checked_out(current),
            (Phase::CheckingOut(current), Happening::LandedBefore) => self.abandon(current),
            (Phase::Committing(draft), Happening::Committed(result)) => self.committed(draft, result, when),
            (Phase::Committing(draft) | Phase::CommittingWork(draft), Happening::ProgramsChanged(changes)) => {
                self.programs_changed(draft, changes, when.now)
            }
            (Phase::CommittingWork(draft), Happening::WorkCommitted(result)) => {
                self.work_committed(draft, result, when)
            }
            (Phase::Rechecking(draft), Happening::Examined(examined)) => self.rechecked(draft, *examined, when),
            (Phase::RecordingLanding(draft, commit), Happening::LandingRecorded(is_ours)) => {
                self.landing_recorded(draft, commit, is_ours, when)
            }
            (Phase::Landing(draft, commit), Happening::Landed(base)) => self.landed(draft, commit, base, when),
            (Phase::Landing(draft, _), Happening::BaseMoved) => self.commit_work(draft, when),
            (
                phase
                @ (Phase::CheckingOut(_) | Phase::Committing(_) | Phase::CommittingWork(_) | Phase::Rechecking(_)),
                Happening::NoRoom,
            ) => self.find_room(phase),
            (phase, _) => self.rest(phase),
        }
    }

    /// Work in the project itself is committed, or is not.
    fn committed(
        &mut self,
        mut draft: Box<Draft>,
        result: Option<Result<String, String>>,
        when: Moment,
    ) -> Vec<Effect> {
        if self.is_to_stop() && matches!(result, Some(Err(_))) {
            // Done is what is committed, where that is wanted; the next run does it.
            draft.ruling = gates_interrupted();
        } else if let Some(Err(why)) = &result {
            draft.ruling.also(&format!("It is not committed: {why}"));
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

    /// Lands work that is confirmed. What changed the basis of its evidence waits on its branch for a person.
    pub(super) fn land_or_settle(&mut self, mut draft: Box<Draft>, when: Moment) -> Vec<Effect> {
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

    /// Commits the work on the tip of the base.
    pub(super) fn commit_work(&mut self, mut draft: Box<Draft>, when: Moment) -> Vec<Effect> {
        if self.is_to_stop() {
            draft.ruling = gates_interrupted();
            draft.unverified = None;
            return self.settle(draft, when.now);
        }
        self.phase = Phase::CommittingWork(draft.clone());
        vec![Effect::CommitWork(draft)]
    }

    fn work_committed(&mut self, mut draft: Box<Draft>, result: WorkCommit, when: Moment) -> Vec<Effect> {
        match result {
            WorkCommit::Nothing => {
                if draft.unverified.is_none() {
                    let passed = draft.ruling.clone();
                    (draft.ruling, draft.unverified) = judge_evidence(
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
            WorkCommit::Moved if draft.moves >= MOST_MOVES => {
                let why = format!("The base branch moved {MOST_MOVES} times while the work was about to land.");
                draft.ruling = gates_interrupted();
                draft.ruling.reason = why;
                draft.ruling.then = crate::settle::Then::GoOn;
                draft.unverified = None;
                self.settle(draft, when.now)
            }
            WorkCommit::Moved => {
                draft.moves += 1;
                self.recheck(draft, when)
            }
            _ if self.is_to_stop() => {
                draft.ruling = gates_interrupted();
                draft.unverified = None;
                self.settle(draft, when.now)
            }
            WorkCommit::Refused(why) => {
                draft.ruling = not_landed(StopReason::TaskDone, &why);
                draft.unverified = None;
                self.settle(draft, when.now)
            }
            // Nothing was decided about the work, and the next run finds it as it is.
            WorkCommit::Failed(why) => self.failed(&Phase::CommittingWork(draft), why),
        }
    }

    /// Asks the gates again, about the work on the new tip of the base.
    fn recheck(&mut self, draft: Box<Draft>, when: Moment) -> Vec<Effect> {
        if draft.gates.is_empty() {
            return self.commit_work(draft, when);
        }
        let effect = self.examine(&draft.current, &draft.turn, Gates::Run);
        self.phase = Phase::Rechecking(draft);
        vec![effect]
    }

    fn rechecked(&mut self, mut draft: Box<Draft>, examined: Examined, when: Moment) -> Vec<Effect> {
        draft.gates = examined.gates;
        draft.basis_changed = examined.basis_changed;
        let empty = Baseline::default();
        let baseline = draft.baseline.as_ref().unwrap_or(&empty);
        let is_stopped = draft.gates.iter().any(|result| result.end == GateEnd::Stopped);
        let ruling = if is_stopped {
            gates_interrupted()
        } else if let Some(why) = not_started(&draft.gates, &names(&draft.basis_changed)) {
            gate_not_started(&why)
        } else {
            let verdict = self.verdict(baseline, &draft.gates, Changed::Something);
            judge_gates(&self.facts(&draft.current, &draft.turn), Claimed::Done, &verdict)
        };
        draft.ruling = ruling;
        draft.unverified = None;
        if draft.ruling.task != Fate::Done {
            draft
                .ruling
                .also("It passed before it was brought onto the new tip of the base branch.");
            return self.settle(draft, when.now);
        }
        self.judge_evidence(&mut draft);
        match draft.ruling.task {
            Fate::Done => self.land_or_settle(draft, when),
            _ => self.settle(draft, when.now),
        }
    }

    fn landing_recorded(&mut self, draft: Box<Draft>, commit: String, is_ours: bool, when: Moment) -> Vec<Effect> {
        if !is_ours {
            // Another run has the task by now; what is recorded of this iteration does not change it.
            return self.settle(draft, when.now);
        }
        self.phase = Phase::Landing(draft.clone(), commit.clone());
        vec![Effect::Land(draft, commit)]
    }

    fn landed(&mut self, mut draft: Box<Draft>, commit: String, base: String, when: Moment) -> Vec<Effect> {
        draft.commit = Some(Ok(commit));
        draft.landed_on = Some(base);
        self.settle(draft, when.now)
    }
}
