//! The database of facts: whose it is, whether it is whole, and whether it can be written.

use std::path::Path;
use std::time::Duration;

use ralph_loop::is_disk_full;
use ralph_model::{count, size};
use ralph_store::{
    Backups, DatabasePlace, Health, LearningFault, LearningFaultKind, LogReset, RecordCounts, Store, StoreError, Wait,
};

use super::finding::{Finding, Fix, Report};
use super::{Patient, writable};
use crate::backup_hint::{Fuller, newest_backup, restore_words};
use crate::error::{CommandError, restore_hint};

/// How often doctor tries to reset the write-ahead log, and the pause in between.
const RESET_TRIES: u32 = 5;
const RESET_PAUSE: Duration = Duration::from_millis(50);

/// How many learnings are checked here, which takes less than a second.
const MOST_LEARNINGS: u64 = 10_000;

/// Looks at the database.
pub(super) fn check(patient: &Patient<'_>, report: &mut Report) -> Result<(), CommandError> {
    let project = &patient.context.project;
    let path = project.database();
    let shown = project.shown(&path).to_string();
    let own = project.own_database();
    if own != path && own.exists() {
        let finding = Finding::warning(format!("it is not used: all worktrees share {shown}"));
        report.add(
            finding
                .at(&project.shown(&own))
                .mend("remove it if nothing else needs it"),
        );
    }
    check_disk(patient, report);
    check_modes(patient, report);
    if path.exists() && !path.is_file() {
        let finding = Finding::error("it is not a file, so no history is recorded");
        report.add(finding.at(&shown).mend("move it away, and ralph makes a database"));
        return Ok(());
    }
    let place = project.fact_store();
    let look = || Store::open_to_look(&place).and_then(|store| store.map(|store| store.health()).transpose());
    let mut looked = look();
    let is_whole = |health: &Option<Health>| {
        let faults = |health: &Health| health.faults.len() + health.unfit_learnings.len();
        health.as_ref().is_none_or(|health| faults(health) == 0)
    };
    if !looked.as_ref().is_ok_and(is_whole) {
        // Damage counts when it is seen twice: somebody may have begun to write in between.
        looked = look();
    }
    match looked {
        Ok(Some(health)) => {
            look_at(report, &place, &shown, &health);
            look_at_learnings(report, &path, &shown, &health);
            name_backups(report, &place);
            compare_with_backup(report, &place, &shown);
        }
        Ok(None) => {
            let finding = Finding::note("there is no database yet, so there is no history of the notes");
            report.add(finding.at(&shown).mend("`ralph init`, or the first note, makes it"));
        }
        Err(error) => report.add(unusable(&place, &shown, &error)),
    }
    Ok(())
}

fn look_at(report: &mut Report, place: &DatabasePlace, shown: &str, health: &Health) {
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
        let finding = Finding::note("an earlier version of ralph wrote it; the next change brings it up to date");
        report.add(finding.at(&shown).fixed_by(Fix::UpdateDatabase));
    }
    if health.has_unsafe_log() {
        let finding =
            Finding::warning("it is on a network file system with a write-ahead log, which is not safe there");
        report.add(finding.at(&shown).mend(format!(
            "use it from one machine only, or run `sqlite3 {shown} 'PRAGMA journal_mode = DELETE'` while nothing else uses it"
        )));
    }
    if health.faults.is_empty() && health.up_to_date && health.log_is_long && is_log_kept(path) {
        let finding = Finding::warning(format!(
            "another program reads the database, so its write-ahead log ({}) cannot be reset",
            size(health.log_bytes)
        ));
        let remedy = "close that program; until then, damage to the log can cost everything that is in it";
        report.add(finding.at(&format!("{shown}-wal")).mend(remedy));
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    let reason = writable::why_file_is_not(path).or_else(|| writable::why_folder_is_not(folder));
    if let Some(reason) = reason {
        let finding = Finding::error(format!("it cannot be written, so no history is recorded: {reason}"));
        report.add(
            finding
                .at(&shown)
                .mend("make it and its folder writable for you, or ask their owner"),
        );
    }
    if report.findings.len() == before && health.unfit_learnings.is_empty() {
        let changes = usize::try_from(health.recorded_changes).unwrap_or(usize::MAX);
        // Of a long note the earlier texts are files beside it.
        let changes = count(changes, "change", "changes");
        report.ok(format!(
            "{shown} is whole: {changes} of memories and guardrails on record"
        ));
    }
}

/// Whether a reader keeps the write-ahead log from being reset, found out by trying. One that only just reads is waited for.
fn is_log_kept(path: &Path) -> bool {
    let is_kept = || match Store::open_existing(path, Wait::Brief) {
        Ok(Some(store)) => matches!(store.reset_log(), Ok(LogReset::InUse)),
        // What cannot be opened to be written is reported as such.
        Ok(None) | Err(_) => false,
    };
    (0..RESET_TRIES).all(|attempt| {
        if attempt > 0 {
            std::thread::sleep(RESET_PAUSE);
        }
        is_kept()
    })
}

/// What `learnings verify` would find, or why that is not known.
fn look_at_learnings(report: &mut Report, path: &Path, shown: &str, health: &Health) {
    let looked = match health.faults.is_empty() && health.up_to_date {
        true => faults_of_learnings(path),
        false => Ok(LearningsLook::None),
    };
    let unfit = health.unfit_learnings.first();
    let finding = match (looked, unfit) {
        (Ok(LearningsLook::Faults(found)), _) if !found.is_empty() => wrong_learnings(&found),
        (_, Some(unfit)) => Finding::error(format!("a learning holds what it must not: {unfit}"))
            .mend("`ralph learnings verify` names it, and what mends it"),
        (Ok(LearningsLook::Faults(_) | LearningsLook::None), None) => return,
        (Ok(LearningsLook::TooMany(learnings)), None) => Finding::note(format!(
            "its {learnings} learnings were not checked, since that takes a while"
        ))
        .mend("`ralph learnings verify` checks them"),
        (Err(error), None) => Finding::note(format!("its learnings could not be checked: {error}"))
            .mend("`ralph learnings verify` tries it again"),
    };
    report.add(finding.at(&shown));
}

/// How many things are wrong with the learnings, and which of them cannot be read.
fn wrong_learnings(found: &[LearningFault]) -> Finding {
    let wrong = format!(
        "{} wrong with the learnings",
        count(found.len(), "thing is", "things are")
    );
    let unreadable: Vec<&str> = found
        .iter()
        .filter(|fault| fault.kind == LearningFaultKind::Unreadable)
        .filter_map(|fault| fault.id.as_deref())
        .collect();
    let finding = match unreadable.as_slice() {
        [] => Finding::warning(wrong),
        [first] => Finding::error(format!("{wrong}; {first} cannot be read")),
        [first, others @ ..] => Finding::error(format!("{wrong}; {first} and {} more cannot be read", others.len())),
    };
    finding.mend("`ralph learnings verify` names them, and what mends each")
}

/// What a look at the learnings came to.
enum LearningsLook {
    /// Nobody looked.
    None,
    Faults(Vec<LearningFault>),
    TooMany(u64),
}

fn faults_of_learnings(path: &Path) -> Result<LearningsLook, StoreError> {
    let Some(store) = Store::open_to_look(path)? else {
        return Ok(LearningsLook::Faults(Vec::new()));
    };
    match store.count_learnings()? {
        many if many > MOST_LEARNINGS => Ok(LearningsLook::TooMany(many)),
        _ => store.verify_learnings().map(LearningsLook::Faults),
    }
}

/// Whether there is room for what is to be recorded.
fn check_disk(patient: &Patient<'_>, report: &mut Report) {
    let project = &patient.context.project;
    let database = project.database();
    let folder = database.ancestors().skip(1).find(|folder| folder.is_dir());
    let folder = folder.unwrap_or(&project.root);
    if is_disk_full(&[folder.to_owned()]) {
        let finding = Finding::error("the disk is full, so nothing can be recorded, and a run waits");
        report.add(finding.at(&folder.display()).mend("make room on it"));
    }
}

/// Whether others can read what is ralph's.
fn check_modes(patient: &Patient<'_>, report: &mut Report) {
    let project = &patient.context.project;
    let open = project.open_to_others();
    if let Some(first) = open.first() {
        let more = match open.len() - 1 {
            0 => String::new(),
            more => format!(", as {}", count(more, "more file", "more files")),
        };
        let finding = Finding::warning(format!("others than its owner can read it{more}"));
        report.add(finding.at(&project.shown(first)).fixed_by(Fix::CloseToOthers));
    }
}

/// Says how many backups there are.
fn name_backups(report: &mut Report, place: &DatabasePlace) {
    let Some(folder) = &place.backups else { return };
    match Backups::in_folder(folder).list() {
        Ok(backups) => {
            if let Some(newest) = backups.last() {
                let number = count(backups.len(), "backup", "backups");
                let day = newest.made_at.strftime("%Y-%m-%d");
                report.ok(format!("{number} in {}, the newest of {day}", folder.display()));
            }
        }
        Err(error) => report.add(Finding::warning(format!("its backups cannot be listed: {error}"))),
    }
}

/// Says that the newest backup has more on record than the database. Tasks that were deleted since are a reason, too.
fn compare_with_backup(report: &mut Report, place: &DatabasePlace, shown: &str) {
    let fuller = Store::open_to_look(place).and_then(|store| match store {
        Some(store) => Fuller::find(place, &store),
        None => Ok(None),
    });
    // What cannot be counted is damaged, which is reported as such.
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
        // They are never deleted.
        true => Finding::warning(what),
        false => Finding::note(what),
    };
    let remedy = format!("if you did not delete them, {}", restore_words(&fuller.backup));
    report.add(finding.at(&shown).mend(remedy));
}

fn unusable(place: &DatabasePlace, shown: &str, error: &StoreError) -> Finding {
    let moved = format!("`mv {shown} {shown}.other`, and ralph starts a history of its own");
    match error {
        StoreError::Foreign { .. } => {
            let remedy =
                format!("`ralph import refound` takes it over if it is that of RefoundAI's ralph; else {moved}");
            Finding::error("it belongs to another tool, so no history is recorded").mend(remedy)
        }
        StoreError::NotADatabase { .. } => {
            let remedy = newest_backup(place).map_or(moved, |backup| restore_words(&backup));
            Finding::error("it is not an SQLite database, so no history is recorded").mend(remedy)
        }
        StoreError::Older { found, .. } => Finding::error(format!(
            "an unreleased ralph wrote it (schema {found}), so no history is recorded"
        ))
        .mend(format!(
            "export what you need with the ralph that wrote it (`ralph learnings export`, `ralph journal export`), then {moved}"
        )),
        StoreError::Newer { found, known, .. } => Finding::error(format!(
            "a newer ralph wrote it (its format is {found}, this one knows up to {known}), so no history is recorded"
        ))
        .mend("update ralph"),
        StoreError::Lost { backup, .. } => {
            let backup_shown = backup.display();
            let state = if place.path.exists() { "empty" } else { "missing" };
            Finding::error(format!("it is {state}, but there is a backup of it: {backup_shown}"))
                .mend(restore_hint(backup))
        }
        StoreError::NoBackupFolder { .. } => {
            Finding::error("it needs a newer schema, and there is no folder to back it up to first")
                .mend("`ralph init` makes one; it needs HOME or XDG_STATE_HOME to be set")
        }
        StoreError::Io { source, .. } => {
            Finding::error(format!("it cannot be read: {source}")).mend("make it readable for you, or ask its owner")
        }
        StoreError::Full { .. } => Finding::error("the disk is full, so no history is recorded").mend("make room"),
        StoreError::LessonsChanged | StoreError::Busy { .. } => busy(),
        StoreError::Replaced { .. } => Finding::error(error.to_string()),
        StoreError::Sql { reason, .. } if reason.contains("unable to open") || reason.contains("readonly") => {
            Finding::error(format!("it cannot be used: {reason}"))
                .mend("make it, its folder, and the files beside it writable for you, or ask their owner")
        }
        StoreError::Sql { reason, .. } => return damaged(place, shown, reason),
        StoreError::Damaged { what, .. } => return damaged(place, shown, what),
        StoreError::UnreadableLearning { learning, .. } => {
            Finding::error(learning.to_string()).mend("`ralph learnings verify` tells what mends it")
        }
    }
    .at(&shown)
}

fn busy() -> Finding {
    Finding::warning("another process is busy with it, so it was not looked at").mend("run doctor again later")
}

fn damaged(place: &DatabasePlace, shown: &str, what: &str) -> Finding {
    let finding = Finding::error(format!("it is damaged: {what}")).at(&shown);
    finding.mend(match newest_backup(place) {
        Some(backup) => format!("{}; the damaged file is kept beside it", restore_words(&backup)),
        None => format!(
            "the notes themselves are safe in their files; copy {shown}* away first, then `sqlite3 {shown} .recover` \
             shows what can be saved of their history"
        ),
    })
}
