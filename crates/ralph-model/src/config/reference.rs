//! The reference page of the configuration, made from the table of keys.

use super::keys::{SECTIONS, keys};
use super::{Confirm, Initial, Key};

const OPENING: &str = r#"# Configuration

ralph reads `.ralph.toml` in the root of the project, and your own configuration in `$XDG_CONFIG_HOME/ralph/config.toml` (`~/.config/ralph/config.toml` when that is not set), which has the same keys. All of it may be left out; `ralph init` writes a file that shows every key with its default.

- Precedence: flag, environment variable, `.ralph.toml`, your own configuration, default. A list in `.ralph.toml` replaces your own list. The variable of a key is `RALPH_`, the section and the key, in capitals: `RALPH_MEMORIES_BUDGET`, `RALPH_MEMORIES_FILTER_TYPES`. A list in a variable is separated by commas, or written as in the file. An empty variable counts as not set.
- Where a key bounds something, 0 is no bound.
- A time is a string of numbers with `d`, `h`, `m` or `s`, such as `"1h30m"`, or a whole number of seconds.
- A size is a string such as `"256 MiB"` or `"64KiB"`, or a whole number of bytes.
- Tokens of a budget are four characters each.
- A key that is not known is passed over with a warning; `ralph doctor` counts it as an error.
- A path in `.ralph.toml` that leads outside the project is refused, unless your own configuration allows its folder (`[paths] allow_outside`).
- A value in `.ralph.toml` that is less strict than your own configuration needs the same confirmation: a limit of `[limits]` above yours, `verify.unverified` from retry to review, `learning.promote` from review to evidence.
"#;

const CONFIRMED: &str = "- These keys of `.ralph.toml` weaken protection or run something. `ralph run` shows them and asks once; until then they have no effect. In your own configuration, the environment and flags they need no confirmation: ";

/// The page in Markdown: a table for each section.
#[must_use]
pub fn reference() -> String {
    let mut page = OPENING.to_owned();
    let confirmed: Vec<String> = keys().filter_map(confirmed).collect();
    page.push_str(&format!("{CONFIRMED}{}.\n", confirmed.join(", ")));
    for section in SECTIONS {
        page.push_str(&format!(
            "\n## `[{}]`\n\n{}\n\n| key | default | allowed | meaning |\n|---|---|---|---|\n",
            section.name, section.about
        ));
        for key in section.keys {
            page.push_str(&row(key));
        }
    }
    page
}

/// The environment variable of every key.
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
    // A bar would end its cell early.
    let cells = cells.map(|cell| cell.replace('|', "\\|"));
    format!("| {} |\n", cells.join(" | "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_every_key_under_its_section() {
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
    fn rows_show_default_and_what_is_allowed() {
        let page = reference();
        for row in [
            "| `inject` | `\"auto\"` | \"auto\", \"manual\" or \"none\" | What prompts get",
            "| `cost_usd` | not set | a number, 0 or more | ",
            "| `learn` | ignored | anything | ",
        ] {
            assert!(page.contains(row), "{row}");
        }
    }

    #[test]
    fn every_key_has_its_variable() {
        let names: Vec<String> = environment_names().map(|(name, _)| name).collect();
        assert_eq!(names.len(), keys().count());
        assert_eq!(names.first().map(String::as_str), Some("RALPH_MEMORIES_ENABLED"));
        assert_eq!(names.last().map(String::as_str), Some("RALPH_UI_LIVE"));
    }
}
