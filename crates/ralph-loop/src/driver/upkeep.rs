//! The upkeep of lessons and reports when a run is over. What cannot be done is no reason for it to fail.

use std::time::Instant;

use ralph_memory::learn::{LIFECYCLE_TIME, Upkeep, keep_up};

use super::Runner;
use crate::watch::News;

impl Runner<'_> {
    /// Keeps lessons and reports in order, for a short time; what is not done then the next run does.
    pub(super) fn keep_up(&mut self) {
        let begun = Instant::now();
        let mut done = Upkeep::default();
        let now = self.site.clock.now();
        let has_time = || begun.elapsed() < LIFECYCLE_TIME;
        let kept = keep_up(&mut self.store, &self.site.config.learning, now, &has_time, &mut done);
        if let Err(error) = kept {
            let warning = format!("The learnings were not looked through: {error}");
            self.watch.tell(&News::Warning(&warning));
        }
        if done != Upkeep::default() {
            self.watch.tell(&News::KeptUp(&done));
        }
    }
}
