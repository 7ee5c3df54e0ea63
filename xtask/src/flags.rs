//! Parses the flags of a task: `--name` and `--name VALUE`, in any order; only list options may be repeated.

/// Parsed flags.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Flags {
    given: Vec<(String, Option<String>)>,
}

impl Flags {
    /// Parses the arguments of a task: `switches` have no value, `options` take one.
    pub(crate) fn parse(words: &[&str], switches: &[&str], options: &[&str]) -> Result<Self, String> {
        Self::parse_lists(words, switches, options, &[])
    }

    /// Like [`Flags::parse`], with options in `lists` that may be repeated.
    pub(crate) fn parse_lists(
        words: &[&str],
        switches: &[&str],
        options: &[&str],
        lists: &[&str],
    ) -> Result<Self, String> {
        let mut flags = Self::default();
        let mut words = words.iter().copied();
        while let Some(name) = words.next() {
            let value = if options.contains(&name) || lists.contains(&name) {
                let value = words.next().ok_or_else(|| format!("{name} needs a value"))?;
                Some(value.to_owned())
            } else if switches.contains(&name) {
                None
            } else {
                let known = [switches, options, lists].concat().join(", ");
                return Err(format!("unknown flag {name:?}; expected one of: {known}"));
            };
            if flags.has(name) && !lists.contains(&name) {
                return Err(format!("{name} is given twice"));
            }
            flags.given.push((name.to_owned(), value));
        }
        Ok(flags)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.given.iter().any(|(given, _)| given == name)
    }

    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        let (_, value) = self.given.iter().find(|(given, _)| given == name)?;
        value.as_deref()
    }

    /// All values of a list option.
    pub(crate) fn values(&self, name: &str) -> impl Iterator<Item = &str> {
        let given = self.given.iter().filter(move |(given, _)| given == name);
        given.filter_map(|(_, value)| value.as_deref())
    }

    /// The numeric value of an option.
    pub(crate) fn number(&self, name: &str) -> Result<Option<u64>, String> {
        self.value(name)
            .map(|value| {
                value
                    .parse()
                    .map_err(|error| format!("{name} takes a number, not {value:?}: {error}"))
            })
            .transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<Flags, String> {
        Flags::parse(words, &["--quick"], &["--json", "--rounds"])
    }

    #[test]
    fn flags_are_parsed_in_any_order() {
        let flags = parse(&["--json", "a.json", "--quick", "--rounds", "3"]).unwrap();
        assert!(flags.has("--quick"));
        assert_eq!(flags.value("--json"), Some("a.json"));
        assert_eq!(flags.number("--rounds"), Ok(Some(3)));
        assert_eq!(parse(&[]).unwrap().number("--rounds"), Ok(None));
    }

    #[test]
    fn list_options_may_be_repeated() {
        let parse = |words: &[&str]| Flags::parse_lists(words, &[], &["--json"], &["--data"]);
        let flags = parse(&["--data", "a", "--json", "x", "--data", "b"]).unwrap();
        assert_eq!(flags.values("--data").collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(parse(&["--data"]).unwrap_err(), "--data needs a value");
        assert_eq!(
            parse(&["--json", "x", "--json", "y"]).unwrap_err(),
            "--json is given twice"
        );
    }

    #[test]
    fn flag_errors_are_explained() {
        let check = |words: &[&str], expected: &str| assert_eq!(parse(words).unwrap_err(), expected);
        check(
            &["--fast"],
            "unknown flag \"--fast\"; expected one of: --quick, --json, --rounds",
        );
        check(&["--json"], "--json needs a value");
        check(&["--quick", "--quick"], "--quick is given twice");
        let many = parse(&["--rounds", "many"]).unwrap();
        let message = many.number("--rounds").unwrap_err();
        assert!(
            message.starts_with("--rounds takes a number, not \"many\": "),
            "{message}"
        );
    }
}
