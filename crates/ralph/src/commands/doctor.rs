//! `ralph doctor`: looks at everything that ralph depends on, says what is wrong and what mends it, and mends what is safe.
//!
//! One file a subject. A check looks and changes nothing; one that fails itself is a finding like any other, so that
//! doctor works where nothing else does.

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

/// Say what is wrong with this project, and what mends it
///
/// Looks at the configuration, the files of notes, both databases, git, and the agents. Nothing is changed, except with
/// --fix, which does what is safe: it adds ignore lines, has git merge notes through ralph, makes the index anew, brings the
/// database up to date, and clears away what killed processes left. Notes are never touched.
///
/// With --agent the agent that a run would use is started once, to see whether it answers: one that speaks ACP is asked who
/// it is and for a session, any other for its version. It gets no prompt, and nothing of it is left. A command that comes with
/// the project is shown and confirmed first, as for a run.
///
/// With --restore-backup the database is replaced by a backup. Runs make one a day and keep seven, in the user's state folder.
/// The present database is kept beside it.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit code 1 when there is an error; warnings and notes alone end with 0.

Examples:
  ralph doctor
  ralph doctor --fix
  ralph doctor --agent
  ralph doctor --restore-backup    # after the database was lost or damaged
  ralph doctor --json | jq '.[] | select(.severity == \"error\")'"
)]
pub(crate) struct DoctorArgs {
    /// Mend what can be mended safely
    #[arg(long)]
    fix: bool,
    /// Start the agent once and say what it is, what it offers, and whether it is logged in
    #[arg(long, conflicts_with = "fix")]
    agent: bool,
    /// Write what was found as JSON
    #[arg(long)]
    json: bool,
    /// Replace the database by its newest backup, or by the one with this name
    #[arg(long, value_name = "NAME", num_args = 0..=1, conflicts_with_all = ["fix", "agent", "json"])]
    restore_backup: Option<Option<String>>,
    /// Restore without asking
    #[arg(long = "yes", requires = "restore_backup", action = ArgAction::SetTrue,
          value_parser = FalseyValueParser::new().map(consent))]
    consent: Consent,
}

fn consent(yes: bool) -> Consent {
    if yes { Consent::Given } else { Consent::Asked }
}

impl DoctorArgs {
    /// Whether it changes something.
    pub(crate) fn changes(&self) -> bool {
        self.fix || self.restore_backup.is_some()
    }
}

/// What checks look at.
struct Patient<'a> {
    context: Context<'a>,
    /// Everything that can be said about the configuration.
    inspected: Inspected,
    /// The files of the configuration that could not be read, and why.
    config_unreadable: Vec<(String, String)>,
    /// The user's own configuration, if there is one.
    user_config: Option<String>,
    /// Files and folders that lead where they must not, which no check reads.
    misplaced: Vec<Misplaced>,
    /// Whether its agent is started.
    with_agent: WithAgent,
}

/// Whether the agent is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WithAgent {
    Started,
    NotStarted,
}

impl Patient<'_> {
    /// Whether the configuration says what it is meant to say.
    fn config_holds(&self) -> bool {
        self.config_unreadable.is_empty() && self.inspected.errors.is_empty()
    }
}

/// A check: its name, and what it does.
type Check = (&'static str, fn(&Patient<'_>, &mut Report) -> Result<(), CommandError>);

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

/// The checks that read files and folders which may lead where they must not.
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
    let mut patient = receive(ui, global, with_agent)?;
    if let Some(name) = &args.restore_backup {
        if let Some(misplaced) = patient.misplaced.pop() {
            return Err(misplaced.into());
        }
        return restore::restore(&patient.context, name.as_deref(), args.consent);
    }
    let mut findings = examine(&patient);
    if args.fix {
        findings = mend(ui, &patient, findings);
    }
    if args.json {
        // What an agent says of itself is worth reading also when nothing is wrong.
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

/// Finds the project, and takes of its configuration what can be read.
fn receive<'a>(ui: &'a Ui, global: &Global, with_agent: WithAgent) -> Result<Patient<'a>, CommandError> {
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
    Ok(Patient {
        misplaced: settings::misplaced(&project, &inspected.loaded),
        context: Context::regardless(project, inspected.loaded.clone(), global, ui),
        user_config: texts.user.map(|(file, _)| file),
        inspected,
        config_unreadable: unreadable,
        with_agent,
    })
}

/// Runs every check. What goes wrong in one of them is a finding, and the others go on.
fn examine(patient: &Patient<'_>) -> Vec<Finding> {
    let mut report = Report::default();
    // The message of a panic becomes a finding.
    let usual = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    for (name, check) in CHECKS {
        report.begin(name);
        if !patient.misplaced.is_empty() && READ_FILES.contains(name) {
            continue;
        }
        if let Err(reason) = guarded(|| check(patient, &mut report)) {
            report.add(Finding::error(format!(
                "this could not be checked to its end: {reason}"
            )));
        }
    }
    panic::set_hook(usual);
    report.findings
}

/// Does what is safe, looks again, and says of what is gone that it was mended.
fn mend(ui: &Ui, patient: &Patient<'_>, found: Vec<Finding>) -> Vec<Finding> {
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
        match guarded(|| fix.apply(&patient.context)) {
            Ok(what) => done.push((fix.clone(), what)),
            Err(reason) => ui.warning(&format!("something could not be mended: {reason}.")),
        }
    }
    let after = examine(patient);
    let mut all: Vec<Finding> = Vec::new();
    for (check, _) in CHECKS {
        let mended = found
            .iter()
            .filter(|finding| finding.check == *check)
            .filter_map(|finding| {
                let (_, what) = done.iter().find(|(fix, _)| Some(fix) == finding.fix.as_ref())?;
                let mut mended = finding.clone();
                (mended.fixed, mended.remedy) = (true, Some(what.clone()));
                (!after.iter().any(|other| other.is_again(finding))).then_some(mended)
            });
        all.extend(mended);
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
            (true, _) => (Some(Style::Added), "✓ mended: ", "mended   "),
            (false, Severity::Ok) => (None, "✓ ", "ok       "),
            (false, Severity::Note) => (None, "· ", "note     "),
            (false, Severity::Warning) => (Some(Style::Warning), "! ", "warning  "),
            (false, Severity::Error) => (Some(Style::Error), "✗ ", "error    "),
        };
        let place = finding.place.iter().map(|place| format!("{place}: "));
        let place: String = place.collect();
        let mark = ui.sign_or_word(sign, word);
        lines.push((style, format!("  {mark}{place}{}", finding.problem)));
        if let Some(remedy) = &finding.remedy {
            let below = ui.sign_or_word("  ", "         ");
            lines.push((Some(Style::Faint), format!("  {below}→ {remedy}")));
        }
    }
    lines.push((None, String::new()));
    lines.push((None, summary(findings)));
    ui.lines(&lines)
}

/// The closing line: how many of each, and how many of them `--fix` would mend.
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
    let mended = findings.iter().filter(|finding| finding.fixed).count();
    let fixable = findings
        .iter()
        .filter(|finding| finding.fixable && !finding.fixed)
        .count();
    if mended > 0 {
        line.push_str(&format!("; {mended} mended"));
    } else if fixable > 0 {
        line.push_str(&format!("; `ralph doctor --fix` mends {fixable}"));
    }
    line.push('.');
    line
}
