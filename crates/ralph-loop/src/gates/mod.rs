//! The gates: commands that must succeed before a task is done, and what they said before anything was.
//!
//! A gate that was red before the first iteration cannot tell whether the work is good. It refuses only what it did not
//! refuse before: a failure that is new, or a turn that changed nothing.

mod kept_lines;
mod lines;
mod run;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use ralph_model::config::command_paths;
use ralph_model::gist_of;
use serde::{Deserialize, Serialize};

use crate::settle::Verdict;

pub use lines::failure_lines;
pub(crate) use run::{GateNews, GateRunner};

/// How to fix a gate that says nothing about the work.
const FIX: &str = "Fix `[verify] commands` in .ralph.toml, or install what the gate needs.";

/// What a gate said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateResult {
    /// The command.
    pub command: String,
    /// How it ended.
    pub end: GateEnd,
    /// What it printed, its beginning and its end where it was long; cleaned.
    pub output: String,
    /// How long it took.
    pub duration_ms: u64,
    /// The failures that all of its output shows, also where that is too long to be kept; see [`failure_lines`].
    #[serde(skip)]
    pub failures: BTreeSet<String>,
    /// The lines of all of its output that say why, as it printed them, or its last ones; of a gate that was red before,
    /// those that are new, if there are any. See [`WhyLines`](ralph_memory::capture::WhyLines).
    #[serde(default)]
    pub why: String,
}

/// How a gate ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum GateEnd {
    /// With success.
    Passed,
    /// With a word of its own that is no success: `exit code 1`.
    Failed(String),
    /// Before it could say anything about the work, in words: `signal 9`.
    Broken(String),
    /// It could not be started, in words: `exit code 127`, `check.sh does not exist`.
    NotStarted(String),
    /// It took too long.
    TimedOut,
    /// It was broken off.
    Stopped,
}

impl GateResult {
    /// Whether it lets the work pass.
    #[must_use]
    pub fn is_green(&self) -> bool {
        self.end == GateEnd::Passed
    }

    /// What its output says most of all, on a line; empty when it says nothing.
    #[must_use]
    pub fn gist(&self) -> String {
        gist_of(&self.why)
    }

    /// How it ended, in words: `exit code 101`.
    #[must_use]
    pub fn end_in_words(&self) -> &str {
        match &self.end {
            GateEnd::Passed => "passed",
            GateEnd::Failed(status) | GateEnd::Broken(status) | GateEnd::NotStarted(status) => status,
            GateEnd::TimedOut => "took too long",
            GateEnd::Stopped => "broken off",
        }
    }

    /// What is wrong with a gate that says nothing about the work, and how to fix it.
    fn complaint(&self, what: &str, fix: &str) -> String {
        let said = match self.gist() {
            words if words.is_empty() => String::new(),
            words => format!(": {}", words.trim_end_matches('.')),
        };
        format!("The gate `{}` {what}{said}. {fix}", self.command)
    }

    /// Those of these names that are files which the command names.
    fn names_of(&self, changed: &BTreeSet<String>) -> Vec<String> {
        let paths = command_paths(&self.command);
        let named = changed.iter().filter(|name| paths.contains(Path::new(name.as_str())));
        named.cloned().collect()
    }

    fn failure(&self) -> String {
        let how = match &self.end {
            GateEnd::Passed => "passed".to_owned(),
            GateEnd::Failed(status) | GateEnd::Broken(status) => format!("failed ({status})"),
            GateEnd::NotStarted(status) => format!("could not be started ({status})"),
            GateEnd::TimedOut => "took longer than `[verify] timeout` allows".to_owned(),
            GateEnd::Stopped => "was broken off".to_owned(),
        };
        let colon = if self.why.is_empty() { "." } else { ":\n" };
        format!("The gate `{}` {how}{colon}{}", self.command, self.why)
    }
}

/// Why these gates cannot judge any work, found before the first iteration: one timed out or was killed, so nobody can tell
/// whether it would fail through the work. None when all came to an end of their own; see [`not_started`] for the rest.
#[must_use]
pub fn unusable(results: &[GateResult]) -> Option<String> {
    results.iter().find_map(|result| {
        let what = match &result.end {
            GateEnd::Broken(status) => format!("was ended before it could finish ({status})"),
            GateEnd::TimedOut => "took longer than `[verify] timeout` allows".to_owned(),
            GateEnd::Passed | GateEnd::Failed(_) | GateEnd::NotStarted(_) | GateEnd::Stopped => return None,
        };
        Some(result.complaint(&what, FIX))
    })
}

/// The error for the first of these gates that could not be started, because of what the iteration has changed or not; none
/// when all were.
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

/// The gates that were red before the first iteration, each with how it ended and the failures that it showed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Baseline {
    red: BTreeMap<String, Red>,
}

/// What is known of a gate that was red.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Red {
    end: GateEnd,
    failures: BTreeSet<String>,
}

impl Red {
    /// What is worse now than it was, in a sentence; none when nothing is.
    fn worse(&self, result: &GateResult) -> Option<String> {
        let command = &result.command;
        let comparable = matches!(result.end, GateEnd::Passed | GateEnd::Failed(_)) || result.end == self.end;
        if !comparable {
            return Some(format!("The gate `{command}` was red before, but it did not end so."));
        }
        if let Some(new) = result.failures.difference(&self.failures).next() {
            return Some(format!(
                "The gate `{command}` was red before, and now shows a failure that is new: {new}"
            ));
        }
        if result.failures.is_empty() && !self.failures.is_empty() {
            return Some(format!(
                "The gate `{command}` was red before and said why, and now it fails without saying so."
            ));
        }
        None
    }
}

/// Whether a turn changed anything on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Changed {
    /// It did.
    Something,
    /// It did not.
    Nothing,
}

impl Baseline {
    /// What these results are before anything was done.
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

    /// The failures that a gate showed before, each in its normal form; none of one that was green.
    pub(crate) fn failures_of(&self, command: &str) -> BTreeSet<String> {
        self.red
            .get(command)
            .map(|red| red.failures.clone())
            .unwrap_or_default()
    }

    /// The gates that are red.
    #[must_use]
    pub fn red_gates(&self) -> Vec<String> {
        self.red.keys().cloned().collect()
    }

    /// What these results say of the work.
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

    /// The gate for which these results do not let the work pass; none when they do. What is left of a baseline after them
    /// says the same of them as the baseline itself.
    #[must_use]
    pub fn refusing<'a>(&self, results: &'a [GateResult], changed: Changed) -> Option<&'a GateResult> {
        results.iter().find(|result| self.refusal_of(result, changed).is_some())
    }

    /// Why these results do not let the work pass; none when they do.
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
                "Nothing was changed, and the gate is still red. {}",
                result.failure()
            ));
        }
        let worse = known.worse(result)?;
        Some(format!("{worse}\n{}", result.failure()))
    }

    /// What is left of it after these results: what is mended must stay so. Only a gate that ended by itself and shows
    /// nothing new tells what is mended: one that breaks down at its first step shows no old failure either.
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
    fn a_gate_that_was_green_refuses_with_the_lines_that_say_why() {
        let results = [
            result("fmt", GateEnd::Passed, ""),
            red("running 2 tests\ntest a ... FAILED\n"),
        ];
        let refusal = Baseline::default().refusal(&results, Changed::Something).unwrap();
        assert_eq!(refusal, "The gate `test` failed (exit code 101):\ntest a ... FAILED");
    }

    #[test]
    fn a_gate_that_was_red_refuses_only_what_is_new() {
        let baseline = Baseline::of(&[red("test a ... FAILED\ntest b ... FAILED at 10:4\n")]);
        assert_eq!(baseline.red_gates(), ["test"]);
        let check = |output: &str, changed| baseline.refusal(&[red(output)], changed).is_some();
        assert!(!check("test c ... ok\ntest b ... FAILED at 12:7\n", Changed::Something));
        assert!(check("test b ... FAILED at 12:7\n", Changed::Nothing));
        assert!(check("test c ... FAILED\n", Changed::Something));
    }

    #[test]
    fn what_is_mended_must_stay_mended() {
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
    fn a_broken_build_does_not_make_old_failures_new() {
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
    fn a_gate_that_ends_as_it_did_before_is_compared_by_what_it_shows() {
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
        // It comes to its end now, and has to from now on.
        let mended = baseline.shrunk(&[red("test a ... FAILED\n")]);
        assert!(
            mended
                .refusal(&[slow("test a ... FAILED\n")], Changed::Something)
                .is_some()
        );
    }
}
