//! The evidence that work is done, and why a task reported as done needs review.

use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};

use crate::word_enum::word_enum;

word_enum! {
    /// What confirmed an iteration's work or, if it was retried, what refused it.
    pub enum Evidence {
        None = "none",
        Gates = "gates",
        Verifier = "verifier",
        /// At least one gate and the verifier.
        Both = "both",
    }
}

impl Evidence {
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
    /// Stored word for why a task is unverified.
    pub enum UnverifiedReason {
        /// No gate passed, and no verifier approved.
        NoEvidence = "no_evidence",
        /// No attempt changed anything on disk.
        NothingChanged = "nothing_changed",
        /// The agent changed gates, their scripts or configuration.
        EvidenceChanged = "evidence_changed",
    }
}

impl UnverifiedReason {
    /// The reason as a clause about this many tasks.
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

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unverified {
    /// No gate passed, and no verifier approved.
    NoEvidence,
    /// No attempt since the last reset changed anything on disk.
    NothingChanged,
    /// The work changed these gates, scripts or configuration files.
    EvidenceChanged(Vec<String>),
}

impl Unverified {
    /// Combines a stored reason with the names stored with it.
    #[must_use]
    pub fn from_parts(reason: UnverifiedReason, changed: Vec<String>) -> Self {
        match reason {
            UnverifiedReason::NoEvidence => Self::NoEvidence,
            UnverifiedReason::NothingChanged => Self::NothingChanged,
            UnverifiedReason::EvidenceChanged => Self::EvidenceChanged(changed),
        }
    }

    #[must_use]
    pub const fn reason(&self) -> UnverifiedReason {
        match self {
            Self::NoEvidence => UnverifiedReason::NoEvidence,
            Self::NothingChanged => UnverifiedReason::NothingChanged,
            Self::EvidenceChanged(_) => UnverifiedReason::EvidenceChanged,
        }
    }

    /// Files or settings that the evidence rests on and that were changed.
    #[must_use]
    pub fn changed(&self) -> &[String] {
        match self {
            Self::EvidenceChanged(names) => names,
            Self::NoEvidence | Self::NothingChanged => &[],
        }
    }

    /// The reason as a clause, with the changed names.
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
    fn unverified_serializes_as_reason_and_names() {
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
