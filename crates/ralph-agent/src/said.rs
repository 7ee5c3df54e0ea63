//! What an agent says in a turn, within a limit: it may talk for a gigabyte.

use ralph_model::beginning_in_words;

use crate::turn::TurnEvent;

/// How much of its beginning is kept, in bytes.
const HEAD: usize = 1 << 20;
/// How much of its end is kept at least.
const TAIL: usize = 4 << 20;
/// How much more may be there before some of it is dropped.
const SLACK: usize = 1 << 20;
/// The longest word that is kept whole where something is left out.
const MOST_TOKEN: usize = 4096;
/// How many messages are kept: of those, so many first ones, and so many are dropped at a time.
const MOST_MESSAGES: usize = 40_000;
const FIRST_MESSAGES: usize = 10_000;
const DROPPED_MESSAGES: usize = 10_000;

/// The messages of an agent, each of them a text by itself: what one leaves open does not reach into the next. Of one who
/// says too much, the beginning and the end are kept.
#[derive(Debug, Default)]
pub struct Said {
    messages: Vec<String>,
    /// How many messages came before the last tool call.
    before_last_tool: usize,
    /// The id of the message that the last text belongs to.
    last_message: Option<String>,
    /// Whether what comes next belongs to the last message.
    is_open: bool,
    bytes: usize,
    left_out: u64,
}

impl Said {
    /// It says something more, and whoever looks on is told that.
    pub fn tell(&mut self, message: Option<&str>, text: String) -> Vec<TurnEvent> {
        let begins = (!self.goes_on(message)).then_some(TurnEvent::MessageBegins);
        self.text(message, &text);
        begins.into_iter().chain([TurnEvent::Text(text)]).collect()
    }

    /// It says something more.
    pub fn text(&mut self, message: Option<&str>, text: &str) {
        let goes_on = self.goes_on(message);
        match self.messages.last_mut().filter(|_| goes_on) {
            Some(last) => last.push_str(text),
            None => self.messages.push(text.to_owned()),
        }
        self.last_message = message.map(str::to_owned);
        self.is_open = true;
        self.bytes += text.len();
        if self.bytes > HEAD + TAIL + SLACK {
            self.leave_out(self.bytes - HEAD - TAIL);
        }
        if self.messages.len() > MOST_MESSAGES {
            self.leave_out_messages();
        }
    }

    /// What has the same id, or no id and nothing in between, is one message.
    fn goes_on(&self, message: Option<&str>) -> bool {
        self.is_open && self.last_message.as_deref() == message
    }

    /// It uses a tool: what it said before is not its last word.
    pub fn tool(&mut self) {
        self.is_open = false;
        self.before_last_tool = self.messages.len();
    }

    /// What it says next is another message.
    pub fn next_message(&mut self) {
        self.is_open = false;
    }

    /// Its last message.
    #[must_use]
    pub fn last(&self) -> Option<&str> {
        self.messages.last().map(String::as_str)
    }

    /// What it said last was not its own: this, if it is the end of its last message.
    pub fn take_back(&mut self, text: &str) {
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

    /// Its messages, how many of them came before its last tool call, and how many bytes were left out.
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

    /// Drops whole messages that come after the first ones.
    fn leave_out_messages(&mut self) {
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

    /// Drops so many bytes that come after the beginning.
    fn leave_out(&mut self, bytes: usize) {
        let mut kept: Vec<String> = Vec::with_capacity(self.messages.len());
        let (mut seen, mut to_drop, mut before_last_tool) = (0, bytes, 0);
        for (place, message) in std::mem::take(&mut self.messages).into_iter().enumerate() {
            let head = beginning_in_words(&message, HEAD.saturating_sub(seen)).len();
            let dropped = match to_drop.min(message.len() - head) {
                0 => 0,
                bytes => end_in_words(&message, head + bytes) - head,
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
                // What is left of a message on both sides of a gap must not be read as one.
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

/// Where the first whole word behind this place begins, where something was left out before it: half of a token is one that
/// nobody recognises.
fn end_in_words(text: &str, from: usize) -> usize {
    let from = text.ceil_char_boundary(from);
    let rest = text.get(from..).unwrap_or_default();
    let near = rest.get(..rest.floor_char_boundary(MOST_TOKEN)).unwrap_or_default();
    match near.find(char::is_whitespace) {
        Some(gap) => from + gap,
        None => from,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_one_message_are_one_and_tools_stand_between() {
        let mut said = Said::default();
        said.text(Some("a"), "one ");
        said.text(Some("a"), "two");
        said.text(Some("b"), "three");
        said.tool();
        said.text(Some("b"), "four");
        said.text(None, "five");
        said.text(None, " six");
        said.next_message();
        said.text(None, "seven");
        let messages = ["one two", "three", "four", "five six", "seven"].map(String::from);
        assert_eq!(said.take(), (messages.to_vec(), 2, 0));
    }

    #[test]
    fn of_too_much_the_beginning_and_the_end_are_kept() {
        let mut said = Said::default();
        said.text(None, "<journal>first</journal>");
        said.tool();
        let chunk = "ä".repeat(50_000);
        for _ in 0..200 {
            said.text(Some("long"), &chunk);
        }
        said.tool();
        said.text(None, "<task-done>t-1</task-done>");
        let (messages, before_last_tool, left_out) = said.take();
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
    fn many_small_messages_are_bounded_too() {
        let mut said = Said::default();
        for number in 0..100_000 {
            said.tool();
            said.text(Some(&number.to_string()), "0123456789");
        }
        let (messages, before_last_tool, left_out) = said.take();
        assert_eq!(messages.len() as u64 * 10 + left_out, 1_000_000);
        assert!(messages.len() <= MOST_MESSAGES, "{}", messages.len());
        assert_eq!(before_last_tool, messages.len() - 1);
    }
}
