//! Somebody who is spoken with in lines: the person at the terminal, or the one that a test makes up.

use super::{Dialogue, Heard};

/// The longest line, in bytes, that a terminal hands over; what is longer lacks its end.
pub(crate) const LONGEST_LINE: usize = 4095;

/// Somebody to speak with.
pub(crate) trait Person {
    fn say(&mut self, line: &str);
    fn ask(&mut self, question: &str);
    /// What they type after a few words on the same line.
    fn answer(&mut self, after: &str) -> Heard;
    /// Whether they have typed more than one can type: then it was pasted.
    fn has_more(&mut self) -> bool;
    /// How many columns there are for a line.
    fn columns(&self) -> usize;
}

/// The one at the terminal.
pub(crate) struct AtDialogue<'a> {
    pub(crate) dialogue: &'a mut Dialogue,
    pub(crate) is_broken_off: &'a dyn Fn() -> bool,
}

impl Person for AtDialogue<'_> {
    fn say(&mut self, line: &str) {
        self.dialogue.say(line);
    }

    fn ask(&mut self, question: &str) {
        self.dialogue.say_aloud(question);
    }

    fn answer(&mut self, after: &str) -> Heard {
        self.dialogue.prompt(after);
        let heard = self.dialogue.hear(self.is_broken_off);
        if !matches!(heard, Heard::Line(_)) {
            // Ctrl+C and Ctrl+D leave the cursor behind what was typed.
            self.dialogue.say("");
        }
        heard
    }

    fn has_more(&mut self) -> bool {
        self.dialogue.has_more()
    }

    fn columns(&self) -> usize {
        self.dialogue.width()
    }
}

/// How a text came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Said,
    BrokenOff,
}

/// The lines up to an empty one. What was pasted may hold empty ones. Lines that were finished before it was broken off are
/// kept: whoever wrote them meant them.
pub(crate) fn lines_of(person: &mut dyn Person) -> (String, Ending) {
    let mut text = String::new();
    loop {
        match person.answer("> ") {
            Heard::Line(line) if line.trim().is_empty() && (text.is_empty() || !person.has_more()) => break,
            Heard::Line(line) => {
                if line.len() >= LONGEST_LINE {
                    person.say(&format!(
                        "The terminal hands over {LONGEST_LINE} bytes of a line. Say on another line what is missing."
                    ));
                }
                text.push_str(&line);
                text.push('\n');
            }
            // Whoever ends without a word has nothing to say, and nothing more to be asked.
            Heard::End if text.is_empty() => return (text, Ending::BrokenOff),
            Heard::End => break,
            Heard::BrokenOff => return (text, Ending::BrokenOff),
        }
    }
    (text, Ending::Said)
}
