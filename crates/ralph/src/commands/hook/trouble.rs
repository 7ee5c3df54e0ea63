//! The record of hook failures: the time of the last one, how many since the hook last worked, and why.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use ralph_model::{Clock, first_line, preview};
use ralph_notes::{Boundary, Patches, Patience};
use serde::{Deserialize, Serialize};

use crate::changed_file::change_file;
use crate::error::CommandError;
use crate::paths;
use crate::project_env::ProgramClock;

const REASON_COLUMNS: usize = 500;

/// The failures of a hook.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Trouble {
    /// The time of the last failure (RFC 3339).
    pub(crate) last: String,
    /// The number of failures since the hook last worked.
    pub(crate) count: u64,
    pub(crate) message: String,
}

impl Trouble {
    /// Parses a record; `None` if it is unreadable.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }
}

/// Records a failure in a project that has a folder for it.
pub(super) fn leave(root: &Path, reason: &str) -> Result<(), CommandError> {
    let path = root.join(paths::HOOK_TROUBLE);
    let is_outside = Boundary::new(root, &[]).outside(&path).is_some();
    if reason.is_empty() || is_outside || !root.join(paths::RALPH).is_dir() {
        return Ok(());
    }
    // An invalid RALPH_NOW may be the cause of the failure.
    let clock = ProgramClock::from_environment().unwrap_or(ProgramClock::Machine);
    let last = clock.now().to_string();
    let message = preview(first_line(reason), REASON_COLUMNS);
    let at_once = Patience {
        notice_after: Duration::ZERO,
        limit: Duration::ZERO,
        notice: &|_| {},
    };
    change_file(&path, &at_once, |bytes| {
        let before = Trouble::parse(bytes).map_or(0, |trouble| trouble.count);
        let trouble = Trouble {
            last: last.clone(),
            count: before.saturating_add(1),
            message: message.to_string(),
        };
        let text = format!("{}\n", serde_json::to_string_pretty(&trouble)?);
        Ok(Patches::whole(bytes, text.into_bytes()))
    })
}

/// Removes the record, since the hook works again.
pub(super) fn forget(root: &Path) -> Result<(), CommandError> {
    match fs::remove_file(root.join(paths::HOOK_TROUBLE)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}
