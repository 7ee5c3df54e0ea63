//! The result table, with a row per agent and a column per case.

use std::collections::BTreeMap;
use std::fmt;

use super::case::Case;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Passed,
    Failed,
    Skipped,
}

impl Outcome {
    fn word(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "FAILED",
            Self::Skipped => "skipped",
        }
    }
}

#[derive(Debug)]
pub(super) struct Table {
    cases: Vec<Case>,
    agents: Vec<&'static str>,
    results: BTreeMap<(&'static str, Case), Outcome>,
}

impl Table {
    pub(super) fn new(cases: &[Case]) -> Self {
        Self {
            cases: cases.to_vec(),
            agents: Vec::new(),
            results: BTreeMap::new(),
        }
    }

    /// Marks all cases of an agent as skipped.
    pub(super) fn skip(&mut self, agent: &'static str) {
        for case in self.cases.clone() {
            self.put(agent, case, Outcome::Skipped);
        }
    }

    pub(super) fn put(&mut self, agent: &'static str, case: Case, outcome: Outcome) {
        if !self.agents.contains(&agent) {
            self.agents.push(agent);
        }
        self.results.insert((agent, case), outcome);
    }

    pub(super) fn failed(&self) -> usize {
        self.count(Outcome::Failed)
    }

    fn count(&self, outcome: Outcome) -> usize {
        self.results.values().filter(|result| **result == outcome).count()
    }

    /// The summary, in the form of a test runner.
    pub(super) fn closing_line(&self) -> String {
        let [passed, failed, skipped] =
            [Outcome::Passed, Outcome::Failed, Outcome::Skipped].map(|outcome| self.count(outcome));
        format!("agents: {passed} passed, {failed} failed, {skipped} skipped")
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:12}", "")?;
        for case in &self.cases {
            write!(f, " {:>8}", case.name())?;
        }
        for agent in &self.agents {
            write!(f, "\n{agent:12}")?;
            for case in &self.cases {
                let result = self.results.get(&(*agent, *case));
                write!(f, " {:>8}", result.map_or("", |outcome| outcome.word()))?;
            }
        }
        writeln!(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_are_rows_and_cases_are_columns() {
        let mut table = Table::new(&[Case::Works, Case::Hang]);
        table.put("claude", Case::Works, Outcome::Passed);
        table.put("claude", Case::Hang, Outcome::Failed);
        table.skip("qwen");
        let expected = "                works     hang\n\
                        claude         passed   FAILED\n\
                        qwen          skipped  skipped\n";
        assert_eq!(table.to_string(), expected);
        assert_eq!(table.closing_line(), "agents: 1 passed, 1 failed, 2 skipped");
    }
}
