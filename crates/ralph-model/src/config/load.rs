//! Reads the configuration: the file, then the environment over it. Flags are laid over the result by the caller.

use toml_edit::{Document, Item, TableLike, TomlError};

use super::keys::keys;
use super::nearest::{hint_for_key, hint_for_section};
use super::{Config, ConfigError, Hint, Key, Place, Refusal, Section, Warning};

/// A configuration, and what in its file was not known.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Loaded {
    /// What holds.
    pub config: Config,
    /// What was passed over.
    pub warnings: Vec<Warning>,
}

impl Config {
    /// Reads the text of the file, if there is one, and lays the environment over it.
    ///
    /// `file` is its path as messages shall name it, and its text. An empty variable counts as not set.
    ///
    /// # Errors
    /// When the file is no TOML, or a key holds what it may not hold.
    pub fn load(
        file: Option<(&str, &str)>,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Loaded, ConfigError> {
        let mut loaded = Loaded::default();
        if let Some((path, text)) = file {
            FileReader {
                path,
                text,
                loaded: &mut loaded,
            }
            .read()?;
        }
        read_environment(&mut loaded.config, environment)?;
        Ok(loaded)
    }
}

/// Lays the environment over the configuration.
fn read_environment(config: &mut Config, environment: &dyn Fn(&str) -> Option<String>) -> Result<(), ConfigError> {
    let mut name = String::with_capacity(64);
    for key in keys() {
        key.write_environment_name(&mut name);
        let Some(text) = environment(&name) else { continue };
        let text = text.trim();
        if text.is_empty() {
            continue;
        }
        key.kind
            .value_of_text(text)
            .and_then(|value| key.set(config, &value))
            .ok_or_else(|| ConfigError::Value {
                place: Place::Variable(name.clone()),
                refusal: Refusal::value(&key.full_name(), &format!("{text:?}"), key.kind),
            })?;
    }
    Ok(())
}

/// Reads one file into a configuration.
struct FileReader<'a> {
    path: &'a str,
    text: &'a str,
    loaded: &'a mut Loaded,
}

/// An item of the file: its full name, where it is written, and what it holds.
struct Entry<'a> {
    name: &'a str,
    offset: usize,
    item: &'a Item,
}

impl FileReader<'_> {
    fn read(&mut self) -> Result<(), ConfigError> {
        let document = Document::parse(self.text).map_err(|error| self.syntax_error(&error))?;
        let root = document.as_table();
        for (name, item) in root {
            let entry = Entry {
                name,
                offset: offset_of(root, name),
                item,
            };
            match Section::find(name) {
                Some(section) => self.read_table(section, "", &entry)?,
                None if item.is_table_like() || item.is_array_of_tables() => {
                    self.warn(&format!("[{name}]"), entry.offset, hint_for_section(name));
                }
                None => self.warn(name, entry.offset, hint_for_section(name)),
            }
        }
        Ok(())
    }

    /// Reads the keys of a section, or of a table inside it that `prefix` names.
    fn read_table(&mut self, section: &Section, prefix: &str, entry: &Entry<'_>) -> Result<(), ConfigError> {
        let Some(table) = entry.item.as_table_like() else {
            return Err(self.refuse(
                entry.offset,
                Refusal::not_a_table(entry.name, &self.written(entry.item)),
            ));
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
                self.set(key, &inner)?;
            } else if section.has_group(&name) {
                self.read_table(section, &name, &inner)?;
            } else {
                self.warn(&full_name, inner.offset, hint_for_key(section, &name));
            }
        }
        Ok(())
    }

    fn set(&mut self, key: &Key, entry: &Entry<'_>) -> Result<(), ConfigError> {
        let value = entry.item.as_value();
        let set = value.and_then(|value| key.set(&mut self.loaded.config, value));
        set.ok_or_else(|| {
            let refusal = Refusal::value(entry.name, &self.written(entry.item), key.kind);
            self.refuse(entry.offset, refusal)
        })
    }

    fn warn(&mut self, unknown: &str, offset: usize, hint: Hint) {
        let warning = Warning::new(self.place(offset), unknown, hint);
        self.loaded.warnings.push(warning);
    }

    fn refuse(&self, offset: usize, refusal: Refusal) -> ConfigError {
        ConfigError::Value {
            place: self.place(offset),
            refusal,
        }
    }

    fn syntax_error(&self, error: &TomlError) -> ConfigError {
        let offset = error.span().map_or(self.text.len(), |span| span.start);
        ConfigError::syntax(self.place(offset), error.message())
    }

    /// The line of an offset. It is counted only for a message; a file without faults is never searched for lines.
    fn place(&self, offset: usize) -> Place {
        let before = self.text.bytes().take(offset);
        Place::Line {
            path: self.path.to_owned(),
            line: 1 + before.filter(|byte| *byte == b'\n').count(),
        }
    }

    /// An item as it stands in the file.
    fn written(&self, item: &Item) -> String {
        let span = item.as_value().and_then(toml_edit::Value::span);
        match span.and_then(|span| self.text.get(span)) {
            Some(text) => text.to_owned(),
            None if item.is_array_of_tables() => "a list of tables".to_owned(),
            None => "a table".to_owned(),
        }
    }
}

/// Where the name of an item is written.
fn offset_of(table: &dyn TableLike, name: &str) -> usize {
    table
        .key(name)
        .and_then(toml_edit::Key::span)
        .map_or(0, |span| span.start)
}

#[cfg(test)]
#[path = "load_tests.rs"]
mod tests;
