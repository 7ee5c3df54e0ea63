//! Guesses the type of a note from its words, if the user does not give one.
//!
//! The guess is reported and easily overridden, so a short word list is enough.

use ralph_model::{NoteFileKind, NoteKind};

/// Guesses the type of a note. Without a matching word it is context, or a pattern in files that have no context.
#[must_use]
pub fn guess_kind(text: &str, file_kind: NoteFileKind) -> NoteKind {
    let text = Words::of(text);
    let kind = if text.mentions_trouble() {
        NoteKind::Fix
    } else if text.mentions_a_choice() {
        NoteKind::Decision
    } else if text.gives_instructions() {
        NoteKind::Pattern
    } else {
        NoteKind::Context
    };
    if file_kind.kinds().contains(&kind) {
        kind
    } else {
        NoteKind::Pattern
    }
}

/// Something fails or is fixed.
const TROUBLE: &[&str] = &[
    "error",
    "errors",
    "fail",
    "fails",
    "failed",
    "failing",
    "failure",
    "failures",
    "crash",
    "crashes",
    "crashed",
    "panic",
    "panics",
    "panicked",
    "hang",
    "hangs",
    "broken",
    "breaks",
    "broke",
    "bug",
    "flaky",
    "timeout",
    "deadlock",
    "exception",
    "segfault",
    "workaround",
    "fix",
    "fixed",
    "fixes",
    "fixing",
    "leak",
    "leaks",
    "corrupt",
    "corrupts",
    "conflict",
];
const TROUBLE_PHRASES: &[&str] = &[
    "timed out",
    "times out",
    "not found",
    "permission denied",
    "exit code",
    "does not work",
    "doesn't work",
    "out of memory",
    "must run",
    "run first",
    "needs to run",
    "gotcha",
];

/// A choice between alternatives.
const CHOICE: &[&str] = &[
    "chose", "chosen", "choose", "decided", "decision", "picked", "rejected", "adopted", "agreed", "switched",
];
const CHOICE_PHRASES: &[&str] = &[
    "instead of",
    "rather than",
    "in favour of",
    "in favor of",
    "went with",
    "opted for",
    "settled on",
    "moved from",
    "trade off",
    "we use",
    "we keep",
];
/// A reason turns a rule or a fact into a decision.
const REASON: &[&str] = &["because", "since", "over"];

/// An instruction.
const RULE: &[&str] = &[
    "always",
    "never",
    "use",
    "prefer",
    "avoid",
    "convention",
    "should",
    "must",
    "every",
    "each",
    "all",
    "don't",
    "dont",
    "only",
    "named",
    "naming",
    "follow",
    "follows",
    "keep",
    "put",
    "run",
    "write",
    "add",
    "pattern",
    "style",
];
const RULE_PHRASES: &[&str] = &["do not", "make sure", "by convention"];

/// A text as lower-case words, each between single spaces.
struct Words {
    spaced: String,
    has_error_name: bool,
}

impl Words {
    fn of(text: &str) -> Self {
        let words = || {
            text.split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '_')
                .filter(|word| !word.is_empty())
        };
        let mut spaced = String::from(" ");
        for word in words() {
            spaced.push_str(&word.to_lowercase());
            spaced.push(' ');
        }
        Self {
            spaced,
            has_error_name: words().any(is_error_name),
        }
    }

    fn mentions_trouble(&self) -> bool {
        self.has_error_name || self.has_any(TROUBLE) || self.has_any(TROUBLE_PHRASES)
    }

    fn mentions_a_choice(&self) -> bool {
        self.has_any(CHOICE) || self.has_any(CHOICE_PHRASES) || self.has_any(REASON)
    }

    fn gives_instructions(&self) -> bool {
        self.has_any(RULE) || self.has_any(RULE_PHRASES)
    }

    /// Whether one of these words or phrases is in the text.
    fn has_any(&self, phrases: &[&str]) -> bool {
        phrases
            .iter()
            .any(|phrase| self.spaced.contains(&format!(" {phrase} ")))
    }
}

/// `ECONNREFUSED`, `SIGSEGV`, `E0502`, `TypeError`, `NullPointerException`.
fn is_error_name(word: &str) -> bool {
    let is_upper_case = word.len() > 4 && word.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit());
    let of_system =
        is_upper_case && (word.starts_with("SIG") || SYSTEM_ERRORS.iter().any(|start| word.starts_with(start)));
    let numbered = word.len() == 5
        && word
            .strip_prefix('E')
            .is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit()));
    let of_class = ["Error", "Exception"]
        .iter()
        .any(|end| word.len() > end.len() && word.ends_with(end));
    of_system || numbered || of_class
}

/// Prefixes of operating system errors.
const SYSTEM_ERRORS: &[&str] = &[
    "ECONN", "ENO", "EACC", "EEXIST", "EPERM", "EADDR", "ETIMED", "EHOST", "EMFILE", "EPIPE", "ERESOLVE", "EINVAL",
];

#[cfg(test)]
mod tests {
    use super::*;

    const NOTES: &[(NoteKind, &str)] = &[
        (NoteKind::Fix, "ECONNREFUSED on port 5432: docker compose up -d"),
        (NoteKind::Fix, "npm test fails unless npm run build ran before"),
        (NoteKind::Fix, "The dev server crashes on Node 22; use 20"),
        (NoteKind::Fix, "Workaround for the flaky login test: --test-threads=1"),
        (NoteKind::Fix, "You must run `make proto` before cargo build"),
        (NoteKind::Fix, "TypeError in useAuth: the context provider is missing"),
        (NoteKind::Fix, "E0502 in parser.rs was fixed by cloning the span"),
        (NoteKind::Fix, "pip install times out behind the proxy"),
        (NoteKind::Fix, "command not found: protoc. Install protobuf-compiler."),
        (NoteKind::Fix, "CI hangs when stdin is a terminal"),
        (NoteKind::Fix, "Migration 12 broke the users table; run 12b"),
        (NoteKind::Fix, "ENOSPC: raise fs.inotify.max_user_watches"),
        (
            NoteKind::Decision,
            "We chose Postgres over SQLite for concurrent writes",
        ),
        (NoteKind::Decision, "Decided to keep the monolith until Q3"),
        (
            NoteKind::Decision,
            "TailwindCSS instead of styled-components: bundle size",
        ),
        (
            NoteKind::Decision,
            "Went with JSONL, it is append-only and git-friendly",
        ),
        (
            NoteKind::Decision,
            "The API is REST because the mobile team has no GraphQL",
        ),
        (NoteKind::Decision, "Picked Zod for validation"),
        (NoteKind::Decision, "We rejected Kafka: too much to operate"),
        (NoteKind::Decision, "Switched to pnpm in January"),
        (NoteKind::Decision, "UUIDv7 rather than serial ids"),
        (NoteKind::Decision, "Agreed with design: no dark mode in v1"),
        (NoteKind::Pattern, "Always run cargo fmt before a commit"),
        (NoteKind::Pattern, "Never edit generated files under src/gen"),
        (NoteKind::Pattern, "Use barrel exports for module boundaries"),
        (NoteKind::Pattern, "All API handlers return { success, data }"),
        (NoteKind::Pattern, "Prefer composition to inheritance"),
        (NoteKind::Pattern, "Convention: test files end in .spec.ts"),
        (NoteKind::Pattern, "Routes are named in kebab-case"),
        (NoteKind::Pattern, "Do not mock the database in integration tests"),
        (NoteKind::Pattern, "Every service has its own Dockerfile"),
        (NoteKind::Pattern, "New components should live in packages/ui"),
        (NoteKind::Context, "The billing service belongs to team Falcon"),
        (NoteKind::Context, "Production is at https://app.example.com"),
        (NoteKind::Context, "Node 20.11, Postgres 16, Redis 7"),
        (NoteKind::Context, "The staging cluster is in eu-west-1"),
        (NoteKind::Context, "ralph-model has the nouns, ralph the commands"),
        (NoteKind::Context, "Design documents are in docs/adr"),
        (NoteKind::Context, "Maria owns the payments module"),
        (NoteKind::Context, "The release is on the first Tuesday of the month"),
        (NoteKind::Context, "HTTP and JSON; README has the details"),
        (NoteKind::Context, "これは日本語のメモです"),
        (NoteKind::Context, "🚀"),
        (NoteKind::Context, ""),
    ];

    #[test]
    fn kinds_are_guessed_from_words() {
        let wrong: Vec<_> = NOTES
            .iter()
            .map(|(kind, text)| (*kind, guess_kind(text, NoteFileKind::Memories), text))
            .filter(|(kind, guessed, _)| kind != guessed)
            .collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn partial_words_do_not_match() {
        for text in [
            "The prefix is `unfixable`",
            "Overall status page",
            "Terrorform is a typo",
        ] {
            assert_eq!(guess_kind(text, NoteFileKind::Memories), NoteKind::Context, "{text}");
        }
    }

    #[test]
    fn context_becomes_a_pattern_in_guardrails() {
        for (kind, text) in NOTES {
            let expected = match kind {
                NoteKind::Context => NoteKind::Pattern,
                kind => *kind,
            };
            assert_eq!(guess_kind(text, NoteFileKind::Guardrails), expected, "{text}");
        }
    }
}
