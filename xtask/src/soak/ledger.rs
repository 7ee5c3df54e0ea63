//! What `ralph memory` has acknowledged, and whether it holds.

use std::collections::BTreeMap;

use serde_json::Value;

/// What must be true of a memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Standing {
    /// It is in the file and says this.
    Says(String),
    /// It is not in the file.
    Deleted,
}

/// A memory in the ledger.
#[derive(Debug, Clone)]
struct Account {
    /// As it was last acknowledged.
    standing: Standing,
    /// As a change wanted it that was begun and not acknowledged: it may have happened or not.
    begun: Option<Standing>,
    /// Which changes the log must name.
    logged: Vec<&'static str>,
}

/// All memories of a project that something was acknowledged of.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    accounts: BTreeMap<String, Account>,
    changes: usize,
    late: usize,
}

impl Ledger {
    /// Enters an acknowledged change; `word` is the log's for it.
    pub(super) fn acknowledge(&mut self, id: &str, standing: Standing, word: &'static str) {
        self.changes += 1;
        let account = self.accounts.entry(id.to_owned()).or_insert_with(|| Account {
            standing: standing.clone(),
            begun: None,
            logged: Vec::new(),
        });
        account.standing = standing;
        account.logged.push(word);
    }

    /// Enters a change that was begun and not acknowledged in time: it may have happened or not.
    pub(super) fn begin(&mut self, id: &str, standing: Standing) {
        if let Some(account) = self.accounts.get_mut(id) {
            account.begun = Some(standing);
        }
    }

    /// Counts an acknowledgement that came too late to count.
    pub(super) fn count_late(&mut self) {
        self.late += 1;
    }

    /// Takes another ledger's accounts in; the two have no memory in common.
    pub(super) fn merge(&mut self, other: Self) {
        self.accounts.extend(other.accounts);
        self.changes += other.changes;
        self.late += other.late;
    }

    /// How many changes were acknowledged.
    pub(super) fn changes(&self) -> usize {
        self.changes
    }

    /// How many acknowledgements came too late to count.
    pub(super) fn late(&self) -> usize {
        self.late
    }

    /// The ids.
    pub(super) fn ids(&self) -> impl Iterator<Item = &str> {
        self.accounts.keys().map(String::as_str)
    }

    /// The ids of those that stand in the file.
    pub(super) fn standing(&self) -> Vec<&str> {
        let stands = |account: &Account| account.begun.is_none() && account.standing != Standing::Deleted;
        let accounts = self.accounts.iter().filter(|(_, account)| stands(account));
        accounts.map(|(id, _)| id.as_str()).collect()
    }

    /// The memories of which something does not hold, one line each, given all memories of the file and all versions of
    /// the log as the command prints them.
    pub(super) fn broken(&self, memories: &[Value], versions: &[Value]) -> Vec<String> {
        let of = |(id, account): (&String, &Account)| {
            let problems = account.broken(
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
    fn broken(&self, memories: &[&Value], versions: &[&Value]) -> Vec<String> {
        let mut problems = Vec::new();
        let now = match memories {
            [] => Standing::Deleted,
            [memory, ..] => Standing::Says(memory["content"].as_str().unwrap_or_default().to_owned()),
        };
        if memories.len() > 1 {
            problems.push("it stands in the file more than once".to_owned());
        }
        if now != self.standing && Some(&now) != self.begun.as_ref() {
            problems.push(format!(
                "{:?} was acknowledged, and the file has {now:?}",
                self.standing
            ));
        }
        let words: Vec<&str> = versions
            .iter()
            .filter_map(|version| version["change"].as_str())
            .collect();
        if words.is_empty() {
            problems.push("the log does not know it".to_owned());
        } else if self
            .logged
            .iter()
            .any(|word| count(&words, word) < count(&self.logged, word))
        {
            problems.push(format!("{:?} was acknowledged, and the log has {words:?}", self.logged));
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
        let says = |text: &str| Standing::Says(text.to_owned());
        ledger.acknowledge("a", says("one"), "added");
        ledger.acknowledge("a", says("two"), "edited");
        ledger.acknowledge("b", says("gone"), "added");
        ledger.acknowledge("b", Standing::Deleted, "deleted");
        ledger.acknowledge("c", says("late"), "added");
        ledger.begin("c", Standing::Deleted);
        ledger
    }

    fn versions(rows: &[(&str, &str)]) -> Vec<Value> {
        let row = |(id, change): &(&str, &str)| json!({"change": change, "memory": {"id": id}});
        rows.iter().map(row).collect()
    }

    #[test]
    fn what_holds_is_not_broken() {
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
        assert_eq!(ledger.broken(&[a.clone(), c], &log), [""; 0]);
        assert_eq!(ledger.broken(&[a], &log), [""; 0]);
        assert_eq!(ledger.changes(), 5);
        assert_eq!(ledger.standing(), ["a"]);
    }

    #[test]
    fn what_does_not_hold_is_told() {
        let log = versions(&[("a", "added"), ("b", "added"), ("b", "deleted")]);
        let memories = [
            json!({"id": "a", "content": "one"}),
            json!({"id": "b", "content": "gone"}),
        ];
        let expected = [
            "a: Says(\"two\") was acknowledged, and the file has Says(\"one\"); \
             [\"added\", \"edited\"] was acknowledged, and the log has [\"added\"]",
            "b: Deleted was acknowledged, and the file has Says(\"gone\")",
            "c: the log does not know it",
        ];
        assert_eq!(ledger().broken(&memories, &log), expected);
    }
}
