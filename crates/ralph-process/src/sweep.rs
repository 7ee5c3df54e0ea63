//! Finding and ending what a child leaves behind. Agents run their tools in sessions of their own, so a signal to the
//! child's group does not reach them; they are found by the marker that they inherited, by their session, or because
//! they became orphans and were given to this process.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::mem::ManuallyDrop;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::hold::Hold;
use crate::sys;

/// The variable that holds the marker in the environment of a supervised child and of all its descendants.
pub const MARKER_VARIABLE: &str = "RALPH_MARKER";

/// How long to go on looking and killing. Only what cannot be killed, or forks faster than anybody can look, takes longer.
const SWEEP_TIME: Duration = Duration::from_secs(10);
/// How often to look for those that came while the others were being held still, before all of them are killed.
const MAX_LOOKS: usize = 16;
/// How often nobody must be seen any more after somebody was: one that forks and exits may slip past one look.
const LAST_LOOKS: usize = 2;
/// How long to wait for killed processes to die before looking again.
const DEATH_WAIT: Duration = Duration::from_secs(1);
/// How long a process that a dead run has left may take to end when it is asked to: git, for one, takes its locks away then.
const ASKED_WAIT: Duration = Duration::from_secs(3);
/// How long a git that a dead run has left may take to finish by itself before it is asked to end. One that is asked just
/// when it takes a lock leaves that behind, and then nothing can be committed any more.
const GIT_WAIT: Duration = Duration::from_secs(1);
/// How long a pager may take to put the terminal right.
const CLOSE_WAIT: Duration = Duration::from_millis(500);
/// How often it is asked whether somebody hurries.
const HURRY_LOOK: Duration = Duration::from_millis(20);

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

/// Ends what a dead run has left: its agent with its group, if it is exactly that process, and every process with the
/// run's marker in its environment. They are asked first, and killed if they stay. Returns how many there were.
#[must_use]
pub fn kill_leftovers(marker: &str, agent: Option<(u32, u64)>) -> usize {
    let agent = agent.filter(|(pid, started)| *pid != sys::own_pid() && is_alive(*pid, *started));
    let left = Left {
        marker,
        leader: agent,
        since: 0,
        takes_orphans: false,
        // A run that is dead has no children here that somebody still looks after.
        spares_children: false,
    };
    left.wait_for_git();
    let asked = left.ask();
    asked.wait_until(Instant::now() + ASKED_WAIT, || false);
    let mut swept = left.sweep();
    swept.killed.extend(asked.processes());
    swept.killed.len()
}

/// Kills every descendant of this process, whoever looks after it, and returns how many there were: the last thing to do
/// before a process ends that cannot wait for anybody.
pub fn kill_descendants() -> usize {
    // Nobody starts another one from now on: whoever waits for one of them must not go on as if it had ended by itself.
    let children = ManuallyDrop::new(supervised());
    let mut killed = BTreeSet::new();
    for child in children.iter() {
        sys::kill_group(*child);
    }
    for _ in 0..MAX_LOOKS {
        let seen: BTreeMap<u32, Stat> = processes().filter(|(_, stat)| !stat.is_dead).collect();
        let found: Vec<Process> = seen
            .iter()
            .filter(|(pid, _)| descends(**pid, &seen))
            .map(|(pid, stat)| (*pid, stat.started))
            .collect();
        let holds: Vec<Hold> = found
            .iter()
            .filter_map(|(pid, started)| Hold::on(*pid, *started))
            .filter(Hold::kill)
            .collect();
        if holds.is_empty() {
            break;
        }
        killed.extend(found);
        for hold in &holds {
            let _died: bool = hold.wait(DEATH_WAIT);
        }
    }
    killed.len()
}

/// Ends a child that is not under supervision, and all that it has started. They are asked first, since whoever has changed
/// the mode of a terminal puts that right then, and killed if they stay. The child is not reaped.
pub(crate) fn close(child: u32) {
    let those = |seen: &BTreeMap<u32, Stat>| -> Vec<Hold> {
        let found = seen
            .iter()
            .filter(|(pid, stat)| !stat.is_dead && comes_from(**pid, child, seen));
        found.filter_map(|(pid, stat)| Hold::on(*pid, stat.started)).collect()
    };
    let found = those(&processes().collect());
    for hold in &found {
        let _asked: bool = hold.ask();
    }
    let begun = Instant::now();
    for hold in &found {
        let _ended: bool = hold.wait(CLOSE_WAIT.saturating_sub(begun.elapsed()));
    }
    // One whose parent has ended comes from that no more, so those that were found first are still meant.
    for hold in found.iter().chain(&those(&processes().collect())) {
        let _killed: bool = hold.kill();
    }
}

/// Whether a process comes from this one.
fn descends(pid: u32, seen: &BTreeMap<u32, Stat>) -> bool {
    pid != sys::own_pid() && comes_from(pid, sys::own_pid(), seen)
}

/// Whether a process is another one, or comes from it.
fn comes_from(pid: u32, other: u32, seen: &BTreeMap<u32, Stat>) -> bool {
    let line = std::iter::successors(Some(pid), |pid| seen.get(pid).map(|stat| stat.parent));
    line.take(seen.len() + 1).any(|pid| pid == other)
}

/// Kills and reaps all that is left of a supervised child. The child itself has exited and is not reaped yet.
pub(crate) fn sweep(leader: u32, started: u64, marker: &str) -> Swept {
    sys::kill_group(leader);
    Left::of_child(leader, started, marker).sweep()
}

/// Asks a supervised child with its group to end, and all that it has started: tools run in sessions of their own, and git,
/// for one, leaves its locks behind when it is killed.
pub(crate) fn ask_to_end(leader: u32, started: u64, marker: &str) -> Asked {
    sys::terminate_group(leader);
    Left::of_child(leader, started, marker).ask()
}

/// A process: its pid, and when it began.
type Process = (u32, u64);

/// What came of a sweep.
#[derive(Debug, Default)]
pub(crate) struct Swept {
    /// Those that were killed.
    pub(crate) killed: BTreeSet<Process>,
    /// Those that may not be killed, as another user's may not.
    pub(crate) refused: BTreeSet<Process>,
}

impl Swept {
    /// The pids of those that may not be killed and have not ended by themselves.
    pub(crate) fn still_there(&self) -> Vec<u32> {
        let alive = self.refused.iter().filter(|(pid, started)| is_alive(*pid, *started));
        alive.map(|(pid, _)| *pid).collect()
    }
}

/// Those that were asked to end.
#[derive(Debug, Default)]
pub(crate) struct Asked(BTreeMap<Process, Hold>);

impl Asked {
    /// Waits until all of them have ended, or until then, or until somebody hurries.
    pub(crate) fn wait_until(&self, until: Instant, is_hurried: impl Fn() -> bool) {
        for hold in self.0.values() {
            loop {
                let left = until.saturating_duration_since(Instant::now());
                if hold.wait(left.min(HURRY_LOOK)) || left.is_zero() || is_hurried() {
                    break;
                }
            }
        }
    }

    /// Who they are.
    pub(crate) fn processes(self) -> impl Iterator<Item = Process> {
        self.0.into_keys()
    }
}

/// By what the processes that a child left are known.
struct Left<'a> {
    marker: &'a str,
    leader: Option<Process>,
    /// No descendant is older than the child was.
    since: u64,
    takes_orphans: bool,
    /// Whether children under supervision stay: whoever supervises them sees to their end.
    spares_children: bool,
}

impl<'a> Left<'a> {
    /// What is left of a supervised child that is not reaped yet.
    fn of_child(leader: u32, started: u64, marker: &'a str) -> Self {
        Self {
            marker,
            // Until it is reaped, whoever has its pid is it.
            leader: Some((leader, start_time(leader).unwrap_or(started))),
            since: started,
            // As the first process of a container, this one is given orphans that are none of its own.
            takes_orphans: sys::own_pid() != 1,
            spares_children: true,
        }
    }

    /// All are held still before the first is killed, so that none is left to start another in its place.
    fn sweep(&self) -> Swept {
        let begun = Instant::now();
        let mut swept = Swept::default();
        let mut looks_left = 1;
        while looks_left > 0 && begun.elapsed() < SWEEP_TIME {
            let held = self.hold_still(&mut swept.refused);
            looks_left = if held.is_empty() { looks_left - 1 } else { LAST_LOOKS };
            let (killed, refused): (Vec<_>, Vec<_>) = held.into_iter().partition(|(_, hold)| hold.kill());
            let dead_by = Instant::now() + DEATH_WAIT;
            for (process, hold) in killed {
                let _died: bool = hold.wait(dead_by.saturating_duration_since(Instant::now()));
                swept.killed.insert(process);
            }
            swept.refused.extend(refused.into_iter().map(|(process, _)| process));
        }
        swept
    }

    /// Waits for a git among those that are left.
    fn wait_for_git(&self) {
        let until = Instant::now() + GIT_WAIT;
        for ((pid, _), hold) in self.look(&BTreeSet::new()).found {
            let name = fs::read_to_string(place(pid, "comm")).unwrap_or_default();
            if name.trim_end() == "git" {
                let _ended: bool = hold.wait(until.saturating_duration_since(Instant::now()));
            }
        }
    }

    /// Asks all that are left to end, except those that were asked with the group of a supervised child: many take a second
    /// request for an order to give up at once.
    fn ask(&self) -> Asked {
        let group = self.leader.filter(|_| self.spares_children).map(|(pid, _)| pid);
        let is_asked = |pid: u32| group.is_some() && sys::group_of(pid) == group;
        let Look { found, .. } = self.look(&BTreeSet::new());
        let asked = found
            .into_iter()
            .filter(|((pid, _), hold)| is_asked(*pid) || hold.ask());
        Asked(asked.collect())
    }

    /// Stops all that are left where they are, also those that came in the meantime.
    fn hold_still(&self, refused: &mut BTreeSet<Process>) -> BTreeMap<Process, Hold> {
        let mut held = BTreeMap::new();
        for _ in 0..MAX_LOOKS {
            let Look { found, vanished } = self.look(refused);
            let mut news = vanished;
            for (process, hold) in found {
                if held.contains_key(&process) {
                    continue;
                }
                if hold.stop() {
                    news = true;
                    held.insert(process, hold);
                } else if is_alive(process.0, process.1) {
                    refused.insert(process);
                } else {
                    // It has died, and may have started another before.
                    news = true;
                }
            }
            if !news {
                break;
            }
        }
        held
    }

    /// Looks once for those that are left, and takes the remains of those that have died.
    fn look(&self, refused: &BTreeSet<Process>) -> Look {
        // Nobody is started while this looks; see SUPERVISED.
        let children = supervised();
        let mut look = Look::default();
        let mut seen: Vec<(u32, Stat)> = Vec::new();
        for pid in pids() {
            match Stat::of(pid) {
                Some(stat) => seen.push((pid, stat)),
                // It was there a moment ago, and whom it has started since may not have been.
                None => look.vanished = true,
            }
        }
        let session = self.session(&seen);
        for (pid, stat) in &seen {
            let process = (*pid, stat.started);
            if refused.contains(&process)
                || (self.spares_children && children.contains(pid))
                || !self.is_left(*pid, stat, session, &children)
            {
                continue;
            }
            // The pid may have gone to somebody else before the hold was taken.
            match Hold::on(*pid, stat.started) {
                Some(hold) if is_alive(*pid, stat.started) => look.found.push((process, hold)),
                _ => look.vanished = true,
            }
        }
        look.vanished |= reap_orphans(&seen, &children) == Reaped::Some;
        look
    }

    /// The session of the child. Its number is nobody else's as long as a process is in it; when all have gone, it may
    /// become that of a stranger.
    fn session(&self, seen: &[(u32, Stat)]) -> Option<Process> {
        let (leader, started) = self.leader?;
        let now = Stat::of(leader);
        let then = seen.iter().find(|(pid, _)| *pid == leader).map(|(_, stat)| *stat);
        let is_strange = [now, then].into_iter().flatten().any(|stat| stat.started != started);
        (!is_strange).then_some((leader, started))
    }

    fn is_left(&self, pid: u32, stat: &Stat, session: Option<Process>, children: &BTreeSet<u32>) -> bool {
        if stat.is_dead || stat.started < self.since {
            return false;
        }
        if session.is_some_and(|(leader, started)| stat.session == leader && stat.started >= started) {
            return true;
        }
        // With two children at once nobody can tell whose orphan it was.
        let is_orphan = self.takes_orphans && children.len() == 1 && stat.is_adopted();
        is_orphan || has_marker(pid, self.marker)
    }
}

/// What one look has found.
#[derive(Default)]
struct Look {
    /// Those that are left, with a hold on them.
    found: Vec<(Process, Hold)>,
    /// Whether one was there that was gone a moment later; it may have started another before.
    vanished: bool,
}

/// Takes the remains of the orphans that were given to this process and had died when they were seen.
fn reap_orphans(seen: &[(u32, Stat)], children: &BTreeSet<u32>) -> Reaped {
    let mut reaped = Reaped::None;
    for (pid, stat) in seen {
        if stat.is_dead && stat.is_adopted() && !children.contains(pid) {
            sys::reap(*pid);
            reaped = Reaped::Some;
        }
    }
    reaped
}

/// Whether there were remains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reaped {
    Some,
    None,
}

/// Whether a process has the marker in the environment that it began with.
pub(crate) fn has_marker(pid: u32, marker: &str) -> bool {
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
    pids().filter_map(|pid| Some((pid, Stat::of(pid)?)))
}

/// The pids of every process but this one, as they were when they were asked for.
fn pids() -> impl Iterator<Item = u32> {
    // Without /proc nothing can be found, and nothing is.
    fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|pid| *pid != sys::own_pid())
}

/// What the system says of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stat {
    is_dead: bool,
    pub(crate) parent: u32,
    session: u32,
    pub(crate) started: u64,
}

impl Stat {
    /// The system writes the whole line at one reading, and a sweep reads that of every process.
    pub(crate) fn of(pid: u32) -> Option<Self> {
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

pub(crate) fn place(pid: u32, name: &str) -> PathBuf {
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
    fn who_may_not_be_killed_is_named_while_it_lives() {
        let own = sys::own_pid();
        let started = start_time(own).unwrap();
        let swept = Swept {
            killed: BTreeSet::from([(7, 1)]),
            refused: BTreeSet::from([(own, started), (own, started + 1), (u32::MAX, 1)]),
        };
        assert_eq!(swept.still_there(), [own]);
    }

    #[test]
    fn a_session_of_the_same_number_may_be_a_strangers() {
        let mut stranger = crate::command("sleep");
        sys::in_own_session(stranger.arg("600"));
        let mut stranger = stranger.spawn().unwrap();
        let started = start_time(stranger.id()).unwrap();
        let found = |started: u64| {
            let left = Left {
                marker: "",
                leader: Some((stranger.id(), started)),
                since: 0,
                takes_orphans: false,
                spares_children: false,
            };
            left.look(&BTreeSet::new()).found.len()
        };
        assert_eq!([found(started), found(started - 1)], [1, 0]);
        stranger.kill().unwrap();
        stranger.wait().unwrap();
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
