//! Checks the database: who owns it, whether it is intact, and whether it is writable.

use std::path::Path;
use std::time::Duration;

use ralph_loop::is_disk_full;
use ralph_model::{count, size};
use ralph_store::{Backups, DatabasePlace, Health, LearningFault, LogReset, RecordCounts, Store, StoreError, Wait};

use super::finding::{Finding, Fix, Report};
use super::{DoctorContext, writable};
use crate::backup_hint::{FullerBackup, newest_backup, restore_advice};
use crate::error::{CommandError, restore_hint};

/// How often doctor tries to reset the write-ahead log, and the pause in between.
const RESET_TRIES: u32 = 5;
const RESET_PAUSE: Duration = Duration::from_millis(50);

/// The most learnings that are checked here, which takes less than a second.
const MAX_LEARNINGS: u64 = 10_000;

pub(super) fn check(doctor: &DoctorContext<'_>, report: &mut Report) -> Result<(), CommandError> {
    let project = &doctor.context.project;
    let path = project.database();
    let shown = project.shown(&path).to_string();
    let own = project.own_database();
    if own != path && own.exists() {
        let finding = Finding::warning(format!("not used: all worktrees share {shown}"));
        report.add(
            finding
                .at(&project.shown(&own))
                .remedy("remove it if nothing else needs it"),
        );
    }
    check_disk(doctor, report);
    check_modes(doctor, report);
    if path.exists() && !path.is_file() {
        let finding = Finding::error("not a file, so no history is recorded");
        report.add(finding.at(&shown).remedy("move it away; ralph creates a new database"));
        return Ok(());
    }
    let place = project.fact_store();
    let inspect = || Store::open_read_only(&place).and_then(|store| store.map(|store| store.health()).transpose());
    let mut checked = inspect();
    let is_whole = |health: &Option<Health>| {
        let faults = |health: &Health| health.faults.len();
        health.as_ref().is_none_or(|health| faults(health) == 0)
    };
    if !checked.as_ref().is_ok_and(is_whole) {
        // Damage counts only when seen twice: another process may have started to write in between.
        checked = inspect();
    }
    match checked {
        Ok(Some(health)) => {
            check_health(report, &place, &shown, &health);
            check_learnings(report, &path, &shown, &health);
            name_backups(report, &place);
            compare_with_backup(report, &place, &shown);
        }
        Ok(None) => {
            let finding = Finding::note("there is no database yet, so notes have no history");
            report.add(finding.at(&shown).remedy("`ralph init` or the first note creates it"));
        }
        Err(error) => report.add(unusable(&place, &shown, &error)),
    }
    Ok(())
}

fn check_health(report: &mut Report, place: &DatabasePlace, shown: &str, health: &Health) {
    let path = &place.path;
    let before = report.findings.len();
    if let Some(first) = health.faults.first() {
        let more = health.faults.len() - 1;
        let more = if more > 0 {
            format!(", and {more} more")
        } else {
            String::new()
        };
        report.add(damaged(place, shown, &format!("{first}{more}")));
    }
    if !health.up_to_date {
        let finding = Finding::note("written by an earlier version of ralph; the next change migrates it");
        report.add(finding.at(&shown).fixed_by(Fix::UpdateDatabase));
    }
    if health.has_unsafe_log() {
        let finding = Finding::warning("it uses a write-ahead log on a network file system, which is not safe");
        report.add(finding.at(&shown).remedy(format!(
            "use it from one machine only, or run `sqlite3 {shown} 'PRAGMA journal_mode = DELETE'` while nothing else \
             uses it"
        )));
    }
    if health.faults.is_empty() && health.up_to_date && health.log_is_long && is_log_kept(path) {
        let finding = Finding::warning(format!(
            "another program reads the database, so its write-ahead log ({}) cannot be reset",
            size(health.log_bytes)
        ));
        let remedy = "close that program; until then, damage to the log can lose its contents";
        report.add(finding.at(&format!("{shown}-wal")).remedy(remedy));
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    let reason = writable::why_file_is_not(path).or_else(|| writable::why_folder_is_not(folder));
    if let Some(reason) = reason {
        let finding = Finding::error(format!("not writable, so no history is recorded: {reason}"));
        report.add(
            finding
                .at(&shown)
                .remedy("make it and its folder writable, or ask their owner"),
        );
    }
    if report.findings.len() == before {
        let changes = usize::try_from(health.recorded_changes).unwrap_or(usize::MAX);
        // Earlier versions of a knowledge entry are files next to it.
        let changes = count(changes, "change", "changes");
        report.ok(format!(
            "{shown} is intact: {changes} to memories and guardrails on record"
        ));
    }
}

/// Tries to reset the write-ahead log; returns true if a reader prevents it. Short reads are waited for.
fn is_log_kept(path: &Path) -> bool {
    let is_kept = || match Store::open_existing(path, Wait::Brief) {
        Ok(Some(store)) => matches!(store.reset_log(), Ok(LogReset::InUse)),
        // A database that is not writable is reported separately.
        Ok(None) | Err(_) => false,
    };
    (0..RESET_TRIES).all(|attempt| {
        if attempt > 0 {
            std::thread::sleep(RESET_PAUSE);
        }
        is_kept()
    })
}

/// What `learnings verify` would find, or why that is unknown.
fn check_learnings(report: &mut Report, path: &Path, shown: &str, health: &Health) {
    let checked = match health.faults.is_empty() && health.up_to_date {
        true => check_counts(path),
        false => return,
    };
    let finding = match checked {
        Ok(LearningsCheck::Faults(found)) if found.is_empty() => return,
        Ok(LearningsCheck::Faults(found)) => Finding::warning(format!(
            "{} with the learnings",
            count(found.len(), "problem", "problems")
        ))
        .remedy("`ralph learnings verify --fix` recounts their uses"),
        Ok(LearningsCheck::TooMany(learnings)) => Finding::note(format!(
            "its {learnings} learnings were not checked, because that takes a while"
        ))
        .remedy("`ralph learnings verify` checks them"),
        Err(error) => Finding::note(format!("its learnings could not be checked: {error}"))
            .remedy("`ralph learnings verify` tries again"),
    };
    report.add(finding.at(&shown));
}

/// The result of checking the learnings.
enum LearningsCheck {
    Faults(Vec<LearningFault>),
    TooMany(u64),
}

fn check_counts(path: &Path) -> Result<LearningsCheck, StoreError> {
    let Some(store) = Store::open_read_only(path)? else {
        return Ok(LearningsCheck::Faults(Vec::new()));
    };
    match store.count_learnings()? {
        many if many > MAX_LEARNINGS => Ok(LearningsCheck::TooMany(many)),
        _ => store.verify_learnings().map(LearningsCheck::Faults),
    }
}

/// Checks for free disk space.
fn check_disk(doctor: &DoctorContext<'_>, report: &mut Report) {
    let project = &doctor.context.project;
    let database = project.database();
    let folder = database.ancestors().skip(1).find(|folder| folder.is_dir());
    let folder = folder.unwrap_or(&project.root);
    if is_disk_full(&[folder.to_owned()]) {
        let finding = Finding::error("the disk is full: nothing can be recorded, and runs wait");
        report.add(finding.at(&folder.display()).remedy("free some space"));
    }
}

/// Checks whether other users can read ralph's files.
fn check_modes(doctor: &DoctorContext<'_>, report: &mut Report) {
    let project = &doctor.context.project;
    let open = project.readable_by_others();
    if let Some(first) = open.first() {
        let more = match open.len() - 1 {
            0 => String::new(),
            more => format!(", and {}", count(more, "more file", "more files")),
        };
        let finding = Finding::warning(format!("other users can read it{more}"));
        report.add(finding.at(&project.shown(first)).fixed_by(Fix::RestrictPermissions));
    }
}

/// Reports the backups.
fn name_backups(report: &mut Report, place: &DatabasePlace) {
    let Some(folder) = &place.backups else { return };
    match Backups::in_folder(folder).list() {
        Ok(backups) => {
            if let Some(newest) = backups.last() {
                let number = count(backups.len(), "backup", "backups");
                let day = newest.made_at.strftime("%Y-%m-%d");
                report.ok(format!("{number} in {}, newest from {day}", folder.display()));
            }
        }
        Err(error) => report.add(Finding::warning(format!("its backups cannot be listed: {error}"))),
    }
}

/// Reports if the newest backup has more records than the database. Deleting tasks also causes this.
fn compare_with_backup(report: &mut Report, place: &DatabasePlace, shown: &str) {
    let fuller = Store::open_read_only(place).and_then(|store| match store {
        Some(store) => FullerBackup::find(place, &store),
        None => Ok(None),
    });
    // A database that cannot be counted is damaged, which is reported separately.
    let Ok(Some(fuller)) = fuller else { return };
    let words = |counts: RecordCounts| {
        let [tasks, entries] = [counts.tasks, counts.journal_entries].map(|n| usize::try_from(n).unwrap_or(usize::MAX));
        format!(
            "{} and {}",
            count(tasks, "task", "tasks"),
            count(entries, "journal entry", "journal entries")
        )
    };
    let what = format!(
        "it has {}, its newest backup {}",
        words(fuller.database_has),
        words(fuller.has)
    );
    let finding = match fuller.has.journal_entries > fuller.database_has.journal_entries {
        // Journal entries are never deleted.
        true => Finding::warning(what),
        false => Finding::note(what),
    };
    let remedy = format!("if you did not delete them, {}", restore_advice(&fuller.backup));
    report.add(finding.at(&shown).remedy(remedy));
}

fn unusable(place: &DatabasePlace, shown: &str, error: &StoreError) -> Finding {
    let moved = format!("`mv {shown} {shown}.other`; ralph then starts a new history");
    match error {
        StoreError::Foreign { .. } => {
            let remedy = format!("if it belongs to RefoundAI's ralph, run `ralph import refound`; otherwise {moved}");
            Finding::error("it belongs to another tool, so no history is recorded").remedy(remedy)
        }
        StoreError::NotADatabase { .. } => {
            let remedy = newest_backup(place).map_or(moved, |backup| restore_advice(&backup));
            Finding::error("it is not an SQLite database, so no history is recorded").remedy(remedy)
        }
        StoreError::Older { found, .. } => Finding::error(format!(
            "written by an unreleased version of ralph (schema {found}), so no history is recorded"
        ))
        .remedy(format!(
            "export your data with the version that wrote it (`ralph learnings export`, `ralph journal export`), then \
             {moved}"
        )),
        StoreError::Newer { found, known, .. } => Finding::error(format!(
            "written by a newer version of ralph (format {found}, this version supports up to {known}), so no history \
             is recorded"
        ))
        .remedy("update ralph"),
        StoreError::Lost { backup, .. } => {
            let backup_shown = backup.display();
            let state = if place.path.exists() { "empty" } else { "missing" };
            Finding::error(format!("it is {state}, but has a backup: {backup_shown}")).remedy(restore_hint(backup))
        }
        StoreError::NoBackupFolder { .. } => {
            Finding::error("it needs a schema upgrade, but there is no folder for the backup")
                .remedy("`ralph init` makes one; it needs HOME or XDG_STATE_HOME to be set")
        }
        StoreError::Io { source, .. } => {
            Finding::error(format!("it cannot be read: {source}")).remedy("make it readable, or ask its owner")
        }
        StoreError::Full { .. } => {
            Finding::error("the disk is full, so no history is recorded").remedy("free some space")
        }
        StoreError::Busy { .. } => busy(),
        StoreError::Replaced { .. } => Finding::error(error.to_string()),
        StoreError::Sql { reason, .. } if reason.contains("unable to open") || reason.contains("readonly") => {
            Finding::error(format!("it cannot be used: {reason}"))
                .remedy("make it, its folder and the files next to it writable, or ask their owner")
        }
        StoreError::Sql { reason, .. } => return damaged(place, shown, reason),
        StoreError::Damaged { what, .. } => return damaged(place, shown, what),
    }
    .at(&shown)
}

fn busy() -> Finding {
    Finding::warning("locked by another process, so it was not checked").remedy("run doctor again later")
}

fn damaged(place: &DatabasePlace, shown: &str, what: &str) -> Finding {
    let finding = Finding::error(format!("it is damaged: {what}")).at(&shown);
    finding.remedy(match newest_backup(place) {
        Some(backup) => format!("{}; the damaged file is kept next to it", restore_advice(&backup)),
        None => format!(
            "the notes are safe in their files; copy {shown}* away first, then `sqlite3 {shown} .recover` \
             shows what can be recovered of their history"
        ),
    })
}
