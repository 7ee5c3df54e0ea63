//! What confirmed that work is done, and why a task that is called done needs a person's review.

use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};

use crate::word_enum::word_enum;

word_enum! {
    /// What confirmed the work of an iteration; of one that was retried, what refused it.
    pub enum Evidence {
        /// Nothing.
        None = "none",
        /// At least one gate.
        Gates = "gates",
        /// The verifier.
        Verifier = "verifier",
        /// At least one gate and the verifier.
        Both = "both",
    }
}

impl Evidence {
    /// The evidence of gates and verifier together.
    #[must_use]
    pub const fn of(gates: bool, verifier: bool) -> Self {
        match (gates, verifier) {
            (false, false) => Self::None,
            (true, false) => Self::Gates,
            (false, true) => Self::Verifier,
            (true, true) => Self::Both,
        }
    }
}

word_enum! {
    /// The word for why a task is unverified.
    pub enum UnverifiedReason {
        /// No gate passed, and no verifier approved.
        NoEvidence = "no_evidence",
        /// No attempt changed anything on disk.
        NothingChanged = "nothing_changed",
        /// The agent changed what the evidence rests on.
        EvidenceChanged = "evidence_changed",
    }
}

impl UnverifiedReason {
    /// The reason as part of a sentence about this many tasks.
    #[must_use]
    pub const fn words_for(self, tasks: u32) -> &'static str {
        match (self, tasks) {
            (Self::NoEvidence, 1) => "no gate or verifier confirmed it",
            (Self::NoEvidence, _) => "no gate or verifier confirmed them",
            (Self::NothingChanged, _) => "no attempt changed a project file",
            (Self::EvidenceChanged, 1) => "what its evidence rests on was changed",
            (Self::EvidenceChanged, _) => "what their evidence rests on was changed",
        }
    }
}

/// Why a task that was reported done is unverified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unverified {
    /// No gate passed, and no verifier approved.
    NoEvidence,
    /// No attempt since the task was last reset changed anything on disk.
    NothingChanged,
    /// These, on which the evidence rests, were changed during the work: gates, their scripts, configuration.
    EvidenceChanged(Vec<String>),
}

impl Unverified {
    /// The mark that a reason and the names stored with it stand for.
    #[must_use]
    pub fn from_parts(reason: UnverifiedReason, changed: Vec<String>) -> Self {
        match reason {
            UnverifiedReason::NoEvidence => Self::NoEvidence,
            UnverifiedReason::NothingChanged => Self::NothingChanged,
            UnverifiedReason::EvidenceChanged => Self::EvidenceChanged(changed),
        }
    }

    /// The reason without its details.
    #[must_use]
    pub const fn reason(&self) -> UnverifiedReason {
        match self {
            Self::NoEvidence => UnverifiedReason::NoEvidence,
            Self::NothingChanged => UnverifiedReason::NothingChanged,
            Self::EvidenceChanged(_) => UnverifiedReason::EvidenceChanged,
        }
    }

    /// What was changed on which the evidence rests.
    #[must_use]
    pub fn changed(&self) -> &[String] {
        match self {
            Self::EvidenceChanged(names) => names,
            Self::NoEvidence | Self::NothingChanged => &[],
        }
    }

    /// The reason as part of a sentence, with the names of what was changed.
    #[must_use]
    pub fn words(&self) -> String {
        match self.changed() {
            [] => self.reason().words_for(1).to_owned(),
            names => format!("{} ({})", self.reason().words_for(1), names.join(", ")),
        }
    }
}

impl Serialize for Unverified {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut unverified = serializer.serialize_struct("Unverified", 2)?;
        unverified.serialize_field("reason", &self.reason())?;
        unverified.serialize_field("changed", self.changed())?;
        unverified.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_stored_as_a_word_and_names() {
        let changed = Unverified::EvidenceChanged(vec!["check.sh".to_owned(), ".ralph.toml".to_owned()]);
        for mark in [Unverified::NoEvidence, Unverified::NothingChanged, changed.clone()] {
            assert_eq!(Unverified::from_parts(mark.reason(), mark.changed().to_vec()), mark);
        }
        assert_eq!(
            changed.words(),
            "what its evidence rests on was changed (check.sh, .ralph.toml)"
        );
        assert_eq!(
            serde_json::to_string(&changed).unwrap(),
            r#"{"reason":"evidence_changed","changed":["check.sh",".ralph.toml"]}"#
        );
        assert_eq!(
            serde_json::to_string(&Unverified::NoEvidence).unwrap(),
            r#"{"reason":"no_evidence","changed":[]}"#
        );
    }
}
