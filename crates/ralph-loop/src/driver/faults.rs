//! Faults that the tests of this crate inject. The program is built without them.

use super::{RunError, Runner};
use crate::state::Effect;

/// What goes wrong around the effects of a run.
pub trait Faults {
    /// Called before each try of an effect.
    ///
    /// # Errors
    /// The error takes the place of the effect.
    fn before(&mut self, effect: &Effect) -> Result<(), RunError>;

    /// Called when an effect is done but its result is not known to anyone else. If it unwinds, the run leaves
    /// everything as a killed process does.
    fn after(&mut self, effect: &Effect);
}

impl<'a> Runner<'a> {
    /// The same run with faults.
    #[must_use]
    pub fn with_faults(mut self, faults: &'a mut dyn Faults) -> Self {
        self.faults = Some(faults);
        self
    }

    pub(super) fn before(&mut self, effect: &Effect) -> Result<(), RunError> {
        self.faults.as_mut().map_or(Ok(()), |faults| faults.before(effect))
    }

    pub(super) fn after(&mut self, effect: &Effect) {
        if let Some(faults) = &mut self.faults {
            faults.after(effect);
        }
    }
}
