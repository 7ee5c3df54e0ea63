//! Exports learnings as CSV and Markdown.

use ralph_model::{Learning, LearningKind, LearningStatus, TaskType, count, format_timestamp};

use super::export::id_of;
use super::json::compact;
use crate::inject::prompt::learning_item;

const COLUMNS: &str = "id,type,taskType,confidence,successRate,useCount,createdAt";

/// Learnings as CSV. A field that a spreadsheet would take for a formula is escaped.
#[must_use]
pub fn csv<'l>(learnings: impl Iterator<Item = &'l Learning>) -> String {
    let mut table = format!("{COLUMNS}\n");
    for learning in learnings {
        let fields = [
            id_of(learning).to_owned(),
            learning.kind.word().to_owned(),
            learning.task_type.unwrap_or(TaskType::General).word().to_owned(),
            compact(&learning.confidence.into()),
            compact(&learning.success_rate.into()),
            learning.use_count.to_string(),
            format_timestamp(learning.created_at),
        ];
        let fields: Vec<String> = fields.iter().map(|text| field(text)).collect();
        table.push_str(&fields.join(","));
        table.push('\n');
    }
    table
}

fn field(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let text = if is_formula {
        format!("'{text}")
    } else {
        text.to_owned()
    };
    if text.contains([',', '"', '\n', '\r']) || text.starts_with(' ') || text.ends_with(' ') {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

/// Learnings as a Markdown page by kind; each as in prompts, with its details below.
#[must_use]
pub fn markdown(learnings: &[&Learning]) -> String {
    let mut page = "# Learnings\n".to_owned();
    for (kind, title) in [
        (LearningKind::Strategy, "Strategies"),
        (LearningKind::Antipattern, "Anti-patterns"),
        (LearningKind::Estimate, "Estimates"),
        (LearningKind::Convention, "Conventions"),
    ] {
        let of_kind: Vec<&&Learning> = learnings.iter().filter(|learning| learning.kind == kind).collect();
        if of_kind.is_empty() {
            continue;
        }
        page.push_str(&format!("\n## {title}\n\n"));
        for learning in of_kind {
            page.push_str(&item(learning));
        }
    }
    if learnings.is_empty() {
        page.push_str("\nNone yet.\n");
    }
    page
}

fn item(learning: &Learning) -> String {
    let mut details = vec![format!("`{}`", id_of(learning))];
    if learning.status != LearningStatus::Promoted {
        details.push(learning.status.to_string());
    }
    details.extend(learning.task_type.map(|kind| kind.word().to_owned()));
    details.push(format!("confidence {:.2}", learning.confidence));
    details.push(format!("success {:.2}", learning.success_rate));
    details.push(match learning.use_count {
        0 => "never used".to_owned(),
        uses => format!("used {}", count(uses as usize, "time", "times")),
    });
    if !learning.tags.is_empty() {
        details.push(format!("tags {}", learning.tags.join(", ")));
    }
    format!("{}  {}\n", learning_item(learning), details.join(" · "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_and_formulas_escaped() {
        for (text, expected) in [
            ("plain", "plain"),
            ("a,b", "\"a,b\""),
            ("say \"x\"", "\"say \"\"x\"\"\""),
            ("two\nlines", "\"two\nlines\""),
            ("=1+1", "'=1+1"),
            ("@x,y", "\"'@x,y\""),
            ("-1", "'-1"),
            ("", ""),
        ] {
            assert_eq!(field(text), expected);
        }
    }
}
