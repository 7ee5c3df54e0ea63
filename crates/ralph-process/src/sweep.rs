//! Finding and ending what a child leaves behind. Agents run their tools in sessions of their own, so a signal to the
//! child's group does not reach them; they are found by the marker that they inherited, by their session, or because
//! they became orphans and were given to this process.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::sys::{self, Hold};

/// The variable that holds the marker in the environment of a supervised child and of all its descendants.
pub const MARKER_VARIABLE: &str = "RALPH_MARKER";

/// How often to look again. A process that forks between two looks is found by the next one.
const MAX_ROUNDS: usize = 64;
/// How long to wait for a killed process to die.
const DEATH_WAIT: Duration = Duration::from_secs(1);

/// More than what the system says of a process on one line: some fifty numbers and a name of 64 characters at most.
const MAX_STAT_BYTES: usize = 2_048;

/// The children under supervision in this process. Whoever starts one holds the lock until it is entered, so that no sweep
/// takes it for an orphan.
static SUPERVISED: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// The children under supervision, locked.
pub(crate) fn supervised() -> MutexGuard<'static, BTreeSet<u32>> {
    SUPERVISED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// When a process began, as the system counts: with its pid it names a process for as long as the machine is up.
#[must_use]
pub fn start_time(pid: u32) -> Option<u64> {
    Stat::of(pid).map(|stat| stat.started)
}

/// Whether the process that has this pid is the one that began then, and has not died.
#[must_use]
pub fn is_alive(pid: u32, started: u64) -> bool {
    Stat::of(pid).is_some_and(|stat| stat.started == started && !stat.is_dead)
}

/// Kills what a dead run has left: its agent with its group, if it is exactly that process, and every process with the
/// run's marker in its environment. Returns how many were killed.
#[must_use]
pub fn kill_leftovers(marker: &str, agent: Option<(u32, u64)>) -> usize {
    let agent = agent.filter(|(pid, started)| *pid != sys::own_pid() && is_alive(*pid, *started));
    let left = Left {
        marker,
        leader: agent.map(|(pid, _)| pid),
        adopted_since: None,
        // A run that is dead has no children here that somebody still looks after.
        spares_children: false,
    };
    left.sweep()
}

/// Kills and reaps all that is left of a supervised child. The child itself has exited and is not reaped yet.
pub(crate) fn sweep(leader: u32, started: u64, marker: &str) -> usize {
    sys::kill_group(leader);
    let left = Left {
        marker,
        leader: Some(leader),
        // As the first process of a container, this one is given orphans that are none of its own.
        adopted_since: (sys::own_pid() != 1).then_some(started),
        spares_children: true,
    };
    left.sweep()
}

/// By what the processes that a child left are known.
struct Left<'a> {
    marker: &'a str,
    leader: Option<u32>,
    adopted_since: Option<u64>,
    /// Whether children under supervision stay: whoever supervises them sees to their end.
    spares_children: bool,
}

impl Left<'_> {
    fn sweep(&self) -> usize {
        let mut killed = BTreeSet::new();
        let mut refused = BTreeSet::new();
        for _ in 0..MAX_ROUNDS {
            // Nobody is started while this looks; see SUPERVISED.
            let children = supervised();
            let seen: Vec<(u32, Stat)> = processes().collect();
            let found: Vec<(u32, u64, Hold)> = seen
                .iter()
                .copied()
                .filter(|(pid, _)| !refused.contains(pid))
                .filter(|(pid, _)| !self.spares_children || !children.contains(pid))
                .filter(|(pid, stat)| self.is_left(*pid, stat, &children))
                .filter_map(|(pid, stat)| Some((pid, stat.started, Hold::on(pid)?)))
                // The pid may have gone to somebody else before the hold was taken.
                .filter(|(pid, started, _)| is_alive(*pid, *started))
                .collect();
            let mut dying = Vec::new();
            for (pid, started, hold) in found {
                if hold.kill() {
                    killed.insert((pid, started));
                    dying.push(hold);
                } else {
                    refused.insert(pid);
                }
            }
            reap_orphans(&seen, &children);
            drop(children);
            for hold in &dying {
                hold.wait(DEATH_WAIT);
            }
            // Those that have died meanwhile are seen, and their remains taken, in the next round.
            if dying.is_empty() {
                break;
            }
        }
        killed.len()
    }

    fn is_left(&self, pid: u32, stat: &Stat, children: &BTreeSet<u32>) -> bool {
        if stat.is_dead {
            return false;
        }
        if self.leader.is_some_and(|leader| stat.session == leader) {
            return true;
        }
        // With two children at once nobody can tell whose orphan it was.
        let adopted = |since: u64| stat.started >= since && children.len() == 1 && stat.is_adopted();
        self.adopted_since.is_some_and(adopted) || has_marker(pid, self.marker)
    }
}

/// Takes the remains of the orphans that were given to this process and had died when they were seen.
fn reap_orphans(seen: &[(u32, Stat)], children: &BTreeSet<u32>) {
    for (pid, stat) in seen {
        if stat.is_dead && stat.is_adopted() && !children.contains(pid) {
            sys::reap(*pid);
        }
    }
}

/// Whether a process has the marker in the environment that it began with.
fn has_marker(pid: u32, marker: &str) -> bool {
    if marker.is_empty() {
        return false;
    }
    let Ok(environment) = fs::read(place(pid, "environ")) else {
        return false;
    };
    let wanted = [MARKER_VARIABLE.as_bytes(), b"=", marker.as_bytes()].concat();
    environment.split(|byte| *byte == 0).any(|variable| variable == wanted)
}

/// Every process but this one.
fn processes() -> impl Iterator<Item = (u32, Stat)> {
    // Without /proc nothing can be found, and nothing is.
    fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|pid| *pid != sys::own_pid())
        .filter_map(|pid| Some((pid, Stat::of(pid)?)))
}

/// What the system says of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stat {
    is_dead: bool,
    parent: u32,
    session: u32,
    started: u64,
}

impl Stat {
    /// The system writes the whole line at one reading, and a sweep reads that of every process.
    fn of(pid: u32) -> Option<Self> {
        let mut line = [0; MAX_STAT_BYTES];
        let length = fs::File::open(place(pid, "stat")).ok()?.read(&mut line).ok()?;
        Self::read(line.get(..length)?)
    }

    /// The program's name stands in brackets and may hold anything, brackets too: what counts is after the last one.
    fn read(bytes: &[u8]) -> Option<Self> {
        let end = bytes.iter().rposition(|byte| *byte == b')')?;
        let fields: Vec<&str> = std::str::from_utf8(bytes.get(end + 1..)?)
            .ok()?
            .split_whitespace()
            .collect();
        // The state is field 3 of the whole line.
        let field = |number: usize| fields.get(number - 3).copied();
        Some(Self {
            is_dead: matches!(field(3)?, "Z" | "X" | "x"),
            parent: field(4)?.parse().ok()?,
            session: field(6)?.parse().ok()?,
            started: field(22)?.parse().ok()?,
        })
    }

    /// Whether it is a child of this process that this process did not start: those it starts itself share its session
    /// or are under supervision.
    fn is_adopted(&self) -> bool {
        self.parent == sys::own_pid() && own_session().is_some_and(|session| session != self.session)
    }
}

/// The session of this process. In a container it may be 0: whoever began it is outside, and has no number here.
pub(crate) fn own_session() -> Option<u32> {
    Stat::of(sys::own_pid()).map(|stat| stat.session)
}

fn place(pid: u32, name: &str) -> PathBuf {
    ["/proc", &pid.to_string(), name].iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_program_may_hold_anything() {
        let line = b"42 (a) R 1 (b\xff) S 7 8 9 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 1234 0 0\n";
        let expected = Stat {
            is_dead: false,
            parent: 7,
            session: 9,
            started: 1234,
        };
        assert_eq!(Stat::read(line), Some(expected));
        assert_eq!(Stat::read(b"42 (a) Z 7"), None);
        assert_eq!(Stat::read(b""), None);
    }

    #[test]
    fn a_process_is_known_by_its_pid_and_start() {
        let own = sys::own_pid();
        let started = start_time(own).unwrap();
        assert!(is_alive(own, started));
        assert!(!is_alive(own, started + 1));
        assert_eq!(start_time(u32::MAX), None);
    }
}
