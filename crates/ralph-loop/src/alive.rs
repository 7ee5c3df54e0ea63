//! Checks whether the process of a run is alive.

use ralph_store::RunProcess;

/// Whether the process of a run is alive. `None` for a process of another host or PID namespace, whose pid means
/// nothing here.
#[must_use]
pub fn is_alive(process: &RunProcess, this_host: &str) -> Option<bool> {
    (process.host == this_host).then(|| ralph_process::is_alive(process.pid, process.started))
}
