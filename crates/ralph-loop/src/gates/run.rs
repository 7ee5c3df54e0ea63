//! Runs the gates one after another, supervised like an agent.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ralph_memory::capture::{MAX_ERROR_OUTPUT, WhyLines, clean, why_lines};
use ralph_memory::secrets::mask;
use ralph_model::config::CommandLine;
use ralph_process::{ExitReason, Input, RunLimits, Spec, StopHandle, run_to_end_watched};

use super::kept_lines::KeptLines;
use super::lines::FailureLines;
use super::{Baseline, GateEnd, GateResult};

/// The maximum length of a gate's kept output, in characters: all kept lines plus the marker for missing ones, so that
/// the end is never cut.
const OUTPUT_CHARACTERS: usize = 80 * 1024;

/// Progress of the gates.
#[derive(Debug, Clone, Copy)]
pub(crate) enum GateEvent<'a> {
    Started(&'a str),
    Finished(&'a GateResult),
}

/// The gates to run, and where.
#[derive(Debug, Clone)]
pub(crate) struct GateRunner {
    pub(crate) commands: Vec<String>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) folder: PathBuf,
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) marker: String,
    /// The results from before, so that reasons show what is new.
    pub(crate) before: Baseline,
}

impl GateRunner {
    /// Runs all gates even if one fails, so that the user sees every result. A stop request ends the sequence.
    pub(crate) fn run(&self, stop: &StopHandle, mut tell: impl FnMut(GateEvent<'_>)) -> Vec<GateResult> {
        let mut results = Vec::new();
        for command in &self.commands {
            tell(GateEvent::Started(&mask(command)));
            let result = self.run_one(command, stop);
            tell(GateEvent::Finished(&result));
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
        let recorded = mask(command).into_owned();
        let why = WhyLines::new(&self.folder, self.before.failures_of(&recorded));
        let lines = Arc::new(Mutex::new((FailureLines::default(), why, KeptLines::default())));
        let watched = Arc::clone(&lines);
        let watch = Box::new(move |line: String| {
            let (failures, why, kept) = &mut *watched.lock().unwrap_or_else(PoisonError::into_inner);
            // Mask secrets line by line before anything is cut: half a secret would not be recognised.
            let line = why.take(&line);
            failures.take(&line);
            kept.take(&line);
        });
        let (end, error, duration) = match run_to_end_watched(spec, limits, stop, watch) {
            Ok(finished) => (self.end_of(command, finished.how), None, finished.duration),
            Err(error) => (
                GateEnd::NotStarted("no shell".to_owned()),
                Some(format!("sh could not be started: {error}")),
                Duration::ZERO,
            ),
        };
        let (mut failures, why, kept) = std::mem::take(&mut *lines.lock().unwrap_or_else(PoisonError::into_inner));
        let output = clean(&error.unwrap_or_else(|| kept.text()), OUTPUT_CHARACTERS);
        let why = match why.pick(MAX_ERROR_OUTPUT) {
            // A gate that could not start printed nothing.
            why if why.is_empty() => why_lines(&output, &self.folder, MAX_ERROR_OUTPUT),
            why => why,
        };
        let failures = failures.found(&output);
        GateResult {
            command: recorded,
            end,
            output,
            duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
            failures,
            why,
        }
    }
}

impl GateRunner {
    fn end_of(&self, command: &str, how: ExitReason) -> GateEnd {
        match how {
            ExitReason::Exited(0) => GateEnd::Passed,
            // The shell could not find or execute a program.
            ExitReason::Exited(code @ (126 | 127)) => GateEnd::NotStarted(format!("exit code {code}")),
            // A signal killed a program of the shell.
            ExitReason::Exited(code @ (134 | 137 | 139 | 143)) => GateEnd::Broken(format!("exit code {code}")),
            ExitReason::Exited(code) => match missing_script(command, &self.folder) {
                Some(script) => GateEnd::NotStarted(format!("{script} does not exist")),
                None => GateEnd::Failed(format!("exit code {code}")),
            },
            ExitReason::Signalled(signal) => GateEnd::Broken(format!("signal {signal}")),
            ExitReason::OutputLimit => GateEnd::Broken("it printed too much".to_owned()),
            ExitReason::TimedOut => GateEnd::TimedOut,
            ExitReason::Stopped => GateEnd::Stopped,
        }
    }
}

/// Programs that take a script as first argument and exit with their own code if it does not exist.
const INTERPRETERS: [&str; 10] = [
    "sh", "dash", "bash", "zsh", "ksh", "python", "python3", "node", "perl", "ruby",
];

/// The script that a command passes to an interpreter, if it does not exist.
fn missing_script(command: &str, folder: &Path) -> Option<String> {
    let words = CommandLine::Line(command.to_owned()).words()?;
    let [program, script, ..] = words.as_slice() else {
        return None;
    };
    let name = Path::new(program).file_name()?.to_str()?;
    // Shell expansions are not file names.
    let is_path = !script.starts_with('-') && !script.contains(['$', '*', '?', '~', '<', '>', '|', '&', ';']);
    (INTERPRETERS.contains(&name) && is_path && !folder.join(script).exists()).then(|| script.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_in_long_output_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let middle =
            "i=0; while [ $i -lt 4000 ]; do echo 'a line that is long enough to fill the limit'; i=$((i+1)); done";
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

    #[test]
    fn secret_across_an_output_cut_is_masked() {
        let token = format!("ghp_{}", "q7Zr2mKx9TbVw4LcHs8Ny3Gd".repeat(2).get(..36).unwrap());
        let key: Vec<String> = (0..3)
            .map(|at| format!("{at}{}", "Zk4Qm2Xr8TbVw1Lc".repeat(4).get(..63).unwrap()))
            .collect();
        let dashes = "-".repeat(5);
        let pem = format!(
            "{dashes}BEGIN PRIVATE KEY{dashes}\n{}\n{dashes}END PRIVATE KEY{dashes}\n",
            key.join("\n")
        );
        let (head, all) = (16 * 1024, 64 * 1024);
        for place in [head - 20, head - 100, all] {
            for secret in [format!("token={token}\n"), pem.clone()] {
                let folder = tempfile::tempdir().unwrap();
                let filler = |bytes: usize| "a line of it\n".repeat(bytes / 13);
                // The secret crosses the end of the head, or the start of the tail.
                let text = if place < head {
                    format!("{}\n{secret}{}", filler(place), filler(all))
                } else {
                    format!("{}\n{secret}{}", filler(all), filler(48 * 1024 - secret.len() / 2))
                };
                ralph_notes::write_new_file(&folder.path().join("out.txt"), text.as_bytes()).unwrap();
                let runner = GateRunner {
                    commands: vec!["cat out.txt; exit 1".to_owned()],
                    timeout: None,
                    folder: folder.path().to_owned(),
                    environment: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
                    marker: format!("gate-test-cut-{}", std::process::id()),
                    before: Baseline::default(),
                };
                let result = runner.run(&StopHandle::default(), |_| {}).remove(0);
                let pieces = |text: &str| {
                    (0..=text.len() - 10)
                        .map(|at| text.get(at..at + 10).unwrap().to_owned())
                        .collect::<Vec<_>>()
                };
                for piece in key.iter().chain([&token]).flat_map(|text| pieces(text)) {
                    assert!(!result.output.contains(&piece), "{piece} at {place}");
                }
            }
        }
    }

    /// The result of a gate that prints a recorded output between two logs of two and a half megabytes.
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
    fn reason_is_found_in_five_megabytes() {
        let result = among_five_megabytes("unittest_type_error");
        assert!(!result.output.contains("TypeError"), "it is not in the kept output");
        insta::assert_snapshot!(result.why, @r#"
        ERROR: test_shows_cents (test_cart.CartTest.test_shows_cents)
        File "/home/dev/project/cart.py", line 7, in shown
          return cents / "100"
        TypeError: unsupported operand type(s) for /: 'int' and 'str'
        "#);
    }

    #[test]
    fn log_line_is_found_in_five_megabytes() {
        let result = among_five_megabytes("shell_log");
        assert!(!result.output.contains("ERROR"), "it is not in the kept output");
        insta::assert_snapshot!(result.why, @"
        2026-11-16 18:56:13 ERROR cart: price of cup 17 is negative
        2026-11-16 18:56:13 FATAL check failed: the shop cannot open
        ");
    }

    #[test]
    fn failing_gate_reports_only_new_failures() {
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
