//! What a lesson says, so far as it can be told from its words: which words it holds, whether it says yes or no to them, and
//! which values it names.

use std::collections::{BTreeMap, BTreeSet};

use ralph_model::{Learning, LearningKind};
use ralph_store::index::{is_name, terms_of};

use super::reasons::{Role, roles};
use super::tokens::{End, Token, tokens};
use super::words;
use crate::capture::is_path;
use crate::learn::answer_of;
use crate::negations::is_negation;

/// Whether something is said or denied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    /// It is so, or has to be.
    Yes,
    /// It is not.
    No,
    /// Both, at different places.
    Both,
}

impl Sign {
    fn turned(self) -> Self {
        match self {
            Self::Yes => Self::No,
            Self::No => Self::Yes,
            Self::Both => Self::Both,
        }
    }
}

/// A number, or what else is set to something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Value {
    /// As it is compared.
    pub(super) text: String,
    /// The words beside it.
    pub(super) beside: Vec<String>,
    pub(super) sign: Sign,
}

/// What is compared of a lesson.
#[derive(Debug, Clone)]
pub struct Reading {
    pub(super) kind: LearningKind,
    /// Its tags, in lower case.
    pub(super) tags: BTreeSet<String>,
    /// Those among them that are no paths: whoever tells a lesson chooses them, and they say what it is about.
    pub(super) own_tags: BTreeSet<String>,
    /// The stems of its tags.
    pub(super) tag_stems: BTreeSet<String>,
    /// The files that its text names.
    pub(super) files: BTreeSet<String>,
    /// The ids and hashes that it names: their parts may be those of another one in another order.
    pub(super) ids: BTreeSet<String>,
    /// The stems of its words, without those that say yes or no and those that carry no subject.
    pub(super) stems: BTreeMap<String, Sign>,
    /// Those among them that are names of something, and those that stand in code.
    pub(super) names: BTreeSet<String>,
    pub(super) code: BTreeSet<String>,
    /// On which side of opposites it stands.
    pub(super) sides: BTreeMap<usize, (bool, String)>,
    pub(super) values: Vec<Value>,
    /// Whether it says in so many words that something is to be done or not.
    pub(super) is_plain: bool,
    /// Of a convention that was found from paths: what it is about, and what it says of that.
    pub(super) answer: Option<(String, String)>,
    /// What it says without its reasons, where it gives any.
    bare: Option<Box<Self>>,
}

impl Reading {
    /// What is compared of a lesson.
    #[must_use]
    pub fn of(learning: &Learning) -> Self {
        Self::new(learning.kind, &learning.tags, &learning.content)
    }

    /// The same of one that is not kept yet.
    #[must_use]
    pub fn new(kind: LearningKind, tags: &[String], content: &str) -> Self {
        let tags_in_lower_case = || tags.iter().map(|tag| tag.to_lowercase());
        let mut reading = Self {
            kind,
            tags: tags_in_lower_case().collect(),
            own_tags: tags_in_lower_case().filter(|tag| !is_path(tag)).collect(),
            tag_stems: tags.iter().flat_map(|tag| terms_of(tag)).collect(),
            files: BTreeSet::new(),
            ids: ids_in(content),
            stems: BTreeMap::new(),
            names: BTreeSet::new(),
            code: BTreeSet::new(),
            sides: BTreeMap::new(),
            values: Vec::new(),
            is_plain: false,
            answer: answer_of(content)
                .filter(|_| kind == LearningKind::Convention)
                .map(|(subject, says)| (subject.to_owned(), says.to_owned())),
            bare: None,
        };
        let tokens = tokens(content);
        let (said, reasons): (Vec<Clause<'_>>, Vec<Clause<'_>>) = clauses(&tokens)
            .into_iter()
            .partition(|clause| clause.role == Role::Said);
        said.iter().for_each(|clause| reading.take(clause));
        let bare = (!reasons.is_empty()).then(|| reading.clone());
        reasons.iter().for_each(|clause| reading.take(clause));
        // What a warning warns of cannot be told where the remedy alone is plain.
        let is_as_plain = |bare: &Self| kind != LearningKind::Antipattern || bare.is_plain == reading.is_plain;
        if let Some(mut bare) = bare.filter(is_as_plain) {
            // A file is what all of it is about, wherever it is named.
            bare.files.clone_from(&reading.files);
            bare.turn_if_warning();
            reading.bare = Some(Box::new(bare));
        }
        reading.turn_if_warning();
        reading
    }

    /// What kind of lesson it is.
    #[must_use]
    pub fn kind(&self) -> LearningKind {
        self.kind
    }

    /// What it says without its reasons; all of it where it gives none.
    pub(super) fn bare(&self) -> &Self {
        self.bare.as_deref().unwrap_or(self)
    }

    pub(super) fn has_reasons(&self) -> bool {
        self.bare.is_some()
    }

    /// All that is compared with others: itself, and where it gives reasons what it says without them.
    pub fn compared(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(self.bare.as_deref())
    }

    /// What warns of something without a word for it names what is to be avoided.
    fn turn_if_warning(&mut self) {
        if !self.is_turned() {
            return;
        }
        for sign in self.stems.values_mut() {
            *sign = sign.turned();
        }
        for value in &mut self.values {
            value.sign = value.sign.turned();
        }
    }

    /// Whether it is such a warning.
    pub(super) fn is_turned(&self) -> bool {
        self.kind == LearningKind::Antipattern && !self.is_plain
    }

    /// Those of its words that are files which it is tagged with: it is about them whether it names them or not.
    pub fn own_files(&self) -> impl Iterator<Item = &str> {
        let files = self.files.intersection(&self.tags).map(String::as_str);
        files.filter(|file| self.stems.contains_key(*file))
    }

    /// The stems of its words, each once, in order.
    pub fn stems(&self) -> impl ExactSizeIterator<Item = &str> {
        self.stems.keys().map(String::as_str)
    }

    /// What a convention is about that was found from paths, and nothing of any other lesson.
    #[must_use]
    pub fn subject(&self) -> Option<&str> {
        self.answer.as_ref().map(|(subject, _)| subject.as_str())
    }

    /// Whether it says that something works, or that it fails.
    pub(super) fn says_it_fails(&self) -> Option<bool> {
        self.sides.get(&words::WORKS_OR_FAILS).map(|(fails, _)| *fails)
    }

    fn take(&mut self, clause: &Clause<'_>) {
        self.is_plain |= clause.is_plain;
        let sign = if clause.negations % 2 == 1 { Sign::No } else { Sign::Yes };
        let mut last: Option<String> = None;
        // The value that still looks for the word behind it.
        let mut open: Option<usize> = None;
        let mut counted: Option<Counted> = None;
        let mut words = clause.tokens.iter().enumerate().peekable();
        while let Some((at, token)) = words.next() {
            if let Some((pair, side)) = words::side_of(&token.lower).filter(|_| !token.in_code) {
                self.sides.insert(pair, (side, token.lower.clone()));
                continue;
            }
            let parts = parts(token);
            if token.is_file() {
                self.files.extend(parts.word.iter().map(|word| word.to_lowercase()));
            }
            let stems = parts.word.map(|word| stems_of(word, token)).unwrap_or_default();
            for stem in stems {
                if let Some(value) = open.take().and_then(|open| self.values.get_mut(open)) {
                    value.beside.push(stem.clone());
                }
                self.note_name(&stem, token, clause.begins_sentence && at == 0);
                self.note(stem.clone(), sign);
                if words::is_counted(&stem) {
                    counted = Some(Counted::word(&stem, at));
                }
                last = Some(stem);
            }
            let Some(mut text) = parts.value else {
                continue;
            };
            let next_unit = words.peek().and_then(|(_, next)| words::unit(&next.lower));
            if let Some(unit) = next_unit {
                text.push_str(unit);
                words.next();
            }
            if let Some(counted) = counted.as_mut().filter(|counted| counted.goes_on(&clause.tokens, at)) {
                let name = counted.name(&text, at);
                self.names.insert(name.clone());
                self.note(name, sign);
                continue;
            }
            open = Some(self.values.len());
            self.values.push(Value {
                text,
                beside: last.iter().cloned().collect(),
                sign,
            });
        }
    }

    fn note(&mut self, stem: String, sign: Sign) {
        self.stems
            .entry(stem)
            .and_modify(|known| {
                if *known != sign {
                    *known = Sign::Both;
                }
            })
            .or_insert(sign);
    }

    fn note_name(&mut self, stem: &str, token: &Token<'_>, is_first: bool) {
        if token.in_code {
            self.code.insert(stem.to_owned());
        }
        if token.is_file() || (!token.in_code && token.is_like_a_name(is_first)) || self.tag_stems.contains(stem) {
            self.names.insert(stem.to_owned());
        }
    }
}

/// Words of letters and digits in turn, as `974e5c`. In others (`utf8`, `v2`) the number is a word of its own.
fn ids_in(text: &str) -> BTreeSet<String> {
    const LEAST_CHANGES: usize = 2;
    let changes = |word: &&str| {
        let kinds: Vec<bool> = word.bytes().map(|byte| byte.is_ascii_digit()).collect();
        kinds.windows(2).filter(|pair| pair[0] != pair[1]).count() >= LEAST_CHANGES
    };
    let words = text.split(|sign: char| !sign.is_ascii_alphanumeric()).filter(changes);
    words.map(str::to_ascii_lowercase).collect()
}

/// A word whose numbers say which one is meant: those right behind it, as in "lines 4 to 8".
struct Counted {
    stem: String,
    /// Where it stands, or the last of its numbers.
    last: usize,
    has_number: bool,
}

impl Counted {
    fn word(stem: &str, at: usize) -> Self {
        Self {
            stem: stem.to_owned(),
            last: at,
            has_number: false,
        }
    }

    /// Whether a number at a place is one of its own.
    fn goes_on(&self, tokens: &[&Token<'_>], at: usize) -> bool {
        let between = tokens.get(self.last + 1..at).unwrap_or_default();
        match between {
            [] => true,
            [joint] => self.has_number && matches!(joint.lower.as_str(), "and" | "or" | "to"),
            _ => false,
        }
    }

    /// What such a number names.
    fn name(&mut self, number: &str, at: usize) -> String {
        self.last = at;
        self.has_number = true;
        format!("{} {number}", self.stem)
    }
}

/// A part of a sentence that is said or denied as a whole.
struct Clause<'t> {
    tokens: Vec<&'t Token<'t>>,
    negations: usize,
    is_plain: bool,
    begins_sentence: bool,
    role: Role,
}

impl Clause<'_> {
    fn new(begins_sentence: bool, role: Role) -> Self {
        Self {
            role,
            tokens: Vec::new(),
            negations: 0,
            is_plain: false,
            begins_sentence,
        }
    }

    /// "instead of …", "rather than …", "prefer this over …".
    fn is_what_follows_denied(&self, word: &str, next: &str) -> bool {
        let prefers = || self.tokens.iter().any(|token| token.lower.starts_with("prefer"));
        matches!((word, next), ("instead", "of") | ("rather", "than")) || word == "over" && prefers()
    }
}

/// The parts of a text, without the words that say yes or no in them and without reasons. A part that has nothing but such
/// words, as "Avoid:", belongs to the next one.
fn clauses<'t>(tokens: &'t [Token<'t>]) -> Vec<Clause<'t>> {
    let mut clauses: Vec<Clause<'t>> = Vec::new();
    let mut clause = Clause::new(true, Role::Said);
    // Where the reason ends that a word has begun.
    let mut reason_ends: Option<End> = None;
    for (at, (token, role)) in tokens.iter().zip(roles(tokens)).enumerate() {
        if clause.role != role {
            let says_nothing = clause.tokens.is_empty() && !clause.is_plain;
            let next = Clause::new(says_nothing && clause.begins_sentence, role);
            clauses.push(std::mem::replace(&mut clause, next));
        }
        let word = token.lower.as_str();
        let next = tokens.get(at + 1).map_or("", |next| next.lower.as_str());
        let is_prose = !token.in_code;
        if is_prose && reason_ends.is_none() && words::begins_a_reason(word) {
            reason_ends = Some(end_of_reason(tokens, at));
        }
        if reason_ends.is_none() {
            if is_prose && begins_another(word, next, &clause) {
                let is_denied = clause.is_what_follows_denied(word, next);
                clauses.push(std::mem::replace(&mut clause, Clause::new(false, role)));
                clause.negations += usize::from(is_denied);
            } else if is_prose && is_negation(word) {
                clause.negations += 1;
                clause.is_plain |= words::is_plain_negation(word);
            } else if is_prose && is_behind_negation(tokens, at) && words::takes_back(word, next) {
                clause.negations += 1;
            } else if is_prose && words::is_affirmation(word) {
                clause.is_plain = true;
            } else {
                clause.tokens.push(token);
            }
        }
        if token.end != End::Nothing && !clause.tokens.is_empty() {
            let next = Clause::new(token.end == End::Sentence, role);
            clauses.push(std::mem::replace(&mut clause, next));
        }
        reason_ends = reason_ends.filter(|end| token.end < *end);
    }
    clauses.push(clause);
    clauses
}

/// Where a reason ends whose first word stands at a place: "Because the tests are slow, mock the database".
fn end_of_reason(tokens: &[Token<'_>], at: usize) -> End {
    let before = at.checked_sub(1).and_then(|before| tokens.get(before));
    let begins_sentence = before.is_none_or(|before| before.end == End::Sentence);
    let says_why = tokens.get(at).is_some_and(|token| token.lower == "because");
    if begins_sentence && says_why {
        End::Clause
    } else {
        End::Sentence
    }
}

/// Whether the token at a place follows a negation at once, but for "ever" between them.
fn is_behind_negation(tokens: &[Token<'_>], at: usize) -> bool {
    let before = tokens.get(..at).unwrap_or_default();
    let before = before.iter().rev().find(|token| token.lower != "ever");
    before.is_some_and(|token| !token.in_code && token.end == End::Nothing && is_negation(&token.lower))
}

/// Whether a word begins a part that is said by itself: "and do not …", "instead of …".
fn begins_another(word: &str, next: &str, clause: &Clause<'_>) -> bool {
    if clause.tokens.is_empty() {
        return false;
    }
    let is_joint = matches!(word, "and" | "but" | "or" | "then");
    let says = is_negation(next) || words::is_affirmation(next);
    is_joint && says || clause.is_what_follows_denied(word, next)
}

/// A token as a word and what it is set to.
struct Parts<'t> {
    word: Option<&'t str>,
    value: Option<String>,
}

/// Takes a token apart: `-j4`, `--jobs=4`, `localhost:5432`, `v1.2`, `python3`, `30s`, `four`.
fn parts<'t>(token: &'t Token<'_>) -> Parts<'t> {
    let text = token.text;
    if let Some(digits) = words::digits(&token.lower).filter(|_| !token.in_code) {
        return Parts {
            word: None,
            value: Some(digits.to_owned()),
        };
    }
    if let Some((name, value)) = text.split_once('=').filter(|(name, _)| !name.is_empty()) {
        return Parts {
            word: Some(name),
            value: (!value.is_empty()).then(|| value.to_lowercase()),
        };
    }
    if token.is_file() {
        // A place in a file says where, not how much.
        let path = text.split_once(':').map_or(text, |(path, _)| path);
        return Parts {
            word: Some(path),
            value: None,
        };
    }
    let begins_value = |text: &str| text.starts_with(|sign: char| sign.is_ascii_digit());
    let number = text.trim_start_matches(['v', 'V', '+', '~', '^', '$', '≥', '≤', '<', '>']);
    if begins_value(number) {
        return Parts {
            word: None,
            value: Some(plain_number(number)),
        };
    }
    let end = text.find(|sign: char| sign.is_ascii_digit());
    let (word, value) = text.split_at(end.unwrap_or(text.len()));
    let is_number = !value.is_empty() && value.chars().all(|sign| sign.is_ascii_digit() || sign == '.');
    let letters = word.chars().filter(|sign| sign.is_lowercase()).count();
    let is_flag = word.starts_with('-') && letters > 0;
    let is_place = word.ends_with(':') && letters > 1;
    let is_versioned = letters > 1 && word.chars().all(char::is_lowercase);
    if is_number && (is_flag || is_place || is_versioned) {
        return Parts {
            word: Some(word.trim_end_matches(':')),
            value: Some(plain_number(value)),
        };
    }
    Parts {
        word: Some(text),
        value: None,
    }
}

/// A number as it is compared: without signs between thousands, its unit in one form.
fn plain_number(text: &str) -> String {
    let lower = text.to_lowercase().replace([',', '_'], "");
    let end = lower.find(|sign: char| !sign.is_ascii_digit() && sign != '.');
    let (digits, behind) = lower.split_at(end.unwrap_or(lower.len()));
    let unit = words::unit(behind).unwrap_or(behind);
    format!("{digits}{unit}")
}

/// The stems of a word; an option of a command and a file are one each.
fn stems_of(word: &str, token: &Token<'_>) -> Vec<String> {
    if word.starts_with('-') || token.is_file() {
        return vec![word.to_lowercase()];
    }
    let mut stems = terms_of(word);
    stems.retain(|stem| !is_name(stem) && !words::is_light(stem));
    stems.dedup();
    stems
}
