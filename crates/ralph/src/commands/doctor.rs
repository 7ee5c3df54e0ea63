//! `ralph doctor`: checks everything that ralph depends on, reports problems and remedies, and fixes what is safe.
//!
//! One file per subject. A check changes nothing. A check that fails is itself a finding, so doctor works when nothing
//! else does.

mod agent;
mod claude;
mod configuration;
mod database;
mod earlier_tool;
mod environment;
mod finding;
mod git;
mod index;
mod knowledge;
mod leftovers;
mod merge_driver;
mod notes;
mod remedies;
mod restore;
mod runs;
mod session;
mod skills;
mod writable;

use std::panic;
use std::process::ExitCode;

use clap::builder::{FalseyValueParser, TypedValueParser};
use clap::{ArgAction, Args};
use ralph_model::config::Inspected;
use ralph_model::count;

use super::hook::guarded;
use crate::cli::Global;
use crate::context::{Context, project_here};
use crate::error::CommandError;
use crate::paths;
use crate::settings::{self, Misplaced, Texts, read_project_text, read_user_text};
use crate::ui::{Style, Ui};
use finding::{Finding, Fix, Report, Severity};
use restore::Consent;

/// Find and fix problems with this project
///
/// Checks the configuration, notes files, both databases, git and the agents. Changes nothing without --fix, which
/// applies safe fixes: it adds ignore lines, sets up git to merge notes through ralph, rebuilds the index, migrates the
/// database, and removes what killed processes left. It never touches notes.
///
/// --agent starts the configured agent once to check that it answers: an ACP agent is asked for its name and a session,
/// any other for its version. It gets no prompt, and all its processes are ended. A command that comes with the project
/// has to be confirmed first, as for a run.
///
/// --restore-backup replaces the database with a backup. Runs make one backup a day and keep seven, in the user's state
/// folder. The current database is kept next to it.
#[derive(Debug, Args)]
#[command(
    after_help = "Exits with 1 if there is an error; warnings and notes alone exit with 0.

Examples:
  ralph doctor
  ralph doctor --fix
  ralph doctor --agent
  ralph doctor --restore-backup    # after the database was lost or damaged
  ralph doctor --json | jq '.[] | select(.severity == \"error\")'"
)]
pub(crate) struct DoctorArgs {
    /// Apply safe fixes
    #[arg(long)]
    fix: bool,
    /// Start the agent once and report its name, features and login
    #[arg(long, conflicts_with = "fix")]
    agent: bool,
    /// Print findings as JSON
    #[arg(long)]
    json: bool,
    /// Replace the database with its newest backup, or the one named NAME
    #[arg(long, value_name = "NAME", num_args = 0..=1, conflicts_with_all = ["fix", "agent", "json"])]
    restore_backup: Option<Option<String>>,
    /// Restore without confirmation
    #[arg(long = "yes", requires = "restore_backup", action = ArgAction::SetTrue,
          value_parser = FalseyValueParser::new().map(consent))]
    consent: Consent,
}

fn consent(yes: bool) -> Consent {
    if yes { Consent::Given } else { Consent::Asked }
}

impl DoctorArgs {
    /// Returns true if these arguments change something.
    pub(crate) fn changes(&self) -> bool {
        self.fix || self.restore_backup.is_some()
    }
}

/// The input of every check.
struct DoctorContext<'a> {
    context: Context<'a>,
    inspected: Inspected,
    /// Configuration files that could not be read, and why.
    config_unreadable: Vec<(String, String)>,
    /// The user configuration, if there is one.
    user_config: Option<String>,
    /// Files and folders that lead to a forbidden place; no check reads them.
    misplaced: Vec<Misplaced>,
    with_agent: WithAgent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WithAgent {
    Started,
    NotStarted,
}

impl DoctorContext<'_> {
    /// Returns true if the configuration is readable and valid.
    fn config_is_valid(&self) -> bool {
        self.config_unreadable.is_empty() && self.inspected.errors.is_empty()
    }
}

/// A check: its name and its function.
type Check = (
    &'static str,
    fn(&DoctorContext<'_>, &mut Report) -> Result<(), CommandError>,
);

const CHECKS: &[Check] = &[
    ("configuration", configuration::check),
    ("environment", environment::check),
    ("notes", notes::check),
    ("knowledge", knowledge::check),
    ("database", database::check),
    ("earlier tool", earlier_tool::check),
    ("index", index::check),
    ("git", git::check),
    ("merges", merge_driver::check),
    ("runs", runs::check),
    ("agent", agent::check),
    (session::NAME, session::check),
    ("claude", claude::check),
    ("skills", skills::check),
];

/// The checks that read files which may lead to a forbidden place.
const READ_FILES: &[&str] = &[
    "notes",
    "knowledge",
    "database",
    "earlier tool",
    "index",
    "merges",
    "runs",
];

pub(crate) fn cmd_doctor(ui: &Ui, global: &Global, args: &DoctorArgs) -> Result<ExitCode, CommandError> {
    let with_agent = if args.agent {
        WithAgent::Started
    } else {
        WithAgent::NotStarted
    };
    let mut doctor = open_context(ui, global, with_agent)?;
    if let Some(name) = &args.restore_backup {
        if let Some(misplaced) = doctor.misplaced.pop() {
            return Err(misplaced.into());
        }
        return restore::restore(&doctor.context, name.as_deref(), args.consent);
    }
    let mut findings = run_checks(&doctor);
    if args.fix {
        findings = apply_fixes(ui, &doctor, findings);
    }
    if args.json {
        // Details about the agent are useful even when nothing is wrong.
        findings.retain(|finding| finding.severity != Severity::Ok || finding.check == session::NAME);
        ui.json(&findings)?;
    } else {
        show(ui, &findings)?;
    }
    let remaining = findings.iter().filter(|finding| !finding.fixed);
    let worst = remaining.map(|finding| finding.severity);
    Ok(if worst.into_iter().any(|severity| severity == Severity::Error) {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// Finds the project and reads as much of its configuration as possible.
fn open_context<'a>(ui: &'a Ui, global: &Global, with_agent: WithAgent) -> Result<DoctorContext<'a>, CommandError> {
    let mut project = project_here(global)?;
    let mut texts = Texts::default();
    let mut unreadable = Vec::new();
    match guarded(|| read_project_text(&project)) {
        Ok(text) => texts.project = text,
        Err(reason) => unreadable.push((paths::CONFIG.to_owned(), reason)),
    }
    match guarded(read_user_text) {
        Ok(text) => texts.user = text,
        Err(reason) => {
            let file = settings::user_file().unwrap_or_default();
            unreadable.push((file.display().to_string(), reason));
        }
    }
    let inspected = texts.inspect();
    project.boundary = settings::boundary(&project, &inspected.loaded);
    Ok(DoctorContext {
        misplaced: settings::misplaced(&project, &inspected.loaded),
        context: Context::unchecked(project, inspected.loaded.clone(), global, ui),
        user_config: texts.user.map(|(file, _)| file),
        inspected,
        config_unreadable: unreadable,
        with_agent,
    })
}

/// Runs every check. A failed check becomes a finding, and the others go on.
fn run_checks(doctor: &DoctorContext<'_>) -> Vec<Finding> {
    let mut report = Report::default();
    // The message of a panic becomes a finding.
    let usual = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    for (name, check) in CHECKS {
        report.begin(name);
        if !doctor.misplaced.is_empty() && READ_FILES.contains(name) {
            continue;
        }
        if let Err(reason) = guarded(|| check(doctor, &mut report)) {
            report.add(Finding::error(format!("this check failed: {reason}")));
        }
    }
    panic::set_hook(usual);
    report.findings
}

/// Applies safe fixes, checks again, and marks findings that are gone as fixed.
fn apply_fixes(ui: &Ui, doctor: &DoctorContext<'_>, found: Vec<Finding>) -> Vec<Finding> {
    let mut fixes: Vec<&Fix> = Vec::new();
    for fix in found.iter().filter_map(|finding| finding.fix.as_ref()) {
        if !fixes.contains(&fix) {
            fixes.push(fix);
        }
    }
    if fixes.is_empty() {
        return found;
    }
    let mut done: Vec<(Fix, String)> = Vec::new();
    for fix in fixes {
        match guarded(|| fix.apply(&doctor.context)) {
            Ok(what) => done.push((fix.clone(), what)),
            Err(reason) => ui.warning(&format!("A fix failed: {reason}.")),
        }
    }
    let after = run_checks(doctor);
    let mut all: Vec<Finding> = Vec::new();
    for (check, _) in CHECKS {
        let fixed_now = found
            .iter()
            .filter(|finding| finding.check == *check)
            .filter_map(|finding| {
                let (_, what) = done.iter().find(|(fix, _)| Some(fix) == finding.fix.as_ref())?;
                let mut fixed_now = finding.clone();
                (fixed_now.fixed, fixed_now.remedy) = (true, Some(what.clone()));
                (!after.iter().any(|other| other.is_same(finding))).then_some(fixed_now)
            });
        all.extend(fixed_now);
        all.extend(after.iter().filter(|finding| finding.check == *check).cloned());
    }
    all
}

fn show(ui: &Ui, findings: &[Finding]) -> Result<(), CommandError> {
    let mut lines: Vec<(Option<Style>, String)> = Vec::new();
    let mut check = "";
    for finding in findings {
        if finding.check != check {
            check = finding.check;
            lines.push((Some(Style::Strong), check.to_owned()));
        }
        let (style, sign, word) = match (finding.fixed, finding.severity) {
            (true, _) => (Some(Style::Added), "✓ fixed: ", "fixed    "),
            (false, Severity::Ok) => (None, "✓ ", "ok       "),
            (false, Severity::Note) => (None, "· ", "note     "),
            (false, Severity::Warning) => (Some(Style::Warning), "! ", "warning  "),
            (false, Severity::Error) => (Some(Style::Error), "✗ ", "error    "),
        };
        let place = finding.place.iter().map(|place| format!("{place}: "));
        let place: String = place.collect();
        let mark = ui.icon_or_word(sign, word);
        lines.push((style, format!("  {mark}{place}{}", finding.problem)));
        if let Some(remedy) = &finding.remedy {
            let below = ui.icon_or_word("  ", "         ");
            lines.push((Some(Style::Faint), format!("  {below}→ {remedy}")));
        }
    }
    lines.push((None, String::new()));
    lines.push((None, summary(findings)));
    ui.lines(&lines)
}

/// The closing line: the number of errors, warnings and notes, and how many `--fix` would fix.
fn summary(findings: &[Finding]) -> String {
    let number = |severity| {
        let open = findings.iter().filter(|finding| !finding.fixed);
        open.filter(|finding| finding.severity == severity).count()
    };
    let counts = [
        (number(Severity::Error), "error", "errors"),
        (number(Severity::Warning), "warning", "warnings"),
        (number(Severity::Note), "note", "notes"),
    ];
    let said: Vec<String> = counts
        .into_iter()
        .filter(|(n, ..)| *n > 0)
        .map(|(n, one, many)| count(n, one, many))
        .collect();
    let mut line = if said.is_empty() {
        "Everything is fine".to_owned()
    } else {
        said.join(", ")
    };
    let fixed_now = findings.iter().filter(|finding| finding.fixed).count();
    let fixable = findings
        .iter()
        .filter(|finding| finding.fixable && !finding.fixed)
        .count();
    if fixed_now > 0 {
        line.push_str(&format!("; {fixed_now} fixed"));
    } else if fixable > 0 {
        line.push_str(&format!("; `ralph doctor --fix` fixes {fixable}"));
    }
    line.push('.');
    line
}
