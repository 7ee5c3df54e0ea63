//! What a run does where there is no room on the disk, or another process keeps the database locked: it says so, and waits.

use std::path::Path;
use std::time::{Duration, Instant};

use super::{RunError, Runner};
use crate::room::Places;
use crate::site::Site;
use crate::state::{Effect, Happening, State};
use crate::watch::{News, Room};

/// How often a run that has to wait for room looks whether it is to stop.
const GLANCE: Duration = Duration::from_millis(100);

/// What keeps an effect from being done for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Obstacle {
    Room,
    Lock,
}

/// The folders that have to have room.
pub(super) fn places(site: &Site<'_>) -> Places {
    let database = site.database.parent();
    let checkouts = site.isolation.as_ref().and_then(|isolation| isolation.work.parent());
    let folders = database.into_iter().chain([site.root.as_path()]).chain(checkouts);
    Places(folders.map(Path::to_owned).collect())
}

/// Whether a run began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Begun {
    Yes,
    /// The person stopped it while it waited for room.
    Stopped,
}

impl Runner<'_> {
    /// Puts the beginning of the run on record, when there is room for it and the database is not locked. A connection that
    /// was opened on a full disk goes on to fail when there is room, so each try after that has a new one.
    pub(super) fn begin_when_possible(&mut self) -> Result<Begun, RunError> {
        let mut told = None;
        loop {
            let (obstacle, error) = match self.begin() {
                Ok(()) => break,
                Err(error) if error.is_locked() => (Obstacle::Lock, error),
                Err(error) if error.is_full() || self.places().are_full() => (Obstacle::Room, error),
                Err(error) => return Err(error),
            };
            self.tell_once(&mut told, obstacle, &error);
            loop {
                if self.is_stopped_within(self.order.pace.room, 0) {
                    return Ok(Begun::Stopped);
                }
                if obstacle == Obstacle::Lock || !self.places().are_full() {
                    break;
                }
            }
            if obstacle == Obstacle::Room {
                self.store.reopen(&self.site.database)?;
            }
        }
        self.tell_over(told);
        Ok(Begun::Yes)
    }

    fn tell_once(&mut self, told: &mut Option<Obstacle>, obstacle: Obstacle, error: &RunError) {
        if *told == Some(obstacle) {
            return;
        }
        let reason = error.to_string();
        self.watch.tell(&match obstacle {
            Obstacle::Room => News::NoRoom(&reason),
            Obstacle::Lock => News::Locked(&reason),
        });
        *told = Some(obstacle);
    }

    fn tell_over(&mut self, told: Option<Obstacle>) {
        match told {
            Some(Obstacle::Room) => self.watch.tell(&News::RoomAgain),
            Some(Obstacle::Lock) => self.watch.tell(&News::Unlocked),
            None => {}
        }
    }

    /// Does an effect. Where there is no room for what it writes, or the database is locked, that is said once, and it is
    /// tried again until it can be done; every effect may be done again. Ctrl+C and the end of the run's time end that, too.
    pub(super) fn perform_when_there_is_room(
        &mut self,
        state: &State,
        effect: &Effect,
    ) -> Result<Option<Happening>, RunError> {
        let mut told = None;
        let mut pause = self.order.pace.room / 8;
        let heard = self.presses_before(effect);
        loop {
            let done = match self.watch.room(effect) {
                Room::Enough => self.perform(effect),
                Room::None => Err(RunError::no_room()),
                Room::Locked => Err(RunError::locked(&self.site.database)),
            };
            let (obstacle, error) = match done {
                Err(error) if error.is_locked() => (Obstacle::Lock, error),
                Err(error) if error.is_full() || error.may_be_of_room() && self.places().are_full() => {
                    (Obstacle::Room, error)
                }
                done => {
                    self.tell_over(told);
                    return done;
                }
            };
            self.tell_once(&mut told, obstacle, &error);
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
    pub(super) fn is_stopped_within(&self, time: Duration, heard: u32) -> bool {
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
