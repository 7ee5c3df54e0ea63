//! Finds and ends the processes that a child leaves behind. Agents run their tools in separate sessions, so a signal to
//! the child's group does not reach them. They are found by the inherited marker, by their session, or as orphans that
//! were reparented to this process.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::mem::ManuallyDrop;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::process_handle::ProcessHandle;
use crate::sys;

/// The environment variable with the marker, in a supervised child and all its descendants.
pub const MARKER_VARIABLE: &str = "RALPH_MARKER";

/// How long to keep scanning and killing. Only processes that cannot be killed, or fork very fast, take longer.
const SWEEP_TIME: Duration = Duration::from_secs(10);
/// How often to scan for new processes while suspending the others, before all of them are killed.
const MAX_SCANS: usize = 16;
/// How many scans in a row must find nothing: a process that forks and exits may slip past one scan.
const CONFIRMING_SCANS: usize = 2;
/// How long to wait for killed processes to die before looking again.
const DEATH_WAIT: Duration = Duration::from_secs(1);
/// How long a process that a dead run has left may take to end when it is asked to: git, for one, takes its locks away
/// then.
const ASKED_WAIT: Duration = Duration::from_secs(3);
/// How long a git that a dead run has left may take to finish by itself before it is asked to end. One that is asked
/// just when it takes a lock leaves that behind, and then nothing can be committed any more.
const GIT_WAIT: Duration = Duration::from_secs(1);
/// How long a pager has to restore the terminal.
const CLOSE_WAIT: Duration = Duration::from_millis(500);
/// How often to check whether the wait should be cut short.
const SKIP_POLL: Duration = Duration::from_millis(20);

/// Larger than any `/proc/PID/stat` line: about fifty numbers and a name of at most 64 characters.
const MAX_STAT_BYTES: usize = 2_048;

/// The supervised children of this process. The lock is held while starting one, so that no sweep takes it for an
/// orphan.
static SUPERVISED: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

pub(crate) fn supervised() -> MutexGuard<'static, BTreeSet<u32>> {
    SUPERVISED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The start time of a process. Together with the pid it identifies a process until the next boot.
#[must_use]
pub fn start_time(pid: u32) -> Option<u64> {
    Stat::of(pid).map(|stat| stat.started)
}

/// Whether the process with this pid has this start time and has not exited.
#[must_use]
pub fn is_alive(pid: u32, started: u64) -> bool {
    Stat::of(pid).is_some_and(|stat| stat.started == started && !stat.is_dead)
}

/// Ends what a dead run left behind: its agent with its process group, if it is exactly that process, and every process
/// with the run's marker in its environment. They are asked first and then killed. Returns their number.
#[must_use]
pub fn kill_leftovers(marker: &str, agent: Option<(u32, u64)>) -> usize {
    let agent = agent.filter(|(pid, started)| *pid != sys::own_pid() && is_alive(*pid, *started));
    let left = Leftovers {
        marker,
        leader: agent,
        since: 0,
        adopts_orphans: false,
        // A dead run has no supervised children here.
        spares_children: false,
    };
    left.wait_for_git();
    let asked = left.ask();
    asked.wait_until(Instant::now() + ASKED_WAIT, || false);
    let mut swept = left.sweep();
    swept.killed.extend(asked.processes());
    swept.killed.len()
}

/// Kills every descendant of this process, supervised or not, and returns their number. Call it last, before a process
/// exits without waiting.
pub fn kill_descendants() -> usize {
    // Keep the lock forever: no child may be started any more, and threads that wait for a child must not continue as
    // if it had exited by itself.
    let children = ManuallyDrop::new(supervised());
    let mut killed = BTreeSet::new();
    for child in children.iter() {
        sys::kill_group(*child);
    }
    for _ in 0..MAX_SCANS {
        let seen: BTreeMap<u32, Stat> = processes().filter(|(_, stat)| !stat.is_dead).collect();
        let found: Vec<Process> = seen
            .iter()
            .filter(|(pid, _)| is_descendant(**pid, &seen))
            .map(|(pid, stat)| (*pid, stat.started))
            .collect();
        let handles: Vec<ProcessHandle> = found
            .iter()
            .filter_map(|(pid, started)| ProcessHandle::on(*pid, *started))
            .filter(ProcessHandle::kill)
            .collect();
        if handles.is_empty() {
            break;
        }
        killed.extend(found);
        for handle in &handles {
            let _died: bool = handle.wait(DEATH_WAIT);
        }
    }
    killed.len()
}

/// Ends an unsupervised child and all its descendants. They are asked first, so that a program can restore the terminal
/// mode, and then killed. The child is not reaped.
pub(crate) fn close(child: u32) {
    let descendants = |seen: &BTreeMap<u32, Stat>| -> Vec<ProcessHandle> {
        let found = seen
            .iter()
            .filter(|(pid, stat)| !stat.is_dead && descends_from(**pid, child, seen));
        found
            .filter_map(|(pid, stat)| ProcessHandle::on(*pid, stat.started))
            .collect()
    };
    let found = descendants(&processes().collect());
    for handle in &found {
        let _asked: bool = handle.ask();
    }
    let begun = Instant::now();
    for handle in &found {
        let _ended: bool = handle.wait(CLOSE_WAIT.saturating_sub(begun.elapsed()));
    }
    // A process whose parent has exited is no longer a descendant, so include those found before.
    for handle in found.iter().chain(&descendants(&processes().collect())) {
        let _killed: bool = handle.kill();
    }
}

fn is_descendant(pid: u32, seen: &BTreeMap<u32, Stat>) -> bool {
    pid != sys::own_pid() && descends_from(pid, sys::own_pid(), seen)
}

/// Whether a process is `other` or descends from it.
fn descends_from(pid: u32, other: u32, seen: &BTreeMap<u32, Stat>) -> bool {
    let line = std::iter::successors(Some(pid), |pid| seen.get(pid).map(|stat| stat.parent));
    line.take(seen.len() + 1).any(|pid| pid == other)
}

/// Kills and reaps all leftovers of a supervised child, which has exited but is not reaped yet.
pub(crate) fn sweep(leader: u32, started: u64, marker: &str) -> Swept {
    sys::kill_group(leader);
    Leftovers::of_child(leader, started, marker).sweep()
}

/// Asks a supervised child, its group, and all its descendants to end: tools run in separate sessions, and git leaves
/// its lock files behind when it is killed.
pub(crate) fn terminate(leader: u32, started: u64, marker: &str) -> Asked {
    sys::terminate_group(leader);
    Leftovers::of_child(leader, started, marker).ask()
}

/// A pid and its start time.
type Process = (u32, u64);

/// The result of a sweep.
#[derive(Debug, Default)]
pub(crate) struct Swept {
    pub(crate) killed: BTreeSet<Process>,
    /// Processes that may not be killed, such as another user's.
    pub(crate) refused: BTreeSet<Process>,
}

impl Swept {
    /// The pids of those that may not be killed and are still alive.
    pub(crate) fn survivors(&self) -> Vec<u32> {
        let alive = self.refused.iter().filter(|(pid, started)| is_alive(*pid, *started));
        alive.map(|(pid, _)| *pid).collect()
    }
}

/// The processes that were asked to end.
#[derive(Debug, Default)]
pub(crate) struct Asked(BTreeMap<Process, ProcessHandle>);

impl Asked {
    /// Waits until all have ended, the deadline passes, or the wait is cut short.
    pub(crate) fn wait_until(&self, until: Instant, skip_grace: impl Fn() -> bool) {
        for handle in self.0.values() {
            loop {
                let left = until.saturating_duration_since(Instant::now());
                if handle.wait(left.min(SKIP_POLL)) || left.is_zero() || skip_grace() {
                    break;
                }
            }
        }
    }

    pub(crate) fn processes(self) -> impl Iterator<Item = Process> {
        self.0.into_keys()
    }
}

/// How to identify the leftovers of a child.
struct Leftovers<'a> {
    marker: &'a str,
    leader: Option<Process>,
    /// Descendants are not older than the child.
    since: u64,
    adopts_orphans: bool,
    /// Whether to leave supervised children alone, because their own supervisor ends them.
    spares_children: bool,
}

impl<'a> Leftovers<'a> {
    /// The leftovers of a supervised child that is not reaped yet.
    fn of_child(leader: u32, started: u64, marker: &'a str) -> Self {
        Self {
            marker,
            // Until it is reaped, its pid cannot be reused.
            leader: Some((leader, start_time(leader).unwrap_or(started))),
            since: started,
            // As pid 1 of a container, this process gets orphans that are not its descendants.
            adopts_orphans: sys::own_pid() != 1,
            spares_children: true,
        }
    }

    /// Suspends all before killing the first, so that none can start a replacement.
    fn sweep(&self) -> Swept {
        let begun = Instant::now();
        let mut swept = Swept::default();
        let mut scans_left = 1;
        while scans_left > 0 && begun.elapsed() < SWEEP_TIME {
            let held = self.suspend_all(&mut swept.refused);
            scans_left = if held.is_empty() {
                scans_left - 1
            } else {
                CONFIRMING_SCANS
            };
            let (killed, refused): (Vec<_>, Vec<_>) = held.into_iter().partition(|(_, handle)| handle.kill());
            let dead_by = Instant::now() + DEATH_WAIT;
            for (process, handle) in killed {
                let _died: bool = handle.wait(dead_by.saturating_duration_since(Instant::now()));
                swept.killed.insert(process);
            }
            swept.refused.extend(refused.into_iter().map(|(process, _)| process));
        }
        swept
    }

    /// Waits for leftover git processes.
    fn wait_for_git(&self) {
        let until = Instant::now() + GIT_WAIT;
        for ((pid, _), handle) in self.scan(&BTreeSet::new()).found {
            let name = fs::read_to_string(proc_path(pid, "comm")).unwrap_or_default();
            if name.trim_end() == "git" {
                let _ended: bool = handle.wait(until.saturating_duration_since(Instant::now()));
            }
        }
    }

    /// Asks all leftovers to end, except those that were already asked as part of the child's group: many programs
    /// treat a second request as an order to abort.
    fn ask(&self) -> Asked {
        let group = self.leader.filter(|_| self.spares_children).map(|(pid, _)| pid);
        let is_asked = |pid: u32| group.is_some() && sys::group_of(pid) == group;
        let Scan { found, .. } = self.scan(&BTreeSet::new());
        let asked = found
            .into_iter()
            .filter(|((pid, _), handle)| is_asked(*pid) || handle.ask());
        Asked(asked.collect())
    }

    /// Suspends all leftovers, including those that start in the meantime.
    fn suspend_all(&self, refused: &mut BTreeSet<Process>) -> BTreeMap<Process, ProcessHandle> {
        let mut held = BTreeMap::new();
        for _ in 0..MAX_SCANS {
            let Scan { found, is_incomplete } = self.scan(refused);
            let mut changed = is_incomplete;
            for (process, handle) in found {
                if held.contains_key(&process) {
                    continue;
                }
                if handle.stop() {
                    changed = true;
                    held.insert(process, handle);
                } else if is_alive(process.0, process.1) {
                    refused.insert(process);
                } else {
                    // It has exited, and may have started another process before.
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        held
    }

    /// Scans once for leftovers, and reaps those that are dead.
    fn scan(&self, refused: &BTreeSet<Process>) -> Scan {
        // No child can be started during the scan; see SUPERVISED.
        let children = supervised();
        let mut scan = Scan::default();
        let mut seen: Vec<(u32, Stat)> = Vec::new();
        for pid in pids() {
            match Stat::of(pid) {
                Some(stat) => seen.push((pid, stat)),
                // It exited just now, and may have started a process that this scan missed.
                None => scan.is_incomplete = true,
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
            // The pid may have been reused before the handle was opened.
            match ProcessHandle::on(*pid, stat.started) {
                Some(handle) if is_alive(*pid, stat.started) => scan.found.push((process, handle)),
                _ => scan.is_incomplete = true,
            }
        }
        scan.is_incomplete |= reap_orphans(&seen, &children) == Reaped::Some;
        scan
    }

    /// The child's session. The session id is unique while a process is in it; afterwards it may be reused.
    fn session(&self, seen: &[(u32, Stat)]) -> Option<Process> {
        let (leader, started) = self.leader?;
        let now = Stat::of(leader);
        let then = seen.iter().find(|(pid, _)| *pid == leader).map(|(_, stat)| *stat);
        let is_reused = [now, then].into_iter().flatten().any(|stat| stat.started != started);
        (!is_reused).then_some((leader, started))
    }

    fn is_left(&self, pid: u32, stat: &Stat, session: Option<Process>, children: &BTreeSet<u32>) -> bool {
        if stat.is_dead || stat.started < self.since {
            return false;
        }
        if session.is_some_and(|(leader, started)| stat.session == leader && stat.started >= started) {
            return true;
        }
        // With two children, it is unclear whose orphan it is.
        let is_orphan = self.adopts_orphans && children.len() == 1 && stat.is_adopted();
        is_orphan || has_marker(pid, self.marker)
    }
}

/// The result of one scan.
#[derive(Default)]
struct Scan {
    found: Vec<(Process, ProcessHandle)>,
    /// Whether a process disappeared during the scan; it may have started another before.
    is_incomplete: bool,
}

/// Reaps dead orphans that were reparented to this process.
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reaped {
    Some,
    None,
}

/// Whether the initial environment of a process has the marker.
pub(crate) fn has_marker(pid: u32, marker: &str) -> bool {
    if marker.is_empty() {
        return false;
    }
    let Ok(environment) = fs::read(proc_path(pid, "environ")) else {
        return false;
    };
    let wanted = [MARKER_VARIABLE.as_bytes(), b"=", marker.as_bytes()].concat();
    environment.split(|byte| *byte == 0).any(|variable| variable == wanted)
}

fn processes() -> impl Iterator<Item = (u32, Stat)> {
    pids().filter_map(|pid| Some((pid, Stat::of(pid)?)))
}

/// The pids of all other processes.
fn pids() -> impl Iterator<Item = u32> {
    // Without /proc, nothing can be found.
    fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|pid| *pid != sys::own_pid())
}

/// The fields of `/proc/PID/stat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stat {
    is_dead: bool,
    pub(crate) parent: u32,
    session: u32,
    pub(crate) started: u64,
}

impl Stat {
    /// Reads with a single call, because a sweep reads this file for every process.
    pub(crate) fn of(pid: u32) -> Option<Self> {
        let mut line = [0; MAX_STAT_BYTES];
        let length = fs::File::open(proc_path(pid, "stat")).ok()?.read(&mut line).ok()?;
        Self::read(line.get(..length)?)
    }

    /// The program name is in parentheses and may contain anything, so parse after the last parenthesis.
    fn read(bytes: &[u8]) -> Option<Self> {
        let end = bytes.iter().rposition(|byte| *byte == b')')?;
        let fields: Vec<&str> = std::str::from_utf8(bytes.get(end + 1..)?)
            .ok()?
            .split_whitespace()
            .collect();
        // The state is field 3 of the line.
        let field = |number: usize| fields.get(number - 3).copied();
        Some(Self {
            is_dead: matches!(field(3)?, "Z" | "X" | "x"),
            parent: field(4)?.parse().ok()?,
            session: field(6)?.parse().ok()?,
            started: field(22)?.parse().ok()?,
        })
    }

    /// Whether it was reparented to this process. Children that this process started share its session or are
    /// supervised.
    fn is_adopted(&self) -> bool {
        self.parent == sys::own_pid() && own_session().is_some_and(|session| session != self.session)
    }
}

/// The session of this process. In a container it may be 0, if it was created outside.
pub(crate) fn own_session() -> Option<u32> {
    Stat::of(sys::own_pid()).map(|stat| stat.session)
}

pub(crate) fn proc_path(pid: u32, name: &str) -> PathBuf {
    ["/proc", &pid.to_string(), name].iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn program_name_may_contain_anything() {
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
    fn survivors_are_reported_while_alive() {
        let own = sys::own_pid();
        let started = start_time(own).unwrap();
        let swept = Swept {
            killed: BTreeSet::from([(7, 1)]),
            refused: BTreeSet::from([(own, started), (own, started + 1), (u32::MAX, 1)]),
        };
        assert_eq!(swept.survivors(), [own]);
    }

    #[test]
    fn reused_session_id_is_detected() {
        let mut stranger = crate::command("sleep");
        sys::in_own_session(stranger.arg("600"));
        let mut stranger = stranger.spawn().unwrap();
        let started = start_time(stranger.id()).unwrap();
        let found = |started: u64| {
            let left = Leftovers {
                marker: "",
                leader: Some((stranger.id(), started)),
                since: 0,
                adopts_orphans: false,
                spares_children: false,
            };
            left.scan(&BTreeSet::new()).found.len()
        };
        assert_eq!([found(started), found(started - 1)], [1, 0]);
        stranger.kill().unwrap();
        stranger.wait().unwrap();
    }

    #[test]
    fn process_is_identified_by_pid_and_start_time() {
        let own = sys::own_pid();
        let started = start_time(own).unwrap();
        assert!(is_alive(own, started));
        assert!(!is_alive(own, started + 1));
        assert_eq!(start_time(u32::MAX), None);
    }
}
