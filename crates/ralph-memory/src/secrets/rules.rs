//! Rules for tokens of known services, preceded by a search for their keywords.
//!
//! The rules are data: `rules/betterleaks.jsonl` is derived from a maintained set (see `rules/README.md`), the other
//! files add what it lacks. Rules are loaded with the first search and compiled when one of their keywords occurs.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use aho_corasick::{AhoCorasick, AhoCorasickBuilder};
use regex_automata::Input;
use regex_automata::meta::{BuildError, Regex};
use regex_automata::util::captures::Captures;
use regex_automata::util::syntax;
use serde::Deserialize;

use super::placeholders::is_placeholder;
use super::{Secret, SecretKind};

/// One rule per line. If two rules find the same text, the first wins.
const SOURCES: [&str; 3] = [
    include_str!("rules/own.jsonl"),
    include_str!("rules/betterleaks.jsonl"),
    include_str!("rules/named.jsonl"),
];

/// The default distance between a keyword and a match: the name of a service may be a line before its token.
const MIN_REACH: usize = 256;

/// A rule as in its file.
#[derive(Debug, Deserialize)]
struct Rule {
    #[cfg(test)]
    id: &'static str,
    /// The service, as named in the mask.
    kind: &'static str,
    name: &'static str,
    regex: Cow<'static, str>,
    /// In lower case. Nothing matches without one of these nearby.
    keywords: Vec<Cow<'static, str>>,
    /// The group that contains the secret; by default the first group that matched.
    group: Option<usize>,
    /// The minimum entropy of a secret, in bits per byte.
    #[serde(default)]
    entropy: f64,
    /// Whether the secret must contain a digit; otherwise it is a name or words.
    #[serde(default)]
    digits: bool,
    /// Patterns of known examples.
    #[serde(default)]
    allow: Vec<Cow<'static, str>>,
    /// Patterns that a secret must match.
    #[serde(default)]
    need: Vec<Cow<'static, str>>,
    /// Words that a secret cannot contain.
    #[serde(default)]
    stop: Vec<Cow<'static, str>>,
    #[serde(skip)]
    compiled: OnceLock<Option<Compiled>>,
}

#[derive(Debug)]
struct Compiled {
    regex: Regex,
    allow: Vec<Regex>,
    need: Vec<Regex>,
    /// The length of the longest match; `None` if unlimited.
    reach: Option<usize>,
}

/// All rules with the search for their keywords.
struct Rules {
    rules: Vec<Rule>,
    keywords: AhoCorasick,
    /// The rules of each keyword.
    of_keyword: Vec<Vec<usize>>,
}

static RULES: LazyLock<Option<Rules>> = LazyLock::new(|| Rules::load().ok());

/// The secrets found by rules, in no particular order; they may overlap.
pub(super) fn find(text: &str) -> Vec<Secret> {
    let Some(all) = LazyLock::force(&RULES) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for (rule, windows) in all.windows(text.as_bytes()) {
        if let Some(rule) = all.rules.get(rule)
            && let Some(compiled) = rule.compiled()
        {
            for window in windows {
                rule.find_in(compiled, text, window, &mut found);
            }
        }
    }
    found
}

/// The minimum length after the prefix of a token that may continue.
const MIN_OPEN: usize = 6;

/// The token at the end of a text that may continue in the next piece: a known prefix followed by random-looking
/// characters. It may be a false positive, but once the rest arrives, the beginning is already written.
pub(super) fn open_token(text: &str) -> Option<Secret> {
    let all = LazyLock::force(&RULES).as_ref()?;
    let bytes = text.as_bytes();
    let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'+' | b'/');
    let word = bytes.iter().rev().take_while(|byte| is_token(byte)).count();
    let start = bytes.len() - word;
    let hits = all.keywords.find_overlapping_iter(bytes.get(start..)?);
    let open = hits.filter_map(|hit| {
        let value = bytes.get(start + hit.end()..)?;
        let prefix = bytes.get(start + hit.start()..start + hit.end())?;
        let rule = all.of_keyword.get(hit.pattern().as_usize())?.first()?;
        let rule = all.rules.get(*rule)?;
        (is_prefix(prefix) && value.len() >= MIN_OPEN && looks_random(value)).then(|| Secret {
            range: start + hit.start()..bytes.len(),
            kind: SecretKind::of(rule.kind, rule.name),
        })
    });
    open.min_by_key(|secret| secret.range.start)
}

/// Whether a keyword is the prefix of a token rather than the name of a service.
fn is_prefix(keyword: &[u8]) -> bool {
    let ends = keyword.last().is_some_and(|last| matches!(last, b'_' | b'-' | b'.'));
    keyword.len() >= 4
        && (ends || keyword.iter().all(u8::is_ascii_uppercase) || keyword == b"AIza" || keyword == b"dapi")
        || keyword == b"eyJ"
}

/// Whether it has letters of both cases, or letters and digits.
fn looks_random(value: &[u8]) -> bool {
    let has = |kind: fn(&u8) -> bool| usize::from(value.iter().any(kind));
    has(u8::is_ascii_lowercase) + has(u8::is_ascii_uppercase) + has(u8::is_ascii_digit) >= 2
}

impl Rules {
    fn load() -> Result<Self, String> {
        let lines = SOURCES.iter().flat_map(|source| source.lines());
        let rules = lines
            .map(serde_json::from_str)
            .collect::<Result<Vec<Rule>, _>>()
            .map_err(|error| error.to_string())?;
        let mut by_keyword: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (at, rule) in rules.iter().enumerate() {
            for keyword in &rule.keywords {
                by_keyword.entry(keyword).or_default().push(at);
            }
        }
        let keywords = AhoCorasickBuilder::new()
            .ascii_case_insensitive(true)
            .build(by_keyword.keys())
            .map_err(|error| error.to_string())?;
        let of_keyword = by_keyword.into_values().collect();
        Ok(Self {
            rules,
            keywords,
            of_keyword,
        })
    }

    /// The parts of a text that each rule must search, around its keywords. Parts of the same rule do not overlap, so
    /// no byte is read twice.
    fn windows(&self, text: &[u8]) -> BTreeMap<usize, Vec<Range<usize>>> {
        let mut windows: BTreeMap<usize, Vec<Range<usize>>> = BTreeMap::new();
        for hit in self.keywords.find_overlapping_iter(text) {
            for at in self.of_keyword.get(hit.pattern().as_usize()).into_iter().flatten() {
                let Some(reach) = self.rules.get(*at).and_then(Rule::reach) else {
                    continue;
                };
                let window = reach.around(hit.range(), text.len());
                let windows = windows.entry(*at).or_default();
                match windows.last_mut() {
                    Some(last) if window.start <= last.end => last.end = last.end.max(window.end),
                    _ => windows.push(window),
                }
            }
        }
        windows
    }
}

/// The distance from a keyword that a rule must search.
#[derive(Debug, Clone, Copy)]
enum Reach {
    Bytes(usize),
    ToTheEnd,
}

impl Reach {
    fn around(self, hit: Range<usize>, length: usize) -> Range<usize> {
        match self {
            Self::Bytes(reach) => hit.start.saturating_sub(reach)..hit.end.saturating_add(reach).min(length),
            Self::ToTheEnd => hit.start.saturating_sub(MIN_REACH)..length,
        }
    }
}

impl Rule {
    fn compiled(&self) -> Option<&Compiled> {
        self.compiled.get_or_init(|| self.compile().ok()).as_ref()
    }

    fn compile(&self) -> Result<Compiled, Box<BuildError>> {
        let all = |patterns: &[Cow<'static, str>]| {
            let compiled = patterns.iter().map(|pattern| compile(pattern).map(|(regex, _)| regex));
            compiled.collect::<Result<Vec<_>, _>>()
        };
        let (regex, reach) = compile(&self.regex)?;
        Ok(Compiled {
            regex,
            allow: all(&self.allow)?,
            need: all(&self.need)?,
            reach,
        })
    }

    fn reach(&self) -> Option<Reach> {
        let reach = self.compiled()?.reach;
        Some(reach.map_or(Reach::ToTheEnd, |reach| Reach::Bytes(reach.max(MIN_REACH))))
    }

    /// Adds the secrets of this rule in a part of the text.
    fn find_in(&self, compiled: &Compiled, text: &str, window: Range<usize>, found: &mut Vec<Secret>) {
        let bytes = text.as_bytes();
        let mut groups = compiled.regex.create_captures();
        let mut at = window.start;
        while at < window.end {
            let input = Input::new(bytes).span(at..window.end);
            compiled.regex.search_captures(&input, &mut groups);
            let Some(whole) = groups.get_match() else {
                return;
            };
            at = whole.end().max(at + 1);
            let Some(secret) = self.secret(&groups) else {
                continue;
            };
            let range = whole_token(text, secret);
            let value = bytes.get(range.clone()).unwrap_or_default();
            if self.accepts(compiled, value) {
                at = at.max(range.end);
                found.push(Secret {
                    range,
                    kind: SecretKind::of(self.kind, self.name),
                });
            }
        }
    }

    fn secret(&self, groups: &Captures) -> Option<Range<usize>> {
        let group = |at| groups.get_group(at).filter(|span| !span.is_empty());
        let span = match self.group {
            Some(at) => group(at),
            None => (1..groups.group_len()).find_map(group).or_else(|| group(0)),
        };
        span.map(|span| span.range())
    }

    fn accepts(&self, compiled: &Compiled, value: &[u8]) -> bool {
        entropy(value) >= self.entropy
            && (!self.digits || value.iter().any(u8::is_ascii_digit))
            && !is_placeholder(value)
            && !self
                .stop
                .iter()
                .any(|word| memchr::memmem::find(value, word.as_bytes()).is_some())
            && compiled.need.iter().all(|need| need.is_match(value))
            && !compiled.allow.iter().any(|allow| allow.is_match(value))
    }
}

/// Compiles a byte regex with ASCII classes, and the length of its longest match.
fn compile(pattern: &str) -> Result<(Regex, Option<usize>), Box<BuildError>> {
    let config = syntax::Config::new().unicode(false).utf8(false);
    let regex = Regex::builder().syntax(config).build(pattern).map_err(Box::new)?;
    let reach = syntax::parse_with(pattern, &config)
        .ok()
        .and_then(|parsed| parsed.properties().maximum_len());
    Ok((regex, reach))
}

/// Extends a secret to the end of its token, because token lengths change over time.
fn whole_token(text: &str, secret: Range<usize>) -> Range<usize> {
    let after = text.as_bytes().get(secret.end..).unwrap_or_default();
    let more = super::run_length(after, usize::MAX, |byte| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
    });
    text.floor_char_boundary(secret.start)..text.ceil_char_boundary(secret.end + more)
}

/// Shannon entropy in bits per byte.
fn entropy(value: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in value {
        counts[usize::from(*byte)] += 1;
    }
    let length = f64::from(u32::try_from(value.len()).unwrap_or(u32::MAX));
    let shares = counts.iter().filter(|count| **count > 0);
    -shares
        .map(|count| f64::from(*count) / length)
        .map(|share| share * share.log2())
        .sum::<f64>()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn all_rules_compile() {
        let rules = Rules::load().unwrap();
        assert!(rules.rules.len() > 400, "{}", rules.rules.len());
        for rule in &rules.rules {
            assert!(rule.compile().is_ok(), "{}: {:?}", rule.id, rule.compile().err());
            assert!(!rule.keywords.is_empty(), "{}", rule.id);
            for keyword in &rule.keywords {
                assert!(keyword.len() >= 3, "{}: {keyword} is in every text", rule.id);
                assert_eq!(keyword.to_lowercase(), *keyword, "{}", rule.id);
            }
        }
    }

    #[test]
    fn kinds_are_valid_in_masks() {
        let rules = Rules::load().unwrap();
        let kinds: BTreeSet<&str> = rules.rules.iter().map(|rule| rule.kind).collect();
        for kind in kinds {
            let mask = SecretKind::of(kind, "").mask();
            assert_eq!(super::super::masks(&mask), vec![0..mask.len()], "{mask}");
        }
    }

    #[test]
    fn entropy_is_in_bits_per_byte() {
        assert!(entropy(b"").abs() < 1e-9 && entropy(b"aaaa").abs() < 1e-9);
        assert!((entropy(b"abab") - 1.0).abs() < 1e-9);
        assert!((entropy(b"abcdefgh") - 3.0).abs() < 1e-9);
    }
}
