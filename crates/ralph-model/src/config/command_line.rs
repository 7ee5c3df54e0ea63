//! A command as written by the user, and its words.

use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum CommandLine {
    /// A string to be split into words.
    Line(String),
    /// The words, at least one.
    Words(Vec<String>),
}

impl CommandLine {
    /// The program and its arguments. `None` if a line is blank or has an unclosed quote.
    ///
    /// A line is split like in a shell, without other shell syntax: quotes group words, and a backslash escapes the
    /// next character except within single quotes.
    #[must_use]
    pub fn words(&self) -> Option<Vec<String>> {
        let words = match self {
            Self::Words(words) => words.clone(),
            Self::Line(line) => split(line)?,
        };
        let has_program = words.first().is_some_and(|program| !program.trim().is_empty());
        has_program.then_some(words)
    }
}

impl fmt::Display for CommandLine {
    /// As written; words are separated by spaces.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => f.write_str(line),
            Self::Words(words) => f.write_str(&words.join(" ")),
        }
    }
}

fn split(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            '\'' => loop {
                let word = word.get_or_insert_default();
                match chars.next()? {
                    '\'' => break,
                    inner => word.push(inner),
                }
            },
            '"' => loop {
                let word = word.get_or_insert_default();
                match chars.next()? {
                    '"' => break,
                    '\\' => match chars.next()? {
                        escaped @ ('"' | '\\' | '$' | '`') => word.push(escaped),
                        other => word.extend(['\\', other]),
                    },
                    inner => word.push(inner),
                }
            },
            '\\' => word.get_or_insert_default().push(chars.next()?),
            space if space.is_whitespace() => words.extend(word.take()),
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_is_split_like_in_a_shell() {
        for (line, words) in [
            ("claude --print", &["claude", "--print"][..]),
            ("  ./run.sh\t-x ", &["./run.sh", "-x"]),
            ("'/opt/my agent/run' -x", &["/opt/my agent/run", "-x"]),
            (
                r#"a "b c"d '' "" "\"q\" \n" 'it'\''s' e\ f"#,
                &["a", "b cd", "", "", r#""q" \n"#, "it's", "e f"],
            ),
            ("a#b $HOME *.md", &["a#b", "$HOME", "*.md"]),
        ] {
            assert_eq!(CommandLine::Line(line.to_owned()).words().unwrap(), words, "{line}");
        }
    }

    #[test]
    fn line_without_program_has_no_words() {
        for line in ["", "  ", "\"", "a 'b", "a \\", "''", "' ' a"] {
            assert_eq!(CommandLine::Line(line.to_owned()).words(), None, "{line}");
        }
        assert_eq!(CommandLine::Words(Vec::new()).words(), None);
    }
}
