//! Asks the user at the terminal for guidance after they stopped the agent's turn.

use ralph_loop::{AfterGuidance, GUIDANCE_CHARACTERS, GuidanceAnswer, GuidanceQuestion, Guide};
use ralph_memory::capture::{Refusal, SecretPolicy, accept};
use ralph_model::{count, preview};
use ralph_process::StopHandle;

use crate::ui::shared_terminal::{self, PromptAccess};
use crate::ui::{Answer, Conversation, Dialogue, TerminalConversation, TextEnd, read_lines};

const MAX_FILES: usize = 5;

pub(super) struct AtTerminal {
    dialogue: Dialogue,
}

impl AtTerminal {
    pub(super) fn new(dialogue: Dialogue) -> Self {
        Self { dialogue }
    }
}

impl Guide for AtTerminal {
    fn ask(&self, about: &GuidanceQuestion, given_up: &StopHandle) -> GuidanceAnswer {
        let mut dialogue = self.dialogue.clone();
        let no_guidance = GuidanceAnswer {
            text: None,
            next: AfterGuidance::Stop,
        };
        if !dialogue.is_foreground() {
            // Reading would stop this background process until it is brought to the foreground.
            dialogue.say("The run is in the background and cannot ask for guidance, so it ends.");
            return no_guidance;
        }
        if shared_terminal::begin_prompt(&|| given_up.is_requested()) == PromptAccess::Abandoned {
            return no_guidance;
        }
        dialogue.discard_typed_ahead();
        converse(
            &mut TerminalConversation {
                dialogue: &mut dialogue,
                is_interrupted: &|| given_up.is_requested(),
            },
            about,
        )
    }
}

fn converse(person: &mut dyn Conversation, about: &GuidanceQuestion) -> GuidanceAnswer {
    introduce(person, about);
    let (text, ending) = text_of(person);
    if has_secret(&text) {
        // The text goes into every later prompt of the task.
        person.say("Text that looks like a secret is masked.");
    }
    let next = match ending {
        TextEnd::Interrupted => AfterGuidance::Stop,
        TextEnd::Complete => goes_on(person),
    };
    GuidanceAnswer {
        text: (!text.trim().is_empty()).then_some(text),
        next,
    }
}

fn has_secret(text: &str) -> bool {
    accept(text, SecretPolicy::Refuse).is_err_and(|refusal| matches!(refusal, Refusal::Secret { .. }))
}

fn introduce(person: &mut dyn Conversation, about: &GuidanceQuestion) {
    let columns = person.columns();
    let GuidanceQuestion {
        iteration, task, title, ..
    } = about;
    person.say("");
    person.say(&preview(
        &format!("Stopped iteration {iteration}: {task} {title}"),
        columns,
    ));
    let changed = match about.files.as_slice() {
        [] => "No files changed.".to_owned(),
        files => {
            let names: Vec<&str> = files.iter().map(String::as_str).take(MAX_FILES).collect();
            let more = files.len().saturating_sub(names.len());
            let more = if more == 0 {
                String::new()
            } else {
                format!(" and {more} more")
            };
            format!(
                "Changed {}: {}{more}",
                count(files.len(), "file", "files"),
                names.join(", ")
            )
        }
    };
    person.say(&preview(&changed, columns));
    person.ask("What should it do differently?");
    // Short, for narrow screens.
    person.say("Finish with an empty line.");
    person.say("Enter nothing to leave the task as it is.");
    person.say("Ctrl+C stops the run.");
}

/// The lines up to an empty one. Finished lines are kept even if the input is interrupted.
fn text_of(person: &mut dyn Conversation) -> (String, TextEnd) {
    let (text, ending) = read_lines(person);
    let characters = text.chars().count();
    if ending == TextEnd::Complete && characters > GUIDANCE_CHARACTERS {
        person.say(&format!(
            "That is {characters} characters; only the first {GUIDANCE_CHARACTERS} are kept. Put the rest in a file \
             and mention its path."
        ));
    }
    (text, ending)
}

fn goes_on(person: &mut dyn Conversation) -> AfterGuidance {
    loop {
        let Answer::Line(answer) = person.answer("Continue with the task? [Y/n] ") else {
            return AfterGuidance::Stop;
        };
        match answer.trim().to_lowercase().as_str() {
            "" | "y" | "yes" => return AfterGuidance::GoOn,
            "n" | "no" => return AfterGuidance::Stop,
            _ => person.say("Answer y (yes) or n (no)."),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use insta::assert_snapshot;
    use ralph_model::TaskId;

    /// A user who types these lines, and what they see.
    struct Scripted {
        types: Vec<Answer>,
        pasted: bool,
        sees: String,
        columns: usize,
    }

    impl Conversation for Scripted {
        fn say(&mut self, line: &str) {
            self.sees.push_str(line);
            self.sees.push('\n');
        }

        fn ask(&mut self, question: &str) {
            self.say(question);
        }

        fn answer(&mut self, after: &str) -> Answer {
            let heard = if self.types.is_empty() {
                Answer::End
            } else {
                self.types.remove(0)
            };
            let typed = match &heard {
                Answer::Line(line) => line.as_str(),
                Answer::End => "^D",
                Answer::Interrupted => "^C",
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

    fn about(files: usize) -> GuidanceQuestion {
        GuidanceQuestion {
            iteration: 3,
            task: TaskId::new(0x1a2b3c),
            title: "Parse dates".to_owned(),
            files: (1..=files).map(|number| format!("src/{number}.rs")).collect(),
        }
    }

    fn typed(lines: &[&str]) -> Scripted {
        let line = |line: &&str| match *line {
            "^C" => Answer::Interrupted,
            "^D" => Answer::End,
            line => Answer::Line(line.to_owned()),
        };
        Scripted {
            types: lines.iter().map(line).collect(),
            pasted: false,
            sees: String::new(),
            columns: 100,
        }
    }

    #[test]
    fn dialogue_as_shown() {
        let mut person = typed(&["Use jiff.", "No chrono.", "", "what?", "y"]);
        converse(&mut person, &about(7));
        assert_snapshot!(person.sees, @"

        Stopped iteration 3: t-1a2b3c Parse dates
        Changed 7 files: src/1.rs, src/2.rs, src/3.rs, src/4.rs, src/5.rs and 2 more
        What should it do differently?
        Finish with an empty line.
        Enter nothing to leave the task as it is.
        Ctrl+C stops the run.
        > Use jiff.
        > No chrono.
        > 
        Continue with the task? [Y/n] what?
        Answer y (yes) or n (no).
        Continue with the task? [Y/n] y
        ");
        let mut narrow = Scripted {
            columns: 20,
            ..typed(&["", "n"])
        };
        converse(&mut narrow, &about(1));
        assert_snapshot!(narrow.sees, @"

        Stopped iteration 3…
        Changed 1 file: src…
        What should it do differently?
        Finish with an empty line.
        Enter nothing to leave the task as it is.
        Ctrl+C stops the run.
        > 
        Continue with the task? [Y/n] n
        ");
    }

    #[track_caller]
    fn check(lines: &[&str], text: Option<&str>, next: AfterGuidance) {
        let guided = converse(&mut typed(lines), &about(0));
        assert_eq!((guided.text.as_deref(), guided.next), (text, next), "{lines:?}");
    }

    #[test]
    fn empty_line_ends_guidance() {
        use AfterGuidance::{GoOn, Stop};
        check(&["a", "b", "", ""], Some("a\nb\n"), GoOn);
        check(&["a", " ", "Yes"], Some("a\n"), GoOn);
        check(&["a", "", "n"], Some("a\n"), Stop);
        check(&["", ""], None, GoOn);
        check(&["", "NO"], None, Stop);
        // Ctrl+D ends a text like an empty line; without any text it means no guidance.
        check(&["a", "^D", "y"], Some("a\n"), GoOn);
        check(&["a", "", "^D"], Some("a\n"), Stop);
        check(&["^D", "y"], None, Stop);
        // Ctrl+C
        check(&["^C", "y"], None, Stop);
        check(&["a", "^C"], Some("a\n"), Stop);
        check(&["a", "", "^C"], Some("a\n"), Stop);
    }

    #[test]
    fn empty_line_in_pasted_text_does_not_end_it() {
        let mut person = Scripted {
            pasted: true,
            ..typed(&["first", "", "second", "", "y"])
        };
        let guided = converse(&mut person, &about(0));
        assert_eq!(guided.text.as_deref(), Some("first\n\nsecond\n"));
        assert_eq!(guided.next, AfterGuidance::GoOn);
    }

    #[test]
    fn too_long_guidance_is_reported() {
        let long = "x".repeat(crate::ui::LONGEST_LINE);
        let mut person = typed(&[&long, &long, &long, &long, &long, "", "y"]);
        converse(&mut person, &about(0));
        assert!(
            person.sees.contains("Enter the rest on another line."),
            "{}",
            person.sees
        );
        assert!(
            person.sees.contains("only the first 16384 are kept."),
            "{}",
            person.sees
        );
    }
}
