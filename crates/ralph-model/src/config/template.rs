//! The file that `ralph init` writes: every key with its default as a comment, and given settings as active lines.

use toml_edit::Value;

use super::keys::SECTIONS;
use super::{Config, Confirm, Initial, Key, Kind, Refusal, Section};

const HEADER: &str = "\
# Configuration of ralph for this project. Each commented line is a default; remove the `#` to change it.
# Environment variables override this file: RALPH_MEMORIES_BUDGET overrides `budget` of [memories].
";

/// A valid setting for an active line of the new file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Override {
    section: &'static str,
    key: &'static str,
    value: String,
}

impl Override {
    /// Sets a key, named as in the file (`filter.types` of `memories`).
    ///
    /// # Errors
    /// If the key is unknown or the value invalid.
    pub fn new(section: &str, key: &str, value: impl Into<Value>) -> Result<Self, Refusal> {
        let value = value.into();
        let known = Section::find(section)
            .and_then(|section| section.key(key))
            .ok_or_else(|| Refusal::unknown(&format!("{section}.{key}")))?;
        let text = value.to_string().trim().to_owned();
        known
            .set(&mut Config::default(), &value)
            .ok_or_else(|| Refusal::value(&known.full_name(), &text, known.kind))?;
        Ok(Self {
            section: known.section,
            key: known.name,
            value: text,
        })
    }

    /// Sets a key by its full name to a value written as in an environment variable.
    ///
    /// # Errors
    /// If the key is unknown or the value invalid.
    pub fn parse(full_name: &str, text: &str) -> Result<Self, Refusal> {
        let (section, key) = full_name.split_once('.').unwrap_or((full_name, ""));
        let kind = Section::find(section).and_then(|section| Some(section.key(key)?.kind));
        let kind = kind.ok_or_else(|| Refusal::unknown(full_name))?;
        let refused = || Refusal::value(full_name, &format!("{text:?}"), kind);
        let value = kind.value_of_text(text).ok_or_else(refused)?;
        Self::new(section, key, value)
    }

    #[must_use]
    pub fn section(&self) -> &'static str {
        self.section
    }

    #[must_use]
    pub fn key(&self) -> &'static str {
        self.key
    }

    #[must_use]
    pub fn value(&self) -> &str {
        &self.value
    }

    fn is_of(&self, key: &Key) -> bool {
        self.section == key.section && self.key == key.name
    }
}

/// A commented `.ralph.toml`. The last override of a key wins.
#[must_use]
pub fn template(overrides: &[Override]) -> String {
    let mut text = HEADER.to_owned();
    let is_for_projects = |key: &&Key| key.confirm != Confirm::UserOnly;
    for section in SECTIONS
        .iter()
        .filter(|section| section.keys.iter().any(|key| is_for_projects(&key)))
    {
        text.push_str(&format!("\n# {}\n[{}]\n", section.about, section.name));
        for key in section.keys.iter().filter(is_for_projects) {
            let set = overrides.iter().rev().find(|setting| setting.is_of(key));
            push_key(&mut text, key, set);
        }
    }
    text
}

fn push_key(text: &mut String, key: &Key, set: Option<&Override>) {
    let line = match (set, key.initial) {
        (Some(set), _) => format!("{} = {}", key.name, set.value),
        (None, Initial::Value(default)) => format!("# {} = {default}", key.name),
        (None, Initial::Unset(example)) => format!("# Not set. For example: {} = {example}", key.name),
        // Keys without effect are left out.
        (None, Initial::Ignored) => return,
    };
    let allowed = match key.kind {
        Kind::OneOf(_) => format!("# Values: {}.\n", key.kind),
        _ => String::new(),
    };
    text.push_str(&format!("# {}\n{allowed}{line}\n", key.about));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tokens;
    use crate::config::{Inject, Loaded, StrategyName, keys};

    fn load(text: &str) -> Loaded {
        Config::load(Some((".ralph.toml", text)), &|_| None).unwrap()
    }

    /// The template with the default lines uncommented.
    fn uncommented() -> String {
        let defaults: Vec<String> = keys()
            .filter_map(|key| Some(format!("# {} = {}", key.name, key.default_text()?)))
            .collect();
        let text = template(&[]);
        let shown = text
            .lines()
            .filter(|line| defaults.iter().any(|default| default == line))
            .count();
        assert_eq!(shown, defaults.len());
        let activate = |line: &str| match defaults.iter().any(|default| default == line) {
            true => line.replacen("# ", "", 1),
            false => line.to_owned(),
        };
        text.lines().map(|line| activate(line) + "\n").collect()
    }

    #[test]
    fn template_is_the_default() {
        assert_eq!(load(&template(&[])), Loaded::default());
    }

    #[test]
    fn active_defaults_are_the_default() {
        let text = uncommented();
        assert!(text.contains("\nbudget = 2000\n") && text.contains("\nfilter.types = []\n"));
        assert!(!text.contains("\n# budget ="));
        let loaded = load(&text);
        assert_eq!((loaded.config, loaded.unconfirmed), Default::default());
        assert_eq!((loaded.restricted, loaded.warnings), Default::default());
    }

    #[test]
    fn every_example_is_valid() {
        let text = template(&[]).replace("# Not set. For example: ", "");
        let loaded = load(&text);
        assert_eq!(loaded.warnings, []);
        assert_eq!(loaded.config.strategy.name, Some(StrategyName::Escalate));
        assert_eq!(loaded.config.limits.tokens, Some(5_000_000));
    }

    #[test]
    fn only_overrides_are_active() {
        let overrides = [
            Override::new("memories", "budget", 1).unwrap(),
            Override::new("memories", "inject", "manual").unwrap(),
            Override::new(
                "memories",
                "filter.tags",
                ["a b", "quote\"d"].into_iter().collect::<Value>(),
            )
            .unwrap(),
            Override::new("memories", "budget", 123).unwrap(),
            Override::new("execution", "learn", true).unwrap(),
        ];
        let text = template(&overrides);
        let mut expected = Config::default();
        expected.memories.budget = Tokens(123);
        expected.memories.inject = Inject::Manual;
        expected.memories.filter.tags = crate::Tags::new(["a b", "quote\"d"]).unwrap();
        assert_eq!(load(&text).config, expected);
        assert_eq!(load(&text).warnings, []);
        assert_eq!(text.lines().filter(|line| line.starts_with("budget =")).count(), 1);
        assert_eq!(text.lines().filter(|line| *line == "# budget = 2000").count(), 1);
    }

    #[test]
    fn invalid_overrides_are_refused() {
        for (section, key, expected) in [
            (
                "memories",
                "inject",
                r#"memories.inject is "always"; expected "auto", "manual" or "none""#,
            ),
            (
                "memories",
                "bugdet",
                "memories.bugdet is not a known key; expected a key from the configuration reference",
            ),
            (
                "nothing",
                "budget",
                "nothing.budget is not a known key; expected a key from the configuration reference",
            ),
        ] {
            assert_eq!(Override::new(section, key, "always").unwrap_err().to_string(), expected);
        }
    }
}
