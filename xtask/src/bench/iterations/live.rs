//! The cost of the live view: runs in a terminal, with and without it.

use std::fs::{self, File};
use std::io::Write;
use std::time::{Duration, Instant};

use ralph_testkit::Terminal;

use super::loop_project::PROGRAMS;
use crate::programs::Programs;
use crate::sys;

/// Prints a line fifty times a second, for some seconds.
const TALKATIVE: &str = r#"
i=0
while [ $i -lt 300 ]; do
    i=$((i+1))
    echo "Line $i: I look at the parser of dates and at what calls it, and think about what may be wrong there."
    sleep 0.02
done
"#;
/// Exits immediately.
const SILENT: &str = "exit 0\n";
/// The size of the terminal.
const SIZE: (u16, u16) = (100, 40);

pub(super) struct Cost {
    /// While an agent prints, in percent of a core.
    pub(super) percent: f64,
    /// Start and end, in milliseconds.
    pub(super) around_ms: f64,
}

/// Measures the minimum of several runs, with and without the view.
pub(super) fn cost(programs: &Programs, runs: usize) -> Result<Cost, String> {
    let mut least = [[Measured::MOST; 2]; 2];
    for _ in 0..runs {
        for (agent, least) in [TALKATIVE, SILENT].into_iter().zip(&mut least) {
            for (flags, least) in [&[][..], &["--plain"]].into_iter().zip(least) {
                least.take(&measure(programs, agent, flags)?);
            }
        }
    }
    let [[talks, talks_plain], [silent, silent_plain]] = least;
    let more = |with: Duration, without: Duration| with.as_secs_f64() - without.as_secs_f64();
    Ok(Cost {
        percent: 100.0 * more(talks.processor, talks_plain.processor) / talks.time.as_secs_f64(),
        around_ms: 1000.0 * more(silent.time, silent_plain.time),
    })
}

#[derive(Clone, Copy)]
struct Measured {
    processor: Duration,
    time: Duration,
}

impl Measured {
    const MOST: Self = Self {
        processor: Duration::MAX,
        time: Duration::MAX,
    };

    fn take(&mut self, other: &Self) {
        self.processor = self.processor.min(other.processor);
        self.time = self.time.min(other.time);
    }
}

fn measure(programs: &Programs, agent: &str, flags: &[&str]) -> Result<Measured, String> {
    let failed = |error: std::io::Error| format!("cannot create a project: {error}");
    let folder = tempfile::tempdir().map_err(failed)?;
    let path = |name: &str| folder.path().join(name);
    fs::create_dir(path(".ralph")).map_err(failed)?;
    fs::create_dir(path("home")).map_err(failed)?;
    File::create(path("agent.sh"))
        .and_then(|mut file| file.write_all(agent.as_bytes()))
        .map_err(failed)?;
    let mut run = programs.ralph(folder.path());
    run.args(["run", "--limit", "1", "--agent", "sh agent.sh", "Look at the parser"])
        .args(flags)
        .env("PATH", PROGRAMS)
        .env("HOME", path("home"))
        .env("LANG", "C.UTF-8");
    let begin = Instant::now();
    let terminal = Terminal::of_size(&run, SIZE.0, SIZE.1);
    let (status, usage) = sys::wait(terminal.child()).map_err(|error| format!("cannot wait for a run: {error}"))?;
    // The iteration limit is reached.
    if status.code() != Some(4) {
        return Err(format!("a run in a terminal failed: {status}"));
    }
    Ok(Measured {
        processor: usage.own_processor,
        time: begin.elapsed(),
    })
}
