//! A command as somebody wrote it, and its words.

use std::fmt;

/// A command as it was written.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum CommandLine {
    /// One string, to be split into words.
    Line(String),
    /// The words themselves; there is at least one.
    Words(Vec<String>),
}

impl CommandLine {
    /// Its words: the program, and what it is called with. None when a line has no word, or a quote that nobody closes.
    ///
    /// A line is split as a shell would, and nothing else of a shell is in it: words in single or double quotes are whole,
    /// and a backslash takes the meaning of what follows it, but not within single quotes.
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
    /// As it was written; words are apart by blanks.
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
    let mut signs = line.chars();
    while let Some(sign) = signs.next() {
        match sign {
            '\'' => loop {
                let word = word.get_or_insert_default();
                match signs.next()? {
                    '\'' => break,
                    inner => word.push(inner),
                }
            },
            '"' => loop {
                let word = word.get_or_insert_default();
                match signs.next()? {
                    '"' => break,
                    '\\' => match signs.next()? {
                        escaped @ ('"' | '\\' | '$' | '`') => word.push(escaped),
                        other => word.extend(['\\', other]),
                    },
                    inner => word.push(inner),
                }
            },
            '\\' => word.get_or_insert_default().push(signs.next()?),
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
    fn a_line_is_split_as_a_shell_would() {
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
    fn a_line_without_a_program_has_no_words() {
        for line in ["", "  ", "\"", "a 'b", "a \\", "''", "' ' a"] {
            assert_eq!(CommandLine::Line(line.to_owned()).words(), None, "{line}");
        }
        assert_eq!(CommandLine::Words(Vec::new()).words(), None);
    }
}
