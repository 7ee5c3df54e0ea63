//! Records what `ralph memory` has acknowledged, and checks it.

use std::collections::BTreeMap;

use serde_json::Value;

/// The expected state of a memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ExpectedState {
    /// In the file, with this content.
    Content(String),
    /// Not in the file.
    Deleted,
}

/// A memory in the ledger.
#[derive(Debug, Clone)]
struct Account {
    /// The last acknowledged state.
    expected: ExpectedState,
    /// The result of a change that was started but not acknowledged: it may have happened or not.
    unacknowledged: Option<ExpectedState>,
    /// The changes that must be in the log.
    logged_changes: Vec<&'static str>,
}

/// All memories with acknowledged changes.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    accounts: BTreeMap<String, Account>,
    changes: usize,
    late: usize,
}

impl Ledger {
    /// Records an acknowledged change; `word` is its name in the log.
    pub(super) fn acknowledge(&mut self, id: &str, expected: ExpectedState, word: &'static str) {
        self.changes += 1;
        let account = self.accounts.entry(id.to_owned()).or_insert_with(|| Account {
            expected: expected.clone(),
            unacknowledged: None,
            logged_changes: Vec::new(),
        });
        account.expected = expected;
        account.logged_changes.push(word);
    }

    /// Records a change that was started but not acknowledged in time: it may have happened or not.
    pub(super) fn begin(&mut self, id: &str, expected: ExpectedState) {
        if let Some(account) = self.accounts.get_mut(id) {
            account.unacknowledged = Some(expected);
        }
    }

    /// Counts an acknowledgement that arrived after the cut began.
    pub(super) fn count_late(&mut self) {
        self.late += 1;
    }

    /// Merges another ledger; the two have no memories in common.
    pub(super) fn merge(&mut self, other: Self) {
        self.accounts.extend(other.accounts);
        self.changes += other.changes;
        self.late += other.late;
    }

    pub(super) fn changes(&self) -> usize {
        self.changes
    }

    pub(super) fn late(&self) -> usize {
        self.late
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = &str> {
        self.accounts.keys().map(String::as_str)
    }

    /// The ids of memories that are in the file.
    pub(super) fn present_ids(&self) -> Vec<&str> {
        let is_present =
            |account: &Account| account.unacknowledged.is_none() && account.expected != ExpectedState::Deleted;
        let accounts = self.accounts.iter().filter(|(_, account)| is_present(account));
        accounts.map(|(id, _)| id.as_str()).collect()
    }

    /// Inconsistencies, one line per memory, given all memories of the file and all versions in the log.
    pub(super) fn problems(&self, memories: &[Value], versions: &[Value]) -> Vec<String> {
        let of = |(id, account): (&String, &Account)| {
            let problems = account.problems(
                &memories
                    .iter()
                    .filter(|memory| memory["id"] == **id)
                    .collect::<Vec<_>>(),
                &versions
                    .iter()
                    .filter(|version| version["memory"]["id"] == **id)
                    .collect::<Vec<_>>(),
            );
            (!problems.is_empty()).then(|| format!("{id}: {}", problems.join("; ")))
        };
        self.accounts.iter().filter_map(of).collect()
    }
}

impl Account {
    fn problems(&self, memories: &[&Value], versions: &[&Value]) -> Vec<String> {
        let mut problems = Vec::new();
        let now = match memories {
            [] => ExpectedState::Deleted,
            [memory, ..] => ExpectedState::Content(memory["content"].as_str().unwrap_or_default().to_owned()),
        };
        if memories.len() > 1 {
            problems.push("it is in the file more than once".to_owned());
        }
        if now != self.expected && Some(&now) != self.unacknowledged.as_ref() {
            problems.push(format!(
                "{:?} was acknowledged, and the file has {now:?}",
                self.expected
            ));
        }
        let words: Vec<&str> = versions
            .iter()
            .filter_map(|version| version["change"].as_str())
            .collect();
        if words.is_empty() {
            problems.push("it is not in the log".to_owned());
        } else if self
            .logged_changes
            .iter()
            .any(|word| count(&words, word) < count(&self.logged_changes, word))
        {
            problems.push(format!(
                "{:?} was acknowledged, and the log has {words:?}",
                self.logged_changes
            ));
        }
        problems
    }
}

fn count(words: &[&str], word: &str) -> usize {
    words.iter().filter(|other| **other == word).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn ledger() -> Ledger {
        let mut ledger = Ledger::default();
        let content = |text: &str| ExpectedState::Content(text.to_owned());
        ledger.acknowledge("a", content("one"), "added");
        ledger.acknowledge("a", content("two"), "edited");
        ledger.acknowledge("b", content("old"), "added");
        ledger.acknowledge("b", ExpectedState::Deleted, "deleted");
        ledger.acknowledge("c", content("late"), "added");
        ledger.begin("c", ExpectedState::Deleted);
        ledger
    }

    fn versions(rows: &[(&str, &str)]) -> Vec<Value> {
        let row = |(id, change): &(&str, &str)| json!({"change": change, "memory": {"id": id}});
        rows.iter().map(row).collect()
    }

    #[test]
    fn consistent_state_has_no_problems() {
        let ledger = ledger();
        let log = versions(&[
            ("a", "added"),
            ("a", "edited"),
            ("b", "added"),
            ("b", "deleted"),
            ("c", "added"),
        ]);
        let a = json!({"id": "a", "content": "two"});
        let c = json!({"id": "c", "content": "late"});
        assert_eq!(ledger.problems(&[a.clone(), c], &log), [""; 0]);
        assert_eq!(ledger.problems(&[a], &log), [""; 0]);
        assert_eq!(ledger.changes(), 5);
        assert_eq!(ledger.present_ids(), ["a"]);
    }

    #[test]
    fn inconsistencies_are_reported() {
        let log = versions(&[("a", "added"), ("b", "added"), ("b", "deleted")]);
        let memories = [
            json!({"id": "a", "content": "one"}),
            json!({"id": "b", "content": "old"}),
        ];
        let expected = [
            "a: Content(\"two\") was acknowledged, and the file has Content(\"one\"); \
             [\"added\", \"edited\"] was acknowledged, and the log has [\"added\"]",
            "b: Deleted was acknowledged, and the file has Content(\"old\")",
            "c: it is not in the log",
        ];
        assert_eq!(ledger().problems(&memories, &log), expected);
    }
}
