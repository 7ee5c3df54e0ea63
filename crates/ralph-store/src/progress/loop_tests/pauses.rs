//! Pauses: created and lifted by settlements, respected by claims.

use super::*;

impl Bench {
    fn ask(&mut self, run: &RunId, iteration: u32, pause_policy: PausePolicy<'_>, now: i64) -> ClaimAnswer {
        let request = ClaimRequest {
            run,
            iteration,
            scope: &Scope::Task(task()),
            worktree: "",
            commits_here: &BTreeSet::new(),
            marker: "word",
            lease: LEASE,
            verifier: None,
            pause_policy,
            now: at(now),
        };
        self.store.claim_next(&request).unwrap()
    }

    #[track_caller]
    fn claimed(&mut self, run: &RunId, iteration: u32, pause_policy: PausePolicy<'_>, now: i64) -> Claim {
        match self.ask(run, iteration, pause_policy, now) {
            ClaimAnswer::Claimed(claim) => *claim,
            other => panic!("{other:?}"),
        }
    }

    /// Settles a claimed iteration with this change of the pause.
    fn settled(&mut self, run: &RunId, claim: &Claim, pause: PauseChange, now: i64) {
        let mut settlement = settlement(Outcome::Interrupted, claim.fence);
        settlement.row.run = run.clone();
        settlement.row.iteration = self.iteration_of(run);
        settlement.row.created_at = at(now);
        settlement.task = TaskChange::Again;
        settlement.seen_pause.clone_from(&claim.pause);
        settlement.pause = pause;
        self.store.settle(&settlement).unwrap();
    }

    fn iteration_of(&self, run: &RunId) -> u32 {
        let mut records = ["", "w"]
            .into_iter()
            .flat_map(|worktree| self.store.unfinished(worktree, &RunId::new(0)).unwrap());
        records.find(|record| record.run == *run).unwrap().iteration
    }
}

fn until(second: i64) -> NewPause {
    NewPause {
        reason: PauseReason::UsageLimit,
        until: at(second),
        times: 1,
        said: "The usage limit is reached.".to_owned(),
    }
}

#[test]
fn pause_applies_to_every_run_with_the_agent() {
    let mut bench = Bench::new();
    let (own, other) = (run_id(), RunId::new(2));
    bench.begin(&other, "w");
    let claim = bench.claimed(&own, 1, PausePolicy::Respect, 1);
    assert_eq!(claim.pause, None);
    bench.settled(&own, &claim, PauseChange::Put(until(100)), 10);
    let pause = Pause {
        agent: "command".to_owned(),
        what: until(100),
        run: own.clone(),
        created_at: at(10),
    };
    for run in [&own, &other] {
        let answer = bench.ask(run, 2, PausePolicy::Respect, 99);
        assert_eq!(answer, ClaimAnswer::Paused(Box::new(pause.clone())));
    }
    assert_eq!(
        bench.store.overview(0, "").unwrap().pauses.as_slice(),
        std::slice::from_ref(&pause)
    );
    // A run that has waited long enough by its own count may go on although the clock was set back, and so may one that
    // ignores pauses.
    let claim = bench.claimed(&other, 1, PausePolicy::Except(&pause), -5000);
    assert_eq!(
        claim.pause,
        Some(pause.clone()),
        "nothing has shown yet that it is over"
    );
    bench.settled(&other, &claim, PauseChange::Keep, 20);
    let claim = bench.claimed(&other, 2, PausePolicy::Ignore, 30);
    bench.settled(&other, &claim, PauseChange::Lift, 40);
    assert_eq!(bench.store.pause_of(&own).unwrap(), None);
}

#[test]
fn earlier_iteration_neither_lifts_nor_shortens_a_pause() {
    let mut bench = Bench::new();
    let (own, other) = (run_id(), RunId::new(2));
    bench.begin(&other, "w");
    bench.add_task("Another");
    let early = bench.claimed(&own, 1, PausePolicy::Respect, 1);
    let request = ClaimRequest {
        run: &other,
        iteration: 1,
        scope: &Scope::All,
        worktree: "w",
        commits_here: &BTreeSet::new(),
        marker: "word",
        lease: LEASE,
        verifier: None,
        pause_policy: PausePolicy::Respect,
        now: at(2),
    };
    let ClaimAnswer::Claimed(late) = bench.store.claim_next(&request).unwrap() else {
        panic!("nothing is ready")
    };
    bench.settled(&other, &late, PauseChange::Put(until(500)), 10);
    bench.settled(&own, &early, PauseChange::Lift, 20);
    assert_eq!(bench.store.pause_of(&own).unwrap().unwrap().what, until(500));
    let early = bench.claimed(&own, 2, PausePolicy::Ignore, 30);
    let early = Claim { pause: None, ..early };
    bench.settled(&own, &early, PauseChange::Put(until(100)), 40);
    assert_eq!(bench.store.pause_of(&own).unwrap().unwrap().what, until(500));
    // A pause known at the claim is replaced by a new one, longer or not.
    let again = bench.claimed(&own, 3, PausePolicy::Ignore, 50);
    bench.settled(&own, &again, PauseChange::Put(until(100)), 60);
    assert_eq!(bench.store.pause_of(&own).unwrap().unwrap().what, until(100));
}

#[test]
fn pause_of_verifier_affects_only_runs_that_need_it() {
    let mut bench = Bench::new();
    let own = run_id();
    let needs = |bench: &mut Bench, iteration, verifier, now| {
        let request = ClaimRequest {
            run: &run_id(),
            iteration,
            scope: &Scope::Task(task()),
            worktree: "",
            commits_here: &BTreeSet::new(),
            marker: "word",
            lease: LEASE,
            verifier,
            pause_policy: PausePolicy::Respect,
            now: at(now),
        };
        bench.store.claim_next(&request).unwrap()
    };
    let claimed = |answer| match answer {
        ClaimAnswer::Claimed(claim) => *claim,
        other => panic!("{other:?}"),
    };
    let settle = |bench: &mut Bench, claim: &Claim, change, now| {
        let mut settlement = settlement(Outcome::Interrupted, claim.fence);
        settlement.row.iteration = bench.iteration_of(&own);
        settlement.row.created_at = at(now);
        settlement.verifier_pause = Some(AgentPauseChange {
            agent: "verifier".to_owned(),
            seen: claim.verifier_pause.clone(),
            change,
        });
        settlement.task = TaskChange::Again;
        bench.store.settle(&settlement).unwrap();
    };
    let first = claimed(needs(&mut bench, 1, Some("verifier"), 1));
    settle(&mut bench, &first, PauseChange::Put(until(100)), 10);
    let pause = bench.store.pause_of_agent("verifier").unwrap().unwrap();
    assert_eq!((&pause.what, &pause.run), (&until(100), &own));
    assert_eq!(bench.store.pause_of(&own).unwrap(), None);
    let answer = needs(&mut bench, 2, Some("verifier"), 50);
    assert_eq!(answer, ClaimAnswer::Paused(Box::new(pause.clone())));
    // A run that does not need that agent is not paused, and lifts nothing.
    let without = claimed(needs(&mut bench, 2, None, 50));
    settle(&mut bench, &without, PauseChange::Lift, 60);
    assert_eq!(bench.store.pause_of_agent("verifier").unwrap(), Some(pause.clone()));
    let later = claimed(needs(&mut bench, 3, Some("verifier"), 101));
    assert_eq!((&later.pause, &later.verifier_pause), (&None, &Some(pause)));
    settle(&mut bench, &later, PauseChange::Lift, 110);
    assert_eq!(bench.store.pause_of_agent("verifier").unwrap(), None);
}

#[test]
fn remaining_time_never_exceeds_the_original_pause() {
    let pause = Pause {
        agent: "claude".to_owned(),
        what: until(100),
        run: run_id(),
        created_at: at(40),
    };
    let left = |now: i64| pause.left(at(now)).map(|left| left.as_secs());
    assert_eq!(
        [-86_400, 40, 99, 100, 86_400].map(left),
        [Some(60), Some(60), Some(1), None, None]
    );
}
