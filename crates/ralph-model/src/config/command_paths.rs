//! Finds the words of a command that may name a file, such as the script of a gate.
//!
//! Nothing here reads the disk: the caller keeps the words that lead to regular files.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use super::CommandLine;

/// How deep nested quoted commands are followed: `sh -c "bash -c './x.sh'"`.
const MAX_DEPTH: usize = 4;

/// Separators between commands.
const SEPARATORS: &[char] = &['\n', ';', '&', '|', '(', ')', '`', '{', '}'];

/// Separators between words of a command. `>` is kept as a word, because it precedes an output file.
const REDIRECTIONS: &[char] = &['<', '>'];

/// Programs that do not run the files they name: they write, inspect or delete them.
const NON_RUNNING_PROGRAMS: &[&str] = &[
    "tee", "test", "[", "[[", "ls", "cat", "wc", "head", "tail", "stat", "grep", "egrep", "fgrep", "rg", "rm", "mkdir",
    "touch", "echo", "printf",
];

/// Shell words that precede a command.
const SHELL_KEYWORDS: &[&str] = &["!", "if", "then", "elif", "else", "while", "until", "do"];

/// Words that precede an output file. It changes with every run of the command and is never run.
const OUTPUT_MARKERS: &[&str] = &[">", "-o", "--out", "--output", "--output-file", "--log-file"];

/// Parts of flag names whose value, after `=`, is an output file: `--junitxml=report.xml`.
const OUTPUT_FLAGS: &[&str] = &["out", "log", "report", "junit"];

/// Programs that run the file given as first argument. The name may end with a version: `python3.12`.
const INTERPRETERS: &[&str] = &[
    ".", "bash", "bun", "dash", "deno", "fish", "ksh", "lua", "node", "perl", "php", "pwsh", "python", "ruby", "sh",
    "source", "ts-node", "tsx", "zsh",
];

/// Separators between a flag or variable and its path, and between the paths of a list.
const INSIDE_WORDS: &[char] = &['=', ',', ':'];

impl CommandLine {
    /// Paths that the command may refer to, as written but without `.` components. A path under `$PWD` is relative, one
    /// under `$HOME` begins with `~`.
    ///
    /// This is a superset: words after `cd DIR` occur as written and under that folder. A program name without a slash
    /// is looked up in PATH, so it is not a path.
    #[must_use]
    pub fn paths(&self) -> BTreeSet<PathBuf> {
        let found = Found::of(self);
        with_folders(found.paths, &found.folders)
    }

    /// The subset that the command appears to run: programs, and the first file after an interpreter.
    #[must_use]
    pub fn scripts(&self) -> BTreeSet<PathBuf> {
        let found = Found::of(self);
        with_folders(found.scripts, &found.folders)
    }
}

/// The paths that a gate's shell command may refer to.
#[must_use]
pub fn command_paths(command: &str) -> BTreeSet<PathBuf> {
    CommandLine::Line(command.to_owned()).paths()
}

#[derive(Default)]
struct Found {
    paths: BTreeSet<PathBuf>,
    scripts: BTreeSet<PathBuf>,
    /// Arguments of `cd` and of options that change the folder (`-C DIR`, `--directory DIR`).
    folders: Vec<PathBuf>,
}

impl Found {
    fn of(command: &CommandLine) -> Self {
        let mut found = Self::default();
        match command {
            CommandLine::Line(line) => found.line(line, 0),
            CommandLine::Words(words) => found.words(words, 0),
        }
        found
    }

    /// Splits at unquoted shell syntax first, then into words: `a;./b` is two commands.
    fn line(&mut self, line: &str, depth: usize) {
        for command in simple_commands(line) {
            let words = CommandLine::Line(command.clone()).words();
            let words = words.unwrap_or_else(|| command.split_whitespace().map(str::to_owned).collect());
            self.words(&words, depth);
        }
    }

    fn words(&mut self, words: &[String], depth: usize) {
        let begin = words.iter().position(|word| !SHELL_KEYWORDS.contains(&word.as_str()));
        let words = words.get(begin.unwrap_or(words.len())..).unwrap_or_default();
        let program = words.first();
        if program.is_some_and(|program| NON_RUNNING_PROGRAMS.contains(&program.as_str())) {
            return;
        }
        let mut is_folder = false;
        let mut is_script = true;
        for (at, word) in words.iter().enumerate() {
            if is_folder {
                self.folders.push(path_of(word));
            }
            is_folder = matches!(
                word.as_str(),
                "cd" | "pushd" | "-C" | "--directory" | "--cwd" | "--prefix"
            );
            let before = at.checked_sub(1).and_then(|at| words.get(at)).map(String::as_str);
            if before.is_some_and(|before| OUTPUT_MARKERS.contains(&before)) || is_output_flag(word) || word == ">" {
                continue;
            }
            if at > 0 || word.contains('/') {
                self.path(word);
            }
            if is_script && !word.starts_with('-') {
                is_script = false;
                if at > 0 || word.contains('/') {
                    self.scripts.insert(path_of(word));
                }
            }
            is_script |= is_interpreter(word);
            for part in word.split(INSIDE_WORDS).skip(1) {
                self.path(part);
            }
            let is_command = |c: char| c.is_whitespace() || SEPARATORS.contains(&c) || REDIRECTIONS.contains(&c);
            if depth < MAX_DEPTH && word.contains(is_command) {
                self.line(word, depth + 1);
            }
        }
    }

    fn path(&mut self, word: &str) {
        let path = path_of(word);
        if !path.as_os_str().is_empty() {
            self.paths.insert(path);
        }
    }
}

/// The paths themselves and under each folder.
fn with_folders(mut paths: BTreeSet<PathBuf>, folders: &[PathBuf]) -> BTreeSet<PathBuf> {
    let joined: Vec<PathBuf> = folders
        .iter()
        .flat_map(|folder| paths.iter().map(|path| folder.join(path)))
        .collect();
    paths.extend(joined);
    paths
}

fn is_interpreter(word: &str) -> bool {
    let name = Path::new(word)
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or(word);
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    // `.` is the shell command that sources a file.
    INTERPRETERS.contains(&name) || word == "."
}

fn is_output_flag(word: &str) -> bool {
    let name = word
        .strip_prefix('-')
        .and_then(|word| word.split_once('='))
        .map(|(name, _)| name);
    name.is_some_and(|name| OUTPUT_FLAGS.iter().any(|part| name.contains(part)))
}

fn path_of(word: &str) -> PathBuf {
    let components = Path::new(word).components().enumerate();
    components
        .filter_map(|(at, component)| match component.as_os_str().to_str() {
            Some("$PWD" | "${PWD}") if at == 0 => None,
            Some("$HOME" | "${HOME}") if at == 0 => Some(Component::Normal("~".as_ref())),
            _ => (component != Component::CurDir).then_some(component),
        })
        .collect()
}

/// The parts of a line between unquoted and unescaped separators.
fn simple_commands(line: &str) -> Vec<String> {
    let mut commands = vec![String::new()];
    let mut quote = None;
    let mut is_escaped = false;
    // Inside `${NAME}`.
    let mut is_variable = false;
    let mut before = None;
    for c in line.chars() {
        is_variable = match c {
            '{' => before == Some('$'),
            _ => is_variable && before != Some('}'),
        };
        before = Some(c);
        let is_syntax = quote.is_none() && !is_escaped && !is_variable;
        match (quote, c) {
            _ if is_escaped => is_escaped = false,
            (None | Some('"'), '\\') => is_escaped = true,
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            _ => {}
        }
        match commands.last_mut() {
            Some(last) if is_syntax && c == '>' => last.push_str(" > "),
            Some(last) if is_syntax && REDIRECTIONS.contains(&c) => last.push(' '),
            Some(last) if !(is_syntax && SEPARATORS.contains(&c)) => last.push(c),
            _ => commands.push(String::new()),
        }
    }
    commands
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(command: &CommandLine, expected: &[&str]) {
        let found = command.paths();
        let found: Vec<&str> = found.iter().filter_map(|path| path.to_str()).collect();
        assert_eq!(found, expected, "{command}");
    }

    #[test]
    fn possible_file_words_are_found() {
        for (line, paths) in [
            ("cargo test", &["test"][..]),
            ("./ci/test.sh", &["ci/test.sh"]),
            ("sh scripts/x", &["scripts/x"]),
            ("bash test.sh", &["test.sh"]),
            ("make && ./a.sh;./b.sh|./c.sh", &["a.sh", "b.sh", "c.sh"]),
            ("(./a.sh) 2>log <in.txt", &["a.sh", "in.txt"]),
            ("./a.sh 2>&1 >>b.log | tee c.log", &["2", "a.sh"]),
            ("! test -f a.txt && grep -q x b.txt || ./c.sh", &["c.sh"]),
            ("if test -e ../x; then ./a.sh; else rm b; fi", &["a.sh"]),
            ("pytest --junitxml=r.xml -o x a.py", &["-o", "a.py"]),
            ("X=./env.sh ./run.sh", &["X=./env.sh", "env.sh", "run.sh"]),
            ("node --require=hook.js t", &["--require=hook.js", "hook.js", "t"]),
            ("'./my script.sh' x", &["my", "my script.sh", "script.sh", "x"]),
            ("/opt/tool a/../b.sh", &["/opt/tool", "a/../b.sh"]),
            (r"./a\;b.sh", &["a", "a;b.sh"]),
            (r#""$PWD"/a.sh && $PWD/b.sh"#, &["a.sh", "b.sh"]),
            ("sh ${PWD}/a.sh; { ./b.sh; }", &["a.sh", "b.sh"]),
            (
                r#"sh ~/a.sh "${HOME}/b.sh" $HOME/c.sh $OTHER/d.sh"#,
                &["$OTHER/d.sh", "~/a.sh", "~/b.sh", "~/c.sh"],
            ),
            ("a 'b", &["'b"]),
            ("", &[]),
        ] {
            check(&CommandLine::Line(line.to_owned()), paths);
            assert_eq!(command_paths(line), CommandLine::Line(line.to_owned()).paths());
        }
    }

    #[test]
    fn scripts_are_what_the_command_runs() {
        for (line, scripts) in [
            ("./ci/test.sh data.json", &["ci/test.sh"][..]),
            ("test -e work.txt && grep -q x README.md", &[]),
            ("python3.12 -u tools/check.py data.json", &["tools/check.py"]),
            ("timeout 5 sh -e scripts/x y", &["scripts/x"]),
            ("cd sub && . ./env && bash run", &["env", "run", "sub/env", "sub/run"]),
            ("sh < piped", &["piped"]),
            ("cargo test", &[]),
        ] {
            let found = CommandLine::Line(line.to_owned()).scripts();
            let found: Vec<&str> = found.iter().filter_map(|path| path.to_str()).collect();
            assert_eq!(found, scripts, "{line}");
        }
    }

    #[test]
    fn words_inside_a_quoted_command_are_found() {
        let line = CommandLine::Line("sh -c \"bash -c './x.sh y'\"".to_owned());
        assert!(line.paths().contains(Path::new("x.sh")), "{:?}", line.paths());
        let words = ["sh", "-c", "./x.sh && sh z"].map(str::to_owned);
        let words = CommandLine::Words(words.to_vec());
        assert!(words.paths().contains(Path::new("x.sh")), "{:?}", words.paths());
        assert!(words.paths().contains(Path::new("z")), "{:?}", words.paths());
    }

    #[test]
    fn words_after_cd_are_also_below_it() {
        check(
            &CommandLine::Line("cd sub && ./test.sh".to_owned()),
            &["sub", "sub/sub", "sub/test.sh", "test.sh"],
        );
    }
}
