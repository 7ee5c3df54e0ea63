//! Finds attempts that failed the same way.

use ralph_model::{Attempt, Signature};

/// The maximum number of groups, most recent first.
const MAX_GROUPS: usize = 3;
/// The maximum number of attempts named per group, newest first; the others are counted.
const MAX_ATTEMPTS: usize = 6;

/// States which attempts failed the same way; `None` if no two did. The signatures of earlier attempts are unknown.
pub(in crate::inject::prompt) fn failed_the_same_way(attempts: &[Attempt], earlier: u32) -> Option<String> {
    let mut groups: Vec<(&Signature, Vec<u32>)> = Vec::new();
    // Newest first, so that the most recent failure comes first.
    for attempt in attempts.iter().rev() {
        let Some(signature) = attempt.report.as_ref().and_then(|kept| kept.signature.as_ref()) else {
            continue;
        };
        match groups.iter_mut().find(|(known, _)| *known == signature) {
            Some((_, numbers)) => numbers.push(attempt.row.row.attempt),
            None => groups.push((signature, vec![attempt.row.row.attempt])),
        }
    }
    groups.retain(|(_, numbers)| numbers.len() > 1);
    let named = |numbers: &[u32]| named(numbers, if earlier > 0 { "at least " } else { "" });
    let sentences: Vec<String> = groups
        .iter()
        .take(MAX_GROUPS)
        .enumerate()
        .map(|(place, (_, numbers))| match place {
            0 => format!("{} failed the same way.", capitalised(&named(numbers))),
            _ => format!("{} share another failure.", capitalised(&named(numbers))),
        })
        .collect();
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

/// `attempts 2 and 3`, from attempt numbers, newest first.
fn named(numbers: &[u32], about: &str) -> String {
    let mut newest: Vec<String> = numbers.iter().take(MAX_ATTEMPTS).map(u32::to_string).collect();
    newest.reverse();
    let last = newest.pop().unwrap_or_default();
    let listed = format!("attempts {} and {last}", newest.join(", "));
    match numbers.len().saturating_sub(MAX_ATTEMPTS) {
        0 => listed,
        earlier => format!("{listed} and {about}{earlier} earlier"),
    }
}

fn capitalised(text: &str) -> String {
    text.replacen("attempts", "Attempts", 1)
}

#[cfg(test)]
mod tests {
    use ralph_model::{
        ErrorCategory, FailureReport, JournalRow, NewJournalRow, Outcome, ReportOrigin, RunId, StoredReport,
    };
    use ralph_testkit::journal_row;

    use super::*;

    fn attempt(number: u32, signature: Option<u64>) -> Attempt {
        Attempt {
            row: JournalRow {
                id: i64::from(number),
                prompt_sha256: None,
                row: NewJournalRow {
                    attempt: number,
                    outcome: Outcome::Failed,
                    ..journal_row(RunId::new(1), number)
                },
            },
            report: signature.map(|digest| StoredReport {
                report: FailureReport {
                    what_tried: String::new(),
                    why_failed: String::new(),
                    category: ErrorCategory::Unknown,
                    relevant_files: Vec::new(),
                    error_output: None,
                    origin: ReportOrigin::Ralph,
                    gate: None,
                },
                suggestion: None,
                signature: Some(Signature::new(digest)),
                shortened: false,
            }),
        }
    }

    #[track_caller]
    fn check(signatures: &[Option<u64>], expected: Option<&str>) {
        let attempts: Vec<Attempt> = (1..).zip(signatures).map(|(n, digest)| attempt(n, *digest)).collect();
        assert_eq!(failed_the_same_way(&attempts, 0).as_deref(), expected, "{signatures:?}");
    }

    #[test]
    fn earlier_attempts_may_have_failed_the_same_way() {
        let attempts: Vec<Attempt> = (21..=29).map(|number| attempt(number, Some(1))).collect();
        assert_eq!(
            failed_the_same_way(&attempts, 20).as_deref(),
            Some("Attempts 24, 25, 26, 27, 28 and 29 and at least 3 earlier failed the same way.")
        );
    }

    #[test]
    fn recurring_failures_are_named_with_their_attempts() {
        check(&[], None);
        check(&[None, None], None);
        check(&[Some(1), Some(2)], None);
        check(
            &[Some(1), Some(2), Some(2)],
            Some("Attempts 2 and 3 failed the same way."),
        );
        check(&[Some(1), None, Some(1)], Some("Attempts 1 and 3 failed the same way."));
        check(&[Some(1); 3], Some("Attempts 1, 2 and 3 failed the same way."));
        check(
            &[Some(1), Some(2), Some(1), Some(2)],
            Some("Attempts 2 and 4 failed the same way. Attempts 1 and 3 share another failure."),
        );
        check(
            &[Some(1); 9],
            Some("Attempts 4, 5, 6, 7, 8 and 9 and 3 earlier failed the same way."),
        );
    }
}
