//! Asks the person at the terminal what an agent should do differently whose turn they have stopped.

use ralph_loop::{Asked, GUIDANCE_CHARACTERS, Guide, Guided, WhatNext};
use ralph_memory::capture::{Refusal, SecretPolicy, accept};
use ralph_model::{count, preview};
use ralph_process::StopHandle;

use crate::ui::stage::{self, Turn};
use crate::ui::{AtDialogue, Dialogue, Ending, Heard, Person, lines_of};

/// How many names of files are shown.
const MOST_FILES: usize = 5;

/// Asks in lines, one after the other.
pub(super) struct AtTerminal {
    dialogue: Dialogue,
}

impl AtTerminal {
    pub(super) fn new(dialogue: Dialogue) -> Self {
        Self { dialogue }
    }
}

impl Guide for AtTerminal {
    fn ask(&self, about: &Asked, given_up: &StopHandle) -> Guided {
        let mut dialogue = self.dialogue.clone();
        let nothing_said = Guided {
            text: None,
            next: WhatNext::Stop,
        };
        if !dialogue.is_in_front() {
            // To read would hold this program up until somebody brings it to the front.
            dialogue.say("Another program has the terminal, so nobody is asked, and the run ends.");
            return nothing_said;
        }
        if stage::give_to_person(&|| given_up.is_wanted()) == Turn::Never {
            return nothing_said;
        }
        dialogue.forget_what_was_typed();
        converse(
            &mut AtDialogue {
                dialogue: &mut dialogue,
                is_broken_off: &|| given_up.is_wanted(),
            },
            about,
        )
    }
}

fn converse(person: &mut dyn Person, about: &Asked) -> Guided {
    introduce(person, about);
    let (text, ending) = text_of(person);
    if has_secret(&text) {
        // It would stand in every later prompt of the task.
        person.say("What looks like a secret is masked.");
    }
    let next = match ending {
        Ending::BrokenOff => WhatNext::Stop,
        Ending::Said => goes_on(person),
    };
    Guided {
        text: (!text.trim().is_empty()).then_some(text),
        next,
    }
}

fn has_secret(text: &str) -> bool {
    accept(text, SecretPolicy::Refuse).is_err_and(|refusal| matches!(refusal, Refusal::Secret { .. }))
}

/// Says what was stopped, and asks.
fn introduce(person: &mut dyn Person, about: &Asked) {
    let columns = person.columns();
    let Asked {
        iteration, task, title, ..
    } = about;
    person.say("");
    person.say(&preview(
        &format!("Iteration {iteration} is stopped: {task} {title}"),
        columns,
    ));
    let changed = match about.files.as_slice() {
        [] => "It has changed no files.".to_owned(),
        files => {
            let names: Vec<&str> = files.iter().map(String::as_str).take(MOST_FILES).collect();
            let more = files.len().saturating_sub(names.len());
            let more = if more == 0 {
                String::new()
            } else {
                format!(" and {more} more")
            };
            format!(
                "It has changed {}: {}{more}",
                count(files.len(), "file", "files"),
                names.join(", ")
            )
        }
    };
    person.say(&preview(&changed, columns));
    person.ask("What should it do differently?");
    // Short, for narrow screens.
    person.say("Several lines; an empty one ends them.");
    person.say("No line at all leaves the task as it is.");
    person.say("Ctrl+C stops the run.");
}

/// The lines up to an empty one; those that were finished before it was broken off are kept.
fn text_of(person: &mut dyn Person) -> (String, Ending) {
    let (text, ending) = lines_of(person);
    let characters = text.chars().count();
    if ending == Ending::Said && characters > GUIDANCE_CHARACTERS {
        person.say(&format!(
            "That is {characters} characters; the first {GUIDANCE_CHARACTERS} are kept. Put the rest into a file and name it."
        ));
    }
    (text, ending)
}

fn goes_on(person: &mut dyn Person) -> WhatNext {
    loop {
        let Heard::Line(answer) = person.answer("Go on with the task? [Y/n] ") else {
            return WhatNext::Stop;
        };
        match answer.trim().to_lowercase().as_str() {
            "" | "y" | "yes" => return WhatNext::GoOn,
            "n" | "no" => return WhatNext::Stop,
            _ => person.say("Answer y (yes) or n (no)."),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use insta::assert_snapshot;
    use ralph_model::TaskId;

    /// A person who types this, and what they see.
    struct Scripted {
        types: Vec<Heard>,
        pasted: bool,
        sees: String,
        columns: usize,
    }

    impl Person for Scripted {
        fn say(&mut self, line: &str) {
            self.sees.push_str(line);
            self.sees.push('\n');
        }

        fn ask(&mut self, question: &str) {
            self.say(question);
        }

        fn answer(&mut self, after: &str) -> Heard {
            let heard = if self.types.is_empty() {
                Heard::End
            } else {
                self.types.remove(0)
            };
            let typed = match &heard {
                Heard::Line(line) => line.as_str(),
                Heard::End => "^D",
                Heard::BrokenOff => "^C",
            };
            self.say(&format!("{after}{typed}"));
            heard
        }

        fn has_more(&mut self) -> bool {
            self.pasted && self.types.len() > 1
        }

        fn columns(&self) -> usize {
            self.columns
        }
    }

    fn about(files: usize) -> Asked {
        Asked {
            iteration: 3,
            task: TaskId::new(0x1a2b3c),
            title: "Parse dates".to_owned(),
            files: (1..=files).map(|number| format!("src/{number}.rs")).collect(),
        }
    }

    fn typed(lines: &[&str]) -> Scripted {
        let line = |line: &&str| match *line {
            "^C" => Heard::BrokenOff,
            "^D" => Heard::End,
            line => Heard::Line(line.to_owned()),
        };
        Scripted {
            types: lines.iter().map(line).collect(),
            pasted: false,
            sees: String::new(),
            columns: 100,
        }
    }

    #[test]
    fn what_the_person_sees() {
        let mut person = typed(&["Use jiff.", "No chrono.", "", "what?", "y"]);
        converse(&mut person, &about(7));
        assert_snapshot!(person.sees, @"

        Iteration 3 is stopped: t-1a2b3c Parse dates
        It has changed 7 files: src/1.rs, src/2.rs, src/3.rs, src/4.rs, src/5.rs and 2 more
        What should it do differently?
        Several lines; an empty one ends them.
        No line at all leaves the task as it is.
        Ctrl+C stops the run.
        > Use jiff.
        > No chrono.
        > 
        Go on with the task? [Y/n] what?
        Answer y (yes) or n (no).
        Go on with the task? [Y/n] y
        ");
        let mut narrow = Scripted {
            columns: 20,
            ..typed(&["", "n"])
        };
        converse(&mut narrow, &about(1));
        assert_snapshot!(narrow.sees, @"

        Iteration 3 is stop…
        It has changed 1 fi…
        What should it do differently?
        Several lines; an empty one ends them.
        No line at all leaves the task as it is.
        Ctrl+C stops the run.
        > 
        Go on with the task? [Y/n] n
        ");
    }

    #[track_caller]
    fn check(lines: &[&str], text: Option<&str>, next: WhatNext) {
        let guided = converse(&mut typed(lines), &about(0));
        assert_eq!((guided.text.as_deref(), guided.next), (text, next), "{lines:?}");
    }

    #[test]
    fn lines_end_with_an_empty_one_and_nothing_typed_is_lost() {
        use WhatNext::{GoOn, Stop};
        check(&["a", "b", "", ""], Some("a\nb\n"), GoOn);
        check(&["a", " ", "Yes"], Some("a\n"), GoOn);
        check(&["a", "", "n"], Some("a\n"), Stop);
        check(&["", ""], None, GoOn);
        check(&["", "NO"], None, Stop);
        // Ctrl+D ends a text as an empty line does; without any text it is all that there is to say.
        check(&["a", "^D", "y"], Some("a\n"), GoOn);
        check(&["a", "", "^D"], Some("a\n"), Stop);
        check(&["^D", "y"], None, Stop);
        // Ctrl+C
        check(&["^C", "y"], None, Stop);
        check(&["a", "^C"], Some("a\n"), Stop);
        check(&["a", "", "^C"], Some("a\n"), Stop);
    }

    #[test]
    fn an_empty_line_in_what_was_pasted_does_not_end_it() {
        let mut person = Scripted {
            pasted: true,
            ..typed(&["first", "", "second", "", "y"])
        };
        let guided = converse(&mut person, &about(0));
        assert_eq!(guided.text.as_deref(), Some("first\n\nsecond\n"));
        assert_eq!(guided.next, WhatNext::GoOn);
    }

    #[test]
    fn what_is_too_long_is_said() {
        let long = "x".repeat(crate::ui::LONGEST_LINE);
        let mut person = typed(&[&long, &long, &long, &long, &long, "", "y"]);
        converse(&mut person, &about(0));
        assert!(
            person.sees.contains("Say on another line what is missing."),
            "{}",
            person.sees
        );
        assert!(person.sees.contains("the first 16384 are kept."), "{}", person.sees);
    }
}
