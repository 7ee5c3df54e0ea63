//! Collects the messages of a turn up to a size limit, because an agent may print gigabytes.

use ralph_model::truncate_at_word;

use crate::turn::TurnEvent;

const HEAD: usize = 1 << 20;
/// The minimum size of the kept tail.
const TAIL: usize = 4 << 20;
/// How far the limit may be exceeded before text is dropped.
const SLACK: usize = 1 << 20;
/// The longest word that is kept whole next to a gap.
const MAX_WORD: usize = 4096;
/// The limit for kept messages, how many first ones are always kept, and how many are dropped at a time.
const MAX_MESSAGES: usize = 40_000;
const FIRST_MESSAGES: usize = 10_000;
const DROPPED_MESSAGES: usize = 10_000;

/// The separate messages of an agent; an unclosed tag in one does not affect the next. If the total is too long, the
/// head and tail are kept.
#[derive(Debug, Default)]
pub struct MessageLog {
    messages: Vec<String>,
    before_last_tool: usize,
    /// The id of the last message.
    last_message: Option<String>,
    /// Whether the next text may continue the last message.
    is_open: bool,
    bytes: usize,
    left_out: u64,
}

impl MessageLog {
    /// Appends text and returns the events for it.
    pub fn append(&mut self, message: Option<&str>, text: String) -> Vec<TurnEvent> {
        let begins = (!self.continues_message(message)).then_some(TurnEvent::MessageBegins);
        self.text(message, &text);
        begins.into_iter().chain([TurnEvent::Text(text)]).collect()
    }

    pub fn text(&mut self, message: Option<&str>, text: &str) {
        let continues_message = self.continues_message(message);
        match self.messages.last_mut().filter(|_| continues_message) {
            Some(last) => last.push_str(text),
            None => self.messages.push(text.to_owned()),
        }
        self.last_message = message.map(str::to_owned);
        self.is_open = true;
        self.bytes += text.len();
        if self.bytes > HEAD + TAIL + SLACK {
            self.drop_bytes(self.bytes - HEAD - TAIL);
        }
        if self.messages.len() > MAX_MESSAGES {
            self.drop_messages();
        }
    }

    /// Text with the same id, or without an id and with nothing in between, continues the message.
    fn continues_message(&self, message: Option<&str>) -> bool {
        self.is_open && self.last_message.as_deref() == message
    }

    /// Records a tool call: earlier messages are not final.
    pub fn tool(&mut self) {
        self.is_open = false;
        self.before_last_tool = self.messages.len();
    }

    /// Ends the current message.
    pub fn next_message(&mut self) {
        self.is_open = false;
    }

    #[must_use]
    pub fn last(&self) -> Option<&str> {
        self.messages.last().map(String::as_str)
    }

    /// Removes a text that was not the agent's own from the end of its last message.
    pub fn retract(&mut self, text: &str) {
        let Some(last) = self.messages.last_mut().filter(|last| last.ends_with(text)) else {
            return;
        };
        last.truncate(last.len() - text.len());
        if last.trim().is_empty() {
            self.messages.pop();
            self.before_last_tool = self.before_last_tool.min(self.messages.len());
        }
        self.is_open = false;
    }

    /// Returns the messages, the number before the last tool call, and the number of dropped bytes.
    #[must_use]
    pub fn take(&mut self) -> (Vec<String>, usize, u64) {
        let Self {
            messages,
            before_last_tool,
            left_out,
            ..
        } = std::mem::take(self);
        (messages, before_last_tool, left_out)
    }

    /// Drops whole messages after the first ones.
    fn drop_messages(&mut self) {
        let end = FIRST_MESSAGES + DROPPED_MESSAGES;
        let dropped: usize = self
            .messages
            .drain(FIRST_MESSAGES..end)
            .map(|message| message.len())
            .sum();
        self.bytes -= dropped;
        self.left_out += dropped as u64;
        self.before_last_tool -= self
            .before_last_tool
            .saturating_sub(FIRST_MESSAGES)
            .min(DROPPED_MESSAGES);
    }

    /// Drops this many bytes after the head.
    fn drop_bytes(&mut self, bytes: usize) {
        let mut kept: Vec<String> = Vec::with_capacity(self.messages.len());
        let (mut seen, mut to_drop, mut before_last_tool) = (0, bytes, 0);
        for (place, message) in std::mem::take(&mut self.messages).into_iter().enumerate() {
            let head = truncate_at_word(&message, HEAD.saturating_sub(seen)).len();
            let dropped = match to_drop.min(message.len() - head) {
                0 => 0,
                bytes => next_word_start(&message, head + bytes) - head,
            };
            seen += message.len();
            to_drop = to_drop.saturating_sub(dropped);
            let parts = if dropped == 0 {
                vec![message]
            } else {
                self.left_out += dropped as u64;
                self.bytes -= dropped;
                let (beginning, rest) = message.split_at(head);
                let end = rest.split_at(dropped).1;
                // The two ends of a message around a gap must not be read as one.
                let parts = [beginning, end].into_iter().filter(|part| !part.is_empty());
                parts.map(str::to_owned).collect()
            };
            if place < self.before_last_tool {
                before_last_tool += parts.len();
            }
            kept.extend(parts);
        }
        self.messages = kept;
        self.before_last_tool = before_last_tool;
    }
}

/// The start of the first whole word after a gap, because part of a token cannot be recognized as a secret.
fn next_word_start(text: &str, from: usize) -> usize {
    let from = text.ceil_char_boundary(from);
    let rest = text.get(from..).unwrap_or_default();
    let near = rest.get(..rest.floor_char_boundary(MAX_WORD)).unwrap_or_default();
    match near.find(char::is_whitespace) {
        Some(gap) => from + gap,
        None => from,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_joined_per_message_and_split_by_tools() {
        let mut log = MessageLog::default();
        log.text(Some("a"), "one ");
        log.text(Some("a"), "two");
        log.text(Some("b"), "three");
        log.tool();
        log.text(Some("b"), "four");
        log.text(None, "five");
        log.text(None, " six");
        log.next_message();
        log.text(None, "seven");
        let messages = ["one two", "three", "four", "five six", "seven"].map(String::from);
        assert_eq!(log.take(), (messages.to_vec(), 2, 0));
    }

    #[test]
    fn head_and_tail_of_long_output_are_kept() {
        let mut log = MessageLog::default();
        log.text(None, "<journal>first</journal>");
        log.tool();
        let chunk = "ä".repeat(50_000);
        for _ in 0..200 {
            log.text(Some("long"), &chunk);
        }
        log.tool();
        log.text(None, "<task-done>t-1</task-done>");
        let (messages, before_last_tool, left_out) = log.take();
        let (first, last) = (messages.first().unwrap(), messages.last().unwrap());
        assert_eq!(first, "<journal>first</journal>");
        assert_eq!(last, "<task-done>t-1</task-done>");
        assert_eq!((messages.len(), before_last_tool), (4, 3));
        let kept: usize = messages.iter().map(String::len).sum();
        assert!((HEAD + TAIL..=HEAD + TAIL + SLACK).contains(&kept), "{kept}");
        assert_eq!(kept as u64 + left_out, 20_000_000 + 50);
        assert!(messages[1].len() <= HEAD && messages[1].len() > HEAD - 100);
    }

    #[test]
    fn many_small_messages_are_bounded() {
        let mut log = MessageLog::default();
        for number in 0..100_000 {
            log.tool();
            log.text(Some(&number.to_string()), "0123456789");
        }
        let (messages, before_last_tool, left_out) = log.take();
        assert_eq!(messages.len() as u64 * 10 + left_out, 1_000_000);
        assert!(messages.len() <= MAX_MESSAGES, "{}", messages.len());
        assert_eq!(before_last_tool, messages.len() - 1);
    }
}
