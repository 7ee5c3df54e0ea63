//! Runs the gates, one after the other, under the same supervision as an agent.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ralph_memory::capture::{MOST_ERROR_OUTPUT, WhyLines, clean, why_lines};
use ralph_process::{HowEnded, Input, RunLimits, Spec, StopHandle, run_to_end_watched};

use super::lines::FailureLines;
use super::{Baseline, GateEnd, GateResult};

/// The most that is kept of what a gate prints, in characters: all that is read, with room for the line that says what
/// was left out and for the names of masked secrets. The end of an output must not be cut.
const OUTPUT_CHARACTERS: usize = 80 * 1024;

/// What is told of a gate.
#[derive(Debug, Clone, Copy)]
pub(crate) enum GateNews<'a> {
    /// This command is run.
    Begins(&'a str),
    /// It has spoken.
    Ran(&'a GateResult),
}

/// The gates of a run, and where they are run.
#[derive(Debug, Clone)]
pub(crate) struct GateRunner {
    pub(crate) commands: Vec<String>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) folder: PathBuf,
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) marker: String,
    /// What they said before: why they refuse is told of what is new.
    pub(crate) before: Baseline,
}

impl GateRunner {
    /// Runs them all: a person wants to know of every one. One that is broken off ends it.
    pub(crate) fn run(&self, stop: &StopHandle, mut tell: impl FnMut(GateNews<'_>)) -> Vec<GateResult> {
        let mut results = Vec::new();
        for command in &self.commands {
            tell(GateNews::Begins(command));
            let result = self.run_one(command, stop);
            tell(GateNews::Ran(&result));
            let stopped = result.end == GateEnd::Stopped;
            results.push(result);
            if stopped {
                break;
            }
        }
        results
    }

    fn run_one(&self, command: &str, stop: &StopHandle) -> GateResult {
        let spec = Spec {
            program: "sh".into(),
            arguments: vec!["-c".into(), command.into()],
            folder: self.folder.clone(),
            environment: self.environment.clone(),
            stdin: Input::Nothing,
            marker: self.marker.clone(),
            output_limit: None,
        };
        let limits = RunLimits {
            time: self.timeout,
            ..RunLimits::default()
        };
        let why = WhyLines::new(&self.folder, self.before.failures_of(command));
        let lines = Arc::new(Mutex::new((FailureLines::default(), why)));
        let watched = Arc::clone(&lines);
        let watch = Box::new(move |line: String| {
            let (failures, why) = &mut *watched.lock().unwrap_or_else(PoisonError::into_inner);
            failures.take(&line);
            why.take(&line);
        });
        let (end, output, duration) = match run_to_end_watched(spec, limits, stop, watch) {
            Ok(finished) => (end_of(finished.how), finished.output, finished.duration),
            Err(error) => (
                GateEnd::Broken("not started".to_owned()),
                format!("sh could not be started: {error}"),
                Duration::ZERO,
            ),
        };
        let output = clean(&output, OUTPUT_CHARACTERS);
        let (mut failures, why) = std::mem::take(&mut *lines.lock().unwrap_or_else(PoisonError::into_inner));
        let why = match why.pick(MOST_ERROR_OUTPUT) {
            // What could not be started printed nothing.
            why if why.is_empty() => why_lines(&output, &self.folder, MOST_ERROR_OUTPUT),
            why => why,
        };
        let failures = failures.found(&output);
        GateResult {
            command: command.to_owned(),
            end,
            output,
            duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
            failures,
            why,
        }
    }
}

fn end_of(how: HowEnded) -> GateEnd {
    match how {
        HowEnded::Exited(0) => GateEnd::Passed,
        // So the shell tells that a program is not there, or that a signal ended it.
        HowEnded::Exited(code @ (126 | 127 | 134 | 137 | 139 | 143)) => GateEnd::Broken(format!("exit code {code}")),
        HowEnded::Exited(code) => GateEnd::Failed(format!("exit code {code}")),
        HowEnded::Signalled(signal) => GateEnd::Broken(format!("signal {signal}")),
        HowEnded::OutputLimit => GateEnd::Broken("it printed too much".to_owned()),
        HowEnded::TimedOut => GateEnd::TimedOut,
        HowEnded::Stopped => GateEnd::Stopped,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_found_in_all_of_a_long_output_and_its_end_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let middle =
            "i=0; while [ $i -lt 4000 ]; do echo 'a line that is long enough to fill the room'; i=$((i+1)); done";
        let command = format!("{middle}; echo 'test a ... FAILED'; {middle}; echo 'the end'; exit 1");
        let runner = GateRunner {
            commands: vec![command],
            timeout: None,
            folder: folder.path().to_owned(),
            environment: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
            marker: format!("gate-test-{}", std::process::id()),
            before: Baseline::default(),
        };
        let results = runner.run(&StopHandle::default(), |_| {});
        let [result] = results.as_slice() else {
            panic!("{results:?}");
        };
        assert!(!result.output.contains("FAILED"));
        assert!(result.output.ends_with("the end"));
        assert_eq!(result.failures.iter().collect::<Vec<_>>(), ["test a ... FAILED"]);
        assert_eq!(result.why, "test a ... FAILED");
    }

    /// What a gate says that prints a recorded output between two and a half megabytes of a log, and these again.
    fn among_five_megabytes(recorded: &str) -> GateResult {
        let folder = tempfile::tempdir().unwrap();
        let failure = ralph_testkit::recorded(recorded).output;
        ralph_notes::write_new_file(&folder.path().join("failure.txt"), failure.as_bytes()).unwrap();
        let log =
            "seq 1 40000 | sed 's/.*/2026-11-16 12:00:00 INFO worker & handled request & in & ms without errors/'";
        let command = format!("{log}; cat failure.txt; {log}; exit 1");
        let runner = GateRunner {
            commands: vec![command],
            timeout: None,
            folder: folder.path().to_owned(),
            environment: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
            marker: format!("gate-test-{recorded}-{}", std::process::id()),
            before: Baseline::default(),
        };
        let mut results = runner.run(&StopHandle::default(), |_| {});
        assert_eq!(results.len(), 1, "{results:?}");
        results.remove(0)
    }

    #[test]
    fn why_is_found_in_the_middle_of_five_megabytes() {
        let result = among_five_megabytes("unittest_type_error");
        assert!(
            !result.output.contains("TypeError"),
            "it is not in what is kept of the output"
        );
        insta::assert_snapshot!(result.why, @r#"
        ERROR: test_shows_cents (test_cart.CartTest.test_shows_cents)
        File "/home/dev/project/cart.py", line 7, in shown
          return cents / "100"
        TypeError: unsupported operand type(s) for /: 'int' and 'str'
        "#);
    }

    #[test]
    fn a_line_of_a_log_that_says_why_is_found_in_the_middle_of_five_megabytes() {
        let result = among_five_megabytes("shell_log");
        assert!(
            !result.output.contains("ERROR"),
            "it is not in what is kept of the output"
        );
        insta::assert_snapshot!(result.why, @"
        2026-11-16 18:56:13 ERROR cart: price of cup 17 is negative
        2026-11-16 18:56:13 FATAL check failed: the shop cannot open
        ");
    }

    #[test]
    fn of_a_gate_that_was_red_before_only_what_is_new_is_told() {
        let run = |output: &str, before: Baseline| {
            let folder = tempfile::tempdir().unwrap();
            ralph_notes::write_new_file(&folder.path().join("output.txt"), output.as_bytes()).unwrap();
            let runner = GateRunner {
                commands: vec!["cat output.txt; exit 101".to_owned()],
                timeout: None,
                folder: folder.path().to_owned(),
                environment: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
                marker: format!("gate-test-red-{}", std::process::id()),
                before,
            };
            runner.run(&StopHandle::default(), |_| {})
        };
        let before = run(
            ralph_testkit::recorded("cargo_test_assertion").output,
            Baseline::default(),
        );
        let after = run(ralph_testkit::recorded("cargo_test_two").output, Baseline::of(&before));
        let [result] = after.as_slice() else {
            panic!("{after:?}");
        };
        insta::assert_snapshot!(result.why, @r#"
        thread 'tests::shows_cents' (1808) panicked at src/lib.rs:24:9:
        assertion `left == right` failed
          left: "1050"
         right: "10.50"
        "#);
    }
}
