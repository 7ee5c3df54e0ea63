//! What the table of keys is made of: a key, and the section it stands in.

use toml_edit::Value;

use super::keys::SECTIONS;
use super::{Config, Kind};

/// What a key is when nobody sets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Initial {
    /// This TOML value.
    Value(&'static str),
    /// Nothing; this is what a value could look like.
    Unset(&'static str),
    /// Nothing, and setting it has no effect.
    Ignored,
}

/// Whether a value in the file of a project counts before the user has confirmed it. What the user's own configuration, the
/// environment or a flag says always counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confirm {
    /// It counts at once.
    No,
    /// Every value needs confirmation.
    Any,
    /// The same, and the value is a command or a list of commands: the scripts that they name are confirmed too.
    Runs,
    /// Every value but these needs confirmation. They are in order, the strictest first: one that is less strict than the
    /// user's own configuration needs it too.
    Unless(&'static [&'static str]),
    /// A value above the limit that the user's own configuration sets needs confirmation.
    Limit,
    /// A path: it is refused where it leads outside the project, unless the user's own configuration allows that.
    Path,
    /// Only the user's own configuration may set it.
    UserOnly,
}

impl Confirm {
    /// Whether this value of a project needs confirmation.
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
    /// Its section.
    pub section: &'static str,
    /// Its name inside the section, dotted where it stands in a table of its own.
    pub name: &'static str,
    /// What it may hold.
    pub kind: Kind,
    /// What it is when nobody sets it.
    pub initial: Initial,
    /// What it needs to count in the file of a project.
    pub confirm: Confirm,
    /// What it is for, as a sentence.
    pub about: &'static str,
    pub(super) set: fn(&mut Config, &Value) -> Option<()>,
}

impl Key {
    /// Whether it has this value.
    pub(super) fn is(&self, config: &Config, text: &str) -> bool {
        let mut same = config.clone();
        let value = self.kind.value_of_text(text);
        value.is_some_and(|value| (self.set)(&mut same, &value).is_some()) && same == *config
    }

    /// Its default as TOML; `None` when it is not set.
    #[must_use]
    pub fn default_text(&self) -> Option<&'static str> {
        match self.initial {
            Initial::Value(text) => Some(text),
            Initial::Unset(_) | Initial::Ignored => None,
        }
    }

    /// Its full name, such as `memories.filter.types`.
    #[must_use]
    pub fn full_name(&self) -> String {
        format!("{}.{}", self.section, self.name)
    }

    /// The environment variable that wins over it, such as `RALPH_MEMORIES_FILTER_TYPES`.
    #[must_use]
    pub fn environment_name(&self) -> String {
        let mut name = String::new();
        self.write_environment_name(&mut name);
        name
    }

    /// Puts the name of its variable in place of the text: every start asks for every name, so the text is used again.
    pub(super) fn write_environment_name(&self, text: &mut String) {
        text.clear();
        text.push_str("RALPH_");
        let signs = self.section.chars().chain(['_']).chain(self.name.chars());
        text.extend(signs.map(|sign| if sign == '.' { '_' } else { sign.to_ascii_uppercase() }));
    }

    /// Sets it; `None`, with nothing changed, when the value is not of its kind.
    pub(super) fn set(&self, config: &mut Config, value: &Value) -> Option<()> {
        (self.set)(config, value)
    }
}

/// A section with its keys.
#[derive(Debug, Clone, Copy)]
pub struct Section {
    /// Its name.
    pub name: &'static str,
    /// What it is for, as a sentence.
    pub about: &'static str,
    /// Its keys.
    pub keys: &'static [Key],
}

impl Section {
    /// The section of this name.
    pub(super) fn find(name: &str) -> Option<&'static Self> {
        SECTIONS.iter().find(|section| section.name == name)
    }

    /// The key of this name.
    pub(super) fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }

    /// Whether dotted keys begin with this name.
    pub(super) fn has_group(&self, name: &str) -> bool {
        let in_group = |key: &Key| key.name.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'));
        self.keys.iter().any(in_group)
    }
}
