//! Short ids of database rows: a prefix and hex digits.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! short_id {
    ($(#[$about:meta])* $name:ident, $prefix:literal, $digits:literal) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            pub const PREFIX: &'static str = $prefix;

            /// An id from random bits. The caller checks whether it is taken.
            #[must_use]
            pub fn new(bits: u64) -> Self {
                let digits = bits & ((1 << (4 * $digits)) - 1);
                Self(format!("{}{digits:0width$x}", $prefix, width = $digits))
            }

            /// Parses a complete id.
            #[must_use]
            pub fn parse(text: &str) -> Option<Self> {
                let digits = text.strip_prefix($prefix)?;
                let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
                (digits.len() == $digits && digits.bytes().all(is_digit)).then(|| Self(text.to_owned()))
            }

            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }
    };
}

short_id!(
    /// The id of a rollback: `roll-1a2b3c4d`.
    RollbackId, "roll-", 8
);
short_id!(
    /// The id of a task: `t-1a2b3c`.
    TaskId, "t-", 6
);
short_id!(
    /// The id of a feature: `f-1a2b3c`.
    FeatureId, "f-", 6
);
short_id!(
    /// The id of a run: `run-1a2b3c4d`.
    RunId, "run-", 8
);
short_id!(
    /// The id of a learning: `learn-1a2b3c4d`.
    LearningId, "learn-", 8
);
short_id!(
    /// The id of a proposal: `p-1a2b3c`.
    ProposalId, "p-", 6
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_made_and_read_in_one_form() {
        assert_eq!(TaskId::new(0xffff_0000_00a1).as_str(), "t-0000a1");
        assert_eq!(RunId::new(u64::MAX).as_str(), "run-ffffffff");
        assert!(TaskId::parse("t-0000a1").is_some());
        for bad in [
            "",
            "t-",
            "t-0000a",
            "t-0000a1b",
            "t-0000A1",
            "t-0000g1",
            "f-0000a1",
            "x",
        ] {
            assert_eq!(TaskId::parse(bad), None, "{bad:?}");
        }
    }
}
