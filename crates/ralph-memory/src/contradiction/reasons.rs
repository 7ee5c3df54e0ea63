//! Which part of a lesson only says why, or what happens else: "Start the emulator first, or every request hangs".
//!
//! What is taken for a reason is a guess from a few words. So nothing is lost by it: a lesson is compared as it stands, and
//! then by what it says without its reasons. What may narrow it ("only in CI") or be another choice ("4 or 8 workers") is none.

use super::tokens::{End, Token};
use super::words;
use crate::negations::is_negation;

/// Words that narrow what was said.
const LIMITS: &[&str] = &["although", "but", "except", "however", "only", "though", "unless"];
/// Words that begin a condition, or join two of them.
const CONDITIONS: &[&str] = &["either", "if", "unless", "when", "whenever", "whether"];
/// Words with which something begins that belongs to what was said before, or to what is said next.
const ATTACHED: &[&str] = &[
    "about", "after", "also", "and", "any", "anything", "around", "at", "before", "by", "during", "even", "ever",
    "for", "from", "in", "instead", "into", "like", "nor", "of", "on", "once", "or", "rather", "then", "through", "to",
    "under", "until", "using", "via", "what", "whatever", "where", "wherever", "while", "with", "within",
];
/// What stands for something that was named before.
const PRONOUNS: &[&str] = &["it", "that", "there", "these", "they", "this", "those", "which"];
/// A word right behind one of these is the name of something.
const DETERMINERS: &[&str] = &[
    "a", "an", "each", "every", "its", "no", "our", "that", "the", "their", "these", "this", "those", "your",
];
/// What begins a part that says which one is meant.
const RELATIVES: &[&str] = &["that", "which", "who", "whose"];
/// Other words that are, or begin, what a sentence is about.
const SUBJECTS: &[&str] = &[
    "all",
    "everybody",
    "everyone",
    "everything",
    "nobody",
    "nothing",
    "some",
];
/// What only stands behind what a sentence is about.
const FINITE: &[&str] = &[
    "are", "aren't", "becomes", "can't", "cannot", "couldn't", "does", "doesn't", "don't", "gets", "goes", "is",
    "isn't", "was", "were", "will", "won't", "would", "wouldn't",
];
/// Words that make an instruction of a sentence, whatever it begins with.
const DEMANDS: &[&str] = &["must", "ought", "shall", "should"];
/// Words behind which stands where or when something holds.
const SCOPES: &[&str] = &[
    "at", "during", "for", "from", "if", "in", "on", "since", "under", "until", "when", "while", "within",
];
/// Words that begin a further part of a sentence.
const FURTHER: &[&str] = &[
    "after",
    "as",
    "because",
    "before",
    "if",
    "once",
    "otherwise",
    "since",
    "so",
    "unless",
    "until",
    "when",
    "whenever",
    "where",
    "wherever",
    "whether",
    "while",
];
/// What is told of things by themselves, and not of what to do with them.
const STATES: &[&str] = &[
    "are", "aren't", "became", "becomes", "broke", "broken", "can't", "cannot", "couldn't", "does", "doesn't", "don't",
    "fell", "gets", "goes", "got", "hung", "is", "isn't", "lost", "missing", "stale", "stuck", "was", "were", "will",
    "won't", "would", "wouldn't", "wrong",
];
/// What things do when something goes wrong, or well, in every form.
const HAPPENINGS: &[&str] = &[
    "abort", "block", "break", "clash", "collide", "complain", "conflict", "confuse", "corrupt", "crash", "deadlock",
    "die", "differ", "drift", "error", "fail", "flake", "freeze", "hang", "leak", "lie", "lose", "need", "panic",
    "pass", "race", "refuse", "reject", "remain", "slow", "stall", "starve", "stay", "stop", "succeed", "take",
    "throw", "time", "timeout", "vanish", "wait", "work",
];
/// Endings of verbs.
const ENDINGS: &[&str] = &["", "s", "es", "d", "ed", "ing"];

/// What a token is a part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// What is said.
    Said,
    /// Why it is so.
    Reason,
}

/// What the tokens of a text are parts of, each by itself.
pub(super) fn roles(tokens: &[Token<'_>]) -> Vec<Role> {
    let mut roles = Vec::with_capacity(tokens.len());
    let mut rest = tokens;
    while !rest.is_empty() {
        let (sentence, behind) = rest.split_at(sentence_length(rest));
        if !roles.is_empty() && gives_reason(sentence) {
            roles.extend(sentence.iter().map(|_| Role::Reason));
        } else {
            roles.extend(roles_within(sentence));
        }
        rest = behind;
    }
    roles
}

/// How many tokens the first sentence has. What goes on with a small letter behind a full stop or a semicolon is taken for a
/// part of it: most of all that stands behind "e.g.".
fn sentence_length(tokens: &[Token<'_>]) -> usize {
    let ends = |pair: &[Token<'_>]| match pair {
        [token, next] => token.end == End::Sentence && !next.text.starts_with(char::is_lowercase),
        _ => false,
    };
    let end = tokens.windows(2).position(ends);
    end.map_or(tokens.len(), |last| last + 1)
}

/// Whether a sentence behind the first one says why: it goes on about what was said, or tells what happens. A further instruction
/// ("Clear the cache afterwards") or a scope ("On laptops this is best") is a part of what is said.
fn gives_reason(sentence: &[Token<'_>]) -> bool {
    let Some(first) = sentence.first().filter(|first| !first.in_code) else {
        return false;
    };
    let demands = |token: &Token<'_>| !token.in_code && DEMANDS.contains(&token.lower.as_str());
    if limits(sentence) || belongs_to_others(first) || sentence.iter().any(demands) {
        return false;
    }
    if PRONOUNS.contains(&first.lower.as_str()) {
        return sentence.len() > 1 && !says_where(sentence);
    }
    // What happens in a further part is what an instruction is for: "Restart it if it hangs".
    let begins_further = |token: &Token<'_>| !token.in_code && FURTHER.contains(&token.lower.as_str());
    let further = sentence.iter().position(begins_further).unwrap_or(sentence.len());
    let first_part = sentence.get(..further).unwrap_or_default();
    begins_with_subject(sentence) && tells_what_happens(first_part)
}

/// "This is for CI": not why, but where.
fn says_where(sentence: &[Token<'_>]) -> bool {
    match sentence {
        [_, is, place, ..] => {
            matches!(is.lower.as_str(), "is" | "are" | "was" | "were") && SCOPES.contains(&place.lower.as_str())
        }
        _ => false,
    }
}

/// Whether a sentence begins with what it is about, and not with what to do: "Every build …", "Requests …", "CI is …".
fn begins_with_subject(sentence: &[Token<'_>]) -> bool {
    let [first, second, ..] = sentence else {
        return false;
    };
    let (word, next) = (first.lower.as_str(), second.lower.as_str());
    let is_plural = word.ends_with('s') && !word.ends_with("ss");
    let is_finite = FINITE.contains(&next) || next.ends_with('s') && happens(next);
    DETERMINERS.contains(&word) || SUBJECTS.contains(&word) || is_plural || is_finite
}

fn roles_within(sentence: &[Token<'_>]) -> Vec<Role> {
    let mut roles = vec![Role::Said; sentence.len()];
    let first_part = clause_length(sentence);
    let mut said_from = 0;
    if let Some(first) = sentence.first().filter(|first| !first.in_code) {
        let is_reason = first.lower == "since" && is_why(sentence, 0);
        if is_reason && first_part < sentence.len() {
            roles.iter_mut().take(first_part).for_each(|role| *role = Role::Reason);
        }
        // What is said begins behind the condition or the reason.
        if is_reason || belongs_to_others(first) {
            said_from = first_part;
        }
    }
    let reason = (said_from + 1..sentence.len()).find(|at| begins_reason(sentence, *at));
    if let Some(reason) = reason {
        roles.iter_mut().skip(reason).for_each(|role| *role = Role::Reason);
    }
    roles
}

/// How many tokens there are up to the end of the first part of a sentence.
fn clause_length(tokens: &[Token<'_>]) -> usize {
    let end = tokens.iter().position(|token| token.end != End::Nothing);
    end.map_or(tokens.len(), |last| last + 1)
}

/// Whether a reason begins at a place of a sentence, behind what is said.
fn begins_reason(sentence: &[Token<'_>], at: usize) -> bool {
    let (before, behind) = sentence.split_at(at);
    let [token, rest @ ..] = behind else {
        return false;
    };
    if token.in_code || limits(behind) {
        return false;
    }
    let last = before.last();
    let begins_part = last.is_some_and(|last| last.end != End::Nothing);
    let next = rest.first().map_or("", |next| next.lower.as_str());
    match token.lower.as_str() {
        "since" => is_why(sentence, at),
        "so" => next == "that" || begins_part && next != "far",
        "or" if next == "else" => true,
        "else" => !is_conditional(before) && last.is_some_and(|last| begins_part || !is_indefinite(&last.lower)),
        "or" => !is_conditional(before) && tells_what_happens(rest),
        "as" => is_why_it_is_so(before, rest),
        word if begins_part && PRONOUNS.contains(&word) => clause_length(behind) > 1,
        _ => begins_part && tells_what_happens(behind.get(..clause_length(behind)).unwrap_or_default()),
    }
}

/// Whether "since" at a place says why, and not from when on: "since 1.2", "has been so since then".
fn is_why(sentence: &[Token<'_>], at: usize) -> bool {
    let (before, behind) = sentence.split_at(at);
    let is_moment = |word: &str| {
        matches!(word, "then" | "version" | "release" | "yesterday")
            || word.contains(|sign: char| sign.is_ascii_digit())
    };
    let is_past = |token: &Token<'_>| matches!(token.lower.as_str(), "has" | "have" | "had" | "been" | "ever");
    let next = behind.get(1);
    next.is_some_and(|next| !is_moment(&next.lower)) && !before.iter().any(is_past)
}

/// Whether "as" between these says why: "…, as the tests are slow", and not "as root", "as soon as it fails", "as it is".
fn is_why_it_is_so(before: &[Token<'_>], rest: &[Token<'_>]) -> bool {
    let begins_part = before.last().is_some_and(|last| last.end != End::Nothing);
    let compares = |token: &Token<'_>| {
        matches!(
            token.lower.as_str(),
            "as" | "far" | "long" | "same" | "soon" | "so" | "such"
        )
    };
    if !begins_part && before.iter().rev().take(2).any(compares) {
        return false;
    }
    let clause = rest.get(..clause_length(rest)).unwrap_or_default();
    let Some(first) = clause.first() else {
        return false;
    };
    let is_pronoun = PRONOUNS.contains(&first.lower.as_str()) && clause.len() > 2;
    let is_subject = begins_part || DETERMINERS.contains(&first.lower.as_str());
    is_pronoun || is_subject && tells_what_happens(clause)
}

/// Whether a part of a sentence says what happens to something, or how it is. Its first word is what it happens to.
fn tells_what_happens(part: &[Token<'_>]) -> bool {
    let Some(first) = part.first() else {
        return false;
    };
    let is_subject = first.lower == "nothing" || first.lower == "no" || first.lower == "nobody";
    let says = is_negation(&first.lower) || words::is_affirmation(&first.lower);
    if first.in_code || belongs_to_others(first) || says && !is_subject {
        return false;
    }
    let pairs = part.windows(2).map_while(|pair| match pair {
        [before, word] => (!RELATIVES.contains(&word.lower.as_str())).then_some((before, word)),
        _ => None,
    });
    pairs.into_iter().any(|(before, word)| {
        let is_thing = DETERMINERS.contains(&before.lower.as_str()) && !PRONOUNS.contains(&before.lower.as_str());
        !word.in_code && !is_thing && happens(&word.lower)
    })
}

fn happens(word: &str) -> bool {
    let is_form = |verb: &str| word.strip_prefix(verb).is_some_and(|ending| ENDINGS.contains(&ending));
    STATES.contains(&word) || HAPPENINGS.iter().any(|verb| is_form(verb))
}

fn belongs_to_others(first: &Token<'_>) -> bool {
    let word = first.lower.as_str();
    ATTACHED.contains(&word) || CONDITIONS.contains(&word) || LIMITS.contains(&word)
}

fn limits(tokens: &[Token<'_>]) -> bool {
    tokens
        .iter()
        .any(|token| !token.in_code && LIMITS.contains(&token.lower.as_str()))
}

fn is_conditional(tokens: &[Token<'_>]) -> bool {
    tokens
        .iter()
        .any(|token| !token.in_code && CONDITIONS.contains(&token.lower.as_str()))
}

/// "something else", "who else".
fn is_indefinite(word: &str) -> bool {
    let is_of = |end: &&str| word.ends_with(end);
    ["thing", "one", "body", "where"].iter().any(is_of) || matches!(word, "what" | "who" | "how" | "all")
}

#[cfg(test)]
mod tests {
    use super::super::tokens::tokens;
    use super::*;

    /// What is said without reasons.
    fn said(text: &str) -> String {
        let tokens = tokens(text);
        let roles = roles(&tokens);
        assert_eq!(roles.len(), tokens.len());
        let said = tokens.iter().zip(roles).filter(|(_, role)| *role == Role::Said);
        said.map(|(token, _)| token.text).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn reasons_are_told_from_what_is_said() {
        for (text, expected) in [
            ("Start it first, or every request hangs", "Start it first"),
            ("Start it first or requests will hang", "Start it first"),
            ("Start it first, or nothing works", "Start it first"),
            ("Start it first, or else CI is red", "Start it first"),
            ("Start it first else the suite times out", "Start it first"),
            ("Start it first since the suite needs it", "Start it first"),
            ("Since the suite needs it, start it first", "start it first"),
            ("Start it first so that no request hangs", "Start it first"),
            ("Start it first, so the requests pass", "Start it first"),
            ("Start it first, as the suite is slow", "Start it first"),
            ("Start it first as it takes a minute", "Start it first"),
            ("Commit it, it breaks the Docker build", "Commit it"),
            ("Commit it - this breaks the Docker build", "Commit it"),
            ("Commit it; it breaks the Docker build", "Commit it"),
            ("Commit it, the Docker build fails", "Commit it"),
            ("Commit it. Every build needs it.", "Commit it"),
            ("Commit it. It breaks the build.", "Commit it"),
            ("Commit it. This is what CI reads.", "Commit it"),
            ("Commit it. Builds fail without it.", "Commit it"),
            ("Commit it. CI is red else.", "Commit it"),
            ("Commit it. Docker needs it when it builds.", "Commit it"),
            ("Commit it. Nothing works without it.", "Commit it"),
            ("Commit it. Editors, hooks and watchers wait for it.", "Commit it"),
            ("If it hangs, kill it, the tests fail with it", "If it hangs kill it"),
        ] {
            assert_eq!(said(text), expected, "{text:?}");
        }
    }

    #[test]
    fn choices_conditions_and_limits_are_no_reasons() {
        for text in [
            "Use npm or pnpm",
            "Use npm, or pnpm",
            "Use 4 or 8 workers",
            "Use the mock, or the block device",
            "Use the mock, or the one that is cached",
            "Use npm, or do not install it",
            "Kill it if it hangs or the tests fail",
            "If it hangs, it is the daemon",
            "When the build fails, the cache is stale",
            "The flag works since 1.2",
            "It has been broken since the summer",
            "Since 1.2 the flag works",
            "Run it as root",
            "Use the folder as cache",
            "Leave it as it is",
            "Stop as soon as it fails",
            "If it is red, stop, else go on",
            "Use something else",
            "Use tabs, not spaces",
            "Stop the daemon, run the tests",
            "Stop the daemon, and the tests pass",
            "Run it, if the tests fail",
            "Use mocks, they are only for unit tests",
            "Use mocks. Only in CI.",
            "Run the migrations. Seed the database with make seed.",
            "Run the migrations. Clear the redis cache afterwards.",
            "Run the migrations. Restart the daemon if it hangs.",
            "Run the migrations. Remove stale locks.",
            "Run the migrations. Tests run alone when the daemon is stuck.",
            "Run the migrations. Stop the daemon before the tests fail.",
            "Run the migrations. The daemon must be stopped.",
            "Run the migrations. They should stay small.",
            "Run the migrations. Do not stop the daemon.",
            "Use 4 workers. In CI this is the limit.",
            "Use 4 workers. On laptops this is best.",
            "Use 4 workers. This is for CI.",
            "Use 4 workers. If it hangs, the daemon is stuck.",
            "Use 4 workers. `it` is slow.",
            "Use a cache, e.g. sccache for the build",
            "Use `a or it fails`",
            "",
        ] {
            let all: Vec<&str> = tokens(text).iter().map(|token| token.text).collect();
            assert_eq!(said(text), all.join(" "), "{text:?}");
        }
    }
}
