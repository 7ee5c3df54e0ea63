//! What a run does where there is no room on the disk: it says so, and waits.

use std::path::Path;
use std::time::{Duration, Instant};

use super::{RunError, Runner};
use crate::room::Places;
use crate::site::Site;
use crate::state::{Effect, Happening, State};
use crate::watch::{News, Room};

/// How often a run that has to wait for room looks whether it is to stop.
const GLANCE: Duration = Duration::from_millis(100);

/// The folders that have to have room.
pub(super) fn places(site: &Site<'_>) -> Places {
    let database = site.database.parent().map(Path::to_owned);
    Places(database.into_iter().chain([site.root.clone()]).collect())
}

impl Runner<'_> {
    /// Does an effect. Where there is no room for what it writes, that is said once, and it is tried again until there is;
    /// every effect may be done again. Ctrl+C and the end of the run's time end that, too.
    pub(super) fn perform_when_there_is_room(
        &mut self,
        state: &State,
        effect: &Effect,
    ) -> Result<Option<Happening>, RunError> {
        let mut told = false;
        let mut pause = self.order.pace.room / 8;
        let heard = self.presses_before(effect);
        loop {
            let done = match self.watch.room(effect) {
                Room::Enough => self.perform(effect),
                Room::None => Err(RunError::no_room()),
            };
            let error = match done {
                Err(error) if error.is_full() || error.may_be_of_room() && self.places().are_full() => error,
                done => {
                    if told {
                        self.watch.tell(&News::RoomAgain);
                    }
                    return done;
                }
            };
            if !told {
                self.watch.tell(&News::NoRoom(&error.to_string()));
                told = true;
            }
            pause = (pause * 2).min(self.order.pace.room);
            if self.is_stopped_within(pause, heard) {
                return Err(error);
            }
            if state.is_out_of_time(self.watch_of_time.elapsed(), self.slept()) {
                return Err(RunError::NoRoomInTime(error.to_string()));
            }
        }
    }

    /// How often the person had asked to stop without meaning the effect: whoever was asked and has said something wants
    /// that to be kept. Whoever has asked twice does not wait for anything.
    fn presses_before(&self, effect: &Effect) -> u32 {
        match (effect, self.wanted.presses()) {
            (Effect::RecordGuidance(_), 1) => 1,
            _ => 0,
        }
    }

    /// Waits for so long, unless the person asks to stop, more often than was heard before; says whether that was so. What
    /// comes in meanwhile has to wait.
    fn is_stopped_within(&self, time: Duration, heard: u32) -> bool {
        let begun = Instant::now();
        loop {
            if self.wanted.presses() > heard {
                return true;
            }
            match time.checked_sub(begun.elapsed()) {
                Some(left) if !left.is_zero() => std::thread::sleep(left.min(GLANCE)),
                _ => return false,
            }
        }
    }

    /// The folders that have to have room.
    pub(super) fn places(&self) -> Places {
        places(self.site)
    }
}
