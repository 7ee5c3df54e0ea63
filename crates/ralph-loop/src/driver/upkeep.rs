//! The upkeep of lessons and reports when a run is over. What cannot be done is no reason for it to fail.

use std::time::Instant;

use ralph_memory::learn::{LIFECYCLE_TIME, Upkeep, keep_up};
use ralph_store::{Store, Wait};

use super::Runner;
use crate::watch::News;

impl Runner<'_> {
    /// Keeps lessons and reports in order, for a short time; what is not done then the next run does.
    pub(super) fn keep_up(&mut self) {
        let begun = Instant::now();
        let mut done = Upkeep::default();
        let now = self.site.clock.now();
        let has_time = || begun.elapsed() < LIFECYCLE_TIME;
        // Others may hold the database for longer than there is time.
        let kept = match Store::open_existing(&self.site.database, Wait::Brief) {
            Ok(Some(mut store)) => keep_up(&mut store, &self.site.config.learning, now, &has_time, &mut done),
            Ok(None) => Ok(()),
            Err(error) => Err(error),
        };
        if let Err(error) = kept {
            let warning = format!("The learnings were not looked through, which the next run does: {error}");
            self.watch.tell(&News::Warning(&warning));
        }
        if done != Upkeep::default() {
            self.watch.tell(&News::KeptUp(&done));
        }
    }
}
