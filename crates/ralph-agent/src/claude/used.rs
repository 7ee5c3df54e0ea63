//! What a turn uses, as its messages tell it on the way. The last record tells it better, and does not always come.

use std::collections::VecDeque;

use ralph_model::Usage;

use crate::newest::short;

/// How many messages may be going on at a time: one of the agent's own, and one of each of its subagents.
const GOING_ON: usize = 64;

/// What the messages of a turn have used so far.
#[derive(Debug, Default)]
pub(super) struct Used {
    sum: Usage,
    /// What was counted for the newest messages, by their ids: one may come in several records, and each of them tells
    /// what the whole message has used by then.
    newest: VecDeque<(String, Usage)>,
}

impl Used {
    /// Counts what a message has used; says what that makes together, if it makes a difference.
    pub(super) fn count(&mut self, id: Option<&str>, usage: Usage) -> Option<Usage> {
        let id = id.map(short);
        let known = id
            .as_ref()
            .and_then(|id| self.newest.iter_mut().rev().find(|(other, _)| other == id));
        let counted = match known {
            Some((_, counted)) => std::mem::replace(counted, usage),
            None => {
                self.newest.extend(id.map(|id| (id, usage)));
                if self.newest.len() > GOING_ON {
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

    /// What was counted. What it costs is not told on the way.
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
    fn a_message_counts_once_however_often_it_tells() {
        let mut used = Used::default();
        assert_eq!(used.count(Some("a"), tokens(100, 1)), Some(tokens(100, 1)));
        assert_eq!(used.count(Some("b"), tokens(10, 1)), Some(tokens(110, 2)));
        assert_eq!(used.count(Some("a"), tokens(100, 30)), Some(tokens(110, 31)));
        assert_eq!(used.count(Some("a"), tokens(100, 30)), None);
        assert_eq!(used.count(None, tokens(1, 1)), Some(tokens(111, 32)));
        assert_eq!(used.count(None, tokens(1, 1)), Some(tokens(112, 33)));
        assert_eq!(used.count(Some("c"), tokens(u64::MAX, 0)), Some(tokens(u64::MAX, 33)));
    }

    #[test]
    fn what_old_messages_used_stays_counted() {
        let mut used = Used::default();
        for number in 0..100_000 {
            used.count(Some(&number.to_string()), tokens(1, 2));
        }
        assert_eq!(used.sum(), tokens(100_000, 200_000));
        assert_eq!(used.newest.len(), GOING_ON);
    }
}
