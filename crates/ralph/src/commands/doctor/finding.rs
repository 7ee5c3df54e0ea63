//! What a check found: how bad it is, where it is, what is wrong, what mends it.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use ralph_memory::catalogue::Catalogue;
use ralph_model::count;
use ralph_notes::LockedFile;
use ralph_store::{Store, Wait};
use serde::Serialize;

use crate::commands::init::ignore_lines;
use crate::commands::init::merge_lines::add_attributes;
use crate::context::Context;
use crate::error::CommandError;
use crate::merge_setup::MergeSetup;
use crate::paths::Spelling;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Severity {
    /// Nothing is wrong.
    Ok,
    /// Worth knowing.
    Note,
    /// It works, but not as somebody would want it to.
    Warning,
    /// Something does not work, or notes are not read.
    Error,
}

/// What a check found.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Finding {
    /// Which check.
    pub(super) check: &'static str,
    pub(super) severity: Severity,
    /// The file, perhaps with a line, or the variable.
    pub(super) place: Option<String>,
    /// What is wrong, or what is right.
    pub(super) problem: String,
    /// What mends it.
    pub(super) remedy: Option<String>,
    /// Whether `--fix` mends it.
    pub(super) fixable: bool,
    /// Whether it was mended just now.
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

    /// Something that is worth knowing.
    pub(super) fn note(problem: impl Into<String>) -> Self {
        Self::new(Severity::Note, problem)
    }

    /// Something that works, but not as somebody would want it to.
    pub(super) fn warning(problem: impl Into<String>) -> Self {
        Self::new(Severity::Warning, problem)
    }

    /// Something that does not work.
    pub(super) fn error(problem: impl Into<String>) -> Self {
        Self::new(Severity::Error, problem)
    }

    /// Where it is.
    pub(super) fn at(mut self, place: &(impl Display + ?Sized)) -> Self {
        self.place = Some(place.to_string());
        self
    }

    /// What mends it.
    pub(super) fn mend(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }

    /// What `--fix` does about it.
    pub(super) fn fixed_by(mut self, fix: Fix) -> Self {
        self.fixable = true;
        self.fix = Some(fix);
        self
    }

    /// Whether this is the same thing, found another time.
    pub(super) fn is_again(&self, other: &Self) -> bool {
        (self.check, &self.place, &self.problem) == (other.check, &other.place, &other.problem)
    }
}

/// Everything that was found, in the order of the checks.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) findings: Vec<Finding>,
    check: &'static str,
}

impl Report {
    /// What is added from now on belongs to this check.
    pub(super) fn begin(&mut self, check: &'static str) {
        self.check = check;
    }

    /// Something that is as it should be.
    pub(super) fn ok(&mut self, what: impl Into<String>) {
        self.add(Finding::new(Severity::Ok, what));
    }

    /// Something that was found; once, though several files may share it.
    pub(super) fn add(&mut self, finding: Finding) {
        let finding = Finding {
            check: self.check,
            ..finding
        };
        if !self.findings.iter().any(|other| other.is_again(&finding)) {
            self.findings.push(finding);
        }
    }
}

/// What `--fix` can do. None of it touches a note, and each can be done again without harm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fix {
    /// Add the ignore lines of `init` that are missing.
    IgnoreLines,
    /// Have git merge notes entry by entry, where nobody has set anything else.
    MergeDriver,
    /// Throw the index away and make it anew from the files.
    RemakeIndex,
    /// Bring the database up to date.
    UpdateDatabase,
    /// Keep others than their owner from reading folders and databases of ours.
    CloseToOthers,
    /// Clear away what a killed process left beside this file; a text that nobody has merged is kept.
    ClearLeftovers(PathBuf),
}

impl Fix {
    /// Does it, and says what was done.
    pub(super) fn apply(&self, context: &Context<'_>) -> Result<String, CommandError> {
        match self {
            Self::IgnoreLines => {
                let added = ignore_lines::add_missing_lines(context)?;
                let lines = count(added, "line", "lines");
                Ok(format!("added {lines} to {}", ignore_lines::FILE))
            }
            Self::MergeDriver => set_up_merges(context),
            Self::RemakeIndex => {
                Catalogue::remake(&context.catalogue(Spelling::Own))?;
                Ok("made the index anew".to_owned())
            }
            Self::UpdateDatabase => {
                Store::open_existing(&context.project.fact_store(), Wait::Long)?;
                Ok("brought the database up to date".to_owned())
            }
            Self::CloseToOthers => {
                context.project.close_all_to_others()?;
                Ok("only its owner can read it now".to_owned())
            }
            Self::ClearLeftovers(file) => clear_leftovers(context, file),
        }
    }
}

/// Adds the attributes that are missing, and the command where there is none.
fn set_up_merges(context: &Context<'_>) -> Result<String, CommandError> {
    let mut done = Vec::new();
    if let Some(setup) = MergeSetup::look(context).map_err(CommandError::new)? {
        done.extend(add_attributes(context, &setup)?);
        done.extend(setup.register().map_err(CommandError::new)?.done());
    }
    Ok(done.join(", "))
}

/// Whoever takes the lock of a file tells what a killed holder left, and clears it away or keeps it.
fn clear_leftovers(context: &Context<'_>, file: &Path) -> Result<String, CommandError> {
    drop(LockedFile::lock(file, &context.patience().none())?);
    let shown = context.project.shown(file);
    Ok(format!("cleared away what was left beside {shown}"))
}
