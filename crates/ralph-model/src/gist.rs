//! What says most of the lines that a failing program printed, on one line: the message of the exception, of the panic or of
//! the assertion, and not the place or the test that stands above it.

/// What may stand before the name of an exception.
const BEFORE_EXCEPTIONS: [&str; 5] = [
    "# ",
    "Uncaught ",
    "Unhandled ",
    "Exception in thread \"main\" ",
    "Caused by: ",
];
/// How names of exceptions end.
const ENDINGS: [&str; 4] = ["Error", "Exception", "Interrupt", "Panic"];
/// How lines begin that name a test which failed.
const TESTS: [&str; 9] = ["FAIL: ", "ERROR: ", "✖ ", "✗ ", "✕ ", "× ", "● ", "not ok ", "---- "];
/// How lines begin that tell more of a test of the Test Anything Protocol, before its error.
const KNOWN_OF_TEST: [&str; 2] = ["location: ", "name: "];

/// The exception that a line names as programs print it, without what may stand before: `TypeError: …`,
/// `AssertionError [ERR_ASSERTION]: …`, `java.lang.IllegalStateException: …`.
#[must_use]
pub fn exception_in(line: &str) -> Option<&str> {
    let mut text = line.trim();
    for before in BEFORE_EXCEPTIONS {
        text = text.strip_prefix(before).unwrap_or(text).trim_start();
    }
    let end = text
        .find(|sign: char| !(sign.is_alphanumeric() || matches!(sign, '.' | '_' | '$')))
        .unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let simple = name.rsplit('.').next().unwrap_or(name);
    let is_name = simple.starts_with(char::is_uppercase) && ENDINGS.iter().any(|ending| simple.ends_with(ending));
    // Node writes a code behind the name.
    let is_told = rest.is_empty() || rest.starts_with(": ") || (rest.starts_with(" [") && rest.contains("]: "));
    (is_name && is_told).then_some(text)
}

/// What these lines say most of all, on one line: the first, unless that only leads up to another. With what stands right
/// below it where it cannot be understood without: values, or what a colon announces.
#[must_use]
pub fn gist_of(text: &str) -> String {
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

/// Which of these lines is the message.
fn message_at(lines: &[&str]) -> usize {
    let Some(first) = lines.first() else { return 0 };
    let is_test = TESTS.iter().any(|beginning| first.starts_with(beginning));
    let is_python = first.starts_with("File \"") || first.starts_with("Traceback (");
    if is_test || is_python || is_place(first) {
        let exception = lines.iter().position(|line| exception_in(line).is_some());
        let of_test = || {
            let is_more = |line: &&str| is_place(line) || KNOWN_OF_TEST.iter().any(|known| line.starts_with(known));
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

/// `thread 'tests::adds' panicked at src/lib.rs:10:5:`, and below it the message.
fn is_panic(line: &str) -> bool {
    line.starts_with("thread '") && line.contains(" panicked at ") && line.ends_with(':')
}

/// `  left: 380`, ` right: 375`.
fn is_value(line: &str) -> bool {
    line.starts_with("left: ") || line.starts_with("right: ")
}

/// Whether a line says only where: `File "cart.py", line 2, in load`, `at total (cart.js:2:9)`, `/srv/cart.js:2`.
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
        assert_eq!(gist_of(text), expected, "of {text}");
    }

    #[test]
    fn the_message_is_told_and_not_the_place_above_it() {
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
    fn what_begins_with_its_message_is_told_from_there() {
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
