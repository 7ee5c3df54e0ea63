//! The reference page of the configuration, generated from the key table.

use super::keys::{SECTIONS, keys};
use super::{Confirm, Initial, Key};

const OPENING: &str = r#"# Configuration

ralph reads `.ralph.toml` in the project root and your user configuration, `$XDG_CONFIG_HOME/ralph/config.toml` (default: `~/.config/ralph/config.toml`), which has the same keys. Both are optional; `ralph init` writes a file with every key and its default.

- Precedence: flag, environment variable, `.ralph.toml`, user configuration, default. A list in `.ralph.toml` replaces the user's list. The environment variable of a key is `RALPH_`, the section and the key, in upper case: `RALPH_MEMORIES_BUDGET`, `RALPH_MEMORIES_FILTER_TYPES`. A list in a variable is separated by commas, or written as in the file. An empty variable counts as unset.
- For a limit, 0 means unlimited.
- A time is a string of numbers with `d`, `h`, `m` or `s`, such as `"1h30m"`, or a whole number of seconds.
- A size is a string such as `"256 MiB"` or `"64KiB"`, or a whole number of bytes.
- In budgets, a token is four characters.
- An unknown key is ignored with a warning; `ralph doctor` reports it as an error.
- A path in `.ralph.toml` outside the project is refused unless your user configuration allows its folder (`[paths] allow_outside`).
- A value in `.ralph.toml` that is less strict than your user configuration also needs confirmation: a higher limit in `[limits]`, `verify.unverified` from retry to review, `learning.promote` from review to evidence.
"#;

const CONFIRMED: &str = "- These keys of `.ralph.toml` weaken protection or run commands. `ralph run` asks once before it uses them; until then they have no effect. In your user configuration, the environment and flags they need no confirmation: ";

/// The page in Markdown, with a table per section.
#[must_use]
pub fn reference() -> String {
    let mut page = OPENING.to_owned();
    let confirmed: Vec<String> = keys().filter_map(confirmed).collect();
    page.push_str(&format!("{CONFIRMED}{}.\n", confirmed.join(", ")));
    for section in SECTIONS {
        page.push_str(&format!(
            "\n## `[{}]`\n\n{}\n\n| key | default | values | description |\n|---|---|---|---|\n",
            section.name, section.about
        ));
        for key in section.keys {
            page.push_str(&row(key));
        }
    }
    page
}

pub fn environment_names() -> impl Iterator<Item = (String, &'static Key)> {
    keys().map(|key| (key.environment_name(), key))
}

/// A key that needs confirmation, with the values that do not.
fn confirmed(key: &Key) -> Option<String> {
    let name = format!("`{}`", key.full_name());
    match key.confirm {
        Confirm::Any | Confirm::Runs => Some(name),
        Confirm::Unless(harmless) => Some(format!("{name} (unless {})", harmless.join(" or "))),
        Confirm::No | Confirm::Limit | Confirm::Path | Confirm::UserOnly => None,
    }
}

fn row(key: &Key) -> String {
    let default = match key.initial {
        Initial::Value(text) => format!("`{text}`"),
        Initial::Unset(_) => "not set".to_owned(),
        Initial::Ignored => "ignored".to_owned(),
    };
    let allowed = key.kind.to_string();
    let cells = [format!("`{}`", key.name), default, allowed, key.about.to_owned()];
    // A bar would end the cell.
    let cells = cells.map(|cell| cell.replace('|', "\\|"));
    format!("| {} |\n", cells.join(" | "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_has_every_key_in_its_section() {
        let page = reference();
        for section in SECTIONS {
            let heading = format!("\n## `[{}]`\n", section.name);
            let (_, rest) = page.split_once(&heading).unwrap();
            let body = rest.split_once("\n## ").map_or(rest, |(body, _)| body);
            let rows: Vec<&str> = body.lines().filter(|line| line.starts_with("| `")).collect();
            assert_eq!(rows.len(), section.keys.len(), "{}", section.name);
            for (row, key) in rows.iter().zip(section.keys) {
                assert!(row.starts_with(&format!("| `{}` | ", key.name)), "{row}");
                assert!(row.ends_with(&format!(" | {} |", key.about)), "{row}");
                assert_eq!(row.replace("\\|", "").matches('|').count(), 5, "{row}");
            }
        }
    }

    #[test]
    fn rows_have_default_and_values() {
        let page = reference();
        for row in [
            "| `inject` | `\"auto\"` | \"auto\", \"manual\" or \"none\" | What is injected",
            "| `cost_usd` | not set | a number, 0 or more | ",
            "| `learn` | ignored | anything | ",
        ] {
            assert!(page.contains(row), "{row}");
        }
    }

    #[test]
    fn every_key_has_a_variable() {
        let names: Vec<String> = environment_names().map(|(name, _)| name).collect();
        assert_eq!(names.len(), keys().count());
        assert_eq!(names.first().map(String::as_str), Some("RALPH_MEMORIES_ENABLED"));
        assert_eq!(names.last().map(String::as_str), Some("RALPH_UI_LIVE"));
    }
}
