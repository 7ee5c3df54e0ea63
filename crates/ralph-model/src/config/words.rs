//! Settings whose value is one of a few words.

use std::str::FromStr;

use toml_edit::Value;

use super::Kind;
use super::setting::Setting;
use crate::word_enum::word_enum;

/// Defines an enum of a setting whose values are words.
macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($(#[$value_about:meta])* $value:ident = $word:literal,)+ }) => {
        word_enum! {
            $(#[$about])*
            #[derive(Default)]
            pub enum $name {
                $($(#[$value_about])* $value = $word,)+
            }
        }

        impl $name {
            /// The default is first.
            pub const WORDS: &'static [&'static str] = &[$($word),+];
        }

        impl FromStr for $name {
            type Err = String;

            fn from_str(word: &str) -> Result<Self, Self::Err> {
                Self::parse(word).ok_or_else(|| format!("{word:?} is not {}", Self::KIND))
            }
        }

        impl Setting for $name {
            const KIND: Kind = Kind::OneOf(Self::WORDS);

            fn read(value: &Value) -> Option<Self> {
                Self::parse(value.as_str()?)
            }
        }
    };
}

words! {
    /// What is injected of memories.
    Inject {
        #[default]
        Auto = "auto",
        Manual = "manual",
        None = "none",
    }
}

words! {
    /// The protocol of an agent.
    AgentKind {
        #[default]
        Claude = "claude",
        /// The JSON records of `codex exec --json`.
        Codex = "codex",
        /// The Agent Client Protocol.
        Acp = "acp",
        /// The prompt on standard input, text on standard output.
        Command = "command",
    }
}

words! {
    /// What the agent may do without asking.
    Permissions {
        #[default]
        Edit = "edit",
        Full = "full",
    }
}

words! {
    /// The environment of the agent.
    Environment {
        /// The user's, without variables of other sessions.
        #[default]
        Inherit = "inherit",
        /// Only variables on an allow-list.
        Clean = "clean",
    }
}

words! {
    /// How the model of an iteration is chosen.
    StrategyName {
        /// Cheaper after success, stronger after failures.
        #[default]
        CostOptimized = "cost-optimized",
        /// One step up with each failure.
        Escalate = "escalate",
        Fixed = "fixed",
        /// The strongest first, then the middle.
        PlanThenExecute = "plan-then-execute",
    }
}

words! {
    /// What happens to a task that an agent adds.
    FromAgents {
        /// It needs acceptance in `ralph review`.
        #[default]
        Propose = "propose",
        Accept = "accept",
    }
}

words! {
    /// What activates a learning.
    Promote {
        /// An iteration with evidence, or support from another iteration.
        #[default]
        Evidence = "evidence",
        /// A person in `ralph review`.
        Review = "review",
        /// Every valid learning is active.
        Auto = "auto",
    }
}

words! {
    /// What happens to an unverified task.
    WhenUnverified {
        /// It is done, but needs review.
        #[default]
        Review = "review",
        Accept = "accept",
        Retry = "retry",
    }
}

words! {
    /// What ralph commits to git.
    Commit {
        #[default]
        None = "none",
        /// The files of each done task.
        Task = "task",
    }
}

words! {
    Isolate {
        /// A checkout per task in a git repository.
        #[default]
        Auto = "auto",
        Off = "off",
    }
}

words! {
    /// Whether a run shows live progress.
    LiveView {
        /// If the terminal supports it and the output is not read by a program.
        #[default]
        Auto = "auto",
        Never = "never",
    }
}

words! {
    Color {
        #[default]
        Auto = "auto",
        Always = "always",
        Never = "never",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_round_trip() {
        for word in StrategyName::WORDS {
            assert_eq!(word.parse::<StrategyName>().unwrap().word(), *word);
        }
        assert_eq!(StrategyName::WORDS.first(), Some(&StrategyName::default().word()));
    }

    #[test]
    fn unknown_word_is_refused_with_the_known_ones() {
        assert_eq!(
            "Always".parse::<Color>(),
            Err(r#""Always" is not "auto", "always" or "never""#.to_owned())
        );
    }
}
