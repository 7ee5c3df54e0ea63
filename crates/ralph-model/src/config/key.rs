//! The types of the key table: keys and sections.

use toml_edit::Value;

use super::keys::SECTIONS;
use super::{Config, Kind};

/// The default of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Initial {
    Value(&'static str),
    /// No value; this is an example.
    Unset(&'static str),
    /// No value, and setting it has no effect.
    Ignored,
}

/// Whether a project's value needs the user's confirmation. Values from the user configuration, the environment and
/// flags never do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confirm {
    No,
    Any,
    /// Like `Any`; the value is a command or a list of commands, whose scripts are confirmed too.
    Runs,
    /// All values except these need confirmation. They are ordered, strictest first; a value less strict than the
    /// user's also needs confirmation.
    Unless(&'static [&'static str]),
    /// A value above the user's limit needs confirmation.
    Limit,
    /// A path outside the project is refused unless the user configuration allows it.
    Path,
    /// Only the user configuration may set it.
    UserOnly,
}

impl Confirm {
    /// Whether a project's value needs confirmation.
    pub(super) fn covers(self, value: &Value) -> bool {
        match self {
            Self::No | Self::Limit | Self::Path | Self::UserOnly => false,
            Self::Any | Self::Runs => true,
            Self::Unless(harmless) => {
                let text = value
                    .as_str()
                    .map_or_else(|| value.to_string().trim().to_owned(), str::to_owned);
                !harmless.contains(&text.as_str())
            }
        }
    }
}

/// A key of a section.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    pub section: &'static str,
    /// The name within the section, dotted if it is in a nested table.
    pub name: &'static str,
    pub kind: Kind,
    pub initial: Initial,
    pub confirm: Confirm,
    /// One sentence for help and the reference.
    pub about: &'static str,
    pub(super) set: fn(&mut Config, &Value) -> Option<()>,
}

impl Key {
    pub(super) fn is(&self, config: &Config, text: &str) -> bool {
        let mut same = config.clone();
        let value = self.kind.value_of_text(text);
        value.is_some_and(|value| (self.set)(&mut same, &value).is_some()) && same == *config
    }

    /// Its default as TOML; `None` if it has none.
    #[must_use]
    pub fn default_text(&self) -> Option<&'static str> {
        match self.initial {
            Initial::Value(text) => Some(text),
            Initial::Unset(_) | Initial::Ignored => None,
        }
    }

    /// Such as `memories.filter.types`.
    #[must_use]
    pub fn full_name(&self) -> String {
        format!("{}.{}", self.section, self.name)
    }

    /// The environment variable that overrides it, such as `RALPH_MEMORIES_FILTER_TYPES`.
    #[must_use]
    pub fn environment_name(&self) -> String {
        let mut name = String::new();
        self.write_environment_name(&mut name);
        name
    }

    /// Writes the variable's name into a reused buffer, because every start asks for all names.
    pub(super) fn write_environment_name(&self, text: &mut String) {
        text.clear();
        text.push_str("RALPH_");
        let characters = self.section.chars().chain(['_']).chain(self.name.chars());
        text.extend(characters.map(|c| if c == '.' { '_' } else { c.to_ascii_uppercase() }));
    }

    /// Sets it. `None`, with nothing changed, if the value has the wrong type.
    pub(super) fn set(&self, config: &mut Config, value: &Value) -> Option<()> {
        (self.set)(config, value)
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Section {
    pub name: &'static str,
    /// One sentence for help and the reference.
    pub about: &'static str,
    pub keys: &'static [Key],
}

impl Section {
    pub(super) fn find(name: &str) -> Option<&'static Self> {
        SECTIONS.iter().find(|section| section.name == name)
    }

    pub(super) fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }

    /// Whether dotted keys begin with this name.
    pub(super) fn has_group(&self, name: &str) -> bool {
        let in_group = |key: &Key| key.name.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'));
        self.keys.iter().any(in_group)
    }
}
