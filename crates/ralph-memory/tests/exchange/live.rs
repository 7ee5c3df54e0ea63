//! Random JSON is compared with JavaScript itself, if node is installed: both accept the same texts and print the same
//! text with the same hash.

use std::path::Path;

use ralph_memory::exchange::{compact, indented, parse, sha256};
use ralph_testkit::{Seed, count, node};
use serde_json::Value;

/// Texts tried in the gate.
const TEXTS: usize = 2000;
/// Maximum depth.
const DEPTH: usize = 4;

#[test]
fn javascript_reads_and_writes_the_same() {
    let mut seed = Seed::announced("exchange");
    let mut texts: Vec<String> = Vec::new();
    for _ in 0..count("RALPH_SOAK_EXCHANGE", TEXTS) {
        let text = random_value(&mut seed, DEPTH);
        texts.push(if seed.below(3) == 0 {
            spoiled(&mut seed, &text)
        } else {
            text
        });
    }
    let ours: Vec<Option<Value>> = texts.iter().map(|text| parse(text.as_bytes()).ok()).collect();
    // Our output is read by JavaScript, too.
    let written = ours
        .iter()
        .flatten()
        .flat_map(|value| [compact(value), indented(value)]);
    let again: Vec<String> = written.collect();
    let of_again: Vec<Option<Value>> = again.iter().map(|text| parse(text.as_bytes()).ok()).collect();
    let all = || texts.iter().chain(&again);
    let input: String = all().map(|text| compact(&text.as_str().into()) + "\n").collect();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/exchange/echo.mjs");
    let Some(output) = node(&script, &[], &input) else {
        return;
    };
    let theirs: Vec<&str> = output.lines().collect();
    assert_eq!(theirs.len(), texts.len() + again.len());
    for ((text, our), their) in all().zip(ours.iter().chain(&of_again)).zip(theirs) {
        // JavaScript reads a number beyond its range as infinity, and prints it as null.
        if parse(text.as_bytes()).is_err_and(|problem| problem.to_string().contains("out of range")) {
            continue;
        }
        if our.as_ref().is_some_and(has_numeric_key) {
            continue;
        }
        let expected = match our {
            Some(value) => {
                let (compact, indented) = (compact(value), indented(value));
                let hash = sha256(&compact);
                Value::Array(
                    [compact, indented, hash]
                        .iter()
                        .map(|text| text.as_str().into())
                        .collect(),
                )
            }
            None => Value::Null,
        };
        assert_eq!(parse(their.as_bytes()).unwrap(), expected, "{text:?}");
    }
}

/// JavaScript moves keys that are numbers to the front.
fn has_numeric_key(value: &Value) -> bool {
    match value {
        Value::Array(values) => values.iter().any(has_numeric_key),
        Value::Object(members) => members
            .iter()
            .any(|(name, value)| name.parse::<u32>().is_ok() || has_numeric_key(value)),
        _ => false,
    }
}

fn random_value(seed: &mut Seed, depth: usize) -> String {
    let blank = [" ", "", "\t", "\r\n", ""][seed.below(5)];
    let value = match seed.below(if depth == 0 { 6 } else { 9 }) {
        0 => ["null", "true", "false"][seed.below(3)].to_owned(),
        1 | 2 => random_number(seed),
        3..=5 => random_text(seed),
        6 => {
            let values: Vec<String> = (0..seed.below(5)).map(|_| random_value(seed, depth - 1)).collect();
            format!("[{blank}{}]", values.join(","))
        }
        _ => {
            let mut member = || {
                let name = random_name(seed);
                format!("{name}{blank}:{}", random_value(seed, depth - 1))
            };
            let members: Vec<String> = (0..6).map(|_| member()).collect();
            let kept = members.get(..seed.below(7)).unwrap_or_default();
            format!("{{{blank}{}}}", kept.join(","))
        }
    };
    format!("{blank}{value}{blank}")
}

/// Numbers of all sizes, in all notations.
fn random_number(seed: &mut Seed) -> String {
    let digits = |seed: &mut Seed, most: usize| -> String {
        (0..=seed.below(most))
            .map(|_| char::from(b'0' + u8::try_from(seed.below(10)).unwrap()))
            .collect()
    };
    let sign = ["", "-"][seed.below(2)];
    let whole = match seed.below(3) {
        0 => "0".to_owned(),
        _ => format!("{}{}", 1 + seed.below(9), digits(seed, 22)),
    };
    let fraction = match seed.below(2) {
        0 => String::new(),
        _ => format!(".{}", digits(seed, 20)),
    };
    let exponent = match seed.below(3) {
        0 => format!("{}{}", ["e", "E", "e+", "e-", "E-"][seed.below(5)], seed.below(250)),
        1 => format!("e{}", ["-6", "-7", "20", "21", "22"][seed.below(5)]),
        _ => String::new(),
    };
    format!("{sign}{whole}{fraction}{exponent}")
}

fn random_text(seed: &mut Seed) -> String {
    const PARTS: [&str; 16] = [
        "a", "Z", " ", "é", "😀", "\u{2028}", "\u{7f}", "\u{feff}", "\\n", "\\\"", "\\\\", "\\/", "\\u0000", "\\u001F",
        "\\u00e9", "日",
    ];
    let parts: String = (0..seed.below(6)).map(|_| PARTS[seed.below(PARTS.len())]).collect();
    format!("\"{parts}\"")
}

/// Names, with some duplicates, but not numbers: JavaScript moves these to the front.
fn random_name(seed: &mut Seed) -> String {
    const NAMES: [&str; 7] = ["a", "b", "c", "02", "-1", "4294967296x", "toJSON"];
    match seed.below(3) {
        0 => random_text(seed),
        _ => format!("\"{}\"", NAMES[seed.below(NAMES.len())]),
    }
}

/// A text with a character removed or replaced.
fn spoiled(seed: &mut Seed, text: &str) -> String {
    let mut characters: Vec<char> = text.chars().collect();
    if characters.is_empty() {
        return String::new();
    }
    let at = seed.below(characters.len());
    match seed.below(3) {
        0 => drop(characters.remove(at)),
        1 => characters.insert(at, b"{}[]\",:\\0e-+.\n\tu x".map(char::from)[seed.below(18)]),
        _ => characters[at] = b"{}[]\",:\\0e-+.\n\tu x".map(char::from)[seed.below(18)],
    }
    characters.into_iter().collect()
}
