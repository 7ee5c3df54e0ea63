//! Sums up token usage during a turn. The last record is more accurate but may be missing.

use std::collections::VecDeque;

use ralph_model::Usage;

use crate::newest::short;

/// Maximum number of concurrent messages: one of the agent and one per subagent.
const MAX_CONCURRENT: usize = 64;

#[derive(Debug, Default)]
pub(super) struct UsageCounter {
    sum: Usage,
    /// The counted usage of the newest messages by id. A message may be split into several records, each with its total
    /// so far.
    newest: VecDeque<(String, Usage)>,
}

impl UsageCounter {
    /// Counts the usage of a message; returns the new total if it changed.
    pub(super) fn count(&mut self, id: Option<&str>, usage: Usage) -> Option<Usage> {
        let id = id.map(short);
        let known = id
            .as_ref()
            .and_then(|id| self.newest.iter_mut().rev().find(|(other, _)| other == id));
        let counted = match known {
            Some((_, counted)) => std::mem::replace(counted, usage),
            None => {
                self.newest.extend(id.map(|id| (id, usage)));
                if self.newest.len() > MAX_CONCURRENT {
                    self.newest.pop_front();
                }
                Usage::default()
            }
        };
        let exchanged = |sum: u64, old: u64, new: u64| sum.saturating_sub(old).saturating_add(new);
        let before = self.sum;
        self.sum.input_tokens = exchanged(before.input_tokens, counted.input_tokens, usage.input_tokens);
        self.sum.output_tokens = exchanged(before.output_tokens, counted.output_tokens, usage.output_tokens);
        (self.sum != before).then_some(self.sum)
    }

    /// The total, without cost, which is not reported during a turn.
    pub(super) fn sum(&self) -> Usage {
        self.sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(input_tokens: u64, output_tokens: u64) -> Usage {
        Usage {
            cost_usd: 0.0,
            input_tokens,
            output_tokens,
        }
    }

    #[test]
    fn message_usage_is_counted_once() {
        let mut used = UsageCounter::default();
        assert_eq!(used.count(Some("a"), tokens(100, 1)), Some(tokens(100, 1)));
        assert_eq!(used.count(Some("b"), tokens(10, 1)), Some(tokens(110, 2)));
        assert_eq!(used.count(Some("a"), tokens(100, 30)), Some(tokens(110, 31)));
        assert_eq!(used.count(Some("a"), tokens(100, 30)), None);
        assert_eq!(used.count(None, tokens(1, 1)), Some(tokens(111, 32)));
        assert_eq!(used.count(None, tokens(1, 1)), Some(tokens(112, 33)));
        assert_eq!(used.count(Some("c"), tokens(u64::MAX, 0)), Some(tokens(u64::MAX, 33)));
    }

    #[test]
    fn usage_of_old_messages_stays_counted() {
        let mut used = UsageCounter::default();
        for number in 0..100_000 {
            used.count(Some(&number.to_string()), tokens(1, 2));
        }
        assert_eq!(used.sum(), tokens(100_000, 200_000));
        assert_eq!(used.newest.len(), MAX_CONCURRENT);
    }
}
