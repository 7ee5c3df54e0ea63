//! A line-based conversation with the user at the terminal, or with a scripted one in tests.

use super::{Answer, Dialogue};

/// The longest line in bytes that a terminal delivers; longer lines are cut.
pub(crate) const LONGEST_LINE: usize = 4095;

pub(crate) trait Conversation {
    fn say(&mut self, line: &str);
    fn ask(&mut self, question: &str);
    /// Reads a line after a prompt.
    fn answer(&mut self, after: &str) -> Answer;
    /// Returns true if more input is available than could have been typed, so it was pasted.
    fn has_more(&mut self) -> bool;
    /// The columns of a line.
    fn columns(&self) -> usize;
}

/// The user at the terminal.
pub(crate) struct TerminalConversation<'a> {
    pub(crate) dialogue: &'a mut Dialogue,
    pub(crate) is_interrupted: &'a dyn Fn() -> bool,
}

impl Conversation for TerminalConversation<'_> {
    fn say(&mut self, line: &str) {
        self.dialogue.say(line);
    }

    fn ask(&mut self, question: &str) {
        self.dialogue.say_strong(question);
    }

    fn answer(&mut self, after: &str) -> Answer {
        self.dialogue.prompt(after);
        let answer = self.dialogue.read_line(self.is_interrupted);
        if !matches!(answer, Answer::Line(_)) {
            // Ctrl+C and Ctrl+D leave the cursor on the typed line.
            self.dialogue.say("");
        }
        answer
    }

    fn has_more(&mut self) -> bool {
        self.dialogue.has_more()
    }

    fn columns(&self) -> usize {
        self.dialogue.width()
    }
}

/// How a multi-line text ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextEnd {
    Complete,
    Interrupted,
}

/// Reads lines up to an empty one. Pasted text may contain empty lines. Lines finished before an interruption are kept,
/// because the user meant them.
pub(crate) fn read_lines(conversation: &mut dyn Conversation) -> (String, TextEnd) {
    let mut text = String::new();
    loop {
        match conversation.answer("> ") {
            Answer::Line(line) if line.trim().is_empty() && (text.is_empty() || !conversation.has_more()) => break,
            Answer::Line(line) => {
                if line.len() >= LONGEST_LINE {
                    conversation.say(&format!(
                        "The terminal cut this line after {LONGEST_LINE} bytes. Enter the rest on another line."
                    ));
                }
                text.push_str(&line);
                text.push('\n');
            }
            // Ctrl+D without any text means that the user has nothing to say.
            Answer::End if text.is_empty() => return (text, TextEnd::Interrupted),
            Answer::End => break,
            Answer::Interrupted => return (text, TextEnd::Interrupted),
        }
    }
    (text, TextEnd::Complete)
}
