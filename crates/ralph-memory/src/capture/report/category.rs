//! Classifies failures by the output formats of tools, never by words in a sentence.

use ralph_model::ErrorCategory;

/// Type errors of rustc.
const RUST_TYPES: [&str; 12] = [
    "E0053", "E0061", "E0107", "E0277", "E0282", "E0283", "E0308", "E0369", "E0599", "E0604", "E0605", "E0614",
];
/// Unresolved names of rustc.
const RUST_NAMES: [&str; 3] = ["E0432", "E0433", "E0463"];

/// Exception names and their categories.
const EXCEPTIONS: [(&str, ErrorCategory); 16] = [
    ("AssertionError", ErrorCategory::TestFailure),
    ("AssertionFailedError", ErrorCategory::TestFailure),
    ("ComparisonFailure", ErrorCategory::TestFailure),
    ("TypeError", ErrorCategory::TypeError),
    ("ClassCastException", ErrorCategory::TypeError),
    ("SyntaxError", ErrorCategory::BuildError),
    ("IndentationError", ErrorCategory::BuildError),
    ("TabError", ErrorCategory::BuildError),
    ("ModuleNotFoundError", ErrorCategory::DependencyError),
    ("ImportError", ErrorCategory::DependencyError),
    ("ClassNotFoundException", ErrorCategory::DependencyError),
    ("FileNotFoundError", ErrorCategory::MissingFile),
    ("FileNotFoundException", ErrorCategory::MissingFile),
    ("NoSuchFileException", ErrorCategory::MissingFile),
    ("TimeoutError", ErrorCategory::Timeout),
    ("TimeoutException", ErrorCategory::Timeout),
];

/// Prefixes of package manager errors about unavailable dependencies.
const DEPENDENCY_ERRORS: [&str; 10] = [
    "error: no matching package",
    "error: failed to select a version",
    "error: failed to get `",
    "error: failed to load source for dependency",
    "ERROR: Could not find a version that satisfies",
    "ERROR: No matching distribution found",
    "ERROR: ResolutionImpossible",
    "npm ERR! code ERESOLVE",
    "npm error code ERESOLVE",
    "npm ERR! code E404",
];

/// Prefixes of failed tests.
const FAILED_TEST_PREFIXES: [&str; 9] = ["not ok ", "--- FAIL", "FAIL: ", "✖ ", "✗ ", "✕ ", "× ", "● ", "FAILED "];

/// The category of these lines. A specific error takes precedence over a failed test.
#[must_use]
pub fn category_of(lines: &str) -> ErrorCategory {
    let kinds = lines.lines().find_map(kind_of_line);
    let test = lines.lines().any(is_failed_test).then_some(ErrorCategory::TestFailure);
    kinds.or(test).unwrap_or(ErrorCategory::Unknown)
}

fn kind_of_line(line: &str) -> Option<ErrorCategory> {
    let trimmed = line.trim();
    of_rustc(trimmed)
        .or_else(|| of_package_manager(trimmed))
        .or_else(|| of_compiler(trimmed))
        .or_else(|| of_exception(trimmed))
        .or_else(|| of_tap(trimmed))
        .or_else(|| of_shell(trimmed))
}

fn of_rustc(line: &str) -> Option<ErrorCategory> {
    let (code, message) = line.strip_prefix("error[")?.split_once("]: ")?;
    Some(match code {
        code if RUST_TYPES.contains(&code) => ErrorCategory::TypeError,
        code if RUST_NAMES.contains(&code) && !message.contains("::") => ErrorCategory::DependencyError,
        "E0583" => ErrorCategory::MissingFile,
        _ => ErrorCategory::BuildError,
    })
}

fn of_package_manager(line: &str) -> Option<ErrorCategory> {
    DEPENDENCY_ERRORS
        .iter()
        .any(|prefix| line.starts_with(prefix))
        .then_some(ErrorCategory::DependencyError)
}

/// `cart.c:4:20: error: …`, `cart.ts(4,20): error TS2322: …`; rustc errors without a code have their location on the
/// next line.
fn of_compiler(line: &str) -> Option<ErrorCategory> {
    if let Some((place, message)) = line.split_once(": error TS") {
        let number: String = message.chars().take_while(char::is_ascii_digit).collect();
        let is_place = place.ends_with(')') || place.contains(':');
        return is_place.then_some(match number.as_str() {
            "2307" => ErrorCategory::DependencyError,
            number if number.starts_with('2') => ErrorCategory::TypeError,
            _ => ErrorCategory::BuildError,
        });
    }
    let is_placed = |(place, _): (&str, &str)| place.contains(':') && place.ends_with(|c: char| c.is_ascii_digit());
    let is_error = line.split_once(": error: ").is_some_and(is_placed)
        || line.split_once(": fatal error: ").is_some_and(is_placed)
        || line.starts_with("--> ");
    is_error.then_some(ErrorCategory::BuildError)
}

/// `TypeError: …`, `json.decoder.JSONDecodeError: …`, `AssertionError [ERR_ASSERTION]: …`, `E   TypeError: …`.
fn of_exception(line: &str) -> Option<ErrorCategory> {
    let line = line.strip_prefix("E ").unwrap_or(line).trim_start();
    let end = line.find([':', ' ', '[']).unwrap_or(line.len());
    let (name, rest) = line.split_at(end);
    let is_exception = rest.is_empty() || rest.starts_with(": ") || (rest.starts_with(" [") && rest.contains("]: "));
    if !is_exception {
        return None;
    }
    if name == "Error" && rest.starts_with(": Cannot find module '") {
        let is_own = rest.contains("module '.") || rest.contains("module '/");
        return Some(if is_own {
            ErrorCategory::MissingFile
        } else {
            ErrorCategory::DependencyError
        });
    }
    if rest.starts_with(": ENOENT") {
        return Some(ErrorCategory::MissingFile);
    }
    let simple = name.rsplit('.').next().unwrap_or(name);
    let (_, category) = EXCEPTIONS.iter().find(|(other, _)| *other == simple)?;
    Some(*category)
}

/// `name: 'TypeError'`, `error: 'ENOENT: …'`.
fn of_tap(line: &str) -> Option<ErrorCategory> {
    if let Some(name) = line.strip_prefix("name: '") {
        let name = name.trim_end_matches('\'');
        return EXCEPTIONS
            .iter()
            .find(|(other, _)| *other == name)
            .map(|(_, kind)| *kind);
    }
    let error = line.strip_prefix("error: '")?;
    if error.starts_with("ENOENT") {
        Some(ErrorCategory::MissingFile)
    } else if error.starts_with("test timed out after ") {
        Some(ErrorCategory::Timeout)
    } else {
        None
    }
}

/// `./build.sh: line 4: frobnicate: command not found`, `grep: a.csv: No such file or directory`.
fn of_shell(line: &str) -> Option<ErrorCategory> {
    let (program, rest) = line.split_once(": ")?;
    if program.contains(char::is_whitespace) {
        return None;
    }
    let is_placed = rest.starts_with("line ") || rest.starts_with(|c: char| c.is_ascii_digit());
    if rest.ends_with(": command not found") || (is_placed && rest.ends_with(": not found")) {
        Some(ErrorCategory::DependencyError)
    } else if rest.ends_with("No such file or directory") {
        Some(ErrorCategory::MissingFile)
    } else if is_placed && (rest.contains(": syntax error ") || rest.contains(": Syntax error: ")) {
        Some(ErrorCategory::BuildError)
    } else {
        None
    }
}

fn is_failed_test(line: &str) -> bool {
    let trimmed = line.trim();
    let is_panic = trimmed.starts_with("thread '") && trimmed.contains(" panicked at ");
    let is_listed = trimmed.starts_with("test ") && trimmed.ends_with(" ... FAILED");
    is_panic
        || is_listed
        || line.starts_with("E   ")
        || FAILED_TEST_PREFIXES.iter().any(|prefix| trimmed.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(lines: &str, expected: ErrorCategory) {
        assert_eq!(category_of(lines), expected, "of {lines:?}");
    }

    #[test]
    fn formats_are_classified_and_sentences_are_not() {
        check(
            "error[E0308]: mismatched types\n --> src/lib.rs:5:23",
            ErrorCategory::TypeError,
        );
        check(
            "error[E0432]: unresolved import `crate::cart`",
            ErrorCategory::BuildError,
        );
        check(
            "cart.ts(4,20): error TS2307: Cannot find module 'left-pad'",
            ErrorCategory::DependencyError,
        );
        check("cart.ts:4:20 - a type error was found", ErrorCategory::Unknown);
        check(
            "The TypeError: was fixed before the test failed",
            ErrorCategory::Unknown,
        );
        check("this test FAILED because of a timeout", ErrorCategory::Unknown);
        check("\"is_error\": false", ErrorCategory::Unknown);
        check(
            "thread 'a' panicked at src/lib.rs:1:1:\nno such file",
            ErrorCategory::TestFailure,
        );
    }
}
