//! The rules of guardrails, enforced after an iteration: paths that must not change, and commands that must pass.

use std::path::Path;
use std::sync::Arc;

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ralph_memory::secrets::mask;
use ralph_model::{Extra, Note, preview};

/// How many columns of a guardrail's text a reason shows.
const TEXT_COLUMNS: usize = 500;
/// How many changed files a reason names.
const MAX_FILES: usize = 10;

/// The rules of all guardrails at the start of the run.
#[derive(Debug, Clone, Default)]
pub struct Rules(Arc<Vec<Rule>>);

#[derive(Debug)]
struct Rule {
    /// The guardrail, as shown in a reason.
    guardrail: String,
    deny: Option<Gitignore>,
    check: Option<String>,
}

impl Rules {
    /// # Errors
    /// When the pattern of a path cannot be read: a sentence without its end.
    pub fn of<'n>(guardrails: impl IntoIterator<Item = &'n Note>) -> Result<Self, String> {
        let mut rules = Vec::new();
        for note in guardrails {
            let (deny, check) = (note.extra.get(Extra::DENY_PATH), note.extra.get(Extra::CHECK));
            if deny.is_none() && check.is_none() {
                continue;
            }
            let deny = deny.map(path_pattern).transpose();
            rules.push(Rule {
                guardrail: format!("Guardrail {}: {}", note.id, preview(&note.content, TEXT_COLUMNS)),
                deny: deny.map_err(|error| format!("the guardrail {}: {error}", note.id))?,
                check: check.map(str::to_owned),
            });
        }
        Ok(Self(Arc::new(rules)))
    }

    pub fn checks(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|rule| rule.check.as_deref())
    }

    /// Whether no rule denies a path.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(|rule| rule.deny.is_none())
    }

    /// Why work that changed these files is refused; `None` if it is not.
    pub(crate) fn refusal(&self, files: &[&str]) -> Option<String> {
        self.0.iter().find_map(|rule| {
            let mut denied = files.iter().copied().filter(|file| rule.denies(file));
            let named: Vec<&str> = denied.by_ref().take(MAX_FILES).collect();
            let more = if denied.next().is_some() { " and others" } else { "" };
            let guardrail = &rule.guardrail;
            (!named.is_empty()).then(|| format!("{guardrail}\nThe work changed {}{more}: undo that.", named.join(", ")))
        })
    }

    /// The guardrail whose check this gate is, by the recorded command.
    pub(crate) fn guardrail_of(&self, gate: &str) -> Option<&str> {
        let is_it = |rule: &&Rule| rule.check.as_deref().is_some_and(|check| mask(check) == gate);
        self.0.iter().find(is_it).map(|rule| rule.guardrail.as_str())
    }
}

/// Rules are equal if they come from the same guardrails.
impl PartialEq for Rules {
    fn eq(&self, other: &Self) -> bool {
        let names = |rules: &Self| rules.0.iter().map(|rule| rule.guardrail.clone()).collect::<Vec<_>>();
        names(self) == names(other)
    }
}

impl Rule {
    fn denies(&self, file: &str) -> bool {
        let denied = |deny: &Gitignore| deny.matched_path_or_any_parents(Path::new(file), false).is_ignore();
        self.deny.as_ref().is_some_and(denied)
    }
}

/// Parses a pattern of files, by the rules of `.gitignore`.
///
/// # Errors
/// When it cannot be read: a sentence without its end.
pub fn path_pattern(pattern: &str) -> Result<Gitignore, String> {
    let mut builder = GitignoreBuilder::new("");
    let unreadable = |error: ignore::Error| format!("`{pattern}` is not a path pattern: {error}");
    builder.add_line(None, pattern).map_err(unreadable)?;
    let built = builder.build().map_err(unreadable)?;
    match built.num_ignores() {
        1 => Ok(built),
        _ => Err(format!("`{pattern}` is not a path pattern: it matches no path")),
    }
}

#[cfg(test)]
mod tests {
    use ralph_model::{NoteId, NoteKind, Tags};

    use super::*;

    fn guardrail(id: &str, text: &str, extra: &[(&str, &str)]) -> Note {
        let mut note = Note {
            id: NoteId::parse(id, &NoteId::PREFIXES).unwrap(),
            kind: NoteKind::Fix,
            content: text.to_owned(),
            tags: Tags::default(),
            created: jiff::civil::date(2025, 1, 20),
            extra: Extra::default(),
        };
        for (key, value) in extra {
            note.extra.set(key, value);
        }
        note
    }

    #[test]
    fn denied_paths_follow_gitignore_rules() {
        let cases = [
            ("commands.txt", "commands.txt", true),
            ("commands.txt", "docs/commands.txt", true),
            ("/commands.txt", "docs/commands.txt", false),
            ("generated/", "src/generated/a.rs", true),
            ("src/*.rs", "src/a.rs", true),
            ("src/*.rs", "src/deep/a.rs", false),
            ("src/**/*.rs", "src/deep/a.rs", true),
            ("*.lock", "Cargo.toml", false),
        ];
        for (pattern, file, is_denied) in cases {
            let note = guardrail("fix-1737372000-aaaa", "no", &[(Extra::DENY_PATH, pattern)]);
            let rules = Rules::of([&note]).unwrap();
            assert_eq!(rules.refusal(&[file]).is_some(), is_denied, "{pattern} {file}");
        }
        for nothing in ["", "# a comment", "!back"] {
            assert!(path_pattern(nothing).is_err(), "{nothing}");
        }
    }

    #[test]
    fn refusal_names_the_guardrail_and_the_files() {
        let deny = guardrail("fix-1737372000-aaaa", "it is generated", &[(Extra::DENY_PATH, "*.gen")]);
        let check = guardrail("fix-1737372000-bbbb", "keep it small", &[(Extra::CHECK, "make size")]);
        let rules = Rules::of([&deny, &check, &guardrail("fix-1737372000-cccc", "only text", &[])]).unwrap();
        assert_eq!(rules.refusal(&["a.rs"]), None);
        assert_eq!(
            rules.refusal(&["a.gen", "a.rs", "b.gen"]).unwrap(),
            "Guardrail fix-1737372000-aaaa: it is generated\nThe work changed a.gen, b.gen: undo that."
        );
        assert_eq!(rules.checks().collect::<Vec<_>>(), ["make size"]);
        assert_eq!(
            rules.guardrail_of("make size"),
            Some("Guardrail fix-1737372000-bbbb: keep it small")
        );
        assert_eq!(rules.guardrail_of("make"), None);
    }
}
