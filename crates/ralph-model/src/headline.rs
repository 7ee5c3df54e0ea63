//! Picks the most informative line of a program's error output: the message of the exception, panic or assertion rather
//! than the location or test name above it.

/// Text that may precede the name of an exception.
const EXCEPTION_PREFIXES: [&str; 5] = [
    "# ",
    "Uncaught ",
    "Unhandled ",
    "Exception in thread \"main\" ",
    "Caused by: ",
];
/// Suffixes of exception names.
const EXCEPTION_SUFFIXES: [&str; 4] = ["Error", "Exception", "Interrupt", "Panic"];
/// Prefixes of lines that name a failed test.
const FAILED_TEST_PREFIXES: [&str; 9] = ["FAIL: ", "ERROR: ", "✖ ", "✗ ", "✕ ", "× ", "● ", "not ok ", "---- "];
/// Prefixes of TAP details that precede the error.
const TAP_DETAIL_PREFIXES: [&str; 2] = ["location: ", "name: "];

/// The exception in a line, without any prefix: `TypeError: …`, `AssertionError [ERR_ASSERTION]: …`,
/// `java.lang.IllegalStateException: …`.
#[must_use]
pub fn exception_in(line: &str) -> Option<&str> {
    let mut text = line.trim();
    for before in EXCEPTION_PREFIXES {
        text = text.strip_prefix(before).unwrap_or(text).trim_start();
    }
    let end = text
        .find(|c: char| !(c.is_alphanumeric() || matches!(c, '.' | '_' | '$')))
        .unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let simple = name.rsplit('.').next().unwrap_or(name);
    let is_name =
        simple.starts_with(char::is_uppercase) && EXCEPTION_SUFFIXES.iter().any(|ending| simple.ends_with(ending));
    // Node writes a code after the name.
    let is_exception = rest.is_empty() || rest.starts_with(": ") || (rest.starts_with(" [") && rest.contains("]: "));
    (is_name && is_exception).then_some(text)
}

/// The headline of an error output: its first line, unless that only introduces another. Values and text announced by a
/// colon are appended.
#[must_use]
pub fn headline_of(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let at = message_at(&lines);
    let Some(message) = lines.get(at) else {
        return String::new();
    };
    let below: Vec<&str> = lines.iter().skip(at + 1).copied().collect();
    let values: Vec<&str> = below.iter().copied().take_while(|line| is_value(line)).collect();
    match below.first() {
        Some(next) if message.ends_with(':') && !is_place(next) => format!("{message} {next}"),
        _ if !values.is_empty() && is_value(message) => format!("{message}, {}", values.join(", ")),
        _ if !values.is_empty() => format!("{message} ({})", values.join(", ")),
        _ => (*message).to_owned(),
    }
}

/// The index of the line with the message.
fn message_at(lines: &[&str]) -> usize {
    let Some(first) = lines.first() else { return 0 };
    let is_test = FAILED_TEST_PREFIXES
        .iter()
        .any(|beginning| first.starts_with(beginning));
    let is_python = first.starts_with("File \"") || first.starts_with("Traceback (");
    if is_test || is_python || is_place(first) {
        let exception = lines.iter().position(|line| exception_in(line).is_some());
        let of_test = || {
            let is_more =
                |line: &&str| is_place(line) || TAP_DETAIL_PREFIXES.iter().any(|known| line.starts_with(known));
            let error = lines.iter().skip(1).position(|line| !is_more(line))?;
            first.starts_with("not ok ").then_some(error + 1)
        };
        let panic = || lines.iter().position(|line| is_panic(line)).map(|at| at + 1);
        let error = exception
            .or_else(of_test)
            .or_else(panic)
            .or_else(|| is_python.then(|| lines.len() - 1));
        return error.filter(|at| *at < lines.len()).unwrap_or(0);
    }
    usize::from(is_panic(first) && lines.len() > 1)
}

/// `thread 'tests::adds' panicked at src/lib.rs:10:5:`; the message is on the next line.
fn is_panic(line: &str) -> bool {
    line.starts_with("thread '") && line.contains(" panicked at ") && line.ends_with(':')
}

/// `  left: 380`, ` right: 375`.
fn is_value(line: &str) -> bool {
    line.starts_with("left: ") || line.starts_with("right: ")
}

/// Whether a line is only a location: `File "cart.py", line 2, in load`, `at total (cart.js:2:9)`, `/srv/cart.js:2`.
fn is_place(line: &str) -> bool {
    let is_numbered = |text: &str| {
        let number = text.trim_end_matches(')').rsplit_once(':').map(|(_, number)| number);
        number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let is_call = || line.starts_with("at ") || line.starts_with("--> ");
    let is_file = || !line.contains(char::is_whitespace) && line.contains('.');
    line.starts_with("File \"") || ((is_call() || is_file()) && is_numbered(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(headline_of(text), expected, "of {text}");
    }

    #[test]
    fn message_is_preferred_to_the_location_above() {
        check(
            "File \"/srv/price.py\", line 2, in load\n  return shop[\"price\"]\nKeyError: 'price'",
            "KeyError: 'price'",
        );
        check(
            "/srv/cart.js:2\n  return request.item.price;\nTypeError: no price\n    at total (/srv/cart.js:2:23)",
            "TypeError: no price",
        );
        check(
            "FAIL: test_cents (test_totals.Totals.test_cents)\nFile \"/srv/test_totals.py\", line 5, in test_cents\n  self.assertEqual(a, b)\nAssertionError: 3.8 != 3.75",
            "AssertionError: 3.8 != 3.75",
        );
        check(
            "thread 'cents' (77) panicked at src/totals.rs:5:9:\nassertion `left == right` failed\n  left: 380\n right: 375",
            "assertion `left == right` failed (left: 380, right: 375)",
        );
        check("thread 'a' panicked at src/lib.rs:1:1:\nno prices", "no prices");
        check(
            "not ok 1 - adds prices\n  location: '/srv/cart.test.js:6:3'\nExpected values to be strictly equal:\n350 !== 550",
            "Expected values to be strictly equal: 350 !== 550",
        );
        check(
            "✖ adds prices (2 ms)\nAssertionError [ERR_ASSERTION]: no\n",
            "AssertionError [ERR_ASSERTION]: no",
        );
    }

    #[test]
    fn first_line_is_used_if_it_is_the_message() {
        check(
            "error[E0308]: mismatched types\n --> src/lib.rs:5:23",
            "error[E0308]: mismatched types",
        );
        check(
            "./build.sh: line 4: frobnicate: command not found",
            "./build.sh: line 4: frobnicate: command not found",
        );
        check(
            "case leap_alpha ... FAILED\nerror: no such day",
            "case leap_alpha ... FAILED",
        );
        check(
            "at first the lock was held\nthen it was not",
            "at first the lock was held",
        );
        check("FAIL: test_a\nno more is known", "FAIL: test_a");
        check(
            "thread 'a' panicked at src/lib.rs:1:1:",
            "thread 'a' panicked at src/lib.rs:1:1:",
        );
        check("two things:\n\n one\nother", "two things: one");
        check("left: 1\nright: 2", "left: 1, right: 2");
        check(" \n", "");
    }
}
