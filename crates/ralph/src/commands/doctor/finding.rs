//! A finding of a check: severity, place, problem and remedy.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use ralph_model::count;
use ralph_notes::LockedFile;
use ralph_search::{SearchIndex, Sources};
use ralph_store::{Store, Wait};
use serde::Serialize;

use crate::commands::init::ignore_lines;
use crate::commands::init::merge_lines::add_attributes;
use crate::context::Context;
use crate::error::CommandError;
use crate::merge_setup::MergeSetup;
use crate::paths::Spelling;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Severity {
    Ok,
    Note,
    /// It works, but probably not as intended.
    Warning,
    /// Something does not work, or notes are not read.
    Error,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct Finding {
    pub(super) check: &'static str,
    pub(super) severity: Severity,
    /// The file, perhaps with a line, or the variable.
    pub(super) place: Option<String>,
    /// The problem, or what is fine.
    pub(super) problem: String,
    pub(super) remedy: Option<String>,
    /// Whether `--fix` can fix it.
    pub(super) fixable: bool,
    /// Whether `--fix` has fixed it.
    pub(super) fixed: bool,
    #[serde(skip)]
    pub(super) fix: Option<Fix>,
}

impl Finding {
    fn new(severity: Severity, problem: impl Into<String>) -> Self {
        Self {
            check: "",
            severity,
            place: None,
            problem: problem.into(),
            remedy: None,
            fixable: false,
            fixed: false,
            fix: None,
        }
    }

    /// Something worth knowing.
    pub(super) fn note(problem: impl Into<String>) -> Self {
        Self::new(Severity::Note, problem)
    }

    /// Something that works, but probably not as intended.
    pub(super) fn warning(problem: impl Into<String>) -> Self {
        Self::new(Severity::Warning, problem)
    }

    /// Something that does not work.
    pub(super) fn error(problem: impl Into<String>) -> Self {
        Self::new(Severity::Error, problem)
    }

    pub(super) fn at(mut self, place: &(impl Display + ?Sized)) -> Self {
        self.place = Some(place.to_string());
        self
    }

    pub(super) fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }

    /// Sets what `--fix` does about it.
    pub(super) fn fixed_by(mut self, fix: Fix) -> Self {
        self.fixable = true;
        self.fix = Some(fix);
        self
    }

    /// Returns true if this is the same problem found again.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        (self.check, &self.place, &self.problem) == (other.check, &other.place, &other.problem)
    }
}

/// All findings, in the order of the checks.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) findings: Vec<Finding>,
    check: &'static str,
}

impl Report {
    /// Sets the check that later findings belong to.
    pub(super) fn begin(&mut self, check: &'static str) {
        self.check = check;
    }

    /// Reports that something is fine.
    pub(super) fn ok(&mut self, what: impl Into<String>) {
        self.add(Finding::new(Severity::Ok, what));
    }

    /// Adds a finding once, even if several files share it.
    pub(super) fn add(&mut self, finding: Finding) {
        let finding = Finding {
            check: self.check,
            ..finding
        };
        if !self.findings.iter().any(|other| other.is_same(&finding)) {
            self.findings.push(finding);
        }
    }
}

/// The fixes of `--fix`. None touches a note, and all are idempotent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fix {
    /// Add missing ignore lines of `init`.
    IgnoreLines,
    /// Set up git to merge notes entry by entry, unless the user set something else.
    MergeDriver,
    /// Rebuild the index from the files.
    RebuildIndex,
    /// Migrate the database.
    UpdateDatabase,
    /// Make our folders and databases private to their owner.
    RestrictPermissions,
    /// Remove what a killed process left next to this file. A version that was not merged is kept.
    ClearLeftovers(PathBuf),
}

impl Fix {
    /// Applies the fix and describes what was done.
    pub(super) fn apply(&self, context: &Context<'_>) -> Result<String, CommandError> {
        match self {
            Self::IgnoreLines => {
                let added = ignore_lines::add_missing_lines(context)?;
                let lines = count(added, "line", "lines");
                Ok(format!("added {lines} to {}", ignore_lines::FILE))
            }
            Self::MergeDriver => set_up_merges(context),
            Self::RebuildIndex => {
                SearchIndex::rebuild(&context.index(Spelling::Own), Sources::KNOWLEDGE)?;
                Ok("rebuilt the index".to_owned())
            }
            Self::UpdateDatabase => {
                Store::open_existing(&context.project.fact_store(), Wait::Long)?;
                Ok("migrated the database".to_owned())
            }
            Self::RestrictPermissions => {
                context.project.restrict_permissions()?;
                Ok("made it readable by its owner only".to_owned())
            }
            Self::ClearLeftovers(file) => clear_leftovers(context, file),
        }
    }
}

/// Adds missing attributes, and the driver if there is none.
fn set_up_merges(context: &Context<'_>) -> Result<String, CommandError> {
    let mut done = Vec::new();
    if let Some(setup) = MergeSetup::inspect(context).map_err(CommandError::new)? {
        done.extend(add_attributes(context, &setup)?);
        done.extend(setup.register().map_err(CommandError::new)?.done());
    }
    Ok(done.join(", "))
}

/// Taking the lock of a file reports what a killed holder left, and removes or keeps it.
fn clear_leftovers(context: &Context<'_>, file: &Path) -> Result<String, CommandError> {
    drop(LockedFile::lock(file, &context.patience().none())?);
    let shown = context.project.shown(file);
    Ok(format!("removed leftovers next to {shown}"))
}
