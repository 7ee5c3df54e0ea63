//! Settings of an earlier tool's `.ralph/config.sh`, read as text. Nothing of it is ever run.

use super::Override;

/// What a settings file of an earlier tool gave.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Takeover {
    /// What can be taken over.
    pub overrides: Vec<Override>,
    /// What could not, for a person to look at.
    pub skipped: Vec<Skipped>,
}

/// A line that sets something known in a way that is not understood without a shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Its number, from 1.
    pub line: usize,
    /// The variable it sets.
    pub variable: &'static str,
    /// Why it was left out.
    pub reason: String,
}

/// The variables that are taken over, and the keys of `[guardrails]` that they become.
const VARIABLES: [(&str, &str); 2] = [("MEMORIES_ENABLED", "enabled"), ("MEMORIES_BUDGET", "budget")];

/// Signs that a shell does something with, so that the text is not the value.
const SHELL_SIGNS: [char; 14] = ['$', '`', '\\', '(', ')', '{', '}', '*', '?', '|', '&', '<', '>', '~'];

/// Reads `MEMORIES_ENABLED` and `MEMORIES_BUDGET` into `[guardrails]`.
///
/// A later line comes later in the result, and so wins, as it does in a shell.
#[must_use]
pub fn from_config_sh(text: &str) -> Takeover {
    let mut takeover = Takeover::default();
    for (at, line) in text.lines().enumerate() {
        for (variable, key) in VARIABLES {
            match read_line(line, variable).map(|value| setting(key, value?)) {
                None => {}
                Some(Ok(setting)) => takeover.overrides.push(setting),
                Some(Err(reason)) => takeover.skipped.push(Skipped {
                    line: at + 1,
                    variable,
                    reason,
                }),
            }
        }
    }
    takeover
}

/// The value that a line gives to a variable, or why it cannot be told; `None` when the line does not set it.
fn read_line<'a>(line: &'a str, variable: &str) -> Option<Result<&'a str, String>> {
    let line = line.trim();
    if line.starts_with('#') {
        return None;
    }
    let assignment = line
        .strip_prefix("export")
        .filter(|rest| rest.starts_with([' ', '\t']))
        .unwrap_or(line);
    match assignment
        .trim_start()
        .strip_prefix(variable)
        .and_then(|rest| rest.strip_prefix('='))
    {
        Some(written) => Some(read_value(written)),
        // `: ${NAME:=1}`, `declare NAME=1` and the like also set it; saying nothing would lose the setting in silence.
        None => sets_otherwise(line, variable).then(|| Err("it is not a plain assignment".to_owned())),
    }
}

/// The text of a value as a shell would see it: without quotes, without a comment after it.
fn read_value(written: &str) -> Result<&str, String> {
    let (value, rest) = match written.chars().next() {
        Some(quote @ ('"' | '\'')) => written
            .get(1..)
            .and_then(|inner| inner.split_once(quote))
            .ok_or_else(|| "its quote is not closed on the line".to_owned())?,
        _ => written.split_at(written.find([' ', '\t', ';']).unwrap_or(written.len())),
    };
    if value.contains(SHELL_SIGNS) {
        return Err("only a shell could tell its value".to_owned());
    }
    let rest = rest.trim_start_matches(';');
    let after = rest.trim_start();
    let comment = after.starts_with('#') && rest.len() > after.len();
    if after.is_empty() || comment {
        Ok(value)
    } else {
        Err("more than a value stands on the line".to_owned())
    }
}

/// Whether the line seems to set the variable in some other form: its name, then `=`, `+=` or `:=`.
fn sets_otherwise(line: &str, variable: &str) -> bool {
    line.match_indices(variable).any(|(at, name)| {
        let before = line.get(..at).and_then(|text| text.chars().next_back());
        let after = line.get(at + name.len()..).unwrap_or_default();
        let whole = before.is_none_or(|sign| !sign.is_alphanumeric() && sign != '_');
        whole && ["=", "+=", ":="].iter().any(|sign| after.starts_with(sign))
    })
}

/// The setting of a key of `[guardrails]`, or why the value is none.
fn setting(key: &str, value: &str) -> Result<Override, String> {
    let parsed = match value {
        "true" => Override::new("guardrails", key, true),
        "false" => Override::new("guardrails", key, false),
        _ => match value.parse::<i64>() {
            Ok(number) => Override::new("guardrails", key, number),
            Err(_) => Override::new("guardrails", key, value),
        },
    };
    parsed.map_err(|refusal| refusal.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a text gives: `key=value` for each setting, `line: reason` for each skipped line.
    fn check(text: &str, settings: &[&str], skipped: &[&str]) {
        let takeover = from_config_sh(text);
        let found: Vec<String> = takeover
            .overrides
            .iter()
            .map(|o| format!("{}={}", o.key(), o.value()))
            .collect();
        assert_eq!(found, settings, "{text:?}");
        let reasons: Vec<String> = takeover
            .skipped
            .iter()
            .map(|s| format!("{}: {}", s.line, s.reason))
            .collect();
        assert_eq!(reasons, skipped, "{text:?}");
        assert!(takeover.overrides.iter().all(|o| o.section() == "guardrails"));
    }

    #[test]
    fn plain_assignments_are_taken_over() {
        check(
            "MEMORIES_ENABLED=true\nMEMORIES_BUDGET=2000\n",
            &["enabled=true", "budget=2000"],
            &[],
        );
        check("export MEMORIES_ENABLED=false  # not now\r\n", &["enabled=false"], &[]);
        check("  export\tMEMORIES_BUDGET=\"1500\"\t# tokens", &["budget=1500"], &[]);
        check("MEMORIES_BUDGET='0';", &["budget=0"], &[]);
        check("MEMORIES_BUDGET=1\nMEMORIES_BUDGET=2", &["budget=1", "budget=2"], &[]);
    }

    #[test]
    fn other_lines_say_nothing() {
        for text in [
            "",
            "#!/bin/bash\n# MEMORIES_BUDGET=1\nOTHER=$(date)\n",
            "MY_MEMORIES_BUDGET=1",
            "MEMORIES_BUDGETS=1",
            "if [ \"$MEMORIES_ENABLED\" = true ]; then echo $MEMORIES_BUDGET; fi",
            "exportMEMORIES=1",
        ] {
            check(text, &[], &[]);
        }
    }

    #[test]
    fn what_only_a_shell_could_tell_is_reported() {
        let shell = "only a shell could tell its value";
        let form = "it is not a plain assignment";
        for (line, reason) in [
            ("MEMORIES_BUDGET=$((1000*2))", shell),
            ("MEMORIES_BUDGET=`cat x`", shell),
            ("MEMORIES_ENABLED=\"${MEMORIES_ENABLED:-true}\"", shell),
            ("MEMORIES_ENABLED=tr\\ue", shell),
            (": ${MEMORIES_BUDGET:=2000}", form),
            ("declare -x MEMORIES_BUDGET=2000", form),
            ("MEMORIES_BUDGET+=1", form),
            ("if true; then MEMORIES_ENABLED=false; fi", form),
            ("MEMORIES_BUDGET=1 run", "more than a value stands on the line"),
            ("MEMORIES_BUDGET=1; rm -rf x", "more than a value stands on the line"),
            ("MEMORIES_BUDGET=\"1\"#2", "more than a value stands on the line"),
            ("MEMORIES_BUDGET=\"1", "its quote is not closed on the line"),
            ("MEMORIES_BUDGET='", "its quote is not closed on the line"),
            (
                "MEMORIES_BUDGET=1#2",
                "guardrails.budget is \"1#2\"; allowed is a whole number from 0 to 4294967295",
            ),
            (
                "MEMORIES_BUDGET=-1",
                "guardrails.budget is -1; allowed is a whole number from 0 to 4294967295",
            ),
            (
                "MEMORIES_ENABLED=yes",
                "guardrails.enabled is \"yes\"; allowed is true or false",
            ),
            (
                "MEMORIES_ENABLED=",
                "guardrails.enabled is \"\"; allowed is true or false",
            ),
        ] {
            check(&format!("\n{line}\n"), &[], &[&format!("2: {reason}")]);
        }
    }
}
