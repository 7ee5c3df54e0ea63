//! The gates: commands that must succeed before a task is done, and their results from before the run.
//!
//! A gate that failed before the first iteration cannot judge the work as a whole. It only refuses new failures, or a
//! turn that changed nothing.

mod kept_lines;
mod lines;
mod run;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display};
use std::path::Path;

use ralph_model::config::command_paths;
use ralph_model::headline_of;
use serde::{Deserialize, Serialize};

use crate::settle::Verdict;

pub use lines::failure_lines;
pub(crate) use run::{GateEvent, GateRunner};

/// How to fix a gate that cannot judge the work.
const FIX: &str = "Fix `[verify] commands` in .ralph.toml, or install what the gate needs.";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateResult {
    pub command: String,
    pub end: GateEnd,
    /// The output, cleaned; only its start and end if it was long.
    pub output: String,
    pub duration_ms: u64,
    /// All failures in the output, including parts that were not kept; see [`failure_lines`].
    #[serde(skip)]
    pub failures: BTreeSet<String>,
    /// The output lines that explain the failure, or the last ones. For a gate that failed before, the new ones if
    /// there are any. See [`WhyLines`](ralph_memory::capture::WhyLines).
    #[serde(default)]
    pub why: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum GateEnd {
    Passed,
    /// Failed with a status of its own: `exit code 1`.
    Failed(String),
    /// Ended before it could judge the work: `signal 9`.
    Broken(String),
    /// Could not be started: `exit code 127`, `check.sh does not exist`.
    NotStarted(String),
    TimedOut,
    Stopped,
}

impl Display for GateEnd {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Passed => formatter.write_str("passed"),
            Self::Failed(status) | Self::Broken(status) => write!(formatter, "failed ({status})"),
            Self::NotStarted(status) => write!(formatter, "could not be started ({status})"),
            Self::TimedOut => formatter.write_str("took longer than `[verify] timeout` allows"),
            Self::Stopped => formatter.write_str("was stopped"),
        }
    }
}

impl GateResult {
    #[must_use]
    pub fn is_green(&self) -> bool {
        self.end == GateEnd::Passed
    }

    /// The most important line of its output; empty if there is none.
    #[must_use]
    pub fn headline(&self) -> String {
        headline_of(&self.why)
    }

    /// How it ended: `exit code 101`.
    #[must_use]
    pub fn end_in_words(&self) -> &str {
        match &self.end {
            GateEnd::Passed => "passed",
            GateEnd::Failed(status) | GateEnd::Broken(status) | GateEnd::NotStarted(status) => status,
            GateEnd::TimedOut => "took too long",
            GateEnd::Stopped => "stopped",
        }
    }

    /// What is wrong with a gate that cannot judge the work, and how to fix it.
    fn complaint(&self, what: &str, fix: &str) -> String {
        let said = match self.headline() {
            words if words.is_empty() => String::new(),
            words => format!(": {}", words.trim_end_matches('.')),
        };
        format!("The gate `{}` {what}{said}. {fix}", self.command)
    }

    /// The names that are files in the command.
    fn names_of(&self, changed: &BTreeSet<String>) -> Vec<String> {
        let paths = command_paths(&self.command);
        let named = changed.iter().filter(|name| paths.contains(Path::new(name.as_str())));
        named.cloned().collect()
    }

    /// How it failed, with its output.
    pub(crate) fn failure(&self) -> String {
        let sentence = self.failure_sentence();
        match (self.why.as_str(), sentence.strip_suffix('.')) {
            ("", _) | (_, None) => sentence,
            (why, Some(sentence)) => format!("{sentence}:\n{why}"),
        }
    }

    pub(crate) fn failure_sentence(&self) -> String {
        format!("The gate `{}` {}.", self.command, self.end)
    }
}

/// Why these gates cannot judge any work, as found before the first iteration: one timed out or was killed. `None` if
/// all ended by themselves; see [`not_started`] for the rest.
#[must_use]
pub fn unusable(results: &[GateResult]) -> Option<String> {
    results.iter().find_map(|result| {
        let what = match &result.end {
            GateEnd::Broken(status) => format!("was killed before it could finish ({status})"),
            GateEnd::TimedOut => "took longer than `[verify] timeout` allows".to_owned(),
            GateEnd::Passed | GateEnd::Failed(_) | GateEnd::NotStarted(_) | GateEnd::Stopped => return None,
        };
        Some(result.complaint(&what, FIX))
    })
}

/// The error for the first gate that could not be started, which the iteration may have caused.
#[must_use]
pub fn not_started(results: &[GateResult], changed: &BTreeSet<String>) -> Option<String> {
    results.iter().find_map(|result| {
        let GateEnd::NotStarted(status) = &result.end else {
            return None;
        };
        let what = format!("cannot be started ({status})");
        Some(match result.names_of(changed).as_slice() {
            [] => result.complaint(&what, FIX),
            names => result.complaint(
                &what,
                &format!("Restore {}, which the iteration changed.", names.join(", ")),
            ),
        })
    })
}

/// The gates that failed before the first iteration, with how they ended and the failures they showed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Baseline {
    red: BTreeMap<String, Red>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Red {
    end: GateEnd,
    failures: BTreeSet<String>,
}

impl Red {
    /// What got worse, in a sentence.
    fn worse(&self, result: &GateResult) -> Option<String> {
        let command = &result.command;
        let comparable = matches!(result.end, GateEnd::Passed | GateEnd::Failed(_)) || result.end == self.end;
        if !comparable {
            return Some(format!(
                "The gate `{command}` already failed before the run, but not in this way."
            ));
        }
        if let Some(new) = result.failures.difference(&self.failures).next() {
            return Some(format!(
                "The gate `{command}` already failed before the run, and now shows a new failure: {new}"
            ));
        }
        if result.failures.is_empty() && !self.failures.is_empty() {
            return Some(format!(
                "The gate `{command}` already failed before the run, and now fails without showing why."
            ));
        }
        None
    }
}

/// Whether a turn changed anything on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Changed {
    Something,
    Nothing,
}

impl Baseline {
    /// The baseline of these results.
    #[must_use]
    pub fn of(results: &[GateResult]) -> Self {
        let red = results.iter().filter(|result| !result.is_green());
        Self {
            red: red
                .map(|result| {
                    let (end, failures) = (result.end.clone(), result.failures.clone());
                    (result.command.clone(), Red { end, failures })
                })
                .collect(),
        }
    }

    /// The failures that a gate showed before, normalised; empty for one that passed.
    pub(crate) fn failures_of(&self, command: &str) -> BTreeSet<String> {
        self.red
            .get(command)
            .map(|red| red.failures.clone())
            .unwrap_or_default()
    }

    /// The gates that failed.
    #[must_use]
    pub fn red_gates(&self) -> Vec<String> {
        self.red.keys().cloned().collect()
    }

    #[must_use]
    pub fn verdict(&self, results: &[GateResult], changed: Changed) -> Verdict {
        let red = results.iter().filter(|result| !result.is_green());
        match self.refusal(results, changed) {
            Some(why) => Verdict::Refused(why),
            None => Verdict::Passes {
                still_failing: red.map(|result| result.command.clone()).collect(),
            },
        }
    }

    /// The gate that refuses the work. The shrunk baseline gives the same answer for the same results.
    #[must_use]
    pub fn refusing<'a>(&self, results: &'a [GateResult], changed: Changed) -> Option<&'a GateResult> {
        results.iter().find(|result| self.refusal_of(result, changed).is_some())
    }

    /// Why the work is refused; `None` if it passes.
    #[must_use]
    pub fn refusal(&self, results: &[GateResult], changed: Changed) -> Option<String> {
        results.iter().find_map(|result| self.refusal_of(result, changed))
    }

    fn refusal_of(&self, result: &GateResult, changed: Changed) -> Option<String> {
        if result.is_green() {
            return None;
        }
        let Some(known) = self.red.get(&result.command) else {
            return Some(result.failure());
        };
        if changed == Changed::Nothing {
            return Some(format!(
                "Nothing changed, and the gate still fails. {}",
                result.failure()
            ));
        }
        let worse = known.worse(result)?;
        Some(format!("{worse}\n{}", result.failure()))
    }

    /// The baseline without what these results show as fixed, which must stay fixed. Only a gate that ended by itself
    /// without new failures counts: one that breaks early shows no old failures either.
    #[must_use]
    pub fn shrunk(&self, results: &[GateResult]) -> Self {
        let mut shrunk = self.clone();
        for result in results {
            match (&result.end, shrunk.red.get_mut(&result.command)) {
                (GateEnd::Passed, Some(_)) => drop(shrunk.red.remove(&result.command)),
                (GateEnd::Failed(_), Some(known)) if known.worse(result).is_none() => {
                    known.end = result.end.clone();
                    known.failures.retain(|line| result.failures.contains(line));
                }
                _ => {}
            }
        }
        shrunk
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(command: &str, end: GateEnd, output: &str) -> GateResult {
        GateResult {
            command: command.to_owned(),
            end,
            output: output.to_owned(),
            duration_ms: 1,
            failures: failure_lines(output),
            why: ralph_memory::capture::why_lines(output, std::path::Path::new("/"), 500),
        }
    }

    fn red(output: &str) -> GateResult {
        result("test", GateEnd::Failed("exit code 101".to_owned()), output)
    }

    #[test]
    fn passing_gate_refuses_with_the_failure_lines() {
        let results = [
            result("fmt", GateEnd::Passed, ""),
            red("running 2 tests\ntest a ... FAILED\n"),
        ];
        let refusal = Baseline::default().refusal(&results, Changed::Something).unwrap();
        assert_eq!(refusal, "The gate `test` failed (exit code 101):\ntest a ... FAILED");
    }

    #[test]
    fn failing_gate_refuses_only_new_failures() {
        let baseline = Baseline::of(&[red("test a ... FAILED\ntest b ... FAILED at 10:4\n")]);
        assert_eq!(baseline.red_gates(), ["test"]);
        let check = |output: &str, changed| baseline.refusal(&[red(output)], changed).is_some();
        assert!(!check("test c ... ok\ntest b ... FAILED at 12:7\n", Changed::Something));
        assert!(check("test b ... FAILED at 12:7\n", Changed::Nothing));
        assert!(check("test c ... FAILED\n", Changed::Something));
    }

    #[test]
    fn fixed_failures_must_stay_fixed() {
        let both = Baseline::of(&[red("test a ... FAILED\ntest b ... FAILED\n")]);
        let one = both.shrunk(&[red("test b ... FAILED\n")]);
        assert!(one.refusal(&[red("test a ... FAILED\n")], Changed::Something).is_some());
        let none = one.shrunk(&[result("test", GateEnd::Passed, "")]);
        assert_eq!(none, Baseline::default());
        assert!(
            none.refusal(&[red("test b ... FAILED\n")], Changed::Something)
                .is_some()
        );
        let broken_off = both.shrunk(&[result("test", GateEnd::Stopped, "")]);
        assert_eq!(broken_off, both);
    }

    #[test]
    fn broken_build_keeps_the_baseline() {
        let both = Baseline::of(&[red("test a ... FAILED\ntest b ... FAILED\n")]);
        let refused = [
            red("error: expected `;`\n"),
            red(""),
            result("test", GateEnd::TimedOut, "test a ... FAILED\n"),
            result("test", GateEnd::Broken("signal 9".to_owned()), "test a ... FAILED\n"),
        ];
        for result in refused {
            assert!(
                both.refusal(std::slice::from_ref(&result), Changed::Something)
                    .is_some(),
                "{result:?}"
            );
            assert_eq!(both.shrunk(std::slice::from_ref(&result)), both, "{result:?}");
        }
    }

    #[test]
    fn same_end_is_compared_by_failures() {
        let slow = |output: &str| result("test", GateEnd::TimedOut, output);
        let baseline = Baseline::of(&[slow("test a ... FAILED\n")]);
        assert_eq!(
            baseline.refusal(&[slow("test a ... FAILED\n")], Changed::Something),
            None
        );
        assert!(
            baseline
                .refusal(&[slow("test b ... FAILED\n")], Changed::Something)
                .is_some()
        );
        // It finishes now, and must finish from now on.
        let fixed = baseline.shrunk(&[red("test a ... FAILED\n")]);
        assert!(
            fixed
                .refusal(&[slow("test a ... FAILED\n")], Changed::Something)
                .is_some()
        );
    }
}
