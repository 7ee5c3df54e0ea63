//! Shortens old failure reports. Their subject and signature stay.

use jiff::Timestamp;
use ralph_model::first_line;
use rusqlite::params;

use super::Store;
use super::columns::moment;
use crate::StoreError;

/// Maximum length of a shortened text.
const LINE_CHARACTERS: usize = 120;
/// Marks a cut.
const CUT: char = '…';

impl Store {
    /// Shortens at most `most` reports of tasks that were done before this time and unchanged since, and of earlier
    /// attempts at deleted tasks; returns their number. File names stay, because similar tasks are found by them.
    ///
    /// # Errors
    /// When the database cannot be written; no report is shortened then.
    pub fn shorten_reports(&mut self, done_before: Timestamp, most: u32, now: Timestamp) -> Result<usize, StoreError> {
        self.write(|transaction| {
            let long: Vec<(i64, String, String, Option<String>)> = transaction
                .prepare_cached(
                    "SELECT failure_reports.journal, what_tried, why_failed, suggestion
                     FROM failure_reports
                     CROSS JOIN journal ON journal.id = failure_reports.journal
                     LEFT JOIN tasks ON tasks.id = failure_reports.task
                     WHERE shortened_at IS NULL AND coalesce(tasks.status, 'done') = 'done'
                       AND coalesce(tasks.updated_at, journal.created_at) < ?1
                       AND (error_output IS NOT NULL
                            OR length(what_tried) > ?2 OR instr(what_tried, char(10)) > 0
                            OR length(why_failed) > ?2 OR instr(why_failed, char(10)) > 0
                            OR length(suggestion) > ?2 OR instr(suggestion, char(10)) > 0)
                     ORDER BY failure_reports.journal LIMIT ?3",
                )?
                .query_map(params![moment(done_before), LINE_CHARACTERS as i64, most], |row| {
                    Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
                })?
                .collect::<rusqlite::Result<_>>()?;
            let mut shorten = transaction.prepare_cached(
                "UPDATE failure_reports SET what_tried = ?2, why_failed = ?3, suggestion = ?4, error_output = NULL,
                     shortened_at = ?5
                 WHERE journal = ?1",
            )?;
            for (journal, tried, why, suggestion) in &long {
                let suggestion = suggestion.as_deref().map(short);
                shorten.execute(params![journal, short(tried), short(why), suggestion, moment(now)])?;
            }
            Ok(long.len())
        })
    }
}

/// The first line of a text, cut where it is long.
fn short(text: &str) -> String {
    let line = first_line(text);
    if line == text.trim() && line.chars().count() <= LINE_CHARACTERS {
        return line.to_owned();
    }
    let kept: String = line.chars().take(LINE_CHARACTERS - 1).collect();
    format!("{}{CUT}", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_to_one_line() {
        assert_eq!(short("  the lock was held "), "the lock was held");
        assert_eq!(short("\nfirst\nsecond\n"), "first…");
        assert_eq!(short(&"ä".repeat(120)), "ä".repeat(120));
        assert_eq!(short(&"ä".repeat(121)), format!("{}…", "ä".repeat(119)));
        assert_eq!(short(""), "");
    }
}
