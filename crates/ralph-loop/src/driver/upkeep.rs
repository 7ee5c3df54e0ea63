//! Upkeep after a run: extracts its learnings and maintains learnings and reports. A failure here does not fail the
//! run.

use std::time::Instant;

use ralph_memory::learn::{LIFECYCLE_TIME, Learned, Learnings, Upkeep, keep_up, learn_from_runs};
use ralph_store::{Store, StoreError, Wait};

use super::Runner;
use crate::watch::RunEvent;

impl Runner<'_> {
    /// Extracts learnings and does upkeep for a short time; the next run does the rest.
    pub(super) fn keep_up(&mut self) {
        let begun = Instant::now();
        // Others may lock the database for longer than there is time.
        let opened = match Store::open_existing(&self.site.database, Wait::Brief) {
            Ok(None) => return,
            Ok(Some(store)) => Ok(store),
            Err(error) => Err(error),
        };
        match opened {
            Ok(mut store) => {
                self.learn(&mut store, begun);
                self.maintain(&mut store, begun);
            }
            Err(error) => self.warn_of_upkeep(&error),
        }
    }

    /// Extracts learnings from this run, and from earlier runs that were killed first.
    fn learn(&mut self, store: &mut Store, begun: Instant) {
        let mut done = Learned::default();
        let mut learnings = Learnings {
            promote: self.site.config.learning.promote,
            entropy: self.entropy,
            now: self.site.clock.now(),
            // The other half is for upkeep.
            has_time: &|| begun.elapsed() < LIFECYCLE_TIME / 2,
        };
        let learned = learn_from_runs(store, &self.run, &mut learnings, &mut done);
        if let Err(error) = learned {
            let warning = format!("Could not extract all learnings; the next run tries again: {error}");
            self.watch.tell(&RunEvent::Warning(&warning));
        }
        // Silent if nothing was learned; rejected ones are listed with the learnings.
        if done.ended.validated > 0 {
            self.watch.tell(&RunEvent::Learned(&done.ended));
        }
        if done.earlier.validated > 0 {
            self.watch.tell(&RunEvent::LearnedEarlier(&done.earlier));
        }
    }

    fn maintain(&mut self, store: &mut Store, begun: Instant) {
        let mut done = Upkeep::default();
        let now = self.site.clock.now();
        let has_time = || begun.elapsed() < LIFECYCLE_TIME;
        let kept = keep_up(store, &self.site.config.learning, now, &has_time, &mut done);
        if let Err(error) = kept {
            self.warn_of_upkeep(&error);
        }
        if done != Upkeep::default() {
            self.watch.tell(&RunEvent::UpkeepDone(&done));
        }
    }

    fn warn_of_upkeep(&mut self, error: &StoreError) {
        let warning = format!("Could not maintain the learnings; the next run tries again: {error}");
        self.watch.tell(&RunEvent::Warning(&warning));
    }
}
