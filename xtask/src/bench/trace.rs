//! Counts the bytes a command reads and writes and its syncs, with strace.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use ralph_process::command;

use super::project::Project;
use crate::child::{is_installed, measure};

/// The system calls that transfer or sync file data.
const CALLS: &str = "trace=read,pread64,readv,write,pwrite64,writev,copy_file_range,sendfile,fsync,fdatasync";

/// File access of a command.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Traced {
    /// Bytes read from the memories file.
    read: u64,
    /// Bytes written to the memories file.
    written: u64,
    /// Bytes written to the index, which is never synced.
    pub(super) written_to_index: u64,
    /// Bytes written to other files, that is, the log.
    pub(super) written_elsewhere: u64,
    /// Syncs of any file or folder.
    pub(super) syncs: u64,
    /// The size of the memories file before and after.
    sizes: (u64, u64),
}

impl Traced {
    /// Bytes read, relative to the file size.
    pub(super) fn read_passes(&self) -> f64 {
        self.read as f64 / self.sizes.0.max(1) as f64
    }

    /// Bytes written, relative to the file size.
    pub(super) fn write_passes(&self) -> f64 {
        self.written as f64 / self.sizes.1.max(1) as f64
    }
}

/// Traces one `memory add`, or returns none without strace.
pub(super) fn add(project: &Project<'_>, number: usize) -> Result<Option<Traced>, String> {
    if !is_installed("strace") {
        return Ok(None);
    }
    let add = project.add(number);
    let log = project.path("strace.log");
    let mut strace = command("strace");
    strace
        .args(["-f", "-y", "-s", "0", "-e", CALLS, "-o"])
        .arg(&log)
        .arg("--")
        .arg(add.get_program())
        .args(add.get_args())
        .env_clear()
        .current_dir(project.path(""))
        .stdout(std::process::Stdio::null());
    let before = project.file_bytes()?;
    measure(&mut strace)?;
    let text = fs::read_to_string(&log).map_err(|error| format!("cannot read the strace log: {error}"))?;
    Ok(Some(Traced {
        sizes: (before, project.file_bytes()?),
        ..totals(&text, &project.file())
    }))
}

/// Sums the calls of a trace. A line is `PID call(FD<path>, …) = bytes`, or is split in two when another thread's call
/// comes in between.
fn totals(trace: &str, memories: &Path) -> Traced {
    let name = memories.file_name().unwrap_or_default().to_string_lossy();
    let mut traced = Traced::default();
    let mut unfinished: BTreeMap<&str, &str> = BTreeMap::new();
    for line in trace.lines() {
        let (pid, call) = line.trim_start().split_once(' ').unwrap_or_default();
        let call = call.trim_start();
        if call.ends_with("<unfinished ...>") {
            unfinished.insert(pid, call);
            continue;
        }
        let begun = if call.starts_with("<... ") {
            unfinished.remove(pid)
        } else {
            Some(call)
        };
        let (Some(begun), Some((_, result))) = (begun, call.rsplit_once(" = ")) else {
            continue;
        };
        let bytes = result
            .split(' ')
            .next()
            .and_then(|bytes| bytes.parse::<u64>().ok())
            .unwrap_or_default();
        let (verb, arguments) = begun.split_once('(').unwrap_or_default();
        let path = arguments.split_once('<').and_then(|(_, rest)| rest.split_once('>'));
        let file = path.and_then(|(path, _)| path.rsplit('/').next()).unwrap_or_default();
        // The temporary file's name contains the original name; the lock is a separate file.
        let of_memories = file.contains(&*name) && !file.ends_with(".lock");
        match (verb, of_memories) {
            ("fsync" | "fdatasync", _) => traced.syncs += 1,
            ("read" | "pread64" | "readv", true) => traced.read += bytes,
            ("read" | "pread64" | "readv", false) => {}
            (_, true) => traced.written += bytes,
            (_, false) if file.starts_with("index.db") => traced.written_to_index += bytes,
            (_, false) => traced.written_elsewhere += bytes,
        }
    }
    traced
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trace_calls_are_summed() {
        let trace = "\
11 read(3</lib/libc.so>, \"\"..., 832) = 832
11 read(4</p/.agent/memories.md>, \"\"..., 500) = 400
11 read(4</p/.agent/memories.md>, \"\"..., 100) = 0
11 write(3</p/.agent/memories.md.lock>, \"\"..., 40) = 40
11 write(5</p/.agent/.memories.md.ralph-new>, \"\"..., 450 <unfinished ...>
12 read(3</p/.agent/memories.md>, \"\"..., 450) = -1 EIO (Input/output error)
11 <... write resumed>) = 450
11 fsync(5</p/.agent/.memories.md.ralph-new>) = 0
11 pwrite64(6</p/.ralph/progress.db-wal>, \"\"..., 4096, 0) = 4096
11 fdatasync(6</p/.ralph/progress.db-wal>) = 0
11 pwrite64(7</p/.ralph/index.db>, \"\"..., 4096, 0) = 4096
11 write(8</p/.ralph/index.db.stamp>, \"\"..., 80) = 80
11 +++ exited with 0 +++
";
        let expected = Traced {
            read: 400,
            written: 450,
            written_to_index: 4176,
            written_elsewhere: 4136,
            syncs: 2,
            sizes: (0, 0),
        };
        assert_eq!(totals(trace, Path::new("/p/.agent/memories.md")), expected);
    }
}
