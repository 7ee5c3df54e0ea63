//! Checks the notes files: which are used, whether they are readable and writable, and whether they are valid.

use std::fs;
use std::path::{Path, PathBuf};

use ralph_memory::capture::NoteRepository;
use ralph_model::{NoteFileKind, count};
use ralph_notes::{Document, ProblemKind, read_file};
use ralph_store::Store;

use super::finding::{Finding, Report};
use super::{DoctorContext, leftovers, writable};
use crate::error::CommandError;
use crate::paths::{SCRATCHPAD, Spelling};

/// How many problems of a file are listed; `validate` lists all.
const NAMED: usize = 5;
/// How many notes are listed.
const NAMED_NOTES: usize = 5;

/// Checks the notes files and the scratchpad.
pub(super) fn check(doctor: &DoctorContext<'_>, report: &mut Report) -> Result<(), CommandError> {
    for kind in [NoteFileKind::Memories, NoteFileKind::Guardrails] {
        let note_repository = doctor.context.note_repository(kind, Spelling::Own);
        report_unused_files(doctor, report, kind.file_name(), &note_repository.path);
        check_file(doctor, report, &note_repository);
        leftovers::check(doctor, report, &note_repository.path);
    }
    let scratchpad = doctor.context.scratchpad().path;
    report_unused_files(doctor, report, SCRATCHPAD, &scratchpad);
    if let Some(bytes) = read(doctor, report, &scratchpad) {
        report_encoding(doctor, report, &scratchpad, &bytes);
    }
    leftovers::check(doctor, report, &scratchpad);
    Ok(())
}

/// Reports notes files that are ignored because another one is used.
fn report_unused_files(doctor: &DoctorContext<'_>, report: &mut Report, name: &str, used: &Path) {
    let project = &doctor.context.project;
    let really = |path: &Path| path.canonicalize().ok();
    for other in project.candidates(name) {
        let is_used = other == used || really(&other).is_some_and(|other| Some(other) == really(used));
        if !is_used && fs::symlink_metadata(&other).is_ok() {
            let finding = Finding::warning(format!("not read, because {} is used", project.shown(used)));
            let remedy = format!("move its contents to {}, then remove it", project.shown(used));
            report.add(finding.at(&project.shown(&other)).remedy(remedy));
        }
    }
}

fn check_file(doctor: &DoctorContext<'_>, report: &mut Report, note_repository: &NoteRepository<'_>) {
    let shown = doctor.context.project.shown(&note_repository.path).to_string();
    let before = report.findings.len();
    let bytes = read(doctor, report, &note_repository.path);
    let is_unreadable = bytes.is_none() && report.findings.len() > before;
    let document = Document::parse(note_repository.file_kind, bytes.as_deref().unwrap_or_default());
    if let Some(bytes) = &bytes {
        let problems = report_problems(doctor, report, note_repository, &document);
        if !problems.iter().any(|kind| matches!(kind, ProblemKind::NotUtf8 { .. })) {
            report_encoding(doctor, report, &note_repository.path, bytes);
        }
    }
    if !is_unreadable {
        report_vanished(doctor, report, note_repository, &document);
    }
    let words = note_repository.file_kind.words();
    let signs = document.signs().len();
    if signs > 0 {
        let has = count(signs, "Sign has", "Signs have");
        let finding = Finding::note(format!(
            "{has} the old guardrail format, which can be read but not edited"
        ));
        report.add(
            finding
                .at(&shown)
                .remedy(format!("`{} migrate --dry-run`", words.command)),
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

/// Reads a file, and reports if it cannot be read or written.
fn read(doctor: &DoctorContext<'_>, report: &mut Report, path: &Path) -> Option<Vec<u8>> {
    let shown = doctor.context.project.shown(path).to_string();
    let text = match read_file(path) {
        Ok(text) => text,
        Err(error) => {
            let remedy = "make it a readable text file";
            let finding = Finding::error(format!("it cannot be read: {}", error.reason()));
            report.add(finding.at(&shown).remedy(remedy));
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
            let place = doctor.context.project.shown(&place).to_string();
            let finding = Finding::warning(format!("notes are read-only: {reason}"));
            let place = if place.is_empty() { ".".to_owned() } else { place };
            report.add(
                finding
                    .at(&place)
                    .remedy(format!("`chmod u+w {place}`, or ask its owner")),
            );
        }
    }
    text.map(|text| text.bytes)
}

fn report_encoding(doctor: &DoctorContext<'_>, report: &mut Report, path: &Path, bytes: &[u8]) {
    let fault = match std::str::from_utf8(bytes) {
        Err(error) => Some((error.valid_up_to(), "this is not UTF-8 text")),
        Ok(text) => text
            .find('\0')
            .map(|at| (at, "this is a NUL character, which text cannot contain")),
    };
    if let Some((at, what)) = fault {
        let line = 1 + bytes.iter().take(at).filter(|byte| **byte == b'\n').count();
        let place = format!("{}:{line}", doctor.context.project.shown(path));
        let remedy = "save the file as UTF-8; invalid bytes are kept but may be shown wrongly";
        report.add(Finding::warning(what).at(&place).remedy(remedy));
    }
}

/// Reports what `validate` reports, the first few in detail.
fn report_problems(
    doctor: &DoctorContext<'_>,
    report: &mut Report,
    note_repository: &NoteRepository<'_>,
    document: &Document<'_>,
) -> Vec<ProblemKind> {
    let shown = doctor.context.project.shown(&note_repository.path);
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
            ProblemKind::DuplicateId { .. } => "edit the file: change the id of one of them, or remove it".to_owned(),
            ProblemKind::OpenConflict { id, .. } => {
                let command = note_repository.file_kind.words().command;
                format!("`{command} delete {id}`, or the other one; to keep both, remove its `conflicts=` in the file")
            }
            _ => "fix it in the file".to_owned(),
        };
        report.add(finding.at(&format!("{shown}:{line}")).remedy(remedy));
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
        let remedy = format!("`{} validate` lists all", note_repository.file_kind.words().command);
        report.add(finding.at(&shown).remedy(remedy));
    }
    problems.into_iter().map(|problem| problem.kind).collect()
}

/// Reports notes that are missing but were not deleted. Problems with the log are reported separately.
fn report_vanished(
    doctor: &DoctorContext<'_>,
    report: &mut Report,
    note_repository: &NoteRepository<'_>,
    document: &Document<'_>,
) {
    let shown = doctor.context.project.shown(&note_repository.path).to_string();
    if !note_repository.log.database.path.is_file() {
        return;
    }
    let Ok(Some(log)) = Store::open_read_only(&note_repository.log.database) else {
        return;
    };
    let vanished = match note_repository.vanished(&log, document) {
        Ok(vanished) => vanished,
        Err(error) => {
            let finding = Finding::error(format!("missing notes cannot be determined: {error}"));
            report.add(finding.at(&shown));
            return;
        }
    };
    let command = note_repository.file_kind.words().command;
    for (notes, is_new) in [(vanished.since, true), (vanished.before, false)] {
        if notes.is_empty() {
            continue;
        }
        let missing = count(notes.len(), "note is", "notes are");
        let ids: Vec<&str> = notes.iter().take(NAMED_NOTES).map(|note| note.id.as_str()).collect();
        let more = if notes.len() > NAMED_NOTES { ", …" } else { "" };
        let what = format!("{missing} missing but not deleted: {}{more}", ids.join(", "));
        let finding = if is_new {
            Finding::warning(what)
        } else {
            Finding::note(what)
        };
        let remedy = format!("`{command} restore --list` lists them, `{command} restore ID` restores one");
        report.add(finding.at(&shown).remedy(remedy));
    }
}
