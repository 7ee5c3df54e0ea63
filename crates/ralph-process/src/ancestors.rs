//! The ancestors of this process. A command uses them to detect that it runs inside an iteration even without the
//! marker in its own environment, because an agent may clear the environment or start a new session.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;

use crate::sweep::{self, Stat};
use crate::sys;

const MAX_ANCESTORS: usize = 256;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ancestor {
    pub pid: u32,
    /// Its start time as reported by the system.
    pub started: u64,
}

impl Ancestor {
    /// A variable of its initial environment.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<String> {
        let environment = fs::read(sweep::proc_path(self.pid, "environ")).ok()?;
        let beginning = [name.as_bytes(), b"="].concat();
        let mut variables = environment.split(|byte| *byte == 0);
        let value = variables.find_map(|variable| variable.strip_prefix(beginning.as_slice()))?;
        String::from_utf8(value.to_vec()).ok()
    }

    #[must_use]
    pub fn arguments(&self) -> Vec<OsString> {
        let line = fs::read(sweep::proc_path(self.pid, "cmdline")).unwrap_or_default();
        let line = line.strip_suffix(b"\0").unwrap_or(&line);
        let words = line.split(|byte| *byte == 0);
        words.map(|word| OsString::from_vec(word.to_vec())).collect()
    }

    /// Whether it runs the same program as this process, or one of the same name, because the file may have been
    /// replaced since.
    #[must_use]
    pub fn is_same_program(&self) -> bool {
        let name = |pid| fs::read(sweep::proc_path(pid, "comm")).ok();
        let file = |pid| fs::read_link(sweep::proc_path(pid, "exe")).ok();
        let own = sys::own_pid();
        name(self.pid).is_some_and(|theirs| Some(theirs) == name(own))
            || file(self.pid).is_some_and(|theirs| Some(theirs) == file(own))
    }
}

/// The ancestors of this process, parent first. Empty on systems without `/proc`.
#[must_use]
pub fn ancestors() -> Vec<Ancestor> {
    let mut found: Vec<Ancestor> = Vec::new();
    let mut above = Stat::of(sys::own_pid()).map(|stat| stat.parent);
    while let Some(pid) = above.filter(|pid| *pid > 0 && found.len() < MAX_ANCESTORS) {
        let Some(stat) = Stat::of(pid) else { break };
        found.push(Ancestor {
            pid,
            started: stat.started,
        });
        above = Some(stat.parent);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_is_the_first_ancestor() {
        let found = ancestors();
        let parent = std::os::unix::process::parent_id();
        assert_eq!(found.first().map(|ancestor| ancestor.pid), Some(parent));
        let started = found.first().map(|ancestor| ancestor.started);
        assert_eq!(started, crate::start_time(parent));
    }
}
