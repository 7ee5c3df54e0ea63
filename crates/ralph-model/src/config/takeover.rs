//! Reads an earlier tool's settings from `.ralph/config.sh` as text, without running it.

use super::Override;

/// The settings found in the file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Takeover {
    pub overrides: Vec<Override>,
    /// Lines that a person has to check.
    pub skipped: Vec<Skipped>,
}

/// A line that sets a known variable in a way that only a shell can evaluate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Counted from 1.
    pub line: usize,
    pub variable: &'static str,
    /// Why it was skipped.
    pub reason: String,
}

/// The variables and the `[guardrails]` keys they become.
const VARIABLES: [(&str, &str); 2] = [("MEMORIES_ENABLED", "enabled"), ("MEMORIES_BUDGET", "budget")];

/// Characters that a shell interprets, so that the text is not the value.
const SHELL_CHARS: [char; 14] = ['$', '`', '\\', '(', ')', '{', '}', '*', '?', '|', '&', '<', '>', '~'];

/// Reads `MEMORIES_ENABLED` and `MEMORIES_BUDGET` into `[guardrails]`.
///
/// Later lines come later in the result and win, as in a shell.
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

/// The value that a line assigns to a variable, or why it is unknown; `None` if the line does not set it.
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
        // `: ${NAME:=1}`, `declare NAME=1` and the like also set it; the setting must not be lost silently.
        None => sets_in_another_form(line, variable).then(|| Err("not a plain assignment".to_owned())),
    }
}

/// The value as a shell would see it, without quotes and trailing comment.
fn read_value(written: &str) -> Result<&str, String> {
    let (value, rest) = match written.chars().next() {
        Some(quote @ ('"' | '\'')) => written
            .get(1..)
            .and_then(|inner| inner.split_once(quote))
            .ok_or_else(|| "unclosed quote".to_owned())?,
        _ => written.split_at(written.find([' ', '\t', ';']).unwrap_or(written.len())),
    };
    if value.contains(SHELL_CHARS) {
        return Err("the value needs a shell to evaluate".to_owned());
    }
    let rest = rest.trim_start_matches(';');
    let after = rest.trim_start();
    let comment = after.starts_with('#') && rest.len() > after.len();
    if after.is_empty() || comment {
        Ok(value)
    } else {
        Err("the line has more than a value".to_owned())
    }
}

/// Whether the line seems to set the variable in another form: its name, then `=`, `+=` or `:=`.
fn sets_in_another_form(line: &str, variable: &str) -> bool {
    line.match_indices(variable).any(|(at, name)| {
        let before = line.get(..at).and_then(|text| text.chars().next_back());
        let after = line.get(at + name.len()..).unwrap_or_default();
        let whole = before.is_none_or(|c| !c.is_alphanumeric() && c != '_');
        whole && ["=", "+=", ":="].iter().any(|operator| after.starts_with(operator))
    })
}

/// The setting of a `[guardrails]` key, or why the value is invalid.
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

    /// Compares settings as `key=value` and skipped lines as `line: reason`.
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
    fn plain_assignments_are_imported() {
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
    fn other_lines_are_ignored() {
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
    fn values_that_need_a_shell_are_reported() {
        let shell = "the value needs a shell to evaluate";
        let form = "not a plain assignment";
        for (line, reason) in [
            ("MEMORIES_BUDGET=$((1000*2))", shell),
            ("MEMORIES_BUDGET=`cat x`", shell),
            ("MEMORIES_ENABLED=\"${MEMORIES_ENABLED:-true}\"", shell),
            ("MEMORIES_ENABLED=tr\\ue", shell),
            (": ${MEMORIES_BUDGET:=2000}", form),
            ("declare -x MEMORIES_BUDGET=2000", form),
            ("MEMORIES_BUDGET+=1", form),
            ("if true; then MEMORIES_ENABLED=false; fi", form),
            ("MEMORIES_BUDGET=1 run", "the line has more than a value"),
            ("MEMORIES_BUDGET=1; rm -rf x", "the line has more than a value"),
            ("MEMORIES_BUDGET=\"1\"#2", "the line has more than a value"),
            ("MEMORIES_BUDGET=\"1", "unclosed quote"),
            ("MEMORIES_BUDGET='", "unclosed quote"),
            (
                "MEMORIES_BUDGET=1#2",
                "guardrails.budget is \"1#2\"; expected a whole number from 0 to 4294967295",
            ),
            (
                "MEMORIES_BUDGET=-1",
                "guardrails.budget is -1; expected a whole number from 0 to 4294967295",
            ),
            (
                "MEMORIES_ENABLED=yes",
                "guardrails.enabled is \"yes\"; expected true or false",
            ),
            (
                "MEMORIES_ENABLED=",
                "guardrails.enabled is \"\"; expected true or false",
            ),
        ] {
            check(&format!("\n{line}\n"), &[], &[&format!("2: {reason}")]);
        }
    }
}
