//! Sets a key in the text of a configuration file without changing anything else.

use std::ops::Range;

use toml_edit::Document;

use super::Override;

/// Sets a key. `None` if the text is not TOML or has something other than a value at the key.
#[must_use]
pub fn with_setting(text: &str, setting: &Override) -> Option<String> {
    let document = Document::parse(text).ok()?;
    let changed = match find(&document, setting) {
        Found::Value(span) => {
            let (before, after) = (text.get(..span.start)?, text.get(span.end..)?);
            format!("{before}{}{after}", setting.value())
        }
        Found::Nothing => inserted(text, setting),
        Found::Other => return None,
    };
    Document::parse(changed.as_str()).is_ok().then_some(changed)
}

/// What the file has at a key.
enum Found {
    /// The byte range of its value.
    Value(Range<usize>),
    Nothing,
    Other,
}

fn find(document: &Document<&str>, setting: &Override) -> Found {
    let mut item = document.as_item();
    for word in std::iter::once(setting.section()).chain(setting.key().split('.')) {
        let Some(table) = item.as_table_like() else {
            return Found::Other;
        };
        match table.get(word) {
            Some(inner) => item = inner,
            None => return Found::Nothing,
        }
    }
    let span = item.as_value().and_then(|_| item.span());
    span.map_or(Found::Other, Found::Value)
}

/// Inserts a line after the comment with the key's default, else after the section's heading.
fn inserted(text: &str, setting: &Override) -> String {
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let line = format!("{} = {}{end}", setting.key(), setting.value());
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let heading = format!("[{}]", setting.section());
    let Some(first) = lines.iter().position(|line| line.trim() == heading) else {
        let gap = match text {
            "" => "",
            text if text.ends_with('\n') => end,
            _ => &format!("{end}{end}"),
        };
        return format!("{text}{gap}{heading}{end}{line}");
    };
    let in_section = lines.iter().enumerate().skip(first + 1);
    let mut in_section = in_section.take_while(|(_, line)| !line.trim_start().starts_with('['));
    let shows_default = |line: &str| {
        let comment = line.trim().strip_prefix('#').map(str::trim_start);
        let comment = comment.map(|comment| comment.strip_prefix("Not set. For example: ").unwrap_or(comment));
        let rest = comment.and_then(|comment| comment.strip_prefix(setting.key()));
        rest.is_some_and(|rest| rest.trim_start().starts_with('='))
    };
    let place = in_section.find(|(_, line)| shows_default(line));
    let place = place.map_or(first, |(place, _)| place);
    let (before, after) = lines.split_at(place + 1);
    let mut before = before.concat();
    if !before.ends_with('\n') {
        before.push_str(end);
    }
    format!("{before}{line}{}", after.concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, template};

    fn set(text: &str, key: &str, value: &str) -> Option<String> {
        with_setting(text, &Override::parse(key, value).unwrap())
    }

    #[test]
    fn key_is_set_in_place_and_the_rest_is_unchanged() {
        for (text, key, value, expected) in [
            ("", "memories.budget", "5", "[memories]\nbudget = 5\n"),
            ("# mine", "memories.budget", "5", "# mine\n\n[memories]\nbudget = 5\n"),
            (
                "[memories]\r\nbudget = 1 # why\r\n",
                "memories.budget",
                "5",
                "[memories]\r\nbudget = 5 # why\r\n",
            ),
            (
                "[memories]\n# budget = 2000\n# more\n\n[agent]\nkind = \"acp\"\n",
                "memories.budget",
                "5",
                "[memories]\n# budget = 2000\nbudget = 5\n# more\n\n[agent]\nkind = \"acp\"\n",
            ),
            (
                "[agent]\nkind = \"acp\"",
                "agent.permissions",
                "full",
                "[agent]\npermissions = \"full\"\nkind = \"acp\"",
            ),
            (
                "memories = { budget = 1 }\n",
                "memories.budget",
                "5",
                "memories = { budget = 5 }\n",
            ),
            (
                "[memories.filter]\ntypes = []\n",
                "memories.filter.types",
                "fix, pattern",
                "[memories.filter]\ntypes = [\"fix\", \"pattern\"]\n",
            ),
        ] {
            assert_eq!(set(text, key, value).as_deref(), Some(expected), "{text:?} {key}");
        }
        assert_eq!(set("[memories", "memories.budget", "5"), None);
        assert_eq!(set("[memories.budget]\nx = 1\n", "memories.budget", "5"), None);
    }

    #[test]
    fn keys_of_the_template_can_be_set() {
        let text = template(&[]);
        for (key, value) in [
            ("memories.filter.types", "fix"),
            ("agent.command", "claude"),
            ("verify.commands", "make test"),
            ("limits.wall_clock", "8h"),
            ("ui.color", "never"),
        ] {
            let changed = set(&text, key, value).unwrap();
            assert_eq!(changed.lines().count(), text.lines().count() + 1, "{key}");
            let loaded = Config::load(Some(("x", &changed)), &|_| None).unwrap();
            assert!(loaded.origin(key).is_some(), "{key}");
        }
    }

    #[test]
    fn invalid_keys_and_values_are_refused() {
        assert!(Override::parse("memories.budget", "many").is_err());
        assert!(Override::parse("memories.bugdet", "1").is_err());
        assert!(Override::parse("memories", "1").is_err());
    }
}
