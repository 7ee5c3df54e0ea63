//! The files of notes: which are used, whether they can be read and written, and what in them is wrong.

use std::fs;
use std::path::{Path, PathBuf};

use ralph_memory::capture::Notebook;
use ralph_model::{Shelf, count};
use ralph_notes::{Document, ProblemKind, read_file};
use ralph_store::Store;

use super::finding::{Finding, Report};
use super::{Patient, leftovers, writable};
use crate::error::CommandError;
use crate::paths::{SCRATCHPAD, Spelling};

/// How many problems of a file are named; `validate` lists all.
const NAMED: usize = 5;
/// How many notes are named.
const NAMED_NOTES: usize = 5;

/// Looks at every shelf and at the scratchpad.
pub(super) fn check(patient: &Patient<'_>, report: &mut Report) -> Result<(), CommandError> {
    for shelf in [Shelf::Memories, Shelf::Guardrails] {
        let notebook = patient.context.notebook(shelf, Spelling::Own);
        look_elsewhere(patient, report, shelf.file_name(), &notebook.path);
        look_at_shelf(patient, report, &notebook);
        leftovers::look(patient, report, &notebook.path);
    }
    let scratchpad = patient.context.scratchpad().path;
    look_elsewhere(patient, report, SCRATCHPAD, &scratchpad);
    if let Some(bytes) = read(patient, report, &scratchpad) {
        report_encoding(patient, report, &scratchpad, &bytes);
    }
    leftovers::look(patient, report, &scratchpad);
    Ok(())
}

/// Says which files stand where notes are looked for, and are not read because another one is used.
fn look_elsewhere(patient: &Patient<'_>, report: &mut Report, name: &str, used: &Path) {
    let project = &patient.context.project;
    let really = |path: &Path| path.canonicalize().ok();
    for other in project.candidates(name) {
        let is_used = other == used || really(&other).is_some_and(|other| Some(other) == really(used));
        if !is_used && fs::symlink_metadata(&other).is_ok() {
            let finding = Finding::warning(format!("it is not read, because {} is used", project.shown(used)));
            let remedy = format!("move what it says to {}, and remove it", project.shown(used));
            report.add(finding.at(&project.shown(&other)).mend(remedy));
        }
    }
}

fn look_at_shelf(patient: &Patient<'_>, report: &mut Report, notebook: &Notebook<'_>) {
    let shown = patient.context.project.shown(&notebook.path).to_string();
    let before = report.findings.len();
    let bytes = read(patient, report, &notebook.path);
    let is_unreadable = bytes.is_none() && report.findings.len() > before;
    let document = Document::parse(notebook.shelf, bytes.as_deref().unwrap_or_default());
    if let Some(bytes) = &bytes {
        let problems = report_problems(patient, report, notebook, &document);
        if !problems.iter().any(|kind| matches!(kind, ProblemKind::NotUtf8 { .. })) {
            report_encoding(patient, report, &notebook.path, bytes);
        }
    }
    if !is_unreadable {
        report_vanished(patient, report, notebook, &document);
    }
    let words = notebook.shelf.words();
    let signs = document.signs().len();
    if signs > 0 {
        let has = count(signs, "Sign has", "Signs have");
        let finding = Finding::note(format!(
            "{has} the old form of guardrails, which can be read but not changed"
        ));
        report.add(
            finding
                .at(&shown)
                .mend(format!("`{} migrate --dry-run`", words.command)),
        );
    }
    if bytes.is_none() {
        if !is_unreadable {
            report.ok(format!("there is no {shown} yet"));
        }
    } else if report.findings.len() == before {
        let notes = count(document.entries().len(), words.one, words.many);
        report.ok(format!("{shown} is fine: {notes}"));
    }
}

/// Reads a file, and says why where it cannot be read or written.
fn read(patient: &Patient<'_>, report: &mut Report, path: &Path) -> Option<Vec<u8>> {
    let shown = patient.context.project.shown(path).to_string();
    let text = match read_file(path) {
        Ok(text) => text,
        Err(error) => {
            let remedy = "put a file of text there that you may read";
            let finding = Finding::error(format!("it cannot be read: {}", error.reason()));
            report.add(finding.at(&shown).mend(remedy));
            return None;
        }
    };
    let folder = path.parent().map(Path::to_owned).unwrap_or_default();
    let reasons: [(PathBuf, Option<String>); 2] = [
        (path.to_owned(), writable::why_file_is_not(path)),
        (folder.clone(), writable::why_folder_is_not(&folder)),
    ];
    for (place, reason) in reasons {
        if let Some(reason) = reason {
            let place = patient.context.project.shown(&place).to_string();
            let finding = Finding::warning(format!("notes can be read but not changed: {reason}"));
            let place = if place.is_empty() { ".".to_owned() } else { place };
            report.add(
                finding
                    .at(&place)
                    .mend(format!("`chmod u+w {place}`, or ask its owner")),
            );
        }
    }
    text.map(|text| text.bytes)
}

fn report_encoding(patient: &Patient<'_>, report: &mut Report, path: &Path, bytes: &[u8]) {
    let fault = match std::str::from_utf8(bytes) {
        Err(error) => Some((error.valid_up_to(), "this is not UTF-8 text")),
        Ok(text) => text.find('\0').map(|at| (at, "this is a NUL, which no text holds")),
    };
    if let Some((at, what)) = fault {
        let line = 1 + bytes.iter().take(at).filter(|byte| **byte == b'\n').count();
        let place = format!("{}:{line}", patient.context.project.shown(path));
        let remedy = "save the file as UTF-8; what is not text may be shown wrongly, and is kept as it is";
        report.add(Finding::warning(what).at(&place).mend(remedy));
    }
}

/// Everything that `validate` reports, the first few by name.
fn report_problems(
    patient: &Patient<'_>,
    report: &mut Report,
    notebook: &Notebook<'_>,
    document: &Document<'_>,
) -> Vec<ProblemKind> {
    let shown = patient.context.project.shown(&notebook.path);
    let problems = document.validate();
    let places = problems.iter().take(NAMED).map(|problem| problem.at);
    let lines: Vec<usize> = document.line_numbers(places).collect();
    for (line, problem) in lines.iter().zip(&problems) {
        let finding = if problem.kind.hides_an_entry() {
            Finding::error(problem.kind.to_string())
        } else {
            Finding::warning(problem.kind.to_string())
        };
        let remedy = match &problem.kind {
            ProblemKind::DuplicateId { .. } => "give one of them another id, or remove it, in the file".to_owned(),
            ProblemKind::OpenConflict { id, .. } => {
                let command = notebook.shelf.words().command;
                format!("`{command} delete {id}`, or the other one; to keep both, remove its `conflicts=` in the file")
            }
            _ => "mend it in the file".to_owned(),
        };
        report.add(finding.at(&format!("{shown}:{line}")).mend(remedy));
    }
    let more = problems.len().saturating_sub(NAMED);
    if more > 0 {
        let hidden = problems.iter().skip(NAMED).any(|problem| problem.kind.hides_an_entry());
        let what = format!("and {more} more");
        let finding = if hidden {
            Finding::error(what)
        } else {
            Finding::warning(what)
        };
        let remedy = format!("`{} validate` lists all", notebook.shelf.words().command);
        report.add(finding.at(&shown).mend(remedy));
    }
    problems.into_iter().map(|problem| problem.kind).collect()
}

/// Notes that are gone without a deletion. What is wrong with the log is said elsewhere.
fn report_vanished(patient: &Patient<'_>, report: &mut Report, notebook: &Notebook<'_>, document: &Document<'_>) {
    let shown = patient.context.project.shown(&notebook.path).to_string();
    if !notebook.log.database.path.is_file() {
        return;
    }
    let Ok(Some(log)) = Store::open_to_look(&notebook.log.database) else {
        return;
    };
    let vanished = match notebook.vanished(&log, document) {
        Ok(vanished) => vanished,
        Err(error) => {
            let finding = Finding::error(format!("what happened to its notes cannot be told: {error}"));
            report.add(finding.at(&shown));
            return;
        }
    };
    let command = notebook.shelf.words().command;
    for (notes, is_new) in [(vanished.since, true), (vanished.before, false)] {
        if notes.is_empty() {
            continue;
        }
        let gone = count(notes.len(), "note is", "notes are");
        let ids: Vec<&str> = notes.iter().take(NAMED_NOTES).map(|note| note.id.as_str()).collect();
        let more = if notes.len() > NAMED_NOTES { ", …" } else { "" };
        let what = format!("{gone} gone without having been deleted: {}{more}", ids.join(", "));
        let finding = if is_new {
            Finding::warning(what)
        } else {
            Finding::note(what)
        };
        let remedy = format!("`{command} restore --list` lists them, `{command} restore ID` brings one back");
        report.add(finding.at(&shown).mend(remedy));
    }
}
