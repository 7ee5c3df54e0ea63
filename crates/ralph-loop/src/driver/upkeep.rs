//! What is done when a run is over: its lessons are drawn, and lessons and reports kept in order. What cannot be done is no
//! reason for it to fail.

use std::time::Instant;

use ralph_memory::learn::{LIFECYCLE_TIME, Learned, Lessons, Upkeep, keep_up, learn_from_runs};
use ralph_store::{Store, StoreError, Wait};

use super::Runner;
use crate::watch::News;

impl Runner<'_> {
    /// Draws what the run teaches, and keeps lessons and reports in order, for a short time; what is not done then the next
    /// run does.
    pub(super) fn keep_up(&mut self) {
        let begun = Instant::now();
        // Others may hold the database for longer than there is time.
        let opened = match Store::open_existing(&self.site.database, Wait::Brief) {
            Ok(None) => return,
            Ok(Some(store)) => Ok(store),
            Err(error) => Err(error),
        };
        match opened {
            Ok(mut store) => {
                self.learn(&mut store, begun);
                self.keep_in_order(&mut store, begun);
            }
            Err(error) => self.warn_of_upkeep(&error),
        }
    }

    /// Draws the lessons of this run, and of earlier ones that were killed before theirs were drawn.
    fn learn(&mut self, store: &mut Store, begun: Instant) {
        let mut done = Learned::default();
        let mut lessons = Lessons {
            promote: self.site.config.learning.promote,
            entropy: self.entropy,
            now: self.site.clock.now(),
            // The other half is for what is to be kept in order.
            has_time: &|| begun.elapsed() < LIFECYCLE_TIME / 2,
        };
        let learned = learn_from_runs(store, &self.run, &mut lessons, &mut done);
        if let Err(error) = learned {
            let warning = format!("Not all lessons of the runs so far were drawn; the next run tries again: {error}");
            self.watch.tell(&News::Warning(&warning));
        }
        for lesson in store.newly_unreadable_learnings() {
            self.watch.tell(&News::Warning(&lesson.passed_over()));
        }
        // What no lesson came of is no news; what was rejected stands among the learnings.
        if done.ended.validated > 0 {
            self.watch.tell(&News::Learned(&done.ended));
        }
        if done.earlier.validated > 0 {
            self.watch.tell(&News::LearnedEarlier(&done.earlier));
        }
    }

    fn keep_in_order(&mut self, store: &mut Store, begun: Instant) {
        let mut done = Upkeep::default();
        let now = self.site.clock.now();
        let has_time = || begun.elapsed() < LIFECYCLE_TIME;
        let kept = keep_up(store, &self.site.config.learning, now, &has_time, &mut done);
        if let Err(error) = kept {
            self.warn_of_upkeep(&error);
        }
        if done != Upkeep::default() {
            self.watch.tell(&News::KeptUp(&done));
        }
    }

    fn warn_of_upkeep(&mut self, error: &StoreError) {
        let warning = format!("The learnings were not looked through, which the next run does: {error}");
        self.watch.tell(&News::Warning(&warning));
    }
}
