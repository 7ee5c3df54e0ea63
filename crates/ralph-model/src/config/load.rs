//! Loads the configuration: the user's file, then the project's, then the environment. The caller applies flags.

use toml_edit::{Document, Item, TableLike, TomlError, Value};

use super::keys::keys;
use super::nearest::{hint_for_key, hint_for_section};
use super::setting::Setting;
use super::{CommandLine, Config, ConfigError, Confirm, Hint, Initial, Key, Kind, Place, Refusal, Section, Warning};

/// The sources of settings other than flags.
pub struct Sources<'a> {
    /// The user's file: its path for messages, and its text.
    pub user: Option<(&'a str, &'a str)>,
    /// The project's file, which overrides the user's.
    pub project: Option<(&'a str, &'a str)>,
    /// The environment, which overrides both. An empty variable counts as unset.
    pub environment: &'a dyn Fn(&str) -> Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    User,
    Project,
    Environment,
}

/// A setting of the project that needs the user's confirmation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restricted {
    pub key: String,
    /// Its value; one entry per item of a list.
    pub values: Vec<String>,
    /// The commands it runs, whose scripts are confirmed with it.
    pub commands: Vec<CommandLine>,
}

/// A configuration and its warnings.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Loaded {
    /// With restricted settings applied.
    pub config: Config,
    /// Without restricted settings.
    pub unconfirmed: Config,
    /// Settings of the project that need confirmation.
    pub restricted: Vec<Restricted>,
    pub warnings: Vec<Warning>,
    /// Each set key with its source and TOML value; the last one wins.
    origins: Vec<(String, Origin, String)>,
}

impl Loaded {
    /// The source of a key; `None` for a default.
    #[must_use]
    pub fn origin(&self, key: &str) -> Option<Origin> {
        self.set_by(key).map(|(origin, _)| origin)
    }

    /// The source and TOML value of a key; `None` for a default.
    #[must_use]
    pub fn set_by(&self, key: &str) -> Option<(Origin, &str)> {
        let mut set = self.origins.iter().rev();
        let (_, origin, value) = set.find(|(name, ..)| name == key)?;
        Some((*origin, value))
    }
}

/// A configuration and everything wrong with it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Inspected {
    /// Invalid keys have their defaults.
    pub loaded: Loaded,
    /// Those of files first.
    pub errors: Vec<ConfigError>,
    /// Keys that are set but have no effect.
    pub ignored: Vec<(Place, String)>,
}

impl Config {
    /// Loads a project's file, if there is one, and the environment.
    ///
    /// # Errors
    /// If the file is not TOML or a value is invalid.
    pub fn load(
        project: Option<(&str, &str)>,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Loaded, ConfigError> {
        let sources = Sources {
            user: None,
            project,
            environment,
        };
        sources.load()
    }
}

impl Sources<'_> {
    /// Loads all sources.
    ///
    /// # Errors
    /// If a file is not TOML or a value is invalid.
    pub fn load(&self) -> Result<Loaded, ConfigError> {
        let inspected = self.inspect();
        match inspected.errors.into_iter().next() {
            Some(first) => Err(first),
            None => Ok(inspected.loaded),
        }
    }

    /// Loads all sources and collects errors instead of stopping.
    #[must_use]
    pub fn inspect(&self) -> Inspected {
        let mut inspected = Inspected::default();
        for (file, origin) in [(self.user, Origin::User), (self.project, Origin::Project)] {
            if let Some((path, text)) = file {
                let inspected = &mut inspected;
                FileReader {
                    path,
                    text,
                    origin,
                    inspected,
                }
                .read();
            }
        }
        read_environment(&mut inspected, self.environment);
        inspected
    }
}

impl Loaded {
    /// Sets a key. `None`, with nothing changed, if the value has the wrong type.
    fn set(&mut self, key: &Key, value: &Value, origin: Origin) -> Option<()> {
        key.set(&mut self.config, value)?;
        let full_name = key.full_name();
        let mut changed = self.unconfirmed.clone();
        key.set(&mut changed, value)?;
        let loosens = self.origin(&full_name) == Some(Origin::User) && self.loosens(key, &changed);
        let needs_confirmation = origin == Origin::Project && (key.confirm.covers(value) || loosens);
        // A project may repeat a value that is in effect anyway.
        if needs_confirmation && changed != self.unconfirmed {
            self.restricted.push(Restricted::new(key, value));
        } else {
            self.restricted.retain(|restricted| restricted.key != full_name);
            self.unconfirmed = changed;
        }
        self.origins
            .push((full_name, origin, value.to_string().trim().to_owned()));
        Some(())
    }

    /// Whether the changed value is less strict than the one in effect.
    fn loosens(&self, key: &Key, changed: &Config) -> bool {
        match key.confirm {
            Confirm::Limit => changed.limits.exceed(&self.unconfirmed.limits),
            Confirm::Unless(strictest_first) => {
                let position = |config: &Config| strictest_first.iter().position(|text| key.is(config, text));
                position(&self.unconfirmed)
                    .zip(position(changed))
                    .is_some_and(|(before, after)| after > before)
            }
            Confirm::No | Confirm::Any | Confirm::Runs | Confirm::Path | Confirm::UserOnly => false,
        }
    }
}

impl Restricted {
    fn new(key: &Key, value: &Value) -> Self {
        let values = match value.as_array() {
            Some(items) if key.kind != Kind::Command => items.iter().map(display_value).collect(),
            Some(_) | None => vec![display_value(value)],
        };
        let commands = match key.confirm {
            Confirm::Runs if key.kind == Kind::Command => CommandLine::read(value).into_iter().collect(),
            Confirm::Runs => values.iter().cloned().map(CommandLine::Line).collect(),
            _ => Vec::new(),
        };
        Self {
            key: key.full_name(),
            values,
            commands,
        }
    }
}

/// A value for people to read. Words of a command are quoted where needed.
fn display_value(value: &Value) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    let word = |item: &Value| match item.as_str() {
        Some(text) if !text.is_empty() && text.chars().all(is_plain) => text.to_owned(),
        Some(text) => format!("{text:?}"),
        None => item.to_string().trim().to_owned(),
    };
    match (value.as_str(), value.as_array()) {
        (Some(text), _) => text.to_owned(),
        (None, Some(items)) => items.iter().map(word).collect::<Vec<_>>().join(" "),
        (None, None) => value.to_string().trim().to_owned(),
    }
}

fn read_environment(inspected: &mut Inspected, environment: &dyn Fn(&str) -> Option<String>) {
    let mut name = String::with_capacity(64);
    for key in keys() {
        key.write_environment_name(&mut name);
        let Some(text) = environment(&name) else { continue };
        let text = text.trim();
        if text.is_empty() {
            continue;
        }
        let place = Place::Variable(name.clone());
        let value = key.kind.value_of_text(text);
        let set = value.and_then(|value| inspected.loaded.set(key, &value, Origin::Environment));
        if set.is_none() {
            let refusal = Refusal::value(&key.full_name(), &format!("{text:?}"), key.kind);
            inspected.errors.push(ConfigError::Value { place, refusal });
        } else if key.initial == Initial::Ignored {
            inspected.ignored.push((place, key.full_name()));
        }
    }
}

struct FileReader<'a> {
    path: &'a str,
    text: &'a str,
    origin: Origin,
    inspected: &'a mut Inspected,
}

/// An item of the file: its full name, offset and content.
struct Entry<'a> {
    name: &'a str,
    offset: usize,
    item: &'a Item,
}

/// Whether a file has only comments and section headings, as `init` writes it. Such a file is not parsed: every command
/// reads the configuration, and most users never change it.
fn has_no_settings(text: &str) -> bool {
    let mut sections: Vec<&str> = Vec::new();
    text.lines().all(|line| {
        let plain = !line.contains(|c: char| c.is_control() && c != '\t');
        let line = line.trim_matches([' ', '\t']);
        let heading = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let known = heading.is_some_and(|name| Section::find(name).is_some() && !sections.contains(&name));
        sections.extend(heading);
        plain && (line.is_empty() || line.starts_with('#') || known)
    })
}

impl FileReader<'_> {
    fn read(&mut self) {
        if has_no_settings(self.text) {
            return;
        }
        let document = match Document::parse(self.text) {
            Ok(document) => document,
            Err(error) => {
                let error = self.syntax_error(&error);
                self.inspected.errors.push(error);
                return;
            }
        };
        let root = document.as_table();
        for (name, item) in root {
            let entry = Entry {
                name,
                offset: offset_of(root, name),
                item,
            };
            match Section::find(name) {
                Some(section) => self.read_table(section, "", &entry),
                None if item.is_table_like() || item.is_array_of_tables() => {
                    self.warn(&format!("[{name}]"), entry.offset, hint_for_section(name));
                }
                None => self.warn(name, entry.offset, hint_for_section(name)),
            }
        }
    }

    /// Reads the keys of a section, or of the nested table named by `prefix`.
    fn read_table(&mut self, section: &Section, prefix: &str, entry: &Entry<'_>) {
        let Some(table) = entry.item.as_table_like() else {
            let refusal = Refusal::not_a_table(entry.name, &self.written(entry.item));
            self.refuse(entry.offset, refusal);
            return;
        };
        for (word, item) in table.iter() {
            let name = if prefix.is_empty() {
                word.to_owned()
            } else {
                format!("{prefix}.{word}")
            };
            let full_name = format!("{}.{name}", section.name);
            let inner = Entry {
                name: &full_name,
                offset: offset_of(table, word),
                item,
            };
            if let Some(key) = section.key(&name) {
                self.set(key, &inner);
            } else if section.has_group(&name) {
                self.read_table(section, &name, &inner);
            } else {
                self.warn(&full_name, inner.offset, hint_for_key(section, &name));
            }
        }
    }

    fn set(&mut self, key: &Key, entry: &Entry<'_>) {
        if key.confirm == Confirm::UserOnly && self.origin == Origin::Project {
            self.warn(entry.name, entry.offset, Hint::UserOnly);
            return;
        }
        let value = entry.item.as_value();
        let set = value.and_then(|value| self.inspected.loaded.set(key, value, self.origin));
        if set.is_none() {
            let refusal = Refusal::value(entry.name, &self.written(entry.item), key.kind);
            self.refuse(entry.offset, refusal);
        } else if key.initial == Initial::Ignored {
            let place = self.place(entry.offset);
            self.inspected.ignored.push((place, key.full_name()));
        }
    }

    fn warn(&mut self, unknown: &str, offset: usize, hint: Hint) {
        let warning = Warning::new(self.place(offset), unknown, hint);
        self.inspected.loaded.warnings.push(warning);
    }

    fn refuse(&mut self, offset: usize, refusal: Refusal) {
        let place = self.place(offset);
        self.inspected.errors.push(ConfigError::Value { place, refusal });
    }

    fn syntax_error(&self, error: &TomlError) -> ConfigError {
        let offset = error.span().map_or(self.text.len(), |span| span.start);
        let before = self.text.get(..offset).unwrap_or_default();
        let line = before.rsplit('\n').next().unwrap_or_default();
        ConfigError::syntax(self.place(offset), 1 + line.chars().count(), error.message())
    }

    /// The line of an offset, only computed for messages.
    fn place(&self, offset: usize) -> Place {
        let before = self.text.bytes().take(offset);
        Place::Line {
            path: self.path.to_owned(),
            line: 1 + before.filter(|byte| *byte == b'\n').count(),
        }
    }

    /// An item as written in the file.
    fn written(&self, item: &Item) -> String {
        let span = item.as_value().and_then(Value::span);
        match span.and_then(|span| self.text.get(span)) {
            Some(text) => text.to_owned(),
            None if item.is_array_of_tables() => "a list of tables".to_owned(),
            None => "a table".to_owned(),
        }
    }
}

/// The offset of an item's name.
fn offset_of(table: &dyn TableLike, name: &str) -> usize {
    table
        .key(name)
        .and_then(toml_edit::Key::span)
        .map_or(0, |span| span.start)
}

#[cfg(test)]
#[path = "load_tests.rs"]
mod tests;
