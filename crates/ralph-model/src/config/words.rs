//! The settings that are one word out of a few.

use std::str::FromStr;

use toml_edit::Value;

use super::Kind;
use super::setting::Setting;
use crate::word_enum::word_enum;

/// Makes an enum of a setting whose values are words.
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
            /// Every word, the default first.
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
    /// What prompts get of memories.
    Inject {
        /// The memories and the skill.
        #[default]
        Auto = "auto",
        /// The skill alone.
        Manual = "manual",
        /// Nothing.
        None = "none",
    }
}

words! {
    /// How an agent is spoken to.
    AgentKind {
        /// By Claude Code's records.
        #[default]
        Claude = "claude",
        /// By the records of `codex exec --json`.
        Codex = "codex",
        /// By the Agent Client Protocol.
        Acp = "acp",
        /// The prompt in, text out.
        Command = "command",
    }
}

words! {
    /// What the agent may do without being asked.
    Permissions {
        /// Edit files of the project.
        #[default]
        Edit = "edit",
        /// Everything.
        Full = "full",
    }
}

words! {
    /// Which environment the agent gets.
    Environment {
        /// The user's, without what belongs to other sessions.
        #[default]
        Inherit = "inherit",
        /// Only what is on an allow-list.
        Clean = "clean",
    }
}

words! {
    /// How the model of an iteration is chosen.
    StrategyName {
        /// Cheaper while things go well, dearer when they do not.
        #[default]
        CostOptimized = "cost-optimized",
        /// One step up with every failure.
        Escalate = "escalate",
        /// Always the same.
        Fixed = "fixed",
        /// The top one first, then the middle.
        PlanThenExecute = "plan-then-execute",
    }
}

words! {
    /// What becomes of a task that an agent adds.
    FromAgents {
        /// It is proposed; a person accepts it in `ralph review`.
        #[default]
        Propose = "propose",
        /// It is accepted at once.
        Accept = "accept",
    }
}

words! {
    /// What makes a learning active.
    Promote {
        /// An iteration with evidence, or support by another iteration.
        #[default]
        Evidence = "evidence",
        /// A person, in `ralph review`.
        Review = "review",
        /// Nothing more: every valid learning is active.
        Auto = "auto",
    }
}

words! {
    /// What becomes of a task that was reported done and is unverified.
    WhenUnverified {
        /// It is done and marked, and a person reviews it.
        #[default]
        Review = "review",
        /// It is done.
        Accept = "accept",
        /// It is tried again.
        Retry = "retry",
    }
}

words! {
    /// What ralph commits to git.
    Commit {
        /// Nothing.
        #[default]
        None = "none",
        /// The files of each finished task.
        Task = "task",
    }
}

words! {
    /// Where the agent works.
    Isolate {
        /// In a git repository each task has a checkout of its own.
        #[default]
        Auto = "auto",
        /// In the project itself.
        Off = "off",
    }
}

words! {
    /// Whether a run shows at the bottom of a terminal what goes on now.
    LiveView {
        /// On a terminal that can, unless a program reads along.
        #[default]
        Auto = "auto",
        /// Lines alone, everywhere.
        Never = "never",
    }
}

words! {
    /// When output is coloured.
    Color {
        /// On a terminal.
        #[default]
        Auto = "auto",
        /// Always.
        Always = "always",
        /// Never.
        Never = "never",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_read_and_written() {
        for word in StrategyName::WORDS {
            assert_eq!(word.parse::<StrategyName>().unwrap().word(), *word);
        }
        assert_eq!(StrategyName::WORDS.first(), Some(&StrategyName::default().word()));
    }

    #[test]
    fn another_word_is_refused_with_those_there_are() {
        assert_eq!(
            "Always".parse::<Color>(),
            Err(r#""Always" is not "auto", "always" or "never""#.to_owned())
        );
    }
}
